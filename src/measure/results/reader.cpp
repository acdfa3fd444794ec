#include "measure/results/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "measure/results/csv.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

std::string required_content(const std::filesystem::path& path, const std::string& advice) {
  auto text = content_of(path);
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
  CsvText csv = parse_csv(gunzip(required_content(path, "copy the whole results folder")));
  if (csv.records.empty()) return out;
  for (const RawSample& sample : samples_in(path.string(), std::move(csv.records))) {
    if (sample.voided) continue;  // its round was throttled
    if (sample.round < 0 || sample.round > 1'000'000)
      throw UsageError(fmt::format("{} has a sample of round {}; measure again", path.string(), sample.round));
    const auto at = static_cast<std::size_t>(sample.round);
    if (!sample.of_harness()) {
      out.of_row[row_key(sample.point)].add(at, sample.allocation, sample.time_s, sample.device_part_s);
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

void read_experiment(const std::filesystem::path& path, std::vector<StoredRow>& into) {
  const auto refuse = [&](const std::string& why) { throw UsageError(path.string() + " " + why); };
  const std::string text = required_content(path, "machine.json beside it tells of that run: copy the whole results folder");
  CsvText csv = parse_csv(text);
  if (csv.records.empty()) refuse("is empty; run the experiment again");
  const RecordReader<Row> rows(path.string(), std::move(csv.records));
  if (csv.whole_bytes < text.size()) refuse("ends in a row that was cut; finish that run with --resume");
  const auto samples_path = std::filesystem::path(path).replace_extension(".samples.csv.gz");
  SamplesFile samples = read_samples(samples_path);
  const auto ceilings = ceilings_of(samples);
  std::size_t missing = 0, timed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    StoredRow stored{.row = rows.at(i), .seconds = {}, .device_part_s = {}, .read_s = {}, .allocations = {}};
    const Row& row = stored.row;
    if (row.status == Status::ok) {
      if (auto found = samples.of_row.find(row_key(row.point)); found != samples.of_row.end()) {
        stored.allocations = std::move(found->second.allocations);
        if (any(found->second.seconds)) stored.seconds = std::move(found->second.seconds);
        if (any(found->second.device_part_s)) stored.device_part_s = std::move(found->second.device_part_s);
      }
      if (const auto found = ceilings.find(group_key(row.point)); found != ceilings.end())
        stored.read_s = found->second;
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

double StoredResults::cache_bytes(std::string_view device) const {
  const auto [part, key] = device == "cuda" ? std::pair("gpu", "l2_bytes") : std::pair("cpu", "last_level_cache_bytes");
  const auto found = machine->find(part);
  if (found == machine->end() || !found->is_object()) return 0;
  const auto bytes = found->find(key);
  return bytes != found->end() && bytes->is_number() ? bytes->get<double>() : 0;
}

StoredResults read_results(const std::filesystem::path& named) {
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
  for (const auto& run : told["runs"]) {
    const bool has_name = run.is_object() && run.contains("experiment") && run["experiment"].is_string();
    const std::string experiment = has_name ? run["experiment"].get<std::string>() : "";
    if (experiment.empty()) throw UsageError(machine.string() + " tells of a run without an experiment's name");
    read_experiment(folder / (experiment + ".csv"), out.rows);
  }
  if (out.rows.empty()) throw UsageError(folder.string() + " holds no rows; run an experiment first");
  return out;
}

}  // namespace reductio
