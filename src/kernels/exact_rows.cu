/// exact/lines.h as variants: of each row, column or segment the bits of exact/sum, in one launch.
///
///   exact/rows      a warp for each row, or blocks that share the tiles of longer ones
///   exact/columns   a warp for each column of a tile that lies in shared memory
///   exact/segments  warps take short ones, blocks the tiles of long ones
///
/// And add_up_exactly_along(), the call of the first two for src/python.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.h"
#include "device/wide.h"
#include "exact/lines.h"
#include "tuned/prepared.h"

namespace reductio {
namespace {
using namespace device;

/// `call` puts one call onto a stream: of (in, out, workspace, stream).
template <class In, class Acc, class Call>
std::unique_ptr<Plan> plan_of_lines(const tuned::Gpu& gpu, const exact::LinesLaunch& launch, const Call& call) {
  const auto workspace = zeroed_buffer<std::uint64_t>(exact::lines_workspace_words(gpu));
  // Additions are of whole numbers. Only the results are rounded.
  const PlanInfo info{.grid_blocks = launch.blocks,
                      .block_threads = launch.threads,
                      .longest_chain = 0,
                      .workspace_bytes = workspace.bytes()};
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    call(static_cast<const In*>(in), static_cast<Acc*>(out), workspace.ptr(), stream);
  });
}

template <class In, class Acc>
std::unique_ptr<Plan> plan_of_exact(const Problem& p, const tuned::Gpu& gpu) {
  const std::size_t rows = p.rows(), columns = p.columns(), pitch = p.pitch();
  if (p.operation == Operation::row_sums)
    return plan_of_lines<In, Acc>(gpu, exact::rows_launch<In>(rows, columns, gpu),
                                  [=](const In* in, Acc* out, std::uint64_t* workspace, Stream stream) {
                                    exact::sum_rows(in, rows, columns, pitch, out, workspace, gpu, stream);
                                  });
  if (p.operation == Operation::column_sums)
    return plan_of_lines<In, Acc>(gpu, exact::columns_launch(tuned::exact_columns<In>(rows, columns, pitch, gpu, 1)),
                                  [=](const In* in, Acc* out, std::uint64_t* workspace, Stream stream) {
                                    exact::sum_columns(in, rows, columns, pitch, out, workspace, gpu, stream);
                                  });
  return plan_of_lines<In, Acc>(
      gpu, exact::segments_launch(gpu),
      [=, segments = p.segments(), offsets = p.shape.offsets_on_device](const In* in, Acc* out,
                                                                        std::uint64_t* workspace, Stream stream) {
        exact::sum_segments(in, offsets, segments, out, workspace, gpu, stream);
      });
}

std::unique_ptr<Plan> prepare_exact(const Problem& p, const Settings&, const DeviceInfo& device) {
  const tuned::Gpu gpu = tuned::gpu_of(device);
  switch (p.type) {
    case ElementType::f16: return plan_of_exact<Half, float>(p, gpu);
    case ElementType::bf16: return plan_of_exact<BFloat16, float>(p, gpu);
    case ElementType::f32: return plan_of_exact<float, float>(p, gpu);
    case ElementType::f64: return plan_of_exact<double, double>(p, gpu);
    default: throw Refused("element type is not supported");
  }
}

Variant exact_lines(const std::string& id, const std::string& title, Operation operation, const Strategy& how) {
  return {.id = id,
          .title = title,
          .cites = "src/exact/lines.h",
          .kind = VariantKind::ours,
          .own_experiment = "shapes",
          .how = how,
          .operations = {operation},
          .types = {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16},
          .persistent_state = "the words in which blocks combine: zero between calls",
          .determinism = Determinism::always};
}

const Register exact_rows(exact_lines("exact/rows", "exact, rows", Operation::row_sums,
                                      {"16-byte loads, sums without rounding", "digits",
                                       "even share of tiles, packed atomics"}),
                          prepare_exact);
const Register exact_columns(exact_lines("exact/columns", "exact, columns", Operation::column_sums,
                                         {"a tile turned round in shared memory", "digits of each warp",
                                          "packed atomics"}),
                             prepare_exact);
const Register exact_segments(exact_lines("exact/segments", "exact, segments", Operation::segment_sums,
                                          {"16-byte loads, sums without rounding", "digits",
                                           "even share of elements, packed atomics"}),
                              prepare_exact);

}  // namespace

namespace tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

std::size_t exact_axis_workspace_words(const Gpu& gpu) { return reductio::exact::lines_workspace_words(gpu); }

void add_up_exactly_along(ElementType type, const void* in, const Axis& axis, void* out, std::uint64_t* workspace,
                          const Gpu& gpu, void* stream) {
  const auto call = [&]<class T>() {
    const auto from = static_cast<const T*>(in);
    const auto to = static_cast<T*>(out);
    if (axis.inner == 1)
      return reductio::exact::sum_rows(from, axis.outer, axis.n, axis.pitch, to, workspace, gpu, stream);
    reductio::exact::sum_columns(from, axis.n, axis.inner, axis.pitch, to, workspace, gpu, stream, axis.outer);
  };
  if (type == ElementType::f32) return call.template operator()<float>();
  if (type == ElementType::f64) return call.template operator()<double>();
  throw Refused("element type is not supported");
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace tuned
}  // namespace reductio
