/// multiblock: just enough blocks to fill the GPU, and one of them finishes.
///
/// Document: `multiblock`, a Chinese tutorial page, "交換運算元的多塊並行約簡" (multi-block parallel reduction for a
/// commutative operator). int32, 100,000,000 elements, 24 blocks of 1024: by its own rule, two for each of 12 SMs
/// (inferred: it does not name its GPU).
///
/// Its claims (M1 to M3): just enough blocks to fill the GPU, "usually" two per SM, while a thread per element is
/// counterproductive; one launch with a last-block guard does the work of two; a warp-level reduction would be faster.
/// It measures nothing.
///
///   multiblock/two-launch       the second launch adds up the blocks' partial sums
///   multiblock/last-block       one launch: a counter tells the last block to arrive, which adds them up
///   multiblock/last-block-warp  the same with warp shuffles in place of the tree in shared memory
///
/// grid=auto is the document's rule, two blocks per SM, whatever n is. The block's size is a constant in the document,
/// 1024, so here it is compiled in for that size: the compiler writes out every level of the tree, and its 11 barriers.
/// Other sizes are read at run time. The loop counts with the document's `int` (index=document), wherever n allows.
///
/// Mended: the last block reads as many partial sums as there are blocks (in the document `gridSize` is a constant of
/// the host and, hiding it, a count of threads in the kernel, which so reads past them), with as many steps as that
/// takes (it drops those beyond one per thread). After it has seen the counter, the last block fences as well: the
/// document fences before it alone.
/// Changed: only thread 0 fences, since it alone wrote. Partial sums and result lie in memory of their own: the
/// document keeps both in its output, so its second launch writes over what it is reading (a single block, which has
/// read all of it by then). The counter is zeroed by a memset before each launch, as in the document: part of every
/// call, so of its time.

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;

/// The block's size: the document's constant, which it compiles in, or 0 for what the launch has.
template <int Threads>
struct BlockSize {
  static __device__ int threads() { return Threads ? Threads : static_cast<int>(blockDim.x); }
};

/// What one thread adds up where all threads of the grid take turns. Two blocks of two threads:
///
///   in: 0 1 0' 1' 0 1 0' 1' 0 1 0' 1'
template <class Size, class T, class Load, class Index>
__device__ T sum_over_grid(Input<T, Load> in, Index n) {
  const Index threads = Size::threads(), blocks = gridDim.x, bid = blockIdx.x, tid = threadIdx.x;
  const Index stride = threads * blocks;
  T sum = 0;
  for (Index i = bid * threads + tid; i < n; i += stride) sum += in[i];
  return sum;
}

/// What one thread of the last block adds up of the blocks' partial sums.
/// The index is unsigned so that nvcc leaves this a loop: for a few partial sums the document has no loop at all, and
/// unrolled it would take so many registers that an SM no longer holds two blocks of 1024.
template <class Size, class T>
__device__ T sum_of_partials(T* partials) {
  T sum = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += static_cast<unsigned>(Size::threads())) sum += partials[i];
  return sum;
}

