// The slow half of the checks at every access: the race check where a word's record does not decide at once, and what
// is said of an access that fails.

#include "device/sim/access.h"

#include <link.h>

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
#include "device/sim/follower.h"
#include "device/sim/limits.h"
#include "device/sim/order.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"
#include "device/sim/shared_memory.h"
#include "device/sim/streams.h"

namespace reductio::sim {

Spin spin;
UnorderedStore unordered_store;
Follower* follower = nullptr;

Space space_of(std::uintptr_t at) {
  if (at - reinterpret_cast<std::uintptr_t>(running->shared) < shared_span) return Space::shared;
  if (memory_at(at)) return Space::global;
  for (const BlockState* const b : static_cast<BlockState*>(running)->leader->members)
    if (b && at - reinterpret_cast<std::uintptr_t>(b->shared) < shared_span) return Space::shared;
  return Space::other;
}

namespace {

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

/// "element 3": of what kernels may touch of an allocation.
std::string element(const Touch& t) {
  const auto bytes = static_cast<std::int64_t>(t.where - t.memory->reach);
  return "element " + std::to_string(bytes / static_cast<std::int64_t>(t.size));
}

/// "in global memory", "of variable partials".
std::string which(const Memory& m) { return m.name ? std::string("of variable ") + m.name : "in global memory"; }

/// "element 3 of 5 elements in global memory", "byte 12 of shared array 'sums'".
std::string place_in_memory(const Touch& t) {
  if (t.memory)
    return element(t) + " of " + std::to_string(t.memory->reach_bytes / t.size) + " elements " + which(*t.memory);
  return place_in_shared_memory(t.where) +
         (t.owner == running ? "" : " of block " + block_name(t.owner->index) + " of the cluster");
}

/// " (multiblock.cu:78)", or nothing.
std::string in_brackets(SiteCode site) { return site ? " (" + to_string(site_of(site)) + ")" : std::string(); }

}  // namespace

void fail_global(const Touch& t) {
  const Memory& m = *t.memory;
  if (!m.hidden) scheduler().leave_silently(FaultKind::out_of_bounds);
  const std::string what = verb(t.kind) + " " + element(t);
  if (m.hidden) stop_here(FaultKind::contract, site_of(t.site), what + " of global memory that is " + of_another_plan);
  stop_here(FaultKind::out_of_bounds, site_of(t.site),
            what + " of " + std::to_string(m.reach_bytes / t.size) + " elements of " + std::to_string(t.size) +
                " bytes " + which(m));
}

void come_in_reach(const Touch& t) {
  if (!scheduler().comes_after_a_wait())
    stop_here(FaultKind::race, site_of(t.site),
              verb(t.kind) + " " + element(t) +
                  " of global memory before " +
                  in_words("wait_for_previous_kernel(), in a launch that may begin while the kernel before it runs "
                           "(Launch::overlaps)",
                           "cudaGridDependencySynchronize(), in a launch that may begin while the kernel before it "
                           "runs (cudaLaunchAttributeProgrammaticStreamSerialization)"));
}

Block* peer_at(Access kind, std::uintptr_t at, std::size_t size, SiteCode site) {
  BlockState& mine = static_cast<BlockState&>(*running);
  for (unsigned rank = 0; rank < mine.leader->members.size(); ++rank) {
    BlockState* const peer = mine.leader->members[rank];
    if (at - reinterpret_cast<std::uintptr_t>(peer->shared) >= shared_span) continue;
    const std::string what = verb(kind) + " " + std::to_string(size) + " bytes of the shared memory of block " +
                             block_name(peer->index) + " of its cluster";
    if (!mine.leader->has_met)
      stop_here(FaultKind::race, site_of(site),
                what + ", which may not have begun: all its blocks have after the cluster's first barrier");
    if (peer->exited == peer->threads)
      stop_here(
          FaultKind::use_after_free, site_of(site),
          what + ", which has ended: let its threads wait at the cluster's barrier until no other block needs it");
    return peer;
  }
  return nullptr;
}

namespace {

/// Whether it is a constant of the program's, as from which a kernel fills its local arrays.
bool is_constant(std::uintptr_t at) {
  struct Range {
    std::uintptr_t at, begin, end;
  };
  static Range last{};
  if (at - last.begin < last.end - last.begin) return true;
  Range wanted{at, 0, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        Range& r = *static_cast<Range*>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
          const bool read_only = (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W)) ||
                                 segment.p_type == PT_GNU_RELRO;
          if (read_only && r.at - begin < segment.p_memsz) r.begin = begin, r.end = begin + segment.p_memsz;
        }
        return static_cast<int>(r.end != 0);
      },
      &wanted);
  if (wanted.end == 0) return false;
  last = wanted;
  return true;
}

}  // namespace

