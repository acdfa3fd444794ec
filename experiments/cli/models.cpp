/// reductio models: the model time = latency + bytes / bandwidth for everything in a results folder.

#include "measure/analysis/models.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "experiments/cli/commands.h"
#include "experiments/cli/selection.h"
#include "experiments/cli/terminal.h"

namespace reductio::cli {
namespace {

struct ModelsOptions {
  std::string folder;
  double confidence = 0.95;
  bool csv = false, quiet = false;
};

/// "5.96 us [5.9, 6.02]", each number times `unit`.
std::string interval(const Fields& fields, std::size_t at, double unit, const char* unit_name) {
  if (fields[at].empty()) return "-";
  const auto show = [&](std::size_t i) {
    return fields[i].empty() ? std::string("-") : fmt::format("{:.3g}", unit * std::stod(fields[i]));
  };
  return fmt::format("{}{} [{}, {}]", show(at), unit_name, show(at + 1), show(at + 2));
}

void print(const std::vector<Fields>& records) {
  const auto at = model_column;
  Table table({"variant", "settings", "operation", "type", "timed", "cache", "range", "latency", "bandwidth", "n 1/2",
               "off by", "remark"});
  for (const Fields& r : records) {
    if (r[at("status")] == "too_few_sizes") continue;  // nothing to say
    const std::string& off = r[at("largest_residual")];
    table.add({r[at("variant")], r[at("settings")], r[at("operation")], r[at("element_type")], r[at("timing_mode")],
               r[at("cache_state")], r[at("range")], interval(r, at("latency_s"), 1e6, " us"),
               interval(r, at("bandwidth_bytes_per_s"), 1e-9, " GB/s"), interval(r, at("half_performance_n"), 1, ""),
               off.empty() ? "-" : fmt::format("{:.1f} %", 100 * std::stod(off)), r[at("reason")]});
  }
  table.print();
}

int run(const ModelsOptions& options) {
  const std::string folder = folder_or_default(options.folder, "models");
  Progress progress(options.quiet);
  progress.show(0, 0, "reading the samples");
  const StoredResults results = read_results(folder);
  const auto path = results.folder / "models.csv";
  const std::string note = note_of_left_out(results);
  if (!note.empty() && std::filesystem::exists(path))
    throw UsageError(path.string() + " stays as it is: it may hold fits that cannot be made again (" + note +
                     "); remove it to fit the rest");
  progress.clear();
  if (!note.empty()) print_message(note);
  const auto [records, left_out] = model_table(
      results, options.confidence, [&](std::size_t done, std::size_t total) { progress.show(done, total, "models"); });
  progress.clear();
  std::string text = csv_record(model_columns());
  const std::size_t status = model_column("status");
  std::map<std::string, int> by_status;
  for (const Fields& record : records) {
    text += csv_record(record);
    ++by_status[record[status]];
  }
  write_whole_file(path, text);
  if (options.csv) fmt::print("{}", text);
  if (options.csv || options.quiet) return exit_ok;
  if (!records.empty()) print(records);
  // The counts are short enough for one line, which scripts show as what was done.
  say(fmt::format("\n{} models in {}", records.size(), path.string()));
  say(fmt::format("{} fit within 5 %, {} do not fit, {} have too few sizes; {} series have too few for any model",
                  by_status["ok"], by_status["does_not_fit"], by_status["too_few_sizes"], left_out));
  return exit_ok;
}

}  // namespace

Command add_models(CLI::App& app) {
  auto options = std::make_shared<ModelsOptions>();
  CLI::App* sub = app.add_subcommand("models", "Fit latency + bytes / bandwidth to a results folder's times");
  sub->add_option("folder", options->folder, "The results folder (default: the one in out/results); gets models.csv");
  add_confidence(*sub, [options](double share) { options->confidence = share; });
  sub->add_flag("--csv", options->csv, "Print the table as it is written to models.csv");
  sub->add_flag("--quiet", options->quiet, "Print nothing");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
