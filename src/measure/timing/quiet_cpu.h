#pragma once
/// Keeps the calling thread on a core that nothing else uses. Two hardware threads share a core's instruction slots, L1
/// and L2, so a busy sibling slows every call to the GPU: on an H200's host thrust::reduce of 2^16 took 33 us instead
/// of 28, for milliseconds to half a second at a time. Another thread on the same CPU is not seen: a check takes
/// interrupts out.

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "core/threads.h"

namespace reductio {

/// How much slower shared resources are than a chain of dependent multiplications, which sharing does not slow. Ratios,
/// so the clock's pace is in neither.
struct CpuContention {
  double chain_s = 1;            ///< of that chain: the CPU's pace, whichever CPU is chosen
  double instruction_slots = 1;  ///< of independent additions
  double cache = 1;              ///< of reading half of L2
};

/// Of the current CPU. Takes about 40 us on a quiet one, and evicts most of its caches.
CpuContention read_cpu_contention();

class QuietCpu {
 public:
  /// How it acts on the machine; tests put their own in its place.
  struct Actions {
    std::function<void(int cpu)> go_to;         ///< this thread to a CPU
    std::function<CpuContention()> contention;  ///< of the CPU that it is on
    std::function<double()> now;                ///< seconds
  };
  static constexpr double holds_s = 5e-4;
  struct Found {
    bool quiet = true, moved = false;
    double chain_s = 0;  ///< of the current CPU, by the last check; 0 before any
  };

  /// Chooses among these CPUs; with none it never moves. One object at a time: each restores the affinity that it found
  /// when it first moved.
  explicit QuietCpu(std::vector<int> cpus);
  QuietCpu(std::vector<int> cpus, Actions, unsigned seed);
  QuietCpu(const QuietCpu&) = delete;

  /// Checks up to 32 CPUs to learn what a quiet one looks like, then moves to one.
  Found survey();
  /// Reuses the last reading for `holds_s`: load changes over milliseconds, and a check takes a third of a short
  /// sample. Otherwise it checks, and stays if both ratios are within 8 % of the survey's 5th percentile. If not, it
  /// moves to the first quiet CPU in random order, or to the least busy one. After such a failed search the next 15
  /// checks do not search: on a busy machine that would take longer than the sample.
  Found settle();
  /// Whether it has a CPU to choose.
  bool chooses() const { return !cpus_.empty(); }

 private:
  static constexpr int nowhere = -1;

  double disturbance(const CpuContention&) const;
  void go_to(int cpu);
  Found look();
  Found search();

  std::vector<int> cpus_;
  Actions actions_;
  std::mt19937 order_;
  std::vector<CpuContention> seen_;  ///< by surveys
  CpuContention quiet_;  ///< what a quiet CPU shows
  int at_ = nowhere;
  int no_search_ = 0;    ///< how many checks are left that do not search
  std::optional<Found> last_;  ///< what settle() saw at last_at_s_
  double last_at_s_ = 0;
  std::optional<PinnedThread> here_;
};

}  // namespace reductio
