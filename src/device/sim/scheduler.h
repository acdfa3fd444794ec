#pragma once
/// The scheduler: which thread runs, and what it waits for. By file: here, what every switch needs; scheduler.cpp,
/// which blocks are resident and which thread is next; waiting.cpp, barriers and polls; warp.cpp, warp operations;
/// diagnosis.cpp, messages about failed launches.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/fault.h"
#include "device/sim/fiber.h"
#include "device/sim/launch_log.h"
#include "device/sim/random.h"
#include "device/sim/schedule.h"
#include "device/sim/streams.h"

namespace reductio::sim {

/// Unwinds a thread whose launch has failed. Only the fiber's own loop catches it.
struct Unwind {};

struct Next {
  BlockState* block = nullptr;  ///< null: back to the host, which waits for the grid
  unsigned thread = 0;
};

class Scheduler {
  /// The random order chooses `lookahead` threads in advance while at least `lookahead_from` are ready. So few do not
  /// restrict what can happen.
  static constexpr std::size_t lookahead = 8, lookahead_from = 256;
  /// So many updates in vain say as much as one load in vain that a wait is endless.
  static constexpr std::uint64_t updates_per_poll = 4096;

 public:
  void run(const Shape& shape, const KernelCode& code, const std::string& kernel, const Enqueued&);
  void set_schedule(Order order, std::uint64_t seed) {
    order_ = order;
    seed_ = seed;
    launches_ = 0;
    undefined_shuffles_.clear();
    undefined_sites_.clear();
    unset_exchanges_.clear();
    unset_sites_.clear();
  }
  const std::string& undefined_shuffles() const { return undefined_shuffles_; }
  const std::string& unset_exchanges() const { return unset_exchanges_; }
  void note_unset_exchange(Site);
  void set_undefined(std::uint64_t bits) { undefined_ = bits; }

  unsigned block_barrier(Waiting kind, bool predicate, Site);
  void grid_barrier(Site);
  void cluster_barrier(Site);
  std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);
  void poll(std::uintptr_t address, bool waits, Site);
  void give_way() {
    settle();
    if (order_now_ != Order::random || !running) return;
    make_runnable(*block_, thread_now);
    suspend();
  }
  void note_progress() { fruitless_polls_ = 0; }
  void wait_for_previous_kernel();
  /// Whether the running thread comes after one that has waited for the kernel before; then it is as if it had.
  bool comes_after_a_wait();
  /// Other work than a kernel runs in that stream.
  void note_other_work(const void* stream) { log_.settle(stream); }
  std::uint64_t steps() { return ++steps_; }
  /// Where the running thread last waited, at a barrier, say.
  Site last_wait() const { return block_->thread[thread_now].site; }

  /// Ends the running thread where its stack cannot be unwound, after a fault.
  [[noreturn]] void abandon();
  [[noreturn]] void stop(FaultKind, Site, const std::string& what, std::vector<unsigned> threads);
  [[noreturn]] void stop(std::exception_ptr, bool is_race = false);
  /// Takes the thread out of its kernel, and lets all others go on: one of them may have a race, which says more. For
  /// barriers it has returned.
  [[noreturn]] void leave(FaultKind, Site, const std::string& what);
  /// Whether a thread with such a fault leaves. Only the first says why, so that the others need no message.
  bool leaves(FaultKind) const;
  void leave_silently(FaultKind kind) {
    if (last_failure_ && !cancelling_ && leaves(kind)) settle(), abandon();
  }

  /// Two accesses race. Ends the launch; but where somebody listens, tells of the first between two places of the
  /// source and returns.
  void race(Site, Site other, const std::string& what);
  std::size_t races() const { return races_; }
  void listen_to_races(std::function<void(const Fault&)> listener) { race_listener_ = std::move(listener); }

  const std::string& kernel() const { return kernel_; }
  /// The running launch's block with this serial number.
  std::size_t block_of(std::uint32_t serial) const { return nth_block(serial - first_serial_); }
  const Fibers& fibers() const { return fibers_; }
  /// The kernel's arguments, from which each thread takes its parameters.
  const void* parameters() const { return code_.arguments.get(); }
  std::size_t parameter_bytes() const { return code_.argument_bytes; }
  /// The resident block in whose shared memory the address lies, or null.
  const BlockState* block_with_shared(std::uintptr_t) const;
  /// Of a launch that is enqueued now on `stream`; `idle`: nothing else waits in any stream.
  Enqueued enqueued(const void* stream, bool idle) {
    if (idle) log_.forget();  // all that has run comes before whatever is enqueued from now on
    return {stream, serials_ + 1};
  }
  const LaunchLog& log() const { return log_; }

