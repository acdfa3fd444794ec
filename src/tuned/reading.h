#pragma once
/// How the threads of tuned/tuned.h read their share of the input, and how a block adds up its threads.
///
/// Strided   all threads in turn, 16 bytes a load, four loads in flight: small and middling inputs.
/// Tiled     a tile of 64 KiB a block and round, eight loads in flight: large inputs.
/// Claimed   the same tiles by dynamic scheduling: each block claims its next tile from a counter. The largest inputs.
///
/// Rounds have the same length for all threads. One last step spreads the rest over all of them, with what lies before
/// the first aligned vector and behind the last.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "launch_table.h"

#ifdef __CUDACC__
struct __half;  // only declared: who has such elements has included their header
struct __nv_bfloat16;
#endif

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {


/// The type of the additions: for integers the unsigned type of that size, because signed overflow is undefined.
template <class Acc, bool = std::is_integral<Acc>::value>
struct AddedIn {
  using type = Acc;
};
template <class Acc>
struct AddedIn<Acc, true> {
  using type = std::conditional_t<sizeof(Acc) == 8, std::uint64_t, std::uint32_t>;
};

/// An element in the type of the additions. Halves are not cast: PyTorch's extensions compile without their conversions
/// (__CUDA_NO_HALF_CONVERSIONS__).
template <class W, class In>
__device__ W widened(In x) {
#ifdef __CUDACC__
  if constexpr (std::is_same<In, __half>::value) return static_cast<W>(__half2float(x));
  else if constexpr (std::is_same<In, __nv_bfloat16>::value) return static_cast<W>(__bfloat162float(x));
  else
#endif
  return static_cast<W>(x);
}

/// Two sums from one read.
template <class W>
struct Pair {
  W first, second;
  __host__ __device__ Pair& operator+=(const Pair& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
  friend __host__ __device__ Pair operator+(Pair a, const Pair& b) { return a += b; }
};

/// An operation beside device::Identity and device::Square: the sum and the sum of squares.
struct Moments {
  static constexpr unsigned roundings = 1;
  template <class W>
  __device__ Pair<W> operator()(W x) const { return {x, x * x}; }
};

/// What an operation adds up in W: W, or a Pair.
template <class Operation, class W>
struct SumsOf {
  using type = W;
};
template <class W>
struct SumsOf<Moments, W> {
  using type = Pair<W>;
};
template <class Acc, class Operation>
using SumIn = typename SumsOf<Operation, typename AddedIn<Acc>::type>::type;

/// Whether an SM can hold two calls at once: it supports programmatic dependent launch and 2048 threads (12.x: 1536).
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
inline constexpr bool holds_two_calls = true;
#else
inline constexpr bool holds_two_calls = false;
#endif

/// 16 bytes of input.
template <class In>
struct Vector {
  static constexpr int lanes = 16 / sizeof(In);
  In lane[lanes];
};

/// The input of a call: `vectors` vectors from the first boundary on (aligned_to), and the elements before and behind.
template <class In>
struct Share {
  const uint4* body;
  const In *head, *tail;
  std::int64_t vectors, kept;  ///< kept: so many vectors, from the first, may stay in L2 (Tiled)
  unsigned head_count, tail_count;

  __device__ bool has_ends() const { return head_count + tail_count > 0; }
};

template <class In>
__host__ __device__ Share<In> share_of(const In* in, std::size_t n, unsigned boundary, std::size_t kept_bytes) {
  const std::size_t lanes = Vector<In>::lanes;
  const std::size_t to_boundary = (boundary - reinterpret_cast<std::uintptr_t>(in) % boundary) % boundary / sizeof(In);
  const std::size_t head = to_boundary < n ? to_boundary : n, vectors = (n - head) / lanes, body = vectors * lanes;
  return {reinterpret_cast<const uint4*>(in + head), in, in + (head + body), static_cast<std::int64_t>(vectors),
          static_cast<std::int64_t>(kept_bytes / 16), static_cast<unsigned>(head),
          static_cast<unsigned>(n - head - body)};
}

/// Applies the operation to each element of a vector and adds them up in a tree.
template <class S, class W, class Operation, class In>
__device__ S sum_of_vector(const uint4& bits) {
  constexpr int lanes = Vector<In>::lanes;
  Vector<In> v;
  memcpy(&v, &bits, sizeof v);
  S sums[lanes];
  for (int k = 0; k < lanes; ++k) sums[k] = Operation{}(widened<W>(v.lane[k]));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

/// Adds up `count` vectors, a power of two, in a tree.
template <class S, class W, class Operation, class In, int count>
__device__ S sum_of_vectors(const uint4 (&v)[count]) {
  S sums[count];
  for (int u = 0; u < count; ++u) sums[u] = sum_of_vector<S, W, Operation, In>(v[u]);
  for (int half = count / 2; half > 0; half /= 2)
    for (int u = 0; u < half; ++u) sums[u] += sums[u + half];
  return sums[0];
}

/// The last step of thread t of `threads`: its share of what is left from vector `first` on, less than `count` vectors,
/// and one element of each end. Every load is predicated, without a branch, so that all are in flight at once: a branch
/// would cost a warp another round trip to memory.
template <class S, class W, class Operation, int count, class In, class Load>
__device__ S sum_of_rest(const Share<In>& in, std::int64_t first, unsigned t, unsigned threads, Load load) {
  int left = static_cast<int>(in.vectors - first) - static_cast<int>(t);  // of this thread's, every `threads`-th
  auto from = in.body + (first + t);
  uint4 v[count] = {};
  for (int u = 0; u < count; ++u, left -= static_cast<int>(threads), from += threads)
    if (left > 0) v[u] = load(from);
  In before{}, behind{};  // an operation takes 0 to 0
  if (t < in.head_count) before = in.head[t];
  if (t < in.tail_count) behind = in.tail[t];
  return sum_of_vectors<S, W, Operation, In>(v) +
         (S(Operation{}(widened<W>(before))) + S(Operation{}(widened<W>(behind))));
}

/// Thread t reads the vectors t, t + threads, t + 2 threads, ..., four in flight. Indices are signed so that nvcc may
/// assume that they do not wrap.
template <unsigned Block>
struct Strided {
  static constexpr unsigned block = Block;
  static constexpr int vectors = 4;
  /// How many blocks an SM must have registers for. Two calls of 1024 threads each where possible, so that the next
  /// call's blocks fit beside this one's. That leaves 32 registers a thread: enough for 4-byte sums and sums as wide as
  /// their elements. Other kernels would spill.
  template <class In, class S>
  static constexpr unsigned blocks_per_sm() {
    constexpr bool few_registers = std::is_arithmetic<S>::value && (sizeof(S) == 4 || sizeof(S) == sizeof(In));
    return (holds_two_calls && few_registers ? 2048 : 1024) / Block;
  }

  template <class S, class W, class Operation, class In>
  __device__ S sum_of_thread(const Share<In>& in) const {
    const std::int64_t threads = std::int64_t{gridDim.x} * block, round = vectors * threads;
    std::int64_t first = 0;
    S sum{};
    for (; first + round <= in.vectors; first += round) {
      const auto from = in.body + (first + std::int64_t{blockIdx.x} * block + threadIdx.x);
      const uint4 v[vectors] = {__ldg(from), __ldg(from + threads), __ldg(from + 2 * threads),
                                __ldg(from + 3 * threads)};
      sum += sum_of_vectors<S, W, Operation, In>(v);
    }
    if (first < in.vectors || in.has_ends())
      sum += sum_of_rest<S, W, Operation, vectors>(in, first, blockIdx.x * block + threadIdx.x, gridDim.x * block,
                                                   [](auto p) { return __ldg(p); });
    return sum;
  }
};

/// Blocks take tiles of 8 vectors a thread in turn. A tile is contiguous, which DRAM serves best. The first `kept`
/// vectors are read by plain loads and may stay in L2. Tiles behind them use evict-first loads, so that they displace
/// each other and nothing else. When fewer tiles than blocks remain, all threads share them.
struct Tiled {
  static constexpr unsigned block = 512;
  template <class In, class S>
  static constexpr unsigned blocks_per_sm() {
    return 2;
  }
  static constexpr int vectors = 8;
  static constexpr std::int64_t tile = std::int64_t{block} * vectors;

  template <class S, class W, class Operation, class In>
  __device__ S sum_of_thread(const Share<In>& in) const {
    const std::int64_t round = gridDim.x * tile;
    std::int64_t first = 0;
    S sum{};
    for (; first + round <= in.vectors; first += round) {
      const std::int64_t begin = first + blockIdx.x * tile;
      const auto from = in.body + (begin + threadIdx.x);
      uint4 v[vectors];
      if (begin + tile <= in.kept) {
        for (int u = 0; u < vectors; ++u) v[u] = __ldg(from + u * block);
      } else {
        for (int u = 0; u < vectors; ++u) v[u] = device::load_past_l1(from + u * block);
      }
      sum += sum_of_vectors<S, W, Operation, In>(v);
    }
    if (first < in.vectors || in.has_ends()) {
      const unsigned t = blockIdx.x * block + threadIdx.x, threads = gridDim.x * block;
      if (in.vectors <= in.kept)
        sum += sum_of_rest<S, W, Operation, vectors>(in, first, t, threads, [](auto p) { return __ldg(p); });
      else
        sum += sum_of_rest<S, W, Operation, vectors>(in, first, t, threads,
                                                     [](auto p) { return device::load_past_l1(p); });
    }
    return sum;
  }
};

/// A block's claim to its next tile, or run of tiles, made by its first thread: an atomic that is in flight while the
/// block reads the current one. Each block starts with that of its own number.
class Claim {
 public:
  explicit __device__ Claim(std::uint64_t* claims) : claims_(claims) {
    if (threadIdx.x == 0) number_ = device::atomicAdd(claims, 1);
  }
  /// The claimed tile, of `count`; none if it is `count` or more. There is one claim for each that is read, so the last
  /// claim is known and resets the counter to 0.
  __device__ unsigned answer(unsigned count) const {
    if (number_ == count - 1) device::store_relaxed(claims_, std::uint64_t{0});
    return gridDim.x + static_cast<unsigned>(number_);
  }

 private:
  std::uint64_t* claims_;
  std::uint64_t number_ = 0;
};

/// Dynamic scheduling: blocks claim tiles one by one. With fixed rounds blocks drift apart, because some SMs read more
/// slowly, and DRAM serves neighbouring tiles best. Which block reads a tile differs from call to call; the tile's sum
/// does not. The rest and the ends are one more tile. Loads are plain: so much input does not stay in L2 anyway.
struct Claimed {
  static constexpr unsigned block = Tiled::block;
  template <class In, class S>
  static constexpr unsigned blocks_per_sm() {
    return Tiled::blocks_per_sm<In, S>();
  }
  std::uint64_t* claims;

  /// Calls take(sum, turn) in all threads with the thread's sum of a tile, while the next tile is read; first with 0,
  /// before there is one. `turn` alternates between 0 and 1. `take` must pass a barrier of the block.
  template <class S, class W, class Operation, class In, class Take>
  __device__ void sums_of_tiles(const Share<In>& in, const Take& take) const {
    __shared__ __align__(16) unsigned next[2];
    const auto whole = static_cast<unsigned>(in.vectors / Tiled::tile);
    const unsigned tiles = whole + (whole * Tiled::tile < in.vectors || in.has_ends());
    S sum{};
    unsigned turn = 0;  // two answers in turn: a slow thread may still read the last one
    for (unsigned tile = blockIdx.x; tile < tiles; turn ^= 1) {
      const Claim claim(claims);
      const std::int64_t first = tile * Tiled::tile;
      uint4 v[Tiled::vectors];
      if (tile < whole) {
        const auto from = in.body + (first + threadIdx.x);
        for (int u = 0; u < Tiled::vectors; ++u) v[u] = __ldg(from + u * block);
      }
      if (threadIdx.x == 0) next[turn] = claim.answer(tiles);  // arrives before the tile: it was asked for earlier
      take(sum, turn);
      if (tile < whole)
        sum = sum_of_vectors<S, W, Operation, In>(v);
      else
        sum = sum_of_rest<S, W, Operation, Tiled::vectors>(in, first, threadIdx.x, block,
                                                           [](auto p) { return __ldg(p); });
      tile = next[turn];
    }
    take(sum, turn);
  }

  /// The thread's sum over all its block's tiles, for sums whose order may vary.
  template <class S, class W, class Operation, class In>
  __device__ S sum_of_thread(const Share<In>& in) const {
    S total{};
    sums_of_tiles<S, W, Operation>(in, [&](const S& sum, unsigned) {
      total += sum;
      __syncthreads();  // the claim's answer is stored
    });
    return total;
  }
};

/// Adds up one value of every lane of a warp; valid in lane 0.
template <class W>
__device__ W sum_of_warp(W value) {
  for (unsigned distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}
template <class W>
__device__ Pair<W> sum_of_warp(Pair<W> value) {
  return {sum_of_warp(value.first), sum_of_warp(value.second)};
}

/// Adds up the sums of a block's warps. Every lane reads all of them: a shuffle would cost some 25 cycles a step.
template <unsigned warps, class S>
__device__ S sum_of_warps(const S* sums) {
  S part[warps] = {};
  for (unsigned w = 0; w < warps; ++w) part[w] = sums[w];
  for (unsigned half = warps / 2; half > 0; half /= 2)
    for (unsigned w = 0; w < half; ++w) part[w] += part[w + half];
  return part[0];
}

/// Adds up one value of every thread; valid in all lanes of the first warp. `sums`: one element a warp, not in use.
template <unsigned block, class S>
__device__ S sum_of_block(S value, S* sums) {
  value = sum_of_warp(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  return threadIdx.x < 32 ? sum_of_warps<block / 32, S>(sums) : S{};
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
