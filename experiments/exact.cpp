/// exact: what an exact sum costs beside CUB's and the plain sum of tuned, on data that it treats in different ways:
/// near 1 and far from it, over 120 binary orders, a few giants among small numbers, and physical constants. On a cold
/// L2 and in a graph.

#include <string>
#include <vector>

#include "core/dataset.h"
#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::exact {
namespace {

std::vector<Settings> of_sums(const Variant& v, const Selection& selection) {
  const bool named = !selection.variants_regex.empty();
  if (!named && v.id != "exact/sum" && v.id != "cub/sum" && v.id != "tuned/sum") return {};
  return {v.settings(selection.settings)};
}

/// A dataset, the types that have it, and the sizes at which it is timed.
struct Part {
  std::string dataset;
  std::vector<ElementType> types;
  std::vector<std::size_t> sizes;
};

std::vector<Part> parts() {
  constexpr auto f32 = ElementType::f32, f64 = ElementType::f64, f16 = ElementType::f16, bf16 = ElementType::bf16;
  const std::vector<std::size_t> some{1u << 13, 1u << 20, 1u << 22, 1u << 24, 1u << 28},
      more{1u << 8,  1u << 10, 1u << 12, 1u << 13, 1u << 14, 1u << 16,
           1u << 18, 1u << 20, 1u << 22, 1u << 24, 1u << 26, 1u << 28};
  return {{"random", {f32, f64}, more},
          {"random", {f16, bf16}, some},
          {"scaled:2^-66", {f32, f64, bf16}, some},
          {"scaled:2^90", {f32, f64, bf16}, some},
          {"spread", {f32, f64}, some},
          {"giants", {f32, f64}, some},
          {"constants", {f32, f64}, some}};
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<Point> out;
  for (const Part& part : parts())
    for (Point& p : product_of({.types = part.types,
                                .sizes = sizes_on(device, part.sizes),
                                .modes = {TimingMode::device, TimingMode::graph},
                                .cache_states = {CacheState::cold_dirty, CacheState::warm},
                                .settings = [&](const Variant& v) { return of_sums(v, selection); },
                                .has = is_cold_or_in_a_warm_graph},
                               selection, device)) {
      if (!has_dataset(part.dataset, p.problem.type)) continue;  // of types that the user has selected
      p.dataset = part.dataset;
      out.push_back(std::move(p));
    }
  return out;
}

const RegisterExperiment exact({.name = "exact",
                                .summary = "exact sums beside CUB's and tuned's, on data near 1, far from "
                                           "it, wide, with giants, and of constants",
                                .points = points,
                                // Half the samples of the documents' studies: one of a graph takes milliseconds.
                                .rules = {.max_samples = 96, .time_budget_s = 0.075, .slow_samples = 12}});

}  // namespace
}  // namespace reductio::drivers::exact
