#include "measure/analysis/selftest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <utility>

#include "measure/analysis/compare.h"
#include "measure/sampling/rounds.h"
#include "measure/sampling/sampler.h"

namespace reductio {
namespace {

/// `v` on this device, each call followed, inside what is timed, by a spin of so many seconds.
Variant with_spin(const Variant& v, DeviceKind device, const Instruments& instruments, double seconds) {
  Variant out = v;
  Prepare& prepare = out.prepare[static_cast<std::size_t>(device)];
  prepare = [inner = prepare, &instruments, seconds](const Problem& p, const Settings& s,
                                                      const DeviceInfo& info) {
    return instruments.harness_calls->followed_by_spin(inner(p, s, info), seconds);
  };
  return out;
}

class Comparing {
 public:
  Comparing(Backend* backend, Instruments& instruments, const SelftestPlan& plan, const SelftestWatch& watch)
      : backend_(backend), instruments_(instruments), plan_(plan), watch_(watch) {}

  using Group = std::vector<Point>;

  /// Each group's points sampled together, all groups in the same contexts. `what`: for progress.
  std::vector<std::vector<Measured>> measure(const std::vector<Group>& groups, const SamplingRules& rules,
                                             const std::string& what) {
    std::vector<std::vector<const Point*>> points;
    for (const Group& group : groups) {
      points.emplace_back();
      for (const Point& p : group) points.back().push_back(&p);
    }
    Sampler sampler({backend_, instruments_, rules, plan_.order_seed + ++measured_});
    const auto progress = [&](const Point& p, bool, double share) {
      watch_.progress(share, fmt::format("{}, n={}", what, p.problem.n));
    };
    const Measurement measured = sampler.measure(points, {.abandon = watch_.stop, .progress = progress});
    if (measured.device_lost) std::rethrow_exception(measured.device_lost);
    if (measured.abandoned) throw UsageError("interrupted");
    std::vector<std::vector<Measured>> out;
    for (const GroupOutcome& outcome : measured.groups) {
      for (const Row& row : outcome.rows) {
        if (row.status == Status::refused || row.status == Status::no_memory || row.status == Status::over_limit)
          throw UsageError(row.point.variant + ": " + row.reason);
        if (row.status == Status::wrong) throw WrongResult(row.point.variant + " gave a wrong result: " + row.reason);
        if (row.status != Status::ok)
          throw DeviceError(fmt::format("{}: {}, {}", row.point.variant, name(row.status), row.reason));
        if (!row.time_median_s) throw UsageError("this device measures no time; a self-test needs a clock");
      }
      out.push_back(measured_in(outcome));
    }
    return out;
  }

  Point point(const Variant& v, std::size_t n) const {
    Point p = plan_.point;
    p.variant = &v;
    p.problem.n = n;
    if (&v == plan_.other) p.settings = v.settings();
    return p;
  }

