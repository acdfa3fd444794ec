#pragma once
/// CUDA's __half and __half2 on the simulated device.

#include "device/kernel.h"
#include "device/sim/halves.h"

namespace reductio::device {
inline namespace on_sim {

struct __half_raw {
  unsigned short x;
};
struct __half : HalfNumber<__half, __half_raw, 10> {
  using HalfNumber::HalfNumber;
  __half() = default;
  REDUCTIO_AS_CALLER __half& operator=(const __half_raw& raw) { return store(raw), *this; }
  REDUCTIO_AS_CALLER void operator=(const __half_raw& raw) volatile { store(raw); }
};

struct alignas(4) __half2_raw {
  unsigned short x, y;
};
struct alignas(4) __half2 : HalfPair<__half2, __half> {
  using HalfPair::HalfPair;
  __half2() = default;
  constexpr __half2(const __half2_raw& raw) : HalfPair(__half::of_bits(raw.x), __half::of_bits(raw.y)) {}
  constexpr operator __half2_raw() const { return {x.bits(), y.bits()}; }
  REDUCTIO_COPIED_WHOLE(__half2, unsigned Whole __attribute__((may_alias)))
};
using half = __half;
using half2 = __half2;

REDUCTIO_HALF_CONVERSIONS(__half, half)

inline __half2 make_half2(__half x, __half y) { return __half2(x, y); }
inline __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
inline __half2 __half2half2(__half x) { return __half2(x, x); }
inline __half2 __float2half2_rn(float x) { return __half2(x, x); }
inline __half2 __floats2half2_rn(float x, float y) { return __half2(x, y); }
inline __half2 __float22half2_rn(float2 v) { return __half2(v.x, v.y); }
inline float2 __half22float2(__half2 v) { return float2(v.x, v.y); }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
inline __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
inline __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
inline __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__double2half;
using reductio::device::__float22half2_rn;
using reductio::device::__float2half;
using reductio::device::__float2half2_rn;
using reductio::device::__float2half_rd;
using reductio::device::__float2half_rn;
using reductio::device::__float2half_ru;
using reductio::device::__float2half_rz;
using reductio::device::__floats2half2_rn;
using reductio::device::__half;
using reductio::device::__half2;
using reductio::device::__half22float2;
using reductio::device::__half2_raw;
using reductio::device::__half2char_rz;
using reductio::device::__half2float;
using reductio::device::__half2half2;
using reductio::device::__half2uchar_rz;
using reductio::device::__half_as_short;
using reductio::device::__half_as_ushort;
using reductio::device::__half_raw;
using reductio::device::__halves2half2;
using reductio::device::__high2half;
using reductio::device::__high2half2;
using reductio::device::__highs2half2;
using reductio::device::__low2half;
using reductio::device::__low2half2;
using reductio::device::__lows2half2;
using reductio::device::__short_as_half;
using reductio::device::__ushort_as_half;
using reductio::device::half;
using reductio::device::half2;
using reductio::device::make_half2;
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, short)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, ushort)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, int)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, uint)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, ll)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(half, ull)
