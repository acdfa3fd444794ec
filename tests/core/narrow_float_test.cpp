// Floats of 16 bits against definitions of them that share no code with core/narrow_float.h, for all 65536 patterns.
// Each check is a function of the conversion, and is shown to find conversions that are wrong in the usual ways.

#include "core/narrow_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace reductio {
namespace {

/// By moving the bits to where f32 has them: its exponent has 112 more below the bias, which a product of powers of two
/// makes up for, exactly, for subnormal numbers, too.
float f16_by_shifting(std::uint16_t bits) {
  const float magnitude = (bits & 0x7c00) == 0x7c00 ? std::bit_cast<float>((bits & 0x7fffu) << 13 | 0x7f800000u)
                                                    : std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  return bits >> 15 ? -magnitude : magnitude;
}
/// The upper half of an f32.
float bf16_by_shifting(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Patterns whose value is another than the definition's; a zero's sign counts.
template <class Widen, class Definition>
int wrong_values(Widen widen, Definition definition) {
  int wrong = 0;
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const float want = definition(static_cast<std::uint16_t>(bits)), got = widen(static_cast<std::uint16_t>(bits));
    wrong += std::isnan(want) ? !std::isnan(got) : got != want || std::signbit(got) != std::signbit(want);
  }
  return wrong;
}

/// Numbers that `narrow` rounds otherwise than to nearest, ties to even: each number itself, the midpoint of each two
/// neighbours, and what is next to the midpoint, of both signs. Beyond the largest finite number is infinity, whose
/// place in the row of numbers is where the next one would be.
template <class Float, class Narrow>
int wrong_roundings(Narrow narrow) {
  const auto value = [](std::uint16_t bits) {
    return bits == Float::infinity_bits ? std::ldexp(1.0, Float::max_exponent)
                                        : static_cast<double>(Float::of_bits(bits));
  };
  int wrong = 0;
  for (std::uint16_t bits = 0; bits < Float::infinity_bits; ++bits) {
    const auto next = static_cast<std::uint16_t>(bits + 1), even = bits % 2 == 0 ? bits : next;
    const double low = value(bits), high = value(next), middle = (low + high) / 2;
    const auto expect = [&](double x, std::uint16_t want) {
      wrong += narrow(x) != want;
      wrong += narrow(-x) != (want | 0x8000);
    };
    expect(low, bits);
    expect(middle, even);
    expect(std::nextafter(middle, low), bits);
    expect(std::nextafter(middle, high), next);
  }
  return wrong;
}

template <class Float>
float widened(std::uint16_t bits) {
  return static_cast<float>(Float::of_bits(bits));
}
template <class Float>
std::uint16_t narrowed(double x) {
  return Float(x).bits;
}

TEST(NarrowFloat, all_patterns_have_the_value_that_the_format_gives_them) {
  EXPECT_EQ(wrong_values(widened<F16>, f16_by_shifting), 0);
  EXPECT_EQ(wrong_values(widened<BF16>, bf16_by_shifting), 0);
  // Each format has 2^(its fraction's bits) - 1 subnormal numbers of each sign.
  const auto flushed = [](std::uint16_t bits) { return bits & 0x7c00 ? widened<F16>(bits) : 0.0f; };
  EXPECT_EQ(wrong_values(flushed, f16_by_shifting), 2 * 1023 + 1) << "and the sign of -0";
  EXPECT_GT(wrong_values(widened<BF16>, f16_by_shifting), 0);
}

TEST(NarrowFloat, some_values) {
  EXPECT_EQ(widened<F16>(0x3c00), 1);
  EXPECT_EQ(widened<F16>(0xc000), -2);
  EXPECT_EQ(widened<F16>(0x7bff), 65504);
  EXPECT_EQ(widened<F16>(0x0001), 0x1p-24f);
  EXPECT_EQ(widened<F16>(0x0400), 0x1p-14f);
  EXPECT_EQ(widened<BF16>(0x3f80), 1);
  EXPECT_EQ(widened<BF16>(0x0001), 0x1p-133f);
  EXPECT_EQ(static_cast<double>(BF16(3.0)), 3);
  EXPECT_EQ(static_cast<double>(F16(1.0 / 3)), 0.333251953125);
}

TEST(NarrowFloat, rounds_to_nearest_with_ties_to_even) {
  EXPECT_EQ(wrong_roundings<F16>(narrowed<F16>), 0);
  EXPECT_EQ(wrong_roundings<BF16>(narrowed<BF16>), 0);
  const auto cut = [](double x) {
    const std::uint16_t bits = narrowed<F16>(x);
    return std::abs(static_cast<double>(F16::of_bits(bits))) > std::abs(x) ? static_cast<std::uint16_t>(bits - 1)
                                                                           : bits;
  };
  EXPECT_GT(wrong_roundings<F16>(cut), 0);
  // What is rounded to f32 first comes to lie on a midpoint, and is rounded again.
  const auto twice = [](double x) { return narrowed<BF16>(static_cast<double>(static_cast<float>(x))); };
  EXPECT_GT(wrong_roundings<BF16>(twice), 0);
}

TEST(NarrowFloat, infinities_and_nan_stay_what_they_are) {
  EXPECT_EQ(narrowed<F16>(HUGE_VAL), 0x7c00);
  EXPECT_EQ(narrowed<F16>(-HUGE_VAL), 0xfc00);
  EXPECT_EQ(narrowed<F16>(1e300), 0x7c00);
  EXPECT_EQ(narrowed<BF16>(-1e300), 0xff80);
  EXPECT_TRUE(std::isnan(widened<F16>(narrowed<F16>(std::nan("")))));
  EXPECT_TRUE(std::isnan(widened<BF16>(narrowed<BF16>(-std::nan("")))));
  EXPECT_EQ(narrowed<F16>(5e-324), 0);
}

}  // namespace
}  // namespace reductio
