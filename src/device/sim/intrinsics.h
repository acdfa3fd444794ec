#pragma once
/// What kernels call on the simulated device: barriers, warp operations, atomics, fences and clocks, by CUDA's names.
/// Where a parameter list ends in a file and a line, these are where it was called; nobody passes them.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/sim/order.h"
#include "device/sim/pointers.h"
#include "device/sim/waiting.h"

namespace reductio::device {
inline namespace on_sim {

using sim::blockDim;
using sim::blockIdx;
using sim::gridDim;
using sim::threadIdx;

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::block_barrier(false, false, {file, line});
}
inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return sim::block_barrier(predicate != 0, true, {file, line});
}
inline void grid_sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::grid_barrier({file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::warp_operation(sim::WarpOperation::sync, mask, 0, 0, {file, line});
}

template <class T>
T shuffle(unsigned mask, T value, unsigned source, sim::Site site) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "CUDA shuffles 4 and 8 bytes");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto bits = sim::warp_operation(sim::WarpOperation::shuffle, mask, std::bit_cast<Bits>(value), source, site);
  return std::bit_cast<T>(static_cast<Bits>(bits));
}
/// A lane whose source is beyond its segment of `width` lanes gets its own value back.
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  return shuffle(mask, value, delta < w - lane % w ? lane + delta : lane, {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  // Lower segments may be read, higher ones may not.
  return shuffle(mask, value, source < 32 && source / w <= lane / w ? source : lane, {file, line});
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  return shuffle(mask, value, lane / w * w + static_cast<unsigned>(source) % w, {file, line});
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  return static_cast<unsigned>(
      sim::warp_operation(sim::WarpOperation::reduce_add, mask, value, 0, {file, line}));
}
inline int __reduce_add_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), file, line));
}

inline void __threadfence(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::fence(sim::Scope::gpu, {file, line});
}

/// Zero, with its sign, in place of a subnormal number.
inline float flush_subnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

/// The types that CUDA's atomicAdd takes among those used here.
template <class T>
concept AtomicAddable = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long> ||
                        std::same_as<T, float> || std::same_as<T, double>;

template <template <class> class Pointer, AtomicAddable T>
T atomicAdd(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  // Adding nothing is how one polls by atomics.
  T* const word = sim::atomic_access<sim::Access::atomic_update>(p, sim::MemoryOrder::relaxed, sim::Scope::gpu,
                                                                 {file, line}, value != T{0});
  const T before = *word;
  if constexpr (std::same_as<T, int>)
    *word = static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
  else if constexpr (std::same_as<T, float> && std::same_as<Pointer<T>, GlobalPtr<T>>)
    // PTX: atom.add.f32 on global memory takes and gives subnormal numbers as zero; on shared memory it does not.
    *word = flush_subnormal(flush_subnormal(before) + flush_subnormal(value));
  else
    *word = before + value;
  return before;
}

template <template <class> class Pointer>
unsigned atomicInc(Pointer<unsigned> p, unsigned limit, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  unsigned* const word =
      sim::atomic_access<sim::Access::atomic_update>(p, sim::MemoryOrder::relaxed, sim::Scope::gpu, {file, line});
  const unsigned before = *word;
  *word = before >= limit ? 0 : before + 1;
  return before;
}

template <class T>
T load_acquire(GlobalPtr<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return *sim::atomic_access<sim::Access::atomic_read>(p, sim::MemoryOrder::acquire, sim::Scope::gpu, {file, line});
}

template <class T>
void store_release(GlobalPtr<T> p, T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  *sim::atomic_access<sim::Access::atomic_store>(p, sim::MemoryOrder::release, sim::Scope::gpu, {file, line}) = value;
}

/// Counters that only ever grow, the same for all SMs. They count the scheduler's steps and are no time.
inline long long clock64() { return static_cast<long long>(sim::steps()); }
inline std::uint64_t globaltimer() { return sim::steps(); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__reduce_add_sync;
using reductio::device::__shfl_down_sync;
using reductio::device::__shfl_sync;
using reductio::device::__shfl_xor_sync;
using reductio::device::__syncthreads;
using reductio::device::__syncthreads_or;
using reductio::device::__syncwarp;
using reductio::device::__threadfence;
using reductio::device::atomicAdd;
using reductio::device::atomicInc;
using reductio::device::blockDim;
using reductio::device::blockIdx;
using reductio::device::clock64;
using reductio::device::gridDim;
using reductio::device::threadIdx;
