// The simulated GPU's scheduler: which thread runs, what it waits for, and what is said when nothing can run.
//
// Each thread that ever waits is a fiber: a stack and a saved place on it. A fiber is a loop that runs one thread after
// another, so a thread that never waits costs no switch: the next one starts on the stack that it leaves behind.

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <system_error>
#include <utility>

#include "device/sim/context.h"
#include "device/sim/internal.h"

#ifdef REDUCTIO_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

namespace reductio::sim {

Index threadIdx{0, 0, 0}, blockIdx{0, 0, 0}, blockDim{1, 1, 1}, gridDim{1, 1, 1};
Block* running = nullptr;

/// On the way of every switch: in the caller's frame, since each further frame is one more cache line of each of
/// thousands of stacks. What is rare is kept out of line for the same reason.
#define REDUCTIO_HOT [[gnu::always_inline]] inline
#define REDUCTIO_RARE [[gnu::noinline]]

namespace {

#ifdef REDUCTIO_SANITIZED
constexpr std::size_t stack_bytes = 128 * 1024;  // instrumented frames are several times as large
#else
constexpr std::size_t stack_bytes = 32 * 1024;
#endif
constexpr std::size_t guard_bytes = 60 * 1024;  // below each stack: large enough that one frame does not step over it

/// Polls in a row by all threads together, none of which saw a new value or address, before the wait is called endless.
/// Per resident thread: in the random order each must have had its turn.
constexpr std::uint64_t fruitless_polls_limit = 1000, fruitless_polls_limit_per_thread = 100;
/// Switches in a row without any thread ending. Minutes on a real GPU's scale of work, seconds here.
constexpr std::uint64_t steps_limit = std::uint64_t{1} << 28;

/// The random order chooses this many threads ahead while at least so many others are ready, few enough to make no
/// difference to what can happen.
constexpr std::size_t lookahead = 8, lookahead_from = 256;

}  // namespace

/// A stack, and the loop on it while no thread has it.
struct Fiber {
  void* context = nullptr;
  std::byte* stack = nullptr;  ///< its lowest usable byte
  std::size_t size = 0;
  void* asan_stack = nullptr;
};

namespace {

/// Unwinds a thread whose launch has failed. Only the fiber's own loop catches it.
struct Unwind {};

struct Next {
  BlockState* block = nullptr;  ///< null: back to run_grid()
  unsigned thread = 0;
};

/// A permutation of [0, n), for the order in which blocks start: a few rounds of mixing on the bits that n needs, again
/// for what falls outside.
class Permutation {
 public:
  Permutation(std::size_t n, std::uint64_t key) : n_(n), key_(key), bits_(std::max(1u, unsigned(std::bit_width(n - 1)))) {}
  std::size_t operator()(std::size_t i) const {
    do i = mix(i);
    while (i >= n_);
    return i;
  }

