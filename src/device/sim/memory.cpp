#include "device/sim/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/backend.h"
#include "device/sim/diagnosis.h"
#include "device/sim/fault.h"
#include "device/sim/limits.h"
#include "device/sim/lock.h"
#include "device/sim/out_of_memory.h"
#include "device/sim/streams.h"

namespace reductio::sim {

pages::Table* pages::tables[];

namespace {

using pages::page_bytes;

constexpr unsigned char poison = 0xFF;
constexpr const char* in_prepare =
    "allocate when the plan is prepared, and keep it until the plan is destroyed (Buffer)";
/// How many bytes an allocation leaves free behind it, and no fewer than its own: who reaches past one, or by twice its
/// size, finds no other.
constexpr std::size_t least_gap = std::size_t{1} << 20;
/// How many released allocations are remembered.
constexpr std::size_t most_released = 4096;
/// Pages are used again, since new ones cost the system more than most cases do, but only after so many releases.
constexpr std::size_t rests_for = 64, most_retired_bytes = std::size_t{64} << 20;

struct Heap {
  std::deque<Memory> all;
  std::vector<Memory*> unused;
  std::map<std::uintptr_t, Memory*> live;  // by first address
  std::set<Memory*> workspaces;            // those of them that are plans'
  std::map<std::uintptr_t, std::uintptr_t> released;  // from the first address to the end
  std::deque<std::pair<void*, std::size_t>> retired;  // released pages that are still mapped, oldest first
  std::size_t retired_bytes = 0;
  std::uintptr_t next_address = first_address;
  std::size_t used_bytes = 0;
};
Heap& heap() {
  static Heap h;
  return h;
}

/// Whole pages, and one at least: also an empty allocation has an address of its own.
std::size_t mapped_bytes(std::size_t bytes) {
  return std::max((bytes + page_bytes - 1) / page_bytes, std::size_t{1}) * page_bytes;
}

/// The live allocation that holds `p`, or null.
Memory* owner(std::uintptr_t p) {
  Memory* const m = owner_of(p);
  return m && p < m->end ? m : nullptr;
}

/// Makes `m`, or nobody, the owner of the pages from `begin`.
void set_owner(std::uintptr_t begin, std::size_t bytes, Memory* m) {
  for (std::uintptr_t p = begin; p < begin + bytes; p += page_bytes) {
    pages::Table*& table = pages::tables[p >> pages::table_bits];
    if (!table) {
      table = static_cast<pages::Table*>(std::calloc(1, sizeof *table));
      if (!table) end_out_of_memory();
    }
    table->owner[p % (std::uintptr_t{1} << pages::table_bits) / page_bytes] = m;
    if (m) ++table->live;
    else if (--table->live == 0) std::free(std::exchange(table, nullptr));
  }
}

/// Null if the machine has no memory. At an address that no allocation had lately.
void* map_pages(std::size_t bytes) {
  Heap& h = heap();
  for (std::size_t i = 0; i + rests_for < h.retired.size(); ++i) {
    const auto [p, size] = h.retired[i];
    if (size != bytes) continue;
    h.retired.erase(h.retired.begin() + static_cast<std::ptrdiff_t>(i));
    h.retired_bytes -= bytes;
    h.released.erase(reinterpret_cast<std::uintptr_t>(p));
    return p;
  }
  if (h.next_address + bytes > last_address) h.next_address = first_address;
  void* const p = mmap(reinterpret_cast<void*>(h.next_address), bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  h.next_address += bytes + std::max(bytes, least_gap);
  return p;
}

/// All allocations of plans are somebody's, also those that are made before there is a plan.
constexpr PlanId before_all_plans = 1;
PlanId plans = before_all_plans;
PlanId allocates = 0;  // the plan that does
PlanId works = 0;      // the plan whose work runs

bool another_plans(const Memory& m) { return works != 0 && m.plan != 0 && m.plan != works; }

/// `site`: of the call on the host that is at fault, where known.
std::string called(const char* what, Site site) {
  return std::string(what) + (site.line ? " at " + to_string(site) : "") + ": ";
}

Memory& owner_of_range(const void* p, std::size_t bytes, const char* what, Site site = {}) {
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  Memory* const m = owner(begin);
  if (!m)
    throw Fault(FaultKind::use_after_free, "", 0, {}, "", 0,
                called(what, site) +
                    "the address is in no allocation of this device; it was released, or never allocated here");
  if (m->end - begin < bytes)
    throw Fault(FaultKind::out_of_bounds, "", 0, {}, "", 0,
                called(what, site) + std::to_string(bytes) + " bytes asked for, " +
                    std::to_string(m->end - begin) + " left in the allocation");
  if (another_plans(*m))
    throw Fault(FaultKind::contract, "", 0, {}, "", 0, called(what, site) + "the memory is " + of_another_plan);
  return *m;
}

/// One more, since an access at the end may reach past it.
std::size_t record_bytes(const Memory& m) { return (words(m) + 1) * sizeof(Packed); }

/// What is free takes longer to find out than to allocate less.
constexpr std::size_t worth_asking = std::size_t{4} << 20;

/// Of large records those pages that no kernel has touched yet, and may.
std::size_t promised_bytes() {
  std::size_t promised = 0;
  std::vector<unsigned char> is_there;
  for (const auto& [begin, m] : heap().live)
    for (const Packed* const of_kind : {m->writes, m->atomics, m->reads}) {
      if (!of_kind || record_bytes(*m) < worth_asking) continue;
      const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(of_kind) / page_bytes * page_bytes;
      is_there.resize(mapped_bytes(record_bytes(*m)) / page_bytes);
      if (mincore(reinterpret_cast<void*>(from), mapped_bytes(record_bytes(*m)), is_there.data()) != 0) continue;
      for (const unsigned char page : is_there) promised += page & 1 ? 0 : page_bytes;
    }
  return promised;
}

/// Of two kinds of records frees those that are all of launches that are over: one launch seldom makes all three.
void free_old_records(Memory& m) {
  if (m.name || !m.writes + !m.atomics + !m.reads != 1) return;
  for (Packed** const of_kind : {&m.writes, &m.atomics, &m.reads})
    if (*of_kind && std::all_of(*of_kind, *of_kind + words(m), [](Packed p) { return stamps.is_forgotten(p); }))
      std::free(std::exchange(*of_kind, nullptr));
}

std::size_t sharing = 1;

/// Empty if each of so many processes can have `bytes` more; else how much is lacking, and what to do.
std::string lack_of(std::size_t bytes, std::size_t processes) {
  if (bytes < worth_asking) return "";
  const std::size_t promised = promised_bytes(), all = host_memory_free() / processes;
  const std::size_t free = all > promised ? all - promised : 0;
  if (bytes <= free) return "";
  return " take " + gib(bytes) + " of this machine's memory, and " + gib(free) +
         " are free: use smaller arrays, or give it more" + address_space_advice();
}

/// The bits of Memory::written for the bytes [begin, end) of an allocation, as far as they lie in this word.
std::uint8_t written_bits(std::size_t word, std::size_t begin, std::size_t end) {
  const std::size_t first = std::max(begin, word * word_bytes) - word * word_bytes;
  const std::size_t last = std::min(end, (word + 1) * word_bytes) - word * word_bytes;
  return static_cast<std::uint8_t>((1u << last) - (1u << first));
}

/// The bytes [begin, end) of an allocation have values.
void mark_written(Memory& m, std::size_t begin, std::size_t end) {
  const std::size_t first = begin / word_bytes, last = (end - 1) / word_bytes;
  m.written[first] |= written_bits(first, begin, end);
  m.written[last] |= written_bits(last, begin, end);
  if (last > first) std::memset(m.written + first + 1, whole_word, last - first - 1);
}

/// The same of `bytes` from an address.
void mark_written(Memory& m, const void* p, std::size_t bytes) {
  const std::size_t begin = reinterpret_cast<std::uintptr_t>(p) - m.begin;
  mark_written(m, begin, begin + bytes);
}

}  // namespace

void* allocate(std::size_t bytes) {
  const DeviceLock lock;
  forbid_in_enqueue("allocates device memory", in_prepare);
  Heap& h = heap();
  if (bytes > memory_free())
    throw NoMemory("the simulated GPU has " + std::to_string(memory_free()) + " bytes of memory free; " +
                      std::to_string(bytes) + " were asked for");
  if (const std::string lack = lack_of(bytes + bytes / word_bytes, sharing); !lack.empty())
    throw NoHostMemory(std::to_string(bytes) + " bytes of the simulated GPU's memory" + lack);
  auto* written = static_cast<std::uint8_t*>(std::calloc(bytes / word_bytes + 1, 1));
  void* const p = written ? map_pages(mapped_bytes(bytes)) : nullptr;
  if (!p) {
    std::free(written);
    throw NoHostMemory("this machine has no " + std::to_string(bytes) + " bytes for the simulated GPU's memory" +
                      address_space_advice());
  }
  std::memset(p, poison, bytes);
  if (h.unused.empty()) h.unused.push_back(&h.all.emplace_back());
  Memory& m = *h.unused.back();
  h.unused.pop_back();
  m = {};
  m.begin = m.reach = reinterpret_cast<std::uintptr_t>(p);
  m.end = m.begin + bytes;
  m.reach_bytes = bytes;
  m.written = written;
  set_owner(m.begin, mapped_bytes(bytes), &m);
  h.live[m.begin] = &m;
  h.used_bytes += bytes;
  return p;
}

void* allocate_workspace(std::size_t bytes) {
  const DeviceLock lock;
  void* const p = allocate(bytes);
  Memory* const m = heap().live.at(reinterpret_cast<std::uintptr_t>(p));
  m->plan = allocates ? allocates : before_all_plans;
  heap().workspaces.insert(m);
  return p;
}

void* allocate_for_host(std::size_t bytes) {
  const DeviceLock lock;
  void* const p = allocate(bytes);
  Memory* const m = heap().live.at(reinterpret_cast<std::uintptr_t>(p));
  m->of_host = true;
  if (bytes > 0) mark_written(*m, p, bytes);
  return p;
}

bool begins_allocation(const void* p) {
  const DeviceLock lock;
  return heap().live.contains(reinterpret_cast<std::uintptr_t>(p));
}

void release(void* p) noexcept {
  if (!p) return;
  const DeviceLock lock;
  note_in_enqueue("frees device memory, which waits for the device", in_prepare);
  Heap& h = heap();
  const auto it = h.live.find(reinterpret_cast<std::uintptr_t>(p));
  if (it == h.live.end()) {
    // Like a double free on the host: there is nobody to throw to, and going on would hide it.
    std::fprintf(stderr, "simulated device: release of an address that is not the start of a live allocation\n");
    std::abort();
  }
  Memory& m = *it->second;
  const std::size_t bytes = m.end - m.begin;
  h.used_bytes -= bytes;
  set_owner(m.begin, mapped_bytes(bytes), nullptr);
  h.retired.emplace_back(p, mapped_bytes(bytes));
  h.retired_bytes += mapped_bytes(bytes);
  while (h.retired_bytes > most_retired_bytes) {
    const auto [oldest, size] = h.retired.front();
    munmap(oldest, size);
    h.retired.pop_front();
    h.retired_bytes -= size;
  }
  std::free(m.written);
  free_records(m);
  if (h.released.size() == most_released) h.released.erase(h.released.begin());
  h.released[m.begin] = m.end;
  m = {};
  h.live.erase(it);
  h.workspaces.erase(&m);
  h.unused.push_back(&m);
}

std::size_t memory_free() {
  const DeviceLock lock;
  return device_memory_bytes - heap().used_bytes;
}

PlanId new_plan() {
  const DeviceLock lock;
  return ++plans;
}

ActsAs::ActsAs(PlanId plan) {
  const DeviceLock lock;
  before_ = std::exchange(allocates, plan);
}
ActsAs::~ActsAs() {
  const DeviceLock lock;
  allocates = before_;
}

PlanId acting_plan() { return allocates; }
PlanId working_plan() { return works; }

WorksAs::WorksAs(PlanId plan) : before_(std::exchange(works, plan)) {}
WorksAs::~WorksAs() { works = before_; }

OthersHidden::OthersHidden() {
  for (Memory* m : heap().workspaces) {
    if (!another_plans(*m)) continue;
    m->hidden = true;
    m->hidden_bytes = std::exchange(m->reach_bytes, 0);
  }
}
OthersHidden::~OthersHidden() {
  for (Memory* m : heap().workspaces)
    if (std::exchange(m->hidden, false)) m->reach_bytes = m->hidden_bytes;
}

Workspace workspace_of(PlanId plan) {
  constexpr std::size_t largest_element = 16;
  const DeviceLock lock;
  Workspace out;
  for (const Memory* m : heap().workspaces) {
    if (m->plan != plan) continue;
    const std::size_t bytes = m->end - m->begin;
    out.bytes += bytes;
    if (bytes <= largest_element) out.single += bytes;
  }
  return out;
}

namespace {

/// copy(address, bytes, first word) for each allocation of the plan's workspace.
template <class F>
void for_workspace(PlanId plan, F copy) {
  const DeviceLock lock;
  std::size_t first = 0;
  for (const Memory* m : heap().workspaces) {
    if (m->plan != plan) continue;
    copy(reinterpret_cast<void*>(m->begin), m->end - m->begin, first);
    first += words(*m);
  }
}

}  // namespace

std::vector<std::uint32_t> words_of(PlanId plan) {
  std::vector<std::uint32_t> all;
  for_workspace(plan, [&](const void* p, std::size_t bytes, std::size_t first) {
    all.resize(first + (bytes + word_bytes - 1) / word_bytes);
    std::memcpy(all.data() + first, p, bytes);
  });
  return all;
}

void set_words(PlanId plan, const std::vector<std::uint32_t>& all) {
  for_workspace(plan,
                [&](void* p, std::size_t bytes, std::size_t first) { std::memcpy(p, all.data() + first, bytes); });
}

void forget_now(PlanId plan) {
  for (Memory* m : heap().workspaces) {
    if (m->plan != plan) continue;
    std::memset(reinterpret_cast<void*>(m->begin), poison, m->end - m->begin);
    std::memset(m->written, 0, words(*m));
    m->forgotten = true;
  }
  forget_variables(plan);
}

void protect_input(const void* p) {
  const DeviceLock lock;
  if (Memory* const m = owner(reinterpret_cast<std::uintptr_t>(p))) m->input = true;
}

void set_reach(const void* p, std::size_t bytes) {
  const DeviceLock lock;
  if (bytes == 0) {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    if (Memory* const m = owner_of(at)) m->reach = at, m->reach_bytes = 0;
    return;
  }
  Memory& m = owner_of_range(p, bytes, "set_reach()");
  m.reach = reinterpret_cast<std::uintptr_t>(p);
  m.reach_bytes = bytes;
}

void check_range(const void* p, std::size_t bytes, std::size_t element_bytes, const char* what, Site site) {
  if (bytes == 0) return;
  const DeviceLock lock;
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  const Memory* const m = owner(begin);
  if (!m) owner_of_range(p, bytes, what, site);
  const std::size_t reach = m->hidden ? m->hidden_bytes : m->reach_bytes;
  const std::size_t left = begin - m->reach <= reach ? reach - (begin - m->reach) : 0;
  if (left < bytes)
    throw Fault(FaultKind::out_of_bounds, "", 0, {}, "", 0,
                called(what, site) + std::to_string(bytes / element_bytes) + " elements asked for where " +
                    std::to_string(left / element_bytes) + " are");
}

Stray describe_stray(std::uintptr_t at) {
  const Heap& h = heap();
  const auto after = h.released.upper_bound(at);
  if (after != h.released.begin() && at < std::prev(after)->second)
    return {true, "global memory that was released before this kernel ran"};
  // The nearest allocation, if it is near.
  constexpr std::uintptr_t near = std::uintptr_t{1} << 30;
  const auto next = h.live.upper_bound(at);
  const Memory* const above = next == h.live.end() ? nullptr : next->second;
  const Memory* const below = next == h.live.begin() ? nullptr : std::prev(next)->second;
  const auto said = [](std::uintptr_t distance, const char* where, const Memory& m) {
    return std::to_string(distance) + " bytes " + where + " of an allocation of " + std::to_string(m.end - m.begin) +
           " bytes in global memory";
  };
  if (below && at - below->end < near && (!above || at - below->end <= above->begin - at))
    return {false, said(at - below->end, "past the end", *below)};
  if (above && above->begin - at < near) return {false, said(above->begin - at, "before the start", *above)};
  return {false, ""};
}

void make_records(Memory& m, Packed*& of_kind) {
  free_old_records(m);
  const std::size_t bytes = record_bytes(m);
  const std::string lack = lack_of(bytes, sharing);
  if (!lack.empty())
    stop_launch(std::make_exception_ptr(
        NoHostMemory("the records of who accesses an allocation of " + gib(m.end - m.begin) + lack)));
  of_kind = static_cast<Packed*>(std::calloc(bytes, 1));
  if (!of_kind) end_out_of_memory();
}

void free_records(Memory& m) {
  for (Packed** const of_kind : {&m.writes, &m.atomics, &m.reads}) std::free(std::exchange(*of_kind, nullptr));
  m.apart.reset();
}

void forget_records(Memory& m) {
  constexpr Packed old{std::uint64_t{1} << Packed::stamp_at};
  for (Packed* const of_kind : {m.writes, m.atomics, m.reads})
    for (std::size_t w = 0; of_kind && w < words(m); ++w)
      if (of_kind[w].bits) of_kind[w] = old;
  m.apart.reset();
}

void forget_records() {
  for (const auto& [begin, m] : heap().live) forget_records(*m);
  forget_variables_records();
}

void share_memory(std::size_t processes) { sharing = processes; }

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
  if (to_offset % word_bytes != from_offset % word_bytes)
    return mark_written(to, dst, bytes);  // the benefit of the doubt
  // Copies of what nobody wrote stay unwritten.
  const std::size_t first = to_offset / word_bytes, last = (to_offset + bytes - 1) / word_bytes;
  const std::uint8_t before[] = {to.written[first], to.written[last]};
  std::memmove(to.written + first, from.written + from_offset / word_bytes, last - first + 1);
  for (const std::size_t w : {first, last}) {
    const std::uint8_t copied = written_bits(w, to_offset, to_offset + bytes);
    to.written[w] = static_cast<std::uint8_t>((to.written[w] & copied) | (before[w == last && w != first] & ~copied));
  }
}

void copy_out_now(void* host, const void* src, std::size_t bytes) {
  if (bytes == 0) return;
  owner_of_range(src, bytes, "copy to the host");
  std::memcpy(host, src, bytes);
}

bool equal_now(const void* a, const void* b, std::size_t bytes) {
  if (bytes == 0) return true;
  owner_of_range(a, bytes, "comparison");
  owner_of_range(b, bytes, "comparison");
  return std::memcmp(a, b, bytes) == 0;
}

}  // namespace reductio::sim
