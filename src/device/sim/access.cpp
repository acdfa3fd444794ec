// The slow half of the checks at every access: the race check where a word's record does not decide at once, and what
// is said of an access that fails.

#include "device/sim/access.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/block.h"
#include "device/sim/causality.h"
#include "device/sim/diagnosis.h"
#include "device/sim/fault.h"
#include "device/sim/limits.h"
#include "device/sim/scheduler.h"
#include "device/sim/streams.h"

namespace reductio::sim {

Spin spin;
NumberedFile last_file;

namespace {

/// By number, from 1.
std::vector<const char*>& files() {
  static std::vector<const char*> all;
  return all;
}

std::string verb(Access kind) {
  switch (kind) {
    case Access::read: return "reads";
    case Access::write: return "writes";
    case Access::atomic_read: return "reads (atomic)";
    case Access::atomic_store: return "writes (atomic)";
    case Access::atomic_update: return "updates (atomic)";
  }
  return "accesses";
}

/// "element 3".
std::string element(const Touch& t) {
  const auto bytes = static_cast<std::int64_t>(t.view ? t.where - t.view->begin : t.where);
  return "element " + std::to_string(bytes / static_cast<std::int64_t>(t.size));
}

std::string elements_in_view(const Touch& t) { return std::to_string((t.view->end - t.view->begin) / t.size); }

/// " (multiblock.cu:78)", or nothing.
std::string in_brackets(SiteCode site) { return site ? " (" + to_string(site_of(site)) + ")" : std::string(); }

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
  if (at < v.begin || at > v.end || at % alignment != 0) return {at, at, v.memory, v.generation, v.constant};
  return {at - (at - v.begin) / size * size, at + (v.end - at) / size * size, v.memory, v.generation, v.constant};
}

SharedRange array_of(SharedRange array, std::uint64_t at, std::size_t alignment) {
  return at % alignment == 0 ? array : SharedRange{};
}

void number_file(const char* file) {
  constexpr std::size_t most = (1u << (site_bits - line_bits)) - 1;
  auto& all = files();
  std::size_t i = 0;
  while (i < all.size() && !same({all[i], 0}, {file, 0})) ++i;
  if (i == all.size() && i < most) all.push_back(file);
  last_file = {file, i < most ? static_cast<SiteCode>(i + 1) << line_bits : 0};
}

Site site_of(SiteCode code) {
  const std::size_t file = code >> line_bits;
  if (file == 0) return {};
  return {files()[file - 1], static_cast<int>(code & ((1u << line_bits) - 1))};
}

void fail_global(const Touch& t) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0,
                "host code " + verb(t.kind) + " device memory; use copy_to_host, zero or a kernel");
  const View& v = *t.view;
  const std::string what = verb(t.kind) + " " + element(t);
  if (!in_reach)
    stop_here(FaultKind::race, site_of(t.site),
              what + " of global memory before wait_for_previous_kernel(), in a launch that may begin while the kernel "
                     "before it runs (Launch::overlaps)");
  if (v.begin == v.end && t.where % std::min<std::size_t>(t.size & -t.size, 16) != 0)
    stop_here(FaultKind::misaligned, site_of(t.site),
              verb(t.kind) + " " + std::to_string(t.size) +
                  " bytes of global memory at an address that is not aligned to them");
  if (t.where - v.begin >= v.end - v.begin)
    stop_here(FaultKind::out_of_bounds, site_of(t.site),
              what + " of a view of " + elements_in_view(t) + " elements of " + std::to_string(t.size) +
                  " bytes in global memory");
  if (v.memory->hidden == v.generation)
    stop_here(FaultKind::contract, site_of(t.site), what + " of global memory that is " + of_another_plan);
  stop_here(FaultKind::use_after_free, site_of(t.site),
            what + " of global memory that was released before this kernel ran");
}

void fail_input(const Touch& t) {
  stop_here(FaultKind::contract, site_of(t.site),
            "changed its input, which it does not declare (consumes_input): it " + verb(t.kind) + " " + element(t) +
                " there");
}

void on_constant_load(const View& v, std::uintptr_t at, std::size_t size, SiteCode site, const char* how) {
  const Memory& m = *v.memory;
  const auto in_this_launch = [](const Accesses& a) { return a.serial - running->first_serial < running->grid; };
  for (std::size_t w = (at - m.begin) / word_bytes; w * word_bytes < at - m.begin + size; ++w)
    if (in_this_launch(m.records[w].writes) || in_this_launch(m.records[w].atomics))
      stop_here(FaultKind::race, site_of(site),
                "reads " + element({Access::read, &v, at, size}) +
                    " " + how + ": that may give an older value than this launch wrote there, whatever orders the two "
                    "(the read-only cache, __restrict__); read it plainly, through a pointer that is not to const");
}

