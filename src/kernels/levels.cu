/// levels: a reduction's three levels, inside a thread, inside a block and between blocks, improved one by one.
///
/// Document: `levels`, "面向GPU计算平台的归约算法的性能优化研究" (optimising reduction for GPU computing platforms),
/// section 1, in OpenCL's terms (work-group = block, LDS = shared memory, wavefront = warp). float32, 1,048,576
/// elements in its code.
///
/// Its claim: the work inside a thread decides the speed, more than the tree inside the block; among trees the
/// divergence-free one is a good gain over the naive one and complete unrolling over that; an atomic finish beats
/// relaunching and beats the CPU.
///
///   levels/reduce0              one load a thread, tid % (2 * stride) == 0, one partial sum a block
///   levels/naive                Algorithm 2: the same tree, atomic finish; test=bits | modulo
///   levels/divergence-free      stride halves, consecutive threads work
///   levels/completely-unrolled  Algorithm 5: blocks of 256, every level written out
///   levels/global-stride        Algorithm 3: every thread loads `granularity` elements, one grid apart
///   levels/local-stride         Algorithm 4: one block apart, inside the block's own chunk
///
/// The document names three ways to finish, and each kernel takes them: finish=relaunch starts the kernel again on the
/// partial sums until one value is left, finish=host copies them (finish=host-pinned into page-locked memory), finish=atomic lets every block add to the result.
/// reduce0 has no atomic finish, which would make it naive.
///
/// Mended: reduce0 checks its bounds; the trees of Algorithms 2 and 5 add (their pseudocode assigns); local-stride is
/// the pseudocode's, not the document's code for it, which is global-stride again; granularity and block size are
/// settings, not 1024 whatever the launch, and the grid is divided by the granularity, so that every thread has that
/// many loads; the result is zeroed before atomics, as part of every call. The last warp of completely-unrolled is 32
/// wide, not 64, and its lanes meet at __syncwarp() between reading and writing (the document: a volatile pointer, a
/// race since Volta).

#include <bit>
#include <memory>
#include <vector>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;
constexpr unsigned unrolled_block = 256;

/// How thread 0 of a block hands on the block's sum: into the block's own place, or onto the one result.
struct Store {
  template <class T>
  static __device__ void hand_on(GlobalPtr<T> out, T sum) {
    out[blockIdx.x] = sum;
  }
};
struct Atomic {
  template <class T>
  static __device__ void hand_on(GlobalPtr<T> out, T sum) {
    atomicAdd(out, sum);
  }
};

/// What a thread with a single load brings into the tree; 0 behind the end of the input.
template <class T, class Load>
__device__ T one_load(GlobalPtr<const T> in, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  T x = 0;
  if (i < n) x = Load{}(T(in[i]));
  return x;
}

