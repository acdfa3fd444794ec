#pragma once
/// Element types on the CPU.

#include <cstdint>

#include "core/error.h"
#include "core/types.h"

namespace reductio {

/// Calls f.template operator()<T>() with the type that the problem is added up in: unsigned for i32, because signed
/// overflow is undefined in C++ while integer sums here are defined modulo 2^32.
template <class F>
auto dispatch_cpu(const Problem& p, F&& f) {
  switch (p.type) {
    case ElementType::i32: return f.template operator()<std::uint32_t>();
    case ElementType::f32: return f.template operator()<float>();
    case ElementType::f64: return f.template operator()<double>();
    default: throw Refused("element type is not supported");
  }
}

}  // namespace reductio
