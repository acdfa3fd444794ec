// exact/exact.h by itself, on the simulated device, and its partial sums on the host: against core's exact sums, bit
// for bit, on data that rounded sums get wrong. test_exact.py has an oracle of Python's. What the battery does with the
// variants exact/sum and exact/cpu is not repeated here.

#include "exact/exact.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/exact.h"
#include "core/narrow_float.h"
#include "device/backend.h"
#include "tests/device/sim/support.h"
#include "tests/sanitized.h"
#include "tuned/prepared.h"

namespace reductio::sim_tests {
namespace {

using tuned::exact::Partial;

constexpr tuned::Gpu gpu_of_six{6, 2048};
/// How a call is launched, and whether its blocks claim their tiles.
struct Launch {
  tuned::Choice choice{};
  bool claims = false;
};
constexpr tuned::Choice many_blocks{true, tuned::Reading::strided, 1, 1};
constexpr Launch launches[] = {
    {}, {many_blocks}, {{true, tuned::Reading::strided, 4, 0}}, {{true, tuned::Reading::strided, 4, 1}, true}};

template <class T>
std::uint64_t bits_of_number(T x) {
  if constexpr (sizeof(T) == 8) return std::bit_cast<std::uint64_t>(x);
  else return std::bit_cast<std::uint32_t>(x);
}

template <class T>
T rounded_by_core(const std::vector<T>& values, bool squares = false) {
  ExactSum sum;
  for (const T x : values)
    if (squares) sum.add_square(x);
    else sum.add(x);
  const bool only_negative_zeros =
      !values.empty() && std::all_of(values.begin(), values.end(), [](T x) { return x == 0 && std::signbit(x); });
  if (only_negative_zeros && !squares) return -T(0);
  return std::is_same_v<T, float> ? static_cast<T>(sum.to_f32()) : static_cast<T>(sum.to_f64());
}

template <class T>
Partial partial_of(const std::vector<T>& values, bool squares = false) {
  Partial sum;
  for (const T x : values)
    if (squares) sum.add_square(x);
    else sum.add(x);
  return sum;
}

/// Data whose exponents are all over the type's range, or in `binades` of them, from `lowest` on.
template <class T>
std::vector<T> spread(std::size_t n, int lowest, int binades, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> out(n);
  for (T& x : out) {
    const auto mantissa = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 + 1);
    x = std::ldexp(mantissa, lowest + static_cast<int>(random() % static_cast<unsigned>(binades)));
    if (random() % 2 == 0) x = -x;
  }
  return out;
}

/// Adds numbers that bring the sum back to its last bits: the first half, its negative in another order, and a rest.
template <class T>
std::vector<T> cancelling(std::vector<T> values, T rest, unsigned seed) {
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  values.push_back(rest);
  std::shuffle(values.begin(), values.end(), std::mt19937_64(seed));
  return values;
}

template <class T>
std::vector<std::vector<T>> adversarial(const std::vector<unsigned>& seeds) {
  using L = std::numeric_limits<T>;
  const T most = L::max(), least = L::denorm_min(), normal = L::min(), infinity = L::infinity(),
          half_ulp = L::epsilon() / 2;
  const int low = L::min_exponent - L::digits, binades = L::max_exponent - low - 1;
  std::vector<std::vector<T>> all{
      {},
      {T(0)},
      {-T(0)},
      std::vector<T>(5000, -T(0)),
      {-T(0), T(0)},
      {1, -1},
      {most, most},
      {most, most, -most},
      {-most, -most, most},
      {most, std::ldexp(T(1), L::max_exponent - L::digits - 1)},  // half-way to what does not exist: infinity
      {most, std::nextafter(std::ldexp(T(1), L::max_exponent - L::digits - 1), T(0))},
      {1, half_ulp},              // half-way, to even
      {1, half_ulp, least},       // above
      {1, half_ulp, -least},      // below
      {1 + L::epsilon(), half_ulp},
      {1 + L::epsilon(), half_ulp, -least},
      {least},
      {-least, -least, -least},
      {normal, -least},
      std::vector<T>(3000, least),
      std::vector<T>(3000, -most),
      {infinity, most},
      {-infinity, 1},
      {infinity, -infinity},
      {L::quiet_NaN(), infinity},
      {-L::quiet_NaN()},
  };
  std::vector<T> powers;
  for (int e = low; e < L::max_exponent; ++e) powers.push_back(std::ldexp(T(1), e));
  all.push_back(powers);
  all.push_back(cancelling(powers, least, 1));
  for (const unsigned seed : seeds) {
    all.push_back(spread<T>(9000, low, binades, seed));
    all.push_back(cancelling(spread<T>(5000, low, binades, seed), normal, seed));
    all.push_back(spread<T>(9000, -12, 24, seed));
    all.push_back(cancelling(spread<T>(5000, -30, 60, seed), least, seed));
    all.push_back(spread<T>(5000, low, L::digits, seed));                                    // subnormal
    all.push_back(spread<T>(5000, L::max_exponent - 20, 19, seed));                          // overflow and back
    all.push_back(cancelling(spread<T>(4000, L::max_exponent - 9, 8, seed), T(-1.5), seed));
  }
  // Windows that move: each tile has other exponents.
  std::vector<T> stairs;
  for (int step = 0; step < 12; ++step)
    for (const T x : spread<T>(1024, low / 2 + 20 * step, 10, 4)) stairs.push_back(x);
  all.push_back(stairs);
  // Infinity in one tile of many, and a NaN behind a wide one.
  std::vector<T> late = spread<T>(9000, 0, 4, 5);
  late[7000] = -infinity;
  all.push_back(late);
  return all;
}

/// Squares that are half-way between two numbers, that meet there with others, and that lie at both ends of the range.
template <class T>
std::vector<std::vector<T>> adversarial_squares() {
  using L = std::numeric_limits<T>;
  const T root_of_most = std::ldexp(T(1), L::max_exponent / 2), least = L::denorm_min();
  std::vector<std::vector<T>> all{
      {root_of_most},                             // an infinity
      {std::nextafter(root_of_most, T(0))},       // the last that is finite
      {std::nextafter(root_of_most, T(0)), root_of_most / 1024},
      std::vector<T>(2000, root_of_most / 4),     // many of them, too
      {-root_of_most, L::quiet_NaN()},
      {std::ldexp(T(1), (L::min_exponent - L::digits - 1) / 2)},  // about half of the least subnormal number
      {1 + L::epsilon(), least},
  };
  // To a half of the least subnormal number by squares far below it, with one more or less.
  const int low = L::min_exponent - L::digits;
  for (const int more : {-1, 0, 1}) {
    std::vector<T> half(1 << 12, std::ldexp(T(1), (low - 1 - 12) / 2));
    if ((low - 1) % 2 != 0) half.resize(1 << 11);
    if (more < 0) half.pop_back();
    if (more > 0) half.push_back(least);
    all.push_back(half);
  }
  // Half-way above 2^2k: (1 + 2^-p)^2 = 1 + 2^(1 - p) + 2^-2p, without and with what decides.
  const T above = 1 + std::ldexp(T(1), -L::digits / 2);
  all.push_back({above, above, std::ldexp(T(1), -L::digits)});
  for (const unsigned seed : few_if_sanitized(1, std::vector{8u, 9u})) {
    all.push_back(spread<T>(9000, -8, 16, seed));
    all.push_back(spread<T>(5000, low, -low / 2, seed));                    // far below the least number
    all.push_back(spread<T>(5000, low / 2 - 8, 16, seed));                  // squares that are subnormal or just not
    all.push_back(spread<T>(5000, L::max_exponent / 2 - 20, 14, seed));
    all.push_back(spread<T>(5000, low, L::max_exponent / 2 - low - 8, seed));
  }
  // What sums get wrong, too: sanitizers see these data in sums.
  if (!sanitized)
    for (const std::vector<T>& values : adversarial<T>({2u})) all.push_back(values);
  return all;
}

class SimExact : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimExact, testing::ValuesIn(orders_of_sums()), order_name);

