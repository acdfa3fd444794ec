#pragma once
/// Mutants of kernels by source line, without recompiling: the simulated device skips one line's synchronization, and
/// verification must notice (tests/verify/line_mutants_test.cpp).

#include <compare>
#include <set>
#include <string>
#include <string_view>

#include "device/sim/place.h"

namespace reductio::sim {

/// What synchronizes threads. If skipped, a barrier lets its thread pass (with its own predicate), a fence does
/// nothing, and an atomic update is a plain load and a plain store.
enum class Synchronization { block_barrier, grid_barrier, cluster_barrier, warp_barrier, fence, atomic_update };
std::string_view name(Synchronization);

/// A line of a kernel where threads synchronize.
struct SynchronizingLine {
  std::string file;  ///< without its folder
  int line;
  Synchronization what;
  auto operator<=>(const SynchronizingLine&) const = default;
  std::string describe() const;  ///< "fence at multiblock.cu:148"
};

/// While one lives, it records every synchronizing line that a thread passes. One at a time.
class LineRecorder {
 public:
  LineRecorder();
  ~LineRecorder();
  LineRecorder(const LineRecorder&) = delete;
  LineRecorder& operator=(const LineRecorder&) = delete;
  const std::set<SynchronizingLine>& lines() const { return lines_; }

 private:
  friend bool passes_left_out(Synchronization, Site);
  std::set<SynchronizingLine> lines_;
};

/// While one lives, that line does not synchronize. One at a time.
class LineMutant {
 public:
  explicit LineMutant(SynchronizingLine);
  ~LineMutant();
  LineMutant(const LineMutant&) = delete;
  LineMutant& operator=(const LineMutant&) = delete;
};

extern bool lines_watched;  ///< a recorder or a mutant lives
bool passes_left_out(Synchronization, Site);
/// Whether to skip this synchronization.
inline bool left_out(Synchronization what, Site site) {
  if (lines_watched) [[unlikely]]
    return passes_left_out(what, site);
  return false;
}

}  // namespace reductio::sim
