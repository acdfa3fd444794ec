/// reductio compare: is a variant faster, by how much, and how sure is that?

#include "measure/analysis/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/cli/commands.h"
#include "experiments/cli/selection.h"
#include "experiments/cli/terminal.h"
#include "experiments/cli/warnings.h"
#include "measure/plan/selection.h"
#include "measure/results/writer.h"
#include "measure/run/session.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> what;
  SelectionOptions selection;
  RunOptions run;
  std::string modes, cache, effect = "1%", out = "results", save, baseline;
  bool csv = false, json = false, quiet = false, fail_if_slower = false, common = false, separately = false,
       force = false;
  std::vector<std::string> relative_to;  ///< variants
  std::vector<std::string> live_only;  ///< options given that mean nothing for stored results
};

// ------------------------------------------------------------------------------------------- what is to be compared

/// "1%", "1 %" or "0.01" as 0.01.
double parse_effect(std::string text) {
  const std::string whole = text;
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != text.size() || !(value > 0) || !std::isfinite(value))
    throw UsageError("--effect takes a share above 0, as 1% or 0.01, not '" + whole + "'");
  return percent ? value / 100 : value;
}

/// A variant as the user named it: "levels/naive:block=128,finish=atomic".
struct Contender {
  std::string label;
  const Variant* variant;
  Settings settings;
};

Contender parse_contender(const std::string& text, const Selection& selection) {
  const auto colon = text.find(':');
  Contender c{.label = text, .variant = &find_variant(text.substr(0, colon)), .settings = {}};
  std::vector<std::pair<std::string, std::string>> settings = selection.settings;
  if (colon != std::string::npos) {
    if (colon + 1 == text.size()) throw UsageError("'" + text + "' names no setting; give NAME=VALUE, or no colon");
    const auto own = parse_assignments(text.substr(colon + 1));
    check_settings({c.variant}, own);
    settings.insert(settings.end(), own.begin(), own.end());  // the last one counts
  }
  c.settings = c.variant->settings(settings);
  return c;
}

/// Those of `all` that every contender has in `list`; UsageError where there are none, for there is nothing to compare.
template <class T>
std::vector<T> shared(const std::vector<Contender>& all, std::vector<T> Variant::*list, const std::vector<T>& asked,
                      const char* what) {
  const auto has = [&](const Contender& c, T one) {
    const auto& own = c.variant->*list;
    return std::find(own.begin(), own.end(), one) != own.end();
  };
  for (const T one : asked)
    for (const Contender& c : all)
      if (!has(c, one))
        throw UsageError(
            fmt::format("{} does not do {} {}; compare variants that all do", c.variant->id, what, name(one)));
  if (!asked.empty()) return asked;
  std::vector<T> out;
  for (const T one : all.front().variant->*list)
    if (std::all_of(all.begin(), all.end(), [&](const Contender& c) { return has(c, one); })) out.push_back(one);
  if (!out.empty()) return out;
  const auto names = [](const std::vector<T>& list) {
    std::vector<std::string> words;
    for (const T one : list) words.emplace_back(name(one));
    return join(words, ", ");
  };
  for (const Contender& c : all)
    if (std::none_of((c.variant->*list).begin(), (c.variant->*list).end(),
                     [&](T one) { return has(all.front(), one); }))
      throw UsageError(fmt::format("{} does {}, {} does {}: different {}s cannot be compared", all.front().variant->id,
                                   names(all.front().variant->*list), c.variant->id, names(c.variant->*list), what));
  throw UsageError(fmt::format("these variants have no {} in common", what));
}

DeviceKind choose_device(const std::vector<Contender>& all, const Selection& selection) {
  if (selection.device == DeviceKind::sim)
    throw UsageError("the simulated device keeps no time, so nothing can be compared on it; --device cuda or cpu");
  const auto runs_everywhere = [&](DeviceKind d) {
    return std::all_of(all.begin(), all.end(), [&](const Contender& c) { return c.variant->runs_on(d); });
  };
  if (selection.device) {
    for (const Contender& c : all)
      if (!c.variant->runs_on(*selection.device))
        throw UsageError(fmt::format("{} does not run on device {}; 'reductio list' shows where each runs",
                                     c.variant->id, name(*selection.device)));
    return *selection.device;
  }
  if (runs_everywhere(DeviceKind::cpu)) return DeviceKind::cpu;
  if (runs_everywhere(DeviceKind::cuda)) return DeviceKind::cuda;
  // A build without CUDA knows the kernels by the simulated device alone; opening the GPU will say what is missing.
  if (runs_everywhere(DeviceKind::sim)) return DeviceKind::cuda;
  throw UsageError("these variants do not run on one device; 'reductio list' shows where each runs");
}

