/// reductio run: experiments, measured point by point into results/<machine>/<experiment>.csv.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/plugins.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "cli/warnings.h"
#include "core/parse.h"
#include "measure/plan/ways.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"
#include "measure/results/schema.h"
#include "measure/results/writer.h"
#include "measure/session/interrupts.h"
#include "measure/session/run_experiment.h"
#include "measure/session/session.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RunCommandOptions {
  std::vector<std::string> experiments;
  SelectionOptions selection;
  RunOptions run;
  std::string out = default_out();
  bool quiet = false, json = false, csv = false;
};

/// A row that is not ok is declined, or has a fault. In the order in which they are told.
constexpr Status without_time[] = {Status::over_limit, Status::refused,    Status::no_memory, Status::failed,
                                   Status::wrong,      Status::impossible, Status::timeout};

Ink ink_of(Status s) {
  return s == Status::over_limit || s == Status::refused || s == Status::no_memory ? Ink::yellow : Ink::red;
}

class Observer final : public RunObserver {
 public:
  /// `warnings` are printed once the run has begun: a request that fails says only why.
  Observer(const RunCommandOptions& options, std::vector<std::string> warnings)
      : options_(options), warnings_(std::move(warnings)), progress_(options.quiet) {}

  void started(const std::filesystem::path& csv, std::size_t points, std::size_t already_done) override {
    points_ = points;
    if (options_.run.profile) return;
    for (const auto& text : warnings_) warn(text);
    if (tells() && !options_.quiet && already_done)
      fmt::print("resuming {}: {} of {} points are already there\n", csv.string(), already_done, points);
  }

  void progress(std::size_t done, std::size_t points, double, double remaining_s, const std::string& what) override {
    progress_.show(done, points, what, remaining_s);
  }

  void row(const Row& row) override {
    if (row.status == Status::ok && row.point.device != DeviceKind::sim)
      timed_[{row.point.problem.operation, row.point.problem.type, has_device_time(row.point)}].insert(
          row.point.variant);
    if (row.status != Status::ok) ++reasons_[{row.status, row.point.variant + ": " + row.reason}];
    if (options_.csv || options_.json) {
      progress_.clear();
      if (options_.csv) fmt::print("{}", csv_record(row.fields()));
      if (options_.json) fmt::print("{}\n", to_json(row).dump());
      flush_output();
    } else if (points_ <= table_rows) {
      rows_.push_back(row);
    }
  }

  void notice(const std::string& text) override {
    progress_.clear();
    if (!options_.quiet) print_message("note: " + text);
  }

  void warn(const std::string& text) {
    progress_.clear();
    print_warning(text);
  }

  /// What a person wants to know at the end.
  void summarise(const std::string& experiment, const RunReport& report) {
    progress_.clear();
    if (!tells() || options_.quiet) return;
    if (!rows_.empty()) print_rows();
    for (const Status status : without_time) print_reasons(status);
    fmt::print("{}: {}", experiment,
               ink(Ink::bold, fmt::format("{} {}", report.count(Status::ok), in_words(Status::ok))));
    for (const Status status : without_time)
      if (report.count(status))
        fmt::print(", {}", ink(ink_of(status), fmt::format("{} {}", report.count(status), in_words(status))));
    if (report.skipped) fmt::print(", {} were already there", report.skipped);
    fmt::print(", in {}", show_seconds(report.measured_s));
    if (!report.csv.empty()) fmt::print(" -> {}", report.csv.string());
    fmt::print("\n");
  }

  /// The commands that go on from here, with this run's folder.
  void suggest(const std::filesystem::path& folder) const {
    if (timed_.empty() || !tells() || options_.quiet) return;
    const std::string where = quoted(folder.string());
    std::vector<std::string> steps{"plot " + where};
    if (const auto pair = to_compare(); !pair.empty()) steps.push_back("compare " + pair);
    if (std::filesystem::exists(folder / "verdicts.csv")) steps.push_back("claims " + where);
    for (const std::string& step : steps) fmt::print("next: {} {}\n", program_as_called(), step);
  }

  std::string first_reason(Status status) const {
    for (const auto& [key, count] : reasons_)
      if (key.first == status) return key.second;
    return "";
  }

 private:
  bool tells() const { return !options_.csv && !options_.json; }

  /// Whether compare times it by mode device: it refuses to compare one that has such a time with one that has none.
  static bool has_device_time(const PointKey& p) {
    const Variant& v = find_variant(p.variant);
    return timing_refusal(v, v.settings(), TimingMode::device, CacheState::cold_dirty).empty();
  }

