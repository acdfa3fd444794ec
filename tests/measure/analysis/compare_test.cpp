/// Comparisons from the samples to the verdict, live and stored, on a scripted clock; and the self-test's own test.

#include "measure/analysis/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/analysis/selftest.h"
#include "measure/results/schema.h"
#include "measure/sampling/sampler.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

using namespace scripted;

/// Rules that give each point of a comparison so many rounds on each of 24 contexts.
SamplingRules rounds_each(int each) {
  SamplingRules rules = compare_rules();
  rules.min_samples = rules.max_samples = each * wanted_contexts;
  return rules;
}

/// What measuring these points together gives.
GroupOutcome measure(Instruments& instruments, const std::vector<Point>& points, const SamplingRules& rules) {
  const auto backend = open_scripted(instruments);
  Sampler sampler({backend.get(), instruments, rules, 1});
  std::vector<const Point*> group;
  for (const Point& p : points) group.push_back(&p);
  return scripted::measure(sampler, group);
}

/// The first beside each of the others.
Comparison compare_all(const std::vector<Measured>& measured, double confidence = 0.95) {
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i < measured.size(); ++i) pairs.emplace_back(&measured[0], &measured[i]);
  return compare(pairs, true, confidence, 0.01);
}

// ------------------------------------------------------------------------------------------------------------ sampling

TEST(MeasureCompare, EveryRoundHoldsAllAndTheDearestDecidesTheirNumber) {
  const Variant cheap = variant("cheap", 1), dear = variant("dear", 2);
  Scripted script([](std::size_t id, std::size_t) { return id == 1 ? 1e-6 : 0.02; });
  const GroupOutcome out = measure(script, {point(cheap, 100), point(dear, 100)}, compare_rules());
  ASSERT_EQ(out.seconds.size(), 2u);
  EXPECT_EQ(out.rows[0].n_samples, 49u);  // a second's worth of the dear one
  EXPECT_EQ(out.rows[1].n_samples, 49u);
  ASSERT_EQ(out.contexts.size(), out.seconds[0].size());
  for (const auto& s : out.seconds)
    for (const auto& one : s) EXPECT_TRUE(one);
  EXPECT_EQ(std::set<int>(out.contexts.begin(), out.contexts.end()).size(), 24u);
  EXPECT_TRUE(std::is_sorted(out.contexts.begin(), out.contexts.end()));
  for (const auto& asked : script.clock().asked)
    EXPECT_NE(asked.id, floor_id);  // harness calls are sampled by experiments
}

TEST(MeasureCompare, TheMoreConfidenceEachIntervalNeedsTheMoreAllocationsAreTaken) {
  EXPECT_EQ(compare_rules().contexts, wanted_contexts);
  EXPECT_EQ(compare_rules(confidence_of_each(0.95, 40)).contexts, wanted_contexts);
  const double of_many = confidence_of_each(0.95, 1000);
  EXPECT_EQ(compare_rules(of_many).contexts, static_cast<int>(contexts_for(of_many)));
  EXPECT_GT(compare_rules(of_many).contexts, wanted_contexts);
  EXPECT_EQ(compare_rules(of_many).min_samples, compare_rules(of_many).contexts);
}

TEST(MeasureCompare, WhatContextsDifferByHidesAnEffectThatMoreOfThemTell) {
  LEFT_TO_RELEASE_BUILDS();
  // As measured on an H200 at 2^16: 1 % planted, and a ratio that differs by 1.5 % from context to context.
  const Variant a = variant("a", 1), b = variant("b", 2);
  std::mt19937_64 random(11);
  const auto told = [&](int contexts) {
    int count = 0;
    for (int i = 0; i < 50; ++i) {
      double shift = 1;
      Scripted script([&](std::size_t id, std::size_t) {
        return 1e-5 * (id == 2 ? 1.01 * shift : 1) * std::normal_distribution(1.0, 0.01)(random);
      });
      script.device().each_context = [&] { shift = std::lognormal_distribution(0.0, 0.015)(random); };
      SamplingRules rules = compare_rules();
      rules.contexts = contexts;
      rules.min_samples = rules.max_samples = 8 * contexts;
      const GroupOutcome out = measure(script, {point(a, 100), point(b, 100)}, rules);
      const Comparison c = compare_all(measured_in(out));
      count += verdict_on(*c.rows.at(0).ratio, 0.003) == Verdict::slower;
    }
    return count;
  };
  EXPECT_LT(told(wanted_contexts), 40);
  EXPECT_GE(told(96), 45);
}

TEST(MeasureCompare, IntervalsOfTimesEndToEndOnAGpuAreSaidToHoldLess) {
  const auto said = [](DeviceKind device, TimingMode mode, bool timed = true) {
    Compared row{.base = {}, .variant = {}, .ratio = {}, .verdict = {}, .rounds_to_decide = {}, .reason = {}};
    row.variant.row.point.device = device;
    row.variant.row.point.timing_mode = mode;
    if (timed) row.ratio.emplace().enough = true;
    Comparison c;
    c.rows.push_back(row);
    return confidence_in_words(c);
  };
  const std::string warning = "Timed end to end, an interval holds what another run measures less often";
  EXPECT_NE(said(DeviceKind::cuda, TimingMode::end_to_end).find(warning), std::string::npos);
  EXPECT_EQ(said(DeviceKind::cuda, TimingMode::device).find(warning), std::string::npos);
  EXPECT_EQ(said(DeviceKind::cpu, TimingMode::end_to_end).find(warning), std::string::npos);
  EXPECT_EQ(said(DeviceKind::cuda, TimingMode::end_to_end, false).find(warning), std::string::npos);
}

TEST(MeasureCompare, SamplesHandedOutAreThoseOfTheRows) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  std::mt19937_64 random(1);
  Scripted script([&](std::size_t id, std::size_t) {
    return static_cast<double>(id) * std::lognormal_distribution(-12.0, 0.1)(random);
  });
  const GroupOutcome out = measure(script, {point(a, 100), point(b, 100)}, rounds_each(3));
  const auto samples = samples_in("the samples", parse_csv(csv_record(sample_columns()) + out.samples_csv).records);
  ASSERT_EQ(samples.size(), 2 * 72u);
  for (const RawSample& sample : samples) {
    const std::size_t who = sample.point.variant == "a" ? 0 : 1, round = static_cast<std::size_t>(sample.round);
    EXPECT_EQ(*sample.time_s, *out.seconds[who][round]);
    EXPECT_EQ(sample.context, out.contexts[round]);
  }
}