/// Why a contender cannot be timed so; empty if it can.
std::string mode_refusal(const Contender& c, const Problem& problem, TimingMode mode, CacheState cache,
                         Backend& backend, const Timer& timer) {
  if (std::string why = timer.refusal(mode, cache); !why.empty()) return why;
  ResultLocation result = c.variant->result;
  try {
    result = make_plan(*c.variant, problem, c.settings, backend.info())->info().result;
  } catch (const Refused&) {
    // Its row will say so.
  }
  return timing_refusal(*c.variant, result, mode, cache);
}

std::vector<TimingMode> choose_modes(const std::vector<Contender>& all, const Options& options, const Problem& problem,
                                     CacheState cache, Backend& backend, const Timer& timer) {
  const auto why_not = [&](const Contender& c, TimingMode mode) {
    return mode_refusal(c, problem, mode, cache, backend, timer);
  };
  // Another state of the cache where that does, else another mode.
  const auto advice = [&](TimingMode mode) -> std::string {
    std::vector<std::string> states;
    for (const CacheState other : {CacheState::cold_dirty, CacheState::cold_clean, CacheState::warm})
      if (std::all_of(all.begin(), all.end(), [&](const Contender& c) {
            return mode_refusal(c, problem, mode, other, backend, timer).empty();
          }))
        states.emplace_back(name(other));
    if (!states.empty()) return fmt::format("; --cache {} would do", join(states, " or "));
    return mode == TimingMode::end_to_end ? "" : "; --modes end_to_end compares them so";
  };
  const auto demand = [&](TimingMode mode) {
    for (const Contender& c : all)
      if (const std::string why = why_not(c, mode); !why.empty())
        throw UsageError(fmt::format("{} cannot be timed by mode {}, {}: {}{}", c.label, name(mode), name(cache), why,
                                     advice(mode)));
  };
  if (!options.modes.empty()) {
    const auto modes = parse_list(options.modes, parse_timing_mode);
    for (const TimingMode mode : modes) {
      if (mode == TimingMode::clock || mode == TimingMode::globaltimer)
        throw UsageError(
            fmt::format("mode {} gives readings, no times to compare; --modes device or end_to_end", name(mode)));
      demand(mode);
    }
    return modes;
  }
  // A device time where it has one, else end to end.
  const Contender *with = nullptr, *without = nullptr;
  for (const Contender& c : all) (why_not(c, TimingMode::device).empty() ? with : without) = &c;
  if (with && without)
    throw UsageError(fmt::format("{} has a device time and {} has none ({}); --modes end_to_end compares them so",
                                 with->label, without->label, why_not(*without, TimingMode::device)));
  const TimingMode mode = with ? TimingMode::device : TimingMode::end_to_end;
  demand(mode);
  return {mode};
}

// --------------------------------------------------------------------------------------------------- what came out

std::string show_ratio(const Ratio& r) {
  const double width = r.interval.high - r.interval.low;
  const int digits = width < 0.001 ? 4 : width < 0.02 ? 3 : 2;
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", r.value, digits, r.interval.low, digits, r.interval.high, digits);
}

/// "1.31 times [1.29, 1.33]".
std::string in_words(const Ratio& r) {
  std::string text = show_ratio(r);
  return text.insert(text.find(' '), " times");
}

std::string show_time(const Measured& m) {
  const std::string& text = m.at("time_median_s");
  return text.empty() ? "" : show_seconds(std::stod(text));
}

Ink ink_of(Verdict v) {
  switch (v) {
    case Verdict::faster: return Ink::green;
    case Verdict::slower: return Ink::red;
    case Verdict::same: return Ink::bold;
    case Verdict::undecided: return Ink::yellow;
  }
  return Ink::dim;
}

std::string show_verdict(const Compared& c) {
  if (!c.ratio) return ink(Ink::yellow, "not compared") + ": " + c.reason;
  std::string text = ink(ink_of(c.verdict), name(c.verdict));
  std::vector<std::string> more;
  if (!c.reason.empty()) more.push_back(c.reason);
  if (c.rounds_to_decide) more.push_back(fmt::format("about {} samples or more would decide", *c.rounds_to_decide));
  return more.empty() ? text : text + ": " + join(more, "; ");
}

/// What a row is about, in words: what all rows of `among` have in common, or what tells this one from the others.
/// `who`: how the sentence names the variant already.
std::string where(const Compared& c, const std::vector<const Compared*>& among, bool in_common,
                  const std::string& who) {
  std::vector<std::string> words;
  for (const std::string_view column : {"n", "element_type", "operation", "timing_mode", "cache_state"}) {
    const std::string& own = c.variant.at(column);
    const bool common =
        std::all_of(among.begin(), among.end(), [&](const Compared* o) { return o->variant.at(column) == own; });
    if (common == in_common) words.push_back(column == "n" ? show_size(std::stoull(own)) : own);
  }
  const bool one_variant =
      std::all_of(among.begin(), among.end(), [&](const Compared* o) { return o->variant.label == c.variant.label; });
  if (c.variant.label != who && one_variant == in_common) words.insert(words.begin(), c.variant.label);
  return join(words, " ");
}

