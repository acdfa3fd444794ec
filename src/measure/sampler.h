#pragma once
/// Measures one group of points: pilots, rounds in random order over several allocations, every result verified, rows.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/inputs.h"
#include "measure/row.h"
#include "measure/rules.h"
#include "measure/timer.h"

namespace reductio {

/// The columns of the raw samples. Variants in parentheses are the harness's own: "(launch-floor)" and the read-only
/// kernels of the ceiling.
const std::vector<std::string>& sample_columns();

/// Where the wall-clock time of the samples went.
struct Spent {
  double timed_s = 0;     ///< in the timed intervals
  double prepared_s = 0;  ///< restoring inputs, and bringing the cache into its state
  double around_s = 0;    ///< everything else about a sample: launching, waiting, copying and checking its result

  Spent& operator+=(const Spent& o) {
    timed_s += o.timed_s;
    prepared_s += o.prepared_s;
    around_s += o.around_s;
    return *this;
  }
};

/// What measuring a group gave.
struct GroupOutcome {
  std::vector<Row> rows;     ///< in the order of the points; run_id, timestamp, experiment and machine still empty
  std::vector<ByRound> seconds;  ///< of each row, by round; empty where it was not sampled
  std::vector<int> allocations;  ///< the allocation that each round used
  std::string samples_csv;   ///< one record a sample, in the order of sample_columns()
  Spent spent;
  std::optional<double> throttled_hz;  ///< the lowest clock of the rounds that it voided; nothing if it voided none
  bool abandoned = false;    ///< no rows: the user did not want to wait
  /// The device no longer answers: `rows` holds what was settled, the culprit included; nothing else can be measured.
  std::exception_ptr device_lost;
  bool device_busy = false;  ///< lost to a call that still runs: nothing of the device may be freed
};

class Sampler {
 public:
  /// `paper_bytes_per_s`: the memory's peak, for impossible times. `seed` decides the order within rounds.
  Sampler(Backend&, Timer&, const SamplingRules&, std::uint64_t seed, std::string run_id = {},
          std::optional<double> paper_bytes_per_s = {});
  ~Sampler();

  /// `abandon` is asked between samples. What cannot be measured becomes a row with its reason; throws nothing for it.
  GroupOutcome measure(std::span<const Point* const> group, const std::function<bool()>& abandon);

  /// Times known from elsewhere (rows of an earlier run), for predictions.
  History& history() { return history_; }

  /// One bare call of each point, each in a range that profilers can filter by, after a call that loads the kernels.
  void profile(std::span<const Point* const> group, const std::function<void(const std::string&)>& notice);

 private:
  struct Member;
  struct Reference;
  class Group;

  Inputs& inputs_for(const Point&, bool with_scratch);

  Backend& backend_;
  Timer& timer_;
  SamplingRules rules_;
  std::uint64_t seed_;
  std::string run_id_;
  std::optional<double> paper_bytes_per_s_;
  double highest_clock_hz_ = 0;  ///< of the kernels, so far
  History history_;
  References references_;
  std::unique_ptr<Inputs> inputs_;
};

}  // namespace reductio
