#pragma once
/// The simulated GPU in numbers, and which launches fit it.

#include <cstddef>
#include <string>

#include "device/sim/streams.h"

namespace reductio::sim {

inline constexpr int sm_count = 6;  ///< no power of two, as on most GPUs: kernels that need one show
inline constexpr unsigned threads_per_sm = 2048;
inline constexpr unsigned blocks_per_sm = 32;
inline constexpr std::size_t shared_bytes_per_block = 48 * 1024;
inline constexpr std::size_t shared_bytes_per_sm = 228 * 1024;
inline constexpr std::size_t shared_bytes_reserved = 1024;  ///< that each resident block costs its SM beside its own
inline constexpr std::size_t device_memory_bytes = std::size_t{2} << 30;
inline constexpr std::size_t max_grid = 0x7fffffff;
inline constexpr int capability = 80;  ///< it has what came with 8.0, __reduce_add_sync, and not the clusters of 9.0

/// How many blocks of this shape fit on the device at once.
std::size_t resident_blocks(const Shape&);
/// Throws Fault where CUDA refuses such a launch.
void check_launch(const Shape&, const std::string& kernel);

}  // namespace reductio::sim
