#pragma once
/// How many times as fast one variant is as another, and how sure that is.
///
/// Samples are summarised by clusters, and the interval of the ratio is the one that order statistics of the clusters'
/// medians give (statistics.h): exact for any distribution as long as clusters are independent of each other. A cluster is
/// the run of rounds on one allocation, because rounds in one run share where memory lies and what drifts, and so tell
/// less than their number. A percentile bootstrap over the same clusters is narrower and covers less than it says: 93 %
/// or so for 95 % with 24 clusters, less with fewer. The tests simulate both.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/stats/by_round.h"
#include "measure/stats/statistics.h"

namespace reductio {

/// As many clusters are wanted, and so as many allocations.
inline constexpr int wanted_clusters = 24;
/// With fewer than this, or than the confidence takes, the run on each allocation is cut into equal parts, which is
/// right only as far as rounds one after the other are independent.
inline constexpr std::size_t least_clusters = 12;

/// The rounds of one point on a clock.
struct TimedRounds {
  ByRound seconds;               ///< nothing in rounds in which it took no part, or that were voided
  std::vector<int> allocations;  ///< of each round
  double resolution_s = 0;             ///< the least difference that the clock shows
};

/// The rounds that `present` marks, by cluster: at least `least` clusters if there are as many rounds, each within one run
/// of rounds on the same allocation, cut into no more parts than that takes. `allocations`: of each round.
std::vector<std::vector<std::size_t>> clusters_of(const std::vector<bool>& present, std::span<const int> allocations,
                                                std::size_t least = least_clusters);

/// t(base) / t(variant): above 1, the variant is the faster one.
struct Ratio {
  double value = 1;
  Interval interval{1, 1};
  double confidence = 0;   ///< of this interval alone, by the number of clusters
  bool enough = false;     ///< false: too few clusters for the confidence asked for, the interval is min..max of them
  bool at_resolution = false;    ///< the clock's resolution decides the width: more rounds would not narrow it
  std::size_t rounds = 0;  ///< that both have; unpaired: of the one that has fewer
  std::size_t clusters = 0;  ///< likewise
  std::size_t fewest = 0;  ///< clusters that the confidence asked for takes
};

/// The median of the rounds' log-ratios, over the rounds that both have; `base` and `variant` were sampled in the same
/// rounds. No interval is narrower than both clocks' resolutions are on these times. Throws UsageError where no round is
/// common.
Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence);

/// The ratio of the medians of two series that were not sampled together: each median in an interval that misses with
/// half the probability. What changed between the two is in the ratio and not in the interval.
Ratio unpaired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence);

/// The confidence that each of `rows` intervals needs so that all hold at once with `together` (Bonferroni: whatever
/// the rows have in common).
double confidence_of_each(double together, std::size_t rows);

enum class Verdict {
  faster,     ///< the whole interval above 1 + d
  slower,     ///< the whole interval below 1 / (1 + d)
  same,       ///< the whole interval within these two
  undecided,  ///< none of it, or too few samples
};
std::string_view name(Verdict);  ///< "FASTER", ...

/// Against the smallest effect d > 0 that matters: 0.01 for 1 %.
Verdict verdict_on(const Ratio&, double effect);

/// The rounds that would decide, or too few: an interval's width goes by one over the root of their number only as far
/// as allocations do not differ, for more rounds bring no more of those; and the ratio is a guess, too. Nothing where no
/// number up to a million would: the ratio lies on a boundary, or the clock's resolution is too coarse.
std::optional<std::size_t> rounds_to_decide(const Ratio&, double effect);

}  // namespace reductio
