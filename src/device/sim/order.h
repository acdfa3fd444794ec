#pragma once
/// Fences and atomic accesses, which order what different threads do to memory. All of device.h's fences and atomics are
/// made of the two functions here.

#include "device/sim/access.h"
#include "device/sim/mutation.h"
#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

/// Whose accesses a fence or an atomic access orders: those of its own block, or of the whole GPU. The simulated device
/// has one GPU, so `system` is as good as `gpu`.
enum class Scope : std::uint8_t { block, gpu, system };

/// What an atomic access orders by itself, without a fence: PTX's and C++'s words.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };

/// A fence of the running thread, which both acquires and releases: __threadfence() has scope `gpu`.
inline void fence(Scope, Site site) {
  if (left_out(Synchronization::fence, site)) return;
  give_way();
}

/// Every atomic access passes through here: an atomic_read, an atomic_store, or an atomic_update (read, modify, write).
/// Lets other threads run first, makes the checks, and gives the word, which the caller then reads and writes.
/// `changes` says that an update writes another value than it reads: one that does not is how one polls by atomics. A
/// compare-and-swap that fails is an atomic_read.
template <Access kind, template <class> class Pointer, class T>
T* atomic_access(Pointer<T> p, MemoryOrder, Scope, Site site, bool changes = true) {
  if constexpr (kind == Access::atomic_update)
    if (left_out(Synchronization::atomic_update, site)) [[unlikely]] {
      p.template atomic<Access::read>();
      return p.template atomic<Access::write>();
    }
  const bool looks = kind == Access::atomic_read || !changes;
  if (looks) poll(p.address(), site);
  else give_way();
  T* const word = p.template atomic<kind>();
  if (!looks) note_progress();
  return word;
}

}  // namespace reductio::sim
