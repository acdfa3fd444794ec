/// cub::DeviceReduce::Sum timed by nvbench, which shares no code with reductio: an independent check of its timer. Same
/// call, types and sizes as `cub/sum` in the experiment `comparison`; the stream is held back and L2 overwritten before
/// each call, which is what reductio calls `device` and `cold_dirty`. nvbench overwrites as many bytes as L2 has, which
/// leaves some of what was there; reductio overwrites twice as many, and so does this at l2_overwritten=2. Built by
/// ./build beside this file.

#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <nvbench/nvbench.cuh>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

template <class T>
void cub_sum(nvbench::state& state, nvbench::type_list<T>) {
  const auto n = static_cast<std::int64_t>(state.get_int64("n"));
  int l2_bytes = 0;
  NVBENCH_CUDA_CALL(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
  const auto more =
      static_cast<std::size_t>(l2_bytes) * static_cast<std::size_t>(state.get_int64("l2_overwritten") - 1);
  void* overwritten = nullptr;
  NVBENCH_CUDA_CALL(cudaMalloc(&overwritten, more + 1));
  // Where memory lies may shift times: blocks of any size that are held put the same allocations elsewhere.
  std::mt19937_64 random(std::random_device{}());
  std::vector<void*> held(40);
  for (void*& p : held) NVBENCH_CUDA_CALL(cudaMalloc(&p, std::size_t{256} << random() % 13));
  T *in = nullptr, *out = nullptr;
  NVBENCH_CUDA_CALL(cudaMalloc(&in, static_cast<std::size_t>(n) * sizeof(T)));
  NVBENCH_CUDA_CALL(cudaMalloc(&out, sizeof(T)));
  NVBENCH_CUDA_CALL(cudaMemset(in, 0x11, static_cast<std::size_t>(n) * sizeof(T)));
  std::size_t bytes = 0;
  void* workspace = nullptr;
  // Counts below 2^31 are 32-bit in reductio's default setting.
  const int count = static_cast<int>(n);
  NVBENCH_CUDA_CALL(cub::DeviceReduce::Sum(nullptr, bytes, in, out, count));
  NVBENCH_CUDA_CALL(cudaMalloc(&workspace, bytes));
  state.add_element_count(static_cast<std::size_t>(n));
  state.add_global_memory_reads<T>(static_cast<std::size_t>(n));
  // One call at a time; nvbench's batches have no counterpart here. Its own overwriting is in start().
  state.exec(nvbench::exec_tag::timer | nvbench::exec_tag::no_batch, [&](nvbench::launch& launch, auto& timer) {
    if (more) NVBENCH_CUDA_CALL(cudaMemsetAsync(overwritten, 0x5A, more, launch.get_stream()));
    timer.start();
    cub::DeviceReduce::Sum(workspace, bytes, in, out, count, launch.get_stream());
    timer.stop();
  });
  NVBENCH_CUDA_CALL(cudaFree(overwritten));
  NVBENCH_CUDA_CALL(cudaFree(workspace));
  NVBENCH_CUDA_CALL(cudaFree(out));
  NVBENCH_CUDA_CALL(cudaFree(in));
  for (void* p : held) NVBENCH_CUDA_CALL(cudaFree(p));
  // The driver overwrites what was freed in the background, and would slow down the next state. It was seen to take
  // about 2.2 ms a GiB on an H200; here it has four times as long.
  const double freed = static_cast<double>(n) * sizeof(T) + static_cast<double>(more) + 64e6;
  std::this_thread::sleep_for(std::chrono::duration<double>(freed / 100e9));
}

using types = nvbench::type_list<std::uint32_t, float, double>;
NVBENCH_BENCH_TYPES(cub_sum, NVBENCH_TYPE_AXES(types))
    .set_type_axes_names({"type"})
    .add_int64_axis("l2_overwritten", {1, 2})
    .add_int64_axis("allocation", nvbench::range(0, 7, 1))
    .add_int64_power_of_two_axis("n", nvbench::range(10, 30, 1));
NVBENCH_MAIN
