#pragma once
/// What can be seen of a device beside the times of calls: how fast its kernels' clock runs, whether its memory is
/// idle, whether flushing its cache works.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "measure/plan/point.h"

namespace reductio {

/// What a flush of the cache does, measured: the time to read some of what it holds in each state.
struct CacheProbe {
  std::size_t bytes = 0;
  double warm_s = 0, cold_clean_s = 0, cold_dirty_s = 0;
};
/// Medians of so many intervals in each state.
CacheProbe probe_of(std::size_t bytes, int intervals, const std::function<double(CacheState)>& interval_s);

/// What became of the CPU that calls are made from, of samples that the host's clock times (QuietCpu).
struct HostCpuCounts {
  std::size_t samples = 0;
  std::size_t moved = 0;        ///< of them, from another CPU than the one before, which had become busy
  std::size_t on_busy_cpu = 0;  ///< of them, from a busy CPU, because there was no quiet one
  double chain_s = 0;  ///< the sum of CpuContention::chain_s over them, each by the last look before it: the CPUs' pace
};

/// A device of which nothing can be seen, unless a function is overridden.
class DeviceMonitor {
 public:
  virtual ~DeviceMonitor() = default;

  /// Shows that flushing works. Nothing where there is no cache.
  virtual std::optional<CacheProbe> probe_cache() { return std::nullopt; }

  /// The frequency that the kernels' clock runs at now, seen by a kernel that reads cycles and time; nothing where
  /// there is no such clock.
  virtual std::optional<double> clock_hz() { return std::nullopt; }

  /// Of the samples since this was asked last. Nothing where no CPU is chosen.
  virtual std::optional<HostCpuCounts> take_host_cpu_counts() { return std::nullopt; }

  /// Waits until the device's memory is as fast as it has ever been seen here, for something else may use it: NVIDIA's
  /// driver, which overwrites what was freed. False where it stayed slower for about a second.
  virtual bool wait_until_memory_idle() { return true; }

  /// Runs `body` inside a named range that profilers can filter by.
  virtual void in_range(const std::string& /*name*/, const std::function<void()>& body) { body(); }
};

/// Waits until the same work is as fast as ever.
class SettleDetector {
 public:
  /// `measure` does the work and returns its seconds. They are fast if they are at most 5 % more than the fewest so
  /// far. Where the first are fast, true is returned at once. Else there is a pause before each further measurement,
  /// and true is returned after two fast ones in a row, false after 500 pauses.
  bool wait(const std::function<double()>& measure, const std::function<void()>& pause);

 private:
  double least_s_ = std::numeric_limits<double>::infinity();
};

}  // namespace reductio
