#pragma once
/// What makes times mislead, found out before they are taken.

#include <string>
#include <vector>

#include "core/types.h"
#include "measure/timing/nvml.h"

namespace reductio::cli {

/// One line for each thing that would make times of this build, on this device, now, mislead. `before` is what
/// gpus_in_use() said before the device was opened; `gpu_uuid` is empty where there is no GPU.
std::vector<std::string> misleading(DeviceKind device, const std::string& gpu_uuid, const std::vector<GpuUse>& before);

}  // namespace reductio::cli
