// What orders the accesses of different threads where no barrier does: the model of docs/memory_model.md, litmus by
// litmus.

#include "device/sim/order.h"

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

using sim::Scope;

class SimOrder : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimOrder, testing::ValuesIn(all_orders), order_name);

/// A fence, or none.
enum class Fence { none, block, gpu };
__device__ void pass(Fence f) {
  if (f == Fence::block) sim::fence(Scope::block, {__FILE__, __LINE__});
  if (f == Fence::gpu) __threadfence();
}

/// How a flag is handed over.
enum class By { counter, relaxed, block_scope, release_acquire };
template <class Pointer>
__device__ void set(Pointer flag, By by) {
  switch (by) {
    case By::counter: atomicAdd(flag, 1u); return;
    case By::relaxed: store_relaxed(flag, 1u); return;
    case By::block_scope: store_relaxed<Scope::block>(flag, 1u); return;
    case By::release_acquire: store_release(flag, 1u); return;
  }
}
template <class Pointer>
__device__ void wait_for(Pointer flag, By by, unsigned value = 1) {
  const auto load = [&] {
    switch (by) {
      case By::counter: return atomicAdd(flag, 0u);
      case By::relaxed: return load_relaxed(flag);
      case By::block_scope: return load_relaxed<Scope::block>(flag);
      case By::release_acquire: return load_acquire(flag);
    }
    return value;
  };
  while (load() < value) {
  }
}

struct Passing {
  Fence writer = Fence::gpu, reader = Fence::gpu;
  By by = By::counter;
};

/// Message passing from block 0 to block 1.
__global__ void pass_message(unsigned* data, unsigned* flag, unsigned* out, Passing p) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    pass(p.writer);
    set(flag, p.by);
  } else {
    wait_for(flag, p.by);
    pass(p.reader);
    out[0] = data[0];
  }
}

void expect_passed(Passing p) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  run<pass_message>(2, 1, 0, data.ptr(), flag.ptr(), out.ptr(), p);
  EXPECT_EQ(on_host(out)[0], 42u);
}
Fault fault_of_passing(Passing p) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  const Fault f = fault_of<pass_message>(2, 1, 0, data.ptr(), flag.ptr(), out.ptr(), p);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.block, 1u) << f.what();
  EXPECT_TRUE(says(f,
                   "reads element 0 of 1 elements in global memory, which block 0, thread 0 wrote in this "
                   "launch (tests/device/sim/order_test.cpp:"))
      << f.what();
  return f;
}

TEST_P(SimOrder, BothFencesPassAMessage) {
  expect_passed({.by = By::counter});
  expect_passed({.by = By::relaxed});
}

TEST_P(SimOrder, ReleaseAndAcquirePassAMessage) {
  expect_passed({.writer = Fence::none, .reader = Fence::none, .by = By::release_acquire});
}

TEST_P(SimOrder, AFenceOnOneSideIsNotEnough) {
  for (const By by : {By::counter, By::relaxed}) {
    Fault f = fault_of_passing({.writer = Fence::none, .reader = Fence::none, .by = by});
    EXPECT_TRUE(
        says(f, "thread 0 of block 0 has passed no __threadfence() between that and its atomic (tests/device/sim/"))
        << f.what();
    f = fault_of_passing({.writer = Fence::none, .by = by});
    EXPECT_TRUE(says(f, "block 0 has passed no __threadfence() between")) << f.what();
    f = fault_of_passing({.reader = Fence::none, .by = by});
    EXPECT_TRUE(says(f, "this block has passed no __threadfence() since it acquired that (tests/device/sim/"))
        << f.what();
  }
}

TEST_P(SimOrder, BlockScopeOrdersNothingBetweenBlocks) {
  EXPECT_TRUE(says(fault_of_passing({.writer = Fence::block}), "block 0 has published that with block scope only"));
  EXPECT_TRUE(says(fault_of_passing({.reader = Fence::block}), "this block has passed no __threadfence() since"));
  fault_of_passing({.writer = Fence::block, .reader = Fence::block});
  fault_of_passing({.writer = Fence::block, .reader = Fence::block, .by = By::relaxed});
}

TEST_P(SimOrder, AnAtomicWithBlockScopeIsNoneToAnotherBlock) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  const Passing p{.by = By::block_scope};
  const Fault f = fault_of<pass_message>(2, 1, 0, data.ptr(), flag.ptr(), out.ptr(), p);
  EXPECT_EQ(f.kind, FaultKind::race);
  EXPECT_TRUE(says(f, "block 0, thread 0 updated atomically in this launch")) << f.what();
  EXPECT_TRUE(says(f, "an atomic with block scope is not atomic to another block")) << f.what();
}

/// The fence is passed after the atomic, or before what it should publish.
__global__ void fence_too_late(unsigned* data, unsigned* flag, unsigned* out, unsigned late) {
  if (blockIdx.x == 0) {
    if (!late) __threadfence();
    data[0] = 42;
    set(flag, By::counter);
    if (late) __threadfence();
  } else {
    wait_for(flag, By::counter);
    __threadfence();
    out[0] = data[0];
  }
}

