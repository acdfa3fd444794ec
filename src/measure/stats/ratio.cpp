#include "measure/stats/ratio.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace reductio {
namespace {

/// The centre of the clusters' trimmed means of some logarithms.
struct LogCentre {
  Centre of_clusters;
  std::size_t rounds = 0, clusters = 0;
};

LogCentre log_centre(const std::vector<bool>& present, const std::vector<double>& logs, std::span<const int> allocations,
                     double confidence) {
  std::vector<double> means;
  LogCentre out;
  for (const auto& cluster : clusters_of(present, allocations)) {
    std::vector<double> its;
    for (const std::size_t round : cluster) its.push_back(logs[round]);
    means.push_back(trimmed_mean(its));
    out.rounds += its.size();
  }
  if (means.empty()) throw UsageError("no rounds to compare");
  out.of_clusters = centre_of(means, confidence);
  out.clusters = means.size();
  return out;
}

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

/// The logarithm in rounds where there is one.
void logs_of(const TimedRounds& s, std::vector<bool>& present, std::vector<double>& logs) {
  present.assign(s.seconds.size(), false);
  logs.assign(s.seconds.size(), 0);
  for (std::size_t r = 0; r < s.seconds.size(); ++r)
    if (s.seconds[r] && *s.seconds[r] > 0) {
      present[r] = true;
      logs[r] = std::log(*s.seconds[r]);
    }
}

}  // namespace

std::size_t clusters_for(double confidence) { return 2 * fewest_samples(confidence); }

std::vector<std::vector<std::size_t>> clusters_of(const std::vector<bool>& present, std::span<const int> allocations) {
  // Runs of rounds on one allocation. Coming back to an allocation later is a run of its own.
  std::vector<std::vector<std::size_t>> runs;
  std::optional<int> last;
  for (std::size_t r = 0; r < present.size(); ++r) {
    if (!present[r]) continue;
    const int allocation = r < allocations.size() ? allocations[r] : 0;
    if (last != allocation) runs.emplace_back();
    last = allocation;
    runs.back().push_back(r);
  }
  const auto cut = [&](std::size_t parts) {
    std::vector<std::vector<std::size_t>> out;
    for (const auto& run : runs) {
      const std::size_t count = std::min(parts, run.size());
      for (std::size_t p = 0; p < count; ++p)
        out.emplace_back(run.begin() + static_cast<std::ptrdiff_t>(p * run.size() / count),
                         run.begin() + static_cast<std::ptrdiff_t>((p + 1) * run.size() / count));
    }
    return out;
  };
  std::size_t longest = 0;
  for (const auto& run : runs) longest = std::max(longest, run.size());
  std::size_t parts = 1;
  while (parts < longest && cut(parts).size() < least_clusters) ++parts;
  return cut(parts);
}

Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  std::vector<bool> in_base, in_variant;
  std::vector<double> base_logs, variant_logs;
  logs_of(base, in_base, base_logs);
  logs_of(variant, in_variant, variant_logs);
  const std::size_t rounds = std::min(in_base.size(), in_variant.size());
  in_base.resize(rounds);
  base_logs.resize(rounds);
  for (std::size_t r = 0; r < rounds; ++r) {
    in_base[r] = in_base[r] && in_variant[r];
    base_logs[r] -= variant_logs[r];
  }
  const LogCentre m = log_centre(in_base, base_logs, base.allocations, confidence);
  Ratio out = ratio_of(m.of_clusters.value, m.of_clusters.interval, resolution_on_log(base, variant));
  out.confidence = m.of_clusters.confidence;
  out.enough = m.of_clusters.enough;
  out.rounds = m.rounds;
  out.clusters = m.clusters;
  return out;
}

Ratio unpaired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence) {
  const auto summary = [&](const TimedRounds& s) {
    std::vector<bool> present;
    std::vector<double> logs;
    logs_of(s, present, logs);
    return log_centre(present, logs, s.allocations, confidence);
  };
  const LogCentre of_base = summary(base), of_variant = summary(variant);
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
  return paired ? "Of each pass of rounds the mean of log(t(base)/t) without a tenth at either end; of these the "
                  "Hodges-Lehmann centre and its signed-rank interval."
                : "Of each pass of rounds the mean of log(t) without a tenth at either end; of these the "
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
