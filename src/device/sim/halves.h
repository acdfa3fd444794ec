#pragma once
/// What CUDA's two floats of 16 bits share: cuda/cuda_fp16.h and cuda/cuda_bf16.h have the names. Arithmetic is that of
/// double, rounded once to nearest, ties to even. Functions of such numbers are friends: the compiler finds them by
/// their arguments, which they take by value, so that what is read is read at the line of the call.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/narrow_float.h"
#include "device/sim/arithmetic.h"
#include "device/sim/atomics.h"
#include "device/sim/intrinsics.h"
#include "device/sim/vectors.h"

namespace reductio::device {
inline namespace on_sim {

/// A double that is rounded to fewer digits as x would be: where x has too many for a double, its last one is odd.
template <class Integer>
constexpr double to_odd(Integer x) {
  if constexpr (sizeof(Integer) < 8) {
    return static_cast<double>(x);
  } else {
    const std::uint64_t size = x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
    const bool fits = size >> 53 == 0;
    const auto kept = static_cast<double>(fits ? size : (size >> 12 | (size % 4096 != 0)) << 12);
    return x < 0 ? -kept : kept;
  }
}
/// The same of a sum.
inline double sum_to_odd(double a, double b) {
  const double sum = a + b, of_b = sum - a, lost = (a - (sum - of_b)) + (b - of_b);
  if (!(std::fabs(lost) > 0) || !std::isfinite(sum)) return sum;
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  return bits % 2 ? sum : std::bit_cast<double>((lost > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

#define REDUCTIO_STEPS(one)                                                      \
  REDUCTIO_AS_CALLER friend Self& operator++(Self& a) { return a += one; }       \
  REDUCTIO_AS_CALLER friend Self& operator--(Self& a) { return a -= one; }       \
  REDUCTIO_AS_CALLER friend Self operator++(Self& a, int) {                      \
    const Self before = a;                                                       \
    return ++a, before;                                                          \
  }                                                                              \
  REDUCTIO_AS_CALLER friend Self operator--(Self& a, int) {                      \
    const Self before = a;                                                       \
    return --a, before;                                                          \
  }

/// `Self` is __half or __nv_bfloat16, `Raw` the struct of its bits.
template <class Self, class Raw, int fraction_bits>
class HalfNumber {
  using Float = NarrowFloat<fraction_bits>;
  unsigned short bits_;

  static constexpr unsigned short nan_bits = 0x7fff;
  static constexpr unsigned short narrowed(double x, std::float_round_style style = std::round_to_nearest) {
    return x != x ? nan_bits : Float(x, style).bits;
  }
  static Self of(double x) { return Self::rounded(x); }
  REDUCTIO_AS_CALLER bool is_nan() const { return (bits_ & 0x7fff) > Float::infinity_bits; }
  /// Within [0, 1]; 0 of NaN.
  static Self saturated(Self a) { return !(a.value() > 0) ? Self(0.0f) : a.value() > 1 ? Self(1.0f) : a; }
  static float value_of(unsigned short bits) { return static_cast<float>(Float::of_bits(bits)); }
  REDUCTIO_AS_CALLER float value() const { return value_of(bits_); }

 public:
  HalfNumber() = default;
  constexpr HalfNumber(const Raw& raw) : bits_(raw.x) {}
  template <class T>
    requires(std::is_arithmetic_v<T>)
  constexpr HalfNumber(T x) {
    if constexpr (std::is_integral_v<T>) bits_ = narrowed(to_odd(x));
    else bits_ = narrowed(static_cast<double>(x));
  }
  template <class Other, class OthersRaw, int others_bits>
  explicit HalfNumber(const HalfNumber<Other, OthersRaw, others_bits>& x)
      : HalfNumber(static_cast<float>(static_cast<const Other&>(x))) {}
  static constexpr Self rounded(double x, std::float_round_style style = std::round_to_nearest) {
    return of_bits(narrowed(x, style));
  }
  static constexpr Self of_bits(unsigned short bits) {
    return Self(Raw{bits});
  }
  REDUCTIO_AS_CALLER constexpr unsigned short bits() const { return bits_; }

  // What is volatile is read and written by its bits.
  REDUCTIO_AS_CALLER constexpr operator Raw() const { return {bits_}; }
  REDUCTIO_AS_CALLER operator Raw() const volatile { return {bits_}; }
  REDUCTIO_AS_CALLER void store(const Raw& raw) volatile { bits_ = raw.x; }
  REDUCTIO_AS_CALLER operator float() const { return value(); }
  REDUCTIO_AS_CALLER constexpr operator bool() const { return (bits_ & 0x7fff) != 0; }
#define REDUCTIO_TO(T) \
  REDUCTIO_AS_CALLER operator T() const { return to_integer<T>(value()); }
  REDUCTIO_TO(char)
  REDUCTIO_TO(signed char)
  REDUCTIO_TO(unsigned char)
  REDUCTIO_TO(short)
  REDUCTIO_TO(unsigned short)
  REDUCTIO_TO(int)
  REDUCTIO_TO(unsigned)
  REDUCTIO_TO(long)
  REDUCTIO_TO(unsigned long)
  REDUCTIO_TO(long long)
  REDUCTIO_TO(unsigned long long)
#undef REDUCTIO_TO

  // Products, and sums but for what is far below the last digit, are exact in double.
  friend Self operator+(Self a, Self b) { return of(double{a.value()} + double{b.value()}); }
  friend Self operator-(Self a, Self b) { return of(double{a.value()} - double{b.value()}); }
  friend Self operator*(Self a, Self b) { return of(double{a.value()} * double{b.value()}); }
  friend Self operator/(Self a, Self b) { return of(double{a.value()} / double{b.value()}); }
  friend Self __hfma(Self a, Self b, Self c) {
    return of(sum_to_odd(double{a.value()} * double{b.value()}, double{c.value()}));
  }
  friend Self operator+(Self a) { return a; }
  friend Self operator-(Self a) {
    return of_bits(a.is_nan() ? nan_bits : static_cast<unsigned short>(a.bits_ ^ 0x8000));
  }
  friend Self __habs(Self a) { return a.is_nan() ? of_bits(nan_bits) : of_bits(a.bits_ & 0x7fff); }
#define REDUCTIO_ASSIGNS(op, name)                                                 \
  REDUCTIO_AS_CALLER friend Self& operator op##=(Self& a, Self b) { return a = a op b; }       \
  friend Self name(Self a, Self b) { return a op b; }
  REDUCTIO_ASSIGNS(+, __hadd)
  REDUCTIO_ASSIGNS(-, __hsub)
  REDUCTIO_ASSIGNS(*, __hmul)
  REDUCTIO_ASSIGNS(/, __hdiv)
#undef REDUCTIO_ASSIGNS
  REDUCTIO_STEPS(Self(1.0f))
  friend Self __hneg(Self a) { return -a; }
  // Never merged into a fused multiply-add, as nothing is here.
  friend Self __hadd_rn(Self a, Self b) { return a + b; }
  friend Self __hsub_rn(Self a, Self b) { return a - b; }
  friend Self __hmul_rn(Self a, Self b) { return a * b; }
  friend Self __hadd_sat(Self a, Self b) { return saturated(a + b); }
  friend Self __hsub_sat(Self a, Self b) { return saturated(a - b); }
  friend Self __hmul_sat(Self a, Self b) { return saturated(a * b); }
  friend Self __hfma_sat(Self a, Self b, Self c) { return saturated(__hfma(a, b, c)); }
  friend Self __hfma_relu(Self a, Self b, Self c) {
    const Self sum = __hfma(a, b, c);
    return sum.value() < 0 ? Self(0.0f) : sum;
  }

  // An ordered comparison of a NaN is false, an unordered one (u) is true.
#define REDUCTIO_COMPARES(op, name)                                                                             \
  friend bool operator op(Self a, Self b) { return a.value() op b.value(); }                      \
  friend bool name(Self a, Self b) { return !a.is_nan() && !b.is_nan() && a.value() op b.value(); }             \
  friend bool name##u(Self a, Self b) { return a.is_nan() || b.is_nan() || a.value() op b.value(); }
  REDUCTIO_COMPARES(==, __heq)
  REDUCTIO_COMPARES(!=, __hne)
  REDUCTIO_COMPARES(<, __hlt)
  REDUCTIO_COMPARES(<=, __hle)
  REDUCTIO_COMPARES(>, __hgt)
  REDUCTIO_COMPARES(>=, __hge)
#undef REDUCTIO_COMPARES
  friend bool __hisnan(Self a) { return a.is_nan(); }
  friend int __hisinf(Self a) {
    return (a.bits_ & 0x7fff) != Float::infinity_bits ? 0 : a.bits_ >> 15 ? -1 : 1;
  }
  /// The other one where one is NaN; +0.0 is larger than -0.0.
  friend Self __hmax(Self a, Self b) {
    if (a.is_nan() || b.is_nan()) return !a.is_nan() ? a : !b.is_nan() ? b : of_bits(nan_bits);
    return a.value() < b.value() || (a.value() == b.value() && a.bits_ >> 15) ? b : a;
  }
  friend Self __hmin(Self a, Self b) {
    if (a.is_nan() || b.is_nan()) return !a.is_nan() ? a : !b.is_nan() ? b : of_bits(nan_bits);
    return b.value() < a.value() || (a.value() == b.value() && b.bits_ >> 15) ? b : a;
  }
  friend Self __hmax_nan(Self a, Self b) { return a.is_nan() || b.is_nan() ? of_bits(nan_bits) : __hmax(a, b); }
  friend Self __hmin_nan(Self a, Self b) { return a.is_nan() || b.is_nan() ? of_bits(nan_bits) : __hmin(a, b); }

  // Off by up to two units in the last place on CUDA; here rounded to nearest.
  friend Self hsqrt(Self a) { return of(std::sqrt(double{a.value()})); }
  friend Self hrsqrt(Self a) { return of(1 / std::sqrt(double{a.value()})); }
  friend Self hrcp(Self a) { return of(1 / double{a.value()}); }
  friend Self hexp(Self a) { return of(std::exp(double{a.value()})); }
  friend Self hexp2(Self a) { return of(std::exp2(double{a.value()})); }
  friend Self hexp10(Self a) { return of(std::pow(10.0, double{a.value()})); }
  friend Self hlog(Self a) { return of(std::log(double{a.value()})); }
  friend Self hlog2(Self a) { return of(std::log2(double{a.value()})); }
  friend Self hlog10(Self a) { return of(std::log10(double{a.value()})); }
  friend Self hsin(Self a) { return of(std::sin(double{a.value()})); }
  friend Self hcos(Self a) { return of(std::cos(double{a.value()})); }
  friend Self htanh(Self a) { return of(std::tanh(double{a.value()})); }
  friend Self htanh_approx(Self a) { return htanh(a); }
  friend Self htrunc(Self a) { return of(std::trunc(a.value())); }
  friend Self hceil(Self a) { return of(std::ceil(a.value())); }
  friend Self hfloor(Self a) { return of(std::floor(a.value())); }
  friend Self hrint(Self a) { return of(to_nearest(a.value())); }

  friend Self atomicAdd(Self* p, Self value, sim::Site site = sim::here()) {
    return add_to<Scope::gpu>(p, value, site);
  }
};

/// Two of them in a word: `Self` is __half2 or __nv_bfloat162.
template <class Self, class Half>
struct HalfPair {
  Half x, y;
  HalfPair() = default;
  constexpr HalfPair(const Half& a, const Half& b) : x(a), y(b) {}

#define REDUCTIO_ASSIGNS(op, name)                                                                           \
  friend Self operator op(Self a, Self b) { return Self(a.x op b.x, a.y op b.y); }             \
  REDUCTIO_AS_CALLER friend Self& operator op##=(Self& a, Self b) { return a = a op b; }                     \
  friend Self name(Self a, Self b) { return a op b; }
  REDUCTIO_ASSIGNS(+, __hadd2)
  REDUCTIO_ASSIGNS(-, __hsub2)
  REDUCTIO_ASSIGNS(*, __hmul2)
  REDUCTIO_ASSIGNS(/, __h2div)
#undef REDUCTIO_ASSIGNS
  friend Self operator+(Self a) { return a; }
  friend Self operator-(Self a) { return Self(-a.x, -a.y); }
  REDUCTIO_STEPS(Self(1.0f, 1.0f))
#define REDUCTIO_EACH(name, of_one) \
  friend Self name(Self a) { return Self(of_one(a.x), of_one(a.y)); }
  REDUCTIO_EACH(__hneg2, __hneg)
  REDUCTIO_EACH(__habs2, __habs)
  REDUCTIO_EACH(h2sqrt, hsqrt)
  REDUCTIO_EACH(h2rsqrt, hrsqrt)
  REDUCTIO_EACH(h2rcp, hrcp)
  REDUCTIO_EACH(h2exp, hexp)
  REDUCTIO_EACH(h2exp2, hexp2)
  REDUCTIO_EACH(h2exp10, hexp10)
  REDUCTIO_EACH(h2log, hlog)
  REDUCTIO_EACH(h2log2, hlog2)
  REDUCTIO_EACH(h2log10, hlog10)
  REDUCTIO_EACH(h2sin, hsin)
  REDUCTIO_EACH(h2cos, hcos)
  REDUCTIO_EACH(h2tanh, htanh)
  REDUCTIO_EACH(h2tanh_approx, htanh)
  REDUCTIO_EACH(h2trunc, htrunc)
  REDUCTIO_EACH(h2ceil, hceil)
  REDUCTIO_EACH(h2floor, hfloor)
  REDUCTIO_EACH(h2rint, hrint)
  REDUCTIO_EACH(__hisnan2, is_nan_of)
#undef REDUCTIO_EACH
#define REDUCTIO_EACH(name, of_one) \
  friend Self name(Self a, Self b) { return Self(of_one(a.x, b.x), of_one(a.y, b.y)); }
  REDUCTIO_EACH(__hadd2_rn, __hadd)
  REDUCTIO_EACH(__hsub2_rn, __hsub)
  REDUCTIO_EACH(__hmul2_rn, __hmul)
  REDUCTIO_EACH(__hadd2_sat, __hadd_sat)
  REDUCTIO_EACH(__hsub2_sat, __hsub_sat)
  REDUCTIO_EACH(__hmul2_sat, __hmul_sat)
  REDUCTIO_EACH(__hmax2, __hmax)
  REDUCTIO_EACH(__hmin2, __hmin)
  REDUCTIO_EACH(__hmax2_nan, __hmax_nan)
  REDUCTIO_EACH(__hmin2_nan, __hmin_nan)
#undef REDUCTIO_EACH
#define REDUCTIO_EACH(name, of_one) \
  friend Self name(Self a, Self b, Self c) { return Self(of_one(a.x, b.x, c.x), of_one(a.y, b.y, c.y)); }
  REDUCTIO_EACH(__hfma2, __hfma)
  REDUCTIO_EACH(__hfma2_sat, __hfma_sat)
  REDUCTIO_EACH(__hfma2_relu, __hfma_relu)
#undef REDUCTIO_EACH
  /// a * b + c of complex numbers.
  friend Self __hcmadd(Self a, Self b, Self c) {
    return Self(__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
  }

  // 1.0 or 0.0 for each; all bits or none of each; whether it holds of both.
#define REDUCTIO_COMPARES(name)                                                                          \
  friend Self __h##name##2(Self a, Self b) {                                                             \
    return Self(__h##name(a.x, b.x) ? 1.0f : 0.0f, __h##name(a.y, b.y) ? 1.0f : 0.0f);                   \
  }                                                                                                      \
  friend unsigned __h##name##2_mask(Self a, Self b) {                                                    \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                \
  }                                                                                                      \
  friend bool __hb##name##2(Self a, Self b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }
  REDUCTIO_COMPARES(eq)
  REDUCTIO_COMPARES(ne)
  REDUCTIO_COMPARES(lt)
  REDUCTIO_COMPARES(le)
  REDUCTIO_COMPARES(gt)
  REDUCTIO_COMPARES(ge)
  REDUCTIO_COMPARES(equ)
  REDUCTIO_COMPARES(neu)
  REDUCTIO_COMPARES(ltu)
  REDUCTIO_COMPARES(leu)
  REDUCTIO_COMPARES(gtu)
  REDUCTIO_COMPARES(geu)
#undef REDUCTIO_COMPARES
  friend bool operator==(Self a, Self b) { return __hbeq2(a, b); }
  friend bool operator!=(Self a, Self b) { return __hbneu2(a, b); }
  friend bool operator<(Self a, Self b) { return __hblt2(a, b); }
  friend bool operator<=(Self a, Self b) { return __hble2(a, b); }
  friend bool operator>(Self a, Self b) { return __hbgt2(a, b); }
  friend bool operator>=(Self a, Self b) { return __hbge2(a, b); }

  friend float __low2float(Self a) { return a.x; }
  friend float __high2float(Self a) { return a.y; }
  friend Self __lowhigh2highlow(Self a) { return Self(a.y, a.x); }

  /// CUDA adds each of the two atomically, but not both at once.
  friend Self atomicAdd(Self* p, Self value, sim::Site site = sim::here()) {
    sim::check_alignment(p, sizeof(Self), site);
    auto* const halves = reinterpret_cast<Half*>(p);
    const Half low = add_to<Scope::gpu>(halves, value.x, site);
    return Self(low, add_to<Scope::gpu>(halves + 1, value.y, site));
  }

 private:
  static Half is_nan_of(const Half& a) { return __hisnan(a) ? 1.0f : 0.0f; }
};

/// The conversions of one of them whose names have a `word` for it, half or bfloat16, from and to an integer type.
#define REDUCTIO_HALF_AND_INTEGER(Half, word, T, to)                                                                  \
  inline T __##word##2##to##_rn(Half h) { return to_integer<T>(to_nearest(static_cast<float>(h))); }                  \
  inline T __##word##2##to##_rz(Half h) { return to_integer<T>(static_cast<float>(h)); }                              \
  inline T __##word##2##to##_rd(Half h) { return to_integer<T>(std::floor(static_cast<float>(h))); }                  \
  inline T __##word##2##to##_ru(Half h) { return to_integer<T>(std::ceil(static_cast<float>(h))); }                   \
  inline Half __##to##2##word##_rn(T x) { return Half(x); }                                                           \
  inline Half __##to##2##word##_rz(T x) { return Half::rounded(to_odd(x), std::round_toward_zero); }                  \
  inline Half __##to##2##word##_rd(T x) { return Half::rounded(to_odd(x), std::round_toward_neg_infinity); }          \
  inline Half __##to##2##word##_ru(T x) { return Half::rounded(to_odd(x), std::round_toward_infinity); }
/// All of them, and those from and to float, double and bits.
#define REDUCTIO_HALF_CONVERSIONS(Half, word)                                                                         \
  inline Half __float2##word(float x) { return x; }                                                                   \
  inline Half __float2##word##_rn(float x) { return x; }                                                              \
  inline Half __float2##word##_rz(float x) { return Half::rounded(x, std::round_toward_zero); }                       \
  inline Half __float2##word##_rd(float x) { return Half::rounded(x, std::round_toward_neg_infinity); }               \
  inline Half __float2##word##_ru(float x) { return Half::rounded(x, std::round_toward_infinity); }                   \
  inline Half __double2##word(double x) { return x; }                                                                 \
  inline float __##word##2float(Half x) { return x; }                                                                 \
  REDUCTIO_HALF_AND_INTEGER(Half, word, short, short)                                                                 \
  REDUCTIO_HALF_AND_INTEGER(Half, word, unsigned short, ushort)                                                       \
  REDUCTIO_HALF_AND_INTEGER(Half, word, int, int)                                                                     \
  REDUCTIO_HALF_AND_INTEGER(Half, word, unsigned, uint)                                                               \
  REDUCTIO_HALF_AND_INTEGER(Half, word, long long, ll)                                                                \
  REDUCTIO_HALF_AND_INTEGER(Half, word, unsigned long long, ull)                                                      \
  inline signed char __##word##2char_rz(Half x) { return x; }                                                         \
  inline unsigned char __##word##2uchar_rz(Half x) { return x; }                                                      \
  inline unsigned short __##word##_as_ushort(Half x) { return x.bits(); }                                             \
  inline short __##word##_as_short(Half x) { return static_cast<short>(x.bits()); }                                   \
  inline Half __ushort_as_##word(unsigned short bits) { return Half::of_bits(bits); }                                 \
  inline Half __short_as_##word(short bits) { return Half::of_bits(static_cast<unsigned short>(bits)); }
#define REDUCTIO_HALF_AND_INTEGER_GLOBAL(word, to)                                                                    \
  using reductio::device::__##word##2##to##_rn, reductio::device::__##word##2##to##_rz,                               \
      reductio::device::__##word##2##to##_rd, reductio::device::__##word##2##to##_ru,                                 \
      reductio::device::__##to##2##word##_rn, reductio::device::__##to##2##word##_rz,                                 \
      reductio::device::__##to##2##word##_rd, reductio::device::__##to##2##word##_ru;

}  // namespace on_sim
}  // namespace reductio::device
