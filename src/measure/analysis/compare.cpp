#include "measure/analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"

namespace reductio {
namespace {

/// Among the rows of a folder, which may hold several experiments.
std::string key_of(const Measured& m, std::string_view without = {}) {
  return (without == "experiment" ? "" : m.row.experiment) + "|" + row_key(m.row.point, without);
}

/// In words, for messages.
std::string describe(const Measured& m) {
  return m.row.point.variant + " " + describe_group(m.row.point) + " of " + m.row.experiment;
}

}  // namespace

std::vector<Measured> measured_in(const GroupOutcome& outcome) {
  std::vector<Measured> out;
  for (std::size_t i = 0; i < outcome.rows.size(); ++i) {
    Measured m{.label = {}, .source = "now", .row = outcome.rows[i], .rounds = {}};
    if (i < outcome.seconds.size()) m.rounds.seconds = outcome.seconds[i];
    m.rounds.contexts = outcome.contexts;
    m.rounds.resolution_s = m.row.timer_resolution_s.value_or(0);
    out.push_back(std::move(m));
  }
  return out;
}

MeasuredSet measured_in(const StoredResults& stored) {
  MeasuredSet out{.name = stored.named.string(), .rows = {}};
  for (const StoredRow& row : stored.rows) {
    const PointKey& point = row.row.point;
    out.rows.push_back({.label = point.variant + (point.settings.empty() ? "" : " " + point.settings),
                        .source = out.name,
                        .row = row.row,
                        .rounds = {.seconds = row.seconds,
                                   .contexts = row.contexts,
                                   .resolution_s = row.row.timer_resolution_s.value_or(0)}});
  }
  return out;
}

std::vector<Factor> Measured::factors() const {
  std::vector<Factor> out{{1, &rounds}};
  if (!reference.seconds.empty()) out.push_back({-1, &reference});
  return out;
}

/// "; did you mean 'cub/sum'?" of a variant that the set has.
static std::string did_you_mean(const MeasuredSet& set, std::span<const std::string> ids) {
  std::set<std::string> known;
  for (const Measured& m : set.rows) known.insert(m.row.point.variant);
  for (const std::string& id : ids)
    if (const std::string near = nearest(id, {known.begin(), known.end()}); !known.contains(id) && !near.empty())
      return "; did you mean '" + near + "'?";
  return "";
}

MeasuredSet relative_to(const MeasuredSet& set, std::span<const std::string> ids) {
  // What points that were sampled together share.
  const auto group_of = [](const Measured& m) {
    return m.row.run_id + "|" + m.row.experiment + "|" + group_key(m.row.point);
  };
  const auto rank_of = [&](const Measured& m) {
    return std::find(ids.begin(), ids.end(), m.row.point.variant) - ids.begin();
  };
  const auto is_reference = [&](const Measured& m) { return rank_of(m) < static_cast<std::ptrdiff_t>(ids.size()); };
  std::map<std::string, const Measured*> references;
  for (const Measured& m : set.rows) {
    if (!is_reference(m) || m.rounds.seconds.empty()) continue;
    const Measured*& best = references[group_of(m)];
    if (!best || rank_of(m) < rank_of(*best)) best = &m;
  }
  if (references.empty())
    throw UsageError(fmt::format("--relative-to: {} has no times of {}{}", set.name, fmt::join(ids, " or "),
                                 did_you_mean(set, ids)));
  MeasuredSet out{.name = set.name, .rows = {}};
  for (const Measured& m : set.rows) {
    if (is_reference(m)) continue;
    Measured relative = m;
    const auto found = references.find(group_of(m));
    if (found != references.end() && share_a_context(m.rounds, found->second->rounds))
      relative.reference = found->second->rounds;
    else
      relative.rounds.seconds.clear();
    out.rows.push_back(std::move(relative));
  }
  return out;
}

std::vector<Pair> match(const MeasuredSet& base, const MeasuredSet& now, bool common_only) {
  std::map<std::string, const Measured*> by_key;
  for (const Measured& m : base.rows)
    if (!by_key.emplace(key_of(m), &m).second)
      throw UsageError(base.name + " holds two rows of " + describe(m) + ": not comparable");
  std::vector<Pair> out;
  std::vector<const Measured*> only_now;
  std::set<std::string> matched;
  for (const Measured& m : now.rows) {
    const auto at = by_key.find(key_of(m));
    if (at == by_key.end()) {
      only_now.push_back(&m);
      continue;
    }
    if (!matched.insert(at->first).second)
      throw UsageError(now.name + " holds two rows of " + describe(m) + ": not comparable");
    out.emplace_back(at->second, &m);
  }
  const std::string b = base.name, n = now.name;
  if (out.empty()) {
    // In one respect only? Then that is the reason.
    for (const std::string_view column :
         {"timing_mode", "cache_state", "device", "dataset", "seed", "offset_elements", "settings", "experiment"}) {
      std::map<std::string, const Measured*> without;
      for (const Measured& m : base.rows) without.emplace(key_of(m, column), &m);
      for (const Measured* m : only_now)
        if (const auto other = without.find(key_of(*m, column)); other != without.end())
          throw UsageError(fmt::format("{} and {} are not comparable: {} is {} there and {} here", b, n, column,
                                       other->second->at(column), m->at(column)));
    }
    throw UsageError(b + " and " + n + " have no rows in common: nothing to compare");
  }
  const std::size_t only_base = by_key.size() - matched.size();
  if (!common_only && (only_base || !only_now.empty())) {
    const Measured* example = only_now.empty() ? nullptr : only_now.front();
    for (const auto& [key, m] : by_key)
      if (only_base && !matched.contains(key)) example = m;
    throw UsageError(
        fmt::format("rows are missing: {} lacks {} of {} rows, {} lacks {} of {} ({}, for one); --common "
                    "compares the {} that both have, --experiment those of one experiment",
                    n, only_base, by_key.size(), b, only_now.size(), now.rows.size(), describe(*example), out.size()));
  }
  return out;
}

SamplingRules compare_rules(double confidence_of_each) {
  const int contexts = std::max(wanted_contexts, static_cast<int>(contexts_for(confidence_of_each)));
  return {.min_samples = contexts,
          .max_samples = 4000,
          .time_budget_s = 1,
          .slow_s = 1,
          .slow_samples = 7,
          .full = true,  // the user named what to time
          .contexts = contexts,
          .paired = true,
          .harness_calls = false};
}

std::size_t Comparison::count(Verdict v) const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const Compared& c) { return c.ratio && c.verdict == v; }));
}

