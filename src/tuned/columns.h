#pragma once
/// Sums of the columns of a matrix that lies row by row, in one launch; for your own .cu files.
///
///   #include "reductio/tuned/columns.h"
///
///   tuned::sum_columns(in, rows, columns, pitch, out, workspace, gpu, stream);   // out[c] = the sum of column c
///
/// The workspace has columns_workspace_bytes<In, Acc>() bytes, starts at a multiple of 16, and is zero before the
/// first call; calls leave sums in it, so it serves columns alone, one call at a time. The rest is as in tuned/rows.h.
/// A column's bits follow from its elements, its type, the number and shape of the matrices, and whether they have a
/// pitch: not from the address or the GPU.
///
/// How it works: lanes have neighbouring columns, 16 bytes each, and the threads above them take rows in turn. A block
/// has a tile of columns to itself if there are enough tiles. Else several blocks share the rows of a tile. Each stores
/// its sums, and the last one to come adds them up in a fixed order. Where rows do not all start at multiples of 16
/// bytes, lanes load element by element. A few columns without a pitch are read as a matrix of fewer rows that are
/// longer: row j of 2 m columns is rows 2 j and 2 j + 1 of m. In the end the copies of each column are added up.

#include <numeric>

#include "rows.h"

#if __cplusplus >= 201703L

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

inline constexpr unsigned columns_log_block = 9, columns_block = 1u << columns_log_block;
/// At most so many blocks share tiles. On all GPUs alike, since the bits follow from it.
inline constexpr unsigned columns_blocks = 256;

/// How a matrix is shared. A block has 2^log_lanes vectors of a row, a tile of columns; the other threads are on other
/// rows.
struct ColumnShape {
  std::int64_t rows, columns, pitch;  ///< as they are read
  std::int64_t rest;                  ///< rows behind those, as they are
  unsigned merged;                    ///< copies of each column, which are added up in the end
  unsigned log_lanes, tiles, chunks;  ///< chunks: of rows, each of another block
  std::int64_t elements, sums;        ///< from one matrix to the next
};

template <class In>
ColumnShape column_shape(std::size_t rows, std::size_t columns, std::size_t pitch, std::size_t matrices) {
  constexpr std::size_t lanes = Vector<In>::lanes, widest = columns_block * lanes, narrow = widest / 8;
  std::size_t merged = 1;
  if (pitch == columns && columns < narrow && columns > 0) {
    const std::size_t whole = lanes / std::gcd(lanes, columns);  // so that rows are whole vectors
    merged = std::min(widest / columns, rows) / whole * whole;
    if (merged == 0) merged = 1;
  }
  ColumnShape s{};
  s.rows = static_cast<std::int64_t>(rows / merged);
  s.rest = static_cast<std::int64_t>(rows % merged);
  s.columns = static_cast<std::int64_t>(columns * merged);
  s.pitch = static_cast<std::int64_t>(pitch * merged);
  s.merged = static_cast<unsigned>(merged);
  const std::size_t vectors = ceil_div(columns * merged, lanes);
  const std::size_t bytes = matrices * rows * columns * sizeof(In), shares = std::max<std::size_t>(matrices, 1);
  const auto down = [](unsigned log_lanes) { return std::size_t{columns_block >> log_lanes}; };
  const auto tiles = [&](unsigned log_lanes) {
    return std::max<std::size_t>(ceil_div(vectors, std::size_t{1} << log_lanes), 1);
  };
  // Blocks that share a tile take 2 us to meet. So tiles are made narrower until there are enough for a block each. In
  // a large matrix no tile is narrower than a cache line, which two blocks would fetch twice.
  const unsigned narrowest = bytes > 16 * MiB ? 3 : 1;
  unsigned log_lanes = narrowest;
  while (log_lanes < 9 && rows < 8 * down(log_lanes)) ++log_lanes;  // eight rows a thread, if there are so many
  while (log_lanes > narrowest && tiles(log_lanes) * shares < 16 && rows >= 4 * down(log_lanes - 1)) --log_lanes;
  const bool have_block_each =
      merged == 1 && tiles(log_lanes) * shares >= std::min<std::size_t>(columns_blocks / 2, ceil_div(bytes, 256 * KiB));
  if (have_block_each) {
    const std::size_t enough = bytes > 16 * MiB ? columns_blocks : columns_blocks / 4;
    while (log_lanes < 6 && tiles(log_lanes + 1) * shares >= enough) ++log_lanes;
  } else {
    log_lanes = std::max(log_lanes, merged > 1 ? 9u : 6u);
  }
  while (log_lanes > 0 && (std::size_t{1} << (log_lanes - 1)) >= vectors) --log_lanes;
  s.log_lanes = log_lanes;
  s.tiles = static_cast<unsigned>(tiles(log_lanes));
  const std::size_t blocks = bytes > 128 * MiB ? columns_blocks : columns_blocks / 2,
                    most = have_block_each ? 1 : blocks / (s.tiles * shares);
  s.chunks = static_cast<unsigned>(std::max<std::size_t>(std::min(most, rows / merged / (8 * down(log_lanes))), 1));
  s.elements = static_cast<std::int64_t>(rows * pitch);
  s.sums = static_cast<std::int64_t>(columns);
  return s;
}