TEST_P(SimOrder, AFenceStandsBetweenWriteAndAtomic) {
  for (const unsigned late : {0u, 1u}) {
    const auto flag = zeros<unsigned>(1);
    const Buffer<unsigned> data(1), out(1);
    const Fault f = fault_of<fence_too_late>(2, 1, 0, data.ptr(), flag.ptr(), out.ptr(), late);
    EXPECT_EQ(f.kind, FaultKind::race);
    EXPECT_TRUE(says(f, "block 0 has passed no __threadfence() between")) << f.what();
  }
}

__global__ void reads_another_flag(unsigned* data, unsigned* flags, unsigned* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    atomicAdd(flags, 1u);
  } else {
    atomicAdd(flags + 3, 1u);  // reads what nobody wrote
    __threadfence();
    out[0] = data[0];
  }
}

TEST(SimOrderForward, AnAtomicOnAnotherLocationOrdersNothing) {  // forward: the reader does not wait
  sim::set_schedule(Order::forward);
  const auto flags = zeros<unsigned>(4);
  const Buffer<unsigned> data(1), out(1);
  const Fault f = fault_of<reads_another_flag>(2, 1, 0, data.ptr(), flags.ptr(), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race);
  EXPECT_TRUE(says(f, "no atomic or acquire of this block has read what block 0 then published (tests/device/sim/"))
      << f.what();
}

/// Block 0 to block 1 to block 2.
__global__ void pass_on(unsigned* data, unsigned* flags, unsigned* out, Fence middle) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    set(flags, By::counter);
  } else if (blockIdx.x == 1) {
    wait_for(flags, By::counter);
    pass(middle);
    set(flags + 1, By::counter);
  } else {
    wait_for(flags + 1, By::counter);
    __threadfence();
    out[0] = data[0];
  }
}

TEST_P(SimOrder, OrderPassesThroughAThirdBlock) {
  const auto flags = zeros<unsigned>(2);
  const Buffer<unsigned> data(1), out(1);
  run<pass_on>(3, 1, 0, data.ptr(), flags.ptr(), out.ptr(), Fence::gpu);
  EXPECT_EQ(on_host(out)[0], 42u);
  const auto again = zeros<unsigned>(2);
  EXPECT_EQ(fault_of<pass_on>(3, 1, 0, data.ptr(), again.ptr(), out.ptr(), Fence::none).kind, FaultKind::race);
}

/// Three blocks count themselves at one counter; the one in the middle without a fence. Who comes last reads the
/// first's.
__global__ void counted(unsigned* data, unsigned* counter, unsigned* out, unsigned overwrite) {
  const unsigned b = blockIdx.x;
  if (b == 0) {
    data[0] = 42;
    __threadfence();
    atomicAdd(counter, 1u);
  } else if (b == 1) {
    wait_for(counter, By::relaxed, 1);
    if (overwrite)
      store_relaxed(counter, 2u);
    else
      atomicAdd(counter, 1u);
  } else {
    wait_for(counter, By::relaxed, 2);
    __threadfence();
    out[0] = data[0];
  }
}

TEST_P(SimOrder, AtomicUpdatesHandOnWhatTheyFind) {
  const auto counter = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  run<counted>(3, 1, 0, data.ptr(), counter.ptr(), out.ptr(), 0u);
  EXPECT_EQ(on_host(out)[0], 42u);
  // A store that is not an update begins anew. A reader that came early enough may have read the first block's value.
  if (GetParam() == Order::forward) {
    const auto again = zeros<unsigned>(1);
    EXPECT_EQ(fault_of<counted>(3, 1, 0, data.ptr(), again.ptr(), out.ptr(), 1u).kind, FaultKind::race);
  }
}

struct Blocks {
  bool barrier_before = true;      ///< of the publishing block
  bool barrier_after = true;       ///< of the one that learns
  Fence all_before = Fence::none;  ///< of all threads, before the barrier, in place of thread 0's behind it
  Fence all_after = Fence::none;   ///< of all threads, behind the barrier, in place of thread 0's before it
  By set = By::counter, wait = By::counter;
};

/// All threads of block 0 write, its thread 0 publishes; thread 0 of block 1 learns of it, all its threads read.
__global__ void by_thread_0(unsigned* data, unsigned* flag, unsigned* out, Blocks how) {
  const unsigned t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t;
    pass(how.all_before);
    if (how.barrier_before) __syncthreads();
    if (t == 0) {
      if (how.all_before == Fence::none && how.set != By::release_acquire) __threadfence();
      set(flag, how.set);
    }
  } else {
    if (t == 0) {
      wait_for(flag, how.wait);
      if (how.all_after == Fence::none && how.wait != By::release_acquire) __threadfence();
    }
    if (how.barrier_after) __syncthreads();
    pass(how.all_after);
    out[t] = data[blockDim.x - 1 - t];
  }
}

