/// tuned to the host: tuned's sum for a caller who wants the value there.
///
///   tuned/sum-to-host  the kernel writes the result to page-locked memory of the host, which the calling thread polls:
///                      there is no copy, and no waiting for the stream
///
/// On CUDA alone, because the simulated device's kernels have no memory of the host, and nobody runs while the host
/// polls. The kernels are those of tuned/sum, but for where their result goes (tuned::OnHost). overlap=no launches them
/// without the attribute that lets a call begin while the kernel before it runs, of which a caller who awaits each call
/// has nothing.

#include <cstring>
#include <memory>

#include "device/device.h"
#include "tuned/prepared.h"

namespace reductio {
namespace {
using namespace device;

std::unique_ptr<Plan> prepare_to_host(const Problem& p, const Settings& s, const DeviceInfo& device) {
  tuned::Choice choice;
  choice.overlaps = s.text("overlap") == "yes";
  return dispatch(p, [&]<class T, class Load>() {
    tuned::Prepared<T, T, Load> call(p.n, tuned::gpu_of(device), choice);
    call.info.result = ResultLocation::host_part;
    const auto arrival = std::make_shared<HostBuffer<std::uint64_t>>(tuned::arrival_words, true);
    return plan_of(
        call.info,
        [=](void* in, void*, Stream stream) {
          call.reduction.begin_to_host(static_cast<const T*>(in), arrival->data(), call.workspace.ptr(),
                                       native(stream));
        },
        [=](void* result, Stream stream) {
          const T sum = call.reduction.end_to_host(arrival->data(), native(stream));
          std::memcpy(result, &sum, sizeof sum);
        });
  });
}

const Register to_host({.id = "tuned/sum-to-host", .title = "tuned, to the host", .cites = "src/tuned/tuned.h",
                        .how = {.thread = "16-byte loads, four or eight", .block = "warp shuffles",
                                .grid = "cluster, packed atomic or fan-in; the host polls"},
                        .operations = {Operation::sum, Operation::sum_of_squares},
                        .types = {ElementType::f32, ElementType::f64, ElementType::i32},
                        .tunables = {Tunable::choice("overlap", {"yes", "no"}, "yes")},
                        .result = ResultLocation::host_part,
                        .persistent_state = tuned::persistent_state,
                        .cuda_only = "the host polls memory that the kernel writes"},
                       prepare_to_host);

}  // namespace
}  // namespace reductio
