#pragma once
/// Measures groups of points: pilots first, then pass after pass over all groups, each pass on fresh allocations, so
/// that the rounds of every group are spread over all the time that measuring takes; every result verified, rows at
/// the end.

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/sampling/inputs.h"
#include "measure/results/row.h"
#include "measure/plan/budget.h"
#include "measure/stats/by_round.h"
#include "measure/timing/timer.h"

namespace reductio {

/// Where the wall-clock time of measuring went, as far as it was in samples or waited for them.
struct Spent {
  double timed_s = 0;     ///< in the timed intervals
  double prepared_s = 0;  ///< restoring inputs, and bringing the cache into its state
  double around_s = 0;    ///< everything else about a sample: launching, waiting, copying and checking its result
  double memory_wait_s = 0;    ///< before samples, until memory is idle

  Spent& operator+=(const Spent& o) {
    timed_s += o.timed_s;
    prepared_s += o.prepared_s;
    around_s += o.around_s;
    memory_wait_s += o.memory_wait_s;
    return *this;
  }
};

/// What measuring a group gave.
struct GroupOutcome {
  std::vector<Row> rows;         ///< in the order of the points; run_id, timestamp, experiment and machine still empty
  std::vector<ByRound> seconds;  ///< of each row, by round; empty where it was not sampled
  std::vector<int> allocations;  ///< the allocation that each round used
  std::string samples_csv;       ///< one RawSample a record
  Spent spent;
  std::optional<double> throttled_hz;  ///< the lowest clock of the rounds that it voided; nothing if it voided none
  int times_memory_stayed_busy = 0;             ///< whose samples were taken though the memory stayed slower than it had been
};

/// What measuring several groups together gave.
struct Measurement {
  std::vector<GroupOutcome> groups;  ///< in their order
  bool abandoned = false;            ///< no groups: the user did not want to wait
  /// The device no longer answers: `groups` holds only that which was under way, of it the rows that were settled, the
  /// culprit included. Nothing else can be measured.
  std::exception_ptr device_lost;
  bool device_busy = false;  ///< lost to a call that still runs: nothing of the device may be freed
};

/// Whoever waits for a measurement.
struct Watch {
  std::function<bool()> abandon;  ///< asked between samples: true drops everything
  /// Told before a group is visited: one of its points, whether it is sampled or only piloted, and the share of all
  /// visits that are done.
  std::function<void(const Point&, bool sampled, double share)> visiting = {};
};

/// How to sample, and by what.
struct Sampling {
  Backend& backend;
  Timer& timer;
  SamplingRules rules;
  std::uint64_t seed;  ///< decides the order within rounds
  std::string run_id{};
  std::optional<double> theoretical_peak_bytes_per_s{};  ///< the memory's peak, for impossible times
};

/// What groups share while they are measured.
struct SamplingState : Sampling {
  explicit SamplingState(Sampling s) : Sampling(std::move(s)) {}

  double highest_clock_hz = 0;  ///< of the kernels, so far
  History history;              ///< times known from earlier groups, for predictions
  References references;
  Allocations allocations{backend};
};

class Sampler {
 public:
  explicit Sampler(Sampling sampling) : s_(std::move(sampling)) {}

  /// Every group is visited once by its pilots, then in each of the passes that it has rounds for. What cannot be
  /// measured becomes a row with its reason; throws nothing for it.
  Measurement measure(std::span<const std::vector<const Point*>> groups, const Watch&);

  /// Times known from elsewhere (rows of an earlier run), for predictions.
  History& history() { return s_.history; }

  /// One bare call of each point, each in a range that profilers can filter by, after a call that loads the kernels.
  void profile(std::span<const Point* const> group, const std::function<void(const std::string&)>& notice);

 private:
  SamplingState s_;
};

}  // namespace reductio
