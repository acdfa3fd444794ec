#pragma once
/// What one warp adds up: its tiles in a window of exponents in which doubles are exact, and what no window holds in
/// bins. exact.h explains how.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "../tuned/far_bands.h"
#include "../tuned/reading.h"
#include "elements.h"
#include "lanes.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// The exact sum of the terms of what a warp reads, `vectors` vectors a thread at a time. Wide tiles of floats and
/// doubles go to `lane_bins` bins of each lane, 256 bytes of shared memory each. 0: they take more instructions.
/// `only_tile`: it reads one, by add_only().
template <class In, class Operation, int vectors, unsigned lane_bins = 16, bool only_tile = false>
class ExactWarp {
  static constexpr bool roomy = lane_bins != 0;
  using E = ElementBits<In>;
  static constexpr bool squared = std::is_same<Operation, device::Square>::value, is_double = sizeof(In) == 8,
                        is_bfloat = IsBFloat<In>::value;

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
  /// Whether four elements may be added up as floats first.
  static constexpr bool in_fours = is_bfloat && !squared && roomy;
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
  /// Tops are multiples of this where that is possible, so that warps with alike tiles have the same.
  static constexpr int grain = window >= 40 ? 16 : 4;
  /// How far the window reaches beyond the first tile's largest element, at most.
  static constexpr int spare = grain + 2;

