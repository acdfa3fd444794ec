#include "measure/stats/by_round.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.h"

namespace reductio {

std::vector<double> values(const ByRound& by_round) {
  std::vector<double> out;
  for (const auto& v : by_round)
    if (v) out.push_back(*v);
  return out;
}

ByRound logarithms(const ByRound& by_round) {
  ByRound out(by_round.size());
  for (std::size_t r = 0; r < by_round.size(); ++r)
    if (by_round[r] && *by_round[r] > 0) out[r] = std::log(*by_round[r]);
  return out;
}

std::vector<std::vector<std::size_t>> clusters_of(const ByRound& by_round, std::span<const int> allocations) {
  // Runs of rounds on one allocation. Coming back to an allocation later is a run of its own.
  std::vector<std::vector<std::size_t>> runs;
  std::optional<int> last;
  for (std::size_t r = 0; r < by_round.size(); ++r) {
    if (!by_round[r]) continue;
    const int allocation = r < allocations.size() ? allocations[r] : 0;
    if (last != allocation) runs.emplace_back();
    last = allocation;
    runs.back().push_back(r);
  }
  if (runs.size() != 1) return runs;
  const std::vector<std::size_t> run = runs.front();
  runs.clear();
  const std::size_t parts = std::min(least_clusters, run.size());
  for (std::size_t p = 0; p < parts; ++p)
    runs.emplace_back(run.begin() + static_cast<std::ptrdiff_t>(p * run.size() / parts),
                      run.begin() + static_cast<std::ptrdiff_t>((p + 1) * run.size() / parts));
  return runs;
}

ClusteredCentre clustered_centre(const ByRound& by_round, std::span<const int> allocations, double confidence) {
  std::vector<double> means;
  ClusteredCentre out;
  for (const auto& cluster : clusters_of(by_round, allocations)) {
    std::vector<double> its;
    for (const std::size_t round : cluster) its.push_back(*by_round[round]);
    means.push_back(trimmed_mean(its));
    out.rounds += its.size();
  }
  if (means.empty()) throw UsageError("no rounds to compare");
  out.of_clusters = centre_of(means, confidence);
  out.clusters = means.size();
  return out;
}

CentralTime central_time(const ByRound& by_round, std::span<const int> allocations, double confidence) {
  const std::vector<double> seconds = values(by_round);
  const auto [least, greatest] = std::minmax_element(seconds.begin(), seconds.end());
  CentralTime out{.seconds = median(seconds), .interval = {*least, *greatest}, .confidence = 0, .enough = false};
  const ByRound logs = logarithms(by_round);
  if (values(logs).empty()) return out;  // a clock that saw no time pass
  const auto [centre, rounds, clusters] = clustered_centre(logs, allocations, confidence);
  out.seconds = std::exp(centre.value);
  out.clusters = clusters;
  out.confidence = centre.confidence;
  out.enough = centre.enough;
  if (*least == *greatest) out.seconds = *least;  // exactly, which a logarithm's way back is not
  else if (out.enough) out.interval = {std::exp(centre.interval.low), std::exp(centre.interval.high)};
  return out;
}

ByRound read_ceiling_by_round(const std::vector<ByRound>& kernels) {
  const std::size_t rounds = kernels.empty() ? 0 : kernels.front().size();
  // The fastest by median over the rounds of one parity; over all rounds where that parity has none.
  const auto fastest_where = [&](auto&& counts) -> const ByRound* {
    const ByRound* best = nullptr;
    double best_s = 0;
    for (const ByRound& kernel : kernels) {
      std::vector<double> s;
      for (std::size_t r = 0; r < rounds; ++r)
        if (kernel[r] && counts(r)) s.push_back(*kernel[r]);
      if (s.empty()) continue;
      const double m = median(s);
      if (!best || m < best_s) best = &kernel, best_s = m;
    }
    return best;
  };
  const auto fastest = [&](std::size_t parity) {
    const ByRound* best = fastest_where([&](std::size_t r) { return r % 2 == parity; });
    return best ? best : fastest_where([](std::size_t) { return true; });
  };
  const ByRound* by_parity[2] = {fastest(0), fastest(1)};
  ByRound out(rounds);
  for (std::size_t r = 0; r < rounds; ++r)
    if (const ByRound* kernel = by_parity[1 - r % 2]) out[r] = (*kernel)[r];
  return out;
}

std::optional<ReadCeiling> read_ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> allocations,
                                           double confidence) {
  ReadCeiling c{.seconds = read_ceiling_by_round(kernels), .time_s = 0, .interval = {}};
  const auto all = values(c.seconds);
  if (all.empty()) return std::nullopt;
  const CentralTime time = central_time(c.seconds, allocations, confidence);
  if (!(time.seconds > 0)) return std::nullopt;  // a clock that saw no time pass
  c.time_s = time.seconds;
  c.interval = time.interval;
  return c;
}

std::optional<double> share_of(const ByRound& read_ceiling, const ByRound& times) {
  std::vector<double> shares;
  for (std::size_t r = 0; r < std::min(read_ceiling.size(), times.size()); ++r)
    if (read_ceiling[r] && times[r] && *read_ceiling[r] > 0 && *times[r] > 0)
      shares.push_back(*read_ceiling[r] / *times[r]);
  if (shares.empty()) return std::nullopt;
  return median(shares);
}

}  // namespace reductio