 private:
  Backend* backend_;
  Instruments& instruments_;
  const SelftestPlan& plan_;
  const SelftestWatch& watch_;
  std::uint64_t measured_ = 0;
};

/// The rounds of half of the contexts, those that `first` marks or the others.
TimedRounds half_of(TimedRounds rounds, const std::vector<bool>& first, bool which) {
  for (std::size_t r = 0; r < rounds.seconds.size(); ++r)
    if (first[static_cast<std::size_t>(rounds.contexts[r])] != which) rounds.seconds[r].reset();
  return rounds;
}

/// Half of `count`, drawn.
std::vector<bool> any_half(std::size_t count, std::mt19937_64& random) {
  std::vector<bool> out(count);
  const std::vector<int> order = shuffled(static_cast<int>(count), random);
  for (std::size_t i = 0; i < count / 2; ++i) out[static_cast<std::size_t>(order[i])] = true;
  return out;
}

void count(SelfComparisons::Kind& kind, const Ratio& r, double effect, std::vector<double>& reach) {
  const Verdict verdict = verdict_on(r, effect);
  ++kind.comparisons;
  kind.without_one += r.interval.low > 1 || r.interval.high < 1;
  kind.told_apart += verdict == Verdict::faster || verdict == Verdict::slower;
  // A slowdown of e moves the interval down by e, so it is found if it is more than the upper end.
  reach.push_back(std::max(std::log(r.interval.high), 0.0));
}

double median_of(const Measured& m) { return median(values(m.rounds.seconds)); }

/// Told as often as PlantedEffect::too_small_beside_other() says.
bool nearly_always_told(const PlantedEffect& p, const Ratio& r) {
  return std::log1p(p.effect) - std::log1p(p.smallest_that_matters) >= log_width(r);  // twice the half width
}

}  // namespace

double log_width(const Ratio& r) { return std::log(r.interval.high) - std::log(r.interval.low); }

bool PlantedEffect::too_small_beside_other() const {
  return effect > 0 && !largest && covered() && is_right(verdict) && beside_other && beside_other->enough &&
         verdict_beside_other == Verdict::undecided && holds_one(rest_beside_other.interval) &&
         !nearly_always_told(*this, *beside_other);
}

bool PlantedEffect::missed_by_resolution() const {
  if (!missed() || !covered()) return false;
  if (!is_right(verdict)) return verdict == Verdict::undecided && ratio.enough && ratio.at_resolution;
  return verdict_beside_other == Verdict::undecided && beside_other->enough && beside_other->at_resolution &&
         holds_one(rest_beside_other.interval);
}

std::string PlantedEffect::why_missed(const std::string& other) const {
  if (!covered()) return "not as much as was planted";
  const bool alone = !is_right(verdict);
  const Ratio& r = alone ? ratio : *beside_other;
  const Verdict said = alone ? verdict : verdict_beside_other;
  const std::string what = alone ? std::string(name(said)) : fmt::format("{} beside {}", name(said), other);
  if (said != Verdict::undecided) return what;
  if (!r.enough) return what + ", of too few contexts for an interval";
  const std::string width = fmt::format("{}, the interval is {:.2g} % wide", what, 100 * log_width(r));
  if (!alone && !holds_one(rest_beside_other.interval)) return width + " and leaves out what was planted";
  if (missed_by_resolution()) return width + " by the clock's resolution";
  return nearly_always_told(*this, r) ? width : width + ", too wide to tell it";
}

std::size_t SelftestReport::count(bool (PlantedEffect::*so)() const) const {
  return static_cast<std::size_t>(std::count_if(planted.begin(), planted.end(), std::mem_fn(so)));
}

std::string SelftestReport::told() const {
  const std::size_t small = count(&PlantedEffect::too_small_beside_other);
  return fmt::format("{} of {} planted effects, zero included, were found{}", count(&PlantedEffect::found),
                     planted.size(),
                     small ? fmt::format(", {} too small to be found beside another kernel", small) : "");
}

SelfComparisons::Kind SelftestReport::all(SelfComparisons::Kind SelfComparisons::*kind) const {
  SelfComparisons::Kind sum;
  for (const SelfComparisons& one : with_itself) {
    sum.comparisons += (one.*kind).comparisons;
    sum.without_one += (one.*kind).without_one;
    sum.told_apart += (one.*kind).told_apart;
  }
  return sum;
}

Interval SelfComparisons::Kind::rate() const { return share_interval(without_one, comparisons, 0.95); }

SelftestReport selftest(Backend* backend, Instruments& instruments, const SelftestPlan& plan,
                        const SelftestWatch& watch) {
  const Variant& variant = *plan.point.variant;
  Comparing comparing(backend, instruments, plan, watch);
  std::mt19937_64 random(plan.order_seed);
  SelftestReport out;

  std::vector<Comparing::Group> pairs;
  for (const std::size_t n : plan.sizes)
    pairs.insert(pairs.end(), static_cast<std::size_t>(plan.repeats),
                 {comparing.point(variant, n), comparing.point(variant, n)});
  const auto itself = comparing.measure(pairs, plan.rules, variant.id + " against itself");
  std::vector<double> bare_s;  // of each size
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    SelfComparisons here;
    here.n = plan.sizes[i];
    std::vector<double> paired, unpaired, medians;
    for (std::size_t k = 0; k < static_cast<std::size_t>(plan.repeats); ++k) {
      const auto& both = itself[i * static_cast<std::size_t>(plan.repeats) + k];
      medians.push_back(median_of(both[0]));
      count(here.together, paired_ratio(both[0].rounds, both[1].rounds, plan.confidence), plan.effect, paired);
      const auto contexts = static_cast<std::size_t>(both[0].rounds.contexts.back()) + 1;
      if (contexts < 2 * least_contexts) continue;
      const std::vector<bool> first = any_half(contexts, random);
      count(
          here.apart,
          unpaired_ratio(half_of(both[0].rounds, first, true), half_of(both[1].rounds, first, false), plan.confidence),
          plan.effect, unpaired);
    }
    here.median_s = median(medians);
    here.together.smallest = std::expm1(quantile(paired, 0.9));
    if (!unpaired.empty()) here.apart.smallest = std::expm1(quantile(unpaired, 0.9));
    bare_s.push_back(here.median_s);
    out.with_itself.push_back(here);
  }
  if (plan.planted.empty()) return out;

