// What the variants for learners refuse, and which launch they choose.

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/variant.h"
#include "device/backend.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

DeviceInfo simulated_of(int capability = 80) {
  DeviceInfo gpu = open_sim()->info();
  gpu.capability = capability;
  return gpu;
}

PlanInfo launch_of(const std::string& id, std::size_t n, const Assignments& chosen,
                   const DeviceInfo& gpu = simulated_of()) {
  const Variant& v = find_variant(id);
  return make_plan(v, {Operation::sum, ElementType::i32, n}, v.settings(chosen), gpu)->info();
}

TEST(Modern, AWarpReductionNeedsTheInstruction) {
  EXPECT_NO_THROW(launch_of("modern/warp-reduce", 1000, {}));
  EXPECT_EQ(error_of<Refused>([] { launch_of("modern/warp-reduce", 1000, {}, simulated_of(75)); }),
            "needs compute capability 8.0; the program's code for this device is for 7.5");
  EXPECT_NO_THROW(launch_of("modern/shuffle", 1000, {}, simulated_of(75)));
}

TEST(Modern, ACooperativeLaunchIsRefusedWhereItsBlocksAreNotAllResident) {
  // 6 multiprocessors of at least one such block each.
  EXPECT_EQ(launch_of("modern/cooperative", 1 << 20, {{"block", "1024"}}).grid_blocks, 6u);
  EXPECT_EQ(launch_of("modern/cooperative", 1 << 20, {{"block", "1024"}, {"grid", "6"}}).grid_blocks, 6u);
  EXPECT_EQ(error_of<Refused>([] { launch_of("modern/cooperative", 1 << 20, {{"block", "1024"}, {"grid", "7"}}); }),
            "a cooperative launch has all blocks resident at once: choose grid=6 or less");
}

TEST(Modern, AClusterNeedsHopperAndTakesWholeOnes) {
  const DeviceInfo hopper = simulated_of(90);
  EXPECT_EQ(error_of<Refused>([] { launch_of("modern/cluster", 1000, {}); }),
            "needs compute capability 9.0; the program's code for this device is for 8.0");
  EXPECT_EQ(launch_of("modern/cluster", 1000, {}, hopper).grid_blocks, 8u);
  EXPECT_EQ(launch_of("modern/cluster", 1 << 20, {}, hopper).grid_blocks, 16u) << "12 in whole clusters of 8";
  EXPECT_EQ(launch_of("modern/cluster", 1 << 20, {{"cluster", "4"}}, hopper).grid_blocks, 12u);
}

TEST(Modern, TheGridIsTwoBlocksForEachMultiprocessorButNoMoreThanHaveSomethingToLoad) {
  EXPECT_EQ(launch_of("modern/shuffle", 1 << 20, {}).grid_blocks, 12u);
  EXPECT_EQ(launch_of("modern/shuffle", 1 << 11, {}).grid_blocks, 4u);
  EXPECT_EQ(launch_of("modern/vector-loads", 1 << 11, {}).grid_blocks, 1u) << "of four elements a load";
  EXPECT_EQ(launch_of("modern/fan-in", 0, {}).grid_blocks, 1u);
  EXPECT_EQ(launch_of("modern/packed-atomic", 1 << 20, {{"block", "32"}}).grid_blocks, 12u);
  EXPECT_EQ(launch_of("modern/packed-atomic", 5, {{"grid", "40"}}).grid_blocks, 40u);
}

}  // namespace
}  // namespace reductio
