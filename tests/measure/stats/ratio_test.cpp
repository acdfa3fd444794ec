/// The ratio of two variants' times and its interval, on rounds whose truth is known.

#include "measure/stats/ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/error_of.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

using Random = std::mt19937_64;

std::vector<int> runs(int contexts, int each) {
  std::vector<int> out;
  for (int a = 0; a < contexts; ++a) out.insert(out.end(), static_cast<std::size_t>(each), a);
  return out;
}

TimedRounds rounds(const std::vector<double>& seconds, const std::vector<int>& contexts, double resolution = 0) {
  return {.seconds = {seconds.begin(), seconds.end()}, .contexts = contexts, .resolution_s = resolution};
}

TimedRounds constant(double seconds, int contexts = 24, int each = 5, double resolution = 0) {
  const auto a = runs(contexts, each);
  return rounds(std::vector<double>(a.size(), seconds), a, resolution);
}

/// How the times of one variant come about, round by round: a factor on its time.
struct Noise {
  std::string name;
  /// The logarithm of the factor of one variant's rounds on `each` rounds of one context.
  std::function<std::vector<double>(int each, Random&)> context;
};

std::vector<double> independent(int each, const std::function<double()>& draw) {
  std::vector<double> out;
  for (int i = 0; i < each; ++i) out.push_back(draw());
  return out;
}

/// Noise of about 2 %, as a GPU shows at 2^24 elements; the difference of two such is symmetric about zero.
std::vector<Noise> noises() {
  using std::normal_distribution;
  return {
      {"normal", [](int e, Random& r) { return independent(e, [&] { return normal_distribution(0.0, 0.02)(r); }); }},
      {"bimodal",
       [](int e, Random& r) {
         return independent(e, [&] {
           return (std::bernoulli_distribution(0.4)(r) ? 0.05 : 0.0) + normal_distribution(0.0, 0.002)(r);
         });
       }},
      {"heavy-tailed",
       [](int e, Random& r) { return independent(e, [&] { return std::cauchy_distribution(0.0, 0.01)(r); }); }},
      {"skewed",
       [](int e, Random& r) { return independent(e, [&] { return std::exponential_distribution(50.0)(r); }); }},
      {"correlated",
       [](int e, Random& r) {
         std::vector<double> out;
         double x = normal_distribution(0.0, 0.02)(r);
         for (int i = 0; i < e; ++i) {
           out.push_back(x);
           x = 0.9 * x + std::sqrt(1 - 0.81) * normal_distribution(0.0, 0.02)(r);
         }
         return out;
       }},
      {"shifted by where memory lies",
       [](int e, Random& r) {
         const double shift = normal_distribution(0.0, 0.02)(r);
         return independent(e, [&] { return shift + normal_distribution(0.0, 0.02)(r); });
       }},
  };
}

/// Rounds of two variants of which the second takes 1 / `ratio` of the first's time, both on a drifting clock.
std::pair<TimedRounds, TimedRounds> rounds_of_two(const Noise& noise, double ratio, int contexts, int each,
                                                  Random& random) {
  std::pair<TimedRounds, TimedRounds> out;
  out.first.contexts = out.second.contexts = runs(contexts, each);
  double drift = 0;
  for (int a = 0; a < contexts; ++a) {
    const auto x = noise.context(each, random), y = noise.context(each, random);
    for (int i = 0; i < each; ++i) {
      drift += std::normal_distribution(0.002, 0.002)(random);  // a third of the time over 150 rounds
      out.first.seconds.emplace_back(1e-4 * std::exp(drift + x[static_cast<std::size_t>(i)]));
      out.second.seconds.emplace_back(1e-4 / ratio * std::exp(drift + y[static_cast<std::size_t>(i)]));
    }
  }
  return out;
}

bool covers(const Interval& i, double value) { return i.low <= value && value <= i.high; }

/// Share of `trials` in which `interval(pair)` covers `ratio`.
template <class Make>
double coverage(const Noise& noise, double ratio, int contexts, int each, int trials, Random& random, Make&& interval) {
  int covered = 0;
  for (int t = 0; t < trials; ++t) {
    const auto [base, variant] = rounds_of_two(noise, ratio, contexts, each, random);
    covered += covers(interval(base, variant), ratio);
  }
  return covered / double(trials);
}

// ------------------------------------------------------------------------------------------------------------ contexts

