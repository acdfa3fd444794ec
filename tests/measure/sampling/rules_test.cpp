#include "measure/sampling/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/plan/selection.h"
#include "tests/measure/scripted_timer.h"

namespace reductio {
namespace {

TEST(MeasureRules, PointsOfOneQuestionAreSampledTogetherSmallSizesFirst) {
  const Variant a = scripted::variant("a", 1), b = scripted::variant("b", 2);
  std::vector<Point> points;
  for (const Variant* v : {&a, &b})
    for (const std::size_t n : {4096u, 1024u})
      for (const TimingMode mode : {TimingMode::device, TimingMode::end_to_end})
        points.push_back(scripted::point(*v, n, mode));
  points.push_back(scripted::point(a, 1024, TimingMode::device, CacheState::warm));
  points.push_back(scripted::point(a, 1024, TimingMode::device));
  points.back().offset_elements = 1;

  const auto groups = group_points(points);
  ASSERT_EQ(groups.size(), 6u);
  std::size_t seen = 0, last_n = 0;
  for (const auto& g : groups) {
    const Point& first = points[g.front()];
    EXPECT_GE(first.problem.n, last_n);
    last_n = first.problem.n;
    for (const std::size_t i : g) {
      ++seen;
      EXPECT_EQ(points[i].problem.n, first.problem.n);
      EXPECT_EQ(points[i].timing_mode, first.timing_mode);
      EXPECT_EQ(points[i].cache_state, first.cache_state);
      EXPECT_EQ(points[i].offset_elements, first.offset_elements);
    }
  }
  EXPECT_EQ(seen, points.size());
}

TEST(MeasureRules, SlowCallsGetFewSamplesAndCheapOnesMany) {
  const SamplingRules rules{.min_samples = 7, .max_samples = 25, .point_budget_s = 0.25};
  EXPECT_EQ(samples_for(rules, 1e-6, 1e-4), 25);
  EXPECT_EQ(samples_for(rules, 1e-2, 2e-2), 12);
  EXPECT_EQ(samples_for(rules, 0.019, 0.2), 7);
  EXPECT_EQ(samples_for(rules, 0.021, 0.05), 3);
}

TEST(MeasureRules, EstimatesKnowThatAColdCacheCostsACpuMoreThanTheCall) {
  const Variant a = scripted::variant("a", 1);
  const SamplingRules rules{.min_samples = 7, .max_samples = 25, .point_budget_s = 0.02};
  const auto cost = [&](std::size_t n, CacheState cache) {
    return rough_cost_s(scripted::point(a, n, TimingMode::end_to_end, cache), rules);
  };
  // Measured: 20 ms a flush of 105 MiB, 26 ms of 300 MiB; seven samples and a pilot make eight.
  EXPECT_GT(cost(1024, CacheState::cold_dirty), 8 * 0.013);
  EXPECT_LT(cost(1024, CacheState::cold_dirty), 8 * 0.052);
  EXPECT_LT(cost(1024, CacheState::warm), 1e-3);
  EXPECT_GT(cost(1 << 26, CacheState::warm), 100 * cost(1 << 16, CacheState::warm));
}

TEST(MeasureRules, RoundsOfAPointAreDistinctSpreadAndMeetEveryAllocation) {
  for (const int rounds : {1, 3, 7, 25, 100})
    for (int samples = 1; samples <= rounds; ++samples) {
      const auto r = rounds_of(samples, rounds);
      EXPECT_EQ(std::set<int>(r.begin(), r.end()).size(), static_cast<std::size_t>(samples));
      EXPECT_GE(r.front(), 0);
      EXPECT_LT(r.back(), rounds);
      if (samples < 3 || rounds < 3) continue;
      std::set<int> allocations;
      for (const int one : r) allocations.insert(allocation_of(one, rounds, 3));
      EXPECT_EQ(allocations.size(), 3u) << samples << " of " << rounds;
    }
}

TEST(MeasureRules, BatchesTakeNeighboursUntilTheyCostEnough) {
  using Batches = std::vector<std::pair<std::size_t, std::size_t>>;
  const std::vector<double> costs{1, 2, 3, 10, 1, 1};
  EXPECT_EQ(batches_of(costs, 4), (Batches{{0, 3}, {3, 4}, {4, 6}}));
  EXPECT_EQ(batches_of(costs, 100), (Batches{{0, 6}}));
  EXPECT_EQ(batches_of(costs, 0), (Batches{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(batches_of({}, 4), Batches{});
}

TEST(MeasureRules, OrdersAreRandomRepeatableAndFair) {
  std::mt19937_64 a(5), b(5);
  std::map<int, int> first;
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 4000; ++i) {
    const auto order = shuffled(4, a);
    EXPECT_EQ(order, shuffled(4, b));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3}));
    orders.insert(order);
    ++first[order.front()];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [who, count] : first) EXPECT_NEAR(count, 1000, 120) << who;  // over four standard deviations
}

TEST(MeasureRules, TimesArePredictedFromTheNextSmallerSizeOfTheSameVariant) {
  Variant v = scripted::variant("a", 1);
  v.tunables = {Tunable::powers_of_two("block", 32, 64, 32)};
  History h;
  EXPECT_FALSE(h.predict(scripted::point(v, 1024)));
  h.note(scripted::point(v, 1000), 0.001);
  h.note(scripted::point(v, 1000, TimingMode::device), 0.0005);  // the slower of two modes counts
  h.note(scripted::point(v, 2000), 0.1);
  EXPECT_DOUBLE_EQ(*h.predict(scripted::point(v, 1999)), 0.001 * 1.999);
  EXPECT_DOUBLE_EQ(*h.predict(scripted::point(v, 4000)), 0.2);
  EXPECT_FALSE(h.predict(scripted::point(v, 999)));
  Point other = scripted::point(v, 4000);
  other.settings.set("block", "64");
  EXPECT_FALSE(h.predict(other));
  EXPECT_EQ(limit_reason(0.4096, SamplingRules{}),
            "predicted 0.41 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
}

TEST(MeasureRules, TheCeilingIsNotTheLuckiestOfItsKernels) {
  // Six equal kernels with noise. The least of their medians is below the truth by selection; the ceiling is not.
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(10, 1);
  double ceiling = 0, luckiest = 0;
  constexpr int trials = 2000;
  for (int t = 0; t < trials; ++t) {
    std::vector<ByRound> kernels(6, ByRound(15));
    double least = 1e9;
    for (auto& k : kernels) {
      std::vector<double> s;
      for (auto& x : k) s.push_back(*(x = noise(random)));
      least = std::min(least, median(s));
    }
    ceiling += ceiling_of(kernels, {}, 0.95)->median_s / trials;
    luckiest += least / trials;
  }
  EXPECT_NEAR(ceiling, 10, 0.05);
  EXPECT_LT(luckiest, 9.7);
}

TEST(MeasureRules, TheCeilingIsTheFastestWhereThereIsOneAndCopesWithFewRounds) {
  const ByRound slow{5, 5, 5, 5}, fast{1, 2, 1, 2};
  EXPECT_EQ(ceiling_of({slow, fast}, {}, 0.95)->seconds, fast);
  EXPECT_EQ(ceiling_of({slow, fast}, {}, 0.95)->median_s, 1.5);
  EXPECT_EQ(ceiling_of({{3.0}, {2.0}}, {}, 0.95)->median_s, 2);
  EXPECT_FALSE(ceiling_of({}, {}, 0.95));
  EXPECT_FALSE(ceiling_of({ByRound(3)}, {}, 0.95));
  // Rounds that were voided may be all of one parity.
  const auto gap = std::nullopt;
  EXPECT_EQ(ceiling_of({{5.0, gap, 5.0}, {2.0, gap, 3.0}}, {}, 0.95)->seconds, (ByRound{2.0, gap, 3.0}));
  EXPECT_EQ(ceiling_of({{gap, 5.0, gap}, {gap, 2.0, gap}}, {}, 0.95)->median_s, 2);
}

TEST(MeasureRules, SharesArePairedByRound) {
  // Both drift by a factor of four together; unpaired medians would hide that the ratio is constant.
  const ByRound ceiling{1, 2, 4, std::nullopt}, times{2, 4, 8, 1}, gaps{2, std::nullopt, 8, 1};
  EXPECT_DOUBLE_EQ(*share_of(ceiling, times), 0.5);
  EXPECT_DOUBLE_EQ(*share_of(ceiling, gaps), 0.5);
  EXPECT_FALSE(share_of(ByRound(4), times));
}

TEST(MeasureRules, ImpossibleIsOnlyWhatPassesPaperOrCeilingClearly) {
  Ceiling c{.seconds = {}, .median_s = 1e-3, .interval = {0.99e-3, 1.01e-3}};
  const auto why = [&](double median, double high, std::optional<double> paper = {}) {
    return impossibility(4'000'000'000, median, {median * 0.99, high}, c, paper);
  };
  EXPECT_EQ(why(1e-3, 1.01e-3), "");
  EXPECT_EQ(why(0.985e-3, 0.986e-3), "");                  // within 2 %
  EXPECT_EQ(why(0.95e-3, 0.995e-3), "");                   // the intervals overlap
  EXPECT_NE(why(0.95e-3, 0.96e-3).find("below the time of only reading"), std::string::npos);
  EXPECT_NE(why(1e-3, 1.01e-3, 3.9e12).find("more than the memory's 3.9 TB/s"), std::string::npos);
  EXPECT_EQ(why(1e-3, 1.01e-3, 4.1e12), "");
  EXPECT_EQ(impossibility(100, 1, {1, 1}, std::nullopt, std::nullopt), "");
}

TEST(MeasureRules, SettingsExpandButNotWhatTheUserFixed) {
  Variant v = scripted::variant("a", 1);
  v.tunables = {Tunable::powers_of_two("block", 32, 128, 32), Tunable::choice("finish", {"x", "y"}, "x"),
                Tunable::integer("threads", 1, 1024, {"auto", "1", "2", "64"}, "auto")};
  const auto texts = [&](const Selection& s, const std::vector<std::string>& expanded, std::int64_t largest = 100) {
    std::vector<std::string> out;
    for (const auto& one : expand_settings(v, s, expanded, largest)) out.push_back(one.str());
    return out;
  };
  EXPECT_EQ(texts({}, {"finish"}),
            (std::vector<std::string>{"block=32;finish=x;threads=auto", "block=32;finish=y;threads=auto"}));
  Selection fixed;
  fixed.settings = {{"finish", "y"}, {"block", "64"}};
  EXPECT_EQ(texts(fixed, {"finish"}), (std::vector<std::string>{"block=64;finish=y;threads=auto"}));
  EXPECT_EQ(texts(fixed, {"threads"}, 2).size(), 3u);  // 64 threads are more than there are cores
  EXPECT_EQ(texts({}, {"block", "finish"}).size(), 6u);
}

TEST(MeasureRules, UnknownExperimentsSuggestTheNearest) {
  static const RegisterExperiment here({.name = "zz-registered-by-a-test", .summary = "", .points = {}});
  EXPECT_EQ(find_experiment("zz-registered-by-a-test").name, "zz-registered-by-a-test");
  try {
    find_experiment("zz-registered-by-a-tast");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'zz-registered-by-a-test'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace reductio
