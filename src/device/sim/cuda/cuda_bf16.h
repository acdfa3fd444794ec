#pragma once
/// CUDA's __nv_bfloat16 and __nv_bfloat162 on the simulated device.

#include "device/kernel.h"
#include "device/sim/halves.h"

namespace reductio::device {
inline namespace on_sim {

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __nv_bfloat16 : HalfNumber<__nv_bfloat16, __nv_bfloat16_raw, 7> {
  using HalfNumber::HalfNumber;
  __nv_bfloat16() = default;
  REDUCTIO_AS_CALLER __nv_bfloat16& operator=(const __nv_bfloat16_raw& raw) { return store(raw), *this; }
  REDUCTIO_AS_CALLER void operator=(const __nv_bfloat16_raw& raw) volatile { store(raw); }
};

struct alignas(4) __nv_bfloat162_raw {
  unsigned short x, y;
};
struct alignas(4) __nv_bfloat162 : HalfPair<__nv_bfloat162, __nv_bfloat16> {
  using HalfPair::HalfPair;
  __nv_bfloat162() = default;
  constexpr __nv_bfloat162(const __nv_bfloat162_raw& raw)
      : HalfPair(__nv_bfloat16::of_bits(raw.x), __nv_bfloat16::of_bits(raw.y)) {}
  constexpr operator __nv_bfloat162_raw() const { return {x.bits(), y.bits()}; }
  REDUCTIO_COPIED_WHOLE(__nv_bfloat162, unsigned Whole __attribute__((may_alias)))
};
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

REDUCTIO_HALF_CONVERSIONS(__nv_bfloat16, bfloat16)

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return __nv_bfloat162(x, x); }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return __nv_bfloat162(x, x); }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return __nv_bfloat162(x, y); }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __nv_bfloat162(v.x, v.y); }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return float2(v.x, v.y); }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.x, v.x); }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.y); }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__double2bfloat16;
using reductio::device::__float22bfloat162_rn;
using reductio::device::__float2bfloat16;
using reductio::device::__float2bfloat162_rn;
using reductio::device::__float2bfloat16_rd;
using reductio::device::__float2bfloat16_rn;
using reductio::device::__float2bfloat16_ru;
using reductio::device::__float2bfloat16_rz;
using reductio::device::__floats2bfloat162_rn;
using reductio::device::__nv_bfloat16;
using reductio::device::__nv_bfloat162;
using reductio::device::__bfloat1622float2;
using reductio::device::__nv_bfloat162_raw;
using reductio::device::__bfloat162char_rz;
using reductio::device::__bfloat162float;
using reductio::device::__bfloat162bfloat162;
using reductio::device::__bfloat162uchar_rz;
using reductio::device::__bfloat16_as_short;
using reductio::device::__bfloat16_as_ushort;
using reductio::device::__nv_bfloat16_raw;
using reductio::device::__halves2bfloat162;
using reductio::device::__high2bfloat16;
using reductio::device::__high2bfloat162;
using reductio::device::__highs2bfloat162;
using reductio::device::__low2bfloat16;
using reductio::device::__low2bfloat162;
using reductio::device::__lows2bfloat162;
using reductio::device::__short_as_bfloat16;
using reductio::device::__ushort_as_bfloat16;
using reductio::device::nv_bfloat16;
using reductio::device::nv_bfloat162;
using reductio::device::make_bfloat162;
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, short)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, ushort)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, int)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, uint)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, ll)
REDUCTIO_HALF_AND_INTEGER_GLOBAL(bfloat16, ull)