TEST_P(SimOrder, ABarrierHandsAView) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(96), out(96);
  run<by_thread_0>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), Blocks{});
  EXPECT_EQ(on_host(out)[5], 90u);
}

TEST_P(SimOrder, ThreadZeroCannotPublishWhatOthersWroteWithoutABarrier) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(96), out(96);
  const Fault f = fault_of<by_thread_0>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), Blocks{.barrier_before = false});
  // Whoever runs last of the block may not even have written yet.
  EXPECT_TRUE(f.kind == FaultKind::race || f.kind == FaultKind::unwritten) << f.what();
  if (GetParam() == Order::reverse) {
    EXPECT_TRUE(says(f, "no barrier of block 0 orders that before the __threadfence() or release of its thread 0"))
        << f.what();
  }
}

TEST_P(SimOrder, FencesOfAllThreadsOrderByThreadZerosAtomic) {
  for (const By by : {By::counter, By::relaxed})
    for (const Blocks how : {Blocks{.all_before = Fence::gpu, .set = by, .wait = by},
                             Blocks{.all_after = Fence::gpu, .set = by, .wait = by},
                             Blocks{.all_before = Fence::gpu, .all_after = Fence::gpu, .set = by, .wait = by}}) {
      const auto flag = zeros<unsigned>(1);
      const Buffer<unsigned> data(96), out(96);
      run<by_thread_0>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), how);
      EXPECT_EQ(on_host(out)[5], 90u);
    }
}

Fault fault_by_thread_0(Blocks how) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(96), out(96);
  return fault_of<by_thread_0>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), how);
}

TEST_P(SimOrder, AFenceOfAnotherThreadNeedsABarrierBetweenItAndTheAtomic) {
  const Fault before = fault_by_thread_0({.barrier_before = false, .all_before = Fence::gpu, .all_after = Fence::gpu});
  EXPECT_TRUE(before.kind == FaultKind::race || before.kind == FaultKind::unwritten) << before.what();
  if (GetParam() == Order::reverse) {
    EXPECT_TRUE(says(before,
                     "no barrier of block 0 stands between the __threadfence() of its thread 1 and the atomic of "
                     "its thread 0 (tests/device/sim/order_test.cpp:"))
        << before.what();
  }
  const Fault after = fault_by_thread_0({.barrier_after = false, .all_before = Fence::gpu, .all_after = Fence::gpu});
  EXPECT_TRUE(after.kind == FaultKind::race || after.kind == FaultKind::unwritten) << after.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(after.threads, Threads{1}) << after.what();
  }
}

TEST_P(SimOrder, AFenceOfAnotherThreadAndOfBlockScopeOrdersNothingBetweenBlocks) {
  for (const Blocks how :
       {Blocks{.all_before = Fence::block}, Blocks{.all_before = Fence::block, .all_after = Fence::gpu},
        Blocks{.all_before = Fence::gpu, .all_after = Fence::block}}) {
    const Fault f = fault_by_thread_0(how);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  }
}

/// A release synchronizes with the acquire or the fence of the very thread that reads, an acquire with a release or
/// fence of who writes; only fences are ordered with each other besides.
TEST_P(SimOrder, AFenceOfAnotherThreadMeetsFencesOnly) {
  const Fault learnt = fault_by_thread_0({.all_before = Fence::gpu, .set = By::relaxed, .wait = By::release_acquire});
  EXPECT_EQ(learnt.kind, FaultKind::race) << learnt.what();
  EXPECT_TRUE(says(learnt, "this block has passed no __threadfence() since it acquired that (tests/device/sim/"))
      << learnt.what();
  const Fault released = fault_by_thread_0({.all_after = Fence::gpu, .set = By::release_acquire, .wait = By::relaxed});
  EXPECT_EQ(released.kind, FaultKind::race) << released.what();
  EXPECT_NE(released.threads, Threads{0}) << released.what();  // its own fence has learnt
}

/// Nobody but thread 40 passes fences, on either side.
__global__ void by_thread_40(unsigned* data, unsigned* flag, unsigned* out, unsigned early) {
  const unsigned t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t;
    if (!early) __syncthreads();
    if (t == 40) __threadfence();
    __syncthreads();
    if (t == 0) set(flag, By::counter);
  } else {
    if (t == 0) wait_for(flag, By::counter);
    __syncthreads();
    if (t == 40) __threadfence();
    __syncthreads();
    out[t] = data[blockDim.x - 1 - t];
  }
}

TEST_P(SimOrder, AFenceOfAnotherThreadCoversWhatHappensBeforeIt) {
  const auto flag = zeros<unsigned>(1), again = zeros<unsigned>(1);
  const Buffer<unsigned> data(96), out(96);
  run<by_thread_40>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), 0u);
  EXPECT_EQ(on_host(out)[5], 90u);
  const Fault f = fault_of<by_thread_40>(2, 96, 0, data.ptr(), again.ptr(), out.ptr(), 1u);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_FALSE(says(f, "thread 40 wrote")) << f.what();
}

