#include "cli/compare/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/results/csv.h"
#include "measure/results/writer.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string show_ratio(const Ratio& r) {
  if (!r.enough) return fmt::format("{:.3g}", r.value);  // its range would look like an interval
  const double width = r.interval.high - r.interval.low;
  const int digits = width < 0.001 ? 4 : width < 0.02 ? 3 : 2;
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", r.value, digits, r.interval.low, digits, r.interval.high, digits);
}

/// "1.31 times [1.29, 1.33] (FASTER)", "1.04 times (UNDECIDED, too few samples for an interval: 1, it takes 6)".
std::string in_words(const Compared& c) {
  std::string text = show_ratio(*c.ratio);
  text.insert(std::min(text.find(' '), text.size()), " times");
  return fmt::format("{} ({}{})", text, name(c.verdict), c.has_interval() ? "" : ", " + c.reason);
}

/// "first" in a while, else in a loop.
std::string show_caller(const Measured& m) { return m.at("caller").empty() ? "loop" : m.at("caller"); }

std::string show_time(const Measured& m) { return m.row.time_median_s ? show_seconds(*m.row.time_median_s) : ""; }

Ink ink_of(Verdict v) {
  switch (v) {
    case Verdict::faster: return Ink::green;
    case Verdict::slower: return Ink::red;
    case Verdict::same: return Ink::bold;
    case Verdict::undecided: return Ink::yellow;
  }
  return Ink::dim;
}

/// Up to one digit: what would decide is a guess from an interval that is too wide itself.
std::size_t roughly(std::size_t samples) {
  std::size_t power = 1;
  while (samples / power >= 10) power *= 10;
  return (samples + power - 1) / power * power;
}

std::string show_verdict(const Compared& c) {
  if (!c.ratio) return ink(Ink::yellow, "not compared") + ": " + c.reason;
  std::string text = ink(ink_of(c.verdict), name(c.verdict));
  std::vector<std::string> more;
  if (!c.reason.empty()) more.push_back(c.reason);
  if (c.rounds_to_decide)
    more.push_back(fmt::format("some {} samples or more would decide", roughly(*c.rounds_to_decide)));
  return more.empty() ? text : text + ": " + join(more, "; ");
}