 private:
  // Threads and their fibers.
  static void fiber_main();
  void loop();
  void set_current(Next);
  void go_on(void** save, Next);
  void suspend();
  void unwind_all();

  // Blocks, and who is next.
  std::size_t nth_block(std::size_t nth) const;
  void start_cluster();
  void start_block(unsigned rank);
  void end_block(BlockState&);
  Next finish();
  Next pick();
  Next pick_random();
  Next nothing_runnable();
  BlockState* oldest_runnable();
  void make_runnable(BlockState&, unsigned thread);
  void make_all_runnable(BlockState&);

  // Waiting.
  void complete_block_barrier(BlockState&, Site);
  void complete_grid_barrier();
  void complete_cluster_barrier(BlockState& first);
  void check_warp(BlockState&, Warp&, unsigned warp, std::uint32_t mask);
  void check_meeting(BlockState&, const Warp&, unsigned warp);
  void note_undefined(const BlockState&, const Warp&, unsigned thread);

  // Faults.
  void fail(std::exception_ptr, bool is_race = false);
  Fault fault(FaultKind, std::size_t block, Site, std::vector<unsigned> threads, const std::string& what) const;
  std::string describe(const BlockState&) const;
  void fail_barrier(BlockState&, FaultKind, const std::string& what);
  [[noreturn]] void fail_mask(unsigned mask, Site);
  void fail_stuck();

  // Of all launches.
  Order order_ = Order::forward;
  std::uint64_t seed_ = 1, launches_ = 0;
  std::string undefined_shuffles_, unset_exchanges_;  // since the last set_schedule(),
  std::vector<Site> undefined_sites_, unset_sites_;   // one at each of these lines
  std::uint64_t undefined_ = ~std::uint64_t{0};       // what undefined shuffles give
  std::uint32_t serials_ = 0;
  LaunchLog log_;
  Fibers fibers_{&Scheduler::fiber_main};
  [[maybe_unused]] int rounding_ = 0;  // FE_TONEAREST
  std::vector<std::unique_ptr<BlockState>> slots_;

  // Of the launch that runs.
  Order order_now_ = Order::forward;
  Shape shape_{};
  bool is_special_ = false;  ///< its blocks have y or z, or it overlaps
  KernelCode code_;
  std::string kernel_;
  std::size_t started_ = 0;
  std::uint32_t first_serial_ = 1, unordered_from_ = 1;
  std::size_t resident_limit_ = 0;
  Permutation permutation_{1, 0};
  std::uint64_t random_ = 0;
  std::vector<BlockState*> resident_;             // oldest first: the order of preference
  std::vector<unsigned> free_slots_;
  std::vector<std::uint32_t> ready_;              // random order only: slot << 16 | thread
  std::array<Next, lookahead> ahead_;             // random order only, a ring: those who come next
  std::size_t first_ahead_ = 0, n_ahead_ = 0;
  std::size_t starved_nth_ = 0;     // the block that starts as this, where the order is to starve one;
  BlockState* starved_ = nullptr;  // that block, while it may not begin
  std::uint64_t looks_in_vain_ = 0;  // of the others meanwhile
  std::vector<std::pair<BlockState*, unsigned>> parked_;  // polled in vain; they run when nothing else can
  std::vector<Accesses> waits_;                           // for the kernel before: the first of each block
  std::size_t at_grid_barrier_ = 0, left_ = 0;  // threads: at the barrier; that left by a fault
  Site grid_barrier_site_;
  bool grid_barrier_divergent_ = false;
  std::uint64_t steps_ = 0, last_step_ = 0, fruitless_polls_ = 0, fruitless_limit_ = 0;
  bool cancelling_ = false, abandoned_ = false;
  std::function<void(const Fault&)> race_listener_;
  std::set<std::string> raced_;  ///< of which it was told
  std::size_t races_ = 0;
  std::exception_ptr failure_, last_failure_;  ///< the latter, of a thread that left, only if no race is found
  bool last_is_unwritten_ = false;             ///< last_failure_; a race may be why