/// Of one series that has a value in every round.
Contexts contexts_of_one(const ByRound& values, const std::vector<int>& contexts) {
  const SeriesByRound one{&values, contexts};
  return contexts_of({&one, 1});
}

TEST(MeasureRatio, AContextIsAllItsRounds) {
  ByRound values;
  for (int round = 0; round < 24 * 5; ++round) values.emplace_back(round);
  const Contexts contexts = contexts_of_one(values, runs(24, 5));
  ASSERT_EQ(contexts.means.size(), 24u);
  EXPECT_EQ(contexts.rounds, 24u * 5);
  for (std::size_t b = 0; b < 24; ++b) EXPECT_DOUBLE_EQ(contexts.means[b].at(0), 5.0 * static_cast<double>(b) + 2);
}

TEST(MeasureRatio, OneContextIsCutIntoEqualPartsAndAFewStayTooFew) {
  for (const std::size_t each : {100u, 12u, 7u, 6u, 4u, 1u}) {
    ByRound values;
    for (std::size_t round = 0; round < each; ++round) values.emplace_back(round);
    const Contexts contexts = contexts_of_one(values, runs(1, static_cast<int>(each)));
    EXPECT_EQ(contexts.means.size(), std::min<std::size_t>(least_contexts, each));
    EXPECT_EQ(contexts.rounds, each);
    for (std::size_t part = 0; part < 6 && each == 12; ++part)
      EXPECT_DOUBLE_EQ(contexts.means[part].at(0), 2 * static_cast<double>(part) + 0.5);
  }
  for (const int contexts : {2, 3, 5, 11})
    EXPECT_EQ(contexts_of_one(ByRound(static_cast<std::size_t>(contexts) * 9, 1.0), runs(contexts, 9)).means.size(),
              static_cast<std::size_t>(contexts));
}

TEST(MeasureRatio, AContextCountsWhereAllHaveAValueInWhicheverRounds) {
  // The second is sampled in every third round, and not at all on the last context.
  ByRound one, other;
  for (int round = 0; round < 12 * 6; ++round) {
    one.emplace_back(1);
    other.emplace_back(2);
    if (round % 3 != 1 || round >= 11 * 6) other.back().reset();
  }
  const std::vector<int> where = runs(12, 6);
  const SeriesByRound both[] = {{&one, where}, {&other, where}};
  const Contexts contexts = contexts_of(both);
  ASSERT_EQ(contexts.means.size(), 11u);
  for (const auto& means : contexts.means) {
    ASSERT_EQ(means.size(), 2u);
    EXPECT_DOUBLE_EQ(means[0], 1);
    EXPECT_DOUBLE_EQ(means[1], 2);
  }
  EXPECT_EQ(contexts.rounds, 11u * 2) << "of the one that has fewer";
}

// -------------------------------------------------------------------------------------------------------------- ratios

