#pragma once
/// Comparing variants measured together, two results folders, or new measurements with a stored baseline.

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

/// The same with every time divided by a reference variant's in the same context: the first of `ids` sampled beside it.
/// This cancels a common slowdown. The references' own rows are left out; rows without a reference lose their times.
/// Throws UsageError if no row has one.
MeasuredSet relative_to(const MeasuredSet&, std::span<const std::string> ids);

/// Enough rounds to decide an effect of 1 % within seconds a point, over wanted_contexts, or as many as
/// intervals of `confidence_of_each` take.
SamplingRules compare_rules(double confidence_of_each = 0.95);

/// A base and what is compared with it.
using Pair = std::pair<const Measured*, const Measured*>;

/// The rows that `base` and `now` share, in the order of `now`. Throws UsageError if there are none, saying how they
/// differ; and, unless `common_only`, if either lacks rows of the other, saying how many.
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
  int looks = 1;             ///< checks, any of which may be the last: the intervals hold whichever is
  std::size_t count(Verdict) const;
  std::size_t ratios() const;     ///< rows that have one
  std::size_t intervals() const;  ///< rows whose ratio has one
};

/// Compares pair by pair. Intervals hold all at once, or each `separately`: right for counting failures, wrong for
/// conclusions about those few. `paired`: both were sampled in the same contexts. With several `looks` at a growing
/// sample, each may err by its share of the allowed error, so stopping at the first that decides errs no more often.
/// Throws UsageError for a confidence outside (0, 1) and an effect of 0 or less.
Comparison compare(std::span<const Pair>, bool paired, double confidence, double effect, bool separately = false,
                   int looks = 1);

/// The least effect that would decide all rows with an interval, to two digits, rounded up; nothing if all are decided.
std::optional<double> least_effect(const Comparison&);

/// "All 12 intervals hold at once with 95 % confidence; the smallest effect that counts is 1 %.", how many rows have
/// none, and, for end-to-end times of a GPU, that intervals cover less than they state (docs/measuring.md).
std::string confidence_in_words(const Comparison&);

}  // namespace reductio
