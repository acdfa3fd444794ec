#include "measure/stats/model.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.h"

namespace reductio {
namespace {

/// Uniform in 0 .. 1 and alike with every standard library.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

double resampled_median(const SizeSamples& size, std::mt19937_64& random, std::vector<double>& drawn) {
  drawn.clear();
  const auto& all = size.by_context;
  for (std::size_t a = 0; a < all.size(); ++a) {
    const auto& rounds = all[random() % all.size()];
    for (std::size_t r = 0; r < rounds.size(); ++r) drawn.push_back(rounds[random() % rounds.size()]);
  }
  const auto middle = drawn.begin() + static_cast<std::ptrdiff_t>(drawn.size() / 2);
  std::nth_element(drawn.begin(), middle, drawn.end());
  double m = *middle;
  if (drawn.size() % 2 == 0) {
    const double below = *std::max_element(drawn.begin(), middle);
    m = below + (m - below) / 2;
  }
  // Half a resolution could be more than the whole of a time that short.
  return std::max(m + (uniform(random) - 0.5) * size.resolution_s, 0.01 * m);
}

Interval percentiles(const std::vector<double>& values, double confidence) {
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2)};
}

double bandwidth_of(const Line& line) {
  return line.s_per_byte > 0 ? 1 / line.s_per_byte : std::numeric_limits<double>::infinity();
}

double half_bytes_of(const Line& line) { return line.latency_s > 0 ? line.latency_s * bandwidth_of(line) : 0; }

}  // namespace

double SizeSamples::median_s() const {
  std::vector<double> all;
  for (const auto& rounds : by_context) all.insert(all.end(), rounds.begin(), rounds.end());
  return median(all);
}

Line fit_line(std::span<const double> bytes, std::span<const double> seconds) {
  // Columns of one magnitude, or the solver takes the latency's for zero.
  const double scale = *std::max_element(bytes.begin(), bytes.end());
  const auto rows = static_cast<Eigen::Index>(bytes.size());
  Eigen::Matrix<double, Eigen::Dynamic, 2> a(rows, 2);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const auto k = static_cast<std::size_t>(i);
    a(i, 0) = 1 / seconds[k];
    a(i, 1) = bytes[k] / scale / seconds[k];
  }
  const double slowest = *std::max_element(seconds.begin(), seconds.end());
  const Eigen::Vector2d x = (a * slowest).colPivHouseholderQr().solve(Eigen::VectorXd::Ones(rows)) * slowest;
  return {.latency_s = x(0), .s_per_byte = x(1) / scale};
}

Model fit_model(std::span<const SizeSamples> sizes, double confidence, int resamples, std::uint64_t seed) {
  if (sizes.size() < Model::fewest_sizes) throw UsageError("a model needs more sizes");
  require_confidence(confidence);
  std::vector<double> bytes, seconds;
  for (const SizeSamples& s : sizes) {
    bytes.push_back(s.bytes);
    seconds.push_back(s.median_s());
  }
  Model m;
  m.line = fit_line(bytes, seconds);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (const double residual = std::abs(m.line.at(bytes[i]) / seconds[i] - 1); residual > m.largest_residual) {
      m.largest_residual = residual;
      m.largest_residual_at = i;
    }

  if (!m.fits()) return m;

  std::mt19937_64 random(seed);
  std::vector<double> latencies, bandwidths, halves, drawn;
  for (int i = 0; i < resamples; ++i) {
    for (std::size_t k = 0; k < sizes.size(); ++k) seconds[k] = resampled_median(sizes[k], random, drawn);
    const Line line = fit_line(bytes, seconds);
    latencies.push_back(line.latency_s);
    bandwidths.push_back(bandwidth_of(line));
    halves.push_back(half_bytes_of(line));
  }
  m.latency_s = {m.line.latency_s, percentiles(latencies, confidence)};
  if (m.line.s_per_byte > 0) {
    m.bandwidth_bytes_per_s = {bandwidth_of(m.line), percentiles(bandwidths, confidence)};
    if (m.line.latency_s > 0) m.half_bytes = {half_bytes_of(m.line), percentiles(halves, confidence)};
  }
  return m;
}

}  // namespace reductio
