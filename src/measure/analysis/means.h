#pragma once
/// means.csv: medians and means of columns that texts and figures name, of a results folder's tables.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/schema.h"

namespace reductio {

/// The columns of means.csv: `value` is the `take` (median or geometric mean) of `column` over `points` records of
/// `file`; `unit` is theirs, where that table has units.
const std::vector<TableColumn>& mean_schema();

/// The records of means.csv, header included: those of the list's `means` (paper/contrasts.json explains them) whose
/// table the folder has. `file` names the list in messages. Throws UsageError for a malformed entry.
std::vector<Fields> mean_table(std::string_view list, const std::string& file, const std::filesystem::path& folder);

}  // namespace reductio
