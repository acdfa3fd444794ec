#include "measure/analysis/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "measure/analysis/compare.h"
#include "measure/sampling/sampler.h"

namespace reductio {
namespace {

/// `v` on this device, each call followed by a spin.
Variant with_spin(const Variant& v, DeviceKind device, Instruments& instruments, double seconds) {
  Variant out = v;
  Prepare& prepare = out.prepare[static_cast<std::size_t>(device)];
  prepare = [inner = prepare, &instruments, seconds](const Problem& p, const Settings& s, const DeviceInfo& info) {
    return instruments.harness_calls->followed_by_spin(inner(p, s, info), seconds);
  };
  return out;
}

class Comparing {
 public:
  Comparing(Backend& backend, Instruments& instruments, const SelftestPlan& plan, const std::function<bool()>& stop)
      : backend_(backend), instruments_(instruments), plan_(plan), stop_(stop) {}

  /// The points sampled together, on allocations of their own.
  std::vector<Measured> measure(const std::vector<Point>& points, const SamplingRules& rules) {
    std::vector<const Point*> group;
    for (const Point& p : points) group.push_back(&p);
    // A seed of its own, or every comparison would be sampled in the same order.
    auto sampler =
        std::make_unique<Sampler>(Sampling{backend_, instruments_, rules, plan_.point.seed + 1000003 * ++measured_});
    const Measurement measured = sampler->measure({&group, 1}, {stop_});
    if (measured.device_busy) keep_for_ever(sampler.release());  // freeing would wait for the call that does not end
    if (measured.device_lost) std::rethrow_exception(measured.device_lost);
    if (measured.abandoned) throw UsageError("interrupted");
    const GroupOutcome& outcome = measured.groups.front();
    for (const Row& row : outcome.rows) {
      if (row.status == Status::refused || row.status == Status::over_limit)
        throw UsageError(row.point.variant + ": " + row.reason);
      if (row.status == Status::wrong) throw WrongResult(row.point.variant + " gave a wrong result: " + row.reason);
      if (row.status != Status::ok)
        throw DeviceError(fmt::format("{}: {}, {}", row.point.variant, name(row.status), row.reason));
      if (!row.time_median_s) throw UsageError("this device keeps no time; a self-test needs a clock");
    }
    return measured_in(outcome);
  }

  Point point(const Variant& v, std::size_t n) const {
    Point p = plan_.point;
    p.variant = &v;
    p.problem.n = n;
    return p;
  }

 private:
  Backend& backend_;
  Instruments& instruments_;
  const SelftestPlan& plan_;
  const std::function<bool()>& stop_;
  std::uint64_t measured_ = 0;
};

double median_of(const Measured& m) { return median(values(m.rounds.seconds)); }

}  // namespace

std::size_t SelftestReport::comparisons() const {
  std::size_t sum = 0;
  for (const auto& one : with_itself) sum += one.comparisons;
  return sum;
}

std::size_t SelftestReport::false_positives() const {
  std::size_t sum = 0;
  for (const auto& one : with_itself) sum += one.without_one;
  return sum;
}

Interval SelftestReport::rate() const { return share_interval(false_positives(), comparisons(), 0.95); }

SelftestReport selftest(Backend& backend, Instruments& instruments, const SelftestPlan& plan,
                        const std::function<void(std::size_t, std::size_t, const std::string&)>& progress,
                        const std::function<bool()>& stop) {
  const Variant& variant = *plan.point.variant;
  const std::size_t each = static_cast<std::size_t>(plan.repeats) + plan.planted.size();
  Comparing comparing(backend, instruments, plan, stop);
  SelftestReport out;
  std::size_t done = 0;
  for (const std::size_t n : plan.sizes) {
    SelfComparisons here{.n = n, .comparisons = 0, .without_one = 0, .told_apart = 0, .median_s = 0, .smallest = {}};
    std::vector<double> reach, medians;
    for (int i = 0; i < plan.repeats; ++i) {
      progress(done++, each * plan.sizes.size(), fmt::format("{} beside itself, n={}", variant.id, n));
      const auto both = comparing.measure({comparing.point(variant, n), comparing.point(variant, n)}, plan.rules);
      const Ratio r = paired_ratio(both[0].rounds, both[1].rounds, plan.confidence);
      const Verdict verdict = verdict_on(r, plan.effect);
      ++here.comparisons;
      here.without_one += r.interval.low > 1 || r.interval.high < 1;
      here.told_apart += verdict == Verdict::faster || verdict == Verdict::slower;
      // A slowdown of e moves the interval down by e: it is told from none where it is more than the upper end.
      reach.push_back(std::max(std::log(r.interval.high), 0.0));
      medians.push_back(median_of(both[0]));
    }
    if (!reach.empty()) {
      here.smallest = std::expm1(quantile(reach, 0.9));
      here.median_s = median(medians);
      out.with_itself.push_back(here);
    }

    const double confidence = confidence_of_each(plan.confidence, plan.planted.size() * plan.sizes.size());
    for (const double effect : plan.planted) {
      progress(done++, each * plan.sizes.size(), fmt::format("{} slowed by {:g} %, n={}", variant.id, 100 * effect, n));
      // Both are followed by a spin, so that what a spin costs beyond its length is in both.
      SamplingRules pilot = plan.planted_rules;
      pilot.max_samples = pilot.min_samples;
      const double bare_s = median_of(comparing.measure({comparing.point(variant, n)}, pilot).front());
      const double short_s = 0.1 * bare_s;
      const Variant base = with_spin(variant, plan.point.device, instruments, short_s);
      const double pilot_s = median_of(comparing.measure({comparing.point(base, n)}, pilot).front());
      const Variant slowed = with_spin(variant, plan.point.device, instruments, short_s + effect * pilot_s);
      const auto both = comparing.measure({comparing.point(base, n), comparing.point(slowed, n)}, plan.planted_rules);
      PlantedEffect planted;
      planted.n = n;
      planted.effect = effect;
      planted.planted_s = effect * pilot_s;
      planted.ratio = paired_ratio(both[0].rounds, both[1].rounds, confidence);
      planted.verdict = verdict_on(planted.ratio, plan.effect);
      // Not by the ratio of medians: where the base's time wanders, so does the share that a fixed time is of it.
      TimedRounds rest = both[1].rounds;
      for (auto& s : rest.seconds)
        if (s) *s -= planted.planted_s;
      planted.rest = paired_ratio(both[0].rounds, rest, confidence);
      const TimingMode spins_by = plan.point.device == DeviceKind::cuda ? TimingMode::globaltimer : TimingMode::end_to_end;
      planted.unknown = instruments.timer->resolution_s(spins_by) / pilot_s;
      out.planted.push_back(planted);
    }
  }
  progress(done, done, "");
  return out;
}

}  // namespace reductio
