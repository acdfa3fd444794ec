#pragma once
/// What machine.json tells of a run beside its rows: the clocks, whether flushing works, where the time went.

#include <nlohmann/json_fwd.hpp>

#include "measure/run/session.h"

namespace reductio {

/// Before the first row: measures what no row needs. What fails is left out with a notice; throws where the device is
/// lost, which no row would survive.
void record_start(nlohmann::ordered_json& entry, const Session&, RunObserver&);

/// After the last. `before`: the entry as it was when this run was resumed, null where it was not; what becomes of both
/// is told in machine.h.
void record_end(nlohmann::ordered_json& entry, const Machine&, const RunReport&, const nlohmann::ordered_json& before);

}  // namespace reductio
