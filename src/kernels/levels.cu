/// levels: a reduction's three levels, inside a thread, inside a block and between blocks, improved one by one.
///
/// Document: `levels`, "面向GPU计算平台的归约算法的性能优化研究" (optimising reduction for GPU computing platforms),
/// section 1, in OpenCL's terms (work-group = block, LDS = shared memory, wavefront = warp, CU = SM). float32,
/// 1,048,576 elements in its code. It gives no times.
///
/// Its claims (L1 to L9): the work inside a thread decides the speed, more than the tree inside the block; among trees
/// the divergence-free one is a good gain over the naive one, since it halves the working warps and has no bank
/// conflicts, and complete unrolling over that; an atomic finish beats relaunching and beats the CPU, since work inside
/// a thread leaves few blocks and at most one for each SM contends; where the CPU finishes, the blocks must be few,
/// since copying costs. Of global and local stride it says that they differ, not which is faster.
///
///   levels/reduce0              one load a thread, tid % (2 * stride) == 0, one partial sum a block
///   levels/naive                Algorithm 2: the same tree, atomic finish; test=bits (pseudocode) | modulo (code)
///   levels/divergence-free      stride halves, consecutive threads work
///   levels/completely-unrolled  Algorithm 5: blocks of 256, every level written out
///   levels/global-stride        Algorithm 3: every thread loads `granularity` elements, one grid apart
///   levels/local-stride         Algorithm 4: one block apart, inside the block's own chunk
///
/// The document names three ways to finish, and each kernel takes them: finish=relaunch starts the kernel again on the
/// partial sums until one value is left, finish=host copies them (finish=host-pinned into page-locked memory),
/// finish=atomic lets every block add to the result.
/// reduce0 has no atomic finish, which would make it naive.
/// granularity is 1024 in the document's code, which at its own 2^20 elements, were the grid divided by it, would leave
/// one block of 1024 threads. The default here, 32, leaves a block of 256 threads for about every SM of a current GPU
/// at that size. It is the study's main knob: compare its values before comparing the kernels.
/// The loads' loop counts with the document's `int` (index=document), wherever n allows. The remainder is that of the
/// document's types: `unsigned` in reduce0, `int` in naive.
///
/// Mended: reduce0 checks its bounds; the trees of Algorithms 2 and 5 add (their pseudocode assigns); local-stride is
/// the pseudocode's, not the document's code for it, which is global-stride again; granularity and block size are
/// settings, not 1024 whatever the launch, and the grid is divided by the granularity, so that every thread has that
/// many loads; the result is zeroed before atomics, as part of every call (the document copies a zero there before, and
/// in its local-stride program does not). The last warp of completely-unrolled is 32 wide, as its text has it for
/// NVIDIA, not 64 as in its pseudocode, and its lanes meet at __syncwarp() between reading and writing (the document: a
/// volatile pointer, a race since Volta).

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;

/// How thread 0 of a block hands on the block's sum: into the block's own place, or onto the one result.
struct Store {
  template <class T>
  static __device__ void hand_on(T* out, std::type_identity_t<T> sum) {
    out[blockIdx.x] = sum;
  }
};
struct Atomic {
  template <class T>
  static __device__ void hand_on(T* out, std::type_identity_t<T> sum) {
    atomicAdd(out, sum);
  }
};

/// What a thread with a single load brings into the tree; 0 behind the end of the input.
template <class T, class Load>
__device__ T one_load(Input<T, Load> in, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T x = 0;
  if (i < n) x = in[i];
  return x;
}

/// The two ways of asking whether thread `tid` works at a level: a remainder by a value that the compiler does not know
/// to be a power of two, in the document's type, or the bits below it.
template <class Index>
struct ByModulo {
  static __device__ bool works(Index tid, Index stride) { return tid % (2 * stride) == 0; }
};
struct ByBits {
  static __device__ bool works(unsigned tid, unsigned stride) { return (tid & (2 * stride - 1)) == 0; }
};

