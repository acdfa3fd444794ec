// Uses the installed reductio::tuned as its header says: one call, plans, moments, results straight to the host, calls that
// overlap, a graph that is replayed, two streams at once.
// Exit code 0: every result was right; 77: there is no GPU; else the first wrong result is printed.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <reductio/tuned/tuned.h>

namespace tuned = reductio::tuned;

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}

void expect(double found, double wanted, const char* what) {
  if (found == wanted) return;
  std::printf("%s: %.17g in place of %.17g\n", what, found, wanted);
  std::exit(1);
}

template <class T>
T* allocate(std::size_t count) {
  T* p = nullptr;
  check(cudaMalloc(&p, count * sizeof(T)), "allocating");
  return p;
}

template <class T>
double value(const T* p) {
  T v;
  check(cudaMemcpy(&v, p, sizeof v, cudaMemcpyDeviceToHost), "copying the result");
  return static_cast<double>(v);
}

/// A stream with what a user of tuned keeps for it.
struct Lane {
  cudaStream_t stream;
  std::uint64_t* workspace;
  double* out;
  explicit Lane(const tuned::Gpu& gpu) : workspace(allocate<std::uint64_t>(tuned::workspace_words(gpu))), out(allocate<double>(3)) {
    check(cudaStreamCreate(&stream), "creating a stream");
    tuned::init(workspace, gpu, stream);
  }
};

}  // namespace

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("no GPU: compiled, not run\n");
    return 77;
  }
  const tuned::Gpu gpu = tuned::current_gpu();
  const std::size_t n = (1 << 20) + 3;
  std::vector<float> values(n);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(i % 7) - 2;
    sum += values[i];
    squares += values[i] * values[i];
  }
  float* const in = allocate<float>(n);
  check(cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice), "copying the input");
  Lane lanes[] = {Lane(gpu), Lane(gpu)};
  Lane& lane = lanes[0];

  tuned::sum(in, n, lane.out, lane.workspace, gpu, lane.stream);
  check(cudaStreamSynchronize(lane.stream), "one call");
  expect(value(lane.out), sum, "one call");
  tuned::sum_of_squares(in, n, lane.out, lane.workspace, gpu, lane.stream);
  check(cudaStreamSynchronize(lane.stream), "squares");
  expect(value(lane.out), squares, "squares");
  tuned::sum(in + 1, n - 1, lane.out, lane.workspace, gpu, lane.stream);
  check(cudaStreamSynchronize(lane.stream), "from the second element");
  expect(value(lane.out), sum - values[0], "from the second element");

  std::uint64_t* arrival;
  check(cudaMallocHost(&arrival, tuned::arrival_words * sizeof(std::uint64_t)), "allocating page-locked memory");

  // Every way to finish that the table knows: one block, a cluster where the GPU has them, fan-in by few and many blocks.
  for (const std::size_t part : {std::size_t{0}, std::size_t{1000}, std::size_t{20000}, std::size_t{100000}, n - 1}) {
    double of_part = 0, squares_of_part = 0;
    for (std::size_t i = 1; i <= part; ++i) {
      of_part += values[i];
      squares_of_part += values[i] * values[i];
    }
    const tuned::Reduction<float, double, tuned::Moments> moments(part, gpu);
    const tuned::Reduction<float, double> total(part, gpu);
    for (int call = 0; call < 50; ++call) {
      moments(in + 1, lane.out, lane.workspace, lane.stream);
      check(cudaStreamSynchronize(lane.stream), "moments");
      expect(value(lane.out), of_part, "the sum of moments");
      expect(value(lane.out + 1), squares_of_part, "the squares of moments");
      expect(total.to_host(in + 1, arrival, lane.workspace, lane.stream), of_part, "to the host");
    }
  }

  const tuned::Reduction<float, double> plan(n, gpu);
  const tuned::Reduction<float, double> small(20000, gpu), smaller(1000, gpu);
  double of_small = 0, of_smaller = 0;
  for (std::size_t i = 0; i < 20000; ++i) of_small += values[i];
  for (std::size_t i = 0; i < 1000; ++i) of_smaller += values[i];
  // Calls one after another, which may overlap in their launches; all on one workspace.
  cudaGraph_t graph;
  cudaGraphExec_t replayed;
  check(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeGlobal), "capturing");
  for (int call = 0; call < 3; ++call) {
    plan(in, lane.out, lane.workspace, lane.stream);
    small(in, lane.out + 1, lane.workspace, lane.stream);
    smaller(in, lane.out + 2, lane.workspace, lane.stream);
  }
  check(cudaStreamEndCapture(lane.stream, &graph), "capturing");
  check(cudaGraphInstantiate(&replayed, graph, 0), "instantiating the graph");
  for (int replay = 0; replay < 1000; ++replay) {
    check(cudaMemsetAsync(lane.out, 0xFF, 3 * sizeof(double), lane.stream), "poisoning the results");
    check(cudaGraphLaunch(replayed, lane.stream), "replaying");
    if (replay % 50 != 49) continue;
    check(cudaStreamSynchronize(lane.stream), "replaying");
    expect(value(lane.out), sum, "a replay");
    expect(value(lane.out + 1), of_small, "a replay of a small call");
    expect(value(lane.out + 2), of_smaller, "a replay of a smaller call");
  }

  // A call reads what the kernel before it has written, whether or not it began before that one's end.
  const tuned::Reduction<double> again(3, gpu);
  double* const sum_of_sums = allocate<double>(1);
  for (int call = 0; call < 500; ++call) {
    plan(in, lane.out, lane.workspace, lane.stream);
    again(lane.out, sum_of_sums, lane.workspace, lane.stream);
    check(cudaMemsetAsync(lane.out, 0, sizeof(double), lane.stream), "zeroing");
  }
  check(cudaStreamSynchronize(lane.stream), "calls that depend on each other");
  expect(value(sum_of_sums), sum + of_small + of_smaller, "a call on another's result");

  for (int call = 0; call < 500; ++call)
    for (Lane& l : lanes) plan(in, l.out, l.workspace, l.stream);
  check(cudaDeviceSynchronize(), "two streams at once");
  for (Lane& l : lanes) expect(value(l.out), sum, "two streams at once");
  std::printf("all right\n");
}
