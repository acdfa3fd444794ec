/// ablation: what each choice at a reduction's three levels is worth. Every composed variant beside each other, from a
/// launch's floor to the memory's bandwidth, on the device, and end to end, which alone compares a finish on the host
/// with the others. Where a document's call makes the same choices (Variant::embodies), it stands beside, from 2^20
/// elements on: below, documents launch another number of blocks. Of floats; --full adds integers.

#include <algorithm>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"
#include "measure/plan/ways.h"

namespace reductio::drivers::ablation {
namespace {

constexpr std::size_t least_of_documents = 1 << 20;

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<ElementType> types{ElementType::f32};
  if (selection.full) types.push_back(ElementType::i32);
  std::vector<Point> out = product_of(
      {.types = types,
       .sizes = sizes_on(device, {1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28}),
       .modes = {TimingMode::device, TimingMode::end_to_end},
       .settings = of_document("ablation", selection,
                               [&](const Variant& v) { return std::vector{v.settings(selection.settings)}; })},
      selection, device);
  const std::vector<const Variant*> wanted = selected_variants(selection, device);
  for (std::size_t i = 0, composed = out.size(); i < composed; ++i) {
    const Point p = out[i];
    if (p.variant->embodies.empty() || (device != DeviceKind::sim && p.problem.n < least_of_documents)) continue;
    const NamedCall call = named_call(p.variant->embodies, p.problem.n, static_cast<std::size_t>(selection.sm_count));
    if (std::find(wanted.begin(), wanted.end(), call.variant) == wanted.end()) continue;
    Point of_document = p;
    of_document.variant = call.variant;
    of_document.settings = call.settings;
    if (timing_refusal(*call.variant, call.settings, p.timing_mode, p.cache_state).empty())
      out.push_back(std::move(of_document));
  }
  return out;
}

const RegisterExperiment ablation({.name = "ablation",
                                   .summary = "what each choice inside a thread, inside a block and between blocks is "
                                              "worth, 2^12 to 2^28 elements",
                                   .points = points,
                                   .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::ablation
