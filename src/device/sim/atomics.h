#pragma once
/// Atomics, and loads and stores of a stated order and scope, on the simulated device. The types are those that CUDA
/// takes. Where a parameter list ends in a Site, that is where it was called; nobody passes it.

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/sim/order.h"

namespace reductio::device {
inline namespace on_sim {

using sim::Scope;

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

template <class T>
T value_at(const volatile void* p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 and 8 bytes");
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(sim::peek(p, 4)));
  else
    return std::bit_cast<T>(sim::peek(p, 8));
}
template <class T>
void put(volatile T* p, T value) {
  if constexpr (sizeof(T) == 4)
    sim::poke(p, 4, std::bit_cast<std::uint32_t>(value));
  else
    sim::poke(p, 8, std::bit_cast<std::uint64_t>(value));
}

/// *p becomes f(*p); gives what it was. `changes` is false of what leaves any value as it is: so one polls by atomics.
template <Scope scope = Scope::gpu, class T, class F>
T update(T* p, bool changes, sim::Site site, F f) {
  if (sim::left_out_atomic(site)) [[unlikely]] {
    sim::check_access(sim::Access::read, p, sizeof(T), site);
    const T before = value_at<T>(p);
    sim::give_way();
    sim::check_access(sim::Access::write, p, sizeof(T), site);
    put(p, f(before));
    return before;
  }
  const T before = value_at<T>(
      sim::atomic_access(sim::Access::atomic_update, p, sizeof(T), sim::MemoryOrder::relaxed, scope, site, changes));
  if (changes) put(p, f(before));  // else what was read may be an earlier value
  return before;
}

/// Zero, with its sign, in place of a subnormal number.
inline float flush_subnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

template <Scope scope, class T>
T add_to(T* p, T value, sim::Site site) {
  [[maybe_unused]] const bool global = sim::is_global(p);
  return update<scope>(p, value != T{0}, site, [=](T before) {
    if constexpr (std::same_as<T, int>)
      return static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
    else if constexpr (std::same_as<T, float>)
      // PTX: atom.add.f32 on global memory takes and gives subnormal numbers as zero; on shared memory it does not.
      return global ? flush_subnormal(flush_subnormal(before) + flush_subnormal(value)) : before + value;
    else
      return before + value;
  });
}

template <class T>
concept AtomicAddable = OneOf<T, int, unsigned, unsigned long long, std::size_t, float, double>;

template <AtomicAddable T>
T atomicAdd(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return add_to<Scope::gpu>(p, value, site);
}
template <AtomicAddable T>
  requires(!std::same_as<T, std::size_t>)
T atomicAdd_block(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return add_to<Scope::block>(p, value, site);
}
template <AtomicAddable T>
  requires(!std::same_as<T, std::size_t>)
T atomicAdd_system(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return add_to<Scope::system>(p, value, site);
}

template <OneOf<int, unsigned> T>
T atomicSub(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return add_to<Scope::gpu>(p, static_cast<T>(0u - static_cast<unsigned>(value)), site);
}

inline unsigned atomicInc(unsigned* p, unsigned limit, sim::Site site = sim::here()) {
  return update(p, true, site, [limit](unsigned x) { return x >= limit ? 0 : x + 1; });
}
inline unsigned atomicDec(unsigned* p, unsigned limit, sim::Site site = sim::here()) {
  return update(p, true, site, [limit](unsigned x) { return x == 0 || x > limit ? limit : x - 1; });
}

template <OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMin(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return update(p, true, site, [value](T x) { return value < x ? value : x; });
}
template <OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMax(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return update(p, true, site, [value](T x) { return x < value ? value : x; });
}

template <OneOf<int, unsigned, unsigned long long> T>
T atomicAnd(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return update(p, value != static_cast<T>(~T{0}), site, [value](T x) { return x & value; });
}
template <OneOf<int, unsigned, unsigned long long> T>
T atomicOr(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return update(p, value != T{0}, site, [value](T x) { return x | value; });
}
template <OneOf<int, unsigned, unsigned long long> T>
T atomicXor(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  return update(p, value != T{0}, site, [value](T x) { return x ^ value; });
}

/// What a word holds now, for deciding whether an atomic is going to change it.
template <class T>
T glance(T* p, sim::Site site) {
  sim::check_access(sim::Access::atomic_read, p, sizeof(T), site);
  return value_at<T>(p);
}

/// A lock that is taken is polled by exchanging what it holds for the same.
template <OneOf<int, unsigned, unsigned long long, float> T>
T atomicExch(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  for (;;) {
    if (glance(p, site) != value || sim::left_out_atomic(site))
      return update(p, true, site, [value](T) { return value; });
    // One that finds what it brings only looks. While it gave way the word may have changed.
    const T found = value_at<T>(sim::atomic_access(sim::Access::atomic_update, p, sizeof(T), sim::MemoryOrder::relaxed,
                                                   Scope::gpu, site, false));
    if (found == value) return found;
  }
}

template <OneOf<int, unsigned, unsigned long long> T>
T atomicCAS(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value, sim::Site site = sim::here()) {
  for (;;) {
    if (glance(p, site) == compare)
      return update(p, compare != value, site, [=](T x) { return x == compare ? value : x; });
    // One that fails only looks. While it gave way the word may have become what it waits for.
    const T found = value_at<T>(sim::atomic_access(sim::Access::atomic_read, p, sizeof(T), sim::MemoryOrder::relaxed,
                                                   Scope::gpu, site));
    if (found != compare) return found;
  }
}

#define REDUCTIO_LOAD(name, order)                                                       \
  template <Scope scope = Scope::gpu, class T>                                           \
  std::remove_cv_t<T> name(T* p, sim::Site site = sim::here()) {                         \
    return value_at<std::remove_cv_t<T>>(                                                \
        sim::atomic_access(sim::Access::atomic_read, p, sizeof(T), order, scope, site)); \
  }
#define REDUCTIO_STORE(name, order)                                                         \
  template <Scope scope = Scope::gpu, class T>                                              \
  void name(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {            \
    sim::atomic_access(sim::Access::atomic_store, p, sizeof(T), order, scope, site);        \
    put(p, value);                                                                          \
  }
REDUCTIO_LOAD(load_relaxed, sim::MemoryOrder::relaxed)
REDUCTIO_LOAD(load_acquire, sim::MemoryOrder::acquire)
REDUCTIO_STORE(store_relaxed, sim::MemoryOrder::relaxed)
REDUCTIO_STORE(store_release, sim::MemoryOrder::release)
#undef REDUCTIO_LOAD
#undef REDUCTIO_STORE

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::atomicAdd;
using reductio::device::atomicAdd_block;
using reductio::device::atomicAdd_system;
using reductio::device::atomicAnd;
using reductio::device::atomicCAS;
using reductio::device::atomicDec;
using reductio::device::atomicExch;
using reductio::device::atomicInc;
using reductio::device::atomicMax;
using reductio::device::atomicMin;
using reductio::device::atomicOr;
using reductio::device::atomicSub;
using reductio::device::atomicXor;
