#pragma once
/// The simulated side of device.h: a small GPU (6 SMs) that runs every CUDA thread as a fiber on one OS thread, and
/// checks what a GPU does not: accesses outside what the kernel was given, or the block's shared arrays; reads of what
/// nobody wrote; memory released too early; two threads, of one block or two, that touch a word, one of them writing,
/// with nothing between that orders them (docs/memory_model.md), so also missing fences; barriers and warp operations
/// that not all threads reach; waits that never end. It is a checker and never a clock: it reports no times.
///
/// What it cannot see:
///   - Races in what is not executed. What comes first, and what an atomic reads, depends on the order (schedule.h).
///   - Old values, but for one atomic load of each that nothing orders after its replacement, in the random order.
///   - Of a word's plain readers, others than those of the block that read last; a plain store after an atomic load.
///   - Overlap of streams in fills and copies. Launches of two streams that nothing orders race.
///   - Interleavings inside a stretch without a switch point. Threads give way at barriers and warp operations, when
///     they look again at what they polled, and in the random order also at atomics, fences and atomic loads.
///   - Stores torn in two, __launch_bounds__, registers, and time.
///   - That a `const T* __restrict__` is not written through another pointer; stores that the compiler removes, since
///     another follows; whether a copy of a struct of the kernel's own is aligned.
/// Stricter than CUDA: reaching one barrier from two places in the source is a fault. Threads of several warps, or at
/// several places, that store one value race. __activemask names the caller alone. assert() is checked also where
/// NDEBUG is defined.
///
/// A lock lets one OS thread at a time run simulated work: the one that waits for a stream. Streams are queues whose
/// work starts only when the host waits for that stream, so work on the wrong stream is missing from the result.

// assert() holds in every build of a checker; for CUDA NDEBUG makes it nothing.
#undef NDEBUG
#include <cassert>

// Everything standard comes before the macros below.
#include "core/types.h"
#include "device/sim/arithmetic.h"
#include "device/sim/atomics.h"
#include "device/sim/intrinsics.h"
#include "device/sim/launch.h"
#include "device/sim/loads.h"
#include "device/sim/vectors.h"

#define REDUCTIO_DEVICE_NAMESPACE on_sim

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __restrict__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
// What assert() calls, also if <cassert> is included again. The C library's own would end the program.
#define __assert_fail(condition, file, line, function) \
  ::reductio::sim::stop_kernel("assert(" condition ") does not hold", ::reductio::sim::Site{file, line})

// The fast functions, by macros: the C library has declarations of these names.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __powf powf
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __sincosf sincosf

// Each block has its own: clang asks the device for the address of its copy (shared_memory.cpp). `used` keeps it where
// nothing is stored to it.
#define __shared__ thread_local __attribute__((used))

// What is not here says what is.
#define REDUCTIO_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define REDUCTIO_NOT_HERE(what_to_write) REDUCTIO_PRAGMA(GCC error what_to_write)
#define __constant__                                                                                                  \
  REDUCTIO_NOT_HERE(                                                                                                  \
      "no __constant__ here: pass a struct by value as the kernel's parameter, which CUDA keeps in constant memory, " \
      "or write constexpr")
#define __managed__ \
  REDUCTIO_NOT_HERE("no __managed__ here: pass a pointer to the kernel, of a Buffer<T> of the plan")

namespace reductio::device {
inline namespace on_sim {

inline constexpr DeviceKind device_kind = DeviceKind::sim;

}  // namespace on_sim
}  // namespace reductio::device
