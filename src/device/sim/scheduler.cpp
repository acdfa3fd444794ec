// Which blocks are resident, which thread is next, and a launch from its start to its end.

#include "device/sim/scheduler.h"

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <utility>

#include "core/error.h"
#include "device/sim/causality.h"
#include "device/sim/follower.h"
#include "device/sim/limits.h"
#include "device/sim/lock.h"
#include "device/sim/memory.h"
#include "device/sim/out_of_memory.h"
#include "device/sim/runtime.h"
#include "device/sim/stack_overflow.h"

extern "C" {
reductio::sim::Index __llvm_gcov_threadIdx{0, 0, 0}, __llvm_gcov_blockIdx{0, 0, 0}, __llvm_gcov_blockDim{1, 1, 1},
    __llvm_gcov_gridDim{1, 1, 1};
unsigned __llvm_gcov_thread = 0;
}

namespace reductio::sim {

Block *running = nullptr, *in_reach = nullptr;
thread_local bool runs_launch = false;

Scheduler* const the_scheduler = new Scheduler;

namespace {

/// Polls in a row by all threads together, none of which saw a new value or address, before the wait is called endless.
/// Per resident thread: in the random order each must have had its turn.
constexpr std::uint64_t fruitless_polls_limit = 1000, fruitless_polls_limit_per_thread = 100;
/// Switches in a row without any thread ending. Minutes on a real GPU's scale of work, seconds here. Where a thread has
/// left by a fault, others may wait for it.
constexpr std::uint64_t steps_limit = std::uint64_t{1} << 28, steps_limit_after_fault = std::uint64_t{1} << 22;
/// How often all threads together look in vain while one block is starved.
constexpr std::uint64_t most_looks_in_vain = std::uint64_t{1} << 18;

}  // namespace

/// The running thread has returned from the kernel.
REDUCTIO_HOT Next Scheduler::finish() {
  BlockState& b = *block_;
  const unsigned t = thread_now;
  b.thread[t].fiber = nullptr;
  b.polled[t] = {};
  b.waiting[t] = Waiting::no;
  if (cancelling_) return {};
  ++b.exited;
  last_step_ = steps_ + (last_failure_ ? steps_limit_after_fault : steps_limit);
  fruitless_polls_ = 0;
  Warp& warp = b.warps[t / warp_size];
  warp.exited |= 1u << t % warp_size;
  if (failure_) return {};
  if (b.arrived && b.arrived + b.exited == b.threads) {
    complete_block_barrier(b, b.barrier);
    if (failure_) return {};
  }
  for (std::uint32_t left = warp.waiting; left;) {
    const unsigned l = std::countr_zero(left);
    left &= ~warp.lanes[l].mask & ~(1u << l);
    const std::uint32_t mask = warp.lanes[l].mask;
    if ((mask >> t % warp_size & 1) && (mask & ~(warp.waiting | warp.exited)) == 0) {
      check_warp(b, warp, t / warp_size, mask);
    }
  }
  if (shape_.cluster > 1) complete_cluster_barrier(*b.leader);
  if (left_) [[unlikely]] complete_grid_barrier();
  if (failure_) return {};
  if (b.exited == b.threads) {
    end_block(b);
    block_ = preferred_ = nullptr;
  }
  return pick();
}

/// Runs the current thread, then whichever comes next, for as long as the program lives. In one frame with finish():
/// it lies at the foot of every stack.
REDUCTIO_HOT void Scheduler::loop() {
  Fiber* const self = fibers_.current();
  for (;;) {
    try {
      code_.thread(code_.arguments.get());
      settle();
    } catch (const Unwind&) {
      ++left_;
    } catch (...) {
      fail(std::current_exception());
    }
    const Next next = finish();
    if (next.block && !next.block->thread[next.thread].fiber) {
      next.block->thread[next.thread].fiber = self;
      set_current(next);
    } else {
      fibers_.put_back(self);
      go_on(&self->context, next);
    }
  }
}

void Scheduler::fiber_main() {
  scheduler().fibers_.arrived();
  scheduler().loop();
}

/// The block that starts as the nth.
std::size_t Scheduler::nth_block(std::size_t nth) const {
  const std::size_t cluster = shape_.cluster;
  return order_now_ == Order::forward   ? nth
         : order_now_ == Order::reverse ? shape_.grid - 1 - nth
                                        : permutation_(nth / cluster) * cluster + nth % cluster;
}

/// Its blocks begin at once.
void Scheduler::start_cluster() {
  for (unsigned i = 0; i < shape_.cluster; ++i) start_block(i);
}

/// `rank`: among its cluster's, by when they begin.
void Scheduler::start_block(unsigned rank) {
  const std::size_t nth = started_++;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<unsigned>(slots_.size()));
    slots_.push_back(std::make_unique<BlockState>());
    slots_.back()->slot = free_slots_.back();
  }
  BlockState& b = *slots_[free_slots_.back()];
  free_slots_.pop_back();

  b.index = nth_block(nth);
  b.place = place_in(shape_.blocks, b.index);
  b.serial = ++serials_;
  b.first_serial = first_serial_;
  b.grid = static_cast<std::uint32_t>(shape_.grid);
  b.epoch = 1;
  b.stamp_epoch = 0;
  b.unordered_from = unordered_from_;
  b.unordered = first_serial_ - unordered_from_ + b.grid;
  b.barrier_epoch = b.grid_epoch = b.settled_epoch = 0;
  b.threads = shape_.block;
  b.exited = b.arrived = 0;
  b.divergent = false;
  b.votes = b.votes_result = 0;
  b.last_barrier = {};
  b.has_waited.reset();
  b.waits.clear();
  b.leader = rank == 0 ? &b : resident_.back()->leader;
  b.cluster_first = b.leader->serial;
  b.cluster_blocks = shape_.cluster;
  if (rank == 0) {
    b.members.assign(shape_.cluster, nullptr);
    b.ended = b.at_barrier = 0;
    b.has_met = false;
  }
  b.leader->members[b.index % shape_.cluster] = &b;
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
    warp.full_epoch = 0;
    warp.partial = false;
  }
  // Unwritten memory is told by its record, whose serial is an earlier block's: nothing to clear.
  b.shared_bytes = shape_.shared_bytes;
  b.split.clear();

  resident_.push_back(&b);
  if (order_ == Order::starve && nth == starved_nth_) starved_ = &b;
  make_all_runnable(b);
}

