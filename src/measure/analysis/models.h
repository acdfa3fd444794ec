#pragma once
/// models.csv: the model of model.h for all of a results folder. One record for each variant, settings, operation,
/// type, timing mode, cache state, and side of the cache's size.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"

namespace reductio {

/// The columns, in order. SI units are in the names, empty means missing. Beside what the rows say:
///   run_id       of the rows, so that a reader sees when the models are of another run than the rows beside them
///   variant      or "(read-ceiling)": the harness's fastest kernel that only reads
///   timing_mode  of the rows, or "device_part": the device's share of end-to-end rows
///   range        "inside": inputs that the cache could hold, n * size <= cache_bytes; "beyond": larger ones. Fitted
///                apart, because a warm cache serves the first and not the second; and with a flushed cache, because
///                the lines that the flush left are written back during the first and long before the end of the
///                second. "all" where the cache's size is unknown.
///   cache_bytes  L2 of a GPU, the last-level cache of a CPU
///   status       "ok"; "does_not_fit": a residual passes 5 %, and the model's numbers are
///                withheld; "too_few_sizes", where there are enough on the other side of the cache's size
const std::vector<TableColumn>& model_schema();

/// Their names.
const std::vector<std::string>& model_columns();
/// Where one of them stands. Throws std::out_of_range where there is none of that name.
std::size_t model_column(std::string_view name);

struct ModelTable {
  std::vector<Fields> records;  ///< in the order of model_columns(), sorted
  std::size_t left_out = 0;     ///< series without a record, because there are too few sizes for any model
};

/// The same for the same results, by as many threads as there are CPUs. show(done, total) is called by this one.
ModelTable model_table(const StoredResults&, double confidence,
                       const std::function<void(std::size_t, std::size_t)>& show = {});

}  // namespace reductio