TEST(MeasureCompare, AVariantBesideItselfHasAPlanAndAWorkspaceForEach) {
  Variant a = variant("a", 1);
  std::map<const Plan*, int> samples;
  Scripted script([](std::size_t, std::size_t) { return 1e-5; });
  script.clock().before_sample = [&](const Call& c) { ++samples[c.plan]; };
  const GroupOutcome out = measure(script, {point(a, 100), point(a, 100)}, rounds_each(2));
  ASSERT_EQ(out.rows.size(), 2u);
  EXPECT_EQ(row_key(out.rows[0].point), row_key(out.rows[1].point));
  EXPECT_EQ(out.rows[0].n_samples, 48u);
  EXPECT_EQ(out.rows[1].n_samples, 48u);
  EXPECT_GE(samples.size(), 2u);
  const Comparison c = compare_all(measured_in(out));
  ASSERT_EQ(c.rows.size(), 1u);
  EXPECT_EQ(c.rows[0].verdict, Verdict::same);
}

// ------------------------------------------------------------------------------------------------------------ verdicts

TEST(MeasureCompare, ADriftingClockDoesNotHideTwoPercent) {
  const Variant a = variant("a", 1), b = variant("b", 2), c = variant("c", 3);
  std::mt19937_64 random(2);
  double speed = 1;
  Scripted script([&](std::size_t id, std::size_t) {
    speed *= 1.001;
    const double t = id == 1 ? 1e-5 : id == 2 ? 1.02e-5 : 0.9e-5;
    return t * speed * std::normal_distribution(1.0, 0.005)(random);
  });
  const Comparison result =
      compare_all(measured_in(measure(script, {point(a, 100), point(b, 100), point(c, 100)}, rounds_each(10))));
  EXPECT_EQ(result.rows[0].verdict, Verdict::slower);
  EXPECT_EQ(result.rows[1].verdict, Verdict::faster);
  EXPECT_LE(result.rows[1].ratio->interval.low, 1 / 0.9);
  EXPECT_GE(result.rows[1].ratio->interval.high, 1 / 0.9);
  EXPECT_EQ(result.count(Verdict::slower), 1u);
}

TEST(MeasureCompare, IntervalsWidenWithTheNumberOfRows) {
  std::mt19937_64 random(3);
  const Variant a = variant("a", 1);
  Scripted script([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 0.02)(random); });
  const auto measured = measured_in(measure(script, {point(a, 100), point(a, 100)}, rounds_each(4)));
  const Pair pair{&measured[0], &measured[1]};
  const Interval alone = compare(std::vector{pair}, true, 0.95, 0.01).rows[0].ratio->interval;
  const Comparison many = compare(std::vector<Pair>(50, pair), true, 0.95, 0.01);
  const Comparison apart = compare(std::vector<Pair>(50, pair), true, 0.95, 0.01, true);
  EXPECT_EQ(apart.rows[0].ratio->interval.low, alone.low);
  EXPECT_EQ(apart.rows[0].ratio->interval.high, alone.high);
  const Interval one_of_many = many.rows[0].ratio->interval;
  EXPECT_LT(one_of_many.low, alone.low);
  EXPECT_GT(one_of_many.high, alone.high);
  EXPECT_GE(many.rows[0].ratio->confidence, 0.999);
}

TEST(MeasureCompare, WhatHasNoTimeIsNotComparedAndSaysWhy) {
  const Variant good = variant("good", 1), wrong = variant("wrong", 2, [](auto, auto, auto) {});
  Variant declining = variant("declining", 3);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  Scripted script([](std::size_t, std::size_t) { return 1e-5; });
  Variant faulty = variant("faulty", 4);
  faulty.known_fault = [](const Settings&) { return KnownFault{.why = "it leaves one out"}; };
  auto measured = measured_in(measure(
      script, {point(good, 100), point(wrong, 100), point(declining, 100), point(faulty, 100), point(good, 100)},
      rounds_each(1)));
  const Comparison c = compare_all(measured);
  EXPECT_FALSE(c.rows[0].ratio);
  EXPECT_NE(c.rows[0].reason.find("wrong"), std::string::npos);
  EXPECT_FALSE(c.rows[1].ratio);
  EXPECT_NE(c.rows[1].reason.find("not on Sundays"), std::string::npos);
  EXPECT_FALSE(c.rows[2].ratio);
  EXPECT_NE(c.rows[2].reason.find("the result is wrong: it leaves one out"), std::string::npos);
  EXPECT_EQ(c.rows[3].verdict, Verdict::same);
  EXPECT_EQ(c.count(Verdict::undecided), 0u);
}

TEST(MeasureCompare, ConfidenceAndEffectAreChecked) {
  for (const double bad : {0.0, 1.0, -0.5, 95.0, std::nan("")}) {
    const std::string why = error_of([&] { compare({}, true, bad, 0.01); });
    EXPECT_EQ(why, error_of([&] { require_confidence(bad); })) << bad;
    EXPECT_NE(why.find("--confidence"), std::string::npos) << bad;
  }
  for (const double bad : {0.0, -0.01, std::nan("")})
    EXPECT_NE(error_of([&] { compare({}, true, 0.95, bad); }).find("--effect"), std::string::npos) << bad;
}

