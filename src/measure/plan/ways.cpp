#include "measure/plan/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace reductio {
namespace {

using Words = std::vector<std::string>;

/// The ways that calls with these settings do not have: "not device, graph (why)", a sentence for each reason.
std::string ways_without(const Variant& v, const Settings& s) {
  std::vector<std::pair<std::string, Words>> ways_by_reason;
  const auto note = [&](std::string_view way, const std::string& why) {
    if (why.empty()) return;
    const auto same =
        std::find_if(ways_by_reason.begin(), ways_by_reason.end(), [&](auto& w) { return w.first == why; });
    if (same != ways_by_reason.end()) same->second.emplace_back(way);
    else ways_by_reason.push_back({why, {std::string(way)}});
  };
  for (const TimingMode mode : {TimingMode::device, TimingMode::graph, TimingMode::replay, TimingMode::launch_to_idle})
    note(name(mode), timing_refusal(v, s, mode, CacheState::cold_dirty));
  note(name(CacheState::warm), timing_refusal(v, s, TimingMode::end_to_end, CacheState::warm));
  Words sentences;
  for (const auto& [why, ways] : ways_by_reason)
    sentences.push_back(fmt::format("not {} ({})", fmt::join(ways, ", "), why));
  return fmt::format("{}", fmt::join(sentences, ", "));
}

}  // namespace

std::string timing_refusal(DeviceKind device, TimingMode mode, CacheState cache) {
  switch (device) {
    case DeviceKind::cuda:
      if (mode == TimingMode::graph && cache == CacheState::cold_dirty)
        return "nothing can dirty the cache between a graph's calls without being timed; timed warm and cold_clean";
      return {};
    case DeviceKind::sim:
      return mode == TimingMode::graph || mode == TimingMode::replay ? "the simulated device captures no graphs" : "";
    case DeviceKind::cpu: break;
  }
  switch (mode) {
    case TimingMode::end_to_end: return {};
    case TimingMode::device:
    case TimingMode::graph:
    case TimingMode::replay: return "a CPU has no clock of its own; timed end to end";
    case TimingMode::launch_to_idle: return "a CPU's call is over when it returns; timed end to end";
    case TimingMode::clock:
    case TimingMode::globaltimer: return "a CPU takes no clock readings";
  }
  return "unknown timing mode";
}

std::string timing_refusal(const Variant& v, const Settings& s, TimingMode mode, CacheState cache) {
  if (v.consumes_input) {
    if (mode == TimingMode::graph)
      return "overwrites its input, which a graph of many calls cannot restore in between";
    if (cache == CacheState::warm) return "overwrites its input: restoring it decides what the cache holds";
  }
  const ResultLocation result = v.result_of(s);
  switch (mode) {
    case TimingMode::device:
      if (!v.interpreter.empty()) return "each call runs " + v.interpreter + "; its kernels are timed by mode replay";
      [[fallthrough]];
    case TimingMode::graph:
    case TimingMode::replay:
      if (result == ResultLocation::host_part) return "finishes on the host; timed end to end";
      [[fallthrough]];
    case TimingMode::launch_to_idle:
      if (result == ResultLocation::on_host) return "blocks until its result is on the host; timed end to end";
      return {};
    case TimingMode::end_to_end: return {};
    case TimingMode::clock:
    case TimingMode::globaltimer: return v.reads_clock ? "" : "its kernels do not read the clock";
  }
  return "unknown timing mode";
}

std::string ways_without(const Variant& v) {
  const Settings standard = v.settings();
  if (!standard.has("finish")) return ways_without(v, standard);
  // Of the settings only this one decides.
  const auto finish = std::find_if(v.tunables.begin(), v.tunables.end(), [](auto& t) { return t.name == "finish"; });
  std::vector<std::pair<std::string, Words>> finishes_by_text;
  for (const std::string& value : finish->values) {
    const std::string text = ways_without(v, v.settings({{"finish", value}}));
    const auto same =
        std::find_if(finishes_by_text.begin(), finishes_by_text.end(), [&](auto& f) { return f.first == text; });
    if (same != finishes_by_text.end()) same->second.push_back(value);
    else finishes_by_text.push_back({text, {value}});
  }
  if (finishes_by_text.size() == 1) return finishes_by_text.front().first;
  Words sentences;
  for (const auto& [text, values] : finishes_by_text)
    if (!text.empty()) sentences.push_back(fmt::format("finish={}: {}", fmt::join(values, ", "), text));
  return fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace reductio
