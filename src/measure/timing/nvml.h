#pragma once
/// Clocks, temperature, power and throttling through NVML, loaded on first use, so the program starts without it.
/// Read-only: changes no setting of the card. A process that has used it must fork none that shall: there it fails.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reductio {

struct GpuState {
  std::optional<double> sm_clock_hz, memory_clock_hz, temperature_c, power_w;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bits, as throttle_text() names them
};

/// The kernel driver's version, "580.159.03"; empty where NVML is absent.
std::string nvml_driver_version();

/// The state of the GPU with this UUID ("GPU-..."); nothing where NVML or the GPU is absent.
std::optional<GpuState> gpu_state(const std::string& uuid);

/// How busy a GPU is. Asked before CUDA starts, this program is not among the processes.
struct GpuUse {
  std::string uuid;
  unsigned processes = 0;            ///< that hold a CUDA context
  unsigned utilization_percent = 0;  ///< of the last sampling period, up to a second
  bool mig = false;                  ///< divided into instances
};
/// All GPUs of this machine; empty where NVML is absent. Takes up to 1.5 s where one was in use a moment ago.
std::vector<GpuUse> gpus_in_use();

/// "power cap, thermal (software)"; "none" for no bits. Idle counts as none.
std::string throttle_text(std::uint64_t reasons);

}  // namespace reductio
