/// unroll: one tree, in place in global memory, unrolled step by step.
///
/// Document: `unroll`, 谭升 (Tan Sheng), "【CUDA 基础】3.5 展开循环" (CUDA basics 3.5, unrolling loops), 2018,
/// https://face2ai.com/CUDA-F-3-5-展开循环/, and the three trees of the article before it, whose times it quotes.
/// int32, 2^24 elements, blocks of 1024, GTX 1050 Ti.
///
/// Its claim: unrolling by 2, 4, 8 blocks pays each time, unrolling the last warp pays again, unrolling every level
/// adds nothing more, and all steps together are worth nearly 10x.
///
///   unroll/neighbored        stride doubles, thread t works when t % (2 * stride) == 0
///   unroll/neighbored-less   the same pairs, consecutive threads work
///   unroll/interleaved       stride halves, thread t adds t + stride
///   unroll/unroll2           first adds 2 elements one block apart, then interleaved
///   unroll/unroll4           first adds 4
///   unroll/unroll8           first adds 8
///   unroll/unroll8-warp      and the last warp is written out
///   unroll/unroll8-complete  and every level is written out, the block size is read at run time
///   unroll/unroll8-template  the same with the block size as a template parameter
///
/// The kernels overwrite their input; the host adds the blocks' partial sums.
///
/// Mended: the tail that does not fill a block's whole share is added too (the document drops it); no thread returns
/// before a block barrier; the last warp's lanes meet at __syncwarp() between reading and writing (the document: a
/// volatile pointer, a race since Volta) and do not reach past a block of 32. To hold for any n, "is my partner in the
/// block?" became "is my partner among the block's live values?", a comparison in place of the other.

#include <bit>
#include <memory>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;

__device__ std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

/// A block's share of the input: `factor` times the block's size, from `data` on.
template <class T>
struct Share {
  GlobalPtr<T> data;
  std::size_t length;  ///< elements of the input from `data` on; the share is cut off there
  unsigned live;       ///< of the first blockDim.x elements, those that exist: the values that the tree adds up
};

template <class T>
__device__ Share<T> share_of_block(GlobalPtr<T> in, std::size_t n, unsigned factor) {
  const std::size_t begin = std::size_t{blockIdx.x} * blockDim.x * factor;
  const std::size_t length = begin < n ? n - begin : 0;  // 0 only in the single block of an empty input
  return {in + begin, length, static_cast<unsigned>(smaller(length, blockDim.x))};
}

/// Every kernel ends here, with the block's sum in data[0]. Only thread 0 calls it, which also wrote data[0].
template <class T>
__device__ void store_partial(GlobalPtr<T> partials, Share<T> share) {
  T sum = 0;
  if (share.live > 0) sum = share.data[0];
  partials[blockIdx.x] = sum;
}

