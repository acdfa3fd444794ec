#pragma once
/// From samples to rows. No timer, no device.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/results/row.h"
#include "measure/stats/by_round.h"
#include "measure/timing/timer.h"

namespace reductio {

/// A sample of a round that may still be voided.
struct TakenSample {
  std::size_t call;  ///< index of the point, or, behind the last point, of the harness call
  Sample sample;
};

/// A round, which does not count where the clock was throttled.
struct TakenRound {
  int round = 0;
  double lowest_hz = 0;  ///< of the kernels' clock: the lower of before and after; 0: unknown
  std::vector<TakenSample> samples;
};

/// What is known of a point beside its samples.
struct SampledPoint {
  Row row;  ///< as far as its calls tell: launch, result, and where nothing can be measured the status and why
  bool is_reference = false;  ///< speedups are over it: the base of its operation, with its default settings
  int contexts_refused = 0;   ///< after its pilot
  Status how_refused = Status::refused;
  std::string why_refused;

  void settle(Status status, std::string reason) {
    row.status = status;
    row.reason = std::move(reason);
  }
  /// Refused, failed, wrong: its samples do not count.
  bool settled() const { return row.status != Status::ok; }
};

struct GroupSamples {
  std::vector<SampledPoint> points;
  std::vector<std::string> harness_calls;                 ///< the launch floors, and the kernels of the read ceiling
  std::vector<int> contexts;                              ///< of each round
  std::vector<TakenRound> rounds;                         ///< in the order of time
  double highest_clock_hz = 0;                            ///< of the kernels' clock, in all of the run
  double resolution_s = 0, device_part_resolution_s = 0;  ///< of intervals: the clocks' behind times and device parts
  std::optional<double> theoretical_peak_bytes_per_s{};   ///< of the memory, for impossible times
  std::optional<double> load_limit_bytes_per_s{};         ///< Sampling::load_limit_bytes_per_s
  bool written = true;                                    ///< Sampling::keeps_samples
};

/// Where the wall-clock time of samples went.
struct Spent {
  double timed_s = 0;        ///< in the timed intervals
  double prepared_s = 0;     ///< restoring inputs, and bringing the cache into its state
  double around_s = 0;       ///< everything else about a sample: launching, waiting, copying and checking its result
  double memory_wait_s = 0;  ///< before samples, waiting until memory is idle

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
  std::vector<ByRound> seconds;  ///< of each row
  std::vector<int> contexts;     ///< the context that each round used
  std::string samples_csv;       ///< csv_records() of the raw samples, if they are kept
  Spent spent{};
  std::optional<double> throttled_hz{};  ///< the lowest clock of the rounds that it voided; nothing if it voided none
  int times_memory_stayed_busy = 0;      ///< contexts whose samples were taken though memory stayed slower than it was
};

/// The rows, and what goes with them. `run_id` is for the raw samples.
GroupOutcome summarise(const GroupSamples&, const SamplingRules&, const std::string& run_id);

/// Whether a round is void: its clock was below the threshold of the highest clock seen. Unknown clocks are 0 and void
/// nothing.
bool is_void(const TakenRound&, double highest_clock_hz, const SamplingRules&);

/// What no time of a row can be below.
struct TimeBounds {
  const ReadCeiling* ceiling = nullptr;             ///< in the row's timing mode and state of the cache
  double times_as_fast = 1.02;                      ///< as the ceiling, that what reads all may seem by noise
  std::optional<double> memory_bytes_per_s{};       ///< where all of the input comes from memory
  std::optional<double> load_limit_bytes_per_s{};   ///< wherever it comes from
};

/// The bounds that apply to this point:
TimeBounds bounds_of(const PointKey&, const std::optional<ReadCeiling>&, const GroupSamples&);

/// Why a time is impossible; empty if it is not. Impossible is above a bandwidth, or faster than the ceiling with
/// disjoint intervals.
std::string impossibility(std::size_t bytes, double median_s, Interval, const TimeBounds&);

}  // namespace reductio
