/// squares: a beginner's sum of squares that times itself.
///
/// Document: `squares`, a CUDA tutorial for the GeForce 8800 GT, sections "内存的存取模式" (how memory is accessed) and
/// "更多的并行化" (more parallelism). int32, sum of x * x over 1,048,576 elements (inferred: the size is on another
/// page).
///
/// Its claims (S1 to S6): reading with a stride beats a chunk per thread by 3x, 512 threads beat 256, as 256 hide at
/// most 256 cycles of a latency that may be over 500; 32 blocks beat one. From then on the CPU's additions weigh, 8192
/// of them, so blocks should add up their own threads' results (that this leaves 32 is inferred). The blocks' clocks,
/// latest stop - earliest start, measure the run.
///
///   squares/chunked           one block; every thread reads a contiguous chunk (not printed, only described)
///   squares/strided           one block; thread t reads t, t + T, t + 2T, ...
///   squares/multi-block       the same over all threads of all blocks
///   squares/multi-block-tree  and every block adds up its threads' results itself
///
/// The host adds what the kernels leave, as in the document.
///
/// Each block reads its SM's clock at its start and at its end; the run took "latest stop - earliest start". That is
/// the document's method for several blocks and is kept as such. On a current GPU every SM counts for itself, so with
/// several blocks the difference mixes counters: a finding to measure, which is why it is computed here exactly as the
/// document says. Each block reads the GPU's one clock beside it (timing mode `globaltimer`), where the difference
/// means what it says.
///
/// Mended: the document's thread 0 reads the stop clock when its own loop is done, while other warps of the block may
/// still be at work. Here the block meets at a barrier first, so the reading is the block's. The start is thread 0's:
/// another warp may have begun a few cycles earlier.
/// Changed: n is no constant, so that any n works. The document's number of threads and of blocks are, and are compiled
/// in here too where they are asked for: 256 threads (strided: 512 as well), 32 blocks; others are read at run time.
/// The loop counts with the document's `int` (index=document), wherever n allows. The document's clock() is 32 bits
/// wide and its kernels of one block store a difference; here 64 bits, and every kernel stores start and stop. The
/// readings are copied after the call, outside the time that other clocks take of it.

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

/// A clock reading: cycles as clock64() gives them, or nanoseconds of the GPU's one clock. `clocks` holds the start of
/// every block in cycles, then every stop, then the same in nanoseconds.
using Reading = long long;

/// Lets thread 0 store the block's start. The document's clock is read last, so that the other costs it nothing.
__device__ void start_clock(Reading* clocks) {
  if (threadIdx.x != 0) return;
  clocks[2 * std::size_t{gridDim.x} + blockIdx.x] = static_cast<Reading>(globaltimer());
  clocks[blockIdx.x] = clock64();
}

/// Lets thread 0 store the block's stop; the document's clock is read first.
__device__ void stop_clock(Reading* clocks) {
  __syncthreads();  // the block is done when its last warp is, not when thread 0 is
  if (threadIdx.x != 0) return;
  clocks[std::size_t{gridDim.x} + blockIdx.x] = clock64();
  clocks[3 * std::size_t{gridDim.x} + blockIdx.x] = static_cast<Reading>(globaltimer());
}

/// Latest stop - earliest start.
Reading took(const std::vector<Reading>& clocks, std::size_t first, std::size_t grid) {
  const auto starts = clocks.begin() + static_cast<std::ptrdiff_t>(first);
  const auto stops = starts + static_cast<std::ptrdiff_t>(grid);
  return *std::max_element(stops, stops + static_cast<std::ptrdiff_t>(grid)) - *std::min_element(starts, stops);
}

/// The block's size and the number of blocks: the document's constants, which it compiles in, or 0 for what the launch
/// has, as in Shape<0, 0>.
template <int Threads, int Blocks>
struct Shape {
  static __device__ int threads() { return Threads ? Threads : static_cast<int>(blockDim.x); }
  static __device__ int blocks() { return Blocks ? Blocks : static_cast<int>(gridDim.x); }
};

