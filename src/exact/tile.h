#pragma once
/// How the blocks of an exact sum read their tiles, in turn or by claims, and the kernels.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "../tuned/launch_table.h"
#include "../tuned/reading.h"
#include "finish.h"
#include "window.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Thread t's share of the elements before the first vector and behind the last, with -0 beside them; else `instead`.
template <class In>
__device__ uint4 with_ends(const Share<In>& in, unsigned t, const uint4& instead) {
  if (t >= in.head_count && t >= in.tail_count) return instead;
  Vector<In> v;
  const uint4 none = negative_zeros<In>();
  memcpy(&v, &none, sizeof v);
  if (t < in.head_count) v.lane[0] = in.head[t];
  if (t < in.tail_count) v.lane[1] = in.tail[t];
  uint4 bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

inline constexpr unsigned exact_block = block_of(Reading::strided);

/// How the blocks of an exact sum read: tiles of `vectors` vectors a thread, with -0 for what there is not.
template <int vectors>
struct ExactTiles {
  static constexpr unsigned block = exact_block;

  /// Calls take(v) in all threads. Blocks take tiles in turn; all threads share what is less than a round.
  template <class In, class Take>
  static __device__ void in_turn(const Share<In>& in, const Take& take) {
    const std::int64_t round = std::int64_t{gridDim.x} * block * vectors;
    bool ends = in.has_ends();
    for (std::int64_t first = 0; first < in.vectors || ends; first += round) {
      uint4 v[vectors];
      if (first + round < in.vectors) {
        const auto from = in.body + (first + std::int64_t{blockIdx.x} * block * vectors + threadIdx.x);
        for (int u = 0; u < vectors; ++u) v[u] = __ldg(from + u * block);
      } else {
        ends = !load_rest(in, first, v) && ends;
      }
      take(v);
    }
  }

  /// The same by dynamic scheduling, as Claimed does it (tuned/reading.h): with fixed rounds blocks drift apart, and
  /// DRAM serves neighbouring tiles best. Ahead: a tile is under way while the one before is added up. What is behind
  /// the first `kept` vectors is read evict-first.
  ///
  /// Of many tiles a claim is to four neighbouring ones, and to single tiles at the end, so that blocks end together.
  /// An H200 reads single tiles 10 % more slowly, an H100 1 % faster (trial E35).
  template <bool ahead, class In, class Take>
  static __device__ void claimed(const Share<In>& in, std::uint64_t* claims, const Take& take) {
    constexpr unsigned tile_vectors = block * vectors;
    const auto whole = static_cast<unsigned>(in.vectors / tile_vectors);
    // What is less than a tile is one, too, and so are the ends.
    const unsigned without_ends = whole + (std::int64_t{whole} * tile_vectors < in.vectors),
                   tiles = without_ends + in.has_ends();
    const auto load = [&](unsigned tile, uint4 (&v)[vectors]) {
      const std::int64_t first = std::int64_t{tile} * tile_vectors + threadIdx.x;
      const auto from = in.body + first;
      if (tile >= whole) {
        for (int u = 0; u < vectors; ++u) {
          v[u] = negative_zeros<In>();
          if (first + u * std::int64_t{block} < in.vectors) v[u] = __ldg(from + u * block);
        }
        if (tile >= without_ends) v[0] = with_ends(in, threadIdx.x, v[0]);
      } else if (first < in.kept) {
        for (int u = 0; u < vectors; ++u) v[u] = __ldg(from + u * block);
      } else {
        for (int u = 0; u < vectors; ++u) v[u] = device::load_past_l1(from + u * block);
      }
    };
    constexpr unsigned run = 4, many = 21, singles = 4;  // tiles; of each block: those that are many, those at the end
    const unsigned runs = tiles > many * gridDim.x ? (tiles - singles * gridDim.x) / run : 0,
                   count = tiles - (run - 1) * runs;  // of claims; the first `runs` are to a run each
    unsigned claimed = blockIdx.x, turn = 0;
    if (claimed >= count) return;
    unsigned tile, left;
    const auto begin = [&] {
      tile = claimed < runs ? run * claimed : claimed + (run - 1) * runs;
      left = claimed < runs ? run : 1;
    };
    begin();
    __shared__ __align__(16) unsigned next[2];  // in turn: a slow thread may still read one
    Claim claim(claims);
    uint4 after[vectors];
    if (ahead) load(tile, after);
    for (bool more = true; more;) {
      uint4 v[vectors];
      if (ahead)
        for (int u = 0; u < vectors; ++u) v[u] = after[u];
      else load(tile, v);
      if (--left == 0) {
        if (threadIdx.x == 0) next[turn] = claim.answer(count);
        __syncthreads();  // the claim's answer is stored
        claimed = next[turn];
        turn ^= 1;
        more = claimed < count;
        if (more) {
          claim = Claim(claims);
          begin();
        }
      } else {
        ++tile;
      }
      if (ahead && more) load(tile, after);
      take(v);
    }
  }

  /// Loads everything into one tile of each block, which gets the elements that it gets by in_turn(). False: the ones
  /// before and behind the vectors have no place.
  template <class In>
  static __device__ bool fill(const Share<In>& in, uint4 (&v)[vectors]) {
    return load_rest(in, 0, v);
  }

 private:
  /// Vectors from `first` on, at most a round of them, and the ends in the last threads' last places. False: these
  /// are taken, and there is another round.
  template <class In>
  static __device__ bool load_rest(const Share<In>& in, std::int64_t first, uint4 (&v)[vectors]) {
    const unsigned threads = gridDim.x * block, t = blockIdx.x * block + threadIdx.x;
    const std::int64_t rest = in.vectors - first;
    int left = static_cast<int>(rest) - static_cast<int>(t);
    auto from = in.body + (first + t);
    for (int u = 0; u < vectors; ++u, left -= static_cast<int>(threads), from += threads) {
      v[u] = negative_zeros<In>();
      if (left > 0) v[u] = __ldg(from);
    }
    const unsigned ends = in.head_count > in.tail_count ? in.head_count : in.tail_count;
    const bool fits = rest + ends <= std::int64_t{threads} * vectors;
    if (fits) v[vectors - 1] = with_ends(in, threads - 1 - t, v[vectors - 1]);
    return fits;
  }
};

/// Sums only: by a single block, or by several, a tile each. Any: by blocks in turn, or by such that claim their tiles.
enum class ExactRead { alone, at_once, in_turn, claimed };

/// Blocks an SM must have registers for. Squares and elements of 16 bits, of which a vector has most, need more.
template <class In, class Operation>
constexpr unsigned exact_blocks_per_sm(ExactRead read) {
  return read == ExactRead::claimed || sizeof(In) == 2 || !std::is_same<Operation, device::Identity>::value ? 3 : 4;
}

/// What every block does: adds up its tiles, and its sum to the others'.
template <class In, class Operation, int vectors, ExactRead read, bool roomy = true>
__device__ void add_tiles(const Share<In>& in, const ExactFinish& finish) {
  constexpr bool moments = std::is_same<Operation, Moments>::value;
  // Doubles of 250 binary orders have 20 bins. Moments have no memory for more than 16.
  using First = ExactWarp<In, std::conditional_t<moments, device::Identity, Operation>, vectors,
                          !roomy ? 0 : sizeof(In) == 8 && !moments ? 20 : 16>;
  using Second = ExactWarp<In, device::Square, vectors>;  // of moments
  constexpr unsigned warps = exact_block / 32;
  const auto each = [&](const auto& take) {
    if constexpr (read == ExactRead::claimed)  // two sums have no registers to read ahead
      ExactTiles<vectors>::template claimed<!moments>(in, finish.workspace + claims_word, take);
    else
      ExactTiles<vectors>::in_turn(in, take);
  };
  using FirstBin = typename First::Bin;
  __shared__ __align__(16) FirstBin first_bins[warps * First::bins];
  First first(first_bins + threadIdx.x / 32 * First::bins);
  if constexpr (moments) {
    using SecondBin = typename Second::Bin;
    __shared__ __align__(16) SecondBin second_bins[warps * Second::bins];
    Second second(second_bins + threadIdx.x / 32 * Second::bins);
    each([&](const uint4 (&v)[vectors]) {
      first.add(v);
      second.add(v);
    });
    finish.end<0, warps>(first);
    finish.end<1, warps>(second);
  } else {
    each([&](const uint4 (&v)[vectors]) { first.add(v); });
    if constexpr (read == ExactRead::in_turn && roomy && First::parts <= 2) {  // else the kernel has tried
      const ExactFinish::Warps of = finish.warps_of<warps>(first, first.is_whole());
      if (of.are_whole && finish.has_combined<warps, First>(of)) return;
    }
    finish.end<0, warps>(first);
  }
}
/// The same, kept apart: code that a kernel rarely runs. What it does run then lies together, and cold instructions are
/// a large part of a small sum's time.
template <class In, class Operation, int vectors>
__device__ __noinline__ void add_tiles_apart(const Share<In> in, const ExactFinish finish) {
  add_tiles<In, Operation, vectors, ExactRead::in_turn, false>(in, finish);
}

template <int vectors>
struct Tile {
  uint4 v[vectors];
};
/// The same of a block's only tile, which is in registers.
template <class In, class Operation, int vectors>
__device__ __noinline__ void add_tile_apart(const Tile<vectors> tile, const ExactFinish finish) {
  using Warp = ExactWarp<In, Operation, vectors, 0>;
  constexpr unsigned warps = exact_block / 32;
  uint4 v[vectors];
#pragma unroll
  for (int u = 0; u < vectors; ++u) v[u] = tile.v[u];
  Warp warp(nullptr);
  warp.add(v);
  finish.end<0, warps>(warp);
}

/// The kernel. One vector a thread and tile where that is all there is.
template <class In, class Operation, int vectors, ExactRead read>
__global__ void __launch_bounds__(exact_block, exact_blocks_per_sm<In, Operation>(read))
add_exactly(const Share<In> in, const ExactFinish finish) {
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  if constexpr (read == ExactRead::alone || read == ExactRead::at_once) {
    using Warp = ExactWarp<In, Operation, vectors, 0, true>;
    constexpr unsigned warps = exact_block / 32;
    uint4 v[vectors];
    if (ExactTiles<vectors>::fill(in, v)) {
      Warp warp(static_cast<typename Warp::Bin*>(nullptr));
      const ExactFinish::Warps of = finish.warps_of<warps>(warp, warp.add_only(v));
      if (of.are_whole) {
        if (read == ExactRead::at_once ? finish.has_combined<warps, Warp>(of) : finish.has_rounded<warps, Warp>(of))
          return;
        if (read == ExactRead::alone && finish.has_combined_apart<warps, Warp>(finish, of)) return;
      }
      if constexpr (Warp::in_slices) {
        Tile<vectors> tile;
#pragma unroll
        for (int u = 0; u < vectors; ++u) tile.v[u] = v[u];
        return add_tile_apart<In, Operation, vectors>(tile, finish);
      }
    }
    add_tiles_apart<In, Operation, vectors>(in, finish);
  } else {
    add_tiles<In, Operation, vectors, read>(in, finish);
  }
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