/// The same bits, or both are no number.
template <class T>
bool same_number(T got, T want) {
  return std::isnan(want) ? std::isnan(got) : bits_of_number(got) == bits_of_number(want);
}

template <class T>
void same_as_core() {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<T> out(1);
  const Buffer<Partial> partial(1);
  int number = 0;
  for (const std::vector<T>& values : adversarial<T>(few_if_sanitized(1, std::vector{2u, 3u}))) {
    SCOPED_TRACE("data " + std::to_string(number++) + " of " + std::to_string(values.size()));
    const T want = rounded_by_core(values);
    const auto is_right = [&](T got) { return same_number(got, want); };
    EXPECT_TRUE(is_right(partial_of(values).template rounded<T>())) << partial_of(values).template rounded<T>();
    std::vector<T> at_one{T(12345)};  // a start that is not aligned, behind something else
    at_one.insert(at_one.end(), values.begin(), values.end());
    const auto in = on_device(at_one);
    const T* const from = in.ptr() + 1;
    for (const auto& [choice, claims] : launches) {
      const tuned::ExactReduction<T> call(values.size(), gpu_of_six, choice, claims);
      call(from, out.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(is_right(on_host(out)[0])) << on_host(out)[0] << ", not " << want;
      call(from, partial.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(is_right(on_host(partial)[0].template rounded<T>())) << "by a partial sum";
    }
    const std::vector<std::uint64_t> left = on_host(workspace);
    EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
  }
}

/// More than 42 tiles of 16 KiB a block are claimed by fours, and one by one at the end. One tile more than that, of
/// which one is a part and one what is before and behind the vectors; and so many.
TEST_P(SimExact, LargeInputsAreClaimedInRuns) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<float> out(2);
  constexpr std::size_t tile = 4096;
  const unsigned blocks = sanitized ? 1 : 2;
  const std::vector sizes{(42 * blocks - 1) * tile + 77, (42 * blocks - 2) * tile + 77};
  for (const std::size_t n : few_if_sanitized(1, sizes)) {
    std::vector<float> values = spread<float>(n + 1, -12, 24, 18);
    const auto in = on_device(values);
    values.erase(values.begin());  // a start that is not aligned
    const float want = rounded_by_core(values), want_squares = rounded_by_core(values, true);
    const tuned::Choice choice{true, tuned::Reading::strided, 4, 1};
    const tuned::Gpu gpu{blocks, 2048};
    const tuned::ExactReduction<float> sum(n, gpu, choice, true);
    const tuned::ExactReduction<float, tuned::Moments> moments(n, gpu, choice, true);
    ASSERT_EQ(sum.shape().grid, blocks);
    for (int call = 0; call < 2; ++call) {  // the second finds what the first has left
      sum(in.ptr() + 1, out.ptr(), workspace.ptr(), nullptr);
      EXPECT_EQ(bits_of_number(on_host(out)[0]), bits_of_number(want)) << n;
    }
    moments(in.ptr() + 1, out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(bits_of_number(on_host(out)[0]), bits_of_number(want)) << n << ", moments";
    EXPECT_EQ(bits_of_number(on_host(out)[1]), bits_of_number(want_squares)) << n << ", moments";
    const std::vector<std::uint64_t> left = on_host(workspace);
    EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
  }
}

/// Squares, and sums with them from one read: on the device by several launches and as partial sums, and on the host.
template <class T>
void squares_as_core() {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<T> out(2);
  const Buffer<Partial> partial(2);
  int number = 0;
  for (const std::vector<T>& values : adversarial_squares<T>()) {
    SCOPED_TRACE("data " + std::to_string(number++) + " of " + std::to_string(values.size()));
    const T want = rounded_by_core(values, true), want_sum = rounded_by_core(values);
    EXPECT_TRUE(same_number(partial_of(values, true).template rounded<T>(), want));
    Partial by_blocks;
    add_squares(by_blocks, values.data(), values.size());
    EXPECT_TRUE(same_number(by_blocks.template rounded<T>(), want)) << "on the host";
    const auto in = on_device(values);
    for (const auto& [choice, claims] : launches) {
      const tuned::ExactReduction<T, Square> squares(values.size(), gpu_of_six, choice, claims);
      const tuned::ExactReduction<T, tuned::Moments> moments(values.size(), gpu_of_six, choice, claims);
      squares(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(same_number(on_host(out)[0], want)) << on_host(out)[0] << ", not " << want;
      moments(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(same_number(on_host(out)[0], want_sum) && same_number(on_host(out)[1], want)) << "moments";
      moments(in.ptr(), partial.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(same_number(on_host(partial)[0].template rounded<T>(), want_sum) &&
                  same_number(on_host(partial)[1].template rounded<T>(), want))
          << "by partial sums";
      tuned::round_partials(static_cast<const Partial*>(partial.ptr()), 1, out.ptr(), nullptr, 2);
      EXPECT_TRUE(same_number(on_host(out)[0], want_sum) && same_number(on_host(out)[1], want))
          << "partial sums, rounded there";
    }
    const std::vector<std::uint64_t> left = on_host(workspace);
    EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
  }
}
TEST_P(SimExact, SquaresOfFloatsHaveTheBitsOfCores) { squares_as_core<float>(); }
TEST_P(SimExact, SquaresOfDoublesHaveTheBitsOfCores) { squares_as_core<double>(); }

/// Their sum is a subnormal float, which the packed digits have, and would be rounded twice by a multiplication.
TEST_P(SimExact, SubnormalSumsOfSquaresAreRoundedOnce) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<float> out(1);
  std::mt19937_64 random(16);
  for (int i = 0; i < 40; ++i) {
    std::vector<float> values(6);
    for (float& x : values) x = std::ldexp(static_cast<float>(random() % (1 << 15)), -80);
    const auto in = on_device(values);
    const tuned::ExactReduction<float, Square> call(values.size(), gpu_of_six);
    call(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    ASSERT_EQ(bits_of_number(on_host(out)[0]), bits_of_number(rounded_by_core(values, true))) << i;
  }
}

TEST_P(SimExact, FloatsHaveTheBitsOfCoresExactSums) { same_as_core<float>(); }
TEST_P(SimExact, DoublesHaveTheBitsOfCoresExactSums) { same_as_core<double>(); }

/// Elements of any size on the device, whose memory is written in words.
template <class In>
class InWords {
 public:
  explicit InWords(const std::vector<In>& values) : words_(on_device(in_words(values))) {}
  const In* ptr() const { return reinterpret_cast<const In*>(words_.ptr()); }

 private:
  static std::vector<std::uint32_t> in_words(const std::vector<In>& values) {
    std::vector<std::uint32_t> words((values.size() * sizeof(In) + 3) / 4 + 1);
    std::memcpy(words.data(), values.data(), values.size() * sizeof(In));
    return words;
  }
  Buffer<std::uint32_t> words_;
};

/// Blocks whose warps have the same window add up whole numbers: each 128 vectors of 16 bytes have their own exponents,
/// or are zeros, or lie half-way between two sums. One block, several, and up to five tiles each.
template <class In, class Acc>
void small_sums(unsigned seed) {
  using L = std::numeric_limits<Acc>;
  using Elements = std::numeric_limits<In>;
  constexpr int lowest = sizeof(In) == 2 ? -24 : Elements::min_exponent - Elements::digits,
                highest = sizeof(In) == 2 ? 15 : Elements::max_exponent - 13;
  constexpr std::size_t tile = 16 * 1024 / sizeof(In), of_warp = 128 * 16 / sizeof(In) / 4;
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<Acc> out(1);
  std::mt19937_64 random(seed);
  const auto some = [&](int from, int exponents) {
    const double size = static_cast<double>(random() >> 11) * 0x1p-53 + 1;
    const int more = static_cast<int>(random() % static_cast<unsigned>(exponents)),
              exponent = std::clamp(from + more, lowest, highest);
    const auto x = static_cast<float>(random() % 2 == 0 ? size : -size);
    if constexpr (sizeof(In) == 2) return In(std::ldexp(x, exponent));
    else return std::ldexp(static_cast<In>(size), exponent) * (x < 0 ? In(-1) : In(1));
  };
  for (int i = 0; i < (sanitized ? 40 : 150); ++i) {
    const std::size_t most = i % 3 == 0 ? 5 * tile : tile;
    std::vector<In> values(random() % 3 == 0 ? most - random() % 5 : random() % most + 1);
    const int from = lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest)),
              exponents = 1 + static_cast<int>(random() % 24);
    const bool alike = random() % 2 == 0, zeros_only = random() % 8 == 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_zero = zeros_only || (k / of_warp + i) % 5 == 0;
      if (is_zero) values[k] = i % 3 == 0 && k == 17 ? In(0.0F) : In(-0.0F);
      else values[k] = some(alike ? from : from + static_cast<int>(k / of_warp % 7), exponents);
    }
    if (random() % 2 == 0) {  // cancels, and leaves a few numbers of which one may be half a unit of another
      for (std::size_t k = 1; k < values.size(); k += 2) values[k] = In(-static_cast<Acc>(values[k - 1]));
      const int above = std::clamp(from, lowest + L::digits, highest);
      const int at[] = {above, above - L::digits, above - L::digits - static_cast<int>(random() % 3)};
      for (std::size_t k = 0; k < 3 && k < values.size() && sizeof(In) > 2; ++k)
        values[k] = static_cast<In>(std::ldexp(random() % 2 == 0 ? Acc(1) : Acc(-1), at[k]));
    }
    std::vector<double> same;
    for (const In& x : values) same.push_back(static_cast<double>(static_cast<Acc>(x)));
    ExactSum sum;
    for (const double x : same) sum.add(x);
    Acc want = sizeof(Acc) == 4 ? static_cast<Acc>(sum.to_f32()) : static_cast<Acc>(sum.to_f64());
    if (std::all_of(same.begin(), same.end(), [](double x) { return x == 0 && std::signbit(x); })) want = -Acc(0);
    std::vector<In> at{In(7.0F)};
    at.insert(at.end(), values.begin(), values.end());
    const std::size_t start = random() % 2;
    const InWords<In> in(start == 0 ? values : at);
    for (const auto& [choice, claims] : std::span(launches).first(i % 3 == 0 ? 3 : 1)) {
      tuned::ExactReduction<In>(values.size(), gpu_of_six, choice, claims)(in.ptr() + start, out.ptr(), workspace.ptr(),
                                                                          nullptr);
      ASSERT_EQ(bits_of_number(on_host(out)[0]), bits_of_number(want))
          << i << ": " << values.size() << " elements, " << on_host(out)[0] << ", not " << want;
    }
  }
}
TEST_P(SimExact, SmallSumsAreRoundedOnce) {
  small_sums<float, float>(11);
  small_sums<double, double>(12);
  small_sums<float, double>(13);
  small_sums<F16, float>(14);
  small_sums<BF16, float>(15);
}

/// Numbers of one magnitude anywhere, whose blocks all add to one far row; of each block another; with an infinity or a
/// wide tile in one block; and in tiles of 120 binary orders, whose lanes' bins move. By several blocks, each way to
/// read. Sums, and sums of squares beside them in moments.
template <class T>
void sums_of_any_magnitude() {
  using L = std::numeric_limits<T>;
  constexpr int least = L::min_exponent - L::digits, most = L::max_exponent - 16, step = sizeof(T) == 8 ? 41 : 7;
  constexpr std::size_t tile = 16 * 1024 / sizeof(T), n = 11 * tile / 4;
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<T> out(2);
  unsigned seed = 30;
  for (int exponent = least + 4; exponent < most; exponent += sanitized ? 5 * step : step) {
    std::vector<T> values = spread<T>(n, exponent - 4, 8, ++seed);
    const auto change = seed % 6;
    for (std::size_t i = 0; i < n; ++i) {
      const auto block = static_cast<int>(4 * i / tile);
      const int other = std::clamp(change == 1   ? exponent - 90 * block
                                   : change == 2 ? exponent - 5 * (block % 2)
                                   : change == 3 ? exponent - static_cast<int>(i * 7 % 120) - 40 * (block / 4)
                                                 : exponent,
                                   least, most);
      values[i] = std::ldexp(values[i], other - exponent);
    }
    if (change == 4) values[n / 2] = std::ldexp(T(1), exponent < 0 ? most : least);
    if (change == 5 && seed % 4 == 1) values[n / 3] = -L::infinity();
    const T want = rounded_by_core(values), want_squares = rounded_by_core(values, true);
    const auto in = on_device(values);
    for (const auto& [choice, claims] : launches) {
      SCOPED_TRACE("2^" + std::to_string(exponent) + ", data " + std::to_string(change));
      const tuned::ExactReduction<T> sum(n, gpu_of_six, choice, claims);
      const tuned::ExactReduction<T, tuned::Moments> moments(n, gpu_of_six, choice, claims);
      sum(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      ASSERT_TRUE(same_number(on_host(out)[0], want)) << on_host(out)[0] << ", not " << want;
      moments(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      ASSERT_TRUE(same_number(on_host(out)[0], want) && same_number(on_host(out)[1], want_squares)) << "moments";
    }
    const std::vector<std::uint64_t> left = on_host(workspace);
    ASSERT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
  }
}
TEST_P(SimExact, MagnitudesAnywhereHaveTheBitsOfCores) {
  sums_of_any_magnitude<float>();
  sums_of_any_magnitude<double>();
}

/// Wide tiles at both ends of what lanes' bins hold: 256 binary orders with both parts of each double, none subnormal
/// and none so large that a bin overflows.
TEST_P(SimExact, LanesBinsHoldWhatTheyCan) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<double> out(1);
  const std::vector all{-1075, -939, 805, -1022, -991, -940, -938, -500, 0, 700, 803, 804, 806, 807, 808, 820};
  for (const int lowest : few_if_sanitized(3, all))
    for (const int orders : few_if_sanitized(2, std::vector{204, 60, 188, 189, 203, 205})) {
      const int last = std::min(lowest + orders, 1023);
      std::vector<double> values = spread<double>(9000, lowest, last - lowest, 40);
      for (const std::size_t i : {std::size_t{0}, std::size_t{5000}}) {
        values[i] = std::ldexp(2 - 0x1p-52, last);
        values[i + 1] = -std::ldexp(1 + 0x1p-52, lowest);
        values[i + 2] = -std::ldexp(2 - 0x1p-52, last);
      }
      const double want = rounded_by_core(values);
      const auto in = on_device(values);
      for (const auto& [choice, claims] : launches) {
        const tuned::ExactReduction<double> sum(values.size(), gpu_of_six, choice, claims);
        sum(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
        ASSERT_TRUE(same_number(on_host(out)[0], want)) << lowest << ", " << orders << ": " << on_host(out)[0];
      }
    }
}

/// Five tiles of one block, of numbers just below the top of a window.
template <class T>
void full_windows() {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<T> out(1);
  for (int top = 1; top <= 8; ++top) {
    const T value = std::nextafter(std::ldexp(T(top % 2 == 0 ? -1 : 1), top), T(0));
    const std::vector<T> values(5 * 16 * 1024 / sizeof(T), value);
    const auto in = on_device(values);
    const tuned::Choice one_block{true, tuned::Reading::strided, 4, 0};
    tuned::ExactReduction<T>(values.size(), gpu_of_six, one_block)(static_cast<const T*>(in.ptr()), out.ptr(),
                                                                   workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out)[0], rounded_by_core(values)) << top;
  }
}
TEST_P(SimExact, FullWindowsOfManyTilesDoNotOverflow) {
  full_windows<float>();
  full_windows<double>();
}

/// Half-way but for bits that lie below the 64 that are rounded.
TEST_P(SimExact, WhatDecidesATieMayLieFarBelow) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<double> out(1);
  constexpr double small = 0x1p-20, half_ulp = 0x1p-53;
  for (const double sign : {1.0, -1.0})
    for (const double rest : {0x1p-70, 0.0, -0x1p-70}) {
      std::vector<double> values{1 + 0x1p-52, small + half_ulp, small + rest, -2 * small};
      for (double& x : values) x *= sign;
      const auto in = on_device(values);
      tuned::exact_sum<double, double>(in.ptr(), values.size(), out.ptr(), workspace.ptr(), gpu_of_six, nullptr);
      EXPECT_EQ(on_host(out)[0], sign * (rest < 0 ? 1 + 0x1p-52 : 1 + 0x1p-51)) << sign << ' ' << rest;
    }
}

/// Every number of 16 bits that is finite, many times: several tiles, claimed or in turn; and what is not finite.
template <class In>
void narrow_numbers() {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<float> out(1);
  const Buffer<Partial> partial(1);
  std::vector<In> all;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const In x = std::bit_cast<In>(static_cast<std::uint16_t>(bits));
    if (std::isfinite(static_cast<float>(x)) && bits % 7 != 3) all.push_back(x);
  }
  std::vector<std::vector<In>> data{all, std::vector<In>(9001, In(-0.0F))};
  for (const float special : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
    data.push_back(std::vector<In>(9000, In(1.5F)));
    data.back()[8000] = In(special);
    data.push_back({In(special), In(1.0F)});
  }
  data.push_back({In(HUGE_VALF), In(-HUGE_VALF)});
  for (const std::size_t n : {8u, 4096u, 20000u}) {  // each thread's elements cancel: +0
    data.emplace_back(n, In(1.0F));
    for (std::size_t i = 0; i < n; i += 2) data.back()[i] = In(-1.0F);
  }
  std::shuffle(data[0].begin(), data[0].end(), std::mt19937_64(16));
  for (const std::vector<In>& values : data) {
    std::vector<float> same;
    for (const In& x : values) same.push_back(static_cast<float>(x));
    const float want = rounded_by_core(same);
    const InWords<In> in(values);
    for (const auto& [choice, claims] : launches) {
      const tuned::ExactReduction<In> call(values.size(), gpu_of_six, choice, claims);
      call(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(same_number(on_host(out)[0], want)) << values.size() << ": " << on_host(out)[0] << ", not " << want;
      call(in.ptr(), partial.ptr(), workspace.ptr(), nullptr);
      EXPECT_TRUE(same_number(on_host(partial)[0].template rounded<float>(), want)) << "by a partial sum";
    }
  }
}
TEST_P(SimExact, NumbersOf16BitsHaveTheBitsOfCoresExactSums) {
  narrow_numbers<F16>();
  narrow_numbers<BF16>();
}

template <class T>
void by_type(ElementType type) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const std::vector<T> values = spread<T>(1000, -20, 40, 5);
  const auto in = on_device(values);
  const Buffer<T> out(2);
  const T sum = rounded_by_core(values), squares = rounded_by_core(values, true);
  for (const auto& [operation, want] : std::vector<std::pair<Operation, std::vector<T>>>{
           {Operation::sum, {sum}}, {Operation::sum_of_squares, {squares}}, {Operation::moments, {sum, squares}}}) {
    tuned::add_up_exactly(operation, type, in.ptr(), values.size(), out.ptr(), workspace.ptr(), gpu_of_six, nullptr);
    std::vector<T> got = on_host(out);
    got.resize(want.size());
    EXPECT_EQ(got, want) << name(type) << ", " << name(operation);
  }
}

TEST_P(SimExact, TypesAndOperationsMayBeKnownAtRunTime) {
  by_type<float>(ElementType::f32);
  by_type<double>(ElementType::f64);
  EXPECT_THROW(tuned::add_up_exactly(Operation::sum, ElementType::i32, nullptr, 1, nullptr, {}, gpu_of_six, nullptr),
               Refused);
}

TEST_P(SimExact, FloatsAreRoundedToDoubleOnce) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  const Buffer<double> out(1);
  const std::vector<float> values = spread<float>(5000, -149, 277, 6);
  const std::vector<double> same(values.begin(), values.end());
  const auto in = on_device(values);
  tuned::exact_sum<float, double>(in.ptr(), values.size(), out.ptr(), workspace.ptr(), gpu_of_six, nullptr);
  EXPECT_EQ(bits_of_number(on_host(out)[0]), bits_of_number(rounded_by_core(same)));
}

