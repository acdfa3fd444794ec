#pragma once
/// The documents' host loops, compiled once for each optimisation level.

#include <cstddef>

#include "core/types.h"

namespace reductio {

enum class HostLoop { plain, unroll2, unroll4, unroll8, recursive };

/// Adds up n elements at `in` into one accumulator at `out`. HostLoop::recursive overwrites `in`.
using HostSum = void (*)(void* in, void* out, std::size_t n);

HostSum host_loop_O0(HostLoop, ElementType);
HostSum host_loop_O1(HostLoop, ElementType);
HostSum host_loop_O2(HostLoop, ElementType);
HostSum host_loop_O3(HostLoop, ElementType);

}  // namespace reductio
