#pragma once
/// Fences and atomic accesses, which order what different threads do to memory (docs/memory_model.md). All of
/// device.h's fences and atomics are made of the two functions here.

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

/// A fence of the running thread, which both acquires and releases: __threadfence() has scope `gpu`.
void fence(Scope, Site);

/// Causality::earlier() and replace().
const void* earlier_value(std::uint64_t location, std::size_t bytes);
void keep_value(std::uint64_t location, std::size_t bytes);
template <class Pointer>
inline constexpr bool is_global = requires(const Pointer& p) { p.view(); };

/// Every atomic access passes through here: an atomic_read, an atomic_store, or an atomic_update (read, modify, write).
/// Lets other threads run first, makes the checks, notes what is ordered by it, and gives the word, which the caller
/// then reads and writes. `changes` says that an update writes another value than it reads: one that does not is how
/// one polls by atomics. A compare-and-swap that fails is an atomic_read.
template <Access kind, template <class> class Pointer, class T>
T* atomic_access(Pointer<T> p, MemoryOrder order, Scope scope, Site site, bool changes = true) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 and 8 bytes");
  const bool looks = kind == Access::atomic_read || !changes;
  if (looks) poll(p.address(), site);
  else give_way();
  const void* const earlier = looks && is_global<Pointer<T>> ? earlier_value(p.address(), sizeof(T)) : nullptr;
  T* const word = p.template atomic<kind>(order, scope, code_of(site));
  if (earlier) return const_cast<T*>(static_cast<const T*>(earlier));
  if (!looks) note_progress();
  if (!looks && is_global<Pointer<T>>) keep_value(p.address(), sizeof(T));
  return word;
}

}  // namespace reductio::sim
