#pragma once
/// The simulated GPU in numbers that are the same of all (gpu.h has the others), and which launches fit it.

#include <cstddef>
#include <string>

#include "device/sim/streams.h"

namespace reductio::sim {

inline constexpr std::size_t shared_bytes_per_block = 48 * 1024;
inline constexpr std::size_t shared_bytes_reserved = 1024;  ///< that each resident block costs its SM beside its own
inline constexpr std::size_t device_memory_bytes = std::size_t{24} << 30;  ///< 2^32 floats fit, if they fit the host
inline constexpr std::size_t max_grid = 0x7fffffff;
inline constexpr unsigned max_grid_yz = 0xffff, max_block_z = 64;

/// How many blocks of this shape fit on the device at once.
std::size_t resident_blocks(const Shape&);
/// Throws Fault where CUDA refuses such a launch.
void check_launch(const Shape&, const std::string& kernel);

}  // namespace reductio::sim
