// Launches that CUDA would refuse.

#include "device/sim/gpu.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

Fault refusal_of_launch(std::size_t grid, unsigned block, std::size_t shared_bytes, bool cooperative = false) {
  try {
    if (cooperative)
      launch_cooperative<nothing>({grid, block, shared_bytes, {}});
    else
      launch<nothing>({grid, block, shared_bytes, {}});
  } catch (const Fault& f) {
    return f;
  }
  ADD_FAILURE() << "the launch was not refused";
  sim::synchronize({});
  return Fault(FaultKind::race, "", 0, {}, "", 0, "");
}

TEST(SimLaunch, RefusesWhatCudaRefuses) {
  const Fault f = refusal_of_launch(0, 32, 0);
  EXPECT_EQ(f.kind, FaultKind::launch);
  EXPECT_EQ(f.kernel, "nothing");
  EXPECT_TRUE(says(f, "a grid of 0 blocks")) << f.what();
  EXPECT_TRUE(says(refusal_of_launch(std::size_t{1} << 31, 32, 0), "a grid of 2147483648 blocks"));
  EXPECT_TRUE(says(refusal_of_launch(1, 0, 0), "blocks of 0 threads"));
  EXPECT_TRUE(says(refusal_of_launch(1, 1025, 0), "blocks of 1025 threads"));
  EXPECT_TRUE(says(refusal_of_launch(1, 32, 48 * 1024 + 1), "49153 bytes of shared memory"));
  EXPECT_NO_THROW(run<nothing>(1, 1024, 48 * 1024));
}

/// A number that does not fit is not cut to one that does: 2^32 + 32 threads are not 32.
TEST(SimLaunch, ShapesAreOfAnyIntegers) {
  const std::size_t threads = 64;
  const int blocks = 2, negative = -1;
  const auto count = zeros<unsigned>(64);
  EXPECT_NO_THROW(launch<add_one>({blocks - 1, threads, blocks * 0, {}}, count.ptr()));
  sim::synchronize({});
  EXPECT_EQ(on_host(count), std::vector<unsigned>(64, 1u));
  const auto refused = [](const Launch& shape) {
    try {
      launch<nothing>(shape);
    } catch (const Fault& f) {
      return std::string(f.what());
    }
    sim::synchronize({});
    return std::string("launched");
  };
  const std::size_t more_than_words_hold = (std::size_t{1} << 32) + 32;
  EXPECT_NE(refused({1, more_than_words_hold, 0, {}}).find("blocks of 4294967295 threads"), std::string::npos);
  EXPECT_NE(refused({more_than_words_hold, 32, 0, {}}).find("a grid of 4294967328 blocks"), std::string::npos);
  EXPECT_NE(refused({1, negative, 0, {}}).find("blocks of 4294967295 threads"), std::string::npos);
  EXPECT_NE(refused({negative, 32, 0, {}}).find("a grid of "), std::string::npos);
  EXPECT_NE(refused({1, 32, negative, {}}).find("bytes of shared memory"), std::string::npos);
}

TEST(SimLaunch, CooperativeLaunchesMustFit) {
  // 6 SMs of 2048 threads, 32 blocks, 228 KiB of shared memory (and 1 KiB more a block).
  EXPECT_TRUE(says(refusal_of_launch(13, 1024, 0, true), "12 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(193, 32, 0, true), "192 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(25, 32, 48 * 1024, true), "24 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(187, 65, 0, true), "126 of them fit")) << "warps are whole";
  launch_cooperative<nothing>({12, 1024, 0, {}});
  EXPECT_NO_THROW(sim::synchronize({}));
}

TEST(SimLaunch, FitAnotherGpuWhileTheDeviceIsLikeIt) {
  const auto device = open_sim();
  {
    const sim::Like like("sm-86");
    EXPECT_EQ(device->info().threads_per_sm, 1536);
    EXPECT_TRUE(says(refusal_of_launch(7, 1024, 0, true), "6 of them fit"));
    const sim::Like same("");
    EXPECT_EQ(device->info().capability, 86);
  }
  EXPECT_EQ(device->info().threads_per_sm, 2048);
  EXPECT_EQ(device->info().capability, 90);
  EXPECT_THROW(sim::Like("nvidia-none"), UsageError);
}

}  // namespace
}  // namespace reductio::sim_tests
