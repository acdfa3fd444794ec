#pragma once
/// Floats of 16 bits on the host: for data, for exact sums, and as what CUDA's __half and __nv_bfloat16 hold on the
/// simulated device (device/sim/halves.h). They are stored and converted, never calculated with: sums use a wider type.
/// Written out because not every compiler that builds this has them (clang++ 14 has neither in C++).

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "core/types.h"

namespace reductio {

/// Sign, exponent and `fraction_bits` of fraction in 16 bits, by the rules of IEEE 754: subnormal numbers, infinities
/// and NaN included.
template <int fraction_bits>
struct NarrowFloat {
  static constexpr int digits = fraction_bits + 1;                ///< of a normal number, the hidden one included
  static constexpr int max_exponent = 1 << (14 - fraction_bits);  ///< finite numbers are below 2^max_exponent
  static constexpr int min_exponent = 3 - max_exponent;           ///< 2^(min_exponent - 1): the least normal number
  static constexpr std::uint16_t infinity_bits = ((1 << (15 - fraction_bits)) - 1) << fraction_bits;

  std::uint16_t bits;

  NarrowFloat() = default;
  /// Rounded once, whatever the processor's mode is: to nearest, ties to even, and to infinity beyond the largest
  /// finite number, or as `style` says. NaN stays one.
  explicit constexpr NarrowFloat(double x, std::float_round_style style = std::round_to_nearest)
      : bits(rounded(x, style)) {}
  static constexpr NarrowFloat of_bits(std::uint16_t bits) {
    NarrowFloat x{};
    x.bits = bits;
    return x;
  }

  /// Exact: f32 has all numbers of f16 and bf16.
  template <std::floating_point T>
  explicit operator T() const {
    const int exponent = (bits & infinity_bits) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    const T sign = bits >> 15 ? T(-1) : T(1);
    if ((bits & infinity_bits) == infinity_bits)
      return sign * (fraction ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity());
    // A subnormal number has no hidden digit and the least exponent.
    const int significand = exponent ? fraction | 1 << fraction_bits : fraction;
    return sign * std::ldexp(static_cast<T>(significand), (exponent ? exponent : 1) + min_exponent - digits - 1);
  }

 private:
  static constexpr std::uint16_t rounded(double x, std::float_round_style style) {
    constexpr int double_bits = std::numeric_limits<double>::digits - 1;
    const auto bits = std::bit_cast<std::uint64_t>(x), magnitude = bits << 1 >> 1;
    const bool negative = bits >> 63;
    const auto of = [&](int narrow) { return static_cast<std::uint16_t>(negative << 15 | narrow); };
    if (x != x) return of(infinity_bits | 1 << (fraction_bits - 1));
    const bool up = style == (negative ? std::round_toward_neg_infinity : std::round_toward_infinity);
    const bool to_nearest = style == std::round_to_nearest;
    const int exponent = static_cast<int>(magnitude >> double_bits) - 1023;
    if (exponent >= max_exponent)
      return of(infinity_bits - (exponent < 1024 && !up && !to_nearest));  // 1024: an infinity
    // Below the least normal number there is no hidden digit, and the exponent stays.
    const int kept = std::max(exponent, min_exponent - 1);
    const std::uint64_t hidden = exponent > -1023 ? std::uint64_t{1} << double_bits : 0;
    const std::uint64_t significand = hidden | (magnitude & ((std::uint64_t{1} << double_bits) - 1));
    const int dropped = std::min(double_bits - fraction_bits + kept - exponent, 63);
    const std::uint64_t whole = significand >> dropped, rest = significand - (whole << dropped);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const bool away = to_nearest ? rest > half || (rest == half && whole % 2) : up && rest;
    // The significand's hidden digit counts the exponent up by one, and so does a carry out of it: past the largest
    // finite number this is infinity.
    return of(((kept - (min_exponent - 1)) << fraction_bits) + static_cast<int>(whole) + away);
  }
};

using F16 = NarrowFloat<10>;
using BF16 = NarrowFloat<7>;

/// Whether T is one of them.
template <class T>
inline constexpr bool is_narrow_float = false;
template <int fraction_bits>
inline constexpr bool is_narrow_float<NarrowFloat<fraction_bits>> = true;

/// f(In()) with the element's type, signed.
template <class F>
auto with_element(ElementType type, F f) {
  switch (type) {
    case ElementType::i8: return f(std::int8_t());
    case ElementType::i32: return f(std::int32_t());
    case ElementType::i64: return f(std::int64_t());
    case ElementType::i128: return f(Int128());
    case ElementType::f16: return f(F16());
    case ElementType::bf16: return f(BF16());
    case ElementType::f32: return f(float());
    case ElementType::f64: break;
  }
  return f(double());
}

}  // namespace reductio