/// The naive tree: neighbours are added up, and at each level half of the working threads of every warp drop out.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 2, then thread 0)
///
/// The result is in sums[0], for all threads of the block.
template <class T, class Test>
__device__ void doubling_tree(T* sums) {
  __syncthreads();  // every thread's value is there before another thread reads it
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (Test::works(threadIdx.x, stride)) sums[threadIdx.x] += sums[threadIdx.x + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// The base. Launch: a block for every B elements, a power of two; B elements of shared memory.
/// Result: out[b] of every block b.
template <class T, class Load>
__global__ void reduce0(Input<T, Load> in, T* out, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[threadIdx.x] = one_load(in, n);
  doubling_tree<T, ByModulo<unsigned>>(sums);
  if (threadIdx.x == 0) Store::hand_on(out, sums[0]);
}

/// From reduce0: the blocks' sums may also go to the result by an atomic, and the remainder may be a bit test.
/// Launch: a block for every B elements, a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish, class Test>
__global__ void naive(Input<T, Load> in, T* out, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[threadIdx.x] = one_load(in, n);
  doubling_tree<T, Test>(sums);
  if (threadIdx.x == 0) Finish::hand_on(out, sums[0]);
}

/// The tree whose working threads stay together: whole warps drop out, and a warp's lanes touch neighbouring words, so
/// each has a bank of its own.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .      (threads 0 and 1, then thread 0)
///
/// The result is in sums[0], for all threads of the block.
template <class T>
__device__ void halving_tree(T* sums) {
  __syncthreads();  // every thread's value is there before another thread reads it
  for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) sums[threadIdx.x] += sums[threadIdx.x + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// From naive: the stride halves in place of doubling.
/// Launch: a block for every B elements, a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish>
__global__ void divergence_free(Input<T, Load> in, T* out, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[threadIdx.x] = one_load(in, n);
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::hand_on(out, sums[0]);
}

/// One level inside a warp, taken by all its lanes, without a condition:
///
///   a b c d  ->  a+c b+d c+a d+b      (distance 2)
///
/// The first `distance` lanes hold what the next level needs; the others do the same work for nothing. Their partner
/// is lane ^ distance, for the lanes that matter the same as lane + distance.
template <class T>
__device__ void fold_warp(T* sums, unsigned distance) {
  const T other = sums[threadIdx.x ^ distance];
  __syncwarp();  // the partner has read this lane's value before it is overwritten
  sums[threadIdx.x] += other;
  __syncwarp();  // this level is written before the next one reads it
}

/// From divergence-free: the block's size is fixed, so every level is written out, and those of the last warp need no
/// block barrier.
/// Launch: a block of 256 for every 256 elements; 256 elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish>
__global__ void completely_unrolled(Input<T, Load> in, T* out, std::size_t n) {
  const unsigned tid = threadIdx.x;
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  sums[tid] = one_load(in, n);
  __syncthreads();  // every thread's value is there before another thread reads it
  if (tid < 128) sums[tid] += sums[tid + 128];
  __syncthreads();  // here and below: this level is written before the next one reads it
  if (tid < 64) sums[tid] += sums[tid + 64];
  __syncthreads();
  if (tid < warp) {  // no block barrier follows, so the other warps may leave
    sums[tid] += sums[tid + warp];
    __syncwarp();
    fold_warp<T>(sums, 16);
    fold_warp<T>(sums, 8);
    fold_warp<T>(sums, 4);
    fold_warp<T>(sums, 2);
    fold_warp<T>(sums, 1);
    if (tid == 0) Finish::hand_on(out, sums[0]);
  }
}

/// From divergence-free: a thread first adds up `times` elements, one grid apart, so that every thread has work of its
/// own before threads begin to drop out. Two blocks of two threads, times = 2:
///
///   in: 0 1 0' 1' 0 1 0' 1'
///
/// Launch: a block for every B * times elements, B a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Index, class Finish>
__global__ void global_stride(Input<T, Load> in, T* out, Index n, Index times) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  const Index threads = blockDim.x, blocks = gridDim.x, bid = blockIdx.x, tid = threadIdx.x;
  const Index first = bid * threads + tid, stride = blocks * threads;
  T sum = 0;
  for (Index k = 0; k < times && first + k * stride < n; ++k) sum += in[first + k * stride];
  sums[threadIdx.x] = sum;
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::hand_on(out, sums[0]);
}

/// From global-stride: the elements are one block apart, so a block reads one contiguous chunk. Two blocks of two
/// threads, times = 2:
///
///   in: 0 1 0 1 0' 1' 0' 1'
///
/// Launch: a block for every B * times elements, B a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Index, class Finish>
__global__ void local_stride(Input<T, Load> in, T* out, Index n, Index times) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* sums = reinterpret_cast<T*>(raw);
  const Index threads = blockDim.x, bid = blockIdx.x, tid = threadIdx.x;
  const Index first = bid * threads * times + tid, stride = threads;
  T sum = 0;
  for (Index k = 0; k < times && first + k * stride < n; ++k) sum += in[first + k * stride];
  sums[threadIdx.x] = sum;
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::hand_on(out, sums[0]);
}

template <class T, class Load>
using Level = Start<Input<T, Load>, T*, std::size_t>;

/// A block for every `block` times `granularity` elements.
std::size_t grid_for(const Settings& s, std::size_t n) {
  return blocks_for(n, std::size_t{s.count("block")} * s.count("granularity", 1));
}

std::string declines(const Problem& p, const Settings& s) {
  return too_many_blocks(p, s, grid_for(s, p.n), "choose a larger block or granularity, where this variant has them");
}

/// Those of a kernel with a loop, its index decided: it counts to the end of the last block's share.
Settings with_document_index(const Settings& s, std::size_t n) {
  if (!s.has("index")) return s;
  const std::size_t grid = grid_for(s, n), block = s.count("block");
  return with_loop_index(s, "i32", grid * block * s.count("granularity"));
}

std::unique_ptr<Plan> prepare(const Kernels<Level>& kernel, const Problem& p, const Settings& chosen,
                              const DeviceInfo&) {
  return dispatch(p, [&]<class T, class Load>() {
    const Settings s = with_document_index(chosen, p.n);
    const unsigned block = s.count("block");
    const std::size_t n = p.n, grid = grid_for(s, n), loads = s.count("granularity", 1);
    const auto chain_in_block = [=](std::size_t elements) {
      return std::min(loads, ceil_div(elements, block)) + std::countr_zero(block);
    };
    PlanInfo info{.grid_blocks = grid, .block_threads = block, .longest_chain = Load::roundings + chain_in_block(n)};
    const auto blocks = [=, start = kernel.get<T, Load>(s)](void* in, T* out, Stream stream) {
      start({grid, block, block * sizeof(T), stream}, {static_cast<const T*>(in)}, out, n);
    };

    if (s.text("finish") == "atomic") {
      info.longest_chain += grid;
      info.flushes_subnormals = p.type == ElementType::f32;  // as f32 atomics do, whatever the compiler's flags
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        zero(static_cast<T*>(out), 1, stream);
        blocks(in, static_cast<T*>(out), stream);
      });
    }
    if (finishes_on_host(s)) return plan_with_host_part<T>(info, s, n, blocks);

    std::vector<std::size_t> grids{grid};  // of every launch, down to a single block
    while (grids.back() > 1) grids.push_back(grid_for(s, grids.back()));
    // Every launch but the last writes partial sums, in turn to the one buffer and to the other.
    const Buffer<T> even(grids.size() > 1 ? grids[0] : 0), odd(grids.size() > 2 ? grids[1] : 0);
    for (std::size_t i = 1; i < grids.size(); ++i) info.longest_chain += chain_in_block(grids[i - 1]);
    info.workspace_bytes = even.bytes() + odd.bytes();
    const Level<T, Identity> again = kernel.get<T, Identity>(s);  // partial sums are not squared again
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      const auto target = [&](std::size_t i) {
        return i + 1 == grids.size() ? static_cast<T*>(out) : i % 2 == 0 ? even.ptr() : odd.ptr();
      };
      blocks(in, target(0), stream);
      for (std::size_t i = 1; i < grids.size(); ++i)
        again({grids[i], block, block * sizeof(T), stream}, {target(i - 1)}, target(i), grids[i - 1]);
    });
  });
}

