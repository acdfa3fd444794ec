#include "measure/results/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/parse.h"
#include "measure/results/csv.h"
#include "measure/results/provenance.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

std::string required_content(const std::filesystem::path& path, const std::string& advice) {
  auto text = content_of(path);
  if (!text) throw UsageError("cannot read " + path.string() + "; " + advice);
  return *std::move(text);
}

struct Samples {
  ByRound seconds, device_part_s, cycles;
  std::vector<int> contexts;

  void add(const RawSample& sample) {
    const auto round = static_cast<std::size_t>(sample.round);
    if (seconds.size() <= round) {
      for (ByRound* times : {&seconds, &device_part_s, &cycles}) times->resize(round + 1);
      contexts.resize(round + 1);
    }
    seconds[round] = sample.time_s;
    device_part_s[round] = sample.device_part_s;
    cycles[round] = sample.cycles;
    contexts[round] = sample.context;
  }
};

struct SamplesFile {
  std::string text;  ///< uncompressed
  std::map<std::string, Samples> of_row;
  std::map<std::string, std::map<std::string, ByRound>> readers;  ///< by group, then by kernel
};

SamplesFile read_samples(const std::filesystem::path& path) {
  SamplesFile out;
  if (!std::filesystem::exists(path)) return out;  // the rows will miss them, and say how many
  out.text = gunzip(required_content(path, "copy the whole results folder"));
  CsvText csv = parse_csv(out.text);
  if (csv.records.empty()) return out;
  for (const RawSample& sample : samples_in(path.string(), std::move(csv.records))) {
    if (sample.voided) continue;  // its round was throttled
    if (sample.round < 0 || sample.round > 1'000'000)
      throw UsageError(fmt::format("{} has a sample of round {}; measure again", path.string(), sample.round));
    const auto at = static_cast<std::size_t>(sample.round);
    if (!sample.of_harness()) {
      out.of_row[row_key(sample.point)].add(sample);
    } else if (sample.point.variant.starts_with("(read")) {
      ByRound& of_kernel = out.readers[group_key(sample.point)][sample.point.variant];
      if (of_kernel.size() <= at) of_kernel.resize(at + 1);
      of_kernel[at] = sample.time_s;
    }
  }
  return out;
}

bool any(const ByRound& times) {
  return std::any_of(times.begin(), times.end(), [](const auto& t) { return t.has_value(); });
}

/// The ceiling of each group, by round, as the sampler valued it.
std::map<std::string, ByRound> ceilings_of(const SamplesFile& samples) {
  std::map<std::string, ByRound> out;
  for (const auto& [group, kernels] : samples.readers) {
    std::size_t rounds = 0;
    for (const auto& [who, seconds] : kernels) rounds = std::max(rounds, seconds.size());
    std::vector<ByRound> all;
    for (const auto& [who, seconds] : kernels) {
      all.push_back(seconds);
      all.back().resize(rounds);
    }
    if (ByRound ceiling = read_ceiling_by_round(all); any(ceiling)) out[group] = std::move(ceiling);
  }
  return out;
}

/// Whether a row is one of those that are chosen.
class Selected {
 public:
  explicit Selected(const Selection& selection) : of_(selection), matches_(parse_regex(selection.variants_regex)) {}

  bool operator()(const PointKey& p) const {
    const auto in = [](const auto& list, const auto& one) {
      return list.empty() || std::find(list.begin(), list.end(), one) != list.end();
    };
    return in(of_.types, p.problem.type) && in(of_.operations, p.problem.operation) && in(of_.sizes, p.problem.n) &&
           matches_(p.variant);
  }

 private:
  const Selection& of_;
  std::function<bool(const std::string&)> matches_;
};

std::filesystem::path samples_of(const std::filesystem::path& folder, const std::string& experiment) {
  return folder / (experiment + ".samples.csv.gz");
}

/// An experiment's rows: EXPERIMENT.csv, or the same compressed, as large tables are kept.
std::filesystem::path rows_of(const std::filesystem::path& folder, const std::string& experiment) {
  const auto plain = folder / (experiment + ".csv"), compressed = folder / (experiment + ".csv.gz");
  return !std::filesystem::exists(plain) && std::filesystem::exists(compressed) ? compressed : plain;
}

