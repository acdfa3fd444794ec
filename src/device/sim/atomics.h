#pragma once
/// Atomics, and loads and stores of a stated order and scope, on the simulated device. The types are those that CUDA
/// takes. Where a parameter list ends in a file and a line, these are where it was called; nobody passes them.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "device/sim/mutation.h"
#include "device/sim/order.h"
#include "device/sim/pointers.h"

namespace reductio::device {
inline namespace on_sim {

using sim::Scope;

template <class T, class... Types>
concept OneOf = (std::same_as<T, Types> || ...);

/// *p becomes f(*p); gives what it was. `changes` is false of what leaves any value as it is: so one polls by atomics.
template <Scope scope = Scope::gpu, template <class> class Pointer, class T, class F>
T update(Pointer<T> p, bool changes, sim::Site site, F f) {
  if (sim::left_out(sim::Synchronization::atomic_update, site)) [[unlikely]] {
    const T before = p.read(sim::code_of(site));
    sim::give_way();
    p.write(f(before), sim::code_of(site));
    return before;
  }
  T* const word = sim::atomic_access<sim::Access::atomic_update>(p, sim::MemoryOrder::relaxed, scope, site, changes);
  const T before = *word;
  *word = f(before);
  return before;
}

/// Zero, with its sign, in place of a subnormal number.
inline float flush_subnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

template <Scope scope, template <class> class Pointer, class T>
T add_to(Pointer<T> p, T value, sim::Site site) {
  return update<scope>(p, value != T{0}, site, [value](T before) {
    if constexpr (std::same_as<T, int>)
      return static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
    else if constexpr (std::same_as<T, float> && std::same_as<Pointer<T>, GlobalPtr<T>>)
      // PTX: atom.add.f32 on global memory takes and gives subnormal numbers as zero; on shared memory it does not.
      return flush_subnormal(flush_subnormal(before) + flush_subnormal(value));
    else
      return before + value;
  });
}

template <class T>
concept AtomicAddable = OneOf<T, int, unsigned, unsigned long long, std::size_t, float, double>;

template <template <class> class Pointer, AtomicAddable T>
T atomicAdd(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return add_to<Scope::gpu>(p, value, {file, line});
}
template <template <class> class Pointer, AtomicAddable T>
  requires(!std::same_as<T, std::size_t>)
T atomicAdd_block(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  return add_to<Scope::block>(p, value, {file, line});
}
template <template <class> class Pointer, AtomicAddable T>
  requires(!std::same_as<T, std::size_t>)
T atomicAdd_system(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  return add_to<Scope::system>(p, value, {file, line});
}

template <template <class> class Pointer, OneOf<int, unsigned> T>
T atomicSub(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return add_to<Scope::gpu>(p, static_cast<T>(0u - static_cast<unsigned>(value)), {file, line});
}

template <template <class> class Pointer>
unsigned atomicInc(Pointer<unsigned> p, unsigned limit, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  return update(p, true, {file, line}, [limit](unsigned x) { return x >= limit ? 0 : x + 1; });
}
template <template <class> class Pointer>
unsigned atomicDec(Pointer<unsigned> p, unsigned limit, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  return update(p, true, {file, line}, [limit](unsigned x) { return x == 0 || x > limit ? limit : x - 1; });
}

template <template <class> class Pointer, OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMin(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return update(p, true, {file, line}, [value](T x) { return value < x ? value : x; });
}
template <template <class> class Pointer, OneOf<int, unsigned, long long, unsigned long long> T>
T atomicMax(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return update(p, true, {file, line}, [value](T x) { return x < value ? value : x; });
}

template <template <class> class Pointer, OneOf<int, unsigned, unsigned long long> T>
T atomicAnd(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return update(p, value != static_cast<T>(~T{0}), {file, line}, [value](T x) { return x & value; });
}
template <template <class> class Pointer, OneOf<int, unsigned, unsigned long long> T>
T atomicOr(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
           int line = __builtin_LINE()) {
  return update(p, value != T{0}, {file, line}, [value](T x) { return x | value; });
}
template <template <class> class Pointer, OneOf<int, unsigned, unsigned long long> T>
T atomicXor(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  return update(p, value != T{0}, {file, line}, [value](T x) { return x ^ value; });
}

/// What a word holds now, for deciding whether an atomic is going to change it; an access that is checked and orders
/// nothing.
template <template <class> class Pointer, class T>
T glance(Pointer<T> p, sim::Site site) {
  return *p.template checked<sim::Access::atomic_read>(sim::code_of(site));
}

/// A lock that is taken is polled by exchanging what it holds for the same.
template <template <class> class Pointer, OneOf<int, unsigned, unsigned long long, float> T>
T atomicExch(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
             int line = __builtin_LINE()) {
  return update(p, glance(p, {file, line}) != value, {file, line}, [value](T) { return value; });
}

template <template <class> class Pointer, OneOf<int, unsigned, unsigned long long> T>
T atomicCAS(Pointer<T> p, std::type_identity_t<T> compare, std::type_identity_t<T> value,
            const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  for (;;) {
    if (glance(p, {file, line}) == compare)
      return update(p, compare != value, {file, line}, [=](T x) { return x == compare ? value : x; });
    // One that fails only looks. While it gave way the word may have become what it waits for.
    const T found =
        *sim::atomic_access<sim::Access::atomic_read>(p, sim::MemoryOrder::relaxed, Scope::gpu, {file, line});
    if (found != compare) return found;
  }
}

template <Scope scope = Scope::gpu, template <class> class Pointer, class T>
std::remove_cv_t<T> load_relaxed(Pointer<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return *sim::atomic_access<sim::Access::atomic_read>(p, sim::MemoryOrder::relaxed, scope, {file, line});
}
template <Scope scope = Scope::gpu, template <class> class Pointer, class T>
std::remove_cv_t<T> load_acquire(Pointer<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return *sim::atomic_access<sim::Access::atomic_read>(p, sim::MemoryOrder::acquire, scope, {file, line});
}
template <Scope scope = Scope::gpu, template <class> class Pointer, class T>
void store_relaxed(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  *sim::atomic_access<sim::Access::atomic_store>(p, sim::MemoryOrder::relaxed, scope, {file, line}) = value;
}
template <Scope scope = Scope::gpu, template <class> class Pointer, class T>
void store_release(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  *sim::atomic_access<sim::Access::atomic_store>(p, sim::MemoryOrder::release, scope, {file, line}) = value;
}

// On CUDA it would be memory of the GPU; here it is a C++ variable that nothing checks.
#define REDUCTIO_NO_RAW_POINTER(name)                                                                          \
  template <class T, class... Values>                                                                          \
  T name(T*, Values...) {                                                                                      \
    static_assert(sizeof(T) == 0,                                                                              \
                  "an atomic takes a GlobalPtr<T> or SharedPtr<T>: in place of a __device__ variable pass the kernel " \
                  "a pointer, of zeroed_buffer<T>(1) say");                                                    \
    return {};                                                                                                 \
  }
REDUCTIO_NO_RAW_POINTER(atomicAdd)
REDUCTIO_NO_RAW_POINTER(atomicSub)
REDUCTIO_NO_RAW_POINTER(atomicInc)
REDUCTIO_NO_RAW_POINTER(atomicDec)
REDUCTIO_NO_RAW_POINTER(atomicMin)
REDUCTIO_NO_RAW_POINTER(atomicMax)
REDUCTIO_NO_RAW_POINTER(atomicAnd)
REDUCTIO_NO_RAW_POINTER(atomicOr)
REDUCTIO_NO_RAW_POINTER(atomicXor)
REDUCTIO_NO_RAW_POINTER(atomicExch)
REDUCTIO_NO_RAW_POINTER(atomicCAS)
#undef REDUCTIO_NO_RAW_POINTER

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
