#pragma once
/// Sums of the rows of a matrix, at about the speed of one sum of as many elements; for your own .cu files.
///
///   #include "reductio/tuned/rows.h"
///
///   const tuned::Gpu gpu = tuned::current_gpu();
///   std::uint64_t* workspace;                                // once for each stream; fits any shape and type
///   cudaMalloc(&workspace, tuned::rows_workspace_bytes(gpu));
///   cudaMemset(workspace, 0, tuned::rows_workspace_bytes(gpu));
///
///   tuned::sum_rows(in, rows, columns, pitch, out, workspace, gpu, stream);   // out[r] = the sum of row r
///
/// Pointers, types and streams are those of tuned/tuned.h; a Gpu of compute capability 0 makes launches that do not
/// overlap. Row r begins at in[r * pitch]; the pitch is at least `columns`. A call is one launch. `out` has `rows`
/// elements, none of which is part of the input.
///
/// A row's bits follow from its elements, its type and its length. They are the same alone or beside other rows, at any
/// address and pitch, on any GPU: element i is always leaf i of the same tree (RowTree), and the tiles of long rows are
/// added up without rounding (digits.h), so any blocks may share a row.
///
/// The tree is made of vectors of 16 bytes from the row's start. A row that starts between two such addresses is loaded
/// by the aligned vectors around it, which are shifted. So such rows cost more loads, but no more memory traffic.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tuned.h"

#if __cplusplus >= 201703L

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// How a row of so many vectors is added up. Lane l of a group of `lanes` adds up the vectors l, l + lanes, ...:
/// `vectors` at a time in a tree, and these one after the other. The lanes' sums meet in a tree.
///
/// A row beyond short_row_vectors consists of tiles; most such rows of one. In each of a tile's turns each warp of a
/// block takes the next 32 times `vectors`. A tile's sum is that of the block's threads, and the tiles' sums are added
/// up without rounding.
struct RowTree {
  unsigned lanes;
  int vectors;
  int turns;           ///< of a tile; 0: the row is short
  unsigned block;      ///< threads that share a tile
  std::int64_t tiles;  ///< of the row
};
inline constexpr unsigned long_row_block = 512;
/// How many blocks a multiprocessor must have registers for: as many as are wanted, and as it has threads for.
__host__ __device__ constexpr unsigned least_blocks(unsigned wanted, unsigned block) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
  constexpr unsigned threads = 1024;
#else
  constexpr unsigned threads = 1536;
#endif
  return wanted * block < threads ? wanted : threads / block;
}
/// The longest row of a warp, in vectors: 8 KiB.
inline constexpr std::int64_t short_row_vectors = 512;
/// The longest row of a block, in vectors: 128 KiB. A longer one would be faster beside many others, but as a segment
/// it would keep one block too long (trial E67).
inline constexpr std::int64_t middle_row_vectors = 8192;
/// The most vectors that a lane of a block takes in a turn.
inline constexpr int long_row_vectors = 4;
__host__ __device__ constexpr RowTree row_tree(std::int64_t vectors) {
  if (vectors > short_row_vectors) {
    const unsigned block = vectors > 2048 ? long_row_block : vectors > 1024 ? 256 : 128;
    const int turns = vectors > 4096 && vectors <= middle_row_vectors ? 4 : 2;
    // Kernels of segments ask, too: by constants, since a division of 64 bits takes a GPU hundreds of cycles.
    constexpr std::int64_t of_tile = 2 * long_row_block * long_row_vectors;
    const std::int64_t tiles = vectors > middle_row_vectors ? (vectors + of_tile - 1) / of_tile : 1,
                       of_lane = tiles * turns * block;
    static_assert(long_row_vectors == 4, "as many as the comparisons below count to");
    return {32, 1 + (vectors > of_lane) + (vectors > 2 * of_lane) + (vectors > 3 * of_lane), turns, block, tiles};
  }
  if (vectors > 128) return {32, 8, 0, 0, 1};
  if (vectors > 64) return {16, 8, 0, 0, 1};
  if (vectors > 32) return {16, 4, 0, 0, 1};
  if (vectors > 16) return {8, 4, 0, 0, 1};
  if (vectors > 8) return {8, 2, 0, 0, 1};
  if (vectors > 4) return {4, 2, 0, 0, 1};
  if (vectors > 2) return {2, 2, 0, 0, 1};
  return {1, 2, 0, 0, 1};
}

