#pragma once
/// One row of results: a point, how it was timed, and what came out. The columns are a published format: their names,
/// order and units are fixed for one schema version, and figures, paper and users read nothing else.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/point.h"

namespace reductio {

inline constexpr int schema_version = 1;

enum class Status {
  ok,
  refused,     ///< the variant, the harness or the experiment's limit declines this point; `reason` says who and why
  failed,      ///< the device reported an error
  wrong,       ///< a result outside its error bound; times are withheld
  impossible,  ///< faster than the memory can be: the measurement is at fault
  timeout,     ///< no result within the harness's patience
};
inline constexpr int statuses = 6;
std::string_view name(Status);

struct Row {
  std::string run_id, timestamp_utc, experiment, machine;
  Point point;
  std::optional<std::size_t> grid_blocks;
  std::optional<unsigned> block_threads;
  std::size_t n_samples = 0, n_rejected = 0;
  std::optional<double> timer_resolution_s, time_median_s, time_ci_low_s, time_ci_high_s, time_min_s, time_p95_s;
  std::optional<double> device_part_median_s;  ///< plans that finish on the host: their device part alone
  std::optional<double> cycles_median;         ///< the kernel's own clock readings
  std::optional<double> read_time_s;           ///< the read ceiling: best read-only kernel, same n and cache state
  std::optional<double> launch_floor_s;        ///< an empty kernel, timed in the same rounds
  std::optional<double> share_of_read_ceiling;  ///< median over rounds of t_read / t
  std::string result, result2;                 ///< as text that reads back exactly
  std::optional<double> abs_error, error_bound;
  Status status = Status::ok;
  std::string reason;  ///< why it is not ok; for ok rows, what a reader of the interval must know

  /// Input bytes, counted once, over the median; nothing where there is no time.
  std::optional<double> bandwidth_bytes_per_s() const;
  /// The fields in the order of columns(). Numbers in the shortest form that reads back exactly; empty means missing.
  std::vector<std::string> fields() const;
};

/// The names of the columns, in order.
const std::vector<std::string>& columns();

/// What tells one row of an experiment from another; rows of one results file have distinct keys. The same text is
/// made from a point and from the fields of a row that was read back.
std::string row_key(const Point&);
std::string row_key(const std::vector<std::string>& fields);

}  // namespace reductio