void Scheduler::end_block(BlockState& b) {
  causality.end_block(b.serial);
  if (follower) follower->block_ends(b);
  resident_.erase(std::find(resident_.begin(), resident_.end(), &b));
  if (++b.leader->ended < shape_.cluster) return;  // the others may still ask for its memory
  for (const BlockState* member : b.leader->members) free_slots_.push_back(member->slot);
  if (started_ < shape_.grid) start_cluster();
}

void Scheduler::wait_for_previous_kernel() {
  if (!running) fail_outside();
  BlockState& b = *block_;
  const unsigned t = thread_now;
  if (b.has_waited[t]) return;
  b.has_waited[t] = true;
  if (!shape_.overlaps) return;
  in_reach = block_;
  log_.waited();
  const Accesses me{.serial = b.serial, .epoch = b.epoch, .lanes = 1u << t % warp_size, .thread = t};
  if (b.waits.empty()) waits_.push_back(me);
  if (!b.waits.empty() && b.waits.back().epoch == me.epoch && b.waits.back().thread / warp_size == t / warp_size)
    b.waits.back().lanes |= me.lanes;
  else
    b.waits.push_back(me);
}

REDUCTIO_RARE bool Scheduler::comes_after_a_wait() {
  BlockState& b = *block_;
  const Moment here = now();
  const bool after =
      std::any_of(b.waits.begin(), b.waits.end(), [&](const Accesses& a) { return here.ordered(a) != 0; }) ||
      std::any_of(waits_.begin(), waits_.end(), [&](const Accesses& a) {
        return a.serial != b.serial && (a.epoch < b.grid_epoch || causality.unordered(here, a, 0) == 0);
      });
  if (!after) return false;
  b.has_waited[thread_now] = true;
  in_reach = block_;
  return true;
}