/// Parts of any length, by other launches, added up on the device, on the host, or as integers.
TEST_P(SimExact, AnySplitIntoPartsHasTheSameBits) {
  const auto workspace = zeros<std::uint64_t>(tuned::workspace_words);
  std::mt19937_64 random(7);
  for (const std::vector<double>& values : adversarial<double>(few_if_sanitized(1, std::vector{2u, 3u}))) {
    const double want = rounded_by_core(values);
    const auto in = on_device(values);
    constexpr std::size_t count = 3;
    const Buffer<Partial> parts(count), sum(1);
    std::vector<std::size_t> ends{0, random() % (values.size() + 1), random() % (values.size() + 1), values.size()};
    std::sort(ends.begin(), ends.end());
    for (std::size_t part = 0; part < count; ++part)
      tuned::ExactReduction<double>(ends[part + 1] - ends[part], gpu_of_six, part == 1 ? many_blocks : tuned::Choice{})(
          in.ptr() + ends[part], parts.ptr() + part, workspace.ptr(), nullptr);
    const Buffer<double> out(1);
    tuned::round_partials<double>(parts.ptr(), count, out.ptr(), nullptr);
    tuned::round_partials<Partial>(parts.ptr(), count, sum.ptr(), nullptr);
    const std::vector<Partial> on_host_parts = on_host(parts);
    Partial by_words;
    for (const Partial& part : on_host_parts)
      for (std::size_t i = 0; i < std::size(by_words.word); ++i) by_words.word[i] += part.word[i];
    const double results[] = {on_host(out)[0], on_host(sum)[0].rounded<double>(), by_words.rounded<double>(),
                              (on_host_parts[2] + on_host_parts[0] + on_host_parts[1]).rounded<double>()};
    for (const double got : results)
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : bits_of_number(got) == bits_of_number(want)) << got;
  }
}