/// The base: neighbours are added up, and half of the working threads drop out of every warp at each level.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 2, then thread 0)
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void neighbored(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const unsigned tid = threadIdx.x;
  const Share<T> share = share_of_block<T>(in, n, 1);
  GlobalPtr<T> data = share.data;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (tid % (2 * stride) == 0 && tid + stride < share.live) data[tid] += data[tid + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
  if (tid == 0) store_partial<T>(partials, share);
}

/// From neighbored: the same pairs, but the first threads take them, so that whole warps drop out.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 1, then thread 0)
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void neighbored_less(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const unsigned tid = threadIdx.x;
  const Share<T> share = share_of_block<T>(in, n, 1);
  GlobalPtr<T> data = share.data;
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    const unsigned index = 2 * stride * tid;
    if (index + stride < share.live) data[index] += data[index + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
  if (tid == 0) store_partial<T>(partials, share);
}

/// One level of the interleaved tree, without its barrier: the first `stride` threads add what lies `stride` on.
template <class T>
__device__ void fold(GlobalPtr<T> data, unsigned stride, unsigned live) {
  const unsigned tid = threadIdx.x;
  if (tid < stride && tid + stride < live) data[tid] += data[tid + stride];
}

/// The interleaved tree as a loop, from blockDim.x values down to `last`. Ends with a block barrier, if it has a level.
template <class T>
__device__ void fold_down_to(unsigned last, GlobalPtr<T> data, unsigned live) {
  for (unsigned stride = blockDim.x / 2; stride >= last; stride /= 2) {
    fold<T>(data, stride, live);
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// From neighbored-less: the stride halves, so that neighbouring threads touch neighbouring elements.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void interleaved(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const Share<T> share = share_of_block<T>(in, n, 1);
  fold_down_to<T>(1, share.data, share.live);
  if (threadIdx.x == 0) store_partial<T>(partials, share);
}

/// Where the share is cut off before its last element for this thread: one block on at a time, while there are any.
template <class T>
__device__ void add_what_is_left(GlobalPtr<T> data, std::size_t length) {
  for (std::size_t i = std::size_t{threadIdx.x} + blockDim.x; i < length; i += blockDim.x) data[threadIdx.x] += data[i];
}

/// From interleaved: half the blocks, and before the tree each thread adds the element one block on.
///
///   a b | c d  ->  a+c b+d | . .  ->  the tree over a+c b+d
///
/// Launch: a block for every 2 * B elements, B a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void unroll2(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const std::size_t tid = threadIdx.x, step = blockDim.x;
  const Share<T> share = share_of_block<T>(in, n, 2);
  GlobalPtr<T> data = share.data;
  if (tid + step < share.length) data[tid] += data[tid + step];
  __syncthreads();  // every thread's sum is there before another thread reads it
  fold_down_to<T>(1, data, share.live);
  if (tid == 0) store_partial<T>(partials, share);
}

/// From unroll2: four elements, whose loads do not wait for each other.
/// Launch: a block for every 4 * B elements, B a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void unroll4(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const std::size_t tid = threadIdx.x, step = blockDim.x;
  const Share<T> share = share_of_block<T>(in, n, 4);
  GlobalPtr<T> data = share.data;
  if (tid + 3 * step < share.length) {
    const T a = data[tid];
    const T b = data[tid + step];
    const T c = data[tid + 2 * step];
    const T d = data[tid + 3 * step];
    data[tid] = a + b + c + d;
  } else {
    add_what_is_left<T>(data, share.length);
  }
  __syncthreads();  // every thread's sum is there before another thread reads it
  fold_down_to<T>(1, data, share.live);
  if (tid == 0) store_partial<T>(partials, share);
}

/// The first step of all that follow: every thread adds eight elements, one block apart.
///
///   a b | c d | e f | ... | o p  ->  a+c+...+o b+d+...+p | . . | . .
///
/// Ends with a block barrier.
template <class T>
__device__ void add_eight(GlobalPtr<T> data, std::size_t length) {
  const std::size_t tid = threadIdx.x, step = blockDim.x;
  if (tid + 7 * step < length) {
    const T a = data[tid];
    const T b = data[tid + step];
    const T c = data[tid + 2 * step];
    const T d = data[tid + 3 * step];
    const T e = data[tid + 4 * step];
    const T f = data[tid + 5 * step];
    const T g = data[tid + 6 * step];
    const T h = data[tid + 7 * step];
    data[tid] = a + b + c + d + e + f + g + h;
  } else {
    add_what_is_left<T>(data, length);
  }
  __syncthreads();  // every thread's sum is there before another thread reads it
}

/// From unroll4: eight elements.
/// Launch: a block for every 8 * B elements, B a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void unroll8(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const Share<T> share = share_of_block<T>(in, n, 8);
  add_eight<T>(share.data, share.length);
  fold_down_to<T>(1, share.data, share.live);
  if (threadIdx.x == 0) store_partial<T>(partials, share);
}