std::size_t Comparison::ratios() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Compared& c) { return c.ratio.has_value(); }));
}

std::size_t Comparison::intervals() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Compared& c) { return c.has_interval(); }));
}

Comparison compare(std::span<const Pair> pairs, bool paired, double confidence, double effect, bool separately,
                   int looks) {
  require_confidence(confidence);
  if (!(effect > 0)) throw UsageError("--effect must be above 0, such as 0.01 or 1%");
  Comparison out{.rows = {},
                 .paired = paired,
                 .separately = separately,
                 .confidence = confidence,
                 .effect = effect,
                 .looks = looks};
  const auto why_not = [](const Measured& m) -> std::string {
    if (m.row.status != Status::ok) return fmt::format("{}: {}, {}", m.label, in_words(m.row.status), m.row.reason);
    if (std::none_of(m.rounds.seconds.begin(), m.rounds.seconds.end(), [](const auto& s) { return s && *s > 0; }))
      return m.label + ": no times";
    return {};
  };
  std::size_t timed = 0;
  for (const auto& [base, variant] : pairs) timed += why_not(*base).empty() && why_not(*variant).empty();
  const double each = confidence_of_each(
      confidence, (separately ? 1 : std::max<std::size_t>(timed, 1)) * static_cast<std::size_t>(looks));
  for (const auto& [base, variant] : pairs) {
    Compared c{.base = *base, .variant = *variant, .ratio = {}, .verdict = {}, .rounds_to_decide = {}, .reason = {}};
    c.verdict = Verdict::undecided;
    c.reason = why_not(*base);
    if (c.reason.empty()) c.reason = why_not(*variant);
    if (c.reason.empty()) {
      c.ratio = paired ? paired_ratio(base->rounds, variant->rounds, each)
                       : unpaired_ratio(base->factors(), variant->factors(), each);
      c.verdict = verdict_on(*c.ratio, effect);
      if (c.verdict == Verdict::undecided) {
        c.rounds_to_decide = rounds_to_decide(*c.ratio, effect);
        if (!c.ratio->enough)
          c.reason =
              c.ratio->rounds < least_contexts
                  ? fmt::format("too few samples for an interval: {}, it takes {}", c.ratio->rounds, least_contexts)
                  : fmt::format("too few contexts for an interval: {}, it takes {}", c.ratio->contexts, least_contexts);
        else if (c.ratio->at_resolution)
          c.reason = "the clock's resolution is too coarse for this effect";
        else if (!c.rounds_to_decide)
          c.reason = "no number of samples within reach would decide; more --contexts might";
      }
    }
    out.rows.push_back(std::move(c));
  }
  return out;
}

std::optional<double> least_effect(const Comparison& comparison) {
  double effect = comparison.effect;
  // What decides one row may leave another undecided, which was SLOWER by less.
  for (std::size_t tries = 0; tries <= comparison.rows.size(); ++tries) {
    double least = 0;
    for (const Compared& c : comparison.rows)
      if (c.has_interval() && verdict_on(*c.ratio, effect) == Verdict::undecided)
        least = std::max({least, c.ratio->interval.high - 1, 1 / c.ratio->interval.low - 1});
    if (least == 0) return effect > comparison.effect ? std::optional(effect) : std::nullopt;
    if (!std::isfinite(least)) break;
    const double step = std::pow(10, std::floor(std::log10(least)) - 1);
    effect = std::stod(fmt::format("{:.2g}", std::ceil(least / step * (1 + 1e-9)) * step));
  }
  return std::nullopt;
}

std::string confidence_in_words(const Comparison& c) {
  const std::size_t count = c.intervals(), without = c.ratios() - count;
  if (count == 0)
    return fmt::format("There is no interval: too few samples; the smallest effect that counts is {:g} %.",
                       100 * c.effect);
  std::string what = count == 1     ? "The interval holds"
                     : c.separately ? fmt::format("Each of {} intervals holds by itself", count)
                                    : fmt::format("All {} intervals hold at once", count);
  if (c.looks > 1) what += fmt::format(", whichever of {} looks was the last,", c.looks);
  const bool to_the_host = std::any_of(c.rows.begin(), c.rows.end(), [](const Compared& row) {
    const PointKey& point = row.variant.row.point;
    return row.has_interval() && point.device == DeviceKind::cuda && point.timing_mode == TimingMode::end_to_end;
  });
  return fmt::format(
      "{} with {:g} % confidence; {}the smallest effect that counts is {:g} %.{}", what, 100 * c.confidence,
      without ? fmt::format("{} of {} rows have too few samples for one; ", without, c.ratios()) : "", 100 * c.effect,
      to_the_host ? " Timed end to end, an interval holds what another run measures less often than "
                    "it states (docs/measuring.md)."
                  : "");
}

}  // namespace reductio
