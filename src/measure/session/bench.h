#pragma once
/// A device to measure on, and what is known of it without opening it here.

#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"
#include "measure/results/machine.h"
#include "measure/timing/instruments.h"
#include "measure/timing/nvml.h"

namespace reductio {

struct Bench {
  DeviceInfo info;
  Machine machine;
  std::vector<GpuUse> in_use;        ///< of a GPU, before it was opened; empty where it is opened here
  std::unique_ptr<Backend> backend;  ///< null: processes of their own open it (Instruments::open)
  Instruments instruments;
};

/// Opens the device in a process of its own, which describes it; later benches of that device reuse the description.
/// CUDA contexts, NVML, and threads of OpenMP or TBB do not survive a fork. So this process, which forks those of the
/// contexts, uses none. `here`: opens the device in this process, as a profiler needs it. Throws as open_backend() and
/// make_instruments() do.
Bench open_bench(DeviceKind, const std::string& gpu, bool here = false);

}  // namespace reductio
