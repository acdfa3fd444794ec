// tuned/tuned.h by itself, as its user has it: every type, any n and start, one workspace for many calls. What the
// battery does with the variant tuned/sum is not repeated here.

#include "tuned/tuned.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/narrow_float.h"
#include "core/variant.h"
#include "device/backend.h"
#include "tests/device/sim/support.h"
#include "tests/sanitized.h"
#include "tuned/prepared.h"

namespace reductio::sim_tests {
namespace {

using tuned::FinishedBy;

constexpr tuned::Gpu small_gpu{6, 2048};
/// Several blocks at few elements, so that a test can make many calls.
constexpr tuned::Choice small_blocks{true, tuned::Reading::strided, 1, 1};
/// A tile is 64 KiB, so that a few of them are many elements for a test.
constexpr tuned::Choice tiles{true, tuned::Reading::tiled, 1, 1},
    one_tile_kept{true, tuned::Reading::tiled, 1, 1, 1 << 16},
    claims{true, tuned::Reading::claimed, 1, 1},
    claims_in_any_order{true, tuned::Reading::claimed, 1, 1, SIZE_MAX, true, true};

/// A workspace that was poisoned before, as raw memory is.
Buffer<std::uint64_t> new_workspace() {
  const Buffer<std::uint64_t> w(tuned::workspace_words);
  EXPECT_EQ(w.bytes(), tuned::workspace_bytes);
  tuned::init(w.ptr(), nullptr);
  sim::synchronize({});
  return w;
}

/// Small whole numbers of both signs, where the type has them: every sum of them is exact.
template <class In>
std::vector<In> whole_numbers(std::size_t n) {
  std::vector<In> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int value = static_cast<int>((i * 2654435761u >> 7) % 101);
    v[i] = static_cast<In>(std::is_unsigned_v<In> ? value : value - 40);
  }
  return v;
}

template <class Acc, class In>
Acc expected(const std::vector<In>& v, std::size_t start, bool squares = false) {
  long double sum = 0;
  for (std::size_t i = start; i < v.size(); ++i) {
    const long double x = v[i];
    sum += squares ? x * x : x;
  }
  return static_cast<Acc>(static_cast<std::conditional_t<std::is_floating_point_v<Acc>, Acc, std::int64_t>>(sum));
}

class SimTuned : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimTuned, testing::ValuesIn(orders_of_sums()), order_name);

template <class In, class Acc>
void adds_up() {
  const Buffer<std::uint64_t> workspace = new_workspace();
  const Buffer<Acc> out(1);
  for (const std::size_t n : few_if_sanitized<std::size_t>(5, {0, 1, 17, 1000, 4099, 2, 15, 16, 33, 4096, 17000})) {
    const std::vector<In> values = whole_numbers<In>(n + 3);
    const auto in = on_device(values);
    for (std::size_t start = 0; start <= 3; ++start) {
      const In* const from = in.ptr() + start;
      tuned::sum<In, Acc>(from, n + 3 - start, out.ptr(), workspace.ptr(), small_gpu, nullptr);
      EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, start))) << n << " from " << start;
      tuned::Reduction<In, Acc>(n + 3 - start, small_gpu, small_blocks)(from, out.ptr(), workspace.ptr(), nullptr);
      EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, start))) << n << " from " << start << ", small blocks";
    }
    tuned::sum_of_squares<In, Acc>(static_cast<const In*>(in.ptr()), n + 3, out.ptr(), workspace.ptr(), small_gpu,
                                   nullptr);
    EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, 0, true))) << n << ", squares";
    const Buffer<Acc> both(2);
    for (const tuned::Choice& choice : {tuned::Choice{}, small_blocks, tiles, claims}) {
      tuned::Reduction<In, Acc, tuned::Moments>(n + 2, small_gpu, choice)(in.ptr() + 1, both.ptr(), workspace.ptr(),
                                                                          nullptr);
      const std::vector<Acc> moments{expected<Acc>(values, 1), expected<Acc>(values, 1, true)};
      EXPECT_EQ(on_host(both), moments) << n << ", moments";
    }
  }
}

TEST_P(SimTuned, AddsUpEveryTypeAtAnyStart) {
  adds_up<std::int32_t, std::int32_t>();
  adds_up<float, float>();
  adds_up<double, double>();
}

TEST_P(SimTuned, AddsUpInWiderTypes) {
  adds_up<std::int32_t, std::int64_t>();
  adds_up<float, double>();
  adds_up<std::int32_t, double>();  // which has all its digits
}

/// Which results go with which elements; test_install.py has what the compiler says of the others.
template <class In, class... Acc>
constexpr bool goes_with_all = (tuned::adds_up<In, Acc>() && ...);
template <class In, class... Acc>
constexpr bool goes_with_none = (!tuned::adds_up<In, Acc>() && ...);
static_assert(goes_with_all<std::int8_t, std::int32_t, std::uint32_t, std::int64_t, float, double>);
static_assert(goes_with_all<std::int32_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, double>);
static_assert(goes_with_all<std::int64_t, std::int64_t, std::uint64_t> && goes_with_all<double, double>);
static_assert(goes_with_all<float, float, double> && goes_with_all<F16, float, double> && goes_with_all<BF16, float>);
static_assert(goes_with_none<std::int8_t, std::int8_t, std::int16_t, bool> && goes_with_none<std::int32_t, float>);
static_assert(goes_with_none<std::int64_t, std::int32_t, double> && goes_with_none<double, float, std::int64_t>);
static_assert(goes_with_none<float, int, std::int64_t, F16, const float, volatile double, long double>);
static_assert(goes_with_none<F16, F16, int> && goes_with_none<const float, float> && goes_with_none<volatile int, int>);
static_assert(goes_with_none<long double, double> && goes_with_none<float*, float, std::uint64_t>);

/// The sign of a sum of zeros: it begins at +0.0, in each way of reading and finishing, and to the host.
template <class T>
void zeros_make_plus_zero() {
  const auto workspace = new_workspace();
  const Buffer<T> out(1), both(2);
  for (const std::size_t n : few_if_sanitized<std::size_t>(3, {0, 5, 1000, 1, 4, 31, 40000})) {
    const std::vector<T> values(n + 1, T(-0.0));
    const auto in = on_device(values);
    for (std::size_t start = 0; start <= 1; ++start)
      for (const tuned::Choice& choice :
           {tuned::Choice{}, small_blocks, tiles, one_tile_kept, claims, claims_in_any_order}) {
        const T* const from = in.ptr() + start;
        const tuned::Reduction<T> call(n, small_gpu, choice);
        call(from, out.ptr(), workspace.ptr(), nullptr);
        EXPECT_EQ(on_host(out)[0], 0) << n;
        EXPECT_FALSE(std::signbit(on_host(out)[0])) << n << " from " << start;
        tuned::Reduction<T, T, tuned::Moments>(n, small_gpu, choice)(from, both.ptr(), workspace.ptr(), nullptr);
        for (const T sum : on_host(both)) EXPECT_TRUE(sum == 0 && !std::signbit(sum)) << n << " from " << start;
        const auto arrival = zeros<std::uint64_t>(tuned::arrival_words(small_gpu));
        call.send_to_host(from, arrival.ptr(), nullptr);
        const std::vector<std::uint64_t> words = on_host(arrival);
        const T at_host =
            tuned::sum_of_arrivals<T>(call.to_host_shape().grid, [&](unsigned i) { return words[i]; });
        EXPECT_TRUE(at_host == 0 && !std::signbit(at_host)) << n << " from " << start << ", to the host";
      }
  }
}
TEST_P(SimTuned, NegativeZerosMakePlusZero) {
  zeros_make_plus_zero<float>();
  zeros_make_plus_zero<double>();
}

