#pragma once
/// Readings of a device besides times: its kernels' clock rate, whether its memory is idle, whether flushing works.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "measure/plan/point.h"

namespace reductio {

/// The effect of a flush: the time to read part of the cache's content in each state.
struct CacheProbe {
  std::size_t bytes = 0;
  double warm_s = 0, cold_clean_s = 0, cold_dirty_s = 0;
};
/// Medians of `intervals` readings in each state.
CacheProbe probe_of(std::size_t bytes, int intervals, const std::function<double(CacheState)>& interval_s);

/// How often end-to-end samples ran on a quiet CPU (QuietCpu).
struct HostCpuCounts {
  std::size_t samples = 0;
  std::size_t moved = 0;        ///< samples that moved to another CPU because theirs was busy
  std::size_t on_busy_cpu = 0;  ///< samples on a busy CPU because none was quiet
  double chain_s = 0;  ///< CpuContention::chain_s of the last check before each sample, summed: the CPUs' pace
};

/// Each function does nothing unless overridden.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;

  /// Times the effect of flushing. Nothing where there is no cache.
  virtual std::optional<CacheProbe> probe_cache() { return std::nullopt; }

  /// The current frequency of the kernels' clock in Hz, by a kernel that reads cycles and time. Nothing where there is
  /// no such clock.
  virtual std::optional<double> clock_hz() { return std::nullopt; }

  /// The counts since the last call. Nothing where no CPU is chosen.
  virtual std::optional<HostCpuCounts> take_host_cpu_counts() { return std::nullopt; }

  /// Adds what another process counted.
  virtual void add(const HostCpuCounts&) {}

  /// Waits until the device's memory is as fast as it has ever been in this run. Something else may be using it:
  /// NVIDIA's driver overwrites freed memory. False if it stayed slower for about a second.
  virtual bool wait_until_memory_idle() { return true; }

  /// Runs `body` inside a named range that profilers can filter by.
  virtual void in_range(const std::string& /*name*/, const std::function<void()>& body) { body(); }
};

/// Waits until the same work is as fast as it has been.
class SettleDetector {
 public:
  /// `measure` does the work and returns its seconds. Fast is at most 5 % over the minimum so far. Returns true at once
  /// if the first is fast; otherwise pauses before each further one, and returns true after two fast ones in a row,
  /// false after 500 pauses.
  bool wait(const std::function<double()>& measure, const std::function<void()>& pause);

  double least_s() const { return least_s_; }
  void knows(double least_s) { least_s_ = least_s; }  ///< another detector's least_s()

 private:
  double least_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace reductio
