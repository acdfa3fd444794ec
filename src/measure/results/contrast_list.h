#pragma once
/// The list of contrasts, paper/contrasts.json. A contrast is a product of powers of times: a speedup is a quotient of
/// two, a main effect the mean of many quotients, and one time alone a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/point.h"

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
  std::string caller;  ///< of the rows; empty: rows that have none
  std::size_t offset_elements = 0;
  std::string dataset = "random";
  std::vector<std::size_t> sizes;  ///< empty: all that were measured
  double confidence = 0.95;
  double effect = 0.01;  ///< the smallest that counts for the verdict
};

/// Reads paper/contrasts.json, whose `reading` explains its form: one contrast for each name, value of `for` and
/// element type. `file` names it in messages. Throws UsageError for malformed entries and repeated names.
std::vector<Contrast> contrasts_in(std::string_view text, const std::string& file);

}  // namespace reductio
