// After a fault: the device goes on, and what its threads held is released.

#include <stdexcept>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimFaults : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimFaults, testing::ValuesIn(all_orders), order_name);

template <class T, unsigned Limit>
__global__ void waits_elsewhere(T* out) {
  if (blockIdx.x == 2 && threadIdx.x >= Limit)
    __syncthreads_or(0);
  else
    __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = T{1};
}

TEST_P(SimFaults, TheDeviceGoesOnAfterAFault) {
  for (int round = 0; round < 3; ++round) {
    const Buffer<float> out(3 * 96);
    EXPECT_EQ((fault_of<waits_elsewhere<float, 40>>(3, 96, 0, out.ptr()).kind), FaultKind::divergent_barrier);
    EXPECT_NO_THROW((run<waits_elsewhere<float, 96>>(3, 96, 0, out.ptr())));
    EXPECT_EQ(on_host(out)[95], 1.0f);
  }
}

/// Not a kernel's own work, so it is not checked.
struct Counted {
  __attribute__((no_sanitize("thread"), noinline)) Counted() { ++alive; }
  __attribute__((no_sanitize("thread"), noinline)) ~Counted() { --alive; }
  static inline int alive = 0;
};

__global__ void holds_an_object(unsigned* out) {
  const Counted c;
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = 1;
}
__global__ void holds_an_object_beside_atomics(unsigned* out) {
  const Counted c;
  __syncthreads();
  atomicExch(out + blockIdx.x * 32 + threadIdx.x, 1u);
}

TEST_P(SimFaults, StacksAreUnwound) {
  const auto out = zeros<unsigned>(63);
  Counted::alive = 0;
  Fault f = fault_of<holds_an_object_beside_atomics>(2, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.threads, Threads{31});
  EXPECT_EQ(Counted::alive, 0);
  // All but the stack of the thread that fails at a plain access, through which nothing is thrown.
  f = fault_of<holds_an_object>(2, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.threads, Threads{31});
  EXPECT_EQ(Counted::alive, 1);
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

// Below, as of other files.
__global__ void reads_behind(unsigned* out);
__global__ void reads_behind_in_a_build(unsigned* out);

TEST(SimFault, NamesAFileOfTheProjectFromItsFolderAndAnotherAsTheCompilerDoes) {
  const Buffer<unsigned> out(1);
  const Fault elsewhere = fault_of<reads_behind>(1, 1, 0, out.ptr());
  EXPECT_EQ(elsewhere.file, "/somewhere/else/mine.cu");
  EXPECT_TRUE(says(elsewhere, "thread 0, /somewhere/else/mine.cu:12:56: reads element 1")) << elsewhere.what();
  const Fault here = fault_of<holds_an_object>(2, 32, 0, out.ptr());
  EXPECT_EQ(here.file, "tests/device/sim/faults_test.cpp");
  EXPECT_TRUE(says(here, ", tests/device/sim/faults_test.cpp:")) << here.what();
  const Fault below = fault_of<reads_behind_in_a_build>(1, 1, 0, out.ptr());
  EXPECT_EQ(below.file, "src/kernels/mine.cu") << "seen from a build folder";
}

#ifndef REDUCTIO_SANITIZED
unsigned too_deep(unsigned depth) {
  volatile unsigned frame[64];
  for (unsigned& x : const_cast<unsigned(&)[64]>(frame)) x = depth;
  return depth ? too_deep(depth - 1) + frame[depth % 64] : frame[0];
}
__global__ void overflows(unsigned* out) {
  if (threadIdx.x == 4) out[0] = too_deep(100000);
}

TEST(SimDeathTest, StackOverflowSaysWho) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Buffer<unsigned> out(1);
  EXPECT_DEATH(run<overflows>(1, 32, 0, out.ptr()),
               "kernel overflows, block 0, thread 4, tests/device/sim/faults_test.cpp:[0-9:]+: its stack of 32 KiB");
}
#endif

// The compiler takes their files' names from here, so they are the last.
#line 12 "/somewhere/else/mine.cu"
__global__ void reads_behind(unsigned* out) { out[0] = out[1]; }
#line 12 "../../src/kernels/mine.cu"
__global__ void reads_behind_in_a_build(unsigned* out) { out[0] = out[1]; }

}  // namespace
}  // namespace reductio::sim_tests
