/// How many samples a point gets, and which points get none: limits, pilots, options, and what is chosen of an
/// experiment.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "measure/sampling/sampler.h"
#include "tests/measure/session/run_folder.h"

namespace reductio {
namespace {

using namespace scripted;

const Experiment nothing{
    .name = "x", .summary = "", .points = [](const Selection&, DeviceKind) { return std::vector<Point>(); }};

/// What an experiment makes of options that `change` has changed.
template <class Change>
SamplingRules rules_by(Change change, const Experiment& e = nothing) {
  RunOptions o;
  change(o);
  return choose_rules(e, o);
}

/// A clock on which a sample costs 1 ms in all.
Scripted a_millisecond(double call_s) {
  Scripted script = constant(call_s);
  script.clock().overhead_s = std::max(1e-3 - call_s, 0.0);
  return script;
}

TEST(MeasureRun, ACallPredictedOverTheLimitIsRefusedWithoutBeingRun) {
  std::size_t largest = 0;
  const auto linear = [&](std::size_t id, std::size_t bytes) {
    if (id == 1) largest = std::max(largest, bytes);
    return id == 1 ? 1e-6 * static_cast<double>(bytes) : 1e-6;
  };
  const std::vector<Point> points{point(a, 10000), point(a, 40000), point(a, 80000), point(a, 160000)};
  RunFolder folder;
  folder.run(points, Scripted(linear));
  ASSERT_EQ(folder.rows.size(), 4u);
  EXPECT_EQ(folder.rows[1].status, Status::ok);
  EXPECT_EQ(folder.rows[2].status, Status::over_limit);
  EXPECT_EQ(folder.rows[2].reason, "predicted 0.32 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(folder.rows[3].reason, "predicted 0.64 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(largest, 160000u);  // bytes of the second size
  EXPECT_FALSE(folder.rows[2].time_median_s);

  RunFolder full;
  full.run(points, Scripted(linear), {.full = true});
  EXPECT_EQ(full.rows.back().status, Status::ok);
  EXPECT_EQ(full.rows.back().n_samples, 3u);

  RunFolder resumed;  // predicts from the times that are there
  resumed.run({point(a, 40000)}, Scripted(linear));
  resumed.resume({point(a, 40000), point(a, 80000)}, Scripted(linear));
  EXPECT_EQ(resumed.rows.back().reason, folder.rows[2].reason);
}

// What a call takes there says how busy the machine is: a limit as on a GPU left points unverified.
TEST(MeasureRun, ASimulatedDeviceOnABusyMachineVerifiesAllTheSame) {
  RunFolder folder;
  Scripted busy([](std::size_t, std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); });
  busy.clock().simulated = true;
  folder.run({point(a, 1000), point(a, 80000), point(a, 8000000)}, std::move(busy));
  ASSERT_EQ(folder.rows.size(), 3u);
  EXPECT_EQ(folder.rows[1].status, Status::ok);
  EXPECT_EQ(folder.rows[2].status, Status::over_limit);
  EXPECT_NE(folder.rows[2].reason.find("exceeds this experiment's limit of 10 s; --full runs it"), std::string::npos);
}

TEST(MeasureRun, AFirstSizeThatIsHugeIsPredictedFromPartsOfIt) {
  // Only how many elements the plan was made for says how much a call does here.
  Variant v = a;
  std::size_t largest = 0;
  on_cpu(v) = [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = p.n, .longest_chain = p.n}, [&, n = p.n](void* in, void* out, Stream) {
      largest = std::max(largest, n);
      *static_cast<std::uint32_t*>(out) = sum(static_cast<const std::uint32_t*>(in), n);
    });
  };
  const Row row =
      row_of({point(v, std::size_t{1} << 24)},
             Scripted([](std::size_t elements, std::size_t) { return 1e-7 * static_cast<double>(elements); }));
  EXPECT_EQ(row.status, Status::over_limit);
  EXPECT_EQ(row.reason, "predicted 1.68 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(largest, std::size_t{1} << 20);
}

TEST(MeasureRun, ALaunchCostIsNotMistakenForTimePerElement) {
  // 90 ms whatever the size: scaled from 2^10 a call at 2^20 would take 92 s.
  RunFolder folder;
  folder.run({point(a, 1 << 10), point(a, 1 << 20)}, constant(0.09));
  EXPECT_EQ(folder.rows.at(1).status, Status::ok) << folder.rows.at(1).reason;
}

TEST(MeasureRun, TheShareOfABatchThatIsDoneGoesFromNothingToNearlyAllWhateverItsGroupsGet) {
  Scripted script = constant(0.05);  // three samples, on as many contexts of twelve
  const auto backend = open_cpu();
  Sampler sampler({backend.get(), script, SamplingRules{}, 1});
  const Point p = point(a, 100);
  const std::vector<std::vector<const Point*>> groups{{&p}};
  std::vector<double> shares;
  sampler.measure(groups, {.abandon = [] { return false; },
                           .progress = [&](const Point&, bool, double share) { shares.push_back(share); }});
  EXPECT_EQ(shares.size(), 4u);
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 0.75);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
}

