#pragma once
/// What the harness's variants of tuned/tuned.h share. Not installed: users of tuned do not need it.

#include <cstdint>

#include "device/device.h"
#include "tuned/tuned.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

inline Gpu gpu_of(const DeviceInfo& device) {
  return {static_cast<unsigned>(device.sm_count), static_cast<unsigned>(device.threads_per_sm),
          static_cast<unsigned>(device.capability), static_cast<unsigned>(device.cluster_blocks), device.l2_bytes};
}

/// Variant::persistent_state of tuned's variants.
inline constexpr const char* persistent_state =
    "the words that sums are added up in, and the number of claims: zero between calls";

/// A reduction, its workspace, and their PlanInfo. Copies share the workspace.
template <class In, class Acc, class Operation>
struct Prepared {
  Reduction<In, Acc, Operation> reduction;
  device::Buffer<std::uint64_t> workspace;
  PlanInfo info;

  Prepared(std::size_t n, const Gpu& gpu, const Choice& choice = {})
      : reduction(n, gpu, choice), workspace(device::zeroed_buffer<std::uint64_t>(workspace_words)),
        info{.grid_blocks = reduction.shape().grid, .block_threads = reduction.shape().block,
             .longest_chain = reduction.longest_chain(), .workspace_bytes = workspace.bytes()} {}
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