TEST(MeasureCompare, TooFewSamplesForAnIntervalAreSaidToBeTooFew) {
  std::mt19937_64 random(3);
  const Variant a = variant("a", 1);
  const auto with_rounds = [&](int rounds) {
    Scripted script([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 0.02)(random); });
    SamplingRules rules = compare_rules();
    rules.min_samples = rules.max_samples = rounds;
    return compare_all(measured_in(measure(script, {point(a, 100), point(a, 100)}, rules)));
  };
  const Comparison one = with_rounds(1);
  EXPECT_EQ(one.rows[0].reason, "too few samples for an interval: 1, it takes 6");
  EXPECT_EQ(one.rows[0].verdict, Verdict::undecided);
  EXPECT_EQ(one.ratios(), 1u);
  EXPECT_EQ(one.intervals(), 0u);
  EXPECT_EQ(confidence_in_words(one), "There is no interval: too few samples; the smallest effect that counts is 1 %.");
  EXPECT_EQ(least_effect(one), std::nullopt);
  Comparison both = with_rounds(24);
  EXPECT_EQ(confidence_in_words(both),
            "The interval holds with 95 % confidence; the smallest effect that counts is 1 %.");
  both.rows.push_back(one.rows[0]);
  EXPECT_EQ(confidence_in_words(both),
            "The interval holds with 95 % confidence; 1 of 2 rows have too few samples for one; the smallest effect "
            "that counts is 1 %.");
}

/// A row with this interval, and the verdict that it has for an effect of 1 %.
Compared row_with(double low, double high) {
  Compared c{.base = {}, .variant = {}, .ratio = {}, .verdict = {}, .rounds_to_decide = {}, .reason = {}};
  c.ratio = Ratio{.value = std::sqrt(low * high), .interval = {low, high}, .enough = true};
  c.verdict = verdict_on(*c.ratio, 0.01);
  return c;
}

TEST(MeasureCompare, TheLeastEffectIsOneByWhichAllRowsAreDecided) {
  const auto least = [](std::initializer_list<Compared> rows) {
    Comparison c;
    c.rows = rows;
    const auto effect = least_effect(c);
    for (const Compared& row : rows)
      EXPECT_NE(verdict_on(*row.ratio, effect.value_or(0.01)), Verdict::undecided);
    return effect;
  };
  EXPECT_EQ(least({row_with(0.995, 1.005)}), std::nullopt) << "decided";
  EXPECT_EQ(least({row_with(0.98, 1.005)}), 0.021) << "to two digits, rounded up";
  EXPECT_EQ(least({row_with(0.98, 1.005), row_with(0.9, 1.1)}), 0.12);
  // By 3 % the second is neither slower nor the same; it was slower by 1 %.
  EXPECT_EQ(least({row_with(0.975, 1.005), row_with(0.96, 0.98)}), 0.042);
  EXPECT_EQ(least({row_with(0.5, 0.9)}), std::nullopt);
}

TEST(MeasureCompare, LookingUntilItIsDecidedErrsNoMoreOftenThanLookingOnce) {
  LEFT_TO_RELEASE_BUILDS();
  // The truth is the boundary itself, so that whatever is decided is wrong. As against a baseline of 80 contexts.
  std::mt19937_64 random(21);
  const auto sampled = [&](double seconds) {
    TimedRounds rounds;
    for (int context = 0; context < 80; ++context) {
      rounds.seconds.push_back(seconds * std::lognormal_distribution(0.0, 0.01)(random));
      rounds.contexts.push_back(context);
    }
    return rounds;
  };
  Measured base{.label = {}, .source = {}, .row = {}, .rounds = {}}, now = base;
  const auto decided = [&](int contexts, int looks) {
    Measured first = now;
    first.rounds.seconds.resize(static_cast<std::size_t>(contexts));
    first.rounds.contexts.resize(static_cast<std::size_t>(contexts));
    const Pair pair{&base, &first};
    return compare(std::vector{pair}, true, 0.95, 0.01, false, looks).count(Verdict::undecided) == 0;
  };
  int undivided = 0, divided = 0;
  const int runs = 800;
  for (int run = 0; run < runs; ++run) {
    base.rounds = sampled(1e-5);
    now.rounds = sampled(1.01e-5);
    bool is_decided = false, is_decided_divided = false;
    for (const int contexts : {20, 40, 80}) {
      is_decided = is_decided || decided(contexts, 1);
      is_decided_divided = is_decided_divided || decided(contexts, 3);
    }
    undivided += is_decided;
    divided += is_decided_divided;
  }
  EXPECT_GT(undivided, runs * 8 / 100) << "as if each look were the only one";
  EXPECT_LE(divided, runs * 6 / 100);  // 5 of 100, and what chance adds
}

TEST(MeasureCompare, AMeasurementEndsAfterTheContextThatIsSaidToBeEnough) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  Scripted script([](std::size_t id, std::size_t) { return 1e-5 * static_cast<double>(id); });
  int contexts = 0;
  script.device().each_context = [&] { ++contexts; };
  const auto backend = open_scripted(script);
  SamplingRules rules = compare_rules();
  rules.contexts = 80;
  rules.min_samples = rules.max_samples = 160;
  Sampler sampler({backend.get(), script, rules, 1});
  const std::vector<Point> points{point(a, 100), point(b, 100)};
  const std::vector<const Point*> group{&points[0], &points[1]};
  std::vector<int> asked;
  std::vector<double> ratios;
  const auto enough = [&](int contexts, const SoFar& so_far) {
    asked.push_back(contexts);
    if (contexts % 20) return false;
    const std::vector<GroupOutcome> outcomes = so_far();
    const Comparison c = compare_all(measured_in(outcomes.at(0)));
    EXPECT_EQ(c.rows[0].ratio->contexts, static_cast<std::size_t>(contexts));
    EXPECT_EQ(c.rows[0].ratio->rounds, 2 * static_cast<std::size_t>(contexts));
    return contexts == 40;
  };
  const Measurement measured = sampler.measure({&group, 1}, {.abandon = [] { return false; }, .enough = enough});
  EXPECT_EQ(contexts, 40);
  EXPECT_EQ(asked.size(), 40u);
  const GroupOutcome& out = measured.groups.at(0);
  for (const Row& row : out.rows) EXPECT_EQ(row.n_samples, 80u);
  const Comparison c = compare_all(measured_in(out));
  EXPECT_EQ(c.rows[0].verdict, Verdict::slower);
  EXPECT_EQ(c.rows[0].ratio->contexts, 40u);
  EXPECT_EQ(samples_in("the samples", parse_csv(csv_record(sample_columns()) + out.samples_csv).records).size(), 160u);
}

