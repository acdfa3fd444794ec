#include "measure/plan/grouping.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace reductio {

std::vector<std::vector<std::size_t>> group_points(std::span<const Point> points) {
  const auto key = [&](std::size_t i) {
    const Point& p = points[i];
    return std::tuple(p.device, p.problem.n, p.problem.type, p.offset_elements, p.dataset, p.seed, p.problem.operation,
                      p.timing_mode, p.cache_state, p.in_loop);
  };
  std::map<decltype(key(0)), std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < points.size(); ++i) groups[key(i)].push_back(i);
  std::vector<std::vector<std::size_t>> out;
  for (auto& [unused, indices] : groups) out.push_back(std::move(indices));
  return out;
}

std::vector<std::pair<std::size_t, std::size_t>> batches_of(std::span<const double> costs, double seconds,
                                                            double first) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  double wanted = std::min(first, seconds), together = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (out.empty() || together >= wanted) {
      if (!out.empty()) wanted = std::min(2 * wanted, seconds);
      out.emplace_back(i, i);
      together = 0;
    }
    together += costs[i];
    out.back().second = i + 1;
  }
  return out;
}

}  // namespace reductio
