#pragma once
/// Sums without rounding: a fixed-point number wide enough for every finite double, for the square of every finite
/// double, and for 2^64 times as many of them (a "superaccumulator", after Kulisch). The references are computed by it.

#include <array>
#include <cstddef>
#include <cstdint>

namespace reductio {

/// An exact sum of doubles (floats convert exactly) and of their squares. Infinities and NaN follow IEEE addition.
class ExactSum {
 public:
  void add(double x);
  /// Adds x * x without rounding: 106 bits, and no underflow.
  void add_square(double x) { add_square(x, false); }
  /// Subtracts a finite x * x again.
  void subtract_square(double x) { add_square(x, true); }
  /// Adds `times` times another sum.
  void add(const ExactSum& other, std::uint64_t times = 1);

  /// The sum rounded once, to nearest, ties to even; +-infinity where it overflows, NaN where IEEE addition gives NaN
  /// (a NaN among the terms, or infinities of both signs). An empty or cancelling sum is +0.
  double to_f64() const;
  float to_f32() const;

  bool is_finite() const { return !nan_ && !positive_infinity_ && !negative_infinity_; }
  /// Whether the finite sum's magnitude is at most 2^exponent; exponents from -2148 to 2200.
  bool magnitude_at_most_power_of_two(int exponent) const;

 private:
  // Limb i holds a signed number that weighs 2^(32 * i + lowest). 32 bits of each are its own, the upper half collects
  // carries, which are spread only every 2^29 additions.
  static constexpr int lowest = -2176;  // below 2^-2148, the square of the least subnormal; a multiple of 32
  static constexpr int limbs = 140;     // up to 2^2304: 2^2048 squares, 2^64 of them scaled 2^64 times, sign
  static constexpr std::uint32_t room = 1u << 29;

  void add_square(double x, bool negative);
  void add_bits(std::uint64_t mantissa, int exponent, bool negative);
  void spread_carries();
  ExactSum magnitude(bool& negative) const;
  double rounded(int precision, int least_exponent) const;

  std::array<std::int64_t, limbs> limb_{};
  std::uint32_t pending_ = 0;  // additions since carries were last spread
  bool nan_ = false, positive_infinity_ = false, negative_infinity_ = false;
};

/// The exponent of the lowest set bit of a finite non-zero x: x is an odd multiple of 2^lowest_bit(x).
int lowest_bit(double x);

}  // namespace reductio