// ---------------------------------------------------------------------------------------------------------- the stored

/// A results folder with rows of these variants, each a factor slower than the clock's ten microseconds.
std::filesystem::path stored(const Folder& folder, const std::vector<Point>& points, double factor, unsigned seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  Session s = session(folder, points, Scripted([=](std::size_t, std::size_t) {
                        return factor * 1e-5 * std::normal_distribution(1.0, 0.005)(*random);
                      }));
  Heard heard;
  run_session(std::move(s), heard);
  return folder.path() / "scripted";
}

TEST(MeasureCompare, StoredFoldersGiveBackTheirSamples) {
  const Folder one, other;
  const Variant a = variant("a", 1), b = variant("b", 2);
  const std::vector<Point> points{point(a, 100), point(b, 100), point(a, 200), point(b, 200)};
  const MeasuredSet then = measured_in(read_results(stored(one, points, 1, 1)));
  const MeasuredSet now = measured_in(read_results(stored(other, points, 0.5, 2)));
  ASSERT_EQ(then.rows.size(), 4u);
  for (const Measured& m : then.rows) {
    EXPECT_EQ(m.rounds.seconds.size(), 48u);
    std::vector<double> s;
    for (const auto& x : m.rounds.seconds) s.push_back(*x);
    EXPECT_EQ(std::to_string(median(s)), std::to_string(std::stod(m.at("time_median_s"))));
    EXPECT_EQ(std::set<int>(m.rounds.contexts.begin(), m.rounds.contexts.end()).size(), 12u);
  }
  const auto pairs = match(then, now, false);
  ASSERT_EQ(pairs.size(), 4u);
  for (const auto& [base, variant] : pairs) {
    EXPECT_EQ(base->at("variant"), variant->at("variant"));
    EXPECT_EQ(base->at("n"), variant->at("n"));
  }
  const Comparison c = compare(pairs, false, 0.95, 0.01);
  EXPECT_EQ(c.count(Verdict::faster), 4u);
  for (const Compared& row : c.rows) EXPECT_NEAR(row.ratio->value, 2, 0.03);
}

TEST(MeasureCompare, RelativeTimesLeaveOutWhatSlowedBothDown) {
  // Once, everything took twice as long in every other round, and c has become slower by a fifth.
  const Folder one, other;
  const Variant a = variant("a", 1), b = variant("b", 2), c = variant("c", 3);
  const std::vector<Point> points{point(a, 100), point(b, 100), point(c, 100)};
  const auto measure = [&](const Folder& folder, bool later) {
    Scripted script([=, calls = 0](std::size_t id, std::size_t) mutable {
      const double noise = 1 + 0.001 * (++calls % 7);
      return noise * 1e-5 * (later ? 2 : 1) * (id == 3 && later ? 1.2 : 1);
    });
    Heard heard;
    run_session(session(folder, points, std::move(script)), heard);
    return measured_in(read_results(folder.path()));
  };
  const MeasuredSet before = measure(one, false), after = measure(other, true);
  EXPECT_EQ(compare(match(before, after, false), false, 0.95, 0.01).count(Verdict::slower), 3u);
  const std::vector<std::string> to{"nobody", "a"};
  const MeasuredSet relative = relative_to(before, to), relative_now = relative_to(after, to);
  ASSERT_EQ(relative.rows.size(), 2u) << "the reference's own rows are left out";
  const Comparison both = compare(match(relative, relative_now, false), false, 0.95, 0.01);
  ASSERT_EQ(both.rows.size(), 2u);
  EXPECT_EQ(both.rows[0].verdict, Verdict::same);
  EXPECT_EQ(both.rows[1].verdict, Verdict::slower);
  EXPECT_NEAR(both.rows[1].ratio->value, 1 / 1.2, 0.01);
  EXPECT_NE(error_of([&] { relative_to(before, std::vector<std::string>{"nobody"}); }).find("--relative-to"),
            std::string::npos);
}

TEST(MeasureCompare, StoredFoldersThatAreNotComparableAreRefused) {
  const Folder one, other, third;
  const Variant a = variant("a", 1), b = variant("b", 2);
  const MeasuredSet warm = measured_in(read_results(stored(one, {point(a, 100), point(b, 100)}, 1, 1)));
  const MeasuredSet less = measured_in(read_results(stored(other, {point(a, 100)}, 1, 1)));
  const MeasuredSet device = measured_in(read_results(stored(third, {point(a, 100, TimingMode::device)}, 1, 1)));
  EXPECT_NE(error_of([&] { match(warm, device, false); }).find("timing_mode is end_to_end there and device here"),
            std::string::npos);
  EXPECT_NE(error_of([&] { match(warm, less, false); }).find("lacks 1 of 2 rows"), std::string::npos);
  EXPECT_NE(error_of([&] { match(less, warm, false); }).find("lacks 1 of 2 ("), std::string::npos);
  EXPECT_EQ(match(warm, less, true).size(), 1u);
  EXPECT_EQ(read_results(one.path()).rows.size(), 2u);  // above the only machine's folder
  const Folder empty;
  EXPECT_NE(error_of([&] { read_results(empty.path()); }).find("a results folder"), std::string::npos);
  EXPECT_NE(error_of([&] { read_results(one.path() / "nowhere"); }).find("is not a folder"), std::string::npos);
}

/// Appends to `folder`, which may hold other experiments, one of that name.
void add_experiment(const Folder& folder, const std::string& name, const std::vector<Point>& points) {
  Session s = session(folder, points, constant(1e-5));
  s.experiment = name;
  Heard heard;
  run_session(std::move(s), heard);
}

/// Changes what a file holds; the change must be one.
void change_file(const std::filesystem::path& path, const std::function<std::string(const std::string&)>& change) {
  const std::string before = *content_of(path), after = change(before);
  ASSERT_NE(after, before) << path;
  write_whole_file(path, after);
}

TEST(MeasureCompare, AnExperimentThatMachineJsonTellsOfTwiceIsReadOnce) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  const auto path = stored(folder, {point(a, 100), point(b, 100)}, 1, 1);
  change_file(path / "machine.json", [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json["runs"].push_back(json["runs"][0]);
    return json.dump();
  });
  const MeasuredSet set = measured_in(read_results(path));
  EXPECT_EQ(set.rows.size(), 2u);
  EXPECT_EQ(match(set, set, false).size(), 2u);
}

