/// tuned/tuned.h as variants, verified and timed like the documents' kernels; and add_up(), its call for src/python.
///
///   tuned/sum                one launch; type and size choose its finish: one block, a cluster, or packed atomics
///   tuned/sum-any-order      the same, where each call may add up in another order
///   tuned/sum-raw-workspace  the same, with a memset of its workspace before each call
///
/// reading=auto is what users of the header get (tuned/launch_table.h). The other settings made that table:
///
///   reading  how blocks share the input; cluster is strided where there are no clusters
///   vectors  a thread's share, of 16 bytes each
///   per-sm   the most blocks for each SM; of a cluster, in all; 0: one block
///   kept     of reading=tiled: the MiB of input that may stay in L2
///   overlap  no: the call begins after the kernel before it has ended

#include <memory>

#include "device/device.h"
#include "device/wide.h"
#include "tuned/prepared.h"

namespace reductio {
namespace {
using namespace device;

/// "all", or MiB.
std::size_t kept_bytes(const std::string& text) {
  return text == "all" ? SIZE_MAX : std::stoull(text) * tuned::MiB;
}

tuned::Choice choice_of(const Settings& s) {
  const std::string& reading = s.text("reading");
  tuned::Choice choice{reading != "auto", tuned::Reading::strided, s.count("vectors"), s.count("per-sm"),
                       kept_bytes(s.text("kept")), s.text("overlap") == "yes"};
  if (reading == "cluster") choice.reading = tuned::Reading::cluster;
  if (reading == "tiled") choice.reading = tuned::Reading::tiled;
  if (reading == "claimed") choice.reading = tuned::Reading::claimed;
  return choice;
}

/// What a call's workspace is before it: zero, as the call before has left it, or of any content.
enum class Memory { ready, raw };

template <class In, class Acc, class Operation>
std::unique_ptr<Plan> plan(const Problem& p, const tuned::Choice& choice, const DeviceInfo& device, Memory workspace) {
  const tuned::Prepared<In, Acc, Operation> call(p.n, tuned::gpu_of(device), choice);
  return plan_of(call.info, [=](void* in, void* out, Stream stream) {
    if (workspace == Memory::raw) zero(call.workspace.ptr(), call.workspace.size(), stream);
    call.reduction(static_cast<const In*>(in), static_cast<Acc*>(out), call.workspace.ptr(), stream);
  });
}

std::unique_ptr<Plan> prepare(const Problem& p, const tuned::Choice& choice, const DeviceInfo& device,
                              Memory workspace = Memory::ready) {
  if (p.operation == Operation::wide_sum)
    return dispatch_wide_sum(
        p, [&]<class In, class Acc>() { return plan<In, Acc, Identity>(p, choice, device, workspace); });
  return dispatch_wide(p, [&]<class In, class Acc>() {
    switch (p.operation) {
      case Operation::sum: return plan<In, Acc, Identity>(p, choice, device, workspace);
      case Operation::sum_of_squares: return plan<In, Acc, Square>(p, choice, device, workspace);
      case Operation::moments: return plan<In, Acc, tuned::Moments>(p, choice, device, workspace);
      default: break;
    }
    throw Refused("operation is not supported");
  });
}

const Variant both{
    .kind = VariantKind::ours,
    .how = {.thread = "16-byte loads, four or eight", .block = "warp shuffles",
            .grid = "cluster or packed atomics"},
    .operations = {Operation::sum, Operation::wide_sum, Operation::sum_of_squares, Operation::moments},
    .types = {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i8, ElementType::i64, ElementType::f16,
              ElementType::bf16},
    .persistent_state = tuned::persistent_state};

const Register tuned_sum(
    combined(both, {.id = "tuned/sum", .title = "tuned", .cites = "src/tuned/tuned.h",
                    .tunables = {Tunable::choice("reading", {"auto", "strided", "tiled", "claimed", "cluster"}, "auto"),
                                 Tunable::choice("vectors", {"1", "2", "4", "8"}, "4"),
                                 Tunable::choice("per-sm", {"0", "1", "2", "4", "8", "16"}, "4"),
                                 Tunable::choice("kept", {"all", "0", "16", "32"}, "all"),
                                 Tunable::choice("overlap", {"yes", "no"}, "yes")}}),
    [](const Problem& p, const Settings& s, const DeviceInfo& device) { return prepare(p, choice_of(s), device); });

const Register any_order(
    combined(both, {.id = "tuned/sum-any-order", .title = "tuned, in any order", .cites = "src/tuned/tuned.h",
                    .own_experiment = "tuned",
                    .tunables = {Tunable::choice("reading", {"auto", "claimed"}, "auto"),
                                 Tunable::choice("per-sm", {"1", "2"}, "2")},
                    .determinism = Determinism::none}),
    [](const Problem& p, const Settings& s, const DeviceInfo& device) {
      tuned::Choice choice{s.text("reading") != "auto", tuned::Reading::claimed, 8, s.count("per-sm")};
      choice.any_order = true;
      return prepare(p, choice, device);
    });

const Register raw_workspace(
    combined(both, {.id = "tuned/sum-raw-workspace", .title = "tuned, raw workspace", .cites = "src/tuned/tuned.h",
                    .own_experiment = "compare"}),
    [](const Problem& p, const Settings&, const DeviceInfo& device) { return prepare(p, {}, device, Memory::raw); });

}  // namespace

namespace tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

void add_up(ElementType type, const void* in, std::size_t n, void* out, std::uint64_t* workspace,
            const Gpu& gpu, void* stream) {
  dispatch_wide({Operation::sum, type, n}, [&]<class In, class Acc>() {
    const Reduction<In, Acc, Identity> call(n, gpu);
    call(static_cast<const In*>(in), static_cast<Acc*>(out), workspace, stream);
  });
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace tuned
}  // namespace reductio
