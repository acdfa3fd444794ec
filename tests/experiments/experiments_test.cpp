/// What the experiments measure, as far as figures and text rely on it.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "core/dataset.h"
#include "core/error.h"
#include "experiments/launches.h"
#include "measure/plan/experiment.h"
#include "measure/plan/ways.h"
#include "measure/session/run_experiment.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

/// That which experiments on a GPU are for; a build without CUDA has only the simulated one.
DeviceKind gpu() {
  const bool with_cuda =
      std::any_of(variants().begin(), variants().end(), [](const Variant& v) { return v.runs_on(DeviceKind::cuda); });
  return with_cuda ? DeviceKind::cuda : DeviceKind::sim;
}

/// "variant settings" of each point of these, by timing mode and n.
std::map<TimingMode, std::map<std::size_t, std::set<std::string>>> calls_of(const std::vector<Point>& points) {
  std::map<TimingMode, std::map<std::size_t, std::set<std::string>>> out;
  for (const Point& p : points) out[p.timing_mode][p.problem.n].insert(p.variant->id + " " + p.settings.str());
  return out;
}

TEST(Experiments, HostLoopsMeetAtEveryLevelAtTheDocumentsLargestSizeAndByDefaultBeyond) {
  std::map<std::string, std::set<std::size_t>> sizes;
  std::map<std::string, std::map<std::size_t, std::set<std::string>>> levels;
  for (const Point& p : find_experiment("cpu").points({}, DeviceKind::cpu)) {
    const Variant& v = *p.variant;
    sizes[v.id].insert(p.problem.n);
    if (p.settings.has("opt")) levels[v.id][p.problem.n].insert(p.settings.text("opt"));
    EXPECT_EQ(p.cache_state, v.consumes_input ? CacheState::cold_dirty : CacheState::warm) << v.id;
    EXPECT_EQ(p.timing_mode, TimingMode::end_to_end);
    EXPECT_EQ(refusal(v, DeviceKind::cpu, p.problem, p.settings), "") << v.id;
  }
  for (const auto& [id, has] : sizes) {
    EXPECT_EQ(*has.rbegin(), std::size_t{1} << 26) << id;
    EXPECT_TRUE(has.contains(std::size_t{1} << 24)) << id;
    EXPECT_EQ(*has.begin(), std::size_t{1} << 10) << id;
  }
  EXPECT_EQ(sizes.at("host/plain").size(), 9u);
  EXPECT_LT(sizes.at("host/recursive").size(), sizes.at("host/plain").size()) << "flushing the cache costs most of all";

  EXPECT_EQ(levels.size(), 5u);
  const std::set<std::string> all{"O0", "O1", "O2", "O3", "O3-fast-math"};
  for (auto& [id, at] : levels) {
    // The figure's bars stand at the largest size that all loops have at every level.
    EXPECT_EQ(at[1 << 24], all) << id;
    EXPECT_EQ(at[1 << 26], std::set<std::string>{"O2"}) << id;
    EXPECT_EQ(at[1 << 10], id == "host/recursive" ? std::set<std::string>{"O2"} : all) << id;
  }
}

TEST(Experiments, OnTheSimulatedDeviceEachIsRefusedOrTakesLessThanAnHour) {
  for (const Experiment& e : experiments()) {
    if (!e.points) continue;  // of another test
    double seconds = 0;
    try {
      require_device(e, DeviceKind::sim);
      for (const Point& p : choose_points(e, {}, DeviceKind::sim, false)) seconds += rough_cost_s(p, e.rules);
    } catch (const UsageError&) {  // it is no device of this experiment, or runs none of its variants
    }
    EXPECT_LT(seconds, 3600) << e.name;
  }
  EXPECT_EQ(error_of([] { require_device(find_experiment("cpu"), DeviceKind::sim); }),
            "experiment 'cpu' is not for device sim: it times the CPU's loops in every setting; leave --device out");
}

TEST(Experiments, NoneHoldsItsRowsBackForMoreThanAMinute) {
  for (const Experiment& e : experiments()) EXPECT_LE(e.rules.batch_s, 60) << e.name;
  const Experiment& cpu = find_experiment("cpu");
  double all = 0, dearest = 0;  // by the estimate, in seconds
  for (const Point& p : cpu.points({}, DeviceKind::cpu)) {
    const double cost = rough_cost_s(p, cpu.rules);
    all += cost;
    dearest = std::max(dearest, cost);
  }
  EXPECT_GT(all, 2 * cpu.rules.batch_s) << "all its rows are one batch";
  EXPECT_LT(dearest, cpu.rules.batch_s / 10);
  EXPECT_TRUE(cpu.rules.batches_grow) << "a run that is killed in its first minute keeps nothing";
}

TEST(Experiments, EachVariantSaysWhoseItIsWhatItIsTheBaseOfAndWhereItIsMeasured) {
  const std::set<std::string_view> documents{"squares", "twopass", "unroll", "levels", "multiblock"};
  const std::set<std::string_view> ours{"tuned", "modern", "compensated", "ablation"};
  std::map<Operation, std::vector<std::string>> bases;
  for (const Variant& v : variants()) {
    if (v.id.find('/') == std::string::npos) continue;  // of a test
    const bool is_ours = ours.contains(v.group()) || (v.group() == "exact" && v.runs_on(gpu()));
    EXPECT_EQ(v.kind == VariantKind::document, documents.contains(v.group())) << v.id;
    EXPECT_EQ(v.kind == VariantKind::ours, is_ours) << v.id;
    EXPECT_EQ(v.kind == VariantKind::cpu, v.runs_on(DeviceKind::cpu)) << v.id;
    for (const Operation o : v.base_of) {
      bases[o].push_back(v.id);
      EXPECT_NE(std::find(v.operations.begin(), v.operations.end(), o), v.operations.end()) << v.id;
    }
    if (v.own_experiment.empty() || v.own_experiment == "compare") continue;
    const Experiment& own = find_experiment(v.own_experiment);
    if (gpu() != DeviceKind::cuda) continue;  // the simulated one has small sizes alone
    const std::vector<Point> points = own.points({}, v.runs_on(DeviceKind::cpu) ? DeviceKind::cpu : gpu());
    EXPECT_TRUE(std::any_of(points.begin(), points.end(), [&](const Point& p) { return p.variant == &v; })) << v.id;
  }
  for (const auto& [operation, of] : bases) EXPECT_EQ(of.size(), 1u) << name(operation);
  if (gpu() == DeviceKind::cuda) {
    EXPECT_FALSE(bases.contains(Operation::column_sums)) << "CUB has no such call";
    EXPECT_EQ(bases.size() + 1, all_operations().size());
  }
}

