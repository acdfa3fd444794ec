#pragma once
/// Times by round: what one variant or one read-only kernel took, round by round, and what is read off such lists.

#include <optional>
#include <span>
#include <vector>

#include "measure/stats/statistics.h"

namespace reductio {

/// Times of one variant or one harness call, by round; nothing in rounds in which it took no part, or that were voided.
using ByRound = std::vector<std::optional<double>>;

/// The times of the rounds that have one.
std::vector<double> values(const ByRound&);

/// The interval of their median, by order statistics; rounds on the same allocation, of `allocations` by round, form a
/// cluster. There must be a time.
MedianInterval interval_of(const ByRound&, std::span<const int> allocations, double confidence);

/// The time of the fastest of several read-only kernels, without the bias of picking the luckiest: the even rounds
/// decide which kernel is the fastest in the odd ones, and the odd rounds decide it for the even ones.
struct ReadCeiling {
  ByRound seconds;  ///< of each round: the kernel that was fastest in the other half of the rounds
  double median_s = 0;
  Interval interval;
};
/// Its times alone; none where no kernel has any. All kernels have as many rounds.
ByRound read_ceiling_by_round(const std::vector<ByRound>& kernels);
std::optional<ReadCeiling> read_ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> allocations,
                                           double confidence);

/// Median over the rounds that both have of read ceiling / time.
std::optional<double> share_of(const ByRound& read_ceiling, const ByRound& times);

}  // namespace reductio
