/// reductio summarize: every number that claims, figures and texts take from raw samples, and what follows from them:
/// contrasts.csv, means.csv, verdicts.csv and goals.csv. With --check it writes nothing and compares.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/analysis/check.h"
#include "measure/analysis/contrasts.h"
#include "measure/analysis/goals.h"
#include "measure/analysis/means.h"
#include "measure/analysis/verdicts.h"
#include "measure/results/table.h"

namespace reductio::cli {
namespace {

constexpr const char* usual_contrasts = "paper/contrasts.json";

struct SummarizeOptions {
  std::vector<std::string> folders;
  std::string cpu_results, contrasts = usual_contrasts, claims = "paper/claims.json", goals = "paper/goals-set.csv";
  bool csv = false, quiet = false, check = false, judge = false;
};

std::string list_at(const std::string& path, const char* option) {
  auto text = content_of(path);
  if (!text)
    throw UsageError(
        fmt::format("cannot read {}: run this in the project's folder, or name a list with {}", path, option));
  return *std::move(text);
}

/// What a folder's samples and tables give: a table each.
struct Summary {
  std::vector<Fields> contrasts, means, verdicts, goals;

  std::map<std::string, const std::vector<Fields>*> tables() const {
    return {{"contrasts.csv", &contrasts}, {"means.csv", &means}, {"verdicts.csv", &verdicts}, {"goals.csv", &goals}};
  }
};

class Summarizer {
 public:
  explicit Summarizer(const SummarizeOptions& options)
      : options_(options),
        list_(list_at(options.contrasts, "--contrasts")),
        contrasts_(contrasts_in(list_, options.contrasts)) {
    if (judges()) {
      claims_ = list_at(options.claims, "--claims");
      goals_ = parse_csv(list_at(options.goals, "--goals")).records;
    }
    if (!options.cpu_results.empty()) cpu_.emplace(read_results(options.cpu_results));
  }

  /// Claims and goals are of the project's own list of contrasts.
  bool judges() const { return options_.contrasts == usual_contrasts; }

  Summary of(const StoredResults& results) const {
    return judged(contrast_table(contrasts_, results, cpu_ ? *cpu_ : results), results.folder);
  }

  /// From a contrasts.csv and tables that are there.
  Summary judged(std::vector<Fields> contrasts, const std::filesystem::path& folder) const {
    Summary out{.contrasts = std::move(contrasts), .means = {}, .verdicts = {}, .goals = {}};
    out.means = mean_table(list_, options_.contrasts, folder);
    if (!judges()) return out;
    out.verdicts = verdict_table(claims_, options_.claims, contrasts_, out.contrasts, folder);
    out.goals = goal_table(goals_, options_.goals, out.contrasts, folder);
    return out;
  }

