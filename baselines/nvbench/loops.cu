/// Sums timed by plain loops, to check reductio's graph and end-to-end times. They share no timing code with it, only
/// the choice of a quiet core. Processes differ, so run it several times and take the median. Prints CSV, in seconds:
///
///   graph       cub::DeviceReduce::Sum, the time per call of a graph of 100 calls (10 from 2^24 elements on) that is
///               replayed right after an untimed replay of it, between two events: none waits for its launch. With
///               workspace, result and, where it is small, input at 16 places, a row each, the same in every process
///   end_to_end  by the host's clock after an untimed call of its own and twice L2 being overwritten: thrust::reduce,
///               and cub::DeviceReduce::Sum with a copy to pinned memory; from the call until the value is there
///
/// Built by ./build beside this file.

#include <cuda_runtime.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_reduce.cuh>
#include <vector>

#include "measure/timing/quiet_cpu.h"

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "loops: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The mean of the logarithms without a tenth of the samples, or one, at either end: about what reductio makes of those
/// of one context. The median of a call that takes one of two times is one of them.
template <class Sample>
double centre_s(Sample&& sample, std::size_t samples = 41) {
  std::vector<double> s(samples);
  sample();  // loads the kernels
  for (double& of : s) of = sample();
  std::sort(s.begin(), s.end());
  const std::size_t cut = std::max<std::size_t>(samples / 10, 1);
  double sum = 0;
  for (std::size_t i = cut; i < samples - cut; ++i) sum += std::log(s[i]);
  return std::exp(sum / static_cast<double>(samples - 2 * cut));
}

constexpr int largest = 1 << 28;
constexpr int places = 16;  ///< a workspace's, a result's and a small input's, that move together
constexpr std::size_t small_input_bytes = 1 << 20;  ///< reductio moves what is smaller
constexpr std::size_t samples_each_place = 9;  ///< few, for a graph's times differ by its places and hardly else

struct Loops {
  cudaStream_t stream;
  cudaEvent_t start, stop;
  std::size_t flushed_bytes;
  void *flushed, *in, *small, *pinned;
  char *workspace, *out;
  static constexpr std::size_t room_bytes = 1 << 20;  // of CUB's workspace and its places
  reductio::QuietCpu cpu{reductio::allowed_cpus()};

  Loops() {
    int l2 = 0;
    check(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0));
    flushed_bytes = 2 * static_cast<std::size_t>(l2);
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&stop));
    check(cudaMalloc(&flushed, flushed_bytes));
    // All sums read this input: were it freed between them, the driver's overwriting it would slow down the next.
    check(cudaMalloc(&in, std::size_t{largest} * 4));
    // Not in the default stream: on an H200 kernels start later in a process that has run some there, too.
    check(cudaMemsetAsync(in, 0, std::size_t{largest} * 4, stream));
    check(cudaMalloc(&workspace, room_bytes));
    check(cudaMalloc(&out, room_bytes));
    // So that a few bytes are cut from memory that is mapped already, as in any program that holds some. Where none
    // were held, Thrust's calls, which allocate, mapped memory each time: on an H100 they took four times as long.
    check(cudaMalloc(&small, 4));
    check(cudaMallocHost(&pinned, 4));
    for (const double until = now() + 0.3; now() < until; check(cudaStreamSynchronize(stream))) flush();  // awake
    cpu.survey();
  }

  void flush() { check(cudaMemsetAsync(flushed, 1, flushed_bytes, stream)); }

  template <class Function>
  double graph(int calls, Function&& call) {
    cudaGraph_t graph;
    cudaGraphExec_t replayed;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls; ++i) call();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&replayed, graph, 0));
    const double s = centre_s([&] {
      check(cudaGraphLaunch(replayed, stream));
      check(cudaEventRecord(start, stream));
      check(cudaGraphLaunch(replayed, stream));
      check(cudaEventRecord(stop, stream));
      check(cudaEventSynchronize(stop));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, start, stop));
      return 1e-3 * ms / calls;
    }, samples_each_place);
    check(cudaGraphExecDestroy(replayed));
    check(cudaGraphDestroy(graph));
    return s;
  }

  template <class Function>
  double end_to_end(Function&& call) {
    return centre_s([&] {
      cpu.settle();
      call();  // as in a loop; the look at the CPU left little of it in the caches
      flush();
      check(cudaStreamSynchronize(stream));
      const double begin = now();
      call();
      return now() - begin;
    });
  }

  template <class T>
  void time(const char* type, int n) {
    const T* const first = static_cast<const T*>(in);
    std::size_t bytes = 0;
    check(cub::DeviceReduce::Sum(nullptr, bytes, first, static_cast<T*>(nullptr), n));
    if (bytes > room_bytes / 2) {
      std::fprintf(stderr, "loops: CUB wants a workspace of %zu bytes, more than there is room for\n", bytes);
      std::exit(1);
    }
    const auto call_at = [&](int place) {
      check(cub::DeviceReduce::Sum(workspace + 9 * 512 * place, bytes, input_at<T>(place, n), sum_at<T>(place), n,
                                   stream));
    };
    call_at(0);  // loads the kernels, which must not happen while a graph is captured
    check(cudaStreamSynchronize(stream));
    for (int place = 0; place < places; ++place)
      std::printf("graph,cub/sum,%s,%d,%d,%.9g\n", type, n, place,
                  graph(n < 1 << 24 ? 100 : 10, [&] { call_at(place); }));
    volatile T value{};
    const double thrust_s = end_to_end([&] { value = thrust::reduce(thrust::cuda::par.on(stream), first, first + n); });
    const double cub_s = end_to_end([&] {
      call_at(0);
      check(cudaMemcpyAsync(pinned, sum_at<T>(0), sizeof(T), cudaMemcpyDeviceToHost, stream));
      check(cudaStreamSynchronize(stream));
    });
    std::printf("end_to_end,thrust/reduce,%s,%d,,%.9g\n", type, n, thrust_s);
    std::printf("end_to_end,cub/sum,%s,%d,,%.9g\n", type, n, cub_s);
  }

  template <class T>
  const T* input_at(int place, int n) {
    const std::size_t moved_bytes = n * sizeof(T) < small_input_bytes ? std::size_t{5 * 512} * place : 0;
    return reinterpret_cast<const T*>(static_cast<const char*>(in) + moved_bytes);
  }

  template <class T>
  T* sum_at(int place) {
    return reinterpret_cast<T*>(out + 7 * 512 * place);
  }
};

}  // namespace

int main() {
  Loops loops;
  std::printf("mode,variant,element_type,n,place,time_s\n");
  for (int n = 1 << 10; n <= largest; n *= 4) {
    loops.time<std::int32_t>("i32", n);
    loops.time<float>("f32", n);
    if (n == largest) break;  // four times as many are no int
  }
}
