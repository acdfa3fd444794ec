#pragma once
/// A device to measure on, as a process knows it that leaves it alone.

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

/// Opens the device in a process of its own, which says what it is; further benches of that device believe it. A
/// context of CUDA, NVML in use, and threads of OpenMP or TBB do not go along when a process is forked, so this one,
/// from which those of passes are forked, has none. `here`: opens it in this process, as a profiler needs it. Throws as
/// open_backend() and make_instruments() do.
Bench open_bench(DeviceKind, const std::string& gpu, bool here = false);

}  // namespace reductio