TEST(MeasureRun, OptionsThatMakeNoSenseAreRefused) {
  const auto why = [](auto change) { return error_of([&] { rules_by(change); }); };
  EXPECT_NE(why([](auto& o) { o.min_samples = 0; }), "");
  EXPECT_NE(why([](auto& o) { o.max_samples = 0; }), "");
  EXPECT_NE(why([](auto& o) { o.min_samples = 9, o.max_samples = 8; }), "");
  for (const int bad : {-1, 0, 1, 5, 10'001})
    EXPECT_EQ(why([&](auto& o) { o.contexts = bad; }).find("--contexts takes a number from 6 on"), 0u) << bad;
  EXPECT_EQ(why([](auto& o) { o.contexts = 200, o.max_samples = 50; }),
            "--max-samples 50 is less than --contexts 200: each takes one sample at least");
  EXPECT_EQ(why([](auto& o) { o.contexts = 6; }), "");
  for (const int none : {0, -4}) {
    EXPECT_EQ(why([&](auto& o) { o.contexts = 10, o.min_samples = none; }),
              why([&](auto& o) { o.min_samples = none; }));
    EXPECT_EQ(why([&](auto& o) { o.contexts = 10, o.max_samples = none; }),
              why([&](auto& o) { o.max_samples = none; }));
  }
  EXPECT_EQ(why([](auto& o) { o.contexts = 60, o.min_samples = 70, o.max_samples = 65; }),
            "--max-samples 65 is less than --min-samples 70");
  for (const double bad : {0.0, 1.0, -0.5, 95.0, std::nan("")})
    EXPECT_EQ(why([&](auto& o) { o.confidence = bad; }), error_of([&] { require_confidence(bad); })) << bad;
  EXPECT_EQ(error_of([] { require_confidence(95); }),
            "--confidence 95 does not lie between 0 and 1; give a share, as 95% or 0.95");
  EXPECT_EQ(error_of([] { require_confidence(0.999); }), "");
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_NE(why([&](auto& o) { o.time_budget_s = bad; }).find("--timeout"), std::string::npos) << bad;
  EXPECT_EQ(why([](auto& o) { o.time_budget_s = 1e-9; }), "");
  EXPECT_EQ(why([](auto& o) { o.min_samples = 50; }), "");
  EXPECT_NE(error_of([&] { choose_points(nothing, {}, DeviceKind::cpu, false); }), "");

  Experiment twice = nothing;
  twice.rules.end_to_end_factor = 2;
  const auto factor = [&](auto change) { return rules_by(change, twice).end_to_end_factor; };
  EXPECT_EQ(factor([](auto& o) { o.contexts = 24; }), 2);
  EXPECT_EQ(factor([](auto& o) { o.min_samples = 9; }), 1) << "what the user says holds for all points";
  EXPECT_EQ(factor([](auto& o) { o.max_samples = 60; }), 1) << "what the user says holds for all points";
  EXPECT_EQ(factor([](auto& o) { o.quick = true; }), 1);
}

TEST(MeasureRun, TheTimeoutDecidesHowManySamplesFitAndTheMinimumHowManyAreTakenAllTheSame) {
  const auto samples = [](double call_s, auto change) {
    return row_of({point(a, 100)}, a_millisecond(call_s), rules_by(change)).n_samples;
  };
  EXPECT_EQ(samples(1e-5, [](auto&) {}), 48u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 0.0155; }), 15u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1e-6; }), 7u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1e-6, o.min_samples = 11; }), 11u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1000, o.max_samples = 40; }), 40u);
  // A slow call has fewer of its own accord, unless the user demands more.
  EXPECT_EQ(samples(0.05, [](auto& o) { o.time_budget_s = 1000; }), 3u);
  EXPECT_EQ(samples(0.05, [](auto& o) { o.min_samples = 8; }), 8u);
  EXPECT_EQ(samples(0.05, [](auto& o) { o.max_samples = 2; }), 2u);
  // Capturing a graph is not charged to every sample.
  Scripted script = a_millisecond(1e-5);
  script.clock().capture_s = 0.02;
  const Row row = row_of({point(a, 100, TimingMode::graph, CacheState::warm)}, std::move(script),
                         rules_by([](auto& o) { o.time_budget_s = 0.0255; }));
  EXPECT_EQ(row.n_samples, 25u) << row.reason;
}

