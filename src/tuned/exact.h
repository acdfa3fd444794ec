#pragma once
/// Exact sums: the real sum of all elements, rounded once. It depends on nothing but the elements, so it has the same
/// bits on every GPU, in every order, of any number of parts. In one launch, large inputs at the speed of tuned::sum:
///
///   tuned::exact_sum(in, n, out, workspace, gpu, stream);      // out[0]: rounded to nearest, ties to even
///   tuned::exact_sum_of_squares(in, n, out, workspace, gpu, stream);
///   tuned::exact_moments(in, n, out, workspace, gpu, stream);  // out[0] the sum, out[1] the sum of squares, one read
///   tuned::exact_partial(in, n, partial, workspace, gpu, stream);   // partial[0]: not rounded yet (tuned/partial.h)
///   tuned::exact_partial<Square>(...)                          // or <Moments>: partial[0] and partial[1]
///   tuned::round_partials(partials, count, out, stream);       // adds up `count` of them and rounds
///
/// Pointers, calls, workspace and streams are tuned/tuned.h's. Types: __half, __nv_bfloat16 and float to float or
/// double, double to double.
/// Values: as exact::Partial::rounded() says. Infinities, NaN and the sign of zero are those of IEEE 754's additions,
/// in any order that does not overflow on the way. Subnormal numbers count. A square is not rounded before it is added.
///
/// How it works. A warp adds up tiles of 512 floats or 256 doubles (elements of 16 bits as floats). It has a window:
/// exponents in which a thread's sum of a tile is exact in double.
///
///   half            |-- all that it can have --|                   sums of numbers of 40 bits: 45 bits
///   float           |----- 26 exponents -----|                     sums of numbers of 24 bits: 53 bits
///   double          |------------- 47 exponents -------------|     each split in two, high and rest: 53 bits each
///   float squared   |----- 25 exponents -----|                     a double of 48 bits, split in two
///   double squared  |--- 21 exponents ---|                         two doubles, x * x and its error, split in three
///
/// The split adds and subtracts 1.5 * 2^k, so that high is a multiple of 2^(k - 52) and rest is what that leaves. The
/// error of x * x is fma(x, x, -x * x), which must not underflow: small x are multiplied by 2^600 before. Sums
/// of a tile become 64-bit integers. Each thread adds up its own until the window moves or the kernel ends; then the
/// warp adds them up, in digits of 40 bits: each lane has two of a long accumulator's (tuned/partial.h), or three. A
/// tile that is wider than any window goes to bins in shared memory, element by element: floats to doubles of their
/// lane, others in pieces to integers of their warp.
///
/// If all warps of a block have the same window, and none has flushed, their integers are added up first. A sum that
/// one block rounds, with one tile a warp, then takes one conversion; partial sums, squares and several blocks make
/// digits once. Moments, squares of doubles and large inputs make digits warp by warp. Large inputs are read by
/// dynamic scheduling (tuned/reading.h).
///
/// The finish is tuned/finish.h's: packed atomics, here on eight of the digits, 2^-160 to 2^148. A block with others
/// adds those to the long accumulator in the workspace, passes a fence, and counts itself in the last word. Of moments
/// two warps finish side by side, one for each sum, in words of their own.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../device/kernel.h"
#include "far_bands.h"
#include "launch_table.h"
#include "partial.h"
#include "reading.h"
#include "tuned.h"

#ifndef __CUDACC__
namespace reductio {
template <int fraction_bits>
struct NarrowFloat;  // only declared, as CUDA's are in reading.h
}
#endif

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

#ifdef __CUDACC__
using BFloat = __nv_bfloat16;
#else
using BFloat = NarrowFloat<7>;
#endif

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

/// Takes from each digit what is beyond 40 bits, but for the highest. By a whole warp.
template <int per_lane>
__device__ void carry_digits(std::int64_t (&digit)[per_lane]) {
  const unsigned lane = threadIdx.x % 32;
  std::int64_t from_below = 0;
#pragma unroll
  for (int k = 0; k < per_lane; ++k) {
    const std::int64_t above = digit[k] >> exact::digit_bits, shifted = __shfl_up_sync(whole_warp, above, 1),
                       of_last = __shfl_sync(whole_warp, above, 31);
    const int i = static_cast<int>(lane) + 32 * k;
    if (i < LaneDigits<per_lane>::count - 1) digit[k] &= exact::digit_mask;
    if (i < LaneDigits<per_lane>::count) digit[k] += lane == 0 ? from_below : shifted;
    from_below = of_last;
  }
}

/// Elements as their bits. `head`: the 32 bits with the sign and the exponent, whose lowest bit may stand for others
/// below; its exponent starts at bit `places`. `precision`: bits that an element has at most.
template <class In>
struct ElementBits {  // of 16 bits, as the float that has its value
  static constexpr int places = 23, bias = 127, mantissa = 24, most_exponent = 255,
                       precision = sizeof(In) == 2 ? 11 : mantissa;
  static constexpr unsigned lanes = 16 / sizeof(In);
  static __device__ unsigned head(const std::uint32_t (&w)[4], unsigned k) {
    if constexpr (sizeof(In) == 4) return w[k];
    const float x = single(w, k);
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  static __device__ double value(const std::uint32_t (&w)[4], unsigned k) { return single(w, k); }
  static __device__ std::uint64_t fraction(const std::uint32_t (&w)[4], unsigned k) { return head(w, k) & 0x7fffffu; }

 private:
  static __device__ float single(const std::uint32_t (&w)[4], unsigned k) {
    In x;
    if constexpr (sizeof(In) == 4) {
      memcpy(&x, &w[k], sizeof x);
    } else {
      const auto own = static_cast<std::uint16_t>(w[k / 2] >> 16 * (k % 2));
      memcpy(&x, &own, sizeof x);
    }
    return widened<float>(x);
  }
};

template <>
struct ElementBits<double> {
  static constexpr int places = 20, bias = 1023, mantissa = 53, most_exponent = 2047, precision = mantissa;
  static constexpr unsigned lanes = 2;
  static __device__ unsigned head(const std::uint32_t (&w)[4], unsigned k) {
    return w[2 * k + 1] | static_cast<unsigned>(w[2 * k] != 0);
  }
  static __device__ double value(const std::uint32_t (&w)[4], unsigned k) {
    const std::uint64_t bits = std::uint64_t{w[2 * k + 1]} << 32 | w[2 * k];
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  static __device__ std::uint64_t fraction(const std::uint32_t (&w)[4], unsigned k) {
    return std::uint64_t{w[2 * k + 1] & 0xfffffu} << 32 | w[2 * k];
  }
};

/// Sixteen bytes of -0, which changes no sum, not even that of zeros.
template <class In>
__device__ uint4 negative_zeros() {
  const unsigned sign = sizeof(In) == 2 ? 0x80008000u : 0x80000000u;
  return {sizeof(In) == 8 ? 0 : sign, sign, sizeof(In) == 8 ? 0 : sign, sign};
}

/// The exact sum of the terms of what a warp reads, `vectors` vectors a thread at a time. `roomy`: with 4 KiB of shared
/// memory for wide floats.
template <class In, class Operation, int vectors, bool roomy = true>
class ExactWarp {
  using E = ElementBits<In>;
  static constexpr bool squared = std::is_same<Operation, device::Square>::value, is_double = sizeof(In) == 8,
                        is_bfloat = std::is_same<In, BFloat>::value;

 public:
  /// The sums that a window takes.
  static constexpr int parts = squared + is_double + 1;

