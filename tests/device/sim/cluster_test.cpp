// Thread block clusters: their barrier, and the shared memory of other blocks.

#include "device/cooperative_groups.h"
#include "device/sim/gpu.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

namespace cg = cooperative_groups;

class SimCluster : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimCluster, testing::ValuesIn(all_orders), order_name);

template <auto Kernel, class... Args>
std::string launched(Launch shape, Args... args) {
  try {
    launch<Kernel>(shape, args...);
    sim::synchronize({});
  } catch (const Fault& f) {
    EXPECT_EQ(std::string(f.what()).find('\n'), std::string::npos);
    return f.what();
  }
  return "";
}

struct Steps {
  bool meets_first = true;  ///< before it reads what others have stored
  bool meets_last = true;   ///< before it leaves
  bool ordered = true;      ///< stores before the first meeting
};

/// The first block of each cluster adds up what the others have in shared memory.
__global__ void adds_up(unsigned* out, Steps steps) {
  __shared__ unsigned mine[64];
  const cg::cluster_group cluster = cg::this_cluster();
  if (steps.ordered) mine[threadIdx.x] = blockIdx.x + 1;
  if (steps.meets_first)
    cluster.sync();
  else
    __syncthreads();
  if (!steps.ordered) mine[threadIdx.x] = blockIdx.x + 1;
  if (cluster.block_rank() == 0) {
    unsigned sum = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r)
      sum += cluster.map_shared_rank(mine, static_cast<int>(r))[blockDim.x - 1 - threadIdx.x];
    out[blockIdx.x / cluster.num_blocks() * blockDim.x + threadIdx.x] = sum;
  }
  if (steps.meets_last) cluster.sync();
}

TEST_P(SimCluster, BlocksReachEachOthersSharedMemory) {
  for (const unsigned cluster : {1u, 2u, 8u, 16u}) {
    const Buffer<unsigned> out(32 / cluster * 64);
    EXPECT_EQ(launched<adds_up>({32, 64, 0, {}, cluster}, out.ptr(), Steps{}), "");
    unsigned sum = 0;
    for (const unsigned v : on_host(out)) sum += v;
    EXPECT_EQ(sum, 64u * 33 * 16);
  }
}

TEST_P(SimCluster, ManyMoreBlocksThanFit) {
  const Buffer<unsigned> out(250 * 64);
  EXPECT_EQ(launched<adds_up>({1000, 64, 0, {}, 4}, out.ptr(), Steps{}), "");
  EXPECT_EQ(on_host(out)[249 * 64], 997u + 998 + 999 + 1000);
}

TEST_P(SimCluster, ABlockBeginsBeforeOthersReachItsMemory) {
  const Buffer<unsigned> out(64);
  const std::string why = launched<adds_up>({4, 64, 0, {}, 4}, out.ptr(), Steps{.meets_first = false});
  EXPECT_NE(why.find("race in kernel adds_up, block 0"), std::string::npos) << why;
  EXPECT_NE(why.find("of its cluster, which may not have begun: all its blocks have after the cluster's first barrier"),
            std::string::npos)
      << why;
}

TEST_P(SimCluster, WhatOthersStoreComesBeforeABarrier) {
  const Buffer<unsigned> out(64);
  const std::string why = launched<adds_up>({4, 64, 0, {}, 4}, out.ptr(), Steps{.ordered = false});
  EXPECT_TRUE(why.find("race in kernel adds_up") != std::string::npos ||
              why.find("unwritten memory") != std::string::npos)
      << why;
}

TEST(SimClusterReverse, ABlockStaysWhileOthersReadItsMemory) {
  sim::set_schedule(Order::reverse);
  const Buffer<unsigned> out(64);
  const std::string why = launched<adds_up>({4, 64, 0, {}, 4}, out.ptr(), Steps{.meets_last = false});
  EXPECT_NE(why.find("of the shared memory of block 1 of its cluster, which has ended: let its threads wait at the "
                     "cluster's barrier until no other block needs it"),
            std::string::npos)
      << why;
  sim::set_schedule(Order::forward);
}

/// Blocks of one cluster write to each other's shared memory.
__global__ void writes_to_the_next(unsigned* out, unsigned synced, unsigned by_bytes) {
  __shared__ unsigned box[32];
  const cg::cluster_group cluster = cg::this_cluster();
  box[threadIdx.x] = 0;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  unsigned* const theirs = cluster.map_shared_rank(box, static_cast<int>(next));
  if (by_bytes)
    reinterpret_cast<unsigned char*>(theirs + threadIdx.x)[0] = static_cast<unsigned char>(blockIdx.x + 1);
  else
    atomicAdd(theirs + threadIdx.x, blockIdx.x + 1);
  if (synced) cluster.sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = box[31 - threadIdx.x];
  cluster.sync();
}

