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
using WordOf =
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
T value_at(const volatile void* p) {
  static_assert(sizeof(T) == sizeof(WordOf<T>), "words of 2, 4 and 8 bytes");
  return std::bit_cast<T>(static_cast<WordOf<T>>(sim::peek(p, sizeof(T))));
}
template <class T>
void put(volatile T* p, T value) {
  sim::poke(p, sizeof(T), std::bit_cast<WordOf<T>>(value));
}

template <class T>
bool same_bits(T a, T b) {
  return std::bit_cast<WordOf<T>>(a) == std::bit_cast<WordOf<T>>(b);
}

/// What a word holds now, for deciding whether an atomic is going to change it.
template <class T>
T glance(T* p, sim::Site site) {
  sim::check_access(sim::Access::atomic_read, p, sizeof(T), site);
  return value_at<T>(p);
}

/// Whether an update changes the word, whatever that holds.
enum class Changes { always, never, depends };

/// *p becomes f(*p); gives what it was. One that leaves any value as it is, is as good as a load.
template <Scope scope = Scope::gpu, class T, class F>
T update(T* p, Changes changes, sim::Site site, F f, sim::Effect effect = sim::Effect::changes) {
  if (sim::left_out_atomic(site)) [[unlikely]] {
    sim::check_access(sim::Access::read, p, sizeof(T), site);
    const T before = value_at<T>(p);
    sim::give_way();
    sim::check_access(sim::Access::write, p, sizeof(T), site);
    put(p, f(before));
    return before;
  }
  const auto access = [&](sim::Effect what) {
    return value_at<T>(
        sim::atomic_access(sim::Access::atomic_update, p, sizeof(T), sim::MemoryOrder::relaxed, scope, site, what));
  };
  if (changes == Changes::never) return access(sim::Effect::looks);
  const auto keeps = [&](T x) { return changes == Changes::depends && same_bits(f(x), x); };
  for (;;) {
    const bool empty = effect == sim::Effect::replaces && sim::is_unset(p, sizeof(T));
    if (changes == Changes::always || empty || !keeps(glance(p, site))) {
      const T before = access(effect);
      put(p, f(before));
      return before;
    }
    // While it gave way the word may have changed.
    if (const T before = access(sim::Effect::keeps); keeps(before)) return before;
  }
}

/// Zero, with its sign, in place of a subnormal number.
inline float flush_subnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

template <Scope scope, class T>
T add_to(T* p, T value, sim::Site site) {
  [[maybe_unused]] const bool global = sim::is_global(p);
  return update<scope>(p, value != T{0} ? Changes::always : Changes::never, site, [=](T before) {
    if constexpr (std::same_as<T, int>)
      return static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
    else if constexpr (std::same_as<T, float>)
      // PTX: atom.add.f32 on global memory takes and gives subnormal numbers as zero; on shared memory it does not.
      return global ? flush_subnormal(flush_subnormal(before) + flush_subnormal(value)) : before + value;
    else
      return before + value;
  });
}

// Each with the block's scope and the system's, too.
template <Scope scope, class T>
T subtract_from(T* p, T value, sim::Site site) {
  return add_to<scope>(p, static_cast<T>(0u - static_cast<unsigned>(value)), site);
}
template <Scope scope, class T>
T min_with(T* p, T value, sim::Site site) {
  return update<scope>(p, Changes::depends, site, [value](T x) { return value < x ? value : x; });
}
template <Scope scope, class T>
T max_with(T* p, T value, sim::Site site) {
  return update<scope>(p, Changes::depends, site, [value](T x) { return x < value ? value : x; });
}
template <Scope scope, class T>
T and_with(T* p, T value, sim::Site site) {
  return update<scope>(p, value != static_cast<T>(~T{0}) ? Changes::depends : Changes::never, site,
                       [value](T x) { return x & value; });
}
template <Scope scope, class T>
T or_with(T* p, T value, sim::Site site) {
  return update<scope>(p, value != T{0} ? Changes::depends : Changes::never, site, [value](T x) { return x | value; });
}
template <Scope scope, class T>
T xor_with(T* p, T value, sim::Site site) {
  return update<scope>(p, value != T{0} ? Changes::always : Changes::never, site, [value](T x) { return x ^ value; });
}
template <Scope scope, class T>
T exchange_with(T* p, T value, sim::Site site) {
  return update<scope>(p, Changes::depends, site, [value](T) { return value; }, sim::Effect::replaces);
}
template <Scope scope, class T>
T increment_to(T* p, T limit, sim::Site site) {
  return update<scope>(p, Changes::depends, site, [limit](T x) { return x >= limit ? 0 : x + 1; });
}
template <Scope scope, class T>
T decrement_from(T* p, T limit, sim::Site site) {
  return update<scope>(p, Changes::depends, site, [limit](T x) { return x == 0 || x > limit ? limit : x - 1; });
}
template <Scope scope, class T>
T compare_and_swap(T* p, T compare, T value, sim::Site site) {
  for (;;) {
    if (same_bits(glance(p, site), compare))
      return update<scope>(p, !same_bits(compare, value) ? Changes::always : Changes::never, site,
                           [=](T x) { return same_bits(x, compare) ? value : x; });
    // One that fails only looks. It would not fail if it found what it waits for, in an earlier value or since it gave
    // way.
    const T found = value_at<T>(sim::atomic_access(sim::Access::atomic_read, p, sizeof(T), sim::MemoryOrder::relaxed,
                                                   scope, site, sim::Effect::looks));
    if (!same_bits(found, compare)) return found;
  }
}

