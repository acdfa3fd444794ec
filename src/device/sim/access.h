#pragma once
/// What is checked at every access of a kernel. The functions on_*() are the one place that each access passes through:
/// the short way is here, to be inlined; what is rare, and what ends in a fault, is in access.cpp.

#include <cstddef>
#include <cstdint>

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
  std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  Record* shared_records = nullptr;
  Accesses* shared_reads = nullptr;
};
extern Block* running;   ///< null outside kernels
extern Block* in_reach;  ///< the same, but null while the thread may not touch global memory yet (Launch::overlaps)

/// A part of a block's shared memory, in bytes from its start, as one SharedPtr may touch it.
struct SharedRange {
  std::uint32_t begin = 0, end = 0;
};
/// What the launch stated. Of host code none, where an access is a fault.
inline SharedRange dynamic_shared_memory() {
  return {0, running ? static_cast<std::uint32_t>(running->shared_bytes) : 0};
}
/// An array of the running block, behind the bytes of the launch; made when the first thread asks for that key.
SharedRange shared_array(const void* key, std::size_t bytes, Site);

/// What of a view is left for elements of `size` and `alignment` bytes that lie in line with `at`: whole ones, and none
/// where `at` is not aligned.
View view_of(const View&, std::uintptr_t at, std::size_t size, std::size_t alignment);
/// Likewise of shared memory, where whole elements are checked at each access.
SharedRange array_of(SharedRange, std::uint64_t at, std::size_t alignment);

/// One access of a kernel, for what is decided slowly and for messages.
struct Touch {
  Access kind;
  const View* view;     ///< null for shared memory
  std::uint64_t where;  ///< address, or offset in shared memory
  std::size_t size;     ///< in bytes
  SiteCode site = 0;
  Scope scope = Scope::gpu;  ///< of atomics
  const void* value = nullptr;  ///< of plain writes: what is about to be stored
};

[[noreturn]] void fail_global(const Touch&);
/// A load of what this launch may not have written, whatever orders the two, after its other checks. `how` says why:
/// "through the read-only cache".
void on_constant_load(const View&, std::uintptr_t at, std::size_t size, SiteCode, const char* how);
[[noreturn]] void fail_input(const Touch&);
[[noreturn]] void fail_shared(const SharedRange&, const Touch&);
/// `record` and `reads` are the word's.
[[noreturn]] void fail_unwritten(Record* record, Accesses* reads, const Touch&);
[[noreturn]] void fail_spinning();
/// What an atomic access that passed the race check makes known, and learns (causality.h).
void on_atomic(const Touch&, MemoryOrder);
/// The race check where the short way does not decide. `record` is null where nobody has written.
void track_slowly(Record*, Accesses& reads, const Touch&);