void fail_shared(const SharedRange& array, const Touch& t) {
  if (!running)
    throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "host code " + verb(t.kind) + " shared memory");
  const std::string what = verb(t.kind) + " " + std::to_string(t.size) + " bytes at byte ";
  const auto byte = [](std::uint64_t at) { return std::to_string(static_cast<std::int64_t>(at)); };
  const Site site = site_of(t.site);
  if (array.end > running->shared_bytes)
    stop_here(FaultKind::out_of_bounds, site,
              what + byte(t.where - array.begin) + " of a shared array of " + byte(array.end - array.begin) + " bytes");
  if (array.begin == array.end && running->shared_bytes)
    stop_here(FaultKind::misaligned, site,
              what + byte(t.where) + " of the block's shared memory, which is not aligned to them");
  stop_here(FaultKind::out_of_bounds, site,
            what + byte(t.where) + " of the block's shared memory, which the launch made " +
                std::to_string(running->shared_bytes) + " bytes");
}

/// A read of an unwritten word. If an unordered write to it is under way, the fault is a race, which track_slowly()
/// reports.
void fail_unwritten(Record* record, Accesses* reads, const Touch& t) {
  if (reads) track_slowly(record, *reads, t);
  if (t.view)
    stop_last(
        FaultKind::unwritten, site_of(t.site),
        "reads " + element(t) + " of a view in global memory, which nobody has written since " +
            (t.view->memory->forgotten ? "this call began (what calls leave to each other, and what is there before "
                                         "the first, the variant declares as its persistent_state)"
                                       : "its allocation") +
            (default_stream_holds_work() ? "; what waits in the default stream, Stream{}, is not done before a call: "
                                         : "; ") +
            "a call zeroes what it needs on its own stream, and what calls leave to each other is a zeroed_buffer "
            "(device/device.h)");
  stop_last(FaultKind::unwritten, site_of(t.site),
            "reads byte " + std::to_string(t.where) + " (" + element(t) +
                ") of shared memory, which nobody in this block has written");
}

void fail_spinning() {
  stop_here(FaultKind::endless_wait, {},
            "has read the same word " + std::to_string(spin_limit) +
                " times in a row; loops that wait for another thread must poll through load_acquire");
}

namespace {

/// An access of a launch of another stream that nothing orders before this launch.
bool of_another_stream(const Accesses& a, const Touch& t) {
  const Block& b = *running;
  return t.view && a.serial - b.unordered_from < b.first_serial - b.unordered_from &&
         scheduler().log().by_another_stream(a.serial);
}

/// Of two accesses of this launch: may a later one conflict with this? Not before the grid's last barrier; of shared
/// memory, not of an earlier block.
bool counts(const Accesses& a, const Touch& t) {
  const Block& b = *running;
  return a.serial == b.serial ||
         (t.view && a.serial - b.first_serial < b.grid && a.epoch >= b.grid_epoch);
}

/// Those lanes of `a` whose access nothing orders before this one. Each did it in the epoch that `a` says. `atomic_at`:
/// where it was atomic, its location.
std::uint32_t unordered(const Accesses& a, const Touch& t, const Moment& here, std::uint64_t atomic_at = 0) {
  if (of_another_stream(a, t)) return a.lanes;
  if (!counts(a, t)) return 0;
  Accesses left = a;
  if (a.serial == here.serial) left.lanes &= ~here.ordered(a);
  return left.lanes ? causality.unordered(here, left, atomic_at) : 0;
}

/// The same of reads, which are kept together: their epoch and thread are those of the last, `others` says that lanes
/// of other warps read before. Where they are of another block, the last stands for all. Within a block, barriers order
/// all that are older; whether flags order every single one is not known, so they get the benefit of the doubt.
std::uint32_t unordered_reads(const Accesses& reads, const Touch& t, const Moment& here) {
  const std::uint32_t last = 1u << reads.thread % warp_size;
  const bool single = reads.lanes == last && !reads.others;
  if (single || reads.serial != here.serial) {
    Accesses one = reads;
    one.lanes = last;
    return unordered(one, t, here);
  }
  if (reads.epoch < here.barrier_epoch) return 0;
  const std::uint32_t left = reads.others ? ~0u : reads.lanes & ~here.ordered(reads);
  return left && causality.learnt_in_block(here) ? 0 : left;
}

/// Whether a plain write leaves what it writes to as it is.
bool stores_the_same(const Touch& t) {
  if (!t.value) return false;
  const std::byte* const there =
      t.view ? reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(t.where)) : running->shared + t.where;
  return std::memcmp(there, t.value, t.size) == 0;
}