TEST(MeasureRatio, AboveOneTheVariantIsTheFasterOne) {
  const Ratio r = paired_ratio(constant(3e-6), constant(2e-6), 0.95);
  EXPECT_DOUBLE_EQ(r.value, 1.5);
  EXPECT_DOUBLE_EQ(r.interval.low, 1.5);
  EXPECT_DOUBLE_EQ(r.interval.high, 1.5);
  EXPECT_EQ(r.rounds, 120u);
  EXPECT_EQ(r.contexts, 24u);
  EXPECT_TRUE(r.enough);
  EXPECT_DOUBLE_EQ(paired_ratio(constant(2e-6), constant(3e-6), 0.95).value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(unpaired_ratio(constant(3e-6), constant(2e-6), 0.95).value, 1.5);
}

TEST(MeasureRatio, VariantsOfFewCommonRoundsArePairedByTheirContexts) {
  // What differs from context to context by a tenth is in neither ratio nor interval, though no round has both.
  Random random(1);
  TimedRounds base = constant(1), variant = constant(1);
  double speed = 1;
  for (std::size_t r = 0; r < base.seconds.size(); ++r) {
    if (r % 5 == 0) speed = std::exp(std::normal_distribution(0.0, 0.1)(random));
    base.seconds[r] = 1e-5 * speed;
    variant.seconds[r] = 2e-5 * speed;
    (r % 5 < 3 ? base : variant).seconds[r].reset();
  }
  const Ratio r = paired_ratio(base, variant, 0.95);
  EXPECT_EQ(r.contexts, 24u);
  EXPECT_EQ(r.rounds, 24u * 2);
  EXPECT_NEAR(r.interval.low, 0.5, 1e-9);
  EXPECT_NEAR(r.interval.high, 0.5, 1e-9);
  EXPECT_NE(error_of<UsageError>([] { paired_ratio(rounds({1}, {0}), TimedRounds{}, 0.95); }).find("--contexts"),
            std::string::npos);
}

TEST(MeasureRatio, AProductOfPowersHasTheIntervalOfItsContextsNumbers) {
  // t(a)^2 t(b)^-1 t(c)^-1, where c drifts with a and b does not.
  Random random(5);
  TimedRounds a = constant(1), b = constant(1), c = constant(1);
  std::vector<double> numbers;
  for (std::size_t r = 0; r < a.seconds.size(); ++r) {
    if (r % 5 == 0) {
      const double x = std::normal_distribution(0.0, 0.1)(random), y = std::normal_distribution(0.0, 0.1)(random);
      for (std::size_t i = r; i < r + 5; ++i) {
        a.seconds[i] = std::exp(x);
        b.seconds[i] = std::exp(y);
        c.seconds[i] = std::exp(x) / 3;
      }
      numbers.push_back(x - y + std::log(3));
    }
  }
  const Factor factors[] = {{2, &a}, {-1, &b}, {-1, &c}};
  const Ratio r = product_of(factors, 0.95);
  const Centre wanted = centre_of(numbers, 0.95);
  EXPECT_NEAR(std::log(r.value), wanted.value, 1e-12);
  EXPECT_NEAR(std::log(r.interval.low), wanted.interval.low, 1e-12);
  EXPECT_NEAR(std::log(r.interval.high), wanted.interval.high, 1e-12);
}

TEST(MeasureRatio, AVoidedRoundIsAsIfItHadNeverBeen) {
  Random random(2);
  const auto [base, variant] = rounds_of_two(noises()[0], 1.02, 24, 9, random);
  TimedRounds voided_base = base, voided_variant = variant, short_base, short_variant;
  for (std::size_t r = 0; r < base.seconds.size(); ++r)
    if (std::bernoulli_distribution(0.2)(random)) {
      voided_base.seconds[r].reset();
      voided_variant.seconds[r].reset();
    } else {
      for (const auto& [from, to] : {std::pair{&base, &short_base}, std::pair{&variant, &short_variant}}) {
        to->seconds.push_back(from->seconds[r]);
        to->contexts.push_back(from->contexts[r]);
      }
    }
  const Ratio a = paired_ratio(voided_base, voided_variant, 0.95), b = paired_ratio(short_base, short_variant, 0.95);
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.interval.low, b.interval.low);
  EXPECT_EQ(a.interval.high, b.interval.high);
  EXPECT_EQ(a.rounds, b.rounds);
}

TEST(MeasureRatio, WhatDriftsForBothIsInNeitherRatioNorInterval) {
  std::vector<double> base, variant;
  for (int i = 0; i < 120; ++i) {
    const double speed = std::exp(0.01 * i);  // to three times the time
    base.push_back(1.1e-5 * speed);
    variant.push_back(1e-5 * speed);
  }
  const auto where = runs(24, 5);
  const Ratio r = paired_ratio(rounds(base, where), rounds(variant, where), 0.95);
  EXPECT_NEAR(r.value, 1.1, 1e-12);
  EXPECT_NEAR(r.interval.high - r.interval.low, 0, 1e-12);
  // Medians of the same rounds, unpaired, know no better than the drift.
  const Ratio apart = unpaired_ratio(rounds(base, where), rounds(variant, where), 0.95);
  EXPECT_GT(apart.interval.high - apart.interval.low, 0.3);
}

TEST(MeasureRatio, NoIntervalIsNarrowerThanTheResolutionsOfBoth) {
  const Ratio r = paired_ratio(constant(1e-6, 24, 5, 32e-9), constant(2e-6, 24, 5, 32e-9), 0.95);
  EXPECT_NEAR(std::log(r.interval.high / r.interval.low), 0.032 + 0.016, 1e-9);
  EXPECT_DOUBLE_EQ(r.value, 0.5);
  EXPECT_TRUE(r.at_resolution);
  EXPECT_FALSE(paired_ratio(constant(1e-6), constant(2e-6), 0.95).at_resolution);
}

