#pragma once
/// An exact sum that is not rounded yet (after Kulisch): whole numbers that anybody may add up, word by word. Plain
/// C++, so that hosts without CUDA can add partial sums, too. exact/exact.h makes them on a GPU.
///
///   word 0 to 81   digits: word i counts in units of 2^(40 i - 2160). Each is signed and has 23 bits of room
///   word 82        not zero: something else than -0 was added
///   word 83        not zero: -0 was added
///   word 84 to 86  how many terms, or groups of terms, had +infinity, -infinity, NaN
///   word 87 to 95  zero
///
/// Doubles reach down to 2^-1074, their squares to 2^-2148. A square of 2^1024 or more counts as an infinity: squares
/// do not cancel, so the sum is one anyway.
///
/// The words of up to 2^18 partial sums may be added up as 64-bit integers, by MPI_Allreduce(..., MPI_INT64_T, MPI_SUM)
/// or ncclAllReduce(..., ncclInt64, ncclSum), before `carried()` makes room again.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#ifdef __CUDACC__
#define REDUCTIO_ON_BOTH __host__ __device__
#else
#define REDUCTIO_ON_BOTH
#endif

namespace reductio::tuned::exact {

inline constexpr int digit_bits = 40, digits = 82, lowest = -2160;
inline constexpr std::int64_t digit_mask = (std::int64_t{1} << digit_bits) - 1;
/// Words of a Partial, and those behind its digits.
inline constexpr int words = 96, others_word = digits, negative_zeros_word = digits + 1, infinity_word = digits + 2,
                     negative_infinity_word = digits + 3, nan_word = digits + 4;

/// The layout of a floating-point type, for rounding() to it.
struct Format {
  int precision;  ///< bits of the mantissa, the leading one included
  int least;      ///< the least subnormal number is 2^least
};
template <class T>
REDUCTIO_ON_BOTH constexpr Format format_of() {
  return {std::numeric_limits<T>::digits, std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits};
}

/// The bits of +-(bits + rest) * 2^unit_of_bits, rounded to nearest, ties to even. Bit 63 of `bits` is set, `rest` is
/// below 1, and not 0 if any_rest.
REDUCTIO_ON_BOTH inline std::uint64_t rounded_bits(Format format, bool negative, std::uint64_t bits, int unit_of_bits,
                                                   bool any_rest) {
  int unit = unit_of_bits + 64 - format.precision;  // of the result
  if (unit < format.least) unit = format.least;
  const int shift = unit - unit_of_bits;
  std::uint64_t kept = 0;
  if (shift <= 64) {
    kept = shift < 64 ? bits >> shift : 0;
    const bool half = (bits >> (shift - 1) & 1) != 0,
               more = (bits & ((std::uint64_t{1} << (shift - 1)) - 1)) != 0 || any_rest;
    if (half && (more || (kept & 1) != 0)) ++kept;
  }
  // A mantissa that was rounded up to 2^precision raises the exponent by itself.
  const int places = format.precision - 1, exponents = format.precision == 53 ? 0x7ff : 0xff,
            sign = format.precision == 53 ? 63 : 31;
  const std::uint64_t infinity = static_cast<std::uint64_t>(exponents) << places;
  std::uint64_t out = (static_cast<std::uint64_t>(unit - format.least) << places) + kept;
  if (out > infinity) out = infinity;
  return static_cast<std::uint64_t>(negative) << sign | out;
}

/// The bits of the sum of digit(i) * 2^(40 i - 2160) for `from` <= i < `to`, rounded to nearest, ties to even; of zero
/// +0. Whole numbers only, so no rounding mode changes it. |digit(i)| < 2^62.
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // digit(i) is what its caller can call
#endif
template <class Digit>
REDUCTIO_ON_BOTH std::uint64_t rounding(Format format, int from, int to, const Digit& digit) {
  std::int64_t carry = 0;
  for (int i = from; i < to; ++i) carry = (carry + digit(i)) >> digit_bits;
  const bool negative = carry < 0;
  // From the lowest digit up: the highest one, the two below it, and whether there is anything below those.
  std::int64_t top = 0, middle = 0, low = 0, last = 0, before_last = 0;
  bool below = false, any_before = false;
  int at = 0;
  carry = 0;
  for (int i = from; i <= to; ++i) {
    if (i < to) carry += negative ? -digit(i) : digit(i);
    const std::int64_t own = carry & digit_mask;
    carry >>= digit_bits;
    if (own != 0) {
      top = own;
      middle = last;
      low = before_last;
      below = any_before;
      at = i;
    }
    any_before = any_before || before_last != 0;
    before_last = last;
    last = own;
  }
  if (top == 0) return 0;
  // The leading 64 bits of the three digits, from the first that is set.
  const auto high = static_cast<std::uint64_t>(top), mid = static_cast<std::uint64_t>(middle),
             end = static_cast<std::uint64_t>(low);
  int lead = 0;
  for (int half = 32; half > 0; half /= 2)
    if (high << lead >> (64 - half) == 0) lead += half;
  std::uint64_t bits = high << lead, dropped;
  if (lead <= digit_bits) {
    bits |= mid >> (digit_bits - lead);
    dropped = (mid & ((std::uint64_t{1} << (digit_bits - lead)) - 1)) | end;
  } else {
    bits |= mid << (lead - digit_bits) | end >> (2 * digit_bits - lead);
    dropped = end & ((std::uint64_t{1} << (2 * digit_bits - lead)) - 1);
  }
  return rounded_bits(format, negative, bits, lowest + digit_bits * at - lead, dropped != 0 || below);
}

/// What a sum is that is not decided by its digits.
REDUCTIO_ON_BOTH inline std::uint64_t special_bits(Format format, bool positive, bool negative, bool nan) {
  const bool is_double = format.precision == 53;
  const std::uint64_t infinity = is_double ? std::uint64_t{0x7ff} << 52 : std::uint64_t{0xff} << 23;
  if (nan || (positive && negative)) return infinity | infinity >> 1;
  return infinity | static_cast<std::uint64_t>(negative) << (is_double ? 63 : 31);
}

/// The number that has these bits.
template <class T>
REDUCTIO_ON_BOTH T number_of(std::uint64_t bits) {
  const auto own = static_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(bits);
  T out;
  memcpy(&out, &own, sizeof out);
  return out;
}

/// A whole number of 128 bits.
struct Wide {
  std::uint64_t low, high;
};
REDUCTIO_ON_BOTH inline Wide square_of(std::uint64_t x) {  // below 2^63
  const std::uint64_t high = x >> 32, low = x & 0xffffffffu, middle = 2 * high * low, below = low * low;
  const std::uint64_t sum = below + (middle << 32);
  return {sum, high * high + (middle >> 32) + (sum < below)};
}
/// 64 bits of x, from bit `from` on, -64 < from < 128; bits below bit 0 are zero.
REDUCTIO_ON_BOTH inline std::uint64_t bits_of(Wide x, int from) {
  if (from <= 0) return x.low << -from;
  if (from < 64) return x.low >> from | x.high << (64 - from);
  return x.high >> (from - 64);
}

/// See above. Zeros are the sum of nothing.
struct Partial {
  std::int64_t word[words] = {};

