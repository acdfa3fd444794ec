#pragma once
/// A device to measure on, as a process knows it that leaves it alone.

#include <memory>
#include <string>

#include "device/backend.h"
#include "measure/results/machine.h"
#include "measure/timing/instruments.h"

namespace reductio {

struct Bench {
  DeviceInfo info;
  Machine machine;
  std::unique_ptr<Backend> backend;  ///< null: processes of their own open it (Instruments::open)
  Instruments instruments;
};

/// Opens the device in a process of its own, which says what it is. Neither a context of CUDA nor threads of OpenMP or
/// TBB go along when a process is forked, so that this process, from which those of passes are forked, uses none.
/// `here`: opens it in this process, as a profiler needs it. Throws as open_backend() and make_instruments() do.
Bench open_bench(DeviceKind, const std::string& gpu, bool here = false);

}  // namespace reductio