/// What a row is about, in words: what all rows of `among` have in common, or what tells this one from the others.
/// `who`: how the sentence names the variant already.
std::string where(const Compared& c, const std::vector<const Compared*>& among, bool in_common,
                  const std::string& who) {
  std::vector<std::string> words;
  for (const std::string_view column :
       {"n", "element_type", "operation", "timing_mode", "cache_state", "caller", "experiment"}) {
    const auto of = [&](const Compared& o) {
      return column == "n" ? show_elements(o.variant.row.point) : o.variant.at(column);
    };
    const std::string own = of(c);
    const bool common = std::all_of(among.begin(), among.end(), [&](const Compared* o) { return of(*o) == own; });
    if (common && (column == "experiment" || column == "caller")) continue;
    if (common != in_common) continue;
    words.push_back(column == "caller" ? show_caller(c.variant) : own);
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
    return in_words(c) + (own.empty() ? "" : (own.starts_with(c.variant.label) ? " for " : " at ") + own);
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
    {"caller", false, [](auto& c, auto&) { return c.variant.at("caller"); }},
    {"paired", false, [](auto&, auto& all) { return std::string(all.paired ? "yes" : "no"); }},
    {"n_rounds", true, of_ratio<&Ratio::rounds>},
    {"n_contexts", true, of_ratio<&Ratio::contexts>},
    {"base_n_rejected", true, [](auto& c, auto&) { return c.base.at("n_rejected"); }},
    {"n_rejected", true, [](auto& c, auto&) { return c.variant.at("n_rejected"); }},
    {"base_time_s", true, [](auto& c, auto&) { return c.base.at("time_median_s"); }},
    {"time_s", true, [](auto& c, auto&) { return c.variant.at("time_median_s"); }},
    {"ratio", true, of_ratio<&Ratio::value>},
    {"ratio_low", true, [](auto& c, auto&) { return c.has_interval() ? text_of(c.ratio->interval.low) : ""; }},
    {"ratio_high", true, [](auto& c, auto&) { return c.has_interval() ? text_of(c.ratio->interval.high) : ""; }},
    {"confidence", true, [](auto&, auto& all) { return text_of(all.confidence); }},
    {"simultaneous", false, [](auto&, auto& all) { return std::string(all.separately ? "no" : "yes"); }},
    {"n_intervals", true, [](auto&, auto& all) { return text_of(all.ratios()); }},
    {"effect", true, [](auto&, auto& all) { return text_of(all.effect); }},
    {"verdict", false, [](auto& c, auto&) { return c.ratio ? std::string(name(c.verdict)) : ""; }},
    {"rounds_to_decide", true,
     [](auto& c, auto&) { return c.rounds_to_decide ? text_of(roughly(*c.rounds_to_decide)) : ""; }},
    {"reason", false, [](auto& c, auto&) { return c.reason; }},
};

Json to_json(const Comparison& comparison, const Wording& wording) {
  Json out = {{"paired", comparison.paired}, {"confidence", comparison.confidence},
              {"effect", comparison.effect}, {"rule", rule_in_words(comparison.paired)},
              {"looks", comparison.looks},   {"least_effect", Json()},
              {"origins", wording.origins},  {"rows", Json::array()},
              {"conclusions", conclusions(comparison, wording)}};
  if (const auto least = least_effect(comparison)) out["least_effect"] = *least;
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

void print_on_stdout(const Comparison& comparison, const Wording& wording, const CompareOptions& options) {
  if (options.json) {
    fmt::print("{}\n", to_json(comparison, wording).dump(2));
    return;
  }
  std::string undecided;
  if (const auto least = least_effect(comparison); least && (options.fail_if_slower || options.until_decided))
    undecided =
        fmt::format("UNDECIDED at {0:g} %: the least effect that this run decides is {1:g} % (--effect {1:g}%){2}",
                    100 * comparison.effect, 100 * *least, wording.advice);
  if (options.csv) {
    if (!undecided.empty()) print_message("note: " + undecided);
    print_csv(comparison);
    return;
  }
  if (!options.quiet) {
    // A long comparison shows what differs; the rest is in the counts of the last lines and in --csv.
    const bool all = comparison.rows.size() <= table_rows;
    std::size_t hidden = 0, refused = 0;
    // A point may have been measured in several experiments and by both callers, and is compared with its own in each.
    const auto differs = [&](const char* column) {
      return std::any_of(comparison.rows.begin(), comparison.rows.end(), [&](const Compared& c) {
        return c.variant.at(column) != comparison.rows.front().variant.at(column);
      });
    };
    const bool experiments = differs("experiment"), callers = differs("caller");
    std::vector<std::string> header{
        "variant", "operation", "type", "n", "mode", "cache", "base", "t(base)/t [interval]", "verdict"};
    if (callers) header.insert(header.begin() + 6, "caller");
    if (experiments) header.insert(header.begin(), "experiment");
    Table table(std::move(header));
    for (const Compared& c : comparison.rows) {
      if (!all && (!c.ratio || c.verdict == Verdict::same || c.verdict == Verdict::undecided)) {
        ++(c.ratio ? hidden : refused);
        continue;
      }
      std::vector<std::string> shown{c.variant.label,
                                     c.variant.at("operation"),
                                     c.variant.at("element_type"),
                                     show_elements(c.variant.row.point),
                                     c.variant.at("timing_mode"),
                                     c.variant.at("cache_state"),
                                     show_time(c.base),
                                     c.ratio ? show_ratio(*c.ratio) : "",
                                     show_verdict(c)};
      if (callers) shown.insert(shown.begin() + 6, show_caller(c.variant));
      if (experiments) shown.insert(shown.begin(), c.variant.at("experiment"));
      table.add(std::move(shown));
    }
    if (hidden + refused < comparison.rows.size()) table.print();
    if (hidden) fmt::print("not shown: {}, SAME or UNDECIDED; --csv has all\n", counted(hidden, "row"));
    if (refused) fmt::print("not shown: {}, not compared; --csv has all, and why\n", counted(refused, "row"));
    say(fmt::format("base: {}. {}", wording.base, comparison.ratios() ? wording.how : "Nothing could be compared."));
    if (comparison.ratios()) say(rule_in_words(comparison.paired));
  }
  if (!undecided.empty()) say(undecided);
  for (const std::string& line : conclusions(comparison, wording)) say_bold(line);
}

}  // namespace

void print(const Comparison& comparison, const Wording& wording, const CompareOptions& options) {
  std::string not_written;
  if (!options.json_to.empty()) {
    std::ofstream file(options.json_to);
    file << to_json(comparison, wording).dump(2) << '\n';
    if (!file.flush()) not_written = "could not write all of '" + options.json_to + "'; is the disk full?";
  }
  try_to_print([&] { print_on_stdout(comparison, wording, options); });
  if (!not_written.empty()) throw OutputError(not_written);
}

int verdict(const Comparison& comparison, const CompareOptions& options) {
  if (!comparison.rows.empty() && !comparison.ratios())
    throw UsageError("nothing could be compared: " + comparison.rows.front().reason);
  if (!options.fail_if_slower) return exit_ok;
  if (comparison.count(Verdict::slower)) return exit_slower;
  const bool open = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                [](const Compared& c) { return !c.ratio || c.verdict == Verdict::undecided; });
  return open ? exit_undecided : exit_ok;
}

}  // namespace reductio::cli
