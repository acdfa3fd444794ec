#pragma once
/// Reading all bands of a sum (digits.h), for the block that completes it.
///
/// A block whose sum is in a far band updates that band's words, and the home band's last word, which counts such
/// blocks. Nothing orders the two updates, so there is no fence: whoever reads the home band knows how many updates of
/// far bands there were, and reads again until their counts add up.

#include <cstdint>
#include <limits>

#include "../device/kernel.h"
#include "digits.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::load_relaxed;
using device::store_relaxed;

/// A warp's sum of `value`.
__device__ inline unsigned added_in_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffu, value);
#else
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
#endif
}

inline constexpr double infinity = std::numeric_limits<double>::infinity(),
                        not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Adds up the words of a band as a warp does that has one in each lane.
template <class Part, unsigned words>
__device__ Part sum_of_parts(Part (&part)[words]) {
  for (unsigned half = words / 2; half > 0; half /= 2)
    for (unsigned k = 0; k < half; ++k) part[k] += part[k + half];
  return part[0];
}

/// A floating-point sum of `blocks` blocks, in every lane of a warp; sets its words to zero. `words`: of the band with
/// the lane's number.
template <class D, Sums sums>
__device__ double sum_of_bands(std::uint64_t* words, unsigned blocks) {
  constexpr unsigned whole_warp = 0xffffffffu, last = D::words - 1;
  static_assert(D::specials < 32, "each lane reads a band");
  const unsigned band = threadIdx.x % 32;
  std::uint64_t word[D::words] = {};
  for (bool are_complete = false; !are_complete;) {
    unsigned counted = 0;
    if (band <= D::specials)
      for (unsigned k = 0; k < D::words; ++k) {
        word[k] = load_relaxed(words + k);
        counted += static_cast<unsigned>(word[k] & all_blocks);
      }
    // Of one sum a block updates the words of a band, and if that is a far one, the last word of the home band. Of many
    // sums it updates all of the home band, and all of each far band that it adds to.
    const std::uint64_t of_home = __shfl_sync(whole_warp, word[last], static_cast<int>(D::home));
    const unsigned expected = blocks * D::words + (sums == Sums::many ? D::words : 1) * D::far_updates(of_home);
    are_complete = added_in_warp(counted) == expected && (of_home & all_blocks) == blocks;
  }
  unsigned special = 0;
  bool any = false;
  double part[D::words];
  for (unsigned k = 0; k < D::words; ++k) {
    if (word[k] != 0) store_relaxed(words + k, std::uint64_t{0});
    const bool is_set = word[k] >> D::counts_of(k) != 0;
    any = any || is_set;
    if (k < 3) special |= (__ballot_sync(whole_warp, is_set) >> D::specials & 1) << k;
    part[k] = D::part(word[k], k);
  }
  if (special != 0) return special == 1 ? infinity : special == 2 ? -infinity : not_a_number;
  // Those below the home band and those above it are moved to where doubles neither underflow nor overflow.
  constexpr int raise = 512, lower = -256;
  const double own = sum_of_parts(part);
  double home = 0, small = 0, large = 0;
  if (band == D::home) home = own;
  else if (band < D::home) small = own * power_of_two<double>(raise - D::shift_of(band));
  else if (band < D::bands) large = own * power_of_two<double>(lower - D::shift_of(band));
  // Of data of one magnitude there is one band. Adding the others' zeros changes no bit.
  const unsigned with_some = __ballot_sync(whole_warp, any && band != D::home);
  home = __shfl_sync(whole_warp, home, static_cast<int>(D::home));
  if ((with_some & (with_some - 1)) == 0) {
    const int which = with_some == 0 ? 0 : __ffs(static_cast<int>(with_some)) - 1;
    small = __shfl_sync(whole_warp, small, which);
    large = __shfl_sync(whole_warp, large, which);
  } else {
    for (int distance = 16; distance > 0; distance /= 2) {
      small += __shfl_xor_sync(whole_warp, small, distance);
      large += __shfl_xor_sync(whole_warp, large, distance);
    }
  }
  return home + (large * power_of_two<double>(-lower) + small * power_of_two<double>(-raise));
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
