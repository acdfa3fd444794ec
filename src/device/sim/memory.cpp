#include "device/sim/memory.h"

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

namespace {

constexpr std::size_t alignment_of_memory = 256;
constexpr unsigned char poison = 0xFF;
constexpr const char* in_prepare = "a plan's memory is there from when it is prepared until it is destroyed (Buffer)";

/// All allocations. Memory objects are kept for good and reused: pointers to them outlive what they describe.
struct Heap {
  std::deque<Memory> all;
  std::vector<Memory*> unused;
  std::map<std::uintptr_t, Memory*> live;  // by first address
  std::set<Memory*> workspaces;            // those of them that are plans'
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
    throw Fault(
        FaultKind::use_after_free, "", 0, {}, "", 0,
        called(what, site) + "the address is in no allocation of this device; it was released, or never its own");
  if (m->end - begin < bytes)
    throw Fault(FaultKind::out_of_bounds, "", 0, {}, "", 0,
                called(what, site) + std::to_string(bytes) + " bytes asked for, " +
                    std::to_string(m->end - begin) + " left in the allocation");
  if (another_plans(*m))
    throw Fault(FaultKind::contract, "", 0, {}, "", 0, called(what, site) + "the memory is " + of_another_plan);
  return *m;
}

/// Marks every word that [p, p + bytes) touches.
void mark_written(Memory& m, const void* p, std::size_t bytes) {
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p) - m.begin;
  const std::size_t first = offset / word_bytes, last = (offset + bytes + word_bytes - 1) / word_bytes;
  std::memset(m.written + first, 1, last - first);
}

}  // namespace

void* allocate(std::size_t bytes) {
  const DeviceLock lock;
  forbid_in_enqueue("allocates device memory", in_prepare);
  Heap& h = heap();
  if (bytes > memory_free())
    throw NoMemory("the simulated GPU has " + std::to_string(memory_free()) + " bytes of memory free; " +
                      std::to_string(bytes) + " were asked for");
  // A single byte behind empty allocations, so that each has an address of its own.
  void* p = nullptr;
  auto* written = static_cast<std::uint8_t*>(std::calloc(bytes / word_bytes + 1, 1));
  if (!written || posix_memalign(&p, alignment_of_memory, bytes ? bytes : 1) != 0) {
    std::free(written);
    throw NoMemory("this machine has no " + std::to_string(bytes) + " bytes for the simulated GPU's memory" +
                      address_space_advice());
  }
  std::memset(p, poison, bytes);
  if (h.unused.empty()) h.unused.push_back(&h.all.emplace_back());
  Memory& m = *h.unused.back();
  h.unused.pop_back();
  m.begin = reinterpret_cast<std::uintptr_t>(p);
  m.end = m.begin + bytes;
  m.generation = ++h.generations;
  m.writable = m.input = m.forgotten = false;
  m.plan = 0;
  m.written = written;
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
  h.used_bytes -= m.end - m.begin;
  std::free(p);
  std::free(m.written);
  std::free(m.records);
  std::free(m.reads);
  m.written = nullptr;
  m.records = nullptr;
  m.reads = nullptr;
  m.generation = 0;  // no view has this
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

WorksAs::WorksAs(PlanId plan) : before_(std::exchange(works, plan)) {}
WorksAs::~WorksAs() { works = before_; }

OthersHidden::OthersHidden() {
  for (Memory* m : heap().workspaces)
    if (another_plans(*m)) m->hidden = std::exchange(m->generation, 0);
}
OthersHidden::~OthersHidden() {
  for (Memory* m : heap().workspaces)
    if (m->hidden) m->generation = std::exchange(m->hidden, 0);
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
}

void protect_input(const void* p) {
  const DeviceLock lock;
  if (Memory* const m = owner(reinterpret_cast<std::uintptr_t>(p))) m->input = true;
}

View view(const void* p, std::size_t bytes, std::size_t alignment, bool writable, Site site) {
  const DeviceLock lock;
  if (bytes == 0) return {reinterpret_cast<std::uintptr_t>(p), reinterpret_cast<std::uintptr_t>(p), nullptr, 0};
  Memory& m = owner_of_range(p, bytes, "global()", site);
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  if (begin % alignment != 0)
    throw Fault(FaultKind::misaligned, "", 0, {}, "", 0,
                called("global()", site) + "the address is not a multiple of " + std::to_string(alignment) +
                    ", as its type demands");
  m.writable |= writable;
  return {begin, begin + bytes, &m, m.generation};
}

void fail_range(std::size_t count, std::size_t in_view, const char* what, Site site) {
  throw Fault(FaultKind::out_of_bounds, "", 0, {}, "", 0,
              called(what, site) + std::to_string(count) + " elements asked for where " + std::to_string(in_view) +
                  " are in view");
}

void make_records(Memory& m) {
  m.records = static_cast<Record*>(std::calloc(words(m) + 1, sizeof(Record)));
  if (!m.records) end_out_of_memory();
}

void make_reads(Memory& m) {
  m.reads = static_cast<Accesses*>(std::calloc(words(m) + 1, sizeof(Accesses)));
  if (!m.reads) end_out_of_memory();
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

bool equal_now(const void* a, const void* b, std::size_t bytes) {
  if (bytes == 0) return true;
  owner_of_range(a, bytes, "comparison");
  owner_of_range(b, bytes, "comparison");
  return std::memcmp(a, b, bytes) == 0;
}

}  // namespace reductio::sim