/// Part of memory, in elements from a vector on: what may be loaded in whole vectors.
struct Reach {
  int begin, end;
};

/// Elements `shift` to `shift + 16 / size - 1` of two vectors that lie beside each other.
template <unsigned size>
__device__ uint4 shifted(const uint4& low, const uint4& high, unsigned shift) {
  const unsigned bytes = shift * size;
  unsigned w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if constexpr (size < 4) {
#pragma unroll
    for (int k = 0; k < 7; ++k) w[k] = __funnelshift_r(w[k], w[k + 1], bytes % 4 * 8);
  }
  if constexpr (size < 8) {
#pragma unroll
    for (int k = 0; k < 6; ++k) w[k] = (bytes & 4) != 0 ? w[k + 1] : w[k];
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) w[k] = (bytes & 8) != 0 ? w[k + 2] : w[k];
  return {w[0], w[1], w[2], w[3]};
}

/// `count` vectors of a row for each lane of a group, whose lanes' vectors lie beside each other: load() starts to load
/// them, sum() waits for them and adds them up in a tree. aligned: rows start at multiples of 16 bytes. Otherwise a
/// vector spans two aligned ones, and the next lane has the second.
template <class In, int count, bool aligned>
class RowVectors {
  static constexpr int lanes = Vector<In>::lanes;

 public:
  /// `at` and `n` are a row, or a part of one; n <= 0 loads nothing. This lane is `own` of `group`. All lanes of the
  /// warp call both.
  __device__ void load(const In* at, int n, const Reach& reach, unsigned own, unsigned group) {
    load_by(at, n, own, group, [&](int i) { return loaded(i, reach); });
  }
  /// The same without a test for each vector, which takes longer than a load. All aligned vectors from the one with
  /// at[0] to the one with at[n - 1] may be loaded. Lanes behind the end load the last one again; with n <= 0 that is a
  /// vector before `at`.
  __device__ void load_inner(const In* at, int n, unsigned own, unsigned group) {
    load_by(at, n, own, group, [&](int i) {
      const int last = ((n + shift() - 1) & -lanes) - shift();
      return __ldg(reinterpret_cast<const uint4*>(at + (i < last ? i : last)));
    });
  }

  template <class W, class Operation>
  __device__ W sum() const {
    W sums[count];
#pragma unroll
    for (int u = 0; u < count; ++u) {
      uint4 v = v_[u];
      if constexpr (!aligned) v = shifted<sizeof(In)>(v, next(u), static_cast<unsigned>(shift_));
      if (element(u) + lanes > n_) v = without_end(v, n_ - element(u));
      sums[u] = sum_of_vector<W, W, Operation, In>(v);
    }
#pragma unroll
    for (int half = count / 2; half > 0; half /= 2) {
#pragma unroll
      for (int u = 0; u < half; ++u) sums[u] += sums[u + half];
    }
    return sums[0];
  }

