/// Which points there are, which are sampled together, how many samples each gets and what they will cost.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"
#include "measure/plan/grouping.h"
#include "tests/measure/scripted_variant.h"

namespace reductio {
namespace {

using namespace scripted;

TEST(MeasurePlan, PointsOfOneQuestionAreSampledTogetherSmallSizesFirst) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  std::vector<Point> points;
  for (const Variant* v : {&a, &b})
    for (const std::size_t n : {4096u, 1024u})
      for (const TimingMode mode : {TimingMode::device, TimingMode::end_to_end})
        points.push_back(point(*v, n, mode));
  points.push_back(point(a, 1024, TimingMode::device, CacheState::warm));
  points.push_back(point(a, 1024, TimingMode::device));
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

using Batches = std::vector<std::pair<std::size_t, std::size_t>>;
/// Where each takes `times` its estimate.
Batches batches_of(const std::vector<double>& costs, double seconds, bool grow, double times = 1) {
  BatchSizes sizes(costs, seconds, grow);
  Batches out;
  double took_s = 0;
  while (const auto batch = sizes.next(took_s)) {
    out.push_back(*batch);
    took_s = times * std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(batch->first),
                                     costs.begin() + static_cast<std::ptrdiff_t>(batch->second), 0.0);
  }
  return out;
}

TEST(MeasurePlan, BatchesTakeNeighboursUntilTheyCostEnough) {
  const std::vector<double> costs{1, 2, 3, 10, 1, 1};
  EXPECT_EQ(batches_of(costs, 4, false), (Batches{{0, 3}, {3, 4}, {4, 6}}));
  EXPECT_EQ(batches_of(costs, 100, false), (Batches{{0, 6}}));
  EXPECT_EQ(batches_of(costs, 0, false), (Batches{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(batches_of({}, 4, false), Batches{});
}

TEST(MeasurePlan, BatchesGrowFromOneGroupByTheTimeThatTheyTake) {
  const std::vector<double> equal(16, 1);
  EXPECT_EQ(batches_of(equal, 5, true), (Batches{{0, 1}, {1, 3}, {3, 7}, {7, 12}, {12, 16}}));
  EXPECT_EQ(batches_of(equal, 40, true, 10), (Batches{{0, 1}, {1, 3}, {3, 7}, {7, 11}, {11, 15}, {15, 16}}))
      << "on a busy host as many seconds are fewer groups";
  EXPECT_EQ(batches_of(equal, 5, true, 0.1), (Batches{{0, 1}, {1, 3}, {3, 7}, {7, 15}, {15, 16}}));
}

TEST(MeasurePlan, SlowCallsGetFewSamplesAndCheapOnesMany) {
  const SamplingRules rules{.min_samples = 7, .max_samples = 25, .time_budget_s = 0.25};
  EXPECT_EQ(samples_for(rules, 1e-6, 1e-4), 25);
  EXPECT_EQ(samples_for(rules, 1e-2, 2e-2), 12);
  EXPECT_EQ(samples_for(rules, 0.019, 0.2), 7);
  EXPECT_EQ(samples_for(rules, 0.021, 0.05), 3);
  const SamplingRules endless{.max_samples = 1'000'000'000, .time_budget_s = 1};
  EXPECT_LE(samples_for(endless, 1e-7, 1e-7), 200'000) << "what surrounds a sample costs time, too";
}

TEST(MeasurePlan, PointsEndToEndMayHaveMoreSamplesIfTimeAllows) {
  const Variant a = variant("a", 1);
  const SamplingRules rules{.min_samples = 7, .max_samples = 25, .end_to_end_factor = 3, .time_budget_s = 0.25};
  const Point host = point(a, 100, TimingMode::end_to_end), device = point(a, 100, TimingMode::device);
  EXPECT_EQ(samples_for(host, rules, 1e-6, 1e-4), 75);
  EXPECT_EQ(samples_for(device, rules, 1e-6, 1e-4), 25);
  EXPECT_EQ(samples_for(host, rules, 1e-3, 5e-3), 50) << "what the budget affords";
  EXPECT_EQ(samples_for(host, rules, 0.021, 0.05), 3) << "a slow call";
  EXPECT_EQ(samples_for(host, {.max_samples = 25}, 1e-6, 1e-4), 25) << "unless the experiment says so";
  Point demanding = host;
  demanding.samples = 40;
  EXPECT_EQ(samples_for(demanding, rules, 1e-6, 1e-4), 40);
}

TEST(MeasurePlan, EstimatesKnowThatAColdCacheCostsACpuMoreThanTheCall) {
  const Variant a = variant("a", 1);
  const SamplingRules rules{.min_samples = 7, .max_samples = 25, .time_budget_s = 0.02};
  const auto cost = [&](std::size_t n, CacheState cache) {
    return rough_cost_s(point(a, n, TimingMode::end_to_end, cache), rules);
  };
  // Measured: 20 ms a flush of 105 MiB, 26 ms of 300 MiB; seven samples and a pilot make eight.
  EXPECT_GT(cost(1024, CacheState::cold_dirty), 8 * 0.013);
  EXPECT_LT(cost(1024, CacheState::cold_dirty), 8 * 0.052);
  EXPECT_LT(cost(1024, CacheState::warm), 1e-3);
  EXPECT_GT(cost(1 << 26, CacheState::warm), 100 * cost(1 << 16, CacheState::warm));
}

TEST(MeasurePlan, RoundsOfAPointAreDistinctSpreadAndMeetEveryAllocation) {
  for (const int rounds : {1, 3, 7, 25, 100})
    for (int samples = 1; samples <= rounds; ++samples) {
      const auto r = rounds_of(samples, rounds, 3 <= rounds ? 3 : 1);
      EXPECT_EQ(std::set<int>(r.begin(), r.end()).size(), static_cast<std::size_t>(samples));
      EXPECT_GE(r.front(), 0);
      EXPECT_LT(r.back(), rounds);
      if (samples < 3 || rounds < 3) continue;
      std::set<int> contexts;
      for (const int one : r) contexts.insert(context_of(one, rounds, 3));
      EXPECT_EQ(contexts.size(), 3u) << samples << " of " << rounds;
    }
}

TEST(MeasurePlan, WhoHasFewerSamplesSharesAllItsRoundsWithWhoHasMore) {
  for (const auto& [rounds, contexts] : {std::pair{96, 24}, {96, 1}, {44, 24}, {25, 24}, {7, 7}, {100, 12}}) {
    std::vector<int> fewer;
    for (int samples = 1; samples <= rounds; ++samples) {
      const auto r = rounds_of(samples, rounds, contexts);
      EXPECT_TRUE(std::includes(r.begin(), r.end(), fewer.begin(), fewer.end())) << samples << " of " << rounds;
      fewer = r;
      std::vector<int> share(static_cast<std::size_t>(contexts));
      for (const int one : r) ++share[static_cast<std::size_t>(context_of(one, rounds, contexts))];
      const auto least = std::min(samples / contexts, rounds / contexts);
      EXPECT_GE(*std::min_element(share.begin(), share.end()), least) << samples << " of " << rounds;
      EXPECT_LE(*std::max_element(share.begin(), share.end()), samples / contexts + 1) << samples;
    }
    EXPECT_EQ(fewer.size(), static_cast<std::size_t>(rounds));
  }
  EXPECT_TRUE(rounds_of(0, 0, 0).empty());
  EXPECT_TRUE(rounds_of(48, 0, 0).empty()) << "nothing of the group is sampled";
  // The few lie in all of the time: a quarter of it holds no more than half of them.
  for (const int samples : {4, 7, 12}) {
    const auto r = rounds_of(samples, 96, 24);
    for (int quarter = 0; quarter < 4; ++quarter) {
      const auto in = std::count_if(r.begin(), r.end(), [&](int one) { return one / 24 == quarter; });
      EXPECT_GE(in, 1);
      EXPECT_LE(2 * in, samples);
    }
  }
}

TEST(MeasurePlan, TimesArePredictedFromTheNextSmallerSizeOfTheSameVariant) {
  Variant v = variant("a", 1);
  v.tunables = {Tunable::powers_of_two("block", 32, 64, 32)};
  History h;
  EXPECT_FALSE(h.predict(point(v, 1024)));
  h.note(point(v, 1000), 0.001);
  h.note(point(v, 1000, TimingMode::device), 0.0005);  // the slower of two modes counts
  h.note(point(v, 2000), 0.1);
  EXPECT_DOUBLE_EQ(*h.predict(point(v, 1999)), 0.001 * 1.999);
  EXPECT_DOUBLE_EQ(*h.predict(point(v, 4000)), 0.2);
  EXPECT_FALSE(h.predict(point(v, 999)));
  Point other = point(v, 4000);
  other.settings.set("block", "64");
  EXPECT_FALSE(h.predict(other));
  EXPECT_EQ(limit_reason(0.4096, SamplingRules{}),
            "predicted 0.41 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
}

TEST(MeasurePlan, SettingsExpandButNotWhatTheUserFixed) {
  Variant v = variant("a", 1);
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

TEST(MeasurePlan, TheProductOfAxesHasEachCombinationOnceTheFirstAxisOutermost) {
  Selection plain;
  plain.variants_regex = "^levels/naive$";
  plain.seed = 7;
  const auto texts = [](const Axes& axes, const Selection& selection) {
    std::vector<std::string> out;
    for (const Point& p : product_of(axes, selection, DeviceKind::sim)) {
      EXPECT_EQ(p.variant->id, "levels/naive");
      EXPECT_EQ(p.device, DeviceKind::sim);
      EXPECT_EQ(p.seed, 7u);
      EXPECT_EQ(p.settings, p.variant->settings());
      out.push_back(std::string(name(p.problem.operation)) + " " + std::string(name(p.problem.type)) + " " +
                    std::to_string(p.problem.n) + " " + std::string(name(p.timing_mode)) + " " +
                    std::string(name(p.cache_state)));
    }
    return out;
  };
  Axes axes{.types = {ElementType::f32, ElementType::i32},
            .sizes = {10, 20},
            .modes = {TimingMode::device, TimingMode::end_to_end},
            .cache_states = {CacheState::warm, CacheState::cold_dirty},
            .has = [](const Point& p) { return p.problem.n == 10 || p.cache_state == CacheState::warm; }};
  EXPECT_EQ(texts(axes, plain),
            (std::vector<std::string>{
                "sum f32 10 device warm", "sum f32 10 device cold_dirty", "sum f32 10 end_to_end warm",
                "sum f32 10 end_to_end cold_dirty", "sum f32 20 device warm", "sum f32 20 end_to_end warm",
                "sum i32 10 device warm", "sum i32 10 device cold_dirty", "sum i32 10 end_to_end warm",
                "sum i32 10 end_to_end cold_dirty", "sum i32 20 device warm", "sum i32 20 end_to_end warm"}));
  // What the user selected takes the axes' place.
  plain.types = {ElementType::f64};
  plain.sizes = {5};
  EXPECT_EQ(texts({.sizes = {10, 20}}, plain), (std::vector<std::string>{"sum f64 5 end_to_end cold_dirty"}));
}

TEST(MeasurePlan, UnknownExperimentsSuggestTheNearest) {
  static const RegisterExperiment here({.name = "zz-registered-by-a-test", .summary = "", .points = {}});
  EXPECT_EQ(find_experiment("zz-registered-by-a-test").name, "zz-registered-by-a-test");
  try {
    find_experiment("zz-registered-by-a-tast");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'zz-registered-by-a-test'?"), std::string::npos);
  }
  EXPECT_EXIT(RegisterExperiment({.name = "zz-registered-by-a-test", .summary = "", .points = {}}, "../other.cpp"),
              testing::ExitedWithCode(1),
              "^reductio: experiment 'zz-registered-by-a-test' is registered twice, in .*plan_test.cpp and in "
              "other.cpp; rename one\n$");
}

}  // namespace
}  // namespace reductio
