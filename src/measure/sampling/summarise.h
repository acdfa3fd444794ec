#pragma once
/// What the samples of a group say about its points.

#include <cstddef>
#include <optional>
#include <string>

#include "measure/stats/by_round.h"

namespace reductio {

/// Why a cold time cannot be true; empty if it can. It is impossible above the memory's theoretical peak, or above the
/// read ceiling by more than 2 % with disjoint intervals.
std::string impossibility(std::size_t bytes, double median_s, Interval, const std::optional<ReadCeiling>&,
                          std::optional<double> theoretical_peak_bytes_per_s);

}  // namespace reductio