 private:
  template <class Loader>
  __device__ void load_by(const In* at, int n, unsigned own, unsigned group, const Loader& loader) {
    at_ = at, n_ = n, own_ = own, group_ = group;
    if constexpr (!aligned) shift_ = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16 / sizeof(In));
#pragma unroll
    for (int u = 0; u < count; ++u) v_[u] = loader(element(u) - shift());
    if constexpr (!aligned) {
      behind_ = {};
      if (own == group - 1 && shift_ != 0) behind_ = loader(element(count - 1) - shift_ + lanes);
    }
  }
  __device__ int element(int u) const { return static_cast<int>(own_ + static_cast<unsigned>(u) * group_) * lanes; }
  __device__ int shift() const {
    if constexpr (aligned)
      return 0;
    else
      return shift_;
  }
  /// The aligned vector from element i on. Beyond reach it loads the row's elements one by one and fills up with zeros.
  __device__ uint4 loaded(int i, const Reach& reach) const {
    uint4 bits = {};
    if (i < n_ && n_ > 0) {
      if (i >= reach.begin && i + lanes <= reach.end) {
        bits = __ldg(reinterpret_cast<const uint4*>(at_ + i));
      } else {
        Vector<In> v{};
#pragma unroll
        for (int k = 0; k < lanes; ++k)
          if (i + k >= 0 && i + k < n_) v.lane[k] = at_[i + k];
        memcpy(&bits, &v, sizeof bits);
      }
    }
    return bits;
  }
  /// The aligned vector behind v_[u]. The group's last lane has it from the first one's next.
  __device__ uint4 next(int u) const {
    const uint4 last = u + 1 < count ? v_[u + 1 < count ? u + 1 : u] : behind_, mine = own_ == 0 ? last : v_[u];
    const auto from = static_cast<int>(own_ + 1 < group_ ? own_ + 1 : 0);
    uint4 out{shuffled(mine.x, from), shuffled(mine.y, from), shuffled(mine.z, from), 0};
    if constexpr (sizeof(In) < 4) out.w = shuffled(mine.w, from);
    if (u + 1 == count && own_ + 1 == group_) out = behind_;
    return out;
  }
  __device__ unsigned shuffled(unsigned word, int from) const {
    return __shfl_sync(0xffffffffu, word, from, static_cast<int>(group_));
  }
  static __device__ uint4 without_end(uint4 bits, int kept) {
    Vector<In> v;
    memcpy(&v, &bits, sizeof v);
#pragma unroll
    for (int k = 0; k < lanes; ++k)
      if (k >= kept) v.lane[k] = In{};
    memcpy(&bits, &v, sizeof bits);
    return bits;
  }

  const In* at_;
  int n_, shift_ = 0;
  unsigned own_, group_;
  uint4 v_[count], behind_;
};

/// A matrix whose row r begins at in[r * pitch].
template <class In>
struct Matrix {
  const In* in;
  std::int64_t rows, columns, pitch;

  __device__ const In* row(std::int64_t r) const { return in + r * pitch; }
  /// What may be loaded around element `first` of a row. With a pitch, the gap between rows may not be ours.
  __device__ Reach reach(std::int64_t r, std::int64_t first) const {
    constexpr std::int64_t most = 1 << 30;
    const std::int64_t begin = pitch == columns ? -(r * pitch + first) : -first,
                       end = pitch == columns ? (rows - r) * pitch - first : columns - first;
    return {static_cast<int>(begin < -most ? -most : begin), static_cast<int>(end > most ? most : end)};
  }
};

/// Rows of up to short_row_vectors: 2^log_lanes lanes of a warp a row. `vectors` is their RowTree's.
inline constexpr unsigned short_row_block = 256;
/// Rows that a lane has in flight.
__host__ __device__ constexpr int rows_at_once(int vectors) { return vectors < 4 ? 4 / vectors : 1; }

/// Launch: blocks of short_row_block, so many that all rows have their lanes.
template <class In, class Acc, class Operation, int vectors, bool aligned>
__global__ void __launch_bounds__(short_row_block, least_blocks(vectors == 8 ? 3
                                                                : aligned    ? 6
                                                                             : 4,
                                                                short_row_block))
    sum_short_rows(const Matrix<In> in, const unsigned log_lanes, Acc* out) {
  using W = typename AddedIn<Acc>::type;
  constexpr int at_once = rows_at_once(vectors);
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const unsigned lanes = 1u << log_lanes, lane = threadIdx.x % 32, own = lane & (lanes - 1), of_warp = 32u >> log_lanes;
  const std::int64_t warp = std::int64_t{blockIdx.x} * (short_row_block / 32) + threadIdx.x / 32,
                     first = warp * (at_once * of_warp) + (lane >> log_lanes);
  const int columns = static_cast<int>(in.columns), of_turn = static_cast<int>(lanes) * vectors * Vector<In>::lanes;
  W sums[at_once] = {};
  int done = 0;
  do {
    RowVectors<In, vectors, aligned> v[at_once];
#pragma unroll
    for (int j = 0; j < at_once; ++j) {
      const std::int64_t row = first + j * static_cast<int>(of_warp);
      v[j].load(in.row(row) + done, row < in.rows ? columns - done : 0, in.reach(row, done), own, lanes);
    }
#pragma unroll
    for (int j = 0; j < at_once; ++j) sums[j] += v[j].template sum<W, Operation>();
    done += of_turn;
  } while (vectors == 8 && done < columns);
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int j = 0; j < at_once; ++j) sums[j] += __shfl_down_sync(0xffffffffu, sums[j], distance);
  }