TEST(Experiments, IndexHasEveryTypeOfEveryLoopAndCubBeside) {
  const DeviceKind device = gpu();
  std::map<std::string, std::set<std::string>> types;
  for (const Point& p : find_experiment("index").points({}, device)) {
    types[p.variant->id].insert(p.settings.has("index") ? p.settings.text("index") : "its own");
    EXPECT_EQ(p.timing_mode == TimingMode::device, p.variant->result_of(p.settings) == ResultLocation::on_device)
        << p.variant->id;
  }
  for (const Variant& v : variants()) {
    if (!v.settings().has("index") || v.fault_of(v.settings())) continue;
    EXPECT_EQ(types[v.id], (std::set<std::string>{"i32", "i64", "u32", "u64"})) << v.id;
  }
  Selection selection;
  selection.settings = {{"index", "u32"}};
  for (const Point& p : find_experiment("index").points(selection, device)) {
    if (p.settings.has("index")) {
      EXPECT_EQ(p.settings.text("index"), "u32");
    }
  }
}

TEST(Experiments, WhatTheUserNamesIsNotThinned) {
  Selection selection;
  selection.sizes = {10, 1000, 1 << 12, 1 << 13};
  selection.variants_regex = "^host/recursive$";
  std::set<std::size_t> sizes;
  for (const Point& p : find_experiment("cpu").points(selection, DeviceKind::cpu)) sizes.insert(p.problem.n);
  EXPECT_EQ(sizes, (std::set<std::size_t>{10, 1000, 1 << 12, 1 << 13}));
  selection.sizes = {1 << 26};
  std::set<std::string> levels;
  for (const Point& p : find_experiment("cpu").points(selection, DeviceKind::cpu)) levels.insert(p.settings.str());
  EXPECT_EQ(levels.size(), 5u);
}

TEST(Experiments, TheComparisonDoublesFrom2To10To2To30AndQuadruplesEndToEnd) {
  std::set<TimingMode> modes;
  for (const Point& p : find_experiment("comparison").points({}, DeviceKind::sim)) modes.insert(p.timing_mode);
  EXPECT_EQ(modes, (std::set<TimingMode>{TimingMode::device, TimingMode::end_to_end}));
  const auto end_to_end = [](bool full) {
    Selection host;
    host.variants_regex = "^host/plain$";
    host.full = full;
    std::set<std::size_t> sizes;
    for (const Point& p : find_experiment("comparison").points(host, DeviceKind::cpu)) sizes.insert(p.problem.n);
    return sizes;
  };
  const std::set<std::size_t> sizes = end_to_end(false), all = end_to_end(true);
  EXPECT_EQ(sizes.size(), 11u);
  EXPECT_TRUE(sizes.contains(1 << 20) && sizes.contains(1 << 24)) << "the documents' sizes";
  EXPECT_EQ(all.size(), 21u);
  EXPECT_EQ(*all.begin(), std::size_t{1} << 10);
  EXPECT_EQ(*all.rbegin(), std::size_t{1} << 30);
}

TEST(Experiments, TheComparisonLeavesOutPageLockedMemoryAndHasTheNewestCub) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "the simulated device leaves out nothing, and CUB has none";
  const auto calls = [](const Selection& selection) {
    std::map<std::string, std::set<std::size_t>> sizes;
    for (const Point& p : find_experiment("comparison").points(selection, DeviceKind::cuda))
      sizes[std::string(name(p.timing_mode)) + " " + p.variant->id + " " + p.settings.str()].insert(p.problem.n);
    return sizes;
  };
  const auto pinned = [&](const Selection& selection) {
    const auto all = calls(selection);
    return std::count_if(all.begin(), all.end(), [](const auto& c) { return c.first.ends_with("finish=host-pinned"); });
  };
  Selection full, set;
  full.full = true;
  set.settings = {{"finish", "host-pinned"}};
  EXPECT_EQ(pinned({}), 0);
  EXPECT_GT(pinned(full), 0);
  EXPECT_GT(pinned(set), 0);
  for (const auto& [call, sizes] : calls({})) EXPECT_EQ(sizes.size(), call.starts_with("device") ? 21u : 11u) << call;
  const Variant* const newest = newest_cub_by_determinism();
  if (newest == nullptr) GTEST_SKIP() << "the program was built with no release that has determinism";
  std::set<std::string> types;
  for (const Point& p : find_experiment("comparison").points({}, DeviceKind::cuda))
    if (p.variant == newest) types.insert(p.settings.str() + " " + std::string(name(p.problem.type)));
  std::set<std::string> wanted;
  for (const char* type : {"i32", "f32", "f64"})
    for (const char* determinism : {"run_to_run", "not_guaranteed"})
      wanted.insert(std::string("determinism=") + determinism + " " + type);
  EXPECT_EQ(types, wanted);
}

TEST(Experiments, TunedLooksAtACleanCacheAtPowersOfTwo) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "it leaves out nothing";
  std::map<CacheState, std::size_t> others;
  for (const Point& p : find_experiment("tuned").points({}, DeviceKind::cuda))
    others[p.cache_state] += p.timing_mode == TimingMode::device && !std::has_single_bit(p.problem.n);
  EXPECT_EQ(others[CacheState::cold_clean], 0u);
  EXPECT_GT(others[CacheState::cold_dirty], others[CacheState::warm]);
  EXPECT_GT(others[CacheState::warm], 0u);
}

