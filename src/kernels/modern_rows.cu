/// modern, rows: many sums in one call, of the rows, columns or segments of an array, for learners: one way in each
/// kernel.
///
/// A row's length decides which way is fast: the elements of a warp's load should be neighbours in memory, and there
/// should be enough threads to keep the memory busy. `reductio run shapes` draws the map.
///
///   modern/row-by-thread     a thread adds up a row: for rows of a few elements
///   modern/row-by-warp       a warp does: for rows of tens to thousands
///   modern/row-by-block      a block does: for thousands to a million
///   modern/row-by-blocks     several blocks do, and add their sums to the output by atomics: for few long rows
///   modern/column-by-tiles   a block takes 32 columns at a time; its warps, rows in turn
///   modern/segment-by-warp   a warp takes a segment, whatever its length: one giant leaves all others waiting
///
/// All add up a row's elements in an order that its length and the block decide, whatever lies beside it, but
/// row-by-blocks, whose atomics come as they come.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned lanes_of_warp = 32, all_lanes = 0xffffffffu, most_block = 1024;

/// Adds up one value of every lane of a warp; valid in lane 0.
template <class T>
__device__ T sum_of_warp(T value) {
  for (unsigned distance = lanes_of_warp / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(all_lanes, value, distance);
  return value;
}

/// Adds up one value of every thread of a block of whole warps; valid in thread 0. Before it is called again, the block
/// has to pass a barrier.
template <class T>
__device__ T sum_of_threads(T value) {
  __shared__ T sums[most_block / lanes_of_warp];
  const unsigned lane = threadIdx.x % lanes_of_warp, warps = blockDim.x / lanes_of_warp;
  value = sum_of_warp(value);
  if (lane == 0) sums[threadIdx.x / lanes_of_warp] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  if (threadIdx.x < lanes_of_warp) value = sum_of_warp(lane < warps ? sums[lane] : T(0));
  return value;
}

/// What one of `threads` adds up of `n` elements that lie beside each other, in turn with the others.
template <class T>
__device__ T sum_in_turn(const T* in, std::int64_t n, std::int64_t thread, std::int64_t threads) {
  T sum = 0;
  for (std::int64_t i = thread; i < n; i += threads) sum += in[i];
  return sum;
}

/// A thread a row. Its loads and its neighbours' are a row apart, so a load of a warp touches 32 rows; rows of up to 8
/// floats share the sectors of 32 bytes that memory gives, longer ones lean on L1.
///
///   row 0  0 0 0 0      thread 0
///   row 1  1 1 1 1      thread 1
///
/// Launch: any grid. Result: out[row] of every row.
template <class T>
__global__ void row_by_thread(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step)
    out[row] = sum_in_turn(in + row * pitch, columns, 0, 1);
}

/// From row_by_thread: a warp a row, whose lanes load neighbours. Rows below 32 leave lanes idle.
///
///   row 0  0 1 2 3 0 1 2 3      lanes of warp 0
///
/// Launch: any grid of whole warps. Result: out[row] of every row.
template <class T>
__global__ void row_by_warp(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  const unsigned lane = threadIdx.x % lanes_of_warp;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x / lanes_of_warp;
  for (std::int64_t row = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_of_warp; row < rows;
       row += step) {
    const T sum = sum_of_warp(sum_in_turn(in + row * pitch, columns, lane, lanes_of_warp));
    if (lane == 0) out[row] = sum;
  }
}

/// From row_by_warp: a block a row.
/// Launch: any grid, whole warps. Result: out[row] of every row.
template <class T>
__global__ void __launch_bounds__(most_block)
    row_by_block(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T sum = sum_of_threads(sum_in_turn(in + row * pitch, columns, threadIdx.x, blockDim.x));
    if (threadIdx.x == 0) out[row] = sum;
    __syncthreads();  // the warps' sums are read before the next row's are stored
  }
}

/// From row_by_block: `share` blocks a row, so that a few long rows occupy the GPU, too. Blocks of one row add their
/// sums to its output by atomics, in whatever order they come.
/// Launch: a grid of whole shares, whole warps; out is zero before. Result: out[row] of every row.
template <class T>
__global__ void __launch_bounds__(most_block)
    row_by_blocks(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                  std::int64_t share) {
  for (std::int64_t row = blockIdx.x / share; row < rows; row += gridDim.x / share) {
    const std::int64_t block = blockIdx.x % share;
    const T sum = sum_of_threads(
        sum_in_turn(in + row * pitch, columns, block * blockDim.x + threadIdx.x, share * blockDim.x));
    if (threadIdx.x == 0) atomicAdd(out + row, sum);
    __syncthreads();  // the warps' sums are read before the next row's are stored
  }
}

