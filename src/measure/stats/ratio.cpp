#include "measure/stats/ratio.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace reductio {
namespace {

/// The width on the logarithm of a ratio that the resolutions of both clocks leave unknown.
double resolution_on_log(const TimedRounds& base, const TimedRounds& variant) {
  const auto share = [](const TimedRounds& s) {
    const std::vector<double> seconds = values(s.seconds);
    const double middle = seconds.empty() ? 0 : median(seconds);
    return middle > 0 ? s.resolution_s / middle : 0;
  };
  return share(base) + share(variant);
}

Ratio ratio_of(double log_value, Interval logs, double resolution) {
  Ratio out;
  const Interval wide = no_narrower_than(logs, log_value, resolution);
  out.at_resolution = resolution > 0 && logs.high - logs.low <= resolution;
  out.value = std::exp(log_value);
  out.interval = {std::exp(wide.low), std::exp(wide.high)};
  return out;
}

}  // namespace

std::size_t clusters_for(double confidence) { return 2 * fewest_samples(confidence); }

Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  ByRound logs = logarithms(base.seconds);
  const ByRound of_variant = logarithms(variant.seconds);
  logs.resize(std::min(logs.size(), of_variant.size()));
  for (std::size_t r = 0; r < logs.size(); ++r) {
    if (logs[r] && of_variant[r]) *logs[r] -= *of_variant[r];
    else logs[r].reset();
  }
  const ClusteredCentre m = clustered_centre(logs, base.allocations, confidence);
  Ratio out = ratio_of(m.of_clusters.value, m.of_clusters.interval, resolution_on_log(base, variant));
  out.confidence = m.of_clusters.confidence;
  out.enough = m.of_clusters.enough;
  out.rounds = m.rounds;
  out.clusters = m.clusters;
  return out;
}

Ratio unpaired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  const auto summary = [&](const TimedRounds& s) {
    return clustered_centre(logarithms(s.seconds), s.allocations, confidence);
  };
  const ClusteredCentre of_base = summary(base), of_variant = summary(variant);
  const Centre &b = of_base.of_clusters, &v = of_variant.of_clusters;
  const double at = b.value - v.value;
  const Interval logs{at - std::hypot(b.value - b.interval.low, v.interval.high - v.value),
                      at + std::hypot(b.interval.high - b.value, v.value - v.interval.low)};
  Ratio out = ratio_of(at, logs, resolution_on_log(base, variant));
  out.confidence = std::min(b.confidence, v.confidence);
  out.enough = b.enough && v.enough;
  out.rounds = std::min(of_base.rounds, of_variant.rounds);
  out.clusters = std::min(of_base.clusters, of_variant.clusters);
  return out;
}

std::string_view rule_in_words(bool paired) {
  return paired ? "Of each allocation's rounds the mean of log(t(base)/t) without a tenth at either end; of these the "
                  "Hodges-Lehmann centre and its signed-rank interval."
                : "Of each allocation's rounds the mean of log(t) without a tenth at either end; of these the "
                  "Hodges-Lehmann centre and its signed-rank interval; the two sides' errors combined as independent.";
}

double confidence_of_each(double together, std::size_t rows) {
  return 1 - (1 - together) / static_cast<double>(std::max<std::size_t>(rows, 1));
}

std::string_view name(Verdict v) {
  switch (v) {
    case Verdict::faster: return "FASTER";
    case Verdict::slower: return "SLOWER";
    case Verdict::same: return "SAME";
    case Verdict::undecided: return "UNDECIDED";
  }
  return "?";
}

Verdict verdict_on(const Ratio& r, double effect) {
  if (!r.enough) return Verdict::undecided;
  if (r.interval.low > 1 + effect) return Verdict::faster;
  if (r.interval.high < 1 / (1 + effect)) return Verdict::slower;
  if (r.interval.low >= 1 / (1 + effect) && r.interval.high <= 1 + effect) return Verdict::same;
  return Verdict::undecided;
}

std::optional<std::size_t> rounds_to_decide(const Ratio& r, double effect) {
  if (!r.enough) return std::max(least_clusters, r.rounds + 1);
  if (r.at_resolution || !(r.value > 0)) return std::nullopt;
  const double at = std::log(r.value), bound = std::log1p(effect);
  const double up = std::log(r.interval.high) - at, down = at - std::log(r.interval.low);
  // How many times as far as it may the interval reaches, to the side or sides that the verdict asks about.
  const double over = at > bound    ? down / (at - bound)
                      : at < -bound ? up / (-bound - at)
                                    : std::max(up / (bound - at), down / (bound + at));
  const double rounds = std::ceil(static_cast<double>(r.rounds) * over * over);
  if (!(rounds <= 1e6)) return std::nullopt;  // no advice
  return std::max(static_cast<std::size_t>(rounds), r.rounds + 1);
}

}  // namespace reductio