 private:
  std::size_t mix(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (unsigned round = 0; round < 3; ++round) {  // each step can be undone modulo 2^bits
      x = (x + (key_ >> (round * 13))) & mask;
      x = (x * ((key_ >> (round * 7)) * 4 + 0x9E3779B1u)) & mask;
      x ^= x >> (bits_ + 1) / 2;
    }
    return x;
  }
  std::size_t n_;
  std::uint64_t key_;
  unsigned bits_;
};

std::string hex(std::uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Scheduler {
 public:
  void run(const Shape& shape, const std::function<void()>& thread, const std::string& kernel);
  void set_schedule(Order order, std::uint64_t seed) {
    order_ = order;
    seed_ = seed;
    launches_ = 0;
  }

  bool block_barrier(bool predicate, bool with_predicate, Site);
  void grid_barrier(Site);
  std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);
  void poll(std::uintptr_t address, Site);
  void give_way() {
    if (order_now_ != Order::random || !running) return;
    make_runnable(*block_, threadIdx.x);
    suspend();
  }
  void note_progress() { fruitless_polls_ = 0; }
  std::uint64_t steps() { return ++steps_; }

  [[noreturn]] void stop(FaultKind, Site, const std::string& what, std::vector<unsigned> threads);

  /// For the signal handler: the thread whose stack's guard holds `address`, said on stderr.
  [[maybe_unused]] bool explain_overflow(std::uintptr_t address) const;

 private:
  static void fiber_main();
  void loop();
  Fiber* make_fiber();
  Fiber* idle_fiber();
  void switch_to(void** save, Fiber* to, void* context);
  void arrived();

  void start_block();
  void end_block(BlockState&);
  Next finish();
  Next pick();
  Next pick_random();
  Next nothing_runnable();
  void set_current(Next);
  void go_on(void** save, Next);
  void suspend();
  void fail(std::exception_ptr);
  void unwind_all();

  void complete_block_barrier(BlockState&, Site);
  [[noreturn]] void fail_outside();
  [[noreturn]] void fail_mask(unsigned mask, Site);
  void check_meeting(BlockState&, Warp&, unsigned warp, std::uint32_t mask, WarpOperation, Site);
  BlockState* oldest_runnable();
  void make_runnable(BlockState&, unsigned thread);
  void make_all_runnable(BlockState&);
  void check_warp(BlockState&, Warp&, unsigned warp, std::uint32_t mask, Site);
  Fault fault(FaultKind, std::size_t block, Site, std::vector<unsigned> threads, const std::string& what) const;
  std::string describe(const BlockState&) const;
  void fail_barrier(BlockState&, FaultKind, const std::string& what);
  void fail_stuck();

  // Of all launches.
  Order order_ = Order::forward;
  std::uint64_t seed_ = 1, launches_ = 0;
  std::uint32_t serials_ = 0;
  std::deque<Fiber> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<std::unique_ptr<BlockState>> slots_;
  Fiber main_;

  // Of the launch that runs.
  Order order_now_ = Order::forward;
  Shape shape_{};
  const std::function<void()>* thread_ = nullptr;
  std::string kernel_;
  std::size_t started_ = 0;
  std::size_t resident_limit_ = 0;
  Permutation permutation_{1, 0};
  std::uint64_t random_ = 0;
  std::vector<BlockState*> resident_;             // oldest first: the order of preference
  std::vector<unsigned> free_slots_;
  std::vector<std::uint32_t> ready_;              // random order only: slot << 16 | thread
  std::array<Next, lookahead> ahead_;             // random order only, a ring: those who come next
  std::size_t first_ahead_ = 0, n_ahead_ = 0;
  std::vector<std::pair<BlockState*, unsigned>> parked_;  // polled in vain; not looked at until nothing else runs
  std::size_t at_grid_barrier_ = 0;
  Site grid_barrier_site_;
  bool grid_barrier_divergent_ = false;
  std::uint64_t steps_ = 0, last_step_ = 0, fruitless_polls_ = 0, fruitless_limit_ = 0;
  bool cancelling_ = false;
  std::exception_ptr failure_;

  // Who runs.
  BlockState* block_ = nullptr;
  BlockState* preferred_ = nullptr;  // forward and reverse: goes on while it can; null: the oldest that can
  Fiber* fiber_ = nullptr;
  [[maybe_unused]] Fiber* previous_ = nullptr;
};

/// Never destroyed: stacks may be on it until the very end.
Scheduler* const the_scheduler = new Scheduler;
REDUCTIO_HOT Scheduler& scheduler() { return *the_scheduler; }

// ---------------------------------------------------------------------------------------------------- fibers

#ifdef REDUCTIO_SANITIZED
void install_overflow_handler() {}  // ASan has its own
#else
struct sigaction previous_segv;

void on_segv(int signal, siginfo_t* info, void*) {
  if (scheduler().explain_overflow(reinterpret_cast<std::uintptr_t>(info->si_addr))) std::abort();
  sigaction(signal, &previous_segv, nullptr);  // not ours: it happens again, as if we had never been here
}

/// A stack overflow runs into the guard; the handler, on a stack of its own, says whose it was.
void install_overflow_handler() {
  static bool done = false;
  if (!done) {
    done = true;
    struct sigaction action {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
  }
  thread_local bool has_stack = false;
  if (!has_stack) {
    has_stack = true;
    constexpr std::size_t size = 64 * 1024;
    stack_t alternative{};
    alternative.ss_sp = new std::byte[size];  // kept: a signal may come as late as one likes
    alternative.ss_size = size;
    sigaltstack(&alternative, nullptr);
  }
}
#endif

Fiber* Scheduler::make_fiber() {
  void* const p = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED || mprotect(p, guard_bytes, PROT_NONE) != 0)
    throw std::system_error(errno, std::generic_category(), "simulated device: a thread's stack");
  Fiber& f = fibers_.emplace_back();
  f.stack = static_cast<std::byte*>(p) + guard_bytes;
  // Tops at different offsets in their pages, or all stacks would compete for the same few cache sets.
  f.size = stack_bytes - (fibers_.size() * 448 % 4096 & ~std::size_t{63});
  f.context = make_context(f.stack, f.size, &Scheduler::fiber_main);
  return &f;
}

Fiber* Scheduler::idle_fiber() {
  if (idle_.empty()) return make_fiber();
  Fiber* const f = idle_.back();
  idle_.pop_back();
  return f;
}

REDUCTIO_HOT void Scheduler::switch_to(void** save, Fiber* to, void* context) {
#ifdef REDUCTIO_SANITIZED
  previous_ = fiber_;
  __sanitizer_start_switch_fiber(&fiber_->asan_stack, to->stack, to->size);
#endif
  fiber_ = to;
  switch_context(save, context);
  arrived();
}

/// On the stack that was switched to.
REDUCTIO_HOT void Scheduler::arrived() {
#ifdef REDUCTIO_SANITIZED
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fiber_->asan_stack, &bottom, &size);
  if (previous_ == &main_) {
    main_.stack = static_cast<std::byte*>(const_cast<void*>(bottom));
    main_.size = size;
  }
#endif
}

void Scheduler::fiber_main() {
  scheduler().arrived();
  scheduler().loop();
}

/// Runs the current thread, then whichever comes next, for as long as the program lives.
void Scheduler::loop() {
  Fiber* const self = fiber_;
  for (;;) {
    try {
      (*thread_)();
    } catch (const Unwind&) {
    } catch (...) {
      fail(std::current_exception());
    }
    const Next next = finish();
    if (next.block && !next.block->thread[next.thread].fiber) {
      next.block->thread[next.thread].fiber = self;
      set_current(next);
    } else {
      idle_.push_back(self);
      go_on(&self->context, next);
    }
  }
}

REDUCTIO_HOT void Scheduler::set_current(Next n) {
  ++steps_;
  if (block_ != n.block) {
    block_ = n.block;
    running = n.block;
    blockIdx.x = static_cast<unsigned>(n.block->index);
  }
  threadIdx.x = n.thread;
}

/// Leaves this stack for `next`, keeping the place in `save`; returns when somebody chooses it again.
REDUCTIO_HOT void Scheduler::go_on(void** save, Next next) {
  if (!next.block) [[unlikely]] {
    block_ = nullptr;
    return switch_to(save, &main_, main_.context);
  }
  Thread& t = next.block->thread[next.thread];
  if (!t.fiber) [[unlikely]] {
    t.fiber = idle_fiber();
    t.context = t.fiber->context;
  }
  set_current(next);
  if (t.fiber != fiber_) switch_to(save, t.fiber, t.context);
}

/// The running thread waits: what for has been noted.
REDUCTIO_HOT void Scheduler::suspend() {
  Thread& self = block_->thread[threadIdx.x];
  if (steps_ > last_step_) [[unlikely]] fail_stuck();
  go_on(&self.context, failure_ ? Next{} : pick());
  if (cancelling_) [[unlikely]] throw Unwind{};
}

// ---------------------------------------------------------------------------------------------------- blocks

void Scheduler::start_block() {
  const std::size_t nth = started_++;
  const std::size_t index = order_now_ == Order::forward   ? nth
                            : order_now_ == Order::reverse ? shape_.grid - 1 - nth
                                                           : permutation_(nth);
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<unsigned>(slots_.size()));
    slots_.push_back(std::make_unique<BlockState>());
    slots_.back()->slot = free_slots_.back();
  }
  BlockState& b = *slots_[free_slots_.back()];
  free_slots_.pop_back();

  b.index = index;
  if (++serials_ == 0) ++serials_;
  b.serial = serials_;
  b.tick = 1;
  b.barrier_tick = 0;
  b.threads = shape_.block;
  b.exited = b.arrived = 0;
  b.divergent = b.any = b.any_result = false;
  b.last_barrier = {};
  if (b.thread.size() < b.threads) {
    b.thread.resize(b.threads);
    b.polled.resize(b.threads);
  }
  const unsigned n_warps = (b.threads + warp_size - 1) / warp_size;
  if (b.warps.size() < n_warps) b.warps.resize(n_warps);
  for (unsigned w = 0; w < n_warps; ++w) {
    Warp& warp = b.warps[w];
    const unsigned lanes = std::min(warp_size, b.threads - w * warp_size);
    warp.existing = lanes == warp_size ? ~0u : (1u << lanes) - 1;
    warp.exited = warp.waiting = 0;
    warp.full_tick = 0;
    warp.partial = false;
  }
  // Unwritten memory is told by its record, whose serial is an earlier block's: nothing to clear.
  const std::size_t shared_words = (shape_.shared_bytes + word_bytes - 1) / word_bytes;
  if (b.record_storage.size() < shared_words) {
    b.record_storage.resize(shared_words);
    b.shared_storage.resize((shared_words + 3) / 4 * 2);  // whole 16 bytes
  }
  b.shared = reinterpret_cast<std::byte*>(b.shared_storage.data());
  b.shared_bytes = shape_.shared_bytes;
  b.shared_records = b.record_storage.data();

  resident_.push_back(&b);
  make_all_runnable(b);
}

