/// comparison: every variant beside every baseline, over a million-fold range of sizes. Each variant with its
/// document's own operation, in every way of finishing that it has and otherwise as its document launches it; and,
/// where the document names a number of blocks that fills no GPU of today, also in four for each multiprocessor. CUB's
/// sum of the toolkit and of the newest release, of that also the one that adds up in one launch.
///
/// Calls end to end take most of the time. They are timed at every second size, and without page-locked memory, which
/// no document uses; `timing` has it.

#include <bit>
#include <string>
#include <utility>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::comparison {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection, const Variant* newest_cub) {
  if (&v == newest_cub && selection.variants_regex.empty())
    return every_launch(v, selection, {{"determinism", {"run_to_run", "not_guaranteed"}}});
  std::vector<Settings> out = documents_launches(v, selection);
  if (out.empty() || selection.sets("grid")) return out;
  const Settings first = out.front();
  if (!first.has("grid") || first.text("grid") == "auto") return out;
  for (Settings& filled : every_launch(v, selection, {{"grid", {std::to_string(4 * selection.sm_count)}}}))
    out.push_back(std::move(filled));
  return out;
}

bool is_worth_its_time(const Point& p, const Selection& selection) {
  if (p.timing_mode != TimingMode::end_to_end) return true;
  if (!selection.sets("finish") && p.settings.has("finish") && p.settings.text("finish") == "host-pinned") return false;
  return std::countr_zero(p.problem.n) % 2 == 0;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  Axes axes{.types = {ElementType::i32, ElementType::f32, ElementType::f64},
            // The simulated device verifies and is slow.
            .sizes = device == DeviceKind::sim ? powers_of_two(10, 12) : powers_of_two(10, 30),
            .modes = {TimingMode::device, TimingMode::end_to_end}};
  const Variant* const newest_cub = newest_cub_by_determinism();
  axes.settings = [&](const Variant& v) { return launches(v, selection, newest_cub); };
  axes.has = [&](const Point& p) { return !leaves_out(selection, device) || is_worth_its_time(p, selection); };
  return product_of(axes, selection, device);
}

const RegisterExperiment comparison(
    {.name = "comparison",
     .summary = "every variant beside Thrust, CUB and cuBLAS, 2^10 to 2^30 elements, cold cache",
     .points = points,
     // Eight in each context, so that a call of several launches meets every turn of its stream in each.
     // Short calls end to end scatter by 9 to 20 % within a context, so that 96 samples leave 1 to 2 %.
     .rules = {.max_samples = 96, .time_budget_s = 0.1}});

}  // namespace
}  // namespace reductio::drivers::comparison