/// f.template operator()<Finish>() for the finish that the settings ask for.
template <class F>
auto for_finish(const Settings& s, F f) {
  return s.text("finish") == "atomic" ? f.template operator()<Atomic>() : f.template operator()<Store>();
}

/// For a kernel that is told how many elements each thread loads.
template <class T, class Load, class Index>
Level<T, Load> told(void (*start)(const Launch&, Input<T, Load>, T*, Index, Index), Index times) {
  return [=](const Launch& l, Input<T, Load> in, T* out, std::size_t n) { start(l, in, out, n, times); };
}
const Tunable granularity = Tunable::powers_of_two("granularity", 1, 1024, 32);

const Register registered(
    {.kind = VariantKind::document, .how = {.thread = "one load", .grid = "atomic, relaunch or host"},
     .operations = {Operation::sum, Operation::sum_of_squares},
     .types = {ElementType::f32, ElementType::i32, ElementType::f64},
     .tunables = {Tunable::powers_of_two("block", 32, 1024, 256),
                  Tunable::choice("finish", {"atomic", "relaunch", "host", "host-pinned"}, "atomic")},
     .determinism = Determinism::none, .document_n = 1048576, .declines = declines},
    prepare,
    {{{.id = "levels/reduce0", .title = "levels, baseline", .cites = "levels, 1.1: reduce0",
       .how = {.block = "tree, stride doubles, by modulo", .grid = "relaunch or host"},
       .tunables = {Tunable::choice("finish", {"relaunch", "host", "host-pinned"}, "relaunch")},
       .determinism = Determinism::per_launch_shape},
      []<class T, class Load>() { return launch<reduce0<T, Load>>; }},
     {{.id = "levels/naive", .title = "levels, naive", .cites = "levels, 1.1: Algorithm 2",
       .how = {.block = "tree, stride doubles"}, .tunables = {Tunable::choice("test", {"bits", "modulo"}, "bits")}},
      []<class T, class Load>(const Settings& s) {
        return for_finish(s, [&]<class Finish>() {
          const bool bits = s.text("test") == "bits";
          return bits ? launch<naive<T, Load, Finish, ByBits>> : launch<naive<T, Load, Finish, ByModulo<int>>>;
        });
      }},
     {{.id = "levels/divergence-free", .title = "levels, divergence-free",
       .cites = "levels, 1.2.2: Divergence-Free Kernel", .how = {.block = "tree, stride halves"}},
      []<class T, class Load>(const Settings& s) {
        return for_finish(s, []<class Finish>() { return launch<divergence_free<T, Load, Finish>>; });
      }},
     {{.id = "levels/completely-unrolled", .title = "levels, completely unrolled",
       .cites = "levels, 1.2.2: Algorithm 5", .how = {.block = "tree, stride halves, every level unrolled"},
       // Asking for another is refused, not passed over.
       .tunables = {Tunable::powers_of_two("block", 256, 256, 256)}, .compiled_in = "block=256"},
      []<class T, class Load>(const Settings& s) {
        return for_finish(s, []<class Finish>() { return launch<completely_unrolled<T, Load, Finish>>; });
      }},
     {{.id = "levels/global-stride", .title = "levels, global stride", .cites = "levels, 1.2.1: Algorithm 3",
       .how = {.thread = "loads one grid apart", .block = "tree, stride halves"},
       .tunables = {granularity, loop_index()}},
      []<class T, class Load, class Index>(const Settings& s) {
        const Index times = s.count("granularity");
        return for_finish(
            s, [=]<class Finish>() { return told(launch<global_stride<T, Load, Index, Finish>>, times); });
      }},
     {{.id = "levels/local-stride", .title = "levels, local stride", .cites = "levels, 1.2.1: Algorithm 4",
       .how = {.thread = "loads one block apart", .block = "tree, stride halves"},
       .tunables = {granularity, loop_index()}},
      []<class T, class Load, class Index>(const Settings& s) {
        const Index times = s.count("granularity");
        return for_finish(s, [=]<class Finish>() { return told(launch<local_stride<T, Load, Index, Finish>>, times); });
      }}});

}  // namespace
}  // namespace reductio