/// Adds up one value of every thread, in a tree whose stride halves:
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Needs B elements of shared memory and all threads of the block, a power of two. The result is valid in all of them.
/// Before calling it again the block has to pass a barrier.
template <class Size, class T>
__device__ T sum_of_block(T value) {
  const int tid = static_cast<int>(threadIdx.x);
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[tid] = value;
  __syncthreads();  // every thread's value is there before another thread reads it
  for (int stride = Size::threads() / 2; stride > 0; stride /= 2) {
    if (tid < stride) sums[tid] += sums[tid + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
  return sums[0];
}

/// The base: every block leaves one partial sum, and a launch of one block adds those up. The end of the first launch
/// is the only barrier that all blocks share.
/// Launch: any grid, then 1; a power of two as block, B elements of shared memory. Result: out[b] of every block b.
template <class T, class Load, class Index, class Size>
__global__ void two_launch(Input<T, Load> in, T* out, Index n) {
  const T sum = sum_of_block<Size>(sum_over_grid<Size>(in, n));
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/// True for all threads of the block that arrives last, once thread 0 of every block has stored its partial sum.
/// `arrived` is zero before the launch. A block barrier.
__device__ bool is_last_block(unsigned* arrived) {
  bool last = false;
  if (threadIdx.x == 0) {
    __threadfence();  // whoever sees this block counted also sees the partial sum that this thread stored before
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    // Pairs with the fences of the blocks counted before: what this block reads from here on is no older than what
    // they stored. Without it a read could be done before the count is known.
    __threadfence();
  }
  // The barrier hands thread 0's view on to the whole block; it also keeps the shared memory of the first tree until
  // thread 0 has read its result.
  return __syncthreads_or(last) != 0;
}

/// From two-launch: no second launch. The blocks count themselves as they arrive, and who counts last knows that all
/// partial sums are stored.
///
///   block 0 stores and counts: 1st   block 2 stores and counts: 2nd   block 1 stores and counts: 3rd, adds up
///
/// Launch: any grid, a power of two as block, B elements of shared memory, `arrived` zero. Result: out[0].
template <class T, class Load, class Index, class Size>
__global__ void last_block(Input<T, Load> in, T* out, Index n, T* partials,
                           unsigned* arrived) {
  const T sum = sum_of_block<Size>(sum_over_grid<Size>(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  if (is_last_block(arrived)) {
    const T total = sum_of_block<Size>(sum_of_partials<Size>(partials));
    if (threadIdx.x == 0) out[0] = total;
  }
}

/// Adds up one value of every lane of a warp, through registers:
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// The result is valid in lane 0.
template <class T>
__device__ T sum_of_warp(T value) {
  for (unsigned distance = warp / 2; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

/// From sum_of_block: two levels. Every warp adds up its lanes, then the first warp adds up the warps, so the block
/// meets once in place of once a level.
/// Needs B / 32 elements of shared memory and all threads of the block, a power of two from 32. The result is valid in
/// thread 0. Before calling it again the block has to pass a barrier.
template <class Size, class T>
__device__ T sum_of_block_by_warps(T value) {
  const unsigned lane = threadIdx.x % warp, warps = static_cast<unsigned>(Size::threads()) / warp;
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  value = sum_of_warp<T>(value);
  if (lane == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();  // every warp's sum is there before the first warp reads them
  if (threadIdx.x < warp) {
    value = 0;
    if (lane < warps) value = sums[lane];
    value = sum_of_warp<T>(value);
  }
  return value;
}

/// From last-block: both trees by warp shuffles.
/// Launch: any grid, a power of two from 32 as block, B / 32 elements of shared memory, `arrived` zero. Result: out[0].
template <class T, class Load, class Index, class Size>
__global__ void last_block_warp(Input<T, Load> in, T* out, Index n, T* partials,
                                unsigned* arrived) {
  const T sum = sum_of_block_by_warps<Size>(sum_over_grid<Size>(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  if (is_last_block(arrived)) {
    const T total = sum_of_block_by_warps<Size>(sum_of_partials<Size>(partials));
    if (threadIdx.x == 0) out[0] = total;
  }
}

const Variant shared{.kind = VariantKind::document,
                     .how = {.thread = "grid stride"},
                     .operations = {Operation::sum, Operation::sum_of_squares},
                     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
                     .tunables = {Tunable::powers_of_two("block", 32, 1024, 1024),
                                  Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "40"}, "auto"), loop_index()},
                     .document_n = 100000000,
                     .compiled_in = "block=1024"};

/// The launch of all three: two blocks per SM, whatever n is, and in each a tree of the block's threads.
SumShape shape(Finish finish, unsigned threads_per_shared_element) {
  return {.finish = finish,
          .threads_per_shared_element = threads_per_shared_element,
          .grid = [](std::size_t, unsigned, const DeviceInfo& gpu) { return 2 * std::size_t(gpu.sm_count); },
          .document_index = "i32"};
}

const Register two_launches =
    sum_kernel(combined(shared, {.id = "multiblock/two-launch",
                                 .title = "multi-block, two launches",
                                 .cites = "multiblock, first listing: two kernels",
                                 .how = {.block = "tree, stride halves", .grid = "second launch"}}),
               shape(Finish::second_launch, 1), []<class T, class Load, class Index>(const Settings& s) {
                 return s.count("block") == 1024 ? launch<two_launch<T, Load, Index, BlockSize<1024>>>
                                                 : launch<two_launch<T, Load, Index, BlockSize<0>>>;
               });
const Register guarded =
    sum_kernel(combined(shared, {.id = "multiblock/last-block",
                                 .title = "multi-block, last block",
                                 .cites = "multiblock, second listing: last-block guard",
                                 .how = {.block = "tree, stride halves", .grid = "last block, fence and counter"}}),
               shape(Finish::last_block, 1), []<class T, class Load, class Index>(const Settings& s) {
                 return s.count("block") == 1024 ? launch<last_block<T, Load, Index, BlockSize<1024>>>
                                                 : launch<last_block<T, Load, Index, BlockSize<0>>>;
               });
const Register guarded_warps =
    sum_kernel(combined(shared, {.id = "multiblock/last-block-warp",
                                 .title = "multi-block, last block, warp shuffles",
                                 .cites = "multiblock, closing remark: warp-level reduction",
                                 .how = {.block = "warp shuffles", .grid = "last block, fence and counter"}}),
               shape(Finish::last_block, warp), []<class T, class Load, class Index>(const Settings& s) {
                 return s.count("block") == 1024 ? launch<last_block_warp<T, Load, Index, BlockSize<1024>>>
                                                 : launch<last_block_warp<T, Load, Index, BlockSize<0>>>;
               });

}  // namespace
}  // namespace reductio
