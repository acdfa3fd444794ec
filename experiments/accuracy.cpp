/// accuracy: how far f32 sums are from the exact one, by each variant's order of adding, over sizes and data; and
/// whether repeated calls give the same bits, 1000 calls of each at 2^20 random elements, counted in `distinct_results`
/// and not presumed. Errors take few calls, and times are no purpose of this experiment: every point is in one context,
/// warm where it can be, and with no calls of the harness beside.

#include <algorithm>
#include <string_view>

#include "core/dataset.h"
#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::accuracy {
namespace {

constexpr std::size_t repeated_n = 1 << 20;
constexpr int repeated_calls = 2 * 1000;  // the bits of every second one, of a changed input, are not counted

/// One for each order of adding: pinned memory and allocators add nothing else.
std::vector<Settings> orders(const Variant& v, const Selection& selection) {
  if (left_to_its_experiment(v, selection)) return {};
  std::vector<Settings> out = every_launch(v, selection, {{"finish", {"atomic", "relaunch", "second-launch", "host"}}});
  if (selection.settings.empty())
    for (const Assignments& launch : v.further_launches) out.push_back(v.settings(launch));
  return out;
}

std::vector<Point> points(Selection selection, DeviceKind device) {
  if (selection.operations.empty()) selection.operations = {Operation::sum};  // also where the document adds squares
  const unsigned step = selection.full ? 1u : 2u;
  std::vector<std::size_t> sizes;
  for (unsigned power = 10; power <= 28; power += step) sizes.push_back(std::size_t{1} << power);
  const std::vector<Point> random = product_of(
      {.types = {ElementType::f32},
       .sizes = sizes_on(device, sizes),
       .cache_states = {CacheState::warm, CacheState::cold_dirty},
       .settings = [&](const Variant& v) { return orders(v, selection); },
       .has =
           [](const Point& p) {
             const Variant& v = *p.variant;
             if ((p.cache_state == CacheState::warm) == v.consumes_input) return false;
             return std::find(v.operations.begin(), v.operations.end(), p.problem.operation) != v.operations.end();
           }},
      selection, device);
  std::vector<Point> out;
  for (const char* dataset : {"random", "normal", "alternating", "ill-conditioned"})
    for (Point p : random) {
      // Those are of floats alone.
      const auto names = dataset_names(p.problem.type);
      if (std::find(names.begin(), names.end(), dataset) == names.end()) continue;
      p.dataset = dataset;
      if (p.problem.n == repeated_n && p.dataset == "random") p.samples = repeated_calls;
      out.push_back(std::move(p));
    }
  return out;
}

const RegisterExperiment accuracy(
    {.name = "accuracy",
     .summary = "errors of f32 sums by order of adding, 2^10 to 2^28 elements of four data "
                "sets, and 1000 repeated calls at 2^20",
     .points = points,
     .rules = {.min_samples = 1,
               .max_samples = 3,
               .time_budget_s = 0.01,
               .slow_samples = 1,
               .contexts = 1,
               .harness_calls = false}});

}  // namespace
}  // namespace reductio::drivers::accuracy
