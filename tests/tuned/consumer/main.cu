// Uses the installed reductio::tuned as its header says: one call, plans, moments, integers, results straight to the
// host, tiles that blocks claim, numbers that are rounded and infinity, calls that overlap, a graph that is replayed,
// two streams at once. Exit code 0: every result was right; 77: there is no GPU; else the first wrong result is
// printed.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <reductio/tuned/columns.h>
#include <reductio/tuned/rows.h>
#include <reductio/tuned/segments.h>
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

template <class T>
T* on_gpu(const std::vector<T>& values) {
  T* const p = allocate<T>(values.size());
  check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copying the input");
  return p;
}

/// A stream with what a user of tuned keeps for it.
struct Lane {
  cudaStream_t stream;
  std::uint64_t* workspace;
  double* out;
  Lane()
      : workspace(allocate<std::uint64_t>(tuned::workspace_words)), out(allocate<double>(7)) {
    check(cudaStreamCreate(&stream), "creating a stream");
    tuned::init(workspace, stream);
  }
};

/// Pairs of calls of which the second reads what the first has written, and the first overwrites what the second before
/// it has read, though each may begin before the end of the one before. The first ones take turns between all `n`
/// elements, whose sum is `sum`, and half of them, whose sum is `half`, so that each result is another than the one
/// before. The second ones read a vector of 16 bytes, which is loaded past the coherent path, and only its first
/// element is not zero.
template <class Acc, class In>
void calls_on_results(const In* in, std::size_t n, double sum, double half, const tuned::Gpu& gpu, const Lane& lane) {
  constexpr int pairs = 500;
  const tuned::Reduction<In, Acc> of_all(n, gpu), of_half(n / 2, gpu);
  const std::size_t lanes = 16 / sizeof(Acc);
  const tuned::Reduction<Acc> of_vector(lanes, gpu);
  Acc* const out = allocate<Acc>(lanes);
  Acc* const results = allocate<Acc>(pairs);
  check(cudaMemset(out, 0, lanes * sizeof(Acc)), "setting elements to zero");
  check(cudaMemset(results, 0xFF, pairs * sizeof(Acc)), "poisoning the results");
  check(cudaDeviceSynchronize(), "poisoning the results");
  for (int pair = 0; pair < pairs; ++pair) {
    (pair % 2 ? of_half : of_all)(in, out, lane.workspace, lane.stream);
    of_vector(out, results + pair, lane.workspace, lane.stream);
  }
  check(cudaStreamSynchronize(lane.stream), "calls on the results of others");
  for (int pair = 0; pair < pairs; ++pair)
    expect(value(results + pair), pair % 2 ? half : sum, "a call on the result of another");
}

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
  const float* const in = on_gpu(values);
  Lane lanes[2];
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
  check(cudaMallocHost(&arrival, tuned::arrival_bytes(gpu)), "allocating page-locked memory");

  // Integers: their sums wrap, and they finish by a packed atomic on one word, which each call leaves at zero.
  std::vector<int> integers(n);
  std::uint32_t wrapped = 0, wrapped_half = 0;
  for (std::size_t i = 0; i < n; ++i) {
    integers[i] = static_cast<int>(static_cast<std::uint32_t>(i) * 2654435761u);
    wrapped += static_cast<std::uint32_t>(integers[i]);
    if (i < n / 2) wrapped_half = wrapped;
  }
  const double of_integers = static_cast<int>(wrapped), of_half_the_integers = static_cast<int>(wrapped_half);
  const int* const integers_in = on_gpu(integers);
  int* const integer_out = allocate<int>(2);
  for (const std::size_t part : {std::size_t{0}, std::size_t{1000}, std::size_t{20000}, std::size_t{100000}, n - 1}) {
    std::uint32_t of_part = 0;
    for (std::size_t i = 1; i <= part; ++i) of_part += static_cast<std::uint32_t>(integers[i]);
    const tuned::Reduction<int> total(part, gpu);
    for (int call = 0; call < 50; ++call) {
      tuned::sum(integers_in + 1, part, integer_out, lane.workspace, gpu, lane.stream);
      check(cudaStreamSynchronize(lane.stream), "integers");
      expect(value(integer_out), static_cast<int>(of_part), "integers");
      expect(total.to_host(integers_in + 1, arrival, lane.stream), static_cast<int>(of_part),
             "integers to the host");
    }
  }

  // Every way to finish that the table knows for floats: one block, a cluster where the GPU has them, few and many
  // blocks that add up in the workspace's words.
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
      const auto both = moments.to_host(in + 1, arrival, lane.stream);
      expect(both.first, of_part, "the sum of moments to the host");
      expect(both.second, squares_of_part, "the squares of moments to the host");
      expect(total.to_host(in + 1, arrival, lane.stream), of_part, "to the host");
    }
  }

  // Sums that the home band has no digits for: they go to a far band.
  std::vector<float> tiny(n);
  const double scale = 1.0 / (std::uint64_t{1} << 60) / (std::uint64_t{1} << 60);
  for (std::size_t i = 0; i < n; ++i) tiny[i] = static_cast<float>(values[i] * scale);
  const float* const tiny_in = on_gpu(tiny);

  // Either of C++'s integers of 8 bytes.
  long long* const wide_out = allocate<long long>(1);
  unsigned long long* const unsigned_out = allocate<unsigned long long>(1);
  long long wide = 0;
  for (const int value : integers) wide += value;
  tuned::sum(integers_in, n, wide_out, lane.workspace, gpu, lane.stream);
  tuned::sum(integers_in, n, unsigned_out, lane.workspace, gpu, lane.stream);
  check(cudaStreamSynchronize(lane.stream), "integers in 8 bytes");
  expect(value(wide_out), static_cast<double>(wide), "integers in long long");
  expect(value(unsigned_out), static_cast<double>(static_cast<unsigned long long>(wide)),
         "integers in unsigned long long");

  const tuned::Reduction<float, double> plan(n, gpu);
  const tuned::Reduction<float, double> small(20000, gpu), smaller(1000, gpu);
  const tuned::Reduction<int> of_all_integers(n, gpu);
  // As of much input: few blocks, which claim tiles.
  const tuned::Choice claims{true, tuned::Reading::claimed, 32, 1};
  const tuned::Reduction<float, double> claimed(n, gpu, claims);
  tuned::Choice in_any_order = claims;
  in_any_order.any_order = true;
  const tuned::Reduction<float, double> claimed_in_any_order(n, gpu, in_any_order);
  const tuned::Reduction<int> claimed_integers(n, gpu, claims);
  const std::size_t replayed_results = 7;
  double of_small = 0, of_smaller = 0, of_half = 0;
  for (std::size_t i = 0; i < 20000; ++i) of_small += values[i];
  for (std::size_t i = 0; i < 1000; ++i) of_smaller += values[i];
  for (std::size_t i = 0; i < n / 2; ++i) of_half += values[i];
  // Calls one after another, which may overlap in their launches; all on one workspace.
  cudaGraph_t graph;
  cudaGraphExec_t replayed;
  check(cudaStreamBeginCapture(lane.stream, cudaStreamCaptureModeGlobal), "capturing");
  for (int call = 0; call < 3; ++call) {
    plan(in, lane.out, lane.workspace, lane.stream);
    small(in, lane.out + 1, lane.workspace, lane.stream);
    smaller(in, lane.out + 2, lane.workspace, lane.stream);
    of_all_integers(integers_in, integer_out, lane.workspace, lane.stream);
    claimed(in, lane.out + 3, lane.workspace, lane.stream);
    claimed_in_any_order(in, lane.out + 4, lane.workspace, lane.stream);
    claimed_integers(integers_in, integer_out + 1, lane.workspace, lane.stream);
    plan(tiny_in, lane.out + 5, lane.workspace, lane.stream);
    claimed(tiny_in, lane.out + 6, lane.workspace, lane.stream);
  }
  check(cudaStreamEndCapture(lane.stream, &graph), "capturing");
  check(cudaGraphInstantiate(&replayed, graph, 0), "instantiating the graph");
  for (int replay = 0; replay < 1000; ++replay) {
    check(cudaMemsetAsync(lane.out, 0xFF, replayed_results * sizeof(double), lane.stream), "poisoning the results");
    check(cudaMemsetAsync(integer_out, 0xFF, 2 * sizeof(int), lane.stream), "poisoning the results");
    check(cudaGraphLaunch(replayed, lane.stream), "replaying");
    if (replay % 50 != 49) continue;
    check(cudaStreamSynchronize(lane.stream), "replaying");
    expect(value(lane.out), sum, "a replay");
    expect(value(lane.out + 1), of_small, "a replay of a small call");
    expect(value(lane.out + 2), of_smaller, "a replay of a smaller call");
    expect(value(integer_out), of_integers, "a replay of a call on integers");
    expect(value(lane.out + 3), sum, "a replay of a call of claimed tiles");
    expect(value(lane.out + 4), sum, "a replay of a call in any order");
    expect(value(integer_out + 1), of_integers, "a replay of a call on integers of claimed tiles");
    expect(value(lane.out + 5), sum * scale, "a replay of a call on tiny numbers");
    expect(value(lane.out + 6), sum * scale, "a replay of a call on tiny numbers of claimed tiles");
  }

  // Numbers that are rounded, whichever block has claimed a tile: the same bits at every call, of both sums of moments.
  std::vector<float> fractions(n);
  for (std::size_t i = 0; i < n; ++i) fractions[i] = (i % 2 ? -1.0f : 1.0f) / static_cast<float>(1 + i * 7919 % n);
  const float* const fractions_in = on_gpu(fractions);
  const tuned::Reduction<float, float, tuned::Moments> claimed_moments(n, gpu, claims);
  float* const both = allocate<float>(2);
  double first[2] = {};
  for (int call = 0; call < 200; ++call) {
    claimed_moments(fractions_in, both, lane.workspace, lane.stream);
    check(cudaStreamSynchronize(lane.stream), "moments of claimed tiles");
    for (int k = 0; k < 2; ++k) {
      const double value_now = value(both + k);
      if (call == 0) first[k] = value_now;
      expect(value_now, first[k], "moments of claimed tiles, at a further call");
    }
  }

  // One number that no sum of finite ones has, and nothing at all.
  std::vector<float> infinite(values);
  infinite[n / 2] = INFINITY;
  const tuned::Reduction<float, double> of_nothing(0, gpu, claims);
  claimed(on_gpu(infinite), lane.out, lane.workspace, lane.stream);
  of_nothing(in, lane.out + 1, lane.workspace, lane.stream);
  claimed(in, lane.out + 2, lane.workspace, lane.stream);
  check(cudaStreamSynchronize(lane.stream), "infinity, nothing, and all again");
  expect(value(lane.out), INFINITY, "infinity");
  expect(value(lane.out + 1), 0, "nothing");
  expect(value(lane.out + 2), sum, "all, after infinity and nothing");

  calls_on_results<double>(in, n, sum, of_half, gpu, lane);
  calls_on_results<int>(integers_in, n, of_integers, of_half_the_integers, gpu, lane);

  // An error that the user has had is not a call's, and is still there after it.
  void* too_much = nullptr;
  const cudaError_t refused = cudaMalloc(&too_much, std::size_t{1} << 60);
  for (const bool overlaps : {true, false}) {
    tuned::Choice choice;
    choice.overlaps = overlaps;
    tuned::init(lane.workspace, lane.stream);
    tuned::Reduction<float, double>(n, gpu, choice)(in, lane.out, lane.workspace, lane.stream);
  }
  expect(cudaGetLastError(), refused, "the error of an allocation before a call");
  check(cudaStreamSynchronize(lane.stream), "a call after an error");
  expect(value(lane.out), sum, "a call after an error");

  for (int call = 0; call < 500; ++call)
    for (Lane& l : lanes) {
      plan(in, l.out, l.workspace, l.stream);
      claimed(in, l.out + 3, l.workspace, l.stream);
      claimed_in_any_order(in, l.out + 4, l.workspace, l.stream);
    }
  check(cudaDeviceSynchronize(), "two streams at once");
  for (Lane& l : lanes) {
    expect(value(l.out), sum, "two streams at once");
    expect(value(l.out + 3), sum, "two streams at once, of claimed tiles");
    expect(value(l.out + 4), sum, "two streams at once, in any order");
  }
  std::printf("all right\n");
}
