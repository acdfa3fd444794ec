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
  /// Ends the device's context and goes on in a new one, as a new process would, with the same clocks and what was seen
  /// of the memory so far. Every plan, input and stream must be gone, and all that the timer kept for plans is
  /// forgotten. Empty where the device has no contexts.
  std::function<void()> renew_context = {};
};

/// Those of a backend, which must outlive them.
Instruments make_instruments(Backend&);

/// host_timer.cpp: a steady clock, for CPUs. `flush` brings the cache into a cold state; a CpuFlush unless said.
Instruments make_host_instruments(Backend&, std::function<void(CacheState)> flush = {});
Instruments make_sim_instruments(Backend&);   ///< host_timer.cpp: run calls, keep no time
Instruments make_cuda_instruments(Backend&);  ///< cuda/cuda_timer.cpp, or its stub without CUDA

/// Frees none of them, because that would wait for a call that does not end.
void keep_for_ever(Instruments&&);

}  // namespace reductio
