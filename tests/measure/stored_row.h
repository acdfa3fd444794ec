#pragma once
/// A row of results with samples that are known, for tests of what is made of a results folder.

#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <string>

#include "measure/results/reader.h"

namespace reductio {

/// A row of `mode`, whose calls took about so long, by a factor that a context has in common with all rows of it.
/// `contexts` with `each` samples.
inline StoredRow stored_row(const std::string& variant, const std::string& settings, double seconds,
                            TimingMode mode = TimingMode::device, std::size_t n = 1024,
                            const std::string& experiment = "levels", int contexts = 12, int each = 3) {
  StoredRow out;
  out.row.run_id = "run of " + experiment;
  out.row.experiment = experiment;
  out.row.status = Status::ok;
  out.row.timer_resolution_s = 1e-9;
  out.row.point.variant = variant;
  out.row.point.settings = settings;
  out.row.point.device = DeviceKind::cuda;
  out.row.point.problem = {Operation::sum, ElementType::f32, n};
  out.row.point.timing_mode = mode;
  out.row.point.dataset = "random";
  std::mt19937 of_context(1), of_row(static_cast<unsigned>(std::hash<std::string>()(variant + settings) % 1000));
  for (int c = 0; c < contexts; ++c) {
    const double common = std::exp(std::normal_distribution(0.0, 0.2)(of_context));
    for (int i = 0; i < each; ++i) {
      const double s = seconds * common * std::exp(std::normal_distribution(0.0, 0.001)(of_row));
      out.seconds.emplace_back(s);
      out.contexts.push_back(c);
      if (mode == TimingMode::end_to_end) out.device_part_s.emplace_back(s / 4);
      if (mode == TimingMode::clock) out.cycles.emplace_back(1e9 * s);
    }
  }
  out.row.time_median_s = seconds;
  return out;
}

}  // namespace reductio
