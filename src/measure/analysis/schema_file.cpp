#include "measure/analysis/schema_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "measure/analysis/contrasts.h"
#include "measure/analysis/goals.h"
#include "measure/analysis/means.h"
#include "measure/analysis/models.h"
#include "measure/analysis/releases.h"
#include "measure/analysis/verdicts.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

std::string list_of(const std::vector<std::string>& words) {
  return fmt::format(R"(["{}"])", fmt::join(words, R"(",")"));
}

/// Whether a reader refuses an empty field.
bool is_filled(const TableColumn&) { return false; }
template <class Record>
bool is_filled(const Column<Record>& column) {
  Record record;
  return !column.read("", record);
}

/// One line a column, so that a change shows as one. All words are plain.
template <class Column>
std::string table(const char* name, const std::vector<Column>& columns) {
  std::vector<std::string> lines;
  for (const auto& c : columns) {
    bool listed = false;
    Bound bound = Bound::none;
    int digits = 0;
    if constexpr (requires { c.listed; }) listed = c.listed, digits = c.digits, bound = c.bound;
    lines.push_back(fmt::format(R"(      {{"name":"{}","kind":"{}"{}{}{}{}{}{}{}}})", c.name, reductio::name(c.kind),
                                c.key ? R"(,"key":true)" : "", c.optional ? R"(,"optional":true)" : "",
                                is_filled(c) ? R"(,"filled":true)" : "", listed ? R"(,"listed":true)" : "",
                                digits ? fmt::format(R"(,"digits":{})", digits) : "",
                                bound == Bound::positive       ? R"(,"positive":true)"
                                : bound == Bound::not_negative ? R"(,"not_negative":true)"
                                                               : "",
                                c.words.empty() ? "" : R"(,"words":)" + list_of(c.words)));
  }
  return fmt::format("\"{}\": {{\n    \"columns\": [\n{}\n    ]\n  }}", name, fmt::join(lines, ",\n"));
}

}  // namespace

std::string schema_json() {
  return "{\n  \"schema_version\": " + std::to_string(schema_version) + ",\n  " + table("rows", columns_of<Row>()) +
         ",\n  " + table("samples", columns_of<RawSample>()) + ",\n  " + table("models", model_schema()) + ",\n  " +
         table("contrasts", contrast_schema()) + ",\n  " + table("releases", release_schema()) + ",\n  " +
         table("verdicts", verdict_schema()) + ",\n  " + table("goals", goal_schema()) + ",\n  " +
         table("means", mean_schema()) + "\n}\n";
}

}  // namespace reductio
