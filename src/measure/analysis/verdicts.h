#pragma once
/// verdicts.csv: what a results folder says of the documents' claims (paper/claims.json, whose `reading` tells the
/// rules). Two kinds of test: a contrast against what is expected of it, and a count against a limit.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/contrast_list.h"
#include "measure/results/csv.h"
#include "measure/results/schema.h"

namespace reductio {

/// The words of a claim's verdict, in the order in which they are counted.
const std::vector<std::string>& claim_verdicts();

/// The columns of verdicts.csv. A row's `role`: `claim`, the verdict that counts; `large`, the same at 2^28; `step`,
/// one of several tests behind either; `beside`, what is told and decides nothing.
const std::vector<TableColumn>& verdict_schema();

/// The records of verdicts.csv, header included, from those of contrasts.csv (also with its header; none: there is no
/// such file) and the tables of tools in the folder. `file` names the claims' text in messages. Throws UsageError where
/// the claims are malformed or name a contrast that the list lacks.
std::vector<Fields> verdict_table(std::string_view claims, const std::string& file, const std::vector<Contrast>&,
                                  const std::vector<Fields>& contrast_records, const std::filesystem::path& folder);

}  // namespace reductio