#pragma unroll
  for (int j = 0; j < at_once; ++j) {
    const std::int64_t row = first + j * static_cast<int>(of_warp);
    if (own == 0 && row < in.rows) out[row] = static_cast<Acc>(sums[j]);
  }
}

/// The words in which blocks add up a row, for floats and doubles with their far bands.
inline constexpr unsigned row_words = far_word + far_words;

/// The sum of some tiles of a long row, in the first warp of a block. `Added` is what it has added so far.
template <class W>
struct TilesOfRow {
  static constexpr bool floating = std::is_floating_point<W>::value;
  using Packed = PackedSum<W, floating ? Sums::many : Sums::one_of_each_block>;
  using Added = std::conditional_t<floating, typename Packed::Added, W>;

  static __device__ void add(Added& added, const W& tile) {
    if constexpr (floating)
      added = with(added, tile);
    else
      added += tile;
  }

 private:
  /// Called, since its registers would leave few for loads.
  static __device__ __noinline__ Added with(Added added, W tile) {
    Packed packed(nullptr, 0, added);
    packed.add(tile);
    return packed.added();
  }
};

/// Blocks that share numbered work evenly: block b has those from begin(b) to begin(b + 1).
struct EvenShare {
  std::int64_t count;
  unsigned blocks;

  __device__ std::int64_t begin(unsigned block) const { return count * block / blocks; }
  __device__ unsigned block_of(std::int64_t i) const { return static_cast<unsigned>(((i + 1) * blocks - 1) / count); }
};

/// Most blocks of a multiprocessor for rows that blocks share.
inline constexpr unsigned long_row_blocks = 2;

/// The words of a row that begins in `block`. A row of one block alone needs words only if its tiles are far from 1;
/// another row's may be in use.
__device__ inline std::uint64_t* words_of_row(std::uint64_t* workspace, unsigned block, unsigned blocks) {
  return workspace + std::size_t{blocks == 1 ? gridDim.x + blockIdx.x : block} * row_words;
}

/// Ends a row that `blocks` blocks share, and whose words are theirs alone. A function that is called, since its
/// registers would leave few for loads.
template <class W, class Acc>
__device__ __noinline__ void end_row(typename TilesOfRow<W>::Added added, std::uint64_t* words, unsigned blocks,
                                     Acc* out) {
  using Row = TilesOfRow<W>;
  const OnDevice<Acc> result{out};
  if constexpr (Row::floating) {
    typename Row::Packed packed(words, blocks, added);
    if (blocks == 1)
      packed.end_alone(result);
    else
      packed.end(result);
  } else if (blocks == 1) {
    if (threadIdx.x == 0) result.store(added);
  } else {
    typename Row::Packed packed(words, blocks);
    packed.add(added);
    packed.end(result);
  }
  __syncwarp();  // the words are reset before the block's next row uses them
}

/// Rows of up to middle_row_vectors: a block a row, with two turns in flight.
/// Launch: blocks of `block`, one for each row.
template <class In, class Acc, class Operation, unsigned block, bool aligned>
__global__ void __launch_bounds__(block, least_blocks((aligned || block == 512 ? 1024 : 768) / block, block))
    sum_middle_rows(const Matrix<In> in, const RowTree tree, Acc* out) {
  using W = typename AddedIn<Acc>::type;
  __shared__ __align__(16) W sums[block / 32];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const std::int64_t row = blockIdx.x;
  const int of_warp = 32 * tree.vectors * Vector<In>::lanes, of_turn = static_cast<int>(block / 32) * of_warp,
            columns = row < in.rows ? static_cast<int>(in.columns) : 0;
  const int turns = block == long_row_block ? tree.turns : 2;
  int first = static_cast<int>(threadIdx.x / 32) * of_warp;
  W sum{};
  for (int turn = 0; turn < turns; turn += 2) {
    RowVectors<In, long_row_vectors, aligned> v[2];
#pragma unroll
    for (auto& part : v) {
      const int rest = columns - first;
      part.load(in.row(row) + first, rest < of_warp ? rest : of_warp, in.reach(row, first), threadIdx.x % 32, 32);
      first += of_turn;
    }
#pragma unroll
    for (const auto& part : v) sum += part.template sum<W, Operation>();
  }
  sum = sum_of_block<block>(sum, sums);
  if (threadIdx.x == 0 && row < in.rows) out[row] = static_cast<Acc>(sum);
}

