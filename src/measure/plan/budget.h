#pragma once
/// How much time points get: sampling rules, samples and rounds, and the expected cost of calls and points.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/plan/point.h"

namespace reductio {

struct SamplingRules {
  int min_samples = 7, max_samples = 48;  ///< per point; a 95 % interval needs 6
  int end_to_end_factor = 1;  ///< multiplies `max_samples` of end-to-end points: their short calls scatter more
  double time_budget_s = 0.15;            ///< wall-clock time after which a point gets no more than min_samples
  double slow_s = 0.020;                  ///< a call longer than this gets `slow_samples`
  int slow_samples = 3;
  double limit_s = 0.200;  ///< a call predicted longer than this is not measured (Status::over_limit), unless `full`
  bool full = false;
  int contexts = 12;          ///< fresh ones, over which a point's rounds are spread
  double batch_s = 60;        ///< groups of this total length form a batch; each context samples all groups of a batch
  bool batches_grow = false;  ///< from one group on, so that a run that is killed soon keeps rows (BatchSizes)
  double confidence = 0.95;
  double clock_floor = 0.9;  ///< a round whose clock falls below this share of the highest is discarded for all
  bool paired = false;       ///< every round has all points of a group; the most expensive point decides how many
  bool harness_calls = true; ///< the read-only kernels and the empty call in every round
};

/// Samples of a point whose call takes `call_s` and whose sample costs `cost_s` of wall-clock time, and never less than
/// what surrounds it.
int samples_for(const SamplingRules&, double call_s, double cost_s);
/// A number that the point itself demands takes precedence.
int samples_for(const Point&, const SamplingRules&, double call_s, double cost_s);

/// The rounds, of `rounds`, in which a point of `samples` samples takes part: a prefix of one fixed order, so a point
/// with fewer samples shares all its rounds with one that has more. Speedups are over rounds that both are in. The
/// order visits a round of each context in turn, and scatters rounds and contexts over time, so every point meets
/// every context and any drift.
std::vector<int> rounds_of(int samples, int rounds, int contexts);

/// The contexts of a batch, of `contexts`, in which a group of `fewer` takes part: spread evenly.
std::vector<int> spread_evenly(int fewer, int contexts);

/// The context that a round uses: rounds in equal runs, one run after the other.
int context_of(int round, int rounds, int contexts);

/// Times of calls at smaller sizes of a variant, which predict those at larger ones.
class History {
 public:
  void note(const Point&, double seconds);
  struct TimeAtSize {
    std::size_t n;
    double seconds;
  };
  /// The largest size at most p.problem.n that was noted.
  std::optional<TimeAtSize> largest_below(const Point& p) const;
  /// Scaled linearly in n from that size. Launch overhead makes this too long rather than too short.
  std::optional<double> predict(const Point& p) const;
  /// For core/bytes.h.
  template <class Archive>
  void cross(Archive& archive) {
    archive(seconds_);
  }

 private:
  static std::string key(const Point&);
  std::map<std::string, std::map<std::size_t, double>> seconds_;
};
double scale_linearly(History::TimeAtSize, std::size_t n);

/// "predicted 0.41 s a call exceeds this experiment's limit of 0.2 s; --full runs it".
std::string limit_reason(double predicted_s, const SamplingRules&);

/// Expected seconds to measure a point, from its size alone: for dry runs and for what is left of a run.
double rough_cost_s(const Point&, const SamplingRules&);

}  // namespace reductio
