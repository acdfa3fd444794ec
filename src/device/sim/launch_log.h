#pragma once
/// Which launches nothing orders. Streams are queues whose work runs only when the host waits for it. So a launch comes
/// after those of other streams that ran before it was enqueued. If one of another stream ran later, a GPU may run the
/// two at once. And a launch that overlaps the one before it in its stream waits for that one alone: not for those that
/// it had not waited for.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace reductio::sim {

/// Where and when a launch was enqueued.
struct Enqueued {
  const void* stream = nullptr;
  std::uint32_t before = 1;  ///< the serial that the next block was to have: those of lower ones had run
};

/// Blocks of some serials.
struct Serials {
  std::uint32_t from = 0, to = 0;
  bool holds(std::uint32_t serial) const { return serial - from < to - from; }
  bool empty() const { return from == to; }
};

/// The launches since work was last enqueued while none waited, in order.
class LaunchLog {
 public:
  /// A launch begins, whose first block's serial is `first`. Returns that of the first block that nothing orders before
  /// it; `first` if there is none. `overlaps`: it may begin before the last one of its stream has ended.
  std::uint32_t begin(std::uint32_t first, const Enqueued& launch, bool overlaps = false) {
    std::uint32_t from = first, end = first;
    for (auto run = runs_.rbegin(); run != runs_.rend() && end > launch.before; ++run) {
      if (run->stream != launch.stream) from = std::max(run->first, launch.before);
      end = run->first;
    }
    if (runs_.empty() || runs_.back().stream != launch.stream) runs_.push_back({first, launch.stream});
    stream_ = launch.stream;
    others_from_ = from;

    const auto last = std::find_if(last_.begin(), last_.end(), [&](const Last& l) { return l.stream == stream_; });
    Last now{stream_, first, false, first, {}};
    if (last == last_.end() || !overlaps) {
      now.has_waited = true;  // it begins when all before it has ended
    } else {
      now.before = last->first;
      if (last->has_waited)
        now.unfinished = last->unfinished;
      else
        now.unfinished = {last->unfinished.to == last->before ? last->unfinished.from : last->before, last->first};
    }
    if (!now.unfinished.empty()) from = std::min(from, now.unfinished.from);
    if (last == last_.end())
      last_.insert(last_.begin(), now);
    else
      *last = now, std::swap(*last, last_.front());
    return from;
  }
  /// That of the first block of another stream that nothing orders before the launch that runs, if there is one.
  std::uint32_t others_from() const { return others_from_; }
  /// A thread of the launch that runs has waited for the one before.
  void waited() { last_.front().has_waited = true; }
  /// Other work of a stream, which waits for all that was enqueued there before.
  void settle(const void* stream) {
    std::erase_if(last_, [&](const Last& l) { return l.stream == stream; });
  }
  /// Of a block that begin() covers: whether it is of a launch that had not ended when the last one before did.
  bool may_still_run(std::uint32_t serial) const { return last_.front().unfinished.holds(serial); }
  /// The first block that may run beside the launch that runs, of its stream: its own, if it overlaps none.
  std::uint32_t beside_from() const {
    const Last& now = last_.front();
    return now.unfinished.empty() ? now.before : now.unfinished.from;
  }
  /// Of a block that begin() covers: whether its stream is another one than that of the launch that runs.
  bool by_another_stream(std::uint32_t serial) const {
    const auto next = std::upper_bound(runs_.begin(), runs_.end(), serial,
                                       [](std::uint32_t s, const Run& run) { return s < run.first; });
    return next != runs_.begin() && std::prev(next)->stream != stream_;
  }
  void forget() {
    runs_.clear();
    last_.clear();
  }

 private:
  /// Launches of one stream, one after the other.
  struct Run {
    std::uint32_t first;  ///< its first block's serial
    const void* stream;
  };
  /// The last launch of a stream since other work.
  struct Last {
    const void* stream;
    std::uint32_t first;   ///< its first block's serial
    bool has_waited;       ///< so its end is that of the launch before, too
    std::uint32_t before;  ///< the serial of the first block of the launch that it overlaps; else its own
    Serials unfinished;    ///< what may still run when the launch before has ended
  };
  std::vector<Run> runs_;
  std::vector<Last> last_;  ///< first, that of the launch that runs
  const void* stream_ = nullptr;
  std::uint32_t others_from_ = 0;
};

}  // namespace reductio::sim
