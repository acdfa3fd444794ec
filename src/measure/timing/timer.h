#pragma once
/// A timer takes one sample: it brings the cache into a stated state, runs one call of one plan and says how long it
/// took. What surrounds a sample (rounds, order, statistics) is the sampler's; a scripted timer stands in for the
/// hardware in tests.

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/backend.h"
#include "measure/plan/point.h"

namespace reductio {

/// One call that can be repeated: a plan and the memory it works on.
struct Call {
  Plan* plan = nullptr;
  PlanInfo info{};
  void* in = nullptr;               ///< the input, in device memory; consumed if `pristine` is set
  const void* pristine = nullptr;   ///< where a consumed input is restored from before each call, untimed
  std::size_t input_bytes = 0;
  void* out = nullptr;              ///< one accumulator in device memory
  std::size_t result_bytes = 0;     ///< of one accumulator; at most 16
  void* result = nullptr;           ///< one accumulator in host memory: every call leaves its value here
};

struct Sample {
  std::optional<double> seconds;        ///< nothing where the device keeps no time, and in the clock modes
  std::optional<double> device_part_s;  ///< end to end, plans that finish on the host
  std::optional<double> cycles;         ///< the kernel's own reading
  double cost_s = 0;                    ///< wall-clock time that taking this sample cost, everything included
  double timed_s = 0;                   ///< of that, the timed intervals themselves; of a graph, all its calls
  double prepared_s = 0;                ///< of that, restoring the input and bringing the cache into its state
};

/// No result within the timer's patience: the device is still busy, so nothing after it can be measured.
struct CallTimeout : DeviceError {
  using DeviceError::DeviceError;
};

/// A call that bounds others, made by the timer: a kernel that only reads the input, or an empty one.
struct HarnessPlan {
  std::string name;
  std::unique_ptr<Plan> plan;
};

/// What a flush of the cache does, measured: the time to read some of what it holds in each state.
struct CacheProbe {
  std::size_t bytes = 0;
  double warm_s = 0, cold_clean_s = 0, cold_dirty_s = 0;
};
/// Medians of so many intervals in each state.
CacheProbe probe_of(std::size_t bytes, int intervals, const std::function<double(CacheState)>& interval_s);

class Timer {
 public:
  virtual ~Timer() = default;

  /// False for the simulated device: its samples carry no times, and one of each point is enough.
  virtual bool keeps_time() const { return true; }

  /// Why this timer cannot take this mode in this state, whatever the plan; empty if it can.
  virtual std::string refusal(TimingMode, CacheState) const = 0;

  /// One plain call, result included: restores, poisons, runs, waits. Wall-clock seconds from call to result.
  /// Throws CallTimeout when there is none after `patience_s`.
  virtual double run(const Call&) = 0;

  /// One sample. The result is poisoned before the call, and the call's value is in `call.result` after it, outside
  /// the timed interval where the mode is not end to end. The caller has asked both refusals before.
  virtual Sample sample(const Call&, TimingMode, CacheState) = 0;

  /// The least difference of two readings of the clock behind this mode.
  virtual double resolution_s(TimingMode) const = 0;

  /// An empty call, whose time is the cost of launching; nothing where there is no such thing.
  virtual std::unique_ptr<Plan> empty_plan() { return nullptr; }

  /// Kernels that read `bytes` bytes and do nothing else, for the ceiling of this mode; empty where there is none.
  virtual std::vector<HarnessPlan> read_plans(std::size_t /*bytes*/, TimingMode) { return {}; }

  /// `plan`, each of whose calls is followed, inside what is timed, by `seconds` of spinning by the device's own clock:
  /// an effect of known size, which the timer must find.
  virtual std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) = 0;

  /// Shows that flushing works. Nothing where there is no cache.
  virtual std::optional<CacheProbe> probe_cache() { return std::nullopt; }

  /// The frequency that the kernels' clock runs at now, seen by a kernel that reads cycles and time; nothing where
  /// there is no such clock.
  virtual std::optional<double> clock_hz() { return std::nullopt; }
  /// Waits a moment, for a clock that was throttled.
  virtual void let_clock_recover() {}
  /// Waits until the device's memory is as fast as this timer has ever seen it, for something else may use it: NVIDIA's
  /// driver, which overwrites what was freed. False where it stayed slower for about a second.
  virtual bool wait_until_memory_idle() { return true; }

  /// Forgets what it kept for a plan (a captured graph). Called before the plan goes.
  virtual void forget(const Plan*) {}

  /// Runs `body` inside a named range that profilers can filter by.
  virtual void in_range(const std::string& /*name*/, const std::function<void()>& body) { body(); }

  double patience_s = 60;
};

/// Waits until the same work is as fast as ever.
class SettleDetector {
 public:
  /// `measure` does the work and gives its seconds. Where that is over a twentieth more than it ever was, it is repeated
  /// after a pause, until it is not twice in a row. False after 500 pauses in vain; then the next wait gives up sooner,
  /// for what has become slower for good shall not be waited for each time.
  bool wait(const std::function<double()>& measure, const std::function<void()>& pause);

 private:
  double least_s_ = std::numeric_limits<double>::infinity();
  int patience_ = 500;  ///< in pauses
};

/// Why a plan of this kind cannot be timed in this way by any timer; empty if it can.
std::string timing_refusal(const Variant&, ResultLocation, TimingMode, CacheState);

/// `plan`, whose enqueue() calls `after` on the same stream at its end.
std::unique_ptr<Plan> followed_by(std::unique_ptr<Plan> plan, std::function<void(Stream)> after);

/// The timer of a backend.
std::unique_ptr<Timer> make_timer(Backend&);

/// host_timer.cpp: a steady clock, for CPUs. `flush` brings the cache into a cold state; a CpuFlush unless said.
std::unique_ptr<Timer> make_host_timer(Backend&, std::function<void(CacheState)> flush = {});
std::unique_ptr<Timer> make_sim_timer(Backend&);   ///< host_timer.cpp: runs calls, keeps no time
std::unique_ptr<Timer> make_cuda_timer(Backend&);  ///< cuda_timer.cu, or its stub without CUDA

/// Takes what must never be freed, because freeing would wait for a call that does not end. It stays reachable, so that
/// it is no leak to those who look for leaks.
void keep_for_ever(void*);

/// Seconds of the host's steady clock, and the least difference of two readings of it.
double host_now();
double host_clock_resolution_s();

}  // namespace reductio
