#include "measure/stats/ratio.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace reductio {
namespace {

/// The log-scale width that the clocks' resolutions leave unknown.
double resolution_on_log(std::span<const Factor> factors) {
  double width = 0;
  for (const auto& [power, times] : factors) {
    const std::vector<double> seconds = values(times->seconds);
    const double middle = seconds.empty() ? 0 : median(seconds);
    if (middle > 0) width += std::abs(power) * times->resolution_s / middle;
  }
  return width;
}

CentreOfContexts centre_on_log(std::span<const Factor> factors, double confidence) {
  std::vector<ByRound> logs;
  std::vector<double> powers;
  for (const auto& [power, times] : factors) {
    logs.push_back(logarithms(times->seconds));
    powers.push_back(power);
  }
  std::vector<SeriesByRound> series;
  for (std::size_t i = 0; i < factors.size(); ++i) series.push_back({&logs[i], factors[i].times->contexts});
  return centre_of_contexts(series, powers, confidence);
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

std::size_t contexts_for(double confidence) { return 2 * fewest_samples(confidence); }

bool share_a_context(const TimedRounds& a, const TimedRounds& b) {
  const ByRound of_a = logarithms(a.seconds), of_b = logarithms(b.seconds);
  const SeriesByRound both[] = {{&of_a, a.contexts}, {&of_b, b.contexts}};
  return !contexts_of(both).means.empty();
}

Ratio product_of(std::span<const Factor> factors, double confidence) {
  const CentreOfContexts m = centre_on_log(factors, confidence);
  Ratio out = ratio_of(m.of_means.value, m.of_means.interval, resolution_on_log(factors));
  out.confidence = m.of_means.confidence;
  out.enough = m.of_means.enough;
  out.rounds = m.rounds;
  out.contexts = m.contexts;
  return out;
}

Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  const Factor both[] = {{1, &base}, {-1, &variant}};
  return product_of(both, confidence);
}

Ratio unpaired_ratio(std::span<const Factor> base, std::span<const Factor> variant, double confidence) {
  const CentreOfContexts of_base = centre_on_log(base, confidence), of_variant = centre_on_log(variant, confidence);
  const Centre &b = of_base.of_means, &v = of_variant.of_means;
  const double at = b.value - v.value;
  const Interval logs{at - std::hypot(b.value - b.interval.low, v.interval.high - v.value),
                      at + std::hypot(b.interval.high - b.value, v.value - v.interval.low)};
  Ratio out = ratio_of(at, logs, resolution_on_log(base) + resolution_on_log(variant));
  out.confidence = std::min(b.confidence, v.confidence);
  out.enough = b.enough && v.enough;
  out.rounds = std::min(of_base.rounds, of_variant.rounds);
  out.contexts = std::min(of_base.contexts, of_variant.contexts);
  return out;
}

Ratio unpaired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  const Factor of_base{1, &base}, of_variant{1, &variant};
  return unpaired_ratio({&of_base, 1}, {&of_variant, 1}, confidence);
}

std::string_view rule_in_words(bool paired) {
  return paired ? "Each context gives each side a mean of log(t) without a tenth at either end; their differences "
                  "give the Hodges-Lehmann centre and its signed-rank interval."
                : "Each context gives a mean of log(t) without a tenth at either end; these give the Hodges-Lehmann "
                  "centre and its signed-rank interval; the two sides' errors combine as independent.";
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
  if (!r.enough) return std::max(least_contexts, r.rounds + 1);
  if (r.at_resolution || !(r.value > 0)) return std::nullopt;
  const double at = std::log(r.value), bound = std::log1p(effect);
  const double up = std::log(r.interval.high) - at, down = at - std::log(r.interval.low);
  // How far the interval reaches, as a multiple of what the verdict allows, on the side or sides that it asks about.
  const double over = at > bound    ? down / (at - bound)
                      : at < -bound ? up / (-bound - at)
                                    : std::max(up / (bound - at), down / (bound + at));
  const double rounds = std::ceil(static_cast<double>(r.rounds) * over * over);
  if (!(rounds <= 1e6)) return std::nullopt;  // no advice
  return std::max(static_cast<std::size_t>(rounds), r.rounds + 1);
}

}  // namespace reductio