  /// Adds x without rounding.
  void add(double x) { add(x, false); }
  /// Adds x * x without rounding.
  void add_square(double x) { add(x, true); }
  /// Adds +-size * 2^unit, where -2160 <= unit < 1024.
  void add(std::uint64_t size, int unit, bool negative) { add(Wide{size, 0}, unit, negative); }

  /// Adds another one. Any order, and any split into parts, gives the same sum.
  Partial& operator+=(const Partial& other) {
    for (int i = 0; i < words; ++i) word[i] += other.word[i];
    return *this = carried();
  }
  friend Partial operator+(Partial a, const Partial& b) { return a += b; }

  /// The same sum with digits below 2^40 but for the highest, and with a count of 1 for all others than 0.
  Partial carried() const {
    Partial out;
    std::int64_t carry = 0;
    for (int i = 0; i < digits; ++i) {
      carry += word[i];
      out.word[i] = i + 1 < digits ? carry & digit_mask : carry;
      carry >>= digit_bits;
    }
    for (int i = digits; i < words; ++i) out.word[i] = word[i] != 0;
    return out;
  }

  /// The sum, rounded once: to nearest, ties to even, to an infinity from half a unit above the largest number on.
  /// Infinities of both signs, or NaN: NaN. Negative zeros alone: -0. Nothing, or terms that cancel: +0.
  template <class T>
  T rounded() const {
    static_assert(std::is_same<T, float>::value || std::is_same<T, double>::value, "a sum is a float or a double");
    constexpr Format format = format_of<T>();
    const bool positive = word[infinity_word] != 0, negative = word[negative_infinity_word] != 0;
    if (positive || negative || word[nan_word] != 0)
      return number_of<T>(special_bits(format, positive, negative, word[nan_word] != 0));
    const std::uint64_t bits = rounding(format, 0, digits, [this](int i) { return word[i]; });
    return bits == 0 && word[negative_zeros_word] != 0 && word[others_word] == 0 ? -T(0) : number_of<T>(bits);
  }

