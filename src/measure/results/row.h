#pragma once
/// One row of results: a point, how it was timed, and what came out. The columns are a published format: one schema
/// version fixes their names, order and units. Figures, paper and users read nothing else. schema.h maps members to
/// columns.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/point.h"
#include "measure/results/csv.h"

namespace reductio {

inline constexpr int schema_version = 3;

enum class Status {
  ok,
  refused,     ///< the variant, its library or the harness declines this point; `reason` says who and why
  over_limit,  ///< a call takes longer than the experiment's limit
  failed,      ///< the device reported an error
  wrong,       ///< a result outside its error bound; times are withheld
  impossible,  ///< faster than the hardware allows: not all was read, or the measurement is wrong
  timeout,     ///< no result within the harness's patience
  no_memory,   ///< the device has not the memory for the input or for what the variant needs beside it
};
inline constexpr Status all_statuses[] = {Status::ok,    Status::refused,    Status::over_limit, Status::failed,
                                          Status::wrong, Status::impossible, Status::timeout, Status::no_memory};
inline constexpr std::size_t statuses = std::size(all_statuses);
std::string_view name(Status);
std::string_view in_words(Status);  ///< "measured", "over the limit", "refused"

struct Row {
  std::string run_id, timestamp_utc, experiment, machine;
  PointKey point;
  std::optional<std::size_t> grid_blocks;
  std::optional<unsigned> block_threads;
  std::size_t n_samples = 0, n_rejected = 0;
  std::optional<double> timer_resolution_s, time_median_s, time_ci_low_s, time_ci_high_s, time_min_s, time_p95_s;
  /// Plans that finish on the host: their device part alone, with an interval as the row's own.
  std::optional<double> device_part_median_s, device_part_ci_low_s, device_part_ci_high_s;
  std::optional<double> cycles_median;         ///< the kernel's own clock readings
  std::optional<double> read_time_s;           ///< the read ceiling: best read-only kernel, same n and cache state
  std::optional<double> launch_floor_s;        ///< an empty kernel, timed in the same rounds
  std::optional<double> polled_launch_floor_s;  ///< end to end: one that the host polls for
  std::optional<double> share_of_read_ceiling;  ///< median over rounds of t_read / t
  std::string speedup_reference;               ///< the variant that `speedup` is over, timed in the same rounds
  std::optional<double> speedup, speedup_ci_low, speedup_ci_high;
  std::optional<bool> speedup_enough;          ///< false: too few contexts, the interval is min..max of them
  std::string result, result2;  ///< as text that reads back exactly; the second of moments alone
  std::optional<double> abs_error, error_bound;
  std::optional<double> exact_result, sum_of_magnitudes;  ///< of floats: what errors are relative to
  std::optional<std::size_t> distinct_results;            ///< bit patterns among results of the unchanged input
  Status status = Status::ok;
  std::string reason;  ///< why it is not ok; for ok rows, what a reader of the interval must know

  /// Input bytes, counted once, over the median; nothing where there is no time.
  std::optional<double> bandwidth_bytes_per_s() const;

  /// The fields in the order of columns(). Numbers to as many digits as their columns say; empty means missing.
  Fields fields() const;
  /// Fields in the order of columns() read back. Throws UsageError for what is no such value.
  static Row parse(const Fields&);
  /// One of them, by its column's name. Throws std::out_of_range for a column that there is not.
  std::string at(std::string_view column) const;
};

/// The harness calls behind the launch floors; all others make the read ceiling.
inline constexpr std::string_view launch_floor_name = "(launch-floor)", polled_floor_name = "(polled-launch-floor)";

/// One timed call, as the raw samples beside the rows record it.
struct RawSample {
  std::string run_id;
  /// The row's key. The harness's own calls have their group's, with "(launch-floor)", "(polled-launch-floor)" or a
  /// read-only kernel's name, "(read/...)", as variant and no settings.
  PointKey point;
  int round = 0, context = 0;
  std::optional<double> time_s, device_part_s, cycles;
  bool voided = false;             ///< with its whole round, in which the clock was throttled

  bool of_harness() const { return point.variant.starts_with('('); }
};

/// The names of the columns of rows and of raw samples, in order.
const std::vector<std::string>& columns();
const std::vector<std::string>& sample_columns();

/// The fields of the point's columns, joined: distinct within one results file. `without`: all but that column.
std::string row_key(const PointKey&, std::string_view without = {});
/// What points that were sampled together share: all of it but variant and settings.
std::string group_key(const PointKey&);

}  // namespace reductio
