/// frontier: error against time. Sums that add up in different orders, that keep what rounding loses, or that round
/// once, on data that are benign (random), wide (spread) and ill-conditioned. A row has a call's time and the error of
/// its result, as every row has; here other data are timed, too, because some sums take longer of wide data. What the
/// same bits everywhere cost at other sizes, and in a graph, is timed of random data.
///
/// frontier-python: what Python users call (baselines/python), of the same arrays, beside cub/sum timed alike. On a GPU
/// calls from Python have no device time: their kernels are timed alone, as graphs of one call, and each call until its
/// result is on the host, which is all that JAX has. With --device cpu: what they call there.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::frontier {
namespace {

/// Beside compensated/* and exact/*: one of each order of adding, as fast as there is one.
constexpr std::array<std::string_view, 4> plain_sums{"cub/sum", "tuned/sum", "multiblock/last-block-warp",
                                                     "levels/naive"};

constexpr std::array<const char*, 3> datasets{"random", "spread", "ill-conditioned"};
constexpr std::size_t small = 1 << 20, large = 1 << 28;

/// What Python users call, and C++'s beside it. Other peers' kernels are CUB's, or slower (experiments/peers.cpp).
constexpr std::array<std::string_view, 9> from_python{"cub/sum",   "exact/sum", "torch/sum",   "cupy/sum", "jax/sum",
                                                      "exact/cpu", "numpy/sum", "python/fsum", "xsum/sum"};

bool is_one_of(const auto& names, const Variant& v) {
  return std::find(names.begin(), names.end(), v.id) != names.end();
}

/// Of each dataset in turn.
void add_of_each_dataset(const std::vector<Point>& points, std::vector<Point>& out) {
  for (const char* dataset : datasets)
    for (Point p : points) {
      if (!is_floating(p.problem.type)) continue;
      p.dataset = dataset;
      out.push_back(std::move(p));
    }
}

std::vector<Settings> launches(const Variant& v, const Selection& selection, const Variant* by_determinism) {
  const bool named = !selection.variants_regex.empty();
  if (&v == by_determinism) return every_launch(v, selection, {{"determinism", v.tunables.front().values}});
  const bool chosen = v.group() == "compensated" || v.group() == "exact" || is_one_of(plain_sums, v);
  return chosen || named ? std::vector{v.settings(selection.settings)} : std::vector<Settings>{};
}

/// The sums with the same bits on every GPU, CUB's and ours, beside the fastest of each.
std::vector<Settings> same_bits(const Variant& v, const Selection& selection, const Variant* by_determinism) {
  if (&v == by_determinism) return every_launch(v, selection, {{"determinism", {"gpu_to_gpu"}}});
  if (v.id == "cub/sum" || v.id == "tuned/sum" || v.id == "exact/sum") return {v.settings(selection.settings)};
  return {};
}

std::vector<Point> points(Selection selection, DeviceKind device) {
  const Variant* const by_determinism = newest_cub_by_determinism();
  std::vector<Point> out;
  // The wide sum of floats is a double: the error of a result that is not rounded to a float.
  for (const Operation operation : selected_or(selection.operations, {Operation::sum, Operation::wide_sum})) {
    selection.operations = {operation};
    const std::vector<Point> random =
        product_of({.types = {ElementType::f32, ElementType::f64},
                    .sizes = sizes_on(device, {small, large}),
                    .modes = {TimingMode::device},
                    .settings = [&](const Variant& v) { return launches(v, selection, by_determinism); },
                    .has = [&](const Point& p) { return refusal(*p.variant, device, p.problem, p.settings).empty(); }},
                   selection, device);
    add_of_each_dataset(random, out);
  }
  // At two sizes the loop above has device time.
  const auto timed_above = [&](const Point& p) {
    return std::any_of(out.begin(), out.end(), [&](const Point& q) {
      return q.problem.type == p.problem.type && q.problem.n == p.problem.n && q.timing_mode == p.timing_mode;
    });
  };
  std::vector<Point> over_sizes;
  selection.operations = {Operation::sum};
  for (Point& p : product_of({.types = {ElementType::f32, ElementType::f64},
                              .sizes = sizes_on(device, {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22,
                                                         1 << 24, 1 << 26, 1 << 28, 1 << 30}),
                              .modes = {TimingMode::device, TimingMode::graph},
                              .cache_states = {CacheState::cold_dirty, CacheState::warm},
                              .settings = [&](const Variant& v) { return same_bits(v, selection, by_determinism); },
                              .has =
                                  [&](const Point& p) {
                                    const bool graph = p.timing_mode == TimingMode::graph;
                                    return graph == (p.cache_state == CacheState::warm) &&
                                           refusal(*p.variant, device, p.problem, p.settings).empty();
                                  }},
                             selection, device))
    if (is_floating(p.problem.type) && !timed_above(p)) over_sizes.push_back(std::move(p));
  out.insert(out.end(), over_sizes.begin(), over_sizes.end());
  return out;
}

std::vector<Point> points_from_python(Selection selection, DeviceKind device) {
  std::vector<Point> out;
  for (const Operation operation : selected_or(selection.operations, {Operation::sum, Operation::wide_sum})) {
    selection.operations = {operation};
    add_of_each_dataset(
        product_of({.types = {ElementType::f32, ElementType::f64},
                    .sizes = sizes_on(device, {small, large}),
                    .modes = {TimingMode::device, TimingMode::replay, TimingMode::end_to_end},
                    .settings =
                        [&](const Variant& v) {
                          const bool chosen = is_one_of(from_python, v) || !selection.variants_regex.empty();
                          return chosen ? std::vector{v.settings(selection.settings)} : std::vector<Settings>{};
                        },
                    .has = [&](const Point& p) { return refusal(*p.variant, device, p.problem, p.settings).empty(); }},
                   selection, device),
        out);
  }
  return out;
}

const RegisterExperiment frontier(
    {.name = "frontier",
     .summary = "error against time: plain, pairwise, compensated, wide and exact sums on three kinds of data",
     .points = points});

const RegisterExperiment frontier_python(
    {.name = "frontier-python",
     .summary = "the same of sums that Python users call, on the GPU or a CPU; by python -m reductio",
     .points = points_from_python,
     .rules = {.max_samples = 32, .time_budget_s = 0.1, .contexts = 8}});

}  // namespace
}  // namespace reductio::drivers::frontier
