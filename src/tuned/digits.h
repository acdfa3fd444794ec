#pragma once
/// Sums as whole numbers in several words, which atomics add up without rounding and so to the same bits in any order.
/// Floating-point sums are written in fixed point, one digit a word: a Kulisch accumulator. A call needs few of its
/// digits, so they lie in bands. The home band takes sums around 1, and all integers:
///
///   of one sum from each block, 144 bits
///   bit       2^lowest                                                                          2^(lowest + 144)
///   number    | digit 0: 39 bits | digit 1: 39 bits | digit 2: 39 bits | digit 3: 27 bits |
///
///   word 0-2  | sum of the digits, signed: 52 bits                             | how many blocks: 12 bits |
///   word 3    | sum of the digits, signed: 40 bits | far bands they added to: 12 | how many blocks: 12    |
///
/// Each digit has 12 bits less than its field, so 4095 of them cannot overflow it. If blocks add many sums, up to 2^24
/// in all, there are seven digits of 27 bits and one of 11: 200 bits.
///
/// Other sums go to far bands, of as many words. A far band is the home band for sums times a power of two. Each sum
/// fits into one: doubles have 22, which are 92 bits apart, floats 2, 121 bits apart; of many sums 14 and 2. One band
/// more counts infinities and NaN.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../device/kernel.h"
#include "launch_table.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// 2^exponent, a normal number.
template <class W>
__device__ W power_of_two(int exponent) {
  using Bits = std::conditional_t<sizeof(W) == 8, std::uint64_t, std::uint32_t>;
  const Bits biased = static_cast<Bits>(exponent + std::numeric_limits<W>::max_exponent - 1);
  const Bits bits = biased << (std::numeric_limits<W>::digits - 1);
  W out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

/// Bits of a word that count blocks.
inline constexpr unsigned count_bits = 12;
static_assert(most_sums == (1u << count_bits) - 1, "a call has no more blocks");
inline constexpr std::uint64_t one_block = 1, all_blocks = most_sums;
/// How many sums are added up: one of each block, or up to 2^24.
enum class Sums : unsigned { one_of_each_block = count_bits, many = 24 };
/// Bits of a digit, so that this many can be added up. The last digit of the home band has far_bits() less.
constexpr unsigned digit_bits(Sums sums) { return 64 - count_bits - 1 - static_cast<unsigned>(sums); }
/// In the last word of a home band: bits that count the far bands to which blocks have added. Of many sums a block may
/// add to 15.
constexpr unsigned far_bits(Sums sums) { return sums == Sums::many ? count_bits + 4 : count_bits; }

/// The digits of the home band, of sums in W. words: how many. fits(sum): whether the sum is in range. digit(sum, k):
/// its digit k, signed. counts_of(k): the bit of word k where the digit starts. part(word, k): the value of word k's
/// digits; the parts of all words add up to the sum.
template <class W, Sums sums = Sums::one_of_each_block>
struct Digits;

template <>
struct Digits<std::uint32_t> {
  static constexpr unsigned words = 1;
  static __device__ unsigned counts_of(unsigned) { return 32; }
  static __device__ bool fits(std::uint32_t) { return true; }
  static __device__ std::int64_t digit(std::uint32_t sum, unsigned) { return sum; }
  static __device__ std::uint32_t part(std::uint64_t word, unsigned) { return static_cast<std::uint32_t>(word >> 32); }
};

/// Modulo 2^64: the last word may drop what is beyond.
template <>
struct Digits<std::uint64_t> {
  static constexpr unsigned words = 2, bits_each = digit_bits(Sums::one_of_each_block);
  static __device__ unsigned counts_of(unsigned) { return count_bits; }
  static __device__ bool fits(std::uint64_t) { return true; }
  static __device__ std::int64_t digit(std::uint64_t sum, unsigned k) {
    return static_cast<std::int64_t>(k == 0 ? sum & ((std::uint64_t{1} << bits_each) - 1) : sum >> bits_each);
  }
  static __device__ std::uint64_t part(std::uint64_t word, unsigned k) {
    return word >> count_bits << (k == 0 ? 0 : bits_each);
  }
};

/// Range of the home band, roughly: zero and 10^-17 to 10^19 for float, 10^-12 to 10^15 for double; with many sums
/// 10^-23 to 10^30 and 10^-20 to 10^23.
template <class W, Sums sums>
struct DigitsOfFloating {
  static constexpr unsigned words = sums == Sums::many ? 8 : 4, bits_each = digit_bits(sums),
                            far_bits = tuned::far_bits(sums);
  static constexpr int mantissa_bits = std::numeric_limits<W>::digits, bits = words * bits_each - far_bits;
  static constexpr int lowest = sums == Sums::many    ? mantissa_bits == 53 ? -120 : -100
                                : mantissa_bits == 53 ? -92
                                                      : -80;
  /// Bits from one band to the next. The powers of two between doubles' bands are doubles.
  static constexpr int apart = mantissa_bits == 53 && sums == Sums::many ? 146 : bits - mantissa_bits + 1,
                       top = lowest + mantissa_bits - 1 + apart,
                       below_home = mantissa_bits == 24 ? 1 : sums == Sums::many ? 7 : 11;
  static constexpr unsigned home = below_home, bands = 2 * home + 1, specials = bands;

  static __device__ unsigned counts_of(unsigned k) { return k == words - 1 ? count_bits + far_bits : count_bits; }
  static __device__ bool fits(W sum) {
    const W size = sum < 0 ? -sum : sum;
    return size == 0 || (size >= power_of_two<W>(lowest + mantissa_bits - 1) && size < power_of_two<W>(top));
  }
  /// Of a sum that does not fit.
  static __device__ unsigned band_of(W sum) {
    using Bits = std::conditional_t<sizeof(W) == 8, std::uint64_t, std::uint32_t>;
    constexpr int least = std::numeric_limits<W>::min_exponent - mantissa_bits;
    constexpr unsigned infinite = 2 * std::numeric_limits<W>::max_exponent - 1;
    Bits raw;
    memcpy(&raw, &sum, sizeof raw);
    const unsigned exponent = static_cast<unsigned>(raw >> (mantissa_bits - 1)) & infinite;
    if (exponent == infinite) return specials;
    return (exponent - (exponent != 0) + static_cast<unsigned>(least - lowest + below_home * apart)) / apart;
  }
  /// A sum of a band times 2^shift_of(band) is one of the home band.
  static __device__ int shift_of(unsigned band) { return (below_home - static_cast<int>(band)) * apart; }
  /// Eight digits have more exponents than a float.
  using Step = std::conditional_t<sums == Sums::many, double, W>;
  /// What the sum adds to word k of its band.
  static __device__ std::int64_t far_digit(W sum, unsigned band, unsigned k) {
    if (band == specials) return k == (sum != sum ? 2u : sum < 0 ? 1u : 0u);
    return digit(static_cast<Step>(sum) * power_of_two<Step>(shift_of(band)), k);
  }
  /// Exact in every step: what the higher digits leave, in units of this digit, without its fraction.
  static __device__ std::int64_t digit(Step sum, unsigned k) {
    const int unit = exponent_of(k), above = unit + static_cast<int>(bits_each);
    const Step before = truncated(sum * power_of_two<Step>(-above)) * power_of_two<Step>(above);
    return static_cast<std::int64_t>((sum - before) * power_of_two<Step>(-unit));
  }
  /// In the home band's last word: how often blocks have added to far bands.
  static __device__ unsigned far_updates(std::uint64_t word) {
    return static_cast<unsigned>(word >> count_bits) & ((1u << far_bits) - 1);
  }
  /// Exact. Adding two parts rounds by at most 2^-53 of the sum of the blocks' absolute sums.
  static __device__ double part(std::uint64_t word, unsigned k) {
    const std::int64_t digits = static_cast<std::int64_t>(word) >> counts_of(k);
    return static_cast<double>(digits) * power_of_two<double>(exponent_of(k));
  }
  /// Digit k counts in units of 2^exponent_of(k).
  static __device__ int exponent_of(unsigned k) { return lowest + static_cast<int>(bits_each * k); }

 private:
  static __device__ Step truncated(Step x) {
    if constexpr (std::is_same<Step, double>::value)
      return trunc(x);
    else
      return truncf(x);
  }
};
template <Sums sums>
struct Digits<float, sums> : DigitsOfFloating<float, sums> {};
template <Sums sums>
struct Digits<double, sums> : DigitsOfFloating<double, sums> {};

/// The sums that lanes have words of: one, or the two of a Pair, one behind the other.
template <class S>
struct Summed {
  using W = S;
  static constexpr unsigned values = 1;
  static __device__ W value(const S& sum, unsigned) { return sum; }
};
template <class T>
struct Summed<Pair<T>> {
  using W = T;
  static constexpr unsigned values = 2;
  static __device__ W value(const Pair<T>& sums, unsigned which) { return which == 0 ? sums.first : sums.second; }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