/// Halves `count` rows of `width` sums each, which lie behind each other, until one is left. By a block.
template <class W>
__device__ void add_rows(W* sums, unsigned count, unsigned width) {
  while (count > 1) {
    const unsigned half = (count + 1) / 2, moved = (count - half) * width;
    for (unsigned i = threadIdx.x; i < moved; i += columns_block) sums[i] += sums[half * width + i];
    __syncthreads();  // the halves are added before the next ones are
    count = half;
  }
}

/// How a thread loads: elements one by one, or vectors of 16 bytes, two or eight under way at once. Eight take 64
/// registers; a matrix of a few rows has no use for them, and more blocks instead.
enum class ColumnLoads { single, two_vectors, eight_vectors };

/// Launch: shape.tiles * shape.chunks blocks of columns_block a matrix. Loads that are all there have no tests of their
/// own: nvcc would leave two of eight under way, which takes 15 % longer.
template <class In, class Acc, class Operation, ColumnLoads loads>
__global__ void __launch_bounds__(columns_block, loads == ColumnLoads::two_vectors ? 3 : 2)
    sum_down(const In* const start, const ColumnShape shape, Acc* const sums_of_first,
             typename AddedIn<Acc>::type* partials, unsigned* counts) {
  using W = typename AddedIn<Acc>::type;
  constexpr bool single = loads == ColumnLoads::single;
  constexpr int lanes = Vector<In>::lanes, under_way = loads == ColumnLoads::two_vectors ? 2 : single ? 4 : 8;
  constexpr unsigned most = columns_block * lanes;
  __shared__ __align__(16) W sums[most];
  __shared__ bool is_last;
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const unsigned down = columns_block >> shape.log_lanes, width = lanes << shape.log_lanes,
                 tile = blockIdx.x % shape.tiles, chunk = blockIdx.x / shape.tiles % shape.chunks,
                 matrix = blockIdx.x / shape.tiles / shape.chunks;
  // A thread has `lanes` sums: of neighbouring columns by one load, or, one by one, of columns that are `across` apart.
  // Where a tile is narrow, some are of further rows instead, so that a warp's loads lie beside each other.
  constexpr unsigned log_columns = lanes == 2 ? 1 : lanes == 4 ? 2 : lanes == 8 ? 3 : 4;
  const unsigned log_width = shape.log_lanes + log_columns,
                 log_across = !single || shape.log_lanes > 2 ? shape.log_lanes
                              : log_width < 4                ? log_width
                                                             : 4,
                 across = 1u << log_across, log_copies = log_width - log_across, x = threadIdx.x & (across - 1),
                 y = threadIdx.x >> log_across;
  const auto column_of = [&](unsigned k) {
    return single ? x + ((k & ((1u << log_copies) - 1)) << log_across) : x * lanes + k;
  };
  const auto row_of = [&](unsigned k) {  // beyond row y
    return single ? k >> log_copies << (columns_log_block - log_across) : 0;
  };
  const In* const in = start + matrix * shape.elements;
  Acc* const out = sums_of_first + matrix * shape.sums;
  const std::int64_t first = std::int64_t{tile} * width, behind = shape.rows * (chunk + 1) / shape.chunks;
  const std::int64_t here = shape.columns - first;  // columns of this tile and behind it
  const std::int64_t step = std::int64_t{down} * shape.pitch;
  W mine[lanes] = {};
  for (std::int64_t row = shape.rows * chunk / shape.chunks + y; row < behind; row += std::int64_t{under_way} * down) {
    const In* const at = in + (row * shape.pitch + first);
    Vector<In> e[under_way];
    if constexpr (single) {
      const auto load = [&](int u, unsigned k) { return at[u * step + row_of(k) * shape.pitch + column_of(k)]; };
      const auto is_there = [&](int u, unsigned k) {
        return row + u * std::int64_t{down} + row_of(k) < behind && column_of(k) < here;
      };
      if (row + (under_way - 1) * std::int64_t{down} + row_of(lanes - 1) < behind && column_of(lanes - 1) < here) {
#pragma unroll
        for (int u = 0; u < under_way; ++u) {
#pragma unroll
          for (int k = 0; k < lanes; ++k) e[u].lane[k] = load(u, k);
        }
      } else {
#pragma unroll
        for (int u = 0; u < under_way; ++u) {
#pragma unroll
          for (int k = 0; k < lanes; ++k) e[u].lane[k] = is_there(u, k) ? load(u, k) : In{};
        }
      }
    } else {
      const bool is_mine = x * lanes < here;
      uint4 v[under_way];
      const auto load = [&](int u) { return __ldg(reinterpret_cast<const uint4*>(at + u * step) + x); };
      if (is_mine && row + (under_way - 1) * std::int64_t{down} < behind) {
#pragma unroll
        for (int u = 0; u < under_way; ++u) v[u] = load(u);
      } else {
#pragma unroll
        for (int u = 0; u < under_way; ++u) v[u] = is_mine && row + u * std::int64_t{down} < behind ? load(u) : uint4{};
      }
#pragma unroll
      for (int u = 0; u < under_way; ++u) memcpy(&e[u], &v[u], sizeof v[u]);
    }
#pragma unroll
    for (int u = 0; u < under_way; ++u) {
#pragma unroll
      for (int k = 0; k < lanes; ++k) mine[k] += Operation{}(widened<W>(e[u].lane[k]));
    }
  }
  if (shape.merged > 1 && chunk == shape.chunks - 1 && y == 0) {  // the rest is one more row, which is shorter
    const std::int64_t rest = shape.rest * (shape.columns / shape.merged);
#pragma unroll
    for (int k = 0; k < lanes; ++k)
      if (row_of(k) == 0 && column_of(k) < rest)
        mine[k] += Operation{}(widened<W>(in[shape.rows * shape.pitch + column_of(k)]));
  }
#pragma unroll
  for (int k = 0; k < lanes; ++k) sums[(y + row_of(k)) * width + column_of(k)] = mine[k];
  __syncthreads();  // all sums are stored before they are added up
  add_rows(sums, down, width);
  const auto columns = static_cast<unsigned>(shape.merged > 1 ? shape.columns / shape.merged
                                             : here < width   ? here
                                                              : width);
  if (shape.merged > 1) add_rows(sums, shape.merged, columns);
  const auto store = [&](unsigned c) { out[first + c] = static_cast<Acc>(W{} + sums[c]); };
  if (shape.chunks == 1) {
    for (unsigned c = threadIdx.x; c < columns; c += columns_block) store(c);
    return;
  }
  // Chunk by chunk, in whole vectors.
  constexpr unsigned each = 16 / sizeof(W);
  const unsigned units = (columns + each - 1) / each, stride = units * each;
  const unsigned any_tile = matrix * shape.tiles + tile;  // of all matrices'
  W* const of_tile = partials + std::size_t{any_tile} * shape.chunks * width;
  for (unsigned c = threadIdx.x; c < stride; c += columns_block)
    of_tile[chunk * stride + c] = c < columns ? sums[c] : W{};
  __threadfence();  // the sums before the count
  __syncthreads();  // of all threads
  if (threadIdx.x == 0) {
    is_last = device::atomicAdd(counts + any_tile, 1u) == shape.chunks - 1;
    if (is_last) device::store_relaxed(counts + any_tile, 0u);
  }
  __syncthreads();  // is_last
  if (!is_last) return;
  __threadfence();  // the count before the sums of the others
  // As many threads for each vector as there are: they take chunks in turn, eight at a time.
  unsigned groups = 1;
  while (2 * groups * units <= columns_block && 2 * groups <= shape.chunks) groups *= 2;
  const auto stored = reinterpret_cast<const uint4*>(of_tile);
  for (unsigned i = threadIdx.x; i < groups * units; i += columns_block) {
    const unsigned unit = i % units;
    W total[each] = {};
    for (unsigned c = i / units; c < shape.chunks; c += 8 * groups) {
      uint4 v[8];
#pragma unroll
      for (unsigned u = 0; u < 8; ++u) {
        v[u] = {};
        if (c + u * groups < shape.chunks) v[u] = __ldcg(stored + ((c + u * groups) * units + unit));
      }
#pragma unroll
      for (unsigned u = 0; u < 8; ++u) {
        W part[each];
        memcpy(part, &v[u], sizeof part);
#pragma unroll
        for (unsigned k = 0; k < each; ++k) total[k] += part[k];
      }
    }
#pragma unroll
    for (unsigned k = 0; k < each; ++k) sums[i * each + k] = total[k];
  }
  __syncthreads();  // the groups' sums are stored
  add_rows(sums, groups, stride);
  for (unsigned c = threadIdx.x; c < columns; c += columns_block) store(c);
}