void read_experiment(const std::filesystem::path& folder, const std::string& experiment, const Selected& selected,
                     bool with_samples, const nlohmann::ordered_json& machine, std::vector<StoredRow>& into) {
  const std::filesystem::path path = rows_of(folder, experiment);
  const auto refuse = [&](const std::string& why) { throw UsageError(path.string() + " " + why); };
  std::string text = required_content(path, "machine.json beside it tells of that run: copy the whole results folder");
  if (path.extension() == ".gz") {
    if (!gzip_intact(text)) refuse("was cut; copy the whole results folder again");
    text = gunzip(text);
  }
  CsvLines csv = parse_csv_lines(text, path.string());
  if (csv.records.empty()) refuse("is empty; run the experiment again");
  if (!csv.damage.empty())
    throw UsageError(fmt::format("{}:{}; mend that line, or run the experiment with --resume, which measures it again",
                                 path.string(), csv.damage.front()));
  const RecordReader<Row> rows(path.string(), std::move(csv.records));
  if (!csv.cut.empty()) refuse("ends in a row that was cut; finish that run with --resume");
  std::vector<StoredRow> found;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows.at(i);
    const auto [first, is_new] = places.emplace(row_key(row.point), i);
    if (!is_new)
      throw UsageError(
          fmt::format("{} is of the same point as line {}, {} {}; finish that run with --resume, or remove one",
                      rows.at_line(i), first->second + 2, row.point.variant, describe_group(row.point)));
    if (selected(row.point))
      found.push_back(
          {.row = std::move(row), .seconds = {}, .device_part_s = {}, .cycles = {}, .read_s = {}, .contexts = {}});
  }
  require_unchanged(machine, path, text);
  if (!with_samples) {
    into.insert(into.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    return;
  }
  if (found.empty()) return;
  const auto samples_path = samples_of(folder, experiment);
  SamplesFile samples = read_samples(samples_path);
  const auto ceilings = ceilings_of(samples);
  std::size_t missing = 0, timed = 0;
  for (StoredRow& stored : found) {
    const Row& row = stored.row;
    if (row.status == Status::ok) {
      if (auto its = samples.of_row.find(row_key(row.point)); its != samples.of_row.end()) {
        stored.contexts = std::move(its->second.contexts);
        if (any(its->second.seconds)) stored.seconds = std::move(its->second.seconds);
        if (any(its->second.device_part_s)) stored.device_part_s = std::move(its->second.device_part_s);
        if (any(its->second.cycles)) stored.cycles = std::move(its->second.cycles);
      }
      if (const auto ceiling = ceilings.find(group_key(row.point)); ceiling != ceilings.end())
        stored.read_s = ceiling->second;
      if (row.time_median_s) {
        ++timed;
        const auto have =
            std::count_if(stored.seconds.begin(), stored.seconds.end(), [](auto& s) { return s.has_value(); });
        if (static_cast<std::size_t>(have) < std::max<std::size_t>(row.n_samples, 1)) ++missing;
      }
    }
    into.push_back(std::move(stored));
  }
  if (missing)
    throw UsageError(fmt::format(
        "{} lacks the raw samples of {} of the {} timed rows of {}; copy the whole results folder, or run the "
        "experiment with --resume, which measures what is missing",
        samples_path.string(), missing, timed, path.filename().string()));
  if (timed) require_unchanged(machine, samples_path, samples.text);
}

/// The selected experiments in machine.json, each once. One that was run twice, to add rows, is there twice.
std::vector<std::string> experiments_of(const nlohmann::ordered_json& machine, const std::string& file,
                                        const std::filesystem::path& folder, const std::vector<std::string>& selected) {
  const auto in = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  std::vector<std::string> all, out;
  for (const auto& run : machine["runs"]) {
    const bool has_name = run.is_object() && run.contains("experiment") && run["experiment"].is_string();
    const std::string experiment = has_name ? run["experiment"].get<std::string>() : "";
    if (experiment.empty()) throw UsageError(file + " tells of a run without an experiment's name");
    if (in(all, experiment)) continue;
    all.push_back(experiment);
    if (selected.empty() || in(selected, experiment)) out.push_back(experiment);
  }
  for (const std::string& one : selected)
    if (!in(all, one))
      throw UsageError(fmt::format("{} has no experiment '{}'; it has {}", folder.string(), one, fmt::join(all, ", ")));
  return out;
}

}  // namespace

