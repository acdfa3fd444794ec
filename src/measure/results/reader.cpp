#include "measure/results/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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
  std::map<std::string, std::map<std::string, Samples>> harness;  ///< the harness's own calls, by group and name
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
    (sample.of_harness() ? out.harness[group_key(sample.point)][sample.point.variant]
                         : out.of_row[row_key(sample.point)])
        .add(sample);
  }
  return out;
}

bool any(const ByRound& times) {
  return std::any_of(times.begin(), times.end(), [](const auto& t) { return t.has_value(); });
}

/// What the harness's calls tell all rows of a group, as the sampler valued it.
struct GroupLimits {
  ByRound read_s;
  std::optional<double> launch_floor_s, polled_launch_floor_s, read_time_s;
};

/// The harness's own order of its reading kernels (harness_kernels.cu): of two that are equally fast the first counts.
std::size_t place_of_reader(std::string_view name) {
  constexpr std::array order{
      "(read/512x4)",  "(read/512x4/past-l1)", "(read/256x8/tiles)", "(read/256x8/tiles/past-l1)",
      "(read/1024x1)", "(read/128x1)",         "(read/as-tuned)",    "(read-write/tiles)"};
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), name) - order.begin());
}

GroupLimits limits_of(const std::map<std::string, Samples>& of_group) {
  GroupLimits out;
  std::vector<ByRound> readers;
  std::vector<int> contexts;
  std::vector<std::pair<std::string_view, const Samples*>> harness;
  for (const auto& [who, samples] : of_group) harness.emplace_back(who, &samples);
  std::stable_sort(harness.begin(), harness.end(),
                   [](auto& a, auto& b) { return place_of_reader(a.first) < place_of_reader(b.first); });
  for (const auto& [who, its] : harness) {
    const Samples& samples = *its;
    const auto known = values(samples.seconds);
    if (known.empty()) continue;
    if (who == launch_floor_name) {
      out.launch_floor_s = median(known);
    } else if (who == polled_floor_name) {
      out.polled_launch_floor_s = median(known);
    } else {
      readers.push_back(samples.seconds);
      contexts.resize(std::max(contexts.size(), samples.contexts.size()));
      for (std::size_t r = 0; r < samples.seconds.size(); ++r)
        if (samples.seconds[r]) contexts[r] = samples.contexts[r];
    }
  }
  for (ByRound& reader : readers) reader.resize(contexts.size());
  if (auto ceiling = read_ceiling_of(readers, contexts, 0.5)) {  // whatever the confidence, its centre is the same
    out.read_s = std::move(ceiling->seconds);
    out.read_time_s = ceiling->time_s;
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
                     const StoredChoice& choice, const nlohmann::ordered_json& machine, std::vector<StoredRow>& into) {
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
    throw UsageError(fmt::format("{}:{}; fix that line, or run the experiment with --resume, which measures it again",
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
  if (choice.as_written) require_unchanged(machine, path, text);
  if (!choice.with_samples) {
    into.insert(into.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    return;
  }
  if (found.empty()) return;
  const auto samples_path = samples_of(folder, experiment);
  SamplesFile samples = read_samples(samples_path);
  std::map<std::string, GroupLimits> limits;
  for (const auto& [group, harness] : samples.harness) limits[group] = limits_of(harness);
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
      if (const auto of_group = limits.find(group_key(row.point)); of_group != limits.end()) {
        stored.read_s = of_group->second.read_s;
        stored.launch_floor_s = of_group->second.launch_floor_s;
        stored.polled_launch_floor_s = of_group->second.polled_launch_floor_s;
        stored.read_time_s = of_group->second.read_time_s;
      }
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
  if (timed && choice.as_written) require_unchanged(machine, samples_path, samples.text);
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
  for (const std::string& experiment : readable) read_experiment(folder, experiment, selected, choice, told, out.rows);
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
