#pragma once
/// Inputs. A dataset is a tile of values that repeats: element i is tile[i % period]. The period is a prime near 2^20,
/// so no power-of-two stride meets the same value twice in a row, inputs of any size are cheap to make on a device
/// (upload the tile, then double it by copies), and exact references for 2^32 elements cost one pass over a tile.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace reductio {

inline constexpr std::size_t dataset_period = 1048573;  // prime

/// Names of the datasets that make sense for a type:
///   random        full-range integers; floats uniform in [-1, 1)
///   exact         values whose sum (and sum of squares) is exact in any order of adding for this n, because the sum
///                 of absolute values stays below 2^24 (f32) or 2^53 (f64); every tile position may be non-zero
///                 where n allows it
///   ill-conditioned  floats of widely differing exponents and both signs: sum|x| exceeds |sum x| by many orders
///   alternating   +max, -max, ... (integers: INT_MAX, INT_MIN)
///   infinity      random with one infinity; nan: random with one NaN; mixed-infinities: +inf and -inf
std::span<const std::string_view> dataset_names(ElementType);

/// The first min(n, dataset_period) elements as raw bytes. Throws UsageError for an unknown name, listing the known.
std::vector<std::byte> make_tile(std::string_view dataset, ElementType, std::size_t n, std::uint64_t seed);

}  // namespace reductio
