#pragma once
/// Exact sums of the rows, columns or segments of an array: of each the bits of exact_sum (exact/exact.h), in one
/// launch; for your own .cu files.
///
///   #include "reductio/exact/lines.h"
///
///   const tuned::Gpu gpu = tuned::current_gpu();
///   std::uint64_t* workspace;                      // once for each stream; fits any shape, type and call
///   cudaMalloc(&workspace, exact::lines_workspace_bytes(gpu));
///   cudaMemset(workspace, 0, exact::lines_workspace_bytes(gpu));
///
///   exact::sum_rows(in, rows, columns, pitch, out, workspace, gpu, stream);      // out[r] = the sum of row r
///   exact::sum_columns(in, rows, columns, pitch, out, workspace, gpu, stream);   // out[c] = the sum of column c
///   exact::sum_segments(in, offsets, segments, out, workspace, gpu, stream);     // as tuned::sum_segments
///
/// Shapes are those of tuned/rows.h, columns.h and segments.h; types and values those of exact/exact.h.
///
/// How it works: a warp takes a row of up to 4 KiB, of up to 16 KiB where there are many, and is done with one
/// conversion. Blocks share the tiles of longer ones evenly and combine by ExactFinish, in words of the block where a
/// row begins. Of columns a block loads a tile of 16 along its rows and turns it round in shared memory. Each of its
/// warps adds up a column.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../tuned/rows.h"
#include "../tuned/segments.h"
#include "exact.h"

#if __cplusplus >= 201703L

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Vectors of a thread's share of a tile; of a block's tile.
inline constexpr int line_vectors = 4;
inline constexpr std::int64_t line_tile = std::int64_t{exact_block} * line_vectors;
/// The longest line of a warp, in bytes: 8 tiles, of which ExactFinish can round the sum at once.
inline constexpr std::size_t warp_line_bytes = std::size_t{8} * 32 * line_vectors * 16;
inline constexpr unsigned line_blocks_per_sm = 4;
/// Memory of a block's warps for wide tiles. All lines of an element's type use it.
template <class In>
using LineWarp = ExactWarp<In, device::Identity, line_vectors>;
template <class In>
using LineBin = typename LineWarp<In>::Bin;
template <class In>
inline constexpr unsigned line_bins = exact_block / 32 * LineWarp<In>::bins;
template <class In>
__device__ LineBin<In>* bins_of_warp(LineBin<In>* bins) {
  return bins + threadIdx.x / 32 * LineWarp<In>::bins;
}

/// Vectors from `first` on, `threads` apart, with -0 behind the line's.
template <int vectors, class In>
__device__ void load_of_line(const Share<In>& line, std::int64_t first, unsigned threads, uint4 (&v)[vectors]) {
  const uint4* const from = line.body + first;
#pragma unroll
  for (int u = 0; u < vectors; ++u) {
    v[u] = negative_zeros<In>();
    if (first + u * std::int64_t{threads} < line.vectors) v[u] = __ldg(from + u * threads);
  }
}

/// Adds a line's elements before its first vector and behind its last, by a warp.
template <int vectors, class In, class Warp>
__device__ void add_ends(const Share<In>& line, Warp& warp) {
  if (!line.has_ends()) return;
  uint4 v[vectors];
  for (int u = 0; u < vectors; ++u) v[u] = negative_zeros<In>();
  v[0] = with_ends(line, threadIdx.x % 32, v[0]);
  warp.add(v);
}

/// A line of up to warp_line_bytes, by a warp.
template <int vectors, class In, class Acc>
__device__ void sum_of_warps_line(const Share<In>& line, bool is_empty, Acc* out, LineBin<In>* bins) {
  ExactWarp<In, device::Identity, vectors> warp(bins_of_warp<In>(bins));
  for (std::int64_t first = 0; first < line.vectors; first += 32 * vectors) {
    uint4 v[vectors];
    load_of_line(line, first + threadIdx.x % 32, 32, v);
    warp.add(v);
  }
  add_ends<vectors>(line, warp);
  ExactFinish{nullptr, exact_result(out), is_empty, 1}.end_warp(warp);
}

