// Accesses outside what a kernel was given, reads of what nobody wrote, and memory that was released.

#include "tests/device/sim/support.h"
#include "tests/error_of.h"

namespace reductio::sim_tests {
namespace {

class SimMemory : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimMemory, testing::ValuesIn(all_orders), order_name);

__global__ void reads_unwritten_shared(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  if (threadIdx.x != 17) s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 5) out[blockIdx.x] = s[17];
}

TEST_P(SimMemory, ReadOfUnwrittenSharedMemory) {
  const Buffer<unsigned> out(2);
  const Fault f = fault_of<reads_unwritten_shared>(2, 32, 32 * 4, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::unwritten) << f.what();
  EXPECT_EQ(f.kernel, "reads_unwritten_shared");
  EXPECT_EQ(f.threads, Threads{5});
  EXPECT_TRUE(says(f,
                   "reads byte 68 of the block's shared memory, which nobody in this "
                   "block has written"))
      << f.what();
}

__global__ void leaves_shared_written() {
  extern __shared__ unsigned s[];
  s[threadIdx.x] = 1;
}

TEST_P(SimMemory, SharedMemoryOfAnEarlierBlockCountsAsUnwritten) {
  const Buffer<unsigned> out(2);
  run<leaves_shared_written>(200, 32, 32 * 4);
  EXPECT_EQ(fault_of<reads_unwritten_shared>(2, 32, 32 * 4, out.ptr()).kind, FaultKind::unwritten);
}

__global__ void copy_one(const unsigned* in, unsigned* out, std::size_t from, std::size_t to) {
  if (blockIdx.x == 1 && threadIdx.x == 9) {
    const unsigned value = in[from];
    out[to] = value;
  }
}

__global__ void adds_to_unwritten(unsigned* out) { atomicAdd(out, 1u); }

TEST_P(SimMemory, ReadOfUnwrittenWorkspace) {
  const Buffer<unsigned> fresh(8), out(8);
  const Fault f = fault_of<copy_one>(2, 32, 0, static_cast<const unsigned*>(fresh.ptr()), out.ptr(), std::size_t{3},
                                     std::size_t{0});
  EXPECT_EQ(f.kind, FaultKind::unwritten) << f.what();
  EXPECT_EQ(f.block, 1u);
  EXPECT_EQ(f.threads, Threads{9});
  EXPECT_TRUE(says(f, "reads element 3 of 8 elements in global memory, which nobody has written")) << f.what();
  EXPECT_TRUE(says(f, "use a zeroed_buffer for what calls leave to the next (device/device.h)")) << f.what();
  EXPECT_FALSE(says(f, "default stream")) << f.what();
}

TEST_P(SimMemory, WhatWasToBeZeroedInTheDefaultStreamIsToldOf) {
  const Buffer<unsigned> fresh(1);
  zero(fresh.ptr(), 1, Stream{});  // as who prepares a plan might; no call waits for that stream
  const Stream call = sim::create_stream();
  launch<adds_to_unwritten>({1, 1, 0, call}, fresh.ptr());
  const std::string why = error_of([&] { sim::synchronize(call); });
  EXPECT_NE(why.find("work in the default stream, Stream{}, is not done before a call"), std::string::npos)
      << why;
  sim::synchronize({});
  sim::destroy_stream(call);
}

TEST_P(SimMemory, AtomicOnUnwrittenWorkspace) {
  const Buffer<unsigned> fresh(1);
  EXPECT_EQ(fault_of<adds_to_unwritten>(1, 1, 0, fresh.ptr()).kind, FaultKind::unwritten);
}

TEST_P(SimMemory, OutOfBoundsInGlobalMemory) {
  const auto in = counting(8);
  const Buffer<unsigned> out(8);
  const unsigned* const p = in.ptr();
  const auto attempt = [&](std::size_t from, std::size_t to) {
    return fault_of<copy_one>(2, 32, 0, p, out.ptr(), from, to);
  };

  Fault f = attempt(8, 0);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.kernel, "copy_one");
  EXPECT_EQ(f.block, 1u);
  EXPECT_EQ(f.threads, Threads{9});
  EXPECT_TRUE(says(f, ": reads element 8 of 8 elements of 4 bytes in global memory")) << f.what();

  f = attempt(0, 8);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "writes element 8 of 8 elements")) << f.what();

  f = attempt(static_cast<std::size_t>(-1), 0);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "reads 4 bytes 4 bytes before the start of an allocation of 32 bytes in global memory"))
      << f.what();

  EXPECT_EQ(attempt(std::size_t{1} << 40, 0).kind, FaultKind::out_of_bounds);
}

TEST_P(SimMemory, BoundsAreThoseThatTheHarnessSets) {
  const auto in = counting(8);  // of which the kernel is given five
  const Buffer<unsigned> out(8);
  const unsigned* const p = in.ptr();
  sim::set_reach(p, 5 * sizeof *p);
  run<copy_one>(2, 32, 0, p, out.ptr(), std::size_t{4}, std::size_t{0});
  const Fault f = fault_of<copy_one>(2, 32, 0, p, out.ptr(), std::size_t{5}, std::size_t{0});
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "reads element 5 of 5 elements of 4 bytes in global memory")) << f.what();
  sim::set_reach(p + 2, 5 * sizeof *p);
  const Fault before = fault_of<copy_one>(2, 32, 0, p, out.ptr(), std::size_t{1}, std::size_t{0});
  EXPECT_EQ(before.kind, FaultKind::out_of_bounds) << before.what();
  EXPECT_TRUE(says(before, "reads element -1 of 5 elements")) << before.what();
  sim::set_reach(p + 2, 0);
  const Fault none = fault_of<copy_one>(2, 32, 0, p, out.ptr(), std::size_t{2}, std::size_t{0});
  EXPECT_TRUE(says(none, "reads element 0 of 0 elements")) << none.what();
}

__global__ void touch_shared(unsigned* out, std::size_t read, std::size_t write) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  s[0] = 1;
  s[write] = 1;
  out[0] = s[read];
}

TEST_P(SimMemory, OutOfBoundsInSharedMemory) {
  const Buffer<unsigned> out(1);
  const auto attempt = [&](std::size_t bytes, std::size_t read, std::size_t write) {
    return fault_of<touch_shared>(1, 1, bytes, out.ptr(), read, write);
  };
  Fault f = attempt(64, 16, 1);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.threads, Threads{0});
  EXPECT_TRUE(says(f, "reads 4 bytes at byte 64 of the block's shared memory, which the launch made 64 bytes"))
      << f.what();
  f = attempt(64, 0, 16);
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_TRUE(says(f, "writes 4 bytes at byte 64")) << f.what();
  f = attempt(64, static_cast<std::size_t>(-2), 1);
  EXPECT_TRUE(says(f, "reads 4 bytes at byte -8")) << f.what();
  EXPECT_EQ(attempt(6, 0, 1).kind, FaultKind::out_of_bounds) << "the last word is not whole";
  EXPECT_EQ(attempt(0, 0, 0).kind, FaultKind::out_of_bounds) << "a launch without shared memory";
}

__global__ void write_one(unsigned* out) { out[threadIdx.x] = 1; }

TEST_P(SimMemory, UseOfAFreedBuffer) {
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

}  // namespace
}  // namespace reductio::sim_tests
