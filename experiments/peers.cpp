/// peers: what does a Python user call, and what does it cost? Sums called from Python (baselines/python, and a user's
/// own) beside CUB's and tuned: their kernels alone as graphs of one call, C++ ones also as they are, many calls in a
/// warm graph, and each call end to end.

#include <vector>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::peers {
namespace {

std::vector<Settings> settings(const Variant& v, const Selection& selection) {
  const bool measured = !v.interpreter.empty() || v.id == "cub/sum" || v.id == "tuned/sum";
  if (measured || !selection.variants_regex.empty()) return {v.settings(selection.settings)};
  return {};
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<std::size_t> sizes;
  for (unsigned power = 10; power <= 28; power += selection.full ? 1 : 3) sizes.push_back(std::size_t{1} << power);
  return product_of({.types = {ElementType::f32, ElementType::i32, ElementType::i8},
                     .sizes = sizes_on(device, sizes),
                     .modes = {TimingMode::device, TimingMode::replay, TimingMode::graph, TimingMode::end_to_end},
                     .cache_states = {CacheState::cold_dirty, CacheState::warm},
                     .settings = [&](const Variant& v) { return settings(v, selection); },
                     .has = is_cold_or_in_a_warm_graph},
                    selection, device);
}

const RegisterExperiment peers({.name = "peers",
                                .summary = "what Python users call beside CUB and tuned; by python -m reductio",
                                .points = points,
                                .rules = {.max_samples = 96, .time_budget_s = 0.1}});

}  // namespace
}  // namespace reductio::drivers::peers
