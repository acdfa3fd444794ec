#pragma once
/// The files of one experiment in a results folder: new ones, or those of an interrupted run.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/plan/point.h"
#include "measure/results/csv.h"
#include "measure/results/earlier.h"
#include "measure/results/provenance.h"
#include "measure/results/row.h"

namespace reductio {

/// <folder>/<experiment>.csv, .samples.csv.gz, machine.json and catalog.csv. A group's rows go out in one write, so a
/// run killed at any instant leaves only whole groups, except the one whose last row was cut.
class Results {
 public:
  /// Opens the files: new ones, or with `resume` the existing ones, of which EarlierRows says what stays. The run is
  /// complete once all `points` are in them. Throws UsageError where results exist and `resume` is off, and what
  /// MachineFile and EarlierRows refuse; OutputError where the folder cannot be written.
  Results(const std::filesystem::path& folder, const Machine&, RunRecord, bool resume,
          std::span<const Point> points = {});

  /// Throws as the constructor does of a folder that cannot be made or written, and of results that exist.
  static void check(const std::filesystem::path& folder, const std::string& experiment, bool resume);

  /// Of the run that is being written: the resumed one's, or the new one.
  const std::string& run_id() const { return record_.run_id; }
  std::uint64_t order_seed() const { return *record_.order_seed; }
  const std::filesystem::path& csv_path() const { return csv_path_; }
  /// The rows that are there already and stay, whole ones only.
  const std::vector<Row>& earlier_rows() const { return earlier_.rows(); }
  bool has(const std::string& row_key) const { return done_.contains(row_key); }
  /// What the user should know about the resumed files: "the last row was cut ...". Empty if nothing.
  const std::vector<std::string>& notices() const { return notices_; }

  void append(const std::vector<Row>&, const std::string& samples_csv);

  /// This run's entry in machine.json; written at once. In a resumed run it begins as its first process's did. If no
  /// point is left to measure, it is the whole old entry and stays so.
  nlohmann::ordered_json& entry() { return machine_.entry(); }
  const nlohmann::ordered_json& entry_before() const { return machine_.entry_before(); }
  void write_machine() { machine_.write(); }
  /// Into the entry: the SHA-256 of what this run has in its files.
  void record_hashes();

 private:
  void go_on_with_rows(std::span<const Point>);
  void go_on_with_samples();

  std::filesystem::path csv_path_, samples_path_;
  RunRecord record_;
  MachineFile machine_;
  EarlierRows earlier_;
  std::set<std::string> done_;
  std::vector<std::string> notices_;
  std::optional<AppendFile> csv_, samples_;
};

}  // namespace reductio
