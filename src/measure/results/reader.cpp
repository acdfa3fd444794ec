#include "measure/results/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "measure/results/fields.h"
#include "measure/results/row.h"
#include "measure/sampling/sampler.h"

namespace reductio {
namespace {

std::string content_of(const std::filesystem::path& path, const std::string& advice) {
  auto text = reductio::content_of(path);
  if (!text) throw UsageError("cannot read " + path.string() + "; " + advice);
  return *std::move(text);
}

struct Samples {
  ByRound seconds, device_part_s;
  std::vector<int> allocations;

  void add(std::size_t round, int allocation, std::optional<double> s, std::optional<double> part) {
    if (seconds.size() <= round) {
      seconds.resize(round + 1);
      device_part_s.resize(round + 1);
      allocations.resize(round + 1);
    }
    seconds[round] = s;
    device_part_s[round] = part;
    allocations[round] = allocation;
  }
};

struct SamplesFile {
  std::map<std::string, Samples> of_row;
  std::map<std::string, std::map<std::string, ByRound>> readers;  ///< by group, then by kernel
};

SamplesFile read_samples(const std::filesystem::path& path) {
  SamplesFile out;
  if (!std::filesystem::exists(path)) return out;  // the rows will miss them, and say how many
  const CsvText csv = parse_csv(gunzip(content_of(path, "copy the whole results folder")));
  if (csv.records.empty()) return out;
  const auto& names = csv.records.front();
  // By name: columns were added since the first results were measured.
  for (const std::string_view c : {"variant", "settings", "round", "allocation", "time_s", "device_part_s"})
    if (std::find(names.begin(), names.end(), c) == names.end())
      throw UsageError(fmt::format("{} lacks the column '{}' of raw samples; measure again with this program",
                                   path.string(), c));
  const KeyColumns keys(names);
  const auto voided = std::find(names.begin(), names.end(), "voided");
  const std::size_t round_at = index_of(names, "round"), allocation_at = index_of(names, "allocation"),
                    time_at = index_of(names, "time_s"), who_at = index_of(names, "variant"),
                    part_at = index_of(names, "device_part_s");
  for (std::size_t i = 1; i < csv.records.size(); ++i) {
    const Fields& sample = csv.records[i];
    if (voided != names.end() && sample.size() == names.size() &&
        sample[static_cast<std::size_t>(voided - names.begin())] == "yes")
      continue;  // its round was throttled
    const auto round = sample.size() == names.size() ? number_in(sample[round_at]) : std::nullopt;
    const auto allocation = round ? number_in(sample[allocation_at]) : std::nullopt;
    if (!allocation || *round < 0 || *round > 1e6)
      throw UsageError(fmt::format("{}: record {} is malformed; measure again", path.string(), i + 1));
    const auto at = static_cast<std::size_t>(*round);
    const auto seconds = number_in(sample[time_at]);
    const std::string& who = sample[who_at];
    if (!who.starts_with('(')) {
      out.of_row[keys.of_row(sample)].add(at, static_cast<int>(*allocation), seconds, number_in(sample[part_at]));
    } else if (who.starts_with("(read")) {
      ByRound& of_kernel = out.readers[keys.of_group(sample)][who];
      if (of_kernel.size() <= at) of_kernel.resize(at + 1);
      of_kernel[at] = seconds;
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

void read_experiment(const std::filesystem::path& path, std::vector<StoredRow>& into) {
  const auto refuse = [&](const std::string& why) { throw UsageError(path.string() + " " + why); };
  const std::string text = content_of(path, "machine.json beside it tells of that run: copy the whole results folder");
  const CsvText csv = parse_csv(text);
  if (csv.records.empty()) refuse("is empty; run the experiment again");
  if (csv.records.front() != columns())
    refuse(fmt::format("has other columns than schema version {} of this program; measure again", schema_version));
  if (csv.whole_bytes < text.size()) refuse("ends in a row that was cut; finish that run with --resume");
  const auto samples_path = std::filesystem::path(path).replace_extension(".samples.csv.gz");
  SamplesFile samples = read_samples(samples_path);
  const auto ceilings = ceilings_of(samples);
  const KeyColumns keys(columns());
  std::size_t missing = 0, timed = 0;
  for (std::size_t i = 1; i < csv.records.size(); ++i) {
    StoredRow row{.fields = csv.records[i], .seconds = {}, .device_part_s = {}, .read_s = {}, .allocations = {}};
    if (row.fields.size() != columns().size())
      refuse(fmt::format("has {} fields in record {} where {} belong; mend or remove it", row.fields.size(), i + 1,
                         columns().size()));
    if (row.at("schema_version") != std::to_string(schema_version))
      refuse(fmt::format("holds rows of schema version {}, this program reads {}; measure again",
                         row.at("schema_version"), schema_version));
    if (row.at("status") == "ok") {
      for (const std::string_view c : {"n", "bytes", "n_samples"})
        if (!row.number(c)) refuse(fmt::format("has '{}' for {} in record {}, not a number", row.at(c), c, i + 1));
      if (auto found = samples.of_row.find(keys.of_row(row.fields)); found != samples.of_row.end()) {
        row.allocations = std::move(found->second.allocations);
        if (any(found->second.seconds)) row.seconds = std::move(found->second.seconds);
        if (any(found->second.device_part_s)) row.device_part_s = std::move(found->second.device_part_s);
      }
      if (const auto found = ceilings.find(keys.of_group(row.fields)); found != ceilings.end())
        row.read_s = found->second;
      if (row.number("time_median_s")) {
        ++timed;
        const auto have = std::count_if(row.seconds.begin(), row.seconds.end(), [](auto& s) { return s.has_value(); });
        if (static_cast<double>(have) < std::max(*row.number("n_samples"), 1.0)) ++missing;
      }
    }
    into.push_back(std::move(row));
  }
  if (missing)
    throw UsageError(
        fmt::format("{} lacks the raw samples of {} of the {} timed rows of {}; copy the whole results "
                    "folder, or measure again",
                    samples_path.string(), missing, timed, path.filename().string()));
}

/// The folder itself, or the one in it, where it is what --out named and holds the results of one machine.
std::filesystem::path folder_of_one_machine(const std::filesystem::path& named) {
  if (std::filesystem::exists(named / "machine.json")) return named;
  std::vector<std::filesystem::path> machines;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(named, error))
    if (std::filesystem::exists(entry.path() / "machine.json", error)) machines.push_back(entry.path());
  if (machines.size() > 1)
    throw UsageError(fmt::format("{} holds results of {} machines; name one of its folders", named.string(),
                                 machines.size()));
  return machines.empty() ? named : machines.front();
}

}  // namespace

const std::string& StoredRow::at(std::string_view column) const { return fields.at(index_of(columns(), column)); }

std::optional<double> StoredRow::number(std::string_view column) const { return number_in(at(column)); }

StoredResults read_results(const std::filesystem::path& named) {
  if (!std::filesystem::is_directory(named))
    throw UsageError(named.string() + " is not a folder; name a results folder, such as out/results/MACHINE");
  const std::filesystem::path folder = folder_of_one_machine(named);
  StoredResults out{.named = named, .folder = folder, .machine = {}, .rows = {}};
  const auto machine = folder / "machine.json";
  out.machine =
      nlohmann::json::parse(content_of(machine, "is " + folder.string() + " a results folder?"), nullptr, false);
  if (!out.machine.is_object() || !out.machine.contains("runs") || !out.machine["runs"].is_array())
    throw UsageError(machine.string() + " is damaged; copy the results folder again");
  for (const auto& run : out.machine["runs"]) {
    const bool has_name = run.is_object() && run.contains("experiment") && run["experiment"].is_string();
    const std::string experiment = has_name ? run["experiment"].get<std::string>() : "";
    if (experiment.empty()) throw UsageError(machine.string() + " tells of a run without an experiment's name");
    read_experiment(folder / (experiment + ".csv"), out.rows);
  }
  if (out.rows.empty()) throw UsageError(folder.string() + " holds no rows; run an experiment first");
  return out;
}

}  // namespace reductio
