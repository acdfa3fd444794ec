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
/// How it works: blocks share elements and segments evenly, by a search for where their share begins. The warps of a
/// block take 32 segments at a time, and those of one RowTree together. The block as a whole takes long ones, by tiles,
/// which other blocks may share.

#include "rows.h"

#if __cplusplus >= 201703L

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Segments as work to be shared. A segment costs as much as 16 bytes of elements more.
template <class In>
struct Segments {
  const In* in;
  const std::int64_t* offsets;
  std::int64_t count;

  static constexpr std::int64_t weight = 16 / sizeof(In);  ///< an offset and an output
  __device__ std::int64_t place(std::int64_t s) const { return offsets[s] - offsets[0] + weight * s; }
  /// What may be loaded around element i.
  __device__ Reach reach(std::int64_t i) const {
    constexpr std::int64_t most = 1 << 30;
    const std::int64_t begin = offsets[0] - i, end = offsets[count] - i;
    return {static_cast<int>(begin < -most ? -most : begin), static_cast<int>(end > most ? most : end)};
  }
};

/// The first segment whose place is not below `place`, by a whole warp that looks at 32 in each step.
template <class In>
__device__ std::int64_t first_from(const Segments<In>& segments, std::int64_t place) {
  std::int64_t low = 0, high = segments.count;
  while (low < high) {
    const std::int64_t step = (high - low + 31) / 32, at = low + step * (threadIdx.x % 32);
    const unsigned below = __ballot_sync(0xffffffffu, at < high && segments.place(at) < place);
    const int steps = __popc(below);
    if (steps == 0) return low;
    high = low + steps * step < high ? low + steps * step : high;
    low += (steps - 1) * step + 1;
  }
  return low;
}

/// The place of the set bit with this number.
__device__ inline unsigned set_bit(unsigned bits, unsigned number) {
  unsigned place = 0;
#pragma unroll
  for (unsigned half = 16; half > 0; half /= 2) {
    const auto below = static_cast<unsigned>(__popc(bits >> place & ((1u << half) - 1)));
    if (number >= below) number -= below, place += half;
  }
  return place;
}

/// By a warp: sums of the segments that the lanes in `which` have, all of one RowTree. Element 0 of a lane's segment is
/// in[begin]; its sum goes to out[lane].
template <int vectors, class In, class Acc>
__device__ void sum_of_warps_segments(const Segments<In>& segments, unsigned which, unsigned log_lanes,
                                      std::int64_t begin, int n, Acc* out) {
  using W = typename AddedIn<Acc>::type;
  constexpr unsigned all = 0xffffffffu;
  constexpr int at_once = rows_at_once(vectors);
  const unsigned lanes = 1u << log_lanes, lane = threadIdx.x % 32, own = lane & (lanes - 1), of_pass = 32u >> log_lanes,
                 count = static_cast<unsigned>(__popc(which));
  for (unsigned done = 0; done < count; done += at_once * of_pass) {
    RowVectors<In, vectors, false> v[at_once];
    W sums[at_once] = {};
    unsigned from[at_once];
    std::int64_t first[at_once];
    int length[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const unsigned number = done + static_cast<unsigned>(j) * of_pass + (lane >> log_lanes);
      from[j] = which == all ? number % 32 : set_bit(which, number) % 32;
      first[j] = __shfl_sync(all, begin, static_cast<int>(from[j]));
      length[j] = __shfl_sync(all, n, static_cast<int>(from[j]));
      if (number >= count) length[j] = -1;
    }
    int turn = 0;
    do {
#pragma unroll
      for (int j = 0; j < at_once; ++j)
        v[j].load(segments.in + (first[j] + turn), length[j] - turn, segments.reach(first[j] + turn), own, lanes);
#pragma unroll
      for (int j = 0; j < at_once; ++j) sums[j] += v[j].template sum<W, Identity>();
      turn += static_cast<int>(lanes) * vectors * Vector<In>::lanes;
    } while (vectors == 8 && __any_sync(all, turn < length[0]));
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int j = 0; j < at_once; ++j) sums[j] += __shfl_down_sync(all, sums[j], distance);
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j)
      if (own == 0 && length[j] >= 0) out[from[j]] = static_cast<Acc>(sums[j]);
  }
}

/// By a block: the sum of a tile of a long segment, in the first warp.
template <class W, class In>
__device__ W sum_of_tile(const Segments<In>& segments, std::int64_t begin, std::int64_t n, const RowTree& tree,
                         std::int64_t tile, W* sums) {
  const int of_warp = 32 * tree.vectors * Vector<In>::lanes, of_turn = static_cast<int>(long_row_block / 32) * of_warp;
  W sum{};
  for (int t = 0; t < tree.turns; ++t) {
    const std::int64_t first = (tile * tree.turns + t) * of_turn + (threadIdx.x / 32) * of_warp, left = n - first;
    RowVectors<In, long_row_vectors, false> v;
    v.load(segments.in + (begin + first), static_cast<int>(left < of_warp ? left : of_warp),
           segments.reach(begin + first), threadIdx.x % 32, 32);
    sum += v.template sum<W, Identity>();
  }
  return sum_of_block<long_row_block>(sum, sums);
}