 private:
  static constexpr int log2_of(int x) { return x > 1 ? 1 + log2_of(x / 2) : 0; }
  /// Elements of a thread's share of a tile, and its logarithm.
  static constexpr int elements = vectors * static_cast<int>(E::lanes), log2_elements = log2_of(elements);
  /// A term is an element to this power, as the sum of `pieces` doubles without error, split into `parts`. The parts'
  /// sums have `bits` bits, from the highest bit of a tile's terms on. Doubles squared have two rests in the last part.
  static constexpr int power = squared ? 2 : 1, pieces = squared && is_double ? 2 : 1,
                       bits = parts == 1 ? 53 : parts == 2 ? 105 : 156;
  /// Halves: all 40 bits that they can have, from 2^15 down, are a window.
  static constexpr bool fits_always = sizeof(In) == 2 && !is_bfloat && !squared;
  /// In a window of so many exponents of elements, no term has a bit below the last part's unit.
  static constexpr int window = (bits - parts * log2_elements - power * (E::precision - 1)) / power;
  /// Of the window's top, as a field of the exponent. Beyond these the arithmetic of the window over- or underflows.
  static constexpr int highest_top = !is_double ? 255 : squared ? 1532 : 2041,
                       lowest_top = is_double && !squared ? 103 : 1;
  /// Fields of the exponent from which on a term is infinite, or NaN.
  static constexpr int infinite_from = squared && is_double ? E::bias + 512 : E::most_exponent;
  /// Squares of doubles below 2^-223 are those of x * 2^raised.
  static constexpr int raised = squared && is_double ? 600 : 0, raised_below = 800;
  /// Tiles whose sums, of at most 2^53 units each, a thread adds up, so that the warp's sum has 63 bits.
  static constexpr unsigned most_tiles = 32;
  /// How far the window reaches beyond the first tile's largest element, at most. Tops are multiples of 4 where that is
  /// possible, so that warps with alike tiles have the same.
  static constexpr int spare = 6;

 public:
  static constexpr int per_lane = squared && is_double ? 3 : 2;
  using Lane = LaneDigits<per_lane>;
  /// What wide tiles are added to, of one warp.
  static constexpr bool bins_of_lanes = roomy && !squared && !is_double && !fits_always;
  using Bin = std::conditional_t<bins_of_lanes, double, int>;
  static constexpr unsigned bin_bits = 20, lane_bins = 16,
                            bins = fits_always ? 1 : bins_of_lanes ? 32 * lane_bins : 2 * Lane::count;
  /// Squares of -0 are +0.
  static constexpr bool has_negative_zeros = !squared;
  /// The first window's top, for numbers of about 1: where it fits, the first tile need not ask for its own.
  static constexpr int first_top = E::bias + (fits_always ? 16 : is_double && !squared ? 8 : 4);

  /// `bins`: of this warp alone.
  explicit __device__ ExactWarp(Bin* bins) : bins_(bins) {}

  /// Adds a tile, in all lanes. Not of addresses: the elements stay in registers.
  __device__ void add(const uint4 (&v)[vectors]) {
    if constexpr (fits_always) {
      if (!add_in_window(v)) return note_specials(v);
    } else {
      const Sizes sizes = sizes_of(v);
      if (has_negative_zeros && !has_other_) has_other_ = sizes.most >= 0 || is_other(v);
      if (!__all_sync(whole_warp, in_window(sizes)) && !moved_to(sizes, v)) return;
      add_in_window(v);
    }
    if (++tiles_ == most_tiles) flush();
  }

  /// Adds the only tile, in all lanes, to sum_of_part(). False: it does not fit into a window, and nothing was added.
  __device__ bool add_only(const uint4 (&v)[vectors]) {
    if constexpr (!fits_always) {
      const Sizes sizes = sizes_of(v);
      if (has_negative_zeros) has_other_ = sizes.most >= 0 || is_other(v);
      if (!__all_sync(whole_warp, in_window(sizes))) {
        top_ = top_for(sizes);
        if (top_ <= 0) return false;
      }
    }
    return add_in_window(v);
  }
  __device__ std::int64_t sum_of_part(int p) const { return sum_of_warp(sums_[p]); }
  __device__ int top() const { return top_; }
  /// By all lanes: whether sum_of_part() has all that was added.
  __device__ bool is_whole() const {
    bool apart = specials_ != 0;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) apart = apart || digit[k] != 0;
    return __any_sync(whole_warp, apart) == 0 && wide_tiles_ == 0;
  }
  /// Whether eight warps' sums of a part together have 63 bits.
  __device__ bool has_few_tiles() const { return tiles_ <= 3; }

  /// Part p of the sums counts in units of 2^unit. All terms, raised, are below 2^top.
  static constexpr __device__ int unit_of(int p, int top, int raised_by = 0) {
    const int of_terms = power * (top - E::bias + raised_by);
    return p + 1 < parts ? of_terms + (p + 1) * (log2_elements - 52) : of_terms + parts * log2_elements - bits;
  }

  /// By all lanes, after the last tile. The sum is then in digit[].
  __device__ void end() {
    flush();
    if constexpr (bins_of_lanes) flush_bins();
  }
  std::int64_t digit[per_lane] = {};

  /// Of this thread's elements: whether one was no -0, and bits 0 to 2: an infinity, a negative one, a NaN.
  __device__ bool has_other() const { return !has_negative_zeros || has_other_; }
  __device__ unsigned specials() const { return specials_; }

