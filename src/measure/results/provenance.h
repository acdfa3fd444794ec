#pragma once
/// Which machine, program and run the rows of a results folder come from: its machine.json.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/results/machine.h"

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

/// SHA-256 of what a run has in a CSV file, uncompressed: the header and the lines with its run_id. It stays the same
/// when the file is compressed, or another run's lines are added. Nothing where the file has no column run_id.
std::optional<std::string> hash_of_run(std::string_view csv, std::string_view run_id);

/// Throws UsageError where a run or tool of machine.json has not the lines in this file, uncompressed `csv`, that it
/// wrote. Runs without a hash of this file are not asked: they did not end.
void require_unchanged(const nlohmann::ordered_json& machine, const std::filesystem::path& file, std::string_view csv);

/// Makes tables that another program wrote part of a results folder: gives their lines a run_id as the first column,
/// unless they have one, and notes the run among machine.json's tools, with the machine, this program's revision and
/// the hash of each file. A tool's run before, of one of these files, is replaced; the header of a new machine.json is
/// of `machine`. Throws UsageError where a file is missing or no CSV. Returns the id, or the first of those that the
/// tables have.
std::string record_tool(const std::filesystem::path& folder, const Machine& machine, const std::string& tool,
                        const std::vector<std::string>& arguments, const std::vector<std::string>& files);

/// machine.json of a results folder: the machine, and an entry for each experiment's run. Other experiments may be
/// running and write theirs.
class MachineFile {
 public:
  /// Throws UsageError where the file is damaged, or written with another schema version.
  MachineFile(const std::filesystem::path& folder, const Machine&);

  /// Finds the entry of the run that `record` resumes, by its run_id, and takes its order seed if `record` has none.
  /// Throws UsageError, about the file `csv`, if there is no entry, or if that run's machine, program, seed, order seed
  /// or rules differ.
  void resume(RunRecord& record, const std::string& csv);
  /// Begins an entry, or continues the resumed run's. `complete`: nothing is left to measure, so that entry stays as it
  /// is.
  void begin(const RunRecord&, bool complete);

  nlohmann::ordered_json& entry() { return *entry_; }
  /// From the first row on the header is this machine's: it describes one that measured.
  void has_measured() { has_measured_ = true; }
  /// The entry as earlier processes left it; null in the first.
  const nlohmann::ordered_json& entry_before() const { return *before_; }
  /// The entry beside those of other experiments. One of the same experiment is replaced: its rows are gone, or it is
  /// the run that was resumed.
  void write() const;

 private:
  std::filesystem::path folder_;
  Machine machine_;
  bool has_measured_ = false;
  std::shared_ptr<nlohmann::ordered_json> runs_, before_, entry_;
};

}  // namespace reductio
