#pragma once
/// A timer takes one sample: it sets the cache state, runs one call of one plan and returns its time. The sampler
/// decides on rounds, order and statistics. Tests put a scripted timer in the hardware's place.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
  void* pristine = nullptr;         ///< restores a consumed input before each call, untimed
  /// An element that is stored for the timed call, changed or with its own value. Stored after the untimed call and
  /// before the cache is set; put back afterwards. If the input is consumed, it is stored in `pristine`.
  const ChangedElement* changed = nullptr;
  std::size_t input_bytes = 0;
  void* out = nullptr;              ///< the result in device memory
  std::size_t result_bytes = 0;     ///< Problem::result_bytes(); at most 16 in mode graph
  void* result = nullptr;           ///< the result in host memory: every call leaves its value here
  /// Loop caller: an untimed call comes first, then the cache is set. Otherwise the call comes after other work: on an
  /// H200 thrust::reduce then takes up to twice as long. A warm call always follows one of its own.
  bool in_loop = true;
  /// End to end, if the plan finishes on the host: a further call times the device's part.
  bool device_part = true;
};

/// One timed call.
struct Sample {
  std::optional<double> seconds;        ///< nothing where the device measures no time, and in the clock modes
  std::optional<double> device_part_s;  ///< end to end, plans that finish on the host
  std::optional<double> cycles;         ///< the kernel's own reading
  double cost_s = 0;                    ///< wall-clock time of taking this sample, everything included
  double timed_s = 0;                   ///< of that, the timed intervals themselves; of a graph, all its calls
  double prepared_s = 0;                ///< of that, restoring the input and bringing the cache into its state
  int calls = 1;                        ///< of the timed interval; `seconds` is the time of one
};

/// No result within the timer's patience. The device is still busy, so this process can measure nothing more.
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

  /// One plain call, from restoring the input to the result. Returns wall-clock seconds. Throws CallTimeout after a
  /// minute.
  virtual double run(const Call&) = 0;

  /// One sample. The result is poisoned before the call. `call.result` holds the value afterwards, copied outside the
  /// timed interval unless the mode is end to end. The caller has checked refusal() and the variant's.
  virtual Sample sample(const Call&, TimingMode, CacheState) = 0;

  /// The results of all calls of the graph that a sample of this call in mode graph launches, one after the other. The
  /// graph is the one that is timed, but for steps in between: every second call finds the changed element in its
  /// input, the others the input as it is, and each result is copied before the next call. Untimed. Nothing without an
  /// element to change, or without graphs.
  virtual std::vector<std::array<std::byte, 16>> graph_results(const Call&, CacheState) { return {}; }

  /// Resolution of the clock behind this mode, for a whole interval: of a graph, all its calls.
  virtual double resolution_s(TimingMode) const = 0;

  /// Drops what it kept for a plan (a captured graph). Called before the plan is destroyed.
  virtual void forget(const Plan*) {}
};

/// Keeps what must never be freed, because freeing would wait for a call that never ends. It stays reachable, so leak
/// checkers do not report it.
void keep_for_ever(void*);

}  // namespace reductio