 private:
  /// Of a thread's elements, |x| as bits, less one: zero becomes the largest unsigned number, and the least signed one.
  struct Sizes {
    int most;
    unsigned least;
  };
  __device__ static Sizes sizes_of(const uint4 (&v)[vectors]) {
    Sizes of{-1, ~0u};
    if constexpr (is_bfloat) {
      // Two at a time, with bit 15 set, so that no half borrows from the other: 0 becomes 0x7fff, s 0x8000 + s - 1. So
      // zero is the least number without sign, and the greatest with sign.
      constexpr unsigned zeros = 0x7fff7fffu;
      unsigned most = zeros, least = zeros;
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        std::uint32_t w[4];
        memcpy(w, &v[u], sizeof w);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const unsigned sizes = (w[k] | 0x80008000u) - 0x00010001u;
          most = larger_of_each(most, sizes);
          least = lesser_of_each(least, sizes);
        }
      }
      most = larger_of_each(most, most >> 16) & 0xffffu;
      least = lesser_of_each(least, least >> 16 | least << 16) & 0xffffu;
      of = {static_cast<int>((most - 0x7fffu) << 16) - 1, ((least + 0x8001u) << 16) - 1};
    } else {
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        std::uint32_t w[4];
        memcpy(w, &v[u], sizeof w);
        for (unsigned k = 0; k < E::lanes; ++k) {
          const unsigned size = (E::head(w, k) & 0x7fffffffu) - 1;
          of.most = static_cast<int>(size) > of.most ? static_cast<int>(size) : of.most;
          of.least = size < of.least ? size : of.least;
        }
      }
    }
    return of;
  }
  __device__ bool in_window(const Sizes& sizes) const { return sizes.most < high_limit_ && sizes.least >= low_limit_; }

  /// take(w) with each vector's words, in a loop that may stay one. The vectors move up in turn: an index that is not
  /// known at compile time would bring them all from registers into memory, for each tile.
  template <class Take>
  __device__ static void in_turn(const uint4 (&v)[vectors], const Take& take) {
    uint4 turn[vectors];
    for (int u = 0; u < vectors; ++u) turn[u] = v[u];
    for (int i = 0; i < vectors; ++i) {
      std::uint32_t w[4];
      memcpy(w, &turn[0], sizeof w);
      take(w);
      for (int u = 1; u < vectors; ++u) turn[u - 1] = turn[u];
    }
  }
  using Words = const std::uint32_t (&)[4];

  /// Whether an element is not -0.
  __device__ static bool is_other(const uint4 (&v)[vectors]) {
    bool found = false;
    in_turn(v, [&](Words w) {
      for (unsigned k = 0; k < E::lanes; ++k) found = found || E::head(w, k) != 0x80000000u;
    });
    return found;
  }

  /// Adds a tile that fits the window. For halves (fits_always) false if an element is not finite; nothing is then
  /// added. Other types were checked before.
  __device__ bool add_in_window(const uint4 (&v)[vectors]) {
    constexpr unsigned chains = parts == 1 ? 4 : 2;  // that do not wait for each other
    double sum[parts][chains] = {}, splitter[parts] = {};
#pragma unroll
    for (int p = 0; p + 1 < parts; ++p) splitter[p] = 1.5 * power_of_two<double>(unit(p) + 52);
    const double raise = is_raised() ? power_of_two<double>(raised) : 1;
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      std::uint32_t w[4];
      memcpy(w, &v[u], sizeof w);
      for (unsigned k = 0; k < E::lanes; ++k) {
        double x = E::value(w, k);
        if (raised > 0) x *= raise;
        // By __dmul_rn: a compiler may contract x * x and the addition behind it, which then round otherwise.
        double rest[2] = {squared ? __dmul_rn(x, x) : x, 0};
        if (pieces == 2) rest[1] = __fma_rn(x, x, -rest[0]);
#pragma unroll
        for (int p = 0; p < parts; ++p)
#pragma unroll
          for (int piece = 0; piece < (p == 0 ? 1 : pieces); ++piece) {
            double part = rest[piece];
            if (p + 1 < parts) {
              part = (part + splitter[p]) - splitter[p];
              rest[piece] -= part;
            }
            sum[p][k % chains] += part;
          }
      }
    }
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      double all = sum[p][0] + sum[p][1];
      if (chains == 4) all += sum[p][chains - 2] + sum[p][chains - 1];
      if constexpr (fits_always) {
        if (__any_sync(whole_warp, !is_finite(all)) != 0) return false;
        if (has_negative_zeros && !has_other_) has_other_ = all != 0 || is_other(v);
      }
      sums_[p] += static_cast<std::int64_t>(all * power_of_two<double>(-unit(p)));
    }
    return true;
  }
  static __device__ bool is_finite(double x) {
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits >> 52 & 0x7ff) != 0x7ff;
  }

  __device__ int unit(int p) const { return unit_of(p, top_, is_raised() ? raised : 0); }
  __device__ bool is_raised() const { return raised > 0 && top_ < raised_below + spare + 1; }

  /// The top of the window that a tile gets, alike for warps with alike tiles. None: 0 if it is too wide, -1 if
  /// something is not finite.
  __device__ int top_for(const Sizes& sizes) const {
    // Not all of them are zero, or they would have fitted.
    const int most_of_warp = static_cast<int>(~least_in_warp(~static_cast<unsigned>(sizes.most + 1)));
    const unsigned least_of_warp = least_in_warp(sizes.least);
    const int highest = most_of_warp >> E::places, below = static_cast<int>((least_of_warp + 1) >> E::places);
    const int lowest = below > 1 ? below : 1;  // subnormal numbers have the unit of the least normal ones
    if (highest >= infinite_from) return -1;
    int top = (highest + 1 + spare) & ~3;
    if (top > lowest + window) top = lowest + window;
    if (top > highest_top) top = highest_top;
    if (top < lowest_top) top = lowest_top;
    return top <= highest || top > lowest + window ? 0 : top;
  }
  /// Whether the window could be moved so that the tile fits; if not, the tile is added otherwise.
  __device__ bool moved_to(const Sizes& sizes, const uint4 (&v)[vectors]) {
    const int top = top_for(sizes);
    if (top <= 0) {
      if (top < 0) note_specials(v);
      else add_to_bins(v);
      return false;
    }
    flush();
    top_ = top;
    high_limit_ = (top << E::places) - 1;
    low_limit_ = top - window > 1 ? (static_cast<unsigned>(top - window) << E::places) - 1 : 0;
    return true;
  }

  /// The sum is not finite, whatever else there is: the tile's finite elements need not be added.
  __device__ void note_specials(const uint4 (&v)[vectors]) {
    in_turn(v, [&](Words w) {
      for (unsigned k = 0; k < E::lanes; ++k) {
        const unsigned head = E::head(w, k);
        const auto exponent = static_cast<int>(head >> E::places & E::most_exponent);
        if (exponent < infinite_from) continue;
        const bool is_nan = exponent == E::most_exponent && E::fraction(w, k) != 0;
        specials_ |= is_nan ? 4u : head >> 31 != 0 && !squared ? 2u : 1u;
      }
    });
  }

  /// Adds up the threads' sums in the warp's digits.
  __device__ void flush() {
    if (tiles_ == 0) return;
    tiles_ = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      add_of_warp(sums_[part], unit(part) - (is_raised() ? power * raised : 0));
      sums_[part] = 0;
    }
  }

  /// Adds all lanes' sums times 2^exponent to the warp's digits.
  __device__ void add_of_warp(std::int64_t sum, int exponent) {
    add_to_digits(sum_of_warp(sum), exponent);
  }
  static __device__ std::int64_t sum_of_warp(std::int64_t sum) {
    constexpr unsigned piece = (1u << 27) - 1;
    const std::uint64_t low = added_in_warp(static_cast<unsigned>(sum) & piece),
                        middle = added_in_warp(static_cast<unsigned>(sum >> 27) & piece);
    const auto high = static_cast<std::int64_t>(static_cast<int>(added_in_warp(static_cast<unsigned>(sum >> 54))));
    return static_cast<std::int64_t>(low + (middle << 27) + (static_cast<std::uint64_t>(high) << 54));
  }

  /// Adds sum * 2^exponent.
  __device__ void add_to_digits(std::int64_t sum, int exponent) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < per_lane; ++k) digit[k] += digit_of(sum, exponent - Lane::lowest, lane + 32 * k);
  }

  /// A wide tile, each term by itself.
  __device__ void add_to_bins(const uint4 (&v)[vectors]) {
    if constexpr (bins_of_lanes) add_to_lane_bins(v);
    else add_to_warp_bins(v);
  }

  /// Floats: each lane has 16 bins of type double, one for each 16 exponents. The sum of 2^14 floats of a bin has 53
  /// bits, so bins are kept from tile to tile.
  __device__ void add_to_lane_bins(const uint4 (&v)[vectors]) {
    constexpr unsigned most_wide_tiles = (1u << 14) / elements;
    double* const own = bins_ + threadIdx.x % 32;
    if (wide_tiles_ == 0)
      for (unsigned b = 0; b < lane_bins; ++b) own[32 * b] = 0;
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      std::uint32_t w[4];
      memcpy(w, &v[u], sizeof w);
      for (unsigned k = 0; k < E::lanes; ++k) own[32 * (E::head(w, k) >> 27 & (lane_bins - 1))] += E::value(w, k);
    }
    if (++wide_tiles_ == most_wide_tiles) flush_bins();
  }
  __device__ void flush_bins() {
    if (wide_tiles_ == 0) return;
    wide_tiles_ = 0;
    double* const own = bins_ + threadIdx.x % 32;
#pragma unroll 1  // rare, and long
    for (unsigned b = 0; b < lane_bins; ++b) {
      const int unit = static_cast<int>(b == 0 ? 1 : 16 * b) - E::bias - (E::mantissa - 1);
      const double sum = own[32 * b];
      if (!__any_sync(whole_warp, sum != 0)) continue;
      add_of_warp(static_cast<std::int64_t>(sum * power_of_two<double>(-unit)), unit);
    }
  }

  /// Doubles and squares: in pieces, to bins of 20 bits that the warp shares.
  __device__ void add_to_warp_bins(const uint4 (&v)[vectors]) {
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = lane; i < bins; i += 32) bins_[i] = 0;
    __syncwarp();  // all bins are zero
    constexpr int bits_each = static_cast<int>(bin_bits), mask = (1 << bits_each) - 1;
    // A term's bits, and as many as it may be shifted.
    constexpr int most = (power * E::mantissa + 2 * (bits_each - 1)) / bits_each;
    in_turn(v, [&](Words w) {
      for (unsigned k = 0; k < E::lanes; ++k) {
        const unsigned head = E::head(w, k);
        const auto exponent = static_cast<int>(head >> E::places & E::most_exponent);
        const std::uint64_t whole = E::fraction(w, k) | static_cast<std::uint64_t>(exponent != 0) << (E::mantissa - 1);
        const exact::Wide size = squared ? exact::square_of(whole) : exact::Wide{whole, 0};
        const int unit = (exponent == 0 ? 1 : exponent) - E::bias - (E::mantissa - 1),
                  place = power * unit - Lane::lowest, sign = head >> 31 != 0 && !squared ? -1 : 1;
        for (int i = 0; i < most; ++i) {
          const int piece = static_cast<int>(exact::bits_of(size, bits_each * i - place % bits_each)) & mask;
          if (piece != 0) device::atomicAdd(bins_ + static_cast<unsigned>(place / bits_each + i), sign * piece);
        }
      }
    });
    __syncwarp();  // all elements are added
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const unsigned own = lane + 32 * k;
      if (own < Lane::count)
        digit[k] += static_cast<std::int64_t>(bins_[2 * own]) +
                    static_cast<std::int64_t>(bins_[2 * own + 1]) * (1 << bits_each);
    }
    __syncwarp();  // all bins are read, and may be cleared for another tile
    if (++wide_tiles_ % 1024 == 0) carry_digits(digit);  // of 2^50 each
  }

  static_assert(first_top - window > 1 && first_top > lowest_top && first_top < highest_top,
                "a window that moved_to() could choose");
  int top_ = first_top, high_limit_ = (first_top << E::places) - 1;
  unsigned low_limit_ = (static_cast<unsigned>(first_top - window) << E::places) - 1;
  unsigned tiles_ = 0, wide_tiles_ = 0, specials_ = 0;
  bool has_other_ = false;
  std::int64_t sums_[parts] = {};
  Bin* bins_;
};