TEST(MeasureRatio, TooFewRoundsAreToldAndDecideNothing) {
  for (const bool paired : {true, false}) {
    const auto ratio = [&](int rounds_of_each, double confidence) {
      const auto b = constant(2, 1, rounds_of_each), v = constant(1, 1, rounds_of_each);
      return paired ? paired_ratio(b, v, confidence) : unpaired_ratio(b, v, confidence);
    };
    const Ratio r = ratio(5, 0.95);
    EXPECT_FALSE(r.enough);
    EXPECT_DOUBLE_EQ(r.confidence, 1 - 2 * std::exp2(-5.0));
    EXPECT_EQ(verdict_on(r, 0.01), Verdict::undecided);
    EXPECT_EQ(rounds_to_decide(r, 0.01), 6u);
    EXPECT_TRUE(ratio(6, 0.95).enough);
    EXPECT_TRUE(ratio(6, confidence_of_each(0.95, 1000)).enough) << "wider, but there is one";
  }
}

TEST(MeasureRatio, ErrorsOfTwoRunsAddAsThoseOfIndependentOnes) {
  // Each side's interval reaches 3 % to either side of its centre: together the root of two times that.
  std::vector<double> seconds;
  for (int context = -3; context <= 3; ++context) seconds.push_back(std::exp(0.01 * context));
  const auto where = runs(7, 1);
  const TimedRounds side = rounds(seconds, where);
  const Centre alone = centre_of(std::vector<double>{-3, -2, -1, 0, 1, 2, 3}, 0.95);
  const Ratio r = unpaired_ratio(side, side, 0.95);
  EXPECT_NEAR(r.value, 1, 1e-12);
  EXPECT_NEAR(std::log(r.interval.high), 0.01 * std::sqrt(2) * alone.interval.high, 1e-12);
  EXPECT_NEAR(std::log(r.interval.low), 0.01 * std::sqrt(2) * alone.interval.low, 1e-12);
  EXPECT_EQ(r.contexts, 7u);
}

TEST(MeasureRatio, MoreRowsTakeMoreContexts) {
  EXPECT_EQ(contexts_for(0.95), 12u);
  EXPECT_EQ(contexts_for(confidence_of_each(0.95, 50)), 22u);
  EXPECT_GT(contexts_for(confidence_of_each(0.95, 1000)), static_cast<std::size_t>(wanted_contexts));
  EXPECT_THROW(contexts_for(1), UsageError);
}

// ------------------------------------------------------------------------------------------------------------ coverage

/// The share of intervals that may hold the truth where 95 % is asked for: too wide is as wrong as too narrow.
constexpr double fewest_hold = 0.93, most_hold = 0.98;

TEST(MeasureRatio, CoverageHoldsForEveryNoiseWithTheCountsThatAreUsed) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(3);
  constexpr int trials = 2000;
  for (const Noise& noise : noises())
    for (const auto& [contexts, each] :
         {std::pair{6, 8}, std::pair{12, 4}, std::pair{12, 10}, std::pair{24, 1}, std::pair{24, 11}}) {
      // One row, and one of sixteen.
      const double of_many = confidence_of_each(0.95, 16);
      int alone = 0, among = 0;
      for (int t = 0; t < trials; ++t) {
        const auto [base, variant] = rounds_of_two(noise, 1.03, contexts, each, random);
        alone += covers(paired_ratio(base, variant, 0.95).interval, 1.03);
        among += covers(paired_ratio(base, variant, of_many).interval, 1.03);
      }
      const std::string what = noise.name + ", " + std::to_string(contexts) + " of " + std::to_string(each) + " rounds";
      EXPECT_GE(alone / double(trials), fewest_hold) << what;
      EXPECT_LE(alone / double(trials), most_hold) << what;
      EXPECT_GE(among / double(trials), of_many - 4 * std::sqrt(of_many * (1 - of_many) / trials)) << what;
    }
}

TEST(MeasureRatio, CoverageHoldsWhereOneVariantHasAThirdOfTheSamples) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(12);
  for (const Noise& noise : noises()) {
    int covered = 0;
    constexpr int trials = 400;
    for (int t = 0; t < trials; ++t) {
      auto [base, variant] = rounds_of_two(noise, 1.03, 24, 9, random);
      for (std::size_t r = 0; r < base.seconds.size(); ++r)
        if (r % 3 != 1) variant.seconds[r].reset();
      covered += covers(paired_ratio(base, variant, 0.95).interval, 1.03);
    }
    EXPECT_GE(covered / double(trials), 0.92) << noise.name;
  }
}