/// A block takes 32 columns at a time. Lanes of a warp load neighbours of one row, and the warps take rows in turn;
/// then one warp adds up the warps' sums of each column.
///
///   row 0  0 1 2 3      warp 0
///   row 1  0 1 2 3      warp 1
///
/// Launch: any grid, whole warps. Result: out[column] of every column.
template <class T>
__global__ void __launch_bounds__(most_block)
    column_by_tiles(const T* in, T* out, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  __shared__ T sums[most_block];
  const std::int64_t lane = threadIdx.x % lanes_of_warp, warp = threadIdx.x / lanes_of_warp;
  const std::int64_t warps = blockDim.x / lanes_of_warp;
  for (std::int64_t first = std::int64_t{blockIdx.x} * lanes_of_warp; first < columns;
       first += std::int64_t{gridDim.x} * lanes_of_warp) {
    const std::int64_t column = first + lane;
    T sum = 0;
    if (column < columns)
      for (std::int64_t row = warp; row < rows; row += warps) sum += in[row * pitch + column];
    sums[threadIdx.x] = sum;
    __syncthreads();  // all sums are stored before the first warp reads them
    if (warp == 0 && column < columns) {
      for (std::int64_t other = 1; other < warps; ++other) sum += sums[other * lanes_of_warp + lane];
      out[column] = sum;
    }
    __syncthreads();  // they are read before the next columns' are stored
  }
}

/// From row_by_warp: where a segment begins and ends stands in memory.
/// Launch: any grid of whole warps. Result: out[s] of every segment.
template <class T>
__global__ void segment_by_warp(const T* in, T* out, std::int64_t segments, const std::int64_t* offsets) {
  const unsigned lane = threadIdx.x % lanes_of_warp;
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x / lanes_of_warp;
  for (std::int64_t s = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes_of_warp; s < segments;
       s += step) {
    const std::int64_t begin = offsets[s];
    const T sum = sum_of_warp(sum_in_turn(in + begin, offsets[s + 1] - begin, lane, lanes_of_warp));
    if (lane == 0) out[s] = sum;
  }
}

// ------------------------------------------------------------------------------------------------------- registering

template <class T>
using RowKernel = void (*)(const Launch&, const T*, T*, std::int64_t, std::int64_t, std::int64_t);

/// Blocks that each take `each` of `lines`, but no more than keep the GPU busy.
std::size_t grid_for(std::size_t lines, std::size_t each, const Settings& s, const DeviceInfo& gpu) {
  constexpr std::size_t threads_per_sm = 2048, waves = 4;
  const std::size_t full = waves * static_cast<std::size_t>(gpu.sm_count) * threads_per_sm / s.count("block");
  return std::min(blocks_for(lines, each), std::max<std::size_t>(full, 1));
}

/// Additions of a line that `threads` share, and a tree adds up.
std::size_t chain_of(std::size_t line, std::size_t threads) { return ceil_div(line, threads) + (threads > 1 ? 10 : 0); }

template <class T>
std::unique_ptr<Plan> plan_of_rows(RowKernel<T> kernel, const Problem& p, PlanInfo info) {
  const auto signed_of = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const std::int64_t rows = signed_of(p.rows()), columns = signed_of(p.columns()), pitch = signed_of(p.pitch());
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    kernel({info.grid_blocks, info.block_threads, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out), rows,
           columns, pitch);
  });
}

std::unique_ptr<Plan> prepare_row_by_thread(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block");
  const PlanInfo info{.grid_blocks = grid_for(p.rows(), block, s, gpu), .block_threads = block,
                      .longest_chain = chain_of(p.columns(), 1)};
  return dispatch(p, [&]<class T>() { return plan_of_rows<T>(launch<row_by_thread<T>>, p, info); });
}

std::unique_ptr<Plan> prepare_row_by_warp(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block");
  const PlanInfo info{.grid_blocks = grid_for(p.rows(), block / lanes_of_warp, s, gpu), .block_threads = block,
                      .longest_chain = ceil_div(p.columns(), lanes_of_warp) + 5};
  return dispatch(p, [&]<class T>() { return plan_of_rows<T>(launch<row_by_warp<T>>, p, info); });
}

std::unique_ptr<Plan> prepare_row_by_block(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block");
  const PlanInfo info{.grid_blocks = grid_for(p.rows(), 1, s, gpu), .block_threads = block,
                      .longest_chain = chain_of(p.columns(), block)};
  return dispatch(p, [&]<class T>() { return plan_of_rows<T>(launch<row_by_block<T>>, p, info); });
}

