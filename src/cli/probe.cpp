/// reductio probe: the clocks of a GPU's SMs and the latency of its loads, atomic updates and messages, into a results
/// folder.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"
#include "measure/results/provenance.h"
#include "measure/timing/probes.h"

namespace reductio::cli {
namespace {

struct ProbeOptions {
  SelectionOptions selection;
  std::string out = default_out();
  bool quiet = false;
};

/// Of each quantity and unit, over all SMs and repeats.
void print(const std::vector<Probe>& probes) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> values;
  for (const Probe& p : probes) values[{p.quantity, p.unit}].push_back(p.value);
  Table table({"quantity", "unit", "records", "least", "median", "most"});
  for (auto& [what, all] : values) {
    std::sort(all.begin(), all.end());
    table.add({what.first, what.second, std::to_string(all.size()), fmt::format("{:.6g}", all.front()),
               fmt::format("{:.6g}", all[all.size() / 2]), fmt::format("{:.6g}", all.back())});
  }
  table.print();
}

int run(const ProbeOptions& options, const std::vector<std::string>& command_line) {
  const Selection selection = options.selection.parse();
  const DeviceKind device = selection.device.value_or(DeviceKind::cuda);
  if (device != DeviceKind::cuda)
    throw UsageError(
        fmt::format("device {} has no SM clocks; probe a GPU (--device cuda)", name(device)));
  const auto backend = open_backend(DeviceKind::cuda, options.selection.gpu);
  const Machine machine = describe_machine(*backend);
  const auto path = std::filesystem::path(options.out) / machine.name / "probes.csv";
  std::filesystem::create_directories(path.parent_path());
  check_destination(path, "choose another --out");
  const std::vector<Probe> probes = probe_gpu(*backend);
  const std::string not_written = why_not([&] {
    write_whole_file(path, probes_csv(probes));
    record_tool(path.parent_path(), machine, "probe", command_line, {path.filename().string()});
  });
  if (!options.quiet || !not_written.empty()) print(probes);
  if (!not_written.empty()) throw OutputError(not_written);
  if (!options.quiet) fmt::print("\n{} records in {}\n", probes.size(), path.string());
  return exit_ok;
}

}  // namespace

Command add_probe(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<ProbeOptions>();
  CLI::App* sub =
      app.add_subcommand("probe", "Measure a GPU's SM clocks and the latency of its loads, atomics and messages");
  sub->add_option("--out", options->out, "Records go to DIR/<machine>/probes.csv")
      ->type_name("DIR")
      ->capture_default_str();
  options->selection.add_device(*sub);
  sub->add_flag("--quiet", options->quiet, "Print nothing");
  return {sub, [options, command_line = std::move(command_line)] { return run(*options, command_line); }};
}

}  // namespace reductio::cli