/// The two ways of asking whether thread `tid` works at a level: a remainder by a value that the compiler does not know
/// to be a power of two, or the bits below it.
struct ByModulo {
  static __device__ bool works(unsigned tid, unsigned stride) { return tid % (2 * stride) == 0; }
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
__device__ void doubling_tree(SharedPtr<T> sums) {
  __syncthreads();  // every thread's value is there before another thread reads it
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    if (Test::works(threadIdx.x, stride)) sums[threadIdx.x] += sums[threadIdx.x + stride];
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// The base. Launch: a block for every B elements, a power of two; B elements of shared memory.
/// Result: out[b] of every block b.
template <class T, class Load>
__global__ void reduce0(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> sums = shared_memory<T>();
  sums[threadIdx.x] = one_load<T, Load>(in, n);
  doubling_tree<T, ByModulo>(sums);
  if (threadIdx.x == 0) Store::hand_on<T>(out, sums[0]);
}

/// From reduce0: the blocks' sums may also go to the result by an atomic, and the remainder may be a bit test.
/// Launch: a block for every B elements, a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish, class Test>
__global__ void naive(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> sums = shared_memory<T>();
  sums[threadIdx.x] = one_load<T, Load>(in, n);
  doubling_tree<T, Test>(sums);
  if (threadIdx.x == 0) Finish::template hand_on<T>(out, sums[0]);
}

/// The tree whose working threads stay together: whole warps drop out, and a warp's lanes touch neighbouring words, so
/// each has a bank of its own.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .      (threads 0 and 1, then thread 0)
///
/// The result is in sums[0], for all threads of the block.
template <class T>
__device__ void halving_tree(SharedPtr<T> sums) {
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
__global__ void divergence_free(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> sums = shared_memory<T>();
  sums[threadIdx.x] = one_load<T, Load>(in, n);
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::template hand_on<T>(out, sums[0]);
}

/// One level inside a warp, taken by all its lanes, without a condition:
///
///   a b c d  ->  a+c b+d c+a d+b      (distance 2)
///
/// The first `distance` lanes hold what the next level needs; the others do the same work for nothing. Their partner
/// is lane ^ distance, for the lanes that matter the same as lane + distance.
template <class T>
__device__ void fold_warp(SharedPtr<T> sums, unsigned distance) {
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
__global__ void completely_unrolled(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  const unsigned tid = threadIdx.x;
  SharedPtr<T> sums = shared_memory<T>();
  sums[tid] = one_load<T, Load>(in, n);
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
    if (tid == 0) Finish::template hand_on<T>(out, sums[0]);
  }
}

/// From divergence-free: a thread first adds up `times` elements, one grid apart, so that every thread has work of its
/// own before threads begin to drop out. Two blocks of two threads, times = 2:
///
///   in: 0 1 0' 1' 0 1 0' 1'
///
/// Launch: a block for every B * times elements, B a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish>
__global__ void global_stride(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n, unsigned times) {
  SharedPtr<T> sums = shared_memory<T>();
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  T sum = 0;
  for (unsigned k = 0; k < times && first + k * stride < n; ++k) sum += Load{}(T(in[first + k * stride]));
  sums[threadIdx.x] = sum;
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::template hand_on<T>(out, sums[0]);
}

/// From global-stride: the elements are one block apart, so a block reads one contiguous chunk. Two blocks of two
/// threads, times = 2:
///
///   in: 0 1 0 1 0' 1' 0' 1'
///
/// Launch: a block for every B * times elements, B a power of two; B elements of shared memory.
/// Result: out[b] of every block b, or added to out[0].
template <class T, class Load, class Finish>
__global__ void local_stride(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n, unsigned times) {
  SharedPtr<T> sums = shared_memory<T>();
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x * times + threadIdx.x;
  const std::size_t stride = blockDim.x;
  T sum = 0;
  for (unsigned k = 0; k < times && first + k * stride < n; ++k) sum += Load{}(T(in[first + k * stride]));
  sums[threadIdx.x] = sum;
  halving_tree<T>(sums);
  if (threadIdx.x == 0) Finish::template hand_on<T>(out, sums[0]);
}

unsigned granularity_of(const Settings& s) {
  return s.has("granularity") ? static_cast<unsigned>(s.integer("granularity")) : 1;
}

/// Elements that one block takes on.
std::size_t share_of_block(const Settings& s) {
  return static_cast<std::size_t>(s.integer("block")) * granularity_of(s);
}

/// One block at least: an empty input still has a result, and CUDA has no launch of none.
std::size_t blocks_for(std::size_t n, std::size_t share) { return n > share ? ceil_div(n, share) : 1; }

std::string declines(const Problem& p, const Settings& s) {
  constexpr std::size_t most_blocks = 0x7fffffff;
  const std::size_t wanted = blocks_for(p.n, share_of_block(s));
  if (wanted <= most_blocks) return "";
  return "n = " + std::to_string(p.n) + " takes " + std::to_string(wanted) + " blocks of " + s.text("block") +
         " threads, a launch has at most " + std::to_string(most_blocks) +
         ": choose a larger block or granularity, where this variant has them";
}

template <class Start>
std::unique_ptr<Plan> prepare_atomic(const Problem& p, PlanInfo info, unsigned times, Start start) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n, grid = info.grid_blocks;
    const unsigned block = info.block_threads;
    info.longest_chain += grid;
    info.flushes_subnormals = p.type == ElementType::f32;  // as the GPU's f32 atomics do, whatever the compiler's flags
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(global<T>(out, 1), 1, stream);
      start(Types<T, Load, Atomic>{}, Launch{grid, block, block * sizeof(T), stream}, global<const T>(in, n),
            global<T>(out, 1), n, times);
    });
  });
}

