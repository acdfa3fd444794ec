#pragma once
/// A resident block: its threads, what each waits for, its warps and its shared memory.

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/warp.h"

namespace reductio::sim {

struct Fiber;

/// Half a cache line: every switch touches two of these.
struct Thread {
  void* context = nullptr;  ///< its place on its stack while it waits
  Fiber* fiber = nullptr;   ///< null before its first step and after its last
  Site site;                ///< where it waits, or last waited
};

/// The addresses of a thread's last atomic loads. Several, because a loop may poll several words in turn. A loop that
/// polls more than these would never let others run.
struct Polled {
  std::array<std::uintptr_t, 16> addresses{};
  unsigned oldest = 0;
  /// Whether it is one of them. If not, it replaces the oldest.
  bool again(std::uintptr_t address) {
    for (const std::uintptr_t a : addresses)
      if (a == address) return true;
    addresses[oldest++ % addresses.size()] = address;
    return false;
  }
};

struct BlockState : Block {
  Index place{};  ///< its blockIdx
  unsigned threads = 0;
  unsigned exited = 0;
  unsigned arrived = 0;       ///< at the block barrier
  bool divergent = false;     ///< threads have arrived at different barriers
  unsigned votes = 0, votes_result = 0;  ///< true predicates: of the threads that have arrived; at the last barrier
  Site barrier, last_barrier;
  Waiting barrier_kind = Waiting::no;
  std::uint32_t runnable_words = 0;  ///< bit w: runnable[w] is not 0
  std::array<std::uint64_t, max_threads_per_block / 64> runnable{};
  std::vector<Thread> thread;
  std::array<Waiting, max_threads_per_block> waiting{};  ///< by thread; not in Thread, so that all are cleared at once
  std::vector<Polled> polled;                            ///< by thread
  std::bitset<max_threads_per_block> has_waited;         ///< for the kernel before, by thread
  std::vector<Warp> warps;
  SplitWords split;  ///< of shared memory
  unsigned slot = 0;

  BlockState();
  ~BlockState();
  BlockState(const BlockState&) = delete;
  BlockState& operator=(const BlockState&) = delete;
};

}  // namespace reductio::sim
