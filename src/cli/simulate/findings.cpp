#include "cli/simulate/findings.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/terminal.h"
#include "core/error.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

using nlohmann::json;

std::string text_of(const json& document, int indent) {
  return document.dump(indent, ' ', false, json::error_handler_t::replace);
}

/// "out-of-bounds" of "out of bounds".
std::string rule_of(std::string kind) {
  for (char& c : kind)
    if (c == ' ') c = '-';
  return kind;
}

}  // namespace

void print_json(const std::vector<Run>& runs, const std::vector<Found>& all, int exit_code) {
  json out{{"exit_code", exit_code},
           {"program_exit_code", runs.front().exit_code},
           {"output", without_marks(runs.front().output)}};
  for (const Run& r : runs)
    out["runs"].push_back({{"order", r.way.order_name},
                           {"optimization", r.way.optimization},
                           {"exit_code", r.exit_code},
                           {"seconds", r.seconds}});
  out["failed_calls"] = json::array();
  for (const Finding& f : runs.front().failed_calls)
    out["failed_calls"].push_back({{"file", f.file}, {"line", f.line}, {"column", f.column}, {"message", f.message}});
  out["findings"] = json::array();
  for (const auto& [finding, order, optimization] : all) {
    json one = finding;
    one["order"] = order;
    one["optimization"] = optimization;
    out["findings"].push_back(one);
  }
  std::printf("%s\n", text_of(out, 1).c_str());
}

void write_sarif(const std::string& file, const std::vector<Found>& all) {
  json rules = json::array(), results = json::array();
  for (const auto& [f, order, optimization] : all) {
    const std::string rule = rule_of(f.kind);
    if (std::none_of(rules.begin(), rules.end(), [&](const json& r) { return r["id"] == rule; }))
      rules.push_back({{"id", rule}, {"shortDescription", {{"text", f.kind}}}});
    json result{{"ruleId", rule}, {"level", "error"}, {"message", {{"text", f.message}}}};
    if (!f.file.empty()) {
      json region{{"startLine", f.line}};
      if (f.column > 0) region["startColumn"] = f.column;
      result["locations"] = {
          {{"physicalLocation", {{"artifactLocation", {{"uri", f.file}}}, {"region", region}}}}};
    }
    results.push_back(result);
  }
  const json document{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs",
       {{{"tool", {{"driver", {{"name", "reductio"}, {"version", version_text()}, {"rules", rules}}}}},
         {"results", results}}}}};
  std::ofstream out(file);
  out << text_of(document, 1) << "\n";
  out.close();
  if (!out) throw UsageError("cannot write '" + file + "'");
}

}  // namespace reductio::cli
