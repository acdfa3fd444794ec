#pragma once
/// Covering arrays of strength two: a few rows in which every two values of every two factors meet.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reductio {

/// Rows of level numbers, a column per factor: every pair of levels of every two factors stands in some row. `levels`:
/// how many each factor has, at least one. Greedy (after AETG: Cohen, Dalal, Fredman, Patton 1997), near the product of
/// the two largest factors. With a `cost`, rows that cover the most new pairs for their cost are taken. The same seed
/// gives the same rows.
std::vector<std::vector<std::size_t>> pairwise(std::span<const std::size_t> levels, std::uint64_t seed,
                                               const std::function<double(const std::vector<std::size_t>&)>& cost = {});

}  // namespace reductio
