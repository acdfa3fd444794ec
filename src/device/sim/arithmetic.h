#pragma once
/// What a thread computes by itself, by CUDA's names: min and max, bits, arithmetic and conversions of a stated
/// rounding, and what CUDA has beside C's math.h. Its fast functions, as __expf, are the others here (sim.h).

// Not <cmath>: with it alone the global abs() of a float is that of int, and sqrt() of a float gives a double.
#include <math.h>
#include <stdlib.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/types.h"
#include "device/sim/place.h"

namespace reductio::device {
inline namespace on_sim {

inline constexpr int warpSize = sim::warp_size;

/// Of floats the other one where one is NaN, as fmin and fmax.
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return y < x || x != x ? y : x;
}
template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x < y || x != x ? y : x;
}

constexpr unsigned umin(unsigned a, unsigned b) { return min(a, b); }
constexpr unsigned umax(unsigned a, unsigned b) { return max(a, b); }
constexpr long long llmin(long long a, long long b) { return min(a, b); }
constexpr long long llmax(long long a, long long b) { return max(a, b); }
constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
/// The place of the lowest bit that is set, counted from 1; 0 where none is.
constexpr int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
constexpr int __ffsll(long long x) { return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0; }

constexpr unsigned long long __brevll(unsigned long long x) {
  unsigned long long reversed = 0;
  for (int k = 0; k < 64; ++k) reversed = reversed << 1 | (x >> k & 1);
  return reversed;
}
constexpr unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
/// Of `high` and `low` beside each other, shifted by shift modulo 32, the upper word, or the lower one.
constexpr unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << shift % 32 >> 32);
}
constexpr unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> shift % 32);
}
/// The same, shifted by no more than 32.
constexpr unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
constexpr unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}
/// Four of the eight bytes of `high` and `low`, by the lower three bits of each digit of `selector`.
constexpr unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{high} << 32 | low;
  unsigned result = 0;
  for (int k = 0; k < 4; ++k) result |= (static_cast<unsigned>(bytes >> 8 * (selector >> 4 * k & 7)) & 0xff) << 8 * k;
  return result;
}
/// The upper half of the product.
constexpr int __mulhi(int a, int b) { return static_cast<int>(std::int64_t{a} * b >> 32); }
constexpr unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
constexpr long long __mul64hi(long long a, long long b) { return static_cast<long long>(Int128{a} * b >> 64); }
constexpr unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(UInt128{a} * b >> 64);
}
/// The lower half of the product of the lower 24 bits.
constexpr unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
constexpr int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
/// c and how far a is from b.
constexpr unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
constexpr unsigned __sad(int a, int b, unsigned c) {
  const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
  return (a < b ? y - x : x - y) + c;
}
/// The mean, rounded down; rounded up.
constexpr int __hadd(int a, int b) { return static_cast<int>((std::int64_t{a} + b) >> 1); }
constexpr int __rhadd(int a, int b) { return static_cast<int>((std::int64_t{a} + b + 1) >> 1); }
constexpr unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t{a} + b) >> 1); }
constexpr unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t{a} + b + 1) >> 1); }
/// c and the products of the four bytes of a and b.
constexpr unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int k = 0; k < 32; k += 8) c += (a >> k & 0xff) * (b >> k & 0xff);
  return c;
}
constexpr int __dp4a(int a, int b, int c) {
  auto sum = static_cast<unsigned>(c);
  for (int k = 0; k < 32; k += 8)
    sum += static_cast<unsigned>(static_cast<std::int8_t>(a >> k) * static_cast<std::int8_t>(b >> k));
  return static_cast<int>(sum);
}

constexpr unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
constexpr int __float_as_int(float x) { return std::bit_cast<int>(x); }
constexpr float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
constexpr float __int_as_float(int x) { return std::bit_cast<float>(x); }
constexpr unsigned long long __double_as_ulonglong(double x) { return std::bit_cast<unsigned long long>(x); }
constexpr double __ulonglong_as_double(unsigned long long x) { return std::bit_cast<double>(x); }
constexpr long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
constexpr double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
constexpr int __double2loint(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x)); }
constexpr int __double2hiint(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32); }
constexpr double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}

