#pragma once
/// The operation vector_add: a[i] = b[i] + c[i], whose additions do not depend on each other, as those of a sum do. It
/// is no reduction, and is timed for what unrolling does to such a loop. So that it can be checked like a reduction, b
/// and c are the two halves of the input, and the value of a call is the sum of all that it stores and of the one
/// element that it leaves where n is odd: the sum of all n. That is added up after the timed interval.

#include <memory>

#include "core/variant.h"

namespace reductio {

/// Stores b[i] + c[i] in a[i] for i = 0, ..., n - 1. Elements of i32 are added as unsigned.
using VectorAdd = void (*)(const void* b, const void* c, void* a, int n);

/// A plan each of whose calls is one of `add`, for i32 and f32. The array a is the plan's own. It is poisoned before
/// the next call, so that one which stores too little is found out.
std::unique_ptr<Plan> vector_add_plan(const Problem&, VectorAdd add);

}  // namespace reductio
