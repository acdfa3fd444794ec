// Barriers of a block and of the grid, and polls: where threads wait for others. Warp operations are in warp.cpp.

#include "device/sim/waiting.h"

#include <algorithm>

#include "device/sim/causality.h"
#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/mutation.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {

REDUCTIO_HOT unsigned Scheduler::block_barrier(Waiting kind, bool predicate, Site site) {
  if (!running) [[unlikely]] fail_outside();
  settle();
  if (left_out(Synchronization::block_barrier, site)) [[unlikely]]
    return predicate;
  BlockState& b = *block_;
  b.thread[thread_now].site = site;
  b.waiting[thread_now] = kind;
  if (b.arrived++ == 0) {
    b.barrier = site;
    b.barrier_kind = kind;
  } else if (kind != b.barrier_kind || site.line != b.barrier.line || site.file != b.barrier.file) [[unlikely]] {
    // The same file may have two addresses.
    b.divergent |= kind != b.barrier_kind || !same(site, b.barrier);
  }
  b.votes += predicate;
  fruitless_polls_ = 0;
  if (b.arrived + b.exited == b.threads) complete_block_barrier(b, site);
  suspend();
  return b.votes_result;
}

REDUCTIO_RARE void Scheduler::complete_block_barrier(BlockState& b, Site site) {
  if (b.divergent)
    return fail_barrier(b, FaultKind::divergent_barrier, "threads of the block wait at different barriers");
  b.arrived = 0;
  b.votes_result = b.votes;
  b.votes = 0;
  b.last_barrier = site;
  b.barrier_epoch = ++b.epoch;
  if (follower) follower->block_meets(b, site);
  make_all_runnable(b);
}

REDUCTIO_HOT void Scheduler::grid_barrier(Site site) {
  if (!running) fail_outside();
  settle();
  if (!shape_.cooperative)
    stop(FaultKind::unfinished_barrier, site,
         in_words("grid_sync() in a launch that is not cooperative; use launch_cooperative",
                  "the grid's sync() in a launch that is not cooperative; use cudaLaunchCooperativeKernel"),
         {});
  if (left_out(Synchronization::grid_barrier, site)) return;
  BlockState& b = *block_;
  b.thread[thread_now].site = site;
  b.waiting[thread_now] = Waiting::grid_barrier;
  fruitless_polls_ = 0;
  if (at_grid_barrier_++ == 0) {
    grid_barrier_site_ = site;
    grid_barrier_divergent_ = false;
  } else if (!same(site, grid_barrier_site_)) {
    grid_barrier_divergent_ = true;
  }
  complete_grid_barrier();
  suspend();
}

/// If all have come but those that left by a fault.
void Scheduler::complete_grid_barrier() {
  if (at_grid_barrier_ == 0 || at_grid_barrier_ + left_ < shape_.grid * shape_.block) return;
  if (grid_barrier_divergent_)
    return fail_barrier(*block_, FaultKind::divergent_barrier, "threads of the grid wait at different barriers");
  at_grid_barrier_ = 0;
  std::uint32_t epoch = 0;  // one for all, so that it tells each block what of the others is older
  for (const BlockState* r : resident_) epoch = std::max(epoch, r->epoch + 1);
  for (BlockState* r : resident_) {
    r->last_barrier = grid_barrier_site_;
    r->epoch = r->barrier_epoch = r->grid_epoch = epoch;
    if (r->unordered_from == r->first_serial) r->settled_epoch = epoch;
    if (follower) follower->block_meets(*r, grid_barrier_site_);
    make_all_runnable(*r);
  }
  preferred_ = nullptr;
}

void Scheduler::cluster_barrier(Site site) {
  if (!running) fail_outside();
  settle();
  if (left_out(Synchronization::cluster_barrier, site)) return;
  BlockState& first = *block_->leader;
  block_->thread[thread_now].site = site;
  block_->waiting[thread_now] = Waiting::cluster_barrier;
  fruitless_polls_ = 0;
  if (first.at_barrier++ == 0) {
    first.cluster_barrier = site;
    first.divergent_cluster = false;
  } else if (!same(site, first.cluster_barrier)) {
    first.divergent_cluster = true;
  }
  complete_cluster_barrier(first);
  suspend();
}

/// If all have come who have not returned.
void Scheduler::complete_cluster_barrier(BlockState& first) {
  unsigned left = 0;
  for (const BlockState* b : first.members) left += b->threads - b->exited;
  if (first.at_barrier == 0 || first.at_barrier < left) return;
  if (first.divergent_cluster)
    return fail_barrier(*block_, FaultKind::divergent_barrier, "threads of the cluster wait at different barriers");
  first.at_barrier = 0;
  first.has_met = true;
  causality.meet(first.members);
  for (BlockState* b : first.members) {
    if (b->exited == b->threads) continue;
    b->last_barrier = first.cluster_barrier;
    if (follower) follower->block_meets(*b, b->last_barrier);
    make_all_runnable(*b);
  }
  preferred_ = nullptr;
}

REDUCTIO_HOT void Scheduler::poll(std::uintptr_t address, bool waits, Site site) {
  if (!running) return;  // the access itself will say so
  BlockState& b = *block_;
  const unsigned t = thread_now;
  const bool again = b.polled[t].again(address);
  b.thread[t].site = site;
  fruitless_polls_ = again ? fruitless_polls_ + (waits ? updates_per_poll : 1) : 0;
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

unsigned block_barrier(Waiting kind, bool predicate, Site site) {
  return scheduler().block_barrier(kind, predicate, site);
}
void grid_barrier(Site site) { scheduler().grid_barrier(site); }
void cluster_barrier(Site site) { scheduler().cluster_barrier(site); }

unsigned cluster_rank() { return static_cast<unsigned>(running->index % running->cluster_blocks); }
unsigned cluster_blocks() { return running->cluster_blocks; }
void* in_cluster(const void* shared, unsigned rank, Site site) {
  const std::uintptr_t offset =
      reinterpret_cast<std::uintptr_t>(shared) - reinterpret_cast<std::uintptr_t>(running->shared);
  if (offset >= shared_span)
    stop_here(FaultKind::out_of_bounds, site,
              "asks for the place in another block of an address that is not shared memory");
  if (rank >= running->cluster_blocks)
    stop_here(FaultKind::out_of_bounds, site,
              "asks for block " + std::to_string(rank) + " of a cluster of " + std::to_string(running->cluster_blocks));
  return static_cast<BlockState*>(running)->leader->members[rank]->shared + offset;
}
void poll(std::uintptr_t address, bool waits, Site site) { scheduler().poll(address, waits, site); }
void give_way() { scheduler().give_way(); }
void wait_for_previous_kernel() { scheduler().wait_for_previous_kernel(); }
void note_progress() { scheduler().note_progress(); }

}  // namespace reductio::sim
