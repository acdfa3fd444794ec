#include "measure/stats/by_round.h"

#include <algorithm>
#include <cstddef>

namespace reductio {

std::vector<double> values(const ByRound& by_round) {
  std::vector<double> out;
  for (const auto& v : by_round)
    if (v) out.push_back(*v);
  return out;
}

MedianInterval interval_of(const ByRound& by_round, std::span<const int> allocations, double confidence) {
  std::vector<int> clusters;
  for (std::size_t r = 0; r < by_round.size() && r < allocations.size(); ++r)
    if (by_round[r]) clusters.push_back(allocations[r]);
  return median_interval(values(by_round), clusters, confidence);
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
  ReadCeiling c{.seconds = read_ceiling_by_round(kernels), .median_s = 0, .interval = {}};
  const auto all = values(c.seconds);
  if (all.empty()) return std::nullopt;
  c.median_s = median(all);
  c.interval = interval_of(c.seconds, allocations, confidence).interval;
  return c;
}

std::optional<double> share_of(const ByRound& read_ceiling, const ByRound& times) {
  std::vector<double> shares;
  for (std::size_t r = 0; r < std::min(read_ceiling.size(), times.size()); ++r)
    if (read_ceiling[r] && times[r] && *times[r] > 0) shares.push_back(*read_ceiling[r] / *times[r]);
  if (shares.empty()) return std::nullopt;
  return median(shares);
}

}  // namespace reductio
