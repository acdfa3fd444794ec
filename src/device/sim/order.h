#pragma once
/// Fences and atomic accesses, which order what different threads do to memory (docs/memory_model.md). All of
/// device.h's fences and atomics are made of the functions here.

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

/// A fence of the running thread, which both acquires and releases: __threadfence() has scope `gpu`.
void fence(Scope, Site);

/// What an atomic access does to the word. One that looks is a load, or as good as one. One that keeps the word might
/// have changed it: it reads the newest value, as every update does. One that replaces it may find that nobody has
/// written there.
enum class Effect { looks, keeps, changes, replaces };

/// Every atomic access passes through here: an atomic_read, an atomic_store, or an atomic_update (read, modify, write),
/// of 2, 4 or 8 bytes. Lets other threads run first, makes the checks, and notes what is ordered by it. Returns where
/// the value to read lies: at `p`, or, if it looks, an earlier one is kept elsewhere. The caller then reads it and
/// writes to `p`, by peek() and poke(). A compare-and-swap that fails is an atomic_read.
const void* atomic_access(Access kind, const volatile void* p, std::size_t bytes, MemoryOrder, Scope, Site, Effect);
/// Ends the kernel where an atomic of so many bytes is misaligned.
void check_alignment(const volatile void* p, std::size_t bytes, Site);
/// Whether nobody has written there.
bool is_unset(const volatile void* p, std::size_t bytes);
/// The checks of an access that orders nothing: a plain one where an atomic is left out (mutation.h), or an atomic_read
/// for deciding whether an atomic is going to change the word.
void check_access(Access kind, const volatile void* p, std::size_t bytes, Site);
/// Whether the atomic at this line is to be a plain load and a plain store.
bool left_out_atomic(Site);
/// Checks a load through the read-only cache that was made.
void check_read_only(const volatile void* p, std::size_t bytes, Site);
/// Whether it is global memory, or the running block's shared memory.
bool is_global(const volatile void* p);
bool is_shared(const volatile void* p);

/// Memory as it is, unchecked, in the low bytes.
std::uint64_t peek(const volatile void* p, std::size_t bytes);
void poke(volatile void* p, std::size_t bytes, std::uint64_t value);

}  // namespace reductio::sim