  /// "BASE VARIANT": two that were timed on the same operation and type of elements; empty if there are none. A base
  /// and a user's own come first.
  std::string to_compare() const {
    const auto rank = [](const std::string& id, bool as_base) {
      const Variant& v = find_variant(id);
      return as_base ? v.base_of.empty() : v.kind != VariantKind::yours;
    };
    std::optional<std::tuple<bool, bool, std::string, std::string>> best;
    for (const auto& [problem, ids] : timed_)
      for (const std::string& base : ids)
        for (const std::string& other : ids)
          if (const std::tuple pair(rank(base, true), rank(other, false), base, other); base != other)
            if (!best || pair < *best) best = pair;
    if (!best) return "";
    std::set<std::string> plugins;
    for (const std::string& id : {std::get<2>(*best), std::get<3>(*best)})
      if (const Variant& v = find_variant(id); std::filesystem::is_regular_file(v.plugin))  // or of a notebook
        plugins.insert(" --plugin " + quoted(v.plugin));
    return fmt::format("{} {}{}", std::get<2>(*best), std::get<3>(*best), fmt::join(plugins, ""));
  }

  void print_rows() const {
    Table table({"variant", "operation", "type", "n", "settings", "mode", "time", "GB/s", "status"});
    for (const Row& r : rows_) {
      const auto rate = r.bandwidth_bytes_per_s();
      table.add({r.point.variant, std::string(name(r.point.problem.operation)),
                 std::string(name(r.point.problem.type)), show_elements(r.point), r.point.settings,
                 std::string(name(r.point.timing_mode)), r.time_median_s ? show_seconds(*r.time_median_s) : "",
                 rate ? fmt::format("{:.4g}", *rate / 1e9) : "", std::string(name(r.status))});
    }
    table.print();
  }

  /// The reasons of one status, the most frequent first; the CSV has them all.
  void print_reasons(Status status) const {
    constexpr std::size_t most = 8;
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const auto& [key, count] : reasons_)
      if (key.first == status) found.emplace_back(count, key.second);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < std::min(found.size(), most); ++i)
      say(fmt::format("{}  {}{}", ink(ink_of(status), in_words(status)), found[i].second,
                      found[i].first > 1 ? fmt::format(" ({} points)", found[i].first) : ""),
          4);
    if (found.size() > most) fmt::print("{}  ... and {} more reasons\n", in_words(status), found.size() - most);
  }

  const RunCommandOptions& options_;
  std::vector<std::string> warnings_;
  Progress progress_;
  std::size_t points_ = 0;
  std::vector<Row> rows_;
  std::map<std::tuple<Operation, ElementType, bool>, std::set<std::string>> timed_;  ///< variants
  std::map<std::pair<Status, std::string>, std::size_t> reasons_;
};

/// The exit code that the rows call for; one line on stderr where it is not 0.
int verdict(const std::string& experiment, const RunReport& report, const Observer& observer) {
  const auto fail = [&](const std::string& text) {
    print_message(experiment + ": " + text);
    return true;
  };
  const auto rows = [&](Status status, const char* what) {
    const std::size_t count = report.count(status);
    return count &&
           fail(fmt::format("{} row{} {} ({})", count, count == 1 ? "" : "s", what, observer.first_reason(status)));
  };
  if (rows(Status::wrong, "with a wrong result")) return exit_wrong;
  if (rows(Status::failed, "failed") || rows(Status::timeout, "timed out") ||
      rows(Status::impossible, "faster than the hardware allows: not all was read, or the measurement is wrong"))
    return exit_error;
  if (report.interrupted) {
    const auto& written = report.by_status;
    const std::size_t kept = std::accumulate(written.begin(), written.end(), report.skipped);
    const std::string what = kept == 0 ? "before the first rows were complete; nothing is kept"
                                       : fmt::format("{} of {} points are kept", kept, report.points);
    if (fail("interrupted; " + what + "; run it again with --resume to continue")) return exit_error;
  }
  if (!report.count(Status::ok) && !report.skipped)
    for (const Status status : {Status::refused, Status::no_memory, Status::over_limit})
      if (report.count(status) && fail("no point was measured: " + observer.first_reason(status))) return exit_error;
  return exit_ok;
}

/// That rows will have no times is told before they are made, which may take hours.
void warn_of_no_times(const Experiment& experiment, const Selection& selection, RunOptions options) {
  options.dry_run = true;
  RunObserver nobody;
  const RunReport all = run_experiment(experiment, selection, options, nobody);
  print_message(fmt::format(
      "note: the simulated device measures no time: {} will have no times, and take about {}; 'reductio run cpu' times "
      "the CPU, 'reductio verify --device sim' checks results",
      counted(all.points, "row"), show_seconds(all.estimated_s)));
}

/// Whether each experiment's file can be written is known before the first is measured.
void check_files(const std::vector<const Experiment*>& selected,
                 const std::function<DeviceKind(const Experiment*)>& device_of, const RunOptions& options) {
  for (const Experiment* e : selected) {
    const Bench bench = open_bench_or_advise(device_of(e), options.gpu);
    Results::check(options.out / bench.machine.name, e->name, options.resume);
  }
}

