#include "measure/results/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "measure/plan/selection.h"
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
    throw UsageError(fmt::format(
        "{} was written with schema version {}, this program writes {}; choose another --out", path.string(), version,
        schema_version));
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

/// To the end; also by a device that keeps no time.
bool was_sampled(const Row& row) { return row.status == Status::ok || row.status == Status::impossible; }

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

Results::Results(const std::filesystem::path& folder, const Machine& machine, RunRecord record, bool resume,
                 std::span<const Point> points)
    : folder_(folder),
      csv_path_(folder / (record.experiment + ".csv")),
      samples_path_(folder / (record.experiment + ".samples.csv.gz")),
      machine_(machine),
      record_(std::move(record)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError("cannot make the folder " + folder.string() + ": " + error.message() + "; choose another --out");

  earlier_runs_ = std::make_shared<Json>(runs_in(folder / "machine.json"));
  entry_before_ = std::make_shared<Json>();
  const bool going_on = resume && std::filesystem::exists(csv_path_);
  if (const std::string compressed = csv_path_.string() + ".gz"; std::filesystem::exists(compressed))
    throw UsageError(compressed +
                     " has this experiment's rows already, compressed; gunzip it and add --resume, or choose "
                     "another --out");
  csv_.emplace(going_on ? AppendFile::open(csv_path_) : AppendFile::create(csv_path_));
  if (going_on) read_earlier(points);
  if (!record_.order_seed) record_.order_seed = draw_order_seed();
  if (earlier_.empty() && csv_->read().empty()) csv_->append(csv_record(columns()));

  // An earlier run's samples without its rows have lost their meaning.
  if (!going_on) std::filesystem::remove(samples_path_, error);
  samples_.emplace(AppendFile::open(samples_path_));
  if (going_on) drop_orphaned_samples();
  if (samples_->read().empty()) samples_->append(gzip_member(csv_record(sample_columns())));

  const bool complete = std::all_of(points.begin(), points.end(), [&](const Point& p) { return has(row_key(p)); });
  entry_ = std::make_shared<Json>(complete && !entry_before_->is_null() ? *entry_before_ : begun_entry());
  write_machine();
  if (!variants().empty()) write_whole_file(folder / "catalog.csv", catalog_csv());  // vector_add has none
}

void Results::read_earlier(std::span<const Point> points) {
  const std::string text = csv_->read();
  CsvText csv = parse_csv(text);
  if (csv.records.empty()) {
    // Killed before the header was whole: nothing is lost by starting over.
    csv_->truncate(0);
    return;
  }
  if (csv.records.front() != columns())
    throw UsageError(csv_path_.string() + " was written with other columns than this program's (schema version " +
                     std::to_string(schema_version) + "); choose another --out");
  const RecordReader<Row> rows(csv_path_.string(), std::move(csv.records));
  std::map<std::string, std::size_t> places;
  std::size_t repeated = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows.at(i);
    const auto [first, is_new] = places.emplace(row_key(row.point), i);
    if (is_new)
      earlier_.push_back(std::move(row));
    else if (rows.fields(i) == rows.fields(first->second))
      ++repeated;
    else
      throw UsageError(
          fmt::format("cannot resume {}: it is of the same point as line {}, {} {}, and differs; remove one of "
                      "the two, or choose another --out",
                      rows.at_line(i), first->second + 2, row.point.variant, describe_group(row.point)));
  }
  if (!earlier_.empty()) {
    record_.run_id = earlier_.back().run_id;
    check_same_origin(record_.run_id);
  }
  const std::size_t taken_out = take_out_rows_of_incomplete_groups(points);
  if (csv.whole_bytes < text.size()) {
    csv_->truncate(csv.whole_bytes);
    notices_.push_back("the last row of " + csv_path_.string() + " was cut; it is measured again");
  }
  if (!taken_out && !repeated) return;
  // Rows before their samples: a run killed in between leaves samples without rows, which the next one drops.
  std::string kept = csv_record(columns());
  for (const Row& row : earlier_) kept += csv_record(row.fields());
  write_whole_file(csv_path_, kept);
  auto replaced = AppendFile::open(csv_path_);  // locked before the old one is let go
  csv_.emplace(std::move(replaced));
  const auto notice = [&](std::size_t rows, const char* singular, const char* plural) {
    if (rows)
      notices_.push_back(fmt::format("{} {} {} {}", rows, rows == 1 ? "row of" : "rows of", csv_path_.string(),
                                     rows == 1 ? singular : plural));
  };
  notice(repeated, "stood there twice, and once does now", "stood there twice, and once do now");
  const std::string why =
      fmt::format("measured again: {} of their groups are missing, and the points of a group are measured together",
                  lack_samples_ ? "raw samples, or other points," : "other points");
  notice(taken_out, ("is " + why).c_str(), ("are " + why).c_str());
}

