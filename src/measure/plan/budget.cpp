#include "measure/plan/budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace reductio {
namespace {

/// 0 to count - 1 in bit-reversed order, 0 4 2 6 1 5 3 7: any prefix is well spread.
std::vector<int> bit_reversed(int count) {
  int size = 1;
  while (size < count) size *= 2;
  std::vector<int> out;
  std::vector<bool> taken(static_cast<std::size_t>(count));
  for (int i = 0; i < size && count > 0; ++i) {
    int reversed = 0;
    for (int bit = 1, mirror = size / 2; bit < size; bit *= 2, mirror /= 2)
      if (i & bit) reversed += mirror;
    const auto scaled = static_cast<int>(static_cast<long long>(reversed) * count / size);
    if (!taken[static_cast<std::size_t>(scaled)]) out.push_back(scaled);
    taken[static_cast<std::size_t>(scaled)] = true;
  }
  return out;
}

}  // namespace

int samples_for(const SamplingRules& rules, double call_s, double cost_s) {
  if (call_s > rules.slow_s) return rules.slow_samples;
  constexpr double around_s = 5e-6;  // an element is changed, the result checked, the sample recorded
  const double affordable = rules.time_budget_s / std::max(cost_s, around_s);
  return static_cast<int>(std::clamp<double>(affordable, rules.min_samples, rules.max_samples));
}

int samples_for(const Point& p, const SamplingRules& rules, double call_s, double cost_s) {
  if (p.samples > 0) return p.samples;
  if (p.timing_mode != TimingMode::end_to_end) return samples_for(rules, call_s, cost_s);
  SamplingRules more = rules;
  more.max_samples *= rules.end_to_end_factor;
  return samples_for(more, call_s, cost_s);
}

std::vector<int> rounds_of(int samples, int rounds, int contexts) {
  std::vector<std::vector<int>> of_context(static_cast<std::size_t>(contexts));
  for (const int round : bit_reversed(rounds))
    of_context[static_cast<std::size_t>(context_of(round, rounds, contexts))].push_back(round);
  const std::vector<int> turns = bit_reversed(contexts);
  std::vector<int> out;
  for (std::size_t k = 0; out.size() < static_cast<std::size_t>(samples) && k < static_cast<std::size_t>(rounds); ++k)
    for (const int a : turns)
      if (const auto& its = of_context[static_cast<std::size_t>(a)]; k < its.size()) out.push_back(its[k]);
  out.resize(std::min(out.size(), static_cast<std::size_t>(samples)));
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<int> spread_evenly(int fewer, int contexts) {
  std::vector<int> out;
  for (int k = 0; k < fewer; ++k) out.push_back((2 * k + 1) * contexts / (2 * fewer));
  return out;
}

int context_of(int round, int rounds, int contexts) {
  return static_cast<int>(static_cast<long long>(round) * contexts / rounds);
}

std::string History::key(const Point& p) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", name(p.device), p.variant->id, name(p.problem.operation),
                     name(p.problem.type), p.offset_elements, p.settings.str(), p.problem.shape.text());
}

void History::note(const Point& p, double seconds) {
  double& slowest = seconds_[key(p)][p.problem.n];
  slowest = std::max(slowest, seconds);
}

std::optional<History::TimeAtSize> History::largest_below(const Point& p) const {
  const auto at = seconds_.find(key(p));
  if (at == seconds_.end()) return std::nullopt;
  const auto above = at->second.upper_bound(p.problem.n);
  if (above == at->second.begin()) return std::nullopt;
  return TimeAtSize{std::prev(above)->first, std::prev(above)->second};
}

double scale_linearly(History::TimeAtSize m, std::size_t n) {
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
  return rules.contexts * plans + 2 * cost + samples_for(p, rules, call, cost) * cost;
}

}  // namespace reductio
