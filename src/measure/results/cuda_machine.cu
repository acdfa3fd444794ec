/// What the CUDA runtime says of the GPU that is in use.

#include <cuda_runtime.h>

#include <cstdio>
#include <string>

#include "device/device.h"
#include "measure/results/machine.h"
#include "measure/timing/nvml.h"

namespace reductio {
namespace {

using device::check;

double attribute(cudaDeviceAttr which, int gpu) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, gpu) != cudaSuccess) cudaGetLastError();  // removed, or not known here
  return value;
}

std::string version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

}  // namespace

GpuDescription describe_gpu() {
  int gpu = 0;
  check(cudaGetDevice(&gpu), "asking for the GPU in use");
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, gpu), "reading the GPU's properties");

  GpuDescription d;
  d.name = p.name;
  d.uuid = "GPU";
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(p.uuid.bytes[i]));
    d.uuid += (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) ? std::string("-") + byte : std::string(byte);
  }
  d.compute_capability = std::to_string(p.major) + "." + std::to_string(p.minor);
  d.sm_count = p.multiProcessorCount;
  d.l2_bytes = static_cast<std::size_t>(p.l2CacheSize);
  d.memory_bytes = p.totalGlobalMem;
  d.memory_bus_bits = p.memoryBusWidth;
  d.memory_clock_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate, gpu);
  d.sm_clock_hz = 1e3 * attribute(cudaDevAttrClockRate, gpu);

  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
  d.runtime = version(runtime);
  d.driver = nvml_driver_version();
  if (d.driver.empty()) d.driver = "CUDA " + version(driver);
  return d;
}

}  // namespace reductio
