#include "measure/analysis/planted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>

#include "measure/analysis/compare.h"
#include "measure/sampling/sampler.h"

namespace reductio {

Variant with_spin(const Variant& v, DeviceKind device, HarnessCalls& calls, double seconds) {
  Variant out = v;
  Prepare& prepare = out.prepare[static_cast<std::size_t>(device)];
  prepare = [inner = prepare, &calls, seconds](const Problem& p, const Settings& s, const DeviceInfo& info) {
    return calls.followed_by_spin(inner(p, s, info), seconds);
  };
  return out;
}

double whole_steps(double seconds, double step_s) {
  return step_s > 0 ? std::round(seconds / step_s) * step_s : seconds;
}

std::vector<double> planted_seconds(Backend& backend, Instruments& instruments, std::span<const Point> points,
                                    double share, std::uint64_t order_seed,
                                    const std::function<void(const Point&, double share)>& progress) {
  SamplingRules rules = compare_rules();
  rules.allocations = 3;
  rules.max_samples = std::max(rules.min_samples, 30);
  std::deque<Variant> variants;
  std::vector<Point> spinning(points.begin(), points.end());
  std::vector<std::vector<const Point*>> groups;
  for (Point& p : spinning) {
    p.variant = &variants.emplace_back(with_spin(*p.variant, p.device, *instruments.harness_calls, spin_behind_all_s));
    groups.push_back({&p});
  }
  auto sampler = std::make_unique<Sampler>(Sampling{backend, instruments, rules, order_seed});
  const Measurement measured =
      sampler->measure(groups, {.abandon = [] { return false; },
                                .progress = [&](const Point& point, bool, double done) { progress(point, done); }});
  if (measured.device_busy) keep_for_ever(sampler.release());  // freeing would wait for the call that does not end
  if (measured.device_lost) std::rethrow_exception(measured.device_lost);
  const bool on_gpu = !points.empty() && points.front().device == DeviceKind::cuda;
  const double step_s = on_gpu ? instruments.timer->resolution_s(TimingMode::globaltimer) : 0;
  std::vector<double> out;
  for (const GroupOutcome& outcome : measured.groups) {
    const Row& row = outcome.rows.front();
    if (!row.time_median_s)
      throw UsageError(fmt::format("nothing can be planted in {}, {}: {}, {}", row.point.variant,
                                   describe_group(row.point), name(row.status), row.reason));
    const double planted_s = share * *row.time_median_s;
    out.push_back(whole_steps(planted_s, step_s));
    if (share > 0 && out.back() <= 0)
      throw UsageError(
          fmt::format("{:g} % of {}, {} is {:.2g} ns, and a spin on this GPU ends by steps of {:.2g} ns: "
                      "plant more",
                      100 * share, row.point.variant, describe_group(row.point), 1e9 * planted_s, 1e9 * step_s));
  }
  return out;
}

}  // namespace reductio
