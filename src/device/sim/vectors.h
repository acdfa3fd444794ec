#pragma once
/// CUDA's vector types, with its sizes and alignments, and dim3. Those of 2 and 4 are aligned to more than an element.
/// One is copied as a whole, as the GPU does: the checks see one access, at the line of the copy, and whether its
/// address is aligned. Those of 1 and 3 are plain structs.

#include <initializer_list>

#include "device/sim/place.h"

/// A function of ours that a kernel's access to memory is made in: it is reported at the line of the call.
#define REDUCTIO_AS_CALLER __attribute__((always_inline, nodebug, no_sanitize("alignment")))

/// Ends the struct `name`, which is copied as one `Word`.
#define REDUCTIO_COPIED_WHOLE(name, Word)                                                                         \
  REDUCTIO_AS_CALLER name(const name& other) { whole() = other.whole(); }                                         \
  REDUCTIO_AS_CALLER name& operator=(const name& other) { return whole() = other.whole(), *this; }                \
  REDUCTIO_AS_CALLER name(const volatile name& other) { whole() = const_cast<const name&>(other).whole(); }       \
                                                                                                                  \
 private:                                                                                                         \
  typedef Word;                                                                                                   \
  REDUCTIO_AS_CALLER Whole& whole() { return *reinterpret_cast<Whole*>(this); }                                   \
  REDUCTIO_AS_CALLER const Whole& whole() const { return *reinterpret_cast<const Whole*>(this); }

namespace reductio::device {
inline namespace on_sim {

// Braces give members in order, and zero to the rest, as of an aggregate.
#define REDUCTIO_VECTOR_OF_2(name, T)                                                                             \
  struct alignas(2 * sizeof(T)) name {                                                                            \
    T x, y;                                                                                                       \
    name() = default;                                                                                             \
    constexpr name(T a, T b) : x(a), y(b) {}                                                                      \
    constexpr name(std::initializer_list<T> v) : x(*v.begin()), y(v.size() > 1 ? v.begin()[1] : 0) {}           \
    REDUCTIO_COPIED_WHOLE(name, T Whole __attribute__((vector_size(2 * sizeof(T)), may_alias)))                   \
  };                                                                                                              \
  constexpr name make_##name(T x, T y) { return name(x, y); }
#define REDUCTIO_VECTOR_OF_4(name, T, alignment)                                                                  \
  struct alignas(alignment) name {                                                                                \
    T x, y, z, w;                                                                                                 \
    name() = default;                                                                                             \
    constexpr name(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}                                                \
    constexpr name(std::initializer_list<T> v)                                                                    \
        : x(*v.begin()), y(v.size() > 1 ? v.begin()[1] : 0), z(v.size() > 2 ? v.begin()[2] : 0),              \
          w(v.size() > 3 ? v.begin()[3] : 0) {}                                                                 \
    REDUCTIO_COPIED_WHOLE(name, T Whole __attribute__((vector_size(4 * sizeof(T)), aligned(alignment), may_alias))) \
  };                                                                                                              \
  constexpr name make_##name(T x, T y, T z, T w) { return name(x, y, z, w); }
#define REDUCTIO_VECTORS_OF_1_AND_2(name, T)                                                                      \
  struct name##1 { T x; };                                                                                        \
  constexpr name##1 make_##name##1(T x) { return {x}; }                                                           \
  REDUCTIO_VECTOR_OF_2(name##2, T)
#define REDUCTIO_VECTOR_OF_3(name, T)                                                                             \
  struct name { T x, y, z; };                                                                                     \
  constexpr name make_##name(T x, T y, T z) { return {x, y, z}; }
#define REDUCTIO_VECTORS(name, T)                                                                                 \
  REDUCTIO_VECTORS_OF_1_AND_2(name, T)                                                                            \
  REDUCTIO_VECTOR_OF_3(name##3, T)                                                                                \
  REDUCTIO_VECTOR_OF_4(name##4, T, 4 * sizeof(T))
// Of 32 bytes CUDA has both alignments; where the name says none it is 16.
#define REDUCTIO_LONG_VECTORS(name, T)                                                                            \
  REDUCTIO_VECTORS_OF_1_AND_2(name, T)                                                                            \
  REDUCTIO_VECTOR_OF_3(name##3, T)                                                                                \
  REDUCTIO_VECTOR_OF_4(name##4, T, 16)                                                                            \
  REDUCTIO_VECTOR_OF_4(name##4_32a, T, 32)                                                                        \
  using name##4_16a = name##4;                                                                                    \
  constexpr name##4 make_##name##4_16a(T x, T y, T z, T w) { return name##4(x, y, z, w); }
REDUCTIO_VECTORS(char, signed char)
REDUCTIO_VECTORS(uchar, unsigned char)
REDUCTIO_VECTORS(short, short)
REDUCTIO_VECTORS(ushort, unsigned short)
REDUCTIO_VECTORS(int, int)
REDUCTIO_VECTORS_OF_1_AND_2(uint, unsigned)
using uint3 = sim::Index;
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
REDUCTIO_VECTOR_OF_4(uint4, unsigned, 16)
REDUCTIO_VECTORS(float, float)
REDUCTIO_LONG_VECTORS(long, long)
REDUCTIO_LONG_VECTORS(ulong, unsigned long)
REDUCTIO_LONG_VECTORS(longlong, long long)
REDUCTIO_LONG_VECTORS(ulonglong, unsigned long long)
REDUCTIO_LONG_VECTORS(double, double)
#undef REDUCTIO_VECTOR_OF_2
#undef REDUCTIO_VECTOR_OF_4
#undef REDUCTIO_VECTORS_OF_1_AND_2
#undef REDUCTIO_VECTOR_OF_3
#undef REDUCTIO_VECTORS
#undef REDUCTIO_LONG_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::dim3;
#define REDUCTIO_GLOBAL(name) using reductio::device::name, reductio::device::make_##name;
#define REDUCTIO_GLOBALS(name) \
  REDUCTIO_GLOBAL(name##1) REDUCTIO_GLOBAL(name##2) REDUCTIO_GLOBAL(name##3) REDUCTIO_GLOBAL(name##4)
#define REDUCTIO_LONG_GLOBALS(name) \
  REDUCTIO_GLOBALS(name) REDUCTIO_GLOBAL(name##4_16a) REDUCTIO_GLOBAL(name##4_32a)
REDUCTIO_GLOBALS(char)
REDUCTIO_GLOBALS(uchar)
REDUCTIO_GLOBALS(short)
REDUCTIO_GLOBALS(ushort)
REDUCTIO_GLOBALS(int)
REDUCTIO_GLOBALS(uint)
REDUCTIO_GLOBALS(float)
REDUCTIO_LONG_GLOBALS(long)
REDUCTIO_LONG_GLOBALS(ulong)
REDUCTIO_LONG_GLOBALS(longlong)
REDUCTIO_LONG_GLOBALS(ulonglong)
REDUCTIO_LONG_GLOBALS(double)
#undef REDUCTIO_GLOBAL
#undef REDUCTIO_GLOBALS
#undef REDUCTIO_LONG_GLOBALS
