#include "cli/compare/candidates.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/describe.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/sampling/sampler.h"

namespace reductio::cli {
namespace {

Candidate parse_candidate(const std::string& text, const Selection& selection) {
  const auto colon = text.find(':');
  Candidate c{.label = text, .variant = &find_variant(text.substr(0, colon)), .settings = {}};
  Assignments settings = selection.settings;
  if (colon != std::string::npos) {
    if (colon + 1 == text.size()) throw UsageError("'" + text + "' names no setting; give NAME=VALUE, or no colon");
    const auto own = parse_assignments(text.substr(colon + 1));
    check_settings({c.variant}, own);
    settings.insert(settings.end(), own.begin(), own.end());  // the last one counts
  }
  c.settings = c.variant->settings(settings);
  return c;
}

/// shared_operations() and shared_types() for the member `list`, called `what`.
template <class T>
std::vector<T> shared(const std::vector<Candidate>& all, std::vector<T> Variant::*list, const std::vector<T>& asked,
                      const char* what) {
  const auto has = [&](const Candidate& c, T one) {
    const auto& own = c.variant->*list;
    return std::find(own.begin(), own.end(), one) != own.end();
  };
  for (const T one : asked)
    for (const Candidate& c : all)
      if (!has(c, one))
        throw UsageError(
            fmt::format("{} does not support {} {}; compare variants that all do", c.variant->id, what, name(one)));
  if (!asked.empty()) return asked;
  std::vector<T> out;
  for (const T one : all.front().variant->*list)
    if (std::all_of(all.begin(), all.end(), [&](const Candidate& c) { return has(c, one); })) out.push_back(one);
  if (!out.empty()) return out;
  const auto names = [](const std::vector<T>& list) {
    std::vector<std::string> words;
    for (const T one : list) words.emplace_back(name(one));
    return join(words, ", ");
  };
  for (const Candidate& c : all)
    if (std::none_of((c.variant->*list).begin(), (c.variant->*list).end(),
                     [&](T one) { return has(all.front(), one); }))
      throw UsageError(fmt::format("{} supports {}, {} supports {}: different {}s cannot be compared",
                                   all.front().variant->id, names(all.front().variant->*list), c.variant->id,
                                   names(c.variant->*list), what));
  throw UsageError(fmt::format("these variants have no {} in common", what));
}

/// Why a candidate cannot be timed so; empty if it can.
std::string mode_refusal(const Candidate& c, TimingMode mode, CacheState cache, const Timer& timer) {
  if (std::string why = timer.refusal(mode, cache); !why.empty()) return why;
  return timing_refusal(*c.variant, c.settings, mode, cache);
}

}  // namespace

std::vector<Candidate> parse_candidates(const std::vector<std::string>& words, const Selection& selection,
                                        bool each_once) {
  std::vector<Candidate> candidates;
  for (const auto& word : words) candidates.push_back(parse_candidate(word, selection));
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (candidates[i].variant == candidates[j].variant && candidates[i].settings == candidates[j].settings) {
        if (each_once) throw UsageError(candidates[i].label + " is named twice; a baseline holds each once");
        candidates[i].label += " (again)";
      }
  return candidates;
}

std::vector<Operation> shared_operations(const std::vector<Candidate>& all, const std::vector<Operation>& asked) {
  return shared(all, &Variant::operations, asked, "operation");
}

std::vector<ElementType> shared_types(const std::vector<Candidate>& all, const std::vector<ElementType>& asked) {
  return shared(all, &Variant::types, asked, "element type");
}

DeviceKind choose_device(const std::vector<Candidate>& all, const Selection& selection) {
  if (selection.device == DeviceKind::sim)
    throw UsageError("the simulated device measures no time, so nothing can be compared on it; --device cuda or cpu");
  const auto runs_everywhere = [&](DeviceKind d) {
    return std::all_of(all.begin(), all.end(), [&](const Candidate& c) { return c.variant->runs_on(d); });
  };
  if (selection.device) {
    for (const Candidate& c : all)
      if (!c.variant->runs_on(*selection.device) && !only_lacks_cuda(*c.variant, *selection.device))
        throw UsageError(fmt::format("{} does not run on device {}; 'reductio list' shows where each runs",
                                     c.variant->id, name(*selection.device)));
    return *selection.device;
  }
  if (runs_everywhere(DeviceKind::cpu)) return DeviceKind::cpu;
  if (runs_everywhere(DeviceKind::cuda)) return DeviceKind::cuda;
  // A build without CUDA knows the kernels by the simulated device alone; opening the GPU will say what is missing.
  if (runs_everywhere(DeviceKind::sim)) return DeviceKind::cuda;
  throw UsageError("these variants share no device; 'reductio list' shows where each runs");
}

std::vector<TimingMode> choose_modes(const std::vector<Candidate>& all, const std::string& asked, CacheState cache,
                                     const Timer& timer) {
  const auto why_not = [&](const Candidate& c, TimingMode mode) { return mode_refusal(c, mode, cache, timer); };
  // Another state of the cache where that does, else another mode.
  const auto advice = [&](TimingMode mode) -> std::string {
    std::vector<std::string> states;
    for (const CacheState other : {CacheState::cold_dirty, CacheState::cold_clean, CacheState::warm})
      if (std::all_of(all.begin(), all.end(), [&](const Candidate& c) {
            return mode_refusal(c, mode, other, timer).empty();
          }))
        states.emplace_back(name(other));
    if (!states.empty()) return fmt::format("; use --cache {}", join(states, " or "));
    return mode == TimingMode::end_to_end ? "" : "; use --modes end_to_end";
  };
  const auto demand = [&](TimingMode mode) {
    for (const Candidate& c : all)
      if (const std::string why = why_not(c, mode); !why.empty())
        throw UsageError(fmt::format("{} cannot be timed by mode {}, {}: {}{}", c.label, name(mode), name(cache), why,
                                     advice(mode)));
  };
  if (!asked.empty()) {
    const auto modes = parse_list(asked, parse_timing_mode);
    for (const TimingMode mode : modes) {
      if (mode == TimingMode::clock || mode == TimingMode::globaltimer)
        throw UsageError(
            fmt::format("mode {} gives readings, not times; use --modes device or end_to_end", name(mode)));
      demand(mode);
    }
    return modes;
  }
  const auto all_have = [&](TimingMode mode) {
    return std::all_of(all.begin(), all.end(), [&](const Candidate& c) { return why_not(c, mode).empty(); });
  };
  if (std::any_of(all.begin(), all.end(), [](const Candidate& c) { return !c.variant->interpreter.empty(); })) {
    demand(TimingMode::end_to_end);
    if (all_have(TimingMode::replay)) return {TimingMode::replay, TimingMode::end_to_end};
    return {TimingMode::end_to_end};
  }
  // A device time where it has one, else end to end.
  const Candidate *with = nullptr, *without = nullptr;
  for (const Candidate& c : all) (why_not(c, TimingMode::device).empty() ? with : without) = &c;
  if (with && without)
    throw UsageError(fmt::format("{} has a device time and {} has none ({}); use --modes end_to_end",
                                 with->label, without->label, why_not(*without, TimingMode::device)));
  const TimingMode mode = with ? TimingMode::device : TimingMode::end_to_end;
  demand(mode);
  return {mode};
}

}  // namespace reductio::cli
