#include "core/dataset.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/error.h"
#include "core/narrow_float.h"

namespace reductio {
namespace {

constexpr std::array<std::string_view, 4> integer_datasets{"random", "exact", "alternating", "largest"};
constexpr std::array<std::string_view, 23> float_datasets{
    "random", "exact",       "alternating", "ill-conditioned", "wide",     "wide-square", "tiny",     "tiny-square",
    "huge",   "huge-square", "spread",      "whole-range",     "positive", "subnormal",   "infinity", "nan",
    "mixed-infinities", "normal",   "infinity-pair", "ones",           "gradients", "giants", "constants"};
constexpr std::size_t not_of_f16 = 3;  // the last ones

constexpr std::string_view scaled = "scaled:2^";

/// K of scaled:2^K; none of another name, or where 2^K is no normal number of the type.
std::optional<int> scale_exponent(std::string_view dataset, ElementType type) {
  if (!dataset.starts_with(scaled) || !is_floating(type)) return {};
  dataset.remove_prefix(scaled.size());
  int exponent = 0;
  const auto [end, error] = std::from_chars(dataset.data(), dataset.data() + dataset.size(), exponent);
  if (error != std::errc{} || end != dataset.data() + dataset.size()) return {};
  const int most = type == ElementType::f64 ? 1023 : type == ElementType::f16 ? 15 : 127;
  if (exponent > most || exponent < 1 - most) return {};
  return exponent;
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every standard library.
class Random {
 public:
  Random(std::string_view dataset, std::uint64_t seed) : state_(seed) {
    for (const char c : dataset) state_ = next() + static_cast<unsigned char>(c);
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A whole number in [0, bound); the bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(unsigned one_in) { return below(one_in) == 0; }

 private:
  std::uint64_t state_;
};

// In what follows T is the element's type, unsigned for integers, and Value<T> what its data are made in: the
// accumulator's type, unsigned for integers. What is made is a number of T, or is rounded to one at the end.
template <class T>
using Value = std::conditional_t<is_narrow_float<T>, float, std::conditional_t<sizeof(T) == 1, std::uint32_t, T>>;
/// digits, max_exponent and min_exponent of T.
template <class T>
using Format = std::conditional_t<is_narrow_float<T>, T, std::numeric_limits<T>>;

template <class T>
Value<T> uniform(Random& random) {
  using V = Value<T>;
  if constexpr (std::is_same_v<T, UInt128>) {
    const V upper = random.next();
    return upper << 64 | random.next();
  } else if constexpr (is_integer<T>) {
    return static_cast<V>(random.next() >> (64 - std::numeric_limits<V>::digits));
  } else {
    constexpr int bits = Format<T>::digits;  // multiples of 2^(1 - bits) in [-1, 1)
    const auto k = static_cast<std::int64_t>(random.next() >> (64 - bits));
    return std::ldexp(static_cast<V>(k), 1 - bits) - 1;
  }
}

/// All whole numbers up to this are numbers of T.
template <class T>
constexpr std::uint64_t largest_whole() {
  if constexpr (is_integer<T>)
    return ~std::uint64_t{0} >> (sizeof(T) < 8 ? 65 - 8 * sizeof(T) : 1);
  else
    return 1ull << Format<T>::digits;
}

/// The sum of twelve uniform numbers of variance 1/12: a logarithm would differ from library to library.
template <class V>
V nearly_normal(Random& random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += uniform<double>(random) / 2;
  return static_cast<V>(sum);
}

/// What the absolute values, and the squares, of all n elements together stay below.
template <class T>
constexpr std::uint64_t exact_limit() {
  if constexpr (is_integer<T>)
    return 1ull << 31;
  else
    return 1ull << std::numeric_limits<Value<T>>::digits;
}

/// Whole numbers for which the sum of squares of all n elements, and so that of absolute values, stays below the limit.
template <class T>
void fill_exact(std::vector<Value<T>>& tile, std::size_t n, Random& random, std::uint64_t seed) {
  using V = Value<T>;
  // Odd seeds leave all values positive, so that no two omissions or repetitions can cancel; even seeds mix signs.
  const auto value = [&](std::uint64_t magnitude) {
    return seed % 2 == 0 && random.chance(4) ? -static_cast<V>(magnitude) : static_cast<V>(magnitude);
  };
  const std::uint64_t limit = exact_limit<T>() - 1;
  const std::size_t repeats = n / dataset_period + (n % dataset_period != 0);
  const std::uint64_t share = limit / std::max<std::uint64_t>(n, 1);
  if (share >= 1) {
    const auto root =
        static_cast<std::uint64_t>(std::sqrt(static_cast<double>(std::min<std::uint64_t>(share, 1ull << 40))));
    const std::uint64_t largest = std::min(root, largest_whole<T>());
    for (V& x : tile) x = value(1 + random.below(largest));
    return;
  }
  // More elements than the limit has units: ones at random places. The array's own last elements are among them,
  // because a lost tail is what kernels get wrong first.
  std::fill(tile.begin(), tile.end(), V{0});
  std::uint64_t left = limit / repeats;
  for (std::size_t back = 1; back <= 64 && left > 0; ++back, --left) tile[(n - back) % dataset_period] = value(1);
  left = std::min<std::uint64_t>(left, tile.size() / 2);
  while (left > 0) {
    V& x = tile[random.below(tile.size())];
    if (x != V{0}) continue;
    x = value(1);
    --left;
  }
}

/// Ones, or zeros where there are too many of them, and somewhere the odd number that leaves them just enough room
/// below the limit; with `squares`, the odd number whose square does. No larger one than T has.
template <class T>
void fill_wide(std::vector<Value<T>>& tile, std::size_t n, Random& random, bool squares) {
  using V = Value<T>;
  if (tile.empty()) return;
  constexpr std::size_t most_ones = std::size_t{1} << 22;
  const std::uint64_t repeats = n / dataset_period + (n % dataset_period != 0);
  const std::uint64_t room = (exact_limit<T>() - 1 - (n <= most_ones ? n : 0)) / repeats;
  const std::uint64_t fitting = squares ? static_cast<std::uint64_t>(std::sqrt(static_cast<double>(room))) : room;
  const std::uint64_t largest = std::min(fitting, largest_whole<T>());
  std::fill(tile.begin(), tile.end(), n <= most_ones ? V{1} : V{0});
  tile[random.below(tile.size())] = static_cast<V>(largest - (largest % 2 == 0));
}

/// Pairs of nearly opposite numbers over many binades, shuffled inside runs of 1024 so that any n cuts few pairs.
/// Squares of all of them neither overflow nor underflow in the accumulator. Two floats of 16 bits that nearly cancel
/// leave too much, so that of those larger than 1 both are the same.
template <class T>
void fill_ill_conditioned(std::vector<Value<T>>& tile, Random& random) {
  using V = Value<T>;
  constexpr int spread = Format<T>::max_exponent == 16 ? 12 : std::is_same_v<T, double> ? 300 : 40;
  const V epsilon = std::ldexp(V{1}, 1 - Format<T>::digits);
  constexpr std::size_t run = 1024;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (i % 2 == 1) {
      V residue = 1 + static_cast<V>(random.below(8)) * epsilon;
      if (is_narrow_float<T> && std::abs(tile[i - 1]) > 1) residue = 1;
      tile[i] = -tile[i - 1] * residue;
    } else {
      const int exponent = static_cast<int>(random.below(2 * spread + 1)) - spread;
      tile[i] = std::ldexp(uniform<T>(random), exponent);
    }
  }
  // An element without a partner would be the whole sum.
  if (tile.size() % 2 == 1 && tile.size() > 1) tile.back() = std::ldexp(uniform<T>(random), -spread);
  for (std::size_t begin = 0; begin < tile.size(); begin += run) {
    const std::size_t count = std::min(run, tile.size() - begin);
    for (std::size_t i = count; i > 1; --i) std::swap(tile[begin + i - 1], tile[begin + random.below(i)]);
  }
}

/// The greatest power of two of which 2^33 can be added on the way without overflow, in any order.
template <class T>
constexpr int most_exponent =
    std::min(std::numeric_limits<Value<T>>::max_exponent - 1 - 34, Format<T>::max_exponent - 1);

/// Numbers of either sign whose exponents are uniform from `least` to `most`, as far as T has them.
template <class T>
void fill_spread(std::vector<Value<T>>& tile, Random& random, int least, int most) {
  using V = Value<T>;
  least = std::max(least, Format<T>::min_exponent - Format<T>::digits);
  most = std::min(most, most_exponent<T>);
  for (V& x : tile) {
    const int exponent = least + static_cast<int>(random.below(static_cast<std::uint64_t>(most - least + 1)));
    constexpr int bits = Format<T>::digits - 1;  // of a significand from 1 to below 2
    const V significand = 1 + std::ldexp(static_cast<V>(random.next() >> (64 - bits)), -bits);
    x = std::ldexp(random.chance(2) ? -significand : significand, exponent);
  }
}

/// What whole numbers, as fill_exact() makes them, are scaled by to lie at an end of the type's range. The least is the
/// least normal number; of the largest no sum overflows. `squares`: likewise of their squares.
template <class T>
Value<T> scale_of(bool tiny, bool squares) {
  using V = Value<T>;
  using Limits = std::numeric_limits<V>;
  constexpr bool few_binades = Format<T>::max_exponent < Limits::max_exponent;  // whose squares need no care
  if constexpr (few_binades)
    return std::ldexp(V{1}, tiny ? Format<T>::min_exponent - 1 : Format<T>::max_exponent - 1 - Format<T>::digits);
  const int exponent = tiny ? Limits::min_exponent - 1 : Limits::max_exponent - 1 - Limits::digits;
  return std::ldexp(V{1}, squares ? exponent / 2 : exponent);
}

template <class T>
void fill_alternating(std::vector<Value<T>>& tile) {
  using V = Value<T>;
  V high, low;
  if constexpr (is_integer<T>) {
    low = static_cast<V>(~V{0} << (8 * sizeof(T) - 1));  // extended, so that all bits above a narrow T's sign are set
    high = static_cast<V>(~low);
  } else {
    high = std::ldexp(V{1}, most_exponent<T>);
    low = -high;
  }
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = i % 2 == 0 ? high : low;
}

/// Of either sign: the elementary charge, Planck's and Boltzmann's constants, the masses of an electron and a proton,
/// the gravitational constant, the speed of light, Avogadro's number, the masses of earth and sun.
constexpr double physical_constants[] = {1.602176634e-19,   6.62607015e-34, 1.380649e-23, 9.1093837015e-31,
                                         1.67262192369e-27, 6.6743e-11,     299792458,    6.02214076e23,
                                         5.9722e24,         1.98847e30};

template <class T>
void fill_special(std::vector<Value<T>>& tile, std::string_view dataset, Random& random, std::uint64_t seed) {
  using V = Value<T>;
  for (V& x : tile) x = uniform<T>(random);
  if (tile.empty()) return;
  constexpr V infinity = std::numeric_limits<V>::infinity();
  const std::size_t first = random.below(tile.size());
  if (dataset == "infinity-pair") {
    if (tile.size() == 1) return;
    const std::size_t distance = 1 + (seed - 1) % (tile.size() - 1);
    const std::size_t at = first % (tile.size() - distance) / 8 * 8;  // where a vector begins
    tile[at] = infinity;
    tile[at + distance] = -infinity;
  } else if (seed % 2 == 1 && dataset != "nan") {
    const bool mixed = dataset == "mixed-infinities";
    const V sign = random.chance(2) ? V{1} : V{-1};
    for (V& x : tile)
      if (random.chance(4)) x = mixed && random.chance(2) ? -sign * infinity : sign * infinity;
    tile[first] = sign * infinity;
    if (mixed && tile.size() > 1) tile[first == 0 ? 1 : first - 1] = -sign * infinity;
  } else if (dataset == "nan") {
    tile[first] = std::numeric_limits<V>::quiet_NaN();
  } else if (dataset == "infinity") {
    tile[first] = random.chance(2) ? infinity : -infinity;
  } else {
    tile[first] = infinity;
    if (tile.size() > 1) tile[(first + 1 + random.below(tile.size() - 1)) % tile.size()] = -infinity;
  }
}

template <class T>
std::vector<std::byte> make(std::string_view dataset, std::size_t n, std::uint64_t seed) {
  using V = Value<T>;
  std::vector<V> tile(std::min(n, dataset_period));
  Random random(dataset, seed);
  if (dataset == "random") {
    for (V& x : tile) x = uniform<T>(random);
  } else if (dataset == "exact") {
    fill_exact<T>(tile, n, random, seed);
  } else if (dataset == "alternating") {
    fill_alternating<T>(tile);
  } else if (dataset == "largest") {
    if constexpr (is_integer<T>) std::fill(tile.begin(), tile.end(), static_cast<V>(static_cast<T>(~T{0}) / 2));
  } else if constexpr (std::is_floating_point_v<V>) {
    if (dataset == "ill-conditioned") {
      fill_ill_conditioned<T>(tile, random);
    } else if (dataset == "wide" || dataset == "wide-square") {
      fill_wide<T>(tile, n, random, dataset == "wide-square");
    } else if (dataset == "subnormal") {
      fill_exact<T>(tile, n, random, seed);
      for (V& x : tile) x *= std::ldexp(V{1}, Format<T>::min_exponent - Format<T>::digits);
    } else if (dataset == "spread") {
      fill_spread<T>(tile, random, -73, 46);  // squares of f32 keep above 2^-149, and 2^33 of them below 2^128
    } else if (dataset == "whole-range") {
      fill_spread<T>(tile, random, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
    } else if (dataset.starts_with("tiny") || dataset.starts_with("huge")) {
      const bool tiny = dataset.starts_with("tiny"), squares = dataset.ends_with("square");
      if (tiny)
        fill_exact<T>(tile, n, random, seed);
      else
        fill_wide<T>(tile, n, random, squares);
      const V scale = scale_of<T>(tiny, squares);
      for (V& x : tile) x *= scale;
    } else if (dataset == "positive") {
      for (V& x : tile) x = 1 - std::abs(uniform<T>(random)) / 2;
    } else if (dataset == "normal") {
      for (V& x : tile) x = nearly_normal<V>(random);
    } else if (dataset == "ones") {
      std::fill(tile.begin(), tile.end(), V{1});
    } else if (dataset.starts_with(scaled)) {
      Random same("normal", seed);
      const int exponent = std::stoi(std::string(dataset.substr(scaled.size())));
      for (V& x : tile) x = std::ldexp(nearly_normal<V>(same), exponent);
    } else if (dataset == "gradients") {
      for (V& x : tile) {
        const V gradient = std::ldexp(nearly_normal<V>(random), -33);
        x = gradient * gradient;
      }
    } else if (dataset == "giants") {
      for (V& x : tile) x = random.chance(1u << 16) ? std::ldexp(V{1}, most_exponent<T>) : nearly_normal<V>(random);
    } else if (dataset == "constants") {
      for (V& x : tile) {
        const auto constant = static_cast<V>(physical_constants[random.below(std::size(physical_constants))]);
        x = random.chance(2) ? -constant : constant;
      }
    } else {
      fill_special<T>(tile, dataset, random, seed);
    }
  }
  std::vector<std::byte> bytes(tile.size() * sizeof(T));
  for (std::size_t i = 0; i < tile.size(); ++i) {
    const auto x = static_cast<T>(tile[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &x, sizeof x);
  }
  return bytes;
}

}  // namespace

std::span<const std::string_view> dataset_names(ElementType type) {
  if (!is_floating(type)) return integer_datasets;
  const std::span<const std::string_view> all(float_datasets);
  return type == ElementType::f16 ? all.first(all.size() - not_of_f16) : all;
}

bool has_dataset(std::string_view dataset, ElementType type) {
  const auto names = dataset_names(type);
  return std::find(names.begin(), names.end(), dataset) != names.end() || scale_exponent(dataset, type);
}

std::vector<std::string_view> all_dataset_names() {
  std::vector<std::string_view> out(float_datasets.begin(), float_datasets.end());
  for (const std::string_view name : integer_datasets)
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
  return out;
}

void check_dataset(std::string_view dataset, ElementType type) {
  if (has_dataset(dataset, type)) return;
  std::string known;
  for (const auto name : dataset_names(type)) known += (known.empty() ? "" : ", ") + std::string(name);
  if (is_floating(type)) known += ", scaled:2^K such as scaled:2^-10";
  throw UsageError("unknown dataset '" + std::string(dataset) + "' for " + std::string(name(type)) +
                   "; known: " + known);
}

std::vector<std::byte> make_tile(std::string_view dataset, ElementType type, std::size_t n, std::uint64_t seed) {
  check_dataset(dataset, type);
  switch (type) {
    case ElementType::i8: return make<std::uint8_t>(dataset, n, seed);
    case ElementType::i32: return make<std::uint32_t>(dataset, n, seed);
    case ElementType::i64: return make<std::uint64_t>(dataset, n, seed);
    case ElementType::i128: return make<UInt128>(dataset, n, seed);
    case ElementType::f16: return make<F16>(dataset, n, seed);
    case ElementType::bf16: return make<BF16>(dataset, n, seed);
    case ElementType::f32: return make<float>(dataset, n, seed);
    case ElementType::f64: return make<double>(dataset, n, seed);
  }
  throw UsageError("element type has no datasets");
}

}  // namespace reductio
