#pragma once
/// Floats of 16 bits on the host: for data, for exact sums, and as the simulated device's Half and BFloat16
/// (device/wide.h). They are stored and converted, never calculated with: sums use a wider type. Written out because
/// not every compiler that builds this has them (clang++ 14 has neither in C++).

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

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
  /// Rounded once, to nearest, ties to even; beyond the largest finite number infinity. NaN stays one.
  explicit NarrowFloat(double x) : bits(rounded(x)) {}
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
  static std::uint16_t rounded(double x) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(x) << 15);
    const auto of = [&](int magnitude) { return static_cast<std::uint16_t>(sign | magnitude); };
    if (std::isnan(x)) return of(infinity_bits | 1 << (fraction_bits - 1));
    // Above all finite numbers and their midpoint to infinity; std::ilogb() of an infinity is no exponent.
    if (std::abs(x) >= std::ldexp(1.0, max_exponent)) return of(infinity_bits);
    const int exponent = x == 0 ? min_exponent - 1 : std::max(std::ilogb(x), min_exponent - 1);
    const auto significand = static_cast<int>(std::nearbyint(std::ldexp(std::abs(x), fraction_bits - exponent)));
    // The significand's hidden digit counts the exponent up by one, and so does a carry out of it: past the largest
    // finite number this is infinity. Below the least normal number there is no hidden digit, and the field is zero.
    const int biased = exponent - (min_exponent - 1);
    return of((biased << fraction_bits) + significand);
  }
};

using F16 = NarrowFloat<10>;
using BF16 = NarrowFloat<7>;

/// Whether T is one of them.
template <class T>
inline constexpr bool is_narrow_float = false;
template <int fraction_bits>
inline constexpr bool is_narrow_float<NarrowFloat<fraction_bits>> = true;

}  // namespace reductio
