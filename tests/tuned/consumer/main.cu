// Uses the installed reductio::tuned as its header says: one call, a plan, a graph that is replayed, two streams at once.
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
  explicit Lane(const tuned::Gpu& gpu) : workspace(allocate<std::uint64_t>(tuned::workspace_words(gpu))), out(allocate<double>(1)) {
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

  const tuned::Reduction<float, double> plan(n, gpu);
  cudaGraph_t graph;
  cudaGraphExec_t replayed;
  check(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeGlobal), "capturing");
  plan(in, lane.out, lane.workspace, lane.stream);
  check(cudaStreamEndCapture(lane.stream, &graph), "capturing");
  check(cudaGraphInstantiate(&replayed, graph, 0), "instantiating the graph");
  for (int replay = 0; replay < 1000; ++replay) {
    check(cudaMemsetAsync(lane.out, 0xFF, sizeof(double), lane.stream), "poisoning the result");
    check(cudaGraphLaunch(replayed, lane.stream), "replaying");
    if (replay % 100 != 99) continue;
    check(cudaStreamSynchronize(lane.stream), "replaying");
    expect(value(lane.out), sum, "a replay");
  }

  for (int call = 0; call < 500; ++call)
    for (Lane& l : lanes) plan(in, l.out, l.workspace, l.stream);
  check(cudaDeviceSynchronize(), "two streams at once");
  for (Lane& l : lanes) expect(value(l.out), sum, "two streams at once");
  std::printf("all right\n");
}
