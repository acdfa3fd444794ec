#pragma once
/// What machine.json says of a run besides its rows: clocks, flushing, where the time went.

#include <nlohmann/json_fwd.hpp>

#include "measure/session/session.h"

namespace reductio {

/// Before the first row: measures what no row needs. A failure leaves out the entry with a notice; throws if the device
/// is lost.
void record_start(nlohmann::ordered_json& entry, const Session&, RunObserver&);

/// After the last row. `before`: the entry when this run was resumed, else null. machine.h says how both are merged.
void record_end(nlohmann::ordered_json& entry, const Machine&, const RunReport&, const nlohmann::ordered_json& before);

}  // namespace reductio
