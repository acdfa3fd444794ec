// What a fault says: who waits where, and why nothing can go on.

#include "device/sim/diagnosis.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "core/variant.h"
#include "device/sim/gpu.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {

std::string to_string(const Site& s) {
  if (!s.file) return "?";
  return shown_path(s.file) + ":" + std::to_string(s.line) + (s.column ? ":" + std::to_string(s.column) : "");
}

bool same(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

std::string hex(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

void Scheduler::fail(std::exception_ptr e, bool is_race) {
  if (!failure_) failure_ = last_failure_ && !is_race ? last_failure_ : std::move(e);
}

void Scheduler::stop(FaultKind kind, Site site, const std::string& what, std::vector<unsigned> threads) {
  if (threads.empty()) threads.push_back(thread_now);
  if (cancelling_) throw Unwind{};  // a destructor accesses memory while its thread is unwound: its hook abandons it
  if (leaves(kind)) leave(kind, site, what);
  stop(std::make_exception_ptr(fault(kind, block_->index, site, std::move(threads), what)), kind == FaultKind::race);
}

void Scheduler::stop(std::exception_ptr e, bool is_race) {
  if (cancelling_) throw Unwind{};
  fail(std::move(e), is_race);
  go_on(&block_->thread[thread_now].context, Next{});
  throw Unwind{};
}

void Scheduler::race(Site site, Site other, const std::string& what) {
  if (!race_listener_) stop(FaultKind::race, site, what, {});
  ++races_;
  if (raced_.insert(kernel_ + to_string(site) + to_string(other)).second)
    race_listener_(fault(FaultKind::race, block_->index, site, {thread_now}, what));
}

void need_capability(int capability, const char* instruction, Site site) {
  if (gpu().capability >= capability) return;
  const std::string number = std::to_string(capability);
  stop_here(FaultKind::launch, site,
            std::string("uses ") + instruction + ", which this GPU (like " + std::string(gpu().name) +
                ") is too old for: where the plan is prepared, require_capability(gpu, " + number + ")");
}

bool Scheduler::leaves(FaultKind kind) const {
  // Where races are told as they come, other threads may still have one.
  const bool of_memory = kind == FaultKind::out_of_bounds || kind == FaultKind::misaligned ||
                         kind == FaultKind::use_after_free;
  return kind == FaultKind::unwritten || (race_listener_ && of_memory);
}

void Scheduler::leave(FaultKind kind, Site site, const std::string& what) {
  settle();
  if (!last_failure_) {
    last_failure_ = std::make_exception_ptr(fault(kind, block_->index, site, {thread_now}, what));
    last_is_unwritten_ = kind == FaultKind::unwritten;
  }
  throw Unwind{};
}

Fault Scheduler::fault(FaultKind kind, std::size_t block, Site site, std::vector<unsigned> threads,
                       const std::string& what) const {
  return Fault(kind, kernel_, block, std::move(threads), site.file ? shown_path(site.file) : "", site.line, what,
               site.column);
}

/// "threads 0-31 wait at src/kernels/twopass.cu:20 (__syncthreads), threads 32-63 have returned".
std::string Scheduler::describe(const BlockState& b) const {
  struct Group {
    Waiting waiting;
    Site site;
    bool gone;
    std::vector<unsigned> threads;
  };
  std::vector<Group> groups;
  for (unsigned t = 0; t < b.threads; ++t) {
    const Thread& thread = b.thread[t];
    const bool gone = b.warps[t / warp_size].exited >> t % warp_size & 1;
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return g.gone == gone && g.waiting == b.waiting[t] && (b.waiting[t] == Waiting::no || same(g.site, thread.site));
    });
    if (it != groups.end()) it->threads.push_back(t);
    else groups.push_back({b.waiting[t], thread.site, gone, {t}});
  }
  std::string text;
  for (const Group& g : groups) {
    const bool many = g.threads.size() > 1;
    if (!text.empty()) text += ", ";
    text += (many ? "threads " : "thread ") + ranges(g.threads);
    const char* wait = many ? " wait at " : " waits at ";
    switch (g.waiting) {
      case Waiting::no:
        text += g.gone ? (many ? " have returned" : " has returned") : (many ? " are running" : " is running");
        break;
      case Waiting::block_barrier: text += wait + to_string(g.site) + " (__syncthreads)"; break;
      case Waiting::block_barrier_or: text += wait + to_string(g.site) + " (__syncthreads_or)"; break;
      case Waiting::block_barrier_and: text += wait + to_string(g.site) + " (__syncthreads_and)"; break;
      case Waiting::block_barrier_count: text += wait + to_string(g.site) + " (__syncthreads_count)"; break;
      case Waiting::grid_barrier: text += wait + to_string(g.site) + in_words(" (grid_sync)", " (grid)"); break;
      case Waiting::cluster_barrier: text += wait + to_string(g.site) + " (cluster barrier)"; break;
      case Waiting::warp: text += wait + to_string(g.site) + " (warp operation)"; break;
      case Waiting::poll: text += (many ? " poll at " : " polls at ") + to_string(g.site); break;
    }
  }
  return text;
}

