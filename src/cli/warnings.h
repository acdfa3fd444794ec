#pragma once
/// What makes times mislead, found out before they are taken.

#include <string>
#include <vector>

#include "measure/session/bench.h"

namespace reductio::cli {

/// One line for each thing that would make times of this build, on this device, now, mislead.
std::vector<std::string> misleading(const Bench&);

}  // namespace reductio::cli