TEST(Experiments, TheComparisonAlsoFillsTheGpuWhereADocumentNamesItsBlocks) {
  Selection selection;
  selection.variants_regex = "^(squares|multiblock)/";
  std::map<std::string, std::set<std::string>> grids;
  for (const Point& p : find_experiment("comparison").points(selection, DeviceKind::sim))
    if (p.settings.has("grid")) grids[p.variant->id].insert(p.settings.text("grid"));
  EXPECT_EQ(grids.at("squares/multi-block"), (std::set<std::string>{"32", "528"}));
  EXPECT_EQ(grids.at("squares/multi-block-tree"), (std::set<std::string>{"32", "528"}));
  EXPECT_EQ(grids.at("multiblock/last-block"), std::set<std::string>{"auto"});
}

TEST(Experiments, SettingsWithAKnownFaultAreLeftOutUnlessTheyAreAskedFor) {
  const auto faults_in = [](const char* experiment, const std::string& variants, const std::string& block,
                            const std::string& finish = "") {
    Selection selection;
    selection.variants_regex = variants;
    if (!block.empty()) selection.settings = {{"block", block}};
    if (!finish.empty()) selection.settings = {{"finish", finish}};
    const auto points = find_experiment(experiment).points(selection, DeviceKind::sim);
    EXPECT_FALSE(points.empty()) << experiment;
    return std::count_if(points.begin(), points.end(),
                         [](const Point& p) { return bool{p.variant->fault_of(p.settings)}; });
  };
  for (const char* experiment : {"comparison", "timing", "index"}) {
    EXPECT_EQ(faults_in(experiment, "", ""), 0) << experiment;
    EXPECT_EQ(faults_in(experiment, "^twopass/", ""), 0) << experiment;
    EXPECT_GT(faults_in(experiment, "^twopass/multiple-of-32$", ""), 0) << experiment;
    EXPECT_GT(faults_in(experiment, "^twopass/", "96"), 0) << experiment;
    EXPECT_EQ(faults_in(experiment, "^twopass/", "64"), 0) << experiment;
    EXPECT_EQ(faults_in(experiment, "^twopass/", "", "host"), 0)
        << experiment << ": it is not the finish that is at fault";
  }
}

TEST(Experiments, TimingHasEveryVariantInEveryWayOfTimingThatItsKernelsHave) {
  std::map<std::string, std::set<TimingMode>> modes;
  for (const Point& p : find_experiment("timing").points({}, DeviceKind::sim))
    modes[p.variant->id].insert(p.timing_mode);
  ASSERT_TRUE(modes.contains("unroll/unroll8") && modes.contains("squares/strided"));
  for (const auto& [id, has] : modes) {
    std::set<TimingMode> all(std::begin(all_timing_modes), std::end(all_timing_modes));
    const Variant& v = find_variant(id);
    if (!v.reads_clock) all.erase(TimingMode::clock), all.erase(TimingMode::globaltimer);
    all.erase(TimingMode::graph);  // of which the simulated device has none
    all.erase(TimingMode::replay);
    if (v.result == ResultLocation::host_part) all.erase(TimingMode::device);
    EXPECT_EQ(has, all) << id;
  }
}

TEST(Experiments, TimingHasACallersFirstCallInAWhileBesideThoseInALoop) {
  std::map<bool, std::set<std::string>> callers;
  for (const Point& p : find_experiment("timing").points({}, DeviceKind::sim)) {
    const std::string call = p.variant->id + " " + p.settings.str() + " " + describe_group(p);
    callers[p.in_loop].insert(call.substr(0, call.find(", first in a while")));
  }
  EXPECT_FALSE(callers[false].empty());
  for (const std::string& call : callers[false]) {
    EXPECT_TRUE(callers[true].contains(call)) << call;
    EXPECT_NE(call.find("cold_dirty"), std::string::npos) << call << ": a warm one comes after one of its own";
  }
}

TEST(Experiments, PointsThatCannotExistAreNotEnumerated) {
  std::map<std::string, int> points;
  for (const Experiment& e : experiments())
    for (const DeviceKind device : all_devices()) {
      std::vector<Point> all;
      try {
        all = e.points({}, device);
      } catch (const UsageError&) {
        continue;  // it has none there
      }
      for (const Point& p : all) {
        EXPECT_EQ(timing_refusal(p.device, p.timing_mode, p.cache_state), "") << e.name;
        EXPECT_EQ(timing_refusal(*p.variant, p.settings, p.timing_mode, p.cache_state), "")
            << e.name << " " << p.variant->id << " " << p.settings.str();
        ++points[e.name + " " + std::string(name(p.timing_mode)) + " " + p.variant->id];
      }
    }
  const bool with_cuda =
      std::any_of(variants().begin(), variants().end(), [](const Variant& v) { return v.runs_on(DeviceKind::cuda); });
  EXPECT_GT(points["comparison end_to_end unroll/unroll8"], 0);
  EXPECT_EQ(points["comparison device unroll/unroll8"], 0) << "finishes on the host";
  EXPECT_GT(points["comparison device levels/naive"], 0) << "with its other ways of finishing";
  EXPECT_EQ(points["timing graph unroll/unroll8"], 0);
  EXPECT_EQ(points["timing graph levels/naive"] > 0, with_cuda);
  Selection none;
  none.variants_regex = "^unroll/";
  none.settings = {{"finish", "host"}};
  const std::string why = error_of<UsageError>([&] { find_experiment("limits").points(none, DeviceKind::sim); });
  EXPECT_NE(why.find("(unroll/"), std::string::npos) << why;
  EXPECT_NE(why.find("graph"), std::string::npos) << why;
}