/// What was added up, if the sum is zero.
enum class Added : unsigned { nothing, negative_zeros, others };

/// Where a result goes: the one that is not null.
struct ExactResult {
  float* single;
  double* twice;
  std::int64_t* partial;  ///< exact::words of them

  /// exact::rounding() of at most five digits without its two loops: as a whole number of 192 bits.
  template <class Digit>
  static __device__ std::uint64_t rounding(exact::Format format, int from, int to, const Digit& digit) {
    if (to - from > 5) return exact::rounding(format, from, to, digit);
    std::int64_t d[5];
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      const std::int64_t own = digit(from + i < to ? from + i : from);
      d[i] = from + i < to ? own : 0;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      d[i + 1] += d[i] >> exact::digit_bits;
      d[i] &= exact::digit_mask;
    }
    constexpr std::int64_t most = std::int64_t{1} << 31;
    if (d[4] >= most || d[4] <= -most) return exact::rounding(format, from, to, digit);
    const auto at = [&](int i) { return static_cast<std::uint64_t>(d[i]); };
    std::uint64_t low = at(0) | at(1) << 40, middle = at(1) >> 24 | at(2) << 16 | at(3) << 56,
                  high = at(3) >> 8 | at(4) << 32;
    const bool negative = d[4] < 0;
    if (negative) {
      low = ~low + 1;
      middle = ~middle + (low == 0);
      high = ~high + ((low | middle) == 0);
    }
    if ((low | middle | high) == 0) return 0;
    // The highest word that is not zero becomes the first.
    int unit = exact::lowest + exact::digit_bits * from + 128;
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (high == 0) {
        high = middle;
        middle = low;
        low = 0;
        unit -= 64;
      }
    const int lead = __clzll(static_cast<long long>(high));
    const std::uint64_t bits = lead == 0 ? high : high << lead | middle >> (64 - lead), rest = middle << lead | low;
    return exact::rounded_bits(format, negative, bits, unit - lead, rest != 0);
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
    // Few digits are not zero, and the loops over them wait for each.
    int from = exact::digits, to = 0;
    for (int k = 0; k < per_lane; ++k) widen(from, to, digit[k], base + 32 * k);
    std::uint64_t bits;
    if (specials != 0) {
      bits = exact::special_bits(format(), (specials & 1) != 0, (specials & 2) != 0, (specials & 4) != 0);
    } else {
      bits = rounding(format(), from, to, [&](int i) {
        std::int64_t own = digit[0];
        for (int k = 1; k < per_lane; ++k) own = (i - base) / 32 == k ? digit[k] : own;
        return __shfl_sync(whole_warp, own, (i - base) % 32);
      });
      if (bits == 0 && added == Added::negative_zeros) bits = std::uint64_t{1} << (single ? 31 : 63);
    }
    if (lane == 0) put(bits);
  }

  /// The same of a float or double, where lanes `first` to `last` have digits base + first to base + last, of 52 bits,
  /// the highest of 40, all others are zero and the sum has another element than -0. False: the result is a subnormal
  /// float, or nearly; nothing was stored.
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
    if (single && whole != 0 && unit + 61 < -126) return false;
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
  /// From `from` to `to` are all digits that are not zero, those of this row, too.
  static __device__ void widen(int& from, int& to, std::int64_t digit, int base) {
    const unsigned filled = __ballot_sync(whole_warp, digit != 0);
    if (filled == 0) return;
    const int first = base + __ffs(static_cast<int>(filled)) - 1;
    from = first < from ? first : from;
    to = base + 32 - __clz(static_cast<int>(filled));
  }
  __device__ exact::Format format() const { return single ? exact::format_of<float>() : exact::format_of<double>(); }
  __device__ void put(std::uint64_t bits) const {
    if (single) single[0] = exact::number_of<float>(bits);
    else twice[0] = exact::number_of<double>(bits);
  }
};

/// How the blocks of an exact sum combine theirs, in the words that PackedSum has (tuned/finish.h), with digits of 40
/// bits. The lanes of the packed digits update one word each:
///
///   word 0 to 6   | sum of the digits, signed: 52 bits                | how many blocks: 12 bits |
///   word 7        | sum of the digits, signed: 40 bits | of how many something did not fit: 12 | how many blocks: 12 |
class ExactFinish {
  static constexpr unsigned packed = 8;
  static constexpr std::uint64_t one_far_band = one_block << count_bits, all_far_bands = all_blocks << count_bits;
  /// Of the highest packed digit of a block: 2047 of them have 39 bits.
  static constexpr std::int64_t most_of_last = std::int64_t{1} << 28;
  /// Where the packed digits are, among a warp's: in digit[row] of lanes first to last. Behind the digits the long
  /// accumulator counts infinities, NaN, and blocks with nothing but -0.
  template <int per_lane>
  struct At {
    static constexpr int all = 50 - LaneDigits<per_lane>::base, row = all / 32;
    static constexpr unsigned first = all % 32, last = first + packed - 1, special_words = LaneDigits<per_lane>::count,
                              only_zeros_word = special_words + 3;
    static_assert(last < 32 && only_zeros_word < 32 * per_lane, "in one row, and read by a warp");
  };
  static constexpr unsigned words_of_sum = 32 * 2, words_of_squares = 32 * 3;
  static_assert(words_of_sum + words_of_squares <= 2 * far_words && 2 * packed <= claims_word,
                "they lie where those of tuned::sum and tuned::moments are");

