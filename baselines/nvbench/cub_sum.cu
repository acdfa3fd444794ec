/// cub::DeviceReduce::Sum timed by nvbench as its makers ship it, which shares no code with reductio: an independent
/// check of its timer. Same call, types and sizes as `cub/sum` in the experiment `comparison`; nvbench holds the stream
/// back and overwrites L2 before each call, which is what reductio calls `device` and `cold_dirty`. Built by ./build
/// beside this file. Three benchmarks:
///
///   cub_sum             as anybody would write it
///   cub_sum_each_turn   the same, with one more kernel in each sample, an empty one before it, where that makes them
///                       odd in number. A call of two launches takes one of several times, by how many kernels came
///                       before it in its stream, modulo eight (docs/measuring.md). nvbench adds four to a sample: the
///                       memset of L2, the one that holds the stream back, two that read the clock. So a sample has
///                       six, which meet four of the eight turns, or seven, which meet all
///   empty_kernel        what nvbench makes of a call that does nothing

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <nvbench/nvbench.cuh>
#include <random>
#include <thread>

__global__ void nothing() {}

/// How many kernels a call launches; loads them, too.
template <class Function>
std::size_t kernels_of(Function&& call, cudaStream_t stream) {
  call(stream);
  cudaGraph_t graph;
  NVBENCH_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  call(stream);
  NVBENCH_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  NVBENCH_CUDA_CALL(cudaGraphGetNodes(graph, nullptr, &nodes));
  NVBENCH_CUDA_CALL(cudaGraphDestroy(graph));
  return nodes;
}

enum class Turns { as_they_come, each };

template <class T>
void time_cub_sum(nvbench::state& state, Turns turns) {
  const auto n = static_cast<std::size_t>(state.get_int64("n"));
  // Where a few bytes lie shifts the times of a call of two launches, and each process would have them in one place.
  std::random_device random;
  const auto somewhere = [&](void* memory) { return static_cast<char*>(memory) + 512 * (random() % 128); };
  constexpr std::size_t room = 128 * 512;
  T* in = nullptr;
  void* memory_of_out = nullptr;
  NVBENCH_CUDA_CALL(cudaMalloc(&in, n * sizeof(T)));
  NVBENCH_CUDA_CALL(cudaMalloc(&memory_of_out, room + sizeof(T)));
  T* const out = reinterpret_cast<T*>(somewhere(memory_of_out));
  // Not in the default stream: on an H200 kernels start later in a process that has run some there, too.
  NVBENCH_CUDA_CALL(cudaMemsetAsync(in, 0x11, n * sizeof(T), state.get_cuda_stream()));
  std::size_t bytes = 0;
  void* memory = nullptr;
  // Counts below 2^31 are 32-bit in reductio's default setting.
  const int count = static_cast<int>(n);
  NVBENCH_CUDA_CALL(cub::DeviceReduce::Sum(nullptr, bytes, in, out, count));
  NVBENCH_CUDA_CALL(cudaMalloc(&memory, room + bytes));
  void* const workspace = somewhere(memory);
  state.add_element_count(n);
  state.add_global_memory_reads<T>(n);
  const auto call = [&](cudaStream_t stream) { cub::DeviceReduce::Sum(workspace, bytes, in, out, count, stream); };
  // One call at a time; nvbench's batches have no counterpart here.
  if (turns == Turns::as_they_come) {
    state.exec(nvbench::exec_tag::no_batch, [&](nvbench::launch& launch) { call(launch.get_stream()); });
  } else {
    const bool one_more = kernels_of(call, state.get_cuda_stream()) % 2 == 0;
    state.exec(nvbench::exec_tag::timer, [&](nvbench::launch& launch, auto& timer) {
      if (one_more) nothing<<<1, 1, 0, launch.get_stream()>>>();
      timer.start();
      call(launch.get_stream());
      timer.stop();
    });
  }
  NVBENCH_CUDA_CALL(cudaFree(memory));
  NVBENCH_CUDA_CALL(cudaFree(memory_of_out));
  NVBENCH_CUDA_CALL(cudaFree(in));
  // The driver overwrites what was freed in the background, and would slow down the next state. It was seen to take
  // about 2.2 ms a GiB on an H200; here it has four times as long.
  std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(n * sizeof(T)) / 100e9));
}

template <class T>
void cub_sum(nvbench::state& state, nvbench::type_list<T>) {
  time_cub_sum<T>(state, Turns::as_they_come);
}

template <class T>
void cub_sum_each_turn(nvbench::state& state, nvbench::type_list<T>) {
  time_cub_sum<T>(state, Turns::each);
}

void empty_kernel(nvbench::state& state) {
  state.exec(nvbench::exec_tag::no_batch, [](nvbench::launch& launch) { nothing<<<1, 1, 0, launch.get_stream()>>>(); });
}

using types = nvbench::type_list<std::uint32_t, float, double>;
NVBENCH_BENCH_TYPES(cub_sum, NVBENCH_TYPE_AXES(types))
    .set_type_axes_names({"type"})
    .add_int64_power_of_two_axis("n", nvbench::range(10, 30, 1));
// Below 2^22 elements, where turns show.
NVBENCH_BENCH_TYPES(cub_sum_each_turn, NVBENCH_TYPE_AXES(types))
    .set_type_axes_names({"type"})
    .add_int64_power_of_two_axis("n", nvbench::range(10, 21, 1));
NVBENCH_BENCH(empty_kernel);
NVBENCH_MAIN