/// Longer rows, by tiles of two turns, which are in flight. Each block has an even share of all tiles, which lie behind
/// each other.
/// Launch: blocks of long_row_block, no more than there are tiles.
template <class In, class Acc, class Operation, bool aligned>
__global__ void __launch_bounds__(long_row_block, least_blocks(long_row_blocks, long_row_block))
    sum_long_rows(const Matrix<In> in, const RowTree tree, Acc* out, std::uint64_t* workspace) {
  using W = typename AddedIn<Acc>::type;
  constexpr unsigned warps = long_row_block / 32;
  constexpr int turns = 2;
  __shared__ __align__(16) W sums[2 * warps];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const EvenShare share{tree.tiles * in.rows, gridDim.x};
  const std::int64_t begin = share.begin(blockIdx.x), end = share.begin(blockIdx.x + 1);
  const int of_warp = 32 * tree.vectors * Vector<In>::lanes, of_turn = static_cast<int>(warps) * of_warp;
  std::int64_t row = begin / tree.tiles, tile = begin - row * tree.tiles;
  typename TilesOfRow<W>::Added added{};
  for (std::int64_t left = end - begin; left > 0; --left) {
    RowVectors<In, long_row_vectors, aligned> v[turns];
#pragma unroll
    for (int t = 0; t < turns; ++t) {
      const std::int64_t first = (tile * turns + t) * of_turn + (threadIdx.x / 32) * of_warp, rest = in.columns - first;
      v[t].load(in.row(row) + first, static_cast<int>(rest < of_warp ? rest : of_warp), in.reach(row, first),
                threadIdx.x % 32, 32);
    }
    W of_thread{};
#pragma unroll
    for (int t = 0; t < turns; ++t) of_thread += v[t].template sum<W, Operation>();
    // Two buffers in turn: the first warp may still read the last tile's. The others go on.
    const W sum = sum_of_block<long_row_block>(of_thread, sums + (left & 1) * warps);
    const bool is_last = ++tile == tree.tiles;
    if (threadIdx.x < 32) {
      TilesOfRow<W>::add(added, sum);
      if (is_last || left == 1) {
        const unsigned block = share.block_of(row * tree.tiles),
                       blocks = share.block_of((row + 1) * tree.tiles - 1) - block + 1;
        end_row<W, Acc>(added, words_of_row(workspace, block, blocks), blocks, out + row);
        added = {};
      }
    }
    if (is_last) tile = 0, ++row;
  }
}

/// Short rows that lie one behind the other and are no whole vectors. A block loads its rows into shared memory, by
/// whole vectors, and each of its threads adds up some, so that loads and stores are of neighbours.
inline constexpr unsigned tiny_row_block = 128;
inline constexpr int tiny_bytes = 16 * 1024;
/// The longest, in vectors.
inline constexpr std::int64_t tiny_row_vectors = 16;
static_assert(row_tree(tiny_row_vectors).lanes <= 8 && row_tree(tiny_row_vectors).vectors == 2,
              "sum_tiny_rows has these");
/// The most rows of a block.
template <class In>
constexpr std::size_t tiny_rows_of_block(std::size_t columns) {
  return tiny_bytes / sizeof(In) / columns;
}

/// Launch: blocks of tiny_row_block, each with `of_block` rows. `lanes`: the RowTree's, of two vectors each.
template <class In, class Acc, class Operation, int lanes>
__global__ void __launch_bounds__(tiny_row_block)
    sum_tiny_rows(const In* in, std::int64_t rows, int columns, int of_block, Acc* out) {
  using W = typename AddedIn<Acc>::type;
  constexpr int in_vector = Vector<In>::lanes, block = static_cast<int>(tiny_row_block), room = tiny_bytes / 16 + 1;
  __shared__ __align__(16) In loaded[room * in_vector];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * of_block, rest = rows - first;
  const int count = static_cast<int>(rest < of_block ? rest : of_block), n = count * columns;
  const In* const at = in + first * columns;
  const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16 / sizeof(In));
  const std::int64_t behind = rest * columns;  // the matrix's end