 private:
  void add(double x, bool squared) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const bool negative = bits >> 63 != 0 && !squared;
    if (exponent == 0 && fraction == 0) {
      word[negative ? negative_zeros_word : others_word] = 1;
      return;
    }
    word[others_word] = 1;
    const bool is_nan = exponent == 0x7ff && fraction != 0;
    if (exponent == 0x7ff || (squared && exponent >= 1023 + 512)) {
      word[is_nan ? nan_word : negative ? negative_infinity_word : infinity_word] = 1;
      return;
    }
    const std::uint64_t whole = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    const int unit = (exponent == 0 ? 1 : exponent) - 1075;
    add(squared ? square_of(whole) : Wide{whole, 0}, squared ? 2 * unit : unit, negative);
  }
  /// Adds +-size * 2^unit. Up to 106 bits, and 39 that they are shifted.
  void add(Wide size, int unit, bool negative) {
    const int place = unit - lowest;
    for (int k = 0; k < 4; ++k) {
      const auto digit = static_cast<std::int64_t>(bits_of(size, digit_bits * k - place % digit_bits)) & digit_mask;
      if (digit != 0) add_to(place / digit_bits + k, negative ? -digit : digit);
    }
  }
  /// Digits stay below 2^44, so that there is room for words to be added.
  void add_to(int i, std::int64_t value) {
    constexpr std::int64_t most = std::int64_t{1} << 44;
    for (word[i] += value; (word[i] >= most || word[i] <= -most) && i + 1 < digits; ++i) {
      const std::int64_t carry = word[i] >> digit_bits;
      word[i] -= carry << digit_bits;
      word[i + 1] += carry;
    }
  }
};
static_assert(sizeof(Partial) == 768, "what is sent from process to process");

/// Adds up any doubles on the host, without rounding (after Neal, arXiv:1505.05571). Each goes to the bin of its sign
/// and exponent as it is, and a bin is shifted to its place when it is emptied.
class HostBins {
  static constexpr int low_bits = 42, high_bits = 52 - low_bits, count_from = 32;
  static constexpr std::uint64_t one = 1;
  struct Bin {
    std::uint64_t low;   ///< the sum of the mantissas' low bits
    std::uint64_t high;  ///< of their high bits, without the leading one; from bit 32 on, how many they are
  };

 public:
  /// So many numbers fit before they are emptied.
  static constexpr std::size_t room = one << (64 - low_bits);

  HostBins() : bins_(1 << 12) {}

