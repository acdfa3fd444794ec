// Plants each fault that the simulated device promises to diagnose, and reads the diagnosis.

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

using Threads = std::vector<unsigned>;

Threads from_to(unsigned first, unsigned last) {
  Threads t;
  for (unsigned i = first; i <= last; ++i) t.push_back(i);
  return t;
}

// ---------------------------------------------------------------------------------------------------- block barriers

__global__ void tree_without_barriers(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2)
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

class SimFaults : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimFaults, testing::ValuesIn(all_orders), order_name);

TEST_P(SimFaults, MissingBlockBarrierIsARace) {
  const auto in = counting(256);
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<tree_without_barriers>(1, 256, 256 * 4, GlobalPtr<const unsigned>(in.ptr()), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "tree_without_barriers");
  EXPECT_EQ(f.block, 0u);
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_TRUE(says(f, "the block's last barrier: faults_test.cpp:")) << f.what();
  if (GetParam() == Order::forward) {
    // Thread 0 goes through all levels and reads word 1; then thread 1 begins its first.
    EXPECT_EQ(f.threads[0], 1u);
    EXPECT_TRUE(says(f, "writes byte 4 of shared memory, which thread 0 read with no barrier between")) << f.what();
  } else if (GetParam() == Order::reverse) {
    // Threads 127 ... 64 have one level each; thread 63 has two.
    EXPECT_EQ(f.threads[0], 63u);
    EXPECT_TRUE(says(f, "reads byte 508 of shared memory, which thread 127 wrote with no barrier between")) << f.what();
  }
}

__global__ void exchange_without_barrier(GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST_P(SimFaults, BarrierMissingAfterTheFirstStore) {
  const Buffer<unsigned> out(128);
  const Fault f = fault_of<exchange_without_barrier>(1, 128, 128 * 4, out.ptr());
  // Whoever reads first finds nothing, or what another thread has just written.
  EXPECT_TRUE(f.kind == FaultKind::unwritten || f.kind == FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "exchange_without_barrier");
}

int line_of_first = 0, line_of_second = 0;

__global__ void divergent() {
  if (threadIdx.x < 32) {
    line_of_first = __LINE__ + 1;
    __syncthreads();
  } else {
    line_of_second = __LINE__ + 1;
    __syncthreads();
  }
}

TEST_P(SimFaults, DivergentBarrier) {
  const Fault f = fault_of<divergent>(1, 64, 0);
  EXPECT_EQ(f.kind, FaultKind::divergent_barrier) << f.what();
  EXPECT_EQ(f.kernel, "divergent");
  EXPECT_EQ(f.block, 0u);
  EXPECT_EQ(f.threads, from_to(0, 63));
  EXPECT_EQ(f.file, "faults_test.cpp");
  EXPECT_TRUE(f.line == line_of_first || f.line == line_of_second);
  EXPECT_TRUE(says(f, "threads 0-31 wait at faults_test.cpp:" + std::to_string(line_of_first) +
                          " (__syncthreads), threads 32-63 wait at faults_test.cpp:" + std::to_string(line_of_second)))
      << f.what();
}

__global__ void divergent_kind() {
  // One line, two barriers of different kinds.
  if (threadIdx.x % 2) { __syncthreads(); } else { __syncthreads_or(1); }
}

TEST_P(SimFaults, BarriersOfTwoKinds) {
  EXPECT_EQ(fault_of<divergent_kind>(1, 64, 0).kind, FaultKind::divergent_barrier);
}

template <class T, unsigned Limit>
__global__ void early_return(GlobalPtr<T> out) {
  if (blockIdx.x == 2 && threadIdx.x >= Limit) return;
  line_of_first = __LINE__ + 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = T{1};
}

TEST_P(SimFaults, BarrierThatOnlySomeReach) {
  const Buffer<float> out(3 * 96);
  const Fault f = fault_of<early_return<float, 40>>(3, 96, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_EQ(f.kernel, "early_return<float, 40u>");
  EXPECT_EQ(f.block, 2u);
  EXPECT_EQ(f.threads, from_to(0, 39));
  EXPECT_EQ(f.line, line_of_first);
  EXPECT_TRUE(says(f, "threads 0-39 wait at faults_test.cpp:" + std::to_string(line_of_first) +
                          " (__syncthreads), threads 40-95 have returned"))
      << f.what();
}

__global__ void barrier_against_shuffle(GlobalPtr<unsigned> out) {
  if (threadIdx.x % 32 < 16) __syncthreads();
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
}

TEST_P(SimFaults, BarrierAndWarpOperationWaitForEachOther) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<barrier_against_shuffle>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_EQ(f.threads, from_to(0, 31));
  EXPECT_TRUE(says(f, "(__syncthreads), threads 16-31 wait at")) << f.what();
  EXPECT_TRUE(says(f, "(warp operation)")) << f.what();
}

__global__ void some_blocks_synchronise() {
  if (blockIdx.x != 1) grid_sync();
}

TEST_P(SimFaults, GridBarrierThatOneBlockSkips) {
  launch_cooperative<some_blocks_synchronise>({3, 64, 0, {}});
  try {
    sim::synchronize({});
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
    EXPECT_NE(f.block, 1u);
    EXPECT_EQ(f.threads, from_to(0, 63));
    EXPECT_TRUE(says(f, "(grid_sync)")) << f.what();
    EXPECT_TRUE(says(f, "1 more block waits")) << f.what();
  }
}

TEST_P(SimFaults, GridBarrierInAnOrdinaryLaunch) {
  const Fault f = fault_of<some_blocks_synchronise>(3, 64, 0);
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_TRUE(says(f, "use launch_cooperative")) << f.what();
}

// ---------------------------------------------------------------------------------------------------- warps

/// The documents' last warp: lanes exchange through memory as if they ran in lock-step.
template <bool Synchronised, class Pointer>
void last_warp(Pointer p) {
  const unsigned t = threadIdx.x;
  for (unsigned k = 16; k > 0; k /= 2) {
    const unsigned other = p[t + k];
    if (Synchronised) __syncwarp();
    p[t] += other;
    if (Synchronised) __syncwarp();
  }
}

template <bool Synchronised>
__global__ void last_warp_in_shared(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) last_warp<Synchronised>(s);
  if (threadIdx.x == 0) out[0] = s[0];
}