#pragma unroll
  for (int u = 0; u < (room + block - 1) / block; ++u) {
    const int i = (u * block + thread) * in_vector - shift;
    if (i >= n) continue;
    // The rows before and behind are ours to load as well.
    if ((i >= 0 || first > 0) && i + in_vector <= behind) {
      const uint4 bits = __ldg(reinterpret_cast<const uint4*>(at + i));
      memcpy(loaded + (i + shift), &bits, sizeof bits);
    } else {
      for (int k = 0; k < in_vector; ++k)
        if (i + k >= 0 && i + k < n) loaded[i + shift + k] = at[i + k];
    }
  }
  __syncthreads();  // all rows are loaded
  for (int row = thread; row < count; row += block) {
    const In* const elements = loaded + (shift + row * columns);
    W sums[lanes];
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) {
      W of_lane[2];
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const int i = (lane + u * lanes) * in_vector;
        Vector<In> v{};
        if (i < columns) {
#pragma unroll
          for (int k = 0; k < in_vector; ++k)
            if (i + k < columns) v.lane[k] = elements[i + k];
        }
        uint4 bits;
        memcpy(&bits, &v, sizeof bits);
        of_lane[u] = sum_of_vector<W, W, Operation, In>(bits);
      }
      sums[lane] = W{} + (of_lane[0] + of_lane[1]);
    }
#pragma unroll
    for (int half = lanes / 2; half > 0; half /= 2) {
#pragma unroll
      for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    out[first + row] = static_cast<Acc>(sums[0]);
  }
}

/// Blocks of a multiprocessor for sums of segments (segments.h).
inline constexpr unsigned ragged_blocks_per_sm = 6;
/// Bytes of a workspace for sums of rows and of segments, which is zero before the first call and after each.
constexpr std::size_t rows_workspace_words(const Gpu& gpu) {
  return 2 * std::size_t{std::max(ragged_blocks_per_sm, long_row_blocks)} * gpu.sm_count * row_words;
}
constexpr std::size_t rows_workspace_bytes(const Gpu& gpu) { return rows_workspace_words(gpu) * sizeof(std::uint64_t); }

/// A plan for the sums of a matrix's rows, or of their squares (Operation). Cheap to make and to copy; owns nothing.
template <class In, class Acc = In, class Operation = Identity>
class RowSums {
  static_assert(adds_up<In, Acc>(), "tuned: the sums' type does not go with the elements' (tuned/tuned.h lists them)");

 public:
  RowSums(std::size_t rows, std::size_t columns, std::size_t pitch, const Gpu& gpu)
      : rows_(rows),
        columns_(columns),
        pitch_(pitch),
        overlaps_(gpu.compute_capability >= 90),
        tree_(row_tree(static_cast<std::int64_t>(vectors()))) {
    if (is_long()) {
      const std::size_t resident = std::max<std::size_t>(gpu.threads_per_sm / long_row_block, 1);
      grid_ = std::min({rows * tiles(), std::min<std::size_t>(long_row_blocks, resident) * gpu.sm_count,
                        std::size_t{most_sums}});
    } else if (is_middle()) {
      grid_ = rows;
    } else if (is_tiny()) {
      // Few rows are spread over all multiprocessors.
      rows_of_block_ = std::min(tiny_rows_of_block<In>(columns),
                                std::max<std::size_t>(ceil_div(rows, std::size_t{8} * gpu.sm_count), tiny_row_block));
      grid_ = ceil_div(rows, rows_of_block_);
    } else {
      grid_ = ceil_div(rows, std::size_t(rows_at_once(tree_.vectors)) * (short_row_block / tree_.lanes));
    }
    if (grid_ == 0) grid_ = 1;  // of no rows
  }

  void operator()(const In* in, Acc* out, std::uint64_t* workspace, void* stream) const {
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(in) % 16 == 0 && (rows_ == 1 || pitch_ * sizeof(In) % 16 == 0);
    if (aligned)
      start<true>(in, out, workspace, stream);
    else
      start<false>(in, out, workspace, stream);
  }

