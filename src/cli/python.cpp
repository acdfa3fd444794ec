#include "cli/python.h"

#include <cstdlib>
#include <filesystem>

#include "cli/terminal.h"
#include "core/error.h"
#include "core/program_file.h"

namespace reductio::cli {
namespace {

namespace fs = std::filesystem;

/// reductio's source folder: the current one or one above, or the one that the program was built in. Empty: neither.
fs::path source_folder_with(const std::string& script) {
  std::error_code none;
  for (const fs::path& start : {fs::current_path(none), program_file().parent_path()})
    for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
      if (fs::exists(folder / "paper" / script, none)) return folder;
      if (folder == folder.root_path()) break;
    }
  return {};
}

}  // namespace

std::string python_script(const std::string& script, const std::string& who, const std::string& instead) {
  const fs::path project = source_folder_with(script), venv = project / ".venv" / "bin" / "python";
  if (project.empty())
    throw UsageError(who + " needs reductio's source folder, which holds paper/" + script + "; go there" + instead);
  const bool own = fs::exists(venv);
  if (!own && std::system("command -v python3 >/dev/null 2>&1") != 0)
    throw UsageError(who + " needs python3 with the packages of requirements.txt; install them" + instead);
  return (own ? quoted(venv.string()) : "python3") + " " + quoted((project / "paper" / script).string());
}

}  // namespace reductio::cli
