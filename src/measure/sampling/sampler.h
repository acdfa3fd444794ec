#pragma once
/// Measures groups of points: pilots first, then context by context, on each the rounds of all groups that use
/// it. So every group's rounds are spread over the whole time. Every result is verified; rows come at the end.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/sampling/summarise.h"
#include "measure/timing/instruments.h"

namespace reductio {

struct SamplingState;

/// What measuring several groups together gave.
struct Measurement {
  std::vector<GroupOutcome> groups;  ///< in their order
  bool abandoned = false;            ///< no groups: the user did not want to wait
  /// The device no longer answers. `groups` holds only the one under way, with the rows settled so far, the culprit
  /// included.
  std::exception_ptr device_lost;
  bool device_busy = false;  ///< by profile(): lost to a call that still runs, nothing of the device may be freed
};

/// What the samples of each group say so far.
using SoFar = std::function<std::vector<GroupOutcome>()>;

/// How a caller follows a measurement, and ends it.
struct Watch {
  std::function<bool()> abandon;  ///< asked between samples: true drops everything
  /// Called before a group is piloted, and before it is sampled in a context: one of its points, which of both, and
  /// the share done.
  std::function<void(const Point&, bool sampled, double share)> progress = {};
  /// Called after each context but the last, with their number; true makes it the last.
  std::function<bool(int contexts, const SoFar&)> enough = {};
};

/// How to sample, and by what.
struct Sampling {
  Backend* backend;  ///< null while only processes of their own open it: Instruments::open
  Instruments& instruments;
  SamplingRules rules;
  std::uint64_t order_seed;  ///< decides the order within rounds
  std::string run_id{};
  std::optional<double> theoretical_peak_bytes_per_s{};  ///< of the memory, for impossible times
  std::optional<double> load_limit_bytes_per_s{};        ///< the same of all cores, whatever holds the data
  bool keeps_samples = true;  ///< false: nobody writes them, and a text of a million takes longer than they do
  double patience_s = 120;  ///< a context's process is killed if one of its steps, such as a call, takes longer
};

class Sampler {
 public:
  explicit Sampler(Sampling);
  ~Sampler();

  /// Pilots every group once, then samples it in each of its contexts. A point that cannot be measured becomes a row
  /// with its reason; nothing is thrown for it.
  Measurement measure(std::span<const std::vector<const Point*>> groups, const Watch&);

  /// Times known from elsewhere (rows of an earlier run), for predictions.
  History& history();

  /// One bare call of each point in a profiler range of its own, after a call that loads the kernels. `notice` gets
  /// each point and what is wrong with it. No groups, unless the device is lost: then as by measure().
  Measurement profile(std::span<const Point* const> points, const std::function<void(const std::string&)>& notice);

 private:
  std::unique_ptr<SamplingState> s_;
};

}  // namespace reductio
