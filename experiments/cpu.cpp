/// cpu: the CPU's baselines and the documents' host loops, in every setting that they have, by a steady clock, at every
/// other power of two. Warm, because that is how a host loop meets its data. A loop that overwrites its input cannot be
/// warm: restoring the input would decide what the cache holds. It is timed cold, which costs far more than the call:
/// at every fourth of these sizes, the largest among them, and at its document's own.

#include <thread>

#include "measure/plan/selection.h"

namespace reductio {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const auto sizes = chosen(selection.sizes, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24,
                                              1 << 26});
  const auto types = chosen(selection.types, {ElementType::i32, ElementType::f32, ElementType::f64});
  std::vector<Point> out;
  for (const Variant* v : chosen_variants(selection, device)) {
    std::vector<std::string> all;
    for (const Tunable& t : v->tunables) all.push_back(t.name);
    const auto settings = expand_settings(*v, selection, all, std::thread::hardware_concurrency());
    for (const Operation operation : chosen(selection.operations, {v->operations.front()}))
      for (const ElementType type : types)
        for (std::size_t i = 0; i < sizes.size(); ++i) {
          if (v->consumes_input && selection.sizes.empty() && i % 4 != 0 && sizes[i] != v->document_n) continue;
          for (const Settings& s : settings)
            out.push_back({.variant = v,
                           .device = device,
                           .problem = {operation, type, sizes[i]},
                           .settings = s,
                           .timing_mode = TimingMode::end_to_end,
                           .cache_state = v->consumes_input ? CacheState::cold_dirty : CacheState::warm,
                           .seed = selection.seed});
        }
  }
  return out;
}

const RegisterExperiment cpu({.name = "cpu",
                              .summary = "the CPU's baselines and the documents' host loops, 2^10 to 2^26 elements",
                              .points = points,
                              .rules = {.point_budget_s = 0.02, .slow_s = 0.01, .allocations = 7},
                              .device = DeviceKind::cpu});

}  // namespace
}  // namespace reductio
