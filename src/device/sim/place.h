#pragma once
/// Where the running thread is: its place in the grid, by CUDA's names, and a place in a kernel's source.

namespace reductio::sim {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned max_threads_per_block = 1024;

struct Index {
  unsigned x, y, z;
};
/// Of the thread that runs now; the scheduler sets them before it lets a thread go on. Not const: a compiler may keep
/// a constant in a register across a switch.
extern Index threadIdx, blockIdx, blockDim, gridDim;

/// A place in a kernel's source.
struct Site {
  const char* file = nullptr;
  int line = 0;
};

}  // namespace reductio::sim
