#include "measure/analysis/means.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "measure/results/table.h"
#include "measure/stats/statistics.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

/// A field of a record, or what follows from several.
std::optional<double> value_of(const CsvTable& table, const Fields& record, const std::string& column) {
  const auto number = [&](const char* name) { return table.number(record, name); };
  if (column == "width") {  // of a ratio's interval, as a share of it
    const auto ratio = number("ratio"), low = number("ratio_low"), high = number("ratio_high");
    return ratio && low && high ? std::optional((*high - *low) / *ratio) : std::nullopt;
  }
  if (column == "cost_s") {  // what a call takes longer than its base
    const auto base = number("base_time_s"), ratio = number("ratio");
    return base && ratio ? std::optional(*base / *ratio - *base) : std::nullopt;
  }
  return table.number(record, column);
}

/// Whether a record has these values: words, or for numbers {"from": 4, "below": 8}.
bool has_all(const CsvTable& table, const Fields& record, const Json& where) {
  for (const auto& [column, wanted] : where.items()) {
    if (wanted.is_object()) {
      const auto number = table.number(record, column);
      if (!number || *number < wanted.value("from", -1e300) || *number >= wanted.value("below", 1e300)) return false;
    } else if (table.at(record, column) != wanted.get<std::string>()) {
      return false;
    }
  }
  return true;
}

double taken(const std::string& name, const std::string& take, const std::vector<double>& values) {
  if (take == "median") return median(values);
  double logs = 0;
  for (const double v : values) {
    if (v <= 0) throw UsageError(fmt::format("means {}: a geometric mean takes no {:g}; write median", name, v));
    logs += std::log(v);
  }
  return std::exp(logs / static_cast<double>(values.size()));
}

void add(std::vector<Fields>& out, const std::string& name, const Json& asked, const std::filesystem::path& folder) {
  const std::string file = asked.at("file"), column = asked.at("column"), take = asked.value("take", "median");
  if (take != "median" && take != "geometric mean")
    throw UsageError(fmt::format("means {}: take is '{}'; write median or geometric mean", name, take));
  const auto table = CsvTable::in(folder, file + ".csv");
  if (!table) return;
  std::vector<std::string> names;  // in order of first occurrence
  std::map<std::string, std::pair<std::vector<double>, std::string>> by_name;
  for (const Fields& record : table->records()) {
    if (asked.contains("call") && !table->is_of(record, asked.at("call").get<std::string>())) continue;
    if (asked.contains("where") && !has_all(*table, record, asked.at("where"))) continue;
    const auto value = value_of(*table, record, column);
    if (!value) continue;
    std::string full = name;
    for (const Json& key : asked.value("by", Json::array())) full += "." + table->at(record, key.get<std::string>());
    if (!by_name.contains(full)) names.push_back(full);
    auto& [values, unit] = by_name[full];
    values.push_back(*value);
    if (table->has("unit")) {
      if (values.size() > 1 && unit != table->at(record, "unit"))
        throw UsageError(
            fmt::format("means {}: mixes {} and {}; add unit to \"by\"", full, unit, table->at(record, "unit")));
      unit = table->at(record, "unit");
    }
  }
  for (const std::string& full : names) {
    const auto& [values, unit] = by_name.at(full);
    out.push_back(
        {full, file, column, take, unit, std::to_string(values.size()),
         fmt::format("{:.6g}", taken(full, take, values))});
  }
}

}  // namespace

const std::vector<TableColumn>& mean_schema() {
  static const std::vector<TableColumn> all{{"name", Kind::text},   {"file", Kind::text}, {"column", Kind::text},
                                            {"take", Kind::text},   {"unit", Kind::text}, {"points", Kind::count},
                                            {"value", Kind::number}};
  return all;
}

std::vector<Fields> mean_table(std::string_view list, const std::string& file, const std::filesystem::path& folder) {
  std::vector<Fields> out{names_of(mean_schema())};
  const Json all = Json::parse(list, nullptr, false);
  try {
    const Json means = all.value("means", Json::object());
    for (const auto& [name, asked] : means.items()) add(out, name, asked, folder);
  } catch (const nlohmann::json::exception& e) {
    throw UsageError(fmt::format("{}: means: {}", file, e.what()));
  }
  return out.size() > 1 ? out : std::vector<Fields>{};
}

}  // namespace reductio