TEST(Experiments, WhatSquaresComparesIsTimedByItsOwnClockAndByTheOthersAtItsOwnSize) {
  // S1: chunked against strided; S2: strided in 256 threads against 512; S3: one block against 32.
  const std::set<std::string> wanted{"squares/chunked block=256;finish=host;index=document",
                                     "squares/strided block=256;finish=host;index=document",
                                     "squares/strided block=512;finish=host;index=document",
                                     "squares/multi-block block=256;finish=host;index=document;grid=32"};
  std::map<TimingMode, std::set<std::string>> calls;
  for (const Point& p : find_experiment("timing").points({}, DeviceKind::sim))
    if (p.problem.operation == Operation::sum_of_squares && p.problem.type == ElementType::i32 &&
        p.problem.n == p.variant->document_n && p.cache_state == CacheState::cold_dirty)
      calls[p.timing_mode].insert(p.variant->id + " " + p.settings.str());
  for (const TimingMode mode : {TimingMode::clock, TimingMode::globaltimer, TimingMode::end_to_end})
    for (const std::string& call : wanted) EXPECT_TRUE(calls[mode].contains(call)) << name(mode) << " " << call;
  std::set<std::string> compared;
  Selection selection;
  selection.variants_regex = "^squares/";
  for (const Point& p : find_experiment("comparison").points(selection, DeviceKind::sim))
    compared.insert(p.variant->id + " " + p.settings.str());
  for (const std::string& call : wanted) EXPECT_TRUE(compared.contains(call)) << call;
  selection.settings = {{"block", "64"}};
  for (const char* experiment : {"comparison", "timing"})
    for (const Point& p : find_experiment(experiment).points(selection, DeviceKind::sim))
      EXPECT_EQ(p.settings.text("block"), "64") << experiment << ": what the user has set takes their place";
}


TEST(Experiments, EachDocumentsStudyHasCubsCallOfItsOperationBesideEveryPointThatCubCanBe) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "CUB has no simulated device";
  for (const char* experiment :
       {"squares", "latency", "twopass", "unrolling", "levels", "multiblock", "modern", "ablation"}) {
    std::set<std::string> with_cub, without;
    std::set<std::string> libraries;
    for (const Point& p : find_experiment(experiment).points({}, DeviceKind::cuda)) {
      const bool is_cub = p.variant->id.starts_with("cub/");
      if (is_cub) {
        libraries.insert(p.variant->id);
        EXPECT_EQ(p.settings, p.variant->settings()) << experiment;
      }
      if (!p.variant->reads_clock || p.timing_mode == TimingMode::end_to_end)
        (is_cub ? with_cub : without).insert(describe_group(p));
    }
    const bool squares = std::string(experiment) == "squares" || std::string(experiment) == "latency";
    EXPECT_EQ(libraries, (std::set<std::string>{squares ? "cub/transform-reduce" : "cub/sum"})) << experiment;
    EXPECT_EQ(with_cub, without) << experiment;
  }
}

TEST(Experiments, SquaresSweepsThreadsAndBlocksByThreeClocksAndSparesTheLongestCalls) {
  Selection selection;
  selection.sm_count = 100;
  const auto sizes = gpu() == DeviceKind::sim ? powers_of_two(12, 12) : std::vector<std::size_t>{1 << 20, 1 << 24};
  auto calls = calls_of(find_experiment("squares").points(selection, gpu()));
  for (const TimingMode mode : {TimingMode::clock, TimingMode::globaltimer, TimingMode::end_to_end})
    for (const std::size_t n : sizes) {
      for (const char* block : {"32", "64", "128", "256", "512", "1024"})
        for (const char* variant : {"squares/chunked", "squares/strided"})
          EXPECT_TRUE(calls[mode][n].contains(std::string(variant) + " block=" + block + ";finish=host;index=document"))
              << variant << " " << block << " " << n;
      for (const char* grid : {"1", "2", "4", "8", "16", "32", "64", "100", "200", "300", "400"})
        for (const char* variant : {"squares/multi-block", "squares/multi-block-tree"})
          EXPECT_TRUE(
              calls[mode][n].contains(std::string(variant) + " block=256;finish=host;index=document;grid=" + grid))
              << variant << " " << grid << " " << n;
    }
  if (gpu() == DeviceKind::sim) return;
  const auto blocks_of_strided = [&](const Selection& wanted) {
    std::set<std::string> blocks;
    for (const Point& p : find_experiment("squares").points(wanted, gpu()))
      if (p.variant->id == "squares/strided" && p.problem.n == 1 << 28) blocks.insert(p.settings.text("block"));
    return blocks;
  };
  EXPECT_EQ(blocks_of_strided({}), (std::set<std::string>{"256", "512"}));
  Selection wide, named;
  wide.full = true;
  named.sizes = {1 << 28};
  EXPECT_EQ(blocks_of_strided(wide).size(), 6u);
  EXPECT_EQ(blocks_of_strided(named).size(), 6u) << "what the user names is not thinned";
}

TEST(Experiments, ComposedVariantsAreLeftToTheAblationUnlessTheyAreNamed) {
  const auto composed_in = [](const char* experiment, const Selection& selection) {
    const auto points = find_experiment(experiment).points(selection, DeviceKind::sim);
    return std::count_if(points.begin(), points.end(),
                         [](const Point& p) { return p.variant->id.starts_with("ablation/"); });
  };
  Selection named;
  named.variants_regex = "^ablation/";
  EXPECT_GT(composed_in("ablation", {}), 0);
  for (const char* experiment : {"comparison", "timing", "accuracy"}) {
    EXPECT_EQ(composed_in(experiment, {}), 0) << experiment;
    EXPECT_GT(composed_in(experiment, named), 0) << experiment;
  }
}

TEST(Experiments, TheAblationHasTheDocumentsCallsThatMakeTheSameChoicesBeside) {
  std::set<std::string> embodied, beside;
  for (const Point& p : find_experiment("ablation").points({}, DeviceKind::sim)) {
    if (!p.variant->id.starts_with("ablation/")) beside.insert(describe_group(p) + " " + p.variant->id);
    if (!p.variant->embodies.empty()) {
      const std::string& call = p.variant->embodies;
      embodied.insert(describe_group(p) + " " + call.substr(0, call.find(':')));
    }
  }
  EXPECT_FALSE(embodied.empty());
  EXPECT_EQ(embodied, beside);
  Selection named;
  named.variants_regex = "^ablation/";
  for (const Point& p : find_experiment("ablation").points(named, DeviceKind::sim))
    EXPECT_TRUE(p.variant->id.starts_with("ablation/")) << p.variant->id << " was not named";
  if (gpu() == DeviceKind::sim) return;
  for (const Point& p : find_experiment("ablation").points({}, gpu())) {
    const bool is_documents = !p.variant->id.starts_with("ablation/") && !p.variant->id.starts_with("cub/");
    EXPECT_FALSE(is_documents && p.problem.n < 1 << 20) << "its grid is another there";
  }
}

