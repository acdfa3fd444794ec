#include "measure/stats/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/policies/policy.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "core/error.h"

namespace reductio {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  if (samples.empty()) throw UsageError("statistics of no samples");
  std::vector<double> s(samples.begin(), samples.end());
  std::sort(s.begin(), s.end());
  return s;
}

// In double throughout: long double takes longer to compile and to run, and no interval here is worth its digits.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Binomial = boost::math::binomial_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

/// The rank k of the interval x(k)..x(n+1-k), 0 where it lies beyond all samples. The share of samples below the median
/// is a half; how far that is uncertain is seen in how it differs from cluster to cluster.
double woodruff_rank(std::span<const double> samples, std::span<const int> clusters, double confidence) {
  const double middle = median(samples);
  struct Cluster {
    double count = 0, below = 0;
  };
  std::map<int, Cluster> by_cluster;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Cluster& c = by_cluster[clusters[i]];
    ++c.count;
    c.below += samples[i] < middle ? 1 : samples[i] == middle ? 0.5 : 0;
  }
  const double n = static_cast<double>(samples.size()), count = static_cast<double>(by_cluster.size());
  if (count < 2) return n;  // says nothing
  double variance = 0;
  for (const auto& [unused, c] : by_cluster) variance += std::pow((c.below - c.count / 2) / n, 2) * count / (count - 1);
  const double t = boost::math::quantile(StudentsT(count - 1), (1 + confidence) / 2);
  return std::max(0.0, std::ceil(n * (0.5 - t * std::sqrt(variance)) - 1e-9));
}

}  // namespace

void require_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw UsageError(
        fmt::format("--confidence {:g} does not lie between 0 and 1; give a share, as 0.95", confidence));
}

double median(std::span<const double> samples) {
  const auto s = sorted(samples);
  const std::size_t n = s.size();
  return n % 2 ? s[n / 2] : s[n / 2 - 1] + (s[n / 2] - s[n / 2 - 1]) / 2;
}

double quantile(std::span<const double> samples, double p) {
  const auto s = sorted(samples);
  const double rank = std::ceil(p * static_cast<double>(s.size()) - 1e-9);
  return s[static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(s.size()))) - 1];
}

MedianInterval median_interval(std::span<const double> samples, double confidence) {
  return median_interval(samples, {}, confidence);
}

MedianInterval median_interval(std::span<const double> samples, std::span<const int> clusters, double confidence) {
  require_confidence(confidence);
  const auto s = sorted(samples);
  const std::size_t n = s.size();
  const Binomial below(static_cast<double>(n), 0.5);  // how many samples lie below the median
  const auto coverage = [&](std::size_t k) { return 1 - 2 * cdf(below, static_cast<double>(k - 1)); };  // of x(k)..x(n+1-k)
  std::size_t k = 1;
  while (2 * (k + 1) <= n && coverage(k + 1) >= confidence) ++k;
  const double covered = std::max(0.0, coverage(k));  // one sample covers nothing
  bool enough = covered >= confidence;
  if (!clusters.empty()) {
    if (clusters.size() != n) throw UsageError("statistics of clusters need one for each sample");
    const double rank = woodruff_rank(samples, clusters, confidence);
    enough = enough && rank >= 1;
    k = std::min(k, static_cast<std::size_t>(std::max(rank, 1.0)));
  }
  return {{s[k - 1], s[n - k]}, covered, enough};
}

std::size_t fewest_samples(double confidence) {
  std::size_t n = 1;
  while (1 - std::exp2(1.0 - static_cast<double>(n)) < confidence) ++n;
  return n;
}

Interval share_interval(std::size_t count, std::size_t cases, double confidence) {
  require_confidence(confidence);
  const double tail = (1 - confidence) / 2, n = static_cast<double>(cases), k = static_cast<double>(count);
  return {Binomial::find_lower_bound_on_p(n, k, tail), Binomial::find_upper_bound_on_p(n, k, tail)};
}

Interval no_narrower_than(Interval i, double value, double resolution) {
  const double lacking = resolution - (i.high - i.low);
  if (lacking <= 0) return i;
  return {std::min(i.low, value - resolution / 2), std::max(i.high, value + resolution / 2)};
}

}  // namespace reductio
