#pragma once
/// What a kernel needs, and nothing of the harness. A kernel is plain CUDA C++ in a .cu file. Two compilers take the
/// same source: nvcc for the GPU (cuda/kernel.cuh), and clang++ for the simulated device, which checks every access to
/// memory (sim/sim.h). Both give the same names:
///
///   in kernels   __global__, __device__, __forceinline__, __noinline__, __launch_bounds__, __restrict__, __align__,
///                __grid_constant__; assert, __trap, __nanosleep; warpSize, and
///                threadIdx, blockIdx, blockDim, gridDim
///   barriers     __syncthreads, __syncthreads_or, _and, _count; __syncwarp; grid_sync(): all blocks of a cooperative
///                launch (in device/grid_sync.h); cooperative groups (in device/cooperative_groups.h)
///   warps        __shfl_sync, __shfl_up_sync, _down, _xor of 4 and 8 bytes; __any_sync, __all_sync, __ballot_sync;
///                __match_any_sync, __match_all_sync; __reduce_add_sync, _min, _max, _and, _or, _xor; __activemask,
///                which promises the caller's lane alone
///   atomics      atomicAdd (size_t, too), Sub, Inc, Dec, Min, Max, And, Or, Xor, Exch, CAS (of 2 bytes, too), _block,
///                _system
///   order        __threadfence, __threadfence_block, _system; load_relaxed(p), load_acquire(p), store_relaxed(p, v),
///                store_release(p, v): of the whole GPU, load_acquire<Scope::block>(p) of the block, Scope::system.
///                Waiting loops poll by one of these loads
///   launches     wait_for_previous_kernel(): until the kernel before this one in its stream has ended and what it
///                stored can be seen, for launches that may begin earlier (Launch::overlaps); let_next_kernel_begin():
///                once every block has called it, such a launch after this one may take the places that are free
///   numbers      min, max, and C's math.h; rsqrtf, rsqrt, sinpi, rcbrt, norm3d and their kin; __expf, __sinf ...;
///                __popc, __clz, __ffs, __brev, and of 8 bytes __popcll ...; __funnelshift_l, _r, _lc, _rc;
///                __byte_perm, __mulhi, __umulhi, __mul64hi, __mul24, __dp4a, __sad, __hadd ...; __float_as_uint and
///                its kin, __double2hiint, __double2loint, __hiloint2double; __fadd_rn, _rz, _ru, _rd, sub, mul, div,
///                __fmaf, __frcp, __fsqrt, and of doubles __dadd_rn ..., __fma_rn; __float2int_rn, __int2float_rn ...
///   clocks       clock, clock64; globaltimer(): nanoseconds of the GPU's one clock
///   vectors      char1 to char4, and of uchar, short, ushort, int, uint, long, ulong, longlong, ulonglong, float and
///                double, with make_float2 ...; dim3. __half and __nv_bfloat16 are in device/wide.h
///   loads        load_past_l1(p): 16 bytes that nobody writes in this launch, leaving nothing in L1; on an
///                H200 L2 gives up what was loaded so before other lines (trial 21 of experiments/trials.csv);
///                prefetch_to_l2(p): the line of 128 bytes that holds p, which nobody waits for;
///                __ldg, __ldca, __ldcg, __ldcs, __ldlu, __ldcv, __stwb, __stcg, __stcs, __stwt
///   shared       __shared__ T x[N]; dynamic: extern __shared__ T x[], whose bytes the launch states. In a template
///                extern __shared__ __align__(16) unsigned char raw[] and a cast: nvcc refuses two types of one name
///   input        Input<T, Load>: in[i] is element i as the operation takes it, x (Load = Identity) or x * x (Square)
///   launching    launch<kernel>(Launch{grid, block, shared_bytes, stream}, args...), in place of <<<>>>; grid and
///                block are numbers or dim3. launch_cooperative<kernel>(...): the same, all blocks resident at once.
///                Both are plain function pointers, `void (*)(const Launch&, the kernel's parameters...)`
///   on the host  ceil_div(a, b), blocks_for(n, share);
///                for_block<low, high>(block, f): from a block size to a template argument
///
/// docs/porting.md says how a kernel from elsewhere is registered, and what is not simulated.
///
/// For the GPU this header can be installed without the rest: it needs device/cuda/kernel.cuh beside it and the CUDA
/// toolkit. The simulated device is a part of the harness.
///
/// Everything of one device lives in an inline namespace of its own, and kernels in anonymous namespaces: both
/// objects are linked into one program, and `inline` functions of the same name would otherwise be merged.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace reductio::device {

