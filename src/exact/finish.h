#pragma once
/// How an exact sum ends: the warps' digits become the block's, and the blocks' become one.

#include <cstdint>

#include "../device/kernel.h"
#include "../tuned/digits.h"
#include "../tuned/launch_table.h"
#include "../tuned/far_bands.h"
#include "lanes.h"
#include "result.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// How the blocks of an exact sum combine theirs. Each word has a digit of 40 bits and a count, as those of PackedSum
/// (tuned/finish.h). Eight lanes update the eight words of home, which are for sums around 1:
///
///   word 0 to 6   | sum of the digits, signed: 52 bits                       | how many blocks: 12 bits |
///   word 7        | sum of the digits, signed: 37 bits | far rows: 15        | how many blocks: 12      |
///
/// Other sums go to far words. There is one for each digit of the long accumulator, with as many bits as home's word 0.
/// A far row is eight neighbouring words, which a block updates together. A block with far rows adds nothing but counts
/// to home. Nothing orders its updates, so there is no fence: whoever completes home knows how many far rows there
/// were. If each block had the same one, as with data of one magnitude, the last block's update returns its complete
/// words. Else that block reads all far words until their counts add up.
class ExactFinish {
  static constexpr unsigned row_words = 8, first_lane = 8, last_lane = first_lane + row_words - 1;
  /// In home's last word: one far row, and the count of them. Blocks have up to twelve each.
  static constexpr unsigned far_row_bits = 15;
  static constexpr std::uint64_t one_far_row = one_block << count_bits;
  /// What a block may add to home's last digit: 2047 of them have 35 bits.
  static constexpr int bits_of_last = 24;
  static constexpr std::int64_t most_of_last = std::int64_t{1} << bits_of_last;
  /// No row of a block's own.
  static constexpr unsigned none = ~0u;
  /// Places among a warp's digits, of which lane l has l, l + 32, ... Home is where digits 2^-160 to 2^160 are. Behind
  /// the digits the far words count blocks with infinities, NaN, and nothing but -0.
  template <int per_lane>
  struct At {
    static constexpr unsigned count = LaneDigits<per_lane>::count, home = 50 - LaneDigits<per_lane>::base,
                              special_words = (count + 3) & ~3u, only_zeros_word = special_words + 3,
                              last_row = special_words - row_words;
    static_assert(special_words >= 32 * (per_lane - 1) && only_zeros_word < 32 * per_lane, "specials are in one row");
  };
  static constexpr unsigned words_of_sum = 32 * 2, words_of_squares = 32 * 3;
  static_assert(words_of_sum + words_of_squares <= 2 * far_words && 2 * row_words <= claims_word,
                "they lie where those of tuned::sum and tuned::moments are");

 public:
  static constexpr unsigned most_blocks = 2047;
  static_assert(most_blocks * (words_of_squares / row_words) < 1u << far_row_bits);

  /// Words of a workspace where one sum is under way.
  static constexpr unsigned line_words = far_word + words_of_sum;

  std::uint64_t* workspace;
  ExactResult result;
  bool is_empty;     ///< there are no elements
  unsigned senders;  ///< blocks, or warps, that each add a part of the sum

  /// What the warps of a block have added, as whole numbers of their windows' units.
  struct Warps {
    const std::int64_t* sums;  ///< part by part: 63 bits each
    const unsigned* marks;     ///< their windows' tops, above a bit
    unsigned least, most;      ///< of the tops; zeros are whole numbers of any unit, and have none
    bool are_whole, others;    ///< whether this is all that they have added; whether there was another element than -0
  };
  /// By every thread of the block.
  template <unsigned warps, class Warp>
  __device__ Warps warps_of(const Warp& warp, bool is_whole) const {
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
    const unsigned window = !is_whole ? ~0u : is_zero ? 0 : static_cast<unsigned>(warp.top());
    if (lane == 0) marks[number] = window << 1 | unsigned{has_other};
    __syncthreads();  // every warp's sums and mark are stored before another reads them
    const unsigned mark = marks[lane % warps], top = mark >> 1;
    Warps of{sums, marks, least_in_warp(top - 1) + 1, ~least_in_warp(~top), false, false};  // no top is the largest
    of.are_whole = of.most != ~0u >> 1;
    of.others = __any_sync(whole_warp, (mark & 1) != 0) != 0;
    if (of.most == 0) of.least = of.most = Warp::first_top;  // of zeros any, but the same for all warps
    return of;
  }

