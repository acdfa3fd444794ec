#include "core/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace reductio {
namespace {

struct Parts {
  std::uint64_t mantissa;
  int exponent;  // x = mantissa * 2^exponent
  bool negative;
};

Parts split(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((1ull << 52) - 1);
  return {biased ? fraction | 1ull << 52 : fraction, (biased ? biased : 1) - 1075, (bits >> 63) != 0};
}

constexpr std::uint64_t low32 = 0xffffffffu;

}  // namespace

int lowest_bit(double x) {
  const Parts p = split(x);
  return p.exponent + std::countr_zero(p.mantissa);
}

void ExactSum::add_bits(std::uint64_t mantissa, int exponent, bool negative) {
  const int position = exponent - lowest;
  const int at = position / 32, shift = position % 32;
  // mantissa << shift has up to 95 bits: three limbs.
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift ? mantissa >> (64 - shift) : 0;
  const std::int64_t sign = negative ? -1 : 1;
  limb_[at] += sign * static_cast<std::int64_t>(low & low32);
  limb_[at + 1] += sign * static_cast<std::int64_t>(low >> 32);
  limb_[at + 2] += sign * static_cast<std::int64_t>(high);
}

void ExactSum::add(double x) {
  if (!std::isfinite(x)) {
    nan_ |= std::isnan(x);
    positive_infinity_ |= x > 0;
    negative_infinity_ |= x < 0;
    return;
  }
  const Parts p = split(x);
  add_bits(p.mantissa, p.exponent, p.negative);
  if (++pending_ == room) spread_carries();
}

void ExactSum::add_square(double x, bool negative) {
  if (!std::isfinite(x)) return add(x * x);
  const Parts p = split(x);
  // (high * 2^27 + low)^2 with high < 2^26 and low < 2^27: no product passes 64 bits.
  const std::uint64_t high = p.mantissa >> 27, low = p.mantissa & ((1ull << 27) - 1);
  const int exponent = 2 * p.exponent;
  add_bits(low * low, exponent, negative);
  add_bits(high * low, exponent + 28, negative);
  add_bits(high * high, exponent + 54, negative);
  // Three additions, of which any two may meet in one limb.
  if ((pending_ += 3) >= room) spread_carries();
}

void ExactSum::spread_carries() {
  for (int i = 0; i + 1 < limbs; ++i) {
    limb_[i + 1] += limb_[i] >> 32;  // an arithmetic shift: the limb left behind is in [0, 2^32)
    limb_[i] &= static_cast<std::int64_t>(low32);
  }
  pending_ = 0;
}

void ExactSum::add(const ExactSum& other, std::uint64_t times) {
  if (times == 0) return;
  nan_ |= other.nan_;
  positive_infinity_ |= other.positive_infinity_;
  negative_infinity_ |= other.negative_infinity_;
  bool negative = false;
  const ExactSum m = other.magnitude(negative);
  spread_carries();
  const std::int64_t sign = negative ? -1 : 1;
  const std::uint64_t low = times & low32, high = times >> 32;
  for (int i = 0; i + 3 < limbs; ++i) {
    const auto limb = static_cast<std::uint64_t>(m.limb_[i]);
    const std::uint64_t a = limb * low, b = limb * high;
    limb_[i] += sign * static_cast<std::int64_t>(a & low32);
    limb_[i + 1] += sign * static_cast<std::int64_t>((a >> 32) + (b & low32));
    limb_[i + 2] += sign * static_cast<std::int64_t>(b >> 32);
  }
  spread_carries();
}

ExactSum ExactSum::magnitude(bool& negative) const {
  ExactSum m = *this;
  m.spread_carries();
  negative = m.limb_[limbs - 1] < 0;
  if (negative) {
    for (auto& limb : m.limb_) limb = -limb;
    m.spread_carries();
  }
  return m;
}

bool ExactSum::magnitude_at_most_power_of_two(int exponent) const {
  bool negative = false;
  ExactSum m = magnitude(negative);
  m.add_bits(1, exponent, true);
  m.spread_carries();
  if (m.limb_[limbs - 1] < 0) return true;
  for (const auto limb : m.limb_)
    if (limb) return false;
  return true;
}

double ExactSum::rounded(int precision, int least_exponent) const {
  if (nan_ || (positive_infinity_ && negative_infinity_)) return std::numeric_limits<double>::quiet_NaN();
  if (positive_infinity_) return std::numeric_limits<double>::infinity();
  if (negative_infinity_) return -std::numeric_limits<double>::infinity();

  bool negative = false;
  const ExactSum m = magnitude(negative);
  int top = limbs - 1;
  while (top >= 0 && m.limb_[top] == 0) --top;
  if (top < 0) return 0;
  const int highest = 32 * top + std::bit_width(static_cast<std::uint64_t>(m.limb_[top])) - 1;  // counted from `lowest`
  const int unit = std::max(highest - precision + 1, least_exponent - lowest);  // the result is a multiple of this bit

  const auto bit = [&](int position) { return m.limb_[position / 32] >> (position % 32) & 1; };
  std::uint64_t kept = 0;
  for (int position = highest; position >= unit; --position)
    kept = kept << 1 | static_cast<std::uint64_t>(bit(position));
  bool below_half = false;  // anything set below the half bit
  const int half = unit - 1;
  for (int i = 0; i < half / 32 && !below_half; ++i) below_half = m.limb_[i] != 0;
  for (int position = half / 32 * 32; position < half && !below_half; ++position) below_half = bit(position);
  if (bit(half) && (below_half || (kept & 1))) ++kept;
  const double value = std::ldexp(static_cast<double>(kept), unit + lowest);
  return negative ? -value : value;
}

double ExactSum::to_f64() const { return rounded(53, -1074); }

// In range the value is a float already; beyond, 24 bits times a large power of two convert to infinity.
float ExactSum::to_f32() const {
  const double value = rounded(24, -149);
  return std::abs(value) > std::numeric_limits<float>::max()
             ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value > 0 ? 1 : -1))
             : static_cast<float>(value);
}

}  // namespace reductio
