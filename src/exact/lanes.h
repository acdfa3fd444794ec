#pragma once
/// What exact sums do across the lanes of a warp: sums, maxima, and a long accumulator with some of its digits in each
/// lane.

#include <cstdint>

#include "../device/kernel.h"
#include "partial.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

inline constexpr unsigned whole_warp = 0xffffffffu;

/// The least of a warp's values, in all lanes. Below 8.0, and simulated, by shuffles.
__device__ inline unsigned least_in_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_min_sync(whole_warp, value);
#else
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned other = __shfl_xor_sync(whole_warp, value, distance);
    value = other < value ? other : value;
  }
  return value;
#endif
}

/// Of two pairs of 16-bit numbers: the maxima without sign, and the minima with sign.
__device__ inline unsigned larger_of_each(unsigned a, unsigned b) {
#ifdef __CUDACC__
  return __vmaxu2(a, b);
#else
  const unsigned high = 0xffff0000u, low = 0xffffu;
  return ((a & high) > (b & high) ? a & high : b & high) | ((a & low) > (b & low) ? a & low : b & low);
#endif
}
__device__ inline unsigned lesser_of_each(unsigned a, unsigned b) {
#ifdef __CUDACC__
  return __vmins2(a, b);
#else
  const unsigned signs = 0x80008000u;  // flipped, they order signed numbers as unsigned ones
  return ~larger_of_each(~(a ^ signs), ~(b ^ signs)) ^ signs;
#endif
}

/// Which of the long accumulator's digits a warp has: lane k has base + k, base + k + 32, ... Two in each lane reach
/// down to 2^-1080, enough for sums of doubles and for squares of floats; three to 2^-2160, for squares of doubles.
template <int per_lane>
struct LaneDigits {
  static constexpr int base = per_lane == 3 ? 0 : 27, lowest = exact::lowest + exact::digit_bits * base,
                       count = exact::digits - base;
  static_assert(32 * per_lane >= count, "each digit has a lane");
};

/// Digit i of sum * 2^place, which has three: the highest has the sign. By selection: lanes that took branches of their
/// own would wait for each other.
__device__ inline std::int64_t digit_of(std::int64_t sum, int place, int i) {
  const int left = place - exact::digit_bits * i, right = left < -63 ? 63 : -left;
  const std::int64_t shifted = left >= 0 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) << (left & 63))
                                         : sum >> (right & 63),
                     own = left >= -exact::digit_bits ? shifted & exact::digit_mask : shifted;
  return left < exact::digit_bits && left >= -2 * exact::digit_bits ? own : 0;
}

/// A digit in each lane, by a whole warp: each lane below `last` keeps 40 bits and hands on what is above them. Lane
/// `last` keeps all its bits; lanes beyond it, what they have.
__device__ inline std::int64_t carried(std::int64_t digit, unsigned last) {
  const unsigned lane = threadIdx.x % 32;
  const std::int64_t above = __shfl_up_sync(whole_warp, digit >> exact::digit_bits, 1);
  if (lane < last) digit &= exact::digit_mask;
  return lane > 0 && lane <= last ? digit + above : digit;
}

/// Takes from each digit what is beyond 40 bits, but for the highest. What is left has the digit's sign. By a whole
/// warp.
template <int per_lane>
__device__ void carry_digits(std::int64_t (&digit)[per_lane]) {
  const unsigned lane = threadIdx.x % 32;
  std::int64_t from_below = 0;
#pragma unroll
  for (int k = 0; k < per_lane; ++k) {
    const std::int64_t above = (digit[k] + (digit[k] >> 63 & exact::digit_mask)) >> exact::digit_bits,
                       shifted = __shfl_up_sync(whole_warp, above, 1), of_last = __shfl_sync(whole_warp, above, 31);
    const int i = static_cast<int>(lane) + 32 * k;
    if (i < LaneDigits<per_lane>::count - 1) digit[k] -= above * (std::int64_t{1} << exact::digit_bits);
    if (i < LaneDigits<per_lane>::count) digit[k] += lane == 0 ? from_below : shifted;
    from_below = of_last;
  }
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
