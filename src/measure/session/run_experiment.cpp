#include "measure/session/run_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "core/error.h"
#include "measure/session/bench.h"
#include "measure/session/session.h"
#include "measure/stats/statistics.h"

namespace reductio {
namespace {

constexpr int most_contexts = 10'000;  ///< contexts of a GPU are made in half an hour

/// The user's sample counts hold for all points, whatever the experiment has for some.
bool says_how_many_samples(const RunOptions& o) { return o.quick || o.min_samples || o.max_samples; }

}  // namespace

std::vector<Point> choose_points(const Experiment& e, const Selection& selection, DeviceKind device, bool quick) {
  std::vector<Point> points = e.points(selection, device);
  if (quick && selection.sizes.empty()) {
    std::set<std::size_t> sizes;
    for (const Point& p : points) sizes.insert(p.problem.n);
    // Every fourth size, up to where a call costs nothing.
    std::set<std::size_t> kept;
    std::size_t i = 0;
    for (const std::size_t n : sizes)
      if (i++ % 4 == 0 && (n <= (std::size_t{1} << 22) || kept.empty())) kept.insert(n);
    std::erase_if(points, [&](const Point& p) { return !kept.contains(p.problem.n); });
  }
  std::set<std::string> keys;
  std::erase_if(points, [&](const Point& p) { return !keys.insert(row_key(p)).second; });
  if (points.empty())
    throw UsageError("experiment '" + e.name + "' has no point for this selection on device " +
                     std::string(name(device)));
  return points;
}

SamplingRules choose_rules(const Experiment& e, const RunOptions& o) {
  SamplingRules rules = e.rules;
  if (o.quick) {
    rules.max_samples = rules.min_samples;
    rules.time_budget_s = 0.02;
    rules.contexts = std::min(rules.contexts, 3);
  }
  if (says_how_many_samples(o)) rules.end_to_end_factor = 1;
  const int per_context = (rules.max_samples + rules.contexts - 1) / rules.contexts;
  if (o.min_samples) rules.min_samples = *o.min_samples;
  if (o.max_samples) rules.max_samples = *o.max_samples;
  if (o.min_samples && !o.max_samples) rules.max_samples = std::max(rules.max_samples, rules.min_samples);
  if (o.max_samples && !o.min_samples) rules.min_samples = std::min(rules.max_samples, rules.min_samples);
  if (o.confidence) rules.confidence = *o.confidence;
  if (o.time_budget_s) rules.time_budget_s = *o.time_budget_s;
  rules.full = rules.full || o.full;
  if (rules.min_samples < 1 || rules.max_samples < 1)
    throw UsageError("a point needs at least one sample; give --min-samples and --max-samples 1 or more");
  if (rules.max_samples < rules.min_samples)
    throw UsageError(
        fmt::format("--max-samples {} is less than --min-samples {}", rules.max_samples, rules.min_samples));
  if (o.contexts) {
    if (*o.contexts < static_cast<int>(least_contexts) || *o.contexts > most_contexts)
      throw UsageError(fmt::format("--contexts takes a number from {} on, which an interval needs, to {}, not {}",
                                   least_contexts, most_contexts, *o.contexts));
    if (o.max_samples && *o.max_samples < *o.contexts)
      throw UsageError(fmt::format("--max-samples {} is less than --contexts {}: each takes one sample at least",
                                   *o.max_samples, *o.contexts));
    // As many samples on each as before where the time allows it, and at least one.
    if (!o.max_samples)
      rules.max_samples = std::max(per_context * *o.contexts, std::max(rules.min_samples, *o.contexts));
    rules.contexts = *o.contexts;
    rules.min_samples = std::max(rules.min_samples, rules.contexts);
  }
  require_confidence(rules.confidence);
  if (!(rules.time_budget_s > 0 && std::isfinite(rules.time_budget_s)))
    throw UsageError(fmt::format("--timeout {:g} leaves no time for sampling; give seconds, more than 0",
                                 rules.time_budget_s));
  // Samples that the user demands are demanded of slow calls, too.
  rules.slow_samples =
      std::clamp(rules.slow_samples, std::max(o.min_samples.value_or(1), o.contexts.value_or(1)), rules.max_samples);
  return rules;
}

RunReport run_experiment(const Experiment& e, const Selection& selection, const RunOptions& options,
                         RunObserver& observer) {
  const DeviceKind device = selection.device.value_or(e.device);
  const SamplingRules rules = choose_rules(e, options);
  Selection wanted = selection;
  wanted.full = options.full;
  Bench bench;
  if (!options.dry_run) {
    bench = open_bench(device, options.gpu, options.profile);
    if (bench.info.sm_count > 0) wanted.sm_count = bench.info.sm_count;
  }
  std::vector<Point> points = choose_points(e, wanted, device, options.quick);
  if (says_how_many_samples(options))
    for (Point& p : points) p.samples = 0;
  if (options.dry_run) {
    RunReport report;
    report.points = points.size();
    for (const Point& p : points)
      if (refusal(*p.variant, p.device, p.problem, p.settings).empty()) report.estimated_s += rough_cost_s(p, rules);
      else ++report.by_status[static_cast<std::size_t>(Status::refused)];
    return report;
  }
  Session session{.experiment = e.name,
                  .points = std::move(points),
                  .rules = rules,
                  .options = options,
                  .seed = selection.seed,
                  .order_seed = selection.order_seed,
                  .machine = std::move(bench.machine),
                  .backend = std::move(bench.backend),
                  .instruments = std::move(bench.instruments)};
  return run_session(std::move(session), observer);
}

}  // namespace reductio
