#pragma once
/// The documents' host loops, compiled once for each optimisation level.

#include "core/types.h"

namespace reductio {

enum class HostLoop { plain, unroll2, unroll4, unroll8, recursive };  ///< adds up
enum class HostAdd { plain, unroll2, unroll4 };                       ///< stores b[i] + c[i]

/// Adds up n elements at `in` into one accumulator at `out`. HostLoop::recursive overwrites `in`.
using HostSum = void (*)(void* in, void* out, int n);

/// Stores b[i] + c[i] in a[i] for n elements. There is none for f64: null.
using HostVectorAdd = void (*)(const void* b, const void* c, void* a, int n);

HostSum host_loop_O0(HostLoop, ElementType);
HostSum host_loop_O1(HostLoop, ElementType);
HostSum host_loop_O2(HostLoop, ElementType);
HostSum host_loop_O3(HostLoop, ElementType);
HostSum host_loop_O3_fast_math(HostLoop, ElementType);
HostVectorAdd host_loop_O0(HostAdd, ElementType);
HostVectorAdd host_loop_O1(HostAdd, ElementType);
HostVectorAdd host_loop_O2(HostAdd, ElementType);
HostVectorAdd host_loop_O3(HostAdd, ElementType);
HostVectorAdd host_loop_O3_fast_math(HostAdd, ElementType);

}  // namespace reductio
