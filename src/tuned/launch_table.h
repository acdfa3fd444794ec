#pragma once
/// Which launch tuned/tuned.h takes for how much input: the one place to change when it is tuned.

#include <cstddef>
#include <cstdint>

namespace reductio::tuned {

/// What of a GPU the launch depends on.
struct Gpu {
  unsigned sm_count;
  unsigned threads_per_sm;  ///< most resident threads of a multiprocessor
};

/// Up to so many bytes of input, so large a launch. Bytes, because the time to read them is what the launch has to
/// hide: so one row serves every element type.
struct LaunchRow {
  std::size_t up_to_bytes;
  unsigned block;          ///< threads
  unsigned blocks_per_sm;  ///< at most; 0: one block does it all, and no block waits for another
};

/// Defaults, taken from probes that others made on one H200 before this code was there (docs/tuning.md lists them as
/// predictions). NOT YET TUNED BY MEASUREMENT of this code: no row says that it is the fastest.
inline constexpr LaunchRow launch_table[] = {
    {std::size_t{16} << 10, 1024, 0},  // 4096 floats, 2048 doubles: every load is issued at once
    {SIZE_MAX, 512, 4},
};

/// What the caller chooses in place of the table, as an experiment that makes the table does. 0: as the table says.
struct Choice {
  unsigned block = 0;          ///< a power of two from least_block to most_block
  unsigned blocks_per_sm = 0;  ///< at most as many as an SM holds
};
inline constexpr unsigned least_block = 128, most_block = 512;  ///< where there are several blocks
inline constexpr unsigned most_block_alone = 1024;

struct LaunchShape {
  unsigned grid, block;
};

/// The launch for n elements of that size.
constexpr LaunchShape launch_shape(std::size_t n, std::size_t element_bytes, const Gpu& gpu, const Choice& choice = {}) {
  const std::size_t bytes = n * element_bytes, vectors = bytes / 16 + 1;
  const LaunchRow* row = launch_table;
  while (bytes > row->up_to_bytes) ++row;
  const bool chosen = choice.block || choice.blocks_per_sm;
  if (row->blocks_per_sm == 0 && !chosen) {
    unsigned block = 32;
    while (block < row->block && block < vectors) block *= 2;
    return {1, block};
  }
  unsigned block = choice.block ? choice.block : row->block;
  if (block > most_block) block = most_block;
  const unsigned resident = gpu.threads_per_sm / block ? gpu.threads_per_sm / block : 1;
  unsigned per_sm = choice.blocks_per_sm ? choice.blocks_per_sm : row->blocks_per_sm ? row->blocks_per_sm : resident;
  if (per_sm > resident) per_sm = resident;
  const std::size_t most = std::size_t{per_sm} * gpu.sm_count;
  const std::size_t busy = vectors / block + (vectors % block != 0);  // a vector for each thread
  return {static_cast<unsigned>(busy < most ? busy : most), block};
}

}  // namespace reductio::tuned