/// One line: how fast `who` was beside `base`. Ratios are listed, or the extremes of many; never averaged.
std::string conclusion(const std::string& who, const std::string& base, const std::vector<const Compared*>& rows) {
  std::vector<const Compared*> timed;
  for (const Compared* c : rows)
    if (c->ratio) timed.push_back(c);
  if (timed.empty()) return fmt::format("{} was not compared with {}: {}", who, base, rows.front()->reason);
  constexpr std::size_t listed = 6;
  std::vector<std::string> parts;
  const auto part = [&](const Compared& c) {
    const std::string own = where(c, timed, false, who);
    return in_words(*c.ratio) + (own.empty() ? "" : (own.starts_with(c.variant.label) ? " for " : " at ") + own);
  };
  const std::string common = where(*timed.front(), timed, true, who), context = common.empty() ? "" : ": " + common;
  if (timed.size() <= listed) {
    for (const Compared* c : timed) parts.push_back(part(*c));
    return fmt::format("{} ran {} as fast as {}{}", who, join(parts, ", "), base, context);
  }
  const auto [least, most] = std::minmax_element(timed.begin(), timed.end(),
                                                 [](auto* a, auto* b) { return a->ratio->value < b->ratio->value; });
  for (const Verdict v : {Verdict::faster, Verdict::slower, Verdict::same, Verdict::undecided})
    if (const auto count = std::count_if(timed.begin(), timed.end(), [&](auto* c) { return c->verdict == v; }))
      parts.push_back(fmt::format("{} {}", count, name(v)));
  return fmt::format("{} ran from {} to {} as fast as {}{}, over {} rows: {}", who, part(**least), part(**most), base,
                     context, timed.size(), join(parts, ", "));
}

/// What the last lines say, one for each that was compared with the base.
struct Wording {
  std::string base;                                 ///< what the base is called
  std::function<std::string(const Compared&)> who;  ///< what the other one is called
  std::string how;                                  ///< one line on how it was measured
  Json origins;                                     ///< machine, program and runs of each side, for --json
};

std::vector<std::string> conclusions(const Comparison& comparison, const Wording& wording) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Compared*>> by_who;
  for (const Compared& c : comparison.rows) {
    const std::string who = wording.who(c);
    if (!by_who.contains(who)) order.push_back(who);
    by_who[who].push_back(&c);
  }
  std::vector<std::string> out;
  for (const auto& who : order) out.push_back(conclusion(who, wording.base, by_who[who]));
  return out;
}

/// A column of --csv and a key of --json.
struct Column {
  const char* name;
  bool number;  ///< in JSON; a word otherwise
  std::string (*field)(const Compared&, const Comparison&);
};

template <class T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}

template <auto Member>
std::string of_ratio(const Compared& c, const Comparison&) {
  return c.ratio ? text_of((*c.ratio).*Member) : "";
}

