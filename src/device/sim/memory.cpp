// The simulated GPU's memory: allocations, their shadow, and the slow half of the checks at every access.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <string>

#include "device/sim/internal.h"

namespace reductio::sim {

Checks checks;
Spin spin;

namespace {

constexpr std::size_t alignment_of_memory = 256;
constexpr unsigned char poison = 0xFF;

/// All allocations. Memory objects are kept for good and reused: pointers to them outlive what they describe.
struct Heap {
  std::deque<Memory> all;
  std::vector<Memory*> unused;
  std::map<std::uintptr_t, Memory*> live;  // by first address
  std::size_t used_bytes = 0;
  std::uint64_t generations = 0;
};
Heap& heap() {
  static Heap h;
  return h;
}

std::size_t words(const Memory& m) { return (m.end - m.begin + word_bytes - 1) / word_bytes; }

/// The live allocation that holds `p`, or null.
Memory* owner(std::uintptr_t p) {
  auto& live = heap().live;
  auto it = live.upper_bound(p);
  if (it == live.begin()) return nullptr;
  Memory* const m = std::prev(it)->second;
  return p < m->end ? m : nullptr;
}

Memory& owner_of_range(const void* p, std::size_t bytes, const char* what) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  Memory* const m = owner(begin);
  if (!m)
    throw Fault(FaultKind::use_after_free, "", 0, {}, "", 0,
                std::string(what) + ": the address is in no allocation of this device; it was released, or never its own");
  if (m->end - begin < bytes)
    throw Fault(FaultKind::out_of_bounds, "", 0, {}, "", 0,
                std::string(what) + ": " + std::to_string(bytes) + " bytes asked for, " + std::to_string(m->end - begin) +
                    " left in the allocation");
  return *m;
}

/// Marks every word that [p, p + bytes) touches.
void mark_written(Memory& m, const void* p, std::size_t bytes) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - m.begin;
  const std::size_t first = offset / word_bytes, last = (offset + bytes + word_bytes - 1) / word_bytes;
  std::memset(m.written + first, 1, last - first);
}

std::string verb(Access kind) {
  switch (kind) {
    case Access::read: return "reads";
    case Access::write: return "writes";
    case Access::atomic_read: return "reads (load_acquire)";
    case Access::atomic_store: return "writes (store_release)";
    case Access::atomic_update: return "updates (atomic)";
  }
  return "accesses";
}

std::string element(std::int64_t bytes, std::size_t size) {
  return "element " + std::to_string(bytes / static_cast<std::int64_t>(size));
}

}  // namespace

void* allocate(std::size_t bytes) {
  const DeviceLock lock;
  Heap& h = heap();
  if (bytes > memory_free())
    throw Refused("the simulated GPU has " + std::to_string(memory_free()) + " bytes of memory free; " +
                  std::to_string(bytes) + " were asked for");
  // A single byte behind empty allocations, so that each has an address of its own.
  void* p = nullptr;
  auto* written = static_cast<std::uint8_t*>(std::calloc(bytes / word_bytes + 1, 1));
  if (!written || posix_memalign(&p, alignment_of_memory, bytes ? bytes : 1) != 0) {
    std::free(written);
    throw Refused("this machine has no " + std::to_string(bytes) + " bytes for the simulated GPU's memory");
  }
  std::memset(p, poison, bytes);
  if (h.unused.empty()) h.unused.push_back(&h.all.emplace_back());
  Memory& m = *h.unused.back();
  h.unused.pop_back();
  m.begin = reinterpret_cast<std::uintptr_t>(p);
  m.end = m.begin + bytes;
  m.generation = ++h.generations;
  m.written = written;
  h.live[m.begin] = &m;
  h.used_bytes += bytes;
  return p;
}

void release(void* p) noexcept {
  if (!p) return;
  const DeviceLock lock;
  Heap& h = heap();
  const auto it = h.live.find(reinterpret_cast<std::uintptr_t>(p));
  if (it == h.live.end()) {
    // Like a double free on the host: there is nobody to throw to, and going on would hide it.
    std::fprintf(stderr, "simulated device: release of an address that is not the start of a live allocation\n");
    std::abort();
  }
  Memory& m = *it->second;
  h.used_bytes -= m.end - m.begin;
  std::free(p);
  std::free(m.written);
  std::free(m.records);
  m.written = nullptr;
  m.records = nullptr;
  m.generation = 0;  // no view has this
  h.live.erase(it);
  h.unused.push_back(&m);
}

std::size_t memory_free() {
  const DeviceLock lock;
  return device_memory_bytes - heap().used_bytes;
}

View view(const void* p, std::size_t bytes, std::size_t alignment) {
  const DeviceLock lock;
  if (bytes == 0) return {reinterpret_cast<std::uintptr_t>(p), reinterpret_cast<std::uintptr_t>(p), nullptr, 0};
  Memory& m = owner_of_range(p, bytes, "global()");
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  if (begin % alignment != 0)
    throw Fault(FaultKind::misaligned, "", 0, {}, "", 0,
                "global(): the address is not a multiple of " + std::to_string(alignment) + ", as its type demands");
  return {begin, begin + bytes, &m, m.generation};
}

void make_records(Memory& m) {
  m.records = static_cast<Record*>(std::calloc(words(m) + 1, sizeof(Record)));
  if (!m.records) throw std::bad_alloc();
}

void fill_now(void* dst, unsigned char byte, std::size_t bytes) {
  if (bytes == 0) return;
  Memory& m = owner_of_range(dst, bytes, "fill");
  std::memset(dst, byte, bytes);
  mark_written(m, dst, bytes);
}

