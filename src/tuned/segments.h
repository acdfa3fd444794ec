#pragma once
/// Sums of segments of any lengths, in one launch; for your own .cu files.
///
///   #include "reductio/tuned/segments.h"
///
///   tuned::sum_segments(in, offsets, segments, out, workspace, gpu, stream);
///
/// Segment s has the elements in[offsets[s]] to in[offsets[s + 1] - 1]; out[s] is its sum, 0 where it is empty.
/// `offsets` are segments + 1 numbers of std::int64_t in GPU memory, which do not fall: one even of no segments. The
/// rest is as in tuned/rows.h, and so are a segment's bits: they are those of a row with the same elements.
///
/// How it works: blocks share elements and segments evenly, by a search for where their share begins. A block reads its
/// offsets by windows; the next window is on its way while this one is summed. Of a window it loads as many segments as
/// fit into shared memory, by whole vectors. A thread adds up a segment of one vector. Longer ones are listed by their
/// RowTree, and each gets the lanes of its tree. Long ones come last: the block as a whole takes them, by tiles, which
/// other blocks may share.

#include "rows.h"

#if __cplusplus >= 201703L

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Segments as work to be shared. A segment's place is the number of elements before it, and 16 bytes of elements more
/// for each segment: an offset and an output.
template <class In>
struct Segments {
  const In* in;
  const std::int64_t* offsets;
  std::int64_t count;

  static constexpr std::int64_t weight = 16 / sizeof(In);
  __device__ std::int64_t place(std::int64_t s) const { return offsets[s] - offsets[0] + weight * s; }
};

/// x / d for 0 <= x < 2^53 and d > 0, in a third of the time of a GPU's own 64-bit division.
__device__ inline std::int64_t quotient(std::int64_t x, std::int64_t d) {
  const auto q = static_cast<std::int64_t>(static_cast<double>(x) / static_cast<double>(d));
  return q * d > x ? q - 1 : q;
}

/// How blocks share them. A block has the segments, and the tiles of long ones, whose places are its own.
template <class In>
struct SegmentShares {
  static constexpr std::int64_t weight = Segments<In>::weight;
  std::int64_t zero, total;  ///< the first offset and the last
  std::int64_t size;         ///< places of a block

  __device__ std::int64_t place(std::int64_t s, std::int64_t offset) const { return offset - zero + weight * s; }
  __device__ std::int64_t begin() const { return blockIdx.x * size; }
  __device__ unsigned block_of(std::int64_t place) const { return static_cast<unsigned>(quotient(place, size)); }
};

inline constexpr unsigned segment_block = 128;
inline constexpr int segments_of_thread = 4;  ///< of a window
/// What a block has in shared memory, in vectors: two of the longest short segments. So a long one would have the
/// middle.
inline constexpr int segment_tile = 2 * static_cast<int>(short_row_vectors);
constexpr unsigned segment_blocks(const Gpu& gpu) { return std::min(ragged_blocks_per_sm * gpu.sm_count, most_sums); }
/// Least places of a block: small inputs wake few blocks.
inline constexpr std::int64_t least_share = 1024;

/// By a whole warp: the first i in [from, to) that is not below, or `to`. At most 1,024 of them.
template <class Below>
__device__ int first_not(int from, int to, const Below& below) {
  const int lane = static_cast<int>(threadIdx.x % 32), step = (to - from + 31) / 32,
            last = from + lane * step + step - 1;
  from += step * __popc(__ballot_sync(0xffffffffu, step > 0 && last < to && below(last)));
  const int i = from + lane;
  return from + __popc(__ballot_sync(0xffffffffu, lane < step && i < to && below(i)));
}

/// Segments of two vectors and more by kinds, each of one RowTree: kind k has up to 2^(k + 1) vectors, the last one
/// more.
inline constexpr int segment_kinds = 8;
__device__ inline int kind_of(unsigned vectors) {
  const int kind = 31 - __clz(static_cast<int>(vectors - 1));
  return kind < segment_kinds ? kind : segment_kinds - 1;
}
/// Of each kind, four bits: the logarithm of its tree's lanes, or of its vectors.
__host__ __device__ constexpr unsigned logs_of_kinds(bool of_lanes) {
  unsigned out = 0;
  for (int kind = 0; kind < segment_kinds; ++kind) {
    const RowTree tree = row_tree(std::int64_t{2} << kind);
    unsigned log = 0;
    while ((of_lanes ? tree.lanes : static_cast<unsigned>(tree.vectors)) >> (log + 1)) ++log;
    out |= log << 4 * kind;
  }
  return out;
}
/// Where a kind's part of the list begins: a tile has fewer than segment_tile / 2^k segments of kind k.
__host__ __device__ constexpr int begin_of_kind(int kind) { return 2 * segment_tile - (2 * segment_tile >> kind); }

