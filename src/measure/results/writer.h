#pragma once
/// The files of one experiment in a results folder, and going on with them after a run was cut off.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/plan/point.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"
#include "measure/results/row.h"

namespace reductio {

/// Identifies one run of one experiment for its machine.json entry and for resuming.
struct RunRecord {
  std::string run_id, experiment, started_utc;
  std::vector<std::string> arguments;
  std::uint64_t seed = 1;                     ///< of the data
  std::optional<SamplingRules> rules{};       ///< a resumed run must have the same
  std::optional<std::uint64_t> order_seed{};  ///< nothing: the resumed run's, else one is drawn
};

/// What an entry of machine.json's runs begins with: which run it was, of which machine and program.
nlohmann::ordered_json to_json(const RunRecord&, const Machine&);

/// <folder>/<experiment>.csv, .samples.csv.gz, machine.json and catalog.csv. A group's rows go out in one write, so a
/// run killed at any instant leaves only whole groups, except the one whose last row was cut.
class Results {
 public:
  /// Opens the files: new ones, or with `resume` those that are there. Throws UsageError where results exist and
  /// `resume` is off, where they were written with another schema version, and where they come from another machine,
  /// program, seed, order seed or rules than this one; OutputError where the folder cannot be written.
  ///
  /// `points`: that are to be in the files at the end. A group's times are of the same rounds, so where a group lacks
  /// one of them, or some of a row's samples, the rows and samples that it has are taken out, to be measured again.
  /// Rows that have no time, because the point was refused or failed, stay. UsageError where a row that would be taken
  /// out is of none of `points`, for then nothing would replace it, and where two rows of one point differ; of two that
  /// are the same one is left.
  Results(const std::filesystem::path& folder, const Machine&, RunRecord, bool resume,
          std::span<const Point> points = {});

  /// Of the run that is being written: the resumed one's, or the new one.
  const std::string& run_id() const { return record_.run_id; }
  std::uint64_t order_seed() const { return *record_.order_seed; }
  const std::filesystem::path& csv_path() const { return csv_path_; }
  /// The rows that are there already and stay, whole ones only.
  const std::vector<Row>& earlier_rows() const { return earlier_; }
  bool has(const std::string& row_key) const { return done_.contains(row_key); }
  /// What the user should know about the resumed files: "the last row was cut ...". Empty if nothing.
  const std::vector<std::string>& notices() const { return notices_; }

  void append(const std::vector<Row>&, const std::string& samples_csv);

  /// This run's entry in machine.json; written at once, beside the entries of other experiments, which may be running.
  /// Of a resumed run it begins with what its first process began with. Where no point is left to be measured it is
  /// the whole entry as it was, and stays so.
  nlohmann::ordered_json& entry() { return *entry_; }
  /// The entry as the processes before this one left it; null where this is the first.
  const nlohmann::ordered_json& entry_before() const { return *entry_before_; }
  void write_machine();

 private:
  void read_earlier(std::span<const Point>);
  void check_same_origin(const std::string& run_id);
  nlohmann::ordered_json begun_entry() const;
  std::set<std::string> rows_that_lack_samples() const;
  std::size_t take_out_rows_of_incomplete_groups(std::span<const Point>);
  void drop_orphaned_samples();

  std::filesystem::path folder_, csv_path_, samples_path_;
  const Machine machine_;
  RunRecord record_;
  std::vector<Row> earlier_;
  std::set<std::string> done_;
  std::map<std::string, std::string> incomplete_;  ///< groups that lack points or samples of them, and one of these
  bool lack_samples_ = false;                      ///< some of them
  std::vector<std::string> notices_;
  std::shared_ptr<nlohmann::ordered_json> earlier_runs_, entry_before_, entry_;
  std::optional<AppendFile> csv_, samples_;
};

}  // namespace reductio