/// Tiles `tile` to `behind` - 1 of a line, by a block; the first has the ends, too.
template <class In>
__device__ void sum_of_blocks_line(const Share<In>& line, std::int64_t tile, std::int64_t behind, bool is_whole_line,
                                   const ExactFinish& finish, LineBin<In>* bins) {
  using Warp = LineWarp<In>;
  constexpr unsigned warps = exact_block / 32;
  constexpr std::int64_t most_rounded = 3;  // of up to so many tiles a warp, 8 warps' sums have 62 bits
  Warp warp(bins_of_warp<In>(bins));
  const std::int64_t count = behind - tile;
  if (tile == 0 && threadIdx.x < 32) add_ends<line_vectors>(line, warp);
  for (; tile < behind; ++tile) {
    uint4 v[line_vectors];
    load_of_line(line, tile * line_tile + threadIdx.x, exact_block, v);
    warp.add(v);
  }
  const ExactFinish::Warps of = finish.template warps_of<warps>(warp, warp.is_whole());
  const bool is_done = of.are_whole &&
                       ((is_whole_line && count < most_rounded && finish.template has_rounded<warps, Warp>(of)) ||
                        finish.template has_combined<warps, Warp>(of));
  if (!is_done) finish.template end<0, warps>(warp);
  __syncthreads();  // the warps' sums are read before the next line's are stored
}

/// Rows of up to warp_line_bytes. Launch: blocks of exact_block, a warp for each row.
template <class In, class Acc, int vectors>
__global__ void __launch_bounds__(exact_block, line_blocks_per_sm) add_short_rows(const Matrix<In> in, Acc* out) {
  __shared__ __align__(16) LineBin<In> bins[line_bins<In>];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const std::int64_t row = std::int64_t{blockIdx.x} * (exact_block / 32) + threadIdx.x / 32;
  if (row < in.rows)
    sum_of_warps_line<vectors>(share_of(in.row(row), static_cast<std::size_t>(in.columns), 16, 0), in.columns == 0,
                               out + row, bins);
}

/// Longer rows, of so many tiles. Each block has an even share of all tiles. Launch: blocks of exact_block, no more
/// than there are tiles.
template <class In, class Acc>
__global__ void __launch_bounds__(exact_block, line_blocks_per_sm)
    add_long_rows(const Matrix<In> in, const std::int64_t tiles, Acc* out, std::uint64_t* workspace) {
  __shared__ __align__(16) LineBin<In> bins[line_bins<In>];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const EvenShare share{tiles * in.rows, gridDim.x};
  const std::int64_t end = share.begin(blockIdx.x + 1);
  for (std::int64_t at = share.begin(blockIdx.x); at < end;) {
    const std::int64_t row = at / tiles, first = row * tiles, behind = first + tiles < end ? first + tiles : end;
    const unsigned block = share.block_of(first), blocks = share.block_of(first + tiles - 1) - block + 1;
    sum_of_blocks_line(share_of(in.row(row), static_cast<std::size_t>(in.columns), 16, 0), at - first, behind - first,
                       blocks == 1,
                       ExactFinish{workspace + std::size_t{block} * ExactFinish::line_words, exact_result(out + row),
                                   false, blocks},
                       bins);
    at = behind;
  }
}

inline constexpr unsigned segment_blocks_per_sm = 3;

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

