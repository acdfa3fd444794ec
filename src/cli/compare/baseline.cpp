#include "cli/compare/baseline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "core/error.h"
#include "measure/results/csv.h"

namespace reductio::cli {

void check_baseline_name(const std::string& name, const char* option) {
  const bool plain = !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (!plain)
    throw UsageError(
        fmt::format("{} '{}': a baseline's name is made of letters, digits, '-', '_' and '.'", option, name));
}

StoredResults read_baseline(const std::filesystem::path& baselines, const std::string& name) {
  if (!std::filesystem::is_directory(baselines / name))
    throw UsageError(
        fmt::format("there is no baseline '{}' in {}; --save-baseline {} makes one", name, baselines.string(), name));
  return read_results(baselines / name);
}

std::vector<Pair> match_baseline(const MeasuredSet& then, const MeasuredSet& now, const std::string& name) {
  auto pairs = match(then, now, true);
  if (pairs.size() < now.rows.size())
    throw UsageError(
        fmt::format("rows are missing: baseline '{}' lacks {} of the {} that were measured now; save it "
                    "with the same types, sizes and modes",
                    name, now.rows.size() - pairs.size(), now.rows.size()));
  return pairs;
}

BaselineDraft::BaselineDraft(const std::filesystem::path& baselines, const std::string& name, bool replace)
    : saved_(baselines / name), draft_(baselines / fmt::format(".{}.{}.new", name, ::getpid())), replace_(replace) {
  if (std::filesystem::exists(saved_) && !replace_) refuse();
}

void BaselineDraft::refuse() const {
  throw UsageError(fmt::format("baseline '{}' exists in {}; --force replaces it", saved_.filename().string(),
                               saved_.parent_path().string()));
}

void BaselineDraft::discard() { std::filesystem::remove_all(draft_); }

void BaselineDraft::keep() {
  // Another program may have saved one of this name in the meantime.
  const FolderLock lock(saved_.parent_path());
  if (std::filesystem::exists(saved_) && !replace_)
    throw UsageError(fmt::format("baseline '{}' was saved by another program meanwhile; this one is in {}",
                                 saved_.filename().string(), draft_.string()));
  std::filesystem::remove_all(saved_);
  std::filesystem::rename(draft_, saved_);
}

}  // namespace reductio::cli