/// Thread 1 fences, and thread 0 counts: before it in any order of things only behind a barrier.
__global__ void resets_what_was_counted(unsigned* counter, unsigned barrier) {
  const unsigned t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 1) __threadfence();
    if (barrier) __syncthreads();
    if (t == 0) set(counter, By::counter);
  } else if (t == 0) {
    wait_for(counter, By::counter);
    __threadfence();
    counter[0] = 0;
  }
}

TEST_P(SimOrder, AnAtomicIsItselfPublishedOnlyByAFenceBeforeIt) {
  const auto counter = zeros<unsigned>(1), again = zeros<unsigned>(1);
  run<resets_what_was_counted>(2, 32, 0, counter.ptr(), 1u);
  EXPECT_EQ(on_host(counter)[0], 0u);
  EXPECT_EQ(fault_of<resets_what_was_counted>(2, 32, 0, again.ptr(), 0u).kind, FaultKind::race);
}

/// Block 0 to block 1 to block 2, in each of which thread 0 makes the atomics and other threads fence.
__global__ void pass_on_by_all(unsigned* data, unsigned* flags, unsigned* out, Fence middle) {
  const unsigned t = threadIdx.x, b = blockIdx.x;
  if (b == 0) data[t] = t;
  if (b > 0 && t == 0) wait_for(flags + (b - 1), By::counter);
  __syncthreads();
  if (t > 0) pass(b == 1 ? middle : Fence::gpu);
  __syncthreads();
  if (b < 2 && t == 0) set(flags + b, By::counter);
  if (b == 2) out[t] = data[blockDim.x - 1 - t];
}

TEST_P(SimOrder, FencesOfOtherThreadsPassOrderThroughAThirdBlock) {
  const auto flags = zeros<unsigned>(2), again = zeros<unsigned>(2);
  const Buffer<unsigned> data(96), out(96);
  run<pass_on_by_all>(3, 96, 0, data.ptr(), flags.ptr(), out.ptr(), Fence::gpu);
  EXPECT_EQ(on_host(out)[5], 90u);
  EXPECT_EQ(fault_of<pass_on_by_all>(3, 96, 0, data.ptr(), again.ptr(), out.ptr(), Fence::none).kind, FaultKind::race);
}

/// Nobody reads what the fences publish: each atomic is another branch for a search that finds nothing.
__global__ void chatty(unsigned* counters, unsigned* data) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < 4; ++k) {
    data[i] = k;
    __threadfence();
    atomicAdd(counters + k, 1u);
  }
}

TEST_P(SimOrder, ManyFencesAndAtomicsEnd) {
  const auto counters = zeros<unsigned>(4);
  const Buffer<unsigned> data(12 * 256);
  run<chatty>(12, 256, 0, counters.ptr(), data.ptr());
  EXPECT_EQ(on_host(counters), std::vector<unsigned>(4, 12 * 256));
}

TEST_P(SimOrder, WhoLearnsTellsNobodyWithoutABarrier) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(96), out(96);
  const Fault f = fault_of<by_thread_0>(2, 96, 0, data.ptr(), flag.ptr(), out.ptr(), Blocks{.barrier_after = false});
  EXPECT_TRUE(f.kind == FaultKind::race || f.kind == FaultKind::unwritten) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads, Threads{1}) << f.what();
    EXPECT_TRUE(
        says(f, "no barrier stands between thread 0 of this block, which has acquired that (tests/device/sim/"))
        << f.what();
  }
}

/// A warp writes; its lane 0 publishes.
__global__ void by_lane_0(unsigned* data, unsigned* flag, unsigned* out, unsigned synced) {
  const unsigned t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t;
    if (synced)
      __syncwarp();
    else
      (void)__shfl_sync(0xffffffffu, t, 0);
    if (t == 0) {
      __threadfence();
      atomicAdd(flag, 1u);
    }
  } else {
    if (t == 0) {
      wait_for(flag, By::counter);
      __threadfence();
    }
    __syncwarp();
    out[t] = data[31 - t];
  }
}

TEST_P(SimOrder, AWarpBarrierHandsAViewAndAShuffleDoesNot) {
  const auto flag = zeros<unsigned>(1), again = zeros<unsigned>(1);
  const Buffer<unsigned> data(32), out(32);
  run<by_lane_0>(2, 32, 0, data.ptr(), flag.ptr(), out.ptr(), 1u);
  EXPECT_EQ(on_host(out)[5], 26u);
  EXPECT_EQ(fault_of<by_lane_0>(2, 32, 0, data.ptr(), again.ptr(), out.ptr(), 0u).kind, FaultKind::race);
}

__global__ void exchange_after_shuffle(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* const s = reinterpret_cast<unsigned*>(raw);
  s[threadIdx.x] = threadIdx.x;
  const unsigned zero = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1) ^ threadIdx.x ^ 1;
  out[threadIdx.x] = s[threadIdx.x ^ 1] + zero;
}

