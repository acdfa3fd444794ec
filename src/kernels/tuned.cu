/// tuned: the project's own reduction, tuned/tuned.h, as a variant, so that it is verified, measured and compared like
/// the documents' kernels. No document has it.
///
///   tuned/sum  one launch: loads of 16 bytes, warp shuffles, and a fan-in over tagged slots
///
/// block=auto and per-sm=auto are what a user of the header gets, by tuned/launch_table.h; the other values are there to
/// make that table by measurement.

#include <memory>

#include "device/device.h"
#include "device/state.h"
#include "tuned/tuned.h"

namespace reductio {
namespace {
using namespace device;

unsigned chosen_or_auto(const Settings& s, const char* name) { return s.text(name) == "auto" ? 0 : s.count(name); }

std::unique_ptr<Plan> prepare_tuned(const Problem& p, const Settings& s, const DeviceInfo& device) {
  return dispatch(p, [&]<class T, class Load>() {
    const tuned::Gpu gpu{static_cast<unsigned>(device.sm_count), static_cast<unsigned>(device.threads_per_sm)};
    const tuned::Reduction<T, T, Load> reduction(p.n, gpu, {chosen_or_auto(s, "block"), chosen_or_auto(s, "per-sm")});
    const Buffer<std::uint64_t> workspace = zeroed_buffer<std::uint64_t>(tuned::workspace_words(gpu));
    const PlanInfo info{.grid_blocks = reduction.shape().grid, .block_threads = reduction.shape().block,
                        .longest_chain = reduction.longest_chain(), .workspace_bytes = workspace.bytes()};
    return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
      reduction(global<const T>(in, n), global<T>(out, 1), workspace.ptr(), stream);
    });
  });
}

const Register tuned_sum({.id = "tuned/sum", .title = "tuned", .cites = "src/tuned/tuned.h",
                          .how = {.thread = "grid stride by 16 bytes, four loads", .block = "warp shuffles",
                                  .grid = "fan-in over tagged slots"},
                          .operations = {Operation::sum, Operation::sum_of_squares},
                          .types = {ElementType::f32, ElementType::f64, ElementType::i32},
                          .tunables = {Tunable::choice("block", {"auto", "128", "256", "512"}, "auto"),
                                       Tunable::choice("per-sm", {"auto", "1", "2", "4", "8"}, "auto")},
                          .persistent_state = "the number of calls and the blocks' slots, zero when prepared"},
                         prepare_tuned);

}  // namespace
}  // namespace reductio
