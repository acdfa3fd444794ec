#pragma once
/// How many times as fast one variant is as another, and how sure that is.
///
/// One rule for ratios of variants that were sampled in the same contexts and of two runs: each context gives one
/// number for each variant, the trimmed mean of its log times, and the result is the centre of these numbers'
/// differences with its interval by signed ranks (statistics.h). The rounds of one context are one cluster, because
/// they share where memory lies and what drifts, and so tell less than their number. Variants are paired by context and
/// not by round, because some get fewer samples than others, and few of their rounds are the same.
///
/// Why these: within a cluster, calls that take one of two times make medians jump between the two, and a mean does not
/// shrug off the host's interruptions. Between clusters, order statistics are a quarter wider for the same confidence
/// and come in coarser steps; Student's t and percentile bootstraps hold less than they state where a cluster has been
/// disturbed. The tests simulate all of them.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/stats/by_round.h"
#include "measure/stats/statistics.h"

namespace reductio {

/// As many clusters are wanted where few rows are compared, and so as many allocations.
inline constexpr int wanted_clusters = 24;

/// The clusters that an interval of so much confidence takes: twice as many as it can be had with at all, so that it is
/// no more than about a sixth wider than if the spread between clusters were known. 12 for 0.95, 22 for 0.999.
std::size_t clusters_for(double confidence);

/// The rounds of one point on a clock.
struct TimedRounds {
  ByRound seconds;               ///< nothing in rounds in which it took no part, or that were voided
  std::vector<int> allocations;  ///< of each round
  double resolution_s = 0;             ///< the least difference that the clock shows
};

/// t(base) / t(variant): above 1, the variant is the faster one.
struct Ratio {
  double value = 1;
  Interval interval{1, 1};
  double confidence = 0;   ///< of this interval alone (see Centre); unpaired: of that of either side, the lesser
  bool enough = false;     ///< false: too few clusters for the confidence asked for, the interval is min..max of them
  bool at_resolution = false;    ///< the clock's resolution decides the width: more rounds would not narrow it
  std::size_t rounds = 0;  ///< in the contexts that count, of the one that has fewer
  std::size_t clusters = 0;  ///< likewise
};

/// One factor of a product of powers of times.
struct Factor {
  double power = 1;
  const TimedRounds* times = nullptr;
};

/// Whether there is a context in which both were timed.
bool share_a_context(const TimedRounds&, const TimedRounds&);

/// A product of powers of times that were sampled in the same contexts, from the contexts that have samples of all. No
/// interval is narrower than the clocks' resolutions are on these times. Throws UsageError where no context has them
/// all.
Ratio product_of(std::span<const Factor>, double confidence);

/// The same of t(base) / t(variant).
Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence);

/// Of two series that were not sampled together: each with its own centre, by the clusters' trimmed means of its log
/// times. Their errors are independent, so the distances of the interval's ends from the ratio are the roots of the sum
/// of squares of theirs (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). What changed between the two is in
/// the ratio and not in the interval, except for what changes from cluster to cluster, too. Either side may be a
/// product: a time over the time of what was sampled beside it.
Ratio unpaired_ratio(std::span<const Factor> base, std::span<const Factor> variant, double confidence);
Ratio unpaired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence);

/// How a ratio and its interval are made, in words, for what prints them.
std::string_view rule_in_words(bool paired);

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
/// as allocations do not differ, for more rounds bring no more of those; and the ratio is a guess, too. Nothing where
/// no number up to a million would: the ratio lies on a boundary, or the clock's resolution is too coarse.
std::optional<std::size_t> rounds_to_decide(const Ratio&, double effect);

}  // namespace reductio
