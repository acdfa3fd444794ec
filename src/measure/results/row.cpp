#include "measure/results/row.h"

#include "measure/results/schema.h"

namespace reductio {

std::string_view name(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::refused: return "refused";
    case Status::over_limit: return "over_limit";
    case Status::failed: return "failed";
    case Status::wrong: return "wrong";
    case Status::impossible: return "impossible";
    case Status::timeout: return "timeout";
    case Status::no_memory: return "no_memory";
  }
  return "?";
}

std::string_view in_words(Status s) {
  return s == Status::ok           ? "measured"
         : s == Status::over_limit ? "over the limit"
         : s == Status::no_memory  ? "too large for the memory"
                                   : name(s);
}

std::optional<double> Row::bandwidth_bytes_per_s() const {
  if (!time_median_s || *time_median_s <= 0) return std::nullopt;
  return static_cast<double>(point.problem.bytes()) / *time_median_s;
}

Fields Row::fields() const { return fields_of(*this); }
Row Row::parse(const Fields& fields) { return RecordReader<Row>("a row", {columns(), fields}).at(0); }
std::string Row::at(std::string_view column) const { return text_of(column_named<Row>(column).value(*this)); }

const std::vector<std::string>& columns() {
  static const auto names = names_of<Row>();
  return names;
}

const std::vector<std::string>& sample_columns() {
  static const auto names = names_of<RawSample>();
  return names;
}

std::string row_key(const PointKey& point, std::string_view without) {
  std::string key;
  for (const auto& column : columns_of<PointKey>())
    if (column.name != without) key += (key.empty() ? "" : "|") + text_of(column.value(point));
  return key;
}

std::string group_key(const PointKey& point) {
  PointKey group = point;
  group.variant = group.settings = "";
  return row_key(group);
}

}  // namespace reductio
