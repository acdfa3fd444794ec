#include "measure/plan/grouping.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace reductio {

std::vector<std::vector<std::size_t>> group_points(std::span<const Point> points) {
  const auto key = [&](std::size_t i) {
    const Point& p = points[i];
    return std::tuple(p.device, p.problem.n, p.problem.type, p.problem.shape.text(), p.offset_elements, p.dataset,
                      p.seed, p.problem.operation, p.timing_mode, p.cache_state, p.in_loop);
  };
  std::map<decltype(key(0)), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < points.size(); ++i) groups[key(i)].push_back(i);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [unused, indices] : groups) out.push_back(std::move(indices));
  return out;
}

std::optional<std::pair<std::size_t, std::size_t>> BatchSizes::next(double took_s) {
  if (end_ == costs_.size()) return std::nullopt;
  double wanted = seconds_;  // by the estimate
  if (grow_) wanted = took_s > 0 ? std::min(2 * took_s, seconds_) * estimated_ / took_s : 0;
  const std::size_t begin = end_;
  estimated_ = 0;
  do estimated_ += costs_[end_++];
  while (end_ < costs_.size() && estimated_ < wanted);
  return std::pair(begin, end_);
}

}  // namespace reductio