TEST(Experiments, LatencyHasOneBlockWithASignedAndAnUnsignedIndex) {
  std::set<std::string> settings;
  for (const Point& p : find_experiment("latency").points({}, gpu())) {
    if (p.variant->id.starts_with("cub/")) continue;
    EXPECT_FALSE(p.settings.has("grid")) << p.variant->id;
    if (p.timing_mode == TimingMode::clock && p.variant->id == "squares/strided") settings.insert(p.settings.str());
  }
  std::set<std::string> wanted;
  for (const char* block : {"32", "64", "128", "256", "512", "1024"})
    for (const char* index : {"i32", "u64"})
      wanted.insert(std::string("block=") + block + ";finish=host;index=" + index);
  EXPECT_EQ(settings, wanted);
}

TEST(Experiments, TwopassHasItsThreeTreesByBlockAndFinishEachTimedAsItCanBe) {
  std::map<TimingMode, std::map<std::string, std::set<std::string>>> settings;
  for (const Point& p : find_experiment("twopass").points({}, gpu()))
    if (!p.variant->id.starts_with("cub/")) {
      settings[p.timing_mode][p.variant->id].insert(p.settings.str());
      EXPECT_TRUE(p.timing_mode == TimingMode::end_to_end || p.settings.text("finish") == "second-launch");
    }
  for (auto& [mode, by_variant] : settings) {
    EXPECT_EQ(by_variant.size(), 3u);
    for (const auto& [id, all] : by_variant) EXPECT_EQ(all.size(), mode == TimingMode::device ? 6u : 12u) << id;
  }
  EXPECT_EQ(settings.size(), 2u);
}

TEST(Experiments, UnrollingHasNineKernelsOverSizesAndSmallerBlocksAtTheDocumentsOwn) {
  std::map<std::string, std::set<std::size_t>> sizes;
  std::map<std::size_t, std::set<std::string>> blocks;
  for (const Point& p : find_experiment("unrolling").points({}, gpu())) {
    if (p.variant->id.starts_with("cub/")) continue;
    if (p.settings.text("block") == "1024") sizes[p.variant->id].insert(p.problem.n);
    blocks[p.problem.n].insert(p.settings.text("block"));
  }
  EXPECT_EQ(sizes.size(), 9u);
  const std::set<std::string> all{"128", "256", "512", "1024"};
  if (gpu() == DeviceKind::sim) return;
  for (const auto& [id, of_variant] : sizes) {
    EXPECT_EQ(of_variant.size(), 7u) << id;
    EXPECT_EQ(*of_variant.begin(), std::size_t{1} << 16) << id;
    EXPECT_EQ(*of_variant.rbegin(), std::size_t{1} << 28) << id;
    EXPECT_TRUE(of_variant.contains(find_variant(id).document_n)) << id;
  }
  for (const auto& [n, of_size] : blocks)
    EXPECT_EQ(of_size, n == 1 << 24 ? all : std::set<std::string>{"1024"}) << n;
}

TEST(Experiments, LevelsHasEveryFinishOfEveryKernelAndEveryNumberOfLoads) {
  std::map<std::string, std::set<std::string>> finishes, loads;
  for (const Point& p : find_experiment("levels").points({}, gpu())) {
    if (p.variant->id.starts_with("cub/")) continue;
    EXPECT_EQ(p.problem.type, ElementType::f32);
    EXPECT_EQ(p.settings.text("block"), "256") << "one change at a time: the same block for all";
    finishes[p.variant->id].insert(p.settings.text("finish"));
    if (p.settings.has("granularity"))
      loads[p.variant->id + " " + p.settings.text("finish")].insert(p.settings.text("granularity"));
  }
  EXPECT_EQ(finishes.size(), 6u);
  for (const auto& [id, all] : finishes) EXPECT_EQ(all.size(), id == "levels/reduce0" ? 2u : 3u) << id;
  EXPECT_EQ(loads.size(), 6u) << "two kernels with three finishes";
  for (const auto& [call, all] : loads) EXPECT_EQ(all.size(), 11u) << call;
}

TEST(Experiments, MultiblockGoesFromOneBlockToAThreadForEachElementAndNoFurther) {
  Selection selection;
  selection.sm_count = 100;
  std::map<std::size_t, std::set<std::string>> grids;
  for (const Point& p : find_experiment("multiblock").points(selection, gpu())) {
    if (p.variant->id.starts_with("cub/")) continue;
    if (p.timing_mode == TimingMode::end_to_end) {
      EXPECT_EQ(p.settings.text("grid"), "auto");
    } else if (p.variant->id == "multiblock/two-launch") {
      grids[p.problem.n].insert(p.settings.text("grid"));
    }
  }
  if (gpu() == DeviceKind::sim) {
    EXPECT_EQ(grids[1 << 12], (std::set<std::string>{"1", "2", "4", "auto"}));
    return;
  }
  std::set<std::string> wanted{"1", "2", "4", "8", "16", "32", "64", "100", "200", "400", "800", "auto"};
  wanted.insert("1024");  // 2^20 / 1024; more blocks would have nothing to do
  EXPECT_EQ(grids[1 << 20], wanted);
  wanted.erase("1024");
  wanted.insert({"1600", "97657"});
  EXPECT_EQ(grids[100'000'000], wanted);
  EXPECT_EQ(grids.size(), 4u);
  selection.settings = {{"grid", "7"}};
  for (const Point& p : find_experiment("multiblock").points(selection, gpu()))
    if (p.settings.has("grid")) {
      EXPECT_EQ(p.settings.text("grid"), "7");
    }
}

