#include "core/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/narrow_float.h"
#include "core/reference.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

constexpr ElementType floating_types[] = {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64};

TEST(Dataset, the_period_is_a_prime_near_2_to_the_20) {
  for (std::size_t d = 2; d * d <= dataset_period; ++d) ASSERT_NE(dataset_period % d, 0u) << d;
  EXPECT_NEAR(static_cast<double>(dataset_period), 0x1p20, 100);
}

TEST(Dataset, sizes_seeds_and_repeatability) {
  for (const ElementType type : all_types())
    for (const auto dataset : dataset_names(type))
      for (const std::size_t n : {0ul, 1ul, 2ul, 3ul, 1000ul, 1ul << 14}) {
        const auto tile = make_tile(dataset, type, n, 3);
        EXPECT_EQ(tile.size(), std::min(n, dataset_period) * size_of(type)) << dataset << ' ' << n;
        EXPECT_EQ(tile, make_tile(dataset, type, n, 3)) << dataset << ' ' << n;
        if (n >= 1000 && dataset != "alternating" && dataset != "largest" && dataset != "ones") {
          EXPECT_NE(tile, make_tile(dataset, type, n, 4)) << dataset << ' ' << n;
        }
      }
}

TEST(Dataset, a_tile_has_no_more_than_a_period) {
  EXPECT_EQ(make_tile("random", ElementType::i8, dataset_period + 1, 3).size(), dataset_period);
  EXPECT_EQ(make_tile("alternating", ElementType::f32, 4 * dataset_period, 3).size(), dataset_period * sizeof(float));
}

TEST(Dataset, unknown_names_are_refused_with_the_known_ones) {
  try {
    make_tile("ill-conditioned", ElementType::i32, 10, 1);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "unknown dataset 'ill-conditioned' for i32; known: random, exact, alternating, largest");
  }
}

TEST(Dataset, normal_numbers_are_scaled_by_any_power_of_two_of_the_type) {
  const auto normal = values<float>(make_tile("normal", ElementType::f32, 1000, 7)),
             scaled = values<float>(make_tile("scaled:2^-66", ElementType::f32, 1000, 7));
  for (std::size_t i = 0; i < normal.size(); ++i) EXPECT_EQ(scaled[i], std::ldexp(normal[i], -66));
  EXPECT_EQ(make_tile("scaled:2^0", ElementType::f64, 1000, 7), make_tile("normal", ElementType::f64, 1000, 7));
  EXPECT_TRUE(has_dataset("scaled:2^1023", ElementType::f64));
  for (const char* name : {"scaled:2^128", "scaled:2^-127", "scaled:2^", "scaled:2^1x", "scaled:", "scaled:3"})
    EXPECT_FALSE(has_dataset(name, ElementType::f32)) << name;
  EXPECT_FALSE(has_dataset("scaled:2^1", ElementType::i32));
  try {
    check_dataset("scaled:2^16", ElementType::f16);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_TRUE(std::string(e.what()).ends_with("infinity-pair, ones, scaled:2^K such as scaled:2^-10")) << e.what();
  }
}

TEST(Dataset, magnitudes_are_those_of_real_data) {
  const auto gradients = values<float>(make_tile("gradients", ElementType::f32, 10000, 7));
  double sum = 0;
  for (const float x : gradients) {
    EXPECT_GE(x, 0);
    sum += x;
  }
  EXPECT_NEAR(sum / 10000, 0x1p-66, 0x1p-70);
  const auto with_giants = values<double>(make_tile("giants", ElementType::f64, dataset_period, 7));
  EXPECT_NEAR(std::ranges::count(with_giants, 0x1p989), 16, 12);
  EXPECT_EQ(std::ranges::count_if(with_giants, [](double x) { return std::abs(x) > 6 && x != 0x1p989; }), 0);
  const auto constants = values<double>(make_tile("constants", ElementType::f64, 1000, 7));
  EXPECT_GT(std::ranges::count(constants, -6.62607015e-34), 10);
  EXPECT_GT(std::ranges::count(constants, 1.98847e30), 10);
}

class ExactDataset : public testing::TestWithParam<std::size_t> {};

