#pragma once
/// What a thread computes by itself, by CUDA's names: min and max, bits, and arithmetic of a stated rounding.

// Not <cmath>: with it alone the global abs() of a float is that of int, and sqrt() of a float gives a double.
#include <math.h>
#include <stdlib.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

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
/// The upper half of the product.
constexpr int __mulhi(int a, int b) { return static_cast<int>(std::int64_t{a} * b >> 32); }
constexpr unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }
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

/// Off by up to two units in the last place on CUDA, by as many here, but not the same ones.
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__brev;
using reductio::device::__brevll;
using reductio::device::__clz;
using reductio::device::__clzll;
using reductio::device::__dadd_rn;
using reductio::device::__ddiv_rn;
using reductio::device::__dmul_rn;
using reductio::device::__double2hiint;
using reductio::device::__double2loint;
using reductio::device::__double_as_longlong;
using reductio::device::__dp4a;
using reductio::device::__drcp_rn;
using reductio::device::__dsqrt_rn;
using reductio::device::__dsub_rn;
using reductio::device::__fadd_rn;
using reductio::device::__fdiv_rn;
using reductio::device::__ffs;
using reductio::device::__ffsll;
using reductio::device::__float_as_int;
using reductio::device::__float_as_uint;
using reductio::device::__fma_rn;
using reductio::device::__fmaf_rn;
using reductio::device::__fmul_rn;
using reductio::device::__frcp_rn;
using reductio::device::__fsqrt_rn;
using reductio::device::__fsub_rn;
using reductio::device::__funnelshift_l;
using reductio::device::__funnelshift_r;
using reductio::device::__hiloint2double;
using reductio::device::__int_as_float;
using reductio::device::__ll2double_rn;
using reductio::device::__ll2float_rn;
using reductio::device::__longlong_as_double;
using reductio::device::__mulhi;
using reductio::device::__popc;
using reductio::device::__popcll;
using reductio::device::__uint_as_float;
using reductio::device::__umulhi;
using reductio::device::max;
using reductio::device::min;
using reductio::device::rsqrt;
using reductio::device::rsqrtf;
using reductio::device::warpSize;