int run(RunCommandOptions& options) {
  if (options.experiments.empty()) {
    std::vector<std::string> known;
    for (const Experiment& e : experiments()) known.push_back(e.name);
    throw UsageError("name an experiment to run: " + join(known, ", ") +
                     " ('reductio list experiments' describes them)");
  }
  // Everything that can be wrong with the request is found out before the first experiment starts.
  std::vector<const Experiment*> selected;
  for (const auto& word : options.experiments) {
    const Experiment* experiment = &find_experiment(word);
    if (std::find(selected.begin(), selected.end(), experiment) != selected.end())
      throw UsageError("experiment '" + word + "' is named twice; its rows go to one file, so name it once");
    selected.push_back(experiment);
  }
  const Selection selection = options.selection.parse();
  options.run.out = options.out;
  options.run.gpu = options.selection.gpu;
  if (options.run.quick && options.run.full)
    throw UsageError("--quick and --full contradict each other; give only one");
  const auto device_of = [&](const Experiment* e) { return selection.device.value_or(e->device); };
  for (const Experiment* experiment : selected) {
    choose_rules(*experiment, options.run);
    require_device(*experiment, device_of(experiment));
  }
  // Beside one that runs on a GPU, --gpu is meant for that one.
  if (std::none_of(selected.begin(), selected.end(), [&](auto* e) { return device_of(e) == DeviceKind::cuda; }))
    options.selection.check_gpu(device_of(selected.front()), "experiment '" + selected.front()->name + "'");

  // A GPU that is demanded but not there is told before anything else is run. An estimate needs none.
  const bool has_cuda =
      std::any_of(variants().begin(), variants().end(), [](const Variant& v) { return v.runs_on(DeviceKind::cuda); });
  for (const Experiment* experiment : selected)
    if (device_of(experiment) == DeviceKind::cuda && (!options.run.dry_run || !has_cuda))
      open_bench_or_advise(DeviceKind::cuda, options.run.gpu, options.run.profile);
  if (!options.run.dry_run && !options.run.profile) check_files(selected, device_of, options.run);
  const bool rows_to_stdout = options.csv && !options.run.dry_run && !options.run.profile;
  if (rows_to_stdout) fmt::print("{}", csv_record(columns()));

  int exit = exit_ok;
  for (const Experiment* experiment : selected) {
    const DeviceKind device = device_of(experiment);
    const bool timed = !options.run.dry_run && !options.run.profile;
    if (timed && device == DeviceKind::sim && !options.quiet) warn_of_no_times(*experiment, selection, options.run);
    Observer observer(options, timed ? misleading(open_bench_or_advise(device, options.run.gpu))
                                     : std::vector<std::string>());
    const RunReport report = run_experiment(*experiment, selection, options.run, observer);
    if (options.run.dry_run) {
      if (options.json)
        fmt::print("{}\n", Json{{"experiment", experiment->name},
                                {"points", report.points},
                                {"refused", report.count(Status::refused)},
                                {"skipped", report.skipped},
                                {"estimated_s", report.estimated_s},
                                {"binary", binary_hash()}}
                               .dump());
      else
        fmt::print(
            "{}: {} points{}, about {}; nothing was run\n", experiment->name, report.points,
            report.count(Status::refused) ? fmt::format(", {} of them refused", report.count(Status::refused)) : "",
            show_seconds(report.estimated_s));
      continue;
    }
    if (options.run.profile) {
      if (!options.quiet) fmt::print("{}: {} bare calls\n", experiment->name, report.points);
      continue;
    }
    observer.summarise(experiment->name, report);
    exit = std::max(exit, verdict(experiment->name, report, observer));
    if (experiment == selected.back() && exit == exit_ok) observer.suggest(report.csv.parent_path());
    if (report.interrupted) break;
    if (Interrupts::count() && experiment != selected.back()) {
      print_message("interrupted after " + experiment->name +
                    ", which is complete; run it again with --resume to continue");
      return std::max<int>(exit, exit_error);
    }
  }
  return exit;
}

}  // namespace

Command add_run(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<RunCommandOptions>();
  options->run.arguments = std::move(command_line);
  CLI::App* sub = app.add_subcommand("run", "Run experiments and write their results");
  sub->add_option("experiment", options->experiments, "Experiments, as 'reductio list experiments' shows them")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options->selection.add_variants(*sub);
  options->selection.add_plugins(*sub);
  options->selection.add_points(*sub);
  RunOptions& r = options->run;
  sub->add_option("--out", options->out, "Results go to DIR/<machine>/<experiment>.csv")
      ->type_name("DIR")
      ->capture_default_str();
  sub->add_flag("--resume", r.resume, "Continue an earlier run and keep its finished points");
  sub->add_flag("--quick", r.quick, "A smoke test: fewer and smaller sizes, fewer samples");
  sub->add_flag("--full", r.full, "Also slow points, and calls over the time limit");
  auto* dry = sub->add_flag("--dry-run", r.dry_run, "Only count points and estimate the time");
  sub->add_flag("--profile", r.profile, "One bare call of each point in an NVTX range, for ncu; writes no results")
      ->excludes(dry);
  options->selection.add_order(*sub);
  add_sampling(*sub, r);
  auto* json = sub->add_flag("--json", options->json, "Also print each row as a line of JSON");
  sub->add_flag("--csv", options->csv, "Also print the rows as CSV")->excludes(json);
  sub->add_flag("--quiet", options->quiet, "Print no progress and no summary");
  return {sub, [options] {
            load_plugins(options->selection);
            return run(*options);
          }};
}

}  // namespace reductio::cli
