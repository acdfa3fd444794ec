#pragma once
/// CUDA's vector types, with its alignments, and dim3. One is copied as a whole, as the GPU does: the checks see one
/// access of 8 or 16 bytes, at the line of the copy, and whether its address is aligned to them.

#include "device/sim/place.h"

/// A function of ours that a kernel's access to memory is made in: it is reported at the line of the call.
#define REDUCTIO_AS_CALLER __attribute__((always_inline, nodebug, no_sanitize("alignment")))

namespace reductio::device {
inline namespace on_sim {

#define REDUCTIO_VECTOR(name, T, bytes, parameters, initializers, ...)                                              \
  struct alignas(bytes) name {                                                                                      \
    T __VA_ARGS__;                                                                                                  \
    name() = default;                                                                                               \
    constexpr name parameters : initializers {}                                                                     \
    REDUCTIO_AS_CALLER name(const name& other) { whole() = other.whole(); }                                         \
    REDUCTIO_AS_CALLER name& operator=(const name& other) { return whole() = other.whole(), *this; }                \
    REDUCTIO_AS_CALLER name(const volatile name& other) { whole() = const_cast<const name&>(other).whole(); }       \
                                                                                                                    \
   private:                                                                                                         \
    typedef T Whole __attribute__((vector_size(bytes), may_alias));                                                 \
    REDUCTIO_AS_CALLER Whole& whole() { return *reinterpret_cast<Whole*>(this); }                                   \
    REDUCTIO_AS_CALLER const Whole& whole() const { return *reinterpret_cast<const Whole*>(this); }                 \
  };
#define REDUCTIO_COMMA ,
#define REDUCTIO_VECTOR_OF_2(name, T)                                                                               \
  REDUCTIO_VECTOR(name##2, T, 2 * sizeof(T), (T a REDUCTIO_COMMA T b), x(a) REDUCTIO_COMMA y(b), x, y)              \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }
#define REDUCTIO_VECTOR_OF_4(name, T)                                                                               \
  REDUCTIO_VECTOR(name##4, T, 4 * sizeof(T), (T a REDUCTIO_COMMA T b REDUCTIO_COMMA T c REDUCTIO_COMMA T d),        \
                  x(a) REDUCTIO_COMMA y(b) REDUCTIO_COMMA z(c) REDUCTIO_COMMA w(d), x, y, z, w)                     \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
REDUCTIO_VECTOR_OF_2(int, int)
REDUCTIO_VECTOR_OF_2(uint, unsigned)
REDUCTIO_VECTOR_OF_2(float, float)
REDUCTIO_VECTOR_OF_2(double, double)
REDUCTIO_VECTOR_OF_2(longlong, long long)
REDUCTIO_VECTOR_OF_2(ulonglong, unsigned long long)
REDUCTIO_VECTOR_OF_4(int, int)
REDUCTIO_VECTOR_OF_4(uint, unsigned)
REDUCTIO_VECTOR_OF_4(float, float)
#undef REDUCTIO_VECTOR
#undef REDUCTIO_COMMA
#undef REDUCTIO_VECTOR_OF_2
#undef REDUCTIO_VECTOR_OF_4

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
