#pragma once
/// What makes times mislead, found out before they are taken.

#include <string>
#include <vector>

#include "core/types.h"

namespace reductio::cli {

/// What NVML says of one GPU. Asked before CUDA is started, so that this program is not among the processes.
struct GpuUse {
  std::string uuid;
  unsigned processes = 0;            ///< that hold a CUDA context
  unsigned utilization_percent = 0;  ///< of the last sampling period, up to a second
  bool mig = false;                  ///< divided into instances
};

/// All GPUs; empty where there is no driver. NVML is loaded at run time.
std::vector<GpuUse> gpus_in_use();

/// One line for each thing that would make times of this build, on this device, now, mislead. `before` is what
/// gpus_in_use() said before the device was opened; `gpu_uuid` is empty where there is no GPU.
std::vector<std::string> misleading(DeviceKind device, const std::string& gpu_uuid, const std::vector<GpuUse>& before);

}  // namespace reductio::cli
