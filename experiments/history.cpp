/// history: did an upgrade of CUB or Thrust make a sum slower? The sum of every release that the program was built
/// with and of the toolkit's own, of each type: on the device with a cold and a warm L2, in a graph, and Thrust's end
/// to end.

#include <algorithm>
#include <span>
#include <vector>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::history {
namespace {

std::vector<Settings> of_releases(const Variant& v, const Selection& selection) {
  const bool measured = v.own_experiment == "history" || v.id == "cub/sum" || v.id == "thrust/reduce";
  if (!measured && selection.variants_regex.empty()) return {};
  std::vector<Settings> out{v.settings(selection.settings)};
  for (const Tunable& t : v.tunables)
    if (t.name == "determinism" && out.front() == v.settings())
      for (Settings& s : v.with_other_values(out.front(), t)) out.push_back(std::move(s));
  return out;
}

/// Powers of two for f32, of 16 for other types: with as many sizes a run would take 20 minutes.
bool has(const Point& p, const Selection& selection, DeviceKind device) {
  const std::vector<ElementType>& types = p.variant->types;
  if (std::find(types.begin(), types.end(), p.problem.type) == types.end()) return false;
  if (p.variant->declines && !p.variant->declines(p.problem, p.settings).empty()) return false;
  if (p.timing_mode == TimingMode::graph && p.cache_state != CacheState::warm) return false;
  if (p.timing_mode == TimingMode::end_to_end && p.variant->result != ResultLocation::on_host) return false;
  if (!leaves_out(selection, device) || p.problem.type == ElementType::f32) return true;
  for (std::size_t n = 1; n <= p.problem.n; n *= 16)
    if (n == p.problem.n) return true;
  return false;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const std::span<const ElementType> types = all_types();
  return product_of({.types = {types.begin(), types.end()},
                     .sizes = sizes_on(device, powers_of_two(10, 30)),
                     .modes = {TimingMode::device, TimingMode::graph, TimingMode::end_to_end},
                     .cache_states = {CacheState::cold_dirty, CacheState::warm},
                     .settings = [&](const Variant& v) { return of_releases(v, selection); },
                     .has = [&](const Point& p) { return has(p, selection, device); }},
                    selection, device);
}

const RegisterExperiment history(
    {.name = "history",
     .summary = "sums of every release of CUB and Thrust in the program",
     .points = points,
     // Twice the usual contexts: hundreds of intervals must hold at once.
     .rules = {.min_samples = 24, .max_samples = 48, .time_budget_s = 0.05, .slow_samples = 24, .contexts = 24}});

}  // namespace
}  // namespace reductio::drivers::history
