/// unroll: one tree, in place in global memory, unrolled step by step.
///
/// Document: `unroll`, 谭升 (Tan Sheng), "【CUDA 基础】3.5 展开循环" (CUDA basics 3.5, unrolling loops), 2018,
/// https://face2ai.com/CUDA-F-3-5-展开循环/, and the three trees of the article before it, whose times it quotes (with
/// the labels of the first two exchanged). int32, 2^24 elements, blocks of 1024, GTX 1050 Ti. Its times are printed as
/// ms and are seconds.
///
/// Its claims (U0 to U10): each of the three trees is faster than the one before; unrolling by 2, 4, 8 blocks pays each
/// time, since there are fewer blocks and more independent loads; unrolling the last warp pays again, as it saves
/// barriers (five, it says; they are six), though its own figure of barrier stalls rises there; unrolling every level
/// adds nothing. All steps together are worth nearly 10x. Speed goes with DRAM throughput and with the efficiency of
/// loads and stores. The compiler unrolls host loops, not device loops.
///
///   unroll/neighbored        stride doubles, thread t works when t % (2 * stride) == 0
///   unroll/neighbored-less   the same pairs, consecutive threads work
///   unroll/interleaved       stride halves, thread t adds t + stride
///   unroll/unroll2           first adds 2 elements one block apart, then interleaved
///   unroll/unroll4           first adds 4; load=chained | independent
///   unroll/unroll8           first adds 8; load=chained | independent
///   unroll/unroll8-warp      and the last warp is written out
///   unroll/unroll8-complete  and every level is written out, the block size is read at run time
///   unroll/unroll8-template  the same with the block size as a template parameter
///
/// The kernels overwrite their input; the host adds the blocks' partial sums. The document times them by the host's
/// clock around launch and cudaDeviceSynchronize(): timing mode launch_to_idle.
///
/// Inferred: the document prints unroll2, unroll8-warp and unroll8-complete. The three trees before them are the
/// article before's. unroll4 and unroll8 are as in the author's repository, where they add one element after the other
/// to the first in place, as unroll2 does (load=chained), and where eight registers, whose loads do not wait for each
/// other, come only with unroll8-warp: what the document credits to the last warp holds both changes. load=independent
/// has the second alone. The template is unroll8-complete with a constant, as its text says. Indices are `unsigned`, as
/// in the document; so are strides, which are `int` there, and nvcc makes the same of either.
///
/// Mended: the tail that does not fill a block's whole share is added too (the document leaves it out); no thread
/// returns before a block barrier; the last warp's lanes meet at __syncwarp() between reading and writing (the
/// document: a volatile pointer, a race since Volta); a block of 32 threads has no 64 values to add up in its last
/// warp. What each of this asks stands in the path of the one block whose share is cut off; whole shares ask what the
/// document asks, and once for each block, whether they are whole.

#include <bit>
#include <memory>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;

/// The input and how it is shared out: to every block `factor` times its size, to the last what is left.
template <class T>
struct Shared {
  T* in;
  std::size_t n;
  unsigned whole;  ///< the first blocks, as many as have their whole share
};

/// A block's share, from `data` on, as far as the input goes. A whole one is asked nothing: there the kernels have just
/// the conditions that the document's have.
template <class T, bool Whole>
struct Share {
  T* data;
  std::size_t length;  ///< elements from `data` on, where that is not the whole share
  __device__ bool has(unsigned i) const { return Whole || i < length; }
};

/// kernel(the block's share), all of whose threads get the same. Two copies of each kernel are compiled, and a block
/// takes one of them: the document knows whole shares alone, and pays for no other in any of its conditions.
template <class T, class Kernel>
__device__ void for_share(Shared<T> all, unsigned factor, Kernel kernel) {
  const std::size_t begin = std::size_t{blockIdx.x} * (blockDim.x * factor);
  if (blockIdx.x < all.whole)
    kernel(Share<T, true>{all.in + begin, 0});
  else
    kernel(Share<T, false>{all.in + begin, all.n - begin});  // of length 0 where the input is empty
}

