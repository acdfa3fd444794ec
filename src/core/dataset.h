#pragma once
/// Inputs. A dataset is a tile of values that repeats: element i is tile[i % period]. The period is a prime near 2^20,
/// so no power-of-two stride meets the same value twice in a row, inputs of any size are cheap to make on a device
/// (upload the tile, then double it by copies), and exact references for 2^32 elements cost one pass over a tile.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace reductio {

inline constexpr std::size_t dataset_period = 1048573;  // prime

/// Names of the datasets that make sense for a type:
///   random        full-range integers; floats uniform in [-1, 1)
///   exact         whole numbers whose sum (and sum of squares) is exact in any order of adding for this n, because the
///                 sum of squares stays below 2^24 (added up in f32), 2^53 (f64) or 2^31 (integers). Every element is
///                 non-zero up to that n; beyond, ones stand at random places, the last 64 elements among them. Odd
///                 seeds: all positive, so that nothing left out or added twice can cancel; even seeds: both signs
///   alternating   +max, -max, ...: the largest and the least integer; of floats 2^93 (f32, bf16) and 2^989 (f64), the
///                 most that cannot overflow on the way in any order (their squares do, in every order), 2^15 (f16)
/// for integers only
///   largest       each the largest number
/// and for floats only
///   normal        mean 0, variance 1, the sum of twelve uniform numbers each: normal but for the tails beyond 6
///   scaled:2^K    `normal` times 2^K: every K for which 1 is a normal number of the type
///   gradients     squares of `normal` times 2^-33: around 10^-20, all positive (not of f16, nor are the next two)
///   giants        `normal`, and one in 2^16 is 2^93 (f32, bf16) or 2^989 (f64), as in `alternating`
///   constants     of physics in SI units, of both signs: charges, masses and Planck's constant beside the sun's mass.
///                 As of giants, squares in f32 overflow
///   ill-conditioned  widely differing exponents and both signs: sum|x| exceeds |sum x| by many orders
///   wide          whole numbers whose sum is exact in any order of adding, one of which (in every period) needs all of
///                 the type's digits, while those of `exact` are short: a kernel that keeps fewer digits fails. Up to
///                 2^22 elements the others are ones, beyond they are zeros. Of more than one period, that one needs as
///                 many digits as the exact sum leaves it
///   wide-square   the same of the sum of squares, whose sum is exact, too
///   tiny          as `exact`, in units of the least normal number; tiny-square: so that the squares are
///   huge          as `wide`, in units so large that sums just do not overflow; huge-square: those of squares
///   spread        both signs, over 120 binary orders of magnitude, from 2^-73 to 2^47 (f16: 40): their squares neither
///                 overflow nor underflow to zero
///   whole-range   the same over all the exponents that the type has, subnormal numbers included, up to those of
///                 `alternating`. Their squares overflow
///   subnormal     as `exact`, in units of the least subnormal: a kernel that flushes them to zero fails
///   positive      random in [1/2, 1]: all errors of truncation have one sign
///   infinity      random with one infinity, for odd seeds with many of one sign
///   nan           random with one NaN
///   mixed-infinities  random with one infinity of each sign, for odd seeds with many (a tile each)
///   infinity-pair random with +inf and, as many elements behind it as the seed says, -inf: one thread of a grid with
///                 that stride meets both
///   ones          each 1: an f32 accumulator stops at 2^24
/// All but scaled:2^K, of which there are many.
std::span<const std::string_view> dataset_names(ElementType);
/// Of any type.
std::vector<std::string_view> all_dataset_names();

bool has_dataset(std::string_view dataset, ElementType);
/// Throws UsageError for a name that the type does not have, listing those that it has.
void check_dataset(std::string_view dataset, ElementType);

/// The first min(n, dataset_period) elements as raw bytes. Checks the name.
std::vector<std::byte> make_tile(std::string_view dataset, ElementType, std::size_t n, std::uint64_t seed);

}  // namespace reductio
