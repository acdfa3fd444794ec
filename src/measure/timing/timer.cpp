#include "measure/timing/timer.h"

#include <vector>

namespace reductio {

std::string timing_refusal(const Variant& v, ResultLocation result, TimingMode mode, CacheState cache) {
  if (v.consumes_input) {
    if (mode == TimingMode::graph)
      return "overwrites its input, which a graph of many calls cannot restore in between";
    if (cache == CacheState::warm) return "overwrites its input: restoring it decides what the cache holds";
  }
  switch (mode) {
    case TimingMode::device:
    case TimingMode::graph:
      if (result == ResultLocation::host_part) return "finishes on the host; timed end to end";
      [[fallthrough]];
    case TimingMode::launch_to_idle:
      if (result == ResultLocation::on_host) return "blocks until its result is on the host; timed end to end";
      return {};
    case TimingMode::end_to_end: return {};
    case TimingMode::clock:
    case TimingMode::globaltimer: return v.reads_clock ? "" : "its kernels do not read the clock";
  }
  return "unknown timing mode";
}

void keep_for_ever(void* p) {
  static auto* kept = new std::vector<void*>;
  kept->push_back(p);
}

}  // namespace reductio
