#pragma once
/// A block's sum as whole numbers that atomic updates add up: without rounding, and so to the same bits in any order. Of
/// integers that is no wonder. A floating-point number is written in a fixed-point number of 144 bits, of which each word
/// has a digit: a long accumulator (Kulisch), cut short. Sums whose bits lie outside of it, and what is no number, do not
/// fit: they go another way (tuned/finish.h).
///
///   bit       2^lowest                                                                          2^(lowest + 144)
///   number    | digit 0: 39 bits | digit 1: 39 bits | digit 2: 39 bits | digit 3: 27 bits |
///
///   word 0-2  | sum of the digits, signed: 52 bits                | how many blocks: 12 bits |
///   word 3    | sum of the digits, signed: 40 bits | how many did not fit: 12 | how many blocks: 12 |
///
/// A digit has so many bits less than its place that 4095 sums cannot carry into what lies beside it.

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

/// The bits of a word that count blocks, and of the last word those that count sums which did not fit.
inline constexpr unsigned count_bits = 12;
static_assert(most_sums == (1u << count_bits) - 1, "a call has no more blocks, nor pieces");
inline constexpr std::uint64_t one_block = 1, all_blocks = most_sums;
/// In the last word of a sum of floating-point numbers.
inline constexpr std::uint64_t one_that_did_not_fit = one_block << count_bits,
                               all_that_did_not_fit = std::uint64_t{most_sums} << count_bits;
inline constexpr unsigned digit_bits = 64 - 2 * count_bits - 1, last_digit_bits = digit_bits - count_bits;

/// Of a sum in W: `words`, how many there are. word(sum, k): what is added to word k, less the count. part(word, k): what
/// the digits in word k are together, with their weight: the parts of all words add up to the sum. fits(sum): whether it
/// can be written so.
template <class W>
struct Digits;

template <>
struct Digits<std::uint32_t> {
  static constexpr unsigned words = 1;
  static __device__ bool fits(std::uint32_t) { return true; }
  static __device__ std::uint64_t word(std::uint32_t sum, unsigned) { return std::uint64_t{sum} << 32; }
  static __device__ std::uint32_t part(std::uint64_t word, unsigned) { return static_cast<std::uint32_t>(word >> 32); }
};

/// Modulo 2^64, of which the last word need not have what is beyond.
template <>
struct Digits<std::uint64_t> {
  static constexpr unsigned words = 2;
  static __device__ bool fits(std::uint64_t) { return true; }
  static __device__ std::uint64_t word(std::uint64_t sum, unsigned k) {
    return (k == 0 ? sum & ((std::uint64_t{1} << digit_bits) - 1) : sum >> digit_bits) << count_bits;
  }
  static __device__ std::uint64_t part(std::uint64_t word, unsigned k) {
    return word >> count_bits << (k == 0 ? 0 : digit_bits);
  }
};

/// Which sums fit: zero, and of float those from 10^-17 to 10^19, of double from 10^-12 to 10^15, roughly.
template <class W>
struct DigitsOfFloating {
  static constexpr unsigned words = 4;
  static constexpr int mantissa_bits = std::numeric_limits<W>::digits;
  static constexpr int lowest = mantissa_bits == 53 ? -92 : -80, bits = 3 * digit_bits + last_digit_bits;

  static __device__ bool fits(W sum) {
    const W size = sum < 0 ? -sum : sum;
    return size == 0 || (size >= power(lowest + mantissa_bits - 1) && size < power(lowest + bits));
  }
  /// Exact, as each step is: what the digits before this one leave, in units of this digit, less a fraction that those
  /// behind it have.
  static __device__ std::uint64_t word(W sum, unsigned k) {
    const int unit = lowest + static_cast<int>(digit_bits * k), above = unit + static_cast<int>(digit_bits);
    const W before = truncated(sum * power(-above)) * power(above);
    const auto digit = static_cast<std::int64_t>((sum - before) * power(-unit));
    return static_cast<std::uint64_t>(digit) << counts_of(k);
  }
  /// Exact. Each addition of parts rounds off at most 2^-53 of the sum of the blocks' sums without their signs.
  static __device__ double part(std::uint64_t word, unsigned k) {
    const std::int64_t digits = static_cast<std::int64_t>(word) >> counts_of(k);
    return static_cast<double>(digits) * DigitsOfFloating<double>::power(lowest + static_cast<int>(digit_bits * k));
  }

  /// 2^exponent, of normal numbers.
  static __device__ W power(int exponent) {
    using Bits = std::conditional_t<mantissa_bits == 53, std::uint64_t, std::uint32_t>;
    const Bits bits = static_cast<Bits>(exponent + std::numeric_limits<W>::max_exponent - 1) << (mantissa_bits - 1);
    W out;
    memcpy(&out, &bits, sizeof out);
    return out;
  }

 private:
  /// The bits of word k that count.
  static __device__ unsigned counts_of(unsigned k) { return k == words - 1 ? 2 * count_bits : count_bits; }
  static __device__ W truncated(W x) {
    if constexpr (mantissa_bits == 53)
      return trunc(x);
    else
      return truncf(x);
  }
};
template <>
struct Digits<float> : DigitsOfFloating<float> {};
template <>
struct Digits<double> : DigitsOfFloating<double> {};

/// The same of the sums of a block: of a Pair the words of the first one, then those of the second.
template <class S>
struct DigitsOf : Digits<S> {
  using W = S;
  static constexpr unsigned each = Digits<S>::words;
};
template <class T>
struct DigitsOf<Pair<T>> {
  using W = T;
  static constexpr unsigned each = Digits<T>::words, words = 2 * each;
  static __device__ bool fits(const Pair<T>& sums) { return Digits<T>::fits(sums.first) && Digits<T>::fits(sums.second); }
  static __device__ std::uint64_t word(const Pair<T>& sums, unsigned k) {
    return Digits<T>::word(k < each ? sums.first : sums.second, k < each ? k : k - each);
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
