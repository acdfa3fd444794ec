/// reductio models: the model time = latency + bytes / bandwidth for everything in a results folder.

#include "measure/analysis/models.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/terminal.h"

namespace reductio::cli {
namespace {

struct ModelsOptions {
  std::string folder;
  double confidence = 0.95;
  bool csv = false, all = false, quiet = false;
};

/// "5.96 us [5.9, 6.02]", each number times `unit`.
std::string interval(const Fields& fields, std::size_t at, double unit, const char* unit_name) {
  if (fields[at].empty()) return "-";
  const auto show = [&](std::size_t i) {
    return fields[i].empty() ? std::string("-") : fmt::format("{:.3g}", unit * std::stod(fields[i]));
  };
  return fmt::format("{}{} [{}, {}]", show(at), unit_name, show(at + 1), show(at + 2));
}

/// What a page shows of a long table: of the fits to one experiment's times of one problem, range and way of timing,
/// those of the group with most variants, device times first; the highest bandwidth first, each variant once.
std::vector<Fields> a_page_of(const std::vector<Fields>& records) {
  const auto at = model_column;
  const auto of_device = [&](const Fields& r) { return r[at("timing_mode")] == "device"; };
  std::map<Fields, std::map<std::string, Fields>> groups;  // the fastest of each variant
  const auto bandwidth = [&](const Fields& r) {
    const std::string& text = r[at("bandwidth_bytes_per_s")];
    return text.empty() ? 0 : std::stod(text);
  };
  for (const Fields& r : records) {
    if (r[at("status")] != "ok") continue;
    Fields group;
    for (const char* column :
         {"experiment", "device", "operation", "element_type", "dataset", "timing_mode", "cache_state", "range"})
      group.push_back(r[at(column)]);
    const auto [place, is_new] = groups[group].emplace(r[at("variant")], r);
    if (!is_new && bandwidth(r) > bandwidth(place->second)) place->second = r;
  }
  std::vector<Fields> best;
  for (const auto& [group, fits] : groups) {
    const auto rank = [&](const Fields& one, std::size_t count) { return std::pair(of_device(one), count); };
    if (!best.empty() && rank(fits.begin()->second, fits.size()) <= rank(best.front(), best.size())) continue;
    best.clear();
    for (const auto& [variant, fit] : fits) best.push_back(fit);
  }
  std::sort(best.begin(), best.end(), [&](const Fields& a, const Fields& b) { return bandwidth(a) > bandwidth(b); });
  best.resize(std::min(best.size(), table_rows / 2));
  return best;
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
  std::filesystem::path path;
  std::string note;
  const auto choose_file = [&](const StoredResults& found) {
    path = found.folder / "models.csv";
    if (const auto compressed = found.folder / "models.csv.gz"; std::filesystem::exists(compressed)) path = compressed;
    note = note_of_left_out(found);
    if (!note.empty() && std::filesystem::exists(path))
      throw UsageError(path.string() + " is not overwritten: it may hold fits that cannot be made again (" + note +
                       "); remove it to fit the rest");
    check_destination(path, folder_advice);
  };
  const StoredResults results = read_results(folder, {.before_reading = choose_file});
  progress.clear();
  if (!note.empty()) print_message(note);
  const auto [records, left_out] = model_table(
      results, options.confidence, [&](std::size_t done, std::size_t total) { progress.show(done, total, "models"); });
  progress.clear();
  if (records.empty()) {
    const auto timed = [](const StoredRow& stored) { return stored.row.time_median_s.has_value(); };
    if (std::none_of(results.rows.begin(), results.rows.end(), timed)) refuse_timeless(results);
    throw UsageError(fmt::format("{}: no model can be fitted, all {} series of times have too few sizes; measure more",
                                 results.folder.string(), left_out));
  }
  std::string text = csv_record(model_columns());
  const std::size_t status = model_column("status");
  std::map<std::string, int> by_status;
  for (const Fields& record : records) {
    text += csv_record(record);
    ++by_status[record[status]];
  }
  const std::string not_written =
      why_not([&] { write_whole_file(path, path.extension() == ".gz" ? gzip_member(text) : text); });
  const auto end = [&] {
    if (!not_written.empty()) throw OutputError(not_written);
    return exit_ok;
  };
  if (options.csv) fmt::print("{}", text);
  if (options.csv || options.quiet) return end();
  const bool some = !options.all && records.size() > table_rows;
  const std::vector<Fields> shown = some ? a_page_of(records) : records;
  if (!shown.empty()) print(shown);
  if (some)
    say(shown.empty() ? "No model fits; --all prints why"
                      : fmt::format("Shown: each variant's highest bandwidth in experiment {}; --all prints all models",
                                    shown.front()[model_column("experiment")]));
  if (!not_written.empty()) return end();
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
  sub->add_option(
      "folder", options->folder,
      "The results folder (default: the one in out/results), to which models.csv or models.csv.gz is written");
  add_confidence(*sub, [options](double share) { options->confidence = share; });
  sub->add_flag("--csv", options->csv, "Print the table as it is written to models.csv");
  sub->add_flag("--all", options->all, "Print all models, however many");
  sub->add_flag("--quiet", options->quiet, "Print nothing");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