/// A vector of a segment in shared memory, from element i of the tile on. `left` elements are the segment's; zeros
/// behind them.
template <bool aligned, class In>
__device__ uint4 vector_of(const In* tile, int i, int left) {
  constexpr int lanes = Vector<In>::lanes;
  uint4 bits{};
  if constexpr (sizeof(In) >= 4 && aligned) {
    if (left > 0) bits = *reinterpret_cast<const uint4*>(tile + i);
    Vector<In> v;
    memcpy(&v, &bits, sizeof v);
#pragma unroll
    for (int k = 1; k < lanes; ++k)
      if (k >= left) v.lane[k] = In{};
    memcpy(&bits, &v, sizeof bits);
  } else if constexpr (sizeof(In) >= 4) {
    Vector<In> v{};
#pragma unroll
    for (int k = 0; k < lanes; ++k)
      if (k < left) v.lane[k] = tile[i + k];
    memcpy(&bits, &v, sizeof bits);
  } else if (left > 0) {
    const int shift = i % lanes;
    const uint4* const at = reinterpret_cast<const uint4*>(tile) + i / lanes;
    uint4 next{};
    if (shift + (left < lanes ? left : lanes) > lanes) next = at[1];
    bits = shifted<sizeof(In)>(at[0], next, static_cast<unsigned>(shift));
    unsigned w[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int kept = left * static_cast<int>(sizeof(In)) - 4 * k;
      if (kept < 4) w[k] &= kept <= 0 ? 0 : (1u << 8 * kept) - 1;
    }
    bits = {w[0], w[1], w[2], w[3]};
  }
  return bits;
}

/// By 2^log_lanes lanes: the sum of the segment that begins at element `from` of the tile, in the first of them. All
/// lanes of the warp call it.
template <int vectors, bool aligned, class W, class In>
__device__ W sum_by_lanes(const In* tile, int from, int n, int log_lanes) {
  constexpr int in_vector = Vector<In>::lanes;
  const int lanes = 1 << log_lanes, own = static_cast<int>(threadIdx.x) & (lanes - 1);
  W sum{};
  int done = 0;
  do {
    W sums[vectors];
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const int i = done + (own + u * lanes) * in_vector;
      sums[u] = sum_of_vector<W, W, Identity, In>(vector_of<aligned>(tile, from + i, n - i));
    }
#pragma unroll
    for (int half = vectors / 2; half > 0; half /= 2) {
#pragma unroll
      for (int u = 0; u < half; ++u) sums[u] += sums[u + half];
    }
    sum += sums[0];
    done += lanes * vectors * in_vector;
  } while (vectors == 8 && __any_sync(0xffffffffu, done < n));
  for (int distance = lanes / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  return sum;
}

/// The sum of vector i of `at`, loaded element by element; `n` of the elements are the segment's.
template <class W, class In>
__device__ W sum_of_elements(const In* at, int n, int i) {
  constexpr int in_vector = Vector<In>::lanes;
  Vector<In> v{};
#pragma unroll
  for (int k = 0; k < in_vector; ++k)
    if (i * in_vector + k < n) v.lane[k] = at[i * in_vector + k];
  uint4 bits;
  memcpy(&bits, &v, sizeof bits);
  return sum_of_vector<W, W, Identity, In>(bits);
}

