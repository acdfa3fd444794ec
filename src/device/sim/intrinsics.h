#pragma once
/// What threads do together on the simulated device: barriers, warp operations and fences, by CUDA's names; and clocks.
/// Where a parameter list ends in a Site, that is where it was called; nobody passes it.

#include <time.h>

#include <bit>
#include <cstdint>
#include <type_traits>

#include "device/sim/order.h"
#include "device/sim/waiting.h"

namespace reductio::device {
inline namespace on_sim {

using sim::blockDim;
using sim::blockIdx;
using sim::gridDim;
using sim::threadIdx;

inline void __syncthreads(sim::Site site = sim::here()) {
  sim::block_barrier(sim::Waiting::block_barrier, false, site);
}
inline int __syncthreads_or(int predicate, sim::Site site = sim::here()) {
  return sim::block_barrier(sim::Waiting::block_barrier_or, predicate != 0, site) != 0;
}
inline int __syncthreads_and(int predicate, sim::Site site = sim::here()) {
  return sim::block_barrier(sim::Waiting::block_barrier_and, predicate == 0, site) == 0;
}
inline int __syncthreads_count(int predicate, sim::Site site = sim::here()) {
  return static_cast<int>(sim::block_barrier(sim::Waiting::block_barrier_count, predicate != 0, site));
}
inline void grid_sync(sim::Site site = sim::here()) {
  sim::grid_barrier(site);
}
inline void __syncwarp(unsigned mask = 0xffffffffu, sim::Site site = sim::here()) {
  sim::warp_operation(sim::WarpOperation::sync, mask, 0, 0, site);
}

/// What a lane brings, of 4 or 8 bytes: of a bool, a char or a short the int that it is promoted to. Floats of 16 bits
/// stay what they are.
template <class T>
std::uint64_t bits_of(const T& value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || (sizeof(T) == 2 && std::is_class_v<T>),
                "CUDA shuffles and matches 4 and 8 bytes, and shuffles __half and __nv_bfloat16");
  std::uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
auto shuffle(unsigned mask, const T& value, unsigned source, sim::Site site) {
  auto mine = +value;
  const std::uint64_t bits = sim::warp_operation(sim::WarpOperation::shuffle, mask, bits_of(mine), source, site);
  __builtin_memcpy(static_cast<void*>(&mine), &bits, sizeof mine);
  return mine;
}
inline unsigned segment(int width, sim::Site site) {
  if (width < 1 || width > 32 || !std::has_single_bit(static_cast<unsigned>(width))) [[unlikely]]
    sim::fail_width(width, site);
  return static_cast<unsigned>(width);
}
/// A lane whose source is beyond its segment of `width` lanes gets its own value back.
template <class V>
auto __shfl_down_sync(unsigned mask, V value, unsigned delta, int width = 32,
                      sim::Site site = sim::here()) {
  const unsigned lane = sim::thread_now % 32, w = segment(width, site);
  return shuffle(mask, value, delta < w - lane % w ? lane + delta : lane, site);
}
template <class V>
auto __shfl_up_sync(unsigned mask, V value, unsigned delta, int width = 32, sim::Site site = sim::here()) {
  const unsigned lane = sim::thread_now % 32, w = segment(width, site);
  return shuffle(mask, value, delta <= lane % w ? lane - delta : lane, site);
}
template <class V>
auto __shfl_xor_sync(unsigned mask, V value, int lane_mask, int width = 32, sim::Site site = sim::here()) {
  const unsigned lane = sim::thread_now % 32, w = segment(width, site);
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  // Lower segments may be read, higher ones may not.
  return shuffle(mask, value, source < 32 && source / w <= lane / w ? source : lane, site);
}
template <class V>
auto __shfl_sync(unsigned mask, V value, int source, int width = 32, sim::Site site = sim::here()) {
  const unsigned lane = sim::thread_now % 32, w = segment(width, site);
  return shuffle(mask, value, lane / w * w + static_cast<unsigned>(source) % w, site);
}

inline int __any_sync(unsigned mask, int predicate, sim::Site site = sim::here()) {
  return sim::warp_operation(sim::WarpOperation::any, mask, predicate != 0, 0, site) != 0;
}
inline int __all_sync(unsigned mask, int predicate, sim::Site site = sim::here()) {
  return sim::warp_operation(sim::WarpOperation::all, mask, predicate != 0, 0, site) != 0;
}
inline unsigned __ballot_sync(unsigned mask, int predicate, sim::Site site = sim::here()) {
  const unsigned vote = predicate ? 1u << sim::thread_now % 32 : 0;
  return static_cast<unsigned>(sim::warp_operation(sim::WarpOperation::ballot, mask, vote, 0, site));
}
/// Floats are alike if their bits are: -0.0 and 0.0 are not.
template <class V>
unsigned __match_any_sync(unsigned mask, V value, sim::Site site = sim::here()) {
  return static_cast<unsigned>(
      sim::warp_operation(sim::WarpOperation::match_any, mask, bits_of(+value), 0, site));
}
template <class V>
unsigned __match_all_sync(unsigned mask, V value, int* alike, sim::Site site = sim::here()) {
  const auto same =
      sim::warp_operation(sim::WarpOperation::match_all, mask, bits_of(+value), 0, site);
  *alike = same != 0;
  return static_cast<unsigned>(same);
}
/// The lanes that are here with the caller. CUDA promises of none but the caller that it is, so here that is all.
inline unsigned __activemask() { return 1u << sim::thread_now % 32; }

/// Of unsigned numbers; of signed ones with the sign bit turned, which keeps their order.
template <class T>
T reduce(sim::WarpOperation operation, const char* name, unsigned mask, T value, unsigned turned, sim::Site site) {
  sim::need_capability(80, name, site);
  const auto bits = sim::warp_operation(operation, mask, static_cast<unsigned>(value) ^ turned, 0, site);
  return static_cast<T>(static_cast<unsigned>(bits) ^ turned);
}
#define REDUCTIO_REDUCE(name, T, turned)                                                                    \
  inline T __reduce_##name##_sync(unsigned mask, T value, sim::Site site = sim::here()) {                   \
    return reduce(sim::WarpOperation::reduce_##name, "__reduce_" #name "_sync", mask, value, turned, site); \
  }
REDUCTIO_REDUCE(add, unsigned, 0)
REDUCTIO_REDUCE(add, int, 0)
REDUCTIO_REDUCE(min, unsigned, 0)
REDUCTIO_REDUCE(min, int, 1u << 31)
REDUCTIO_REDUCE(max, unsigned, 0)
REDUCTIO_REDUCE(max, int, 1u << 31)
REDUCTIO_REDUCE(and, unsigned, 0)
REDUCTIO_REDUCE(or, unsigned, 0)
REDUCTIO_REDUCE(xor, unsigned, 0)
#undef REDUCTIO_REDUCE

inline void __threadfence(sim::Site site = sim::here()) {
  sim::fence(sim::Scope::gpu, site);
}
inline void __threadfence_block(sim::Site site = sim::here()) {
  sim::fence(sim::Scope::block, site);
}
inline void __threadfence_system(sim::Site site = sim::here()) {
  sim::fence(sim::Scope::system, site);
}

// Those of before Volta, which CUDA has no more.
#define REDUCTIO_GONE(name)                                                                               \
  template <class... Any>                                                                                 \
  int name(Any...) __attribute__((unavailable(                                                            \
      "Volta and later GPUs do not have it: write " #name "_sync, whose first argument is the mask of the " \
      "lanes that take part")));
REDUCTIO_GONE(__shfl)
REDUCTIO_GONE(__shfl_up)
REDUCTIO_GONE(__shfl_down)
REDUCTIO_GONE(__shfl_xor)
REDUCTIO_GONE(__any)
REDUCTIO_GONE(__all)
REDUCTIO_GONE(__ballot)
#undef REDUCTIO_GONE

inline unsigned __isGlobal(const void* p) { return sim::is_global(p); }
inline unsigned __isShared(const void* p) { return sim::is_shared(p); }

inline void __prof_trigger(int) {}
/// Some time passes, none perhaps: others may run.
inline void __nanosleep(unsigned) { sim::give_way(); }
inline void __trap(sim::Site site = sim::here()) {
  sim::stop_kernel("__trap()", site);
}

/// Counters that only ever grow, the same for all SMs. They count the scheduler's steps and are no time. C's clock() is
/// one, too, in a kernel (hooks.cpp).
inline long long clock64() { return static_cast<long long>(sim::steps()); }
inline std::uint64_t globaltimer() { return sim::steps(); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__activemask;
using reductio::device::__all;
using reductio::device::__all_sync;
using reductio::device::__any;
using reductio::device::__any_sync;
using reductio::device::__ballot;
using reductio::device::__ballot_sync;
using reductio::device::__isGlobal;
using reductio::device::__isShared;
using reductio::device::__match_all_sync;
using reductio::device::__match_any_sync;
using reductio::device::__nanosleep;
using reductio::device::__prof_trigger;
using reductio::device::__reduce_add_sync;
using reductio::device::__reduce_and_sync;
using reductio::device::__reduce_max_sync;
using reductio::device::__reduce_min_sync;
using reductio::device::__reduce_or_sync;
using reductio::device::__reduce_xor_sync;
using reductio::device::__shfl;
using reductio::device::__shfl_down;
using reductio::device::__shfl_down_sync;
using reductio::device::__shfl_sync;
using reductio::device::__shfl_up;
using reductio::device::__shfl_up_sync;
using reductio::device::__shfl_xor;
using reductio::device::__shfl_xor_sync;
using reductio::device::__syncthreads;
using reductio::device::__syncthreads_and;
using reductio::device::__syncthreads_count;
using reductio::device::__syncthreads_or;
using reductio::device::__syncwarp;
using reductio::device::__threadfence;
using reductio::device::__threadfence_block;
using reductio::device::__threadfence_system;
using reductio::device::__trap;
using reductio::device::blockDim;
using reductio::device::blockIdx;
using reductio::device::clock64;
using reductio::device::gridDim;
using reductio::device::threadIdx;