/// One level inside the first warp, taken by all its lanes:
///
///   a b c d  ->  a+c b+d c+a d+b      (distance 2)
///
/// The first `distance` lanes hold what the next level needs; the others work for nothing, as in the document. The
/// partner is lane ^ distance, for the lanes that matter the same as lane + distance, and never past the warp.
template <class T>
__device__ void fold_warp(GlobalPtr<T> data, unsigned distance, unsigned live) {
  const unsigned lane = threadIdx.x;
  T other = 0;
  if ((lane ^ distance) < live) other = data[lane ^ distance];
  __syncwarp();  // the partner has read this lane's value before it is overwritten
  if (lane < live) data[lane] += other;
  __syncwarp();  // this level is written before the next one reads it
}

/// The last 64 values, written out for one warp.
template <class T>
__device__ void finish_in_warp(GlobalPtr<T> data, unsigned live) {
  fold<T>(data, warp, live);
  __syncwarp();  // the warp's 32 sums are there before another lane reads them
  fold_warp<T>(data, 16, live);
  fold_warp<T>(data, 8, live);
  fold_warp<T>(data, 4, live);
  fold_warp<T>(data, 2, live);
  fold_warp<T>(data, 1, live);
}

/// From unroll8: once 64 values are left a single warp adds them up, with no loop and no block barrier.
/// Launch: a block for every 8 * B elements, B a power of two from 32. Result: partials[b] of every block b.
template <class T>
__global__ void unroll8_warp(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const Share<T> share = share_of_block<T>(in, n, 8);
  add_eight<T>(share.data, share.length);
  fold_down_to<T>(2 * warp, share.data, share.live);
  if (threadIdx.x < warp) finish_in_warp<T>(share.data, share.live);
  if (threadIdx.x == 0) store_partial<T>(partials, share);
}

/// The levels above the last warp, written out. `threads` is the block's size, a constant where the caller knows it.
/// The barriers stand outside the conditions, as in the document: a small block passes those of levels it lacks.
template <class T>
__device__ void fold_every_level(unsigned threads, GlobalPtr<T> data, unsigned live) {
  if (threads >= 1024) fold<T>(data, 512, live);
  __syncthreads();  // here and below: this level is written before the next one reads it
  if (threads >= 512) fold<T>(data, 256, live);
  __syncthreads();
  if (threads >= 256) fold<T>(data, 128, live);
  __syncthreads();
  if (threads >= 128) fold<T>(data, 64, live);
  __syncthreads();
}

/// From unroll8-warp: the levels above the last warp are written out too, so no loop is left.
/// Launch: a block for every 8 * B elements, B a power of two from 32. Result: partials[b] of every block b.
template <class T>
__global__ void unroll8_complete(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const Share<T> share = share_of_block<T>(in, n, 8);
  add_eight<T>(share.data, share.length);
  fold_every_level<T>(blockDim.x, share.data, share.live);
  if (threadIdx.x < warp) finish_in_warp<T>(share.data, share.live);
  if (threadIdx.x == 0) store_partial<T>(partials, share);
}

/// From unroll8-complete: the block size is a template parameter, so the compiler drops the comparisons with it.
/// Launch: a block of `Threads`, a power of two from 32, for every 8 * Threads elements.
/// Result: partials[b] of every block b.
template <class T, unsigned Threads>
__global__ void unroll8_template(GlobalPtr<T> in, GlobalPtr<T> partials, std::size_t n) {
  const Share<T> share = share_of_block<T>(in, n, 8);
  add_eight<T>(share.data, share.length);
  fold_every_level<T>(Threads, share.data, share.live);
  if (threadIdx.x < warp) finish_in_warp<T>(share.data, share.live);
  if (threadIdx.x == 0) store_partial<T>(partials, share);
}

template <class T, class = Identity>  // the sum is all they know
using InPlace = Start<GlobalPtr<T>, GlobalPtr<T>, std::size_t>;

struct Unrolled {
  unsigned factor;  ///< elements that each thread takes
  Kernels<InPlace> kernel;
};

std::size_t grid_for(const Unrolled& u, const Problem& p, const Settings& s) {
  return blocks_for(p.n, std::size_t{s.count("block")} * u.factor);
}