/// Launch: blocks of long_row_block.
template <class In, class Acc>
__global__ void __launch_bounds__(long_row_block, 2)
    sum_ragged(const Segments<In> segments, Acc* out, std::uint64_t* workspace) {
  using W = typename AddedIn<Acc>::type;
  constexpr unsigned warps = long_row_block / 32, batches = 4, of_round = 32 * warps * batches;
  __shared__ __align__(16) W sums[2 * warps];
  __shared__ std::int64_t bounds[2];
  __shared__ unsigned long_ones[of_round], long_count;
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // Of a small input each block has 1,024 elements at least, and the blocks behind have none.
  const std::int64_t all = segments.place(segments.count), most = (all + 1023) / 1024;
  const EvenShare share{all, most < gridDim.x ? static_cast<unsigned>(most) : gridDim.x};
  if (blockIdx.x >= share.blocks) return;
  const std::int64_t begin = share.begin(blockIdx.x), end = share.begin(blockIdx.x + 1);
  if (warp < 2) {
    const std::int64_t found = first_from(segments, warp == 0 ? begin : end);
    if (lane == 0) bounds[warp] = found;
  }
  if (threadIdx.x == 0) long_count = 0;
  __syncthreads();  // the bounds and the empty list
  const std::int64_t first = bounds[0], behind = bounds[1];
  unsigned turn = 0;
  // Takes the tiles of a long segment that begin in this share.
  const auto take_tiles = [&](std::int64_t s) {
    const std::int64_t at = segments.offsets[s], n = segments.offsets[s + 1] - at, place = segments.place(s);
    const RowTree tree = row_tree((n + Vector<In>::lanes - 1) / Vector<In>::lanes);
    const std::int64_t tile = std::int64_t{long_row_block} * tree.turns * tree.vectors * Vector<In>::lanes,
                       mine = place < begin ? (begin - place + tile - 1) / tile : 0,
                       others = (end - place + tile - 1) / tile, last = others < tree.tiles ? others : tree.tiles;
    typename TilesOfRow<W>::Added added{};
    for (std::int64_t k = mine; k < last; ++k) {
      const W sum = sum_of_tile<W>(segments, at, n, tree, k, sums + (turn ^= 1) * warps);  // two: one may be read yet
      if (tree.tiles == 1) {
        if (threadIdx.x == 0) out[s] = static_cast<Acc>(sum);
      } else if (threadIdx.x < 32) {
        TilesOfRow<W>::add(added, sum);
      }
    }
    if (tree.tiles == 1 || mine >= last || threadIdx.x >= 32) return;
    // Either each block from the first to the last has tiles, or each tile is another block's.
    const unsigned block = share.block_of(place);
    const auto blocks = share.count / share.blocks >= tile ? share.block_of(place + (tree.tiles - 1) * tile) - block + 1
                                                           : static_cast<unsigned>(tree.tiles);
    end_row<W, Acc>(added, words_of_row(workspace, block, blocks), blocks, out + s);
  };
  // Of the last one that begins before this share some tiles may begin in it.
  if (first > 0 &&
      row_tree((segments.offsets[first] - segments.offsets[first - 1] + Vector<In>::lanes - 1) / Vector<In>::lanes)
              .turns > 0)
    take_tiles(first - 1);
  for (std::int64_t round = first; round < behind; round += of_round) {
    for (unsigned batch = 0; batch < batches; ++batch) {
      const std::int64_t s0 = round + (batch * warps + warp) * 32, s = s0 + lane;
      if (s0 >= behind) break;
      std::int64_t at = 0, n = -1;
      if (s < behind) at = segments.offsets[s], n = segments.offsets[s + 1] - at;
      const std::int64_t vectors = (n + Vector<In>::lanes - 1) / Vector<In>::lanes;
      if (n == 0) out[s] = Acc{};
      if (vectors > short_row_vectors) long_ones[device::atomicAdd(&long_count, 1u)] = static_cast<unsigned>(s - round);
      const bool is_short = n > 0 && vectors <= short_row_vectors;
      const RowTree tree = row_tree(is_short ? vectors : 1);
      const unsigned kind = tree.lanes * 16 + static_cast<unsigned>(tree.vectors);
      for (unsigned left = __ballot_sync(0xffffffffu, is_short); left != 0;) {
        const unsigned now = __shfl_sync(0xffffffffu, kind, __ffs(static_cast<int>(left)) - 1),
                       which = __ballot_sync(0xffffffffu, is_short && kind == now);
        left &= ~which;
        const auto log_lanes = static_cast<unsigned>(__ffs(static_cast<int>(now / 16)) - 1);
        const int length = static_cast<int>(n);
        if (now % 16 == 2)
          sum_of_warps_segments<2>(segments, which, log_lanes, at, length, out + s0);
        else if (now % 16 == 4)
          sum_of_warps_segments<4>(segments, which, log_lanes, at, length, out + s0);
        else
          sum_of_warps_segments<8>(segments, which, log_lanes, at, length, out + s0);
      }
    }
    __syncthreads();  // the list is complete
    const unsigned count = long_count;
    for (unsigned i = 0; i < count; ++i) take_tiles(round + long_ones[i]);
    __syncthreads();  // it has been read
    if (threadIdx.x == 0) long_count = 0;
    __syncthreads();  // it is empty again
  }
}

constexpr unsigned segment_blocks(const Gpu& gpu) { return std::min(2 * gpu.sm_count, most_sums); }

/// The sums of the segments in one call.
template <class In, class Acc>
void sum_segments(const In* in, const std::int64_t* offsets, std::size_t segments, Acc* out, std::uint64_t* workspace,
                  const Gpu& gpu, void* stream) {
  static_assert(adds_up<In, Acc>(), "tuned: the sums' type does not go with the elements' (tuned/tuned.h lists them)");
  Launch launch{segment_blocks(gpu), long_row_block, 0, stream};
  launch.overlaps = gpu.compute_capability >= 90;
  device::launch<sum_ragged<In, Acc>>(launch, Segments<In>{in, offsets, static_cast<std::int64_t>(segments)}, out,
                                      workspace);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned

#endif  // C++17
