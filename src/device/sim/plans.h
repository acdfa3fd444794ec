#pragma once
/// Whose memory is whose. Verification says which plan allocates and enqueues, and which memory is an input. The
/// simulated device then reports kernels that work in another plan's memory, or that write to an input. Where nobody
/// says so, as where a call is not verified, all may.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace reductio::sim {

using PlanId = std::uint32_t;  ///< 0: nobody's

PlanId new_plan();

/// While one lives, workspace that is allocated and work that is enqueued are this plan's. One at a time.
class ActsAs {
 public:
  explicit ActsAs(PlanId);
  ~ActsAs();
  ActsAs(const ActsAs&) = delete;
  ActsAs& operator=(const ActsAs&) = delete;

 private:
  PlanId before_;
};

/// The workspace that the plan has allocated and not released, in bytes.
struct Workspace {
  std::size_t bytes = 0;
  std::size_t single = 0;  ///< of that, in allocations of one element at most: an empty Buffer has one
};
Workspace workspace_of(PlanId);
/// The words of the plan's workspace, and sets them; always in the same order.
std::vector<std::uint32_t> words_of(PlanId);
void set_words(PlanId, const std::vector<std::uint32_t>&);
/// Puts onto the stream: all of the plan's workspace is as if it had just been allocated.
void enqueue_forgetting(Stream, PlanId);
/// From now on no kernel may write to the allocation that holds `p`.
void protect_input(const void* p);
/// From now on kernels may touch, of the allocation that holds them, these bytes alone. Throws Fault where they do not
/// lie in one.
void set_reach(const void* p, std::size_t bytes);

}  // namespace reductio::sim
