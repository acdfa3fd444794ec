#pragma once
/// The GPU's one clock, in nanoseconds, as device.h has it; without device.h, which takes nvcc seconds in each file.

#include <cstdint>

namespace reductio::cuda {

__device__ inline std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

}  // namespace reductio::cuda
