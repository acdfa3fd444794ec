/// timing: every variant in every way of timing it and every state of the cache. What the ways agree on is the
/// variant's; where they differ is what each of them adds: launching, the way to the host, the cache. Clocks that
/// kernels read themselves are asked for where kernels read them. So each document's claims can be judged by its own
/// clock, too: `squares` by clock(), `unroll` by the host's from the launch until the device is idle.

#include <iterator>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::timing {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const Axes axes{.sizes = {1 << 12, 1 << 16, 1 << 20, 1 << 24},
            .modes = {std::begin(all_timing_modes), std::end(all_timing_modes)},
            .cache_states = {std::begin(all_cache_states), std::end(all_cache_states)},
            .settings = [&](const Variant& v) { return documents_launches(v, selection); },
            // Replays are what calls from Python are compared by (peers).
            .has = [](const Point& p) { return p.timing_mode != TimingMode::replay; }};
  std::vector<Point> out = product_of(axes, selection, device);
  // And by a caller whose every call is the first in a while: others' calls have taken its place in all caches but L2,
  // whose state is the point's.
  const std::size_t in_loops = out.size();
  for (std::size_t i = 0; i < in_loops; ++i) {
    const TimingMode mode = out[i].timing_mode;
    if (out[i].cache_state != CacheState::cold_dirty || (mode != TimingMode::device && mode != TimingMode::end_to_end))
      continue;
    out.push_back(out[i]);
    out.back().in_loop = false;
  }
  return out;
}

const RegisterExperiment timing(
    {.name = "timing",
     .summary = "every variant in all timing modes and three states of the cache, four sizes",
     .points = points,
     .rules = {.time_budget_s = 0.05}});

}  // namespace
}  // namespace reductio::drivers::timing
