#pragma once
/// contrasts.csv: what a list of contrasts says of a results folder. A contrast is a product of powers of times: the
/// quotient of two is a speedup, the mean of many such quotients a main effect, one time alone a time. All numbers that a
/// claim, a figure or a sentence takes from raw samples are made here, by one rule (product_of in stats/ratio.h).

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/point.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"

namespace reductio {

/// One contrast of the list, of one element type.
struct Contrast {
  struct Point {
    double power = 1;
    std::string call;  ///< as core/call.h has it; a `*` in the variant's id stands for any part of it
    std::string way;   ///< a timing mode, or one of:
  };
  static constexpr std::string_view device_part = "device_part";  ///< of end-to-end rows: what the GPU takes
  static constexpr std::string_view rest = "rest";                ///< of the same: all but that

  std::string name;
  std::vector<std::string> experiments;  ///< the first that has every point answers
  std::vector<Point> points;
  DeviceKind device = DeviceKind::cuda;
  Operation operation = Operation::sum;
  ElementType type = ElementType::f32;
  std::string timing_mode;  ///< the way of points that name none; clock gives cycles
  CacheState cache_state = CacheState::cold_dirty;
  std::string caller, context;  ///< of the rows; empty: rows that have none
  std::size_t offset_elements = 0;
  std::vector<std::size_t> sizes;  ///< empty: all that were measured
  double confidence = 0.95;
  double effect = 0.01;  ///< the smallest that counts for the verdict
};

/// Reads paper/contrasts.json, whose head tells its form: one contrast for each name, value of `for` and element type.
/// `file` names it in messages. Throws UsageError for what is malformed, and for a name that stands twice.
std::vector<Contrast> contrasts_in(std::string_view text, const std::string& file);

/// The columns of contrasts.csv:
///   value               of the contrast; empty where the folder lacks something, as `reason` says. Seconds, or cycles,
///                       of one time to the first power; else a ratio, where the powers add up to 0
///   ci_low, ci_high     its interval of that `confidence`
///   clusters            contexts that it is made of
///   pairs               by how many replacements of `*` it was averaged; 1 without
///   enough              no: too few contexts for the confidence, the interval is min..max of them
///   verdict             of ratios: FASTER, SLOWER, SAME or UNDECIDED against the contrast's effect
const std::vector<TableColumn>& contrast_schema();

/// The records of contrasts.csv, header included, in the list's order and then by n. A contrast of device cpu is of
/// `cpu`'s rows. The same for the same results.
std::vector<Fields> contrast_table(const std::vector<Contrast>&, const StoredResults& folder, const StoredResults& cpu);

}  // namespace reductio
