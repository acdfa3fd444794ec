#include "measure/stats/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/policies/policy.hpp>
#include <cmath>
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

// In double throughout: long double compiles and runs longer, and no interval here needs its digits.
using Policy = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Binomial = boost::math::binomial_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

double students_t(std::size_t values, double confidence) {
  return boost::math::quantile(StudentsT(static_cast<double>(values) - 1), (1 + confidence) / 2);
}

/// Of the ranks 1 ... n, each positive with probability one half: the probability of each sum of the positive ones.
std::vector<double> signed_rank_distribution(std::size_t n) {
  std::vector<double> p(n * (n + 1) / 2 + 1, 0.0);
  p[0] = 1;
  std::size_t greatest = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    greatest += rank;
    for (std::size_t sum = greatest + 1; sum-- > 0;) p[sum] = (p[sum] + (sum >= rank ? p[sum - rank] : 0)) / 2;
  }
  return p;
}

}  // namespace

void require_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw UsageError(
        fmt::format("--confidence {:g} does not lie between 0 and 1; give a share, as 95% or 0.95", confidence));
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

double trimmed_mean(std::span<const double> samples) {
  const auto s = sorted(samples);
  const double n = static_cast<double>(s.size()), cut = n / 10;
  double sum = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double at = static_cast<double>(i);  // the sample stands for at ... at + 1 of n
    sum += s[i] * std::max(0.0, std::min(at + 1, n - cut) - std::max(at, cut));
  }
  return sum / (n - 2 * cut);
}

Centre centre_of(std::span<const double> values, double confidence) {
  require_confidence(confidence);
  const auto s = sorted(values);
  const std::size_t n = s.size();
  std::vector<double> means;
  means.reserve(n * (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) means.push_back(s[i] + (s[j] - s[i]) / 2);
  std::sort(means.begin(), means.end());
  const auto p = signed_rank_distribution(n);
  // Of means(k) .. means(N+1-k): 1 - 2 P(sum < k). The first pair is min..max.
  std::size_t k = 1;
  double covered = 1 - 2 * p[0];
  while (2 * (k + 1) <= means.size() && covered - 2 * p[k] >= confidence) covered -= 2 * p[k++];
  Centre out{median(means), {means[k - 1], means[means.size() - k]}, std::max(covered, 0.0), covered >= confidence};
  if (!out.enough && n >= least_contexts) {
    const double stretch = students_t(n, confidence) / students_t(n, covered);
    out.interval = {out.value - stretch * (out.value - s.front()), out.value + stretch * (s.back() - out.value)};
    out.confidence = confidence;
    out.enough = true;
  }
  return out;
}

std::size_t fewest_samples(double confidence) {
  require_confidence(confidence);
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
