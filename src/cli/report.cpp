/// reductio report: results folders as one page for a browser, made by src/report/page.py. The contexts' means that it
/// shows are made here.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/python.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"
#include "measure/stats/statistics.h"

namespace reductio::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> folders;
  std::string out = "report.html", samples = "means";
};

/// Of each row and context the geometric trimmed mean of its times, as a sample of round 0: a file of samples.
std::string means_of(const StoredResults& results) {
  std::vector<RawSample> means;
  for (const StoredRow& stored : results.rows) {
    std::map<int, std::vector<double>> logs;
    for (std::size_t r = 0; r < stored.seconds.size(); ++r)
      if (stored.seconds[r] && *stored.seconds[r] > 0) logs[stored.contexts[r]].push_back(std::log(*stored.seconds[r]));
    for (const auto& [context, of_context] : logs)
      means.push_back({.run_id = stored.row.run_id,
                       .point = stored.row.point,
                       .context = context,
                       .time_s = std::exp(trimmed_mean(of_context)),
                       .device_part_s = {},
                       .cycles = {}});
  }
  return means.empty() ? "" : csv_record(sample_columns()) + csv_records(means);
}

/// A folder of a run of this program's, gone with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "reductio-XXXXXX").string();
    if (!mkdtemp(name.data())) throw OutputError("cannot write to " + std::filesystem::temp_directory_path().string());
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

int run(const ReportOptions& options) {
  if (const std::string& s = options.samples; s != "means" && s != "all" && s != "none")
    throw UsageError("--samples takes means, all or none, not '" + s + "'");
  check_option("--out", options.out);
  std::string command = report_script("page", "report", "");
  std::vector<std::string> folders = options.folders;
  if (folders.empty()) folders.push_back(folder_or_default("", "report"));
  for (const std::string& folder : folders) command += " " + quoted(folder);
  command += " --out " + quoted(options.out);
  const Scratch scratch;
  if (options.samples != "none") {
    command += " --means";
    for (std::size_t i = 0; i < folders.size(); ++i) {
      const auto file = scratch.folder() / fmt::format("{}.samples.csv", i);
      std::string means;
      if (const std::string why = why_not([&] { means = means_of(read_results(folders[i])); }); !why.empty())
        fmt::print("left out: each context's mean in {}: {}\n", folders[i], why);
      write_whole_file(file, means);
      command += " " + quoted(file.string());
    }
  }
  if (options.samples == "all") command += " --samples";
  push_output();
  return std::system(command.c_str()) == 0 ? exit_ok : exit_error;
}

}  // namespace

Command add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* sub = app.add_subcommand("report", "Write one page that explores results folders in a browser, offline");
  sub->add_option("folders", options->folders, "The results folders (default: the one in out/results)")
      ->type_name("DIR")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--out", options->out, "The page (default: report.html)")->type_name("FILE");
  sub->add_option("--samples", options->samples, "Samples in the page: means, of each context (default), all or none")
      ->type_name("WHICH");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
