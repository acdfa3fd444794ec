/// compensated: what an addition of floats loses, and five ways to keep it, for learners.
///
/// No document has these. All read and finish alike, so that two of them differ in the additions alone:
/// `reductio run frontier` tells what each costs, and how far its sums are from the exact one.
///
///   compensated/plain          the start: each thread adds up its elements one after the other
///   compensated/pairwise       adds up neighbours first: an element passes through few additions
///   compensated/kahan          what an addition loses is taken off the next element
///   compensated/neumaier       what the additions lose is added up beside the sum, and given back at the end
///   compensated/double-double  the sum is always two numbers, the second what the first has no digits for
///   compensated/in-double      floats are added up as doubles, and rounded once (f32)
///
/// A float has 24 binary digits. An addition rounds to them, so what lies below the last digit of the sum is lost:
///
///     sum          1 0 1 1 0 0 1 0
///     x                    0 0 0 0 1 1 0 1        added where it belongs
///     sum + x      1 0 1 1 0 0 1 1                the last digits of x are lost
///
/// Each addition loses at most half a unit in the last place of its result. After m of them the error can be m such
/// units: of the largest result on the way, which may be far larger than the sum itself, as where terms of both signs
/// cancel. What is lost is a float itself, and two_sum() below finds it by five further additions.
///
/// grid=auto is two blocks for each SM, but no more than have something to load for each of their threads. A thread has
/// 64 bytes under way (modern/loads-in-flight tells why), so that memory, not the additions, should take the time.
///
/// The compiler must add as written. With -ffast-math a host's compiler takes (sum + x) - sum for x, and nothing is
/// compensated. nvcc never reorders additions. It merges a product and an addition into one rounding, but there is no
/// product here.
/// tests/kernels/compensated_test.cpp holds each sum against the exact one.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32, full_warp = 0xffffffffu;
constexpr unsigned most_threads = 512;
/// Elements that a thread asks for before it adds up the first: 64 bytes.
template <class T>
constexpr int loads = 64 / sizeof(T);

// ----------------------------------------------------------------------------------------------- sums of two numbers

/// A number of about twice as many digits: sum + rest, where `rest` is small beside `sum`.
template <class T>
struct Pair {
  T sum = 0, rest = 0;
};