/// Every thread walks through a chunk of its own, so at any moment the lanes of a warp read addresses a chunk apart:
///
///   in: 0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3      (the thread that reads each element)
///
/// Launch: 1 block of any size. Result: results[t] of every thread t, for the host to add.
template <class T, class Load, class Index, class Shape>
__global__ void chunked(Input<T, Load> in, T* results, Reading* clocks, Index n) {
  const Index tid = threadIdx.x, threads = Shape::threads();
  start_clock(clocks);
  const Index chunk = n / threads + (n % threads != 0);
  const Index begin = tid * chunk;
  const Index end = begin + chunk < n ? begin + chunk : n;
  T sum = 0;
  for (Index i = begin; i < end; ++i) sum += in[i];
  results[tid] = sum;
  stop_clock(clocks);
}

/// Neighbouring threads read neighbouring elements, so that a warp's loads fall together:
///
///   in: 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3
///
/// Launch: 1 block of any size. Result: results[t] of every thread t, for the host to add.
template <class T, class Load, class Index, class Shape>
__global__ void strided(Input<T, Load> in, T* results, Reading* clocks, Index n) {
  const Index tid = threadIdx.x, threads = Shape::threads();
  start_clock(clocks);
  T sum = 0;
  for (Index i = tid; i < n; i += threads) sum += in[i];
  results[tid] = sum;
  stop_clock(clocks);
}

/// What one thread adds up where all threads of the grid take turns.
template <class Shape, class T, class Load, class Index>
__device__ T sum_over_grid(Input<T, Load> in, Index n) {
  const Index threads = Shape::threads(), blocks = Shape::blocks(), bid = blockIdx.x, tid = threadIdx.x;
  T sum = 0;
  for (Index i = bid * threads + tid; i < n; i += blocks * threads) sum += in[i];
  return sum;
}

/// The stride is now all threads of all blocks, so that every SM has work. Two blocks of two threads:
///
///   in: 0 1 0' 1' 0 1 0' 1' 0 1 0' 1'
///
/// Launch: any grid, any block. Result: results[b * B + t] of every thread, for the host to add.
template <class T, class Load, class Index, class Shape>
__global__ void multi_block(Input<T, Load> in, T* results, Reading* clocks, Index n) {
  start_clock(clocks);
  const T sum = sum_over_grid<Shape>(in, n);
  results[std::size_t{blockIdx.x} * Shape::threads() + threadIdx.x] = sum;
  stop_clock(clocks);
}