const Column csv_columns[] = {
    {"schema_version", true, [](auto&, auto&) { return text_of(schema_version); }},
    {"base", false, [](auto& c, auto&) { return c.base.at("variant"); }},
    {"base_settings", false, [](auto& c, auto&) { return c.base.at("settings"); }},
    {"base_source", false, [](auto& c, auto&) { return c.base.source; }},
    {"base_machine", false, [](auto& c, auto&) { return c.base.at("machine"); }},
    {"base_run_id", false, [](auto& c, auto&) { return c.base.at("run_id"); }},
    {"variant", false, [](auto& c, auto&) { return c.variant.at("variant"); }},
    {"settings", false, [](auto& c, auto&) { return c.variant.at("settings"); }},
    {"source", false, [](auto& c, auto&) { return c.variant.source; }},
    {"machine", false, [](auto& c, auto&) { return c.variant.at("machine"); }},
    {"run_id", false, [](auto& c, auto&) { return c.variant.at("run_id"); }},
    {"device", false, [](auto& c, auto&) { return c.variant.at("device"); }},
    {"operation", false, [](auto& c, auto&) { return c.variant.at("operation"); }},
    {"element_type", false, [](auto& c, auto&) { return c.variant.at("element_type"); }},
    {"n", true, [](auto& c, auto&) { return c.variant.at("n"); }},
    {"timing_mode", false, [](auto& c, auto&) { return c.variant.at("timing_mode"); }},
    {"cache_state", false, [](auto& c, auto&) { return c.variant.at("cache_state"); }},
    {"paired", false, [](auto&, auto& all) { return std::string(all.paired ? "yes" : "no"); }},
    {"n_rounds", true, of_ratio<&Ratio::rounds>},
    {"n_blocks", true, of_ratio<&Ratio::clusters>},
    {"base_n_rejected", true, [](auto& c, auto&) { return c.base.at("n_rejected"); }},
    {"n_rejected", true, [](auto& c, auto&) { return c.variant.at("n_rejected"); }},
    {"base_time_s", true, [](auto& c, auto&) { return c.base.at("time_median_s"); }},
    {"time_s", true, [](auto& c, auto&) { return c.variant.at("time_median_s"); }},
    {"ratio", true, of_ratio<&Ratio::value>},
    {"ratio_low", true, [](auto& c, auto&) { return c.ratio ? text_of(c.ratio->interval.low) : ""; }},
    {"ratio_high", true, [](auto& c, auto&) { return c.ratio ? text_of(c.ratio->interval.high) : ""; }},
    {"confidence", true, [](auto&, auto& all) { return text_of(all.confidence); }},
    {"simultaneous", false, [](auto&, auto& all) { return std::string(all.separately ? "no" : "yes"); }},
    {"n_intervals", true, [](auto&, auto& all) { return text_of(all.intervals()); }},
    {"effect", true, [](auto&, auto& all) { return text_of(all.effect); }},
    {"verdict", false, [](auto& c, auto&) { return c.ratio ? std::string(name(c.verdict)) : ""; }},
    {"rounds_to_decide", true, [](auto& c, auto&) { return c.rounds_to_decide ? text_of(*c.rounds_to_decide) : ""; }},
    {"reason", false, [](auto& c, auto&) { return c.reason; }},
};

Json to_json(const Comparison& comparison, const Wording& wording) {
  Json out = {{"paired", comparison.paired},
              {"confidence", comparison.confidence},
              {"effect", comparison.effect},
              {"origins", wording.origins},
              {"rows", Json::array()},
              {"conclusions", conclusions(comparison, wording)}};
  for (const Compared& c : comparison.rows) {
    Json row;
    for (const Column& column : csv_columns) {
      const std::string field = column.field(c, comparison);
      if (!column.number)
        row[column.name] = field;
      else
        row[column.name] = field.empty() ? Json() : Json::parse(field);
    }
    out["rows"].push_back(std::move(row));
  }
  return out;
}

void print_csv(const Comparison& comparison) {
  Fields header;
  for (const Column& column : csv_columns) header.emplace_back(column.name);
  fmt::print("{}", csv_record(header));
  for (const Compared& c : comparison.rows) {
    Fields fields;
    for (const Column& column : csv_columns) fields.push_back(column.field(c, comparison));
    fmt::print("{}", csv_record(fields));
  }
}

/// Up to so many rows are all worth a line on the screen.
constexpr std::size_t table_rows = 60;

void print(const Comparison& comparison, const Wording& wording, const Options& options) {
  if (options.json) {
    fmt::print("{}\n", to_json(comparison, wording).dump(2));
    return;
  }
  if (options.csv) {
    print_csv(comparison);
    return;
  }
  if (!options.quiet) {
    // A long comparison shows what differs; the rest is in the counts of the last lines and in --csv.
    const bool all = comparison.rows.size() <= table_rows;
    std::size_t hidden = 0, refused = 0;
    Table table({"variant", "operation", "type", "n", "mode", "cache", "base", "t(base)/t [interval]", "verdict"});
    for (const Compared& c : comparison.rows) {
      if (!all && (!c.ratio || c.verdict == Verdict::same || c.verdict == Verdict::undecided)) {
        ++(c.ratio ? hidden : refused);
        continue;
      }
      table.add({c.variant.label, c.variant.at("operation"), c.variant.at("element_type"),
                 show_size(std::stoull(c.variant.at("n"))), c.variant.at("timing_mode"), c.variant.at("cache_state"),
                 show_time(c.base), c.ratio ? show_ratio(*c.ratio) : "", show_verdict(c)});
    }
    if (hidden + refused < comparison.rows.size()) table.print();
    if (hidden) fmt::print("{} rows that are SAME or UNDECIDED are not shown; --csv has all\n", hidden);
    if (refused) fmt::print("{} rows that could not be compared are not shown; --csv has all, and why\n", refused);
    fmt::print("base: {}. {}\n", wording.base, comparison.intervals() ? wording.how : "Nothing could be compared.");
  }
  for (const std::string& line : conclusions(comparison, wording)) fmt::print("{}\n", ink(Ink::bold, line));
}

std::string confidence_in_words(const Comparison& c) {
  const std::size_t count = c.intervals();
  const std::string what = count == 1       ? "The interval holds"
                           : c.separately ? fmt::format("Each of {} intervals holds by itself", count)
                                          : fmt::format("All {} intervals hold at once", count);
  return fmt::format("{} with {:g} % confidence; an effect counts from {:g} % on.", what, 100 * c.confidence,
                     100 * c.effect);
}

