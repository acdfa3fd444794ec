// Warp operations, and the order that __syncwarp() makes between the accesses of a warp's lanes.

#include "device/sim/warp.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/mutation.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {

void Warp::order(std::uint32_t mask, std::uint32_t epoch) {
  if (mask == existing) {
    full_epoch = epoch;
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
  for (std::uint32_t m = mask; m; m &= m - 1) joined[std::countr_zero(m)] = epoch;
  for (std::uint32_t m = mask; m; m &= m - 1) (*seen)[std::countr_zero(m)] = joined;
}

std::uint32_t Warp::combined(WarpOperation operation, std::uint32_t mask) const {
  const auto fold = [&](std::uint32_t result, auto f) {
    for (std::uint32_t m = mask; m; m &= m - 1)
      result = f(result, static_cast<std::uint32_t>(lanes[std::countr_zero(m)].bits));
    return result;
  };
  switch (operation) {
    case WarpOperation::sync:
    case WarpOperation::shuffle:
    case WarpOperation::match_any: return 0;
    case WarpOperation::match_all: return alike(std::countr_zero(mask), mask) == mask ? mask : 0;
    case WarpOperation::reduce_add: return fold(0, std::plus<>());
    case WarpOperation::reduce_min: return fold(~0u, [](auto a, auto b) { return std::min(a, b); });
    case WarpOperation::reduce_max: return fold(0, [](auto a, auto b) { return std::max(a, b); });
    case WarpOperation::all: return fold(1, std::bit_and<>());
    case WarpOperation::reduce_and: return fold(~0u, std::bit_and<>());
    case WarpOperation::any:
    case WarpOperation::ballot:
    case WarpOperation::reduce_or: return fold(0, std::bit_or<>());
    case WarpOperation::reduce_xor: return fold(0, std::bit_xor<>());
  }
  return 0;
}

std::uint32_t Warp::alike(unsigned lane, std::uint32_t mask) const {
  std::uint32_t same = 0;
  for (std::uint32_t m = mask; m; m &= m - 1)
    if (const unsigned l = std::countr_zero(m); lanes[l].bits == lanes[lane].bits) same |= 1u << l;
  return same;
}

/// Every lane of `mask` waits or is gone: if all who wait do so with this mask, completes the operation.
REDUCTIO_RARE void Scheduler::check_warp(BlockState& b, Warp& warp, unsigned w, std::uint32_t mask) {
  for (std::uint32_t m = mask & warp.waiting; m; m &= m - 1)
    if (warp.lanes[std::countr_zero(m)].mask != mask) return;
  const std::uint32_t here = mask & ~warp.exited;
  const WarpOperation operation = warp.lanes[std::countr_zero(here)].operation;
  const std::uint32_t combined = warp.combined(operation, here);
  for (std::uint32_t m = here; m; m &= m - 1) {
    const unsigned l = std::countr_zero(m);
    Warp::Lane& lane = warp.lanes[l];
    if (operation == WarpOperation::match_any) {
      lane.result = warp.alike(l, here);
    } else if (operation != WarpOperation::shuffle) {
      lane.result = combined;
    } else if (here >> lane.source & 1) {
      lane.result = warp.lanes[lane.source].bits;
    } else {
      lane.result = undefined_;
      note_undefined(b, warp, w * warp_size + l);
    }
    b.waiting[w * warp_size + l] = Waiting::no;
    make_runnable(b, w * warp_size + l);
  }
  warp.waiting &= ~here;
  if (follower) follower->warp_meets(b, w, here, operation, b.thread[w * warp_size + std::countr_zero(here)].site);
  if (operation == WarpOperation::sync) warp.order(mask, ++b.epoch);  // the others order nothing in memory
}

/// Whether nobody has asked this of the line since set_schedule().
static bool is_first(std::vector<Site>& lines, const Site& site) {
  if (std::any_of(lines.begin(), lines.end(), [&](const Site& s) { return same(s, site); })) return false;
  lines.push_back(site);
  return true;
}

REDUCTIO_RARE void Scheduler::note_undefined(const BlockState& b, const Warp& warp, unsigned thread) {
  const Site site = b.thread[thread].site;
  if (!is_first(undefined_sites_, site)) return;
  const Warp::Lane& lane = warp.lanes[thread % warp_size];
  const std::string why = !(warp.existing >> lane.source & 1) ? " is not in the block"
                          : lane.mask >> lane.source & 1      ? " has returned"
                                                              : " is not in the mask " + hex(lane.mask);
  undefined_shuffles_ += (undefined_shuffles_.empty() ? "in kernel " : "; in kernel ") + kernel_ + " the shuffle at " +
                         to_string(site) + " gives an undefined value, first to block " + block_name(b.index) +
                         ", thread " + thread_name(thread) + ": lane " + std::to_string(lane.source) + why;
}

REDUCTIO_RARE void Scheduler::note_unset_exchange(Site site) {
  if (!is_first(unset_sites_, site)) return;
  unset_exchanges_ += (unset_exchanges_.empty() ? "in kernel " : "; in kernel ") + kernel_ + " the exchange at " +
                      to_string(site) + " meets a word that nobody has written, first in block " +
                      block_name(block_->index) + ", thread " + thread_name(thread_now);
}

/// Two lanes that name each other in different operations would wait for each other for ever. (One may well wait for a
/// lane that has an operation with others to finish first.)
REDUCTIO_RARE void Scheduler::check_meeting(BlockState& b, const Warp& warp, unsigned w) {
  const unsigned me = thread_now % warp_size;
  const Warp::Lane& mine = warp.lanes[me];
  for (std::uint32_t m = warp.waiting & mine.mask; m; m &= m - 1) {
    const unsigned l = std::countr_zero(m);
    const Warp::Lane& other = warp.lanes[l];
    if (!(other.mask >> me & 1) || (other.mask == mine.mask && other.operation == mine.operation)) continue;
    static constexpr const char* names[] = {"__syncwarp",        "a shuffle",         "__any_sync",
                                            "__all_sync",        "__ballot_sync",     "__reduce_add_sync",
                                            "__reduce_min_sync", "__reduce_max_sync", "__reduce_and_sync",
                                            "__reduce_or_sync",  "__reduce_xor_sync", "__match_any_sync",
                                            "__match_all_sync"};
    const auto call = [](WarpOperation o, std::uint32_t m, const Site& at) {
      return std::string(names[static_cast<int>(o)]) + " with mask " + hex(m) + " at " + to_string(at);
    };
    const unsigned t = w * warp_size + l;
    const Site site = b.thread[thread_now].site;
    stop(FaultKind::warp_mask, site,
         "calls " + call(mine.operation, mine.mask, site) + " while thread " + thread_name(t) +
             " of its warp waits in " + call(other.operation, other.mask, b.thread[t].site),
         {});
  }
}

REDUCTIO_HOT std::uint64_t Scheduler::warp_operation(WarpOperation operation, unsigned mask, std::uint64_t bits,
                                                     unsigned source, Site site) {
  if (!running) [[unlikely]] fail_outside();
  settle();
  BlockState& b = *block_;
  const unsigned t = thread_now, w = t / warp_size, me = t % warp_size;
  Warp& warp = b.warps[w];
  if (!(mask >> me & 1)) [[unlikely]] fail_mask(mask, site);
  if (operation == WarpOperation::sync && left_out(Synchronization::warp_barrier, site)) [[unlikely]]
    return 0;
  Site& here = b.thread[t].site;  // passed on by reference: a Site by value takes room in the frame
  here = site;
  mask &= warp.existing;  // lanes that a block of this size does not have are as good as absent, as in CUDA
  if (!warp.waiting) {
    warp.several = false;
  } else {
    const Warp::Lane& first = warp.lanes[std::countr_zero(warp.waiting)];
    warp.several |= first.mask != mask || first.operation != operation;
  }
  Warp::Lane& lane = warp.lanes[me];
  lane.mask = mask;
  lane.operation = operation;
  lane.source = static_cast<std::uint8_t>(source);
  lane.bits = bits;
  b.waiting[t] = Waiting::warp;
  warp.waiting |= 1u << me;
  if (warp.several) [[unlikely]] check_meeting(b, warp, w);
  if ((mask & ~(warp.waiting | warp.exited)) == 0) check_warp(b, warp, w, mask);
  suspend();
  return lane.result;
}

std::uint64_t warp_operation(WarpOperation o, unsigned mask, std::uint64_t bits, unsigned source, Site site) {
  return scheduler().warp_operation(o, mask, bits, source, site);
}

}  // namespace reductio::sim