// Rounded to nearest, as all arithmetic here; on the GPU they are not merged into one rounding, either.
constexpr float __fadd_rn(float a, float b) { return a + b; }
constexpr float __fsub_rn(float a, float b) { return a - b; }
constexpr float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
constexpr double __dadd_rn(double a, double b) { return a + b; }
constexpr double __dsub_rn(double a, double b) { return a - b; }
constexpr double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
constexpr float __fdiv_rn(float a, float b) { return a / b; }
constexpr double __ddiv_rn(double a, double b) { return a / b; }
constexpr float __frcp_rn(float x) { return 1 / x; }
constexpr double __drcp_rn(double x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }

/// To nearest, ties to even, even where verify's check of chains rounds upward: it counts additions, and this is none.
template <class T>
constexpr T nearest_number(long long x) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const std::uint64_t size = x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
  const int extra = std::bit_width(size) - digits;
  if (extra <= 0) return static_cast<T>(x);
  const std::uint64_t units = (size + (std::uint64_t{1} << (extra - 1)) - 1 + (size >> extra & 1)) >> extra;
  const T whole = static_cast<T>(units) * static_cast<T>(std::uint64_t{1} << extra);
  return x < 0 ? -whole : whole;
}
constexpr float __ll2float_rn(long long x) { return nearest_number<float>(x); }
constexpr double __ll2double_rn(long long x) { return nearest_number<double>(x); }

/// Calls f in one of C's rounding modes. The compiler neither knows its arguments nor moves it out.
template <class F, class... Numbers>
auto in_mode(int mode, F f, Numbers... numbers) {
  const int before = std::fegetround();
  std::fesetround(mode);
  const auto hide = [](auto& number) { asm volatile("" : "+m"(number)); };
  (hide(numbers), ...);
  auto result = f(numbers...);
  hide(result);
  std::fesetround(before);
  return result;
}
#define REDUCTIO_ROUNDED(name, mode, To, T, value) \
  inline To name(T a) { return in_mode(mode, [](T a) -> To { return value; }, a); }