/// Segments, of which a block has an even share of places (tuned/segments.h). Its warps take short ones in turn. The
/// block takes the tiles of long ones that begin in its share. Launch: blocks of exact_block.
template <class In, class Acc>
__global__ void __launch_bounds__(exact_block, segment_blocks_per_sm)
    add_segments(const Segments<In> segments, Acc* out, std::uint64_t* workspace) {
  constexpr unsigned warps = exact_block / 32, of_round = 32 * warps;
  constexpr std::int64_t tile = line_tile * Vector<In>::lanes,
                         of_warp = static_cast<std::int64_t>(warp_line_bytes / sizeof(In));
  __shared__ __align__(16) LineBin<In> bins[line_bins<In>];
  __shared__ std::int64_t bounds[2];
  __shared__ unsigned long_ones[of_round], long_count;
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
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
  const auto length_of = [&](std::int64_t s) { return segments.offsets[s + 1] - segments.offsets[s]; };
  const auto line_of = [&](std::int64_t s, std::int64_t n) {
    return share_of(segments.in + segments.offsets[s], static_cast<std::size_t>(n), 16, 0);
  };
  const auto take_tiles = [&](std::int64_t s) {
    const std::int64_t n = length_of(s), place = segments.place(s);
    const Share<In> line = line_of(s, n);
    const std::int64_t tiles = (line.vectors + line_tile - 1) / line_tile, others = (end - place + tile - 1) / tile,
                       mine = place < begin ? (begin - place + tile - 1) / tile : 0,
                       last = others < tiles ? others : tiles;
    if (mine >= last) return;
    // Either each block from the first to the last has tiles, or each tile is another block's.
    const unsigned block = share.block_of(place);
    const auto blocks = share.count / share.blocks >= tile ? share.block_of(place + (tiles - 1) * tile) - block + 1
                                                           : static_cast<unsigned>(tiles);
    sum_of_blocks_line(line, mine, last, blocks == 1,
                       ExactFinish{workspace + std::size_t{block} * ExactFinish::line_words, exact_result(out + s),
                                   false, blocks},
                       bins);
  };
  if (first > 0 && length_of(first - 1) > of_warp) take_tiles(first - 1);  // some of its tiles may begin here
  unsigned taken = 0;
  for (std::int64_t round = first; round < behind; round += of_round) {
    for (unsigned k = warp; k < of_round && round + k < behind; k += warps) {
      const std::int64_t n = length_of(round + k);
      if (n <= 32 * Vector<In>::lanes)
        sum_of_warps_line<1>(line_of(round + k, n), n == 0, out + (round + k), bins);
      else if (n <= of_warp)
        sum_of_warps_line<line_vectors>(line_of(round + k, n), false, out + (round + k), bins);
      else if (lane == 0)
        long_ones[device::atomicAdd(&long_count, 1u) % of_round] = k;
    }
    __syncthreads();  // the list is complete
    for (const unsigned count = long_count; taken < count; ++taken) take_tiles(round + long_ones[taken % of_round]);
    __syncthreads();  // it has been read
  }
}

/// How columns are shared: tiles of line_columns next to each other, a warp each. A few columns without a pitch are
/// read as `copies` times as many, each of which sends a part of its column's sum.
inline constexpr unsigned line_columns = 16;
struct ExactColumns {
  std::int64_t rows, columns, pitch;  ///< as they are read
  std::int64_t behind;                ///< the first element that is not read
  std::int64_t of_matrix;             ///< elements from one matrix to the next
  unsigned copies, groups, chunks;    ///< groups: of columns; chunks: of rows, each another block's
  std::size_t matrices;
};
template <class In>
inline constexpr int column_tile_rows = 32 * line_vectors * Vector<In>::lanes;
template <class In>
ExactColumns exact_columns(std::size_t rows, std::size_t columns, std::size_t pitch, const Gpu& gpu,
                           std::size_t matrices) {
  std::size_t copies = 1;
  if (pitch == columns && columns > 0 && columns <= line_columns / 2 &&
      matrices * columns <= std::size_t{line_columns} * gpu.sm_count)
    copies = std::max<std::size_t>(std::min(line_columns / columns, rows), 1);
  const std::size_t behind = rows == 0 ? 0 : (rows - 1) * pitch + columns, read = ceil_div(rows, copies),
                    groups = std::max<std::size_t>(ceil_div(columns * copies, line_columns), 1),
                    chunks = std::min({ceil_div(read, column_tile_rows<In>),
                                       2 * gpu.sm_count / std::max<std::size_t>(groups * matrices, 1),
                                       ExactFinish::most_blocks / copies});
  return {static_cast<std::int64_t>(read),
          static_cast<std::int64_t>(columns * copies),
          static_cast<std::int64_t>(pitch * copies),
          static_cast<std::int64_t>(behind),
          static_cast<std::int64_t>(rows * pitch),
          static_cast<unsigned>(copies),
          static_cast<unsigned>(groups),
          static_cast<unsigned>(std::max<std::size_t>(chunks, 1)),
          matrices};
}