template <bool Synchronised>
__global__ void last_warp_in_global(GlobalPtr<unsigned> data) {
  if (threadIdx.x < 32) last_warp<Synchronised>(data);
}

TEST_P(SimFaults, MissingWarpBarrierInSharedMemory) {
  const auto in = counting(64);
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<last_warp_in_shared<false>>(1, 64, 64 * 4, GlobalPtr<const unsigned>(in.ptr()), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "last_warp_in_shared<false>");
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_LT(f.threads[0], 32u);
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads[0], 1u) << f.what();
  }
  run<last_warp_in_shared<true>>(1, 64, 64 * 4, GlobalPtr<const unsigned>(in.ptr()), out.ptr());
  EXPECT_EQ(on_host(out)[0], 31u * 32 / 2);
}

TEST_P(SimFaults, MissingWarpBarrierInGlobalMemory) {
  const auto data = counting(64);
  const Fault f = fault_of<last_warp_in_global<false>>(1, 64, 0, data.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "last_warp_in_global<false>");
  EXPECT_TRUE(says(f, "of a view in global memory")) << f.what();
  const auto again = counting(64);
  run<last_warp_in_global<true>>(1, 64, 0, again.ptr());
  EXPECT_EQ(on_host(again)[0], 31u * 32 / 2);
}

__global__ void not_in_own_mask(GlobalPtr<unsigned> out) { out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1u, 1); }

TEST_P(SimFaults, LaneNotInItsMask) {
  const Buffer<unsigned> out(64);
  const Fault f = fault_of<not_in_own_mask>(1, 64, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_GE(f.threads[0] % 32, 16u);
  EXPECT_TRUE(says(f, "is not in the mask 0x0000ffff it passes")) << f.what();
}

__global__ void masks_disagree(GlobalPtr<unsigned> out) {
  out[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? 0xffffffffu : 0xffff0001u, threadIdx.x, 20);
}

TEST_P(SimFaults, MasksDisagree) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<masks_disagree>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  EXPECT_EQ(f.kernel, "masks_disagree");
  EXPECT_TRUE(says(f, "a shuffle with mask 0xffff0001")) << f.what();
  EXPECT_TRUE(says(f, "a shuffle with mask 0xffffffff")) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads, Threads{16});
  }
}

