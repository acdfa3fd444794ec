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

template <class T, class... Args>
void launch_unroll8_template(const Launch& l, Args... args) {
  switch (l.block) {
    case 32: return launch<unroll8_template<T, 32>>(l, args...);
    case 64: return launch<unroll8_template<T, 64>>(l, args...);
    case 128: return launch<unroll8_template<T, 128>>(l, args...);
    case 256: return launch<unroll8_template<T, 256>>(l, args...);
    case 512: return launch<unroll8_template<T, 512>>(l, args...);
    case 1024: return launch<unroll8_template<T, 1024>>(l, args...);
  }
}

/// A block for every `factor` times its size, and one for an empty input.
std::size_t blocks_for(const Problem& p, const Settings& s, unsigned factor) {
  const std::size_t share = static_cast<std::size_t>(s.integer("block")) * factor;
  return p.n > share ? ceil_div(p.n, share) : 1;
}

std::string declines(const Problem& p, const Settings& s, unsigned factor) {
  constexpr std::size_t most_blocks = 0x7fffffff;
  const std::size_t wanted = blocks_for(p, s, factor);
  if (wanted <= most_blocks) return "";
  return "n = " + std::to_string(p.n) + " takes " + std::to_string(wanted) + " blocks of " + s.text("block") +
         " threads, a launch has at most " + std::to_string(most_blocks) + ": choose a larger block";
}

/// Makes the preparation of one kernel, which `start` launches and whose threads take `factor` elements each.
template <class Start>
Prepare preparation(unsigned factor, Start start) {
  return [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    return dispatch_type(p, [&]<class T>() {
      const std::size_t n = p.n, grid = blocks_for(p, s, factor);
      const unsigned block = static_cast<unsigned>(s.integer("block"));
      const Buffer<T> partials(grid);
      const std::size_t in_block = factor - 1 + std::countr_zero(block);
      return plan_of(
          {grid, block, in_block + grid, partials.bytes(), ResultLocation::host_part},
          [=](void* in, void*, Stream stream) {
            start(Types<T>{}, Launch{grid, block, 0, stream}, global<T>(in, n), partials.ptr(), n);
          },
          AddOnHost<T>(partials, s.text("finish")));
    });
  };
}

/// What the nine variants have in common.
Variant variant(std::string id, std::string title, std::string cites, unsigned factor, std::string block) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(cites),
          .how = {factor == 1 ? "one load" : std::to_string(factor) + " loads, one block apart",
                  "in global memory: " + block, "host adds blocks"},
          .operations = {Operation::sum},
          .types = {ElementType::i32, ElementType::f32, ElementType::f64},
          .tunables = {Tunable::powers_of_two("block", 32, 1024, 1024),
                       Tunable::choice("finish", {"host", "host-pinned"}, "host")},
          .result = ResultLocation::host_part,
          .consumes_input = true,
          .document_n = std::size_t{1} << 24,
          .declines = [factor](const Problem& p, const Settings& s) { return declines(p, s, factor); }};
}

const Register register_neighbored(variant("unroll/neighbored", "in place, neighbored",
                                           "unroll, the article before: neighbored", 1, "tree, stride doubles"),
                                   preparation(1, []<class T>(Types<T>, const auto&... args) {
                                     launch<neighbored<T>>(args...);
                                   }));
const Register register_neighbored_less(
    variant("unroll/neighbored-less", "in place, neighbored, less divergent",
            "unroll, the article before: neighbored, less divergent", 1, "tree, stride doubles, consecutive threads"),
    preparation(1, []<class T>(Types<T>, const auto&... args) { launch<neighbored_less<T>>(args...); }));
const Register register_interleaved(variant("unroll/interleaved", "in place, interleaved",
                                            "unroll, the article before: interleaved", 1, "tree, stride halves"),
                                    preparation(1, []<class T>(Types<T>, const auto&... args) {
                                      launch<interleaved<T>>(args...);
                                    }));
const Register register_unroll2(
    variant("unroll/unroll2", "in place, unroll 2", "unroll, unrolled reduction: by 2", 2, "tree, stride halves"),
    preparation(2, []<class T>(Types<T>, const auto&... args) { launch<unroll2<T>>(args...); }));
const Register register_unroll4(
    variant("unroll/unroll4", "in place, unroll 4", "unroll, unrolled reduction: by 4", 4, "tree, stride halves"),
    preparation(4, []<class T>(Types<T>, const auto&... args) { launch<unroll4<T>>(args...); }));
const Register register_unroll8(
    variant("unroll/unroll8", "in place, unroll 8", "unroll, unrolled reduction: by 8", 8, "tree, stride halves"),
    preparation(8, []<class T>(Types<T>, const auto&... args) { launch<unroll8<T>>(args...); }));
const Register register_unroll8_warp(
    variant("unroll/unroll8-warp", "in place, unroll 8, last warp", "unroll, complete unrolling: the last warp", 8,
            "tree, last warp unrolled"),
    preparation(8, []<class T>(Types<T>, const auto&... args) { launch<unroll8_warp<T>>(args...); }));
const Register register_unroll8_complete(
    variant("unroll/unroll8-complete", "in place, unroll 8, every level",
            "unroll, reduction by template functions: every level", 8, "tree, every level unrolled"),
    preparation(8, []<class T>(Types<T>, const auto&... args) { launch<unroll8_complete<T>>(args...); }));
const Register register_unroll8_template(
    variant("unroll/unroll8-template", "in place, unroll 8, by template",
            "unroll, reduction by template functions: the template", 8, "tree, unrolled by template"),
    preparation(8, []<class T>(Types<T>, const auto&... args) { launch_unroll8_template<T>(args...); }));

}  // namespace
}  // namespace reductio