/// The exit code that the verdicts call for. A row that could not be compared is not decided; where none could, more
/// samples would not help, so that is an error even to --fail-if-slower.
int verdict(const Comparison& comparison, const Options& options) {
  if (!comparison.rows.empty() && !comparison.intervals())
    throw UsageError("nothing could be compared: " + comparison.rows.front().reason);
  if (!options.fail_if_slower) return exit_ok;
  if (comparison.count(Verdict::slower)) return exit_slower;
  const bool open = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                [](const Compared& c) { return !c.ratio || c.verdict == Verdict::undecided; });
  return open ? exit_undecided : exit_ok;
}

// -------------------------------------------------------------------------------------------- where rows come from

// An origin is one side of a comparison, as --json tells of it: { "source", "machine": machine.json without its runs,
// "runs": [ to_json(RunRecord) ] }, the same for a stored folder and for what is measured now.

Json origin_of(const StoredResults& stored) {
  Json out = {{"source", stored.named.string()}, {"machine", stored.machine}, {"runs", Json::array()}};
  out["machine"].erase("runs");
  const Json keys = to_json(RunRecord{}, Machine{});
  for (const auto& run : stored.machine.at("runs")) {
    Json& one = out["runs"].emplace_back(Json::object());
    for (const auto& [key, unused] : keys.items()) one[key] = run.contains(key) ? Json(run.at(key)) : Json();
  }
  return out;
}

/// Of what is measured by this program now; the run's id is told by its rows.
Json origin_of(const Machine& machine, const RunOptions& options, std::uint64_t seed) {
  const RunRecord run{.run_id = "", .experiment = "compare", .started_utc = utc_now(), .arguments = options.arguments,
                      .seed = seed};
  return {{"source", "now"}, {"machine", to_json(machine)}, {"runs", Json::array({to_json(run, machine)})}};
}

/// What machine.json tells of the run that a row is from; "" where it tells nothing.
std::string told_of_run(const Json& origins, const Measured& row, const char* key) {
  for (const Json& origin : origins)
    for (const Json& run : origin.at("runs"))
      if (origin.at("source") == row.source && run.at("run_id") == row.at("run_id") && run.at(key).is_string())
        return run.at(key).get<std::string>();
  return "";
}

/// What tells the two sides of rows apart besides the time: one sentence each, empty if nothing that is known.
std::string elsewhere(const Comparison& comparison, const Json& origins) {
  std::set<std::string> names, machines, builds;
  const auto differ = [](std::set<std::string>& all, const std::string& base, const std::string& other) {
    if (base != other && !base.empty() && !other.empty()) all.insert({base, other});
  };
  std::set<std::array<std::string, 4>> seen;  // thousands of rows come from a few runs
  for (const Compared& c : comparison.rows) {
    if (!seen.insert({c.base.source, c.base.at("run_id"), c.variant.source, c.variant.at("run_id")}).second) continue;
    differ(names, c.base.at("machine"), c.variant.at("machine"));
    differ(machines, told_of_run(origins, c.base, "machine_id"), told_of_run(origins, c.variant, "machine_id"));
    differ(builds, told_of_run(origins, c.base, "binary"), told_of_run(origins, c.variant, "binary"));
  }
  const auto listed = [](const std::set<std::string>& all) { return join({all.begin(), all.end()}, ", "); };
  return (!names.empty()      ? "They come from different machines: " + listed(names) + ". "
          : !machines.empty() ? "They come from different machines of one name: " + listed(machines) + ". "
                              : "") +
         (!builds.empty() ? "They were measured by different builds of the program. " : "");
}

// ----------------------------------------------------------------------------------------------- two results folders

int compare_stored(const Options& options, double confidence) {
  if (!options.live_only.empty())
    throw UsageError(options.live_only.front() + " is for measuring; stored results are compared as they are");
  const double effect = parse_effect(options.effect);
  std::vector<MeasuredSet> stored;
  Json origins = Json::array();
  for (const auto& id : options.relative_to) find_variant(id);
  for (const auto& folder : options.what) {
    const StoredResults results = read_results(folder);
    origins.push_back(origin_of(results));
    stored.push_back(measured_in(results));
    if (!options.relative_to.empty()) stored.back() = relative_to(std::move(stored.back()), options.relative_to);
  }
  if (stored.size() < 2) throw UsageError("name two results folders, the base first");
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i < stored.size(); ++i) {
    const auto more = match(stored.front(), stored[i], options.common);
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
  const Comparison comparison = compare(pairs, false, confidence, effect, options.separately);
  const auto covering = std::count_if(comparison.rows.begin(), comparison.rows.end(), [](const Compared& c) {
    return c.ratio && c.ratio->interval.low <= 1 && c.ratio->interval.high >= 1;
  });
  print(comparison,
        {.base = stored.front().name,
         .who = [](const Compared& c) { return c.variant.source; },
         .how = "Unpaired: the two were measured at different times, and what drifted in between is in the ratio but "
                "not in its interval" +
                (options.relative_to.empty()
                     ? std::string(". ")
                     : ", as far as " + join(options.relative_to, " or ") +
                           ", by whose time in the same round all were divided, did not drift with it. ") +
                elsewhere(comparison, origins) + confidence_in_words(comparison) +
                fmt::format(" {} of {} cover 1.", covering, comparison.intervals()),
         .origins = origins},
        options);
  return verdict(comparison, options);
}