TEST_P(SimOrder, AShuffleOrdersNothingInMemory) {
  const Buffer<unsigned> out(32);
  EXPECT_EQ(fault_of<exchange_after_shuffle>(1, 32, 32 * 4, out.ptr()).kind, FaultKind::race);
}

__global__ void pass_by_volatile(volatile unsigned* data, volatile unsigned* flag, unsigned* out) {
  if (blockIdx.x == 0) {
    data[0] = 42;
    __threadfence();
    flag[0] = 1;
  } else {
    const unsigned seen = flag[0];
    __threadfence();
    if (seen) out[0] = data[0];
  }
}

TEST_P(SimOrder, VolatileIsPlain) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> data(1), out(1);
  volatile unsigned *const d = data.ptr(), *const f = flag.ptr();
  EXPECT_EQ(fault_of<pass_by_volatile>(2, 1, 0, d, f, out.ptr()).kind, FaultKind::race);
}

// ---------------------------------------------------------------------------------------------------- one block

/// From warp 0 to warp 1 of a block.
template <class Pointer>
__device__ void pass_in_block(Pointer data, Pointer flag, unsigned* out, Passing p) {
  if (threadIdx.x == 0) {
    data[0] = 42;
    pass(p.writer);
    set(flag, p.by);
  } else if (threadIdx.x == 32) {
    wait_for(flag, p.by);
    pass(p.reader);
    out[0] = data[0];
  }
}
__global__ void flag_in_global(unsigned* data, unsigned* flag, unsigned* out, Passing p) {
  pass_in_block(data, flag, out, p);
}
__global__ void flag_in_shared(unsigned* out, Passing p) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* const s = reinterpret_cast<unsigned*>(raw);
  if (threadIdx.x == 0) s[1] = 0;
  __syncthreads();
  pass_in_block(s, s + 1, out, p);
}

TEST_P(SimOrder, FlagsCountInsideABlock) {
  for (const Passing p :
       {Passing{}, Passing{Fence::block, Fence::block, By::counter}, Passing{Fence::block, Fence::gpu, By::block_scope},
        Passing{Fence::none, Fence::none, By::release_acquire}}) {
    const auto flag = zeros<unsigned>(1);
    const Buffer<unsigned> data(1), out(1);
    run<flag_in_global>(1, 64, 0, data.ptr(), flag.ptr(), out.ptr(), p);
    EXPECT_EQ(on_host(out)[0], 42u);
    run<flag_in_shared>(1, 64, 8, out.ptr(), p);
    EXPECT_EQ(on_host(out)[0], 42u);
  }
  for (const Passing p :
       {Passing{Fence::none, Fence::none, By::counter}, Passing{Fence::block, Fence::none, By::counter},
        Passing{Fence::none, Fence::block, By::counter}, Passing{Fence::none, Fence::block, By::block_scope}}) {
    const auto flag = zeros<unsigned>(1);
    const Buffer<unsigned> data(1), out(1);
    Fault f = fault_of<flag_in_global>(1, 64, 0, data.ptr(), flag.ptr(), out.ptr(), p);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
    EXPECT_TRUE(says(f, "which thread 0 wrote (tests/device/sim/order_test.cpp:")) << f.what();
    f = fault_of<flag_in_shared>(1, 64, 8, out.ptr(), p);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
    EXPECT_TRUE(says(
        f,
        "byte 0 of the block's shared memory, which thread 0 wrote (tests/device/sim/"
        "order_test.cpp:"))
        << f.what();
  }
}

/// All threads of a block add, read a word, and count themselves; who is last overwrites what all have read.
__global__ void last_thread(unsigned* words, unsigned* out, Fence fence) {
  const unsigned seen = words[0];
  atomicAdd(words + 1, 1u + seen);
  pass(fence);
  if (atomicAdd(words + 2, 1u) != gridDim.x * blockDim.x - 1) return;
  pass(fence);
  out[0] = words[1];
  words[0] = 1;
  words[2] = 0;
}

TEST_P(SimOrder, TheLastThreadKnowsWhatAllDid) {
  for (const unsigned grid : {1u, 7u}) {
    const auto words = zeros<unsigned>(3);
    const Buffer<unsigned> out(1);
    run<last_thread>(grid, 96, 0, words.ptr(), out.ptr(), Fence::gpu);
    EXPECT_EQ(on_host(out)[0], 96 * grid);
    const auto again = zeros<unsigned>(3);
    EXPECT_EQ(fault_of<last_thread>(grid, 96, 0, again.ptr(), out.ptr(), Fence::none).kind, FaultKind::race);
  }
}

// ---------------------------------------------------------------------------------------------------- barriers above

__global__ void across_the_grid(unsigned* data, unsigned* out, unsigned synced) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  if (blockIdx.x == 1) __syncwarp();  // so that the blocks differ in what they have passed
  data[i] = i;
  if (synced) grid_sync();
  const unsigned other = data[n - 1 - i];
  if (synced) grid_sync();
  data[i] = other;
  if (blockIdx.x == 0) __threadfence();
  out[i] = other;
}