TEST(Experiments, ModernHasItsVariantsAndTheNumbersOfLoadsBesideOurSum) {
  std::map<std::string, std::set<std::string>> settings;
  std::map<std::string, std::set<std::size_t>> sizes;
  for (const Point& p : find_experiment("modern").points({}, gpu())) {
    EXPECT_EQ(p.timing_mode, TimingMode::device);
    EXPECT_EQ(refusal(*p.variant, gpu(), p.problem, p.settings), "") << p.variant->id;
    settings[p.variant->id].insert(p.settings.str());
    if (p.problem.type == ElementType::i32) sizes[p.variant->id].insert(p.problem.n);
  }
  for (const Variant& v : variants())
    if (v.own_experiment == "modern" && v.runs_on(gpu())) {
      EXPECT_TRUE(settings.contains(v.id)) << v.id;
    }
  EXPECT_EQ(settings["modern/loads-in-flight"].size(), 4u);
  EXPECT_EQ(settings["tuned/sum"], (std::set<std::string>{find_variant("tuned/sum").settings().str()}));
  if (gpu() == DeviceKind::sim) return;
  for (const auto& [id, of_variant] : sizes) {
    EXPECT_EQ(of_variant.size(), 10u) << id;
    EXPECT_EQ(*of_variant.begin(), std::size_t{1} << 10) << id;
    EXPECT_EQ(*of_variant.rbegin(), std::size_t{1} << 28) << id;
  }
}

TEST(Experiments, WhatHasAnExperimentOfItsOwnIsNotInThoseOfAllVariantsUnlessItIsNamed) {
  const auto holds = [](const char* experiment, const Selection& selection) {
    for (const Point& p : find_experiment(experiment).points(selection, gpu()))
      if (p.variant->id.starts_with("modern/") || p.variant->id == "tuned/sum-any-order" ||
          p.variant->id == "tuned/sum-raw-workspace")
        return true;
    return false;
  };
  EXPECT_FALSE(holds("index", {}));
  for (const Variant& v : variants()) {
    EXPECT_EQ(left_to_its_experiment(v, {}), !v.own_experiment.empty()) << v.id;
    Selection one;
    one.variants_regex = "^" + v.id + "$";
    EXPECT_FALSE(left_to_its_experiment(v, one)) << v.id;
  }
  Selection named;
  for (const char* regex : {"^modern/shuffle$", "^tuned/sum-any-order$", "^tuned/sum-raw-workspace$"}) {
    named.variants_regex = regex;
    for (const char* experiment : {"comparison", "timing", "accuracy"}) {
      EXPECT_FALSE(holds(experiment, {})) << experiment;
      EXPECT_TRUE(holds(experiment, named)) << experiment;
    }
  }
}

TEST(Experiments, AccuracyAddsUpFourDataSetsAndRepeatsOneSizeAThousandTimes) {
  std::map<std::string, std::set<std::size_t>> sizes;
  std::set<std::string> repeated, all;
  for (const Point& p : find_experiment("accuracy").points({}, gpu())) {
    EXPECT_EQ(p.problem.operation, Operation::sum) << p.variant->id;
    EXPECT_EQ(p.problem.type, ElementType::f32) << p.variant->id;
    sizes[p.dataset].insert(p.problem.n);
    all.insert(p.variant->id + " " + p.settings.str());
    if (p.samples == 2000) repeated.insert(p.variant->id + " " + p.settings.str());
    EXPECT_EQ(p.samples, p.problem.n == 1 << 20 && p.dataset == "random" ? 2000 : 0)
        << p.variant->id << ": of every second the bits count";
    if (p.settings.has("finish")) {
      EXPECT_NE(p.settings.text("finish"), "host-pinned") << "adds in the same order";
    }
  }
  EXPECT_EQ(sizes.size(), 4u);
  EXPECT_TRUE(all.contains("squares/strided block=256;finish=host;index=document")) << "a sum, of its squares' kernel";
  if (gpu() == DeviceKind::sim) return;
  EXPECT_EQ(repeated, all) << "whatever is declared of it";
  for (const auto& [dataset, of_dataset] : sizes) {
    EXPECT_EQ(of_dataset.size(), 10u) << dataset;
    EXPECT_EQ(*of_dataset.begin(), std::size_t{1} << 10) << dataset;
    EXPECT_EQ(*of_dataset.rbegin(), std::size_t{1} << 28) << dataset;
  }
  Selection integers;
  integers.types = {ElementType::i32};
  for (const Point& p : find_experiment("accuracy").points(integers, gpu()))
    EXPECT_TRUE(p.dataset == "random" || p.dataset == "alternating") << p.dataset << " is of floats alone";
}

TEST(Experiments, FrontierHasEachWayToAddUpFloatsOnEachKindOfData) {
  std::map<std::string, std::set<std::string>> datasets;   // by variant, operation and type
  std::map<std::string, std::set<std::size_t>> in_graphs;  // the sizes by variant and type
  for (const Point& p : find_experiment("frontier").points({}, gpu())) {
    EXPECT_EQ(refusal(*p.variant, gpu(), p.problem, p.settings), "") << p.variant->id;
    if (p.timing_mode == TimingMode::graph)
      in_graphs[p.variant->id + " " + std::string(name(p.problem.type))].insert(p.problem.n);
    datasets[p.variant->id + " " + std::string(name(p.problem.operation)) + " " + std::string(name(p.problem.type))]
        .insert(p.dataset);
  }
  const std::set<std::string> all{"random", "spread", "ill-conditioned"};
  for (const auto& [what, of] : datasets) EXPECT_EQ(of, all) << what;
  for (const char* what : {"compensated/kahan sum f32", "compensated/kahan sum f64", "compensated/in-double sum f32",
                           "tuned/sum sum f64", "tuned/sum wide_sum f32", "levels/naive sum f32"})
    EXPECT_TRUE(datasets.contains(what)) << what;
  EXPECT_FALSE(datasets.contains("compensated/in-double sum f64"));
  if (gpu() == DeviceKind::cuda) {  // the simulated device captures no graph
    for (const char* what : {"exact/sum f32", "exact/sum f64", "tuned/sum f32", "tuned/sum f64"})
      EXPECT_GT(in_graphs[what].size(), 2U) << what;
  }
  EXPECT_FALSE(in_graphs.contains("compensated/plain f32"));
  Selection integers;
  integers.types = {ElementType::i32};
  EXPECT_TRUE(find_experiment("frontier").points(integers, gpu()).empty()) << "they lose nothing";
}

