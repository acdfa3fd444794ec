#pragma once
/// Columns of a program are those of the user's file, though his macros are expanded.

#include <string>

namespace reductio {

/// Of a preprocessed source: the tokens of each of the user's lines moved to the columns in which his file has them.
/// What his macros expand to stands behind known_column() (device/sim/place.h): it has no column.
std::string with_columns_of_file(const std::string& preprocessed);

}  // namespace reductio
