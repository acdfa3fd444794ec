// Two threads of a block that touch a word, one of them writing, with no barrier between.

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimRaces : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimRaces, testing::ValuesIn(all_orders), order_name);

__global__ void tree_without_barriers(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2)
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

TEST_P(SimRaces, MissingBlockBarrierIsARace) {
  const auto in = counting(256);
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<tree_without_barriers>(1, 256, 256 * 4, GlobalPtr<const unsigned>(in.ptr()), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "tree_without_barriers");
  EXPECT_EQ(f.block, 0u);
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_TRUE(says(f, "the block's last barrier: races_test.cpp:")) << f.what();
  if (GetParam() == Order::forward) {
    // Thread 0 goes through all levels and reads word 1; then thread 1 begins its first.
    EXPECT_EQ(f.threads[0], 1u);
    EXPECT_TRUE(
        says(f, "writes byte 4 of shared memory, which thread 0 read (races_test.cpp:16) with no barrier between"))
        << f.what();
  } else if (GetParam() == Order::reverse) {
    // Threads 127 ... 64 have one level each; thread 63 has two.
    EXPECT_EQ(f.threads[0], 63u);
    EXPECT_TRUE(
        says(f, "reads byte 508 of shared memory, which thread 127 wrote (races_test.cpp:16) with no barrier between"))
        << f.what();
  }
}

__global__ void exchange_without_barrier(GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST_P(SimRaces, BarrierMissingAfterTheFirstStore) {
  const Buffer<unsigned> out(128);
  const Fault f = fault_of<exchange_without_barrier>(1, 128, 128 * 4, out.ptr());
  // Whoever reads first finds nothing, or what another thread has just written.
  EXPECT_TRUE(f.kind == FaultKind::unwritten || f.kind == FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "exchange_without_barrier");
}

__global__ void two_writers(GlobalPtr<unsigned> out) {
  if (threadIdx.x == 3 || threadIdx.x == 70) out[1] = 5;
}

TEST_P(SimRaces, TwoWritersOfOneWord) {
  const Buffer<unsigned> out(2);
  const Fault f = fault_of<two_writers>(1, 96, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  const bool low_first = says(f, "which thread 3 wrote");
  EXPECT_EQ(f.threads, Threads{low_first ? 70u : 3u}) << f.what();
  EXPECT_TRUE(low_first || says(f, "which thread 70 wrote")) << f.what();
}

__global__ void zero_beside_atomics(GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  if (threadIdx.x == 0) s[0] = 0;
  // The barrier that belongs here is missing.
  atomicAdd(s, 1u);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = s[0];
}

TEST_P(SimRaces, AtomicsRaceWithAPlainStore) {
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<zero_beside_atomics>(1, 64, 4, out.ptr());
  EXPECT_TRUE(f.kind == FaultKind::race || f.kind == FaultKind::unwritten) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.kind, FaultKind::race);
    EXPECT_EQ(f.threads, Threads{1});
  }
}

__global__ void read_while_others_add(GlobalPtr<unsigned> sum, GlobalPtr<unsigned> out) {
  atomicAdd(sum, 1u);
  if (threadIdx.x == 40) out[0] = sum[0];
}

TEST_P(SimRaces, PlainReadBesideAtomics) {
  const auto sum = zeros<unsigned>(1);
  const Buffer<unsigned> out(1);
  EXPECT_EQ(fault_of<read_while_others_add>(1, 64, 0, sum.ptr(), out.ptr()).kind, FaultKind::race);
}

__global__ void all_read_one_writes(GlobalPtr<unsigned> p, GlobalPtr<unsigned> out) {
  out[threadIdx.x] = p[0];
  if (threadIdx.x == 64) p[0] = 1;
}

TEST_P(SimRaces, WriteWhereSeveralWarpsRead) {
  const auto p = zeros<unsigned>(1);
  const Buffer<unsigned> out(128);
  const Fault f = fault_of<all_read_one_writes>(1, 128, 0, p.ptr(), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_TRUE(says(f, "threads of several warps read")) << f.what();
  }
}

__global__ void half_warps(GlobalPtr<unsigned> out, unsigned wrong) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  const unsigned t = threadIdx.x, half = t < 16 ? 0x0000ffffu : 0xffff0000u;
  s[t] = t;
  __syncwarp(half);  // orders each half within itself
  out[t] = s[t ^ wrong];
}

TEST_P(SimRaces, WarpBarrierOrdersOnlyTheLanesItNames) {
  const Buffer<unsigned> out(32);
  run<half_warps>(1, 32, 32 * 4, out.ptr(), 15u);
  EXPECT_EQ(on_host(out)[3], 12u);
  const Fault f = fault_of<half_warps>(1, 32, 32 * 4, out.ptr(), 16u);
  EXPECT_TRUE(f.kind == FaultKind::race || f.kind == FaultKind::unwritten) << f.what();
}

__global__ void ordered_through_a_third(GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  const unsigned t = threadIdx.x;
  if (t == 0) s[0] = 42;
  if (t < 2) __syncwarp(0b011);
  if (t == 1 || t == 2) __syncwarp(0b110);
  if (t == 2) out[0] = s[0];  // 0 before 1 before 2
}

TEST_P(SimRaces, OrderPassesThroughAThirdLane) {
  const Buffer<unsigned> out(1);
  run<ordered_through_a_third>(1, 32, 4, out.ptr());
  EXPECT_EQ(on_host(out)[0], 42u);
}

}  // namespace
}  // namespace reductio::sim_tests