/// The device rounds without loops over the digits. It rounds as the host does, whatever carries or cancels.
TEST_P(SimExact, AnyDigitsAreRoundedAsOnTheHost) {
  std::mt19937_64 random(10);
  const Buffer<double> twice(1);
  const Buffer<float> single(1);
  for (int i = 0; i < (sanitized ? 500 : 3000); ++i) {
    Partial sum;
    sum.word[tuned::exact::others_word] = 1;
    // Around the range of floats, that of doubles, and their subnormal numbers.
    const std::size_t from = std::array{27u, 50u, 53u, 78u}[random() % 4], count = 1 + random() % (i % 2 == 0 ? 6 : 30);
    const bool sparse = random() % 4 == 0;
    for (std::size_t k = 0; k < count && from + k < tuned::exact::digits; ++k) {
      const auto digit = static_cast<std::int64_t>(random() >> 1) >> random() % 62;
      sum.word[from + k] = (random() % 4 == 0 ? digit & -(std::int64_t{1} << 30) : digit) / 2;
      if (random() % 2 == 0) sum.word[from + k] *= -1;
      if (sparse && random() % 3 != 0) sum.word[from + k] = 0;
    }
    if (i % 8 == 7 && from + count < tuned::exact::digits) {  // the highest digits cancel, or nearly
      sum.word[from + count] = 1;
      for (std::size_t k = 0; k < count && k < 3; ++k)
        sum.word[from + count - 1 - k] =
            -tuned::exact::digit_mask - static_cast<std::int64_t>(k + 1 == count || k == 2 ? random() % 3 : 0);
    }
    const auto part = on_device(std::vector<Partial>{sum});
    tuned::round_partials(static_cast<const Partial*>(part.ptr()), 1, twice.ptr(), nullptr);
    tuned::round_partials(static_cast<const Partial*>(part.ptr()), 1, single.ptr(), nullptr);
    ASSERT_EQ(bits_of_number(on_host(twice)[0]), bits_of_number(sum.rounded<double>())) << i;
    ASSERT_EQ(bits_of_number(on_host(single)[0]), bits_of_number(sum.rounded<float>())) << i;
  }
}