TEST(MeasureRun, SamplesAreSpreadOverAsManyAllocationsAsAreAskedFor) {
  const auto contexts_and_samples = [](auto change, double call_s = 1e-5) {
    Scripted script = constant(call_s);
    int contexts = 0;
    script.device().each_context = [&] { ++contexts; };
    const std::size_t samples = row_of({point(a, 100)}, std::move(script), rules_by(change)).n_samples;
    return std::pair(contexts, samples);
  };
  using Both = std::pair<int, std::size_t>;
  EXPECT_EQ(contexts_and_samples([](auto&) {}), Both(12, 48));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 30; }), Both(30, 120)) << "four on each, as before";
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 80, o.time_budget_s = 1e-6; }), Both(80, 80));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 80, o.min_samples = 9, o.time_budget_s = 1e-6; }),
            Both(80, 80));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 30, o.min_samples = 7; }), Both(30, 120));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 30, o.min_samples = 200; }), Both(30, 200));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 20, o.max_samples = 20; }), Both(20, 20));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 9, o.quick = true; }), Both(9, 27));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.contexts = 9; }, 0.05), Both(9, 9)) << "of a slow call, too";
}

TEST(MeasureRun, APilotThatCostMoreThanOthersLeavesNoFewerSamples) {
  int calls = 0, wrong = 0;
  const Variant counted = variant("a", 1, [&](auto in, auto n, auto out) { *out = sum(in, n) + (++calls == wrong); });
  const auto measured = [&](std::set<int> costly) {
    Scripted script = constant(1e-5);
    Clock& clock = script.clock();
    int taken = 0;
    clock.before_sample = [&](const Call& call) {
      if (call.info.grid_blocks == 1) clock.overhead_s = costly.count(++taken) ? 0.02 : 1e-3;
    };
    calls = 0;
    return row_of({point(counted, 100)}, std::move(script), {.time_budget_s = 0.1});
  };
  EXPECT_EQ(measured({}).n_samples, 48u);
  EXPECT_EQ(measured({1}).n_samples, 48u) << "a search for a quiet CPU came before the first";
  EXPECT_EQ(measured({1, 3}).n_samples, 7u) << "that is what they cost";
  wrong = 4;  // the third pilot's call: before the pilots there was one that loads the kernels
  EXPECT_EQ(measured({1}).status, Status::wrong);
  EXPECT_EQ(calls, wrong);
}

TEST(MeasureRun, SamplesThatAPointDemandsAreTakenWhateverTheyCostUnlessTheUserSaysOtherwise) {
  Point demanding = point(a, 100);
  demanding.samples = 200;
  for (const double call_s : {1e-5, 0.05}) {
    RunFolder folder;
    folder.run({demanding, point(a, 200)}, constant(call_s));
    EXPECT_EQ(folder.rows.at(0).n_samples, 200u);
    EXPECT_EQ(folder.rows.at(1).n_samples, call_s > 1e-3 ? 3u : 48u);
  }
  const Experiment e{.name = "x",
                     .summary = "",
                     .points =
                         [](const Selection&, DeviceKind) {
                           Point real =
                               point(find_variant("host/plain"), 100, TimingMode::end_to_end, CacheState::warm);
                           real.samples = 200;
                           return std::vector<Point>{real};
                         },
                     .device = DeviceKind::cpu};
  const auto of_run = [&](auto change) {
    RunFolder folder;
    RunOptions o;
    o.out = folder.path();
    change(o);
    run_experiment(e, {}, o, folder);
    return folder.rows.at(0).n_samples;
  };
  EXPECT_EQ(of_run([](auto&) {}), 200u);
  EXPECT_EQ(of_run([](auto& o) { o.min_samples = o.max_samples = 9; }), 9u);
  EXPECT_EQ(of_run([](auto& o) { o.quick = true; }), 7u);
}

TEST(MeasureRun, QuickKeepsSomeSizesAndADryRunWritesNothing) {
  const Experiment e{.name = "x",
                     .summary = "",
                     .points =
                         [](const Selection&, DeviceKind) {
                           std::vector<Point> p;
                           for (int e = 10; e <= 30; ++e)
                             for (int twice = 0; twice < 2; ++twice) p.push_back(point(a, std::size_t{1} << e));
                           return p;
                         },
                     .device = DeviceKind::cuda};  // needs no GPU either
  EXPECT_EQ(choose_points(e, {}, DeviceKind::cpu, false).size(), 21u) << "points are taken once";
  std::vector<std::size_t> sizes;
  for (const Point& p : choose_points(e, {}, DeviceKind::cpu, true)) sizes.push_back(p.problem.n);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1 << 10, 1 << 14, 1 << 18, 1 << 22}));
  Selection selection;
  selection.sizes = {5};
  EXPECT_EQ(choose_points(e, selection, DeviceKind::cpu, true).size(), 21u);  // what the user names is not thinned
  RunFolder folder;
  RunOptions o;
  o.out = folder.path();
  o.dry_run = true;
  const auto report = run_experiment(e, {}, o, folder);
  EXPECT_EQ(report.points, 21u);
  EXPECT_GT(report.estimated_s, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace reductio
