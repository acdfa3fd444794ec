#pragma once
/// Holds a stream back: a kernel spins until the host says go. Everything that the host has queued by then starts
/// without host latency in between.

#include <cstdint>

#include "measure/timing/cuda/runtime.h"
#include "measure/timing/cuda/stream_turns.h"

namespace reductio::cuda {

/// Shared between host and GPU, in pinned host memory. Tickets only grow, so nothing is reset: a hold ends when
/// `released` reaches its ticket.
struct HoldControl {
  std::uint64_t released;
  std::uint64_t timed_out;  ///< the last ticket whose hold ended by its limit
};

/// What the holds of one stream share.
class Holds {
 public:
  Holds(Stream stream, StreamTurns& turns) : stream_(stream), turns_(turns), control_(pinned<HoldControl>()) {}
  /// Launches the kernel for a hold that is released already: what is loaded at its first launch may wait for the
  /// device.
  void load();

 private:
  friend class Hold;
  void launch();
  Stream stream_;
  StreamTurns& turns_;
  Pinned<HoldControl> control_;
  std::uint64_t ticket_ = 0;
};

/// Released at the latest by its destructor, so an exception cannot leave it spinning.
class Hold {
 public:
  explicit Hold(Holds&);
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  void release();
  /// Call after the work behind the hold is done.
  void must_not_have_timed_out() const;

 private:
  HoldControl* control_;
  std::uint64_t ticket_;
};

}  // namespace reductio::cuda