  /// By every thread of a single block whose warps have added one tile each: whether they did so in the same window.
  /// Then the sum is a whole number of the window's units, and is rounded and stored; else nothing has happened.
  template <unsigned warps, class Warp>
  __device__ bool has_rounded(const Warps& of) const {
    constexpr int parts = Warp::parts;
    static_assert(parts <= 2 && warps <= 8, "the sum of the warps' sums has 63 bits, and 128 with the second part's");
    if (of.least != of.most) return false;
    if (threadIdx.x != 0) return true;
    const auto sum_of = [&](unsigned part) {
      std::int64_t sum = 0;
      for (unsigned w = 0; w < warps; ++w) sum += of.sums[part * warps + w];
      return sum;
    };
    round_parts<Warp>(sum_of(0), parts == 1 ? 0 : sum_of(parts - 1), static_cast<int>(of.most), of.others);
    return true;
  }

  /// By every thread of a block, instead of end(): whether what its warps have added fits into one row of digits. If
  /// so, it is added to the other blocks'. If not, nothing has happened.
  template <unsigned warps, class Warp>
  __device__ bool has_combined(const Warps& of) const {
    constexpr unsigned parts = Warp::parts;
    constexpr int per_lane = Warp::per_lane;
    using A = At<per_lane>;
    if (!of.others) return false;
    // A sum's digits are that of its unit and two more, and the last takes no more than carries from several sums. All
    // warps' sums together have 67 bits, which home's last digit may hold in part.
    const auto digit_at = [](int unit) {
      return static_cast<unsigned>(unit - LaneDigits<per_lane>::lowest) / exact::digit_bits;
    };
    const int highest_unit = Warp::unit_of(0, static_cast<int>(of.most));
    const unsigned from = digit_at(Warp::unit_of(parts - 1, static_cast<int>(of.least))),
                   last = digit_at(highest_unit) + 2;
    constexpr int end_of_home = LaneDigits<per_lane>::lowest + bits_of_last +
                                exact::digit_bits * static_cast<int>(A::home + row_words - 1);
    const unsigned base = from >= A::home && highest_unit + 67 <= end_of_home ? A::home : row_at<A>(from);
    if (last >= base + row_words) return false;
    if (threadIdx.x >= 32) return true;
    // Each quarter of the warp has the digits of every fourth warp.
    const unsigned lane = threadIdx.x;
    const int lowest = LaneDigits<per_lane>::lowest + exact::digit_bits * static_cast<int>(base);
    std::int64_t digit = 0;
    constexpr unsigned quarters = 32 / row_words;
    static_assert(warps % quarters == 0);
#pragma unroll
    for (unsigned turn = 0; turn < warps; turn += quarters) {
      const unsigned w = turn + lane / row_words;
#pragma unroll
      for (unsigned p = 0; p < parts; ++p)
        digit += digit_of(of.sums[p * warps + w],
                          Warp::unit_of(static_cast<int>(p), static_cast<int>(of.marks[w] >> 1)) - lowest,
                          static_cast<int>(lane % row_words));
    }
    digit += __shfl_xor_sync(whole_warp, digit, 8);
    digit += __shfl_xor_sync(whole_warp, digit, 16);
    combine<0, per_lane>(carried(is_in_row(lane) ? digit : 0, last_lane), base, base != A::home);
    return true;
  }
  /// The same where it is rare, kept apart as add_tiles_apart() is.
  template <unsigned warps, class Warp>
  static __device__ __noinline__ bool has_combined_apart(const ExactFinish finish, const Warps of) {
    return finish.has_combined<warps, Warp>(of);
  }