void Scheduler::make_all_runnable(BlockState& b) {
  std::fill_n(b.waiting.begin(), b.threads, Waiting::no);
  if (b.exited) [[unlikely]] {
    for (unsigned t = 0; t < b.threads; ++t)
      if (!(b.warps[t / warp_size].exited >> t % warp_size & 1)) make_runnable(b, t);
    return;
  }
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
  const auto it = std::find_if(resident_.begin(), resident_.end(),
                               [&](BlockState* r) { return r->runnable_words != 0 && r != starved_; });
  return it == resident_.end() ? nullptr : *it;
}

/// Among thousands of threads the next one's stack is in no cache, so a few are chosen ahead and fetched meanwhile.
REDUCTIO_RARE Next Scheduler::pick_random() {
  const auto draw = [this] {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const std::size_t i = ((random_ >> 32) * ready_.size()) >> 32;
    const std::uint32_t drawn = ready_[i];
    ready_[i] = ready_.back();
    ready_.pop_back();
    return Next{slots_[drawn >> 16].get(), drawn & 0xffff};
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
  if (starved_) {
    fruitless_polls_ = 0;
    looks_in_vain_ += parked_.size();
    if (parked_.empty() || looks_in_vain_ > most_looks_in_vain) {
      preferred_ = std::exchange(starved_, nullptr);
      return pick();
    }
  }
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

/// After a fault: lets every thread that has begun unwind its stack, and forgets the grid.
void Scheduler::unwind_all() {
  cancelling_ = true;
  for (BlockState* b : resident_) {
    for (unsigned t = 0; t < b->threads; ++t) {
      b->waiting[t] = Waiting::no;
      Fiber* const fiber = b->thread[t].fiber;
      if (!fiber) continue;
      set_current({b, t});
      fibers_.switch_to(&fibers_.main().context, fiber, b->thread[t].context);
      if (!std::exchange(abandoned_, false)) continue;
      b->thread[t].fiber = nullptr;
      fibers_.restart(fiber);
    }
    b->runnable = {};
    b->runnable_words = 0;
  }
  cancelling_ = false;
}

void Scheduler::abandon() {
  abandoned_ = true;
  fibers_.leave_for_good();
  std::abort();  // nobody comes back
}

const BlockState* Scheduler::block_with_shared(std::uintptr_t at) const {
  for (const BlockState* b : resident_)
    if (at - reinterpret_cast<std::uintptr_t>(b->shared) < shared_span) return b;
  return nullptr;
}

void Scheduler::run(const Shape& shape, const KernelCode& code, const std::string& kernel, const Enqueued& enqueued) {
  if (running) throw DeviceError("simulated device: a kernel cannot launch or wait for another");
  watch_for_stack_overflow();
  const EndsOutOfMemory ends_out_of_memory;
  const OthersHidden others_hidden;
  // Kernels round like the thread that waits for them: verification counts additions by that.
  if constexpr (switch_keeps_rounding)
    if (const int mode = std::fegetround(); std::exchange(rounding_, mode) != mode) fibers_.begin_anew();
  const std::size_t races_before = races_;
  shape_ = shape;
  code_ = code;
  kernel_ = kernel;
  order_now_ = order_ == Order::starve ? Order::forward : order_;
  random_ = mixed(seed_ + mixed(launches_++));
  permutation_ = Permutation(shape.grid / shape.cluster, mixed(random_));
  started_ = 0;
  resident_limit_ = resident_blocks(shape);
  starved_ = nullptr;
  looks_in_vain_ = 0;
  resident_.clear();
  ready_.clear();
  n_ahead_ = 0;
  parked_.clear();
  free_slots_.clear();
  for (std::size_t i = slots_.size(); i-- > 0;) free_slots_.push_back(static_cast<unsigned>(i));
  waits_.clear();
  at_grid_barrier_ = left_ = 0;
  last_step_ = steps_ + steps_limit;
  fruitless_polls_ = 0;
  fruitless_limit_ =
      updates_per_poll *
      (fruitless_polls_limit + fruitless_polls_limit_per_thread * std::min(resident_limit_, shape.grid) * shape.block);
  blockDim = shape.threads;
  gridDim = shape.blocks;
  threadIdx = {};
  is_special_ = shape.overlaps || !is_flat(blockDim);
  block_ = preferred_ = nullptr;
  spin = {};
  unordered_store.pending = false;
  shared_layout.begin(shape.shared_bytes);

  if (~serials_ < shape.grid) {  // the numbers of one launch are consecutive, and none is 0
    serials_ = 0;
    log_.forget();
  }
  first_serial_ = serials_ + 1;
  unordered_from_ = log_.begin(first_serial_, enqueued, shape.overlaps);
  stamps.begin_launch(first_serial_, unordered_from_, std::min(unordered_from_, log_.beside_from()));
  // Work of another stream that nothing orders before or after it may hold places for as long as it waits for some. A
  // cooperative launch gets all of its places or none.
  if (!shape.cooperative && (another_stream_holds_kernels(enqueued.stream) || log_.others_from() != first_serial_))
    resident_limit_ = std::max<std::size_t>(resident_limit_ / 2 / shape.cluster, 1) * shape.cluster;
  causality.begin_launch(order_now_ == Order::random);
  starved_nth_ = mixed(random_ + 1) % std::min(shape.grid, resident_limit_);
  while (started_ < std::min(shape.grid, resident_limit_)) start_cluster();
  fibers_.begin_on_main();
  runs_launch = true;
  if (follower) follower->launch_begins(kernel_, shape_);
  for (Next next = pick(); next.block; next = finish()) {
    go_on(&fibers_.main().context, next);
    if (!std::exchange(abandoned_, false)) break;
    ++left_;
    fibers_.restart(block_->thread[thread_now].fiber);
  }
  if (follower) follower->launch_ends();
  if (failure_) unwind_all();
  else failure_ = last_failure_;
  block_ = nullptr;
  running = in_reach = nullptr;
  runs_launch = false;
  kernel_.clear();
  code_ = {};
  // Of a launch whose races were told nobody needs the reads that came too early for their writes.
  if (last_is_unwritten_ && failure_ && failure_ == last_failure_ && races_ != races_before) failure_ = nullptr;
  last_failure_ = nullptr;
  flush_device_output();
  if (!failure_) return;
  restore_variables();
  std::rethrow_exception(std::exchange(failure_, nullptr));
}

std::uint64_t steps() { return scheduler().steps(); }

void set_schedule(Order order, std::uint64_t seed) {
  const DeviceLock lock;
  scheduler().set_schedule(order, seed);
}

std::string undefined_shuffles() {
  const DeviceLock lock;
  return scheduler().undefined_shuffles();
}
OtherUndefined::OtherUndefined() {
  const DeviceLock lock;
  scheduler().set_undefined(0);
}
OtherUndefined::~OtherUndefined() {
  const DeviceLock lock;
  scheduler().set_undefined(~std::uint64_t{0});
}
std::string unset_exchanges() {
  const DeviceLock lock;
  return scheduler().unset_exchanges();
}

void run_grid(const Shape& shape, const KernelCode& code, const std::string& kernel, const Enqueued& enqueued) {
  scheduler().run(shape, code, kernel, enqueued);
}

}  // namespace reductio::sim
