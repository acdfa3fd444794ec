#pragma once
/// Rounds: all points of a group sampled once, in random order.

#include <random>
#include <vector>

#include "measure/plan/budget.h"

namespace reductio {

/// Whether a clock of `hz` is throttled: below the rules' share of `highest_hz`, the highest seen in this run. Unknown
/// frequencies are 0 and throttle nothing.
bool is_throttled(double hz, double highest_hz, const SamplingRules&);

/// 0..count-1 in random order. The same generator state gives the same order with every standard library.
std::vector<int> shuffled(int count, std::mt19937_64&);

}  // namespace reductio
