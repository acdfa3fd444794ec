#pragma once
/// What is checked at every access of a kernel. on_global() and on_shared() are the one place that each access passes
/// through, from the compiler's hooks (hooks.cpp) and from atomics (order.h). The short way is here, to be inlined;
/// what is rare, and what ends in a fault, is in access.cpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/sim/memory.h"
#include "device/sim/place.h"

namespace reductio::sim {

enum class Access : std::uint8_t { read, write, atomic_read, atomic_store, atomic_update };
/// Gives a word its value without reading it first.
constexpr bool is_store(Access kind) { return kind == Access::write || kind == Access::atomic_store; }

/// Whose accesses a fence or an atomic access orders: those of its own block, or of the whole GPU. The simulated device
/// has one GPU, so `system` is as good as `gpu`.
enum class Scope : std::uint8_t { block, gpu, system };

/// What an atomic access orders by itself, without a fence: PTX's and C++'s words.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };

/// What the checks need of the block that runs.
struct Block {
  std::size_t index = 0;
  std::uint32_t serial = 0;         ///< a number of its own for each run of each block; never 0
  std::uint32_t first_serial = 0;   ///< of its launch, whose blocks have consecutive ones
  std::uint32_t grid = 0;           ///< blocks of its launch
  /// From this serial on nothing orders accesses before the launch by itself: its own blocks', and those of launches
  /// of other streams since it was enqueued (launch_log.h), mostly none. `unordered` says how many serials these are.
  std::uint32_t unordered_from = 0;
  std::uint32_t unordered = 0;
  std::uint32_t epoch = 0;          ///< what ordered the block's accesses so far: see Accesses
  std::uint32_t barrier_epoch = 0;  ///< the epoch that the last block barrier began: what is older is ordered
  std::uint32_t grid_epoch = 0;     ///< the same of the last barrier of the grid, in all its blocks; 0: none
  std::uint32_t settled_epoch = 0;  ///< grid_epoch where all that is unordered is the launch's own, else 0
  std::uint32_t stamp_epoch = 0;    ///< of `stamp`; 0: none
  std::uint64_t stamp = 0;          ///< of the epoch (stamp_now)
  std::uint32_t cluster_first = 0;  ///< the serial of its cluster's first block, after which the others follow
  std::uint32_t cluster_blocks = 1;
  std::byte* shared = nullptr;      ///< shared_span bytes
  std::size_t shared_bytes = 0;     ///< dynamic ones
  Record* shared_records = nullptr;
  Accesses* shared_reads = nullptr;
};
extern Block* running;   ///< null outside kernels
extern Block* in_reach;  ///< the same, but null while the thread may not touch global memory yet (Launch::overlaps)
/// The running block's stamp now, at its place in a packed record.
inline std::uint64_t stamp_now() {
  Block& b = *running;
  if (b.stamp_epoch != b.epoch) [[unlikely]] {
    b.stamp_epoch = b.epoch;
    b.stamp = stamps.next(b.serial, b.epoch);
  }
  return b.stamp;
}
/// Whether an access to shared memory is of the running block, or of another that reaches it: of its cluster.
inline bool by_cluster(const Accesses& a) { return a.serial - running->cluster_first < running->cluster_blocks; }

/// A block's shared memory is a stretch of addresses of its own. Dynamic memory begins at `first_shared`, the arrays of
/// the kernel lie behind it with gaps between, and all blocks of a launch have them at the same places.
inline constexpr std::size_t shared_span = std::size_t{1} << 17, first_shared = 256, shared_gap = 128;

/// What clang makes of a `__shared__` variable: how it asks for the running block's copy.
struct SharedVariable {
  std::size_t bytes, alignment;  ///< 0 bytes: declared alone, so it is the dynamic shared memory
  std::uint64_t place;           ///< the launch that has it (first_serial), and where
  const void* initial;
};
/// An array of the launch, in bytes from a block's shared memory on.
struct SharedArray {
  const SharedVariable* variable;  ///< null: dynamic shared memory
  std::uint32_t begin, end;
};

/// Shared memory of the launch that runs.
struct SharedLayout {
  /// By word: a bit for each byte that is in an array. An access at the very end reaches a few words past it.
  std::array<std::uint8_t, shared_span / word_bytes + 4> valid{};
  std::vector<SharedArray> arrays;
  /// Of a launch with so much dynamic memory.
  void begin(std::size_t dynamic_bytes);
  /// Makes room for one more.
  std::uint32_t add(const SharedVariable*, std::size_t bytes, std::size_t alignment);
};
extern SharedLayout shared_layout;

/// One access of a kernel, for what is decided slowly and for messages.
struct Touch {
  Access kind;
  const Memory* memory;  ///< null for shared memory
  std::uint64_t where;   ///< address, or offset in shared memory
  std::size_t size;      ///< in bytes
  SiteCode site = 0;
  Scope scope = Scope::gpu;  ///< of atomics
  Block* owner = running;    ///< of shared memory: whose it is
};

/// Of the last access that a kernel has made.
Site last_access();
[[noreturn]] void fail_global(const Touch&);
/// The thread touches global memory in a launch that overlaps the kernel before, and has not waited for that itself.
/// Fails, unless it comes after a thread that has.
void come_in_reach(const Touch&);
/// A load through the read-only cache, after its other checks: neither this launch nor one that it overlaps may have
/// written there, whatever orders the two.
void on_constant_load(const Memory&, std::uintptr_t at, std::size_t size, SiteCode);
[[noreturn]] void fail_input(const Touch&);
[[noreturn]] void fail_shared(const Touch&);
void fail_unwritten(const Touch&);
/// Of words that have records: returns where it is a race of which a listener was told.
void read_unwritten(Record& record, Accesses& reads, const Touch&);
void read_unwritten(std::size_t word, const Touch&);
[[noreturn]] void fail_spinning();
/// The race check where the short way does not decide: of a word of shared memory, of one of global memory.
void track_slowly(Record&, Accesses& reads, const Touch&);
void track_slowly(std::size_t word, const Touch&);
/// The race check of a word whose bytes have records of their own, or are to have them.
void track_bytes(std::size_t word, std::uint8_t bytes, const Touch&);

/// A plain store to where another thread has stored, with nothing between that orders the two. It is a
/// race, unless both are lanes of one warp at one line that store the same value. That is known once it has stored.
struct UnorderedStore {
  bool pending = false;
  bool same_line = false;  ///< of lanes of one warp
  Touch touch{};
  Accesses other{};
  std::uint32_t lanes = 0;
  std::byte* at = nullptr;
  std::array<std::byte, 16> before{};
};
extern UnorderedStore unordered_store;
void settle_unordered_store();
/// Called wherever the thread that runs does something next.
[[gnu::always_inline]] inline void settle() {
  if (unordered_store.pending) [[unlikely]] settle_unordered_store();
}

/// The race check of one word of shared memory, the short way: nobody to conflict with in this launch, or ordered by a
/// block barrier, or this thread itself.
template <Access kind, std::size_t size>
inline void track(Record& record, Accesses& reads, std::size_t word, std::uint64_t where, SiteCode site, Scope scope,
                  Block* owner) {
  if (record.writes.others) [[unlikely]]
    return track_bytes(word, whole_word, {kind, nullptr, where, size, site, scope, owner});
  const Block& b = *running;
  const std::uint32_t thread = thread_now, lane = 1u << thread % warp_size;
  const Accesses me{.serial = b.serial, .epoch = b.epoch, .lanes = lane, .thread = thread, .site = site};
  const auto none = [&](const Accesses& a) {  // an earlier block's
    return a.serial != b.serial && !by_cluster(a);
  };
  const auto old = [&](const Accesses& a) {  // of this block
    return a.epoch < b.barrier_epoch || (a.thread == thread && a.lanes == lane);
  };
  const auto settled = [&](const Accesses& a) { return none(a) || (a.serial == b.serial && !a.others && old(a)); };
  if constexpr (kind == Access::read) {
    if (settled(record.writes) && settled(record.atomics)) {
      if (reads.serial != b.serial || old(reads)) {
        reads = me;
        return;
      }
      if (reads.epoch == b.epoch && reads.thread / warp_size == thread / warp_size) {
        reads.lanes |= lane;
        reads.thread = thread;
        reads.site = site;
        return;
      }
    }
  } else if constexpr (kind == Access::write) {
    // Where there were atomics, a plain write ends what they have handed on.
    if (settled(record.writes) && none(record.atomics) && settled(reads)) {
      record.writes = me;
      return;
    }
  }
  track_slowly(record, reads, {kind, nullptr, where, size, site, scope, owner});
}

/// The same of a word of global memory: false where the short way does not decide.
template <Access kind>
inline bool track(Memory& m, std::size_t word, SiteCode site) {
  const Block& b = *running;
  const std::uint32_t thread = thread_now;
  const Packed me{stamp_now() | std::uint64_t{thread} << Packed::thread_at | site};
  if (me.is_apart()) [[unlikely]] return false;
  const auto settled = [&](const Packed* of_kind, bool by_this_block = true) {
    if (!of_kind) return true;
    const Packed a = of_kind[word];
    if (a.bits < stamps.unordered_from()) return true;  // ordered by its launch
    if (by_this_block && a.equals(me)) return true;
    if (a.is_apart() || a.by_bytes()) [[unlikely]] return false;
    const Stamps::Meaning when = stamps[a];
    return when.serial == b.serial ? by_this_block && !a.others() && when.epoch < b.barrier_epoch
                                   : when.epoch < b.settled_epoch;
  };
  if constexpr (kind == Access::read) {
    if (!m.reads) [[unlikely]] make_records(m, m.reads);
    if (!settled(m.writes) || !settled(m.atomics)) return false;
    Packed& last = m.reads[word];
    if (last.bits >= stamps.unordered_from() && !last.equals(me)) {
      if (last.is_apart() || last.by_bytes()) [[unlikely]] return join(m, last, site);
      const Stamps::Meaning when = stamps[last];
      if (when.serial == b.serial && when.epoch >= b.barrier_epoch) return join(m, last, site);
    }
    last = me;
    return true;
  }
  if constexpr (kind == Access::write) {
    if (!m.writes) [[unlikely]] make_records(m, m.writes);
    // Where there were atomics, a plain write ends what they have handed on.
    if (!settled(m.writes) || !settled(m.atomics, false) || !settled(m.reads)) return false;
    m.writes[word] = me;
    return true;
  }
  return false;
}

/// A thread that reads one word over and over waits for another, but a plain read is no switch point.
inline constexpr std::uint32_t spin_limit = 1u << 24;
struct Spin {
  std::uint64_t where = 0;
  std::uint32_t times = 0;
};
extern Spin spin;
inline void watch_spinning(std::uint64_t where) {
  if (spin.where != where) {
    spin = {where, 0};
  } else if (++spin.times > spin_limit) {
    fail_spinning();
  }
}

[[gnu::always_inline]] inline void on_bounds(const Memory& m, std::uintptr_t at, Access kind, std::size_t size,
                                             SiteCode site) {
  if (!in_reach) [[unlikely]]
    come_in_reach({kind, &m, at, size, site});
  if (m.reach_bytes < size || at - m.reach > m.reach_bytes - size) [[unlikely]]
    fail_global({kind, &m, at, size, site});
}

/// An access of whole words.
template <Access kind, std::size_t size>
inline void on_global(Memory& m, std::uintptr_t at, SiteCode site, Scope scope = Scope::gpu) {
  on_bounds(m, at, kind, size, site);
  const std::size_t first = (at - m.begin) / word_bytes;
  constexpr bool reads = kind == Access::read || kind == Access::atomic_read;
  if (m.input) {  // nobody can conflict
    if constexpr (!reads) fail_input({kind, &m, at, size, site});
    for (std::size_t w = first; w < first + size / word_bytes; ++w)
      if (m.written[w] != whole_word) [[unlikely]] fail_unwritten({kind, &m, at, size, site, scope});
    if (kind == Access::read) watch_spinning(at);
    return;
  }
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    if (is_store(kind)) {
      m.written[w] = whole_word;
    } else if (m.written[w] != whole_word) [[unlikely]] {
      read_unwritten(w, {kind, &m, at, size, site, scope});
      continue;
    }
    if (!track<kind>(m, w, site)) track_slowly(w, {kind, &m, at, size, site, scope});
  }
  if (kind == Access::read) watch_spinning(at);
}