#define REDUCTIO_ATOMIC_IN(name, scope, function, ...)                                       \
  template <OneOf<__VA_ARGS__> T>                                                            \
  T name(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {                \
    return function<scope>(p, value, site);                                                  \
  }
#define REDUCTIO_ATOMIC(name, function, ...)                                                 \
  REDUCTIO_ATOMIC_IN(name, Scope::gpu, function, __VA_ARGS__)                                \
  REDUCTIO_ATOMIC_IN(name##_block, Scope::block, function, __VA_ARGS__)                      \
  REDUCTIO_ATOMIC_IN(name##_system, Scope::system, function, __VA_ARGS__)
#define REDUCTIO_COMPARE_AND_SWAP(name, scope)                                               \
  template <OneOf<int, unsigned, unsigned long long, unsigned short> T>                      \
  T name(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value, sim::Site site = sim::here()) { \
    return compare_and_swap<scope>(p, compare, value, site);                                 \
  }
REDUCTIO_ATOMIC(atomicAdd, add_to, int, unsigned, unsigned long long, float, double)
REDUCTIO_ATOMIC_IN(atomicAdd, Scope::gpu, add_to, unsigned long)  // not CUDA's: cuda/kernel.cuh has it, too
REDUCTIO_ATOMIC(atomicSub, subtract_from, int, unsigned)
REDUCTIO_ATOMIC(atomicInc, increment_to, unsigned)
REDUCTIO_ATOMIC(atomicDec, decrement_from, unsigned)
REDUCTIO_ATOMIC(atomicMin, min_with, int, unsigned, long long, unsigned long long)
REDUCTIO_ATOMIC(atomicMax, max_with, int, unsigned, long long, unsigned long long)
REDUCTIO_ATOMIC(atomicAnd, and_with, int, unsigned, unsigned long long)
REDUCTIO_ATOMIC(atomicOr, or_with, int, unsigned, unsigned long long)
REDUCTIO_ATOMIC(atomicXor, xor_with, int, unsigned, unsigned long long)
REDUCTIO_ATOMIC(atomicExch, exchange_with, int, unsigned, unsigned long long, float)
REDUCTIO_COMPARE_AND_SWAP(atomicCAS, Scope::gpu)
REDUCTIO_COMPARE_AND_SWAP(atomicCAS_block, Scope::block)
REDUCTIO_COMPARE_AND_SWAP(atomicCAS_system, Scope::system)
#undef REDUCTIO_ATOMIC_IN
#undef REDUCTIO_ATOMIC
#undef REDUCTIO_COMPARE_AND_SWAP

#define REDUCTIO_LOAD(name, order)                                                                           \
  template <Scope scope = Scope::gpu, class T>                                                               \
  std::remove_cv_t<T> name(T* p, sim::Site site = sim::here()) {                                             \
    return value_at<std::remove_cv_t<T>>(                                                                    \
        sim::atomic_access(sim::Access::atomic_read, p, sizeof(T), order, scope, site, sim::Effect::looks)); \
  }
#define REDUCTIO_STORE(name, order)                                                                         \
  template <Scope scope = Scope::gpu, class T>                                                              \
  void name(T* p, std::type_identity_t<T> value, sim::Site site = sim::here()) {                            \
    sim::atomic_access(sim::Access::atomic_store, p, sizeof(T), order, scope, site, sim::Effect::replaces); \
    put(p, value);                                                                                          \
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
#define REDUCTIO_GLOBAL(name) \
  using reductio::device::name, reductio::device::name##_block, reductio::device::name##_system;
REDUCTIO_GLOBAL(atomicAdd)
REDUCTIO_GLOBAL(atomicAnd)
REDUCTIO_GLOBAL(atomicCAS)
REDUCTIO_GLOBAL(atomicDec)
REDUCTIO_GLOBAL(atomicExch)
REDUCTIO_GLOBAL(atomicInc)
REDUCTIO_GLOBAL(atomicMax)
REDUCTIO_GLOBAL(atomicMin)
REDUCTIO_GLOBAL(atomicOr)
REDUCTIO_GLOBAL(atomicSub)
REDUCTIO_GLOBAL(atomicXor)
#undef REDUCTIO_GLOBAL
