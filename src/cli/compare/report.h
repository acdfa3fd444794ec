#pragma once
/// What came out of a comparison: as a table with conclusions in words, as JSON or CSV, and as an exit code.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/compare/command.h"
#include "measure/analysis/compare.h"

namespace reductio::cli {

/// What the last lines say, one for each that was compared with the base.
struct Wording {
  std::string base;                                 ///< what the base is called
  std::function<std::string(const Compared&)> who;  ///< what the other one is called
  std::string how;                                  ///< how it was measured
  const nlohmann::ordered_json& origins;            ///< of each side, for --json: compare/origins.h
  std::string advice{};                             ///< "; ...": what might decide UNDECIDED rows
};

/// Throws OutputError where --json-to could not be written, once the rest is printed.
void print(const Comparison&, const Wording&, const CompareOptions&);

/// The exit code that the verdicts call for. A row that could not be compared is not decided; where none could, more
/// samples would not help, so that is an error even to --fail-if-slower.
int verdict(const Comparison&, const CompareOptions&);

}  // namespace reductio::cli
