#pragma once
/// Elements that are added up in a wider type: floats of 16 bits as kernels load them, and from a problem to both
/// types. Apart from device/device.h, because CUDA's two headers take nvcc its time, and the documents' kernels add up
/// elements in their own type.

#include <cstdint>

#include "device/device.h"
#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "device/sim/cuda/cuda_bf16.h"
#include "device/sim/cuda/cuda_fp16.h"
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using Half = __half;
using BFloat16 = __nv_bfloat16;

/// Calls f.template operator()<In, Acc>() with the type of the problem's elements, and the type that they are added up
/// in (Problem::accumulator()): float for f16 and bf16; for integers an unsigned one, because signed overflow is
/// undefined in C++ while integer sums here are defined modulo 2^width. static_cast<Acc>(In) is what an element counts.
template <class F>
auto dispatch_wide(const Problem& p, F&& f) {
  switch (p.type) {
    case ElementType::i8: return f.template operator()<std::int8_t, std::uint32_t>();
    case ElementType::i32: return f.template operator()<std::uint32_t, std::uint32_t>();
    case ElementType::i64: return f.template operator()<std::uint64_t, std::uint64_t>();
    case ElementType::i128: break;
    case ElementType::f16: return f.template operator()<Half, float>();
    case ElementType::bf16: return f.template operator()<BFloat16, float>();
    case ElementType::f32: return f.template operator()<float, float>();
    case ElementType::f64: return f.template operator()<double, double>();
  }
  throw Refused("element type is not supported");
}

/// The same of a wide sum. Integers are signed here: static_cast<Acc>(In) extends their sign.
template <class F>
auto dispatch_wide_sum(const Problem& p, F&& f) {
  switch (p.type) {
    case ElementType::i8: return f.template operator()<std::int8_t, std::uint64_t>();
    case ElementType::i32: return f.template operator()<std::int32_t, std::uint64_t>();
    case ElementType::f32: return f.template operator()<float, double>();
    default: throw Refused("element type has no wide sum");
  }
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