// ------------------------------------------------------------------------------------------------------ measured now

/// Shows how far it is and keeps what was measured.
class Collector final : public RunObserver {
 public:
  Collector(const std::vector<Contender>& contenders, bool quiet) : contenders_(contenders), progress_(quiet) {}
  void progress(std::size_t done, std::size_t points, double, double remaining_s, const std::string& what) override {
    if (what.empty())
      progress_.clear();
    else
      progress_.show(done, points, what, remaining_s);
  }
  void notice(const std::string& text) override {
    progress_.clear();
    print_message("note: " + text);
  }
  void group(const GroupOutcome& outcome) override {
    std::vector<Measured> measured = measured_in(outcome);
    for (std::size_t i = 0; i < measured.size() && i < contenders_.size(); ++i)
      measured[i].label = contenders_[i].label;
    groups.push_back(std::move(measured));
  }
  std::vector<std::vector<Measured>> groups;  ///< each in the contenders' order

 private:
  const std::vector<Contender>& contenders_;
  Progress progress_;
};

void check_name(const std::string& name, const char* option) {
  const bool plain = !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!plain)
    throw UsageError(
        fmt::format("{} '{}': a baseline's name is made of letters, digits, '-', '_' and '.'", option, name));
}

/// What --sizes is without being said.
std::vector<std::size_t> usual_sizes(DeviceKind device) {
  if (device == DeviceKind::cpu) return {1u << 12, 1u << 15, 1u << 18, 1u << 21};
  return {1u << 16, 1u << 20, 1u << 24, 1u << 28};
}

