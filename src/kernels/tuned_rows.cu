/// tuned/rows.h, columns.h and segments.h as variants: one launch for any shape.
///
///   tuned/rows      a row's bits are its own
///   tuned/columns   the bits of a column follow from the matrix's shape
///   tuned/segments  the bits of a row with the same elements
///
/// And add_up_along(), the call of the first two for src/python.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "device/device.h"
#include "device/wide.h"
#include "tuned/columns.h"
#include "tuned/prepared.h"
#include "tuned/rows.h"
#include "tuned/segments.h"

namespace reductio {
namespace {
using namespace device;

/// Of tuned::RowSums or ColumnSums, which have the same calls.
template <class In, class Acc, class Sums>
std::unique_ptr<Plan> plan_of_sums(const Sums& sums, std::size_t workspace_words) {
  const auto workspace = zeroed_buffer<std::uint64_t>(workspace_words);
  const PlanInfo info{.grid_blocks = sums.grid(),
                      .block_threads = sums.block(),
                      .longest_chain = sums.longest_chain(),
                      .workspace_bytes = workspace.bytes()};
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    sums(static_cast<const In*>(in), static_cast<Acc*>(out), workspace.ptr(), stream);
  });
}

template <class In, class Acc>
std::unique_ptr<Plan> plan_of_segments(const Problem& p, const tuned::Gpu& gpu) {
  const auto workspace = zeroed_buffer<std::uint64_t>(tuned::rows_workspace_words(gpu));
  const PlanInfo info{
      .grid_blocks = tuned::segment_blocks(gpu),
      .block_threads = tuned::segment_block,
      .longest_chain = tuned::RowSums<In, Acc>(1, longest_line(p), longest_line(p), gpu).longest_chain(),
      .workspace_bytes = workspace.bytes()};
  return plan_of(info,
                 [=, segments = p.segments(), offsets = p.shape.offsets_on_device](void* in, void* out, Stream stream) {
                   tuned::sum_segments(static_cast<const In*>(in), offsets, segments, static_cast<Acc*>(out),
                                       workspace.ptr(), gpu, stream);
                 });
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings&, const DeviceInfo& device) {
  const tuned::Gpu gpu = tuned::gpu_of(device);
  return dispatch_wide(p, [&]<class In, class Acc>() {
    switch (p.operation) {
      case Operation::row_sums:
        return plan_of_sums<In, Acc>(tuned::RowSums<In, Acc>(p.rows(), p.columns(), p.pitch(), gpu),
                                     tuned::rows_workspace_words(gpu));
      case Operation::column_sums:
        return plan_of_sums<In, Acc>(tuned::ColumnSums<In, Acc>(p.rows(), p.columns(), p.pitch(), gpu),
                                     tuned::columns_workspace_words<In, Acc>());
      case Operation::segment_sums: return plan_of_segments<In, Acc>(p, gpu);
      default: break;
    }
    throw Refused("operation is not supported");
  });
}

Variant tuned_lines(const std::string& id, const std::string& title, const std::string& cites, Operation operation,
                    const Strategy& how) {
  return {.id = id,
          .title = title,
          .cites = cites,
          .kind = VariantKind::ours,
          .own_experiment = "shapes",
          .how = how,
          .operations = {operation},
          .types = {ElementType::f32, ElementType::f64, ElementType::i32, ElementType::i8, ElementType::i64,
                    ElementType::f16, ElementType::bf16},
          .persistent_state = "the words in which blocks meet, and the counts of columns: zero between calls",
          .determinism = Determinism::always};
}

const Register registered_rows(tuned_lines("tuned/rows", "tuned, rows", "src/tuned/rows.h", Operation::row_sums,
                                           {"16-byte loads", "warp shuffles", "even share of tiles, packed atomics"}),
                               prepare);
const Register registered_columns(tuned_lines("tuned/columns", "tuned, columns", "src/tuned/columns.h",
                                              Operation::column_sums,
                                              {"16-byte loads, rows in turn", "tree in shared memory", "last block"}),
                                  prepare);
const Register registered_segments(tuned_lines("tuned/segments", "tuned, segments", "src/tuned/segments.h",
                                               Operation::segment_sums,
                                               {"16-byte loads to shared memory", "lists by tree, warp shuffles",
                                                "even share of elements, packed atomics"}),
                                   prepare);

}  // namespace

namespace tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {
namespace {

template <class In, class Acc, class Operation>
void sums_along(const void* in, const Axis& axis, void* out, std::uint64_t* workspace, const Gpu& gpu, void* stream) {
  const auto from = static_cast<const In*>(in);
  const auto to = static_cast<Acc*>(out);
  if (axis.inner == 1)
    return RowSums<In, Acc, Operation>(axis.outer, axis.n, axis.pitch, gpu)(from, to, workspace, stream);
  // Calls for columns leave sums behind, where none for rows looks.
  ColumnSums<In, Acc, Operation>(axis.n, axis.inner, axis.pitch, gpu, axis.outer)(
      from, to, workspace + rows_workspace_words(gpu), stream);
}

}  // namespace

std::size_t axis_workspace_words(const Gpu& gpu) {
  return rows_workspace_words(gpu) + columns_workspace_words<std::int8_t, std::uint32_t>();  // the largest
}

void add_up_along(ElementType type, bool squares, const void* in, const Axis& axis, void* out, std::uint64_t* workspace,
                  const Gpu& gpu, void* stream) {
  dispatch_wide({Operation::sum, type, axis.n}, [&]<class In, class Acc>() {
    if (!squares) return sums_along<In, Acc, Identity>(in, axis, out, workspace, gpu, stream);
    if constexpr (std::is_floating_point_v<Acc>)
      return sums_along<In, Acc, Square>(in, axis, out, workspace, gpu, stream);
    throw Refused("element type has no sums of squares along an axis");
  });
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace tuned
}  // namespace reductio