/// Words of 8 bytes of a workspace for the sums of columns, of any shape.
template <class In, class Acc>
constexpr std::size_t columns_workspace_words() {
  constexpr std::size_t partials = std::size_t{columns_blocks} * columns_block * Vector<In>::lanes;
  return columns_blocks / 2 + ceil_div(partials * sizeof(Acc), sizeof(std::uint64_t));
}
template <class In, class Acc>
constexpr std::size_t columns_workspace_bytes() {
  return columns_workspace_words<In, Acc>() * sizeof(std::uint64_t);
}

/// A plan for the sums of a matrix's columns, or of their squares (Operation). Cheap to make and to copy; owns nothing.
template <class In, class Acc = In, class Operation = Identity>
class ColumnSums {
  static_assert(adds_up<In, Acc>(), "tuned: the sums' type does not go with the elements' (tuned/tuned.h lists them)");
  using W = typename AddedIn<Acc>::type;
  static_assert(columns_block * Vector<In>::lanes * sizeof(W) <= 48 * 1024,
                "tuned: columns of elements of one byte take sums of 4 bytes: others do not fit shared memory");

 public:
  /// `matrices`: so many, rows * pitch elements from one to the next, and the sums of each behind those before.
  ColumnSums(std::size_t rows, std::size_t columns, std::size_t pitch, const Gpu& gpu, std::size_t matrices = 1)
      : shape_(column_shape<In>(rows, columns, pitch, matrices)),
        matrices_(matrices),
        overlaps_(gpu.compute_capability >= 90) {}