TEST_P(SimCluster, BlocksWriteToEachOther) {
  for (const unsigned by_bytes : {0u, 1u}) {
    const Buffer<unsigned> out(4 * 32);
    EXPECT_EQ(launched<writes_to_the_next>({4, 32, 0, {}, 4}, out.ptr(), 1u, by_bytes), "");
    EXPECT_EQ(on_host(out)[0], 4u);
    EXPECT_EQ(on_host(out)[40], 1u);
    const std::string why = launched<writes_to_the_next>({4, 32, 0, {}, 4}, out.ptr(), 0u, by_bytes);
    EXPECT_NE(why.find("no barrier of the cluster stands between the two"), std::string::npos) << why;
  }
}

/// The cluster's barrier orders global memory, too, and what a block then publishes includes it.
__global__ void hands_on(unsigned* data, unsigned* flag, unsigned* out, unsigned synced) {
  const cg::cluster_group cluster = cg::this_cluster();
  if (blockIdx.x == 0 && threadIdx.x == 1) data[0] = 42;
  if (synced) cluster.sync();
  if (blockIdx.x == 1 && threadIdx.x == 0) {
    __threadfence();
    atomicAdd(flag, 1u);
  }
  if (blockIdx.x == 2 && threadIdx.x == 0) {
    while (load_acquire(flag) == 0) {
    }
    out[0] = data[0];
  }
}

TEST_P(SimCluster, ItsBarrierHandsOnWhatAllHaveDone) {
  const auto flag = zeros<unsigned>(1), again = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  EXPECT_EQ(launched<hands_on>({4, 32, 0, {}, 2}, data.ptr(), flag.ptr(), out.ptr(), 1u), "");
  EXPECT_EQ(on_host(out)[0], 42u);
  const auto data_again = zeros<unsigned>(1);
  const std::string why = launched<hands_on>({4, 32, 0, {}, 2}, data_again.ptr(), again.ptr(), out.ptr(), 0u);
  EXPECT_NE(why.find("race in kernel hands_on"), std::string::npos) << why;
}

__global__ void waits_alone() {
  if (cg::this_cluster().block_rank() == 0 || threadIdx.x == 0) cg::this_cluster().sync();
}
__global__ void waits_at_two_places() {
  if (cg::this_cluster().block_rank() == 0)
    cg::this_cluster().sync();
  else
    cg::this_cluster().sync();
}
__global__ void asks_too_far(unsigned* out) {
  __shared__ unsigned mine;
  mine = 1;
  out[0] = *cg::this_cluster().map_shared_rank(&mine, 2);
}

TEST_P(SimCluster, ThreadsThatHaveReturnedAreNotWaitedFor) {
  EXPECT_EQ(launched<waits_alone>({4, 32, 0, {}, 2}), "");
  EXPECT_NE(launched<waits_at_two_places>({2, 32, 0, {}, 2}).find("threads of the cluster wait at different barriers"),
            std::string::npos);
}

TEST(SimClusterLaunch, RefusesWhatCudaRefuses) {
  const Buffer<unsigned> out(64);
  const auto why = [&](std::size_t grid, unsigned cluster) {
    return launched<adds_up>({grid, 64, 0, {}, cluster}, out.ptr(), Steps{});
  };
  EXPECT_NE(why(5, 2).find("a grid of 5 blocks, which is not a multiple of its clusters' 2; round it up to 6"),
            std::string::npos);
  EXPECT_NE(why(34, 17).find("clusters of 17 blocks; CUDA launches 1 to 16"), std::string::npos);
  EXPECT_NE(launched<asks_too_far>({2, 1, 0, {}, 2}, out.ptr()).find("asks for block 2 of a cluster of 2"),
            std::string::npos);
  EXPECT_NE(launched<nothing>({16, 1024, 0, {}, 16}).find("clusters of 16 blocks of 1024 threads, of which the device "
                                                          "holds none"),
            std::string::npos);
  const sim::Like old("sm-86");
  EXPECT_NE(why(4, 2).find("require_capability(gpu, 90)"), std::string::npos);
}

}  // namespace
}  // namespace reductio::sim_tests