template <class Start>
std::unique_ptr<Plan> prepare_host(const Problem& p, const Settings& s, PlanInfo info, unsigned times, Start start) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n, grid = info.grid_blocks;
    const unsigned block = info.block_threads;
    const Buffer<T> partials(grid);
    info.longest_chain += grid;
    info.workspace_bytes = partials.bytes();
    info.result = ResultLocation::host_part;
    return plan_of(
        info,
        [=](void* in, void*, Stream stream) {
          start(Types<T, Load, Store>{}, Launch{grid, block, block * sizeof(T), stream}, global<const T>(in, n),
                partials.ptr(), n, times);
        },
        AddOnHost<T>(partials, s.text("finish")));
  });
}

template <class Start>
std::unique_ptr<Plan> prepare_relaunch(const Problem& p, PlanInfo info, unsigned times, Start start) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n;
    const unsigned block = info.block_threads;
    std::vector<std::size_t> grids{info.grid_blocks};  // of every launch, down to a single block
    while (grids.back() > 1) grids.push_back(blocks_for(grids.back(), std::size_t{block} * times));
    // Every launch but the last writes partial sums, in turn to the one buffer and to the other.
    const Buffer<T> even(grids.size() > 1 ? grids[0] : 0), odd(grids.size() > 2 ? grids[1] : 0);
    info.longest_chain += (grids.size() - 1) * (times + std::countr_zero(block));
    info.workspace_bytes = even.bytes() + odd.bytes();
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      const auto target = [&](std::size_t i) {
        return i + 1 == grids.size() ? global<T>(out, 1) : i % 2 == 0 ? even.ptr() : odd.ptr();
      };
      const auto shape = [&](std::size_t i) { return Launch{grids[i], block, block * sizeof(T), stream}; };
      start(Types<T, Load, Store>{}, shape(0), global<const T>(in, n), target(0), n, times);
      for (std::size_t i = 1; i < grids.size(); ++i) {  // partial sums are not squared again
        const GlobalPtr<const T> partials = target(i - 1);
        start(Types<T, Identity, Store>{}, shape(i), partials, target(i), grids[i - 1], times);
      }
    });
  });
}

/// Makes the preparation of one kernel, which `start` launches. A kernel that cannot finish by atomics says so.
template <bool has_atomic_finish = true, class Start>
Prepare preparation(Start start) {
  return [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    const unsigned block = static_cast<unsigned>(s.integer("block")), times = granularity_of(s);
    const std::size_t chain = (p.operation == Operation::sum_of_squares) + times + std::countr_zero(block);
    const PlanInfo info{blocks_for(p.n, share_of_block(s)), block, chain};
    if constexpr (has_atomic_finish)
      if (s.text("finish") == "atomic") return prepare_atomic(p, info, times, start);
    if (finishes_on_host(s.text("finish"))) return prepare_host(p, s, info, times, start);
    return prepare_relaunch(p, info, times, start);
  };
}

/// What the variants have in common: the document's finish is the atomic, in no fixed order.
Variant variant(std::string id, std::string title, std::string cites, std::string thread, std::string block) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(cites),
          .how = {std::move(thread), std::move(block), "atomic, relaunch or host"},
          .operations = {Operation::sum, Operation::sum_of_squares},
          .types = {ElementType::f32, ElementType::i32, ElementType::f64},
          .tunables = {Tunable::powers_of_two("block", 32, 1024, 256),
                       Tunable::choice("finish", {"atomic", "relaunch", "host", "host-pinned"}, "atomic")},
          .determinism = Determinism::none,
          .document_n = 1048576,
          .declines = declines};
}