__global__ void half_joins_nobody(GlobalPtr<unsigned> out) {
  const unsigned mask = threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u;
  out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 20);
}

TEST_P(SimFaults, MaskNamesLanesThatNeverCome) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<half_joins_nobody>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_EQ(f.threads, from_to(0, 15));
  EXPECT_TRUE(says(f, "threads 16-31 have returned")) << f.what();
}

__global__ void operations_disagree() {
  if (threadIdx.x % 2)
    __syncwarp();
  else
    __reduce_add_sync(0xffffffffu, 1u);
}

TEST_P(SimFaults, WarpOperationsDisagree) {
  const Fault f = fault_of<operations_disagree>(1, 32, 0);
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  EXPECT_TRUE(says(f, "__syncwarp with mask 0xffffffff")) << f.what();
  EXPECT_TRUE(says(f, "__reduce_add_sync with mask 0xffffffff")) << f.what();
}

__global__ void shuffle_after_return(GlobalPtr<unsigned> out) {
  if (threadIdx.x >= 50) return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, threadIdx.x, 1);
}

TEST_P(SimFaults, WarpOperationNamesLanesThatReturned) {
  const Buffer<unsigned> out(64);
  const Fault f = fault_of<shuffle_after_return>(1, 64, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_EQ(f.threads, from_to(32, 49));
  EXPECT_TRUE(says(f, "50-63 have returned")) << f.what();
}

// ---------------------------------------------------------------------------------------------------- races

__global__ void two_writers(GlobalPtr<unsigned> out) {
  if (threadIdx.x == 3 || threadIdx.x == 70) out[1] = 5;
}

TEST_P(SimFaults, TwoWritersOfOneWord) {
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

TEST_P(SimFaults, AtomicsRaceWithAPlainStore) {
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

TEST_P(SimFaults, PlainReadBesideAtomics) {
  const auto sum = zeros<unsigned>(1);
  const Buffer<unsigned> out(1);
  EXPECT_EQ(fault_of<read_while_others_add>(1, 64, 0, sum.ptr(), out.ptr()).kind, FaultKind::race);
}

__global__ void all_read_one_writes(GlobalPtr<unsigned> p, GlobalPtr<unsigned> out) {
  out[threadIdx.x] = p[0];
  if (threadIdx.x == 64) p[0] = 1;
}

TEST_P(SimFaults, WriteWhereSeveralWarpsRead) {
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

TEST_P(SimFaults, WarpBarrierOrdersOnlyTheLanesItNames) {
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

TEST_P(SimFaults, OrderPassesThroughAThirdLane) {
  const Buffer<unsigned> out(1);
  run<ordered_through_a_third>(1, 32, 4, out.ptr());
  EXPECT_EQ(on_host(out)[0], 42u);
}

// ---------------------------------------------------------------------------------------------------- memory

__global__ void reads_unwritten_shared(GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  if (threadIdx.x != 17) s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 5) out[blockIdx.x] = s[17];
}

TEST_P(SimFaults, ReadOfUnwrittenSharedMemory) {
  const Buffer<unsigned> out(2);
  const Fault f = fault_of<reads_unwritten_shared>(2, 32, 32 * 4, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unwritten) << f.what();
  EXPECT_EQ(f.kernel, "reads_unwritten_shared");
  EXPECT_EQ(f.threads, Threads{5});
  EXPECT_TRUE(says(f, "reads byte 68 (element 17) of shared memory, which nobody in this block has written")) << f.what();
}

__global__ void leaves_shared_written() { shared_memory<unsigned>()[threadIdx.x] = 1; }

TEST_P(SimFaults, SharedMemoryOfAnEarlierBlockCountsAsUnwritten) {
  const Buffer<unsigned> out(2);
  run<leaves_shared_written>(200, 32, 32 * 4);
  EXPECT_EQ(fault_of<reads_unwritten_shared>(2, 32, 32 * 4, out.ptr()).kind, FaultKind::unwritten);
}

__global__ void copy_one(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> out, std::size_t from, std::size_t to) {
  if (blockIdx.x == 1 && threadIdx.x == 9) {
    const unsigned value = in[from];
    out[to] = value;
  }
}

TEST_P(SimFaults, ReadOfUnwrittenWorkspace) {
  const Buffer<unsigned> fresh(8), out(8);
  const Fault f = fault_of<copy_one>(2, 32, 0, GlobalPtr<const unsigned>(fresh.ptr()), out.ptr(), std::size_t{3}, std::size_t{0});
  EXPECT_EQ(f.kind, FaultKind::unwritten) << f.what();
  EXPECT_EQ(f.block, 1u);
  EXPECT_EQ(f.threads, Threads{9});
  EXPECT_TRUE(says(f, "reads element 3 of a view in global memory, which nobody has written")) << f.what();
}

__global__ void adds_to_unwritten(GlobalPtr<unsigned> out) { atomicAdd(out, 1u); }

TEST_P(SimFaults, AtomicOnUnwrittenWorkspace) {
  const Buffer<unsigned> fresh(1);
  EXPECT_EQ(fault_of<adds_to_unwritten>(1, 1, 0, fresh.ptr()).kind, FaultKind::unwritten);
}

TEST_P(SimFaults, OutOfBoundsInGlobalMemory) {
  const auto in = counting(8);
  const Buffer<unsigned> out(8);
  const GlobalPtr<const unsigned> p = in.ptr();
  const auto attempt = [&](std::size_t from, std::size_t to) { return fault_of<copy_one>(2, 32, 0, p, out.ptr(), from, to); };

  Fault f = attempt(8, 0);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.kernel, "copy_one");
  EXPECT_EQ(f.block, 1u);
  EXPECT_EQ(f.threads, Threads{9});
  EXPECT_TRUE(says(f, "block 1, thread 9: reads element 8 of a view of 8 elements of 4 bytes in global memory")) << f.what();

  f = attempt(0, 8);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "writes element 8 of a view of 8 elements")) << f.what();

  f = attempt(static_cast<std::size_t>(-1), 0);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "reads element -1 of")) << f.what();

  EXPECT_EQ(attempt(std::size_t{1} << 40, 0).kind, FaultKind::out_of_bounds);
}

