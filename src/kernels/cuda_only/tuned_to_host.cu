/// tuned to the host: tuned's sum for a caller who wants the value there.
///
///   tuned/sum-to-host  the kernel writes the result to page-locked memory of the host, which the calling thread polls:
///                      there is no copy, and no waiting for the stream
///
/// On CUDA alone, because the simulated device's kernels have no memory of the host, and nobody runs while the host
/// polls. The kernels are those of tuned/sum, but for where their result goes (tuned::OnHost).

#include <cstring>
#include <memory>

#include "device/device.h"
#include "device/state.h"
#include "tuned/tuned.h"

namespace reductio {
namespace {
using namespace device;

std::unique_ptr<Plan> prepare_to_host(const Problem& p, const Settings&, const DeviceInfo& device) {
  return dispatch(p, [&]<class T, class Load>() {
    const tuned::Gpu gpu{static_cast<unsigned>(device.sm_count), static_cast<unsigned>(device.threads_per_sm),
                         static_cast<unsigned>(device.capability)};
    const tuned::Reduction<T, T, Load> reduction(p.n, gpu);
    const Buffer<std::uint64_t> workspace = zeroed_buffer<std::uint64_t>(tuned::workspace_words(gpu));
    const auto arrival = std::make_shared<HostBuffer<std::uint64_t>>(tuned::arrival_words, true);
    const PlanInfo info{.grid_blocks = reduction.shape().grid, .block_threads = reduction.shape().block,
                        .longest_chain = reduction.longest_chain(), .workspace_bytes = workspace.bytes(),
                        .result = ResultLocation::host_part};
    return plan_of(
        info,
        [=](void* in, void*, Stream stream) {
          reduction.begin_to_host(static_cast<const T*>(in), arrival->data(), workspace.ptr(), native(stream));
        },
        [=](void* result, Stream stream) {
          const T sum = reduction.end_to_host(arrival->data(), native(stream));
          std::memcpy(result, &sum, sizeof sum);
        });
  });
}

const Register to_host({.id = "tuned/sum-to-host", .title = "tuned, to the host", .cites = "src/tuned/tuned.h",
                        .how = {.thread = "16-byte loads, four or eight", .block = "warp shuffles",
                                .grid = "cluster, packed atomic or fan-in; the host polls"},
                        .operations = {Operation::sum, Operation::sum_of_squares},
                        .types = {ElementType::f32, ElementType::f64, ElementType::i32},
                        .result = ResultLocation::host_part,
                        .persistent_state = "the sum of the blocks that have arrived, and their slots: zero between "
                                            "calls",
                        .cuda_only = "the host polls memory that the kernel writes"},
                       prepare_to_host);

}  // namespace
}  // namespace reductio
