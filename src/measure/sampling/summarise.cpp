#include "measure/sampling/summarise.h"

#include <fmt/format.h>

namespace reductio {

std::string impossibility(std::size_t bytes, double median_s, Interval interval,
                          const std::optional<ReadCeiling>& ceiling,
                          std::optional<double> theoretical_peak_bytes_per_s) {
  const double bandwidth = static_cast<double>(bytes) / median_s;
  if (theoretical_peak_bytes_per_s && bandwidth > *theoretical_peak_bytes_per_s)
    return fmt::format("{:.4g} TB/s is more than the memory's theoretical peak of {:.4g} TB/s: the cache was not cold, "
                       "or not all was read",
                       bandwidth * 1e-12, *theoretical_peak_bytes_per_s * 1e-12);
  if (ceiling && median_s * 1.02 < ceiling->median_s && interval.high < ceiling->interval.low)
    return fmt::format("{:.4g} s is {:.1f} % below the time of only reading the input, {:.4g} s", median_s,
                       100 * (1 - median_s / ceiling->median_s), ceiling->median_s);
  return {};
}

}  // namespace reductio
