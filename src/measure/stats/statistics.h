#pragma once
/// Summaries of timing samples. No normality is assumed: medians, order statistics, the exact binomial distribution.

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

/// A confidence interval of the median by order statistics.
struct MedianInterval {
  Interval interval;
  double confidence = 0;  ///< the exact coverage for a continuous distribution, of independent samples
  bool enough = false;    ///< false: too few samples or clusters for what was asked, the interval is min..max
};

/// The narrowest symmetric pair of order statistics x(k), x(n+1-k) that covers the median of any continuous
/// distribution with at least `confidence`: P(k <= B <= n-k) for B binomial(n, 1/2). 0 < confidence < 1.
MedianInterval median_interval(std::span<const double> samples, double confidence);

/// The same for samples that come in clusters, whose members may agree with each other more than with the rest: sample
/// i belongs to cluster `clusters[i]`. Widened to Woodruff's interval (Confidence intervals for medians and other
/// position measures, JASA 47, 1952), which sees in the spread between clusters what one of them says, where that is
/// wider. This is an interval of the median of all samples. ratio.h takes the median of the clusters' medians instead,
/// which is another value where the distribution is skewed. As many clusters as samples, else UsageError.
MedianInterval median_interval(std::span<const double> samples, std::span<const int> clusters, double confidence);

/// The fewest samples whose min..max covers the median with `confidence`: 6 for 0.95, 8 for 0.99.
std::size_t fewest_samples(double confidence);

/// The probability of what happened in `count` of `cases` independent cases: Clopper and Pearson's interval, which covers
/// it with at least `confidence`. 0 < confidence < 1, count <= cases, cases > 0.
Interval share_interval(std::size_t count, std::size_t cases, double confidence);

/// The interval widened about `value` so that it is no narrower than the resolution of the clock that measured it.
Interval no_narrower_than(Interval, double value, double resolution);

}  // namespace reductio
