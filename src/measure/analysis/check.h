#pragma once
/// Whether a results folder says what its samples give: from files as their runs wrote them to rows and tables.

#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/reader.h"

namespace reductio {

/// Files that are missing or not as their run or tool wrote them, by the SHA-256 in machine.json; a line each.
std::vector<std::string> changed_files(const StoredResults&);

/// Columns of rows that are not what the rows' samples give; a line for each row.
std::vector<std::string> rows_unlike_samples(const StoredResults&);

/// Records of a table that are not those that were made anew; a line each. `key`: the columns that name a record.
std::vector<std::string> records_unlike(const std::string& file, std::string_view text, const std::vector<Fields>& anew,
                                        const std::vector<std::string>& key);

}  // namespace reductio
