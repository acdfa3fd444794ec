#pragma once
/// Comparing: variants measured together now, two results folders, or what is measured now with a stored baseline.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "measure/results/row.h"
#include "measure/stats/ratio.h"
#include "measure/sampling/sampler.h"
#include "measure/results/reader.h"

namespace reductio {

/// One side of a comparison: a row, measured now or read from a results folder, and the samples behind it.
struct Measured {
  std::string label;   ///< what to call it: "cub/sum", "levels/naive:block=128"
  std::string source;  ///< where it is from: "now", or a folder
  Row row;
  TimedRounds rounds;
  TimedRounds reference{};  ///< by whose times, of the same contexts, these are divided; without seconds: by none

  /// What a ratio is made of: its times, over the reference's if it has one.
  std::vector<Factor> factors() const;
  /// The field of a column; throws std::out_of_range for a column that there is not.
  std::string at(std::string_view column) const { return row.at(column); }
};

/// The rows of a group that was measured now, in its points' order; labels are left empty.
std::vector<Measured> measured_in(const GroupOutcome&);

/// What one of two sets of rows is called, and the rows.
struct MeasuredSet {
  std::string name;
  std::vector<Measured> rows;
};
MeasuredSet measured_in(const StoredResults&);

/// The same with every time as a multiple of that of a reference variant in the same context, which takes out what
/// slowed down or sped up both: the first of `ids` that was sampled beside it. The references' own rows are left out,
/// rows without a reference beside them lose their times. Throws UsageError where no row has one.
MeasuredSet relative_to(const MeasuredSet&, std::span<const std::string> ids);

/// Enough rounds that an effect of 1 % is normally decided within seconds a point, over wanted_clusters allocations, or
/// as many as intervals take of which each shall hold with `confidence_of_each`.
SamplingRules compare_rules(double confidence_of_each = 0.95);

/// A base and what is compared with it.
using Pair = std::pair<const Measured*, const Measured*>;

/// The rows that `base` and `now` have in common, in the order of `now`. Throws UsageError where there are none, saying
/// in what they differ, and where either lacks rows of the other, saying how many, unless `common_only`.
std::vector<Pair> match(const MeasuredSet& base, const MeasuredSet& now, bool common_only);

/// One printed row.
struct Compared {
  Measured base, variant;      ///< their samples included
  std::optional<Ratio> ratio;  ///< nothing where one of them has no time
  Verdict verdict = Verdict::undecided;
  std::optional<std::size_t> rounds_to_decide;  ///< of undecided rows; nothing where no number would
  std::string reason;                           ///< why there is no ratio, or no verdict; empty otherwise
  /// Whether the ratio is of enough samples for an interval.
  bool has_interval() const { return ratio && ratio->enough; }
};

struct Comparison {
  std::vector<Compared> rows;
  bool paired = true;
  bool separately = false;   ///< each interval holds by itself only
  double confidence = 0.95;  ///< that all intervals hold at once; `separately`, that each does
  double effect = 0.01;      ///< the smallest that matters
  int looks = 1;             ///< of which each might have been the last: the intervals hold whichever it was
  std::size_t count(Verdict) const;
  std::size_t ratios() const;     ///< rows that have one
  std::size_t intervals() const;  ///< rows whose ratio has one
};

/// Compares pair by pair, with intervals that hold all at once, or `separately`, which suits counting how many of many
/// fail and no conclusion from the few that do. `paired`: the two of a pair were sampled in the same rounds. Of several
/// `looks` at samples that are added to until rows are decided, each may err as often as one alone divided by their
/// number, so that stopping at the first that decides errs no more often. Throws UsageError for a confidence outside
/// (0, 1) and an effect that is not above 0.
Comparison compare(std::span<const Pair>, bool paired, double confidence, double effect, bool separately = false,
                   int looks = 1);

/// The least effect by which all rows that have an interval would be decided, to two digits, rounded up; nothing where
/// they are all decided already.
std::optional<double> least_effect(const Comparison&);

/// "All 12 intervals hold at once with 95 % confidence; an effect counts from 1 % on.", how many rows have none, and of
/// a GPU's times end to end, that such intervals hold less than they state (docs/measuring.md).
std::string confidence_in_words(const Comparison&);

}  // namespace reductio
