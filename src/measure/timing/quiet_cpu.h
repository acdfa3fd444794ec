#pragma once
/// The CPU that calls are made from, kept clear of other work. Two hardware threads share a core's instruction slots
/// and its L1 and L2 caches, so while the other one is at work a call to the GPU takes longer to make: in a virtual
/// machine on an H200's host `thrust::reduce` of 2^16 took 33 us and not 28, for milliseconds to half a second at a
/// time, on each CPU at times of its own, with nothing else running in that machine. Another thread on the same CPU is
/// not seen: what interrupts a look is taken out of it.

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "measure/timing/pinned_thread.h"

namespace reductio {

/// Times of work that needs what hardware threads share, over that of work that needs none of it, a chain of
/// multiplications that wait for each other. So the clock's pace is in neither.
struct CpuContention {
  double chain_s = 1;            ///< of that chain: the CPU's pace, which no choice of a CPU mends
  double instruction_slots = 1;  ///< of independent additions
  double cache = 1;              ///< of reading half of L2
};

/// Of the CPU that this thread is on, now. Takes some 40 us on a quiet one, and leaves little of what was in its
/// caches.
CpuContention read_cpu_contention();

class QuietCpu {
 public:
  /// What it does to the machine, for tests to put theirs in its place.
  struct Actions {
    std::function<void(int cpu)> go_to;         ///< this thread to a CPU
    std::function<CpuContention()> contention;  ///< of the CPU that it is on
    std::function<double()> now;                ///< seconds
  };
  static constexpr double holds_s = 5e-4;
  struct Found {
    bool quiet = true, moved = false;
    double chain_s = 0;  ///< of the CPU that it is on now, when it was last looked at; 0 where nobody did
  };

  /// On these CPUs; none of them: it never moves.
  /// Only one such object at a time, or one that ends before the other goes anywhere: each gives back what was allowed
  /// when it went to its first CPU.
  explicit QuietCpu(std::vector<int> cpus);
  QuietCpu(std::vector<int> cpus, Actions, unsigned seed);
  QuietCpu(const QuietCpu&) = delete;

  /// Looks at up to 32 of the CPUs, which tells more of how they are when quiet; then goes to one that is.
  Found survey();
  /// Says what it said last, where that is less than `holds_s` ago: other work comes and goes in milliseconds, and a
  /// look takes a third of a short sample. Else it looks, and stays where it is quiet: both ratios at most 8 % over
  /// those of the reading that, by their product, a twentieth of all that surveys took are below, of any CPU (a machine
  /// that is busy for more of the time has none to be told by). Else goes to the first quiet one in an order drawn at
  /// random, and where there is none to the one of least contention. The 15 looks that follow such a search are only
  /// whether that one has become quiet: where all are busy, searching would take longer than what is timed.
  Found settle();
  /// This thread may run anywhere again, until the next survey().
  void release() { here_.reset(), at_ = nowhere, last_.reset(); }
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
  int no_search_ = 0;    ///< so many times yet
  std::optional<Found> last_;  ///< what settle() saw at last_at_s_
  double last_at_s_ = 0;
  std::optional<PinnedThread> here_;
};

}  // namespace reductio