void on_elsewhere(Access kind, std::uintptr_t at, std::size_t size, SiteCode site) {
  Scheduler& s = scheduler();
  const auto in = [at](const void* begin, std::size_t bytes) {
    return at - reinterpret_cast<std::uintptr_t>(begin) < bytes;
  };
  const Fiber& mine = *s.fibers().current();
  if (in(mine.stack, mine.size) || (kind == Access::read && in(s.parameters(), s.parameter_bytes()))) return;
  if (kind == Access::read && is_constant(at) && !is_parameters_target(at)) return;
  for (const Index* const index : {&threadIdx, &blockIdx, &blockDim, &gridDim})  // copied as a whole
    if (kind == Access::read && in(index, sizeof *index)) return;
  s.leave_silently(FaultKind::out_of_bounds);
  const std::string what = verb(kind) + " " + std::to_string(size) + " bytes ";
  if (s.fibers().in_a_stack(at))
    stop_here(FaultKind::out_of_bounds, site_of(site),
              what + "of another thread's local variable: each thread has its own, at addresses that no other can use");
  if (const BlockState* const other = s.block_with_shared(at))
    stop_here(FaultKind::out_of_bounds, site_of(site),
              what + "of the shared memory of another block, number " + block_name(other->index) +
                  ": a block can access only its own");
  if (const std::string name = host_variable_at(at); !name.empty())
    stop_here(FaultKind::out_of_bounds, site_of(site),
              what + "of variable " + name + ", which is the host's: a kernel can access __device__ ones");
  const Stray stray = describe_stray(at);
  if (stray.released) stop_here(FaultKind::use_after_free, site_of(site), what + "of " + stray.words);
  stop_here(
      FaultKind::out_of_bounds, site_of(site),
      what + (at < 4096             ? "at a null pointer"
              : stray.words.empty() ? "that are not memory of the device: a kernel can access what it has pointers "
                                      "to, and not the host's memory"
                                    : stray.words));
}

void fail_input(const Touch& t) {
  stop_here(FaultKind::contract, site_of(t.site),
            "changed its input, which it does not declare (consumes_input): it " + verb(t.kind) + " " + element(t) +
                " there");
}

void on_constant_load(const Memory& m, std::uintptr_t at, std::size_t size, SiteCode site) {
  const std::uint32_t from = scheduler().log().beside_from(), first = running->first_serial;
  for (std::uintptr_t i = at - m.begin; i < at - m.begin + size; ++i)
    for (const Packed* const of_kind : {m.writes, m.atomics}) {
      if (!of_kind) continue;
      const Accesses a = unpacked(m, of_kind[i / word_bytes], i % word_bytes);
      if (a.serial && a.serial - from < first - from + running->grid)
        stop_here(FaultKind::race, site_of(site),
                  "reads " + element({Access::read, &m, at, size}) +
                      " through the read-only cache: that may give an older value than " +
                      (a.serial - first < running->grid
                           ? "this launch wrote there, whatever orders the two"
                           : "the kernel before it wrote there, which may still run when this launch begins" +
                                 in_words(" (Launch::overlaps), also after wait_for_previous_kernel()",
                                          ", also after cudaGridDependencySynchronize()")) +
                      "; read it plainly");
    }
}

void fail_shared(const Touch& t) {
  scheduler().leave_silently(FaultKind::out_of_bounds);
  stop_here(FaultKind::out_of_bounds, site_of(t.site),
            verb(t.kind) + " " + std::to_string(t.size) + " bytes at " + place_in_shared_memory(t.where, true));
}

void read_unwritten(Record& record, Accesses& reads, const Touch& t) {
  const std::size_t races = scheduler().races();
  track_slowly(record, reads, t);
  if (scheduler().races() == races) fail_unwritten(t);
}
void read_unwritten(std::size_t word, const Touch& t) {
  const std::size_t races = scheduler().races();
  track_slowly(word, t);
  if (scheduler().races() == races) fail_unwritten(t);
}

