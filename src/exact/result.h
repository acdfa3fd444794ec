#pragma once
/// Where the result of an exact sum goes: its digits become a number, rounded once, or a partial sum.

#include <cstdint>

#include "../device/kernel.h"
#include "../tuned/digits.h"
#include "lanes.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// What was added up, if the sum is zero.
enum class Added : unsigned { nothing, negative_zeros, others };

/// Where a result goes: the one that is not null.
struct ExactResult {
  float* single;
  double* twice;
  std::int64_t* partial;  ///< exact::words of them

  /// exact::rounding() by a whole warp, without its two loops over the digits. Digits are signed and below 2^40, so a
  /// number has the sign of its highest digit that is not zero, and no borrow runs through zeros.
  template <int per_lane>
  static __device__ std::uint64_t rounding(exact::Format format, std::int64_t (&digit)[per_lane]) {
    constexpr int base = LaneDigits<per_lane>::base, last = LaneDigits<per_lane>::count - 1;
    for (bool is_carried = false; !is_carried;) {
      carry_digits(digit);
      bool fits = true;
#pragma unroll
      for (int k = 0; k < per_lane; ++k)
        fits = fits && (digit[k] / (exact::digit_mask + 1) == 0 || static_cast<int>(threadIdx.x % 32) + 32 * k == last);
      is_carried = __all_sync(whole_warp, fits) != 0;
    }
    const int top = highest_below(digit, 32 * per_lane);
    if (top < 0) return 0;
    const int first_below = highest_below(digit, top - 2);
    const std::int64_t below = digit_at(digit, first_below), highest = digit_at(digit, top);
    const bool negative = highest < 0, any_below = first_below >= 0;
    const std::int64_t sign = negative ? -1 : 1;
    // The last digit may have more bits, but then the sum is infinite.
    const std::int64_t size = sign * highest;
    std::int64_t a = size > exact::digit_mask ? exact::digit_mask : size, b = sign * digit_at(digit, top - 1),
                 c = sign * digit_at(digit, top - 2) - static_cast<std::int64_t>(any_below && (below < 0) != negative);
    b += c >> exact::digit_bits;
    c &= exact::digit_mask;
    a += b >> exact::digit_bits;
    b &= exact::digit_mask;
    auto high = static_cast<std::uint64_t>(a) << 24 | static_cast<std::uint64_t>(b) >> 16,
         low = static_cast<std::uint64_t>(b) << 48 | static_cast<std::uint64_t>(c) << 8;
    int unit = exact::lowest + exact::digit_bits * (base + top - 2) - 8 + 64;
    if (high == 0) {
      // The highest digits cancel. More of them than three are needed if there are any.
      if (any_below)
        return exact::rounding(format, base, base + top + 1, [&](int i) { return digit_at(digit, i - base); });
      high = low;
      low = 0;
      unit -= 64;
    }
    const int lead = __clzll(static_cast<long long>(high));
    const std::uint64_t bits = lead == 0 ? high : high << lead | low >> (64 - lead);
    return exact::rounded_bits(format, negative, bits, unit - lead, low << lead != 0 || any_below);
  }

  /// The place for a second result, behind the first.
  __device__ ExactResult second() const {
    return {single ? single + 1 : single, twice ? twice + 1 : twice, partial ? partial + exact::words : partial};
  }

  /// By a whole warp.
  template <int per_lane>
  __device__ void store(std::int64_t (&digit)[per_lane], Added added, unsigned specials) const {
    constexpr int base = LaneDigits<per_lane>::base;
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (partial) {
      carry_digits(digit);
      for (int i = lane; i < base; i += 32) partial[i] = 0;
#pragma unroll
      for (int k = 0; k < per_lane; ++k)
        if (base + lane + 32 * k < exact::digits) partial[base + lane + 32 * k] = digit[k];
      const int i = exact::digits + lane;
      if (i >= exact::words) return;
      std::int64_t word = 0;
      if (i == exact::others_word) word = added == Added::others;
      if (i == exact::negative_zeros_word) word = added == Added::negative_zeros;
      if (i >= exact::infinity_word && i <= exact::nan_word) word = specials >> (i - exact::infinity_word) & 1;
      partial[i] = word;
      return;
    }
    std::uint64_t bits;
    if (specials != 0) {
      bits = exact::special_bits(format(), (specials & 1) != 0, (specials & 2) != 0, (specials & 4) != 0);
    } else {
      bits = rounding(format(), digit);
      if (bits == 0 && added == Added::negative_zeros) bits = std::uint64_t{1} << (single ? 31 : 63);
    }
    if (lane == 0) put(bits);
  }

