#include "measure/plan/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "core/error.h"

namespace reductio {
namespace {

// A function-local static: registration runs before main(), in an unspecified order of files.
std::vector<Experiment>& registry() {
  static std::vector<Experiment> all;
  return all;
}

template <class E>
E parse(std::string_view text, std::initializer_list<E> all, const char* what) {
  std::string known;
  for (const E e : all) {
    if (name(e) == text) return e;
    known += (known.empty() ? "" : ", ") + std::string(name(e));
  }
  throw UsageError("unknown " + std::string(what) + " '" + std::string(text) + "'; known: " + known);
}

}  // namespace

std::string_view name(TimingMode m) {
  switch (m) {
    case TimingMode::device: return "device";
    case TimingMode::graph: return "graph";
    case TimingMode::end_to_end: return "end_to_end";
    case TimingMode::clock: return "clock";
    case TimingMode::globaltimer: return "globaltimer";
  }
  return "?";
}

std::string_view name(CacheState s) {
  switch (s) {
    case CacheState::cold_clean: return "cold_clean";
    case CacheState::cold_dirty: return "cold_dirty";
    case CacheState::warm: return "warm";
  }
  return "?";
}

TimingMode parse_timing_mode(std::string_view text) {
  return parse(text,
               {TimingMode::device, TimingMode::graph, TimingMode::end_to_end, TimingMode::clock,
                TimingMode::globaltimer},
               "timing mode");
}

CacheState parse_cache_state(std::string_view text) {
  return parse(text, {CacheState::cold_clean, CacheState::cold_dirty, CacheState::warm}, "cache state");
}

std::string describe_group(const Point& p) {
  return fmt::format("{} {} n={} {} {}", name(p.problem.operation), name(p.problem.type), p.problem.n,
                     name(p.timing_mode), name(p.cache_state));
}

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
