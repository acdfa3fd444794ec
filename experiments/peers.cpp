/// peers: what does a Python user call, and what does it cost? Sums called from Python (baselines/python, and a user's
/// own) beside CUB's and tuned: their kernels alone as graphs of one call, C++ ones also as they are, many calls in a
/// warm graph, and each call end to end. Floats at five sizes, three other types at 2^24.

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
  const auto has = [&](const Point& p) {
    const bool asked = !leaves_out(selection, device) || p.problem.type == ElementType::f32 || p.problem.n == 1 << 24;
    return asked && is_cold_or_in_a_warm_graph(p);
  };
  return product_of({.types = {ElementType::f32, ElementType::i8, ElementType::f16, ElementType::f64},
                     .sizes = sizes_on(device, {1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28}),
                     .modes = {TimingMode::device, TimingMode::replay, TimingMode::graph, TimingMode::end_to_end},
                     .cache_states = {CacheState::cold_dirty, CacheState::warm},
                     .settings = [&](const Variant& v) { return settings(v, selection); },
                     .has = has},
                    selection, device);
}

const RegisterExperiment peers(
    {.name = "peers",
     .summary = "what Python users call beside CUB and tuned; by python -m reductio",
     .points = points,
     // A context is a process that loads every package.
     .rules = {.min_samples = 8, .max_samples = 32, .time_budget_s = 0.08, .slow_samples = 8, .contexts = 8}});

}  // namespace
}  // namespace reductio::drivers::peers