/// By a block: the sum of a tile of a long segment, in the first warp; `n` of its elements are the segment's. Each warp
/// stands for several of the tree's. is_inner: all vectors around these elements may be loaded.
template <bool is_inner, class W, class In>
__device__ W sum_of_tile(const In* tile, int n, const RowTree& tree, W* sums) {
  constexpr int most_warps = long_row_block / 32;
  const int warps = static_cast<int>(tree.block / 32), of_warp = 32 * tree.vectors * Vector<In>::lanes;
#pragma unroll 1
  for (int warp = static_cast<int>(threadIdx.x / 32); warp < most_warps; warp += segment_block / 32) {
    W sum{};
#pragma unroll 1
    for (int turn = 0; turn < tree.turns && warp < warps; ++turn) {
      const int first = (turn * warps + warp) * of_warp, left = n - first, own = left < of_warp ? left : of_warp;
      if constexpr (is_inner) {
        RowVectors<In, long_row_vectors, false> v;
        v.load_inner(tile + first, own, threadIdx.x % 32, 32);
        sum += v.template sum<W, Identity>();
      } else {
        W of_turn{};
#pragma unroll 1
        for (int u = 0; u < long_row_vectors / 2; ++u) {
          const int i = static_cast<int>(threadIdx.x % 32) + u * 32;
          of_turn += sum_of_elements<W>(tile + first, own, i) +
                     sum_of_elements<W>(tile + first, own, i + long_row_vectors / 2 * 32);
        }
        sum += of_turn;
      }
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % 32 == 0) sums[warp] = sum;
  }
  __syncthreads();  // every warp's sums are stored before the first warp reads them
  return threadIdx.x < 32 ? sum_of_warps<most_warps, W>(sums) : W{};
}

/// By a block: the tiles of a long segment that begin in its share. `sums`: two buffers in turn, of which `turn` was
/// used last, since the first warp may still read it. A function that is called, since its registers would leave few
/// for the others.
template <class W, class In, class Acc>
__device__ __noinline__ unsigned take_tiles(const Segments<In> segments, std::int64_t s, const SegmentShares<In> share,
                                            Acc* out, std::uint64_t* workspace, W* sums, unsigned turn) {
  constexpr int in_vector = Vector<In>::lanes, in_line = 128 / sizeof(In);
  const std::int64_t at = segments.offsets[s], n = segments.offsets[s + 1] - at, place = share.place(s, at),
                     begin = share.begin(), end = begin + share.size;
  const RowTree tree = row_tree((n + in_vector - 1) / in_vector);
  const std::int64_t tile = std::int64_t{tree.block} * tree.turns * tree.vectors * in_vector,
                     mine = place < begin ? quotient(begin - place + tile - 1, tile) : 0,
                     others = quotient(end - place + tile - 1, tile), last = others < tree.tiles ? others : tree.tiles;
  typename TilesOfRow<W>::Added added{};
  const In* from = segments.in + (at + mine * tile);
  // Elements of the segment from this tile on, and of all segments before this tile.
  std::int64_t left = n - mine * tile, before = at + mine * tile - share.zero;
  const auto count = [&] { return static_cast<int>(left < tile ? left : tile); };
  // The first tile comes to L2 while each warp reads its parts of it in turn. Fetching all tiles was slower (E80).
  if (mine < last)
    for (int i = static_cast<int>(threadIdx.x) * in_line; i < count(); i += static_cast<int>(segment_block) * in_line)
      device::prefetch_to_l2(from + i);
  for (std::int64_t k = mine; k < last; ++k) {
    turn ^= 1;
    W* const of_warps = sums + turn * (long_row_block / 32);
    const int own = count(), shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % 16 / sizeof(In)),
              beyond = -(own + shift) & (in_vector - 1);
    const bool is_inner = before >= shift && share.total - share.zero - before - own >= beyond;
    const W sum = is_inner ? sum_of_tile<true, W>(from, own, tree, of_warps)
                           : sum_of_tile<false, W>(from, own, tree, of_warps);
    from += tile, left -= tile, before += tile;
    if (tree.tiles == 1) {
      if (threadIdx.x == 0) out[s] = static_cast<Acc>(sum);
    } else if (threadIdx.x < 32) {
      TilesOfRow<W>::add(added, sum);
    }
  }
  if (tree.tiles == 1 || mine >= last || threadIdx.x >= 32) return turn;
  // Either each block from the first to the last has tiles, or each tile is another block's.
  const unsigned first = share.block_of(place);
  const unsigned blocks = share.size >= tile ? share.block_of(place + (tree.tiles - 1) * tile) - first + 1
                                             : static_cast<unsigned>(tree.tiles);
  end_row<W, Acc>(added, words_of_row(workspace, first, blocks), blocks, out + s);
  return turn;
}

