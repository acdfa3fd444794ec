#pragma once
/// Whether comparing can be trusted on this machine now. A variant must not differ from itself, in the same contexts or
/// in different ones (as in two processes). A known slowdown must be found.

#include <cstddef>
#include <cstdint>
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
  const Variant* other = nullptr;  ///< a kernel relative to which planted effects are judged, too; default settings
  std::vector<std::size_t> sizes;
  std::uint64_t order_seed = 1;  ///< of the order of sampling, and of the halves that are drawn
  int repeats = 64;  ///< comparisons with itself, for each size
  std::vector<double> planted{0, 0.05, 0.10};  ///< 0: a difference where there is none is a false positive
  double effect = 0.01;                ///< of the verdicts, and less than what is planted
  double confidence = 0.95;            ///< of each comparison with itself, and of all planted ones at once
  SamplingRules rules, planted_rules;  ///< of both kinds of comparison
};

/// How a caller follows a self-test, and ends it.
struct SelftestWatch {
  std::function<void(double share, const std::string& what)> progress;  ///< of one of its three measurements
  std::function<bool()> stop;                                           ///< asked between samples
};

/// Comparisons of two plans of one variant, each with a workspace of its own.
struct SelfComparisons {
  struct Kind {
    std::size_t comparisons = 0;
    std::size_t without_one = 0;     ///< intervals that leave out 1: false positives
    std::size_t told_apart = 0;      ///< verdicts FASTER or SLOWER
    std::optional<double> smallest;  ///< the effect that nine in ten of these intervals would have found
    /// Of the false positives among all comparisons; exact, 95 %. There must be one.
    Interval rate() const;
    /// Significantly more false positives than the confidence allows.
    bool too_many(double confidence) const { return comparisons > 0 && rate().low > 1 - confidence; }
  };
  std::size_t n = 0;
  double median_s = 0;  ///< of a call
  Kind together;        ///< sampled in the same rounds, as `compare` samples
  Kind apart;           ///< in halves of the contexts, drawn for each: as two processes would be, one after the other
};

/// One effect of known size: the base's calls are followed by a spin, the slowed one's by a longer one.
struct PlantedEffect {
  std::size_t n = 0;
  double effect = 0;     ///< the longer spin less the shorter one, as a share of the base's time in a pilot
  bool largest = false;  ///< of those planted at this n
  double smallest_that_matters = 0.01;  ///< to the verdicts: SelftestPlan::effect
  double planted_s = 0;  ///< `effect` in seconds
  Ratio ratio;           ///< base and slowed one
  Ratio rest;            ///< the same with `planted_s` taken off the slowed one's samples: should be 1
  Verdict verdict = Verdict::undecided;
  /// Relative to another kernel, as in two runs: without the effect in one half of the contexts, with it in the other.
  std::optional<Ratio> beside_other;
  Ratio rest_beside_other;  ///< the same with `planted_s` taken off as in `rest`: should be 1
  Verdict verdict_beside_other = Verdict::undecided;
  /// Uncertainty of the planted time: each spin ends at the first reading of its clock that is late enough, so the
  /// difference of two is known to one resolution.
  double unknown = 0;
  /// The timer saw as much as was planted.
  bool covered() const { return holds_one(rest.interval); }
  /// A spin of zero is found if nothing is.
  bool found() const { return covered() && is_right(verdict) && (!beside_other || is_right(verdict_beside_other)); }
  /// Relative to the other kernel, the interval is too wide for a miss to mean anything. The effect was found in the
  /// same rounds. Here it is UNDECIDED, by an interval that contains it and whose half width exceeds half of the
  /// effect's distance from the smallest that matters, on the log scale. (At exactly half, 95 % intervals find an
  /// effect in 97 of 100 runs, wider ones in more.) The largest effect of a size is never too small: else a machine
  /// that finds nothing would pass.
  bool too_small_beside_other() const;
  /// Neither found nor too small: the self-test fails.
  bool missed() const { return !found() && !too_small_beside_other(); }
  /// Missed, because the clock's resolution alone makes the interval that wide.
  bool missed_by_resolution() const;
  /// Of a missed one: why, in words; `other`: the id of the other kernel.
  std::string why_missed(const std::string& other) const;
  bool is_right(Verdict v) const {
    return effect > 0 ? v == Verdict::slower : v != Verdict::slower && v != Verdict::faster;
  }
  bool holds_one(Interval i) const { return i.low * (1 - unknown) <= 1 && 1 <= i.high * (1 + unknown); }
};

/// The width of a ratio's interval on the log scale, 0.05 for about 5 %.
double log_width(const Ratio&);

struct SelftestReport {
  std::vector<SelfComparisons> with_itself;
  std::vector<PlantedEffect> planted;

  /// Of all sizes, `smallest` left out.
  SelfComparisons::Kind all(SelfComparisons::Kind SelfComparisons::*kind) const;
  /// How many planted effects are so: `&PlantedEffect::found`.
  std::size_t count(bool (PlantedEffect::*so)() const) const;
  /// How many planted effects were found, in words.
  std::string told() const;
};

/// The variant's result is wrong, so its times mean nothing.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All comparisons share one measurement's contexts, so many cost little. The backend is null where Instruments::open
/// opens it. Throws UsageError if the variant cannot be timed so, or when stopped; WrongResult; DeviceError if the
/// device fails.
SelftestReport selftest(Backend*, Instruments&, const SelftestPlan&, const SelftestWatch&);

}  // namespace reductio
