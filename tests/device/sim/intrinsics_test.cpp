// Atomics and clocks.

#include <limits>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimIntrinsics : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimIntrinsics, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void add_ones(T* sum, T* shared_sum) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  if (threadIdx.x == 0) s[0] = T{0};
  __syncthreads();
  atomicAdd(sum, T{1});
  atomicAdd(s, T{1});
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&shared_sum[0], s[0]);
}

template <class T>
void atomics_add_up() {
  const auto sum = zeros<T>(1), shared_sum = zeros<T>(1);
  run<add_ones<T>>(10, 96, sizeof(T), sum.ptr(), shared_sum.ptr());
  EXPECT_EQ(on_host(sum)[0], T(960));
  EXPECT_EQ(on_host(shared_sum)[0], T(960));
}

TEST_P(SimIntrinsics, AtomicAdd) {
  atomics_add_up<unsigned>();
  atomics_add_up<int>();
  atomics_add_up<unsigned long long>();
  atomics_add_up<float>();
  atomics_add_up<double>();
}

__global__ void overflow(int* sum, unsigned* counter, unsigned* out) {
  atomicAdd(sum, std::numeric_limits<int>::max());
  out[0] = atomicInc(counter, 1u);
  out[1] = atomicInc(counter, 1u);
  out[2] = atomicInc(counter, 1u);
}

TEST_P(SimIntrinsics, AtomicsWrap) {
  const auto sum = on_device<int>({std::numeric_limits<int>::max()});
  const auto counter = zeros<unsigned>(1);
  const Buffer<unsigned> out(3);
  run<overflow>(1, 1, 0, sum.ptr(), counter.ptr(), out.ptr());
  EXPECT_EQ(on_host(sum)[0], -2);
  EXPECT_EQ(on_host(out), (std::vector<unsigned>{0, 1, 0}));
}

__global__ void clocks(long long* out) {
  const long long a = clock64();
  const std::uint64_t g = globaltimer();
  __syncthreads();
  const std::uint64_t h = globaltimer();
  out[threadIdx.x] = clock64() - a;
  if (threadIdx.x == 0) out[blockDim.x] = static_cast<long long>(h - g);
}

TEST_P(SimIntrinsics, ClocksGoForward) {
  const Buffer<long long> out(65);
  run<clocks>(1, 64, 0, out.ptr());
  for (const long long d : on_host(out)) EXPECT_GT(d, 0);
}

}  // namespace
}  // namespace reductio::sim_tests