int compare_live(Options& options, const SamplingRules& rules) {
  const double effect = parse_effect(options.effect);
  const Selection selection = options.selection.parse();
  if (!options.relative_to.empty())
    throw UsageError("--relative-to is for stored results; what is measured now is paired");
  if (options.common) throw UsageError("--common is for stored results; what is measured now has no rows missing");
  if (!options.save.empty()) check_name(options.save, "--save-baseline");
  if (!options.baseline.empty()) check_name(options.baseline, "--baseline");
  if (!options.save.empty() && options.save == options.baseline)
    throw UsageError("--baseline and --save-baseline name the same baseline; save under another name");
  std::vector<Contender> contenders;
  for (const auto& word : options.what) contenders.push_back(parse_contender(word, selection));
  const bool against_stored = !options.baseline.empty(), stores = !options.save.empty();
  if (contenders.size() < 2 && !against_stored && !stores)
    throw UsageError("name at least two variants to compare, the base first (or one with --baseline)");
  for (std::size_t i = 0; i < contenders.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (contenders[i].variant == contenders[j].variant && contenders[i].settings == contenders[j].settings) {
        if (stores || against_stored)
          throw UsageError(contenders[i].label + " is named twice; a baseline holds each once");
        contenders[i].label += " (again)";
      }
  const auto operations = shared(contenders, &Variant::operations, selection.operations, "operation");
  const auto types = shared(contenders, &Variant::types, selection.types, "element type");
  const DeviceKind device = choose_device(contenders, selection);
  options.selection.check_gpu(device, contenders.front().label);
  const bool consumes =
      std::any_of(contenders.begin(), contenders.end(), [](const Contender& c) { return c.variant->consumes_input; });
  const CacheState cache = !options.cache.empty()                   ? parse_cache_state(options.cache)
                           : device == DeviceKind::cpu && !consumes ? CacheState::warm
                                                                    : CacheState::cold_dirty;
  if (!options.modes.empty()) parse_list(options.modes, parse_timing_mode);  // wrong words before a GPU is looked for

  const auto before = gpus_in_use();
  Session session{.experiment = "compare",
                  .points = {},
                  .rules = rules,
                  .options = options.run,
                  .seed = selection.seed,
                  .machine = {},
                  .backend = open_or_advise(device, options.selection.gpu),
                  .timer = {}};
  session.machine = describe_machine(*session.backend);
  session.timer = make_timer(*session.backend);
  session.options.resume = false;
  const auto baselines = std::filesystem::path(options.out) / session.machine.name / "baselines";
  std::optional<MeasuredSet> then;
  Json origins = Json::array();
  if (against_stored) {
    if (!std::filesystem::is_directory(baselines / options.baseline))
      throw UsageError(fmt::format("there is no baseline '{}' in {}; --save-baseline {} makes one", options.baseline,
                                   baselines.string(), options.baseline));
    const StoredResults results = read_results(baselines / options.baseline);
    origins.push_back(origin_of(results));
    then = measured_in(results);
  }
  session.keeps_rows = stores;
  // Under another name until it is whole: what is replaced stays until then, whatever happens.
  const auto saved = baselines / options.save, draft = baselines / ("." + options.save + ".new");
  if (stores) {
    session.folder = draft;
    if (std::filesystem::exists(saved) && !options.force)
      throw UsageError(
          fmt::format("baseline '{}' exists in {}; --force replaces it", options.save, baselines.string()));
  }

  const auto sizes = chosen(selection.sizes, usual_sizes(device));
  const auto all_types = chosen(selection.types, {usual_type(types)});
  const auto all_operations = chosen(selection.operations, {operations.front()});
  const auto modes = choose_modes(contenders, options, {all_operations.front(), all_types.front(), sizes.front()},
                                  cache, *session.backend, *session.timer);
  for (const Operation operation : all_operations)
    for (const ElementType t : all_types)
      for (const std::size_t n : sizes)
        for (const TimingMode mode : modes)
          for (const Contender& c : contenders)
            session.points.push_back({.variant = c.variant,
                                      .device = device,
                                      .problem = {operation, t, n},
                                      .settings = c.settings,
                                      .timing_mode = mode,
                                      .cache_state = cache,
                                      .seed = selection.seed});

  if (!options.quiet)
    for (const auto& text : misleading(device, session.machine.gpu ? session.machine.gpu->uuid : "", before))
      print_warning(text);
  const std::string machine = session.machine.name;
  origins.push_back(origin_of(session.machine, session.options, session.seed));
  Collector collector(contenders, options.quiet);
  if (stores) std::filesystem::remove_all(draft);  // of a run that was cut off
  const RunReport report = run_session(std::move(session), collector);
  if (report.interrupted) {
    if (stores) std::filesystem::remove_all(draft);
    throw UsageError("interrupted; nothing was compared");
  }
  if (stores) {
    std::filesystem::remove_all(saved);
    std::filesystem::rename(draft, saved);
  }

  MeasuredSet now{.name = "what was measured now", .rows = {}};
  std::vector<Pair> pairs;
  for (const auto& group : collector.groups) {
    for (std::size_t i = 1; i < group.size() && !against_stored; ++i) pairs.emplace_back(&group[0], &group[i]);
    if (against_stored) now.rows.insert(now.rows.end(), group.begin(), group.end());
  }
  // A baseline may hold more than is asked for now, but not less.
  if (against_stored) {
    pairs = match(*then, now, true);
    if (pairs.size() < now.rows.size())
      throw UsageError(
          fmt::format("rows are missing: baseline '{}' lacks {} of the {} that were measured now; save it "
                      "with the same types, sizes and modes",
                      options.baseline, now.rows.size() - pairs.size(), now.rows.size()));
  }
  int exit = exit_ok;
  if (!pairs.empty()) {
    const Comparison comparison = compare(pairs, !against_stored, rules.confidence, effect, options.separately);
    std::size_t fewest = 0, most = 0;
    for (const Compared& c : comparison.rows)
      if (c.ratio) {
        fewest = fewest ? std::min(fewest, c.ratio->rounds) : c.ratio->rounds;
        most = std::max(most, c.ratio->rounds);
      }
    const std::string rounds =
        fewest == most ? std::to_string(most) : std::to_string(fewest) + " to " + std::to_string(most);
    origins.back()["runs"][0]["run_id"] = comparison.rows.front().variant.at("run_id");
    const std::string how =
        against_stored ? "Unpaired: the baseline was measured at another time, and what drifted since is in the ratio "
                         "but not in its interval. " + elsewhere(comparison, origins)
                       : fmt::format("Paired: in turn, in random order, {} rounds on {}. ", rounds, machine);
    print(comparison,
          {.base = against_stored ? "baseline '" + options.baseline + "'" : contenders.front().label,
           .who = [&](const Compared& c) { return c.variant.label; },
           .how = how + confidence_in_words(comparison),
           .origins = origins},
          options);
    exit = report.count(Status::wrong) || report.count(Status::failed) ? exit_ok : verdict(comparison, options);
  }
  if (stores && !options.quiet && !options.csv && !options.json)
    fmt::print("saved as baseline '{}' in {}\n", options.save, saved.string());
  push_output();
  const auto complain = [&](Status status, const char* what) {
    for (const auto& group : collector.groups)
      for (const Measured& m : group)
        if (m.at("status") == name(status)) {
          print_message(fmt::format("{} {}: {}", m.label, what, m.at("reason")));
          return true;
        }
    return false;
  };
  if (complain(Status::wrong, "gave a wrong result")) return exit_wrong;
  if (complain(Status::failed, "failed") || complain(Status::timeout, "timed out") ||
      complain(Status::impossible, "was faster than memory can be"))
    return exit_error;
  return exit;
}

int run(Options& options) {
  if (options.what.empty())
    throw UsageError("name the variants to compare, the base first, as 'reductio compare cub/sum twopass/rolled'");
  // What is wrong with the rules is told before anything is read or opened.
  const SamplingRules rules =
      choose_rules({.name = "compare", .summary = {}, .points = {}, .rules = compare_rules()}, options.run);
  const auto is_variant = [](const std::string& word) {
    return std::any_of(variants().begin(), variants().end(),
                       [id = word.substr(0, word.find(':'))](const Variant& v) { return v.id == id; });
  };
  const auto is_folder = [&](const std::string& word) {
    return std::filesystem::is_directory(word) && !is_variant(word);
  };
  for (const auto& word : options.what)
    if (!is_variant(word) && !is_folder(word)) {
      try {
        find_variant(word.substr(0, word.find(':')));
      } catch (const UsageError& e) {
        throw UsageError(std::string(e.what()) + "; nor is there a folder of that name");
      }
    }
  const auto folders = std::count_if(options.what.begin(), options.what.end(), is_folder);
  if (folders == 0) return compare_live(options, rules);
  if (folders != static_cast<std::ptrdiff_t>(options.what.size()))
    throw UsageError("variants are compared with variants and results folders with results folders; do not mix them");
  return compare_stored(options, rules.confidence);
}

}  // namespace