TEST(MeasureCompare, ExperimentsVariantsTypesAndSizesChooseAmongStoredRows) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  add_experiment(folder, "one", {point(a, 100), point(b, 100), point(a, 200)});
  add_experiment(folder, "two", {point(a, 100)});
  const auto rows = [&](const StoredChoice& choice) { return read_results(folder.path(), choice).rows.size(); };
  const auto choice_of = [](auto&& set) {
    StoredChoice choice;
    set(choice.selection);
    return choice;
  };
  const auto selected = [&](auto&& set) { return rows(choice_of(set)); };
  EXPECT_EQ(rows({}), 4u);
  EXPECT_EQ(rows({.experiments = {"one"}}), 3u);
  EXPECT_EQ(rows({.experiments = {"two", "one"}}), 4u);
  EXPECT_EQ(selected([](Selection& s) { s.variants_regex = "^b$"; }), 1u);
  EXPECT_EQ(selected([](Selection& s) { s.sizes = {200, 300}; }), 1u);
  EXPECT_EQ(selected([&](Selection& s) { s.types = {point(a, 100).problem.type}; }), 4u);
  EXPECT_EQ(selected([&](Selection& s) { s.operations = {point(a, 100).problem.operation}; }), 4u);
  const auto told = [&](const StoredChoice& choice) { return error_of([&] { read_results(folder.path(), choice); }); };
  const std::string path = (folder.path() / "scripted").string();
  EXPECT_EQ(told({.experiments = {"three"}}),
            path + " has no experiment 'three'; it has one, two");
  StoredChoice none = choice_of([](Selection& s) { s.variants_regex = "^b$"; });
  none.experiments = {"two"};
  EXPECT_EQ(told(none),
            path + " holds no such rows; choose others by --experiment, --variants, --types, --operations and --sizes");
  EXPECT_NE(told(choice_of([](Selection& s) { s.variants_regex = "("; })).find("malformed regular expression '('"),
            std::string::npos);
  // One point in two experiments is two rows, each of which is compared with its own.
  const MeasuredSet all = measured_in(read_results(folder.path()));
  const auto pairs = match(all, all, false);
  ASSERT_EQ(pairs.size(), 4u);
  for (const auto& [base, now] : pairs) EXPECT_EQ(base, now);
  const MeasuredSet two = measured_in(read_results(folder.path(), {.experiments = {"two"}}));
  const MeasuredSet one = measured_in(read_results(folder.path(), {.experiments = {"one"}}));
  EXPECT_NE(error_of([&] { match(two, one, true); }).find("experiment is two there and one here"), std::string::npos);
}

TEST(MeasureCompare, RowsWithoutRawSamplesAreLeftOutWhereOthersHaveThem) {
  const Folder folder;
  const Variant a = variant("a", 1);
  for (const char* name : {"one", "two"}) add_experiment(folder, name, {point(a, 100)});
  const auto path = folder.path() / "scripted";
  std::filesystem::remove(path / "two.samples.csv.gz");
  const StoredResults results = read_results(path);
  EXPECT_EQ(results.rows.size(), 1u);
  EXPECT_EQ(note_of_left_out(results),
            "note: " + path.string() + " has no raw samples of two, whose rows are left out");
  EXPECT_NE(error_of([&] { read_results(path, {.experiments = {"two"}}); }).find("lacks the raw samples of 1 of the 1"),
            std::string::npos);
  std::filesystem::remove(path / "one.samples.csv.gz");
  EXPECT_EQ(error_of([&] { read_results(path); }),
            path.string() + " holds no raw samples; copy the whole results folder");
}

TEST(MeasureCompare, ARowThatStandsTwiceIsToldByItsLine) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  const auto path = stored(folder, {point(a, 100), point(b, 100)}, 1, 1);
  change_file(path / "test.csv", [](const std::string& text) { return text + text.substr(text.find('\n') + 1); });
  EXPECT_EQ(error_of([&] { read_results(path); }),
            (path / "test.csv").string() + ":4 is of the same point as line 2, a " + describe_group(point(a, 100)) +
                "; finish that run with --resume, or remove one");
}

