#pragma once
/// The project's own Python, which draws: the package src/report.

#include <string>

namespace reductio::cli {

/// How a shell starts a module of src/report ("page", "plot"): by the Python that called the program, else by the .venv
/// of reductio's source folder or python3. Without the package or a Python throws a UsageError that begins with `who`
/// ("--out") and ends with `instead` ("or leave --out out").
std::string report_script(const std::string& module, const std::string& who, const std::string& instead);

}  // namespace reductio::cli