void Scheduler::fail_barrier(BlockState& b, FaultKind kind, const std::string& what) {
  std::vector<unsigned> waiting;
  for (unsigned t = 0; t < b.threads; ++t)
    if (b.waiting[t] != Waiting::no) waiting.push_back(t);
  fail(std::make_exception_ptr(fault(kind, b.index, b.barrier, std::move(waiting), what + ": " + describe(b))));
}

/// Nobody can go on, or nobody gets anywhere. Named are the oldest block that waits, and how many more.
REDUCTIO_RARE void Scheduler::fail_stuck() {
  const auto has = [](const BlockState* b, bool (*wanted)(Waiting)) {
    return std::any_of(b->waiting.begin(), b->waiting.begin() + b->threads, wanted);
  };
  constexpr auto waits = [](Waiting w) { return w != Waiting::no; };
  constexpr auto polls = [](Waiting w) { return w == Waiting::poll; };
  // A block that polls says more than one that waits for its own threads to come back from polling.
  const BlockState* shown = nullptr;
  std::size_t others = 0;
  bool polling = false;
  for (const BlockState* b : resident_) {
    if (!has(b, waits)) continue;
    ++others;
    const bool this_polls = has(b, polls);
    if (!shown || (this_polls && !polling)) shown = b;
    polling |= this_polls;
  }
  if (shown) --others;
  else shown = block_ ? block_ : resident_.front();

  std::vector<unsigned> threads;
  for (unsigned t = 0; t < shown->threads; ++t)
    if (polling ? polls(shown->waiting[t]) : waits(shown->waiting[t])) threads.push_back(t);
  const Site site = threads.empty() ? Site{} : shown->thread[threads.front()].site;
  std::string what = polling           ? "polls for what nobody writes: "
                     : threads.empty() ? "no thread has ended for very long: "
                                       : "a barrier that not all threads reach: ";
  what += describe(*shown);
  if (others) what += "; " + std::to_string(others) + (others > 1 ? " more blocks wait" : " more block waits");
  if (started_ < shape_.grid)
    what += "; " + std::to_string(shape_.grid - started_) + " blocks have not started, since only " +
            std::to_string(resident_limit_) + " fit at once";
  const FaultKind kind = polling || threads.empty() ? FaultKind::endless_wait : FaultKind::unfinished_barrier;
  fail(std::make_exception_ptr(fault(kind, shown->index, site, std::move(threads), what)));
}

REDUCTIO_RARE void Scheduler::fail_mask(unsigned mask, Site site) {
  stop(FaultKind::warp_mask, site,
       "lane " + std::to_string(thread_now % warp_size) + " is not in the mask " + hex(mask) +
           " that it passes: the mask comes first, then the value",
       {});
}

REDUCTIO_RARE void fail_width(int width, Site site) {
  stop_here(FaultKind::warp_mask, site,
            "shuffles in segments of " + std::to_string(width) + " lanes; CUDA takes 1, 2, 4, 8, 16 or 32");
}

void stop_here(FaultKind kind, Site site, const std::string& what, std::vector<unsigned> threads) {
  scheduler().stop(kind, site, what, std::move(threads));
}

void stop_launch(std::exception_ptr e) { scheduler().stop(std::move(e)); }

void stop_kernel(const char* what, Site site) {
  if (running) stop_here(FaultKind::stopped, site, what);
  throw Fault(FaultKind::stopped, "", 0, {}, "", 0, "on the host: " + to_string(site) + ": " + what);
}

REDUCTIO_RARE void fail_outside() {
  throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "a barrier or warp operation outside a kernel");
}

}  // namespace reductio::sim
