#pragma once
/// Fences and atomic accesses, which order what different threads do to memory (docs/memory_model.md). All of
/// device.h's fences and atomics are made of the functions here.

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

/// A fence of the running thread, which both acquires and releases: __threadfence() has scope `gpu`.
void fence(Scope, Site);

/// Every atomic access passes through here: an atomic_read, an atomic_store, or an atomic_update (read, modify, write),
/// of 4 or 8 bytes. Lets other threads run first, makes the checks, and notes what is ordered by it. Returns where the
/// value to read lies: at `p`, or an earlier one is kept elsewhere. The caller then reads it and writes to `p`, by
/// peek() and poke(). `changes` says that an update writes another value than it reads: one that does not is how one
/// polls by atomics. A compare-and-swap that fails is an atomic_read.
const void* atomic_access(Access kind, const volatile void* p, std::size_t bytes, MemoryOrder, Scope, Site,
                          bool changes = true);
/// The checks of an access that orders nothing: a plain one where an atomic is left out (mutation.h), or an atomic_read
/// for deciding whether an atomic is going to change the word.
void check_access(Access kind, const volatile void* p, std::size_t bytes, Site);
/// Whether the atomic at this line is to be a plain load and a plain store.
bool left_out_atomic(Site);
/// Checks a load through the read-only cache that was made.
void check_read_only(const volatile void* p, std::size_t bytes, Site);
/// Whether it is global memory.
bool is_global(const volatile void* p);

/// Memory as it is, unchecked, in the low bytes.
std::uint64_t peek(const volatile void* p, std::size_t bytes);
void poke(volatile void* p, std::size_t bytes, std::uint64_t value);

}  // namespace reductio::sim
