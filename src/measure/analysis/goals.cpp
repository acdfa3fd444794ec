#include "measure/analysis/goals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/parse.h"
#include "measure/results/table.h"

namespace reductio {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// The GPU whose times made tuned's launch table, so that its results are never another GPU's.
constexpr const char* gpu_of_the_table = "NVIDIA H200";

/// What a goal's quantity is made of at one point, with its ends. No value: it was not measured there.
struct GoalPoint {
  std::string type, mode, cache;
  double n = 0, value = 0, low = absent, high = absent;

  std::string part() const { return type + " " + mode + " " + cache; }
};

bool is_odd(double n) {
  const auto whole = static_cast<std::uint64_t>(n);
  return n >= 1023 && (std::has_single_bit(whole - 1) || std::has_single_bit(whole + 1));
}

bool is_among(const std::string& list, const std::string& word) {
  const auto words = split_at(list, ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Goals {
 public:
  Goals(CsvTable set, const std::vector<Fields>& contrast_records, std::filesystem::path folder)
      : set_(std::move(set)), folder_(std::move(folder)) {
    if (!contrast_records.empty()) contrasts_.emplace("contrasts.csv", contrast_records);
  }

  std::vector<Fields> table() {
    std::vector<Fields> out;
    if (!rows_of(folder_, "tuned")) return out;
    out.push_back(names_of(goal_schema()));
    for (const Fields& goal : set_.records()) {
      const std::vector<GoalPoint> points = points_of(goal);
      if (of(goal, "demanded").empty()) {
        std::vector<std::string> parts;  // in order of first occurrence
        std::map<std::string, std::vector<GoalPoint>> by_part;
        for (const GoalPoint& p : points) {
          if (!by_part.contains(p.part())) parts.push_back(p.part());
          by_part[p.part()].push_back(p);
        }
        for (const std::string& part : parts) out.push_back(record(goal, by_part.at(part), true));
      } else {
        out.push_back(record(goal, points, false));
      }
    }
    return out;
  }

 private:
  const std::string& of(const Fields& goal, const char* column) const { return set_.at(goal, column); }

  const std::optional<CsvTable>& rows_of(const std::filesystem::path& folder, const std::string& experiment) {
    const auto key = (folder / experiment).string();
    const auto found = tables_.find(key);
    if (found != tables_.end()) return found->second;
    return tables_.emplace(key, CsvTable::in(folder, experiment + ".csv")).first->second;
  }

  /// Other GPUs' results folders, in the folder that this one is in.
  std::vector<std::filesystem::path> elsewhere() const {
    const auto gpu = [](const std::filesystem::path& folder) {
      const auto machine =
          nlohmann::ordered_json::parse(content_of(folder / "machine.json").value_or(""), nullptr, false);
      const auto name = nlohmann::ordered_json::json_pointer("/gpu/name");
      return machine.is_object() && machine.contains(name) && machine[name].is_string()
                 ? machine[name].get<std::string>()
                 : std::string();
    };
    const auto here = std::filesystem::canonical(folder_);
    std::set<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(here.parent_path()))
      if (const std::string name = gpu(entry.path()); !name.empty() && name != gpu(here) && name != gpu_of_the_table)
        out.insert(entry.path());
    return {out.begin(), out.end()};
  }

  std::vector<GoalPoint> points_of(const Fields& goal) {
    std::vector<GoalPoint> out;
    if (const std::string& names = of(goal, "contrasts"); !names.empty()) {
      if (contrasts_)
        for (const Fields& r : contrasts_->records())
          if (is_among(names, contrasts_->at(r, "name")))
            add(out, goal, *contrasts_, r, contrasts_->at(r, "name").ends_with("-start"));
      return out;
    }
    const bool here = of(goal, "where") == "here";
    for (const auto& folder : here ? std::vector{folder_} : elsewhere())
      if (const auto& table = rows_of(folder, of(goal, "experiment")))
        for (const Fields& r : table->records())
          if (table->at(r, "dataset") == "random" && table->is_of(r, of(goal, "call")))
            add(out, goal, *table, r, table->number(r, "offset_elements").value_or(0) > 0);
    return out;
  }

  /// Adds the record where it is one of the goal's points.
  void add(std::vector<GoalPoint>& points, const Fields& goal, const CsvTable& table, const Fields& r, bool off) const {
    const auto number = [&](const char* column) {
      return table.has(column) ? table.number(r, column).value_or(absent) : absent;
    };
    GoalPoint p{.type = table.at(r, "element_type"),
                .mode = table.at(r, "timing_mode"),
                .cache = table.at(r, "cache_state"),
                .n = number("n")};
    const double least = number_in(of(goal, "least_n")).value_or(0),
                 most = number_in(of(goal, "largest_n")).value_or(1e30);
    if (table.at(r, "operation") != of(goal, "operation") || !is_among(of(goal, "element_types"), p.type) ||
        !is_among(of(goal, "ways"), p.mode + "/" + p.cache) || p.n < least || p.n > most ||
        (off || is_odd(p.n)) != (of(goal, "sizes") == "odd"))
      return;
    const std::string& quantity = of(goal, "quantity");
    const bool ratio = table.has("value");
    if (ratio ? std::isnan(number("value")) : table.at(r, "status") != "ok") {
      p.value = absent;
    } else if (quantity == "slower" || quantity == "undecided") {
      p.value = table.at(r, "verdict") == (quantity == "slower" ? "SLOWER" : "UNDECIDED");
    } else if (quantity.ends_with("speedup")) {
      p.value = number(ratio ? "value" : "speedup");
      p.low = number(ratio ? "ci_low" : "speedup_ci_low"), p.high = number(ratio ? "ci_high" : "speedup_ci_high");
    } else {
      const double time = number("time_median_s"), low = number("time_ci_low_s"), high = number("time_ci_high_s");
      if (quantity.ends_with("ceiling")) {
        p.value = number("share_of_read_ceiling");
        p.low = p.value * time / high, p.high = p.value * time / low;
      } else {
        const double floor = number("polled_launch_floor_s");
        p.value = time - floor, p.low = low - floor, p.high = high - floor;
      }
    }
    points.push_back(p);
  }

  Fields record(const Fields& goal, std::vector<GoalPoint> points, bool of_part) const {
    const std::size_t asked = points.size();
    std::erase_if(points, [](const GoalPoint& p) { return std::isnan(p.value); });
    const std::string& quantity = of(goal, "quantity");
    const bool least = quantity.starts_with("least_"), most = quantity == "over_empty_s";
    const auto number = [](double value) { return std::isnan(value) ? "" : fmt::format("{:.6g}", value); };
    std::map<std::string, std::string> field;
    for (const char* same : {"goal", "what", "quantity", "demanded", "set"}) field[same] = of(goal, same);
    for (const char* part : {"element_type", "timing_mode", "cache_state"}) field[part] = "all";
    field["points"] = std::to_string(points.size());
    field["verdict"] = of_part ? "" : "not measured";
    if (!points.empty()) {
      const auto less = [](const GoalPoint& a, const GoalPoint& b) { return a.value < b.value; };
      const GoalPoint& extreme = most ? *std::max_element(points.begin(), points.end(), less)
                                      : *std::min_element(points.begin(), points.end(), less);
      double sum = 0, logs = 0;
      for (const GoalPoint& p : points) sum += p.value, logs += std::log(p.value);
      const auto count = static_cast<double>(points.size());
      const double measured = least || most             ? extreme.value
                              : quantity == "slower"    ? sum
                              : quantity == "undecided" ? sum / count
                                                        : std::exp(logs / count);
      field["measured"] = number(measured);
      if (of_part) {
        field["element_type"] = points.front().type, field["timing_mode"] = points.front().mode;
        field["cache_state"] = points.front().cache;
      } else {
        const double demanded = number_in(of(goal, "demanded")).value();
        const bool at_most = most || quantity == "slower" || quantity == "undecided";
        const bool is_met = at_most ? measured <= demanded : measured >= demanded, is_complete = points.size() == asked;
        // Further points mend neither an extreme nor a count. Means and shares are of all points.
        const bool is_missed = !is_met && (is_complete || least || most || quantity == "slower");
        field["verdict"] = is_missed ? "missed" : is_met && is_complete ? "met" : "not measured";
        if (least || most) {
          field["low"] = number(extreme.low), field["high"] = number(extreme.high);
          field["at"] = extreme.part(), field["at_n"] = fmt::format("{:.0f}", extreme.n);
        }
      }
    }
    Fields out;
    for (const TableColumn& column : goal_schema()) out.push_back(field[column.name]);
    return out;
  }

  CsvTable set_;
  std::optional<CsvTable> contrasts_;
  std::filesystem::path folder_;
  std::map<std::string, std::optional<CsvTable>> tables_;
};

}  // namespace

const std::vector<TableColumn>& goal_schema() {
  static const std::vector<TableColumn> all{
      {"goal", Kind::text},         {"what", Kind::text},        {"quantity", Kind::text},
      {"element_type", Kind::text}, {"timing_mode", Kind::text}, {"cache_state", Kind::text},
      {"demanded", Kind::number},   {"measured", Kind::number},  {"low", Kind::number},
      {"high", Kind::number},       {"points", Kind::number},    {"at", Kind::text},
      {"at_n", Kind::number},       {"verdict", Kind::text},     {"set", Kind::text}};
  return all;
}

std::vector<Fields> goal_table(const std::vector<Fields>& set, const std::string& file,
                               const std::vector<Fields>& contrast_records, const std::filesystem::path& folder) {
  return Goals(CsvTable(file, set), contrast_records, folder).table();
}

}  // namespace reductio
