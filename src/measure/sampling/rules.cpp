#include "measure/sampling/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace reductio {

std::vector<std::vector<std::size_t>> group_points(std::span<const Point> points) {
  const auto key = [&](std::size_t i) {
    const Point& p = points[i];
    return std::tuple(p.device, p.problem.n, p.problem.type, p.offset_elements, p.dataset, p.seed, p.problem.operation,
                      p.timing_mode, p.cache_state);
  };
  std::map<decltype(key(0)), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < points.size(); ++i) groups[key(i)].push_back(i);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [unused, indices] : groups) out.push_back(std::move(indices));
  return out;
}

std::vector<std::pair<std::size_t, std::size_t>> batches_of(std::span<const double> costs, double seconds) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  double together = seconds;  // the first begins one
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (together >= seconds) {
      out.emplace_back(i, i);
      together = 0;
    }
    together += costs[i];
    out.back().second = i + 1;
  }
  return out;
}

int samples_for(const SamplingRules& rules, double call_s, double cost_s) {
  if (call_s > rules.slow_s) return rules.slow_samples;
  const double affordable = cost_s > 0 ? rules.point_budget_s / cost_s : rules.max_samples;
  return static_cast<int>(std::clamp<double>(affordable, rules.min_samples, rules.max_samples));
}

std::vector<int> rounds_of(int samples, int rounds) {
  std::vector<int> out;
  for (int k = 0; k < samples; ++k) out.push_back((2 * k + 1) * rounds / (2 * samples));
  return out;
}

int allocation_of(int round, int rounds, int allocations) {
  return static_cast<int>(static_cast<long long>(round) * allocations / rounds);
}

bool is_throttled(double hz, double highest_hz, const SamplingRules& rules) {
  return hz > 0 && hz < rules.clock_floor * highest_hz;
}

std::vector<int> shuffled(int count, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

std::string History::key(const Point& p) {
  return fmt::format("{}|{}|{}|{}|{}|{}", name(p.device), p.variant->id, name(p.problem.operation),
                     name(p.problem.type), p.offset_elements, p.settings.str());
}

void History::note(const Point& p, double seconds) {
  double& slowest = seconds_[key(p)][p.problem.n];
  slowest = std::max(slowest, seconds);
}

std::optional<History::Measured> History::largest_below(const Point& p) const {
  const auto at = seconds_.find(key(p));
  if (at == seconds_.end()) return std::nullopt;
  const auto above = at->second.upper_bound(p.problem.n);
  if (above == at->second.begin()) return std::nullopt;
  return Measured{std::prev(above)->first, std::prev(above)->second};
}

double scale_linearly(History::Measured m, std::size_t n) {
  return m.seconds * (static_cast<double>(n) / static_cast<double>(std::max<std::size_t>(m.n, 1)));
}

std::optional<double> History::predict(const Point& p) const {
  const auto m = largest_below(p);
  return m ? std::optional(scale_linearly(*m, p.problem.n)) : std::nullopt;
}

std::string limit_reason(double predicted_s, const SamplingRules& rules) {
  return fmt::format("predicted {:.3g} s a call exceeds this experiment's limit of {:g} s; --full runs it", predicted_s,
                     rules.limit_s);
}

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

ByRound ceiling_by_round(const std::vector<ByRound>& kernels) {
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

std::optional<Ceiling> ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> allocations,
                                  double confidence) {
  Ceiling c{.seconds = ceiling_by_round(kernels), .median_s = 0, .interval = {}};
  const auto all = values(c.seconds);
  if (all.empty()) return std::nullopt;
  c.median_s = median(all);
  c.interval = interval_of(c.seconds, allocations, confidence).interval;
  return c;
}

std::optional<double> share_of(const ByRound& ceiling, const ByRound& times) {
  std::vector<double> shares;
  for (std::size_t r = 0; r < std::min(ceiling.size(), times.size()); ++r)
    if (ceiling[r] && times[r] && *times[r] > 0) shares.push_back(*ceiling[r] / *times[r]);
  if (shares.empty()) return std::nullopt;
  return median(shares);
}

std::string impossibility(std::size_t bytes, double median_s, Interval interval, const std::optional<Ceiling>& ceiling,
                          std::optional<double> theoretical_peak_bytes_per_s) {
  const double bandwidth = static_cast<double>(bytes) / median_s;
  if (theoretical_peak_bytes_per_s && bandwidth > *theoretical_peak_bytes_per_s)
    return fmt::format("{:.4g} TB/s is more than the memory's {:.4g} TB/s on paper: the cache was not cold, or not all "
                       "was read",
                       bandwidth * 1e-12, *theoretical_peak_bytes_per_s * 1e-12);
  if (ceiling && median_s * 1.02 < ceiling->median_s && interval.high < ceiling->interval.low)
    return fmt::format("{:.4g} s is {:.1f} % below the time of only reading the input, {:.4g} s", median_s,
                       100 * (1 - median_s / ceiling->median_s), ceiling->median_s);
  return {};
}

double rough_cost_s(const Point& p, const SamplingRules& rules) {
  const double bytes = static_cast<double>(p.problem.bytes());
  double bandwidth = 0, overhead = 0, plans = 0;  // bytes/s of a middling variant, s a sample, s a plan
  switch (p.device) {
    case DeviceKind::cuda: bandwidth = 5e11, overhead = 1.5e-4, plans = 5e-4; break;
    case DeviceKind::cpu:  // to write twice the last level of the cache takes so long, whatever the call
      bandwidth = 8e9, overhead = p.cache_state == CacheState::warm ? 2e-6 : 2.5e-2, plans = 1e-5;
      break;
    case DeviceKind::sim:
      return 1e-3 + static_cast<double>(p.problem.n) / 3e6;
  }
  const double call = bytes / bandwidth;
  if (call > rules.limit_s && !rules.full) return rules.limit_s;
  const double cost = 2 * call + overhead;  // with what comes before the timed interval
  return rules.allocations * plans + 2 * cost + samples_for(rules, call, cost) * cost;
}

}  // namespace reductio
