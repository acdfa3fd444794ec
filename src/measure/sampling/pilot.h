#pragma once
/// Pilots: the first calls of each point of a group, which decide whether it is measured and by how many samples.
/// Nothing that is timed here counts.

#include <functional>

#include "measure/sampling/group.h"

namespace reductio {

/// Settles what cannot be measured, and sets the samples of all others.
End pilot(Group&, const std::function<bool()>& abandon);

}  // namespace reductio
