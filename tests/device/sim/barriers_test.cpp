// Barriers of a block and of the grid: what they order, and what is said where not all threads reach one.

#include <numeric>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimBarriers : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimBarriers, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void tree(const T* in, T* out, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : T{0};
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

template <class T>
T tree_sum(const std::vector<T>& values, unsigned block) {
  const auto in = on_device(values);
  const std::size_t n = values.size(), grid = ceil_div(n, block);
  const Buffer<T> out(grid);
  run<tree<T>>(grid, block, block * sizeof(T), static_cast<const T*>(in.ptr()), out.ptr(), n);
  const auto partials = on_host(out);
  return std::accumulate(partials.begin(), partials.end(), T{0});
}

TEST_P(SimBarriers, Tree) {
  for (const unsigned block : {1u, 2u, 32u, 64u, 512u, 1024u})
    for (const std::size_t n : {1u, 2u, 100u, 5000u}) {
      std::vector<unsigned> u(n);
      std::iota(u.begin(), u.end(), 0xfffffff0u);  // wraps
      EXPECT_EQ(tree_sum(u, block), std::accumulate(u.begin(), u.end(), 0u)) << block << ' ' << n;
      std::vector<double> d(n);
      std::iota(d.begin(), d.end(), 1.0);
      EXPECT_EQ(tree_sum(d, block), std::accumulate(d.begin(), d.end(), 0.0)) << block << ' ' << n;
    }
}

__global__ void votes(int* out, unsigned who) {
  const int first = __syncthreads_or(threadIdx.x == who);
  const int second = __syncthreads_or(0);
  if (threadIdx.x == 77) {
    out[0] = first;
    out[1] = second;
  }
}

TEST_P(SimBarriers, BarrierWithPredicate) {
  const Buffer<int> out(2);
  run<votes>(1, 96, 0, out.ptr(), 13u);
  EXPECT_NE(on_host(out)[0], 0);
  EXPECT_EQ(on_host(out)[1], 0);
  run<votes>(1, 96, 0, out.ptr(), 1000u);
  EXPECT_EQ(on_host(out)[0], 0);
}

__global__ void rotates(unsigned* values, unsigned rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (unsigned r = 0; r < rounds; ++r) {
    const unsigned next = values[(i + 1) % n];
    grid_sync();
    values[i] = next;
    grid_sync();
  }
}

TEST_P(SimBarriers, GridBarrier) {
  const auto values = counting(16 * 96);
  launch_cooperative<rotates>({16, 96, 0, {}}, values.ptr(), 5u);
  const auto v = on_host(values);
  for (unsigned i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], (i + 5) % v.size());
}

// ---------------------------------------------------------------------------------------------------- faults

__global__ void divergent() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
constexpr int line_of_first = __LINE__ - 5, line_of_second = __LINE__ - 3;

TEST_P(SimBarriers, DivergentBarrier) {
  const Fault f = fault_of<divergent>(1, 64, 0);
  EXPECT_EQ(f.kind, FaultKind::divergent_barrier) << f.what();
  EXPECT_EQ(f.kernel, "divergent");
  EXPECT_EQ(f.block, 0u);
  EXPECT_EQ(f.threads, from_to(0, 63));
  EXPECT_EQ(f.file, "tests/device/sim/barriers_test.cpp");
  EXPECT_TRUE(f.line == line_of_first || f.line == line_of_second);
  EXPECT_TRUE(says(f, "threads 0-31 wait at tests/device/sim/barriers_test.cpp:" + std::to_string(line_of_first) +
                          ":5 (__syncthreads), threads 32-63 wait at tests/device/sim/barriers_test.cpp:" +
                          std::to_string(line_of_second) + ":5"))
      << f.what();
}

__global__ void divergent_kind() {
  // One line, two barriers of different kinds.
  if (threadIdx.x % 2) {
    __syncthreads();
  } else {
    __syncthreads_or(1);
  }
}

TEST_P(SimBarriers, BarriersOfTwoKinds) {
  EXPECT_EQ(fault_of<divergent_kind>(1, 64, 0).kind, FaultKind::divergent_barrier);
}

/// Thread `limit` and those above return; at once, or when the others wait already.
__global__ void early_return(unsigned* out, unsigned limit, bool late) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  const unsigned t = threadIdx.x;
  if (late) __syncthreads();
  if (t >= limit) return;
  s[t] = t;
  __syncthreads();
  const unsigned other = s[limit - 1 - t];
  const int all = __syncthreads_and(1), not_all = __syncthreads_and(t != 0), any = __syncthreads_or(t == 0);
  const int n = __syncthreads_count(1);
  out[blockIdx.x * blockDim.x + t] = other + 1000 * (all && !not_all && any && n == static_cast<int>(limit));
}

// CUDA, from compute capability 7.0 on: a barrier is passed once all threads of the block that have not returned are
// there.
TEST_P(SimBarriers, CountThreadsThatHaveNotReturned) {
  for (const unsigned limit : {1u, 31u, 40u, 64u, 95u})
    for (const bool late : {false, true}) {
      const auto out = zeros<unsigned>(3 * 96);
      run<early_return>(3, 96, 96 * 4, out.ptr(), limit, late);
      const auto values = on_host(out);
      for (unsigned i = 0; i < 3 * 96; ++i)
        EXPECT_EQ(values[i], i % 96 < limit ? 1000 + limit - 1 - i % 96 : 0) << limit << ' ' << late << ' ' << i;
    }
}

__global__ void skipped() {
  if (threadIdx.x < 40) __syncthreads();
}
__global__ void divergent_after_a_return() {
  if (threadIdx.x >= 64) return;
  if (threadIdx.x < 32)
    __syncthreads();
  else
    __syncthreads_or(0);
}

TEST_P(SimBarriers, ThreadsThatReturnWithoutTheBarrierDoNotHoldItUp) {
  run<skipped>(2, 96, 0);
  const Fault f = fault_of<divergent_after_a_return>(2, 96, 0);
  EXPECT_EQ(f.kind, FaultKind::divergent_barrier) << f.what();
  EXPECT_EQ(f.threads, from_to(0, 63));
  EXPECT_TRUE(says(f, "threads 64-95 have returned")) << f.what();
}

__global__ void barrier_against_shuffle(unsigned* out) {
  if (threadIdx.x % 32 < 16) __syncthreads();
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, threadIdx.x, 1);
}

TEST_P(SimBarriers, BarrierAndWarpOperationWaitForEachOther) {
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

TEST_P(SimBarriers, GridBarrierThatOneBlockSkips) {
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

TEST_P(SimBarriers, GridBarrierInAnOrdinaryLaunch) {
  const Fault f = fault_of<some_blocks_synchronise>(3, 64, 0);
  EXPECT_EQ(f.kind, FaultKind::unfinished_barrier) << f.what();
  EXPECT_TRUE(says(f, "use launch_cooperative")) << f.what();
}

}  // namespace
}  // namespace reductio::sim_tests
