#pragma once
/// A results folder read back: the rows of its experiments, each with the raw samples behind it, without voided rounds.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
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
  ByRound read_s;                  ///< the read ceiling of its group, by round; empty where none was measured
  std::vector<int> allocations;    ///< that each round used
};

struct StoredResults {
  std::filesystem::path named;   ///< as the user named it
  std::filesystem::path folder;  ///< where the files are: that one, or the one in it
  std::shared_ptr<nlohmann::ordered_json> machine;  ///< machine.json; there always
  std::vector<StoredRow> rows;  ///< of the experiments that machine.json tells of, in its order; no point twice in one
  std::vector<std::string>
      without_samples{};  ///< experiments whose rows are left out, as no raw samples are beside them

  /// Of the last cache before the memory that a device ("cuda", "cpu") reads; 0 where machine.json does not tell.
  double cache_bytes(std::string_view device) const;
  std::size_t sm_count() const;  ///< of the GPU; 0 where machine.json does not tell
};

/// Which rows of a folder to read. Of the selection, empty lists mean all, and the variants' regex, types, operations
/// and sizes count; of a variant that this program does not have as of any other.
struct StoredChoice {
  std::vector<std::string> experiments{};
  Selection selection{};
  bool with_samples = true;  ///< false: rows alone, whether or not raw samples are beside them
};

/// Of that folder, or of the one in it where it is what --out named and holds one machine's.
/// Throws UsageError where the folder lacks machine.json, or an EXPERIMENT.csv (.gz) that machine.json tells of; where
/// a file has another schema version, lacks a column, holds a row that was cut, a row twice, or a value that is none;
/// where ok rows lack raw samples beside them; and where nothing is chosen.
StoredResults read_results(const std::filesystem::path& folder, const StoredChoice& = {});

/// "note: ..." of the experiments that were left out; empty where none was.
std::string note_of_left_out(const StoredResults&);

}  // namespace reductio
