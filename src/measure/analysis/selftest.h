#pragma once
/// Whether comparing can be trusted, on this machine and now: a variant beside itself must not differ, and a variant
/// that was slowed by a known time must.

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/plan/point.h"
#include "measure/stats/ratio.h"
#include "measure/timing/instruments.h"

namespace reductio {

struct SelftestPlan {
  Point point;  ///< what is compared with itself; its n is set by `sizes`
  std::vector<std::size_t> sizes;
  int repeats = 50;  ///< comparisons with itself, for each size
  std::vector<double> planted{0.02, 0.05, 0.10};
  double effect = 0.01;                ///< of the verdicts
  double confidence = 0.95;            ///< of each comparison with itself, and of all planted ones at once
  SamplingRules rules, planted_rules;  ///< of both kinds of comparison
};

/// Comparisons of two plans of one variant, each with a workspace of its own.
struct SelfComparisons {
  std::size_t n = 0, comparisons = 0;
  std::size_t without_one = 0;     ///< intervals that leave out 1: false positives
  std::size_t told_apart = 0;      ///< verdicts FASTER or SLOWER
  double median_s = 0;             ///< of a call
  std::optional<double> smallest;  ///< the effect that nine in ten of these intervals would have told from none
};

/// One effect of known size: the base's calls are followed by a spin, the slowed one's by a longer one.
struct PlantedEffect {
  std::size_t n = 0;
  double effect = 0;     ///< the longer spin less the shorter one, as a share of the base's time in a pilot
  double planted_s = 0;  ///< the same in seconds
  Ratio ratio;           ///< base and slowed one
  Ratio rest;            ///< the same with `planted_s` taken off the slowed one's samples: should be 1
  Verdict verdict = Verdict::undecided;
  /// What of a call's time nobody knows about the spins: each ends with the first reading of its clock that is late
  /// enough, so their difference is known to one resolution of that clock.
  double unknown = 0;
  /// The timer saw as much as was planted.
  bool covered() const { return rest.interval.low * (1 - unknown) <= 1 && 1 <= rest.interval.high * (1 + unknown); }
  bool found() const { return verdict == Verdict::slower && covered(); }
};

struct SelftestReport {
  std::vector<SelfComparisons> with_itself;
  std::vector<PlantedEffect> planted;

  std::size_t comparisons() const;
  std::size_t false_positives() const;
  /// Of the false positives among all comparisons; exact, 95 %.
  Interval rate() const;
  /// Significantly more false positives than the confidence allows.
  bool too_many(double confidence) const { return rate().low > 1 - confidence; }
};

/// The variant's result is not right, so its times say nothing.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `progress(done, of, what)` is called before each comparison; `stop` is asked between samples. Throws UsageError
/// where the variant cannot be timed so, or when stopped; WrongResult where its result is not right; DeviceError where
/// the device fails.
SelftestReport selftest(Backend&, Instruments&, const SelftestPlan&,
                        const std::function<void(std::size_t, std::size_t, const std::string&)>& progress,
                        const std::function<bool()>& stop);

}  // namespace reductio
