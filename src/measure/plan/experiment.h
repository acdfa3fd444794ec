#pragma once
/// An experiment is a list of points and sampling rules. Drivers in experiments/ make the points; run_experiment()
/// measures, verifies and writes them.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/plan/point.h"
#include "measure/plan/selection.h"

namespace reductio {

struct Experiment {
  std::string name, summary;
  /// The points, given what was selected and which device is there.
  std::function<std::vector<Point>(const Selection&, DeviceKind)> points;
  SamplingRules rules{};
  DeviceKind device = DeviceKind::cuda;  ///< where it runs unless the user says otherwise
  std::string not_elsewhere{};           ///< why it runs on no other device, in words; empty: it may
  std::string file{};                    ///< filled by registration: its source
};

struct RegisterExperiment {
  /// Ends the program as register_variant() does where the name is taken.
  explicit RegisterExperiment(Experiment, const char* file = __builtin_FILE());
};
std::span<const Experiment> experiments();                 ///< sorted by name
const Experiment& find_experiment(std::string_view name);  ///< UsageError suggests the nearest
void require_device(const Experiment&, DeviceKind);        ///< UsageError if it does not run on the device

}  // namespace reductio
