#pragma once
/// All that measuring on a device takes.

#include <array>
#include <functional>
#include <iterator>
#include <memory>

#include "device/backend.h"
#include "measure/timing/device_monitor.h"
#include "measure/timing/harness_calls.h"
#include "measure/timing/timer.h"

namespace reductio {

/// What instruments measured once and hand to those of later processes; 0: not yet measured.
struct Seen {
  double event_resolution_s = 0, globaltimer_resolution_s = 0;
  double least_memory_s = 0;  ///< of the memory's probe, while it is idle
};

/// None is null, except harness_calls in a process that does not use the device.
struct Instruments {
  std::unique_ptr<Timer> timer;
  std::unique_ptr<HarnessCalls> harness_calls;
  std::unique_ptr<DeviceMonitor> monitor;
  /// Opens the device in this process, until it ends, and replaces these instruments by its own. The process of each
  /// context calls it, their parent never does. Empty: the device is open here.
  std::function<Backend*(Instruments&)> open = {};
  Seen seen = {};
};

/// Calls Instruments::open, and clears it.
Backend* open_here(Instruments&);

/// Those of a backend, which must outlive them.
Instruments make_instruments(Backend&, const Seen& = {});

/// For a process that leaves the device to others: a timer that knows its resolutions but cannot time, and a monitor
/// that adds up what the others' counted.
Instruments distant_instruments(DeviceKind, bool keeps_time,
                                const std::array<double, std::size(all_timing_modes)>& resolution_s);

/// host_timer.cpp: a steady clock, for CPUs. `flush` brings the cache into a cold state; unless said the process's
/// CpuFlush.
Instruments make_host_instruments(Backend&, std::function<void(CacheState)> flush = {});
Instruments make_sim_instruments(Backend&);   ///< host_timer.cpp: run calls, keep no time
Instruments make_cuda_instruments(Backend&, const Seen& = {});  ///< cuda/cuda_timer.cpp, or its stub without CUDA

/// Leaks them: freeing would wait for a call that never ends.
void keep_for_ever(Instruments&&);

}  // namespace reductio
