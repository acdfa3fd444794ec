#pragma once
/// A results folder read back: its experiments' rows with their raw samples, without voided rounds.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/plan/selection.h"
#include "measure/results/row.h"
#include "measure/stats/by_round.h"

namespace reductio {

struct StoredRow {
  Row row;
  ByRound seconds, device_part_s, cycles;  ///< by round; empty where no sample has such a time
  ByRound read_s;                          ///< the read ceiling of its group, by round; empty where none was measured
  std::vector<int> contexts;               ///< that each round used
  /// What the samples of the harness's own calls in its group give; nothing where there are none.
  std::optional<double> launch_floor_s{}, polled_launch_floor_s{}, read_time_s{};
};

struct StoredResults {
  std::filesystem::path named;                      ///< as the user named it
  std::filesystem::path folder;                     ///< where the files are: that one, or the one in it
  std::shared_ptr<nlohmann::ordered_json> machine;  ///< machine.json; there always
  std::vector<StoredRow> rows;  ///< of the experiments in machine.json, in its order; no point twice in one
  std::vector<std::string>
      without_samples{};  ///< experiments whose rows are left out, as no raw samples are beside them

  /// Of the last cache before the memory that a device ("cuda", "cpu") reads; 0 where machine.json does not tell.
  double cache_bytes(std::string_view device) const;
  std::size_t sm_count() const;  ///< of the GPU; 0 where machine.json does not tell
};

/// Which rows of a folder to read. Of the selection, the variants' regex, types, operations and sizes count; empty
/// lists mean all. Variants need not exist in this program.
struct StoredChoice {
  std::vector<std::string> experiments{};
  Selection selection{};
  bool with_samples = true;  ///< false: rows alone, whether or not raw samples are beside them
  bool as_written = true;    ///< false: also files that are not as their run wrote them
  /// Called before rows are read, with all but them; may throw.
  std::function<void(const StoredResults&)> before_reading{};
};

/// The folder itself, or the one in it, where it is what --out named and holds the results of one machine. Throws
/// UsageError where it holds those of several.
std::filesystem::path folder_of_one_machine(const std::filesystem::path& named);

/// Reads that folder, or the only machine's folder in it, as --out names it. Throws UsageError if the folder lacks
/// machine.json or an EXPERIMENT.csv (.gz) that it names; if a file has another schema version, lacks a column, or
/// holds a cut row, a repeated row or an invalid value; if ok rows lack raw samples; if a file is not as its run wrote
/// it, by the SHA-256 in machine.json; and if nothing is chosen.
StoredResults read_results(const std::filesystem::path& folder, const StoredChoice& = {});

/// "note: ..." of the experiments that were left out; empty where none was.
std::string note_of_left_out(const StoredResults&);

}  // namespace reductio