std::filesystem::path folder_of_one_machine(const std::filesystem::path& named) {
  if (std::filesystem::exists(named / "machine.json")) return named;
  std::vector<std::filesystem::path> machines;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(named, error))
    if (std::filesystem::exists(entry.path() / "machine.json", error)) machines.push_back(entry.path());
  if (machines.size() > 1)
    throw UsageError(
        fmt::format("{} holds results of {} machines; name one of its folders", named.string(), machines.size()));
  return machines.empty() ? named : machines.front();
}

double StoredResults::cache_bytes(std::string_view device) const {
  const auto [part, key] = device == "cuda" ? std::pair("gpu", "l2_bytes") : std::pair("cpu", "last_level_cache_bytes");
  const auto found = machine->find(part);
  if (found == machine->end() || !found->is_object()) return 0;
  const auto bytes = found->find(key);
  return bytes != found->end() && bytes->is_number() ? bytes->get<double>() : 0;
}

std::size_t StoredResults::sm_count() const {
  const auto sms = nlohmann::ordered_json::json_pointer("/gpu/sm_count");
  return machine->contains(sms) && (*machine)[sms].is_number_unsigned() ? (*machine)[sms].get<std::size_t>() : 0;
}

StoredResults read_results(const std::filesystem::path& named, const StoredChoice& choice) {
  if (!std::filesystem::is_directory(named))
    throw UsageError(named.string() + " is not a folder; name a results folder, such as out/results/MACHINE");
  const std::filesystem::path folder = folder_of_one_machine(named);
  StoredResults out{.named = named, .folder = folder, .machine = {}, .rows = {}};
  const auto machine = folder / "machine.json";
  out.machine = std::make_shared<nlohmann::ordered_json>(nlohmann::ordered_json::parse(
      required_content(machine, "is " + folder.string() + " a results folder?"), nullptr, false));
  const auto& told = *out.machine;
  if (!told.is_object() || !told.contains("runs") || !told["runs"].is_array())
    throw UsageError(machine.string() + " is damaged; copy the results folder again");
  if (const auto version = told.value("schema_version", 0); version != schema_version) {
    const auto revision = nlohmann::ordered_json::json_pointer("/build/git_revision");
    throw UsageError(other_schema(machine.string(), std::to_string(version),
                                  told.contains(revision) && told[revision].is_string() ? told[revision] : ""));
  }
  const Selected selected(choice.selection);
  const auto experiments = experiments_of(told, machine.string(), folder, choice.experiments);
  std::vector<std::string> readable;
  for (const std::string& experiment : experiments) {
    // A folder may keep rows alone of what nothing is computed from. Where that is all, it is said to lack them.
    if (choice.with_samples && experiments.size() > 1 && choice.experiments.empty() &&
        !std::filesystem::exists(samples_of(folder, experiment)))
      out.without_samples.push_back(experiment);
    else
      readable.push_back(experiment);
  }
  if (choice.before_reading) choice.before_reading(out);
  for (const std::string& experiment : readable)
    read_experiment(folder, experiment, selected, choice.with_samples, told, out.rows);
  if (!out.rows.empty()) return out;
  if (!out.without_samples.empty() && out.without_samples.size() == experiments.size())
    throw UsageError(folder.string() + " holds no raw samples; copy the whole results folder");
  const bool all = choice.experiments.empty() && choice.selection.chooses_all();
  throw UsageError(folder.string() + (all ? " holds no rows; run an experiment first"
                                          : " holds no such rows; choose others by --experiment, --variants, --types, "
                                            "--operations and --sizes"));
}

std::string note_of_left_out(const StoredResults& results) {
  if (results.without_samples.empty()) return {};
  return fmt::format("note: {} has no raw samples of {}, whose rows are left out", results.named.string(),
                     fmt::join(results.without_samples, ", "));
}

}  // namespace reductio