  /// The same of a float or double, where lanes `first` to `last` have digits base + first to base + last, of 52 bits,
  /// the highest of 40, all others are zero and the sum has another element than -0. False: the result is near the
  /// subnormal numbers or among them; nothing was stored.
  __device__ bool store_row(std::int64_t digit, int base, unsigned first, unsigned last) const {
    const unsigned lane = threadIdx.x % 32;
    digit = carried(digit, last);
    // The highest that is not zero keeps its sign, or a negative sum would carry -1 from lane to lane up to the last.
    const unsigned filled = __ballot_sync(whole_warp, digit != 0);
    const unsigned high = filled == 0 ? first : 31 - static_cast<unsigned>(__clz(static_cast<int>(filled)));
    do digit = carried(digit, high);
    while (__any_sync(whole_warp, lane < high && digit >> exact::digit_bits != 0) != 0);  // hardly ever
    const bool negative = __any_sync(whole_warp, digit < 0) != 0;
    const std::int64_t sign = !negative ? 0 : lane == high ? -1 : exact::digit_mask;  // a digit of nothing but signs
    const unsigned others = __ballot_sync(whole_warp, lane >= first && lane <= high && digit != sign),
                   below = __ballot_sync(whole_warp, digit != 0);
    const int top = others == 0 ? static_cast<int>(first) : 31 - __clz(static_cast<int>(others));
    // As many bits of three digits as there is room for; of a sum below zero with the signs above them.
    const std::int64_t a = __shfl_sync(whole_warp, digit, top) -
                           (negative && top < static_cast<int>(high) ? std::int64_t{1} << exact::digit_bits : 0);
    const auto b = static_cast<std::uint64_t>(__shfl_sync(whole_warp, digit, top - 1)),
               c = static_cast<std::uint64_t>(__shfl_sync(whole_warp, digit, top - 2)), low = b << 40 | c;
    const std::int64_t upper = a * (1 << 16) + static_cast<std::int64_t>(b >> 24);
    const int room = __clzll(upper < 0 ? ~upper : upper) - 1;
    const auto whole = static_cast<std::int64_t>(static_cast<std::uint64_t>(upper) << room | low >> (64 - room));
    const bool more = low << room != 0 || (below & ((1u << (top - 2)) - 1)) != 0;
    const int unit = exact::lowest + exact::digit_bits * (base + top - 2) + 64 - room;
    if (whole != 0 && unit + 61 < (single ? -126 : -960)) return false;  // or 2^unit would be subnormal
    if (lane == 0) store_whole(whole, more, unit, Added::others);
    return true;
  }

  /// Stores sum * 2^unit, rounded once by the GPU's own conversion; by one thread. `and_more`: the real sum is slightly
  /// larger; then |sum| > 2^60, and its lowest bit, far below the rounding, stands for that. Multiplying is exact: an
  /// element is a multiple of the least subnormal number, so a subnormal sum has no bits to round. Not so for squares.
  __device__ void store_whole(std::int64_t sum, bool and_more, int unit, Added added) const {
    const std::int64_t all = sum | static_cast<std::int64_t>(and_more);
    const double power = power_of_two<double>(unit);
    const bool negative_zero = added == Added::negative_zeros;
    if (single) single[0] = negative_zero ? -0.0F : static_cast<float>(__ll2float_rn(all) * power);
    else twice[0] = negative_zero ? -0.0 : __ll2double_rn(all) * power;
  }

 private:
  /// The highest place below `end` whose digit is not zero; -1 if there is none.
  template <int per_lane>
  static __device__ int highest_below(const std::int64_t (&digit)[per_lane], int end) {
    int at = -1;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) {
      const int left = end - 32 * k;
      const unsigned filled = __ballot_sync(whole_warp, digit[k] != 0) & (left >= 32  ? ~0u
                                                                          : left <= 0 ? 0
                                                                                      : (1u << left) - 1);
      if (filled != 0) at = 32 * k + 31 - __clz(static_cast<int>(filled));
    }
    return at;
  }
  /// The digit at a place, for all lanes; 0 below the first.
  template <int per_lane>
  static __device__ std::int64_t digit_at(const std::int64_t (&digit)[per_lane], int i) {
    std::int64_t own = digit[0];
#pragma unroll
    for (int k = 1; k < per_lane; ++k) own = i / 32 == k ? digit[k] : own;
    const std::int64_t there = __shfl_sync(whole_warp, own, i & 31);
    return i < 0 ? 0 : there;
  }
  __device__ exact::Format format() const { return single ? exact::format_of<float>() : exact::format_of<double>(); }
  __device__ void put(std::uint64_t bits) const {
    if (single) single[0] = exact::number_of<float>(bits);
    else twice[0] = exact::number_of<double>(bits);
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
