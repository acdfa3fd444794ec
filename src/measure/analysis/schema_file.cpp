#include "measure/analysis/schema_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "measure/analysis/models.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

/// One line a column, so that a change shows as one. All words are plain.
template <class Column>
std::string table(const char* name, const std::vector<Column>& columns, const std::vector<std::string>& statuses) {
  std::vector<std::string> lines;
  for (const auto& c : columns) {
    bool listed = false;
    int digits = 0;
    if constexpr (requires { c.listed; }) listed = c.listed, digits = c.digits;
    lines.push_back(fmt::format(R"(      {{"name":"{}","kind":"{}"{}{}{}{}}})", c.name, reductio::name(c.kind),
                                c.key ? R"(,"key":true)" : "", c.optional ? R"(,"optional":true)" : "",
                                listed ? R"(,"listed":true)" : "",
                                digits ? fmt::format(R"(,"digits":{})", digits) : ""));
  }
  const std::string last = fmt::format(",\n    \"statuses\": [\"{}\"]", fmt::join(statuses, "\",\""));
  return fmt::format("\"{}\": {{\n    \"columns\": [\n{}\n    ]{}\n  }}", name, fmt::join(lines, ",\n"),
                     statuses.empty() ? "" : last);
}

}  // namespace

std::string schema_json() {
  std::vector<std::string> modes, row_statuses;
  for (const TimingMode m : all_timing_modes) modes.emplace_back(name(m));
  for (const Status s : all_statuses) row_statuses.emplace_back(name(s));
  return "{\n  \"schema_version\": " + std::to_string(schema_version) + ",\n  " +
         fmt::format("\"timing_modes\": [\"{}\"],\n  ", fmt::join(modes, "\",\"")) +
         table("rows", columns_of<Row>(), row_statuses) + ",\n  " + table("samples", columns_of<RawSample>(), {}) +
         ",\n  " + table("models", model_schema(), model_statuses()) + "\n}\n";
}

}  // namespace reductio
