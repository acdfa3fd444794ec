/// Which timing modes calls do not have.

#include "measure/plan/ways.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "measure/plan/axes.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_variant.h"

namespace reductio {
namespace {

using namespace scripted;

TEST(MeasureWays, ThoseThatAVariantLacksAreToldInOneLine) {
  Variant v = variant("a", 1);
  EXPECT_EQ(ways_without(v), "");
  v.result = ResultLocation::on_host;
  EXPECT_EQ(ways_without(v),
            "not device, graph, replay, launch_to_idle (blocks until its result is on the host; timed end to end)");
  v.result = ResultLocation::on_device;
  v.tunables = {Tunable::choice("finish", {"atomic", "host", "relaunch", "host-pinned"}, "atomic")};
  EXPECT_EQ(ways_without(v),
            "finish=host, host-pinned: not device, graph, replay (finishes on the host; timed end to end)");
  v.tunables = {Tunable::choice("finish", {"host", "host-pinned"}, "host")};
  EXPECT_EQ(ways_without(v), "not device, graph, replay (finishes on the host; timed end to end)");
  v.consumes_input = true;
  EXPECT_EQ(ways_without(v),
            "not device, replay (finishes on the host; timed end to end), not graph (overwrites its input, which a "
            "graph of many calls cannot restore in between), not warm (overwrites its input: restoring it decides "
            "what the cache holds)");
}

TEST(MeasureWays, WhatAnInterpreterCallsHasItsKernelsTimedByReplay) {
  Variant v = variant("a", 1);
  v.interpreter = "Python";
  EXPECT_EQ(ways_without(v), "not device (each call runs Python; its kernels are timed by mode replay)");
  EXPECT_EQ(timing_refusal(DeviceKind::cuda, TimingMode::replay, CacheState::cold_dirty), "");
  EXPECT_NE(timing_refusal(DeviceKind::sim, TimingMode::replay, CacheState::warm), "");
}

TEST(MeasureWays, WhatADeviceLacksDependsOnNoCall) {
  EXPECT_EQ(timing_refusal(DeviceKind::cuda, TimingMode::graph, CacheState::warm), "");
  EXPECT_NE(timing_refusal(DeviceKind::cuda, TimingMode::graph, CacheState::cold_dirty), "");
  EXPECT_EQ(timing_refusal(DeviceKind::sim, TimingMode::device, CacheState::cold_dirty), "");
  for (const TimingMode mode : all_timing_modes)
    EXPECT_EQ(timing_refusal(DeviceKind::cpu, mode, CacheState::warm).empty(), mode == TimingMode::end_to_end);
}

TEST(MeasureWays, AProductHoldsWhatCanBeTimedAndSaysWhyNothingCan) {
  Selection naive;
  naive.variants_regex = "^levels/naive$";
  const Axes axes{.sizes = {10},
                  .modes = {TimingMode::device, TimingMode::graph, TimingMode::clock, TimingMode::end_to_end},
                  .settings = [&](const Variant& v) { return expand_settings(v, naive, {"finish"}); }};
  std::string points;
  for (const Point& p : product_of(axes, naive, DeviceKind::sim))
    points += std::string(name(p.timing_mode)) + " " + p.settings.text("finish") + ", ";
  EXPECT_EQ(points,
            "device atomic, device relaunch, end_to_end atomic, end_to_end relaunch, end_to_end host, end_to_end "
            "host-pinned, ");
  naive.settings = {{"finish", "host"}};
  EXPECT_EQ(error_of<UsageError>([&] {
              product_of({.sizes = {10}, .modes = {TimingMode::device}}, naive, DeviceKind::sim);
            }),
            "this experiment has no timing mode for what was selected (levels/naive, device, "
            "cold_dirty: finishes on the host; timed end to end)");
}

}  // namespace
}  // namespace reductio