TEST_P(SimFaults, BoundsAreThoseOfTheView) {
  const auto in = counting(8);  // of which the kernel is given five
  const Buffer<unsigned> out(8);
  void* const memory = reinterpret_cast<void*>(in.ptr().address());
  const auto view = global<const unsigned>(memory, 5);
  run<copy_one>(2, 32, 0, view, out.ptr(), std::size_t{4}, std::size_t{0});
  const Fault f = fault_of<copy_one>(2, 32, 0, view, out.ptr(), std::size_t{5}, std::size_t{0});
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "element 5 of a view of 5 elements")) << f.what();
}

__global__ void touch_shared(GlobalPtr<unsigned> out, std::size_t read, std::size_t write) {
  SharedPtr<unsigned> s = shared_memory<unsigned>();
  s[0] = 1;
  s[write] = 1;
  out[0] = s[read];
}

TEST_P(SimFaults, OutOfBoundsInSharedMemory) {
  const Buffer<unsigned> out(1);
  const auto attempt = [&](std::size_t bytes, std::size_t read, std::size_t write) {
    return fault_of<touch_shared>(1, 1, bytes, out.ptr(), read, write);
  };
  Fault f = attempt(64, 16, 1);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.threads, Threads{0});
  EXPECT_TRUE(says(f, "reads 4 bytes at byte 64 of the block's shared memory, which the launch made 64 bytes")) << f.what();
  f = attempt(64, 0, 16);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "writes 4 bytes at byte 64")) << f.what();
  f = attempt(64, static_cast<std::size_t>(-2), 1);
  EXPECT_TRUE(says(f, "reads 4 bytes at byte -8")) << f.what();
  EXPECT_EQ(attempt(6, 0, 1).kind, FaultKind::out_of_bounds) << "the last word is not whole";
  EXPECT_EQ(attempt(0, 0, 0).kind, FaultKind::out_of_bounds) << "a launch without shared memory";
}