TEST_P(ExactDataset, is_exact_in_any_order_for_sum_and_squares) {
  const std::size_t n = GetParam();
  for (const ElementType type : floating_types)
    for (const std::uint64_t seed : few_if_sanitized<std::uint64_t>(1, {2, 1})) {
      const auto tile = make_tile("exact", type, n, seed);
      const Reference sum = reference(Operation::moments, type, tile, n), squares = sum.second.front();
      for (const Reference& r : {sum, squares}) {
        EXPECT_TRUE(r.exact_in_any_order) << name(type) << " seed " << seed;
        EXPECT_LT(r.sum_of_magnitudes, type == ElementType::f64 ? 0x1p53 : 0x1p24);
      }
    }
}
INSTANTIATE_TEST_SUITE_P(sizes, ExactDataset,
                         testing::Values(0, 1, 2, 3, 1000, 4096, dataset_period, dataset_period + 1, (1u << 24) - 1,
                                         1u << 24, (1u << 24) + 1, (1ull << 32) + 1, (1ull << 33)));

TEST(Dataset, exact_leaves_no_element_unseen) {
  for (const std::size_t n : {1ul, 5ul, 1024ul, 100'000ul, dataset_period, 1ul << 22, 1ul << 23}) {
    const auto f32 = values<float>(make_tile("exact", ElementType::f32, n, 1));
    EXPECT_TRUE(std::all_of(f32.begin(), f32.end(), [](float x) { return x > 0; })) << n;
    const auto f64 = values<double>(make_tile("exact", ElementType::f64, n, 2));
    EXPECT_TRUE(std::all_of(f64.begin(), f64.end(), [](double x) { return x != 0; })) << n;
    const auto f16 = values<F16>(make_tile("exact", ElementType::f16, n, 1));
    EXPECT_TRUE(std::all_of(f16.begin(), f16.end(), [](F16 x) { return static_cast<float>(x) > 0; })) << n;
    const auto i8 = values<std::int8_t>(make_tile("exact", ElementType::i8, n, 1));
    EXPECT_TRUE(std::all_of(i8.begin(), i8.end(), [](std::int8_t x) { return x > 0; })) << n;
  }
  // Even seeds hold both signs, and values are varied where n allows it.
  const auto mixed = values<float>(make_tile("exact", ElementType::f32, 1024, 2));
  EXPECT_TRUE(std::any_of(mixed.begin(), mixed.end(), [](float x) { return x < 0; }));
  EXPECT_GT(std::set<float>(mixed.begin(), mixed.end()).size(), 50u);
}

TEST(Dataset, sparse_exact_data_holds_the_arrays_tail) {
  const std::size_t n = (std::size_t{1} << 32) + 1;
  const auto tile = values<float>(make_tile("exact", ElementType::f32, n, 1));
  for (std::size_t back = 1; back <= 64; ++back) EXPECT_EQ(tile[(n - back) % dataset_period], 1) << back;
  EXPECT_GT(std::count(tile.begin(), tile.end(), 1.0f), 4000);
}

// Numbers that a narrow type does not have would be rounded, and no longer add up to what the limit says.
TEST(Dataset, exact_numbers_are_no_larger_than_narrow_types_have_them) {
  const auto largest = [](const auto& all) {
    double most = 0;
    for (const auto x : all) most = std::max(most, std::abs(static_cast<double>(x)));
    return most;
  };
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const auto i8 = largest(values<std::int8_t>(make_tile("exact", ElementType::i8, 1000, seed)));
    EXPECT_TRUE(i8 > 100 && i8 <= 127) << i8;
    const auto bf16 = largest(values<BF16>(make_tile("exact", ElementType::bf16, 100, seed)));
    EXPECT_TRUE(bf16 > 200 && bf16 <= 256) << bf16;
  }
  for (std::uint64_t seed = 1; seed < 20; ++seed)
    EXPECT_LE(largest(values<F16>(make_tile("exact", ElementType::f16, 1, seed))), 2048);
}

