#include "measure/analysis/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/error.h"
#include "measure/results/provenance.h"
#include "measure/results/schema.h"
#include "measure/results/table.h"
#include "measure/stats/ratio.h"

namespace reductio {
namespace {

/// Samples have all digits and times nine, so a number that is made anew may differ in its last.
constexpr double last_digit = 2e-8;

bool alike(const std::string& a, const std::string& b) {
  const auto x = number_in(a), y = number_in(b);
  return a == b || (x && y && std::abs(*x - *y) <= last_digit * std::max(std::abs(*x), std::abs(*y)));
}

/// What a row's run tells of how it was made.
struct RunRules {
  double confidence = 0.95;
  std::optional<double> device_resolution_s;
};

std::map<std::string, RunRules> rules_of(const nlohmann::ordered_json& machine) {
  std::map<std::string, RunRules> out;
  for (const auto& run : machine.at("runs")) {
    RunRules rules;
    const auto number = [&](const char* path) {
      const auto at = nlohmann::ordered_json::json_pointer(path);
      return run.contains(at) && run[at].is_number() ? std::optional(run[at].template get<double>()) : std::nullopt;
    };
    rules.confidence = number("/rules/confidence").value_or(rules.confidence);
    rules.device_resolution_s = number("/timing/device/resolution_s");
    out[run.value("run_id", "")] = rules;
  }
  return out;
}

TimedRounds rounds_of(const StoredRow& stored) {
  return {stored.seconds, stored.contexts, stored.row.timer_resolution_s.value_or(0)};
}

/// The row with what its samples give in its derived columns.
Row made_anew(const StoredRow& stored, const StoredRow* base, const RunRules& rules) {
  Row row = stored.row;
  const auto seconds = values(stored.seconds), cycles = values(stored.cycles), parts = values(stored.device_part_s);
  if (!cycles.empty()) row.cycles_median = median(cycles);
  if (!parts.empty()) {
    const CentralTime time = central_time(stored.device_part_s, stored.contexts, rules.confidence);
    row.device_part_median_s = time.seconds;
    if (rules.device_resolution_s) {
      const Interval shown = no_narrower_than(time.interval, time.seconds, *rules.device_resolution_s);
      row.device_part_ci_low_s = shown.low, row.device_part_ci_high_s = shown.high;
    }
  }
  if (seconds.empty() || !row.time_median_s) return row;
  row.n_samples = seconds.size();
  const CentralTime time = central_time(stored.seconds, stored.contexts, rules.confidence);
  const Interval shown = no_narrower_than(time.interval, time.seconds, row.timer_resolution_s.value_or(0));
  row.time_median_s = time.seconds;
  row.time_ci_low_s = shown.low, row.time_ci_high_s = shown.high;
  row.time_min_s = *std::min_element(seconds.begin(), seconds.end());
  row.time_p95_s = quantile(seconds, 0.95);
  row.launch_floor_s = stored.launch_floor_s;
  row.polled_launch_floor_s = stored.polled_launch_floor_s;
  row.read_time_s = stored.read_time_s;
  row.share_of_read_ceiling = share_of(stored.read_s, stored.seconds);
  if (base && row.speedup) {
    const Ratio r =
        base == &stored ? Ratio{.enough = true} : paired_ratio(rounds_of(*base), rounds_of(stored), rules.confidence);
    row.speedup = r.value;
    row.speedup_ci_low = r.interval.low, row.speedup_ci_high = r.interval.high;
    row.speedup_enough = r.enough;
  }
  return row;
}

std::string differences(const Row& committed, const Row& anew) {
  const Fields was = committed.fields(), is = anew.fields();
  std::vector<std::string> out;
  for (std::size_t c = 0; c < was.size(); ++c)
    if (!alike(was[c], is[c]))
      out.push_back(fmt::format("{} is {}, its samples give {}", columns()[c], was[c].empty() ? "empty" : was[c],
                                is[c].empty() ? "none" : is[c]));
  return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace

std::vector<std::string> changed_files(const StoredResults& results) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const char* list : {"runs", "tools"})
    for (const auto& run : results.machine->value(list, nlohmann::ordered_json::array())) {
      const auto hashes = run.value("sha256", nlohmann::ordered_json::object());
      for (const auto& [name, _] : hashes.items()) {
        if (!seen.insert(name).second) continue;
        const auto path = stored_file(results.folder, name);
        try {
          if (const auto text = text_of_file(path))
            require_unchanged(*results.machine, path, *text);
          else if (!name.ends_with(".samples.csv"))
            out.push_back(path.string() + " is missing, which machine.json tells of");
        } catch (const UsageError& changed) {
          out.emplace_back(changed.what());
        }
      }
    }
  return out;
}

std::vector<std::string> rows_unlike_samples(const StoredResults& results) {
  const auto rules = rules_of(*results.machine);
  std::map<std::string, const StoredRow*> bases;  // by experiment and group: the row that speedups are over
  const auto group_of = [](const Row& row) { return row.experiment + '\n' + row.run_id + '\n' + group_key(row.point); };
  for (const bool itself : {true, false})  // its own speedup is 1, unless somebody changed that
    for (const StoredRow& stored : results.rows)
      if (const Row& row = stored.row;
          row.speedup_reference == row.point.variant && (!itself || (row.speedup == 1.0 && row.speedup_ci_high == 1.0)))
        bases.emplace(group_of(row), &stored);
  std::vector<std::string> out;
  for (const StoredRow& stored : results.rows) {
    const Row& row = stored.row;
    if (row.status != Status::ok) continue;
    const auto its = rules.find(row.run_id);
    const auto base = bases.find(group_of(row));
    const std::string found = differences(row, made_anew(stored, base == bases.end() ? nullptr : base->second,
                                                         its == rules.end() ? RunRules{} : its->second));
    if (!found.empty())
      out.push_back(fmt::format("{}.csv: {}{}{} {}: {}", row.experiment, row.point.variant,
                                row.point.settings.empty() ? "" : ":", row.point.settings, describe_group(row.point),
                                found));
  }
  return out;
}

std::vector<std::string> records_unlike(const std::string& file, std::string_view text, const std::vector<Fields>& anew,
                                        const std::vector<std::string>& key) {
  const CsvText csv = parse_csv(text);
  const std::vector<Fields>& stands = csv.records;
  if (csv.whole_bytes != text.size()) return {file + " was cut while being written"};
  if (stands.empty() || anew.empty() || stands.front() != anew.front())
    return {file + " has other columns than this program writes"};
  if (stands.size() != anew.size())
    return {fmt::format("{} has {} rows, the samples give {}", file, stands.size() - 1, anew.size() - 1)};
  const Fields& names = anew.front();
  std::vector<std::string> out;
  for (std::size_t r = 1; r < anew.size(); ++r) {
    std::vector<std::string> who, found;
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (c < anew[r].size() && !anew[r][c].empty() && std::find(key.begin(), key.end(), names[c]) != key.end())
        who.push_back(names[c] == "n" ? "n=" + anew[r][c] : anew[r][c]);
      const std::string was = c < stands[r].size() ? stands[r][c] : "";
      if (was != anew[r][c])
        found.push_back(fmt::format("{} is {}, the samples give {}", names[c], was.empty() ? "empty" : was,
                                    anew[r][c].empty() ? "none" : anew[r][c]));
    }
    if (!found.empty()) out.push_back(fmt::format("{}: {}: {}", file, fmt::join(who, " "), fmt::join(found, "; ")));
  }
  return out;
}

}  // namespace reductio
