#include "measure/timing/host_clock.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace reductio {

double host_now() {
  // Since the first reading, so that a double holds nanoseconds however long the machine has been up.
  static const auto first = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count();
}

double host_clock_resolution_s() {
  double resolution = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    const double start = host_now();
    double now = start;
    while (now == start) now = host_now();
    resolution = std::min(resolution, now - start);
  }
  return resolution;
}

}  // namespace reductio
