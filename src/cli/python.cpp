#include "cli/python.h"

#include <cstdlib>
#include <filesystem>

#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/program_file.h"

namespace reductio::cli {
namespace {

namespace fs = std::filesystem;

/// The folder that holds the package `report`: that of the Python package, else `src` of reductio's source folder. That
/// is the current one or one above, or the one that the program was built in. Empty: none.
fs::path folder_of_report() {
  std::error_code none;
  const auto holds_it = [&](const fs::path& folder) { return fs::exists(folder / "report" / "__main__.py", none); };
  const fs::path here = program_file().parent_path();
  if (holds_it(here)) return here;
  for (const fs::path& start : {fs::current_path(none), here})
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (holds_it(folder / "src")) return folder / "src";
      if (folder == folder.root_path()) break;
    }
  return {};
}

}  // namespace

std::string report_script(const std::string& module, const std::string& who, const std::string& instead) {
  const fs::path folder = folder_of_report();
  if (folder.empty())
    throw UsageError(who + " needs reductio's source folder, which holds src/report; go there" + instead);
  const fs::path venv = folder.parent_path() / ".venv" / "bin" / "python";
  const char* const caller = std::getenv("REDUCTIO_PYTHON");  // the package sets it
  std::string python = "python3";
  if (caller)
    python = quoted(caller);
  else if (fs::exists(venv))
    python = quoted(venv.string());
  else if (std::system("command -v python3 >/dev/null 2>&1") != 0)
    throw UsageError(who + " needs python3 with the packages of requirements.txt; install them" + instead);
  return python + " " + quoted((folder / "report").string()) + " " + module;
}

}  // namespace reductio::cli