TEST(ExactPartial, ManyPartsLeaveRoomInEachWord) {
  Partial one;
  for (int i = 0; i < 1000; ++i) one.add(-1.75);
  Partial words;
  ExactSum want;
  for (int k = 0; k < 1 << 18; ++k)
    for (std::size_t i = 0; i < std::size(words.word); ++i) words.word[i] += one.word[i];
  for (int i = 0; i < 1000; ++i) want.add(-1.75);
  ExactSum all;
  all.add(want, 1 << 18);
  EXPECT_EQ(words.rounded<double>(), all.to_f64());
  EXPECT_EQ(words.carried().rounded<double>(), all.to_f64());
}

static_assert(tuned::adds_up_exactly<float, float>() && tuned::adds_up_exactly<float, double>());
static_assert(tuned::adds_up_exactly<double, double>() && !tuned::adds_up_exactly<double, float>());
static_assert(tuned::adds_up_exactly<F16, float>() && tuned::adds_up_exactly<BF16, double>());
static_assert(!tuned::adds_up_exactly<F16, F16>() && !tuned::adds_up_exactly<std::int16_t, float>());
static_assert(!tuned::adds_up_exactly<int, int>() && !tuned::adds_up_exactly<int, double>());

}  // namespace
}  // namespace reductio::sim_tests
