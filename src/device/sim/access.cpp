// The slow half of the checks at every access: the race check where a word's record does not decide at once, and what
// is said of an access that fails.

#include "device/sim/access.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/fault.h"
#include "device/sim/limits.h"

namespace reductio::sim {

Checks checks;
Spin spin;

namespace {

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

SharedRange shared_array(const void* key, std::size_t bytes, Site site) {
  if (!running) throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "host code asks for a shared array");
  BlockState& b = static_cast<BlockState&>(*running);
  for (const SharedArray& a : b.shared_arrays) {
    if (a.key != key) continue;
    if (!same(a.site, site))
      stop_here(FaultKind::aliased, site,
                "a shared_array of the same type and size is asked for at " + to_string(a.site) +
                    ", and on a GPU both are one; number one of them, shared_array<T, N, 1>()");
    return a.range;
  }
  const std::size_t begin = b.shared_arrays.empty() ? b.shared_bytes : b.shared_arrays.back().range.end;
  const std::size_t aligned = (begin + 15) / 16 * 16, end = aligned + bytes;
  if (end > shared_bytes_per_block)
    stop_here(FaultKind::launch, site,
              "shared arrays and the launch's shared memory take " + std::to_string(end) + " bytes a block; " +
                  std::to_string(shared_bytes_per_block) + " are there");
  b.reserve_shared(end);
  b.shared_arrays.push_back({key, site, {static_cast<std::uint32_t>(aligned), static_cast<std::uint32_t>(end)}});
  return b.shared_arrays.back().range;
}

View view_of(const View& v, std::uintptr_t at, std::size_t size, std::size_t alignment) {
  if (at < v.begin || at > v.end || at % alignment != 0) return {at, at, v.memory, v.generation};
  return {at - (at - v.begin) / size * size, at + (v.end - at) / size * size, v.memory, v.generation};
}

SharedRange array_of(SharedRange array, std::uint64_t at, std::size_t alignment) {
  return at % alignment == 0 ? array : SharedRange{};
}

void fail_global(const View& v, std::uintptr_t at, std::size_t size, Access kind) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0,
                "host code " + verb(kind) + " device memory; use copy_to_host, zero or a kernel");
  const std::string count = std::to_string((v.end - v.begin) / size);
  const std::string what = verb(kind) + " " + element(static_cast<std::int64_t>(at - v.begin), size);
  if (v.begin == v.end && at % std::min<std::size_t>(size & -size, 16) != 0)
    stop_here(FaultKind::misaligned, {},
              verb(kind) + " " + std::to_string(size) + " bytes of global memory at an address that is not aligned to them");
  if (at - v.begin >= v.end - v.begin) {
    stop_here(FaultKind::out_of_bounds, {}, what + " of a view of " + count + " elements of " + std::to_string(size) +
                                                " bytes in global memory");
  }
  stop_here(FaultKind::use_after_free, {}, what + " of global memory that was released before this kernel ran");
}

void fail_shared(const SharedRange& array, std::uint64_t offset, std::size_t size, Access kind) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "host code " + verb(kind) + " shared memory");
  const std::string what = verb(kind) + " " + std::to_string(size) + " bytes at byte ";
  const auto byte = [](std::uint64_t at) { return std::to_string(static_cast<std::int64_t>(at)); };
  if (array.end > running->shared_bytes)
    stop_here(FaultKind::out_of_bounds, {},
              what + byte(offset - array.begin) + " of a shared array of " + byte(array.end - array.begin) + " bytes");
  if (array.begin == array.end && running->shared_bytes)
    stop_here(FaultKind::misaligned, {}, what + byte(offset) + " of the block's shared memory, which is not aligned to them");
  stop_here(FaultKind::out_of_bounds, {},
            what + byte(offset) + " of the block's shared memory, which the launch made " +
                std::to_string(running->shared_bytes) + " bytes");
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
    if (a.serial != b.serial || a.epoch < b.barrier_epoch) return 0;
    if (a.warp != warp) return a.lanes;
    return b.warps[warp].unordered(a.lanes, a.epoch, lane);
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
    a = {b.serial, b.epoch, (another_warp ? 0 : kept) | 1u << lane, another_warp ? several_warps : warp};
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
      r.writes = {b.serial, b.epoch, 1u << lane, warp};
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
