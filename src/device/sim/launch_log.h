#pragma once
/// Which launches nothing orders because they are of different streams. Streams are queues whose work runs only when
/// the host waits for it. So a launch comes after those of other streams that ran before it was enqueued. If one of
/// another stream ran later, a GPU may run the two at once.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace reductio::sim {

/// Where and when a launch was enqueued.
struct Enqueued {
  const void* stream = nullptr;
  std::uint32_t before = 1;  ///< the serial that the next block was to have: those of lower ones had run
};

/// The launches since work was last enqueued while none waited, in order.
class LaunchLog {
 public:
  /// A launch begins, whose first block's serial is `first`. Returns that of the first block since it was enqueued that
  /// another stream ran; `first` if there is none.
  std::uint32_t begin(std::uint32_t first, const Enqueued& launch) {
    std::uint32_t from = first, end = first;
    for (auto run = runs_.rbegin(); run != runs_.rend() && end > launch.before; ++run) {
      if (run->stream != launch.stream) from = std::max(run->first, launch.before);
      end = run->first;
    }
    if (runs_.empty() || runs_.back().stream != launch.stream) runs_.push_back({first, launch.stream});
    stream_ = launch.stream;
    return from;
  }
  /// Of a block that begin() covers: whether its stream is another one than that of the launch that runs.
  bool by_another_stream(std::uint32_t serial) const {
    const auto next = std::upper_bound(runs_.begin(), runs_.end(), serial,
                                       [](std::uint32_t s, const Run& run) { return s < run.first; });
    return next != runs_.begin() && std::prev(next)->stream != stream_;
  }
  void forget() { runs_.clear(); }

 private:
  /// Launches of one stream, one after the other.
  struct Run {
    std::uint32_t first;  ///< its first block's serial
    const void* stream;
  };
  std::vector<Run> runs_;
  const void* stream_ = nullptr;
};

}  // namespace reductio::sim