void Scheduler::end_block(BlockState& b) {
  resident_.erase(std::find(resident_.begin(), resident_.end(), &b));
  free_slots_.push_back(b.slot);
  if (started_ < shape_.grid) start_block();
}

REDUCTIO_HOT void Scheduler::make_runnable(BlockState& b, unsigned t) {
  if (order_now_ == Order::random) {
    ready_.push_back(b.slot << 16 | t);
  } else {
    b.runnable[t / 64] |= std::uint64_t{1} << t % 64;
    b.runnable_words |= 1u << t / 64;
  }
}

void Scheduler::make_all_runnable(BlockState& b) {
  std::fill_n(b.waiting.begin(), b.threads, Waiting::no);
  if (order_now_ == Order::random) {
    for (unsigned t = 0; t < b.threads; ++t) ready_.push_back(b.slot << 16 | t);
    return;
  }
  const unsigned n_words = (b.threads + 63) / 64;
  for (unsigned w = 0; w < n_words; ++w) b.runnable[w] = ~std::uint64_t{0};
  if (b.threads % 64) b.runnable[n_words - 1] = (std::uint64_t{1} << b.threads % 64) - 1;
  b.runnable_words = (1u << n_words) - 1;
}

REDUCTIO_RARE BlockState* Scheduler::oldest_runnable() {
  const auto it = std::find_if(resident_.begin(), resident_.end(), [](BlockState* r) { return r->runnable_words != 0; });
  return it == resident_.end() ? nullptr : *it;
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

/// Among thousands of threads the next one's stack is in no cache, so a few are chosen ahead and fetched meanwhile.
REDUCTIO_RARE Next Scheduler::pick_random() {
  const auto draw = [this] {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const std::size_t i = ((random_ >> 32) * ready_.size()) >> 32;
    const std::uint32_t chosen = ready_[i];
    ready_[i] = ready_.back();
    ready_.pop_back();
    return Next{slots_[chosen >> 16].get(), chosen & 0xffff};
  };
  Next next;
  if (n_ahead_ > 0) {
    next = ahead_[first_ahead_++ % lookahead];
    --n_ahead_;
  } else if (!ready_.empty()) {
    next = draw();
  } else {
    return nothing_runnable();
  }
  while (n_ahead_ < lookahead && ready_.size() >= lookahead_from) {
    const Next n = ahead_[(first_ahead_ + n_ahead_++) % lookahead] = draw();
    __builtin_prefetch(&n.block->thread[n.thread]);
  }
  if (n_ahead_ > lookahead / 2) {
    const Next n = ahead_[(first_ahead_ + lookahead / 2) % lookahead];
    if (const auto* const stack = static_cast<const std::byte*>(n.block->thread[n.thread].context))
      for (int line = 0; line < 4; ++line) __builtin_prefetch(stack + line * 64);
  }
  return next;
}

/// Everybody waits. Those who poll may look again; if nobody does, the grid is done or stuck.
REDUCTIO_RARE Next Scheduler::nothing_runnable() {
  if (!parked_.empty()) {
    for (auto [b, t] : parked_) {
      b->waiting[t] = Waiting::no;
      make_runnable(*b, t);
    }
    parked_.clear();
    preferred_ = nullptr;
    return pick();
  }
  if (!resident_.empty()) fail_stuck();
  return {};
}

/// The running thread has returned from the kernel.
Next Scheduler::finish() {
  BlockState& b = *block_;
  const unsigned t = threadIdx.x;
  b.thread[t].fiber = nullptr;
  b.polled[t] = 0;
  b.waiting[t] = Waiting::no;
  if (cancelling_) return {};
  ++b.exited;
  last_step_ = steps_ + steps_limit;
  fruitless_polls_ = 0;
  Warp& warp = b.warps[t / warp_size];
  warp.exited |= 1u << t % warp_size;
  if (failure_) return {};
  if (b.arrived && b.arrived + b.exited == b.threads) {
    fail_barrier(b, FaultKind::unfinished_barrier, "a barrier that not all threads of the block reach");
    return {};
  }
  for (std::uint32_t left = warp.waiting; left;) {
    const unsigned l = std::countr_zero(left);
    left &= ~warp.lanes[l].mask & ~(1u << l);
    const std::uint32_t mask = warp.lanes[l].mask;
    if ((mask >> t % warp_size & 1) && (mask & ~(warp.waiting | warp.exited)) == 0) {
      check_warp(b, warp, t / warp_size, mask, b.thread[t / warp_size * warp_size + l].site);
      if (failure_) return {};
    }
  }
  if (b.exited == b.threads) {
    end_block(b);
    block_ = preferred_ = nullptr;
  }
  return pick();
}

// ---------------------------------------------------------------------------------------------------- waiting

bool same(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

bool Scheduler::block_barrier(bool predicate, bool with_predicate, Site site) {
  if (!running) [[unlikely]] fail_outside();
  BlockState& b = *block_;
  const Waiting kind = with_predicate ? Waiting::block_barrier_or : Waiting::block_barrier;
  b.thread[threadIdx.x].site = site;
  b.waiting[threadIdx.x] = kind;
  if (b.arrived++ == 0) {
    b.barrier = site;
    b.barrier_kind = kind;
  } else if (kind != b.barrier_kind || site.line != b.barrier.line || site.file != b.barrier.file) [[unlikely]] {
    // The same file may have two addresses.
    b.divergent |= kind != b.barrier_kind || !same(site, b.barrier);
  }
  b.any |= predicate;
  fruitless_polls_ = 0;
  if (b.arrived + b.exited == b.threads) complete_block_barrier(b, site);
  suspend();
  return b.any_result;
}

REDUCTIO_RARE void Scheduler::complete_block_barrier(BlockState& b, Site site) {
  if (b.exited)
    return fail_barrier(b, FaultKind::unfinished_barrier, "a barrier that not all threads of the block reach");
  if (b.divergent)
    return fail_barrier(b, FaultKind::divergent_barrier, "threads of the block wait at different barriers");
  b.arrived = 0;
  b.any_result = b.any;
  b.any = false;
  b.last_barrier = site;
  b.barrier_tick = ++b.tick;
  make_all_runnable(b);
}

REDUCTIO_RARE void Scheduler::fail_outside() {
  throw Fault(FaultKind::host_access, "", 0, {}, "", 0, "a barrier or warp operation outside a kernel");
}

void Scheduler::grid_barrier(Site site) {
  if (!running) fail_outside();
  if (!shape_.cooperative)
    stop(FaultKind::unfinished_barrier, site, "grid_sync() in a launch that is not cooperative; use launch_cooperative", {});
  BlockState& b = *block_;
  b.thread[threadIdx.x].site = site;
  b.waiting[threadIdx.x] = Waiting::grid_barrier;
  fruitless_polls_ = 0;
  if (at_grid_barrier_++ == 0) {
    grid_barrier_site_ = site;
    grid_barrier_divergent_ = false;
  } else if (!same(site, grid_barrier_site_)) {
    grid_barrier_divergent_ = true;
  }
  if (at_grid_barrier_ == shape_.grid * shape_.block) {
    if (grid_barrier_divergent_) {
      fail_barrier(b, FaultKind::divergent_barrier, "threads of the grid wait at different barriers");
    } else {
      at_grid_barrier_ = 0;
      for (BlockState* r : resident_) {
        r->last_barrier = site;
        r->barrier_tick = ++r->tick;
        make_all_runnable(*r);
      }
      preferred_ = nullptr;
    }
  }
  suspend();
}

/// Every lane of `mask` waits or is gone: if all who wait do so with this mask, completes the operation or fails.
REDUCTIO_RARE void Scheduler::check_warp(BlockState& b, Warp& warp, unsigned w, std::uint32_t mask, Site site) {
  for (std::uint32_t m = mask & warp.waiting; m; m &= m - 1)
    if (warp.lanes[std::countr_zero(m)].mask != mask) return;
  if (mask & warp.exited) {
    std::vector<unsigned> waiting;
    for (unsigned l = 0; l < warp_size; ++l)
      if (mask & warp.waiting & 1u << l) waiting.push_back(w * warp_size + l);
    fail(std::make_exception_ptr(fault(FaultKind::unfinished_barrier, b.index, site, waiting,
                                       "a warp operation names lanes that have returned: " + describe(b))));
    return;
  }
  std::uint64_t total = 0;
  const WarpOperation operation = warp.lanes[std::countr_zero(mask)].operation;
  if (operation == WarpOperation::reduce_add)
    for (std::uint32_t m = mask; m; m &= m - 1) total += warp.lanes[std::countr_zero(m)].bits;
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const unsigned l = std::countr_zero(m);
    Warp::Lane& lane = warp.lanes[l];
    if (operation == WarpOperation::shuffle)
      lane.result = mask >> lane.source & 1 ? warp.lanes[lane.source].bits : ~std::uint64_t{0};
    else
      lane.result = static_cast<std::uint32_t>(total);
    b.waiting[w * warp_size + l] = Waiting::no;
    make_runnable(b, w * warp_size + l);
  }
  warp.waiting &= ~mask;
  warp.order(mask, ++b.tick);
}

/// Two lanes that name each other in different operations would wait for each other for ever. (One may well wait for a
/// lane that has an operation with others to finish first.)
REDUCTIO_RARE void Scheduler::check_meeting(BlockState& b, Warp& warp, unsigned w, std::uint32_t mask,
                                            WarpOperation operation, Site site) {
  warp.several = true;
  const std::uint32_t me = 1u << threadIdx.x % warp_size;
  for (std::uint32_t m = warp.waiting & mask; m; m &= m - 1) {
    const unsigned l = std::countr_zero(m);
    const Warp::Lane& other = warp.lanes[l];
    if (!(other.mask & me) || (other.mask == mask && other.operation == operation)) continue;
    static constexpr const char* names[] = {"__syncwarp", "a shuffle", "__reduce_add_sync"};
    const auto call = [](WarpOperation o, std::uint32_t m, const Site& at) {
      return std::string(names[static_cast<int>(o)]) + " with mask " + hex(m) + " at " + to_string(at);
    };
    const unsigned t = w * warp_size + l;
    stop(FaultKind::warp_mask, site,
         "calls " + call(operation, mask, site) + " while thread " + std::to_string(t) + " of its warp waits in " +
             call(other.operation, other.mask, b.thread[t].site),
         {});
  }
}

REDUCTIO_RARE void Scheduler::fail_mask(unsigned mask, Site site) {
  stop(FaultKind::warp_mask, site,
       "lane " + std::to_string(threadIdx.x % warp_size) + " is not in the mask " + hex(mask) + " it passes", {});
}

std::uint64_t Scheduler::warp_operation(WarpOperation operation, unsigned mask, std::uint64_t bits, unsigned source,
                                        Site site) {
  if (!running) [[unlikely]] fail_outside();
  BlockState& b = *block_;
  const unsigned t = threadIdx.x, w = t / warp_size, me = t % warp_size;
  Warp& warp = b.warps[w];
  if (!(mask >> me & 1)) [[unlikely]] fail_mask(mask, site);
  mask &= warp.existing;  // lanes that a block of this size does not have are as good as absent, as in CUDA
  if (warp.waiting) {
    const Warp::Lane& first = warp.lanes[std::countr_zero(warp.waiting)];
    if (warp.several || first.mask != mask || first.operation != operation) [[unlikely]]
      check_meeting(b, warp, w, mask, operation, site);
  } else {
    warp.several = false;
  }
  Warp::Lane& lane = warp.lanes[me];
  lane.mask = mask;
  lane.operation = operation;
  lane.source = static_cast<std::uint8_t>(source);
  lane.bits = bits;
  b.thread[t].site = site;
  b.waiting[t] = Waiting::warp;
  warp.waiting |= 1u << me;
  if ((mask & ~(warp.waiting | warp.exited)) == 0) check_warp(b, warp, w, mask, site);
  suspend();
  return lane.result;
}

void Scheduler::poll(std::uintptr_t address, Site site) {
  if (!running) return;  // the access itself will say so
  BlockState& b = *block_;
  const unsigned t = threadIdx.x;
  const bool again = b.polled[t] == address;
  b.polled[t] = address;
  b.thread[t].site = site;
  fruitless_polls_ = again ? fruitless_polls_ + 1 : 0;
  if (again) b.waiting[t] = Waiting::poll;
  if (fruitless_polls_ > fruitless_limit_) {
    fail_stuck();
  } else if (order_now_ == Order::random) {
    make_runnable(b, t);
  } else if (again) {
    parked_.emplace_back(&b, t);
  } else {
    return;
  }
  suspend();
  b.waiting[t] = Waiting::no;
}

// ---------------------------------------------------------------------------------------------------- faults

void Scheduler::fail(std::exception_ptr e) {
  if (!failure_) failure_ = std::move(e);
}

void Scheduler::stop(FaultKind kind, Site site, const std::string& what, std::vector<unsigned> threads) {
  if (threads.empty()) threads.push_back(threadIdx.x);
  if (cancelling_) std::terminate();  // a destructor that runs device code while its thread is unwound
  fail(std::make_exception_ptr(fault(kind, block_->index, site, std::move(threads), what)));
  go_on(&block_->thread[threadIdx.x].context, Next{});
  throw Unwind{};
}

Fault Scheduler::fault(FaultKind kind, std::size_t block, Site site, std::vector<unsigned> threads,
                       const std::string& what) const {
  std::string file = site.file ? site.file : "";
  if (const auto slash = file.rfind('/'); slash != std::string::npos) file.erase(0, slash + 1);
  return Fault(kind, kernel_, block, std::move(threads), std::move(file), site.line, what);
}

/// "threads 0-31 wait at twopass.cu:20 (__syncthreads), threads 32-63 have returned".
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
      case Waiting::no: text += g.gone ? (many ? " have returned" : " has returned") : (many ? " are running" : " is running"); break;
      case Waiting::block_barrier: text += wait + to_string(g.site) + " (__syncthreads)"; break;
      case Waiting::block_barrier_or: text += wait + to_string(g.site) + " (__syncthreads_or)"; break;
      case Waiting::grid_barrier: text += wait + to_string(g.site) + " (grid_sync)"; break;
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

/// After a fault: lets every thread that has begun unwind its stack, and forgets the grid.
void Scheduler::unwind_all() {
  cancelling_ = true;
  for (BlockState* b : resident_) {
    for (unsigned t = 0; t < b->threads; ++t) {
      b->waiting[t] = Waiting::no;
      if (!b->thread[t].fiber) continue;
      set_current({b, t});
      switch_to(&main_.context, b->thread[t].fiber, b->thread[t].context);
    }
    b->runnable = {};
    b->runnable_words = 0;
  }
  cancelling_ = false;
}

bool Scheduler::explain_overflow(std::uintptr_t address) const {
  for (const Fiber& f : fibers_) {
    const auto bottom = reinterpret_cast<std::uintptr_t>(f.stack);
    if (address >= bottom || address < bottom - guard_bytes) continue;
    char text[512];
    const int n = std::snprintf(text, sizeof text,
                                "simulated device: kernel %s, block %u, thread %u: its stack of %zu KiB overflowed\n",
                                kernel_.c_str(), blockIdx.x, threadIdx.x, stack_bytes / 1024);
    if (n > 0 && write(STDERR_FILENO, text, std::min<std::size_t>(n, sizeof text - 1)) < 0) return true;
    return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------------- launches

std::size_t resident_blocks(const Shape& s) {
  const std::size_t whole_warps = (s.block + warp_size - 1) / warp_size * warp_size;
  const std::size_t by_threads = threads_per_sm / whole_warps;
  const std::size_t by_shared = shared_bytes_per_sm / (s.shared_bytes + shared_bytes_reserved);
  return sm_count * std::min({std::size_t{blocks_per_sm}, by_threads, by_shared});
}

void Scheduler::run(const Shape& shape, const std::function<void()>& thread, const std::string& kernel) {
  if (running) throw DeviceError("simulated device: a kernel cannot launch or wait for another");
  install_overflow_handler();
  shape_ = shape;
  thread_ = &thread;
  kernel_ = kernel;
  order_now_ = order_;
  random_ = mixed(seed_ + mixed(launches_++));
  permutation_ = Permutation(shape.grid, mixed(random_));
  started_ = 0;
  resident_limit_ = resident_blocks(shape);
  resident_.clear();
  ready_.clear();
  n_ahead_ = 0;
  parked_.clear();
  free_slots_.clear();
  for (std::size_t i = slots_.size(); i-- > 0;) free_slots_.push_back(static_cast<unsigned>(i));
  at_grid_barrier_ = 0;
  last_step_ = steps_ + steps_limit;
  fruitless_polls_ = 0;
  fruitless_limit_ =
      fruitless_polls_limit + fruitless_polls_limit_per_thread * std::min(resident_limit_, shape.grid) * shape.block;
  blockDim.x = shape.block;
  gridDim.x = static_cast<unsigned>(shape.grid);
  block_ = preferred_ = nullptr;
  spin = {};

  while (started_ < std::min(shape.grid, resident_limit_)) start_block();
  fiber_ = &main_;
  go_on(&main_.context, pick());
  if (failure_) unwind_all();
  block_ = nullptr;
  running = nullptr;
  kernel_.clear();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace

std::uint32_t Warp::unordered(std::uint32_t others, std::uint32_t tick, unsigned me) const {
  others &= ~(1u << me);
  if (tick < full_tick) return 0;
  if (partial)
    for (std::uint32_t m = others; m; m &= m - 1) {
      const unsigned l = std::countr_zero(m);
      if (tick < (*seen)[me][l]) others &= ~(1u << l);
    }
  return others;
}

void Warp::order(std::uint32_t mask, std::uint32_t tick) {
  if (mask == existing) {
    full_tick = tick;
    return;
  }
  if (!partial) {
    if (!seen) seen = std::make_unique<std::array<std::array<std::uint32_t, warp_size>, warp_size>>();
    *seen = {};
    partial = true;
  }
  std::array<std::uint32_t, warp_size> joined{};
  for (std::uint32_t m = mask; m; m &= m - 1) {
    const auto& known = (*seen)[std::countr_zero(m)];
    for (unsigned l = 0; l < warp_size; ++l) joined[l] = std::max(joined[l], known[l]);
  }
  for (std::uint32_t m = mask; m; m &= m - 1) joined[std::countr_zero(m)] = tick;
  for (std::uint32_t m = mask; m; m &= m - 1) (*seen)[std::countr_zero(m)] = joined;
}

bool block_barrier(bool predicate, bool with_predicate, Site site) {
  return scheduler().block_barrier(predicate, with_predicate, site);
}
void grid_barrier(Site site) { scheduler().grid_barrier(site); }
std::uint64_t warp_operation(WarpOperation o, unsigned mask, std::uint64_t bits, unsigned source, Site site) {
  return scheduler().warp_operation(o, mask, bits, source, site);
}
void poll(std::uintptr_t address, Site site) { scheduler().poll(address, site); }
void give_way() { scheduler().give_way(); }
void note_progress() { scheduler().note_progress(); }
std::uint64_t steps() { return scheduler().steps(); }

void stop_here(FaultKind kind, Site site, const std::string& what, std::vector<unsigned> threads) {
  scheduler().stop(kind, site, what, std::move(threads));
}

void set_schedule(Order order, std::uint64_t seed) {
  const DeviceLock lock;
  scheduler().set_schedule(order, seed);
}

void run_grid(const Shape& shape, const std::function<void()>& thread, const std::string& kernel) {
  scheduler().run(shape, thread, kernel);
}

void check_launch(const Shape& s, const std::string& kernel) {
  const auto refuse = [&](const std::string& why) { throw Fault(FaultKind::launch, kernel, 0, {}, "", 0, why); };
  if (s.grid == 0 || s.grid > max_grid)
    refuse("a grid of " + std::to_string(s.grid) + " blocks; CUDA launches 1 to " + std::to_string(max_grid));
  if (s.block == 0 || s.block > max_threads_per_block)
    refuse("blocks of " + std::to_string(s.block) + " threads; CUDA launches 1 to " + std::to_string(max_threads_per_block));
  if (s.shared_bytes > shared_bytes_per_block)
    refuse(std::to_string(s.shared_bytes) + " bytes of shared memory a block; " + std::to_string(shared_bytes_per_block) +
           " are there");
  if (s.cooperative && s.grid > resident_blocks(s))
    refuse("a cooperative launch of " + std::to_string(s.grid) + " blocks; " + std::to_string(resident_blocks(s)) +
           " of them fit on the device at once");
}

}  // namespace reductio::sim