TEST_P(SimOrder, TheGridsBarrierOrdersEverything) {
  const Buffer<unsigned> data(4 * 64), out(4 * 64);
  launch_cooperative<across_the_grid>({4, 64, 0, {}}, data.ptr(), out.ptr(), 1u);
  EXPECT_EQ(on_host(out)[3], 252u);
  const auto written = counting(4 * 64);
  EXPECT_EQ(fault_of<across_the_grid>(4, 64, 0, written.ptr(), out.ptr(), 0u).kind, FaultKind::race);
}

TEST_P(SimOrder, TheEndOfALaunchOrdersEverything) {
  const auto data = counting(64);
  for (int i = 0; i < 3; ++i) launch<add_one>({1, 64, 0, {}}, data.ptr());
  EXPECT_EQ(on_host(data)[9], 12u);
}

// ---------------------------------------------------------------------------------------------------- kinds of races

enum class Do { nothing, read, read_const, write, update };
__global__ void two_blocks(unsigned* p, unsigned* out, Do first, Do second) {
  const unsigned* const constant = p;
  switch (blockIdx.x == 0 ? first : second) {
    case Do::nothing: return;
    case Do::read: out[blockIdx.x] = p[2]; return;
    case Do::read_const: out[blockIdx.x] = constant[2]; return;
    case Do::write: p[2] = 1; return;
    case Do::update: atomicAdd(p + 2, 1u); return;
  }
}

TEST_P(SimOrder, ConflictsBetweenBlocks) {
  const Do all[] = {Do::nothing, Do::read, Do::read_const, Do::write, Do::update};
  for (const Do first : all)
    for (const Do second : all) {
      const auto p = zeros<unsigned>(3);
      const Buffer<unsigned> out(2);
      const auto reads = [](Do d) { return d == Do::read || d == Do::read_const; };
      const bool harmless = first == Do::nothing || second == Do::nothing || (reads(first) && reads(second)) ||
                            (first == Do::update && second == Do::update);
      if (harmless) {
        EXPECT_NO_THROW(run<two_blocks>(2, 1, 0, p.ptr(), out.ptr(), first, second));
        continue;
      }
      const Fault f = fault_of<two_blocks>(2, 1, 0, p.ptr(), out.ptr(), first, second);
      EXPECT_EQ(f.kind, FaultKind::race) << f.what();
      EXPECT_TRUE(says(f, "element 2 of 3 elements in global memory, which block ")) << f.what();
      EXPECT_TRUE(says(f, "thread 0 wrote") || says(f, "thread 0 read") || says(f, "thread 0 updated atomically"))
          << f.what();
      EXPECT_GT(f.line, 0);
    }
}

__global__ void two_threads(unsigned* p, unsigned* out) {
  const unsigned* const constant = p;
  if (threadIdx.x == 0)
    p[0] = 1;
  else
    out[threadIdx.x] = constant[0];
}

TEST_P(SimOrder, AReadThroughAPointerToConstIsHeldAgainstALaterWrite) {
  const auto p = zeros<unsigned>(1);
  const Buffer<unsigned> out(64);
  const Fault f = fault_of<two_threads>(1, 64, 0, p.ptr(), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race);
  if (GetParam() == Order::reverse) {
    EXPECT_TRUE(says(f, "writes element 0 of 1 elements in global memory, which threads of several warps read"))
        << f.what();
  }
}

__global__ void reads_one_writes_other(const unsigned* from, unsigned* to, unsigned* out) {
  if (threadIdx.x == 0)
    to[0] = 1;
  else
    out[threadIdx.x] = from[0];
}

/// Reads are kept only of memory that somebody may write.
TEST_P(SimOrder, AReadThroughAPointerToConstThatWasThereFirstIsHeldAgainstALaterWrite) {
  const auto memory = allocate_workspace(sizeof(unsigned));
  sim::enqueue_fill({}, memory.get(), 0, sizeof(unsigned));
  const auto from = static_cast<const unsigned*>(memory.get());
  const Buffer<unsigned> out(64);
  run<reads_one_writes_other>(1, 64, 0, from, out.ptr(), out.ptr());  // nobody may write yet
  const auto to = static_cast<unsigned*>(memory.get());
  EXPECT_EQ(fault_of<reads_one_writes_other>(1, 64, 0, from, to, out.ptr()).kind, FaultKind::race);
}

__global__ void adds_plainly(unsigned* sum, Fence fence) {
  pass(fence);
  sum[0] += 1;
  pass(fence);
}

TEST_P(SimOrder, AddingPlainlyFromEveryBlock) {
  for (const Fence fence : {Fence::none, Fence::gpu}) {
    const auto sum = zeros<unsigned>(1);
    const Fault f = fault_of<adds_plainly>(4, 1, 0, sum.ptr(), fence);
    EXPECT_EQ(f.kind, FaultKind::race);
    EXPECT_TRUE(says(f, "published nothing since: no __threadfence() and then an atomic, and no store_release()"))
        << f.what();
  }
}

