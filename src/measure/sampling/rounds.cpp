#include "measure/sampling/rounds.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace reductio {

bool is_throttled(double hz, double highest_hz, const SamplingRules& rules) {
  return hz > 0 && hz < rules.clock_floor * highest_hz;
}

std::vector<int> shuffled(int count, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace reductio
