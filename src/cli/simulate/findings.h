#pragma once
/// Findings as files that other programs read.

#include <string>
#include <vector>

#include "cli/simulate/run.h"

namespace reductio::cli {

/// Which run has found it first.
struct Found {
  Finding finding;
  std::string order, optimization;
};

/// One document on stdout: program's output and exit code, runs, findings.
void print_json(const std::vector<Run>&, const std::vector<Found>&, int exit_code);
/// SARIF 2.1.0. Throws UsageError where the file cannot be written.
void write_sarif(const std::string& file, const std::vector<Found>&);

}  // namespace reductio::cli
