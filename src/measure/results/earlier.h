#pragma once
/// Resuming an interrupted run: which of its rows and samples stay. Touches no file.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/plan/point.h"
#include "measure/results/csv.h"
#include "measure/results/row.h"

namespace reductio {

/// The rows of an earlier run. A group's times are of the same rounds, so a group that lacks a point, or some of a
/// row's samples, is measured again as a whole.
class EarlierRows {
 public:
  EarlierRows() = default;
  /// Reads the CSV's records and keeps one of two equal rows of a point. Throws UsageError if two rows differ, or if
  /// the columns are not this program's.
  EarlierRows(std::string csv_path, std::vector<Fields> records);

  /// Removes the rows of groups that lack samples or one of `points`, and returns how many. Rows without a time
  /// (refused, failed) stay. Throws UsageError if a row to remove belongs to none of `points`, as nothing would replace
  /// it.
  std::size_t take_out_incomplete(std::span<const Point> points, const std::vector<RawSample>&);
  /// Drops the samples of rows that are measured again, and says whether there were any. The harness's own calls belong
  /// to their group.
  bool drop_orphans(std::vector<RawSample>&) const;

  const std::vector<Row>& rows() const { return rows_; }
  std::set<std::string> keys() const;                  ///< of rows()
  std::size_t repeated() const { return repeated_; }   ///< rows that stood there twice
  bool lack_samples() const { return lack_samples_; }  ///< some rows that were taken out

 private:
  std::string csv_path_;
  std::vector<Row> rows_;
  std::size_t repeated_ = 0;
  std::map<std::string, std::string> incomplete_;  ///< groups that are measured again, and a point that each lacks
  bool lack_samples_ = false;
};

}  // namespace reductio