TEST(MeasureRatio, UnpairedCoverageHoldsWithoutDrift) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(4);
  constexpr int trials = 2000;
  // The noises whose contexts are shifted are those that agree within a context; the others do not.
  for (const Noise& noise : noises())
    for (const auto& [contexts, each] : {std::pair{12, 4}, std::pair{24, 5}}) {
      int covered = 0;
      for (int t = 0; t < trials; ++t) {
        TimedRounds s[2];
        for (TimedRounds& one : s) {
          one.contexts = runs(contexts, each);
          for (int a = 0; a < contexts; ++a)
            for (const double x : noise.context(each, random)) one.seconds.emplace_back(1e-4 * std::exp(x));
        }
        covered += covers(unpaired_ratio(s[0], s[1], 0.95).interval, 1);
      }
      EXPECT_GE(covered / double(trials), fewest_hold) << noise.name << ", " << contexts;
      EXPECT_LE(covered / double(trials), most_hold) << noise.name << ", " << contexts;
    }
}

TEST(MeasureRatio, OneBinaryRunTwiceIsNotCalledSlower) {
  LEFT_TO_RELEASE_BUILDS();
  // What `--baseline --fail-if-slower` meets up to 2^20: calls of one of two times, and with each context another share
  // of either and a shift of 2 %. Four rows at once.
  Random random(12);
  constexpr int trials = 500, contexts = 24, each = 20;
  const auto run = [&] {
    TimedRounds s{.seconds = {}, .contexts = runs(contexts, each), .resolution_s = 32e-9};
    for (int a = 0; a < contexts; ++a) {
      const double shift = std::normal_distribution(0.0, 0.02)(random),
                   share = std::uniform_real_distribution()(random);
      for (int i = 0; i < each; ++i) {
        const double seconds = (std::bernoulli_distribution(share)(random) ? 8e-6 : 7e-6) * std::exp(shift);
        s.seconds.emplace_back(32e-9 * std::round(seconds / 32e-9));
      }
    }
    return s;
  };
  int alarms = 0;
  for (int t = 0; t < trials; ++t) {
    bool slower = false;
    for (int row = 0; row < 4; ++row)
      slower = slower || verdict_on(unpaired_ratio(run(), run(), confidence_of_each(0.95, 4)), 0.01) == Verdict::slower;
    alarms += slower;
  }
  EXPECT_LE(alarms, trials * 25 / 1000);
}

// ------------------------------------------------------------------------------------------------- why this estimator

double mean(std::span<const double> s) {
  return std::accumulate(s.begin(), s.end(), 0.0) / static_cast<double>(s.size());
}

/// How contexts become one number and an interval, and what number very many contexts give.
struct Between {
  Centre (*centre)(const std::vector<double>&);
  double (*truth)(const std::vector<double>&);
};

const Between signed_ranks{[](const std::vector<double>& s) { return centre_of(s, 0.95); },
                           [](const std::vector<double>& s) {
                             std::vector<double> means;
                             for (std::size_t i = 1; i < s.size(); ++i) means.push_back((s[i - 1] + s[i]) / 2);
                             return median(means);
                           }};
const Between order_statistics{[](const std::vector<double>& s) {
                                 // x(k) .. x(n+1-k) with k = 3 of 12 and 7 of 24: 96.1 and 97.7 %, by the sign test.
                                 const std::size_t n = s.size(), k = n == 12 ? 3 : 7;
                                 std::vector<double> in_order = s;
                                 std::sort(in_order.begin(), in_order.end());
                                 return Centre{median(s), {in_order[k - 1], in_order[n - k]}, 0.95, true};
                               },
                               [](const std::vector<double>& s) { return median(s); }};
const Between students_t{[](const std::vector<double>& s) {
                           const double n = static_cast<double>(s.size()), middle = mean(s);
                           double variance = 0;
                           for (const double x : s) variance += (x - middle) * (x - middle) / (n - 1);
                           const double half = (s.size() == 12 ? 2.201 : 2.069) * std::sqrt(variance / n);
                           return Centre{middle, {middle - half, middle + half}, 0.95, true};
                         },
                         [](const std::vector<double>& s) { return mean(s); }};