/// If an unordered write to it is under way, the fault is a race, which track_slowly() has reported.
void fail_unwritten(const Touch& t) {
  scheduler().leave_silently(FaultKind::unwritten);
  if (t.memory)
    stop_here(
        FaultKind::unwritten, site_of(t.site),
        "reads " + place_in_memory(t) + ", which nobody has written since " +
            (t.memory->forgotten ? "this call began (a variant declares what its calls find there, and what is "
                                         "there before the first, as its persistent_state)"
                                       : "its allocation") +
            in_words(default_stream_holds_work()
                         ? "; work in the default stream, Stream{}, is not done before a call: a call zeroes what "
                           "it needs on its own stream; use a zeroed_buffer for what calls leave to the next "
                           "(device/device.h)"
                         : "; a call zeroes what it needs on its own stream; use a zeroed_buffer for what calls "
                           "leave to the next (device/device.h)",
                     "; cudaMalloc does not zero it: cudaMemset does"));
  stop_here(FaultKind::unwritten, site_of(t.site),
            "reads " + place_in_memory(t) + ", which nobody in this block has written");
}

void fail_spinning() {
  stop_here(FaultKind::endless_wait, last_access(),
            "has read the same word " + std::to_string(spin_limit) +
                " times in a row; loops that wait for another thread must poll " +
                in_words("with load_acquire, or with an atomic such as atomicAdd(p, 0)",
                         "with an atomic, such as atomicAdd(p, 0) or a load() of cuda::atomic_ref"));
}

