/// comparison: every variant beside every baseline, over a million-fold range of sizes. Each variant with its
/// document's own operation, in every way of finishing that it has and otherwise as its document launches it.

#include "measure/plan/selection.h"

namespace reductio {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  // The simulated device verifies and is slow; a CPU has no clock of its own.
  const auto sizes = chosen(selection.sizes, device == DeviceKind::sim ? powers_of_two(10, 12) : powers_of_two(10, 30));
  const auto types = chosen(selection.types, {ElementType::i32, ElementType::f32, ElementType::f64});
  std::vector<TimingMode> modes{TimingMode::end_to_end};
  if (device != DeviceKind::cpu) modes.insert(modes.begin(), TimingMode::device);

  std::vector<Point> out;
  for (const Variant* v : chosen_variants(selection, device)) {
    std::vector<Settings> settings = expand_settings(*v, selection, {"finish"});
    if (v->id == "squares/strided" && selection.settings.empty()) {
      settings.push_back(v->settings());
      settings.back().set("block", "512");  // the document's other launch
    }
    for (const Operation operation : chosen(selection.operations, {v->operations.front()}))
      for (const ElementType type : types)
        for (const std::size_t n : sizes)
          for (const TimingMode mode : modes)
            for (const Settings& s : settings)
              out.push_back({.variant = v,
                             .device = device,
                             .problem = {operation, type, n},
                             .settings = s,
                             .timing_mode = mode,
                             .cache_state = CacheState::cold_dirty,
                             .seed = selection.seed});
  }
  return out;
}

const RegisterExperiment comparison(
    {.name = "comparison",
     .summary = "every variant beside Thrust, CUB and cuBLAS, 2^10 to 2^30 elements, cold cache",
     .points = points});

}  // namespace
}  // namespace reductio
