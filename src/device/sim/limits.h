#pragma once
/// The simulated GPU in numbers that are the same of all (gpu.h has the others), and which launches fit it.

#include <cstddef>
#include <string>

#include "device/sim/streams.h"

namespace reductio::sim {

inline constexpr std::size_t shared_bytes_per_block = 48 * 1024;
inline constexpr std::size_t shared_bytes_reserved = 1024;  ///< that each resident block costs its SM beside its own
inline constexpr std::size_t device_memory_bytes = std::size_t{8} << 30;  ///< inputs of 2^32 bytes fit
inline constexpr std::size_t max_grid = 0x7fffffff;
inline constexpr unsigned max_cluster = 16;  ///< blocks; of more than 8 not on every GPU

/// How many blocks of this shape fit on the device at once.
std::size_t resident_blocks(const Shape&);
/// Throws Fault where CUDA refuses such a launch.
void check_launch(const Shape&, const std::string& kernel);

}  // namespace reductio::sim