void copy_in_now(void* dst, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  Memory& m = owner_of_range(dst, bytes, "copy to the device");
  std::memcpy(dst, host, bytes);
  mark_written(m, dst, bytes);
}

void copy_within_now(void* dst, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  Memory& to = owner_of_range(dst, bytes, "copy within the device");
  Memory& from = owner_of_range(src, bytes, "copy within the device");
  const std::size_t to_offset = reinterpret_cast<std::uintptr_t>(dst) - to.begin;
  const std::size_t from_offset = reinterpret_cast<std::uintptr_t>(src) - from.begin;
  std::memmove(dst, src, bytes);
  // Copies of what nobody wrote stay unwritten, where words map onto words.
  if (to_offset % word_bytes == from_offset % word_bytes) {
    // A word of which only a part is overwritten may have been written before: the benefit of the doubt.
    const std::size_t first = to_offset / word_bytes, end = (to_offset + bytes + word_bytes - 1) / word_bytes;
    std::memmove(to.written + first, from.written + from_offset / word_bytes, end - first);
    if (to_offset % word_bytes != 0) to.written[first] = 1;
    if ((to_offset + bytes) % word_bytes != 0) to.written[end - 1] = 1;
  } else {
    mark_written(to, dst, bytes);
  }
}

void copy_out_now(void* host, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  owner_of_range(src, bytes, "copy to the host");
  std::memcpy(host, src, bytes);
}

void fail_global(const View& v, std::uintptr_t at, std::size_t size, Access kind) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0,
                "host code " + verb(kind) + " device memory; use copy_to_host, zero or a kernel");
  const std::string count = std::to_string((v.end - v.begin) / size);
  const std::string what = verb(kind) + " " + element(static_cast<std::int64_t>(at - v.begin), size);
  if (at - v.begin >= v.end - v.begin) {
    stop_here(FaultKind::out_of_bounds, {}, what + " of a view of " + count + " elements of " + std::to_string(size) +
                                                " bytes in global memory");
  }
  stop_here(FaultKind::use_after_free, {}, what + " of global memory that was released before this kernel ran");
}

void fail_shared(std::uint64_t offset, std::size_t size, Access kind) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "host code " + verb(kind) + " shared memory");
  stop_here(FaultKind::out_of_bounds, {},
            verb(kind) + " " + std::to_string(size) + " bytes at byte " + std::to_string(static_cast<std::int64_t>(offset)) +
                " of the block's shared memory, which the launch made " + std::to_string(running->shared_bytes) + " bytes");
}

void fail_unwritten(const View* v, std::uint64_t where, std::size_t size) {
  if (v)
    stop_here(FaultKind::unwritten, {}, "reads " + element(static_cast<std::int64_t>(where - v->begin), size) +
                                            " of a view in global memory, which nobody has written since its allocation");
  stop_here(FaultKind::unwritten, {},
            "reads byte " + std::to_string(where) + " (" + element(static_cast<std::int64_t>(where), size) +
                ") of shared memory, which nobody in this block has written");
}

void fail_spinning() {
  stop_here(FaultKind::endless_wait, {},
            "has read the same word " + std::to_string(spin_limit) +
                " times in a row; loops that wait for another thread must poll through load_acquire");
}

void track_slowly(Record& r, Access kind, const View* v, std::uint64_t where) {
  BlockState& b = *static_cast<BlockState*>(running);
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;

  // The lanes of `a` whose access no barrier orders before this one. Another warp's count as all of its lanes.
  const auto unordered = [&](const Accesses& a) -> std::uint32_t {
    if (a.serial != b.serial || a.tick < b.barrier_tick) return 0;
    if (a.warp != warp) return a.lanes;
    return b.warps[warp].unordered(a.lanes, a.tick, lane);
  };
  const auto conflict = [&](const Accesses& a, const char* did) {
    const std::uint32_t lanes = unordered(a);
    if (!lanes) return;
    std::vector<unsigned> others;
    if (a.warp != several_warps)
      for (unsigned l = 0; l < warp_size; ++l)
        if (lanes >> l & 1) others.push_back(a.warp * warp_size + l);
    const std::string who = a.warp == several_warps ? "threads of several warps"
                                                    : std::string(others.size() > 1 ? "threads " : "thread ") + ranges(others);
    const std::string word =
        v ? "the word at byte " + std::to_string(where - v->begin) + " of a view in global memory"
          : "byte " + std::to_string(where) + " of shared memory";
    const std::string since = b.last_barrier.line
                                  ? " (the block's last barrier: " + to_string(b.last_barrier) + ")"
                                  : std::string(" (the block has passed no barrier yet)");
    stop_here(FaultKind::race, {},
              verb(kind) + " " + word + ", which " + who + " " + did + " with no barrier between" + since);
  };
  // Adds this thread to a list; those ordered before it need not be kept, since whoever comes after it comes after them.
  const auto join = [&](Accesses& a) {
    const std::uint32_t kept = unordered(a);
    const bool another_warp = kept && a.warp != warp;
    a = {b.serial, b.tick, (another_warp ? 0 : kept) | 1u << lane, another_warp ? several_warps : warp};
  };

  conflict(r.writes, "wrote");
  switch (kind) {
    case Access::read:
      conflict(r.atomics, "updated atomically");
      join(r.reads);
      return;
    case Access::write:
      conflict(r.atomics, "updated atomically");
      conflict(r.reads, "read");
      r.writes = {b.serial, b.tick, 1u << lane, warp};
      return;
    case Access::atomic_read: return;  // only loads by acquire: no record, a later plain store is not held against them
    case Access::atomic_store:
    case Access::atomic_update:
      conflict(r.reads, "read");
      join(r.atomics);
      return;
  }
}

}  // namespace reductio::sim
