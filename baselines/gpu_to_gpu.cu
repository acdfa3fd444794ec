/// Shows that CUB's gpu_to_gpu sums are wrong; it holds nothing of this project. docs/releases.md explains the cause.
///
///   pip download --no-deps nvidia-cuda-cccl && unzip nvidia_cuda_cccl-*.whl -d cccl
///   nvcc -std=c++17 -arch=native -I cccl/nvidia/cu13/include/cccl gpu_to_gpu.cu -o gpu_to_gpu
///   ./gpu_to_gpu
///
/// It prints each sum beside what it should be, and ends with exit code 1 if one is wrong. It takes 4 GiB of GPU
/// memory.

#include <cuda/execution.determinism.h>
#include <cuda/execution.require.h>
#include <thrust/device_vector.h>
#include <thrust/tabulate.h>
#include <thrust/transform_reduce.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_reduce.cuh>

/// Multiples of 2^-24 in [0, 1), or in [-1, 1).
struct Random {
  bool negative;
  __device__ float operator()(std::uint32_t i) const {
    i = (i ^ (i >> 16)) * 0x7feb352dU;
    i = (i ^ (i >> 15)) * 0x846ca68bU;
    const float x = static_cast<float>((i ^ (i >> 16)) >> 8) * 0x1p-24F;
    return negative ? 2 * x - 1 : x;
  }
};
struct Wide {
  __device__ double operator()(float x) const { return x; }
};

int main() {
  const std::int64_t n = std::int64_t{1} << 30;
  thrust::device_vector<float> in(n), out(1);
  const auto same_everywhere = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
  int wrong = 0;
  const auto check = [&](const char* what, std::int64_t size) {
    if (cub::DeviceReduce::Sum(in.begin(), out.begin(), size, same_everywhere) != cudaSuccess) return void(++wrong);
    const double should = thrust::transform_reduce(in.begin(), in.begin() + size, Wide{}, 0.0, thrust::plus<double>());
    const bool right = std::abs(out[0] - should) <= 1e-6 * static_cast<double>(size) * (should != 0);
    std::printf("%lld floats, %s: %g, should be %.9g%s\n", static_cast<long long>(size), what, double(out[0]), should,
                right ? "" : "  WRONG");
    wrong += !right;
  };
  for (const bool negative : {false, true}) {
    thrust::tabulate(in.begin(), in.end(), Random{negative});
    for (const std::int64_t size : {n / 8, n}) check(negative ? "from [-1, 1)" : "from [0, 1)", size);
  }
  thrust::fill(in.begin(), in.end(), 0.0F);
  check("all 0", 1 << 20);
  return wrong > 0;
}
