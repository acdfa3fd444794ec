#pragma once
/// How experiments launch a variant unless the user says otherwise.

#include <vector>

#include "measure/plan/selection.h"

namespace reductio {

/// As its document launches it, in every way of finishing that it has; and, with its default finish, in each further
/// launch that the document compares with the first. What the user has set takes their place.
std::vector<Settings> documents_launches(const Variant&, const Selection&);

}  // namespace reductio
