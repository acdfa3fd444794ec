#pragma once
/// Which points are sampled together, and which groups are measured together.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "measure/plan/point.h"

namespace reductio {

/// Points that share device, operation, type, n, offset, dataset, seed, timing mode and cache state form a group: they
/// answer one question and are sampled together. Returns indices. Groups come in ascending n, because a small size
/// predicts the next, and groups with the same input follow each other; points keep their order.
std::vector<std::vector<std::size_t>> group_points(std::span<const Point>);

/// Groups that are measured together: runs of neighbours whose costs come to `first` seconds or more, then to twice as
/// much each, up to `seconds`; the last to less. Returns where each begins and ends.
std::vector<std::pair<std::size_t, std::size_t>> batches_of(std::span<const double> costs, double seconds,
                                                            double first);

}  // namespace reductio
