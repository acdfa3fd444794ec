#pragma once
/// Summaries of timing samples. No normality is assumed: medians, and centres by signed ranks.

#include <cstddef>
#include <span>

namespace reductio {

struct Interval {
  double low = 0, high = 0;
};

/// Throws UsageError, which names --confidence, unless 0 < confidence < 1.
void require_confidence(double confidence);

/// The middle value; the mean of the two middle ones for an even count. `samples` must not be empty.
double median(std::span<const double> samples);

/// The smallest value that at least a share p of the samples does not exceed (nearest rank). 0 < p <= 1.
double quantile(std::span<const double> samples, double p);

/// The mean without the lowest and highest tenth of the samples. A sample that the cut falls into counts in part.
/// `samples` must not be empty.
double trimmed_mean(std::span<const double> samples);

/// With fewer contexts than this their range covers less than 95 %.
inline constexpr std::size_t least_contexts = 6;

/// A centre: the point that values are symmetric about.
struct Centre {
  double value = 0;
  Interval interval;
  double confidence = 0;  ///< of the interval, where values are independent and symmetric; not above what was asked
                          ///< for, where it takes Student's t to come to that
  bool enough = false;    ///< false: too few values for what was asked, the interval is min..max
};

/// The centre of independent values that are symmetric about it, whatever their distribution: the Hodges-Lehmann
/// estimate (Ann. Math. Stat. 34, 1963), the median of the means of all pairs, each value with itself included. The
/// interval is the narrowest pair of these means, equally far from either end, that Wilcoxon's signed-rank test does
/// not reject. If that takes more values than there are, but there are least_contexts, the range of the values is
/// stretched about the estimate as Student's t stretches with confidence. `values` must not be empty; 0 < confidence <
/// 1.
Centre centre_of(std::span<const double> values, double confidence);

/// The fewest samples whose min..max covers the median with `confidence`: 6 for 0.95, 8 for 0.99.
std::size_t fewest_samples(double confidence);

/// The probability of an event seen in `count` of `cases` independent cases: the Clopper-Pearson interval, which covers
/// it with at least `confidence`. 0 < confidence < 1, count <= cases, cases > 0.
Interval share_interval(std::size_t count, std::size_t cases, double confidence);

/// The interval, widened about `value` to at least the clock's resolution.
Interval no_narrower_than(Interval, double value, double resolution);

}  // namespace reductio