TEST(Experiments, FrontierPythonHasTheFrontiersArraysOnTheGpuAndOnACpu) {
  const auto& experiment = find_experiment("frontier-python");
  std::set<std::string> on_gpu, on_cpu;
  std::set<std::string> datasets;
  // Of C++ alone: what the Python package registers is not there.
  for (const Point& p : experiment.points({}, DeviceKind::cpu)) {
    on_cpu.insert(p.variant->id);
    datasets.insert(p.dataset);
    EXPECT_EQ(p.timing_mode, TimingMode::end_to_end);
    EXPECT_TRUE(p.problem.n == 1 << 20 || p.problem.n == 1 << 28) << p.problem.n;
  }
  EXPECT_EQ(on_cpu, (std::set<std::string>{"exact/cpu"}));
  EXPECT_EQ(datasets, (std::set<std::string>{"random", "spread", "ill-conditioned"}));
  std::set<TimingMode> modes;
  for (const Point& p : experiment.points({}, gpu())) {
    on_gpu.insert(p.variant->id);
    modes.insert(p.timing_mode);
  }
  EXPECT_TRUE(on_gpu.contains("exact/sum"));
  EXPECT_EQ(on_gpu.contains("cub/sum"), gpu() == DeviceKind::cuda);
  EXPECT_TRUE(modes.contains(TimingMode::end_to_end));
  EXPECT_EQ(modes.contains(TimingMode::replay), gpu() == DeviceKind::cuda);
  Selection integers;
  integers.types = {ElementType::i32};
  integers.variants_regex = "^exact/cpu$";
  EXPECT_TRUE(experiment.points(integers, DeviceKind::cpu).empty()) << "they lose nothing";
}

TEST(Experiments, TheNewestCubStandsWhereverGoalsAskForIt) {
  const Variant* newest = newest_cub_sum();
  if (!newest) GTEST_SKIP() << "the program was built without releases of CUB";
  for (const char* experiment : {"tuned", "narrow"}) {
    std::map<std::string, std::set<std::string>> calls;  // by what points have in common
    for (const Point& p : find_experiment(experiment).points({}, DeviceKind::cuda))
      if (p.problem.operation == Operation::sum && p.timing_mode != TimingMode::end_to_end)
        calls[describe_group(p) + " " + std::to_string(p.offset_elements)].insert(p.variant->id);
    EXPECT_FALSE(calls.empty()) << experiment;
    for (const auto& [point, ids] : calls)
      EXPECT_TRUE(ids.contains(newest->id) && ids.contains("tuned/sum")) << experiment << " " << point;
  }
}

TEST(Experiments, TunedHasAnyOrderWhereItMakesADifference) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "of much input";
  std::set<std::string> types;
  for (const Point& p : find_experiment("tuned").points({}, gpu())) {
    if (p.variant->id != "tuned/sum-any-order") continue;
    types.insert(std::string(name(p.problem.type)));
    EXPECT_GT(p.problem.bytes(), std::size_t{1} << 28) << "up to there it is tuned/sum";
    EXPECT_EQ(p.cache_state, CacheState::cold_dirty);
    EXPECT_EQ(p.timing_mode, TimingMode::device);
    EXPECT_EQ(p.settings, p.variant->settings());
  }
  EXPECT_EQ(types, (std::set<std::string>{"f32", "f64"})) << "integers are added up in any order anyway";
}

TEST(Experiments, ExactHasThreeSumsSideBySideOnEveryKindOfData) {
  const bool with_cub = gpu() == DeviceKind::cuda;
  std::map<std::string, std::set<std::string>> sums_of;  // by dataset and group
  std::map<std::string, std::set<std::string>> types_of;
  for (const Point& p : find_experiment("exact").points({}, gpu())) {
    EXPECT_EQ(refusal(*p.variant, p.device, p.problem, p.settings), "");
    EXPECT_EQ(p.settings, p.variant->settings());
    EXPECT_TRUE(has_dataset(p.dataset, p.problem.type)) << p.dataset;
    sums_of[p.dataset + " " + describe_group(p)].insert(p.variant->id);
    types_of[p.dataset].insert(std::string(name(p.problem.type)));
  }
  std::set<std::string> wanted{"exact/sum", "tuned/sum"};
  if (with_cub) wanted.insert("cub/sum");
  for (const auto& [group, ids] : sums_of) EXPECT_EQ(ids, wanted) << group;
  const std::set<std::string> all{"f32", "f64", "f16", "bf16"}, wide{"f32", "f64", "bf16"}, widest{"f32", "f64"};
  EXPECT_EQ(types_of, (std::map<std::string, std::set<std::string>>{{"random", all},
                                                                    {"scaled:2^-66", wide},
                                                                    {"scaled:2^90", wide},
                                                                    {"spread", widest},
                                                                    {"giants", widest},
                                                                    {"constants", widest}}));
  Selection halves;
  halves.types = {ElementType::f16};
  for (const Point& p : find_experiment("exact").points(halves, gpu()))
    EXPECT_TRUE(has_dataset(p.dataset, ElementType::f16)) << p.dataset;
}

TEST(Experiments, ShapesHasTheLibrariesCallsBesideOurRows) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "CUB has no simulated device";
  std::set<std::string> ids;
  for (const Point& p : find_experiment("shapes").points({}, DeviceKind::cuda)) ids.insert(p.variant->id);
  for (const char* id : {"cub/segmented", "cub/reduce-by-key", "cublas/gemv-ones", "modern/row-by-warp"})
    EXPECT_TRUE(ids.contains(id)) << id;
  const Variant* const newest = newest_cub_sum();
  const std::string release = newest ? newest->id.substr(0, newest->id.find('/') + 1) : "";
  for (const std::string& id : ids) EXPECT_TRUE(id.find('@') == std::string::npos || id.starts_with(release)) << id;
}

