#pragma once
/// Where the two sides of a comparison come from: machine, program and run.
///
/// An origin is one side as --json describes it: { "source", "machine": machine.json without its runs,
/// "runs": [ to_json(RunRecord) ] }, the same for a stored folder and for what is measured now.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/analysis/compare.h"
#include "measure/session/session.h"

namespace reductio::cli {

nlohmann::ordered_json origin_of(const StoredResults&);

/// Of what is measured by this program now; the run's id is told by its rows.
nlohmann::ordered_json origin_of(const Session&);

/// What tells the two sides of rows apart besides the time: one sentence each, empty if nothing that is known.
std::string elsewhere(const Comparison&, const nlohmann::ordered_json& origins);

}  // namespace reductio::cli
