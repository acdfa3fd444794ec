#include "cli/compare/origins.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/terminal.h"
#include "measure/results/writer.h"

namespace reductio::cli {
using Json = nlohmann::ordered_json;

namespace {

/// The value of `key` in machine.json for the run that a row is from; "" if it has none.
std::string told_of_run(const Json& origins, const Measured& row, const char* key) {
  for (const Json& origin : origins)
    for (const Json& run : origin.at("runs"))
      if (origin.at("source") == row.source && run.at("run_id") == row.at("run_id") && run.at(key).is_string())
        return run.at(key).get<std::string>();
  return "";
}

}  // namespace

Json origin_of(const StoredResults& stored) {
  Json out = {{"source", stored.named.string()}, {"machine", *stored.machine}, {"runs", Json::array()}};
  out["machine"].erase("runs");
  const Json keys = to_json(RunRecord{}, Machine{});
  for (const auto& run : stored.machine->at("runs")) {
    Json& one = out["runs"].emplace_back(Json::object());
    for (const auto& [key, unused] : keys.items()) one[key] = run.contains(key) ? Json(run.at(key)) : Json();
  }
  return out;
}

Json origin_of(const Session& session) {
  const RunRecord run{.run_id = "",
                      .experiment = "compare",
                      .started_utc = utc_now(),
                      .arguments = session.options.arguments,
                      .seed = session.seed,
                      .order_seed = session.order_seed};
  const Machine& machine = session.machine;
  return {{"source", "now"}, {"machine", to_json(machine)}, {"runs", Json::array({to_json(run, machine)})}};
}

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

}  // namespace reductio::cli