namespace {

/// An access of an earlier launch that nothing orders before this one.
bool of_another_launch(const Accesses& a, const Touch& t) {
  const Block& b = *running;
  return t.memory && a.serial - b.unordered_from < b.first_serial - b.unordered_from &&
         (scheduler().log().by_another_stream(a.serial) || scheduler().log().may_still_run(a.serial));
}

/// Of two accesses of this launch: may a later one conflict with this? Not before the grid's last barrier; of shared
/// memory, not of an earlier block.
bool counts(const Accesses& a, const Touch& t) {
  const Block& b = *running;
  if (a.serial == b.serial) return true;
  return (t.memory ? a.serial - b.first_serial < b.grid : by_cluster(a)) && a.epoch >= b.grid_epoch;
}

/// Those lanes of `a` whose access nothing orders before this one. Each did it in the epoch that `a` says. `atomic_at`:
/// where it was atomic, its location.
std::uint32_t unordered(const Accesses& a, const Touch& t, const Moment& here, std::uint64_t atomic_at = 0) {
  if (of_another_launch(a, t)) return a.lanes;
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

bool of_two_sizes(const Accesses& atomic, const Touch& t) {
  return t.kind != Access::read && t.kind != Access::write && atomic.of_another_size != (t.size != word_bytes);
}

/// Ends the launch, or, where races are told as they come, returns.
void fail_race(const Accesses& a, std::uint32_t lanes, const char* did, const Touch& t, const Moment& here,
                            std::uint64_t atomic_at = 0, const std::string& advice = {}) {
  const BlockState& b = *static_cast<const BlockState*>(running);
  std::string what = verb(t.kind) + " " + place_in_memory(t) + ", which ";
  if (of_another_launch(a, t)) {
    const bool same_stream = !scheduler().log().by_another_stream(a.serial);
    return scheduler().race(
        site_of(t.site), site_of(a.site),
        what + "thread " + std::to_string(a.thread) + " of " +
            (same_stream ? "an earlier launch " : "a launch of another stream ") + did + in_brackets(a.site) +
            ", and nothing orders the two: " +
            (same_stream ? "a kernel between them has ended without " +
                               in_words("wait_for_previous_kernel()", "cudaGridDependencySynchronize()") +
                               ", so that launch may still run"
                         : "the host had not waited for that launch when it enqueued this one"));
  }
  if (a.serial != b.serial) {
    const std::string block = "block " + block_name(scheduler().block_of(a.serial));
    what +=
        block + ", thread " + thread_name(a.thread) + " " + did + " in this launch" + in_brackets(a.site) + ", and ";
    if (a.block_scope || (t.scope == Scope::block && t.kind != Access::read && t.kind != Access::write))
      what += "an atomic with block scope is not atomic to another block";
    else if (of_two_sizes(a, t))
      what += "atomics of two sizes are not atomic to each other: use one size";
    else if (!t.memory)
      what += "no barrier of the cluster stands between the two";
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
    if (of_two_sizes(a, t)) what += "; atomics of two sizes are not atomic to each other: use one size";
  }
  scheduler().race(site_of(t.site), site_of(a.site), what + advice);
}

}  // namespace

void track_slowly(Record& record, Accesses& reads, const Touch& t) {
  const Moment here = now();
  const Block& b = *running;
  const bool is_atomic = t.kind != Access::read && t.kind != Access::write;
  const Accesses me{.serial = b.serial,
                    .epoch = b.epoch,
                    .lanes = 1u << here.thread % warp_size,
                    .thread = here.thread,
                    .block_scope = is_atomic && t.scope == Scope::block,
                    .of_another_size = is_atomic && t.size != word_bytes,
                    .site = t.site};
  const std::uint64_t location = Causality::location(t);
  std::uint32_t together = 0;  // lanes that store the same by the same line
  const auto conflict_with_writes = [&] {
    const Accesses& a = record.writes;
    const std::uint32_t lanes = unordered(a, t, here);
    if (!lanes) return;
    if (t.kind != Access::write) return fail_race(a, lanes, "wrote", t, here);
    // CUDA: of the lanes of a warp that write to one place by one instruction one is the last, which one is not said.
    if (unordered_store.pending) return;  // of another word of the same store
    unordered_store.pending = true;
    unordered_store.same_line =
        a.serial == b.serial && a.thread / warp_size == here.thread / warp_size && a.site == t.site;
    unordered_store.touch = t;
    unordered_store.other = a;
    unordered_store.lanes = lanes;
    unordered_store.at =
        t.memory ? reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(t.where)) : t.owner->shared + t.where;
    std::memcpy(unordered_store.before.data(), unordered_store.at, t.size);
    if (unordered_store.same_line) together = lanes;
  };
  const auto conflict_with_atomic = [&](const Accesses& a) {
    if (const std::uint32_t lanes = unordered(a, t, here, location))
      fail_race(a, lanes, "updated atomically", t, here, location);
  };
  const auto conflict_with_atomics = [&] {
    conflict_with_atomic(record.atomics);
    if (record.atomics.others)
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
      if (counts(record.atomics, t)) causality.overwrite(location);
      record.atomics = {};
      if (record.writes.epoch != me.epoch) together = 0;
      record.writes = me;
      record.writes.lanes |= together;
      return;
    case Access::atomic_read:  // leaves no record: a later plain store is not held against it
    case Access::atomic_store:
    case Access::atomic_update: {
      Accesses& last = record.atomics;
      const bool another_block = counts(last, t) && last.serial != b.serial;
      if (of_another_launch(last, t) || (another_block && (last.block_scope || me.block_scope)) ||
          (counts(last, t) && last.of_another_size != me.of_another_size))
        conflict_with_atomic(last);
      if (t.kind == Access::atomic_read) return;
      conflict_with_reads();
      if (!counts(last, t)) {
        last = me;
      } else if (last.serial == b.serial && last.epoch == b.epoch &&
                 last.thread / warp_size == here.thread / warp_size && last.block_scope == me.block_scope &&
                 last.of_another_size == me.of_another_size) {
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

namespace {

bool is_live_by_bytes(const Packed* of_kind, std::size_t word) {
  return of_kind && !stamps.is_forgotten(of_kind[word]) && of_kind[word].by_bytes();
}

/// A word's record of a kind of accesses, or a byte's, while one is checked.
struct Unpacked {
  Packed*& of_kind;
  Accesses before, now;

  Unpacked(const Memory& m, Packed*& all, std::size_t word, unsigned byte)
      : of_kind(all), before(all ? unpacked(m, all[word], byte) : Accesses{}), now(before) {}
  bool changed() const { return std::memcmp(&before, &now, sizeof now) != 0; }
};

/// The race check of some bytes, which have one record.
void track_packed(std::size_t word, std::uint8_t bytes, const Touch& t) {
  Memory& m = const_cast<Memory&>(*t.memory);
  const unsigned byte = std::countr_zero(bytes);
  Unpacked writes(m, m.writes, word, byte), atomics(m, m.atomics, word, byte), reads(m, m.reads, word, byte);
  Record record{writes.now, atomics.now};
  track_slowly(record, reads.now, t);
  writes.now = record.writes;
  atomics.now = record.atomics;
  for (const Unpacked* const u : {&writes, &atomics, &reads}) {
    if (!u->changed()) continue;
    if (!u->of_kind) make_records(m, u->of_kind);
    if (bytes == whole_word) pack(m, u->of_kind[word], u->now);
    else pack_bytes(m, u->of_kind[word], bytes, u->now);
  }
}

}  // namespace

void track_slowly(std::size_t word, const Touch& t) {
  const Memory& m = *t.memory;
  for (const Packed* const of_kind : {m.writes, m.atomics, m.reads})
    if (is_live_by_bytes(of_kind, word)) return track_bytes(word, whole_word, t);
  track_packed(word, whole_word, t);
}

bool is_unset(const volatile void* p, std::size_t bytes) {
  if (!running) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(running->shared);
  if (offset < shared_span) {
    const Record& r = running->shared_records[offset / word_bytes];
    return !by_cluster(r.writes) && !by_cluster(r.atomics);
  }
  const Memory* const m = memory_at(at);
  if (!m || m->end - at < bytes) return false;
  const std::uint8_t* const written = m->written + (at - m->begin) / word_bytes;
  return std::any_of(written, written + bytes / word_bytes, [](std::uint8_t w) { return w != whole_word; });
}

void settle_unordered_store() {
  UnorderedStore& s = unordered_store;
  s.pending = false;
  const bool same_value = std::memcmp(s.before.data(), s.at, s.touch.size) == 0;
  if (s.same_line && same_value) return;
  std::string advice;
  if (s.other.site == s.touch.site)
    advice = same_value
                 ? "; both store the same value, which CUDA allows only for lanes of one warp at one line: let "
                   "one thread store it"
                 : "; they store different values at one line, and either may stay: let one thread store it, or each "
                   "in an element of its own";
  else if (same_value || !s.touch.memory)
    advice = "; two lines store there: if they mean two arrays, these overlap";
  fail_race(s.other, s.lanes, "wrote", s.touch, now(), 0, advice);
}

namespace {

/// The word's bytes get records of their own, each what the word's says.
SplitWord& split_word(SplitWords& all, std::size_t word, Record& record, const Accesses& reads) {
  const auto [at, is_new] = all.try_emplace(word);
  SplitWord& split = at->second;
  if (is_new || !record.writes.others) {
    split.records.fill(record);
    split.reads.fill(reads);
    record.writes.others = 1;
  }
  return split;
}

void track_shared_bytes(std::size_t word, std::uint8_t bytes, const Touch& t) {
  BlockState& b = static_cast<BlockState&>(*t.owner);
  Record& record = b.shared_records[word];
  Accesses& reads = b.shared_reads[word];
  if (!by_cluster(record.writes) && !by_cluster(record.atomics)) record = {};  // of an earlier block
  if (!by_cluster(reads)) reads = {};
  SplitWord& split = split_word(b.split, word, record, reads);
  record.writes.serial = running->serial;
  for (unsigned i = 0; i < word_bytes; ++i) {
    if (!(bytes >> i & 1)) continue;
    Record& r = split.records[i];
    if (!is_store(t.kind) && !by_cluster(r.writes) && !by_cluster(r.atomics)) read_unwritten(r, split.reads[i], t);
    else track_slowly(r, split.reads[i], t);
  }
}

}  // namespace

void track_bytes(std::size_t word, std::uint8_t bytes, const Touch& t) {
  if (!t.memory) return track_shared_bytes(word, bytes, t);
  for (unsigned i = 0; i < word_bytes; ++i) {
    if (!(bytes >> i & 1)) continue;
    std::uint8_t& written = t.memory->written[word];
    const bool unwritten = !(written >> i & 1) && !is_store(t.kind);
    if (is_store(t.kind)) written |= 1u << i;
    const std::size_t races = scheduler().races();
    track_packed(word, static_cast<std::uint8_t>(1u << i), t);
    if (unwritten && scheduler().races() == races) fail_unwritten(t);
  }
}

void on_bytes(Access kind, std::uintptr_t at, std::size_t size, SiteCode site, Scope scope) {
  Block* owner = running;
  std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(running->shared);
  Memory* m = offset < shared_span ? nullptr : owner_of(at);
  if (offset >= shared_span && !m) {
    m = variable_at(at);
    Block* const peer = m ? nullptr : peer_at(kind, at, size, site);
    if (!m && !peer) return on_elsewhere(kind, at, size, site);
    if (peer) owner = peer, offset = at - reinterpret_cast<std::uintptr_t>(peer->shared);
  }
  const bool shared = !m;
  const Touch t{kind, m, shared ? offset : at, size, site, scope, owner};
  const std::size_t begin = shared ? offset : at - m->begin;
  if (m) {
    on_bounds(*m, at, kind, size, site);
    if (m->input && kind != Access::read && kind != Access::atomic_read) fail_input(t);
  }
  for (std::size_t word = begin / word_bytes; word * word_bytes < begin + size; ++word) {
    const std::size_t first = std::max(begin, word * word_bytes) - word * word_bytes;
    const std::size_t end = std::min(begin + size, (word + 1) * word_bytes) - word * word_bytes;
    const auto bytes = static_cast<std::uint8_t>((1u << end) - (1u << first));
    if (m && m->input) {
      if (bytes & ~m->written[word]) fail_unwritten(t);
      continue;
    }
    if (shared && (word >= shared_layout.valid.size() || bytes & ~shared_layout.valid[word])) fail_shared(t);
    track_bytes(word, bytes, t);
  }
  if (kind == Access::read) watch_spinning(t.where);
}

}  // namespace reductio::sim
