#pragma once
/// Baselines: what `compare --save-baseline NAME` kept, each a results folder <out>/<machine>/baselines/NAME.

#include <filesystem>
#include <string>
#include <vector>

#include "measure/analysis/compare.h"

namespace reductio::cli {

/// Throws UsageError unless `name`, given by `option`, can be a baseline's.
void check_baseline_name(const std::string& name, const char* option);

/// What was saved as `name`; throws UsageError where nothing was.
StoredResults read_baseline(const std::filesystem::path& baselines, const std::string& name);

/// Each row of `now` beside its own in baseline `name`, which may hold more than is asked for now, but not less:
/// UsageError where it does.
std::vector<Pair> match_baseline(const MeasuredSet& then, const MeasuredSet& now, const std::string& name);

/// A baseline that is being saved. It lies under another name until it is whole: what it replaces stays until then,
/// whatever happens, and two processes that save one of the same name have each their own.
class BaselineDraft {
 public:
  /// Throws UsageError where `name` is there already, unless `replace`.
  BaselineDraft(const std::filesystem::path& baselines, const std::string& name, bool replace);
  const std::filesystem::path& folder() const { return draft_; }    ///< where to write
  const std::filesystem::path& saved_as() const { return saved_; }  ///< where it lies once it is kept
  void discard();  ///< of this process, or of one of its number that was cut off
  void keep();     ///< throws UsageError where another has saved `name` since, unless `replace`; the draft stays

 private:
  [[noreturn]] void refuse() const;

  std::filesystem::path saved_, draft_;
  bool replace_;
};

}  // namespace reductio::cli