struct Found {
  double share = 0;  ///< of intervals that hold the truth
  double width = 0;  ///< median
};

/// Of `contexts` contexts of log-ratios, each summarised by `within`.
Found simulate(const std::function<std::vector<double>(Random&)>& context, int contexts,
               const std::function<double(std::span<const double>)>& within, const Between& between) {
  Random random(13);
  const auto draw = [&](int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(within(context(random)));
    return out;
  };
  const double truth = between.truth(draw(40000));
  constexpr int trials = 2000;
  std::vector<double> widths;
  Found out;
  for (int t = 0; t < trials; ++t) {
    const Interval i = between.centre(draw(contexts)).interval;
    out.share += covers(i, truth) / double(trials);
    widths.push_back(i.high - i.low);
  }
  out.width = median(widths);
  return out;
}

/// Log-ratios of one context where the base's calls take 7 us or 8 us, as those of CUB do from 2^12 to 2^22.
std::vector<double> of_two_times(double share_of_slow, int each, Random& random) {
  return independent(each, [&] {
    return std::log((std::bernoulli_distribution(share_of_slow)(random) ? 8.0 : 7.0) / 7.5) +
           std::normal_distribution(0.0, 0.005)(random);
  });
}
/// Log-ratios of which one in twenty is of a call of the base that the host interrupted, for twice its time or so.
std::vector<double> disturbed(int each, Random& random) {
  return independent(each, [&] {
    return std::normal_distribution(0.0, 0.01)(random) +
           (std::bernoulli_distribution(0.05)(random) ? std::exponential_distribution(1.5)(random) : 0.0);
  });
}

TEST(MeasureRatio, TheRuleHoldsWhatItStatesAlsoWhereOnlyOneVariantIsDisturbed) {
  LEFT_TO_RELEASE_BUILDS();
  for (const auto& [contexts, rounds] : {std::pair{6, 8}, std::pair{12, 4}, std::pair{12, 10}, std::pair{24, 20}})
    for (const int each = rounds;
         const auto& [name, context] : std::map<std::string, std::function<std::vector<double>(Random&)>>{
             {"two times", [&](Random& r) { return of_two_times(0.5, each, r); }},
             {"two times, each context's own share",
              [&](Random& r) { return of_two_times(std::uniform_real_distribution()(r), each, r); }},
             {"two times, one to a context",
              [&](Random& r) { return of_two_times(std::bernoulli_distribution(0.5)(r), each, r); }},
             {"disturbed", [&](Random& r) { return disturbed(each, r); }},
             {"skewed from context to context", [&](Random& r) {
                const double shift = std::exponential_distribution(50.0)(r);
                return independent(each, [&] { return shift + std::normal_distribution(0.0, 0.005)(r); });
              }}}) {
      const Found found = simulate(context, contexts, trimmed_mean, signed_ranks);
      EXPECT_GE(found.share, fewest_hold) << name << ", " << contexts << " of " << each;
      EXPECT_LE(found.share, most_hold) << name << ", " << contexts << " of " << each;
    }
}

TEST(MeasureRatio, WhyNeitherMediansNorMeansWithinAContextAndNeitherOrderStatisticsNorStudentsTBetween) {
  LEFT_TO_RELEASE_BUILDS();
  const auto two_times = [](Random& r) { return of_two_times(0.5, 10, r); };
  const auto interrupted = [](Random& r) { return disturbed(10, r); };
  const auto shifted = [](Random& r) {
    const double shift = std::normal_distribution(0.0, 0.02)(r);
    return independent(10, [&] { return shift + std::normal_distribution(0.0, 0.01)(r); });
  };
  // Within a context: a median is twice as wide where calls take one of two times, a mean where the host interrupts.
  const double trimmed_of_two = simulate(two_times, 12, trimmed_mean, signed_ranks).width;
  EXPECT_GT(simulate(two_times, 12, median, signed_ranks).width, 2 * trimmed_of_two);
  EXPECT_LT(simulate(two_times, 12, mean, signed_ranks).width, trimmed_of_two);
  const double trimmed_of_interrupted = simulate(interrupted, 12, trimmed_mean, signed_ranks).width;
  EXPECT_GT(simulate(interrupted, 12, mean, signed_ranks).width, 5 * trimmed_of_interrupted);
  EXPECT_GT(simulate(interrupted, 12, median, signed_ranks).width, 0.7 * trimmed_of_interrupted);
  // Between contexts: order statistics are wider, and hold more than they are asked to.
  const Found by_ranks = simulate(shifted, 24, trimmed_mean, signed_ranks);
  const Found by_order = simulate(shifted, 24, trimmed_mean, order_statistics);
  EXPECT_GT(by_order.width, 1.2 * by_ranks.width);
  EXPECT_GT(by_order.share, 0.97);
  EXPECT_LT(by_ranks.width, 1.1 * simulate(shifted, 24, trimmed_mean, students_t).width);
  EXPECT_LT(simulate(interrupted, 12, trimmed_mean, students_t).share, 0.8) << "one context may be disturbed or none";
}