  /// By a warp with a sum, or a part of one, of its own, of any number of tiles.
  template <class Warp>
  __device__ void end_warp(Warp& warp) const {
    constexpr int parts = Warp::parts, per_lane = Warp::per_lane;
    static_assert(parts <= 2, "the parts of sums");
    if (senders == 1 && warp.is_whole()) {
      const std::int64_t first = warp.sum_of_part(0), last = parts == 1 ? 0 : warp.sum_of_part(parts - 1);
      const bool any_other = __any_sync(whole_warp, warp.has_other()) != 0;
      if (threadIdx.x % 32 == 0) round_parts<Warp>(first, last, warp.top(), any_other);
      return;
    }
    const bool any_other = end_digits(warp);
    carry_digits(warp.digit);
    if (threadIdx.x % 32 + 32 * (per_lane - 1) == At<per_lane>::only_zeros_word)
      warp.digit[per_lane - 1] = !any_other;
    send<0, per_lane>(warp.digit);
  }

  /// By every thread of the block. `of`: 1 for the second result.
  template <unsigned of, unsigned warps, class Warp>
  __device__ void end(Warp& warp) const {
    constexpr int per_lane = Warp::per_lane;
    using A = At<per_lane>;
    __shared__ __align__(16) std::int64_t sums[warps * per_lane * 32];
    __shared__ __align__(16) unsigned others[warps];
    const unsigned lane = threadIdx.x % 32, number = threadIdx.x / 32, behind = lane + 32 * (per_lane - 1);
    const bool any_other = end_digits(warp);
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) sums[(number * per_lane + k) * 32 + lane] = warp.digit[k];
    if (lane == 0) others[number] = any_other;
    __syncthreads();  // every warp's digits are stored before one warp reads them
    if (number != of) return;

