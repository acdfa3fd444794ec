#pragma once
/// What this project's own callers of tuned/tuned.h and exact/exact.h share. Not installed: users of tuned do not need
/// it.

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

/// One call, put onto the stream, for callers who know the element's type at run time (src/python). Defined where the
/// variants' kernels are, in kernels/tuned.cu and kernels/exact.cu: nvcc would take 17 s for a second copy.
void add_up(ElementType, const void* in, std::size_t n, void* out, std::uint64_t* workspace, const Gpu&,
            void* stream);
/// An array in GPU memory that is summed along its middle: `outer` matrices of n rows and `inner` columns, one behind
/// the other. pitch: from row to row; where `inner` is 1, from one sum's elements to the next one's.
struct Axis {
  std::size_t outer, n, inner, pitch;
};
/// Words of a workspace for either call along an axis, of any type. Zero before the first call.
std::size_t axis_workspace_words(const Gpu&);
std::size_t exact_axis_workspace_words(const Gpu&);
/// `squares`: of the elements' squares, which is of floats alone.
void add_up_along(ElementType, bool squares, const void* in, const Axis&, void* out, std::uint64_t* workspace,
                  const Gpu&, void* stream);
/// Exactly, of f32 or f64.
void add_up_exactly_along(ElementType, const void* in, const Axis&, void* out, std::uint64_t* workspace, const Gpu&,
                          void* stream);
/// The exact sum, sum of squares or moments, of f32 or f64.
void add_up_exactly(Operation, ElementType, const void* in, std::size_t n, void* out,
                    std::uint64_t* workspace, const Gpu&, void* stream);

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
