#pragma once
/// Running an experiment: its points are measured batch by batch, verified and written as rows. A killed run loses only
/// the batch under way, about a minute, and can be resumed.

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "measure/plan/experiment.h"
#include "measure/results/row.h"
#include "measure/sampling/sampler.h"
#include "measure/timing/device_monitor.h"

namespace reductio {

struct RunOptions {
  std::filesystem::path out = "out/results";  ///< rows go to <out>/<machine>/<experiment>.csv
  bool resume = false;                    ///< continue an existing file; without it, an existing file is an error
  std::string gpu;                        ///< index or UUID; "" the first
  bool quick = false;    ///< a smoke test: some of the experiment's sizes, up to 2^22, and few samples
  bool full = false;     ///< also points that the experiment skips to save time, and calls over its limit
  bool dry_run = false;  ///< count and estimate only; nothing is measured or written
  bool profile = false;  ///< one bare call of each point inside an NVTX range, for ncu; nothing is written
  std::vector<std::string> arguments;  ///< the command line, for the record
  std::optional<int> min_samples, max_samples;
  std::optional<int> contexts;  ///< in place of SamplingRules::contexts
  std::optional<double> confidence;
  std::optional<double> time_budget_s;  ///< in place of SamplingRules::time_budget_s
};

/// Follows a run. Called from the thread that measures, never inside a timed interval.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Before the first group: the rows' file (empty: none), how many points in all, and how many are in the file
  /// already.
  virtual void started(const std::filesystem::path& /*csv*/, std::size_t /*points*/, std::size_t /*already_done*/) {}
  /// `what` is being measured. `remaining_s` is an estimate; negative while there is none.
  virtual void progress(std::size_t /*done*/, std::size_t /*points*/, double /*elapsed_s*/, double /*remaining_s*/,
                        const std::string& /*what*/) {}
  /// A finished row, after it was written.
  virtual void row(const Row&) {}
  /// The rows of one group with their samples, after row() was called for each.
  virtual void group(const GroupOutcome&) {}
  /// Called after each context of a batch but the last: true ends the batch there.
  virtual bool enough(int /*contexts*/, const SoFar&) { return false; }
  /// A note to the user: "the last row was cut and is measured again".
  virtual void notice(const std::string&) {}
};

struct RunReport {
  std::filesystem::path csv;              ///< empty for dry and profile runs
  std::size_t points = 0, skipped = 0;    ///< skipped: already in the file that was resumed
  std::array<std::size_t, statuses>
      by_status{};  ///< rows written by this run, by Status; of a dry run, known to be refused
  bool interrupted = false;                       ///< by a signal, with points left; --resume continues
  double estimated_s = 0;                 ///< dry run: what measuring would take, roughly
  double measured_s = 0;                  ///< wall-clock time of the run
  Spent spent;                            ///< where that of its samples went
  int times_memory_stayed_busy = 0;       ///< of all groups
  std::optional<HostCpuCounts> host_cpu;  ///< nothing where no CPU is chosen

  std::size_t count(Status s) const { return by_status[static_cast<std::size_t>(s)]; }
};

/// Measures one experiment on the device that `selection` names, else on its own. The first SIGINT, SIGTERM or SIGHUP
/// ends the run: the batch under way is finished if only seconds are left, else dropped. A second signal always drops
/// it. Throws UsageError (results exist, folder not writable, nothing selected, resume refused), NoGpu, Refused if the
/// device lacks memory for the instruments, and DeviceError if it no longer answers; rows written so far stand.
RunReport run_experiment(const Experiment&, const Selection&, const RunOptions&, RunObserver&);

/// The experiment's points for this selection: thinned for --quick, each key once. UsageError if there are none.
std::vector<Point> choose_points(const Experiment&, const Selection&, DeviceKind, bool quick);

/// The experiment's rules under the user's options. UsageError for counts below 1, a minimum above the maximum, fewer
/// contexts than an interval needs or more than samples, a confidence outside (0, 1), or a timeout that is no time.
SamplingRules choose_rules(const Experiment&, const RunOptions&);

}  // namespace reductio