/// a + b without error: `sum` as it is rounded, and `rest` what that rounding lost (Knuth, "The Art of Computer
/// Programming", volume 2, section 4.2.2). `part` is what of b has arrived in the sum, and sum - part what of a has.
/// Either may be the larger one. Where the sum is infinite the rest is NaN.
template <class T>
__device__ Pair<T> two_sum(T a, T b) {
  const T sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// What is lost to infinity is no number: 0, so that it spoils no finite digit elsewhere.
template <class T>
__device__ T finite_or_zero(T x) {
  return x - x == 0 ? x : T(0);
}

// How two threads' sums become one, how a sum goes from lane to lane, and what it is rounded to in the end. The sums of
// some methods are numbers, those of others are pairs.

template <class A>
__device__ A together(A a, A b) {
  return a + b;
}
template <class T>
__device__ Pair<T> together(Pair<T> a, Pair<T> b) {
  const Pair<T> both = two_sum(a.sum, b.sum);
  return {both.sum, both.rest + (a.rest + b.rest)};
}

template <class A>
__device__ A from_lane_above(A value, unsigned distance) {
  return __shfl_down_sync(full_warp, value, distance);
}
template <class T>
__device__ Pair<T> from_lane_above(Pair<T> value, unsigned distance) {
  return {from_lane_above(value.sum, distance), from_lane_above(value.rest, distance)};
}

template <class T, class A>
__device__ T rounded(A sum) {
  return static_cast<T>(sum);
}
template <class T>
__device__ T rounded(Pair<T> p) {
  return p.sum + finite_or_zero(p.rest);
}

// ------------------------------------------------------------------------------------------------ inside one thread

/// The start. Of m elements the first passes through m additions, each of which may lose half a unit.
template <class T>
struct Plain {
  using Sum = T;
  T sum = 0;
  __device__ void add(T x) { sum += x; }
  __device__ Sum total() const { return sum; }
  static std::size_t chain(std::size_t elements) { return elements; }
};

/// From plain: the sum is of a wider type. 29 further digits are enough for what 2^29 additions of one sign lose.
template <class T>
struct InDouble {
  using Sum = double;
  double sum = 0;
  __device__ void add(T x) { sum += static_cast<double>(x); }
  __device__ Sum total() const { return sum; }
};

/// From plain: what an addition lost is taken off the next element (Kahan 1965). An addition and two subtractions more.
///
///     next = sum + x         as it is rounded
///     (next - sum) - x       what of x has arrived, less x: too much is positive, too little negative
///
/// next - sum is exact as long as the sum is larger than x. Where x is larger, digits of the sum are lost, and this
/// finds only some of them.
template <class T>
struct Kahan {
  using Sum = Pair<T>;
  T sum = 0, surplus = 0;
  __device__ void add(T x) {
    const T corrected = x - surplus, next = sum + corrected;
    surplus = finite_or_zero((next - sum) - corrected);
    sum = next;
  }
  __device__ Sum total() const { return {sum, -surplus}; }
};

/// From kahan: the sum stays as plain has it, and what its additions lose is added up beside it (Neumaier 1974). The
/// larger of both goes first, so what of the other one has arrived is found without error.
template <class T>
struct Neumaier {
  using Sum = Pair<T>;
  T sum = 0, lost = 0;
  __device__ void add(T x) {
    const T next = sum + x;
    const bool x_is_small = fabs(sum) >= fabs(x);
    const T large = x_is_small ? sum : x, small = x_is_small ? x : sum;
    lost += (large - next) + small;
    sum = next;
  }
  __device__ Sum total() const { return {sum, lost}; }
};

/// From neumaier: no comparison, since two_sum() does not ask which is larger. After each element what was lost goes
/// back into the sum as far as that has digits for it, so the rest stays below half a unit of the sum, and its own
/// rounding errors stay as small. Dekker 1971; twice as many digits, for about ten operations an element.
template <class T>
struct DoubleDouble {
  using Sum = Pair<T>;
  Pair<T> value;
  __device__ void add(T x) {
    const Pair<T> next = two_sum(value.sum, x);
    const T rest = finite_or_zero(value.rest + next.rest);
    value.sum = next.sum + rest;
    value.rest = finite_or_zero(rest - (value.sum - next.sum));  // the larger first: exact
  }
  __device__ Sum total() const { return value; }
};

/// The halves by themselves, down to neighbours. `count` is known to the compiler, so that a tile stays in registers.
template <int count, class T>
__device__ T neighbours_first(const T* x) {
  if constexpr (count == 1)
    return x[0];
  else
    return neighbours_first<count / 2>(x) + neighbours_first<count / 2>(x + count / 2);
}

/// From plain: neighbours first, then neighbouring sums, and so on. Of m elements each passes through about log2(m)
/// additions, and none is added to a sum much larger than itself. No operation more than plain has.
///
///     a b c d e f g h  ->  ab cd ef gh  ->  abcd efgh  ->  abcdefgh
///
/// Elements come a tile at a time: level[k] is the sum of 2^k tiles, and is there if bit k of `tiles` is set. One more
/// tile is like counting up: level 0 is full, so both go to level 1, and so on until a level is free.
template <class T>
struct Pairwise {
  using Sum = T;
  T level[32];  // in local memory: a thread looks there once in a tile
  unsigned tiles = 0;
  __device__ void add_tile(const T* tile) {
    T sum = neighbours_first<loads<T>>(tile);
    int k = 0;
    for (; tiles >> k & 1; ++k) sum += level[k];
    level[k] = sum;
    ++tiles;
  }
  __device__ Sum total() const {
    T sum = 0;
    for (int k = 0; tiles >> k; ++k)
      if (tiles >> k & 1) sum += level[k];
    return sum;
  }
  static std::size_t chain(std::size_t elements) { return std::bit_width(elements) + 2; }
};

template <class Method, class T>
__device__ void add_tile(Method& method, T (&tile)[loads<T>]) {
#pragma unroll
  for (int k = 0; k < loads<T>; ++k) method.add(tile[k]);
}
template <class T>
__device__ void add_tile(Pairwise<T>& method, T (&tile)[loads<T>]) {
  method.add_tile(tile);
}

// ------------------------------------------------------------------------------------------------ blocks and the grid

/// What one thread adds up where all threads of the grid take turns. It asks for a tile, neighbours in a warp for
/// neighbours in memory, and only then waits for the first element of it.
template <class Method, class T>
__device__ typename Method::Sum sum_of_thread(const T* in, std::int64_t n) {
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Method method;
#pragma unroll 1
  for (; i + (loads<T> - 1) * threads < n; i += loads<T> * threads) {
    T tile[loads<T>];
#pragma unroll
    for (int k = 0; k < loads<T>; ++k) tile[k] = in[i + k * threads];
    add_tile(method, tile);
  }
  if (i < n) {  // the rest, apart: were each load asked whether there is an element, nvcc would not have all under way
    T tile[loads<T>]{};
#pragma unroll
    for (int k = 0; k < loads<T>; ++k)
      if (i + k * threads < n) tile[k] = in[i + k * threads];
    add_tile(method, tile);
  }
  return method.total();
}

/// Adds up one sum of every thread, by shuffles; valid in thread 0. Every warp adds up its lanes, then the first warp
/// adds up the warps. Blocks are whole warps.
template <class Sum>
__device__ Sum sum_of_block(Sum value) {
  __shared__ Sum sums[most_threads / warp];
  const unsigned lane = threadIdx.x % warp, warps = blockDim.x / warp;
  const auto add_lanes = [&] {
    for (unsigned distance = warp / 2; distance > 0; distance /= 2)
      value = together(value, from_lane_above(value, distance));
  };
  add_lanes();
  if (lane == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  if (threadIdx.x < warp) {
    value = Sum{};
    if (lane < warps) value = sums[lane];
    add_lanes();
  }
  return value;
}

/// Every block leaves its sum, a pair where the method has pairs: what was lost must not be lost between blocks.
/// Launch: any grid, whole warps. Result: partials[b] of every block b.
template <class Method, class T>
__global__ void __launch_bounds__(most_threads, 2)
    sums_of_blocks(const T* in, typename Method::Sum* partials, std::int64_t n) {
  using Sum = typename Method::Sum;
  const Sum sum = sum_of_block(sum_of_thread<Method>(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// A launch begins when the one before it has ended, so it finds all blocks' sums. The only rounding to T.
/// Launch: 1 block of whole warps. Result: out[0].
template <class Sum, class T>
__global__ void __launch_bounds__(most_threads, 2)
    sum_of_sums(const Sum* partials, T* out, unsigned count) {
  Sum sum{};
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    const Sum partial = partials[i];
    sum = together(sum, partial);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[0] = rounded<T>(sum);
}

// --------------------------------------------------------------------------------------------------------- on the host

template <class Method, class T>
std::unique_ptr<Plan> two_launches(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  using Sum = typename Method::Sum;
  const unsigned block = s.count("block");
  const std::size_t n = p.n, share = std::size_t{block} * loads<T>,
                    two_per_sm = 2 * static_cast<std::size_t>(gpu.sm_count),
                    grid = s.text("grid") == "auto" ? std::min(blocks_for(n, share), two_per_sm) : s.count("grid");
  const Buffer<Sum> partials(grid);
  PlanInfo info{.grid_blocks = grid, .block_threads = block, .workspace_bytes = partials.bytes()};
  if constexpr (requires { Method::chain(n); })
    // Two trees of a block, before and after one thread's share of the blocks.
    info.longest_chain = Method::chain(loads<T> * ceil_div(n, grid * share)) + 2 * (5 + 5) + ceil_div(grid, block) + 1;
  else
    info.longest_chain = std::bit_width(n) + 2;  // it hardly rounds
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    launch<sums_of_blocks<Method, T>>({grid, block, 0, stream}, static_cast<const T*>(in), partials.ptr(),
                                      static_cast<std::int64_t>(n));
    launch<sum_of_sums<Sum, T>>({1, block, 0, stream}, partials.ptr(), static_cast<T*>(out),
                                static_cast<unsigned>(grid));
  });
}

template <template <class> class Method>
std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  if (p.type == ElementType::f64) return two_launches<Method<double>, double>(p, s, gpu);
  return two_launches<Method<float>, float>(p, s, gpu);
}

Variant compensated(const Own& own, const std::vector<ElementType>& types = {ElementType::f32, ElementType::f64}) {
  return combined({.kind = VariantKind::ours,
                   .own_experiment = "frontier",
                   .how = {.block = "warp shuffles", .grid = "second launch"},
                   .operations = {Operation::sum},
                   .types = types,
                   .tunables = {Tunable::powers_of_two("block", warp, most_threads, most_threads),
                                Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "40"}, "auto")}},
                  own);
}

