#pragma once
/// How an exact sum ends: the warps' digits become the block's, the blocks' become one, and that is rounded.

#include <cstdint>

#include "../device/kernel.h"
#include "../tuned/digits.h"
#include "../tuned/launch_table.h"
#include "../tuned/far_bands.h"
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
  /// In word 7: a block of which something did not fit, and the count of such blocks.
  static constexpr std::uint64_t one_block_outside = one_block << count_bits,
                                 any_block_outside = all_blocks << count_bits;
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
      if (lane == A::last && !fits) word += one_block_outside;
      // Whoever sees the last lane's update below sees those of the long accumulator: its own, and the other warps',
      // which the block's barrier has brought here.
      if (!fits) __threadfence();
      if (has_word) word += device::atomicAdd(words + (lane - A::first), word);
      const unsigned are_complete = __ballot_sync(whole_warp, has_word && complete(word));
      if ((are_complete >> A::last & 1) == 0) return;
      while (has_word && !complete(word)) word = load_relaxed(words + (lane - A::first));
      sum = has_word ? static_cast<std::int64_t>(word) >> counts : 0;
      all_fit = __any_sync(whole_warp, lane == A::last && (word & any_block_outside) != 0) == 0;
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

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