/// Every kernel ends here, with the block's sum in data[0], which thread 0 wrote.
template <class T, bool Whole>
__device__ void store_partial(T* partials, Share<T, Whole> share) {
  if (threadIdx.x != 0) return;
  T sum = 0;
  if (share.has(0)) sum = share.data[0];
  partials[blockIdx.x] = sum;
}

/// The base: neighbours are added up, and half of the working threads drop out of every warp at each level.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 2, then thread 0)
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void neighbored(Shared<T> in, T* partials) {
  for_share(in, 1, [&](auto share) {
    const unsigned tid = threadIdx.x;
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
      if (tid % (2 * stride) == 0 && share.has(tid + stride)) share.data[tid] += share.data[tid + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    store_partial(partials, share);
  });
}

/// From neighbored: the same pairs, but the first threads take them, so that whole warps drop out.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 1, then thread 0)
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void neighbored_less(Shared<T> in, T* partials) {
  for_share(in, 1, [&](auto share) {
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
      const unsigned index = 2 * stride * threadIdx.x;
      if (index < blockDim.x && share.has(index + stride)) share.data[index] += share.data[index + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    store_partial(partials, share);
  });
}

/// One level of the interleaved tree, without its barrier: the first `stride` threads add what lies `stride` on.
template <class T, bool Whole>
__device__ void fold(Share<T, Whole> share, unsigned stride) {
  const unsigned tid = threadIdx.x;
  if (tid < stride && share.has(tid + stride)) share.data[tid] += share.data[tid + stride];
}

/// The interleaved tree as a loop, from blockDim.x values down to `last`. Ends with a block barrier, if it has a level.
template <class T, bool Whole>
__device__ void fold_down_to(unsigned last, Share<T, Whole> share) {
  for (unsigned stride = blockDim.x / 2; stride >= last; stride /= 2) {
    fold(share, stride);
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// From neighbored-less: the stride halves, so that neighbouring threads touch neighbouring elements.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Launch: a block for every B elements, a power of two. Result: partials[b] of every block b.
template <class T>
__global__ void interleaved(Shared<T> in, T* partials) {
  for_share(in, 1, [&](auto share) {
    fold_down_to(1, share);
    store_partial(partials, share);
  });
}

/// How a thread adds up its elements before the tree, `Factor` of them, one block apart:
///
///   a b | c d | e f | g h  ->  a+c+e+g b+d+f+h | . . | . . | . .      (Factor = 4, B = 2)
///
/// Chained, the first element is added to in place. For all that the compiler knows each store may write what the next
/// load reads, so the loads stay behind the stores, and each store waits for the load that it adds. Independent, all
/// are loaded before the first is added. Both end with a block barrier.
struct Chained {
  template <unsigned Factor, class T, bool Whole>
  static __device__ void add_up(Share<T, Whole> share) {
    const unsigned tid = threadIdx.x, step = blockDim.x;
#pragma unroll
    for (unsigned k = 1; k < Factor; ++k)
      if (share.has(tid + k * step)) share.data[tid] += share.data[tid + k * step];
    __syncthreads();  // every thread's sum is there before another thread reads it
  }
};
struct Independent {
  template <unsigned Factor, class T, bool Whole>
  static __device__ void add_up(Share<T, Whole> share) {
    if constexpr (Whole) {
      const unsigned tid = threadIdx.x, step = blockDim.x;
      T x[Factor];
#pragma unroll
      for (unsigned k = 0; k < Factor; ++k) x[k] = share.data[tid + k * step];
      T sum = x[0];
#pragma unroll
      for (unsigned k = 1; k < Factor; ++k) sum += x[k];
      share.data[tid] = sum;
      __syncthreads();  // every thread's sum is there before another thread reads it
    } else {
      Chained::add_up<Factor>(share);  // of the one block at the end
    }
  }
};

/// From interleaved: half, a quarter or an eighth of the blocks, and before the tree each thread adds up its 2, 4 or 8
/// elements.
/// Launch: a block for every Factor * B elements, B a power of two. Result: partials[b] of every block b.
template <class T, unsigned Factor, class Loads>
__global__ void unrolled(Shared<T> in, T* partials) {
  for_share(in, Factor, [&](auto share) {
    Loads::template add_up<Factor>(share);
    fold_down_to(1, share);
    store_partial(partials, share);
  });
}

/// One level inside the first warp, taken by all its lanes:
///
///   a b c d  ->  a+c b+d c+. d+.      (distance 2)
///
/// The first `distance` lanes hold what the next level needs; the others work for nothing, as in the document, on what
/// lies behind: a whole share of eight blocks has it, and nobody else is writing there by now.
template <class T, bool Whole>
__device__ void fold_warp(Share<T, Whole> share, unsigned distance) {
  const unsigned lane = threadIdx.x;
  T other = 0;
  if (share.has(lane + distance)) other = share.data[lane + distance];
  __syncwarp();  // the partner has read this lane's value before it is overwritten
  if (share.has(lane)) share.data[lane] += other;
  __syncwarp();  // this level is written before the next one reads it
}

/// The last 64 values, written out for one warp; of a block of 32 threads, the last 32.
template <class T, bool Whole>
__device__ void finish_in_warp(Share<T, Whole> share) {
  if (threadIdx.x >= warp) return;
  if (blockDim.x > warp) fold(share, warp);
  __syncwarp();  // the warp's 32 sums are there before another lane reads them
  fold_warp(share, 16);
  fold_warp(share, 8);
  fold_warp(share, 4);
  fold_warp(share, 2);
  fold_warp(share, 1);
}

/// From unrolled by 8: once 64 values are left a single warp adds them up, with no loop and no block barrier.
/// Launch: a block for every 8 * B elements, B a power of two from 32. Result: partials[b] of every block b.
template <class T>
__global__ void unroll8_warp(Shared<T> in, T* partials) {
  for_share(in, 8, [&](auto share) {
    Independent::add_up<8>(share);
    fold_down_to(2 * warp, share);
    finish_in_warp(share);
    store_partial(partials, share);
  });
}

/// The levels above the last warp, written out. `threads` is the block's size, a constant where the caller knows it.
/// The barriers stand outside the conditions, as in the document: a small block passes those of levels it lacks.
template <class T, bool Whole>
__device__ void fold_every_level(unsigned threads, Share<T, Whole> share) {
  if (threads >= 1024) fold(share, 512);
  __syncthreads();  // here and below: this level is written before the next one reads it
  if (threads >= 512) fold(share, 256);
  __syncthreads();
  if (threads >= 256) fold(share, 128);
  __syncthreads();
  if (threads >= 128) fold(share, 64);
  __syncthreads();
}

/// From unroll8-warp: the levels above the last warp are written out too, so no loop is left.
/// Launch: a block for every 8 * B elements, B a power of two from 32. Result: partials[b] of every block b.
template <class T>
__global__ void unroll8_complete(Shared<T> in, T* partials) {
  for_share(in, 8, [&](auto share) {
    Independent::add_up<8>(share);
    fold_every_level(blockDim.x, share);
    finish_in_warp(share);
    store_partial(partials, share);
  });
}

/// From unroll8-complete: the block size is a template parameter, so the compiler drops the comparisons with it.
/// Launch: a block of `Threads`, a power of two from 32, for every 8 * Threads elements.
/// Result: partials[b] of every block b.
template <class T, unsigned Threads>
__global__ void unroll8_template(Shared<T> in, T* partials) {
  for_share(in, 8, [&](auto share) {
    Independent::add_up<8>(share);
    fold_every_level(Threads, share);
    finish_in_warp(share);
    store_partial(partials, share);
  });
}

template <class T, class = Identity>  // the sum is all they know
using InPlace = Start<Shared<T>, T*>;

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
    const auto whole = static_cast<unsigned>(n / (std::size_t{block} * u.factor));
    const auto blocks = [=, start = u.kernel.get<T>(s)](void* in, T* partials, Stream stream) {
      start({grid, block, 0, stream}, {static_cast<T*>(in), n, whole}, partials);
    };
    return plan_with_host_part<T>(info, s, n, blocks);
  });
}

const Tunable loads = Tunable::choice("load", {"chained", "independent"}, "chained");

template <class T, unsigned Factor>
auto launch_unrolled(const Settings& s) {
  return s.text("load") == "chained" ? launch<unrolled<T, Factor, Chained>> : launch<unrolled<T, Factor, Independent>>;
}

const Register registered(
    {.kind = VariantKind::document, .operations = {Operation::sum},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::powers_of_two("block", 32, 1024, 1024),
                  Tunable::choice("finish", {"host", "host-pinned"}, "host")},
     .result = ResultLocation::host_part, .consumes_input = true, .document_n = std::size_t{1} << 24},
    prepare,
    {{{.id = "unroll/neighbored", .title = "in place, neighbored",
       .cites = "unroll, quoted from the article before (inferred): neighbored",
       .how = in_place(1, "tree, stride doubles")},
      {1, []<class T>() { return launch<neighbored<T>>; }}},
     {{.id = "unroll/neighbored-less", .title = "in place, neighbored, less divergent",
       .cites = "unroll, quoted from the article before (inferred): neighbored, less divergent",
       .how = in_place(1, "tree, stride doubles, consecutive threads")},
      {1, []<class T>() { return launch<neighbored_less<T>>; }}},
     {{.id = "unroll/interleaved", .title = "in place, interleaved",
       .cites = "unroll, quoted from the article before (inferred): interleaved",
       .how = in_place(1, "tree, stride halves")},
      {1, []<class T>() { return launch<interleaved<T>>; }}},
     {{.id = "unroll/unroll2", .title = "in place, unroll 2", .cites = "unroll, unrolled reduction: by 2",
       .how = in_place(2, "tree, stride halves")},
      {2, []<class T>() { return launch<unrolled<T, 2, Chained>>; }}},
     {{.id = "unroll/unroll4", .title = "in place, unroll 4",
       .cites = "unroll, unrolled reduction: by 4 (not printed; as in its author's repository)",
       .how = in_place(4, "tree, stride halves"), .tunables = {loads}},
      {4, []<class T>(const Settings& s) { return launch_unrolled<T, 4>(s); }}},
     {{.id = "unroll/unroll8", .title = "in place, unroll 8",
       .cites = "unroll, unrolled reduction: by 8 (not printed; as in its author's repository)",
       .how = in_place(8, "tree, stride halves"), .tunables = {loads}},
      {8, []<class T>(const Settings& s) { return launch_unrolled<T, 8>(s); }}},
     {{.id = "unroll/unroll8-warp", .title = "in place, unroll 8, last warp",
       .cites = "unroll, complete unrolling: the last warp",
       .how = in_place(8, "tree, last warp unrolled")},
      {8, []<class T>() { return launch<unroll8_warp<T>>; }}},
     {{.id = "unroll/unroll8-complete", .title = "in place, unroll 8, every level",
       .cites = "unroll, reduction by template functions: every level",
       .how = in_place(8, "tree, every level unrolled")},
      {8, []<class T>() { return launch<unroll8_complete<T>>; }}},
     {{.id = "unroll/unroll8-template", .title = "in place, unroll 8, by template",
       .cites = "unroll, reduction by template functions: the template (not printed, inferred)",
       .how = in_place(8, "tree, unrolled by template"), .compiled_in = "every block"},
      {8, []<class T>(const Settings& s) {
         return for_block<32, 1024>(s.count("block"),
                                    []<unsigned Threads>() { return launch<unroll8_template<T, Threads>>; });
       }}}},
    declines);

}  // namespace
}  // namespace reductio
