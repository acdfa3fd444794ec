#pragma once
/// The model time = latency + bytes / bandwidth, fitted to one variant's times at several sizes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measure/stats/statistics.h"

namespace reductio {

/// The times at one size.
struct SizeSamples {
  double bytes = 0;                                ///< read by a call; above 0
  std::vector<std::vector<double>> by_context;     ///< seconds, above 0, of the rounds on each context; none empty
  double resolution_s = 0;                               ///< the least difference that the clock shows

  double median_s() const;  ///< over all rounds
};

/// A straight line through times.
struct Line {
  double latency_s = 0, s_per_byte = 0;
  double at(double bytes) const { return latency_s + s_per_byte * bytes; }
};

/// The line with the least sum of squared relative errors (line / time - 1), so that small and large calls count alike.
/// Needs two different sizes, and every time above 0.
Line fit_line(std::span<const double> bytes, std::span<const double> seconds);

struct Estimate {
  double value = 0;
  Interval interval;  ///< an end may be infinite: the data do not bound it
};

struct Model {
  Line line;
  Estimate latency_s;  ///< the line at 0 bytes; negative if larger inputs are read more slowly
  std::optional<Estimate> bandwidth_bytes_per_s;  ///< of further bytes; none if the time does not grow
  std::optional<Estimate> half_bytes;   ///< latency * bandwidth: the size at half the bandwidth; none without a latency
  double largest_residual = 0;          ///< |line / median - 1| where it is greatest ...
  std::size_t largest_residual_at = 0;  ///< ... and at which of the sizes

  bool fits() const { return largest_residual <= most_residual; }
  static constexpr double most_residual = 0.05;
  /// With fewer sizes, two fitted numbers say little about whether the model holds.
  static constexpr std::size_t fewest_sizes = 4;
};

/// Fitted to the medians of the sizes, of which there are at least fewest_sizes, all different.
///
/// Intervals are percentiles of `resamples` fits to resampled data. For each size, contexts are drawn with
/// replacement, then rounds within each, because rounds on one context share buffer placement. Each median moves by
/// up to half a resolution, because a reading stands for anything that near. So the intervals cover what sampling again
/// would change. They do not cover the model's own error: largest_residual tells that. Simulated, 95 % intervals hold
/// the truth in 99 % if rounds are independent. If contexts differ by twice as much as rounds, they hold it in 92 %
/// with three contexts and 97 % with twelve. A line that does not fit gets none. 0 < confidence < 1.
Model fit_model(std::span<const SizeSamples>, double confidence, int resamples = 1000, std::uint64_t seed = 1);

}  // namespace reductio
