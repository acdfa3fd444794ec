/// reductio report: results folders as one page for a browser, made by src/report/page.py.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/python.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"

namespace reductio::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> folders;
  std::string out = "report.html", samples = "means";
};

int run(const ReportOptions& options) {
  if (const std::string& s = options.samples; s != "means" && s != "all" && s != "none")
    throw UsageError("--samples takes means, all or none, not '" + s + "'");
  check_option("--out", options.out);
  std::string command = report_script("page", "report", "");
  std::vector<std::string> folders = options.folders;
  if (folders.empty()) folders.push_back(folder_or_default("", "report"));
  for (const std::string& folder : folders) command += " " + quoted(folder);
  command += " --out " + quoted(options.out) + " --samples " + quoted(options.samples);
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