/// The same at `offset` of a block's shared memory.
template <Access kind, std::size_t size>
inline void on_shared(Block* owner, std::uint64_t offset, SiteCode site, Scope scope = Scope::gpu) {
  const std::size_t first = offset / word_bytes;
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    if (shared_layout.valid[w] != whole_word) [[unlikely]]
      fail_shared({kind, nullptr, offset, size, site, scope, owner});
    Record& r = owner->shared_records[w];
    if (!is_store(kind) && !by_cluster(r.writes) && !by_cluster(r.atomics)) [[unlikely]]
      read_unwritten(r, owner->shared_reads[w], {kind, nullptr, offset, size, site, scope, owner});
    track<kind, size>(r, owner->shared_reads[w], w, offset, site, scope, owner);
  }
  if (kind == Access::read) watch_spinning(offset);
}

/// An access of any size at any address, byte by byte where it is not of whole words.
void on_bytes(Access kind, std::uintptr_t at, std::size_t size, SiteCode, Scope = Scope::gpu);
/// An access to what is no memory of this device that the running block may touch: fails, or is none of ours (its own
/// locals, its parameters).
void on_elsewhere(Access kind, std::uintptr_t at, std::size_t size, SiteCode);
/// The block of the cluster in whose shared memory the address lies, or null. Fails where that may not be there.
Block* peer_at(Access kind, std::uintptr_t at, std::size_t size, SiteCode);
/// Neither the block's own shared memory nor an allocation.
template <Access kind, std::size_t size>
[[gnu::noinline]] void on_rest(std::uintptr_t at, SiteCode site, Scope scope) {
  if (Memory* const variable = variable_at(at))
    on_global<kind, size>(*variable, at, site, scope);
  else if (Block* const peer = peer_at(kind, at, size, site))
    on_shared<kind, size>(peer, at - reinterpret_cast<std::uintptr_t>(peer->shared), site, scope);
  else
    on_elsewhere(kind, at, size, site);
}

/// An access by a kernel.
template <Access kind, std::size_t size>
[[gnu::always_inline]] inline void on_access(std::uintptr_t at, SiteCode site, Scope scope = Scope::gpu) {
  if (const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(running->shared); offset < shared_span) {
    on_shared<kind, size>(running, offset, site, scope);
  } else if (Memory* const m = owner_of(at)) {
    on_global<kind, size>(*m, at, site, scope);
  } else {
    on_rest<kind, size>(at, site, scope);
  }
}

}  // namespace reductio::sim
