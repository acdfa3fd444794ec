#pragma once
/// What the simulated device's own source files share.

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/sim/engine.h"
#include "device/sim/schedule.h"

namespace reductio::sim {

inline constexpr int sm_count = 4;
inline constexpr unsigned threads_per_sm = 2048;
inline constexpr unsigned blocks_per_sm = 32;
inline constexpr std::size_t shared_bytes_per_block = 48 * 1024;
inline constexpr std::size_t shared_bytes_per_sm = 228 * 1024;
inline constexpr std::size_t shared_bytes_reserved = 1024;  ///< that each resident block costs its SM beside its own
inline constexpr std::size_t device_memory_bytes = std::size_t{2} << 30;
inline constexpr std::size_t max_grid = 0x7fffffff;

/// Everything of the simulated device is one thread's at a time. Recursive: work that runs may release memory.
class DeviceLock {
 public:
  DeviceLock();

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

struct Fiber;

enum class Waiting : std::uint8_t { no, block_barrier, block_barrier_or, grid_barrier, warp, poll };

/// Half a cache line: every switch touches two of these.
struct Thread {
  void* context = nullptr;  ///< its place on its stack while it waits
  Fiber* fiber = nullptr;   ///< null before its first step and after its last
  Site site;                ///< where it waits, or last waited
};

/// One warp's lanes and the warp operation they are in.
struct Warp {
  std::uint32_t existing = 0;  ///< lanes that the block has
  std::uint32_t exited = 0;
  std::uint32_t waiting = 0;
  bool several = false;  ///< those who wait may be in several operations
  struct Lane {
    std::uint32_t mask = 0;
    WarpOperation operation{};
    std::uint8_t source = 0;
    std::uint64_t bits = 0, result = 0;
  };
  std::array<Lane, warp_size> lanes;

  // What orders accesses inside the warp, beside block barriers: the last operation of all its lanes, and for
  // operations of some lanes, by lane, up to which tick it has seen each other lane.
  std::uint32_t full_tick = 0;
  bool partial = false;
  std::unique_ptr<std::array<std::array<std::uint32_t, warp_size>, warp_size>> seen;

  /// Those of `others` whose access at `tick` is not ordered before lane `me`'s next one. A lane is ordered with itself.
  std::uint32_t unordered(std::uint32_t others, std::uint32_t tick, unsigned me) const;
  /// All accesses of the lanes in `mask` so far come before all that follow in them.
  void order(std::uint32_t mask, std::uint32_t tick);
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

/// Ends the launch with a fault of the running thread, or of `threads`. Unwinds the thread that calls it.
[[noreturn]] void stop_here(FaultKind, Site, const std::string& what, std::vector<unsigned> threads = {});

/// "twopass.cu:20".
std::string to_string(const Site&);

/// Runs a grid to its end. Throws Fault, or what a kernel's own code threw.
void run_grid(const Shape&, const std::function<void()>& thread, const std::string& kernel);
/// Throws Fault where CUDA refuses such a launch.
void check_launch(const Shape&, const std::string& kernel);

void fill_now(void* dst, unsigned char byte, std::size_t bytes);
void copy_in_now(void* dst, const void* host, std::size_t bytes);
void copy_within_now(void* dst, const void* src, std::size_t bytes);
void copy_out_now(void* host, const void* src, std::size_t bytes);

}  // namespace reductio::sim
