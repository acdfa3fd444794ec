#include "measure/plan/experiment.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace reductio {
namespace {

// A function-local static: registration runs before main(), in an unspecified order of files.
std::vector<Experiment>& registry() {
  static std::vector<Experiment> all;
  return all;
}

}  // namespace

RegisterExperiment::RegisterExperiment(Experiment e, const char* file) {
  auto& all = registry();
  const auto at = std::lower_bound(all.begin(), all.end(), e.name,
                                   [](const Experiment& a, const std::string& name) { return a.name < name; });
  if (at != all.end() && at->name == e.name)
    end_registration("experiment '" + e.name + "' " + registered_twice(at->file, file));
  e.file = file;
  all.insert(at, std::move(e));
}

std::span<const Experiment> experiments() { return registry(); }

void require_device(const Experiment& e, DeviceKind device) {
  if (device != e.device && !e.not_elsewhere.empty())
    throw UsageError("experiment '" + e.name + "' is not for device " + std::string(name(device)) + ": " +
                     e.not_elsewhere + "; leave --device out");
}

const Experiment& find_experiment(std::string_view wanted) {
  std::vector<std::string> names;
  for (const auto& e : registry()) {
    if (e.name == wanted) return e;
    names.push_back(e.name);
  }
  const std::string near = nearest(wanted, names);
  std::string known;
  for (const auto& n : names) known += (known.empty() ? "" : ", ") + n;
  throw UsageError("unknown experiment '" + std::string(wanted) + "'" +
                   (near.empty() ? "; known: " + known : "; did you mean '" + near + "'?"));
}

}  // namespace reductio