Variant reduce0_variant() {
  Variant v = variant("levels/reduce0", "levels, baseline", "levels, 1.1: reduce0", "one load",
                      "tree, stride doubles, by modulo");
  v.how.grid = "relaunch or host";
  v.tunables[1] = Tunable::choice("finish", {"relaunch", "host", "host-pinned"}, "relaunch");
  v.determinism = Determinism::per_launch_shape;
  return v;
}

Variant naive_variant() {
  Variant v = variant("levels/naive", "levels, naive", "levels, 1.1: Algorithm 2", "one load", "tree, stride doubles");
  v.tunables.push_back(Tunable::choice("test", {"bits", "modulo"}, "bits"));
  return v;
}

/// Its block size is a setting with one value, so that asking for another is refused and not passed over.
Variant completely_unrolled_variant() {
  Variant v = variant("levels/completely-unrolled", "levels, completely unrolled", "levels, 1.2.2: Algorithm 5",
                      "one load", "tree, stride halves, every level unrolled");
  const std::string only = std::to_string(unrolled_block);
  v.tunables[0] = Tunable::choice("block", {only}, only);
  return v;
}

/// `v` with the number of loads per thread as a setting.
Variant with_granularity(Variant v) {
  v.tunables.push_back(Tunable::powers_of_two("granularity", 1, 1024, 32));
  return v;
}

/// naive has a setting more, which its launch has to know.
template <class Test>
const auto start_naive = []<class T, class Load, class Finish>(Types<T, Load, Finish>, const Launch& l, const auto& in,
                                                               const auto& out, std::size_t n, unsigned) {
  launch<naive<T, Load, Finish, Test>>(l, in, out, n);
};
std::unique_ptr<Plan> prepare_naive(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  static const Prepare by_modulo = preparation(start_naive<ByModulo>), by_bits = preparation(start_naive<ByBits>);
  return (s.text("test") == "modulo" ? by_modulo : by_bits)(p, s, gpu);
}

const Register register_reduce0(
    reduce0_variant(),
    preparation<false>([]<class T, class Load>(Types<T, Load, Store>, const Launch& l, const auto& in, const auto& out,
                                               std::size_t n, unsigned) { launch<reduce0<T, Load>>(l, in, out, n); }));
const Register register_naive(naive_variant(), prepare_naive);
const Register register_divergence_free(
    variant("levels/divergence-free", "levels, divergence-free", "levels, 1.2.2: Divergence-Free Kernel", "one load",
            "tree, stride halves"),
    preparation([]<class T, class Load, class Finish>(Types<T, Load, Finish>, const Launch& l, const auto& in,
                                                      const auto& out, std::size_t n, unsigned) {
      launch<divergence_free<T, Load, Finish>>(l, in, out, n);
    }));
const Register register_completely_unrolled(
    completely_unrolled_variant(),
    preparation([]<class T, class Load, class Finish>(Types<T, Load, Finish>, const Launch& l, const auto& in,
                                                      const auto& out, std::size_t n, unsigned) {
      launch<completely_unrolled<T, Load, Finish>>(l, in, out, n);
    }));
const Register register_global_stride(
    with_granularity(variant("levels/global-stride", "levels, global stride", "levels, 1.2.1: Algorithm 3",
                             "loads one grid apart", "tree, stride halves")),
    preparation([]<class T, class Load, class Finish>(Types<T, Load, Finish>, const auto&... args) {
      launch<global_stride<T, Load, Finish>>(args...);
    }));
const Register register_local_stride(
    with_granularity(variant("levels/local-stride", "levels, local stride", "levels, 1.2.1: Algorithm 4",
                             "loads one block apart", "tree, stride halves")),
    preparation([]<class T, class Load, class Finish>(Types<T, Load, Finish>, const auto&... args) {
      launch<local_stride<T, Load, Finish>>(args...);
    }));

}  // namespace
}  // namespace reductio