__global__ void write_one(GlobalPtr<unsigned> out) { out[threadIdx.x] = 1; }

TEST_P(SimFaults, UseOfAFreedBuffer) {
  {
    const Buffer<unsigned> out(32);
    launch<write_one>({1, 32, 0, {}}, out.ptr());
  }
  const Buffer<unsigned> other(32);  // may well get the same memory
  try {
    sim::synchronize({});
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::use_after_free) << f.what();
    EXPECT_EQ(f.kernel, "write_one");
    EXPECT_EQ(f.block, 0u);
    EXPECT_EQ(f.threads.size(), 1u);
  }
}

// ---------------------------------------------------------------------------------------------------- waits

__global__ void wait_for_flag(GlobalPtr<unsigned> flag, GlobalPtr<unsigned> out, unsigned producer_sets) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (producer_sets) store_release(flag, 1u);
  } else {
    line_of_first = __LINE__ + 1;
    while (load_acquire(flag) == 0) {
    }
    out[blockIdx.x] = 1;
  }
}

TEST_P(SimFaults, LostWakeUpBetweenBlocks) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> out(4);
  const Fault f = fault_of<wait_for_flag>(4, 64, 0, flag.ptr(), out.ptr(), 0u);
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_EQ(f.kernel, "wait_for_flag");
  EXPECT_NE(f.block, 0u);
  EXPECT_EQ(f.threads, Threads{0});
  EXPECT_EQ(f.line, line_of_first);
  EXPECT_TRUE(says(f, "thread 0 polls at faults_test.cpp:" + std::to_string(line_of_first))) << f.what();
  EXPECT_TRUE(says(f, "2 more blocks wait")) << f.what();
  run<wait_for_flag>(4, 64, 0, flag.ptr(), out.ptr(), 1u);
}

__global__ void producer_with_a_branch(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> values, GlobalPtr<unsigned> flags,
                                       GlobalPtr<unsigned> out) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x == 0) {
    const unsigned value = in[b];
    if (value % 2 == 1) {
      values[b] = value;
      __threadfence();
      store_release(flags + b, 1u);
    } else if (value != 6) {  // forgets the flag of this one value
      store_release(flags + b, 2u);
    }
    if (b > 0) {
      while (load_acquire(flags + (b - 1)) == 0) {
      }
    }
    out[b] = 1;
  }
}

TEST_P(SimFaults, ProducerForgetsTheFlagInOneBranch) {
  const auto attempt = [&](unsigned third) {
    const auto in = on_device<unsigned>({1, 2, third, 5, 7});
    const auto flags = zeros<unsigned>(5);
    const Buffer<unsigned> values(5), out(5);
    launch<producer_with_a_branch>({5, 32, 0, {}}, GlobalPtr<const unsigned>(in.ptr()), values.ptr(), flags.ptr(), out.ptr());
    sim::synchronize({});
  };
  EXPECT_NO_THROW(attempt(4));
  try {
    attempt(6);
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
    EXPECT_EQ(f.block, 3u) << f.what();
    EXPECT_EQ(f.threads, Threads{0});
  }
}

__global__ void waits_for_its_successor(GlobalPtr<unsigned> flags) {
  if (blockIdx.x + 1 < gridDim.x) {
    while (load_acquire(flags + (blockIdx.x + 1)) == 0) {
    }
  }
  store_release(flags + blockIdx.x, 1u);
}

TEST(SimFaultsForward, WaitForABlockThatDoesNotFit) {
  sim::set_schedule(Order::forward);
  const auto fits = zeros<unsigned>(128);
  EXPECT_NO_THROW(run<waits_for_its_successor>(128, 1, 0, fits.ptr()));
  const auto flags = zeros<unsigned>(200);
  const Fault f = fault_of<waits_for_its_successor>(200, 1, 0, flags.ptr());
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_TRUE(says(f, "72 blocks have not started, since only 128 fit at once")) << f.what();
}