TEST(MeasureRatio, ABootstrapOverTheSameContextsCoversTooLittle) {
  LEFT_TO_RELEASE_BUILDS();
  // Why it is not used, and that these simulations notice an interval that is too narrow.
  Random random(5);
  const double confidence = 0.95;
  constexpr int trials = 800, resamples = 400, contexts = 12;  // what a small GPU has room for
  const auto bootstrap = [&](const TimedRounds& b, const TimedRounds& v) {
    std::vector<std::vector<double>> by_context(contexts);
    for (std::size_t r = 0; r < b.seconds.size(); ++r)
      by_context[static_cast<std::size_t>(b.contexts[r])].push_back(std::log(*b.seconds[r] / *v.seconds[r]));
    std::vector<double> medians;
    for (int i = 0; i < resamples; ++i) {
      std::vector<double> drawn;
      for (int k = 0; k < contexts; ++k) {
        const auto& context = by_context[random() % contexts];
        drawn.insert(drawn.end(), context.begin(), context.end());
      }
      medians.push_back(median(drawn));
    }
    return Interval{std::exp(quantile(medians, (1 - confidence) / 2)),
                    std::exp(quantile(medians, (1 + confidence) / 2))};
  };
  const double slack = 4 * std::sqrt(confidence * (1 - confidence) / trials);
  const auto by_order = [&](const TimedRounds& b, const TimedRounds& v) {
    return paired_ratio(b, v, confidence).interval;
  };
  EXPECT_GE(coverage(noises().back(), 1, contexts, 9, trials, random, by_order), confidence - slack);
  EXPECT_LT(coverage(noises().back(), 1, contexts, 9, trials, random, bootstrap), confidence - slack);
}

TEST(MeasureRatio, ThreeAllocationsDoNotShowWhatTheirPlaceDoes) {
  // Why comparing takes as many contexts as it does: cut into parts, three say little more than three.
  Random random(6);
  const double share = coverage(noises().back(), 1, 3, 40, 600, random, [](const TimedRounds& b, const TimedRounds& v) {
    return paired_ratio(b, v, 0.95).interval;
  });
  EXPECT_LT(share, 0.85);
}

TEST(MeasureRatio, IntervalsOfAllRowsHoldAtOnce) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(7);
  constexpr int trials = 300;
  constexpr std::size_t rows = 16;
  int all_hold = 0, all_hold_uncorrected = 0;
  for (int t = 0; t < trials; ++t) {
    bool hold = true, hold_uncorrected = true;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto [base, variant] = rounds_of_two(noises()[0], 1, 24, 5, random);
      hold = hold && covers(paired_ratio(base, variant, confidence_of_each(0.95, rows)).interval, 1);
      hold_uncorrected = hold_uncorrected && covers(paired_ratio(base, variant, 0.95).interval, 1);
    }
    all_hold += hold;
    all_hold_uncorrected += hold_uncorrected;
  }
  const double slack = 4 * std::sqrt(0.05 * 0.95 / trials);
  EXPECT_GE(all_hold / double(trials), 0.95 - slack);
  EXPECT_LT(all_hold_uncorrected / double(trials), 0.95 - slack);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 1), 0.95);
  EXPECT_DOUBLE_EQ(confidence_of_each(0.95, 10), 0.995);
}

// ------------------------------------------------------------------------------------------------------------- verdict

Ratio with(double low, double high) {
  Ratio r;
  r.value = std::sqrt(low * high);
  r.interval = {low, high};
  r.enough = true;
  r.rounds = 100;
  return r;
}

