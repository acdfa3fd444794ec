/// timing: every variant in every way of timing it and every state of the cache. What the ways agree on is the variant's;
/// where they differ is what each of them adds: launching, the way to the host, the cache. Clocks that kernels read
/// themselves are asked for where kernels read them.

#include "measure/plan/selection.h"

namespace reductio {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const auto sizes = chosen(selection.sizes, {std::size_t{1} << 12, std::size_t{1} << 16, std::size_t{1} << 20,
                                              std::size_t{1} << 24});
  std::vector<TimingMode> modes{TimingMode::end_to_end};
  if (device != DeviceKind::cpu)  // a CPU has no clock of its own
    modes = {TimingMode::device, TimingMode::graph, TimingMode::end_to_end, TimingMode::clock, TimingMode::globaltimer};
  std::vector<Point> out;
  for (const Variant* v : chosen_variants(selection, device))
    for (const Operation operation : chosen(selection.operations, {v->operations.front()}))
      for (const ElementType type : chosen(selection.types, {v->types.front()}))
        for (const std::size_t n : sizes)
          for (const TimingMode mode : modes) {
            if ((mode == TimingMode::clock || mode == TimingMode::globaltimer) && !v->reads_clock) continue;
            for (const CacheState cache : {CacheState::cold_clean, CacheState::cold_dirty, CacheState::warm})
              for (const Settings& s : expand_settings(*v, selection, {"finish"}))
                out.push_back({.variant = v,
                               .device = device,
                               .problem = {operation, type, n},
                               .settings = s,
                               .timing_mode = mode,
                               .cache_state = cache,
                               .seed = selection.seed});
          }
  return out;
}

const RegisterExperiment timing(
    {.name = "timing",
     .summary = "every variant in the five ways of timing and three states of the cache, four sizes",
     .points = points,
     .rules = {.point_budget_s = 0.05}});

}  // namespace
}  // namespace reductio
