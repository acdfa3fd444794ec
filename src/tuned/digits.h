#pragma once
/// Sums as whole numbers in several words, which atomics add up without rounding and so to the same bits in any order.
/// Floating-point sums are written in fixed point, one digit a word: a short Kulisch accumulator, small enough for one
/// update by a warp. Sums outside its range, infinities and NaN go to the full one (long_accumulator.h).
///
///   of one sum from each block, 144 bits
///   bit       2^lowest                                                                          2^(lowest + 144)
///   number    | digit 0: 39 bits | digit 1: 39 bits | digit 2: 39 bits | digit 3: 27 bits |
///
///   word 0-2  | sum of the digits, signed: 52 bits                | how many blocks: 12 bits |
///   word 3    | sum of the digits, signed: 40 bits | of how many something did not fit: 12 | how many blocks: 12 |
///
/// Each digit has 12 bits less than its field, so 4095 of them cannot overflow it. If blocks add many sums, up to 2^24
/// in all, there are seven digits of 27 bits and one of 15: 204 bits.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../device/kernel.h"
#include "launch_table.h"
#include "long_accumulator.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Bits of a word that count blocks. The last word has as many more, which count blocks with values that did not fit.
inline constexpr unsigned count_bits = 12;
static_assert(most_sums == (1u << count_bits) - 1, "a call has no more blocks");
inline constexpr std::uint64_t one_block = 1, all_blocks = most_sums;
/// In the last word of a sum of floating-point numbers.
inline constexpr std::uint64_t one_that_did_not_fit = one_block << count_bits,
                               all_that_did_not_fit = std::uint64_t{most_sums} << count_bits;
/// How many sums are added up: one of each block, or up to 2^24.
enum class Sums : unsigned { one_of_each_block = count_bits, many = 24 };
/// Bits of a digit, so that this many can be added up. The last digit has count_bits less.
constexpr unsigned digit_bits(Sums sums) { return 64 - count_bits - 1 - static_cast<unsigned>(sums); }

/// The digits of a sum in W. words: how many. fits(sum): whether the sum is in range. digit(sum, k): its digit k,
/// signed. counts_of(k): the bit of word k where the digit starts. part(word, k): the value of word k's digits; the
/// parts of all words add up to the sum.
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

/// Range, roughly: zero and 10^-17 to 10^19 for float, 10^-12 to 10^15 for double; with many sums 10^-23 to 10^31 and
/// 10^-20 to 10^25.
template <class W, Sums sums>
struct DigitsOfFloating {
  static constexpr unsigned words = sums == Sums::many ? 8 : 4, bits_each = digit_bits(sums);
  static constexpr int mantissa_bits = std::numeric_limits<W>::digits, bits = words * bits_each - count_bits;
  static constexpr int lowest = sums == Sums::many    ? mantissa_bits == 53 ? -120 : -100
                                : mantissa_bits == 53 ? -92
                                                      : -80;

  static __device__ unsigned counts_of(unsigned k) { return k == words - 1 ? 2 * count_bits : count_bits; }
  static __device__ bool fits(W sum) {
    const W size = sum < 0 ? -sum : sum;
    return size == 0 || (size >= power_of_two<W>(lowest + mantissa_bits - 1) && size < power_of_two<W>(lowest + bits));
  }
  /// Exact in every step: what the higher digits leave, in units of this digit, without its fraction.
  static __device__ std::int64_t digit(W sum, unsigned k) {
    const int unit = exponent_of(k), above = unit + static_cast<int>(bits_each);
    const Step exact = sum, before = truncated(exact * power_of_two<Step>(-above)) * power_of_two<Step>(above);
    return static_cast<std::int64_t>((exact - before) * power_of_two<Step>(-unit));
  }
  /// Exact. Adding two parts rounds by at most 2^-53 of the sum of the blocks' absolute sums.
  static __device__ double part(std::uint64_t word, unsigned k) {
    const std::int64_t digits = static_cast<std::int64_t>(word) >> counts_of(k);
    return static_cast<double>(digits) * power_of_two<double>(exponent_of(k));
  }
  /// Digit k counts in units of 2^exponent_of(k).
  static __device__ int exponent_of(unsigned k) { return lowest + static_cast<int>(bits_each * k); }

 private:
  /// Eight digits have more exponents than a float.
  using Step = std::conditional_t<sums == Sums::many, double, W>;
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