/// The race check of one word, the short way: nobody to conflict with in this launch, or ordered by a block barrier, or
/// this thread itself.
template <Access kind, std::size_t size, bool global>
inline void track(Record* record, Accesses& reads, const View* view, std::uint64_t where, SiteCode site, Scope scope,
                  const void* value = nullptr) {
  const Block& b = *running;
  const std::uint32_t thread = threadIdx.x, lane = 1u << thread % warp_size;
  const Accesses me{.serial = b.serial, .epoch = b.epoch, .lanes = lane, .thread = thread, .site = site};
  const auto none = [&](const Accesses& a) {  // ordered by its launch; in shared memory, an earlier block's
    return a.serial != b.serial && (!global || a.serial - b.unordered_from >= b.unordered || a.epoch < b.settled_epoch);
  };
  const auto old = [&](const Accesses& a) {  // of this block
    return a.epoch < b.barrier_epoch || (a.thread == thread && a.lanes == lane);
  };
  const auto settled = [&](const Accesses& a) { return none(a) || (a.serial == b.serial && !a.others && old(a)); };
  if constexpr (kind == Access::read) {
    if (!record || (settled(record->writes) && settled(record->atomics))) {
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
    if (settled(record->writes) && none(record->atomics) && settled(reads)) {
      record->writes = me;
      return;
    }
  }
  track_slowly(record, reads, {kind, view, where, size, site, scope, value});
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

[[gnu::always_inline]] inline void on_bounds(const View& v, std::uintptr_t at, Access kind, std::size_t size,
                                             SiteCode site) {
  // Unsigned, so one comparison covers both ends; views hold whole elements, so the first byte decides.
  if (!in_reach || at - v.begin >= v.end - v.begin || v.memory->generation != v.generation) [[unlikely]]
    fail_global({kind, &v, at, size, site});
}

/// A read through GlobalPtr<const T>, whose elements may be smaller than words and lie across two.
template <std::size_t size>
[[gnu::always_inline]] inline void on_const_read(const View& v, std::uintptr_t at, SiteCode site) {
  on_bounds(v, at, Access::read, size, site);
  Memory& m = *v.memory;
  const std::size_t first = (at - m.begin) / word_bytes;
  const std::size_t end =
      size % word_bytes == 0 ? first + size / word_bytes : (at - m.begin + size - 1) / word_bytes + 1;
  if (m.writable && !m.reads) [[unlikely]] make_reads(m);
  for (std::size_t w = first; w < end; ++w)
    if (!m.written[w]) [[unlikely]]
      fail_unwritten(m.records ? m.records + w : nullptr, m.writable ? m.reads + w : nullptr,
                     {Access::read, &v, at, size, site});
  if (m.writable) {  // else nobody can conflict
    for (std::size_t w = first; w < end; ++w)
      track<Access::read, size, true>(m.records ? m.records + w : nullptr, m.reads[w], &v, at, site, Scope::gpu);
    if (v.constant && m.records) [[unlikely]]
      on_constant_load(v, at, size, site, "through a parameter that is a pointer to const");
  }
  watch_spinning(at);
}

template <Access kind, std::size_t size>
inline void on_global(const View& v, std::uintptr_t at, SiteCode site, Scope scope = Scope::gpu,
                      const void* value = nullptr) {
  on_bounds(v, at, kind, size, site);
  Memory& m = *v.memory;
  if (!m.records) [[unlikely]] make_records(m);
  if (!m.reads) [[unlikely]] make_reads(m);
  if (kind != Access::read && kind != Access::atomic_read && m.input) [[unlikely]]
    fail_input({kind, &v, at, size, site});
  const std::size_t first = (at - m.begin) / word_bytes;
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    if (is_store(kind)) {
      m.written[w] = 1;
    } else if (!m.written[w]) [[unlikely]] {
      fail_unwritten(&m.records[w], &m.reads[w], {kind, &v, at, size, site, scope});
    }
    track<kind, size, true>(&m.records[w], m.reads[w], &v, at, site, scope, value);
  }
  if (kind == Access::read) watch_spinning(at);
}

/// The address of `size` bytes at `offset` of the block's shared memory, where `array` must have them.
template <Access kind, std::size_t size>
inline std::byte* on_shared(SharedRange array, std::uint64_t offset, SiteCode site, Scope scope = Scope::gpu,
                            const void* value = nullptr) {
  if (!running || offset < array.begin || offset >= array.end || array.end - offset < size) [[unlikely]]
    fail_shared(array, {kind, nullptr, offset, size, site});
  const std::size_t first = offset / word_bytes;
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    Record& r = running->shared_records[w];
    if (!is_store(kind) && r.writes.serial != running->serial && r.atomics.serial != running->serial) [[unlikely]]
      fail_unwritten(&r, &running->shared_reads[w], {kind, nullptr, offset, size, site, scope});
    track<kind, size, false>(&r, running->shared_reads[w], nullptr, offset, site, scope, value);
  }
  if (kind == Access::read) watch_spinning(offset);
  return running->shared + offset;
}

}  // namespace reductio::sim
