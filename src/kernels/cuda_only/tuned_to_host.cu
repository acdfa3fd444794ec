/// tuned to the host: tuned's sum for a caller who wants the value there.
///
///   tuned/sum-to-host  each block writes its sum to page-locked memory of the host; the calling thread polls for them
///                      and adds them up: there is no copy, no block waits for another, and nobody for the stream
///
/// On CUDA alone, because nobody runs while the host polls for a simulated device; its kernels and the adding up are
/// tested there by themselves (tests/tuned/tuned_test.cpp). overlap=no launches without the attribute that lets a call
/// begin while the kernel before it runs, of which a caller who awaits each call has nothing.

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
    const tuned::Gpu gpu = tuned::gpu_of(device);
    const tuned::Reduction<T, T, Load> call(p.n, gpu, choice);
    const auto arrival = std::make_shared<HostBuffer<std::uint64_t>>(tuned::arrival_words(gpu), true);
    const PlanInfo info{.grid_blocks = call.to_host_shape().grid, .block_threads = call.to_host_shape().block,
                        .longest_chain = call.longest_chain_to_host(), .result = ResultLocation::host_part};
    return plan_of(
        info,
        [=](void* in, void*, Stream stream) {
          call.begin_to_host(static_cast<const T*>(in), arrival->data(), native(stream));
        },
        [=](void* result, Stream stream) {
          const T sum = call.end_to_host(arrival->data(), native(stream));
          std::memcpy(result, &sum, sizeof sum);
        });
  });
}

const Register to_host({.id = "tuned/sum-to-host", .title = "tuned, to the host", .cites = "src/tuned/tuned.h",
                        .kind = VariantKind::ours,
                        .how = {.thread = "16-byte loads, four or eight", .block = "warp shuffles",
                                .grid = "host, which polls"},
                        .operations = {Operation::sum, Operation::sum_of_squares},
                        .types = {ElementType::f32, ElementType::f64, ElementType::i32},
                        .tunables = {Tunable::choice("overlap", {"yes", "no"}, "yes")},
                        .result = ResultLocation::host_part,
                        .cuda_only = "the host polls memory that the kernel writes"},
                       prepare_to_host);

}  // namespace
}  // namespace reductio
