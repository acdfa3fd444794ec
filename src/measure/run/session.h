#pragma once
/// Running points on an open device; run_experiment() is this behind opening the device and asking the experiment.
/// Tests call it with a timer of their own.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"
#include "measure/results/machine.h"
#include "measure/run/run.h"
#include "measure/timing/timer.h"

namespace reductio {

/// Counts SIGINT and SIGTERM while it lives, instead of being killed by them. The third kills.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  static int count();

 private:
  struct sigaction earlier_interrupt_, earlier_terminate_;
};

struct Session {
  std::string experiment;
  std::vector<Point> points;
  SamplingRules rules;
  RunOptions options;
  std::uint64_t seed = 1;
  Machine machine;
  std::unique_ptr<Backend> backend;  ///< owned, because after a call that never ends it must not be freed
  std::unique_ptr<Timer> timer;
  bool keeps_rows = true;        ///< false: rows and samples reach the observer and no file
  std::filesystem::path folder{};  ///< where the files go; empty: <options.out>/<machine>
};

RunReport run_session(Session, RunObserver&);

/// The experiment's points for this selection: thinned for --quick, each key once. UsageError if there are none.
std::vector<Point> choose_points(const Experiment&, const Selection&, DeviceKind, bool quick);

/// The experiment's rules under the user's options. UsageError for counts below 1, a minimum above the maximum, a
/// confidence outside (0, 1), or a timeout that is no time.
SamplingRules choose_rules(const Experiment&, const RunOptions&);

}  // namespace reductio
