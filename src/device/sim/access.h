#pragma once
/// What is checked at every access of a kernel. The functions on_*() are the one place that each access passes through:
/// the short way is here, to be inlined; what is rare, and what ends in a fault, is in access.cpp.

#include <cstddef>
#include <cstdint>

#include "device/sim/memory.h"
#include "device/sim/place.h"

namespace reductio::sim {

/// Which checks are made beside bounds.
struct Checks {
  bool unwritten = true;
  bool races = true;
};
extern Checks checks;

enum class Access : std::uint8_t { read, write, atomic_read, atomic_store, atomic_update };
/// Gives a word its value without reading it first.
constexpr bool is_store(Access kind) { return kind == Access::write || kind == Access::atomic_store; }

/// What the checks need of the block that runs.
struct Block {
  std::size_t index = 0;
  std::uint32_t serial = 0;        ///< a number of its own for each run of each block; never 0
  std::uint32_t epoch = 0;          ///< barriers and warp operations completed so far
  std::uint32_t barrier_epoch = 0;  ///< the epoch that the last block barrier began: what is older is ordered
  std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  Record* shared_records = nullptr;
};
extern Block* running;  ///< null outside kernels

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

[[noreturn]] void fail_global(const View&, std::uintptr_t at, std::size_t size, Access);
[[noreturn]] void fail_shared(const SharedRange&, std::uint64_t offset, std::size_t size, Access);
[[noreturn]] void fail_unwritten(const View*, std::uint64_t where, std::size_t size);
[[noreturn]] void fail_spinning();
/// The race check where the short way does not decide. `view` is null for shared memory; `where` is for the message.
void track_slowly(Record&, Access, const View* view, std::uint64_t where);

template <Access kind>
inline void track(Record& r, const View* view, std::uint64_t where) {
  const Block& b = *running;
  const std::uint32_t lane = 1u << (threadIdx.x % warp_size);
  const std::uint32_t warp = threadIdx.x / warp_size;
  const auto settled = [&](const Accesses& a) {  // none, before the last barrier, or this thread's own
    return a.serial != b.serial || a.epoch < b.barrier_epoch || (a.lanes == lane && a.warp == warp);
  };
  if constexpr (kind == Access::read) {
    if (settled(r.writes) && settled(r.atomics)) {
      if (settled(r.reads)) {
        r.reads = {b.serial, b.epoch, lane, warp};
        return;
      }
      if (r.reads.epoch == b.epoch && r.reads.warp == warp) {
        r.reads.lanes |= lane;
        return;
      }
    }
  } else if constexpr (kind == Access::write) {
    if (settled(r.writes) && settled(r.atomics) && settled(r.reads)) {
      r.writes = {b.serial, b.epoch, lane, warp};
      return;
    }
  }
  track_slowly(r, kind, view, where);
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

[[gnu::always_inline]] inline void on_bounds(const View& v, std::uintptr_t at, std::size_t size, Access kind) {
  // Unsigned, so one comparison covers both ends; views hold whole elements, so the first byte decides.
  if (!running || at - v.begin >= v.end - v.begin || v.memory->generation != v.generation) [[unlikely]]
    fail_global(v, at, size, kind);
}

/// A read through GlobalPtr<const T>. Leaves no reader's record, for speed: a write that follows is not held against it.
template <std::size_t size>
[[gnu::always_inline]] inline void on_const_read(const View& v, std::uintptr_t at) {
  on_bounds(v, at, size, Access::read);
  const Memory& m = *v.memory;
  const std::size_t first = (at - m.begin) / word_bytes;
  const std::size_t end = size % word_bytes == 0 ? first + size / word_bytes : (at - m.begin + size - 1) / word_bytes + 1;
  for (std::size_t w = first; w < end; ++w) {
    if (!m.written[w] && checks.unwritten) [[unlikely]] fail_unwritten(&v, at, size);
    if (m.records && checks.races) {
      const Record& r = m.records[w];
      if (r.writes.serial == running->serial || r.atomics.serial == running->serial)
        track_slowly(m.records[w], Access::read, &v, at);
    }
  }
  watch_spinning(at);
}

template <Access kind, std::size_t size>
inline void on_global(const View& v, std::uintptr_t at) {
  on_bounds(v, at, size, kind);
  Memory& m = *v.memory;
  if (!m.records) [[unlikely]] make_records(m);
  const std::size_t first = (at - m.begin) / word_bytes;
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    if (is_store(kind)) {
      m.written[w] = 1;
    } else if (!m.written[w] && checks.unwritten) [[unlikely]] {
      fail_unwritten(&v, at, size);
    }
    if (checks.races) track<kind>(m.records[w], &v, at);
  }
  if (kind == Access::read) watch_spinning(at);
}

/// The address of `size` bytes at `offset` of the block's shared memory, where `array` must have them.
template <Access kind, std::size_t size>
inline std::byte* on_shared(SharedRange array, std::uint64_t offset) {
  if (!running || offset < array.begin || offset >= array.end || array.end - offset < size) [[unlikely]]
    fail_shared(array, offset, size, kind);
  const std::size_t first = offset / word_bytes;
  for (std::size_t w = first; w < first + size / word_bytes; ++w) {
    Record& r = running->shared_records[w];
    if (!is_store(kind) && r.writes.serial != running->serial && r.atomics.serial != running->serial && checks.unwritten)
      [[unlikely]] fail_unwritten(nullptr, offset, size);
    if (checks.races) {
      track<kind>(r, nullptr, offset);
    } else if (is_store(kind)) {
      r.writes.serial = running->serial;
    }
  }
  if (kind == Access::read) watch_spinning(offset);
  return running->shared + offset;
}

}  // namespace reductio::sim
