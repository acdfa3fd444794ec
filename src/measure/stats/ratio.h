#pragma once
/// How many times as fast one variant is as another, and how sure that is.
///
/// One rule for variants sampled in the same contexts and for two runs. Each context gives one number for each variant:
/// the trimmed mean of its log times. The result is the centre of these numbers' differences, with an interval by
/// signed ranks (statistics.h). The rounds of one context count as one, since they share buffer placement and drift:
/// they hold less information than their number suggests. Variants are paired by context, not by round, because sample
/// counts differ and few rounds are shared.
///
/// Why these: within a context, bimodal calls make medians jump, and host interruptions disturb plain means. Between
/// contexts, order-statistic intervals are a quarter wider and coarser; Student's t and percentile bootstraps cover
/// less than they state when a context was disturbed. The tests simulate all of them.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "measure/stats/by_round.h"
#include "measure/stats/statistics.h"

namespace reductio {

/// How many contexts are wanted where few rows are compared.
inline constexpr int wanted_contexts = 24;

/// The contexts wanted for this confidence: twice the minimum, so that the interval is at most about a sixth wider than
/// if the spread between contexts were known. 12 for 0.95, 22 for 0.999.
std::size_t contexts_for(double confidence);

/// The rounds of one point on a clock.
struct TimedRounds {
  ByRound seconds;               ///< nothing in rounds in which it took no part, or that were voided
  std::vector<int> contexts;     ///< of each round
  double resolution_s = 0;             ///< the least difference that the clock shows
};

/// t(base) / t(variant): above 1, the variant is the faster one.
struct Ratio {
  double value = 1;
  Interval interval{1, 1};
  double confidence = 0;   ///< of this interval alone (see Centre); unpaired: of that of either side, the lesser
  bool enough = false;     ///< false: too few contexts for the confidence asked for, the interval is min..max of them
  bool at_resolution = false;    ///< the clock's resolution decides the width: more rounds would not narrow it
  std::size_t rounds = 0;  ///< in the contexts that count, of the one that has fewer
  std::size_t contexts = 0;  ///< likewise
};

/// One factor of a product of powers of times.
struct Factor {
  double power = 1;
  const TimedRounds* times = nullptr;
};

/// Whether there is a context in which both were timed.
bool share_a_context(const TimedRounds&, const TimedRounds&);

/// A product of powers of times, over the contexts that have samples of all. No interval is narrower than the clocks'
/// resolutions. Throws UsageError if no context has them all.
Ratio product_of(std::span<const Factor>, double confidence);

/// The same of t(base) / t(variant).
Ratio paired_ratio(const TimedRounds& base, const TimedRounds& variant, double confidence);

/// Of two series that were not sampled together, each with its own centre. Their errors are independent, so the
/// interval's ends lie at the root of the sum of squares of theirs (MOVER: Zou and Donner, Statistics in Medicine 27,
/// 2008). What changed between the runs is in the ratio but not in the interval, unless it also varies between
/// contexts. Either side may be a product, such as a time over another time sampled beside it.
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

/// An estimate of the rounds that would decide, often too low: more rounds bring no more contexts, so if those
/// differ, the interval narrows less than by the root of the rounds. The ratio is an estimate, too. Nothing if a
/// million rounds would not decide: the ratio lies on a boundary, or the clock's resolution is too coarse.
std::optional<std::size_t> rounds_to_decide(const Ratio&, double effect);

}  // namespace reductio