/// Launch: shape.groups * shape.chunks * shape.matrices blocks of 32 * line_columns.
template <class In, class Acc>
__global__ void __launch_bounds__(32 * line_columns, 2)
    add_columns(const In* const start, const ExactColumns shape, Acc* out, std::uint64_t* workspace) {
  using Warp = ExactWarp<In, device::Identity, line_vectors, false>;
  constexpr int down = 32, rows = column_tile_rows<In>, lanes = Vector<In>::lanes,
                at_once = rows / down < 16 ? rows / down : 16;
  __shared__ __align__(16) In tile[line_columns][rows + lanes];  // a vector more, so that columns begin in other banks
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const std::int64_t first = std::int64_t{blockIdx.x % shape.groups} * line_columns,
                     tiles = (shape.rows + rows - 1) / rows;
  const unsigned chunk = blockIdx.x / shape.groups % shape.chunks, matrix = blockIdx.x / shape.groups / shape.chunks,
                 warp = threadIdx.x / 32, column = threadIdx.x % line_columns;
  const In* const in = start + matrix * shape.of_matrix;
  const int row = static_cast<int>(threadIdx.x / line_columns);
  const bool is_inside = first + column < shape.columns;
  In nothing;
  const uint4 zeros = negative_zeros<In>();
  memcpy(&nothing, &zeros, sizeof nothing);
  Warp sum(static_cast<typename Warp::Bin*>(nullptr));
  for (std::int64_t t = tiles * chunk / shape.chunks; t < tiles * (chunk + 1) / shape.chunks; ++t) {
    // Of a short column what its vectors hold, and no more.
    constexpr int of_vector = 32 * lanes;
    const std::int64_t left = shape.rows - t * rows;
    const int filled = left < rows ? (static_cast<int>(left) + of_vector - 1) / of_vector * of_vector : rows;
    for (int some = 0; some < filled; some += down * at_once) {
      In loaded[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const std::int64_t r = t * rows + some + row + k * down, i = r * shape.pitch + first + column;
        loaded[k] = nothing;
        if (is_inside && r < shape.rows && i < shape.behind) loaded[k] = in[i];
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (some + k * down < filled) tile[column][some + row + k * down] = loaded[k];
    }
    __syncthreads();  // the tile is stored
    uint4 v[line_vectors];
#pragma unroll
    for (int u = 0; u < line_vectors; ++u) {
      v[u] = zeros;
      if (u * of_vector < filled)
        memcpy(&v[u], &tile[warp][(static_cast<int>(threadIdx.x % 32) + 32 * u) * lanes], sizeof v[u]);
    }
    __syncthreads();  // it is read before the next one is stored
    sum.add(v);
  }
  if (first + warp >= shape.columns) return;
  const std::int64_t columns = shape.columns / shape.copies, own = matrix * columns + (first + warp) % columns;
  ExactFinish{workspace + own * static_cast<int>(ExactFinish::line_words), exact_result(out + own), shape.rows == 0,
              shape.chunks * shape.copies}
      .end_warp(sum);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned

namespace reductio::exact {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Of a workspace, which is zero before the first call and after each. Columns that several blocks share are no more
/// than 16 for each SM, and blocks that share rows no more than 4.
constexpr std::size_t lines_workspace_words(const tuned::Gpu& gpu) {
  return std::size_t{tuned::line_columns} * gpu.sm_count * tuned::ExactFinish::line_words;
}
constexpr std::size_t lines_workspace_bytes(const tuned::Gpu& gpu) {
  return lines_workspace_words(gpu) * sizeof(std::uint64_t);
}

/// A launch of a sum of lines.
struct LinesLaunch {
  std::size_t blocks;
  unsigned threads;
};
constexpr std::size_t blocks_of_lines(const tuned::Gpu& gpu, unsigned per_sm = tuned::line_blocks_per_sm) {
  return std::min<std::size_t>(per_sm * gpu.sm_count, tuned::ExactFinish::most_blocks);
}
/// Of a row of blocks. Its ends are part of the first.
template <class In>
constexpr std::size_t tiles_of_row(std::size_t columns) {
  return device::ceil_div(columns / tuned::Vector<In>::lanes, std::size_t{tuned::line_tile});
}
/// Whether each row is a warp's: while no resident block takes a second row, a warp takes up to 4 KiB as fast. Each
/// further row that a block would take raises the limit by 8 KiB, up to 16 KiB.
template <class In>
constexpr bool have_rows_warps(std::size_t rows, std::size_t columns, const tuned::Gpu& gpu) {
  constexpr std::size_t most = tuned::warp_line_bytes, as_fast = most / 4;
  const std::size_t of_block = std::max<std::size_t>(device::ceil_div(rows, blocks_of_lines(gpu)), 1);
  return columns * sizeof(In) <= std::min(most, as_fast * (2 * of_block - 1));
}
/// Blocks of longer rows. Where there are fewer rows than blocks, a row's blocks have no other, since a block with
/// parts of two would end twice; unless that leaves too many blocks idle. Two tiles are one block's, which rounds their
/// sum at once.
template <class In>
constexpr std::size_t blocks_of_rows(std::size_t rows, std::size_t columns, const tuned::Gpu& gpu) {
  const std::size_t blocks = blocks_of_lines(gpu), tiles = tiles_of_row<In>(columns);
  const std::size_t even = std::min(blocks, rows * tiles);
  if (rows == 0 || rows >= blocks) return even;
  if (tiles <= 2) return rows;
  const std::size_t own = rows * std::min(tiles, blocks / rows);
  return 4 * own >= 3 * even ? own : even;
}
template <class In>
LinesLaunch rows_launch(std::size_t rows, std::size_t columns, const tuned::Gpu& gpu) {
  const std::size_t blocks = have_rows_warps<In>(rows, columns, gpu)
                                 ? device::ceil_div(rows, tuned::exact_block / 32)
                                 : blocks_of_rows<In>(rows, columns, gpu);
  return {std::max<std::size_t>(blocks, 1), tuned::exact_block};
}

inline LinesLaunch columns_launch(const tuned::ExactColumns& shape) {
  return {std::size_t{shape.groups} * shape.chunks * shape.matrices, 32 * tuned::line_columns};
}
inline LinesLaunch segments_launch(const tuned::Gpu& gpu) {
  return {blocks_of_lines(gpu, tuned::segment_blocks_per_sm), tuned::exact_block};
}

inline device::Launch launch_of(const LinesLaunch& how, const tuned::Gpu& gpu, void* stream) {
  device::Launch launch{how.blocks, how.threads, 0, stream};
  launch.overlaps = gpu.compute_capability >= 90;
  return launch;
}

template <class In, class Acc>
constexpr void check_types() {
  static_assert(tuned::adds_up_exactly<In, Acc>(),
                "exact sums are of __half, __nv_bfloat16 or float, to float or double, or of double, to double");
}

/// The exact sums of the rows in one call.
template <class In, class Acc>
void sum_rows(const In* in, std::size_t rows, std::size_t columns, std::size_t pitch, Acc* out,
              std::uint64_t* workspace, const tuned::Gpu& gpu, void* stream) {
  check_types<In, Acc>();
  const device::Launch launch = launch_of(rows_launch<In>(rows, columns, gpu), gpu, stream);
  const tuned::Matrix<In> matrix{in, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
                                 static_cast<std::int64_t>(pitch)};
  if (!have_rows_warps<In>(rows, columns, gpu))
    device::launch<tuned::add_long_rows<In, Acc>>(
        launch, matrix, static_cast<std::int64_t>(tiles_of_row<In>(columns)), out, workspace);
  else if (columns <= 32 * tuned::Vector<In>::lanes)
    device::launch<tuned::add_short_rows<In, Acc, 1>>(launch, matrix, out);
  else
    device::launch<tuned::add_short_rows<In, Acc, tuned::line_vectors>>(launch, matrix, out);
}

/// Of the columns. `matrices`: so many of them, rows * pitch elements from one to the next, and the sums of each behind
/// those of the one before.
template <class In, class Acc>
void sum_columns(const In* in, std::size_t rows, std::size_t columns, std::size_t pitch, Acc* out,
                 std::uint64_t* workspace, const tuned::Gpu& gpu, void* stream, std::size_t matrices = 1) {
  check_types<In, Acc>();
  if (matrices == 0) return;
  const tuned::ExactColumns shape = tuned::exact_columns<In>(rows, columns, pitch, gpu, matrices);
  device::launch<tuned::add_columns<In, Acc>>(launch_of(columns_launch(shape), gpu, stream), in, shape, out, workspace);
}

/// Of segments: out[s] is the sum of in[offsets[s]] to in[offsets[s + 1] - 1]. `offsets` are segments + 1 numbers in
/// GPU memory, which do not fall.
template <class In, class Acc>
void sum_segments(const In* in, const std::int64_t* offsets, std::size_t segments, Acc* out, std::uint64_t* workspace,
                  const tuned::Gpu& gpu, void* stream) {
  check_types<In, Acc>();
  device::launch<tuned::add_segments<In, Acc>>(launch_of(segments_launch(gpu), gpu, stream),
                                               tuned::Segments<In>{in, offsets, static_cast<std::int64_t>(segments)},
                                               out, workspace);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::exact

#endif  // C++17