#define REDUCTIO_DIRECTED(name, To, T, value)                \
  REDUCTIO_ROUNDED(name##_rz, FE_TOWARDZERO, To, T, value)   \
  REDUCTIO_ROUNDED(name##_rd, FE_DOWNWARD, To, T, value)     \
  REDUCTIO_ROUNDED(name##_ru, FE_UPWARD, To, T, value)
#define REDUCTIO_ROUNDED_2(name, mode, T, value) \
  inline T name(T a, T b) { return in_mode(mode, [](T a, T b) -> T { return value; }, a, b); }
#define REDUCTIO_DIRECTED_2(name, T, value)                  \
  REDUCTIO_ROUNDED_2(name##_rz, FE_TOWARDZERO, T, value)     \
  REDUCTIO_ROUNDED_2(name##_rd, FE_DOWNWARD, T, value)       \
  REDUCTIO_ROUNDED_2(name##_ru, FE_UPWARD, T, value)
#define REDUCTIO_ROUNDED_FMA(name, mode, T) \
  inline T name(T a, T b, T c) { return in_mode(mode, [](T a, T b, T c) { return std::fma(a, b, c); }, a, b, c); }
#define REDUCTIO_DIRECTED_FMA(name, T)                       \
  REDUCTIO_ROUNDED_FMA(name##_rz, FE_TOWARDZERO, T)          \
  REDUCTIO_ROUNDED_FMA(name##_rd, FE_DOWNWARD, T)            \
  REDUCTIO_ROUNDED_FMA(name##_ru, FE_UPWARD, T)
REDUCTIO_DIRECTED_2(__fadd, float, a + b)
REDUCTIO_DIRECTED_2(__fsub, float, a - b)
REDUCTIO_DIRECTED_2(__fmul, float, a * b)
REDUCTIO_DIRECTED_2(__fdiv, float, a / b)
REDUCTIO_DIRECTED(__frcp, float, float, 1 / a)
REDUCTIO_DIRECTED(__fsqrt, float, float, std::sqrt(a))
REDUCTIO_DIRECTED_FMA(__fmaf, float)
REDUCTIO_DIRECTED_2(__dadd, double, a + b)
REDUCTIO_DIRECTED_2(__dsub, double, a - b)
REDUCTIO_DIRECTED_2(__dmul, double, a * b)
REDUCTIO_DIRECTED_2(__ddiv, double, a / b)
REDUCTIO_DIRECTED(__drcp, double, double, 1 / a)
REDUCTIO_DIRECTED(__dsqrt, double, double, std::sqrt(a))
REDUCTIO_DIRECTED_FMA(__fma, double)
REDUCTIO_DIRECTED(__int2float, float, int, static_cast<float>(a))
REDUCTIO_DIRECTED(__uint2float, float, unsigned, static_cast<float>(a))
REDUCTIO_DIRECTED(__ll2float, float, long long, static_cast<float>(a))
REDUCTIO_DIRECTED(__ull2float, float, unsigned long long, static_cast<float>(a))
REDUCTIO_DIRECTED(__ll2double, double, long long, static_cast<double>(a))
REDUCTIO_DIRECTED(__ull2double, double, unsigned long long, static_cast<double>(a))
REDUCTIO_DIRECTED(__double2float, float, double, static_cast<float>(a))
REDUCTIO_ROUNDED(__ull2float_rn, FE_TONEAREST, float, unsigned long long, static_cast<float>(a))
REDUCTIO_ROUNDED(__ull2double_rn, FE_TONEAREST, double, unsigned long long, static_cast<double>(a))
REDUCTIO_ROUNDED(__double2float_rn, FE_TONEAREST, float, double, static_cast<float>(a))
#undef REDUCTIO_ROUNDED
#undef REDUCTIO_DIRECTED
#undef REDUCTIO_ROUNDED_2
#undef REDUCTIO_DIRECTED_2
#undef REDUCTIO_ROUNDED_FMA
#undef REDUCTIO_DIRECTED_FMA
constexpr float __int2float_rn(int x) { return nearest_number<float>(x); }
constexpr float __uint2float_rn(unsigned x) { return nearest_number<float>(x); }
constexpr double __int2double_rn(int x) { return x; }
constexpr double __uint2double_rn(unsigned x) { return x; }

/// The nearest whole number, of two the even one, whatever the processor's mode is.
template <class T>
T to_nearest(T x) {
  if (!(std::fabs(x) < T{1} / std::numeric_limits<T>::epsilon())) return x;
  const T below = std::floor(x), part = x - below;
  return std::copysign(part > T(0.5) || (part == T(0.5) && std::fmod(below, T{2}) != 0) ? below + 1 : below, x);
}
/// Toward zero, and what is beyond T's range to its end. NaN gives 0, or in 8 bytes the sign bit alone.
template <class Integer>
constexpr Integer to_integer(double x) {
  using Limits = std::numeric_limits<Integer>;
  if (x != x) return sizeof(Integer) == 8 ? static_cast<Integer>(std::uint64_t{1} << 63) : Integer{0};
  if (x <= static_cast<double>(Limits::min())) return Limits::min();
  return x < 2.0 * static_cast<double>(Integer{1} << (Limits::digits - 1)) ? static_cast<Integer>(x) : Limits::max();
}
#define REDUCTIO_TO_INTEGER(name, Integer, T)                                       \
  inline Integer name##_rn(T x) { return to_integer<Integer>(to_nearest(x)); }      \
  inline Integer name##_rz(T x) { return to_integer<Integer>(x); }                  \
  inline Integer name##_rd(T x) { return to_integer<Integer>(std::floor(x)); }      \
  inline Integer name##_ru(T x) { return to_integer<Integer>(std::ceil(x)); }
REDUCTIO_TO_INTEGER(__float2int, int, float)
REDUCTIO_TO_INTEGER(__float2uint, unsigned, float)
REDUCTIO_TO_INTEGER(__float2ll, long long, float)
REDUCTIO_TO_INTEGER(__float2ull, unsigned long long, float)
REDUCTIO_TO_INTEGER(__double2int, int, double)
REDUCTIO_TO_INTEGER(__double2uint, unsigned, double)
REDUCTIO_TO_INTEGER(__double2ll, long long, double)
REDUCTIO_TO_INTEGER(__double2ull, unsigned long long, double)
#undef REDUCTIO_TO_INTEGER

inline float __frsqrt_rn(float x) { return static_cast<float>(1 / std::sqrt(double{x})); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
/// Within [0, 1]; 0 of NaN.
constexpr float __saturatef(float x) { return x > 1 ? 1.0f : x > 0 ? x : 0.0f; }

/// The sine of x half turns: x is brought within a quarter of a turn first, which is exact.
inline double sinpi(double x) {
  constexpr double pi = 3.14159265358979323846;
  const double rest = std::fmod(x, 2.0), size = std::fabs(rest), folded = size <= 0.5   ? size
                                                                          : size <= 1.5 ? 1 - size
                                                                                        : size - 2;
  return std::copysign(1.0, rest) * (folded == 0 ? 0.0 : std::sin(pi * folded));
}
inline double cospi(double x) {
  const double size = std::fmod(std::fabs(x), 2.0);
  return size == 0.5 || size == 1.5 ? 0.0 : sinpi(size <= 1 ? 0.5 - size : size - 1.5);
}
inline float sinpif(float x) { return static_cast<float>(sinpi(x)); }
inline float cospif(float x) { return static_cast<float>(cospi(x)); }
inline double rcbrt(double x) { return 1 / std::cbrt(x); }
inline float rcbrtf(float x) { return 1 / std::cbrt(x); }
inline double rhypot(double x, double y) { return 1 / std::hypot(x, y); }
inline float rhypotf(float x, float y) { return 1 / std::hypot(x, y); }
inline double norm3d(double x, double y, double z) { return std::hypot(x, y, z); }
inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
inline double rnorm3d(double x, double y, double z) { return 1 / std::hypot(x, y, z); }
inline float rnorm3df(float x, float y, float z) { return 1 / std::hypot(x, y, z); }
inline double norm4d(double x, double y, double z, double w) { return std::hypot(std::hypot(x, y, z), w); }
inline float norm4df(float x, float y, float z, float w) { return std::hypot(std::hypot(x, y, z), w); }
inline double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }
inline float rnorm4df(float x, float y, float z, float w) { return 1 / norm4df(x, y, z, w); }
inline double normcdf(double x) { return std::erfc(x * -0.70710678118654752440) / 2; }
inline float normcdff(float x) { return static_cast<float>(normcdf(x)); }

/// Off by up to two units in the last place on CUDA, by as many here, but not the same ones.
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__brev;
using reductio::device::__brevll;
using reductio::device::__byte_perm;
using reductio::device::__clz;
using reductio::device::__clzll;
using reductio::device::__dadd_rn;
using reductio::device::__ddiv_rn;
using reductio::device::__dmul_rn;
using reductio::device::__double2float_rn;
using reductio::device::__double2hiint;
using reductio::device::__double2int_rn;
using reductio::device::__double2ll_rn;
using reductio::device::__double2loint;
using reductio::device::__double2uint_rn;
using reductio::device::__double2ull_rn;
using reductio::device::__double_as_longlong;
using reductio::device::__double_as_ulonglong;
using reductio::device::__dp4a;
using reductio::device::__drcp_rn;
using reductio::device::__dsqrt_rn;
using reductio::device::__dsub_rn;
using reductio::device::__fadd_rn;
using reductio::device::__fdiv_rn;
using reductio::device::__fdividef;
using reductio::device::__ffs;
using reductio::device::__ffsll;
using reductio::device::__float2int_rn;
using reductio::device::__float2ll_rn;
using reductio::device::__float2uint_rn;
using reductio::device::__float2ull_rn;
using reductio::device::__float_as_int;
using reductio::device::__float_as_uint;
using reductio::device::__fma_rn;
using reductio::device::__fmaf_rn;
using reductio::device::__fmul_rn;
using reductio::device::__frcp_rn;
using reductio::device::__frsqrt_rn;
using reductio::device::__fsqrt_rn;
using reductio::device::__fsub_rn;
using reductio::device::__funnelshift_l;
using reductio::device::__funnelshift_lc;
using reductio::device::__funnelshift_r;
using reductio::device::__funnelshift_rc;
using reductio::device::__hadd;
using reductio::device::__hiloint2double;
using reductio::device::__int2double_rn;
using reductio::device::__int2float_rn;
using reductio::device::__int_as_float;
using reductio::device::__ll2double_rn;
using reductio::device::__ll2float_rn;
using reductio::device::__longlong_as_double;
using reductio::device::__mul24;
using reductio::device::__mul64hi;
using reductio::device::__mulhi;
using reductio::device::__popc;
using reductio::device::__popcll;
using reductio::device::__rhadd;
using reductio::device::__sad;
using reductio::device::__saturatef;
using reductio::device::__uhadd;
using reductio::device::__uint2double_rn;
using reductio::device::__uint2float_rn;
using reductio::device::__uint_as_float;
using reductio::device::__ull2double_rn;
using reductio::device::__ull2float_rn;
using reductio::device::__ulonglong_as_double;
using reductio::device::__umul24;
using reductio::device::__umul64hi;
using reductio::device::__umulhi;
using reductio::device::__urhadd;
using reductio::device::__usad;
using reductio::device::cospi;
using reductio::device::cospif;
using reductio::device::fdividef;
using reductio::device::llmax;
using reductio::device::llmin;
using reductio::device::max;
using reductio::device::min;
using reductio::device::norm3d;
using reductio::device::norm3df;
using reductio::device::norm4d;
using reductio::device::norm4df;
using reductio::device::normcdf;
using reductio::device::normcdff;
using reductio::device::rcbrt;
using reductio::device::rcbrtf;
using reductio::device::rhypot;
using reductio::device::rhypotf;
using reductio::device::rnorm3d;
using reductio::device::rnorm3df;
using reductio::device::rnorm4d;
using reductio::device::rnorm4df;
using reductio::device::rsqrt;
using reductio::device::rsqrtf;
using reductio::device::sinpi;
using reductio::device::sinpif;
using reductio::device::ullmax;
using reductio::device::ullmin;
using reductio::device::umax;
using reductio::device::umin;
using reductio::device::warpSize;
#define REDUCTIO_DIRECTED(name) \
  using reductio::device::name##_rd, reductio::device::name##_ru, reductio::device::name##_rz;
REDUCTIO_DIRECTED(__dadd)
REDUCTIO_DIRECTED(__ddiv)
REDUCTIO_DIRECTED(__dmul)
REDUCTIO_DIRECTED(__double2float)
REDUCTIO_DIRECTED(__double2int)
REDUCTIO_DIRECTED(__double2ll)
REDUCTIO_DIRECTED(__double2uint)
REDUCTIO_DIRECTED(__double2ull)
REDUCTIO_DIRECTED(__drcp)
REDUCTIO_DIRECTED(__dsqrt)
REDUCTIO_DIRECTED(__dsub)
REDUCTIO_DIRECTED(__fadd)
REDUCTIO_DIRECTED(__fdiv)
REDUCTIO_DIRECTED(__float2int)
REDUCTIO_DIRECTED(__float2ll)
REDUCTIO_DIRECTED(__float2uint)
REDUCTIO_DIRECTED(__float2ull)
REDUCTIO_DIRECTED(__fma)
REDUCTIO_DIRECTED(__fmaf)
REDUCTIO_DIRECTED(__fmul)
REDUCTIO_DIRECTED(__frcp)
REDUCTIO_DIRECTED(__fsqrt)
REDUCTIO_DIRECTED(__fsub)
REDUCTIO_DIRECTED(__int2float)
REDUCTIO_DIRECTED(__ll2double)
REDUCTIO_DIRECTED(__ll2float)
REDUCTIO_DIRECTED(__uint2float)
REDUCTIO_DIRECTED(__ull2double)
REDUCTIO_DIRECTED(__ull2float)
#undef REDUCTIO_DIRECTED
