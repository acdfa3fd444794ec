/// CUB's sums of rows and segments, which others build theirs on.
///
///   cub/segmented        rows and segments, by where each begins and ends
///   cub/segmented-fixed  rows without a pitch, by their length; CUB 3.2 and later
///
/// The same of each release that is compiled: cub@VERSION/segmented (docs/releases.md).

#include <cub/version.cuh>
#include <iterator>

#include "baselines/cub_plan.h"
#include "baselines/cub_segmented.h"
#include "device/device.h"

namespace reductio {
namespace {

const std::vector<ElementType> cub_types{ElementType::f32, ElementType::f64, ElementType::i32};

template <template <class> class Function>
ByType<CubLinesFunction> by_type() {
  ByType<CubLinesFunction> out;
  out[ElementType::f32] = Function<float>::call;
  out[ElementType::f64] = Function<double>::call;
  out[ElementType::i32] = Function<std::uint32_t>::call;
  return out;
}

template <class T>
struct ByOffsets {
  static constexpr CubLinesFunction call = sum_by_offsets<T>;
};
template <class T>
struct ByFixedSize {
  static constexpr CubLinesFunction call = sum_by_fixed_size<T>;
};

}  // namespace

void register_segmented(const std::string& id, const std::string& fixed_id, const std::string& title,
                        const std::string& cites, const ByType<CubLinesFunction>& by_offsets,
                        const ByType<CubLinesFunction>& by_fixed_size, bool is_base) {
  const auto describe = [&](const std::string& own_id, const std::string& how, std::vector<Operation> operations) {
    return Variant{
        .id = own_id,
        .title = title + how,
        .cites = "cub::DeviceSegmentedReduce::Sum" + cites,
        .kind = VariantKind::library,
        .base_of = is_base ? operations : std::vector<Operation>{},
        .own_experiment = "shapes",
        .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "a row or segment a block"},
        .operations = operations,
        .types = cub_types,
        .determinism = Determinism::per_launch_shape};
  };
  const auto prepare = [](const ByType<CubLinesFunction>& calls) {
    return [=](const Problem& p, const Settings&, const DeviceInfo&) -> std::unique_ptr<Plan> {
      CubLines lines{.count = p.outputs(), .length = p.columns(), .pitch = p.pitch(),
                     .segments = p.operation == Operation::segment_sums, .offsets = p.shape.offsets_on_device};
      const CubLinesFunction call = calls[p.type];
      std::size_t bytes = 0;
      if (lines.count)
        device::check(call(nullptr, bytes, lines, cudaStream_t{}), "asking CUB for the size of its temporary storage");
      const device::Buffer<unsigned char> temporary(bytes);
      // Not documented. A warp a row is the least that is seen; short rows have a thread.
      const std::size_t longest = longest_line(p);
      const PlanInfo info{.longest_chain = std::min(longest, longest / 32 + 128), .workspace_bytes = bytes};
      return plan_of(info, [=, result_bytes = p.result_bytes()](void* in, void* out, Stream stream) mutable {
        if (!lines.count) return;
        if (longest == 0) return device::zero(static_cast<unsigned char*>(out), result_bytes, stream);
        lines.in = in;
        lines.out = out;
        std::size_t size = bytes;
        device::check(call(temporary.ptr(), size, lines, device::native(stream)), "CUB");
      });
    };
  };
  const bool has_fixed = by_fixed_size[ElementType::f32] != nullptr;
  Variant by_any = describe(id, "segments", {Operation::segment_sums, Operation::row_sums});
  if (is_base && has_fixed) by_any.base_of = {Operation::segment_sums};
  const device::Register registered(std::move(by_any), prepare(by_offsets));
  if (!has_fixed) return;
  Variant fixed = describe(fixed_id, "segments of one size", {Operation::row_sums});
  fixed.declines = [](const Problem& p, const Settings&) -> std::string {
    if (p.pitch() != p.columns()) return "CUB's segments of one size lie one after the other, without a pitch";
    return p.columns() > 0x7fffffff ? "CUB counts the elements of a segment by an int" : "";
  };
  const device::Register registered_fixed(std::move(fixed), prepare(by_fixed_size));
}

namespace {
const bool registered = [] {
  register_segmented("cub/segmented", "cub/segmented-fixed", "CUB ", cccl_version(), by_type<ByOffsets>(),
                     by_type<ByFixedSize>(), true);
  return true;
}();
}  // namespace

}  // namespace reductio
