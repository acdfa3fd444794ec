#pragma once
/// --plant: a slowdown of known size in one of the variants that are compared, measure/analysis/planted.h.

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/cli/compare/candidates.h"
#include "experiments/cli/compare/command.h"
#include "measure/results/reader.h"
#include "measure/run/session.h"

namespace reductio::cli {

/// What was asked for.
struct Plant {
  std::size_t candidate = 0;  ///< which is slowed
  std::string label;          ///< what that is called
  double share = 0;           ///< of its time; 0: nothing but the spins that all calls are followed by
};

/// Nothing where nothing is to be planted. Throws UsageError for what is asked wrongly and what a device cannot do.
std::optional<Plant> parse_plant(const CompareOptions&, const std::vector<Candidate>&, DeviceKind);

/// What the rows of a comparison with spins are called in place of "compare": they are never matched with others.
inline constexpr const char* compare_with_spins = "compare-with-spins";

/// A spin followed each call of these rows, so that they are compared with their like alone.
bool has_spins(const StoredResults&);

/// Throws UsageError where a baseline's rows have spins and those of now have not, or the other way round.
void check_spins(const StoredResults& baseline, const std::string& name, const std::optional<Plant>&);

/// What was planted, in seconds: of each group of points, by group_key().
using PlantedSeconds = std::map<std::string, double>;

/// Lets a spin follow every call of the session's points, whose candidates stand in turn, and a longer one those of the
/// slowed one. The points' variants are kept in `spinning`, which must outlive the run. How far the pilots are is shown
/// unless `quiet`.
PlantedSeconds plant_into(Session&, std::size_t candidates, const Plant&, std::deque<Variant>& spinning, bool quiet);

/// One sentence that says so.
std::string in_words(const Plant&);

}  // namespace reductio::cli