 private:
  const SummarizeOptions& options_;
  std::string list_;
  std::vector<Contrast> contrasts_;
  std::string claims_;
  std::vector<Fields> goals_;
  std::optional<StoredResults> cpu_;
};

std::size_t column_in(const std::vector<Fields>& table, const std::string& name) {
  return static_cast<std::size_t>(std::find(table.front().begin(), table.front().end(), name) - table.front().begin());
}

/// "12 holds, 3 mixed", of the records that `counts`.
std::string counts_of(const std::vector<Fields>& table, const std::vector<std::string>& words,
                      const std::function<bool(const Fields&)>& counts) {
  const std::size_t verdict = column_in(table, "verdict");
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const auto count =
        std::count_if(table.begin() + 1, table.end(), [&](const Fields& r) { return r[verdict] == word && counts(r); });
    if (count) out.push_back(fmt::format("{} {}", count, word));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

void print_summary(const Summary& summary, const std::filesystem::path& folder) {
  const std::size_t value = column_in(summary.contrasts, "value");
  const auto all = static_cast<std::ptrdiff_t>(summary.contrasts.size()) - 1;
  const auto lacking = std::count_if(summary.contrasts.begin() + 1, summary.contrasts.end(),
                                     [&](const Fields& record) { return record[value].empty(); });
  fmt::print("{} contrasts in {}: {} have a value, {} lack points (see column 'reason')\n", all,
             (folder / "contrasts.csv").string(), all - lacking, lacking);
  if (!summary.verdicts.empty()) {
    const std::size_t role = column_in(summary.verdicts, "role");
    fmt::print("{}: {}\n", (folder / "verdicts.csv").string(),
               counts_of(summary.verdicts, claim_verdicts(), [&](const Fields& r) { return r[role] == "claim"; }));
  }
  if (!summary.goals.empty())
    fmt::print("{}: of all demands {}\n", (folder / "goals.csv").string(),
               counts_of(summary.goals, {"met", "missed", "not measured"}, [](const Fields&) { return true; }));
}

std::string text_of(const std::vector<Fields>& table) {
  std::string text;
  for (const Fields& record : table) text += csv_record(record);
  return text;
}

void summarize(const SummarizeOptions& options, const Summarizer& summarizer, const std::string& named) {
  const auto folder = folder_of_one_machine(named);
  if (std::filesystem::is_directory(folder)) check_destination(folder / "contrasts.csv", folder_advice);
  Summary summary;
  if (options.judge) {
    if (!std::filesystem::is_directory(folder)) throw UsageError(named + " is not a folder; name a results folder");
    const auto text = content_of(folder / "contrasts.csv");
    const CsvText csv = parse_csv(text ? *text : "");
    if (text && csv.whole_bytes != text->size())
      throw UsageError((folder / "contrasts.csv").string() + " was cut while being written; summarize without --judge");
    summary = summarizer.judged(csv.records, folder);
  } else {
    summary = summarizer.of(read_results(named));
  }
  const std::string not_written = why_not([&] {
    for (const auto& [file, table] : summary.tables())
      if (!table->empty() && !(options.judge && file == "contrasts.csv"))
        write_whole_file(folder / file, text_of(*table));
  });
  if (options.csv) fmt::print("{}", text_of(summary.contrasts));
  if (!not_written.empty()) throw OutputError(not_written);
  if (!options.csv && !options.quiet && !summary.contrasts.empty()) print_summary(summary, folder);
}

/// A line for each difference.
std::vector<std::string> differences(const Summarizer& summarizer, const std::string& named,
                                     std::vector<std::string>& notes) {
  std::vector<std::string> out;
  struct NoSamples {};
  const auto look_at_files = [&](const StoredResults& before) {
    out = changed_files(before);
    const auto all = std::filesystem::directory_iterator(before.folder);
    if (std::none_of(begin(all), end(all),
                     [](const auto& e) { return e.path().string().ends_with(".samples.csv.gz"); }))
      throw NoSamples();
  };
  StoredResults results;
  try {
    results = read_results(named, {.as_written = false, .before_reading = look_at_files});
  } catch (const NoSamples&) {
    notes.push_back(named + " holds no raw samples: only its files' SHA-256 are checked");
    return out;
  }
  for (const std::string& experiment : results.without_samples)
    notes.push_back(fmt::format("{} has no raw samples of {}: its rows are not checked", named, experiment));
  const std::vector<std::string> unlike = rows_unlike_samples(results);
  for (const std::string& line : unlike) out.push_back((results.folder / line).string());
  const Summary summary = summarizer.of(results);
  for (const auto& [file, table] : summary.tables()) {
    if (table->empty() && !summarizer.judges()) continue;
    const auto path = results.folder / file;
    const auto text = content_of(path);
    if (!text) {
      notes.push_back("there is no " + path.string());
      continue;
    }
    const auto found = records_unlike(path.string(), *text, *table,
                                      {"name", "claim", "goal", "quantity", "role", "n", "element_type", "variant"});
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

int check(const SummarizeOptions& options, const Summarizer& summarizer) {
  int code = exit_ok;
  for (const std::string& named : options.folders) {
    std::vector<std::string> notes, found;
    if (const std::string why = why_not([&] { found = differences(summarizer, named, notes); }); !why.empty())
      found.push_back(why);
    for (const std::string& line : found) fmt::print("{}\n", line);
    if (!options.quiet) {
      for (const std::string& note : notes) fmt::print("note: {}\n", note);
      fmt::print("{}: {}\n", named, found.empty() ? "no difference" : counted(found.size(), "difference"));
    }
    if (!found.empty()) code = exit_error;
  }
  return code;
}

int run(SummarizeOptions options) {
  if (options.folders.empty()) options.folders.push_back(folder_or_default("", "summarize"));
  const Summarizer summarizer(options);
  if (options.check) return check(options, summarizer);
  for (const std::string& folder : options.folders) summarize(options, summarizer, folder);
  return exit_ok;
}

}  // namespace

Command add_summarize(CLI::App& app) {
  auto options = std::make_shared<SummarizeOptions>();
  CLI::App* sub =
      app.add_subcommand("summarize", "Write the contrasts, means, verdicts and goals that figures and texts need");
  sub->add_option("folders", options->folders, "Results folders (default: the one in out/results)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--check", options->check,
                "Write nothing: recompute rows, contrasts, means, verdicts and goals from the samples, print each "
                "difference, and exit with 1 if there is any");
  sub->add_flag("--judge", options->judge,
                "Write only means.csv, verdicts.csv and goals.csv, from the existing contrasts.csv and tables");
  sub->add_option("--cpu-results", options->cpu_results, "The folder that cpu.csv is in (default: the same)");
  sub->add_option("--contrasts", options->contrasts,
                  "The list of contrasts (default: paper/contrasts.json); with another, nothing is judged");
  sub->add_option("--claims", options->claims, "The claims and their tests (default: paper/claims.json)");
  sub->add_option("--goals", options->goals, "The goals of tuned (default: paper/goals-set.csv)");
  sub->add_flag("--csv", options->csv, "Print the contrasts as they are written to contrasts.csv");
  sub->add_flag("--quiet", options->quiet, "Print only differences");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
