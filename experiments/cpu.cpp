/// cpu: the CPU's baselines and the documents' host loops, in every setting that they have, by a steady clock, at every
/// other power of two. Warm, because that is how a host loop meets its data. A loop that overwrites its input cannot be
/// warm: restoring the input would decide what the cache holds. It is timed cold, which costs far more than the call:
/// at every fourth of these sizes, the largest among them, and at its document's own.

#include <set>
#include <thread>

#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const std::set<std::size_t> for_cold{1 << 10, 1 << 18, 1 << 26};
  return product_of(
      {.types = {ElementType::i32, ElementType::f32, ElementType::f64},
       .sizes = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26},
       .cache_states = {CacheState::cold_dirty, CacheState::warm},
       .settings =
           [&](const Variant& v) {
             std::vector<std::string> all;
             for (const Tunable& t : v.tunables) all.push_back(t.name);
             return expand_settings(v, selection, all, std::thread::hardware_concurrency());
           },
       .has =
           [&](const Point& p) {
             const Variant& v = *p.variant;
             if (!v.consumes_input) return p.cache_state == CacheState::warm;
             return p.cache_state == CacheState::cold_dirty &&
                    (!selection.sizes.empty() || for_cold.contains(p.problem.n) || p.problem.n == v.document_n);
           }},
      selection, device);
}

const RegisterExperiment cpu({.name = "cpu",
                              .summary = "the CPU's baselines and the documents' host loops, 2^10 to 2^26 elements",
                              .points = points,
                              .rules = {.time_budget_s = 0.02, .slow_s = 0.01, .allocations = 7},
                              .device = DeviceKind::cpu});

}  // namespace
}  // namespace reductio
