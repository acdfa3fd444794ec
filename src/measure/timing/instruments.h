#pragma once
/// All that measuring on a device takes.

#include <functional>
#include <memory>

#include "device/backend.h"
#include "measure/timing/device_monitor.h"
#include "measure/timing/harness_calls.h"
#include "measure/timing/timer.h"

namespace reductio {

/// None of them is null once they are made.
struct Instruments {
  std::unique_ptr<Timer> timer;
  std::unique_ptr<HarnessCalls> harness_calls;
  std::unique_ptr<DeviceMonitor> monitor;
  /// Replaces the device's context by a new one, as a new process would have, and keeps the clocks and what was seen of
  /// the memory. Plans, inputs and streams must be gone; what the timer kept for plans is forgotten. Empty where the
  /// device has no contexts.
  std::function<void()> renew_context = {};
};

/// Those of a backend, which must outlive them.
Instruments make_instruments(Backend&);

/// host_timer.cpp: a steady clock, for CPUs. `flush` brings the cache into a cold state; a CpuFlush unless said.
Instruments make_host_instruments(Backend&, std::function<void(CacheState)> flush = {});
Instruments make_sim_instruments(Backend&);   ///< host_timer.cpp: run calls, keep no time
Instruments make_cuda_instruments(Backend&);  ///< cuda/cuda_timer.cpp, or its stub without CUDA

/// Leaks them: freeing would wait for a call that never ends.
void keep_for_ever(Instruments&&);

}  // namespace reductio