TEST(Experiments, ShapesHasOtherTypesAtAFewShapesAndALibraryBesideEachOfOurs) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "CUB has no simulated device";
  const std::vector<Point> points = find_experiment("shapes").points({}, DeviceKind::cuda);
  EXPECT_LE(points.size(), 1100u);
  std::map<std::string, std::set<std::size_t>> sizes;
  std::map<std::string, std::set<std::string>> types, groups;
  for (const Point& p : points) {
    const std::string type(name(p.problem.type)), group(p.variant->group());
    if (p.problem.operation == Operation::row_sums && p.problem.columns() == 1 << 12)
      sizes[group + " " + type].insert(p.problem.n);
    types[std::string(name(p.problem.operation))].insert(type);
    EXPECT_FALSE(p.variant->id == "cublas/gemv-ones" && p.problem.type == ElementType::i32);
    if (p.problem.type == ElementType::f32) groups[describe_group(p)].insert(group);
  }
  EXPECT_EQ(sizes["modern f32"], (std::set<std::size_t>{1 << 18, 1 << 22, 1 << 26}));
  EXPECT_EQ(sizes["tuned f32"].size(), 6u);
  EXPECT_EQ(sizes["tuned bf16"], std::set<std::size_t>{1 << 26});
  for (const char* operation : {"row_sums", "column_sums", "segment_sums"})
    EXPECT_EQ(types[operation], (std::set<std::string>{"f32", "f64", "i32", "bf16"})) << operation;
  for (const auto& [point, of] : groups)
    if (of.contains("tuned")) {
      const bool has_library = std::any_of(
          of.begin(), of.end(), [](const std::string& group) { return group.starts_with("cub") || group == "thrust"; });
      EXPECT_TRUE(has_library) << point;
    }
}

TEST(Experiments, ShapesLeavesNothingOutOfSizesThatAreAskedFor) {
  Selection selection;
  selection.sizes = {std::size_t{1} << 20};
  selection.variants_regex = "^(exact|modern)/row";
  std::set<std::string> ids;
  for (const Point& p : find_experiment("shapes").points(selection, gpu())) ids.insert(p.variant->id);
  EXPECT_TRUE(ids.contains("exact/rows") && ids.contains("modern/row-by-warp"));
}

TEST(Experiments, PeersHasFloatsAtFiveSizesAndOtherTypesAtOne) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "its sizes are small ones";
  std::map<std::string, std::set<std::size_t>> sizes;
  for (const Point& p : find_experiment("peers").points({}, DeviceKind::cuda))
    sizes[std::string(name(p.problem.type))].insert(p.problem.n);
  EXPECT_EQ(sizes["f32"].size(), 5u);
  for (const char* type : {"i8", "f16", "f64"}) EXPECT_EQ(sizes[type], std::set<std::size_t>{1 << 24}) << type;
  EXPECT_EQ(sizes.size(), 4u);
}

TEST(Experiments, NarrowHasTunedBesideCubsCallOfTheSameOperationAndType) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "CUB has no simulated device";
  std::map<std::string, std::set<std::string>> variants_of;  // by operation, type and n
  std::set<std::string> types;
  for (const Point& p : find_experiment("narrow").points({}, DeviceKind::cuda)) {
    EXPECT_EQ(refusal(*p.variant, p.device, p.problem, p.settings), "");
    EXPECT_EQ(p.settings, p.variant->settings());
    variants_of[describe_group(p)].insert(p.variant->id);
    types.insert(std::string(name(p.problem.operation)) + " " + std::string(name(p.problem.type)));
    EXPECT_TRUE(p.problem.operation == Operation::moments || p.problem.type != p.problem.accumulator());
  }
  EXPECT_EQ(types, (std::set<std::string>{"sum i8", "sum f16", "sum bf16", "wide_sum i8", "wide_sum i32",
                                          "wide_sum f32", "moments i8", "moments f16", "moments bf16", "moments f32"}));
  const bool tuned_has_moments = [] {
    const auto& operations = find_variant("tuned/sum").operations;
    return std::find(operations.begin(), operations.end(), Operation::moments) != operations.end();
  }();
  for (const auto& [group, ids] : variants_of) {
    const bool moments = group.starts_with("moments");
    std::set<std::string> wanted{moments ? "cub/moments" : "cub/sum"};
    if (!moments || tuned_has_moments) wanted.insert("tuned/sum");
    if (const Variant* newest = newest_cub_sum(); newest && group.starts_with("sum ")) wanted.insert(newest->id);
    EXPECT_EQ(ids, wanted) << group;
  }
  EXPECT_TRUE(variants_of.contains("sum f16 n=2147483648 device cold_dirty"));
  Selection selection;
  selection.operations = {Operation::sum};
  selection.types = {ElementType::i8};
  for (const Point& p : find_experiment("narrow").points(selection, DeviceKind::cuda))
    EXPECT_TRUE(p.problem.operation == Operation::sum && p.problem.type == ElementType::i8);
  // Wide sums of f64, which has none, are there to be refused only where they are asked for.
  const auto wide_sums = [&] {
    const auto points = find_experiment("narrow").points(selection, DeviceKind::cuda);
    return std::count_if(points.begin(), points.end(),
                         [](const Point& p) { return p.problem.operation == Operation::wide_sum; });
  };
  selection.types = {ElementType::f64};
  selection.operations = {};
  EXPECT_EQ(wide_sums(), 0);
  selection.operations = {Operation::wide_sum};
  EXPECT_GT(wide_sums(), 0);
}

// In an experiment of every variant two calls would stand alone in groups of their own.
TEST(Experiments, MomentsAreMeasuredWhereTheyAreAskedFor) {
  if (gpu() == DeviceKind::sim) GTEST_SKIP() << "CUB has no simulated device";
  const auto has_moments = [](const Selection& selection) {
    const std::vector<Point> points = find_experiment("comparison").points(selection, DeviceKind::cuda);
    return std::any_of(points.begin(), points.end(),
                       [](const Point& p) { return p.problem.operation == Operation::moments; });
  };
  Selection cub, moments;
  cub.variants_regex = "^cub/";
  moments.operations = {Operation::moments};
  EXPECT_FALSE(has_moments({}));
  EXPECT_TRUE(has_moments(cub));
  EXPECT_TRUE(has_moments(moments));
}

}  // namespace
}  // namespace reductio