  void add(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    Bin& bin = bins_[bits >> 52];
    bin.low += bits & ((one << low_bits) - 1);
    bin.high += (bits >> low_bits & ((one << high_bits) - 1)) + (one << count_from);
  }
  /// Adds what they hold to `sum`.
  void empty_into(Partial& sum) {
    for (unsigned i = 0; i < bins_.size(); ++i) {
      Bin& bin = bins_[i];
      if (bin.high == 0) continue;
      const int exponent = static_cast<int>(i & 0x7ff);
      const bool negative = i >> 11 != 0;
      std::uint64_t count = bin.high >> count_from, high = bin.high & ((one << count_from) - 1);
      const bool any_fraction = (bin.low | high) != 0;
      sum.word[exponent == 0 && !any_fraction && negative ? negative_zeros_word : others_word] = 1;
      if (exponent == 0x7ff) {
        sum.word[any_fraction ? nan_word : negative ? negative_infinity_word : infinity_word] = 1;
      } else {
        const int unit = (exponent == 0 ? 1 : exponent) - 1075;
        if (exponent != 0) high += count << high_bits;
        sum.add(bin.low, unit, negative);
        sum.add(high, unit + low_bits, negative);
      }
      bin = {};
    }
  }

 private:
  std::vector<Bin> bins_;
};

/// Adds blocks of 1024 elements whose exponents are close, in double lanes and exactly: floats as they are, doubles
/// split in two as exact/exact.h does it.
template <class T>
class HostBlock {
  static constexpr std::size_t lanes = 16;
  static constexpr int log2_of_chain = 6;

 public:
  static constexpr std::size_t elements = lanes << log2_of_chain;

  /// Whether it could be added so. Not zeros alone, and nothing infinite or NaN.
  static bool add(const T* x, Partial& sum) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    T most[lanes] = {}, least[lanes];  // of |x|; zeros do not count for the least. A NaN is in neither
    for (T& l : least) l = infinity;
    for (std::size_t i = 0; i < elements; i += lanes)
      for (std::size_t k = 0; k < lanes; ++k) {
        const T size = std::fabs(x[i + k]), or_none = size == 0 ? infinity : size;
        most[k] = size > most[k] ? size : most[k];
        least[k] = or_none < least[k] ? or_none : least[k];
      }
    for (std::size_t k = 1; k < lanes; ++k) {
      most[0] = most[k] > most[0] ? most[k] : most[0];
      least[0] = least[k] < least[0] ? least[k] : least[0];
    }
    if (most[0] == 0 || most[0] == infinity) return false;
    return add_within(x, exponent(most[0]) + 1, exponent(least[0]) - std::numeric_limits<T>::digits + 1, sum);
  }

 private:
  static int exponent(T size) {
    return size < std::numeric_limits<T>::min() ? std::numeric_limits<T>::min_exponent - 1 : std::ilogb(size);
  }
  static bool add_lanes(const double (&of_lane)[lanes], Partial& sum) {
    double all = 0;
    for (const double s : of_lane) all += s;
    if (all != all) return false;  // a NaN
    for (const double s : of_lane) sum.add(s);
    return true;
  }
  /// All elements are below 2^top and multiples of 2^lowest_bit, or NaN.
  static bool add_within(const float* x, int top, int lowest_bit, Partial& sum) {
    if (lowest_bit < top + log2_of_chain - 53) return false;
    double of_lane[lanes] = {};
    for (std::size_t i = 0; i < elements; i += lanes)
      for (std::size_t k = 0; k < lanes; ++k) of_lane[k] += static_cast<double>(x[i + k]);
    return add_lanes(of_lane, sum);
  }
  static bool add_within(const double* x, int top, int lowest_bit, Partial& sum) {
    const int unit = top + log2_of_chain - 52;  // of the high parts
    if (lowest_bit < unit + log2_of_chain - 53 || top > 1000 || top < -900) return false;
    const double splitter =
        number_of<double>(static_cast<std::uint64_t>(unit + 52 + 1023) << 52 | std::uint64_t{1} << 51);  // 1.5 * 2^
    double high[lanes] = {}, rest[lanes] = {};
    for (std::size_t i = 0; i < elements; i += lanes)
      for (std::size_t k = 0; k < lanes; ++k) {
        const double part = (x[i + k] + splitter) - splitter;
        high[k] += part;
        rest[k] += x[i + k] - part;
      }
    return add_lanes(high, sum) && add_lanes(rest, sum);  // both have a NaN, or none
  }
};

