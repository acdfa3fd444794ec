#pragma once
/// src/report/schema.json tells Python the columns of rows, raw samples and models, and the timing modes.

#include <string>

namespace reductio {

/// Its content: the timing modes; of each table the columns' names and kinds, which of them tell points apart ("key"),
/// which a file may lack ("optional"), and the words that its `status` knows.
std::string schema_json();

}  // namespace reductio