    std::int64_t digit[per_lane] = {};
    unsigned other = 0;
    for (unsigned w = 0; w < warps; ++w) {
#pragma unroll
      for (unsigned k = 0; k < per_lane; ++k) digit[k] += sums[(w * per_lane + k) * 32 + lane];
      other |= others[w];
    }
    carry_digits(digit);
    if (behind == A::only_zeros_word) digit[per_lane - 1] = other == 0;
    send<of, per_lane>(digit);
  }

 private:
  /// Rounds and stores the sum of a window's parts, of 63 bits each; by one thread.
  template <class Warp>
  __device__ void round_parts(std::int64_t first, std::int64_t second, int top, bool others) const {
    const Added added = is_empty ? Added::nothing : others ? Added::others : Added::negative_zeros;
    const int unit = Warp::unit_of(Warp::parts - 1, top);
    if constexpr (Warp::parts == 1) {
      result.store_whole(first, false, unit, added);
    } else {
      // As many bits of both parts as there is room for.
      constexpr int apart = Warp::unit_of(0, 0) - Warp::unit_of(1, 0);
      const std::int64_t high = first + (second >> apart), low = second & ((std::int64_t{1} << apart) - 1);
      const int room = __clzll(high < 0 ? ~high : high) - 1, taken = room < apart ? room : apart;
      const std::int64_t whole = high * (std::int64_t{1} << taken) + (low >> (apart - taken)),
                         more = low & ((std::int64_t{1} << (apart - taken)) - 1);
      result.store_whole(whole, more != 0, unit + (apart - taken), added);
    }
  }
  /// Ends what a warp has added, with what is special behind its digits. By all its lanes; whether there was another
  /// element than -0.
  template <class Warp>
  __device__ static bool end_digits(Warp& warp) {
    constexpr int per_lane = Warp::per_lane;
    const unsigned behind = threadIdx.x % 32 + 32 * (per_lane - 1);
    warp.end();
    unsigned specials = 0;
#pragma unroll
    for (unsigned k = 0; k < 3; ++k)
      specials |= unsigned{__any_sync(whole_warp, (warp.specials() >> k & 1) != 0) != 0} << k;
    if (behind >= At<per_lane>::special_words)
      warp.digit[per_lane - 1] = specials >> (behind - At<per_lane>::special_words) & 1;
    return __any_sync(whole_warp, warp.has_other()) != 0;
  }

  static __device__ bool is_in_row(unsigned lane) { return lane >= first_lane && lane <= last_lane; }
  /// The row for digits from `from` on. Even, so that blocks whose digits start alike mostly have the same.
  template <class A>
  static __device__ unsigned row_at(unsigned from) {
    const unsigned even = from & ~1u;
    return even < A::last_row ? even : A::last_row;
  }

  template <unsigned of>
  __device__ std::uint64_t* far_words_of() const {
    return workspace + (far_word + of * words_of_sum);
  }
  template <unsigned of>
  __device__ ExactResult result_of() const {
    return of == 0 ? result : result.second();
  }

  /// By one warp, with all of the block's digits, and what lies behind them.
  template <unsigned of, int per_lane>
  __device__ void send(const std::int64_t (&digit)[per_lane]) const {
    using A = At<per_lane>;
    const unsigned lane = threadIdx.x % 32;
    unsigned from = 32 * per_lane, to = 0;
    bool is_small = true;
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const unsigned filled = __ballot_sync(whole_warp, digit[k] != 0);
      if (filled != 0) {
        const unsigned first = 32 * k + static_cast<unsigned>(__ffs(static_cast<int>(filled))) - 1;
        from = first < from ? first : from;
        to = 32 * (k + 1) - static_cast<unsigned>(__clz(static_cast<int>(filled)));
      }
      if (lane + 32 * k == A::home + row_words - 1) is_small = digit[k] < most_of_last && digit[k] > -most_of_last;
    }
    const bool is_home = from >= A::home && to <= A::home + row_words && __all_sync(whole_warp, is_small) != 0;
    const unsigned base = is_home ? A::home : row_at<A>(from);
    // Of a far row the last word takes nothing but carries.
    if (is_home || to < base + row_words) {
      const unsigned own = base + lane - first_lane;
      std::int64_t in_row = 0;
#pragma unroll
      for (unsigned k = 0; k < per_lane; ++k) {
        const std::int64_t there = __shfl_sync(whole_warp, digit[k], static_cast<int>(own % 32));
        if (own / 32 == k) in_row = there;
      }
      return combine<of, per_lane>(is_in_row(lane) ? in_row : 0, base, !is_home);
    }
    if (senders == 1) return store<of, per_lane>(digit);
    unsigned rows = 0;
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const unsigned filled = __ballot_sync(whole_warp, digit[k] != 0);
      const bool is_filled = (filled >> (lane & ~(row_words - 1)) & 0xff) != 0;
      if (is_filled)
        device::atomicAdd(far_words_of<of>() + lane + 32 * k,
                          (static_cast<std::uint64_t>(digit[k]) << count_bits) + one_block);
      rows += static_cast<unsigned>(__popc(__ballot_sync(whole_warp, is_filled))) / row_words;
    }
    combine<of, per_lane>(0, none, rows);
  }

  /// By one warp, whose lanes 8 to 15 have the block's digits `base` to base + 7. `far_rows`: how many the block
  /// updates; not home's. base = none: it has done so.
  template <unsigned of, int per_lane>
  __device__ void combine(std::int64_t digit, unsigned base, unsigned far_rows) const {
    const unsigned lane = threadIdx.x % 32;
    if (senders > 1) {
      const bool in_row = is_in_row(lane), counts_at_home = far_rows != 0 && is_in_row(lane - row_words),
                 has_word = (in_row && base != none) || counts_at_home;
      const unsigned decides = far_rows != 0 ? last_lane + row_words : last_lane,
                     bits = far_rows == 0 && lane == last_lane ? count_bits + far_row_bits : count_bits;
      const auto complete = [this](std::uint64_t w) { return (w & all_blocks) == senders; };
      std::uint64_t* const place = (far_rows != 0 && in_row ? far_words_of<of>() + base : workspace + of * row_words) +
                                   lane % row_words;
      std::uint64_t word = (static_cast<std::uint64_t>(digit) << bits) + one_block;
      if (lane == decides) word += far_rows * one_far_row;
      if (has_word) word += device::atomicAdd(place, word);
      const unsigned are_complete = __ballot_sync(whole_warp, has_word && complete(word));
      if ((are_complete >> decides & 1) == 0) return;
      const unsigned rows = far_rows_of(__shfl_sync(whole_warp, word, static_cast<int>(decides)));
      const auto have_all = [&] { return __all_sync(whole_warp, !has_word || complete(word)) != 0; };
      if (rows == 0) {
        while (has_word && !complete(word)) word = load_relaxed(place);
      } else {
        // If there is one row for each block, they mostly are the same one, and what lacks is on its way.
        const bool may_be_one = rows == senders && far_rows == 1 && base != none;
        for (int turn = 0; turn < most_turns && may_be_one && !have_all(); ++turn)
          if (has_word && !complete(word)) word = load_relaxed(place);
        if (!may_be_one || !have_all()) return gather_apart<of, per_lane>(*this);
      }
      digit = in_row ? static_cast<std::int64_t>(word) >> bits : 0;
      if (has_word) store_relaxed(place, std::uint64_t{0});
    }
    const ExactResult to = result_of<of>();
    if (!to.partial && to.store_row(digit, LaneDigits<per_lane>::base + static_cast<int>(base - first_lane), first_lane,
                                    last_lane))
      return;
    store_row_apart<of, per_lane>(*this, digit, base);
  }
  static __device__ unsigned far_rows_of(std::uint64_t word) {
    return static_cast<unsigned>(word >> count_bits) & ((1u << far_row_bits) - 1);
  }

  /// What is rare of it, kept apart as add_tiles_apart() is.
  template <unsigned of, int per_lane>
  static __device__ __noinline__ void store_row_apart(const ExactFinish finish, std::int64_t digit, unsigned base) {
    std::int64_t digits[per_lane];
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      const unsigned in_row = threadIdx.x % 32 + 32 * k - base;
      const std::int64_t there = __shfl_sync(whole_warp, digit, static_cast<int>((first_lane + in_row) % 32));
      digits[k] = in_row < row_words ? there : 0;
    }
    finish.result_of<of>().store(digits, Added::others, 0);
  }
  /// So often the block that completes home looks whether its own row is complete.
  static constexpr int most_turns = 4;

  /// By one warp of the block that completes home: reads all words, when all updates have arrived.
  template <unsigned of, int per_lane>
  static __device__ __noinline__ void gather_apart(const ExactFinish finish) {
    using A = At<per_lane>;
    const unsigned lane = threadIdx.x % 32;
    std::uint64_t* const at_home = finish.workspace + of * row_words + lane;
    std::uint64_t home = 0, far[per_lane];
    for (bool is_complete = false; !is_complete;) {
      if (lane < row_words) home = load_relaxed(at_home);
      unsigned updates = 0;
#pragma unroll
      for (unsigned k = 0; k < per_lane; ++k) {
        far[k] = load_relaxed(finish.far_words_of<of>() + lane + 32 * k);
        updates += static_cast<unsigned>(far[k] & all_blocks);
      }
      const unsigned rows = far_rows_of(__shfl_sync(whole_warp, home, row_words - 1));
      is_complete = added_in_warp(updates) == row_words * rows &&
                    __all_sync(whole_warp, lane >= row_words || (home & all_blocks) == finish.senders) != 0;
    }
    if (lane < row_words) store_relaxed(at_home, std::uint64_t{0});
    const std::int64_t of_home = static_cast<std::int64_t>(home) >>
                                 (lane == row_words - 1 ? count_bits + far_row_bits : count_bits);
    std::int64_t digits[per_lane];
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) {
      if (far[k] != 0) store_relaxed(finish.far_words_of<of>() + lane + 32 * k, std::uint64_t{0});
      const unsigned in_row = lane + 32 * k - A::home;
      const std::int64_t there = __shfl_sync(whole_warp, of_home, static_cast<int>(in_row % 32));
      digits[k] = (static_cast<std::int64_t>(far[k]) >> count_bits) + (in_row < row_words ? there : 0);
    }
    finish.store<of, per_lane>(digits);
  }

  /// By one warp, with the digits of all blocks, and what lies behind them.
  template <unsigned of, int per_lane>
  __device__ void store(const std::int64_t (&digit)[per_lane]) const {
    using A = At<per_lane>;
    const auto behind = [&](unsigned i) {
      return __shfl_sync(whole_warp, digit[per_lane - 1], static_cast<int>(i % 32));
    };
    unsigned specials = 0;
    for (unsigned k = 0; k < 3; ++k) specials |= unsigned{behind(A::special_words + k) != 0} << k;
    const Added added = behind(A::only_zeros_word) != senders ? Added::others
                        : is_empty                              ? Added::nothing
                                                                : Added::negative_zeros;
    std::int64_t digits[per_lane];
#pragma unroll
    for (unsigned k = 0; k < per_lane; ++k) digits[k] = threadIdx.x % 32 + 32 * k < A::count ? digit[k] : 0;
    result_of<of>().store(digits, added, specials);
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
