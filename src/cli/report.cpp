/// reductio report: results folders as one page for a browser, made by src/report/page.py. What it shows of samples,
/// the contexts' means and speedups over further bases, is made here.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/python.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/variant.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"
#include "measure/stats/ratio.h"
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

struct Base {
  const char* name;
  const StoredRow* row;
};

/// Speedups of a document's rows over its first variant, and of all over the fastest of their group.
std::string speedups_of(const StoredResults& results) {
  Fields header = names_of<PointKey>();
  header.insert(header.end(), {"run_id", "base", "speedup", "ci_low", "ci_high"});
  std::string out = csv_record(header);
  const std::size_t empty = out.size();
  std::map<std::string, std::vector<const StoredRow*>> groups;  // sampled together
  for (const StoredRow& stored : results.rows)
    if (stored.row.status == Status::ok && stored.row.time_median_s && !values(logarithms(stored.seconds)).empty())
      groups[stored.row.run_id + "|" + group_key(stored.row.point)].push_back(&stored);
  std::set<std::string> of_documents;
  for (const Variant& v : variants())
    if (v.kind == VariantKind::document) of_documents.insert(v.id);
  const auto document_of = [](const StoredRow& stored) {
    const std::string& id = stored.row.point.variant;
    return id.substr(0, id.find('/'));
  };
  const auto times_of = [](const StoredRow& stored) {
    return TimedRounds{stored.seconds, stored.contexts, stored.row.timer_resolution_s.value_or(0)};
  };
  for (const auto& [_, rows] : groups) {
    const StoredRow* fastest = *std::min_element(
        rows.begin(), rows.end(), [](auto* a, auto* b) { return *a->row.time_median_s < *b->row.time_median_s; });
    std::map<std::string, const StoredRow*> first;
    for (const StoredRow* row : rows)
      if (of_documents.contains(row->row.point.variant)) first.emplace(document_of(*row), row);
    for (const StoredRow* row : rows) {
      std::vector<Base> bases{{"fastest", fastest}};
      if (const auto found = first.find(document_of(*row)); found != first.end())
        bases.push_back({"first", found->second});
      for (const Base& base : bases) {
        const TimedRounds of_base = times_of(*base.row), of_row = times_of(*row);
        if (!share_a_context(of_base, of_row)) continue;
        const Ratio ratio = base.row == row ? Ratio() : paired_ratio(of_base, of_row, 0.95);
        Fields record = fields_of(row->row.point);
        record.insert(record.end(),
                      {row->row.run_id, base.name, fmt::format("{:.6g}", ratio.value),
                       fmt::format("{:.6g}", ratio.interval.low), fmt::format("{:.6g}", ratio.interval.high)});
        out += csv_record(record);
      }
    }
  }
  return out.size() > empty ? out : "";
}

/// A folder of a run of this program's, gone with it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "reductio-XXXXXX").string();
    if (!mkdtemp(name.data())) throw OutputError("cannot write to " + std::filesystem::temp_directory_path().string() +
                        "; set $TMPDIR to a folder that can be written");
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
    command += " --made";
    for (std::size_t i = 0; i < folders.size(); ++i) {
      const auto made = scratch.folder() / std::to_string(i);
      std::filesystem::create_directory(made);
      const std::string why = why_not([&] {
        const StoredResults results = read_results(folders[i]);
        write_whole_file(made / "means.csv", means_of(results));
        write_whole_file(made / "speedups.csv", speedups_of(results));
      });
      if (!why.empty() && std::filesystem::is_directory(folders[i]))
        fmt::print("no means and speedups of {}: {}\n", folders[i], why);
      command += " " + quoted(made.string());
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
  sub->add_option("--samples", options->samples,
                  "Samples in the page: means (of each context; the default), all or none")
      ->type_name("WHICH");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
