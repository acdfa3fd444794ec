#pragma once
/// A timer takes one sample: it brings the cache into a stated state, runs one call of one plan and says how long it
/// took. What surrounds a sample (rounds, order, statistics) is the sampler's; a scripted timer stands in for the
/// hardware in tests.

#include <cstddef>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/reference.h"
#include "core/variant.h"
#include "measure/plan/ways.h"

namespace reductio {

/// One call that can be repeated: a plan and the memory it works on.
struct Call {
  /// Where `changed` belongs.
  std::byte* changed_place() const {
    return static_cast<std::byte*>(pristine ? pristine : in) + changed->index * changed->bytes;
  }

  Plan* plan = nullptr;
  PlanInfo info{};
  void* in = nullptr;               ///< the input, in device memory; consumed if `pristine` is set
  void* pristine = nullptr;         ///< where a consumed input is restored from before each call, untimed
  /// An element to store for the timed call alone, maybe with the value that it has: after the untimed call before it,
  /// ahead of bringing the cache into its state; put back afterwards. Of a consumed input it is stored in `pristine`.
  const ChangedElement* changed = nullptr;
  std::size_t input_bytes = 0;
  void* out = nullptr;              ///< the result in device memory
  std::size_t result_bytes = 0;     ///< Problem::result_bytes(); at most 16
  void* result = nullptr;           ///< the result in host memory: every call leaves its value here
  /// A sample's call comes after an untimed one of its own, as calls in a loop do; then the cache is brought into its
  /// state. Otherwise it is the first in a while: on an H200 thrust::reduce then takes up to twice as long, by what ran
  /// in between. A warm call always comes after one of its own.
  bool in_loop = true;
  bool device_part =
      true;  ///< end to end, of a plan that finishes on the host: another call times the device's part, too
};

/// One timed call.
struct Sample {
  std::optional<double> seconds;        ///< nothing where the device keeps no time, and in the clock modes
  std::optional<double> device_part_s;  ///< end to end, plans that finish on the host
  std::optional<double> cycles;         ///< the kernel's own reading
  double cost_s = 0;                    ///< wall-clock time that taking this sample cost, everything included
  double timed_s = 0;                   ///< of that, the timed intervals themselves; of a graph, all its calls
  double prepared_s = 0;                ///< of that, restoring the input and bringing the cache into its state
  int calls = 1;                        ///< of the timed interval; `seconds` is the time of one
};

/// No result within the timer's patience: the device is still busy, so nothing after it can be measured.
struct CallTimeout : DeviceError {
  using DeviceError::DeviceError;
};

class Timer {
 public:
  virtual ~Timer() = default;

  /// False for the simulated device: its samples carry no times, and one of each point is enough.
  virtual bool keeps_time() const { return true; }

  /// Why this timer cannot take this mode in this state, whatever the plan; empty if it can.
  virtual std::string refusal(TimingMode, CacheState) const = 0;

  /// One plain call, result included: restores, poisons, runs, waits. Wall-clock seconds from call to result.
  /// Throws CallTimeout when there is none after a minute.
  virtual double run(const Call&) = 0;

  /// One sample. The result is poisoned before the call, and the call's value is in `call.result` after it, outside
  /// the timed interval where the mode is not end to end. The caller has asked both refusals before.
  virtual Sample sample(const Call&, TimingMode, CacheState) = 0;

  /// The least difference of two readings of the clock behind this mode: of an interval, so of all calls of a graph.
  virtual double resolution_s(TimingMode) const = 0;

  /// Forgets what it kept for a plan (a captured graph). Called before the plan goes.
  virtual void forget(const Plan*) {}
};

/// Takes what must never be freed, because freeing would wait for a call that does not end. It stays reachable, so that
/// it is no leak to those who look for leaks.
void keep_for_ever(void*);

}  // namespace reductio