/// The sum is complete when the counter says so only if each block fences between the two.
__global__ void sum_and_count(unsigned* sum, unsigned* counter, unsigned* out, Fence fence) {
  atomicAdd(sum, 1u);
  pass(fence);
  if (atomicAdd(counter, 1u) == gridDim.x - 1) {
    __threadfence();
    out[0] = sum[0];
  }
}

TEST_P(SimOrder, AtomicsOfAllBlocksAreRememberedNotOnlyTheLast) {
  const auto words = zeros<unsigned>(2), again = zeros<unsigned>(2);
  const Buffer<unsigned> out(1);
  run<sum_and_count>(5, 1, 0, words.ptr(), words.ptr() + 1, out.ptr(), Fence::gpu);
  EXPECT_EQ(on_host(out)[0], 5u);
  const Fault f = fault_of<sum_and_count>(5, 1, 0, again.ptr(), again.ptr() + 1, out.ptr(), Fence::none);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_TRUE(says(f, "updated atomically in this launch")) << f.what();
}

// ---------------------------------------------------------------------------------------------------- locks

enum class Lock { exchange, compare, bit, max };
__device__ bool takes(unsigned* lock, Lock by) {
  switch (by) {
    case Lock::exchange: return atomicExch(lock, 1u) == 0;
    case Lock::compare: return atomicCAS(lock, 0u, 1u) == 0;
    case Lock::bit: return (atomicOr(lock, 1u) & 1u) == 0;
    case Lock::max: return atomicMax(lock, 1u) == 0;
  }
  return true;
}
__global__ void adds_under_a_lock(unsigned* lock, unsigned* sum, Lock by, unsigned fenced) {
  if (threadIdx.x % 32 != 0) return;
  while (!takes(lock, by)) {
  }
  if (fenced) __threadfence();
  sum[0] += 1;
  if (fenced) __threadfence();
  atomicExch(lock, 0u);
}
__global__ void claims_words(unsigned* claimed, unsigned* winners, Lock by) {
  if (takes(claimed + threadIdx.x, by)) atomicAdd(winners + threadIdx.x, 1u);
}

// An update reads the newest value, even one that happens to change nothing.
TEST_P(SimOrder, ALockHasOneOwner) {
  for (const Lock by : {Lock::exchange, Lock::compare, Lock::bit, Lock::max})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      sim::set_schedule(GetParam(), seed);
      const auto words = zeros<unsigned>(2), claimed = zeros<unsigned>(32), winners = zeros<unsigned>(32);
      run<adds_under_a_lock>(9, 64, 0, words.ptr(), words.ptr() + 1, by, 1u);
      EXPECT_EQ(on_host(words)[1], 18u);
      run<claims_words>(7, 32, 0, claimed.ptr(), winners.ptr(), by);
      EXPECT_EQ(on_host(winners), std::vector<unsigned>(32, 1u));
    }
}

TEST_P(SimOrder, ALockWithoutFencesOrdersNothing) {
  for (const Lock by : {Lock::exchange, Lock::compare}) {
    const auto words = zeros<unsigned>(2);
    const Fault f = fault_of<adds_under_a_lock>(3, 32, 0, words.ptr(), words.ptr() + 1, by, 0u);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
    EXPECT_TRUE(says(f, "has passed no __threadfence() between that and its atomic")) << f.what();
  }
}

/// Block 0 gives the lock back without a fence; block 1 has it then, and reads what block 0 wrote when that has had it
/// once more, with a fence.
__global__ void gives_back_too_early(unsigned* lock, unsigned* turn, unsigned* data, unsigned* out) {
  const auto take = [&] {
    while (atomicExch(lock, 1u) != 0) {
    }
    __threadfence();
  };
  const auto wait_for_turn = [&](unsigned n) {
    while (load_relaxed(turn) != n) {
    }
  };
  if (blockIdx.x == 1) wait_for_turn(1);
  take();
  if (blockIdx.x == 0) data[0] = 1;
  atomicExch(lock, 0u);
  store_relaxed(turn, blockIdx.x + 1);
  if (blockIdx.x == 0) {
    wait_for_turn(2);
    take();
    __threadfence();
    atomicExch(lock, 0u);
    store_relaxed(turn, 3u);
  } else {
    wait_for_turn(3);
    out[0] = data[0];
  }
}
TEST_P(SimOrder, WhatIsMissingAtALockIsTheFenceBeforeItIsGivenBack) {
  const auto words = zeros<unsigned>(4);
  const Fault f =
      fault_of<gives_back_too_early>(2, 1, 0, words.ptr(), words.ptr() + 1, words.ptr() + 2, words.ptr() + 3);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_TRUE(says(f, "thread 0 of block 0 has passed no __threadfence() between that and its atomic")) << f.what();
}

__global__ void exchanges(unsigned* p, unsigned* old, unsigned dropped) {
  const unsigned was = atomicExch(p, 7u);
  if (!dropped) old[0] = was;
}

