#pragma once
/// Runs points on a device; run_experiment() opens it and asks the experiment. Tests bring their own timer.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "measure/results/machine.h"
#include "measure/session/run_experiment.h"
#include "measure/timing/instruments.h"

namespace reductio {

struct Session {
  std::string experiment;
  std::vector<Point> points;
  SamplingRules rules;
  RunOptions options;
  std::uint64_t seed = 1;                     ///< of the data
  std::optional<std::uint64_t> order_seed{};  ///< nothing: that of the run that is resumed, else one is drawn
  Machine machine;
  std::unique_ptr<Backend> backend;  ///< null where processes of their own open it (Instruments::open); owned,
                                     ///< because after a call that never ends it must not be freed
  Instruments instruments;
  bool keeps_rows = true;        ///< false: rows and samples reach the observer and no file
  double patience_s = 120;       ///< Sampling::patience_s
  std::filesystem::path folder{};  ///< where the files go; empty: <options.out>/<machine>
};

RunReport run_session(Session, RunObserver&);

}  // namespace reductio