__global__ void polls_by_adding_nothing(GlobalPtr<unsigned> flag) {
  while (atomicAdd(flag, 0u) == 0) {
  }
}

TEST_P(SimFaults, PollingByAtomics) {
  const auto flag = zeros<unsigned>(1);
  EXPECT_EQ(fault_of<polls_by_adding_nothing>(2, 32, 0, flag.ptr()).kind, FaultKind::endless_wait);
}

__global__ void polls_by_plain_reads(GlobalPtr<unsigned> flag) {
  while (flag[0] == 0) {
  }
}

TEST(SimFaultsForward, PollingByPlainReads) {
  const auto flag = zeros<unsigned>(1);
  const Fault f = fault_of<polls_by_plain_reads>(1, 1, 0, flag.ptr());
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_TRUE(says(f, "load_acquire")) << f.what();
}

// ---------------------------------------------------------------------------------------------------- launches

__global__ void nothing() {}

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

TEST(SimLaunch, CooperativeLaunchesMustFit) {
  // 4 SMs of 2048 threads, 32 blocks, 228 KiB of shared memory (and 1 KiB more a block).
  EXPECT_TRUE(says(refusal_of_launch(9, 1024, 0, true), "8 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(129, 32, 0, true), "128 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(17, 32, 48 * 1024, true), "16 of them fit"));
  EXPECT_TRUE(says(refusal_of_launch(125, 65, 0, true), "84 of them fit")) << "warps are whole";
  launch_cooperative<nothing>({8, 1024, 0, {}});
  EXPECT_NO_THROW(sim::synchronize({}));
}

// ---------------------------------------------------------------------------------------------------- after a fault

TEST_P(SimFaults, TheDeviceGoesOnAfterAFault) {
  for (int round = 0; round < 3; ++round) {
    const Buffer<float> out(3 * 96);
    EXPECT_EQ((fault_of<early_return<float, 40>>(3, 96, 0, out.ptr()).kind), FaultKind::unfinished_barrier);
    EXPECT_NO_THROW((run<early_return<float, 96>>(3, 96, 0, out.ptr())));
    EXPECT_EQ(on_host(out)[95], 1.0f);
  }
}

struct Counted {
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  ~Counted() { --*alive_; }
  int* alive_;
};

__global__ void holds_an_object(int* alive, GlobalPtr<unsigned> out) {
  const Counted c(alive);
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST_P(SimFaults, StacksAreUnwound) {
  const Buffer<unsigned> out(31);
  int alive = 0;
  const Fault f = fault_of<holds_an_object>(2, 32, 0, &alive, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.threads, Threads{31});
  EXPECT_EQ(alive, 0);
}

__global__ void throws_by_itself() {
  __syncthreads();
  if (threadIdx.x == 3) throw std::runtime_error("by itself");
  __syncthreads();
}

TEST_P(SimFaults, WhatAKernelThrowsArrives) {
  launch<throws_by_itself>({2, 64, 0, {}});
  try {
    sim::synchronize({});
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "by itself");
  }
  EXPECT_NO_THROW(run<nothing>(1, 32, 0));
}

#ifndef REDUCTIO_SANITIZED
unsigned too_deep(unsigned depth) {
  volatile unsigned frame[64];
  for (unsigned& x : const_cast<unsigned(&)[64]>(frame)) x = depth;
  return depth ? too_deep(depth - 1) + frame[depth % 64] : frame[0];
}
__global__ void overflows(GlobalPtr<unsigned> out) {
  if (threadIdx.x == 4) out[0] = too_deep(100000);
}

TEST(SimDeathTest, StackOverflowSaysWho) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Buffer<unsigned> out(1);
  EXPECT_DEATH(run<overflows>(1, 32, 0, out.ptr()), "kernel overflows, block 0, thread 4: its stack of 32 KiB overflowed");
}
#endif

}  // namespace
}  // namespace reductio::sim_tests