/// The document's closing proposal: the block adds up its threads' results, so the host gets one for each block. The
/// document leaves open how; a tree in shared memory, halving its stride:
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Launch: any grid, a power of two as block, B elements of shared memory. Result: results[b] of every block b.
template <class T, class Load, class Index, class Shape>
__global__ void multi_block_tree(Input<T, Load> in, T* results, Reading* clocks, Index n) {
  const int tid = static_cast<int>(threadIdx.x);
  start_clock(clocks);
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[tid] = sum_over_grid<Shape>(in, n);
  __syncthreads();  // every thread's sum is there before another thread reads it
  for (int stride = Shape::threads() / 2; stride > 0; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
  if (tid == 0) results[blockIdx.x] = sums[0];
  stop_clock(clocks);
}

template <class T, class Load>
using Clocked = Start<Input<T, Load>, T*, Reading*, std::size_t>;

struct Timed {
  bool has_tree;  ///< its blocks add up their own threads
  Kernels<Clocked> kernel;
};

std::unique_ptr<Plan> prepare(const Timed& timed, const Problem& p, const Settings& chosen, const DeviceInfo&) {
  return dispatch(p, [&]<class T, class Load>() {
    const unsigned block = chosen.count("block");
    const std::size_t n = p.n, grid = chosen.count("grid", 1);
    const Settings s = with_loop_index(chosen, "i32", n + grid * block);  // the last step, or the last chunk, included
    const std::size_t tree = timed.has_tree ? std::countr_zero(block) : 0;
    const std::size_t shared_bytes = timed.has_tree ? block * sizeof(T) : 0;
    const Buffer<T> results(timed.has_tree ? grid : grid * block);
    const Buffer<Reading> clocks(4 * grid);
    const PlanInfo info{.grid_blocks = grid, .block_threads = block,
                        .longest_chain = Load::roundings + ceil_div(n, grid * block) + tree +
                                         std::min(results.size(), ceil_div(n, timed.has_tree ? block : 1)),
                        .workspace_bytes = results.bytes() + clocks.bytes(), .result = ResultLocation::host_part};
    const auto enqueue = [=, start = timed.kernel.get<T, Load>(s)](void* in, void*, Stream stream) {
      start({grid, block, shared_bytes, stream}, {static_cast<const T*>(in)}, results.ptr(), clocks.ptr(), n);
    };
    const auto last = std::make_shared<std::optional<Stream>>();  // that of the last finished call
    auto finish = [=, add = AddOnHost<T>(results, s.text("finish"))](void* result, Stream stream) mutable {
      add(result, stream);
      *last = stream;
    };
    // The readings are fetched when they are asked for: they are no part of the sum, and so of no call's time.
    auto clock = [=, host = std::vector<Reading>(clocks.size())]() mutable -> std::optional<ClockReading> {
      if (!*last) return std::nullopt;
      copy_to_host<Reading>(host.data(), clocks.ptr(), host.size(), **last);
      return ClockReading{.cycles = static_cast<double>(took(host, 0, grid)),
                          .seconds = 1e-9 * static_cast<double>(took(host, 2 * grid, grid))};
    };
    return plan_of(info, enqueue, std::move(finish), std::move(clock));
  });
}

const Tunable grids = Tunable::integer("grid", 1, 0x7fffffff, {"1", "5", "32"}, "32");

const Register registered(
    {.kind = VariantKind::document, .operations = {Operation::sum_of_squares, Operation::sum},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::powers_of_two("block", 32, 1024, 256),
                  Tunable::choice("finish", {"host", "host-pinned"}, "host"), loop_index()},
     .result = ResultLocation::host_part, .reads_clock = true, .document_n = 1048576,
     .compiled_in = "block=256"},
    prepare,
    {{{.id = "squares/chunked", .title = "squares, chunk per thread",
       .cites = "squares, how memory is accessed: the previous program",
       .how = {.thread = "contiguous chunk", .block = "none", .grid = "one block, host adds threads"}},
      {false, []<class T, class Load, class Index>(const Settings& s) {
         return s.count("block") == 256 ? launch<chunked<T, Load, Index, Shape<256, 1>>>
                                        : launch<chunked<T, Load, Index, Shape<0, 1>>>;
       }}},
     {{.id = "squares/strided", .title = "squares, strided",
       .cites = "squares, how memory is accessed: the kernel shown",
       .how = {.thread = "block stride", .block = "none", .grid = "one block, host adds threads"},
       .compiled_in = "block=256 or 512",
       .further_launches = {{{"block", "512"}}}},  // against 256, in one block: claim S2
      {false, []<class T, class Load, class Index>(const Settings& s) {
         return s.count("block") == 256   ? launch<strided<T, Load, Index, Shape<256, 1>>>
                : s.count("block") == 512 ? launch<strided<T, Load, Index, Shape<512, 1>>>
                                          : launch<strided<T, Load, Index, Shape<0, 1>>>;
       }}},
     {{.id = "squares/multi-block", .title = "squares, multi-block",
       .cites = "squares, more parallelism: the kernel shown",
       .how = {.thread = "grid stride", .block = "none", .grid = "host adds threads"}, .tunables = {grids},
       .compiled_in = "block=256 with grid=32"},
      {false, []<class T, class Load, class Index>(const Settings& s) {
         return s.count("block") == 256 && s.count("grid") == 32
                    ? launch<multi_block<T, Load, Index, Shape<256, 32>>>
                    : launch<multi_block<T, Load, Index, Shape<0, 0>>>;
       }}},
     {{.id = "squares/multi-block-tree", .title = "squares, multi-block, tree",
       .cites = "squares, more parallelism: the closing proposal",
       .how = {.thread = "grid stride", .block = "tree, stride halves", .grid = "host adds blocks"},
       .tunables = {grids}, .compiled_in = "block=256 with grid=32"},
      {true, []<class T, class Load, class Index>(const Settings& s) {
         return s.count("block") == 256 && s.count("grid") == 32
                    ? launch<multi_block_tree<T, Load, Index, Shape<256, 32>>>
                    : launch<multi_block_tree<T, Load, Index, Shape<0, 0>>>;
       }}}});

}  // namespace
}  // namespace reductio