TEST(MeasureRatio, VerdictsAreThoseOfTheInterval) {
  EXPECT_EQ(verdict_on(with(1.011, 1.2), 0.01), Verdict::faster);
  EXPECT_EQ(verdict_on(with(1.009, 1.2), 0.01), Verdict::undecided);
  EXPECT_EQ(verdict_on(with(0.8, 0.990), 0.01), Verdict::slower);
  EXPECT_EQ(verdict_on(with(0.8, 0.9905), 0.01), Verdict::undecided);  // 1 / 1.01 = 0.990099
  EXPECT_EQ(verdict_on(with(0.9902, 1.01), 0.01), Verdict::same);
  EXPECT_EQ(verdict_on(with(0.9900, 1.01), 0.01), Verdict::undecided);
  EXPECT_EQ(verdict_on(with(0.9, 1.1), 0.2), Verdict::same);
  EXPECT_EQ(verdict_on(with(0.9, 1.1), 0.01), Verdict::undecided);
}

TEST(MeasureRatio, VerdictsAreRarelyWrongAndUsuallyFound) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(8);
  constexpr int trials = 300;
  for (const Noise& noise : noises()) {
    if (noise.name == "correlated" || noise.name.starts_with("shifted")) continue;  // there 500 rounds say less
    std::map<Verdict, int> none, effect;
    for (int t = 0; t < trials; ++t) {
      const auto [a, b] = rounds_of_two(noise, 1, 24, 21, random);
      const auto [c, d] = rounds_of_two(noise, 1 / 1.04, 24, 21, random);
      ++none[verdict_on(paired_ratio(a, b, 0.95), 0.01)];
      ++effect[verdict_on(paired_ratio(c, d, 0.95), 0.01)];
    }
    EXPECT_LE(none[Verdict::faster] + none[Verdict::slower], 0) << noise.name;
    EXPECT_EQ(effect[Verdict::faster] + effect[Verdict::same], 0) << noise.name;
    EXPECT_GE(effect[Verdict::slower], trials * 9 / 10) << noise.name;
    if (noise.name != "bimodal") {  // whose median may lie anywhere between its modes
      EXPECT_GE(none[Verdict::same], trials * 9 / 10) << noise.name;
    }
  }
}

TEST(MeasureRatio, AsManyRoundsAsItSaysUsuallyDecide) {
  LEFT_TO_RELEASE_BUILDS();
  Random random(9);
  const Noise normal = noises()[0];
  int undecided = 0, decided = 0, decided_by_a_quarter = 0;
  for (const double truth : {1.0, 1.02, 1 / 1.02})
    for (int t = 0; t < 200; ++t) {
      const auto [a, b] = rounds_of_two(normal, truth, 24, 5, random);
      const Ratio r = paired_ratio(a, b, confidence_of_each(0.95, 4));
      if (verdict_on(r, 0.01) != Verdict::undecided) continue;
      const auto rounds = rounds_to_decide(r, 0.01);
      if (!rounds || *rounds > 20000) continue;  // told from a boundary by chance alone
      ++undecided;
      const auto decides = [&](std::size_t n) {
        const auto [c, d] = rounds_of_two(normal, truth, 24, std::max(1, static_cast<int>(n / 24)), random);
        return verdict_on(paired_ratio(c, d, confidence_of_each(0.95, 4)), 0.01) != Verdict::undecided;
      };
      EXPECT_GT(*rounds, 120u);
      decided += decides(*rounds);
      decided_by_a_quarter += decides(*rounds / 4);
    }
  ASSERT_GT(undecided, 100);
  EXPECT_GE(decided, undecided / 2);
  EXPECT_LT(decided_by_a_quarter, decided * 2 / 3);
}

TEST(MeasureRatio, NoNumberIsNamedWhereNoneWouldDecide) {
  EXPECT_FALSE(rounds_to_decide(with(1.01 * 0.9, 1.01 / 0.9), 0.01));  // on the boundary itself
  Ratio coarse = with(0.95, 1.05);
  EXPECT_TRUE(rounds_to_decide(coarse, 0.01));
  coarse.at_resolution = true;
  EXPECT_FALSE(rounds_to_decide(coarse, 0.01));
  // The interval is five times as wide as it may be: 25 times the rounds.
  EXPECT_NEAR(static_cast<double>(*rounds_to_decide(with(std::pow(1.01, -5), std::pow(1.01, 5)), 0.01)), 2500, 2);
}

}  // namespace
}  // namespace reductio
