#include "measure/plan/experiment.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

RegisterExperiment::RegisterExperiment(Experiment e) {
  auto& all = registry();
  const auto at = std::lower_bound(all.begin(), all.end(), e.name,
                                   [](const Experiment& a, const std::string& name) { return a.name < name; });
  if (at != all.end() && at->name == e.name) {
    std::fprintf(stderr, "reductio: experiment '%s' is registered twice\n", e.name.c_str());
    std::abort();
  }
  all.insert(at, std::move(e));
}

std::span<const Experiment> experiments() { return registry(); }

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
