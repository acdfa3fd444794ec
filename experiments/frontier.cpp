/// frontier: error against time. Sums that add up in different orders, that keep what rounding loses, or that round
/// once, on data that are benign (random), wide (spread) and ill-conditioned. A row has a call's time and the error of
/// its result, as every row has; here other data are timed, too, because some sums take longer of wide data.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio {
namespace {

/// Beside compensated/* and exact/*: one of each order of adding, as fast as there is one.
constexpr std::array<std::string_view, 4> plain_sums{"cub/sum", "tuned/sum", "multiblock/last-block-warp",
                                                     "levels/naive"};

/// The newest release of CUB whose caller demands determinism; null where the program has none.
const Variant* newest_cub_by_determinism() {
  const Variant* newest = nullptr;
  for (const Variant& v : variants())
    if (v.id.starts_with("cub@") && v.id.ends_with("/sum") && v.settings().has("determinism")) newest = &v;
  return newest;
}

std::vector<Settings> launches(const Variant& v, const Selection& selection, const Variant* by_determinism) {
  const bool named = !selection.variants_regex.empty();
  if (&v == by_determinism) return every_launch(v, selection, {{"determinism", v.tunables.front().values}});
  const bool chosen = v.group() == "compensated" || v.group() == "exact" ||
                      std::find(plain_sums.begin(), plain_sums.end(), v.id) != plain_sums.end();
  return chosen || named ? std::vector{v.settings(selection.settings)} : std::vector<Settings>{};
}

std::vector<Point> points(Selection selection, DeviceKind device) {
  const Variant* const by_determinism = newest_cub_by_determinism();
  std::vector<Point> out;
  // The wide sum of floats is a double: the error of a result that is not rounded to a float.
  for (const Operation operation : selected_or(selection.operations, {Operation::sum, Operation::wide_sum})) {
    selection.operations = {operation};
    const std::vector<Point> random =
        product_of({.types = {ElementType::f32, ElementType::f64},
                    .sizes = sizes_on(device, {1 << 20, 1 << 28}),
                    .modes = {TimingMode::device},
                    .settings = [&](const Variant& v) { return launches(v, selection, by_determinism); },
                    .has = [&](const Point& p) { return refusal(*p.variant, device, p.problem, p.settings).empty(); }},
                   selection, device);
    for (const char* dataset : {"random", "spread", "ill-conditioned"})
      for (Point p : random) {
        if (!is_floating(p.problem.type)) continue;
        p.dataset = dataset;
        out.push_back(std::move(p));
      }
  }
  return out;
}

const RegisterExperiment frontier(
    {.name = "frontier",
     .summary = "error against time: plain, pairwise, compensated, wide and exact sums on three kinds of data",
     .points = points});

}  // namespace
}  // namespace reductio