// Cut to 12 digits, or by the last one alone, the sum would be another.
TEST(Dataset, wide_holds_one_number_that_needs_all_digits_and_its_sum_is_exact) {
  const auto examine = [](ElementType type, auto one, int digits) {
    using T = decltype(one);
    for (const std::size_t n : {1ul, 2ul, 1000ul, 16385ul, dataset_period}) {
      for (const auto& [dataset, op] :
           {std::pair("wide", Operation::sum), std::pair("wide-square", Operation::sum_of_squares)}) {
        const auto tile = make_tile(dataset, type, n, 1);
        EXPECT_TRUE(reference(op, type, tile, n).exact_in_any_order) << dataset << ' ' << n;
        if (op == Operation::sum_of_squares) {
          EXPECT_TRUE(reference(Operation::moments, type, tile, n).all_exact()) << n;
        }
        const auto all = values<T>(tile);
        EXPECT_EQ(static_cast<std::size_t>(std::count(all.begin(), all.end(), one)), n - 1) << dataset << ' ' << n;
        const T wide = *std::max_element(all.begin(), all.end());
        const auto added = static_cast<std::uint64_t>(op == Operation::sum ? wide : wide * wide);
        EXPECT_EQ(added % 2, 1u) << dataset << ' ' << n;
        EXPECT_EQ(std::bit_width(added), digits) << dataset << ' ' << n;
      }
    }
  };
  examine(ElementType::f32, 1.0f, 24);
  examine(ElementType::f64, 1.0, 53);
}

// A kernel that adds up in the narrow type itself, not in f32, loses ones beside such a number.
TEST(Dataset, wide_of_narrow_floats_needs_all_digits_of_the_element) {
  const auto examine = [](ElementType type, auto one, double wide) {
    using T = decltype(one);
    for (const std::string_view dataset : {"wide", "wide-square"})
      for (const std::size_t n : {1ul, 1000ul, dataset_period, 1ul << 23}) {
        const auto tile = make_tile(dataset, type, n, 1);
        EXPECT_TRUE(reference(Operation::sum, type, tile, n).exact_in_any_order) << dataset << ' ' << n;
        double most = 0;
        for (const T x : values<T>(tile)) most = std::max(most, static_cast<double>(x));
        EXPECT_EQ(most, wide) << dataset << ' ' << n;
      }
  };
  examine(ElementType::bf16, BF16(1.0), 255);
  const auto tile = make_tile("wide", ElementType::f16, 1000, 1);
  EXPECT_EQ(reference(Operation::sum, ElementType::f16, tile, 1000).value, 2047 + 999);
}

TEST(Dataset, random_floats_are_uniform_in_minus_one_to_one) {
  const auto f32 = values<float>(make_tile("random", ElementType::f32, dataset_period, 1));
  const auto f64 = values<double>(make_tile("random", ElementType::f64, dataset_period, 1));
  const auto examine = [](const auto& all) {
    double sum = 0, squares = 0;
    for (const double x : all) {
      ASSERT_GE(x, -1);
      ASSERT_LT(x, 1);
      sum += x;
      squares += x * x;
    }
    const double n = static_cast<double>(all.size());
    EXPECT_LT(std::abs(sum), 4 * std::sqrt(n / 3));
    EXPECT_NEAR(squares / n, 1.0 / 3, 0.002);
  };
  examine(f32);
  examine(f64);
  const auto widened = [](const auto& all) {
    std::vector<double> out;
    for (const auto x : all) out.push_back(static_cast<double>(x));
    return out;
  };
  // Of fewer digits, the steps between numbers show: the mean lies half a step below zero.
  const auto f16 = widened(values<F16>(make_tile("random", ElementType::f16, 1000, 1)));
  EXPECT_TRUE(std::all_of(f16.begin(), f16.end(), [](double x) { return x >= -1 && x < 1; }));
  EXPECT_GT(std::set<double>(f16.begin(), f16.end()).size(), 700u);
  const auto bf16 = widened(values<BF16>(make_tile("random", ElementType::bf16, 1000, 1)));
  EXPECT_TRUE(std::all_of(bf16.begin(), bf16.end(), [](double x) { return x >= -1 && x < 1; }));
  EXPECT_GT(std::set<double>(bf16.begin(), bf16.end()).size(), 200u);
}

TEST(Dataset, normal_floats_have_mean_0_variance_1_and_the_shares_of_the_bell_curve) {
  const auto examine = [](const auto& all) {
    double sum = 0, squares = 0, within[] = {0, 0, 0};
    for (const double x : all) {
      sum += x;
      squares += x * x;
      for (int sigmas = 1; sigmas <= 3; ++sigmas) within[sigmas - 1] += std::abs(x) < sigmas;
    }
    const double n = static_cast<double>(all.size());
    EXPECT_LT(std::abs(sum), 4 * std::sqrt(n));
    EXPECT_NEAR(squares / n, 1, 0.006);
    EXPECT_NEAR(within[0] / n, 0.6827, 0.006);
    EXPECT_NEAR(within[1] / n, 0.9545, 0.002);
    EXPECT_NEAR(within[2] / n, 0.9973, 0.001);
  };
  examine(values<float>(make_tile("normal", ElementType::f32, dataset_period, 1)));
  examine(values<double>(make_tile("normal", ElementType::f64, dataset_period, 1)));
}

