#include "measure/stats/by_round.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>

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

Contexts contexts_of(std::span<const SeriesByRound> series) {
  const auto context_of = [](const SeriesByRound& s, std::size_t round) {
    return round < s.contexts.size() ? s.contexts[round] : 0;
  };
  std::set<int> contexts;
  std::set<std::size_t> rounds;
  for (const SeriesByRound& s : series)
    for (std::size_t r = 0; r < s.values->size(); ++r)
      if ((*s.values)[r]) {
        contexts.insert(context_of(s, r));
        rounds.insert(r);
      }
  const std::vector<std::size_t> all(rounds.begin(), rounds.end());
  const std::size_t parts = std::min(least_contexts, all.size());
  // Which part of the rounds one is in: the last that begins no later.
  const auto part_of = [&](std::size_t round) {
    const auto place = static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), round) - all.begin());
    std::size_t part = 0;
    while (part + 1 < parts && (part + 1) * all.size() / parts <= place) ++part;
    return static_cast<int>(part);
  };
  std::map<int, std::vector<std::vector<double>>> by_context;  // by series
  for (std::size_t i = 0; i < series.size(); ++i)
    for (std::size_t r = 0; r < series[i].values->size(); ++r)
      if (const auto& value = (*series[i].values)[r]) {
        auto& its = by_context[contexts.size() == 1 ? part_of(r) : context_of(series[i], r)];
        its.resize(series.size());
        its[i].push_back(*value);
      }
  Contexts out;
  std::vector<std::size_t> counted(series.size());
  for (const auto& [_, of_context] : by_context) {
    if (std::any_of(of_context.begin(), of_context.end(), [](const auto& values) { return values.empty(); })) continue;
    out.means.emplace_back();
    for (std::size_t i = 0; i < series.size(); ++i) {
      out.means.back().push_back(trimmed_mean(of_context[i]));
      counted[i] += of_context[i].size();
    }
  }
  if (!counted.empty()) out.rounds = *std::min_element(counted.begin(), counted.end());
  return out;
}

CentreOfContexts centre_of_contexts(std::span<const SeriesByRound> series, std::span<const double> factors,
                                    double confidence) {
  const Contexts contexts = contexts_of(series);
  if (contexts.means.empty())
    throw UsageError(
        "no context has samples of all that are to be compared; measure them together, with more --contexts");
  std::vector<double> sums;
  for (const auto& means : contexts.means)
    sums.push_back(std::inner_product(means.begin(), means.end(), factors.begin(), 0.0));
  return {.of_means = centre_of(sums, confidence), .rounds = contexts.rounds, .contexts = sums.size()};
}

CentreOfContexts centre_of_contexts(const ByRound& by_round, std::span<const int> contexts, double confidence) {
  const SeriesByRound one{&by_round, contexts};
  constexpr double factor = 1;
  return centre_of_contexts({&one, 1}, {&factor, 1}, confidence);
}

CentralTime central_time(const ByRound& by_round, std::span<const int> contexts, double confidence) {
  const std::vector<double> seconds = values(by_round);
  const auto [least, greatest] = std::minmax_element(seconds.begin(), seconds.end());
  CentralTime out{.seconds = median(seconds), .interval = {*least, *greatest}, .confidence = 0, .enough = false};
  const ByRound logs = logarithms(by_round);
  if (values(logs).empty()) return out;  // a clock that saw no time pass
  const auto [centre, rounds, counted] = centre_of_contexts(logs, contexts, confidence);
  out.seconds = std::exp(centre.value);
  out.contexts = counted;
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

std::optional<ReadCeiling> read_ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> contexts,
                                           double confidence) {
  ReadCeiling c{.seconds = read_ceiling_by_round(kernels), .time_s = 0, .interval = {}};
  const auto all = values(c.seconds);
  if (all.empty()) return std::nullopt;
  const CentralTime time = central_time(c.seconds, contexts, confidence);
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
