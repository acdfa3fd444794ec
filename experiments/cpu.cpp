/// cpu: the CPU's baselines and the documents' host loops, in every setting that they have, by a steady clock, at every
/// other power of two. Warm, because that is how a host loop meets its data. Loops by 1, 2, 4 and 8 and the recursive
/// one, at -O0 to -O3, stand beside Eigen, the standard library, OpenMP and Thrust. What unrolling by hand gains where
/// iterations do not wait for each other is measured by baselines/vector_add.
///
/// Unless sizes are named, what costs much and tells little is left out. What the compiler was told decides little
/// where memory does: loops beyond 2^24, the documents' largest, have their default level only. A loop that overwrites
/// its input cannot be warm, since restoring the input would decide what the cache holds. It is timed cold, which costs
/// far more than the call: in every setting at its document's own size, by default at every fourth of the others.

#include <thread>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::cpu {
namespace {

bool is_worth_its_time(const Point& p) {
  const std::size_t n = p.problem.n;
  const Variant& v = *p.variant;
  const bool by_default = !p.settings.has("opt") || p.settings == v.settings();
  if (!v.consumes_input) return by_default || n <= (1 << 24);
  return n == v.document_n || (by_default && (n == 1 << 10 || n == 1 << 18 || n == 1 << 26));
}

bool has(const Point& p, const Selection& selection) {
  const Variant& v = *p.variant;
  if (p.cache_state != (v.consumes_input ? CacheState::cold_dirty : CacheState::warm)) return false;
  return !selection.sizes.empty() || is_worth_its_time(p);
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of({.types = {ElementType::i32, ElementType::f32, ElementType::f64},
                     .sizes = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26},
                     .cache_states = {CacheState::cold_dirty, CacheState::warm},
                     .settings =
                         [&](const Variant& v) {
                           if (left_to_its_experiment(v, selection)) return std::vector<Settings>();
                           std::vector<std::string> all;
                           for (const Tunable& t : v.tunables) all.push_back(t.name);
                           return expand_settings(v, selection, all, std::thread::hardware_concurrency());
                         },
                     .has = [&](const Point& p) { return has(p, selection); }},
                    selection, device);
}

// Many short contexts, about a second apart, because a CPU's speed changes between them more than within one
// (docs/measuring.md). Longer batches would spread them further, and lose more where the run is killed. So the first
// is short: a run that is killed again and again gets on.
const RegisterExperiment cpu(
    {.name = "cpu",
     .summary = "the CPU's baselines and the documents' host loops, 2^10 to 2^26 elements",
     .points = points,
     .rules =
         {.max_samples = 96, .time_budget_s = 0.1, .slow_s = 0.1, .contexts = 48, .batch_s = 30, .first_batch_s = 6},
     .device = DeviceKind::cpu,
     .not_elsewhere = "it times the CPU's loops in every setting"});

}  // namespace
}  // namespace reductio::drivers::cpu