TEST_P(SimOrder, AnExchangeMayMeetWhatNobodyHasWritten) {
  const Buffer<unsigned> p(1), old(1), other(1);
  run<exchanges>(1, 1, 0, p.ptr(), old.ptr(), 1u);
  EXPECT_EQ(on_host(p)[0], 7u);
  run<exchanges>(1, 1, 0, other.ptr(), old.ptr(), 0u);
  EXPECT_EQ(on_host(old)[0], ~0u);
  EXPECT_NE(sim::unset_exchanges().find("in kernel exchanges the exchange at tests/device/sim/order_test.cpp:"),
            std::string::npos);
  EXPECT_NE(sim::unset_exchanges().find(" meets a word that nobody has written, first in block 0, thread 0"),
            std::string::npos);
}

// ---------------------------------------------------------------------------------------------------- store buffering

enum class Between { nothing, release_acquire, fences };
/// Each block stores its flag and looks for the other's: both may miss the other, unless fences stand between.
__global__ void store_and_look(unsigned* flags, unsigned* seen, Between between) {
  unsigned *const mine = flags + blockIdx.x, *const theirs = flags + (1 - blockIdx.x);
  if (between == Between::release_acquire) {
    store_release(mine, 1u);
    seen[blockIdx.x] = load_acquire(theirs);
  } else {
    store_relaxed(mine, 1u);
    if (between == Between::fences) __threadfence();
    seen[blockIdx.x] = load_relaxed(theirs);
  }
}

TEST(SimOrderRandom, StoresMayStayInABufferUnlessFencesStandBehindThem) {
  const auto both_miss = [](Between between) {
    bool missed = false;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      sim::set_schedule(Order::random, seed);
      const auto flags = zeros<unsigned>(2);
      const Buffer<unsigned> seen(2);
      run<store_and_look>(2, 1, 0, flags.ptr(), seen.ptr(), between);
      missed |= on_host(seen) == std::vector<unsigned>{0, 0};
    }
    sim::set_schedule(Order::forward);
    return missed;
  };
  EXPECT_TRUE(both_miss(Between::nothing));
  EXPECT_TRUE(both_miss(Between::release_acquire));
  EXPECT_FALSE(both_miss(Between::fences));
}

// ---------------------------------------------------------------------------------------------------- sizes

/// A value and its flag, stored and loaded as one word of 8 bytes or by halves.
__global__ void by_halves(unsigned long long* word, unsigned* out, unsigned halves) {
  if (blockIdx.x == 0) {
    unsigned* const half = reinterpret_cast<unsigned*>(word);
    if (halves) {
      store_relaxed(half, 42u);
      store_relaxed(half + 1, 1u);
    } else {
      store_relaxed(word, 1ull << 32 | 42);
    }
  } else {
    unsigned long long both;
    while ((both = load_relaxed(word)) >> 32 == 0) {
    }
    out[0] = static_cast<unsigned>(both);
  }
}

TEST_P(SimOrder, AtomicsOfTwoSizesAreNoneToEachOther) {
  const auto word = zeros<unsigned long long>(1), again = zeros<unsigned long long>(1);
  const Buffer<unsigned> out(1);
  run<by_halves>(2, 1, 0, word.ptr(), out.ptr(), 0u);
  EXPECT_EQ(on_host(out)[0], 42u);
  const Fault f = fault_of<by_halves>(2, 1, 0, again.ptr(), out.ptr(), 1u);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_TRUE(says(f, "atomics of two sizes are not atomic to each other: use one size")) << f.what();
}

// ---------------------------------------------------------------------------------------------------- messages

constexpr int first_line = __LINE__ + 2;  // of the body
__global__ void last_block_adds(unsigned* partials, unsigned* arrived, unsigned* out) {
  partials[blockIdx.x] = 1;
  if (atomicAdd(arrived, 1u) != gridDim.x - 1) return;
  __threadfence();
  for (unsigned b = 0; b < gridDim.x; ++b) out[0] += partials[b];
}

TEST(SimOrderForward, AMessageInFull) {
  sim::set_schedule(Order::forward);
  const auto arrived = zeros<unsigned>(1), out = zeros<unsigned>(1);
  const Buffer<unsigned> partials(4);
  const Fault f = fault_of<last_block_adds>(4, 1, 0, partials.ptr(), arrived.ptr(), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race);
  const auto place = [](int line, int column) {
    return "tests/device/sim/order_test.cpp:" + std::to_string(first_line + line) + ":" + std::to_string(column);
  };
  EXPECT_EQ(std::string(f.what()),
            "simulated device: race in kernel last_block_adds, block 3, thread 0, " + place(3, 54) +
                ": reads element 0 of 4 elements in global memory, which block 0, thread 0 wrote in this launch (" +
                place(0, 24) +
                "), and thread 0 of block 0 has passed no __threadfence() between that and its atomic (" + place(1, 7) +
                ")");
}

}  // namespace
}  // namespace reductio::sim_tests