  void operator()(const In* in, Acc* out, std::uint64_t* workspace, void* stream) const {
    Launch launch{grid(), columns_block, 0, stream};
    launch.overlaps = overlaps_;
    const auto counts = reinterpret_cast<unsigned*>(workspace);
    const auto partials = reinterpret_cast<W*>(workspace + columns_blocks / 2);
    const std::size_t size = sizeof(In), pitch = static_cast<std::size_t>(shape_.pitch);
    const bool aligned = reinterpret_cast<std::uintptr_t>(in) % 16 == 0 &&
                         (pitch * size % 16 == 0 || shape_.rows < 2) &&
                         (static_cast<std::size_t>(shape_.elements) * size % 16 == 0 || matrices_ == 1) &&
                         static_cast<std::size_t>(shape_.columns) * size % 16 == 0;
    using Loads = ColumnLoads;
    const bool few_rows = shape_.rows < 8 * std::int64_t{shape_.chunks} * (columns_block >> shape_.log_lanes);
    if (!aligned)
      device::launch<sum_down<In, Acc, Operation, Loads::single>>(launch, in, shape_, out, partials, counts);
    else if (few_rows)
      device::launch<sum_down<In, Acc, Operation, Loads::two_vectors>>(launch, in, shape_, out, partials, counts);
    else
      device::launch<sum_down<In, Acc, Operation, Loads::eight_vectors>>(launch, in, shape_, out, partials, counts);
  }

  std::size_t grid() const { return std::size_t{shape_.tiles} * shape_.chunks * matrices_; }
  unsigned block() const { return columns_block; }

  /// The longest chain of additions that an element passes through; each may round.
  std::size_t longest_chain() const {
    const auto rows = static_cast<std::size_t>(shape_.rows);
    const std::size_t down = columns_block >> shape_.log_lanes,
                      of_thread = ceil_div(ceil_div(rows, shape_.chunks), down) + 8;
    return of_thread + 9 + 12 + shape_.chunks + 2;
  }

 private:
  ColumnShape shape_;
  std::size_t matrices_;
  bool overlaps_;
};

/// The sums of the columns in one call.
template <class In, class Acc>
void sum_columns(const In* in, std::size_t rows, std::size_t columns, std::size_t pitch, Acc* out,
                 std::uint64_t* workspace, const Gpu& gpu, void* stream, std::size_t matrices = 1) {
  ColumnSums<In, Acc>(rows, columns, pitch, gpu, matrices)(in, out, workspace, stream);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned

#endif  // C++17