/// Launch: blocks of segment_block; `inverse` is 1 over their number.
template <class In, class Acc>
__global__ void __launch_bounds__(segment_block, least_blocks(ragged_blocks_per_sm, segment_block))
    sum_ragged(const Segments<In> segments, const double inverse, Acc* out, std::uint64_t* workspace) {
  using W = typename AddedIn<Acc>::type;
  constexpr int in_vector = Vector<In>::lanes, block = static_cast<int>(segment_block),
                in_window = block * segments_of_thread, limit = static_cast<int>(short_row_vectors) * in_vector,
                loads = segment_tile / block, most_long = 128;
  // A window knows its elements as numbers from its first one on: `far` are those that it does not.
  constexpr int far = 0x7fffffff, known = 1 << 30;
  constexpr std::int64_t nowhere = std::int64_t{1} << 62;
  static_assert(in_window <= 1024, "first_not() searches so many");
  __shared__ __align__(16) W sums[2 * (long_row_block / 32)];
  __shared__ __align__(16) In tile[(segment_tile + 1) * in_vector];
  __shared__ int starts[in_window + 1], counts[segment_kinds];
  __shared__ unsigned short listed[begin_of_kind(segment_kinds)];
  __shared__ std::int64_t long_ones[most_long];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const std::int64_t* const offsets = segments.offsets;
  using Shares = SegmentShares<In>;

  // The first segment of the share is in [low, high]: until a window has these, and the one before, each thread looks
  // at a place. Few places, since all blocks look at the same ones at once. If one look is enough, a quarter of a
  // window may be left, since so few segments have small shares. The first loads do not wait for the total.
  std::int64_t low = 0, high = segments.count, step = 0, seen = 0;
  const auto look = [&](int least_step) {
    step = (high - low + block - 1) / block;
    if (step < least_step) step = least_step;
    const std::int64_t at = low + step * thread;
    seen = at < high ? __ldg(offsets + at) + Shares::weight * at : nowhere;
  };
  if (high + 2 > in_window) look(in_window / 4);
  Shares share{__ldg(offsets), __ldg(offsets + segments.count), 0};
  const std::int64_t all = share.place(segments.count, share.total);
  share.size = static_cast<std::int64_t>(static_cast<double>(all) * inverse) + 2;  // more than enough
  if (share.size < least_share) share.size = least_share;
  const std::int64_t begin = share.begin(), end = begin + share.size;
  if (begin >= all) return;
#pragma unroll 1
  while (high - low + 2 > in_window) {
    const int below = __syncthreads_count(seen - share.zero < begin);
    high = low + below * step < high ? low + below * step : high;
    if (below > 0) low += (below - 1) * step + 1;
    if (high - low + 2 > in_window) look(in_window / 32);
  }

  std::int64_t window = low > 0 ? low - 1 : 0;
  bool is_first = true, is_done = false;
  unsigned turn = 0;
#pragma unroll 1
  do {
    std::int64_t ahead[segments_of_thread], base = __ldg(offsets + window), behind;
    const auto load = [&](std::int64_t first) {
      if (first + in_window <= segments.count) {
#pragma unroll
        for (int j = 0; j < segments_of_thread; ++j) ahead[j] = __ldg(offsets + first + (thread + j * block));
        behind = __ldg(offsets + (first + in_window));
      } else {
#pragma unroll
        for (int j = 0; j < segments_of_thread; ++j) {
          const std::int64_t s = first + (thread + j * block);
          ahead[j] = s <= segments.count ? __ldg(offsets + s) : nowhere;
        }
        behind = nowhere;
      }
    };
    load(window);
    int long_count = 0;
    const auto take_later = [&](std::int64_t s) {
      if (thread == 0) long_ones[long_count] = s;
      ++long_count;
    };
#pragma unroll 1
    for (;;) {
      const bool is_near = behind - base < known;
      if (is_near) {
#pragma unroll
        for (int j = 0; j < segments_of_thread; ++j) starts[thread + j * block] = static_cast<int>(ahead[j] - base);
        if (thread == 0) starts[in_window] = static_cast<int>(behind - base);
      } else {
        const auto start = [&](std::int64_t offset) {
          return offset - base < known ? static_cast<int>(offset - base) : far;
        };
#pragma unroll
        for (int j = 0; j < segments_of_thread; ++j) starts[thread + j * block] = start(ahead[j]);
        if (thread == 0) starts[in_window] = start(behind);
      }
      __syncthreads();  // the window is stored
      // Its segments from t to `usable` are this block's. There are `count`.
      int t = 0, usable = in_window, count = in_window;
      if (is_first || !is_near || share.place(window + in_window, behind) > end) {
        const std::int64_t place = share.place(window, base), rest = segments.count - window;
        if (rest < count) count = static_cast<int>(rest);
        const auto first_behind = [&](std::int64_t bound) {
          const std::int64_t left = bound - place;
          const unsigned until = left < 0 ? 0 : left < far ? static_cast<unsigned>(left) : unsigned{far};
          return first_not(0, count, [=](int i) {
            return static_cast<unsigned>(starts[i]) + static_cast<unsigned>(Shares::weight) * static_cast<unsigned>(i) <
                   until;
          });
        };
        usable = first_behind(end);
        if (is_first) {
          t = first_behind(begin);
          // The first may be further than the window knows.
          is_first = t > 0 && starts[t] == far && share.place(window + t, offsets[window + t]) < begin;
          if (is_first)
            usable = t;
          else if (t > 0 && starts[t] - starts[t - 1] > limit &&
                   offsets[window + t] - offsets[window + t - 1] > limit)  // not only far
            take_later(window + t - 1);  // some of its tiles may begin here
        }
      }
      const In* const elements = segments.in + base;
      const std::int64_t to_begin = share.zero - base, to_end = share.total - base;
      const bool is_inner = is_near && to_begin <= -in_vector && share.total - behind >= in_vector;
      const int all_from = to_begin < -in_vector ? -in_vector : static_cast<int>(to_begin),
                all_to = to_end < far ? static_cast<int>(to_end) : far;
      std::int64_t next = window + in_window;
      if (usable == in_window) {
        base = behind;
        load(next);
      }
#pragma unroll 1
      while (t < usable) {
        const int first = starts[t];
        const In* const at = elements + first;
        const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16 / sizeof(In)),
                  room = segment_tile * in_vector - shift;
        int stop = usable;
        if (starts[usable] - first > limit) {
          stop = first_not(t, usable, [=](int i) { return starts[i + 1] - first <= limit; });
          if (stop == t) {
            // A long one. If its end is not known, a window that it begins tells whether it is.
            if (long_count == most_long || (starts[t + 1] == far && t > 0)) break;
            take_later(window + t);
            ++t;
            continue;
          }
          // The middle's is short, so all that fit are.
          if (stop < usable && starts[stop + 1] - starts[stop] <= limit)
            stop = first_not(stop, usable, [=](int i) { return starts[i + 1] - first <= room; });
        }
        const int n = starts[stop] - first;
        // What lies before and behind is ours to load as well, but not beyond the ends of all segments.
        bool has_head = true;
        int until = n;
        if (!is_inner) {
          const int last = (n + shift - 1) / in_vector * in_vector - shift;
          has_head = first - shift >= all_from;
          if (first + last + in_vector > all_to) until = last;
        }
        const int mine = thread * in_vector - shift;
        uint4 v[loads];
#pragma unroll
        for (int u = 0; u < loads; ++u) {
          v[u] = {};
          if (mine + u * block * in_vector < until && (u > 0 || mine >= 0 || has_head))
            v[u] = __ldg(reinterpret_cast<const uint4*>(at + mine) + u * block);
        }
        __syncthreads();  // the last tile and its list have been read
        if (thread < segment_kinds) counts[thread] = 0;
#pragma unroll
        for (int u = 0; u < loads; ++u)
          if (mine + u * block * in_vector < n) memcpy(tile + (thread + u * block) * in_vector, &v[u], sizeof v[u]);
        if (!has_head || until < n) {
          __syncthreads();  // elements replace the zeros of what was not loaded
          if (!has_head && thread >= shift && thread < in_vector && thread - shift < n)
            tile[thread] = at[thread - shift];
          if (thread < in_vector && until + thread < n && until + thread >= 0)
            tile[until + shift + thread] = at[until + thread];
        }
        __syncthreads();  // the tile is loaded, and the list empty
        Acc* const to = out + window;
        bool has_listed = false;
#pragma unroll
        for (int j = 0; j < segments_of_thread; ++j) {
          const int i = t + thread + j * block;
          if (i < stop) {
            const int from = starts[i], length = starts[i + 1] - from;
            if (length <= in_vector) {
              to[i] = static_cast<Acc>(
                  W{} + sum_of_vector<W, W, Identity, In>(vector_of<false>(tile, from - first + shift, length)));
            } else {
              const int kind = kind_of(static_cast<unsigned>(length + in_vector - 1) / in_vector);
              listed[begin_of_kind(kind) + device::atomicAdd(counts + kind, 1)] = static_cast<unsigned short>(i);
              has_listed = true;
            }
          }
        }
        if (__syncthreads_or(has_listed)) {  // the list is complete
          // A task is what a warp takes at a time, of one kind. Lane k knows how many there are up to kind k.
          constexpr unsigned logs_of_lanes = logs_of_kinds(true), logs_of_vectors = logs_of_kinds(false);
          const int counted = lane < segment_kinds ? counts[lane] : 0,
                    log_of_own = static_cast<int>(logs_of_lanes >> 4 * (lane % segment_kinds) & 15);
          int tasks = (counted + (32 >> log_of_own) - 1) >> (5 - log_of_own);
#pragma unroll
          for (int distance = 1; distance < segment_kinds; distance *= 2) {
            const int before = __shfl_up_sync(0xffffffffu, tasks, distance);
            if (lane >= distance) tasks += before;
          }
          int task = __shfl_sync(0xffffffffu, tasks, segment_kinds - 1) - 1 - thread / 32;
#pragma unroll 1
          while (task >= 0) {
            const int kind = __popc(__ballot_sync(0xffffffffu, lane < segment_kinds && tasks <= task)),
                      entries = __shfl_sync(0xffffffffu, counted, kind),
                      earlier = __shfl_sync(0xffffffffu, tasks, kind > 0 ? kind - 1 : 0),
                      tasks_before = kind > 0 ? earlier : 0,
                      log_lanes = static_cast<int>(logs_of_lanes >> 4 * kind & 15),
                      log_vectors = static_cast<int>(logs_of_vectors >> 4 * kind & 15);
#pragma unroll 1
            for (; task >= tasks_before; task -= block / 32) {
              const int entry = ((task - tasks_before) << (5 - log_lanes)) + (lane >> log_lanes);
              int i = 0, from = 0, length = -1;
              if (entry < entries) {
                i = listed[begin_of_kind(kind) + entry];
                from = starts[i], length = starts[i + 1] - from;
                from += shift - first;
              }
              const auto sum_of = [&](auto aligned) {
                constexpr bool is = decltype(aligned)::value;
                return log_vectors == 1   ? sum_by_lanes<2, is, W>(tile, from, length, log_lanes)
                       : log_vectors == 2 ? sum_by_lanes<4, is, W>(tile, from, length, log_lanes)
                                          : sum_by_lanes<8, is, W>(tile, from, length, log_lanes);
              };
              const W sum = sizeof(In) >= 4 && __all_sync(0xffffffffu, from % in_vector == 0)
                                ? sum_of(std::true_type{})
                                : sum_of(std::false_type{});
              if (length >= 0 && (lane & ((1 << log_lanes) - 1)) == 0) to[i] = static_cast<Acc>(sum);
            }
          }
        }
        t = stop;
      }
      if (t == count) {
        is_done = t < in_window;
      } else {
        next = window + t;
        base = offsets[next];
        is_done = share.place(next, base) >= end;
        if (!is_done) load(next);
      }
      window = next;
      __syncthreads();  // the window has been read, and the list of long ones is complete
      if (is_done || long_count == most_long) break;
    }
#pragma unroll 1
    for (int i = 0; i < long_count; ++i)
      turn = take_tiles<W>(segments, long_ones[i], share, out, workspace, sums, turn);
    __syncthreads();  // that list has been read
  } while (!is_done);
}

/// The sums of the segments in one call.
template <class In, class Acc>
void sum_segments(const In* in, const std::int64_t* offsets, std::size_t segments, Acc* out, std::uint64_t* workspace,
                  const Gpu& gpu, void* stream) {
  static_assert(adds_up<In, Acc>(), "tuned: the sums' type does not go with the elements' (tuned/tuned.h lists them)");
  const unsigned blocks = segment_blocks(gpu);
  Launch launch{blocks, segment_block, 0, stream};
  launch.overlaps = gpu.compute_capability >= 90;
  device::launch<sum_ragged<In, Acc>>(launch, Segments<In>{in, offsets, static_cast<std::int64_t>(segments)},
                                      1.0 / blocks, out, workspace);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned

#endif  // C++17
