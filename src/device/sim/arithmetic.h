#pragma once
/// What a thread computes by itself, by CUDA's names: min and max, bits, and arithmetic of a stated rounding.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/sim/pointers.h"

namespace reductio::device {
inline namespace on_sim {

inline constexpr int warpSize = sim::warp_size;

/// Of floats the other one where one is NaN, as fmin and fmax.
template <Operand A, Operand B>
constexpr auto min(const A& a, const B& b) {
  using T = std::common_type_t<decltype(value_of(a)), decltype(value_of(b))>;
  const T x = static_cast<T>(value_of(a)), y = static_cast<T>(value_of(b));
  return y < x || x != x ? y : x;
}
template <Operand A, Operand B>
constexpr auto max(const A& a, const B& b) {
  using T = std::common_type_t<decltype(value_of(a)), decltype(value_of(b))>;
  const T x = static_cast<T>(value_of(a)), y = static_cast<T>(value_of(b));
  return x < y || x != x ? y : x;
}

constexpr int __popc(unsigned x) { return std::popcount(x); }
constexpr int __popcll(unsigned long long x) { return std::popcount(x); }
constexpr int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
/// The place of the lowest bit that is set, counted from 1; 0 where none is.
constexpr int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
constexpr int __ffsll(long long x) { return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0; }

constexpr unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
constexpr int __float_as_int(float x) { return std::bit_cast<int>(x); }
constexpr float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
constexpr float __int_as_float(int x) { return std::bit_cast<float>(x); }
constexpr long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
constexpr double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

// Rounded to nearest, as all arithmetic here; on the GPU they are not merged into one rounding, either.
constexpr float __fadd_rn(float a, float b) { return a + b; }
constexpr float __fsub_rn(float a, float b) { return a - b; }
constexpr float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
constexpr double __dadd_rn(double a, double b) { return a + b; }
constexpr double __dsub_rn(double a, double b) { return a - b; }
constexpr double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__clz;
using reductio::device::__clzll;
using reductio::device::__dadd_rn;
using reductio::device::__dmul_rn;
using reductio::device::__double_as_longlong;
using reductio::device::__dsub_rn;
using reductio::device::__fadd_rn;
using reductio::device::__ffs;
using reductio::device::__ffsll;
using reductio::device::__float_as_int;
using reductio::device::__float_as_uint;
using reductio::device::__fma_rn;
using reductio::device::__fmaf_rn;
using reductio::device::__fmul_rn;
using reductio::device::__fsub_rn;
using reductio::device::__int_as_float;
using reductio::device::__longlong_as_double;
using reductio::device::__popc;
using reductio::device::__popcll;
using reductio::device::__uint_as_float;
using reductio::device::max;
using reductio::device::min;
using reductio::device::warpSize;
