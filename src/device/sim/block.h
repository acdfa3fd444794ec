#pragma once
/// A resident block: its threads, what each waits for, its warps and its shared memory.

#include <array>
#include <cstdint>
#include <vector>

#include "device/sim/access.h"
#include "device/sim/place.h"
#include "device/sim/warp.h"

namespace reductio::sim {

struct Fiber;

enum class Waiting : std::uint8_t { no, block_barrier, block_barrier_or, grid_barrier, warp, poll };

/// Half a cache line: every switch touches two of these.
struct Thread {
  void* context = nullptr;  ///< its place on its stack while it waits
  Fiber* fiber = nullptr;   ///< null before its first step and after its last
  Site site;                ///< where it waits, or last waited
};

struct BlockState : Block {
  unsigned threads = 0;
  unsigned exited = 0;
  unsigned arrived = 0;       ///< at the block barrier
  bool divergent = false;     ///< those who arrived are at different barriers
  bool any = false, any_result = false;
  Site barrier, last_barrier;
  Waiting barrier_kind = Waiting::no;
  std::uint32_t runnable_words = 0;  ///< bit w: runnable[w] is not 0
  std::array<std::uint64_t, max_threads_per_block / 64> runnable{};
  std::vector<Thread> thread;
  std::array<Waiting, max_threads_per_block> waiting{};  ///< what for; apart from Thread, to be cleared at one stroke
  std::vector<std::uintptr_t> polled;                    ///< by thread: the address of its last acquire load
  std::vector<Warp> warps;
  std::vector<std::uint64_t> shared_storage;
  std::vector<Record> record_storage;
  unsigned slot = 0;
};

}  // namespace reductio::sim