 public:
  static constexpr int per_lane = squared && is_double ? 3 : 2;
  using Lane = LaneDigits<per_lane>;
  /// How wide tiles are added: to bins of each lane, to bins of the warp (also what no lane's bins hold), or in slices.
  static constexpr bool bins_of_lanes = roomy && !squared && !fits_always,
                        in_slices = !roomy && !squared && !fits_always,
                        bins_of_warp = squared || (is_double && roomy);
  using Bin = std::conditional_t<bins_of_lanes, double, int>;
  static constexpr unsigned bin_bits = 20, warp_bins = 2 * Lane::count,
                            bins = bins_of_lanes ? 32 * lane_bins : bins_of_warp ? warp_bins : 1;
  static_assert(bins * sizeof(Bin) >= warp_bins * sizeof(int) || !bins_of_warp, "lanes' bins have room for the warp's");
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
      if constexpr (in_fours) {
        if (__all_sync(whole_warp, fours_fit(sizes)) != 0) add_fours(v);
        else add_in_window(v);
      } else {
        add_in_window(v);
      }
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
  /// Of one tile a thread has less than 2^53 units.
  __device__ std::int64_t sum_of_part(int p) const { return sum_of_warp<only_tile>(sums_[p]); }
  __device__ int top() const { return top_; }
  /// By all lanes: whether sum_of_part() has all that was added.
  __device__ bool is_whole() const {
    bool apart = specials_ != 0;
#pragma unroll
    for (int k = 0; k < per_lane; ++k) apart = apart || digit[k] != 0;
    return __any_sync(whole_warp, apart) == 0 && wide_tiles_ == 0;
  }
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
    [[maybe_unused]] unsigned most = 0;  // of halves' |x| as bits, two at a time
#pragma unroll
    for (int p = 0; p + 1 < parts; ++p) splitter[p] = 1.5 * power_of_two<double>(unit(p) + 52);
    const double raise = is_raised() ? power_of_two<double>(raised) : 1;
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      std::uint32_t w[4];
      memcpy(w, &v[u], sizeof w);
      if constexpr (fits_always)
#pragma unroll
        for (int k = 0; k < 4; ++k) most = larger_of_each(most, w[k] & 0x7fff7fffu);
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
    if constexpr (fits_always)
      if (__any_sync(whole_warp, ((most + 0x04000400u) & 0x80008000u) != 0) != 0) return false;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      double all = sum[p][0] + sum[p][1];
      if (chains == 4) all += sum[p][chains - 2] + sum[p][chains - 1];
      if (fits_always && has_negative_zeros && !has_other_) has_other_ = all != 0 || is_other(v);
      sums_[p] += static_cast<std::int64_t>(all * power_of_two<double>(-unit(p)));
    }
    return true;
  }
  /// Whether the sum of any four of a thread's bfloats is a float without rounding: they have 24 bits together.
  __device__ static bool fours_fit(const Sizes& sizes) {
    return static_cast<unsigned>(sizes.most) - sizes.least < 14u << E::places && sizes.most < 252 << E::places;
  }
  /// Such a tile, which fits the window. Conversions to double take as long as eight other instructions.
  __device__ void add_fours(const uint4 (&v)[vectors]) {
    double sum[2] = {};
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      std::uint32_t w[4];
      memcpy(w, &v[u], sizeof w);
#pragma unroll
      for (int k = 0; k < 4; k += 2) sum[k / 2] += E::sum_of_two(w[k]) + E::sum_of_two(w[k + 1]);
    }
    sums_[0] += static_cast<std::int64_t>((sum[0] + sum[1]) * power_of_two<double>(-unit(0)));
  }

  __device__ int unit(int p) const { return unit_of(p, top_, is_raised() ? raised : 0); }
  __device__ bool is_raised() const { return raised > 0 && top_ < raised_below + spare + 1; }

  /// The exponents' fields of a warp's largest and smallest elements, but for zeros.
  __device__ static int highest_of(const Sizes& sizes) {
    return static_cast<int>(~least_in_warp(~static_cast<unsigned>(sizes.most + 1))) >> E::places;
  }
  __device__ static int lowest_of(const Sizes& sizes) {
    const int field = static_cast<int>((least_in_warp(sizes.least) + 1) >> E::places);
    return field > 1 ? field : 1;  // subnormal numbers have the unit of the least normal ones
  }

  /// The top of the window that a tile gets, alike for warps with alike tiles. None: 0 if it is too wide, -1 if
  /// something is not finite.
  __device__ int top_for(const Sizes& sizes) const {
    // Not all of them are zero, or they would have fitted.
    const int highest = highest_of(sizes), lowest = lowest_of(sizes);
    if (highest >= infinite_from) return -1;
    int top = (highest + 1 + spare) & ~(grain - 1);
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
      else add_to_bins(sizes, v);
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
  /// `below_2_53`: so is |sum|.
  template <bool below_2_53 = false>
  static __device__ std::int64_t sum_of_warp(std::int64_t sum) {
    constexpr unsigned piece = (1u << 27) - 1;
    const std::uint64_t low = added_in_warp(static_cast<unsigned>(sum) & piece);
    if constexpr (below_2_53) {
      // 27 bits each, with the sign.
      const auto high = static_cast<int>(added_in_warp(static_cast<unsigned>(sum >> 27)));
      return static_cast<std::int64_t>(low + (static_cast<std::uint64_t>(std::int64_t{high}) << 27));
    }
    const std::uint64_t middle = added_in_warp(static_cast<unsigned>(sum >> 27) & piece);
    const auto high = static_cast<std::int64_t>(static_cast<int>(added_in_warp(static_cast<unsigned>(sum >> 54))));
    return static_cast<std::int64_t>(low + (middle << 27) + (static_cast<std::uint64_t>(high) << 54));
  }

  /// Adds sum * 2^exponent.
  __device__ void add_to_digits(std::int64_t sum, int exponent) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    constexpr int of_lane = squared || is_double ? per_lane : 1;  // floats are below 2^128, and digit 32 above 2^200
#pragma unroll
    for (int k = 0; k < of_lane; ++k) digit[k] += digit_of(sum, exponent - Lane::lowest, lane + 32 * k);
  }

  /// A wide tile, each term by itself.
  __device__ void add_to_bins(const Sizes& sizes, const uint4 (&v)[vectors]) {
    if constexpr (in_slices) add_in_slices(sizes, v);
    else if constexpr (!bins_of_lanes) add_to_warp_bins(v);
    else if (!is_double || have_lane_bins(sizes)) add_to_lane_bins(v);
    else if constexpr (bins_of_warp) add_to_warp_bins(v);
  }

  /// Each lane has bins of type double, one for each 16 exponents. Floats are added as they are: a bin's sum of 2^12 of
  /// them has 51 bits. Doubles are cut in two parts of 27 and 26 bits, with an exponent each, and so a bin: the sum of
  /// 2^9 has 51 bits. So bins are kept from tile to tile.
  __device__ void add_to_lane_bins(const uint4 (&v)[vectors]) {
    constexpr unsigned most_wide_tiles = (is_double ? 1u << 9 : 1u << 12) / elements;
    double* const own = bins_ + threadIdx.x % 32;
    if (wide_tiles_ == 0)
      for (unsigned b = 0; b < lane_bins; ++b) own[32 * b] = 0;
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      std::uint32_t w[4];
      memcpy(w, &v[u], sizeof w);
      for (unsigned k = 0; k < E::lanes; ++k) {
        if constexpr (is_double) {
          const std::uint32_t high_words[4] = {w[2 * k] & ~0x3ffffffu, w[2 * k + 1]};
          const double high = E::value(high_words, 0), low = E::value(w, k) - high;
          std::uint64_t low_bits;
          memcpy(&low_bits, &low, sizeof low_bits);
          const unsigned to = bin_of(w[2 * k + 1]), own_of_low = bin_of(static_cast<unsigned>(low_bits >> 32)),
                         to_low = own_of_low == to ? to ^ 1u : own_of_low;  // of a zero, which any bin takes
          const double sum = own[32 * to] + high, sum_low = own[32 * to_low] + low;
          own[32 * to] = sum;
          own[32 * to_low] = sum_low;
        } else {
          own[32 * bin_of(E::head(w, k))] += E::value(w, k);
        }
      }
    }
    if (++wide_tiles_ == most_wide_tiles) flush_bins();
  }
  /// Of numbers whose exponents' fields are those of the bins. Of others, such as 0, it is some bin.
  __device__ unsigned bin_of(unsigned head) const {
    const unsigned sign = 0x80000000u;
    if constexpr (lane_bins == 16)
      return (head - (static_cast<unsigned>(lowest_bin_) << E::places)) >> (E::places + 4) & (lane_bins - 1);
    const unsigned bin = ((head & ~sign) - (static_cast<unsigned>(lowest_bin_) << E::places)) >> (E::places + 4);
    return bin < lane_bins ? bin : lane_bins - 1;
  }
  /// Whether the lanes' bins are, or could be moved, where both parts of all of a tile's doubles have theirs, and
  /// neither over- nor underflow.
  __device__ bool have_lane_bins(const Sizes& sizes) {
    constexpr int all = 16 * lane_bins, second_part = E::mantissa - 1, least = 32, most = E::most_exponent - 16;
    const int high = highest_of(sizes), low = (lowest_of(sizes) - second_part) & ~15;
    if (low < least || high > most || high - low >= all) return false;
    if (wide_tiles_ != 0 && low >= lowest_bin_ && high < lowest_bin_ + all) return true;
    flush_bins();
    const int middle = (low - (all - 1 - (high - low)) / 2) & ~15;  // as much room below as above
    lowest_bin_ = middle > 0 && high < middle + all ? middle : low;
    return true;
  }
  /// Each lane adds up half of a bin, and they go to digits by bins of the warp in the same memory.
  __device__ void flush_bins() {
    if (wide_tiles_ == 0) return;
    wide_tiles_ = 0;
    if constexpr (is_double && lane_bins == 16) {  // moments, which have no registers for more than a bin at a time
      const double* const own = bins_ + threadIdx.x % 32;
#pragma unroll 1
      for (unsigned b = 0; b < lane_bins; ++b) {
        const double sum = own[32 * b];
        if (!__any_sync(whole_warp, sum != 0)) continue;
        const int unit = unit_of_bin(b);
        add_of_warp(static_cast<std::int64_t>(sum * power_of_two<double>(-unit)), unit);
      }
      return;
    }
    constexpr unsigned each = 16, turns = (lane_bins + each - 1) / each;
    const unsigned lane = threadIdx.x % 32, half = lane & each, first = lane % each;
    std::int64_t sum[turns] = {};
    __syncwarp();  // all lanes have added to theirs
#pragma unroll
    for (unsigned turn = 0; turn < turns; ++turn) {
      const unsigned bin = first + each * turn;
      if (bin < lane_bins) {
        // The sum's units are the lowest bits of 1.5 * 2^52 units and the sum.
        const double splitter = 1.5 * power_of_two<double>(unit_of_bin(bin) + 52);
        const double* const from = bins_ + 32 * bin + half;
        std::uint64_t added = 0;  // wraps
#pragma unroll 2  // more at once would take registers from tiles
        for (unsigned i = 0; i < each; ++i) added += bits_of_double(from[(lane + i) % each] + splitter);
        sum[turn] = static_cast<std::int64_t>(added - each * bits_of_double(splitter));
      }
      sum[turn] += __shfl_xor_sync(whole_warp, sum[turn], each);  // 56 bits
    }
    clear_warp_bins();
    constexpr int bits_each = static_cast<int>(bin_bits), mask = (1 << bits_each) - 1;
    int* const bins_of_all = reinterpret_cast<int*>(bins_);
#pragma unroll
    for (unsigned turn = 0; turn < turns; ++turn) {
      const std::int64_t all = sum[turn];
      if (half != 0 || all == 0) continue;
      const int place = unit_of_bin(first + each * turn) - Lane::lowest, shift = place % bits_each;
      int* const to = bins_of_all + place / bits_each;
      device::atomicAdd(to, static_cast<int>(static_cast<std::uint64_t>(all) << shift) & mask);
#pragma unroll
      for (int i = 1; i < 4; ++i) {
        const auto piece = static_cast<int>(all >> (bits_each * i - shift));
        if (i < 3) device::atomicAdd(to + i, piece & mask);
        else device::atomicAdd(to + i, piece);
      }
    }
    take_warp_bins();
  }
  /// What a bin of a lane counts in. That of subnormal numbers, too, in floats' lowest one.
  __device__ int unit_of_bin(unsigned bin) const {
    return lowest_bin_ + 16 * static_cast<int>(bin) - E::bias - (is_double ? E::mantissa / 2 : E::mantissa - 1);
  }
  static __device__ std::uint64_t bits_of_double(double x) {
    std::uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  /// Bins of 20 bits that the warp shares, in the same memory as the lanes'.
  __device__ void clear_warp_bins() {
    int* const bins_of_all = reinterpret_cast<int*>(bins_);
    __syncwarp();  // all lanes have read theirs
    for (unsigned i = threadIdx.x % 32; i < warp_bins; i += 32) bins_of_all[i] = 0;
    __syncwarp();  // all bins are zero
  }
  __device__ void take_warp_bins() {
    const int* const bins_of_all = reinterpret_cast<const int*>(bins_);
    __syncwarp();  // all is added
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const unsigned own = threadIdx.x % 32 + 32 * k;
      if (own < Lane::count)
        digit[k] += static_cast<std::int64_t>(bins_of_all[2 * own]) +
                    static_cast<std::int64_t>(bins_of_all[2 * own + 1]) * (1 << bin_bits);
    }
    __syncwarp();  // all bins are read, and may be cleared for another tile
  }

  /// A wide tile, slice by slice from its highest bit on, each as a window's first part. Few slices follow each other;
  /// of many, empty ones are skipped. Doubles near the ends of their range in two goes, for large and for other ones,
  /// both multiplied so that no slice's arithmetic over- or underflows.
  __device__ void add_in_slices(const Sizes& sizes, const uint4 (&v)[vectors]) {
    constexpr int bits_each = 52 - log2_elements, large_from = 1100, few = 6;
    const int highest = highest_of(sizes), lowest = lowest_of(sizes);
    const bool in_two = is_double && (lowest < 150 || highest > 1900);
    const int lowest_unit = lowest - E::bias - (E::precision - 1), top = highest - E::bias + 1;
#pragma unroll 1
    for (int large = 0; large <= int{in_two}; ++large) {
      const int raised_by = !in_two ? 0 : large != 0 ? -256 : 512;
      double rest[elements];
#pragma unroll
      for (int u = 0; u < vectors; ++u) {
        std::uint32_t w[4];
        memcpy(w, &v[u], sizeof w);
#pragma unroll
        for (unsigned k = 0; k < E::lanes; ++k) {
          double x = E::value(w, k);
          if constexpr (is_double) {
            const auto exponent = static_cast<int>(E::head(w, k) >> E::places & E::most_exponent);
            x = in_two && (exponent >= large_from) != (large != 0) ? 0 : x * power_of_two<double>(raised_by);
          }
          rest[u * static_cast<int>(E::lanes) + static_cast<int>(k)] = x;
        }
      }
      const bool follow = !in_two && top - lowest_unit <= few * bits_each;
      int unit = top;
#pragma unroll 1
      for (;;) {
        if (follow) {
          unit -= bits_each;
          if (unit <= lowest_unit) break;
        } else {
          std::uint64_t most = 0;
#pragma unroll
          for (int i = 0; i < elements; ++i) {
            std::uint64_t bits;
            memcpy(&bits, &rest[i], sizeof bits);
            bits &= ~std::uint64_t{0} >> 1;
            most = bits > most ? bits : most;
          }
          const int field = static_cast<int>(~least_in_warp(~static_cast<unsigned>(most >> 52)));
          if (field == 0) break;  // all are zero: none is subnormal
          unit = field - 1022 - bits_each;
        }
        const double splitter = 1.5 * power_of_two<double>(unit + 52);
        double sum = 0;
#pragma unroll
        for (int i = 0; i < elements; ++i) {
          const double part = (rest[i] + splitter) - splitter;
          rest[i] -= part;
          sum += part;
        }
        add_slice(sum, unit, raised_by);
      }
      if (!follow) continue;
      double sum = 0;
#pragma unroll
      for (int i = 0; i < elements; ++i) sum += rest[i];
      add_slice(sum, lowest_unit, 0);
    }
  }
  __device__ void add_slice(double sum, int unit, int raised_by) {
    const auto units = static_cast<std::int64_t>(sum * power_of_two<double>(-unit));
    add_to_digits(sum_of_warp<true>(units), unit - raised_by);
  }

  /// Squares, and what lanes' bins do not hold: in pieces, to bins of 20 bits that the warp shares.
  __device__ void add_to_warp_bins(const uint4 (&v)[vectors]) {
    if constexpr (bins_of_lanes) flush_bins();  // whose memory this is
    clear_warp_bins();
    int* const bins_of_all = reinterpret_cast<int*>(bins_);
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
          if (piece != 0) device::atomicAdd(bins_of_all + static_cast<unsigned>(place / bits_each + i), sign * piece);
        }
      }
    });
    take_warp_bins();
    if (++tiles_in_pieces_ % 1024 == 0) carry_digits(digit);  // of 2^50 each
  }

  static_assert(first_top - window > 1 && first_top > lowest_top && first_top < highest_top,
                "a window that moved_to() could choose");
  int top_ = first_top, high_limit_ = (first_top << E::places) - 1;
  unsigned low_limit_ = (static_cast<unsigned>(first_top - window) << E::places) - 1;
  unsigned tiles_ = 0, wide_tiles_ = 0, tiles_in_pieces_ = 0, specials_ = 0;
  int lowest_bin_ = 0;  ///< the field of the exponent where the lanes' bins begin
  bool has_other_ = false;
  std::int64_t sums_[parts] = {};
  Bin* bins_;
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
