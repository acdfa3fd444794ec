#pragma once
/// Pilots: the first calls of each point of a group. They decide whether it is measured and how many samples it gets.
/// Their times do not count.

#include <functional>

#include "measure/sampling/group.h"

namespace reductio {

/// Settles what cannot be measured, and sets the samples of all others.
End pilot(Group&, const std::function<bool()>& abandon);

}  // namespace reductio