std::unique_ptr<Plan> prepare_row_by_blocks(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block");
  const std::size_t rows = p.rows(), columns = p.columns(), pitch = p.pitch();
  // As many blocks a row as fill the GPU, each with 16 elements a thread at least.
  const std::size_t all = grid_for(p.n, std::size_t{16} * block, s, gpu);
  const std::size_t share =
      std::clamp<std::size_t>(all / std::max<std::size_t>(rows, 1), 1, blocks_for(columns, block));
  const std::size_t grid = share * std::max<std::size_t>(std::min(rows, all / share), 1);
  PlanInfo info{.grid_blocks = grid, .block_threads = block,
                .longest_chain = chain_of(columns, block * share) + share};
  return dispatch(p, [&]<class T>() {
    if (std::is_same_v<T, float>) info.flushes_subnormals.reset();  // a GPU's atomics may
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(static_cast<T*>(out), rows, stream);
      launch<row_by_blocks<T>>({grid, block, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out),
                               static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
                               static_cast<std::int64_t>(pitch), static_cast<std::int64_t>(share));
    });
  });
}

std::unique_ptr<Plan> prepare_column_by_tiles(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block"), warps = block / lanes_of_warp;
  const PlanInfo info{.grid_blocks = grid_for(p.columns(), lanes_of_warp, s, gpu), .block_threads = block,
                      .longest_chain = ceil_div(p.rows(), warps) + warps};
  return dispatch(p, [&]<class T>() { return plan_of_rows<T>(launch<column_by_tiles<T>>, p, info); });
}

std::unique_ptr<Plan> prepare_segment_by_warp(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block");
  const std::int64_t segments = static_cast<std::int64_t>(p.segments());
  const std::int64_t* const offsets = p.shape.offsets_on_device;
  const PlanInfo info{.grid_blocks = grid_for(p.segments(), block / lanes_of_warp, s, gpu), .block_threads = block,
                      .longest_chain = ceil_div(longest_line(p), lanes_of_warp) + 5};
  return dispatch(p, [&]<class T>() {
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<segment_by_warp<T>>({info.grid_blocks, block, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out),
                                 segments, offsets);
    });
  });
}

struct OfRows {
  std::string id, title, cites, thread{}, block{}, grid{};
  Operation operation = Operation::row_sums;
  Determinism determinism = Determinism::per_launch_shape;
};

Variant modern_rows(const OfRows& own) {
  return {.id = own.id,
          .title = own.title,
          .cites = own.cites,
          .kind = VariantKind::ours,
          .own_experiment = "shapes",
          .how = {.thread = own.thread, .block = own.block, .grid = own.grid},
          .operations = {own.operation},
          .types = {ElementType::f32, ElementType::f64, ElementType::i32},
          .tunables = {Tunable::powers_of_two("block", lanes_of_warp, most_block, 256)},
          .determinism = own.determinism};
}

const Register rows_registered[] = {
    {modern_rows({.id = "modern/row-by-thread", .title = "a thread a row", .cites = "our own", .thread = "a row",
                  .determinism = Determinism::always}),
     prepare_row_by_thread},
    {modern_rows({.id = "modern/row-by-warp", .title = "a warp a row", .cites = "our own, from row-by-thread",
                  .thread = "warp stride", .block = "warp shuffles", .determinism = Determinism::always}),
     prepare_row_by_warp},
    {modern_rows({.id = "modern/row-by-block", .title = "a block a row", .cites = "our own, from row-by-warp",
                  .thread = "block stride", .block = "warp shuffles"}),
     prepare_row_by_block},
    {modern_rows({.id = "modern/row-by-blocks", .title = "several blocks a row", .cites = "our own, from row-by-block",
                  .thread = "stride of a row's blocks", .block = "warp shuffles", .grid = "atomics",
                  .determinism = Determinism::none}),
     prepare_row_by_blocks},
    {modern_rows({.id = "modern/column-by-tiles", .title = "columns by tiles", .cites = "our own",
                  .thread = "a column, rows in turn", .block = "the warps' sums by one",
                  .operation = Operation::column_sums}),
     prepare_column_by_tiles},
    {modern_rows({.id = "modern/segment-by-warp", .title = "a warp a segment", .cites = "our own, from row-by-warp",
                  .thread = "warp stride", .block = "warp shuffles", .operation = Operation::segment_sums,
                  .determinism = Determinism::always}),
     prepare_segment_by_warp}};

}  // namespace
}  // namespace reductio