/// The keys of timed rows of which raw samples are missing, because their file was cut or lost.
std::set<std::string> Results::rows_that_lack_samples() const {
  std::map<std::string, std::size_t> have;
  const auto compressed = content_of(samples_path_);
  CsvText csv = parse_csv(gunzip(compressed.value_or("")));
  if (!csv.records.empty() && csv.records.front() == sample_columns())
    for (const RawSample& s : samples_in(samples_path_.string(), std::move(csv.records)))
      have[row_key(s.point)] += !s.voided && s.time_s;
  std::set<std::string> lacking;
  for (const Row& row : earlier_)
    if (row.status == Status::ok && row.time_median_s &&
        have[row_key(row.point)] < std::max<std::size_t>(row.n_samples, 1))
      lacking.insert(row_key(row.point));
  return lacking;
}

/// Of earlier_, and not yet of the file, which stays as it is where this throws. Returns how many.
std::size_t Results::take_out_rows_of_incomplete_groups(std::span<const Point> points) {
  for (const Row& row : earlier_) done_.insert(row_key(row.point));
  const auto named = [](const PointKey& p) { return p.variant + (p.settings.empty() ? "" : " " + p.settings); };
  const std::set<std::string> lack_samples = rows_that_lack_samples();
  std::set<std::string> selected;
  for (const Point& p : points) {
    const std::string key = row_key(p);
    selected.insert(key);
    lack_samples_ = lack_samples_ || lack_samples.contains(key);
    if (!has(key) || lack_samples.contains(key)) incomplete_.emplace(group_key(p), named(p));
  }
  const auto goes = [&](const Row& row) { return was_sampled(row) && incomplete_.contains(group_key(row.point)); };
  for (const Row& row : earlier_) {
    if (!goes(row)) continue;
    if (!selected.contains(row_key(row.point)))
      throw UsageError(fmt::format(
          "cannot resume {}: it lacks {} of {}, which has to be measured together with {}, which is there but not in "
          "this selection; select both, or choose another --out",
          csv_path_.string(), incomplete_.at(group_key(row.point)), describe_group(row.point), named(row.point)));
    done_.erase(row_key(row.point));
  }
  return std::erase_if(earlier_, goes);
}

/// And takes its order seed, unless the user gave one, so that one entry tells that of all rows.
void Results::check_same_origin(const std::string& run_id) {
  const auto same = [&](const Json& run) {
    return run.value("run_id", "") == run_id && run.value("experiment", "") == record_.experiment;
  };
  const auto at = std::find_if(earlier_runs_->begin(), earlier_runs_->end(), same);
  if (at == earlier_runs_->end())
    throw UsageError(
        "cannot resume " + csv_path_.string() +
        ": machine.json beside it does not tell which machine and program it comes from; choose another --out");
  const auto refuse = [&](const std::string& what, const std::string& then, const std::string& now) {
    throw UsageError("cannot resume " + csv_path_.string() + ": it comes from another " + what + " (" + then +
                     ", this is " + now + "); choose another --out");
  };
  *entry_before_ = *at;
  if (const auto then = at->value("machine_id", ""); then != machine_.id()) refuse("machine", then, machine_.id());
  if (const auto then = at->value("binary", ""); then != binary_hash()) {
    const auto revision = [](const std::string& r) { return r.empty() ? "revision unknown" : r.substr(0, 12); };
    refuse("build of the program", revision(at->value("git_revision", "")) + ", binary " + then,
           revision(build_description().git_revision) + ", binary " + binary_hash());
  }
  if (at->value("seed", std::uint64_t{0}) != record_.seed)
    refuse("seed", std::to_string(at->value("seed", std::uint64_t{0})), std::to_string(record_.seed));
  const auto of_order = at->find("order_seed");
  if (of_order == at->end() || !of_order->is_number_unsigned()) refuse("order seed", "unknown", "a drawn one");
  const auto then = of_order->get<std::uint64_t>();
  if (record_.order_seed.value_or(then) != then)
    throw UsageError(
        fmt::format("cannot resume {}: its order seed is {}, this is {}; leave --order-seed out, or choose "
                    "another --out",
                    csv_path_.string(), then, *record_.order_seed));
  record_.order_seed = then;
  // One entry tells the rules of all rows. What was written is compared with what would be.
  if (!record_.rules) return;
  const std::string differ = changed_rules(at->value("rules", Json()), Json::parse(describe(*record_.rules).dump()));
  if (!differ.empty())
    throw UsageError("cannot resume " + csv_path_.string() + ": it was measured by other rules (" + differ +
                     "); give the same options, or choose another --out");
}

