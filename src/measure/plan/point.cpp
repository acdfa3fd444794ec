#include "measure/plan/point.h"

#include <fmt/format.h>

#include "core/error.h"

namespace reductio {
namespace {

template <class E, std::size_t Count>
E parse(std::string_view text, const E (&all)[Count], const char* what) {
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
    case TimingMode::replay: return "replay";
    case TimingMode::launch_to_idle: return "launch_to_idle";
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

TimingMode parse_timing_mode(std::string_view text) { return parse(text, all_timing_modes, "timing mode"); }

CacheState parse_cache_state(std::string_view text) { return parse(text, all_cache_states, "cache state"); }

PointKey::PointKey(const Point& p)
    : variant(p.variant->id),
      device(p.device),
      problem(p.problem),
      settings(p.settings.str()),
      timing_mode(p.timing_mode),
      cache_state(p.cache_state),
      offset_elements(p.offset_elements),
      dataset(p.dataset + (p.problem.shape.segments ? "/" + p.problem.shape.lengths : "")),
      seed(p.seed),
      caller(p.in_loop ? "" : "first") {}

std::string shape_in_words(const PointKey& p) {
  const InputShape& shape = p.problem.shape;
  return shape.segments ? fmt::format("{} segments", *shape.segments) : shape.text();
}

std::string describe_group(const PointKey& p) {
  const std::string shape = shape_in_words(p), lies = (shape.empty() ? "" : " ") + shape;
  return fmt::format("{} {} n={}{} {} {}{}", name(p.problem.operation), name(p.problem.type), p.problem.n, lies,
                     name(p.timing_mode), name(p.cache_state), p.caller.empty() ? "" : ", first in a while");
}

}  // namespace reductio
