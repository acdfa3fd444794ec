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

std::string refused_shape(dim3 grid, dim3 block) {
  try {
    launch<nothing>({grid, block, 0, {}});
  } catch (const Fault& f) {
    return f.what();
  }
  sim::synchronize({});
  return "launched";
}

TEST(SimLaunch, EachDimensionHasItsLimit) {
  EXPECT_EQ(refused_shape({1, 65535, 1}, {1, 1, 1}), "launched");
  EXPECT_EQ(refused_shape({1, 1, 1}, {4, 4, 64}), "launched");
  EXPECT_NE(refused_shape({2, 65536, 1}, 32).find("a grid of 2 x 65536 x 1 blocks; CUDA launches at most 65535 in y"),
            std::string::npos);
  EXPECT_NE(refused_shape({1, 1, 65536}, 32).find("at most 65535 in y and z"), std::string::npos);
  EXPECT_NE(refused_shape(1, {1, 1, 65}).find("blocks of 1 x 1 x 65 threads; CUDA launches at most 64 in z"),
            std::string::npos);
  EXPECT_NE(refused_shape(1, {32, 33, 1}).find("blocks of 32 x 33 x 1 threads; CUDA launches 1 to 1024"),
            std::string::npos);
  EXPECT_NE(refused_shape(1, {32, 0, 1}).find("blocks of 32 x 0 x 1 threads"), std::string::npos);
  EXPECT_NE(refused_shape({65535, 65535, 2}, 32).find("the simulated device launches 1 to 2147483647"),
            std::string::npos);
}

__global__ void note_place(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      blockIdx.x | blockIdx.y << 4 | blockIdx.z << 8 | threadIdx.x << 12 | threadIdx.y << 16 | threadIdx.z << 20;
}

TEST(SimLaunch, ThreadsAndBlocksHaveThreeDimensions) {
  for (const Order order : all_orders) {
    sim::set_schedule(order, 7);
    const Buffer<unsigned> out(4 * 3 * 2 * 5 * 3 * 2);
    launch<note_place>({dim3(4, 3, 2), dim3(5, 3, 2), 0, {}}, out.ptr());
    std::vector<unsigned> wanted;
    for (unsigned b = 0; b < 4 * 3 * 2; ++b)
      for (unsigned t = 0; t < 5 * 3 * 2; ++t)
        wanted.push_back(b % 4 | b / 4 % 3 << 4 | b / 12 << 8 | t % 5 << 12 | t / 5 % 3 << 16 | t / 15 << 20);
    EXPECT_EQ(on_host(out), wanted);
    launch<note_place>({2, 3, 0, {}}, out.ptr());  // y and z are 0 again
    std::vector<unsigned> flat = on_host(out);
    flat.resize(6);
    EXPECT_EQ(flat, (std::vector<unsigned>{0, 1 << 12, 2 << 12, 1, 1 | 1 << 12, 1 | 2 << 12}));
  }
  sim::set_schedule(Order::forward);
}

/// Warps are 32 threads in CUDA's order: here four rows of eight.
__global__ void from_first_lane(unsigned* out) {
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  out[thread] = __shfl_sync(0xffffffff, 100 * threadIdx.y + threadIdx.x, 9);
}

TEST(SimLaunch, WarpsReachAcrossRows) {
  const Buffer<unsigned> out(64);
  launch<from_first_lane>({1, dim3(8, 8), 0, {}}, out.ptr());
  std::vector<unsigned> wanted(32, 101);
  wanted.resize(64, 501);
  EXPECT_EQ(on_host(out), wanted);
}

/// Each block adds up a tile of 8 x 8; with `careless` the blocks of row 1 do not wait for it.
__global__ void add_tiles(const unsigned* in, unsigned width, unsigned* out, bool careless) {
  __shared__ unsigned tile[8][8];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 8 + y) * width + blockIdx.x * 8 + x];
  if (!careless || blockIdx.y != 1) __syncthreads();
  for (unsigned rows = 4; rows > 0; rows /= 2) {
    if (y < rows) tile[y][x] += tile[y + rows][x];
    __syncthreads();
  }
  for (unsigned columns = 4; columns > 0; columns /= 2) {
    if (y == 0 && x < columns) tile[0][x] += tile[0][x + columns];
    __syncthreads();
  }
  if (x == 0 && y == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = tile[0][0];
}

TEST(SimLaunch, TilesAreAddedUp) {
  const auto in = counting(24 * 16);
  for (const Order order : all_orders) {
    sim::set_schedule(order, 7);
    const Buffer<unsigned> out(6);
    launch<add_tiles>({dim3(3, 2), dim3(8, 8), 0, {}}, in.ptr(), 24, out.ptr(), false);
    std::vector<unsigned> wanted;
    for (unsigned first : {0u, 8u, 16u, 192u, 200u, 208u}) wanted.push_back(64 * first + 64 * 7 / 2 + 64 * 24 * 7 / 2);
    EXPECT_EQ(on_host(out), wanted);
  }
  sim::set_schedule(Order::forward);
}

TEST(SimLaunch, ARaceInATileNamesItsThreads) {
  const auto in = counting(24 * 16);
  const Buffer<unsigned> out(6);
  for (const Order order : all_orders) {
    sim::set_schedule(order, 7);
    launch<add_tiles>({dim3(3, 2), dim3(8, 8), 0, {}}, in.ptr(), 24, out.ptr(), true);
    try {
      sim::synchronize({});
      ADD_FAILURE() << "no fault was diagnosed";
    } catch (const Fault& f) {
      EXPECT_EQ(f.kind, FaultKind::race) << f.what();
      ASSERT_EQ(f.threads.size(), 1u);
      const unsigned t = f.threads.front();
      EXPECT_TRUE(says(f, ", thread (" + std::to_string(t % 8) + "," + std::to_string(t / 8) + ",0), ")) << f.what();
      EXPECT_TRUE(says(f, " which thread")) << f.what();
      EXPECT_GE(f.block, 3u);
      EXPECT_TRUE(says(f, "block (" + std::to_string(f.block - 3) + ",1,0), ")) << f.what();
    }
  }
  sim::set_schedule(Order::forward);
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
  EXPECT_EQ(device->info().capability, 80);
  EXPECT_THROW(sim::Like("nvidia-none"), UsageError);
}

}  // namespace
}  // namespace reductio::sim_tests
