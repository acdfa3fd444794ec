/// reductio record: makes tables that another program wrote part of a results folder: a run_id in each line, and in
/// machine.json the run, its revision, its machine and the tables' SHA-256.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <utility>

#include "cli/commands.h"
#include "cli/selection.h"
#include "core/error.h"
#include "measure/results/machine.h"
#include "measure/results/provenance.h"

namespace reductio::cli {
namespace {

struct RecordOptions {
  SelectionOptions selection;
  std::vector<std::string> files;
  std::string tool;
};

int run(const RecordOptions& options, const std::vector<std::string>& command_line) {
  const auto device = options.selection.parse().device.value_or(DeviceKind::cuda);
  std::vector<std::string> names;
  const auto folder = std::filesystem::path(options.files.front()).parent_path();
  for (const std::filesystem::path file : options.files) {
    if (file.parent_path() != folder || file.extension() != ".csv")
      throw UsageError("record takes .csv files of one results folder, not '" + file.string() + "'");
    names.push_back(file.filename().string());
  }
  const auto backend = open_backend(device, options.selection.gpu);
  const std::string tool = options.tool.empty() ? std::filesystem::path(names.front()).stem().string() : options.tool;
  const std::string id =
      record_tool(folder.empty() ? "." : folder, describe_machine(*backend), tool, command_line, names);
  fmt::print("{}\n", id);
  return exit_ok;
}

}  // namespace

Command add_record(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<RecordOptions>();
  CLI::App* sub = app.add_subcommand("record", "Record in machine.json which run other programs' tables come from");
  sub->add_option("files", options->files, "The tables, .csv files in a machine's results folder")
      ->type_name("FILE...")
      ->required();
  sub->add_option("--tool", options->tool, "The program that wrote them (default: the first table's name)")
      ->type_name("NAME");
  options->selection.add_device(*sub);
  return {sub, [options, command_line = std::move(command_line)] { return run(*options, command_line); }};
}

}  // namespace reductio::cli
