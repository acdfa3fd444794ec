/// reductio summarize: every number that claims, figures and texts take from raw samples, as contrasts.csv.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/analysis/contrasts.h"

namespace reductio::cli {
namespace {

struct SummarizeOptions {
  std::string folder, cpu_results, contrasts = "paper/contrasts.json";
  bool csv = false, quiet = false;
};

int run(const SummarizeOptions& options) {
  const std::string folder = folder_or_default(options.folder, "summarize");
  const auto list = content_of(options.contrasts);
  if (!list)
    throw UsageError("cannot read " + options.contrasts +
                     ": run this in the project's folder, or name a list by --contrasts");
  const auto path = folder_of_one_machine(folder) / "contrasts.csv";
  if (std::filesystem::is_directory(folder)) check_destination(path, folder_advice);
  const std::vector<Contrast> contrasts = contrasts_in(*list, options.contrasts);
  const StoredResults results = read_results(folder);
  std::optional<StoredResults> cpu;
  if (!options.cpu_results.empty()) cpu.emplace(read_results(options.cpu_results));
  const std::vector<Fields> records = contrast_table(contrasts, results, cpu ? *cpu : results);
  std::string text;
  for (const Fields& record : records) text += csv_record(record);
  const std::string not_written = why_not([&] { write_whole_file(path, text); });
  if (options.csv) fmt::print("{}", text);
  if (!not_written.empty()) throw OutputError(not_written);
  if (options.csv || options.quiet) return exit_ok;
  const Fields& header = records.front();
  const auto at = [&](const char* column) { return std::find(header.begin(), header.end(), column) - header.begin(); };
  const auto lacking = std::count_if(records.begin() + 1, records.end(), [&](const Fields& record) {
    return record[static_cast<std::size_t>(at("value"))].empty();
  });
  fmt::print("{} contrasts in {}: {} have a value, {} lack points (see column 'reason')\n", records.size() - 1,
             path.string(), static_cast<std::ptrdiff_t>(records.size()) - 1 - lacking, lacking);
  return exit_ok;
}

}  // namespace

Command add_summarize(CLI::App& app) {
  auto options = std::make_shared<SummarizeOptions>();
  CLI::App* sub =
      app.add_subcommand("summarize", "Write contrasts.csv: the ratios and times that claims and figures need");
  sub->add_option("folder", options->folder,
                  "The results folder (default: the one in out/results); gets contrasts.csv");
  sub->add_option("--cpu-results", options->cpu_results, "The folder that cpu.csv is in (default: the same)");
  sub->add_option("--contrasts", options->contrasts, "The list of contrasts (default: paper/contrasts.json)");
  sub->add_flag("--csv", options->csv, "Print the table as it is written to contrasts.csv");
  sub->add_flag("--quiet", options->quiet, "Print nothing");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
