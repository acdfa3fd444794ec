#pragma once
/// goals.csv: which goals of the project's own reduction (paper/goals-set.csv) a results folder meets.

#include <filesystem>
#include <string>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/schema.h"

namespace reductio {

/// The columns of goals.csv. Without `demanded`, a mean is reported for a type and way of timing. Beside an extreme
/// stand the interval of its point (`low`, `high`) and where that is (`at`, `at_n`).
const std::vector<TableColumn>& goal_schema();

/// The records of goals.csv, header included: a row for each demand of each goal. A goal's points are an experiment's
/// rows of one call, these types and timing modes, and these sizes: "odd" are 2^k - 1 and 2^k + 1 elements and starts
/// off alignment by one, "even" all others. Speedups over CUB are the rows' of random data, or those of the contrasts
/// that the goal names, whose verdicts say what is slower or undecided. A least or a mean is met by its value; what the
/// interval leaves open is counted by `undecided`. A goal of which a point failed or has no value is not measured,
/// unless the others miss it whatever that point had given. `points` counts those that have a value. Another GPU is one
/// for which tuned's launch table was not made. Empty where the folder has no tuned.csv.
std::vector<Fields> goal_table(const std::vector<Fields>& set, const std::string& file,
                               const std::vector<Fields>& contrast_records, const std::filesystem::path& folder);

}  // namespace reductio