  // What runs.
  BlockState* block_ = nullptr;
  BlockState* preferred_ = nullptr;  // forward and reverse: goes on while it can; null: the oldest that can
};

/// Whether this thread of the system's runs a launch. Another one's host code has hooks, too, and is nobody's thread.
[[gnu::tls_model("initial-exec")]] extern thread_local bool runs_launch;

/// Never destroyed: stacks may be on it until the very end.
extern Scheduler* const the_scheduler;
REDUCTIO_HOT Scheduler& scheduler() { return *the_scheduler; }

/// For what kernels call that may end the launch, and whose callers are compiled as if it threw nothing: their stack is
/// abandoned.
template <class F>
REDUCTIO_HOT void checked(F check) {
  bool ended = false;
  try {
    check();
  } catch (const Unwind&) {
    ended = true;
  }
  if (ended) scheduler().abandon();
}

/// Runs a grid to its end. Throws Fault, or what a kernel's own code threw.
void run_grid(const Shape&, const KernelCode&, const std::string& kernel, const Enqueued&);

REDUCTIO_HOT void Scheduler::set_current(Next n) {
  ++steps_;
  if (block_ != n.block) {
    block_ = n.block;
    running = in_reach = n.block;
    blockIdx = n.block->place;
  }
  thread_now = threadIdx.x = n.thread;
  if (is_special_) [[unlikely]] {
    threadIdx = place_in(blockDim, n.thread);
    if (shape_.overlaps) in_reach = n.block->has_waited[n.thread] ? n.block : nullptr;
  }
}

/// Switches to `next`, keeping this stack's place in `save`. Returns when this thread is chosen again.
REDUCTIO_HOT void Scheduler::go_on(void** save, Next next) {
  if (!next.block) [[unlikely]] {
    block_ = nullptr;
    return fibers_.switch_to(save, &fibers_.main(), fibers_.main().context);
  }
  Thread& t = next.block->thread[next.thread];
  if (!t.fiber) [[unlikely]] {
    t.fiber = fibers_.take_idle();
    t.context = t.fiber->context;
  }
  set_current(next);
  if (t.fiber != fibers_.current()) fibers_.switch_to(save, t.fiber, t.context);
}

REDUCTIO_HOT void Scheduler::make_runnable(BlockState& b, unsigned t) {
  if (order_now_ == Order::random) {
    ready_.push_back(b.slot << 16 | t);
  } else {
    b.runnable[t / 64] |= std::uint64_t{1} << t % 64;
    b.runnable_words |= 1u << t / 64;
  }
}

REDUCTIO_HOT Next Scheduler::pick() {
  if (order_now_ == Order::random) return pick_random();
  BlockState* b = preferred_;
  if (!b || !b->runnable_words) [[unlikely]] {
    b = preferred_ = oldest_runnable();
    if (!b) return nothing_runnable();
  }
  const bool up = order_now_ == Order::forward;
  const unsigned w = up ? std::countr_zero(b->runnable_words) : 31 - std::countl_zero(b->runnable_words);
  std::uint64_t& word = b->runnable[w];
  const unsigned bit = up ? std::countr_zero(word) : 63 - std::countl_zero(word);
  word &= ~(std::uint64_t{1} << bit);
  if (!word) b->runnable_words &= ~(1u << w);
  const unsigned t = w * 64 + bit, soon = up ? t + 2 : t - 2;
  if (soon < b->threads) {
    // A thread that has not begun has no stack yet.
    if (const auto* const stack = static_cast<const std::byte*>(b->thread[soon].context))
      for (int line = 0; line < 3; ++line) __builtin_prefetch(stack + line * 64);
  }
  return {b, t};
}

/// The running thread waits, for what the caller has recorded.
REDUCTIO_HOT void Scheduler::suspend() {
  settle();
  Thread& self = block_->thread[thread_now];
  if (steps_ > last_step_) [[unlikely]] fail_stuck();
  go_on(&self.context, failure_ ? Next{} : pick());
  if (cancelling_) [[unlikely]] throw Unwind{};
}

}  // namespace reductio::sim