TEST(MeasureCompare, ARunThatKeepsNoRowsWritesNothing) {
  const Folder folder;
  const Variant a = variant("a", 1);
  struct Groups final : RunObserver {
    void group(const GroupOutcome& g) override {
      seen.push_back(g.seconds.size());
      EXPECT_EQ(g.samples_csv, "") << "the text of raw samples that nobody writes";
    }
    std::vector<std::size_t> seen;
  } groups;
  Session s = session(folder, {point(a, 100), point(a, 200)}, scripted::constant(1e-5));
  s.keeps_rows = false;
  const RunReport report = run_session(std::move(s), groups);
  EXPECT_EQ(groups.seen, (std::vector<std::size_t>{1, 1}));
  EXPECT_EQ(report.count(Status::ok), 2u);
  EXPECT_TRUE(report.csv.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// -------------------------------------------------------------------------------------------------------------
// selftest

SelftestPlan plan_for(const Variant& v, int repeats) {
  SelftestPlan plan;
  plan.point = point(v, 0);
  plan.sizes = {100};
  plan.repeats = repeats;
  plan.rules = rounds_each(5);
  plan.planted_rules = rounds_each(20);
  return plan;
}

SelftestReport run_selftest(Scripted& script, const SelftestPlan& plan) {
  const auto backend = open_scripted(script);
  return selftest(backend.get(), script, plan, {.progress = [](auto, auto&) {}, .stop = [] { return false; }});
}

TEST(MeasureSelftest, PassesOnAnHonestClock) {
  std::mt19937_64 random(4);
  const Variant a = variant("a", 1);
  Scripted script([&](std::size_t, std::size_t) { return 1e-4 * std::normal_distribution(1.0, 0.02)(random); });
  const SelftestReport report = run_selftest(script, plan_for(a, 100));
  for (const auto kind : {&SelfComparisons::together, &SelfComparisons::apart}) {
    const SelfComparisons::Kind all = report.all(kind);
    EXPECT_EQ(all.comparisons, 100u);
    EXPECT_LE(all.without_one, 11u);
    EXPECT_FALSE(all.too_many(0.95));
    EXPECT_EQ(all.told_apart, 0u);
  }
  ASSERT_EQ(report.with_itself.size(), 1u);
  EXPECT_NEAR(report.with_itself[0].median_s, 1e-4, 1e-6);
  // 120 rounds of 2.8 % noise: an effect of half a percent to two percent is seen.
  EXPECT_GT(*report.with_itself[0].together.smallest, 0.005);
  EXPECT_LT(*report.with_itself[0].together.smallest, 0.02);
  ASSERT_EQ(report.planted.size(), 3u);
  for (const PlantedEffect& p : report.planted) {
    EXPECT_TRUE(p.found()) << p.effect << ": " << p.ratio.interval.low << " to " << p.ratio.interval.high;
    EXPECT_EQ(p.verdict == Verdict::slower, p.effect > 0);
    EXPECT_NEAR(p.ratio.value, 1 / (1 + p.effect), 0.01);
    EXPECT_NEAR(p.planted_s, p.effect * 1.1e-4, 1e-6);
  }
}

TEST(MeasureSelftest, WhatIsPlantedIsToldBesideAnotherKernelFromOtherContexts) {
  // Each context shifts all by 10 %, which the other kernel takes out, and the other takes half as long again.
  std::mt19937_64 random(9);
  const Variant a = variant("a", 1), b = variant("b", 2);
  double shift = 1;
  Scripted script([&](std::size_t id, std::size_t) {
    return (id == 2 ? 1.5e-4 : 1e-4) * shift * std::normal_distribution(1.0, 0.002)(random);
  });
  script.device().each_context = [&] { shift = std::normal_distribution(1.0, 0.1)(random); };
  SelftestPlan plan = plan_for(a, 1);
  plan.other = &b;
  for (const PlantedEffect& p : run_selftest(script, plan).planted) {
    ASSERT_TRUE(p.beside_other);
    EXPECT_NEAR(p.beside_other->value, p.ratio.value, 0.01) << p.effect;
    EXPECT_EQ(p.verdict_beside_other == Verdict::slower, p.effect > 0);
    EXPECT_LT(p.beside_other->interval.high / p.beside_other->interval.low, 1.05) << "the shift is taken out";
    EXPECT_TRUE(p.found()) << p.effect;
  }
  // A timer that is deaf to spins once they are measured beside another kernel is found out by that.
  script.clock().deaf = true;
  for (const PlantedEffect& p : run_selftest(script, plan).planted) EXPECT_EQ(p.found(), p.effect == 0) << p.effect;
}

TEST(MeasureSelftest, ASpinOfZeroThatMakesADifferenceBesideAnotherKernelIsAFalsePositive) {
  PlantedEffect p;
  p.rest.interval = {0.99, 1.01};
  p.verdict = Verdict::same;
  p.beside_other = Ratio{};
  p.verdict_beside_other = Verdict::same;
  EXPECT_TRUE(p.found());
  p.verdict_beside_other = Verdict::slower;
  EXPECT_FALSE(p.found());
  p.effect = 0.05;
  p.verdict = Verdict::slower;
  EXPECT_TRUE(p.found());
  p.verdict_beside_other = Verdict::undecided;
  EXPECT_FALSE(p.found());
  EXPECT_TRUE(p.missed()) << "an interval of no width";
}

/// What a self-test finds beside another kernel to whose time that of the measured one has a ratio which differs from
/// context to context by this standard deviation.
SelftestReport beside_one_that_scatters_by(double deviation) {
  std::mt19937_64 random(10);
  const Variant a = variant("a", 1), b = variant("b", 2);
  double shift = 1;
  Scripted script([&](std::size_t id, std::size_t) {
    return 1e-4 * (id == 1 ? shift : 1) * std::normal_distribution(1.0, 0.002)(random);
  });
  script.device().each_context = [&] { shift = std::lognormal_distribution(0.0, deviation)(random); };
  SelftestPlan plan = plan_for(a, 1);
  plan.other = &b;
  return run_selftest(script, plan);
}

TEST(MeasureSelftest, WhatWideIntervalsBesideAnotherKernelCannotTellIsCountedApart) {
  const SelftestReport report = beside_one_that_scatters_by(0.04);
  ASSERT_EQ(report.planted.size(), 3u);
  const PlantedEffect &none = report.planted[0], &small = report.planted[1], &large = report.planted[2];
  EXPECT_EQ(small.verdict, Verdict::slower);
  EXPECT_EQ(small.verdict_beside_other, Verdict::undecided);
  EXPECT_EQ(large.verdict_beside_other, Verdict::slower);
  EXPECT_TRUE(none.found());
  EXPECT_FALSE(small.found());
  EXPECT_TRUE(small.too_small_beside_other()) << log_width(*small.beside_other);
  EXPECT_TRUE(large.found());
  EXPECT_NEAR(small.rest_beside_other.value, small.beside_other->value * 1.05, 0.005);
  EXPECT_EQ(report.count(&PlantedEffect::missed), 0u);
  EXPECT_EQ(report.told(),
            "2 of 3 planted effects, zero included, were found, 1 too small to be found beside another kernel");
}

TEST(MeasureSelftest, TheLargestEffectMustBeToldBesideAnotherKernel) {
  const SelftestReport report = beside_one_that_scatters_by(0.12);
  ASSERT_EQ(report.planted.size(), 3u);
  const PlantedEffect &small = report.planted[1], &large = report.planted[2];
  EXPECT_EQ(large.verdict, Verdict::slower);
  EXPECT_EQ(large.verdict_beside_other, Verdict::undecided);
  EXPECT_TRUE(small.too_small_beside_other());
  EXPECT_TRUE(large.missed());
  EXPECT_FALSE(large.missed_by_resolution());
  EXPECT_EQ(report.count(&PlantedEffect::missed), 1u);
  const std::string why = large.why_missed("b"), begin = "UNDECIDED beside b, the interval is ";
  EXPECT_EQ(why.substr(0, begin.size()), begin);
  EXPECT_NEAR(std::stod(why.substr(begin.size())), 100 * log_width(*large.beside_other), 0.5);
  EXPECT_EQ(why.substr(why.find(" % wide")), " % wide, too wide to tell it");
}

TEST(MeasureSelftest, HoweverWideTheIntervalsBesideAnotherKernelAreItSeldomFailsForThem) {
  LEFT_TO_RELEASE_BUILDS();
  // 48 contexts with one round each of a kernel beside another, whose ratio scatters from context to context.
  std::mt19937_64 random(11);
  const double confidence = confidence_of_each(0.95, 15);
  for (const double deviation : {0.005, 0.01, 0.014, 0.016, 0.018, 0.02, 0.022, 0.025, 0.03, 0.05}) {
    int missed = 0, told = 0;
    const int runs = 400;
    for (int i = 0; i < runs; ++i) {
      TimedRounds base, slowed, rest;
      for (int context = 0; context < 24; ++context)
        for (TimedRounds* rounds : {&base, &rest}) {
          rounds->seconds.push_back(std::lognormal_distribution(0.0, deviation)(random));
          rounds->contexts.push_back(context);
        }
      slowed = rest;
      for (auto& s : slowed.seconds) *s *= 1.05;
      PlantedEffect p;
      p.effect = 0.05;
      p.verdict = Verdict::slower;
      p.beside_other = unpaired_ratio(base, slowed, confidence);
      p.rest_beside_other = unpaired_ratio(base, rest, confidence);
      p.verdict_beside_other = verdict_on(*p.beside_other, p.smallest_that_matters);
      missed += p.missed();
      told += p.found();
    }
    EXPECT_LE(missed, runs / 50) << deviation;
    if (deviation <= 0.02) {
      EXPECT_GE(told, runs * 97 / 100) << deviation;
    }
    if (deviation >= 0.03) {
      EXPECT_LT(told, runs * 97 / 100) << deviation << ": demanding it would fail for its width alone";
    }
  }
}

/// 5 % at 2^12 on an H200, in a run in which it was not told beside the other kernel. That run kept no
/// `rest_beside_other`: it is made of the other ratios.
PlantedEffect not_told_beside_another() {
  PlantedEffect p;
  p.n = 4096;
  p.effect = 0.05;
  p.planted_s = 2.976e-7;
  p.ratio = {.value = 0.9533, .interval = {0.9484, 0.9582}, .enough = true, .at_resolution = true};
  p.verdict = Verdict::slower;
  p.rest = {.value = 1.0004, .interval = {0.9951, 1.0056}, .enough = true, .at_resolution = true};
  p.beside_other = {.value = 0.9843, .interval = {0.9537, 1.0102}, .enough = true};
  p.rest_beside_other = {.value = 1.0328, .interval = {1.0008, 1.0600}, .enough = true};
  p.unknown = 0.0054;
  return p;
}

TEST(MeasureSelftest, AnEffectIsTooSmallWhereItLiesLessThanTwiceTheHalfWidthBeyondWhatMatters) {
  PlantedEffect p = not_told_beside_another();
  EXPECT_TRUE(p.too_small_beside_other());
  EXPECT_FALSE(p.missed());
  // Of a half width of at most half of log(1.05 / 1.01), 1.94 %, it is told nearly always.
  p.beside_other->interval = {0.98 * std::exp(-0.0195), 0.98 * std::exp(0.0195)};
  EXPECT_TRUE(p.too_small_beside_other());
  p.beside_other->interval = {0.98 * std::exp(-0.0193), 0.98 * std::exp(0.0193)};
  EXPECT_TRUE(p.missed());
  EXPECT_EQ(p.why_missed("b"), "UNDECIDED beside b, the interval is 3.9 % wide");
  // Where less matters the same interval is narrow enough.
  p = not_told_beside_another();
  p.effect = 0.08;
  p.smallest_that_matters = 0.02;
  EXPECT_TRUE(p.too_small_beside_other());
  p.smallest_that_matters = 0.01;
  EXPECT_TRUE(p.missed());
}

TEST(MeasureSelftest, OnlyUndecidedByAnIntervalThatHoldsWhatWasPlantedIsTooSmall) {
  PlantedEffect p = not_told_beside_another();
  for (const Verdict wrong : {Verdict::same, Verdict::faster}) {
    p.verdict_beside_other = wrong;
    EXPECT_TRUE(p.missed());
    EXPECT_EQ(p.why_missed("b"), std::string(name(wrong)) + " beside b");
  }
  p = not_told_beside_another();
  for (const Verdict wrong : {Verdict::same, Verdict::faster, Verdict::undecided}) {
    p.verdict = wrong;  // in the same rounds
    EXPECT_TRUE(p.missed());
  }
  EXPECT_TRUE(p.missed_by_resolution());
  p = not_told_beside_another();
  p.rest.interval = {1.02, 1.03};
  EXPECT_TRUE(p.missed());
  EXPECT_EQ(p.why_missed("b"), "not as much as was planted");
  p = not_told_beside_another();
  p.rest_beside_other.interval = {1.01, 1.07};
  EXPECT_TRUE(p.missed());
  EXPECT_EQ(p.why_missed("b"), "UNDECIDED beside b, the interval is 5.8 % wide and leaves out what was planted");
  p = not_told_beside_another();
  p.beside_other->enough = false;
  EXPECT_TRUE(p.missed());
  EXPECT_EQ(p.why_missed("b"), "UNDECIDED beside b, of too few contexts for an interval");
  // The clock is named where it is why, and not because the calls of the same rounds are as short.
  p = not_told_beside_another();
  p.largest = true;
  EXPECT_TRUE(p.missed());
  EXPECT_FALSE(p.missed_by_resolution());
  EXPECT_EQ(p.why_missed("b"), "UNDECIDED beside b, the interval is 5.8 % wide, too wide to tell it");
  p.beside_other->at_resolution = true;
  EXPECT_TRUE(p.missed_by_resolution());
  p.effect = 0;  // a difference where there is none
  p.verdict = Verdict::same;
  p.verdict_beside_other = Verdict::slower;
  EXPECT_TRUE(p.missed());
  p.verdict_beside_other = Verdict::undecided;
  EXPECT_TRUE(p.found());
}

TEST(MeasureSelftest, NoticesAHarnessThatPrefersOneOfTwo) {
  // The second of each pair, told by where its result goes, takes 1 % longer.
  const Variant a = variant("a", 1);
  std::mt19937_64 random(5);
  std::map<const void*, std::size_t> numbers;  // of points, in the order of their pilots
  const void* now = nullptr;
  Scripted script([&](std::size_t, std::size_t) {
    return 1e-4 * (numbers[now] % 2 ? 1.01 : 1) * std::normal_distribution(1.0, 0.01)(random);
  });
  script.clock().before_sample = [&](const Call& c) {
    now = c.result;
    numbers.emplace(now, numbers.size());
  };
  SelftestPlan plan = plan_for(a, 30);
  plan.planted.clear();
  const SelftestReport report = run_selftest(script, plan);
  EXPECT_GT(report.all(&SelfComparisons::together).without_one, 15u);
  EXPECT_TRUE(report.all(&SelfComparisons::together).too_many(0.95));
}

TEST(MeasureSelftest, ComparisonsOfSeparateContextsSeeWhatContextsDifferBy) {
  // Each context shifts both by 2 %: nothing beside each other, and no false positive apart, only a wide interval.
  std::mt19937_64 random(8);
  const Variant a = variant("a", 1);
  double shift = 1;
  Scripted script(
      [&](std::size_t, std::size_t) { return 1e-4 * shift * std::normal_distribution(1.0, 0.002)(random); });
  script.device().each_context = [&] { shift = std::normal_distribution(1.0, 0.02)(random); };
  SelftestPlan plan = plan_for(a, 60);
  plan.planted.clear();
  const SelftestReport report = run_selftest(script, plan);
  EXPECT_LT(*report.with_itself[0].together.smallest, 0.002);
  EXPECT_GT(*report.with_itself[0].apart.smallest, 0.005);
  EXPECT_FALSE(report.all(&SelfComparisons::apart).too_many(0.95));
  EXPECT_LE(report.all(&SelfComparisons::apart).without_one, 8u);
}

TEST(MeasureSelftest, ATrueRateOfATenthIsFoundNineTimesInTenByAsManyComparisonsAsThereAre) {
  SelfComparisons::Kind kind;
  kind.comparisons = 320;
  while (!kind.too_many(0.95)) ++kind.without_one;
  double fewer = 0;  // the probability of so few of 320 that none is found
  for (std::size_t k = 0; k < kind.without_one; ++k) {
    const double x = static_cast<double>(k);
    fewer += std::exp(std::lgamma(321.0) - std::lgamma(x + 1) - std::lgamma(321 - x) + x * std::log(0.10) +
                      (320 - x) * std::log(0.90));
  }
  EXPECT_GE(1 - fewer, 0.9) << kind.without_one;
}

TEST(MeasureSelftest, NoticesATimerThatMissesWhatWasPlanted) {
  std::mt19937_64 random(6);
  const Variant a = variant("a", 1);
  Scripted script([&](std::size_t, std::size_t) { return 1e-4 * std::normal_distribution(1.0, 0.01)(random); });
  script.clock().deaf = true;
  for (const PlantedEffect& p : run_selftest(script, plan_for(a, 1)).planted) {
    if (p.effect == 0) continue;
    EXPECT_FALSE(p.found());
    EXPECT_FALSE(p.covered());
  }
}

TEST(MeasureSelftest, AWanderingClockDoesNotMakeThePlantedLookWrong) {
  // Speeds up and slows down by a third: a fixed spin is now more, now less of the call.
  std::mt19937_64 random(7);
  const Variant a = variant("a", 1);
  int calls = 0;
  Scripted script([&](std::size_t, std::size_t) {
    return 1e-4 * (++calls / 100 % 2 ? 1.3 : 1.0) * std::normal_distribution(1.0, 0.002)(random);
  });
  for (const PlantedEffect& p : run_selftest(script, plan_for(a, 1)).planted) EXPECT_TRUE(p.found()) << p.effect;
}

TEST(MeasureSelftest, CallsShorterThanTheClocksResolutionAreNotFoundForThatReason) {
  const Variant a = variant("a", 1);
  Scripted script([](std::size_t, std::size_t) { return 1e-5; });
  script.clock().resolution = 1e-4;
  for (const PlantedEffect& p : run_selftest(script, plan_for(a, 1)).planted) {
    if (p.effect == 0) continue;
    EXPECT_FALSE(p.found()) << p.effect;
    EXPECT_TRUE(p.ratio.at_resolution) << p.effect;
    EXPECT_TRUE(p.missed_by_resolution()) << p.effect;
    EXPECT_NE(p.why_missed("b").find("wide by the clock's resolution"), std::string::npos) << p.why_missed("b");
  }
}

TEST(MeasureSelftest, WhatIsPlantedIsKnownToTheResolutionOfTheSpinsClock) {
  // Two of two runs on an H200 called an effect missed that was off by 0.01 %, of a call in which that clock's step is
  // 0.1 %.
  PlantedEffect p;
  p.rest.interval = {1.0001, 1.006};
  EXPECT_FALSE(p.covered());
  p.unknown = 0.001;
  EXPECT_TRUE(p.covered());
  p.rest.interval = {0.994, 0.9999};
  EXPECT_TRUE(p.covered());
  p.rest.interval = {1.002, 1.006};
  EXPECT_FALSE(p.covered());
}

TEST(MeasureSelftest, RefusesWhatItCannotTime) {
  const Variant wrong = variant("wrong", 1, [](auto, auto, auto) {});
  Variant declining = variant("declining", 2);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  Scripted script([](std::size_t, std::size_t) { return 1e-4; });
  EXPECT_THROW(run_selftest(script, plan_for(wrong, 1)), WrongResult);
  EXPECT_NE(error_of([&] { run_selftest(script, plan_for(declining, 1)); }).find("Sundays"), std::string::npos);
}

}  // namespace
}  // namespace reductio