TEST(Dataset, random_integers_use_all_bits) {
  std::uint32_t any = 0, all = ~0u;
  for (const auto x : values<std::uint32_t>(make_tile("random", ElementType::i32, 1000, 1))) any |= x, all &= x;
  EXPECT_EQ(any, ~0u);
  EXPECT_EQ(all, 0u);
  const auto i8 = values<std::int8_t>(make_tile("random", ElementType::i8, dataset_period, 1));
  EXPECT_EQ(std::set<int>(i8.begin(), i8.end()).size(), 256u);
  std::uint64_t wide = 0;
  for (const auto x : values<std::uint64_t>(make_tile("random", ElementType::i64, 1000, 1))) wide |= x;
  EXPECT_EQ(wide, ~std::uint64_t{0});
  UInt128 widest = 0;
  for (const auto x : values<UInt128>(make_tile("random", ElementType::i128, 1000, 1))) widest |= x;
  EXPECT_TRUE(widest == ~UInt128{0});
  const auto ends = values<UInt128>(make_tile("alternating", ElementType::i128, 2, 1));
  EXPECT_TRUE(ends[0] == ~UInt128{0} >> 1 && ends[1] == UInt128{1} << 127);
  const auto bytes = values<std::int8_t>(make_tile("alternating", ElementType::i8, 2, 1));
  EXPECT_TRUE(bytes[0] == 127 && bytes[1] == -128);
}