/// One entry tells of all processes that measured its rows.
Json Results::begun_entry() const {
  Json entry = to_json(record_, machine_);
  if (entry_before_->is_null()) return entry;
  Json resumed = entry_before_->value("resumed", Json::array());
  resumed.push_back({{"started_utc", entry["started_utc"]}, {"arguments", entry["arguments"]}});
  for (const char* of_the_first : {"started_utc", "arguments", "gpu_state_at_start"})
    if (entry_before_->contains(of_the_first)) entry[of_the_first] = (*entry_before_)[of_the_first];
  entry["resumed"] = std::move(resumed);
  return entry;
}

/// Samples go to disk before their rows. A run killed in between left samples whose points will be measured again.
void Results::drop_orphaned_samples() {
  const std::string compressed = samples_->read();
  CsvText csv = parse_csv(gunzip(compressed));
  if (csv.records.empty() || csv.records.front() != sample_columns()) {
    samples_->truncate(0);
    if (!earlier_.empty()) notices_.push_back("the raw samples in " + samples_path_.string() + " were not readable");
    return;
  }
  // A sample's key is its row's; the harness's own calls belong to their group. What is measured together from now on
  // has no samples yet.
  std::set<std::string> groups;
  for (const Row& row : earlier_) groups.insert(group_key(row.point));
  for (const auto& [group, lacks] : incomplete_) groups.erase(group);
  std::vector<RawSample> samples = samples_in(samples_path_.string(), std::move(csv.records));
  const auto dropped = std::erase_if(samples, [&](const RawSample& s) {
    return !groups.contains(group_key(s.point)) || (!s.of_harness() && !has(row_key(s.point)));
  });
  // The stored members may also end in one that was cut, behind which nothing could be read.
  if (dropped == 0 && gzip_intact(compressed)) return;
  samples_.reset();
  write_whole_file(samples_path_, gzip_member(csv_record(sample_columns()) + csv_records(samples)));
  samples_.emplace(AppendFile::open(samples_path_));
}

void Results::append(const std::vector<Row>& rows, const std::string& samples_csv) {
  if (!samples_csv.empty()) samples_->append(gzip_member(samples_csv));
  std::string block;
  for (const Row& row : rows) {
    block += csv_record(row.fields());
    done_.insert(row_key(row.point));
  }
  csv_->append(block);
}

void Results::write_machine() {
  Json json = to_json(machine_);
  Json runs = Json::array();
  bool placed = false;
  const FolderLock lock(folder_);
  // Read anew: other experiments may be writing this folder at the same time.
  for (const Json& run : runs_in(folder_ / "machine.json")) {
    // A new run of the same experiment replaces the old one, whose rows are gone; a resumed one replaces itself.
    if (run.value("experiment", "") != record_.experiment)
      runs.push_back(run);
    else if (!placed)
      runs.push_back(*entry_), placed = true;
  }
  if (!placed) runs.push_back(*entry_);
  json["runs"] = std::move(runs);
  write_whole_file(folder_ / "machine.json", json.dump(2) + "\n");
}

}  // namespace reductio