 public:
  static constexpr unsigned most_blocks = 2047;

  std::uint64_t* workspace;
  ExactResult result;
  bool is_empty;  ///< there are no elements

  /// By every thread of a single block, instead of end(), whose warps have added one tile each: whether they did so in
  /// the same window. Then the sum is a whole number of the window's units, and is rounded and stored; else nothing has
  /// happened.
  template <unsigned warps, class Warp>
  __device__ bool has_rounded(const Warp& warp, bool was_added) const {
    constexpr int parts = Warp::parts;
    static_assert(parts <= 2 && warps <= 8, "the sum of the warps' sums has 63 bits, and 128 with the second part's");
    Window of;
    if (!is_in_one_window<warps>(warp, was_added, of)) return false;
    if (threadIdx.x != 0) return true;
    const Added added = is_empty ? Added::nothing : of.others ? Added::others : Added::negative_zeros;
    const int unit = Warp::unit_of(parts - 1, of.top);
    const std::int64_t first = sum_of_few<warps>(of, 0);
    if constexpr (parts == 1) {
      result.store_whole(first, false, unit, added);
    } else {
      // As many bits of both parts as there is room for.
      constexpr int apart = Warp::unit_of(0, 0) - Warp::unit_of(1, 0);
      const std::int64_t second = sum_of_few<warps>(of, 1), high = first + (second >> apart),
                         low = second & ((std::int64_t{1} << apart) - 1);
      const int room = __clzll(high < 0 ? ~high : high) - 1, taken = room < apart ? room : apart;
      const std::int64_t whole = high * (std::int64_t{1} << taken) + (low >> (apart - taken)),
                         more = low & ((std::int64_t{1} << (apart - taken)) - 1);
      result.store_whole(whole, more != 0, unit + (apart - taken), added);
    }
    return true;
  }

