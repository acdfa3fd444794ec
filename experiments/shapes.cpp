/// shapes: whose sums of rows, columns and segments are fast at which shape? Rows of 2 to 2^26 elements, 2^18 to 2^28
/// elements in all, the same of columns, and four kinds of segments; f32. A map shows it: speed over n and elements.
/// Kernels for learners and exact sums have every second size, other types a few shapes of 2^26 elements.
/// shapes-python: the same of what Python users call, fewer sizes, as graphs of one call.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/launches.h"
#include "measure/analysis/releases.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::shapes {
namespace {

/// Elements of a row, or of a column.
std::vector<std::size_t> lines() {
  return {2, 8, 32, 128, 1000, 1 << 12, 1 << 15, 1 << 18, 1 << 22, 1 << 26};
}

AskedShapes map() {
  AskedShapes out{.segments = {"uniform:32", "powerlaw:2.1", "one-giant", "empty-many"}};
  for (const std::size_t line : lines()) {
    out.matrices.push_back({std::nullopt, line});
    out.matrices.push_back({line, std::nullopt});
  }
  return out;
}

/// A row or a column of the map, which has none of no elements. One thread that adds up a long row takes too long.
bool is_on_map(const Point& p) {
  constexpr std::size_t most_of_a_thread = std::size_t{1} << 18;
  if (p.problem.n == 0) return false;
  if (p.variant->id == "modern/row-by-thread" && p.problem.columns() > most_of_a_thread) return false;
  const std::vector<std::size_t> all = lines();
  const auto among = [&](std::size_t line) { return std::find(all.begin(), all.end(), line) != all.end(); };
  if (p.problem.operation == Operation::row_sums) return among(p.problem.columns());
  if (p.problem.operation == Operation::column_sums) return among(p.problem.rows());
  return true;
}

/// Of the map's own sizes, what the time of a run allows. Every output of every call is copied to the host and
/// compared, which takes longer than all the rest. So calls have fewer outputs, but for those that are fast at rows of
/// a few.
bool is_worth_its_time(const Point& p) {
  const std::string& id = p.variant->id;
  const std::string_view group = p.variant->group();
  const bool is_large = p.problem.n > (1u << 26), of_cub = id.ends_with("/segmented"),
             is_newest = id.starts_with("cub@");
  if (is_large && p.problem.operation == Operation::segment_sums) return false;
  // Sizes are a little less than a power of 2 if the line's length is none. 2^18, 2^22 and 2^26 remain.
  const auto log_n = std::bit_width(p.problem.n + p.problem.n / 8) - 1;
  if ((group == "exact" || group == "modern") && log_n % 4 == 0) return false;
  const bool has_fewer = group == "exact" || id == "cub/reduce-by-key" || (of_cub && (is_large || is_newest));
  return p.problem.outputs() <= std::size_t{1} << (group == "modern" ? 20 : has_fewer ? 22 : 25);
}

/// What points of an experiment have beside their shapes.
struct Way {
  std::vector<ElementType> types = {ElementType::f32};
  std::vector<std::size_t> sizes;
  AskedShapes shapes = map();
  TimingMode mode = TimingMode::device;
  std::function<std::vector<Settings>(const Variant&)> settings = {};
};

std::vector<Point> points_of(const Way& way, const Selection& selection, DeviceKind device) {
  const bool chosen = !selection.shapes.empty(), sizes_chosen = !selection.sizes.empty();
  Selection over_shapes = selection;
  if (over_shapes.operations.empty() && !chosen)
    over_shapes.operations = {Operation::row_sums, Operation::column_sums, Operation::segment_sums};
  return product_of({.types = way.types,
                     .sizes = sizes_on(device, way.sizes),
                     .shapes = way.shapes,
                     .modes = {device == DeviceKind::cpu ? TimingMode::end_to_end : way.mode},
                     .settings = way.settings,
                     .has =
                         [=](const Point& p) {
                           const auto& operations = p.variant->operations;
                           const bool has_it = std::find(operations.begin(), operations.end(), p.problem.operation) !=
                                               operations.end();
                           return has_it && (chosen || (is_on_map(p) && (sizes_chosen || is_worth_its_time(p))));
                         }},
                    over_shapes, device);
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<std::size_t> sizes;
  for (unsigned k = 18; k <= (device == DeviceKind::cpu ? 22u : 28u); k += 2) sizes.push_back(std::size_t{1} << k);
  const Variant* const newest = newest_cub_sum();
  const auto settings = [&](const Variant& v) {  // CUB's newest release stands for all
    const bool left_out = selection.variants_regex.empty() && newest && v.id.starts_with("cub@") &&
                          release_of(v.id) != release_of(newest->id);
    return left_out ? std::vector<Settings>{} : std::vector{v.settings(selection.settings)};
  };
  std::vector<Point> out = points_of({.sizes = sizes, .settings = settings}, selection, device);
  if (device == DeviceKind::cpu || !selection.types.empty() || !selection.sizes.empty() || !selection.shapes.empty())
    return out;
  const auto of_libraries = [&](const Variant& v) {
    return v.group() == "exact" || v.group() == "modern" ? std::vector<Settings>{} : settings(v);
  };
  const Way other_types{
      .types = {ElementType::f64, ElementType::i32, ElementType::bf16},
      .sizes = {std::size_t{1} << 26},
      .shapes = {.matrices = {{std::nullopt, 32}, {std::nullopt, 1 << 12}, {1 << 12, std::nullopt}},
                 .segments = {"powerlaw:2.1"}},
      .settings = of_libraries};
  for (const Point& p : points_of(other_types, selection, device))
    if (refusal(*p.variant, p.device, p.problem, p.settings).empty()) out.push_back(p);
  return out;
}

/// Python's variants and CUB's. Without torch/compile, which takes seconds for each shape, unless it is named.
std::vector<Point> points_from_python(const Selection& selection, DeviceKind device) {
  const bool named = !selection.variants_regex.empty();
  const auto settings = [&](const Variant& v) {
    const bool chosen = (!v.interpreter.empty() && v.id != "torch/compile") || v.group() == "cub";
    return chosen || named ? std::vector{v.settings(selection.settings)} : std::vector<Settings>{};
  };
  std::vector<std::size_t> sizes{1 << 18, 1 << 22};
  if (device != DeviceKind::cpu) sizes.push_back(1 << 26);
  return points_of({.sizes = sizes, .mode = TimingMode::replay, .settings = settings}, selection, device);
}

const RegisterExperiment shapes({.name = "shapes",
                                 .summary = "sums of rows, columns and segments, at shapes of 2^18 to 2^28 elements",
                                 .points = points,
                                 .rules = {.max_samples = 12, .time_budget_s = 0.05, .contexts = 6}});
const RegisterExperiment shapes_python({.name = "shapes-python",
                                        .summary = "the same of what Python users call; by python -m reductio",
                                        .points = points_from_python,
                                        .rules = {.max_samples = 12, .time_budget_s = 0.05, .contexts = 6}});

}  // namespace
}  // namespace reductio::drivers::shapes
