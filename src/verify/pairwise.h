#pragma once
/// Covering arrays of strength two: a few rows in which every two values of every two factors meet.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace reductio {

/// Rows of level numbers, one column per factor, such that for every two factors every pair of levels stands in some
/// row. `levels` holds the number of levels of each factor, each at least one. Greedy (after AETG: Cohen, Dalal,
/// Fredman, Patton 1997): near the product of the two largest factors. Where rows differ in `cost`, those that cover
/// the most new pairs for their cost are taken. The same seed gives the same rows.
std::vector<std::vector<std::size_t>> pairwise(std::span<const std::size_t> levels, std::uint64_t seed,
                                               const std::function<double(const std::vector<std::size_t>&)>& cost = {});

}  // namespace reductio