  /// By every thread of a block, instead of end(): whether all that its warps have added is whole numbers of the same
  /// window's units, in the range of the packed digits. If so, it is added to the other blocks'. If not, nothing has
  /// happened.
  template <unsigned warps, class Warp>
  __device__ bool has_combined(const Warp& warp, bool is_whole) const {
    constexpr int parts = Warp::parts, per_lane = Warp::per_lane;
    using A = At<per_lane>;
    constexpr int lowest = LaneDigits<per_lane>::lowest + 32 * exact::digit_bits * A::row;
    Window of;
    if (!is_in_one_window<warps>(warp, is_whole, of)) return false;
    if (!of.others || Warp::unit_of(parts - 1, of.top) < lowest + exact::digit_bits * static_cast<int>(A::first) ||
        Warp::unit_of(0, of.top) >= lowest + exact::digit_bits * (static_cast<int>(A::last) - 2))
      return false;
    if (threadIdx.x >= 32) return true;
    std::int64_t digit = 0;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int place = Warp::unit_of(p, of.top) - lowest, i = static_cast<int>(threadIdx.x);
      if (of.few) {
        digit += digit_of(sum_of_few<warps>(of, static_cast<unsigned>(p)), place, i);
      } else {
        const TwoWords sum = sum_of_many<warps>(of, static_cast<unsigned>(p));
        digit += digit_of(sum.low, place, i) + digit_of(sum.above, place + exact::digit_bits, i);
      }
    }
    if constexpr (parts > 1) digit = carried(digit, A::last);
    combine<0, per_lane>(digit, true);
    return true;
  }

  /// By every thread of the block. `of`: 1 for the second result.
  template <unsigned of, unsigned warps, class Warp>
  __device__ void end(Warp& warp) const {
    constexpr int per_lane = Warp::per_lane;
    using A = At<per_lane>;
    __shared__ __align__(16) std::int64_t sums[warps * packed];
    __shared__ __align__(16) unsigned marks[warps];
    const unsigned lane = threadIdx.x % 32, number = threadIdx.x / 32;
    const bool is_packed = lane >= A::first && lane <= A::last;
    warp.end();
    bool outside = warp.specials() != 0;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) outside = outside || (warp.digit[k] != 0 && !(k == A::row && is_packed));
    const bool any_outside = __any_sync(whole_warp, outside) != 0,
               any_other = __any_sync(whole_warp, warp.has_other()) != 0;
    if (any_outside) {
#pragma unroll
      for (unsigned k = 0; k < per_lane; ++k)
        if (!(k == A::row && is_packed)) add_outside<of>(lane + 32 * k, warp.digit[k]);
      for (unsigned k = 0; k < 3; ++k)
        if ((warp.specials() >> k & 1) != 0) add_outside<of>(A::special_words + k, 1);
    }
    if (is_packed) sums[number * packed + (lane - A::first)] = warp.digit[A::row];
    if (lane == 0) marks[number] = any_outside + 2u * any_other;
    __syncthreads();  // every warp's digits are stored before one warp reads them
    if (number != of) return;

    std::int64_t digit = 0;
    unsigned mark = 0;
    for (unsigned w = 0; w < warps; ++w) {
      if (is_packed) digit += sums[w * packed + (lane - A::first)];
      mark |= marks[w];
    }
    digit = carried(digit, A::last);
    bool fits = (mark & 1) == 0;
    if (__any_sync(whole_warp, lane == A::last && (digit >= most_of_last || digit <= -most_of_last)) != 0) {
      if (lane == A::last) {
        add_outside<of>(A::last + 32 * A::row, digit);
        digit = 0;
      }
      fits = false;
    }
    if ((mark & 2) == 0) {
      if (lane == A::last) add_outside<of>(A::only_zeros_word, 1);
      fits = false;
    }
    combine<of, per_lane>(digit, fits);
  }

 private:
  /// A window that all warps of a block have added in.
  struct Window {
    int top;
    bool others;                  ///< whether there was another element than -0
    bool few;                     ///< whether the sum of a part has 63 bits
    std::int64_t* sums; ///< of the warps, part by part: 63 bits each
  };
  /// By every thread: whether all warps are whole, and in the same window.
  template <unsigned warps, class Warp>
  __device__ bool is_in_one_window(const Warp& warp, bool is_whole, Window& of) const {
    constexpr unsigned parts = Warp::parts;
    __shared__ __align__(16) std::int64_t sums[warps * parts];
    __shared__ __align__(16) unsigned marks[warps];
    const unsigned lane = threadIdx.x % 32, number = threadIdx.x / 32;
    const bool has_other = __any_sync(whole_warp, warp.has_other()) != 0;
    bool is_zero = true;
#pragma unroll
    for (unsigned p = 0; p < parts; ++p) {
      const std::int64_t sum = warp.sum_of_part(static_cast<int>(p));
      is_zero = is_zero && sum == 0;
      if (lane == 0) sums[p * warps + number] = sum;
    }
    // Zeros are whole numbers of any unit.
    const unsigned window = !is_whole ? ~0u : is_zero ? 0 : static_cast<unsigned>(warp.top());
    if (lane == 0) marks[number] = window << 2 | 2u * unsigned{!warp.has_few_tiles()} | unsigned{has_other};
    __syncthreads();  // every warp's sums and mark are stored before another reads them
    const unsigned mark = marks[lane % warps], most = ~least_in_warp(~(mark >> 2));
    if (__any_sync(whole_warp, mark >> 2 != 0 && mark >> 2 != most) != 0 || most == ~0u >> 2) return false;
    of.others = __any_sync(whole_warp, (mark & 1) != 0) != 0;
    of.few = __any_sync(whole_warp, (mark & 2) != 0) == 0;
    of.top = most == 0 ? Warp::first_top : static_cast<int>(most);  // of zeros any, but the same for all warps
    of.sums = sums;
    return true;
  }
  template <unsigned warps>
  static __device__ std::int64_t sum_of_few(const Window& of, unsigned part) {
    std::int64_t sum = 0;
    for (unsigned w = 0; w < warps; ++w) sum += of.sums[part * warps + w];
    return sum;
  }
  /// As 40 bits and what is above them.
  struct TwoWords {
    std::int64_t low, above;
  };
  template <unsigned warps>
  static __device__ TwoWords sum_of_many(const Window& of, unsigned part) {
    TwoWords sum{0, 0};
    for (unsigned w = 0; w < warps; ++w) {
      const std::int64_t own = of.sums[part * warps + w];
      sum.low += own & exact::digit_mask;
      sum.above += own >> exact::digit_bits;
    }
    return {sum.low & exact::digit_mask, sum.above + (sum.low >> exact::digit_bits)};
  }

  template <unsigned of>
  __device__ std::uint64_t* outside_words() const {
    return workspace + (far_word + of * words_of_sum);
  }
  template <unsigned of>
  __device__ void add_outside(unsigned word, std::int64_t value) const {
    if (value != 0) device::atomicAdd(outside_words<of>() + word, static_cast<std::uint64_t>(value));
  }

  /// By one warp, with the block's packed digits.
  template <unsigned of, int per_lane>
  __device__ void combine(std::int64_t digit, bool fits) const {
    using A = At<per_lane>;
    const unsigned lane = threadIdx.x % 32;
    const ExactResult to = of == 0 ? result : result.second();
    std::int64_t sum = digit;
    bool all_fit = fits;
    if (gridDim.x > 1) {
      const bool has_word = lane >= A::first && lane <= A::last;
      const unsigned counts = lane == A::last ? 2 * count_bits : count_bits;
      const auto complete = [](std::uint64_t w) { return (w & all_blocks) == gridDim.x; };
      std::uint64_t* const words = workspace + of * packed;
      std::uint64_t word = (static_cast<std::uint64_t>(digit) << counts) + one_block;
      if (lane == A::last && !fits) word += one_far_band;
      // Whoever sees the last lane's update below sees those of the long accumulator: its own, and the other warps',
      // which the block's barrier has brought here.
      if (!fits) __threadfence();
      if (has_word) word += device::atomicAdd(words + (lane - A::first), word);
      const unsigned are_complete = __ballot_sync(whole_warp, has_word && complete(word));
      if ((are_complete >> A::last & 1) == 0) return;
      while (has_word && !complete(word)) word = load_relaxed(words + (lane - A::first));
      sum = has_word ? static_cast<std::int64_t>(word) >> counts : 0;
      all_fit = __any_sync(whole_warp, lane == A::last && (word & all_far_bands) != 0) == 0;
      if (has_word) store_relaxed(words + (lane - A::first), std::uint64_t{0});
    }
    constexpr int base = LaneDigits<per_lane>::base + 32 * A::row;
    if (all_fit && !to.partial && to.store_row(sum, base, A::first, A::last)) return;
    combine_apart<of, per_lane>(*this, sum, all_fit);
  }
  /// What is rare of it, kept apart as add_tiles_apart() is.
  template <unsigned of, int per_lane>
  static __device__ __noinline__ void combine_apart(const ExactFinish finish, std::int64_t sum, bool all_fit) {
    using A = At<per_lane>;
    const unsigned lane = threadIdx.x % 32;
    const ExactResult to = of == 0 ? finish.result : finish.result.second();
    std::int64_t digits[per_lane] = {};
    digits[A::row] = sum;
    if (all_fit) return to.store(digits, Added::others, 0);

    __threadfence();
    __syncwarp();  // all lanes' fences come before any lane's reads
    std::int64_t more[per_lane];
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const std::uint64_t outside = finish.outside_words<of>()[lane + 32 * k];
      more[k] = static_cast<std::int64_t>(outside);
      if (outside != 0) finish.outside_words<of>()[lane + 32 * k] = 0;
    }
    // Words behind the digits are all in the last row.
    const auto behind = [&](unsigned i) {
      return __shfl_sync(whole_warp, more[per_lane - 1], static_cast<int>(i % 32));
    };
    unsigned specials = 0;
    for (unsigned k = 0; k < 3; ++k) specials |= static_cast<unsigned>(behind(A::special_words + k) != 0) << k;
    const Added added = behind(A::only_zeros_word) != gridDim.x ? Added::others
                        : finish.is_empty                       ? Added::nothing
                                                                : Added::negative_zeros;
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k)
      if (lane + 32 * k < LaneDigits<per_lane>::count) digits[k] += more[k];
    to.store(digits, added, specials);
  }
};

