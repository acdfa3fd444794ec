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
#include "core/narrow_float.h"
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

// Stored and converted by static_cast<float>, which is exact; their own arithmetic is CUDA's alone.
#ifdef __CUDACC__
using Half = __half;
using BFloat16 = __nv_bfloat16;
#else
using Half = F16;
using BFloat16 = BF16;
inline float __half2float(Half x) { return static_cast<float>(x); }
inline float __bfloat162float(BFloat16 x) { return static_cast<float>(x); }
inline Half __float2half(float x) { return Half(x); }
inline BFloat16 __float2bfloat16(float x) { return BFloat16(x); }

#define REDUCTIO_IN_FLOAT(op)                                                                                   \
  template <class A, class B>                                                                                   \
    requires(is_narrow_float<A> || is_narrow_float<B>)                                                          \
  A operator op(const A& a, const B&) {                                                                         \
    static_assert(sizeof(A) == 0,                                                                               \
                  "no arithmetic of floats of 16 bits here: widen each by static_cast<float>(x), or see .cuda_only"); \
    return a;                                                                                                   \
  }
REDUCTIO_IN_FLOAT(+)
REDUCTIO_IN_FLOAT(-)
REDUCTIO_IN_FLOAT(*)
REDUCTIO_IN_FLOAT(/)
REDUCTIO_IN_FLOAT(+=)
#undef REDUCTIO_IN_FLOAT
#endif

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

#ifndef __CUDACC__
// CUDA's own names are global there, so they are here.
using __half = reductio::device::Half;
using __nv_bfloat16 = reductio::device::BFloat16;
using reductio::device::__bfloat162float;
using reductio::device::__float2bfloat16;
using reductio::device::__float2half;
using reductio::device::__half2float;
#endif
