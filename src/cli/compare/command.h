#pragma once
/// reductio compare: what was asked for, and the two ways to answer it.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/selection.h"
#include "measure/plan/budget.h"
#include "measure/session/run_experiment.h"

namespace reductio::cli {

struct CompareOptions {
  std::vector<std::string> what;
  SelectionOptions selection;
  RunOptions run;
  std::string modes, cache, dataset = "random", effect = "1%", out = default_out(), save, baseline, json_to;
  bool csv = false, json = false, quiet = false, fail_if_slower = false, common = false, separately = false,
       force = false, until_decided = false;
  std::vector<std::string> experiments;  ///< of stored results; empty: all
  std::vector<std::string> relative_to;  ///< variants
  std::vector<std::string> live_only;    ///< options given that mean nothing for stored results
};

/// --effect as a share; throws UsageError for what is no share above 0.
double parse_effect(const std::string& text);

/// After so many contexts --until-decided looks whether all rows are decided, and ends if they are; after the last in
/// any case. Doubling, so that the error that is allowed is divided over few looks.
inline constexpr std::array looks{20, 40, 80};

/// The rules of sampling for so many intervals, which hold at once unless `separately`: the more there are, the more
/// contexts. Throws UsageError for what is asked wrongly.
SamplingRules chosen_rules(const CompareOptions&, std::size_t intervals = 1);

/// Variants, measured now and in turn: with each other, or each with itself in a baseline. Gives the exit code.
int compare_live(CompareOptions&);

/// Two or more results folders, the base first. Gives the exit code.
int compare_stored(const CompareOptions&, double confidence);

}  // namespace reductio::cli