/// A number of a launch, from any integer type: braces would not narrow an `int block`. A negative number, or one that
/// does not fit, becomes the largest there is, which no device launches.
template <class Word>
struct Count {
  Word value = 0;
  Count() = default;
  template <class Integer>
  constexpr Count(Integer count) : value(fitting(count)) {}
  constexpr operator Word() const { return value; }

 private:
  template <class Integer>
  static constexpr Word fitting(Integer count) {
    constexpr bool whole = std::is_convertible<Integer, Word>::value && !std::is_floating_point<Integer>::value;
    static_assert(whole,
                  "a launch takes whole numbers of blocks, threads and bytes; blocks and threads as a dim3, too");
    constexpr Word most = static_cast<Word>(-1);
    if constexpr (whole)
      if (static_cast<std::uint64_t>(count) < most) return static_cast<Word>(count);
    return most;
  }
};

/// How many blocks a grid has, or threads a block: a whole number, or a dim3.
template <class Word>
struct Extent {
  Count<Word> x;
  unsigned y = 1, z = 1;
  Extent() = default;
  template <class Size>
  constexpr Extent(const Size& size) {
    if constexpr (is_dim3<Size>(0)) x = size.x, y = size.y, z = size.z;
    else x = size;
  }

 private:
  template <class Size>
  static constexpr decltype(Size::z, true) is_dim3(int) { return true; }
  template <class Size>
  static constexpr bool is_dim3(long) { return false; }
};

/// The shape of a launch. `shared_bytes` is dynamic shared memory per block; `stream` is the device's own handle
/// (cudaStream_t), null its default stream.
struct Launch {
  Extent<std::size_t> grid;
  Extent<unsigned> block;
  Count<std::size_t> shared_bytes;
  void* stream;
  unsigned cluster = 1;  ///< blocks of a thread block cluster, which the grid is whole ones of; more than 1 from
                         ///< compute capability 9.0 (device/cooperative_groups.h has this_cluster())
  /// The launch may begin while the kernel before it in its stream still runs, so the kernel calls
  /// wait_for_previous_kernel() before it touches memory. CUDA alone, from 9.0: programmatic dependent launch.
  bool overlaps = false;
};

/// a / b rounded up; does not overflow.
constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

/// Blocks for n elements of which each takes `share`. One at least: an empty input still has a result, and CUDA has no
/// launch of none.
constexpr std::size_t blocks_for(std::size_t n, std::size_t share) { return n > share ? ceil_div(n, share) : 1; }

/// Calls f.template operator()<N>() with N = `block`, a power of two in [low, high]: a number known at run time becomes
/// a template argument. Throws std::invalid_argument if `block` is none of them.
template <unsigned low, unsigned high, class F>
auto for_block(unsigned block, F f) {
  if constexpr (low < high)
    if (block > low) return for_block<2 * low, high>(block, f);
  if (block != low)
    throw std::invalid_argument("there is no kernel for blocks of " + std::to_string(block) + " threads");
  return f.template operator()<low>();
}

}  // namespace reductio::device

#ifdef __CUDACC__
#include "cuda/kernel.cuh"
#elif __has_include("sim/sim.h")
#include "sim/sim.h"
#else
#error "reductio: compile this file as CUDA (a .cu file, by nvcc); of its headers launch_table.h alone is plain C++"
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// What an operation does to each element as it is loaded: every operation here is a sum of loaded values.
struct Identity {
  static constexpr unsigned roundings = 0;  ///< of one element
  template <class T>
  __device__ T operator()(T x) const { return x; }
};
struct Square {
  static constexpr unsigned roundings = 1;
  template <class T>
  __device__ T operator()(T x) const { return x * x; }
};

/// The elements of a reduction, as its operation takes them: a kernel that adds up in[i] knows every operation.
template <class T, class Load>
struct Input {
  const T* elements;
  __device__ T operator[](std::size_t i) const { return Load{}(elements[i]); }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
