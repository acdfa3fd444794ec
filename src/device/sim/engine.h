#pragma once
/// The simulated GPU itself, as seen from sim.h: its memory, what each access is checked against, and where threads
/// give way to each other. Not for kernels (they see sim.h) nor for the harness (backend.h, sim_schedule.h,
/// sim_fault.h).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <typeinfo>

#include "core/types.h"
#include "device/sim/fault.h"

namespace reductio::sim {

/// A place in a kernel's source.
struct Site {
  const char* file = nullptr;
  int line = 0;
};

struct Index {
  unsigned x, y, z;
};
/// Of the thread that runs now; the scheduler sets them before it lets a thread go on. Not const: a compiler may keep
/// a constant in a register across a switch.
extern Index threadIdx, blockIdx, blockDim, gridDim;

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned max_threads_per_block = 1024;
inline constexpr std::size_t word_bytes = 4;  ///< memory is watched in words of this size

// ---------------------------------------------------------------------------------------------------- memory

/// Who of one block touched a word last: lanes of one warp, or several warps. `tick` counts the barriers and warp
/// operations that the block had completed.
struct Accesses {
  std::uint32_t serial = 0;  ///< of the block's run; another block's or an earlier launch's entry counts as none
  std::uint32_t tick = 0;
  std::uint32_t lanes = 0;
  std::uint32_t warp = 0;    ///< `several_warps`: lanes of more than one
};
inline constexpr std::uint32_t several_warps = 32;

/// Plain writes, atomic updates and stores, plain reads. Atomics conflict with plain accesses, not with each other.
struct Record {
  Accesses writes, atomics, reads;
};

/// One allocation. Never freed, only reused under another generation, so that a stale pointer can be told.
struct Memory {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t generation = 0;
  std::uint8_t* written = nullptr;  ///< by word: has anybody given it a value?
  Record* records = nullptr;        ///< by word; null until a kernel reads or writes through a non-const pointer
};

/// A part of an allocation, as one GlobalPtr may touch it.
struct View {
  std::uintptr_t begin = 0, end = 0;
  Memory* memory = nullptr;
  std::uint64_t generation = 0;
};

/// Poisoned with 0xFF bytes and unwritten. Throws Refused if the memory is not there.
void* allocate(std::size_t bytes);
void release(void*) noexcept;
std::size_t memory_free();
/// `bytes` at `p`, which must lie in one live allocation. Throws Fault.
View view(const void* p, std::size_t bytes, std::size_t alignment);

// ---------------------------------------------------------------------------------------------------- checking

/// Which checks are made beside bounds, at every access. The functions on_*() below are the one place that every access
/// of a kernel passes through.
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
  std::uint32_t tick = 0;          ///< barriers and warp operations completed so far
  std::uint32_t barrier_tick = 0;  ///< the tick that the last block barrier began: what is older is ordered
  std::byte* shared = nullptr;
  std::size_t shared_bytes = 0;
  Record* shared_records = nullptr;
};
extern Block* running;  ///< null outside kernels

[[noreturn]] void fail_global(const View&, std::uintptr_t at, std::size_t size, Access);
[[noreturn]] void fail_shared(std::uint64_t offset, std::size_t size, Access);
[[noreturn]] void fail_unwritten(const View*, std::uint64_t where, std::size_t size);
[[noreturn]] void fail_spinning();
void make_records(Memory&);
/// The race check where the short way does not decide. `view` is null for shared memory; `where` is for the message.
void track_slowly(Record&, Access, const View* view, std::uint64_t where);

template <Access kind>
inline void track(Record& r, const View* view, std::uint64_t where) {
  const Block& b = *running;
  const std::uint32_t lane = 1u << (threadIdx.x % warp_size);
  const std::uint32_t warp = threadIdx.x / warp_size;
  const auto settled = [&](const Accesses& a) {  // none, before the last barrier, or this thread's own
    return a.serial != b.serial || a.tick < b.barrier_tick || (a.lanes == lane && a.warp == warp);
  };
  if constexpr (kind == Access::read) {
    if (settled(r.writes) && settled(r.atomics)) {
      if (settled(r.reads)) {
        r.reads = {b.serial, b.tick, lane, warp};
        return;
      }
      if (r.reads.tick == b.tick && r.reads.warp == warp) {
        r.reads.lanes |= lane;
        return;
      }
    }
  } else if constexpr (kind == Access::write) {
    if (settled(r.writes) && settled(r.atomics) && settled(r.reads)) {
      r.writes = {b.serial, b.tick, lane, warp};
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

/// The address of `size` bytes at `offset` of the block's shared memory.
template <Access kind, std::size_t size>
inline std::byte* on_shared(std::uint64_t offset) {
  if (!running || offset >= running->shared_bytes || running->shared_bytes - offset < size) [[unlikely]]
    fail_shared(offset, size, kind);
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

// ---------------------------------------------------------------------------------------------------- threads

/// Blocks until every thread of the block is here. The result: whether `predicate` was true for any.
bool block_barrier(bool predicate, bool with_predicate, Site);
/// Blocks until every thread of every block of a cooperative launch is here.
void grid_barrier(Site);

enum class WarpOperation : std::uint8_t { sync, shuffle, reduce_add };
/// Blocks until all lanes in `mask` are here. The result: for `shuffle` the bits that lane `source` brought (0xFF.. if
/// that lane is not in the mask, where CUDA leaves the value undefined), for `reduce_add` the sum modulo 2^32.
std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);

/// Before each acquire load, and each atomic that changes nothing: lets others run if this is a repeated look.
void poll(std::uintptr_t address, Site);
/// Before atomics, release stores and fences: lets others run in the random order.
void give_way();
/// Somebody changed a value that others may be polling.
void note_progress();
/// Counts switches between threads and readings of itself; not a time.
std::uint64_t steps();

// ---------------------------------------------------------------------------------------------------- launches

struct Shape {
  std::size_t grid;
  unsigned block;
  std::size_t shared_bytes;
  bool cooperative;
};

/// Puts a kernel onto a stream: `thread` runs it for one thread. Throws Fault where CUDA refuses the launch. `name` is
/// the type whose template argument is the kernel; faults make the kernel's readable name of it.
void enqueue_kernel(Stream, const Shape&, std::function<void()> thread, const std::type_info& name);
void enqueue_fill(Stream, void* dst, unsigned char byte, std::size_t bytes);
/// Copies the host's bytes at once, as CUDA does for pageable memory: the host may reuse them when this returns.
void enqueue_copy_in(Stream, void* dst, const void* host, std::size_t bytes);
void enqueue_copy_within(Stream, void* dst, const void* src, std::size_t bytes);
/// Runs the stream up to and including the copy.
void copy_out(Stream, void* host, const void* src, std::size_t bytes);
/// Runs everything on the stream. Throws the first Fault; what was queued behind it is dropped.
void synchronize(Stream);

}  // namespace reductio::sim