Strategy in_place(unsigned factor, const std::string& tree) {
  return {.thread = factor == 1 ? "one load" : std::to_string(factor) + " loads, one block apart",
          .block = "in global memory: " + tree, .grid = "host adds blocks"};
}

std::string declines(const Unrolled& u, const Problem& p, const Settings& s) {
  return too_many_blocks(p, s, grid_for(u, p, s), "choose a larger block");
}

std::unique_ptr<Plan> prepare(const Unrolled& u, const Problem& p, const Settings& s, const DeviceInfo&) {
  return dispatch(p, [&]<class T>() {
    const unsigned block = s.count("block");
    const std::size_t n = p.n, grid = grid_for(u, p, s), chain = u.factor - 1 + std::countr_zero(block);
    const PlanInfo info{.grid_blocks = grid, .block_threads = block, .longest_chain = chain};
    const auto blocks = [=, start = u.kernel.get<T>(s)](void* in, GlobalPtr<T> partials, Stream stream) {
      start({grid, block, 0, stream}, global<T>(in, n), partials, n);
    };
    return plan_with_host_part<T>(info, s, blocks);
  });
}

const Register registered(
    {.operations = {Operation::sum},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::powers_of_two("block", 32, 1024, 1024),
                  Tunable::choice("finish", {"host", "host-pinned"}, "host")},
     .result = ResultLocation::host_part, .consumes_input = true, .document_n = std::size_t{1} << 24},
    prepare,
    {{{.id = "unroll/neighbored", .title = "in place, neighbored", .cites = "unroll, the article before: neighbored",
       .how = in_place(1, "tree, stride doubles")}, {1, []<class T>() { return launch<neighbored<T>>; }}},
     {{.id = "unroll/neighbored-less", .title = "in place, neighbored, less divergent",
       .cites = "unroll, the article before: neighbored, less divergent",
       .how = in_place(1, "tree, stride doubles, consecutive threads")},
      {1, []<class T>() { return launch<neighbored_less<T>>; }}},
     {{.id = "unroll/interleaved", .title = "in place, interleaved", .cites = "unroll, the article before: interleaved",
       .how = in_place(1, "tree, stride halves")}, {1, []<class T>() { return launch<interleaved<T>>; }}},
     {{.id = "unroll/unroll2", .title = "in place, unroll 2", .cites = "unroll, unrolled reduction: by 2",
       .how = in_place(2, "tree, stride halves")}, {2, []<class T>() { return launch<unroll2<T>>; }}},
     {{.id = "unroll/unroll4", .title = "in place, unroll 4", .cites = "unroll, unrolled reduction: by 4",
       .how = in_place(4, "tree, stride halves")}, {4, []<class T>() { return launch<unroll4<T>>; }}},
     {{.id = "unroll/unroll8", .title = "in place, unroll 8", .cites = "unroll, unrolled reduction: by 8",
       .how = in_place(8, "tree, stride halves")}, {8, []<class T>() { return launch<unroll8<T>>; }}},
     {{.id = "unroll/unroll8-warp", .title = "in place, unroll 8, last warp",
       .cites = "unroll, complete unrolling: the last warp",
       .how = in_place(8, "tree, last warp unrolled")}, {8, []<class T>() { return launch<unroll8_warp<T>>; }}},
     {{.id = "unroll/unroll8-complete", .title = "in place, unroll 8, every level",
       .cites = "unroll, reduction by template functions: every level",
       .how = in_place(8, "tree, every level unrolled")}, {8, []<class T>() { return launch<unroll8_complete<T>>; }}},
     {{.id = "unroll/unroll8-template", .title = "in place, unroll 8, by template",
       .cites = "unroll, reduction by template functions: the template",
       .how = in_place(8, "tree, unrolled by template")}, {8, []<class T>(const Settings& s) {
         return for_block<32, 1024>(s.count("block"),
                                    []<unsigned Threads>() { return launch<unroll8_template<T, Threads>>; });
       }}}},
    declines);

}  // namespace
}  // namespace reductio
