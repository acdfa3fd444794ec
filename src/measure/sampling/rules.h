#pragma once
/// The rules of sampling, apart from any device: which points are sampled together, how many samples each gets, which
/// rounds it takes part in, what a call will take, and what bounds its time.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/plan/experiment.h"
#include "measure/stats/statistics.h"

namespace reductio {

/// Points that share device, operation, type, n, offset, dataset, seed, timing mode and cache state form a group: they
/// answer one question and are sampled together. Returns indices. Groups come in ascending n, because a small size
/// predicts the next, and those that read the same input one after the other; points keep their order.
std::vector<std::vector<std::size_t>> group_points(std::span<const Point>);

/// Groups that are measured together: runs of neighbours whose costs come to `seconds` or more, the last to less.
/// Returns where each begins and ends.
std::vector<std::pair<std::size_t, std::size_t>> batches_of(std::span<const double> costs, double seconds);

/// Samples of a point whose call takes `call_s` and whose sample costs `cost_s` of wall-clock time in all.
int samples_for(const SamplingRules&, double call_s, double cost_s);

/// The rounds, of `rounds`, in which a point of `samples` samples takes part: spread evenly, so that it meets every
/// allocation and whatever drifts. Likewise the passes in which a group of few allocations takes part.
std::vector<int> rounds_of(int samples, int rounds);

/// The allocation that a round uses: rounds in equal runs, one run after the other.
int allocation_of(int round, int rounds, int allocations);

/// Whether a clock of `hz` is throttled: below the rules' share of `highest_hz`, the highest seen in this run. Unknown
/// frequencies are 0 and throttle nothing.
bool is_throttled(double hz, double highest_hz, const SamplingRules&);

/// 0..count-1 in random order. The same generator state gives the same order with every standard library.
std::vector<int> shuffled(int count, std::mt19937_64&);

/// What calls took at smaller sizes of the same variant, and so what a larger one will take.
class History {
 public:
  void note(const Point&, double seconds);
  struct Measured {
    std::size_t n;
    double seconds;
  };
  /// The largest size at most p.problem.n that was noted.
  std::optional<Measured> largest_below(const Point& p) const;
  /// Scaled linearly in n from that size; a launch cost in it makes this too much rather than too little.
  std::optional<double> predict(const Point& p) const;

 private:
  static std::string key(const Point&);
  std::map<std::string, std::map<std::size_t, double>> seconds_;
};
double scale_linearly(History::Measured, std::size_t n);

/// "predicted 0.41 s a call exceeds this experiment's limit of 0.2 s; --full runs it".
std::string limit_reason(double predicted_s, const SamplingRules&);

/// Samples of one variant or of one of the harness's own calls, by round; nothing where it did not take part.
using ByRound = std::vector<std::optional<double>>;
/// Those that there are.
std::vector<double> values(const ByRound&);

/// The interval of their median, by order statistics; rounds on the same allocation, of `allocations` by round, form a
/// cluster. There must be a sample.
MedianInterval interval_of(const ByRound&, std::span<const int> allocations, double confidence);

/// The time of the fastest of several read-only kernels, without the bias of picking the luckiest: which is fastest is
/// decided on every other round and valued on the rounds between, both ways round.
struct Ceiling {
  ByRound seconds;   ///< of each round: the kernel that was fastest in the other half of the rounds
  double median_s = 0;
  Interval interval;
};
/// Its times alone; none where no kernel has any. All kernels have as many rounds.
ByRound ceiling_by_round(const std::vector<ByRound>& kernels);
std::optional<Ceiling> ceiling_of(const std::vector<ByRound>& kernels, std::span<const int> allocations,
                                  double confidence);

/// Median over the rounds that both have of ceiling / time.
std::optional<double> share_of(const ByRound& ceiling, const ByRound& times);

/// Why a cold time cannot be true; empty if it can. It is impossible above the memory's paper bandwidth, or above the
/// measured ceiling by more than 2 % with disjoint intervals.
std::string impossibility(std::size_t bytes, double median_s, Interval, const std::optional<Ceiling>&,
                          std::optional<double> theoretical_peak_bytes_per_s);

/// What a point will cost to measure, in seconds, from its size alone: for dry runs and for what is left of a run.
double rough_cost_s(const Point&, const SamplingRules&);

}  // namespace reductio