/// Thread t's share of the elements before the first vector and behind the last, with -0 beside them; else `instead`.
template <class In>
__device__ uint4 with_ends(const Share<In>& in, unsigned t, const uint4& instead) {
  if (t >= in.head_count && t >= in.tail_count) return instead;
  Vector<In> v;
  const uint4 none = negative_zeros<In>();
  memcpy(&v, &none, sizeof v);
  if (t < in.head_count) v.lane[0] = in.head[t];
  if (t < in.tail_count) v.lane[1] = in.tail[t];
  uint4 bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

inline constexpr unsigned exact_block = block_of(Reading::strided);

/// How the blocks of an exact sum read: tiles of `vectors` vectors a thread, with -0 for what there is not.
template <int vectors>
struct ExactTiles {
  static constexpr unsigned block = exact_block;

  /// Calls take(v) in all threads. Blocks take tiles in turn; all threads share what is less than a round.
  template <class In, class Take>
  static __device__ void in_turn(const Share<In>& in, const Take& take) {
    const std::int64_t round = std::int64_t{gridDim.x} * block * vectors;
    bool ends = in.has_ends();
    for (std::int64_t first = 0; first < in.vectors || ends; first += round) {
      uint4 v[vectors];
      if (first + round < in.vectors) {
        const auto from = in.body + (first + std::int64_t{blockIdx.x} * block * vectors + threadIdx.x);
        for (int u = 0; u < vectors; ++u) v[u] = __ldg(from + u * block);
      } else {
        ends = !load_rest(in, first, v) && ends;
      }
      take(v);
    }
  }

  /// The same by dynamic scheduling, as Claimed does it (tuned/reading.h): with fixed rounds blocks drift apart, and
  /// DRAM serves neighbouring tiles best. Ahead: a tile is under way while the one before is added up. What is behind
  /// the first `kept` vectors is read evict-first.
  ///
  /// Of many tiles a claim is to four neighbouring ones, and to single tiles at the end, so that blocks end together.
  /// An H200 reads single tiles 10 % more slowly, an H100 1 % faster (docs/tuning.md, E35).
  template <bool ahead, class In, class Take>
  static __device__ void claimed(const Share<In>& in, std::uint64_t* claims, const Take& take) {
    constexpr unsigned tile_vectors = block * vectors;
    const auto whole = static_cast<unsigned>(in.vectors / tile_vectors);
    // What is less than a tile is one, too, and so are the ends.
    const unsigned without_ends = whole + (std::int64_t{whole} * tile_vectors < in.vectors),
                   tiles = without_ends + in.has_ends();
    const auto load = [&](unsigned tile, uint4 (&v)[vectors]) {
      const std::int64_t first = std::int64_t{tile} * tile_vectors + threadIdx.x;
      const auto from = in.body + first;
      if (tile >= whole) {
        for (int u = 0; u < vectors; ++u) {
          v[u] = negative_zeros<In>();
          if (first + u * std::int64_t{block} < in.vectors) v[u] = __ldg(from + u * block);
        }
        if (tile >= without_ends) v[0] = with_ends(in, threadIdx.x, v[0]);
      } else if (first < in.kept) {
        for (int u = 0; u < vectors; ++u) v[u] = __ldg(from + u * block);
      } else {
        for (int u = 0; u < vectors; ++u) v[u] = device::load_past_l1(from + u * block);
      }
    };
    constexpr unsigned run = 4, many = 42, singles = 4;  // tiles; of each block: those that are many, those at the end
    const unsigned runs = tiles > many * gridDim.x ? (tiles - singles * gridDim.x) / run : 0,
                   count = tiles - (run - 1) * runs;  // of claims; the first `runs` are to a run each
    unsigned claimed = blockIdx.x, turn = 0;
    if (claimed >= count) return;
    unsigned tile, left;
    const auto begin = [&] {
      tile = claimed < runs ? run * claimed : claimed + (run - 1) * runs;
      left = claimed < runs ? run : 1;
    };
    begin();
    __shared__ __align__(16) unsigned next[2];  // in turn: a slow thread may still read one
    Claim claim(claims);
    uint4 after[vectors];
    if (ahead) load(tile, after);
    for (bool more = true; more;) {
      uint4 v[vectors];
      if (ahead)
        for (int u = 0; u < vectors; ++u) v[u] = after[u];
      else load(tile, v);
      if (--left == 0) {
        if (threadIdx.x == 0) next[turn] = claim.answer(count);
        __syncthreads();  // the claim's answer is stored
        claimed = next[turn];
        turn ^= 1;
        more = claimed < count;
        if (more) {
          claim = Claim(claims);
          begin();
        }
      } else {
        ++tile;
      }
      if (ahead && more) load(tile, after);
      take(v);
    }
  }

  /// Loads everything into one tile of each block, which gets the elements that it gets by in_turn(). False: the ones
  /// before and behind the vectors have no place.
  template <class In>
  static __device__ bool fill(const Share<In>& in, uint4 (&v)[vectors]) {
    return load_rest(in, 0, v);
  }

 private:
  /// Vectors from `first` on, at most a round of them, and the ends in the last threads' last places. False: these
  /// are taken, and there is another round.
  template <class In>
  static __device__ bool load_rest(const Share<In>& in, std::int64_t first, uint4 (&v)[vectors]) {
    const unsigned threads = gridDim.x * block, t = blockIdx.x * block + threadIdx.x;
    const std::int64_t rest = in.vectors - first;
    int left = static_cast<int>(rest) - static_cast<int>(t);
    auto from = in.body + (first + t);
    for (int u = 0; u < vectors; ++u, left -= static_cast<int>(threads), from += threads) {
      v[u] = negative_zeros<In>();
      if (left > 0) v[u] = __ldg(from);
    }
    const unsigned ends = in.head_count > in.tail_count ? in.head_count : in.tail_count;
    const bool fits = rest + ends <= std::int64_t{threads} * vectors;
    if (fits) v[vectors - 1] = with_ends(in, threads - 1 - t, v[vectors - 1]);
    return fits;
  }
};

/// Sums only: by a single block, or by several, a tile each. Any: by blocks in turn, or by such that claim their tiles.
enum class ExactRead { alone, at_once, in_turn, claimed };

/// Blocks an SM must have registers for. Squares and elements of 16 bits, of which a vector has most, need more.
template <class In, class Operation>
constexpr unsigned exact_blocks_per_sm(ExactRead read) {
  return read == ExactRead::claimed || sizeof(In) == 2 || !std::is_same<Operation, Identity>::value ? 3 : 4;
}

/// What every block does: adds up its tiles, and its sum to the others'.
template <class In, class Operation, int vectors, ExactRead read, bool roomy = true>
__device__ void add_tiles(const Share<In>& in, const ExactFinish& finish) {
  constexpr bool moments = std::is_same<Operation, Moments>::value;
  using First = ExactWarp<In, std::conditional_t<moments, Identity, Operation>, vectors, roomy>;
  using Second = ExactWarp<In, Square, vectors>;  // of moments
  constexpr unsigned warps = exact_block / 32;
  const auto each = [&](const auto& take) {
    if constexpr (read == ExactRead::claimed)  // two sums have no registers to read ahead
      ExactTiles<vectors>::template claimed<!moments>(in, finish.workspace + claims_word, take);
    else
      ExactTiles<vectors>::in_turn(in, take);
  };
  using FirstBin = typename First::Bin;
  __shared__ __align__(16) FirstBin first_bins[warps * First::bins];
  First first(first_bins + threadIdx.x / 32 * First::bins);
  if constexpr (moments) {
    using SecondBin = typename Second::Bin;
    __shared__ __align__(16) SecondBin second_bins[warps * Second::bins];
    Second second(second_bins + threadIdx.x / 32 * Second::bins);
    each([&](const uint4 (&v)[vectors]) {
      first.add(v);
      second.add(v);
    });
    finish.template end<0, warps>(first);
    finish.template end<1, warps>(second);
  } else {
    each([&](const uint4 (&v)[vectors]) { first.add(v); });
    if constexpr (read == ExactRead::in_turn && roomy && First::parts <= 2)  // else the kernel has tried
      if (finish.template has_combined<warps>(first, first.is_whole())) return;
    finish.template end<0, warps>(first);
  }
}
/// The same, kept apart: code that a kernel rarely runs. What it does run then lies together, and cold instructions are
/// a large part of a small sum's time.
template <class In, class Operation, int vectors>
__device__ __noinline__ void add_tiles_apart(const Share<In> in, const ExactFinish finish) {
  add_tiles<In, Operation, vectors, ExactRead::in_turn, false>(in, finish);
}

/// The kernel. One vector a thread and tile where that is all there is.
template <class In, class Operation, int vectors, ExactRead read>
__global__ void __launch_bounds__(exact_block, exact_blocks_per_sm<In, Operation>(read))
add_exactly(const Share<In> in, const ExactFinish finish) {
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  if constexpr (read == ExactRead::alone || read == ExactRead::at_once) {
    using Warp = ExactWarp<In, Operation, vectors, false>;
    constexpr unsigned warps = exact_block / 32;
    uint4 v[vectors];
    if (ExactTiles<vectors>::fill(in, v)) {
      Warp warp(static_cast<typename Warp::Bin*>(nullptr));
      const bool was_added = warp.add_only(v);
      if (read == ExactRead::alone ? finish.has_rounded<warps>(warp, was_added)
                                   : finish.has_combined<warps>(warp, was_added))
        return;
    }
    add_tiles_apart<In, Operation, vectors>(in, finish);
  } else {
    add_tiles<In, Operation, vectors, read>(in, finish);
  }
}

/// By one warp of each block: adds up partial sums. Block k has those of value k, of gridDim.x values.
template <class Result>
__global__ void add_partials(const std::int64_t* parts, std::size_t count, const Result result) {
  std::int64_t word[3] = {};
  const unsigned lane = threadIdx.x;
  for (std::size_t part = blockIdx.x; part < count * gridDim.x; part += gridDim.x)
#pragma unroll
    for (unsigned k = 0; k < 3; ++k) word[k] += parts[part * exact::words + lane + 32 * k];
  const auto is_set = [&](int i) { return __shfl_sync(whole_warp, word[2], i % 32) != 0; };
  unsigned specials = 0;
  for (int k = 0; k < 3; ++k) specials |= static_cast<unsigned>(is_set(exact::infinity_word + k)) << k;
  const bool others = is_set(exact::others_word), negative_zeros = is_set(exact::negative_zeros_word);
  if (lane + 64 >= exact::digits) word[2] = 0;
  const Result to = blockIdx.x == 0 ? result : result.second();
  to.store(word, others ? Added::others : negative_zeros ? Added::negative_zeros : Added::nothing, specials);
}

/// Whether elements of type In have exact sums that are rounded to Acc.
template <class In, class Acc>
constexpr bool adds_up_exactly() {
  return !std::is_integral<In>::value && std::is_floating_point<Acc>::value && adds_up<In, Acc>();
}

template <class Acc>
ExactResult exact_result(Acc* out) {
  if constexpr (std::is_same<Acc, float>::value) return {out, nullptr, nullptr};
  else if constexpr (std::is_same<Acc, double>::value) return {nullptr, out, nullptr};
  else return {nullptr, nullptr, reinterpret_cast<std::int64_t*>(out)};
}

/// A plan: the launch for n elements. Cheap to make and to copy; owns nothing. Of a Choice, how blocks read is fixed.
/// Operation: Identity, Square or Moments.
template <class In, class Operation = Identity>
class ExactReduction {
 public:
  /// Results of a call.
  static constexpr unsigned results = std::is_same<Operation, Moments>::value ? 2 : 1;
  static constexpr bool squares = !std::is_same<Operation, Identity>::value;

  /// `claims`: whether blocks claim their tiles (ExactTiles); of a fixed choice, for experiments.
  ExactReduction(std::size_t n, const Gpu& gpu, const Choice& choice = {}, bool claims = false)
      : n_(n), claims_(choice.fixed ? claims : by_claims(n * sizeof(In), gpu)),
        overlaps_(gpu.compute_capability >= 90 && choice.overlaps),
        shape_(shape_for(n * sizeof(In), gpu, choice)) {}

  /// Puts one call onto the stream. `out`: `results` floats or doubles to round to, or exact::Partials.
  template <class Out>
  void operator()(const In* in, Out* out, std::uint64_t* workspace, void* stream) const {
    static_assert(adds_up_exactly<In, Out>() || std::is_same<Out, exact::Partial>::value,
                  "tuned: exact sums are of __half, __nv_bfloat16 or float, to float, double or exact::Partial, or of "
                  "double, to double or exact::Partial");
    Launch launch{shape_.grid, shape_.block, 0, stream};
    launch.overlaps = overlaps_;
    const Share<In> share = share_of(in, n_, aligned_to(shape_.reading), shape_.kept_bytes);
    const ExactFinish finish{workspace, exact_result(out), n_ == 0};
    if (claims_) return device::launch<add_exactly<In, Operation, 4, ExactRead::claimed>>(launch, share, finish);
    if constexpr (!squares) {
      if constexpr (!std::is_same<Out, exact::Partial>::value)
        if (shape_.grid == 1 && n_ * sizeof(In) <= one_tile)
          return device::launch<add_exactly<In, Operation, 4, ExactRead::alone>>(launch, share, finish);
      const std::size_t round = std::size_t{16} * shape_.grid * exact_block;  // one vector a thread
      if (n_ * sizeof(In) <= round)
        return device::launch<add_exactly<In, Operation, 1, ExactRead::at_once>>(launch, share, finish);
      if (n_ * sizeof(In) <= 4 * round)
        return device::launch<add_exactly<In, Operation, 4, ExactRead::at_once>>(launch, share, finish);
    }
    device::launch<add_exactly<In, Operation, 4, ExactRead::in_turn>>(launch, share, finish);
  }

  LaunchShape shape() const { return shape_; }

 private:
  /// Elements of 16 bits take more arithmetic for each byte, which claims spread evenly.
  static bool by_claims(std::size_t bytes, const Gpu& gpu) { return bytes > row(gpu, sizeof(In) == 2 ? 12 : 48); }
  /// An H200's sizes, scaled by SMs.
  static std::size_t row(const Gpu& gpu, std::size_t mebibytes) {
    return scaled(mebibytes * MiB, gpu.sm_count, h200.sm_count);
  }
  static LaunchShape shape_for(std::size_t bytes, const Gpu& gpu, Choice choice) {
    if (!choice.fixed) {
      const ExactRead read = by_claims(bytes, gpu) ? ExactRead::claimed : ExactRead::in_turn;
      // Up to 1 MiB two blocks an SM read all with one vector a thread.
      if (!squares && bytes > one_tile && bytes <= row(gpu, 1)) choice.vectors_per_thread = 1;
      // Up to `few` bytes by two blocks an SM, because few blocks finish sooner.
      const std::size_t few = row(gpu, sizeof(In) == 8 ? 32 : sizeof(In) == 4 ? 4 : 8);
      choice.most_blocks = bytes <= one_tile ? 0 : bytes <= few ? 2 : exact_blocks_per_sm<In, Operation>(read);
      if (bytes > row(gpu, 48) && bytes <= row(gpu, 256))
        choice.kept_bytes = scaled(kept_in_l2, gpu.l2_bytes, h200.l2_bytes);
    }
    choice.fixed = true;
    choice.reading = Reading::strided;
    LaunchShape shape = launch_shape(bytes, FinishedBy::words, gpu, choice);
    if (shape.grid > ExactFinish::most_blocks) shape.grid = ExactFinish::most_blocks;
    return shape;
  }
  /// What a single block has registers for.
  static constexpr std::size_t one_tile = 16 * KiB;

  std::size_t n_;
  bool claims_, overlaps_;
  LaunchShape shape_;
};

/// The exact sum, rounded once, in one call.
template <class In, class Acc>
void exact_sum(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
               const Gpu& gpu, void* stream) {
  ExactReduction<In>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void exact_sum_of_squares(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
                          const Gpu& gpu, void* stream) {
  ExactReduction<In, Square>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void exact_moments(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
                   const Gpu& gpu, void* stream) {
  ExactReduction<In, Moments>(n, gpu)(in, out, workspace, stream);
}
/// The exact sum, not rounded; of squares by <Square>, both by <Moments>.
template <class Operation = Identity, class In>
void exact_partial(const In* in, std::size_t n, exact::Partial* out,
                   std::uint64_t* workspace, const Gpu& gpu, void* stream) {
  ExactReduction<In, Operation>(n, gpu)(in, out, workspace, stream);
}
/// Adds up partial sums, up to 2^18, and rounds to a float or double, or not to an exact::Partial. values = 2: of
/// moments, `count` pairs of Partials, to two results.
template <class Out>
void round_partials(const exact::Partial* parts, std::size_t count, Out* out, void* stream,
                    unsigned values = 1) {
  device::launch<add_partials<ExactResult>>({values, 32, 0, stream}, reinterpret_cast<const std::int64_t*>(parts),
                                            count, exact_result(out));
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
