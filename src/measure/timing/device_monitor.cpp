#include "measure/timing/device_monitor.h"

#include <algorithm>
#include <vector>

#include "measure/stats/statistics.h"

namespace reductio {

CacheProbe probe_of(std::size_t bytes, int intervals, const std::function<double(CacheState)>& interval_s) {
  const auto timed = [&](CacheState cache) {
    std::vector<double> s;
    for (int i = 0; i < intervals; ++i) s.push_back(interval_s(cache));
    return median(s);
  };
  CacheProbe probe{.bytes = bytes};
  probe.warm_s = timed(CacheState::warm);
  probe.cold_clean_s = timed(CacheState::cold_clean);
  probe.cold_dirty_s = timed(CacheState::cold_dirty);
  return probe;
}

bool SettleDetector::wait(const std::function<double()>& measure, const std::function<void()>& pause) {
  int fast = 1;  // in a row; one is enough unless another was slow
  for (int pauses = 0;; ++pauses) {
    const double s = measure();
    least_s_ = std::min(least_s_, s);
    fast = s <= 1.05 * least_s_ ? fast + 1 : 0;
    if (fast == 2) return true;
    if (pauses == 500) return false;
    pause();
  }
}

}  // namespace reductio