TEST(Dataset, ill_conditioned_sums_cancel_by_many_orders) {
  for (const ElementType type : floating_types)
    for (const std::size_t n : {64ul, 1000ul, 1025ul, 100'000ul, (1ul << 20) + 1, 1ul << 24}) {
      const auto tile = make_tile("ill-conditioned", type, n, 5);
      const Reference r = reference(Operation::sum, type, tile, n);
      EXPECT_TRUE(std::isfinite(r.value));
      EXPECT_GT(r.sum_of_magnitudes, 1e3 * std::abs(r.value)) << name(type) << ' ' << n;
      const Reference squares = reference(Operation::sum_of_squares, type, tile, n);
      EXPECT_TRUE(std::isfinite(squares.value));
    }
}

/// The exponents that the numbers of a data set have, and how often each sign.
struct Exponents {
  std::set<int> of;
  double positive = 0;
};
Exponents exponents_of(const char* dataset, ElementType type) {
  Exponents out;
  const auto examine = [&](const auto& all) {
    for (const auto value : all) {
      const auto x = static_cast<double>(value);
      if (x != 0) out.of.insert(std::ilogb(x));
      out.positive += (x > 0) / static_cast<double>(dataset_period);
    }
  };
  const auto tile = make_tile(dataset, type, dataset_period, 1);
  if (type == ElementType::f16) examine(values<F16>(tile));
  else if (type == ElementType::bf16) examine(values<BF16>(tile));
  else if (type == ElementType::f32) examine(values<float>(tile));
  else examine(values<double>(tile));
  return out;
}

TEST(Dataset, spread_has_120_binary_orders_of_either_sign_and_its_squares_stay_in_range) {
  for (const ElementType type : floating_types) {
    const auto [of, positive] = exponents_of("spread", type);
    const int least = type == ElementType::f16 ? -24 : -73, most = type == ElementType::f16 ? 15 : 46;
    EXPECT_EQ(*of.begin(), least) << name(type);
    EXPECT_EQ(*of.rbegin(), most) << name(type);
    EXPECT_EQ(of.size(), static_cast<std::size_t>(most - least + 1)) << name(type);
    EXPECT_NEAR(positive, 0.5, 0.005) << name(type);
    const std::size_t n = std::size_t{1} << 33;
    const Reference r = reference(Operation::moments, type, make_tile("spread", type, n, 1), n);
    for (const Reference& each : {r, r.second.front()})
      EXPECT_LT(each.sum_of_magnitudes, type == ElementType::f64 ? 0x1p1023 : 0x1p127) << name(type);
  }
}

TEST(Dataset, whole_range_has_every_exponent_up_to_where_sums_could_overflow) {
  for (const auto& [type, least, most] :
       {std::tuple(ElementType::f16, -24, 15), std::tuple(ElementType::bf16, -133, 93),
        std::tuple(ElementType::f32, -149, 93), std::tuple(ElementType::f64, -1074, 989)}) {
    const auto [of, positive] = exponents_of("whole-range", type);
    EXPECT_EQ(*of.begin(), least) << name(type);
    EXPECT_EQ(*of.rbegin(), most) << name(type);
    EXPECT_EQ(of.size(), static_cast<std::size_t>(most - least + 1)) << name(type);
    EXPECT_NEAR(positive, 0.5, 0.005) << name(type);
    const std::size_t n = std::size_t{1} << 33;
    EXPECT_LT(reference(Operation::sum, type, make_tile("whole-range", type, n, 1), n).sum_of_magnitudes,
              type == ElementType::f64 ? 0x1p1023 : 0x1p127)
        << name(type);
  }
}

TEST(Dataset, alternating_never_overflows_on_the_way) {
  for (const std::size_t n : {1ul, 2ul, 1001ul, 1ul << 24, (1ul << 32) + 1}) {
    // All elements of one sign first, the worst order: n * 2^93 and n * 2^989 are finite.
    const Reference f32 =
        reference(Operation::sum, ElementType::f32, make_tile("alternating", ElementType::f32, n, 1), n);
    EXPECT_LT(f32.sum_of_magnitudes, 0x1p127);
    const Reference f64 =
        reference(Operation::sum, ElementType::f64, make_tile("alternating", ElementType::f64, n, 1), n);
    EXPECT_LT(f64.sum_of_magnitudes, 0x1p1023);
  }
  const auto tile = make_tile("alternating", ElementType::f32, 3, 1);
  EXPECT_EQ(reference(Operation::sum_of_squares, ElementType::f32, tile, 3).value, HUGE_VAL);
  EXPECT_EQ(values<std::uint32_t>(make_tile("alternating", ElementType::i32, 3, 1)),
            (std::vector<std::uint32_t>{0x7fffffffu, 0x80000000u, 0x7fffffffu}));
  EXPECT_EQ(values<std::int8_t>(make_tile("alternating", ElementType::i8, 3, 1)),
            (std::vector<std::int8_t>{127, -128, 127}));
  const auto of = [](Operation op, ElementType type) {
    return reference(op, type, make_tile("alternating", type, 1001, 1), 1001).value;
  };
  EXPECT_EQ(of(Operation::sum, ElementType::bf16), 0x1p93);
  EXPECT_EQ(of(Operation::sum_of_squares, ElementType::bf16), HUGE_VAL);
  EXPECT_EQ(of(Operation::sum, ElementType::f16), 0x1p15);
  EXPECT_EQ(of(Operation::sum_of_squares, ElementType::f16), 1001 * 0x1p30);
}

TEST(Dataset, special_values_are_where_they_should_be) {
  for (const ElementType type : floating_types)
    for (const std::uint64_t seed : {1, 2, 3, 4})
      for (const std::size_t n : {2ul, 100ul}) {
        const auto sum = [&](std::string_view dataset) {
          return reference(Operation::sum, type, make_tile(dataset, type, n, seed), n).value;
        };
        EXPECT_TRUE(std::isinf(sum("infinity")));
        EXPECT_TRUE(std::isnan(sum("nan")));
        EXPECT_TRUE(std::isnan(sum("mixed-infinities")));
        const Reference subnormal = reference(Operation::sum, type, make_tile("subnormal", type, n, seed), n);
        EXPECT_TRUE(subnormal.exact_in_any_order);
        EXPECT_NE(subnormal.value, 0);
        const double below = type == ElementType::f64    ? 0x1p-969
                             : type == ElementType::f32  ? 0x1p-125
                             : type == ElementType::bf16 ? 0x1p-109
                                                         : 1;
        EXPECT_LT(subnormal.sum_of_magnitudes, below);
      }
  const auto both_signs = [] {
    std::set<double> seen;
    for (std::uint64_t seed = 1; seed < 20; ++seed)
      seen.insert(
          reference(Operation::sum, ElementType::f64, make_tile("infinity", ElementType::f64, 9, seed), 9).value);
    return seen.size();
  };
  EXPECT_EQ(both_signs(), 2u);
}

}  // namespace
}  // namespace reductio
