#include "measure/timing/cuda/gpu_clocks.h"

#include "device/kernel.h"

namespace reductio::cuda {
namespace {

using device::globaltimer;

/// The GPU's one clock advances in steps, so both readings wait for one.
__global__ void read_clocks(volatile GpuClocks::Reading* out, std::uint64_t at_least_ns) {
  std::uint64_t start = globaltimer(), now = start;
  while (now == start) now = globaltimer();
  const long long first = clock64();
  start = now;
  while (now - start < at_least_ns) now = globaltimer();
  out->cycles = static_cast<std::uint64_t>(clock64() - first);
  out->ns = now - start;
}

/// The least step of the GPU's one clock, over many.
__global__ void read_resolution(volatile GpuClocks::Reading* out) {
  std::uint64_t least = ~std::uint64_t{0}, last = globaltimer();
  for (int i = 0; i < 200; ++i) {
    std::uint64_t now = last;
    while (now == last) now = globaltimer();
    if (i > 0 && now - last < least) least = now - last;  // the first step began before this kernel
    last = now;
  }
  out->ns = least;
}

}  // namespace

void GpuClocks::read(std::uint64_t at_least_ns) {
  read_clocks<<<1, 1, 0, native(stream_)>>>(read_.get(), at_least_ns);
  check(cudaGetLastError(), "reading the GPU's clocks");
  turns_.launched();
}

double GpuClocks::hz() {
  // Twenty microseconds are several hundred steps of the GPU's one clock: a quarter of a percent.
  read(20000);
  wait();
  return 1e9 * static_cast<double>(read_->cycles) / static_cast<double>(read_->ns);
}

double GpuClocks::globaltimer_resolution_s() {
  read_resolution<<<1, 1, 0, native(stream_)>>>(read_.get());
  check(cudaGetLastError(), "reading the GPU's clock");
  turns_.launched();
  wait();
  return 1e-9 * static_cast<double>(read_->ns);
}

}  // namespace reductio::cuda