[[noreturn]] void fail_race(const Accesses& a, std::uint32_t lanes, const char* did, const Touch& t, const Moment& here,
                            std::uint64_t atomic_at = 0) {
  const BlockState& b = *static_cast<const BlockState*>(running);
  std::string what = verb(t.kind) + " ";
  if (t.view)
    what += element(t) + " of a view of " + elements_in_view(t) + " elements in global memory";
  else
    what += "byte " + std::to_string(t.where) + " of shared memory";
  what += ", which ";
  if (of_another_stream(a, t)) {
    stop_here(FaultKind::race, site_of(t.site),
              what + "thread " + std::to_string(a.thread) + " of a launch of another stream " + did +
                  in_brackets(a.site) + ", and nothing orders the two: the host had not waited for that launch when it "
                                        "enqueued this one");
  }
  if (a.serial != b.serial) {
    const std::string block = "block " + std::to_string(scheduler().block_of(a.serial));
    what +=
        block + ", thread " + std::to_string(a.thread) + " " + did + " in this launch" + in_brackets(a.site) + ", and ";
    if (a.block_scope || (t.scope == Scope::block && t.kind != Access::read && t.kind != Access::write))
      what += "an atomic with block scope is none to another block";
    else
      what += causality.missing(here, a, atomic_at, block);
  } else {
    std::vector<unsigned> others;
    for (unsigned l = 0; l < warp_size; ++l)
      if (lanes >> l & 1) others.push_back(a.thread / warp_size * warp_size + l);
    what += a.others && lanes == ~0u ? "threads of several warps"
                                     : std::string(others.size() > 1 ? "threads " : "thread ") + ranges(others);
    what += std::string(" ") + did + in_brackets(a.site) + " with no barrier between";
    what += b.last_barrier.line ? " (the block's last barrier: " + to_string(b.last_barrier) + ")"
                                : std::string(" (the block has passed no barrier yet)");
  }
  if (stores_the_same(t) && std::string_view(did) == "wrote")
    what +=
        "; both store the same value, which CUDA promises to be right for lanes of one warp at one line alone: let one "
        "thread store it";
  stop_here(FaultKind::race, site_of(t.site), what);
}

}  // namespace

void track_slowly(Record* record, Accesses& reads, const Touch& t) {
  const Moment here = now();
  const Block& b = *running;
  const bool is_atomic = t.kind != Access::read && t.kind != Access::write;
  const Accesses me{.serial = b.serial,
                    .epoch = b.epoch,
                    .lanes = 1u << here.thread % warp_size,
                    .thread = here.thread,
                    .block_scope = is_atomic && t.scope == Scope::block,
                    .site = t.site};
  const std::uint64_t location = Causality::location(t);
  std::uint32_t together = 0;  // lanes that store the same by the same line
  const auto conflict_with_writes = [&] {
    if (!record) return;
    const Accesses& a = record->writes;
    const std::uint32_t lanes = unordered(a, t, here);
    // CUDA: of the lanes of a warp that write to one place by one instruction one is the last, which one is not said.
    if (lanes && a.serial == b.serial && a.thread / warp_size == here.thread / warp_size && a.site == t.site &&
        stores_the_same(t))
      together = lanes;
    else if (lanes)
      fail_race(a, lanes, "wrote", t, here);
  };
  const auto conflict_with_atomic = [&](const Accesses& a) {
    if (const std::uint32_t lanes = unordered(a, t, here, location))
      fail_race(a, lanes, "updated atomically", t, here, location);
  };
  const auto conflict_with_atomics = [&] {
    if (!record) return;
    conflict_with_atomic(record->atomics);
    if (record->atomics.others)
      for (const Accesses& a : causality.other_atomics(location)) conflict_with_atomic(a);
  };
  const auto conflict_with_reads = [&] {
    if (const std::uint32_t lanes = unordered_reads(reads, t, here)) fail_race(reads, lanes, "read", t, here);
  };

  conflict_with_writes();
  switch (t.kind) {
    case Access::read: {
      conflict_with_atomics();
      // Reads ordered before this one need not be kept: what comes after it comes after them.
      const std::uint32_t kept = reads.serial == b.serial ? unordered_reads(reads, t, here) : 0;
      const bool another_warp = kept && (reads.others || reads.thread / warp_size != here.thread / warp_size);
      reads = me;
      reads.others = another_warp;
      if (!another_warp) reads.lanes |= kept;
      return;
    }
    case Access::write:
      conflict_with_atomics();
      conflict_with_reads();
      if (counts(record->atomics, t)) causality.overwrite(location);
      record->atomics = {};
      if (record->writes.epoch != me.epoch) together = 0;
      record->writes = me;
      record->writes.lanes |= together;
      return;
    case Access::atomic_read:  // leaves no record: a later plain store is not held against it
    case Access::atomic_store:
    case Access::atomic_update: {
      Accesses& last = record->atomics;
      const bool another_block = counts(last, t) && last.serial != b.serial;
      if (of_another_stream(last, t) || (another_block && (last.block_scope || me.block_scope)))
        conflict_with_atomic(last);
      if (t.kind == Access::atomic_read) return;
      conflict_with_reads();
      if (!counts(last, t)) {
        last = me;
      } else if (last.serial == b.serial && last.epoch == b.epoch &&
                 last.thread / warp_size == here.thread / warp_size && last.block_scope == me.block_scope) {
        last.lanes |= me.lanes;
        last.thread = me.thread;
        last.site = me.site;
      } else {
        bool others = last.others;
        // Whether flags order it is not asked: the search is long where nothing does, and no lane is kept twice.
        if (last.serial != b.serial || (last.lanes & ~here.ordered(last))) {
          causality.keep_atomics(location, last);
          others = true;
        }
        last = me;
        last.others = others;
      }
      return;
    }
  }
}

}  // namespace reductio::sim
