#pragma once
/// The project's own Python, which draws: paper/ of reductio's source folder.

#include <string>

namespace reductio::cli {

/// How a shell starts a script of paper/, by the .venv of reductio's source folder or else by python3. Without either
/// throws a UsageError that begins with `who` ("--out") and ends with `instead` ("or leave --out out").
std::string python_script(const std::string& script, const std::string& who, const std::string& instead);

}  // namespace reductio::cli
