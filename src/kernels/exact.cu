/// exact/exact.h as a variant, verified and timed like the documents' kernels; and add_up_exactly(), its call for
/// src/python.
///
///   exact/sum  the real sum, sum of squares or both, rounded once: the same bits in any order, on any device
///
/// per-sm=auto is what users of the header get. No setting changes a bit of the result:
///
///   per-sm   blocks for each SM; 0: one block
///   vectors  a thread's share, of 16 bytes each
///   ahead    yes: blocks claim tiles, and read one while they add up the one before; of auto the size decides that
///   parts    3: three calls without rounding, each of a part of the input, and a fourth that adds up their sums

#include <memory>

#include "device/device.h"
#include "device/wide.h"
#include "exact/exact.h"
#include "tuned/prepared.h"

namespace reductio {
namespace {
using namespace device;

tuned::Choice launch_choice(const Settings& s) {
  const bool automatic = s.text("per-sm") == "auto";
  return {!automatic, tuned::Reading::strided, s.count("vectors"), automatic ? 0 : s.count("per-sm")};
}

template <class In, class Acc, class Operation>
std::unique_ptr<Plan> exact_plan(const Problem& p, const Settings& s, const DeviceInfo& device) {
  const tuned::Gpu gpu = tuned::gpu_of(device);
  const tuned::Choice choice = launch_choice(s);
  const auto workspace = zeroed_buffer<std::uint64_t>(tuned::workspace_words);
  using Call = tuned::ExactReduction<In, Operation>;
  const bool claims = s.text("ahead") == "yes";
  const Call whole(p.n, gpu, choice, claims);
  // Additions are of whole numbers. Only the result is rounded.
  PlanInfo info{.grid_blocks = whole.shape().grid, .block_threads = whole.shape().block, .longest_chain = 0,
                .workspace_bytes = workspace.bytes()};
  if (s.text("parts") == "1")
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      whole(static_cast<const In*>(in), static_cast<Acc*>(out), workspace.ptr(), stream);
    });
  const std::size_t n = p.n, third = n / 3;
  const Buffer<tuned::exact::Partial> parts(3 * Call::results);
  const Call one(third, gpu, choice, claims), rest(n - 2 * third, gpu, choice, claims);
  info.grid_blocks = one.shape().grid;
  info.block_threads = one.shape().block;
  info.workspace_bytes += parts.bytes();
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    const In* const from = static_cast<const In*>(in);
    one(from, parts.ptr(), workspace.ptr(), stream);
    one(from + third, parts.ptr() + Call::results, workspace.ptr(), stream);
    rest(from + 2 * third, parts.ptr() + 2 * Call::results, workspace.ptr(), stream);
    tuned::round_partials<Acc>(parts.ptr(), 3, static_cast<Acc*>(out), stream, Call::results);
  });
}

template <class In, class Acc>
std::unique_ptr<Plan> exact_plan_of(const Problem& p, const Settings& s, const DeviceInfo& device) {
  switch (p.operation) {
    case Operation::sum_of_squares: return exact_plan<In, Acc, Square>(p, s, device);
    case Operation::moments: return exact_plan<In, Acc, tuned::Moments>(p, s, device);
    default: return exact_plan<In, Acc, Identity>(p, s, device);
  }
}

const Register exact_sum(
    {.id = "exact/sum", .title = "exact", .cites = "src/exact/exact.h", .kind = VariantKind::ours,
     .own_experiment = "exact",
     .how = {.thread = "16-byte loads, sums without rounding", .block = "digits", .grid = "packed atomics"},
     .operations = {Operation::sum, Operation::wide_sum, Operation::sum_of_squares, Operation::moments},
     .types = {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16},
     .tunables = {Tunable::choice("per-sm", {"auto", "0", "1", "2", "3", "4", "8"}, "auto"),
                  Tunable::choice("vectors", {"1", "4", "16"}, "4"), Tunable::choice("parts", {"1", "3"}, "1"),
                  Tunable::choice("ahead", {"yes", "no"}, "no")},
     .persistent_state = tuned::persistent_state,
     .determinism = Determinism::always},
    [](const Problem& p, const Settings& s, const DeviceInfo& device) -> std::unique_ptr<Plan> {
      if (p.operation == Operation::wide_sum) return exact_plan<float, double, Identity>(p, s, device);
      switch (p.type) {
        case ElementType::f16: return exact_plan_of<Half, float>(p, s, device);
        case ElementType::bf16: return exact_plan_of<BFloat16, float>(p, s, device);
        case ElementType::f32: return exact_plan_of<float, float>(p, s, device);
        default: return exact_plan_of<double, double>(p, s, device);
      }
    });

template <class T, class Operation>
void call_once(const void* in, std::size_t n, void* out, std::uint64_t* workspace, const tuned::Gpu& gpu,
               void* stream) {
  const tuned::ExactReduction<T, Operation> call(n, gpu);
  call(static_cast<const T*>(in), static_cast<T*>(out), workspace, stream);
}

}  // namespace

namespace tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

void add_up_exactly(Operation operation, ElementType type, const void* in, std::size_t n, void* out,
                    std::uint64_t* workspace, const Gpu& gpu, void* stream) {
  const auto call = [&]<class T>() {
    switch (operation) {
      case Operation::sum: return call_once<T, Identity>(in, n, out, workspace, gpu, stream);
      case Operation::sum_of_squares: return call_once<T, Square>(in, n, out, workspace, gpu, stream);
      case Operation::moments: return call_once<T, Moments>(in, n, out, workspace, gpu, stream);
      default: break;
    }
    throw Refused("operation is not supported");
  };
  if (type == ElementType::f32) return call.template operator()<float>();
  if (type == ElementType::f64) return call.template operator()<double>();
  throw Refused("element type is not supported");
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace tuned
}  // namespace reductio
