#pragma once
/// Fences and atomic accesses, which order what different threads do to memory (docs/memory_model.md). All of
/// device.h's fences and atomics are made of the two functions here.

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

/// A fence of the running thread, which both acquires and releases: __threadfence() has scope `gpu`.
void fence(Scope, Site);

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
  T* const word = p.template atomic<kind>(order, scope, code_of(site));
  if (!looks) note_progress();
  return word;
}

}  // namespace reductio::sim