Command add_compare(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<Options>();
  options->run.arguments = std::move(command_line);
  CLI::App* sub = app.add_subcommand("compare", "Is a variant faster, by how much, and how sure is that?");
  sub->add_option("what", options->what,
                  "Variants, the base first, each with settings of its own if need be (levels/naive:block=128); or "
                  "results folders")
      ->type_name("VARIANT[:NAME=VALUE,...]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  SelectionOptions& s = options->selection;
  s.add_types(*sub);
  s.add_sizes(*sub);
  s.add_settings(*sub);
  s.add_device(*sub);
  sub->add_option("--modes", options->modes,
                  "What is timed: device, graph, end_to_end (default: device where all have it, else end_to_end)")
      ->type_name("LIST");
  sub->add_option("--cache", options->cache,
                  "What the cache holds: cold_dirty, cold_clean or warm (default: cold_dirty; on a CPU warm)")
      ->type_name("STATE");
  add_sampling(*sub, options->run);
  sub->add_option("--effect", options->effect, "The smallest effect that matters, as 1% or 0.01")
      ->type_name("D")
      ->capture_default_str();
  sub->add_flag("--fail-if-slower", options->fail_if_slower, "Exit code 3 if anything is SLOWER, else 4 if UNDECIDED");
  sub->add_option("--save-baseline", options->save, "Keep what is measured as DIR/<machine>/baselines/NAME")
      ->type_name("NAME");
  sub->add_flag("--force", options->force, "Replace a baseline of that name");
  sub->add_option("--baseline", options->baseline, "Compare each variant with itself in that baseline, unpaired")
      ->type_name("NAME");
  sub->add_option("--out", options->out, "Where baselines are kept")->type_name("DIR")->capture_default_str();
  sub->add_flag("--common", options->common, "Results folders: only the rows that both have");
  sub->add_option("--relative-to", options->relative_to,
                  "Results folders: times as multiples of these variants' in the same round, so that what slowed both "
                  "down is left out")
      ->type_name("VARIANT,...")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--separately", options->separately,
                "The confidence is each interval's own, not that of all at once: to count how many cover 1");
  auto* json = sub->add_flag("--json", options->json, "The comparison as JSON");
  sub->add_flag("--csv", options->csv, "The comparison as CSV")->excludes(json);
  sub->add_flag("--quiet", options->quiet, "Only the last lines, which say it in words");
  return {sub, [options, sub] {
            for (const char* name :
                 {"--types", "--operations", "--sizes", "--set", "--seed", "--device", "--gpu", "--modes", "--cache",
                  "--min-samples", "--max-samples", "--timeout", "--save-baseline", "--force", "--baseline", "--out"})
              if (sub->count(name)) options->live_only.emplace_back(name);
            return run(*options);
          }};
}

}  // namespace reductio::cli
