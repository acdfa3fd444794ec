#pragma once
/// CUDA's vector types, with its alignments, and dim3. `p[i]` of a pointer to one is read and written as a whole: of 16
/// bytes all four words are checked.

#include "device/sim/place.h"

namespace reductio::device {
inline namespace on_sim {

#define REDUCTIO_VECTORS(name, T)                                              \
  struct alignas(2 * sizeof(T)) name##2 {                                      \
    T x, y;                                                                    \
  };                                                                           \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }
#define REDUCTIO_VECTORS_OF_4(name, T)                                         \
  struct alignas(4 * sizeof(T)) name##4 {                                      \
    T x, y, z, w;                                                              \
  };                                                                           \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
REDUCTIO_VECTORS(int, int)
REDUCTIO_VECTORS(uint, unsigned)
REDUCTIO_VECTORS(float, float)
REDUCTIO_VECTORS(double, double)
REDUCTIO_VECTORS(longlong, long long)
REDUCTIO_VECTORS(ulonglong, unsigned long long)
REDUCTIO_VECTORS_OF_4(int, int)
REDUCTIO_VECTORS_OF_4(uint, unsigned)
REDUCTIO_VECTORS_OF_4(float, float)
#undef REDUCTIO_VECTORS
#undef REDUCTIO_VECTORS_OF_4

using uint3 = sim::Index;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::dim3;
using reductio::device::double2;
using reductio::device::float2;
using reductio::device::float4;
using reductio::device::int2;
using reductio::device::int4;
using reductio::device::longlong2;
using reductio::device::make_double2;
using reductio::device::make_float2;
using reductio::device::make_float4;
using reductio::device::make_int2;
using reductio::device::make_int4;
using reductio::device::make_longlong2;
using reductio::device::make_uint2;
using reductio::device::make_uint4;
using reductio::device::make_ulonglong2;
using reductio::device::uint2;
using reductio::device::uint3;
using reductio::device::uint4;
using reductio::device::ulonglong2;
