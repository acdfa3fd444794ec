#pragma once
/// What a plan leaves open about subnormal numbers (PlanInfo::flushes_subnormals), found out by a call.

#include "device/backend.h"
#include "verify/verify.h"

namespace reductio {

/// Whether the case's variant, with its settings, takes subnormal float32 numbers as zero: as the plan declares, or,
/// where it does not say, as a call shows whose elements and sum are subnormal. False where no such call can be made.
bool flushes_subnormals(Backend&, const Case&, const PlanInfo&);

}  // namespace reductio