const Register registered[] = {
    {compensated({.id = "compensated/plain",
                  .title = "plain",
                  .cites = "our own",
                  .how = {.thread = "grid stride, 64 bytes in flight"}}),
     prepare<Plain>},
    {compensated({.id = "compensated/pairwise",
                  .title = "pairwise",
                  .cites = "our own, from plain",
                  .how = {.thread = "pairwise"}}),
     prepare<Pairwise>},
    {compensated({.id = "compensated/kahan",
                  .title = "Kahan",
                  .cites = "Kahan 1965",
                  .how = {.thread = "Kahan's sum", .block = "warp shuffles of pairs"}}),
     prepare<Kahan>},
    {compensated({.id = "compensated/neumaier",
                  .title = "Neumaier",
                  .cites = "Neumaier 1974",
                  .how = {.thread = "Neumaier's sum", .block = "warp shuffles of pairs"}}),
     prepare<Neumaier>},
    {compensated({.id = "compensated/double-double",
                  .title = "double-double",
                  .cites = "Dekker 1971",
                  .how = {.thread = "two numbers", .block = "warp shuffles of pairs"}}),
     prepare<DoubleDouble>},
    {compensated({.id = "compensated/in-double",
                  .title = "f32 in f64",
                  .cites = "our own, from plain",
                  .how = {.thread = "a wider sum"}},
                 {ElementType::f32}),
     two_launches<InDouble<float>, float>}};

}  // namespace
}  // namespace reductio