  // Both are followed by a spin, so that what a spin costs beyond its length is in both.
  std::vector<Variant> bases, slowed;
  std::vector<Comparing::Group> alone;
  bases.reserve(plan.sizes.size());
  for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
    bases.push_back(with_spin(variant, plan.point.device, instruments, 0.1 * bare_s[i]));
    alone.push_back({comparing.point(bases.back(), plan.sizes[i])});
  }
  SamplingRules pilot = plan.planted_rules;
  pilot.contexts = 3;
  pilot.max_samples = std::max(pilot.min_samples, 30);
  const auto piloted = comparing.measure(alone, pilot, variant.id + " with a spin");
  std::vector<Comparing::Group> planted;
  slowed.reserve(plan.sizes.size() * plan.planted.size());
  for (std::size_t i = 0; i < plan.sizes.size(); ++i)
    for (const double effect : plan.planted) {
      PlantedEffect p;
      p.n = plan.sizes[i];
      p.effect = effect;
      p.largest = effect == *std::max_element(plan.planted.begin(), plan.planted.end());
      p.smallest_that_matters = plan.effect;
      const double pilot_s = median_of(piloted[i].front());
      p.planted_s = effect * pilot_s;
      const TimingMode spins_by =
          plan.point.device == DeviceKind::cuda ? TimingMode::globaltimer : TimingMode::end_to_end;
      p.unknown = instruments.timer->resolution_s(spins_by) / pilot_s;
      slowed.push_back(
          with_spin(variant, plan.point.device, instruments, 0.1 * bare_s[i] + p.planted_s));
      planted.push_back({comparing.point(bases[i], p.n), comparing.point(slowed.back(), p.n)});
      if (plan.other) planted.back().push_back(comparing.point(*plan.other, p.n));
      out.planted.push_back(p);
    }
  const auto measured = comparing.measure(planted, plan.planted_rules, variant.id + " slowed");
  const double confidence = confidence_of_each(plan.confidence, out.planted.size());
  for (std::size_t i = 0; i < out.planted.size(); ++i) {
    PlantedEffect& p = out.planted[i];
    const TimedRounds& base = measured[i][0].rounds;
    p.ratio = paired_ratio(base, measured[i][1].rounds, confidence);
    p.verdict = verdict_on(p.ratio, plan.effect);
    // Not by the ratio of medians: if the base's time drifts, so does a fixed time's share of it.
    TimedRounds rest = measured[i][1].rounds;
    for (auto& s : rest.seconds)
      if (s) *s -= p.planted_s;
    p.rest = paired_ratio(base, rest, confidence);
    if (!plan.other) continue;
    const TimedRounds& other = measured[i][2].rounds;
    const auto contexts = static_cast<std::size_t>(base.contexts.back()) + 1;
    if (contexts < 2 * least_contexts) continue;
    const std::vector<bool> first = any_half(contexts, random);
    // Each from contexts of its own, over the other kernel's time there.
    const auto beside_other = [&](const TimedRounds& variant) {
      const TimedRounds b = half_of(base, first, true), b_other = half_of(other, first, true),
                        v = half_of(variant, first, false), v_other = half_of(other, first, false);
      const Factor of_base[] = {{1, &b}, {-1, &b_other}}, of_variant[] = {{1, &v}, {-1, &v_other}};
      return unpaired_ratio(of_base, of_variant, confidence);
    };
    p.beside_other = beside_other(measured[i][1].rounds);
    p.rest_beside_other = beside_other(rest);
    p.verdict_beside_other = verdict_on(*p.beside_other, plan.effect);
  }
  return out;
}

}  // namespace reductio