/// The exact sum of arrays on the host. One thread; others may have sums of their own, whose Partials are added up.
/// Compile it without -ffast-math.
class HostSum {
 public:
  /// Adds n floats or doubles.
  template <class T>
  void add(const T* x, std::size_t n) {
    constexpr std::size_t elements = HostBlock<T>::elements, untried = 7;
    std::size_t i = 0;
    for (; n - i >= elements; i += elements) {
      if (wide_ == 0 && HostBlock<T>::add(x + i, sum_)) continue;
      wide_ = wide_ == 0 ? untried : wide_ - 1;  // neighbours of a wide block tend to be wide
      add_to_bins(x + i, elements);
    }
    if (n - i >= few) add_to_bins(x + i, n - i);
    else
      for (; i < n; ++i) sum_.add(static_cast<double>(x[i]));
  }

  /// Likewise their squares. Each is the sum of two doubles: its rounded value, and what rounding left. Of floats, and
  /// where exponents are in the middle of the range, these have no error.
  template <class T>
  void add_squares(const T* x, std::size_t n) {
    constexpr std::size_t elements = HostBlock<double>::elements;
    constexpr double least = sizeof(T) == 8 ? 0x1p-480 : 0, most = sizeof(T) == 8 ? 0x1p500 : 0x1p200;
    std::size_t i = 0;
    for (; n - i >= elements; i += elements) {
      double square[elements], rest[elements];
      bool fits = true;
      for (std::size_t k = 0; k < elements; ++k) {
        const auto value = static_cast<double>(x[i + k]), size = std::fabs(value);
        fits = fits && (size == 0 || (size >= least && size <= most));  // not of NaN
        square[k] = value * value;
        rest[k] = sizeof(T) == 8 ? std::fma(value, value, -square[k]) : 0;
      }
      if (fits) {
        add(square, elements);
        if (sizeof(T) == 8) add(rest, elements);
      } else {
        for (std::size_t k = 0; k < elements; ++k) sum_.add_square(static_cast<double>(x[i + k]));
      }
    }
    for (; i < n; ++i) sum_.add_square(static_cast<double>(x[i]));
  }

  /// What was added since the last call.
  Partial take() {
    empty_bins();
    const Partial out = sum_;
    sum_ = {};
    return out;
  }

 private:
  static constexpr std::size_t few = 256;  // are added faster than bins are emptied

  template <class T>
  void add_to_bins(const T* x, std::size_t n) {
    if (!bins_) bins_ = std::make_unique<HostBins>();
    if (binned_ + n > HostBins::room) empty_bins();
    for (std::size_t k = 0; k < n; ++k) bins_->add(static_cast<double>(x[k]));
    binned_ += n;
  }
  void empty_bins() {
    if (binned_ > 0) bins_->empty_into(sum_);
    binned_ = 0;
  }

  Partial sum_;
  std::unique_ptr<HostBins> bins_;  ///< from the first wide block on
  std::size_t binned_ = 0;          ///< numbers in the bins
  std::size_t wide_ = 0;            ///< so many blocks go to the bins untried
};

/// Adds n floats or doubles on the host, without rounding.
template <class T>
void add(Partial& sum, const T* x, std::size_t n) {
  HostSum all;
  all.add(x, n);
  sum += all.take();
}
/// Likewise their squares.
template <class T>
void add_squares(Partial& sum, const T* x, std::size_t n) {
  HostSum all;
  all.add_squares(x, n);
  sum += all.take();
}

}  // namespace reductio::tuned::exact
