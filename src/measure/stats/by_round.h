#pragma once
/// Times by round, of one variant or one read-only kernel, and what follows from such lists.

#include <optional>
#include <span>
#include <vector>

#include "measure/stats/statistics.h"

namespace reductio {

/// By round; nothing in discarded rounds and rounds without a sample.
using ByRound = std::vector<std::optional<double>>;

/// The times of the rounds that have one.
std::vector<double> values(const ByRound&);

/// The logarithms of those above 0.
ByRound logarithms(const ByRound&);

/// The rounds of one series, or of several that share contexts, by context: for each context and series the trimmed
/// mean. `contexts` tells the context of each round. One counts if every series has a value in it; their rounds may
/// differ. A single context is cut into least_contexts equal parts, which is right only if
/// consecutive rounds are independent. Two to five contexts stay as they are, too few for an interval.
struct SeriesByRound {
  const ByRound* values;
  std::span<const int> contexts;
};
struct Contexts {
  std::vector<std::vector<double>> means;  ///< of each context, by series
  std::size_t rounds = 0;                  ///< in these contexts, of the series that has the fewest
};
Contexts contexts_of(std::span<const SeriesByRound>);

/// The centre of the contexts' trimmed means, and how many rounds and contexts it is made of.
struct CentreOfContexts {
  Centre of_means;
  std::size_t rounds = 0, contexts = 0;
};
/// Of a sum of series, each with its factor. Throws UsageError where no context has values of all.
CentreOfContexts centre_of_contexts(std::span<const SeriesByRound>, std::span<const double> factors, double confidence);
CentreOfContexts centre_of_contexts(const ByRound&, std::span<const int> contexts, double confidence);

/// The time of a series of calls.
struct CentralTime {
  double seconds = 0;
  Interval interval;
  double confidence = 0;  ///< of the interval (see Centre)
  std::size_t contexts = 0;
  bool enough = false;  ///< false: too few samples or contexts for what was asked, the interval is min..max
};
/// Uses the centre of the logarithms, so that the quotient of two of these is unpaired_ratio()'s. There must be a time.
CentralTime central_time(const ByRound&, std::span<const int> contexts, double confidence);

/// The time of the fastest of several read-only kernels, without the bias of picking the luckiest: the even rounds
/// decide which kernel is fastest in the odd ones, and vice versa.
struct ReadCeiling {
  ByRound seconds;  ///< of each round: the kernel that was fastest in the other half of the rounds
  double time_s = 0;  ///< their centre
  Interval interval;
};
/// Its times alone; none where no kernel has any. All kernels have as many rounds.
ByRound read_ceiling_by_round(const std::vector<ByRound>& kernels);
std::optional<ReadCeiling> read_ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> contexts,
                                           double confidence);

/// Median over the rounds that both have of read ceiling / time.
std::optional<double> share_of(const ByRound& read_ceiling, const ByRound& times);

}  // namespace reductio
