#include "measure/results/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "measure/results/csv.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

/// The `runs` of an existing machine.json; empty without one.
Json runs_in(const std::filesystem::path& path) {
  const auto text = content_of(path);
  if (!text) return Json::array();
  const Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    throw UsageError(path.string() + " is damaged; move it away, or choose another --out");
  const int version = json.value("schema_version", 0);
  if (version != schema_version)
    throw UsageError(fmt::format("{} was written with schema version {}, this program writes {}; choose another --out",
                                 path.string(), version, schema_version));
  return json.value("runs", Json::array());
}

Json describe(const SamplingRules& r) {
  return {{"min_samples", r.min_samples},
          {"max_samples", r.max_samples},
          {"end_to_end_factor", r.end_to_end_factor},
          {"point_budget_s", r.time_budget_s},
          {"slow_s", r.slow_s},
          {"slow_samples", r.slow_samples},
          {"limit_s", r.limit_s},
          {"full", r.full},
          {"allocations", r.allocations},
          {"batch_s", r.batch_s},
          {"confidence", r.confidence},
          {"clock_floor", r.clock_floor},
          {"paired", r.paired},
          {"harness_calls", r.harness_calls}};
}

/// Those in which two runs differ: "confidence 0.5, this is 0.95".
std::string changed_rules(const Json& then, const Json& now) {
  std::string out;
  for (const auto& [key, value] : now.items()) {
    const Json before = then.is_object() ? then.value(key, Json()) : Json();
    if (before != value)
      out += fmt::format("{}{} {}, this is {}", out.empty() ? "" : "; ", key, before.dump(), value.dump());
  }
  return out;
}

/// "1234567890ab, binary 0123": which build of the program.
std::string build_text(const std::string& revision, const std::string& binary) {
  return (revision.empty() ? "revision unknown" : revision.substr(0, 12)) + ", binary " + binary;
}

}  // namespace

nlohmann::ordered_json to_json(const RunRecord& run, const Machine& machine) {
  Json json = {{"run_id", run.run_id},
               {"experiment", run.experiment},
               {"started_utc", run.started_utc},
               {"arguments", run.arguments},
               {"seed", run.seed},
               {"order_seed", run.order_seed ? Json(*run.order_seed) : Json()},
               {"machine_id", machine.id()},
               {"binary", binary_hash()},
               {"git_revision", build_description().git_revision},
               {"git_dirty", build_description().git_dirty}};
  if (run.rules) {
    json["rules"] = describe(*run.rules);
    json["changed_elements"] = true;  // in every second call; of runs that do not say so, every call had one input
  }
  return json;
}

MachineFile::MachineFile(const std::filesystem::path& folder, const Machine& machine)
    : folder_(folder),
      machine_(machine),
      runs_(std::make_shared<Json>(runs_in(folder / "machine.json"))),
      before_(std::make_shared<Json>()),
      entry_(std::make_shared<Json>()) {}

void MachineFile::resume(RunRecord& record, const std::string& csv) {
  const auto cannot = [&](const std::string& why, const std::string& advice = "") {
    throw UsageError("cannot resume " + csv + ": " + why + "; " + advice + "choose another --out");
  };
  const auto same = [&](const Json& run) {
    return run.value("run_id", "") == record.run_id && run.value("experiment", "") == record.experiment;
  };
  const auto at = std::find_if(runs_->begin(), runs_->end(), same);
  if (at == runs_->end()) cannot("machine.json beside it does not tell which machine and program it comes from");
  *before_ = *at;
  const auto want = [&](const char* what, const std::string& then, const std::string& now) {
    if (then != now) cannot(fmt::format("it comes from another {} ({}, this is {})", what, then, now));
  };
  want("machine", at->value("machine_id", ""), machine_.id());
  if (at->value("binary", "") != binary_hash())
    want("build of the program", build_text(at->value("git_revision", ""), at->value("binary", "")),
         build_text(build_description().git_revision, binary_hash()));
  want("seed", std::to_string(at->value("seed", std::uint64_t{0})), std::to_string(record.seed));
  const auto of_order = at->find("order_seed");
  if (of_order == at->end() || !of_order->is_number_unsigned()) want("order seed", "unknown", "a drawn one");
  const auto then = of_order->get<std::uint64_t>();
  if (record.order_seed.value_or(then) != then)
    cannot(fmt::format("its order seed is {}, this is {}", then, *record.order_seed), "leave --order-seed out, or ");
  record.order_seed = then;
  if (!record.rules) return;
  // What was written is compared with what would be.
  const std::string differ = changed_rules(at->value("rules", Json()), Json::parse(describe(*record.rules).dump()));
  if (!differ.empty()) cannot("it was measured by other rules (" + differ + ")", "give the same options, or ");
}

void MachineFile::begin(const RunRecord& record, bool complete) {
  const Json& before = *before_;
  if (complete && !before.is_null()) return void(*entry_ = before);
  Json entry = to_json(record, machine_);
  if (!before.is_null()) {
    Json resumed = before.value("resumed", Json::array());
    resumed.push_back({{"started_utc", entry["started_utc"]}, {"arguments", entry["arguments"]}});
    for (const char* of_the_first : {"started_utc", "arguments", "gpu_state_at_start"})
      if (before.contains(of_the_first)) entry[of_the_first] = before[of_the_first];
    entry["resumed"] = std::move(resumed);
  }
  *entry_ = std::move(entry);
}

void MachineFile::write() const {
  Json json = to_json(machine_);
  Json runs = Json::array();
  bool placed = false;
  const FolderLock lock(folder_);
  for (const Json& run : runs_in(folder_ / "machine.json")) {  // anew: others may have written since
    if (run.value("experiment", "") != entry_->value("experiment", ""))
      runs.push_back(run);
    else if (!std::exchange(placed, true))
      runs.push_back(*entry_);
  }
  if (!placed) runs.push_back(*entry_);
  json["runs"] = std::move(runs);
  write_whole_file(folder_ / "machine.json", json.dump(2) + "\n");
}

}  // namespace reductio
