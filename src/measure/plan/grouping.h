#pragma once
/// Which points are sampled together, and which groups are measured together.

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "measure/plan/point.h"

namespace reductio {

/// Points that share device, operation, type, n, offset, dataset, seed, timing mode and cache state form a group: they
/// answer one question and are sampled together. Returns indices. Groups come in ascending n, because a small size
/// predicts the next, and groups with the same input follow each other; points keep their order.
std::vector<std::vector<std::size_t>> group_points(std::span<const Point>);

/// Which groups are measured together: runs of neighbours whose costs, in estimated seconds, come to `seconds` or more;
/// the last to less. Those that `grow` begin with one group. Each next one is to take twice as long as the one before
/// did, up to `seconds`, at its pace: a busy host may need ten times the estimate.
class BatchSizes {
 public:
  BatchSizes(std::vector<double> costs, double seconds, bool grow)
      : costs_(std::move(costs)), seconds_(seconds), grow_(grow) {}

  /// Where the next one begins and ends; nothing where all are done. `took_s`: what the one before took by the clock.
  std::optional<std::pair<std::size_t, std::size_t>> next(double took_s);

 private:
  std::vector<double> costs_;
  double seconds_;
  bool grow_;
  std::size_t end_ = 0;   ///< of the one before
  double estimated_ = 0;  ///< of the one before
};

}  // namespace reductio
