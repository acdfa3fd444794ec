#include "measure/results/row.h"

#include <fmt/format.h>

#include "measure/results/fields.h"

namespace reductio {
namespace {

template <class T>
std::string field(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

}  // namespace

std::string_view name(Status s) {
  switch (s) {
    case Status::ok: return "ok";
    case Status::refused: return "refused";
    case Status::failed: return "failed";
    case Status::wrong: return "wrong";
    case Status::impossible: return "impossible";
    case Status::timeout: return "timeout";
  }
  return "?";
}

const std::vector<std::string>& columns() {
  static const std::vector<std::string> all{
      "schema_version", "run_id", "timestamp_utc", "experiment", "machine", "device", "variant", "operation",
      "element_type", "accumulator_type", "n", "offset_elements", "dataset", "seed", "block_threads", "grid_blocks",
      "settings", "timing_mode", "cache_state", "n_samples", "n_rejected", "timer_tick_s", "time_median_s",
      "time_ci_low_s", "time_ci_high_s", "time_min_s", "time_p95_s", "device_part_median_s", "cycles_median",
      "read_time_s", "launch_floor_s", "bytes", "bandwidth_bytes_per_s", "share_of_read_ceiling", "result", "result2",
      "abs_error", "error_bound", "status", "reason"};
  return all;
}

std::optional<double> Row::bandwidth_bytes_per_s() const {
  if (!time_median_s || *time_median_s <= 0) return std::nullopt;
  return static_cast<double>(point.problem.bytes()) / *time_median_s;
}

std::vector<std::string> Row::fields() const {
  const Problem& p = point.problem;
  return {std::to_string(schema_version),
          run_id,
          timestamp_utc,
          experiment,
          machine,
          std::string(name(point.device)),
          point.variant->id,
          std::string(name(p.operation)),
          std::string(name(p.type)),
          std::string(name(p.accumulator())),
          std::to_string(p.n),
          std::to_string(point.offset_elements),
          point.dataset,
          std::to_string(point.seed),
          field(block_threads),
          field(grid_blocks),
          point.settings.str(),
          std::string(name(point.timing_mode)),
          std::string(name(point.cache_state)),
          std::to_string(n_samples),
          std::to_string(n_rejected),
          field(timer_resolution_s),
          field(time_median_s),
          field(time_ci_low_s),
          field(time_ci_high_s),
          field(time_min_s),
          field(time_p95_s),
          field(device_part_median_s),
          field(cycles_median),
          field(read_time_s),
          field(launch_floor_s),
          std::to_string(p.bytes()),
          field(bandwidth_bytes_per_s()),
          field(share_of_read_ceiling),
          result,
          result2,
          field(abs_error),
          field(error_bound),
          std::string(name(status)),
          reason};
}

std::string row_key(const Point& p) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", name(p.device), p.variant->id, name(p.problem.operation),
                     name(p.problem.type), p.problem.n, p.offset_elements, p.dataset, p.seed, p.settings.str(),
                     name(p.timing_mode), name(p.cache_state));
}

std::string row_key(const std::vector<std::string>& fields) {
  static const KeyColumns keys(columns());
  return keys.of_row(fields);
}

}  // namespace reductio
