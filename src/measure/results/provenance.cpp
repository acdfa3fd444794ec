#include "measure/results/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"
#include "measure/results/csv.h"
#include "measure/results/schema.h"
#include "measure/results/sha256.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

/// An existing machine.json; null without one.
Json existing(const std::filesystem::path& path) {
  const auto text = content_of(path);
  if (!text) return {};
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    throw UsageError(path.string() + " is damaged; move it away, or choose another --out");
  const int version = json.value("schema_version", 0);
  if (version != schema_version)
    throw UsageError(fmt::format("{} was written with schema version {}, this program writes {}; choose another --out",
                                 path.string(), version, schema_version));
  return json;
}

Json runs_in(const std::filesystem::path& path) {
  const Json json = existing(path);
  return json.is_null() ? Json::array() : json.value("runs", Json::array());
}

/// As what is in machine.json names it: without .gz.
std::string name_of(const std::filesystem::path& file) {
  return (file.extension() == ".gz" ? file.stem() : file.filename()).string();
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
          {"contexts", r.contexts},
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

/// The lines of a CSV text, each with its line end, that belong to a run: the header's column run_id tells.
template <class Take>
bool each_line_of(std::string_view csv, std::string_view run_id, Take&& take) {
  std::size_t column = std::string_view::npos;
  if (const std::string_view mark = "\xef\xbb\xbf"; csv.starts_with(mark)) csv.remove_prefix(mark.size());
  for (bool header = true; !csv.empty(); header = false) {
    const std::string_view line = csv.substr(0, std::min(csv.find('\n'), csv.size() - 1) + 1);
    csv.remove_prefix(line.size());
    if (header) {
      const Fields names = parse_csv(line).records.empty() ? Fields{} : parse_csv(line).records.front();
      column = static_cast<std::size_t>(std::find(names.begin(), names.end(), "run_id") - names.begin());
      if (column == names.size()) return false;
      take(line);
      continue;
    }
    std::string_view rest = line;  // no column before run_id is ever quoted
    for (std::size_t i = 0; i < column; ++i) rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
    if (rest.substr(0, rest.find_first_of(",\r\n")) == run_id) take(line);
  }
  return column != std::string_view::npos;
}

}  // namespace

std::optional<std::string> hash_of_run(std::string_view csv, std::string_view run_id) {
  Sha256 hash;
  if (!each_line_of(csv, run_id, [&](std::string_view line) { hash.add(line); })) return std::nullopt;
  return hash.hex();
}

void require_unchanged(const nlohmann::ordered_json& machine, const std::filesystem::path& file, std::string_view csv) {
  for (const char* list : {"runs", "tools"}) {
    const auto all = machine.find(list);
    if (all == machine.end() || !all->is_array()) continue;
    for (const Json& run : *all) {
      const auto told = Json::json_pointer("/sha256/" + name_of(file));
      if (!run.is_object() || !run.contains(told)) continue;
      const std::string id = run.value("run_id", "");
      if (run[told] != hash_of_run(csv, id).value_or(""))
        throw UsageError(
            fmt::format("{} is not as run {} wrote it, by the SHA-256 in machine.json: it was edited, or "
                        "is of another copy; copy the whole results folder again",
                        file.string(), id));
    }
  }
}

std::string record_tool(const std::filesystem::path& folder, const Machine& machine, const std::string& tool,
                        const std::vector<std::string>& arguments, const std::vector<std::string>& files) {
  const std::string new_id = new_run_id();
  std::map<std::string, Json> hashes;  // by run
  std::vector<std::pair<std::filesystem::path, std::string>> texts;
  for (const std::string& file : files) {
    std::string text = content_of(folder / file).value_or("");
    const std::vector<Fields> records = parse_csv(text).records;
    if (records.empty() || text.back() != '\n')
      throw UsageError((folder / file).string() + " is not a table; name a CSV file that a program wrote there");
    const Fields& header = records.front();
    const auto column = static_cast<std::size_t>(std::find(header.begin(), header.end(), "run_id") - header.begin());
    std::set<std::string> ids;
    if (column < header.size()) {
      for (std::size_t i = 1; i < records.size(); ++i) ids.insert(records[i].at(column));
    } else {
      ids = {new_id};
      text.clear();
      for (const Fields& record : records) {
        Fields with_id{&record == &header ? "run_id" : new_id};
        with_id.insert(with_id.end(), record.begin(), record.end());
        text += csv_record(with_id);
      }
    }
    for (const std::string& id : ids) hashes[id][name_of(file)] = hash_of_run(text, id).value();
    texts.emplace_back(folder / file, std::move(text));
  }
  const FolderLock lock(folder);
  Json json = existing(folder / "machine.json");
  if (json.is_null()) {
    json = to_json(machine);
    json["runs"] = Json::array();
  }
  Json tools = Json::array();
  for (const Json& one : json.value("tools", Json::array())) {
    const Json of_one = one.value("sha256", Json::object());
    if (std::none_of(files.begin(), files.end(), [&](const auto& file) { return of_one.contains(name_of(file)); }))
      tools.push_back(one);
  }
  for (const auto& [id, of_run] : hashes)
    tools.push_back({{"run_id", id},
                     {"tool", tool},
                     {"started_utc", utc_now()},
                     {"arguments", arguments},
                     {"machine_id", machine.id()},
                     {"binary", binary_hash()},
                     {"git_revision", build_description().git_revision},
                     {"git_dirty", build_description().git_dirty},
                     {"sha256", of_run}});
  json["tools"] = std::move(tools);
  for (const auto& [path, text] : texts) write_whole_file(path, text);
  write_whole_file(folder / "machine.json", json.dump(2) + "\n");
  return hashes.contains(new_id) ? new_id : hashes.begin()->first;
}

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
  Json runs = Json::array();
  bool placed = false;
  const FolderLock lock(folder_);
  Json json = existing(folder_ / "machine.json");  // anew: others may have written since
  const Json before = json.is_null() ? Json::array() : json.value("runs", Json::array());
  if (has_measured_ || json.is_null()) json.update(to_json(machine_));
  for (const Json& run : before) {
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
