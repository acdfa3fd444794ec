#pragma once
/// src/report/schema.json tells Python the columns of rows, raw samples, models, contrasts and releases.

#include <string>

namespace reductio {

/// Its content: the schema's version; of each table the columns' names and kinds, which of them tell points apart
/// ("key"), which a file may lack ("optional"), and the words of those that have a list of them.
std::string schema_json();

}  // namespace reductio
