#pragma once
/// A long accumulator (Kulisch): a fixed-point number that covers every double. Atomics add to it without rounding, so
/// any order gives the same bits. It takes the sums outside the range of tuned/digits.h: it must be right, not fast.
///
///   word    0                1                      65
///   digit   | 2^-1074 on     | 2^-1042 on  | ... |  2^1006 on |    32 bits each, in words of 64, signed
///
///   word    66 counts +infinity, 67 -infinity, 68 NaN

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../device/kernel.h"
#include "launch_table.h"

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

/// Its words are zero before the first update and after take().
class LongAccumulator {
  static constexpr unsigned digits = 66, infinities = digits, all = digits + 3, all_lanes = 0xffffffffu;
  static constexpr int lowest = -1074;
  static constexpr double infinity = std::numeric_limits<double>::infinity(),
                          nothing = std::numeric_limits<double>::quiet_NaN();
  static_assert(all <= long_accumulator_words);

 public:
  /// Adding a number takes three updates, one lane each.
  static constexpr unsigned parts = 3;

  explicit __device__ LongAccumulator(std::uint64_t* words) : words_(words) {}

  /// Update `part` of those that add x.
  __device__ void add(double x, unsigned part) const {
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const auto mantissa = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << 52) - 1));
    const auto exponent = static_cast<unsigned>(bits >> 52) & 0x7ff;
    const bool negative = bits >> 63 != 0;
    if (exponent == 0x7ff) {
      if (part == (mantissa != 0 ? 2u : negative ? 1u : 0u)) device::atomicAdd(words_ + (infinities + part), 1);
      return;
    }
    const std::int64_t size = exponent == 0 ? mantissa : mantissa | std::int64_t{1} << 52,
                       whole = negative ? -size : size;
    const unsigned place = exponent == 0 ? 0 : exponent - 1, shift = place % 32;
    const std::int64_t above = whole >> (32 - shift);  // of the lowest digit
    const std::int64_t digit = part == 0   ? static_cast<std::uint32_t>(static_cast<std::uint64_t>(whole) << shift)
                               : part == 1 ? static_cast<std::uint32_t>(above)
                                           : above >> 32;
    if (part < parts && digit != 0) device::atomicAdd(words_ + (place / 32 + part), static_cast<std::uint64_t>(digit));
  }

  /// The sum in every lane, with a relative error below 2^-51; resets the words. For all lanes of one warp, which must
  /// see everything that was added.
  __device__ double take() const {
    const unsigned lane = threadIdx.x % 32;
    std::uint64_t word[3];
    for (unsigned k = 0; k < 3; ++k) {
      const unsigned i = lane + 32 * k;
      word[k] = 0;
      if (i < all) word[k] = words_[i];
      if (word[k] != 0) words_[i] = 0;
    }
    const unsigned low = __ballot_sync(all_lanes, word[0] != 0), middle = __ballot_sync(all_lanes, word[1] != 0),
                   high = __ballot_sync(all_lanes, word[2] != 0), special = high >> infinities % 32;
    if (special != 0) return special == 1 ? infinity : special == 2 ? -infinity : nothing;
    const auto filled = [&](unsigned i) { return ((i < 32 ? low : i < 64 ? middle : high) >> i % 32 & 1) != 0; };
    const auto first = static_cast<unsigned>(low != 0 ? __ffs(static_cast<int>(low)) - 1
                                             : middle != 0 ? __ffs(static_cast<int>(middle)) + 31 : 64);
    for (int sign = 1;; sign = -1) {
      // From the lowest digit up: each keeps 32 bits and carries the rest. The last carry is the sign.
      std::int64_t sum = 0;
      std::uint64_t below = 0, behind_first = 0;
      unsigned digit = 0, first_digit = 0, place = 0;
      for (unsigned i = first; i < digits + 2; ++i) {
        below = std::uint64_t{digit} << 32 | below >> 32;
        if (i < digits && filled(i)) {
          const std::uint64_t of_lane = i < 32 ? word[0] : i < 64 ? word[1] : word[2];
          sum += sign * static_cast<std::int64_t>(__shfl_sync(all_lanes, of_lane, static_cast<int>(i % 32)));
        }
        digit = static_cast<unsigned>(sum);
        sum >>= 32;
        if (digit == 0) continue;
        first_digit = digit;
        behind_first = below;
        place = i;
      }
      if (sum < 0) continue;
      const double size = first_digit * power_of_two<double>(64) + static_cast<double>(behind_first);
      const int exponent = lowest + static_cast<int>(32 * place) - 64;  // too far for one factor
      return sign * size * power_of_two<double>(exponent / 2) * power_of_two<double>(exponent - exponent / 2);
    }
  }

 private:
  std::uint64_t* words_;
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