  std::size_t grid() const { return grid_; }
  unsigned block() const { return tree_.turns > 0 ? tree_.block : is_tiny() ? tiny_row_block : short_row_block; }

  /// The longest chain of additions that an element passes through; each may round.
  std::size_t longest_chain() const {
    const std::size_t in_vector = depth(Vector<In>::lanes);
    if (tree_.turns > 0)
      return in_vector + depth(long_row_vectors) + std::size_t(tree_.turns) + 1 + 5 + 4 +
             (is_long() ? 3 + 5 + 2 + 1 : 0);
    const std::size_t at_once = std::size_t(tree_.vectors);
    return in_vector + depth(at_once) + ceil_div(vectors(), tree_.lanes * at_once) + 1 + depth(tree_.lanes);
  }

 private:
  static std::size_t depth(std::size_t leaves) {
    std::size_t levels = 0;
    while (leaves >> (levels + 1)) ++levels;
    return levels;
  }
  std::size_t vectors() const { return ceil_div(columns_, Vector<In>::lanes); }
  bool is_long() const { return tree_.tiles > 1; }
  bool is_middle() const { return tree_.turns > 0 && tree_.tiles == 1; }
  bool is_tiny() const {
    return pitch_ == columns_ && vectors() <= tiny_row_vectors && columns_ % Vector<In>::lanes != 0;
  }
  std::size_t tiles() const { return static_cast<std::size_t>(tree_.tiles); }

  template <bool aligned>
  void start(const In* in, Acc* out, std::uint64_t* workspace, void* stream) const {
    Launch launch{grid_, block(), 0, stream};
    launch.overlaps = overlaps_;
    const Matrix<In> matrix{in, static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(columns_),
                            static_cast<std::int64_t>(pitch_)};
    if (is_long()) {
      device::launch<sum_long_rows<In, Acc, Operation, aligned>>(launch, matrix, tree_, out, workspace);
    } else if (is_middle()) {
      if (tree_.block == 128)
        device::launch<sum_middle_rows<In, Acc, Operation, 128, aligned>>(launch, matrix, tree_, out);
      else if (tree_.block == 256)
        device::launch<sum_middle_rows<In, Acc, Operation, 256, aligned>>(launch, matrix, tree_, out);
      else
        device::launch<sum_middle_rows<In, Acc, Operation, long_row_block, aligned>>(launch, matrix, tree_, out);
    } else if (is_tiny()) {
      const int columns = static_cast<int>(columns_), of_block = static_cast<int>(rows_of_block_);
      if (tree_.lanes == 1)
        device::launch<sum_tiny_rows<In, Acc, Operation, 1>>(launch, in, matrix.rows, columns, of_block, out);
      else if (tree_.lanes == 2)
        device::launch<sum_tiny_rows<In, Acc, Operation, 2>>(launch, in, matrix.rows, columns, of_block, out);
      else if (tree_.lanes == 4)
        device::launch<sum_tiny_rows<In, Acc, Operation, 4>>(launch, in, matrix.rows, columns, of_block, out);
      else
        device::launch<sum_tiny_rows<In, Acc, Operation, 8>>(launch, in, matrix.rows, columns, of_block, out);
    } else {
      const auto log_lanes = static_cast<unsigned>(depth(tree_.lanes));
      if (tree_.vectors == 2)
        device::launch<sum_short_rows<In, Acc, Operation, 2, aligned>>(launch, matrix, log_lanes, out);
      else if (tree_.vectors == 4)
        device::launch<sum_short_rows<In, Acc, Operation, 4, aligned>>(launch, matrix, log_lanes, out);
      else
        device::launch<sum_short_rows<In, Acc, Operation, 8, aligned>>(launch, matrix, log_lanes, out);
    }
  }

  std::size_t rows_, columns_, pitch_;
  bool overlaps_;
  RowTree tree_;
  std::size_t grid_, rows_of_block_ = 0;
};

/// The sums of the rows in one call.
template <class In, class Acc>
void sum_rows(const In* in, std::size_t rows, std::size_t columns, std::size_t pitch, Acc* out,
              std::uint64_t* workspace, const Gpu& gpu, void* stream) {
  RowSums<In, Acc>(rows, columns, pitch, gpu)(in, out, workspace, stream);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned

#endif  // C++17