/// Whole tiles, a last one that is not whole, and more of them than blocks.
TEST_P(SimTuned, AddsUpTilesOfAnyNumber) {
  const tuned::Gpu one_sm{1, 512};
  const auto workspace = new_workspace();
  const Buffer<float> out(1);
  const std::vector<float> values = whole_numbers<float>(3 * 16384 + 1000);
  const auto in = on_device(values);
  for (const tuned::Gpu& gpu : {one_sm, small_gpu})
    for (const tuned::Choice& choice : {tiles, one_tile_kept})
      for (const std::size_t n : {std::size_t{1}, std::size_t{16384}, std::size_t{2 * 16384}, values.size() - 1})
        for (const std::size_t start : {0, 1}) {
          tuned::Reduction<float>(n, gpu, choice)(in.ptr() + start, out.ptr(), workspace.ptr(), nullptr);
          std::vector<float> part(values.begin() + static_cast<std::ptrdiff_t>(start),
                                  values.begin() + static_cast<std::ptrdiff_t>(start + n));
          EXPECT_EQ(on_host(out)[0], expected<float>(part, 0)) << n << " from " << start;
        }
}

/// More tiles than blocks, so that blocks claim some, and a last one that is not whole, or not there, or all there is.
/// Every call leaves the count of claims and all words at zero for the next.
template <class T>
void adds_up_claimed_tiles(const tuned::Choice& choice = claims) {
  const tuned::Gpu two_sms{2, 512};
  const auto workspace = new_workspace();
  const Buffer<T> out(1);
  constexpr std::size_t tile = 65536 / sizeof(T);
  const std::vector<T> values = whole_numbers<T>(17 * tile + 1001);
  const auto in = on_device(values);
  for (const std::size_t n : {std::size_t{0}, std::size_t{5}, 3 * tile, 8 * tile, 9 * tile + 1, values.size() - 1})
    for (const std::size_t start : {0, 1}) {
      const tuned::Reduction<T> call(n, two_sms, choice);
      call(in.ptr() + start, out.ptr(), workspace.ptr(), nullptr);
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(start);
      const std::vector<T> part(from, from + static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(on_host(out)[0], expected<T>(part, 0)) << n << " from " << start;
      const std::vector<std::uint64_t> words = on_host(workspace);
      EXPECT_EQ(std::count(words.begin(), words.end(), 0u), std::ssize(words)) << n << ": zero between calls";
    }
}
TEST_P(SimTuned, AddsUpTilesThatBlocksClaim) {
  adds_up_claimed_tiles<float>();
  adds_up_claimed_tiles<std::int64_t>();
  adds_up_claimed_tiles<double>(claims_in_any_order);
  if (sanitized) return;  // of the rest sanitizers have seen the parts
  adds_up_claimed_tiles<double>();
  adds_up_claimed_tiles<std::int32_t>();
  adds_up_claimed_tiles<float>(claims_in_any_order);
}

/// Where a tile starts off a line, each warp's load of 512 bytes takes a part of a fifth line.
template <class In>
void vectors_start_at(unsigned boundary) {
  const auto words = on_device(whole_numbers<int>(600));
  const std::size_t count = 600 * sizeof(int) / sizeof(In);
  for (std::size_t start = 0; start < count / 2; ++start)
    for (const std::size_t n : {std::size_t{0}, std::size_t{5}, count - start}) {
      const In* const from = reinterpret_cast<const In*>(static_cast<const int*>(words.ptr())) + start;
      const auto share = tuned::share_of(from, n, boundary, 0);
      EXPECT_EQ(share.head_count + static_cast<std::size_t>(share.vectors) * (16 / sizeof(In)) + share.tail_count, n);
      EXPECT_LT(share.head_count * sizeof(In), boundary) << start;
      EXPECT_LT(share.tail_count * sizeof(In), 16u) << start;
      EXPECT_TRUE(share.vectors == 0 || reinterpret_cast<std::uintptr_t>(share.body) % boundary == 0)
          << start << ", " << n;
    }
}
TEST(SimTunedShare, VectorsStartAtABoundary) {
  for (const unsigned boundary : {16u, 128u}) {
    vectors_start_at<std::int8_t>(boundary);
    vectors_start_at<int>(boundary);
    vectors_start_at<double>(boundary);
  }
}

/// A line where there is much to read. Where there is little, what lies before it would take a step of its own.
TEST(SimTunedShare, TilesAloneStartAtALine) {
  for (const auto reading : {tuned::Reading::tiled, tuned::Reading::claimed})
    EXPECT_EQ(tuned::aligned_to(reading), 128u);
  EXPECT_EQ(tuned::aligned_to(tuned::Reading::strided), 16u);
  EXPECT_EQ(tuned::aligned_to(tuned::Reading::cluster), 16u);
}

template <class How>
__global__ void count_of_threads(const tuned::Share<int> ones, unsigned* counts) {
  counts[blockIdx.x * blockDim.x + threadIdx.x] =
      How().template sum_of_thread<unsigned, unsigned, Identity>(ones);
}
/// The fewest and the most vectors that a thread of 3 blocks has of so many.
template <class How>
std::pair<unsigned, unsigned> fewest_and_most(std::size_t vectors, std::size_t kept_bytes = SIZE_MAX) {
  const auto ones = on_device(std::vector<int>(4 * vectors, 1));
  const Buffer<unsigned> counts(3 * How::block);
  const auto share = tuned::share_of(static_cast<const int*>(ones.ptr()), 4 * vectors, 16, kept_bytes);
  run<count_of_threads<How>>(3, How::block, 0, share, counts.ptr());
  const std::vector<unsigned> of = on_host(counts);
  EXPECT_EQ(std::accumulate(of.begin(), of.end(), std::size_t{0}), 4 * vectors);
  const auto [fewest, most] = std::minmax_element(of.begin(), of.end());
  return {*fewest / 4, *most / 4};
}
/// A block with a tile more than the others would be waited for by all of them.
TEST(SimTunedShare, NoThreadHasMoreThanOneVectorMoreThanAnother) {
  for (const std::size_t vectors : {100, 3000, 3072, 12288, 12289, 16384, 20000, 24576}) {
    const auto even = [&](unsigned threads) {
      const auto each = static_cast<unsigned>(vectors / threads);
      return std::pair(each, each + (vectors % threads != 0));
    };
    EXPECT_EQ(fewest_and_most<tuned::Strided<256>>(vectors), even(3 * 256)) << vectors;
    EXPECT_EQ(fewest_and_most<tuned::Tiled>(vectors), even(3 * 512)) << vectors;
    EXPECT_EQ(fewest_and_most<tuned::Tiled>(vectors, 1 << 16), even(3 * 512)) << vectors;
  }
}

/// Of what L2 can hold nothing is read to be given up first, of more a part, and of much more nothing stays anyway.
TEST(SimTunedShare, TheTableSaysHowMuchMayStayInL2) {
  using tuned::MiB;
  using tuned::h200;
  for (const auto who : {FinishedBy::words, FinishedBy::one_word}) {
    const auto kept = [&](std::size_t bytes) { return tuned::launch_shape(bytes, who, h200).kept_bytes; };
    EXPECT_EQ(kept(24 * MiB), SIZE_MAX);
    EXPECT_EQ(kept(24 * MiB + 1), 32 * MiB);
    for (std::size_t bytes = 0; bytes <= 32 * MiB; bytes += 64 << 10) ASSERT_GE(kept(bytes), bytes);
    EXPECT_EQ(kept(36 * MiB), 32 * MiB);
    EXPECT_EQ(kept(256 * MiB), 32 * MiB);
    EXPECT_EQ(kept(256 * MiB + 1), SIZE_MAX);
  }
  EXPECT_EQ(tuned::launch_shape(MiB, FinishedBy::words, h200, one_tile_kept).kept_bytes, 1u << 16) << "as chosen";
  EXPECT_EQ(tuned::share_of(static_cast<const float*>(nullptr), 0, 128, 32 * MiB).kept,
            static_cast<std::int64_t>(2 * MiB));
}

/// Whoever runs first, what is added to what stays the same: values whose sum depends on it give the same bits. Where
/// tiles are claimed other blocks read other ones in other orders. Where the order may vary it does.
TEST(SimTunedCall, AddsUpTheSameBitsInEveryOrderOfBlocks) {
  // They cancel out, so that the result is what was rounded off, all of which is in its bits.
  constexpr std::size_t half = 90611;
  std::vector<float> values(2 * half);
  for (std::size_t i = 0; i < half; ++i) {
    values[i] = 1 / static_cast<float>(i + 1);
    values[half + i * 7919 % half] = -values[i];
  }
  for (const tuned::Choice& choice : {small_blocks, tiles, claims, claims_in_any_order}) {
    std::vector<float> of_order, to_host;
    for (const auto& [order, seed] : {std::pair(Order::forward, 7u), {Order::reverse, 7u}, {Order::random, 7u},
                                      {Order::random, 8u}, {Order::random, 9u}}) {
      sim::set_schedule(order, seed);
      const tuned::Gpu two_sms{2, 512};
      const auto workspace = new_workspace();
      const auto in = on_device(values);
      const Buffer<float> out(1);
      const tuned::Reduction<float> call(values.size(), two_sms, choice);
      call(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      of_order.push_back(on_host(out)[0]);
      const auto arrival = on_device(std::vector<std::uint64_t>(tuned::arrival_words(two_sms)));
      call.send_to_host(in.ptr(), arrival.ptr(), nullptr);
      const std::vector<std::uint64_t> words = on_host(arrival);
      to_host.push_back(tuned::sum_of_arrivals<float>(call.to_host_shape().grid, [&](unsigned i) { return words[i]; }));
    }
    const std::size_t results = std::set(of_order.begin(), of_order.end()).size();
    EXPECT_EQ(results > 1, choice.any_order) << results;
    EXPECT_EQ(std::set(to_host.begin(), to_host.end()).size(), 1u);
  }
  sim::set_schedule(Order::forward);
}

/// In digits and back: what a sum was, and what many sums are together, of both signs.
template <class W, tuned::Sums meet = tuned::Sums::one_of_each_block>
W in_digits(const std::vector<W>& sums) {
  using D = tuned::Digits<W, meet>;
  std::vector<std::uint64_t> word(D::words);
  for (const W sum : sums) {
    EXPECT_TRUE(D::fits(sum)) << sum;
    for (unsigned k = 0; k < D::words; ++k)
      word[k] += (static_cast<std::uint64_t>(D::digit(sum, k)) << D::counts_of(k)) + tuned::one_block;
  }
  std::vector<decltype(D::part(0, 0))> parts;
  for (unsigned k = 0; k < D::words; ++k) parts.push_back(D::part(word[k], k));
  for (unsigned half = D::words / 2; half > 0; half /= 2)  // as PackedSum does it
    for (unsigned k = 0; k < half; ++k) parts[k] += parts[k + half];
  for (const std::uint64_t w : word) EXPECT_EQ(w & tuned::most_sums, sums.size());
  return static_cast<W>(parts[0]);
}
template <class W, tuned::Sums meet = tuned::Sums::one_of_each_block>
void digits_of_floating() {
  using D = tuned::Digits<W, meet>;
  const auto back = [](const std::vector<W>& sums) { return in_digits<W, meet>(sums); };
  constexpr W least = std::numeric_limits<W>::epsilon();
  const W top = std::ldexp(W{1}, D::top), bottom = std::ldexp(W{1}, D::lowest + D::mantissa_bits - 1);
  const W largest = std::nextafter(top, W{0}), odd = 1 + least;
  for (const W sum : {W{0}, W{1}, W{-1}, odd, -odd, W{3} / 7, W{-1e-7f}, W{12345.678f}, largest, -largest, bottom,
                      -bottom, std::nextafter(bottom, W{1})})
    EXPECT_EQ(back({sum}), sum) << sum;
  for (int exponent = D::lowest + D::mantissa_bits - 1; exponent < D::top; ++exponent)
    EXPECT_EQ(back({std::ldexp(odd, exponent)}), std::ldexp(odd, exponent)) << exponent;
  // Nothing is rounded off before the end.
  EXPECT_EQ(back({largest, bottom, -largest}), bottom);
  EXPECT_EQ(back({-1, std::max(least, bottom), 1}), std::max(least, bottom));
  // As many as can meet: what they carry stays in its word.
  const auto as_many = [&](W sum) { return back(std::vector<W>(tuned::most_sums, sum)); };
  for (const W sum : {largest, -largest, std::nextafter(std::ldexp(W{1}, D::lowest + 2 * int{D::bits_each}), W{0}),
                      -std::nextafter(std::ldexp(W{1}, D::lowest + 3 * int{D::bits_each}), W{0})})
    if (meet == tuned::Sums::many)  // whose parts are added up in a step more
      EXPECT_NEAR(static_cast<double>(as_many(sum) / (tuned::most_sums * static_cast<long double>(sum))), 1, least)
          << sum;
    else
      EXPECT_EQ(as_many(sum), static_cast<W>(tuned::most_sums * static_cast<long double>(sum))) << sum;
  // The largest digits that there are, and of each as many as can meet.
  const std::int64_t meeting = meet == tuned::Sums::many ? std::int64_t{1} << 24 : tuned::most_sums;
  for (unsigned k = 0; k < D::words; ++k) {
    const int end = k + 1 == D::words ? D::lowest + D::bits : D::exponent_of(k + 1), width = end - D::exponent_of(k);
    const std::int64_t most = ((std::int64_t{1} << width) - 1) * meeting;
    EXPECT_EQ(D::digit(std::ldexp(W{1}, end - 1), k), std::int64_t{1} << (width - 1)) << k << ": so wide";
    for (const std::int64_t digits : {most, -most}) {
      const std::uint64_t word = (static_cast<std::uint64_t>(digits) << D::counts_of(k)) + tuned::most_sums;
      EXPECT_EQ(static_cast<std::int64_t>(word) >> D::counts_of(k), digits) << k;
    }
  }
  EXPECT_EQ(as_many(odd), static_cast<W>(tuned::most_sums * static_cast<long double>(odd)));
  for (const W outside : {top, -top, bottom / 2, -bottom / 2, std::numeric_limits<W>::infinity(),
                          std::numeric_limits<W>::quiet_NaN(), std::numeric_limits<W>::denorm_min()})
    EXPECT_FALSE(D::fits(outside)) << outside;
}
TEST(SimTunedDigits, HoldSumsWithoutRounding) {
  digits_of_floating<float>();
  digits_of_floating<double>();
  digits_of_floating<float, tuned::Sums::many>();
  digits_of_floating<double, tuned::Sums::many>();
  for (const std::uint64_t sum :
       std::vector<std::uint64_t>{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 39, 0x123456789abcdef})
    EXPECT_EQ(in_digits<std::uint64_t>({sum}), sum);
  EXPECT_EQ(in_digits(std::vector<std::uint64_t>(tuned::most_sums, ~std::uint64_t{4})), std::uint64_t{0} - 5u * 4095)
      << "it wraps";
  EXPECT_EQ(in_digits<std::uint32_t>({0xffffffffu, 0xffffffffu}), 0xfffffffeu);
}

/// Sums that the home band has no digits for go to far bands: of some blocks, of all, infinite ones, and of
/// moments both sums of a block, or one of them. All words are zero afterwards.
template <class T, class Operation = Identity>
void adds_up_what_does_not_fit(const tuned::Choice& choice, std::size_t n) {
  const tuned::Gpu two_sms{2, 512};
  const auto workspace = new_workspace();
  const Buffer<T> out(2);
  const tuned::Reduction<T, T, Operation> call(n, two_sms, choice);
  ASSERT_GT(call.shape().grid, 1u);
  const T small = std::ldexp(T{1}, std::is_same_v<T, float> ? -100 : -500), large = 1 / small,
          infinite = std::numeric_limits<T>::infinity(), nothing = std::numeric_limits<T>::quiet_NaN(),
          fits_but_not_squared = std::ldexp(T{1}, std::is_same_v<T, float> ? 40 : 30);
  for (const auto& [usual, first] : {std::pair{small, small},
                                     {T{0}, small},  // of float moments one block's sum is far, its squares are not
                                     {T{1}, large},
                                     {T{1}, small},
                                     {T{1}, infinite},
                                     {large, T{1}},
                                     {fits_but_not_squared, fits_but_not_squared},
                                     {T{1}, nothing},
                                     {infinite, -infinite},
                                     {T{1}, -infinite}}) {
    std::vector<T> values(n, usual);
    values[0] = first;
    const auto in = on_device(values);
    call(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    const std::vector<std::uint64_t> words = on_host(workspace);
    EXPECT_EQ(std::count(words.begin(), words.end(), 0u), std::ssize(words)) << usual << " " << first;
    const std::vector<T> results = on_host(out);
    const long double sum =
        static_cast<long double>(usual) * static_cast<long double>(n - 1) + static_cast<long double>(first);
    if (std::isnan(first) || std::isinf(usual))
      EXPECT_TRUE(std::isnan(results[0])) << usual << " " << first;
    else if (std::isinf(first))
      EXPECT_EQ(results[0], first);
    else
      EXPECT_NEAR(results[0] / static_cast<T>(sum), 1, 30 * std::numeric_limits<T>::epsilon()) << usual << " " << first;
    if constexpr (call.results == 2) {
      const T squares = usual * usual * static_cast<T>(n - 1) + first * first;  // 0 of small ones, as each of theirs is
      if (std::isnan(first))
        EXPECT_TRUE(std::isnan(results[1])) << usual << " " << first;
      else if (squares < infinite && squares > 0)
        EXPECT_NEAR(results[1] / squares, 1, 30 * std::numeric_limits<T>::epsilon()) << usual << " " << first;
      else
        EXPECT_EQ(results[1], squares) << usual << " " << first;
    }
  }
}
TEST_P(SimTuned, AddsUpWhatDoesNotFitIntoItsWords) {
  adds_up_what_does_not_fit<float>(small_blocks, 3000);
  adds_up_what_does_not_fit<double>(small_blocks, 3000);
  adds_up_what_does_not_fit<float, tuned::Moments>(small_blocks, 3000);
  adds_up_what_does_not_fit<double, tuned::Moments>(small_blocks, 3000);
  adds_up_what_does_not_fit<float>(claims, 20 * 16384 + 77);
  if (sanitized) return;  // of the rest sanitizers have seen the parts
  adds_up_what_does_not_fit<float, tuned::Moments>(claims, 20 * 16384 + 77);
  adds_up_what_does_not_fit<double, tuned::Moments>(claims, 20 * 8192 + 77);
}

/// Little in some shares of the input (blocks' or tiles'), beside nothing or beside much that cancels out: none of it
/// is lost or rounded off, whichever of the two has a place in the words.
template <class T>
void adds_up_little_beside_more(const tuned::Choice& choice, std::size_t share, std::size_t shares) {
  const tuned::Gpu two_sms{2, 512};
  const auto workspace = new_workspace();
  const Buffer<T> out(1);
  for (const int little : {-30, std::is_same_v<T, float> ? -100 : -500})
    for (const T large : {T{0}, T{1}, std::ldexp(T{1}, 49), std::ldexp(T{1}, 110)}) {
      const T small = std::ldexp(T{1}, little);
      std::vector<T> values(share * shares, small);
      const auto fill = [&](std::size_t which, T value) {
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(which * share), share, value);
      };
      const bool cancels = shares > 3;
      fill(0, cancels ? large : T{0});
      if (cancels) fill(3, -large);
      const tuned::Reduction<T> call(values.size(), two_sms, choice);
      ASSERT_EQ(call.shape().grid, 2u);
      const auto in = on_device(values);
      call(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      EXPECT_EQ(on_host(out)[0], small * static_cast<T>(share * (shares - (cancels ? 2 : 1))))
          << little << " " << large;
      EXPECT_EQ(on_host(workspace), std::vector<std::uint64_t>(workspace.size())) << little << " " << large;
    }
}
TEST_P(SimTuned, AddsUpLittleBesideMore) {
  adds_up_little_beside_more<float>(small_blocks, 1024, 2);  // a vector of each thread
  adds_up_little_beside_more<double>(small_blocks, 512, 2);
  adds_up_little_beside_more<float>(claims, 16384, 5);
  adds_up_little_beside_more<double>(claims, 8192, 5);
}

/// Each block has one of the numbers, or all of them if blocks add many sums.
template <class T, tuned::Sums meet>
__global__ void sum_of_blocks(const T* in, unsigned n, std::uint64_t* words, T* out) {
  tuned::PackedSum<T, meet> packed(words);
  if (meet == tuned::Sums::many)
    for (unsigned i = 0; i < n; ++i) packed.add(in[i]);
  else
    packed.add(in[blockIdx.x]);
  packed.end(tuned::OnDevice<T>{out});
}
template <class T, tuned::Sums meet>
T in_bands(const std::vector<T>& numbers) {
  const auto words = new_workspace();
  const Buffer<T> out(1);
  const auto in = on_device(numbers);
  const auto n = static_cast<unsigned>(numbers.size());
  run<sum_of_blocks<T, meet>>(meet == tuned::Sums::many ? 1 : n, 32, 0, in.ptr(), n, words.ptr(), out.ptr());
  EXPECT_EQ(on_host(words), std::vector<std::uint64_t>(words.size())) << "zero again";
  return on_host(out)[0];
}
template <class T, tuned::Sums meet>
void all_exponents_have_a_place() {
  using limits = std::numeric_limits<T>;
  const auto sum = [](const std::vector<T>& numbers) { return in_bands<T, meet>(numbers); };
  constexpr int least = limits::min_exponent - limits::digits;
  for (int exponent = least; exponent < limits::max_exponent; exponent += sanitized ? 23 : 1)
    for (const T odd : {T{1}, -2 + limits::epsilon()}) {
      const T number = std::ldexp(odd, exponent);
      EXPECT_EQ(sum({number}), number) << exponent;
      EXPECT_EQ(sum({number, -number}), 0) << exponent;
      EXPECT_EQ(sum({number, limits::max(), -number, 1, -limits::max()}), 1) << exponent;
      EXPECT_EQ(sum({limits::max(), number, -limits::max()}), number) << exponent;
    }
  EXPECT_EQ(sum({limits::max(), limits::max(), -limits::max()}), limits::max());
  EXPECT_EQ(sum({-limits::max(), -limits::max(), limits::max()}), -limits::max());
  EXPECT_EQ(sum({limits::max(), limits::max()}), limits::infinity());
  EXPECT_EQ(sum({-limits::max(), -limits::max()}), -limits::infinity());
  EXPECT_EQ(sum({1, limits::infinity(), limits::infinity()}), limits::infinity());
  EXPECT_EQ(sum({-limits::infinity(), -limits::infinity(), limits::max()}), -limits::infinity());
  EXPECT_TRUE(std::isnan(sum({-limits::infinity(), limits::infinity()})));
  EXPECT_TRUE(std::isnan(sum({1, -limits::quiet_NaN(), limits::infinity()})));
  for (int exponent = least; exponent < limits::max_exponent - 70; exponent += 13) {
    const T wide = std::ldexp(T{1}, exponent + 60), little = std::ldexp(T{1}, exponent),
            all = sum({wide, little, wide / 8});
    EXPECT_NEAR(all / (wide + wide / 8), 1, limits::epsilon()) << exponent;
  }
}
TEST_P(SimTuned, SumsOfAllExponentsHaveAPlace) {
  all_exponents_have_a_place<float, tuned::Sums::one_of_each_block>();
  all_exponents_have_a_place<double, tuned::Sums::one_of_each_block>();
  all_exponents_have_a_place<float, tuned::Sums::many>();
  all_exponents_have_a_place<double, tuned::Sums::many>();
}

/// Much input is read in tiles that blocks claim. But not for the host, who has no workspace.
TEST(TunedLaunch, HasBlocksClaimTilesOfMuch) {
  using tuned::MiB;
  const auto first_claimed = [](FinishedBy who) {
    std::size_t mib = 1;
    while (mib < 4096 && tuned::launch_shape(mib * MiB, who, tuned::h200).reading != tuned::Reading::claimed) ++mib;
    return mib;
  };
  EXPECT_EQ(first_claimed(FinishedBy::one_word), 257u);
  EXPECT_EQ(first_claimed(FinishedBy::words), 257u);
  EXPECT_EQ(first_claimed(FinishedBy::host), 4096u) << "none";
  EXPECT_EQ(tuned::Reduction<float>(MiB, tuned::h200, claims).shape().reading, tuned::Reading::claimed);
  EXPECT_EQ(tuned::Reduction<float>(MiB, tuned::h200, claims).to_host_shape().reading, tuned::Reading::tiled);
  EXPECT_EQ(tuned::launch_shape((std::size_t{1} << 40) - 1, FinishedBy::words, tuned::h200).reading,
            tuned::Reading::claimed);
  EXPECT_EQ(tuned::launch_shape(std::size_t{1} << 40, FinishedBy::words, tuned::h200).reading, tuned::Reading::tiled)
      << "more tiles than a block can add up";
  EXPECT_EQ(tuned::launch_shape(2048 * MiB, FinishedBy::words, tuned::h200).grid, 2u * 132);
}

/// Counted by hand: an element's own tree and those of its vector and tile, the ends, a warp's and a block's shuffles,
/// a band's words, all bands, and their three groups. Where the order varies a block may have claimed all tiles.
TEST(TunedLaunch, BoundsTheLongestChainOfAdditions) {
  tuned::Choice in_any_order;
  in_any_order.any_order = true;
  for (std::size_t n = (std::size_t{1} << 26) + 1; n < std::size_t{1} << 38; n = n * 9 / 7) {
    const tuned::Reduction<float> call(n, tuned::h200);
    ASSERT_EQ(call.shape().reading, tuned::Reading::claimed);
    const std::size_t of_tile = 2 + 3 + 1 + 5 + 4, of_words = 3 + 5 + 2 + 1;
    ASSERT_GE(call.longest_chain(), of_tile + of_words) << n;
    ASSERT_LE(call.longest_chain(), of_tile + of_words + 5) << n;
    ASSERT_GE(tuned::Reduction<float>(n, tuned::h200, in_any_order).longest_chain(), n / 16384) << n;
  }
  // One block that claims all tiles, for each of which it is as long; blocks without claims; and one that needs no
  // words.
  const auto chain = [](std::size_t n, const tuned::Gpu& gpu, const tuned::Choice& choice) {
    return tuned::Reduction<float>(n, gpu, choice).longest_chain();
  };
  const tuned::Gpu one_sm{1, 512};
  for (const std::size_t n : {std::size_t{5}, std::size_t{1} << 20})
    EXPECT_EQ(chain(n, one_sm, claims), chain(1 << 20, small_gpu, claims));
  const std::size_t of_thread = 2 + 2 + 1 + 3 + 5 + 3;  // vector, four vectors, one round, the ends, warp, block of 256
  EXPECT_EQ(chain(4000, small_gpu, small_blocks), of_thread + 3 + 5 + 2 + 1);
  EXPECT_EQ(chain(4000, small_gpu, {true, tuned::Reading::strided, 4, 0}), of_thread);
}

/// The variant that measures it does not measure tuned/sum: of much input an element may be added to more.
TEST(TunedVariants, AnyOrderIsAnother) {
  const auto device = open_backend(DeviceKind::sim);
  const auto chain = [&](const char* id, std::size_t n) {
    const Variant& v = find_variant(id);
    return make_plan(v, {Operation::sum, ElementType::f32, n}, v.settings(), device->info())->info().longest_chain;
  };
  EXPECT_EQ(chain("tuned/sum-any-order", 1 << 20), chain("tuned/sum", 1 << 20));
  EXPECT_GT(chain("tuned/sum-any-order", std::size_t{1} << 34), 2 * chain("tuned/sum", std::size_t{1} << 34));
}

/// The host finds each block's sum marked, in every order of the blocks.
template <class In, class Acc, class Operation = Identity>
void adds_up_on_the_host() {
  for (const tuned::Choice& choice : {tuned::Choice{}, small_blocks, tiles})
    for (const std::size_t n : {0, 1, 1000, 4099, 40000}) {
      const std::vector<In> values = whole_numbers<In>(n + 1);
      const auto in = on_device(values);
      const tuned::Reduction<In, Acc, Operation> call(n, small_gpu, choice);
      const auto arrival = on_device(std::vector<std::uint64_t>(tuned::arrival_words(small_gpu)));
      call.send_to_host(in.ptr() + 1, arrival.ptr(), nullptr);
      const std::vector<std::uint64_t> words = on_host(arrival);
      using S = tuned::SumIn<Acc, Operation>;
      const auto sums = tuned::sum_of_arrivals<S>(call.to_host_shape().grid, [&](unsigned i) {
        EXPECT_EQ(static_cast<std::uint32_t>(words[i]), tuned::Message<S>::full) << i;
        return words[i];
      });
      if constexpr (std::is_same_v<Operation, tuned::Moments>) {
        EXPECT_EQ(static_cast<Acc>(sums.first), (expected<Acc>(values, 1))) << n;
        EXPECT_EQ(static_cast<Acc>(sums.second), (expected<Acc>(values, 1, true))) << n;
      } else {
        EXPECT_EQ(static_cast<Acc>(sums), (expected<Acc>(values, 1))) << n;
      }
      const auto used = static_cast<std::ptrdiff_t>(call.to_host_shape().grid * tuned::Message<S>::words);
      EXPECT_EQ(std::count(words.begin() + used, words.end(), 0u), std::distance(words.begin() + used, words.end()));
    }
}
TEST_P(SimTuned, SendsEachBlocksSumToTheHost) {
  adds_up_on_the_host<std::int32_t, std::int32_t>();
  adds_up_on_the_host<float, float>();
  adds_up_on_the_host<double, double>();
  adds_up_on_the_host<float, double, tuned::Moments>();
}

/// Sums of 4 bytes of integer meet in one word, which is as before when the call has ended.
TEST_P(SimTuned, APackedSumLeavesNothingBehind) {
  const auto workspace = new_workspace();
  const Buffer<int> out(1);
  const std::vector<int> values = whole_numbers<int>(3000);
  const auto in = on_device(values), large = on_device(std::vector<int>(3000, 0x7ffffff7));
  for (int call = 0; call < 3; ++call) {
    tuned::Reduction<int>(3000, small_gpu, small_blocks)(large.ptr(), out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(static_cast<unsigned>(on_host(out)[0]), 3000u * 0x7ffffff7u) << "the sum wraps";
    tuned::Reduction<int>(3000, small_gpu, small_blocks)(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out)[0], expected<int>(values, 0));
    EXPECT_EQ(on_host(workspace), std::vector<std::uint64_t>(workspace.size()));
  }
}

/// The simulated device writes words only, so the values come as words, and are read as bytes.
TEST_P(SimTuned, AddsUpBytes) {
  std::vector<unsigned> words(3000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned>(i * 2654435761u);
  std::vector<std::int8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  const auto in = on_device(words);
  const unsigned* const as_words = in.ptr();
  const auto workspace = new_workspace();
  const Buffer<std::int64_t> out(1);
  const Buffer<std::int32_t> narrow(1);
  for (const std::size_t start : {0, 1, 7, 15, 16}) {
    const auto from = reinterpret_cast<const std::int8_t*>(as_words) + start;
    const tuned::Reduction<std::int8_t, std::int64_t> wide(bytes.size() - start, small_gpu, small_blocks);
    EXPECT_GT(wide.shape().grid, 1u);
    wide(from, out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out)[0], expected<std::int64_t>(bytes, start)) << start;
    tuned::sum(from, bytes.size() - start, narrow.ptr(), workspace.ptr(), small_gpu, nullptr);
    EXPECT_EQ(on_host(narrow)[0], expected<std::int32_t>(bytes, start)) << start;
  }
}

template <class In, class Acc>
void adds_up_by_type(ElementType type, const Buffer<std::uint64_t>& workspace) {
  const std::vector<In> values = whole_numbers<In>(3001);
  std::vector<std::uint64_t> words(ceil_div(values.size() * sizeof(In), sizeof(std::uint64_t)));
  std::memcpy(words.data(), values.data(), values.size() * sizeof(In));
  const auto in = on_device(words);
  const Buffer<Acc> out(1);
  tuned::add_up(type, in.ptr(), values.size(), out.ptr(), workspace.ptr(), small_gpu, nullptr);
  std::vector<Acc> wide;
  for (const In x : values) wide.push_back(static_cast<Acc>(x));
  EXPECT_EQ(on_host(out)[0], expected<Acc>(wide, 0)) << name(type);
}

TEST_P(SimTuned, AddsUpTypesThatAreKnownAtRunTime) {
  const auto workspace = new_workspace();
  adds_up_by_type<std::int8_t, std::int32_t>(ElementType::i8, workspace);
  adds_up_by_type<std::int32_t, std::int32_t>(ElementType::i32, workspace);
  adds_up_by_type<std::int64_t, std::int64_t>(ElementType::i64, workspace);
  adds_up_by_type<F16, float>(ElementType::f16, workspace);
  adds_up_by_type<BF16, float>(ElementType::bf16, workspace);
  adds_up_by_type<float, float>(ElementType::f32, workspace);
  adds_up_by_type<double, double>(ElementType::f64, workspace);
  EXPECT_THROW(tuned::add_up(ElementType::i128, nullptr, 1, nullptr, workspace.ptr(), small_gpu, nullptr), Refused);
}

TEST_P(SimTuned, NothingAddsUpToZeroWithoutBeingRead) {
  const Buffer<float> out(1);
  const auto workspace = new_workspace();
  tuned::sum(static_cast<const float*>(nullptr), 0, out.ptr(), workspace.ptr(), small_gpu, nullptr);
  EXPECT_EQ(on_host(out)[0], 0);
}

TEST_P(SimTuned, OneWorkspaceServesAThousandCallsOfAllSizesAndTypes) {
  const auto workspace = new_workspace();
  const auto floats = on_device(whole_numbers<float>(2100));
  const auto doubles = on_device(whole_numbers<double>(2100));
  const Buffer<float> f(1);
  const Buffer<double> d(1);
  const std::size_t sizes[] = {2100, 600, 1300, 1};
  float wanted[4];
  for (int k = 0; k < 4; ++k) {
    std::vector<float> part = whole_numbers<float>(2100);
    part.resize(sizes[k]);
    wanted[k] = expected<float>(part, 0);
  }
  for (int call = 0; call < (sanitized ? 120 : 1000); ++call) {
    const std::size_t n = sizes[call % 4];
    if (call % 3) {
      tuned::Reduction<float>(n, small_gpu, small_blocks)(floats.ptr(), f.ptr(), workspace.ptr(), nullptr);
      ASSERT_EQ(on_host(f)[0], wanted[call % 4]) << call;
    } else {
      tuned::Reduction<double>(n, small_gpu, small_blocks)(doubles.ptr(), d.ptr(), workspace.ptr(), nullptr);
      ASSERT_EQ(on_host(d)[0], wanted[call % 4]) << call;
    }
  }
}

TEST_P(SimTuned, TwoPlansWithAWorkspaceEachTakeTurns) {
  const Stream streams[] = {sim::create_stream(), sim::create_stream()};
  const Buffer<std::uint64_t> workspaces[] = {new_workspace(), new_workspace()};
  const std::vector<float> values = whole_numbers<float>(3000);
  const auto in = on_device(values);
  const Buffer<float> outs[] = {Buffer<float>(1), Buffer<float>(1)};
  for (int call = 0; call < 8; ++call)
    for (int k = 0; k < 2; ++k)
      tuned::Reduction<float>(3000 - 1000 * k, small_gpu, small_blocks)(in.ptr() + 1000 * k, outs[k].ptr(),
                                                                      workspaces[k].ptr(), streams[k]);
  for (int k : {1, 0}) {
    sim::synchronize(streams[k]);
    EXPECT_EQ(on_host(outs[k])[0], expected<float>(values, 1000 * k));
    EXPECT_EQ(on_host(workspaces[k]), std::vector<std::uint64_t>(workspaces[k].size())) << "as after init()";
    sim::destroy_stream(streams[k]);
  }
}

/// What a call before left in the long accumulators would be part of the next result. Sums of 4 and 8 bytes and pairs
/// take turns.
TEST_P(SimTuned, TheWorkspaceIsZeroAfterEachCallWhateverItsSize) {
  const auto workspace = new_workspace();
  const auto empty = [&] { return on_host(workspace) == std::vector<std::uint64_t>(workspace.size()); };
  const Buffer<double> out(2);
  const Buffer<float> of_floats(1);
  const double tiny = 0x1p-200;  // nothing of it fits
  std::vector<double> values = whole_numbers<double>(6000);
  std::vector<float> floats(values.begin(), values.end());
  for (double& v : values) v *= tiny;
  for (float& v : floats) v *= 0x1p-100f;
  const auto in = on_device(values);
  const auto floats_in = on_device(floats);
  for (const std::size_t n : {6000, 1500, 3000}) {
    const std::vector<double> part(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
    const tuned::Reduction<double, double, tuned::Moments> moments(n, small_gpu, small_blocks);
    ASSERT_GT(moments.shape().grid, 1u);
    moments(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out), (std::vector<double>{expected<double>(part, 0), expected<double>(part, 0, true)}));
    EXPECT_TRUE(empty()) << n << ", moments";
    tuned::Reduction<float>(n, small_gpu, small_blocks)(floats_in.ptr(), of_floats.ptr(), workspace.ptr(), nullptr);
    const std::vector<float> floats_part(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(on_host(of_floats)[0], expected<float>(floats_part, 0));
    EXPECT_TRUE(empty()) << n << ", floats";
    tuned::Reduction<double>(6000, small_gpu, small_blocks)(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out)[0], expected<double>(values, 0));
    EXPECT_TRUE(empty()) << n << ", doubles";
  }
}

/// Blocks beyond those that a GPU holds at once get a place when others end: nobody waits for one that has not begun.
TEST_P(SimTuned, MoreBlocksThanTheGpuHoldsEndAllTheSame) {
  const tuned::Gpu larger{40, 2048};
  const auto workspace = new_workspace();
  const Buffer<double> out(1);
  const std::vector<double> values = whole_numbers<double>(90000);
  const auto in = on_device(values);
  const tuned::Reduction<double> sum(values.size(), larger, {true, tuned::Reading::strided, 1, 4});
  EXPECT_GT(sum.shape().grid * sum.shape().block, 6u * 2048u) << "the simulated device holds that many threads";
  sum(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
  EXPECT_EQ(on_host(out)[0], expected<double>(values, 0));
}

/// Blocks add to what is there.
TEST_P(SimTuned, AWorkspaceThatNobodyInitialisedIsReported) {
  const Buffer<std::uint64_t> raw(tuned::workspace_words);
  const Buffer<int> in = zeros<int>(3000), out(1);
  tuned::Reduction<int>(3000, small_gpu, small_blocks)(in.ptr(), out.ptr(), raw.ptr(), nullptr);
  try {
    sim::synchronize({});
    ADD_FAILURE() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::unwritten) << fault.what();
  }
}

TEST(SimTunedCall, IsOneLaunchThatNeitherAllocatesNorWaits) {
  const auto workspace = new_workspace();
  const Buffer<float> out(1);
  const auto in = zeros<float>(50000);
  const sim::Shape first =
      sim::watch_enqueue([&] {
        tuned::sum(static_cast<const float*>(in.ptr()), 50000, out.ptr(), workspace.ptr(), small_gpu, nullptr);
      }).first_launch;
  EXPECT_EQ(first.grid, tuned::Reduction<float>(50000, small_gpu).shape().grid);
  sim::synchronize({});
}

TEST(SimTunedCall, GivesTheSameBitsInEveryOrder) {
  std::vector<float> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(1 + i * 7919 % 20011);
  const auto in = on_device(values);
  const auto workspace = new_workspace();
  const Buffer<float> out(1);
  std::vector<float> results;
  for (const Order order : all_orders)
    for (const unsigned seed : {1, 2, 3}) {
      sim::set_schedule(order, seed);
      tuned::sum(static_cast<const float*>(in.ptr()), values.size(), out.ptr(), workspace.ptr(), small_gpu, nullptr);
      results.push_back(on_host(out)[0]);
    }
  sim::set_schedule(Order::forward);
  EXPECT_EQ(results, std::vector<float>(results.size(), results[0]));
  EXPECT_NEAR(results[0], 10.48, 0.01);
}

/// Turing holds 1024 threads an SM, Ampere's small chips 1536, Hopper 2048; and one that holds less than a block.
constexpr tuned::Gpu gpus[] = {{40, 1024, 75, 0, 4 * tuned::MiB}, {84, 1536, 86, 0, 6 * tuned::MiB}, tuned::h200,
                               {148, 2048, 100, 16, 126 * tuned::MiB}, {300, 2048, 100, 16, 126 * tuned::MiB}, {1, 64}};
constexpr tuned::Choice small_blocks_everywhere{true, tuned::Reading::strided, 1, 64},
    of_nothing{true, tuned::Reading::tiled, 0, 1}, huge_cluster{true, tuned::Reading::cluster, 1, 64};

TEST(TunedLaunch, HasNoMoreBlocksThanAWordCountsAndFillsNoSmTwice) {
  for (const tuned::Gpu& gpu : gpus)
    for (const auto who : {FinishedBy::words, FinishedBy::one_word, FinishedBy::host})
      for (const tuned::Choice& choice :
           {tuned::Choice{}, small_blocks, tiles, claims, small_blocks_everywhere, of_nothing, huge_cluster})
        for (std::size_t bytes = 0; bytes < std::size_t{1} << 36; bytes = 3 * bytes + 1) {
          const tuned::LaunchShape shape = tuned::launch_shape(bytes, who, gpu, choice);
          ASSERT_GE(shape.grid, 1u);
          ASSERT_EQ(shape.block, tuned::block_of(shape.reading));
          if (who == FinishedBy::host) {
            ASSERT_LE(shape.grid * std::size_t{tuned::most_words}, tuned::arrival_words(gpu));
            ASSERT_TRUE(shape.reading == tuned::Reading::strided || shape.reading == tuned::Reading::tiled);
          } else {
            ASSERT_LE(shape.grid, tuned::most_blocks(gpu));
            ASSERT_LE(shape.grid, tuned::most_sums) << "a word counts no more";
          }
          if (gpu.threads_per_sm >= 512 && shape.reading != tuned::Reading::cluster) {
            ASSERT_LE(std::size_t{shape.grid} * shape.block, std::size_t{gpu.sm_count} * gpu.threads_per_sm);
          }
        }
}

TEST(TunedLaunch, IsOneBlockForLittleAndAGridForMuch) {
  const auto of = [](std::size_t bytes, FinishedBy who) { return tuned::launch_shape(bytes, who, tuned::h200); };
  for (const auto who : {FinishedBy::words, FinishedBy::one_word}) {
    EXPECT_EQ(of(0, who).grid, 1u);
    EXPECT_EQ(of(16 << 10, who).grid, 1u);
    EXPECT_EQ(of((16 << 10) + 1, who).block, 512u) << "one, with more threads";
    EXPECT_EQ(of(32 << 10, who).grid, 1u);
    EXPECT_GT(of((64 << 10) + 1, who).grid, 1u);
    EXPECT_EQ(of(std::size_t{1} << 32, who).grid, 2u * 132);
    EXPECT_EQ(of(std::size_t{1} << 40, who).block, 512u);
  }
}

TEST(TunedLaunch, HasAClusterWhereTheGpuHasThem) {
  using tuned::h200;
  const auto reading = [](std::size_t bytes, FinishedBy who, unsigned most_cluster_blocks) {
    return tuned::launch_shape(bytes, who, {132, 2048, 90, most_cluster_blocks}).reading;
  };
  EXPECT_EQ(reading(64 << 10, FinishedBy::words, 16), tuned::Reading::cluster);
  EXPECT_EQ(tuned::launch_shape(64 << 10, FinishedBy::words, h200).grid, 8u) << "a power of two";
  EXPECT_EQ(reading(128 << 10, FinishedBy::one_word, 16), tuned::Reading::strided) << "an atomic update is quicker";
  // A launch of one block is in no cluster, and what a cluster's blocks do is an illegal instruction there.
  EXPECT_EQ(tuned::launch_shape(0, FinishedBy::words, h200, {true, tuned::Reading::cluster, 1, 16}).grid, 2u);
  EXPECT_EQ(tuned::launch_shape(0, FinishedBy::words, h200, {true, tuned::Reading::cluster, 1, 0}).grid, 2u);
  EXPECT_EQ(tuned::launch_shape(1 << 20, FinishedBy::words, h200, {true, tuned::Reading::cluster, 1, 12}).grid, 8u);
  EXPECT_EQ(tuned::launch_shape(1 << 20, FinishedBy::words, h200, huge_cluster).grid, 16u)
      << "there are sums for no more";
  // 9.0 is not enough: a GPU whose clusters have 8 blocks, or 4, refuses a launch with more.
  EXPECT_EQ(reading(64 << 10, FinishedBy::words, 8), tuned::Reading::cluster);
  EXPECT_EQ(reading(512 << 10, FinishedBy::words, 16), tuned::Reading::cluster);
  EXPECT_EQ(reading(512 << 10, FinishedBy::words, 8), tuned::Reading::strided);
  for (const unsigned few : {0u, 1u, 4u}) {
    EXPECT_EQ(reading(64 << 10, FinishedBy::words, few), tuned::Reading::strided);
    EXPECT_GT(tuned::launch_shape(64 << 10, FinishedBy::words, {132, 2048, 90, few}).grid, 1u);
  }
}

/// What one SM or one cluster does takes as long everywhere; a grid does more where there are more SMs, and more stays
/// where L2 is larger.
TEST(TunedLaunch, GoesBySmsAndByL2) {
  using tuned::KiB;
  using tuned::MiB;
  using tuned::Reading;
  for (const auto& table : {std::span<const tuned::LaunchRow>(tuned::one_word_table),
                            std::span<const tuned::LaunchRow>(tuned::words_table),
                            std::span<const tuned::LaunchRow>(tuned::to_host_table)})
    for (const tuned::LaunchRow& row : table) {
      const tuned::LaunchRow of_h200 = tuned::row_for(row, tuned::h200);
      EXPECT_EQ(of_h200.up_to_bytes, row.up_to_bytes);
      EXPECT_EQ(of_h200.kept_bytes, row.kept_bytes);
    }
  const tuned::Gpu twice_the_sms{264, 2048, 90, 16, 60 * MiB}, a_third_of_l2{132, 2048, 90, 16, 20 * MiB};
  const auto up_to = [](const tuned::LaunchRow& row, const tuned::Gpu& gpu) {
    return tuned::row_for(row, gpu).up_to_bytes;
  };
  EXPECT_EQ(up_to({16 * KiB, Reading::strided, 4, 0}, twice_the_sms), 16 * KiB);
  EXPECT_EQ(up_to({256 * KiB, Reading::cluster, 4, 8}, twice_the_sms), 256 * KiB);
  EXPECT_EQ(up_to({3 * MiB, Reading::strided, 4, 4}, twice_the_sms), 6 * MiB);
  EXPECT_EQ(up_to({3 * MiB, Reading::strided, 4, 4}, a_third_of_l2), 3 * MiB);
  EXPECT_EQ(up_to({36 * MiB, Reading::tiled, 8, 1, 0}, twice_the_sms), 36 * MiB);
  EXPECT_EQ(up_to({36 * MiB, Reading::tiled, 8, 1, 0}, a_third_of_l2), 12 * MiB);
  EXPECT_EQ(up_to({SIZE_MAX, Reading::tiled, 8, 2}, twice_the_sms), SIZE_MAX);
  EXPECT_EQ(tuned::launch_shape(64 * MiB, FinishedBy::words, a_third_of_l2).kept_bytes, tuned::kept_in_l2 / 3);
  EXPECT_EQ(tuned::launch_shape(100 * MiB, FinishedBy::words, a_third_of_l2).kept_bytes, SIZE_MAX);
}

}  // namespace
}  // namespace reductio::sim_tests
