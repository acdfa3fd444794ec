// The references are what every result is compared with, so they are tested against independent arithmetic: 128-bit
// integers where the data fit, and cases worked out by hand at the edges of the formats.

#include "core/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dataset.h"
#include "core/error.h"
#include "core/exact.h"
#include "core/narrow_float.h"

namespace reductio {
namespace {

__extension__ using Int128 = __int128;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double least = std::numeric_limits<double>::denorm_min();
constexpr double most = std::numeric_limits<double>::max();

ExactSum sum_of(std::initializer_list<double> terms) {
  ExactSum s;
  for (const double x : terms) s.add(x);
  return s;
}

template <class T>
Reference reference_of(Operation op, const std::vector<T>& tile, std::size_t n) {
  const ElementType type = std::is_same_v<T, float>         ? ElementType::f32
                           : std::is_same_v<T, double>      ? ElementType::f64
                           : std::is_same_v<T, F16>         ? ElementType::f16
                           : std::is_same_v<T, BF16>        ? ElementType::bf16
                           : std::is_same_v<T, std::int8_t> ? ElementType::i8
                           : sizeof(T) == 16                ? ElementType::i128
                           : sizeof(T) == 8                 ? ElementType::i64
                                                            : ElementType::i32;
  return reference(op, type, std::as_bytes(std::span(tile)), n);
}

template <class T>
Check check_of(T got, const Reference& want, std::size_t chain, Operation op = Operation::sum) {
  return check_result(&got, want, chain, op);
}

TEST(ExactSum, agrees_with_128_bit_integers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    ExactSum sum, squares;
    Int128 whole = 0, whole_squares = 0;
    const int width = 1 + static_cast<int>(random() % 53);
    const int square_width = std::min(width, 50);
    for (int i = 0; i < 200; ++i) {
      const auto m = static_cast<std::int64_t>(random() >> (64 - width)) * (random() % 2 ? 1 : -1);
      const int shift = static_cast<int>(random() % 60);
      sum.add(std::ldexp(static_cast<double>(m), shift));
      whole += static_cast<Int128>(m) << shift;
      const std::int64_t s = m >> (width - square_width);
      squares.add_square(static_cast<double>(s));
      whole_squares += static_cast<Int128>(s) * s;
    }
    // The compiler's conversion of an integer is correctly rounded.
    EXPECT_EQ(sum.to_f64(), static_cast<double>(whole));
    EXPECT_EQ(sum.to_f32(), static_cast<float>(whole));
    EXPECT_EQ(squares.to_f64(), static_cast<double>(whole_squares));
    ExactSum scaled;
    const std::uint64_t times = random() >> 63 << 5 | (random() & 31);
    scaled.add(sum, times);
    EXPECT_EQ(scaled.to_f64(), static_cast<double>(whole * static_cast<Int128>(times)));
  }
}

TEST(ExactSum, nothing_is_lost_however_far_apart) {
  EXPECT_EQ(sum_of({most, least, -most}).to_f64(), least);
  EXPECT_EQ(sum_of({1e300, 1, -1e300, 1e-300, -1}).to_f64(), 1e-300);
  EXPECT_EQ(sum_of({}).to_f64(), 0);
  EXPECT_FALSE(std::signbit(sum_of({1, -1}).to_f64()));
}

TEST(ExactSum, rounds_to_nearest_with_ties_to_even) {
  const double half_ulp = 0x1p-53;
  EXPECT_EQ(sum_of({1, half_ulp}).to_f64(), 1);
  EXPECT_EQ(sum_of({1, half_ulp, least}).to_f64(), 1 + 0x1p-52);
  EXPECT_EQ(sum_of({1 + 0x1p-52, half_ulp}).to_f64(), 1 + 0x1p-51);
  EXPECT_EQ(sum_of({-1, -half_ulp, -least}).to_f64(), -1 - 0x1p-52);
  EXPECT_EQ(sum_of({1, 0x1p-24}).to_f32(), 1.0f);
  EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-100}).to_f32(), std::nextafter(1.0f, 2.0f));
  // Rounding first to f64 and then to f32 would give 1.
  EXPECT_EQ(sum_of({1, 0x1p-24, 0x1p-60}).to_f32(), std::nextafter(1.0f, 2.0f));
  // A carry through the whole mantissa.
  EXPECT_EQ(sum_of({0x1.fffffffffffffp0, 0x1p-53}).to_f64(), 2);
}

TEST(ExactSum, subnormal_results) {
  EXPECT_EQ(sum_of({least, least, least}).to_f64(), 3 * least);
  EXPECT_EQ(sum_of({0x1p-1022, -least}).to_f64(), 0x1p-1022 - least);
  EXPECT_EQ(sum_of({0x1p-149}).to_f32(), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(sum_of({0x1p-150}).to_f32(), 0.0f);  // a tie: to even
  EXPECT_EQ(sum_of({0x1p-150, least}).to_f32(), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(sum_of({-0x1.8p-149}).to_f32(), -2 * std::numeric_limits<float>::denorm_min());
}

TEST(ExactSum, overflow_and_the_values_just_below_it) {
  EXPECT_EQ(sum_of({most}).to_f64(), most);
  EXPECT_EQ(sum_of({most, 0x1p969}).to_f64(), most);
  EXPECT_EQ(sum_of({most, 0x1p970}).to_f64(), inf);  // half an ulp above: a tie, to even
  EXPECT_EQ(sum_of({-most, -most}).to_f64(), -inf);
  constexpr float f32_most = std::numeric_limits<float>::max();
  EXPECT_EQ(sum_of({f32_most, 0x1p102}).to_f32(), f32_most);
  EXPECT_EQ(sum_of({f32_most, 0x1p103}).to_f32(), std::numeric_limits<float>::infinity());
  EXPECT_EQ(sum_of({-most}).to_f32(), -std::numeric_limits<float>::infinity());
}

TEST(ExactSum, squares_neither_underflow_nor_overflow) {
  ExactSum s;
  s.add_square(most);
  s.add_square(least);
  EXPECT_EQ(s.to_f64(), inf);
  EXPECT_TRUE(s.is_finite());
  ExactSum tiny;
  tiny.add_square(least);  // 2^-2148
  EXPECT_TRUE(tiny.magnitude_at_most_power_of_two(-2148));
  EXPECT_EQ(tiny.to_f64(), 0);
  ExactSum scaled;  // 2^-1082 * 2^63: far above the least subnormal
  ExactSum small;
  small.add_square(0x1p-541);
  scaled.add(small, 1ull << 63);
  EXPECT_EQ(scaled.to_f64(), 0x1p-1019);
}

TEST(ExactSum, special_values_follow_ieee_addition) {
  EXPECT_EQ(sum_of({1, inf}).to_f64(), inf);
  EXPECT_EQ(sum_of({-inf, 1}).to_f32(), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(sum_of({inf, 1, -inf}).to_f64()));
  EXPECT_TRUE(std::isnan(sum_of({nan, 1}).to_f32()));
  ExactSum s;
  s.add_square(-inf);
  EXPECT_EQ(s.to_f64(), inf);
  ExactSum none;
  none.add(sum_of({inf}), 0);
  EXPECT_EQ(none.to_f64(), 0);
}

TEST(ExactSum, carries_survive_many_additions) {
  ExactSum s;
  for (int i = 0; i < 3'000'000; ++i) {
    s.add(0x1.fffffffffffffp31);
    s.add_square(-0x1.fffffffffffffp15);
  }
  ExactSum scaled, one, one_square;
  one.add(0x1.fffffffffffffp31);
  one_square.add_square(0x1.fffffffffffffp15);
  scaled.add(one, 3'000'000);
  scaled.add(one_square, 3'000'000);
  EXPECT_EQ(s.to_f64(), scaled.to_f64());
}

TEST(ExactSum, compares_magnitudes_with_powers_of_two) {
  EXPECT_TRUE(sum_of({-1024}).magnitude_at_most_power_of_two(10));
  EXPECT_FALSE(sum_of({-1024, -least}).magnitude_at_most_power_of_two(10));
  EXPECT_FALSE(sum_of({1024, least}).magnitude_at_most_power_of_two(10));
  EXPECT_TRUE(sum_of({1024, -least}).magnitude_at_most_power_of_two(10));
}

TEST(ExactSum, lowest_bit_of_a_double) {
  EXPECT_EQ(lowest_bit(1), 0);
  EXPECT_EQ(lowest_bit(-6), 1);
  EXPECT_EQ(lowest_bit(least), -1074);
  EXPECT_EQ(lowest_bit(0x1.0000000000001p0), -52);
}

TEST(Reference, repeats_the_tile) {
  const std::vector<std::uint32_t> tile{0x80000001u, 7, 0xffffffffu};
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 100u, 100001u}) {
    std::uint32_t sum = 0, squares = 0;
    std::vector<float> floats{1.5f, -2.25f, 1e-3f};
    double float_sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += tile[i % 3];
      squares += tile[i % 3] * tile[i % 3];
      float_sum += static_cast<double>(floats[i % 3]);
    }
    EXPECT_EQ(reference_of(Operation::sum, tile, n).integer, sum) << n;
    EXPECT_EQ(reference_of(Operation::sum_of_squares, tile, n).integer, squares) << n;
    EXPECT_NEAR(reference_of(Operation::sum, floats, n).value, float_sum, 1e-7 * std::abs(float_sum)) << n;
  }
  // One pass over the tile, however many elements there are.
  const std::vector<double> one{1, 2};
  EXPECT_EQ(reference_of(Operation::sum, one, (1ull << 52) + 1).value, 0x1p51 + 0x1p52 + 1);
  EXPECT_EQ(reference_of(Operation::sum_of_squares, one, 1ull << 40).value, 5 * 0x1p39);
}

TEST(Reference, integers_of_128_bits_wrap) {
  const UInt128 most = ~UInt128{0} >> 1;
  const std::vector<UInt128> tile{most, 7, UInt128{1} << 64 | 5};
  for (const std::size_t n : {0u, 1u, 2u, 3u, 4u, 100u, 100001u}) {
    UInt128 sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += tile[i % 3];
    const Reference want = reference_of(Operation::sum, tile, n);
    EXPECT_TRUE(want.integer == sum) << n;
    EXPECT_TRUE(check_of(sum, want, 1).ok) << n;
    EXPECT_FALSE(check_of(sum ^ UInt128{1} << 100, want, 1).ok) << n;
  }
  const Reference lowest = reference_of(Operation::sum, std::vector<UInt128>{most, 1}, 2);
  EXPECT_EQ(check_of(UInt128{1} << 127, lowest, 1).text, "-170141183460469231731687303715884105728");
  EXPECT_EQ(check_of(most, lowest, 1).why.substr(0, 44), "got 170141183460469231731687303715884105727,");
  EXPECT_EQ(check_of(UInt128{0}, lowest, 1).text, "0");
  EXPECT_FALSE(is_defined(Operation::sum_of_squares, ElementType::i128));
}

TEST(Reference, narrow_elements_are_added_up_in_the_accumulator) {
  const std::vector<std::int8_t> bytes{-128, 127, -1};
  for (const std::size_t n : {1u, 3u, 100u, 100001u}) {
    std::int64_t sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += bytes[i % 3], squares += bytes[i % 3] * bytes[i % 3];
    const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(x)); };
    EXPECT_EQ(reference_of(Operation::sum, bytes, n).integer, bits(sum)) << n;
    EXPECT_EQ(reference_of(Operation::sum_of_squares, bytes, n).integer, bits(squares)) << n;
  }
  // Modulo 2^32: 2^33 times -128 is 0.
  EXPECT_EQ(reference_of(Operation::sum, std::vector<std::int8_t>{-128}, (1ull << 33) + 1).integer, 0xffffff80u);
  EXPECT_EQ(reference_of(Operation::sum, std::vector<std::int64_t>{-3, 1}, 1000001).integer,
            static_cast<std::uint64_t>(-1000003));
  EXPECT_EQ(reference_of(Operation::sum_of_squares, std::vector<std::int64_t>{1ll << 32, 5}, 3).integer, 25u)
      << "modulo 2^64";

  const Reference half = reference_of(Operation::sum, std::vector<F16>{F16(65504.0), F16(0x1p-24)}, 100);
  EXPECT_EQ(half.type, ElementType::f32);
  EXPECT_EQ(half.value + half.residual, 50 * 65504 + 50 * 0x1p-24) << "f16 itself would be infinite";
  EXPECT_FALSE(half.exact_in_any_order);
  EXPECT_EQ(reference_of(Operation::sum_of_squares, std::vector<F16>{F16(1000.0)}, 10).value, 1e7);
  EXPECT_TRUE(reference_of(Operation::sum, std::vector<BF16>{BF16(255.0), BF16(1.0)}, 1 << 16).all_exact());
}

TEST(Reference, moments_are_the_sum_and_the_sum_of_squares) {
  const auto examine = [](const auto& tile, std::size_t n) {
    const Reference both = reference_of(Operation::moments, tile, n), sum = reference_of(Operation::sum, tile, n),
                    squares = reference_of(Operation::sum_of_squares, tile, n);
    ASSERT_EQ(both.second.size(), 1u);
    EXPECT_EQ(both.value, sum.value);
    EXPECT_EQ(both.integer, sum.integer);
    EXPECT_EQ(both.second.front().value, squares.value);
    EXPECT_EQ(both.second.front().integer, squares.integer);
    EXPECT_EQ(both.all_exact(), sum.exact_in_any_order && squares.exact_in_any_order);
    EXPECT_TRUE(sum.second.empty());
  };
  examine(std::vector<std::uint32_t>{0x80000001u, 7, 0xffffffffu}, 1000);
  examine(std::vector<std::int8_t>{-128, 3}, 1000);
  examine(std::vector<double>{0.1, 0.25}, 7);
  examine(std::vector<float>{4097, 1}, 3);  // of which the squares alone are not exact
  EXPECT_FALSE(reference_of(Operation::moments, std::vector<float>{4097, 1}, 3).all_exact());
  EXPECT_TRUE(reference_of(Operation::moments, std::vector<float>{4095, 1}, 1).all_exact());
}

TEST(Reference, an_empty_tile_has_no_elements) {
  EXPECT_EQ(reference_of(Operation::sum, std::vector<double>{}, 0).value, 0);
  EXPECT_THROW(reference_of(Operation::sum, std::vector<double>{}, 1), UsageError);
}

TEST(Reference, magnitudes_and_residual) {
  const Reference r = reference_of(Operation::sum, std::vector<double>{1e30, 1, -1e30, 0x1p-60}, 4);
  EXPECT_EQ(r.value, 1);
  EXPECT_EQ(r.residual, 0x1p-60);
  EXPECT_EQ(r.sum_of_magnitudes, 2e30);
  EXPECT_FALSE(r.exact_in_any_order);
}

TEST(Reference, knows_what_is_exact_in_any_order) {
  const auto exact = [](auto tile, std::size_t n, Operation op = Operation::sum) {
    return reference_of(op, tile, n).exact_in_any_order;
  };
  EXPECT_TRUE(exact(std::vector<float>{1}, 1u << 24));
  EXPECT_FALSE(exact(std::vector<float>{1}, (1u << 24) + 1));
  EXPECT_TRUE(exact(std::vector<double>{1}, (1u << 24) + 1));
  EXPECT_TRUE(exact(std::vector<float>{0x1p100f, -0x1p100f}, 1u << 24));
  EXPECT_FALSE(exact(std::vector<float>{0x1p127f, -0x1p127f}, 2));  // another order of four may overflow
  EXPECT_TRUE(exact(std::vector<float>{0x1p-149f}, 1u << 24));
  EXPECT_TRUE(exact(std::vector<float>{}, 0));
  EXPECT_TRUE(exact(std::vector<float>{0, -0.0f}, 100));
  EXPECT_TRUE(exact(std::vector<float>{4095}, 1, Operation::sum_of_squares));
  EXPECT_FALSE(exact(std::vector<float>{4097}, 1, Operation::sum_of_squares));
  EXPECT_FALSE(exact(std::vector<float>{0x1p-100f}, 1, Operation::sum_of_squares));  // the square underflows
}

/// Elements of a data set, and a reference of them.
struct Data {
  Data(Operation operation, ElementType type, std::string_view dataset, std::size_t n)
      : operation(operation), type(type), n(n), tile(make_tile(dataset, type, n, 1)), exact(operation, type, tile, n) {}
  std::vector<std::byte> changed(const ChangedElement& c) const {
    std::vector<std::byte> out = tile;
    std::copy_n(c.is.begin(), c.bytes, out.begin() + static_cast<std::ptrdiff_t>(c.index * c.bytes));
    return out;
  }
  Operation operation;
  ElementType type;
  std::size_t n;
  std::vector<std::byte> tile;
  ExactReference exact;
};

TEST(ChangedElement, has_the_reference_of_the_changed_input) {
  std::mt19937_64 random(1);
  for (const Operation op : all_operations())
    for (const ElementType type : all_types())
      for (const std::string_view dataset : dataset_names(type)) {
        if (!is_defined(op, type)) continue;
        const Data data(op, type, dataset, 1000);
        const std::string what = std::string(name(op)) + " " + std::string(name(type)) + " " + std::string(dataset);
        const bool finite = std::isfinite(data.exact.reference().value);
        for (int i = 0; i < 5; ++i) {
          const auto c = data.exact.draw_change(data.tile, random, 100);
          // Squares of these overflow.
          if (!finite || (!c && (dataset == "alternating" || dataset == "whole-range" || dataset == "huge" ||
                                 dataset == "giants" || dataset == "constants")))
            continue;
          ASSERT_TRUE(c) << what;
          EXPECT_EQ(c->bytes, size_of(type));
          EXPECT_EQ(std::memcmp(c->was.data(), data.tile.data() + c->index * c->bytes, c->bytes), 0) << what;
          const Reference want = reference(op, type, data.changed(*c), data.n);
          for (const auto& [got, of] : {std::pair(&c->want, &want),
                                        std::pair(op == Operation::moments ? &c->want.second.front() : &c->want,
                                                  op == Operation::moments ? &want.second.front() : &want)}) {
            EXPECT_EQ(got->integer, of->integer) << what;
            EXPECT_EQ(got->value, of->value) << what;
            EXPECT_EQ(got->residual, of->residual) << what;
            EXPECT_EQ(got->sum_of_magnitudes, of->sum_of_magnitudes) << what;
            EXPECT_EQ(got->underflow, of->underflow) << what;
          }
          EXPECT_GE(c->want.all_exact(), data.exact.reference().all_exact()) << what;
        }
      }
}

/// The bytes of a result that is as right as an accumulator can have it.
std::vector<std::byte> right_result(const Reference& r) {
  std::vector<std::byte> out;
  const auto append = [&](auto value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
  };
  for (const Reference* of : {&r, r.second.empty() ? nullptr : &r.second.front()}) {
    if (!of) continue;
    if (of->type == ElementType::i128) append(of->integer);
    else if (of->type == ElementType::i64) append(static_cast<std::uint64_t>(of->integer));
    else if (of->type == ElementType::i32) append(static_cast<std::uint32_t>(of->integer));
    else if (of->type == ElementType::f32) append(static_cast<float>(of->value));
    else append(of->value);
  }
  return out;
}

// However long the chain of additions is, whose rounding is forgiven.
TEST(ChangedElement, makes_the_result_of_the_input_as_it_was_wrong) {
  std::mt19937_64 random(1);
  for (const Operation op : {Operation::sum, Operation::sum_of_squares, Operation::moments})
    for (const ElementType type : all_types()) {
      if (!is_defined(op, type)) continue;
      for (const std::string_view dataset : {"random", "exact"})
        for (const std::size_t n : {1, 2, 1000}) {
          const Data data(op, type, dataset, n);
          for (const std::size_t chain : {1, 30, 1 << 12, 1 << 20, 1 << 22, 7 << 20, 1 << 28}) {
            const auto c = data.exact.draw_change(data.tile, random, chain);
            ASSERT_TRUE(c) << name(op) << " " << name(type) << " " << dataset << " " << n;
            const auto judge = [&](const Reference& of) {
              return check_result(right_result(of).data(), c->want, chain, op).ok;
            };
            EXPECT_TRUE(judge(c->want)) << name(op) << " " << name(type) << " " << dataset << " " << n << " " << chain;
            EXPECT_FALSE(judge(data.exact.reference()))
                << name(op) << " " << name(type) << " " << dataset << " " << n << " " << chain;
          }
        }
    }
}

TEST(CheckCall, says_of_a_wrong_result_whether_it_was_right_before_the_change) {
  const Data data(Operation::sum, ElementType::i32, "random", 100);
  std::mt19937_64 random(1);
  const auto changed = data.exact.draw_change(data.tile, random, 100);
  const Reference& unchanged = data.exact.reference();
  const auto check = [&](const Reference& result, const ChangedElement* c) {
    return check_call(right_result(result).data(), unchanged, c, 100, Operation::sum, false);
  };
  const std::string element = "element " + std::to_string(changed->index) + " of the input was changed";
  EXPECT_TRUE(check(unchanged, nullptr).ok);
  EXPECT_TRUE(check(changed->want, &*changed).ok);
  const Check stale = check(unchanged, &*changed);
  EXPECT_FALSE(stale.ok);
  EXPECT_TRUE(stale.right_before);
  EXPECT_EQ(stale.about_change.find("; which was right before " + element), 0u) << stale.about_change;
  Reference other = unchanged;
  other.integer ^= changed->want.integer ^ 1;
  const Check wrong = check(other, &*changed), as_it_is = check(changed->want, nullptr);
  EXPECT_FALSE(wrong.ok || wrong.right_before);
  EXPECT_EQ(wrong.about_change, "; " + element + " for this call");
  EXPECT_FALSE(as_it_is.ok || as_it_is.right_before);
  EXPECT_EQ(as_it_is.about_change, "");
}

// Exact sums have no error to hide a change, but take longer of numbers with more exponents than the data set has.
TEST(ChangedElement, has_no_smaller_exponent_than_what_it_replaces) {
  std::mt19937_64 random(1);
  for (const Operation op : {Operation::sum, Operation::sum_of_squares})
    for (const ElementType type : {ElementType::f32, ElementType::f64})  // sums of 100 halves are exact in any order
      for (const std::string_view dataset : {"random", "positive", "normal"}) {
        const Data data(op, type, dataset, 100);
        for (int i = 0; i < 20; ++i) {
          const auto c = data.exact.draw_change(data.tile, random, 0);
          ASSERT_TRUE(c) << name(op) << " " << name(type) << " " << dataset;
          const auto exponent = [&](const ElementBytes& bits) {
            const auto as = [&]<class T>(T x) {
              std::memcpy(&x, bits.data(), sizeof x);
              return std::ilogb(x);
            };
            return type == ElementType::f32 ? as(float{}) : as(double{});
          };
          EXPECT_GE(exponent(c->is), exponent(c->was)) << name(op) << " " << name(type) << " " << dataset;
        }
      }
}

TEST(ChangedElement, is_any_of_all) {
  std::mt19937_64 random(1);
  const Data data(Operation::sum, ElementType::f32, "random", 100);
  std::set<std::size_t> drawn;
  for (int i = 0; i < 2000; ++i) drawn.insert(data.exact.draw_change(data.tile, random, 10)->index);
  EXPECT_EQ(drawn.size(), 100u);
  // Also behind the tile, which repeats.
  const std::vector<std::byte> tile(4, std::byte{1});
  const ExactReference repeated(Operation::sum, ElementType::i32, tile, 100);
  drawn.clear();
  for (int i = 0; i < 2000; ++i) drawn.insert(repeated.draw_change(tile, random, 10)->index);
  EXPECT_EQ(drawn.size(), 100u);
}

TEST(CheckResult, integers_match_modulo_2_to_the_32) {
  const Reference want = reference_of(Operation::sum, std::vector<std::uint32_t>{0x7fffffffu, 2}, 2);
  EXPECT_TRUE(check_of(0x80000001u, want, 1).ok);
  const Check wrong = check_of(0x80000000u, want, 1);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.why, "got -2147483648, want -2147483647");
  EXPECT_EQ(wrong.abs_error, 1);
}

TEST(CheckResult, integers_of_8_bytes_match_modulo_2_to_the_64) {
  const Reference want = reference_of(Operation::sum, std::vector<std::int64_t>{std::int64_t{1} << 62}, 3);
  EXPECT_TRUE(check_of(std::int64_t{-1} - ((std::int64_t{1} << 62) - 1), want, 1).ok);
  const Check wrong = check_of(std::int64_t{0}, want, 1);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.why, "got 0, want -4611686018427387904");
}

TEST(CheckResult, of_moments_both_values_must_be_right) {
  struct Pair {
    float sum, squares;
  };
  const auto of = [](Pair got, const std::vector<F16>& tile) {
    return check_result(&got, reference_of(Operation::moments, tile, tile.size()), 4, Operation::moments);
  };
  const std::vector<F16> whole{F16(3.0), F16(-5.0)};
  const Check right = of({-2, 34}, whole);
  EXPECT_TRUE(right.ok) << right.why;
  EXPECT_EQ(right.text, "-2");
  EXPECT_EQ(right.text2, "34");
  EXPECT_EQ(of({-1, 34}, whole).why, "sum: got -1, want -2 exactly");
  EXPECT_EQ(of({-1, 35}, whole).why, "sum: got -1, want -2 exactly");
  const Check squares = of({-2, 35}, whole);
  EXPECT_FALSE(squares.ok);
  EXPECT_EQ(squares.why, "sum of squares: got 35, want 34 exactly");
  EXPECT_EQ(squares.abs_error, 1);
  EXPECT_EQ(squares.text, "-2");
  EXPECT_EQ(squares.text2, "35");
  EXPECT_FALSE(of({34, -2}, whole).ok) << "in the other order";
  // Of one value there is no second text.
  EXPECT_EQ(check_of(1.0f, reference_of(Operation::sum, std::vector<float>{1}, 1), 0).text2, "");

  const std::vector<double> tile{0.1, 0.3};
  const double both[] = {0.4, 0.1 * 0.1 + 0.3 * 0.3};
  EXPECT_TRUE(check_result(both, reference_of(Operation::moments, tile, 2), 1, Operation::moments).ok);
  const std::uint32_t wrapped[] = {0, 0x80000000u};
  EXPECT_TRUE(check_result(wrapped,
                           reference_of(Operation::moments, std::vector<std::uint32_t>{0x8000u, 0xffff8000u}, 2), 1,
                           Operation::moments)
                  .ok);
}

TEST(CheckResult, exact_data_must_match_bit_for_bit) {
  const Reference want = reference_of(Operation::sum, std::vector<float>{3, 5}, 1000);
  ASSERT_TRUE(want.exact_in_any_order);
  EXPECT_TRUE(check_of(4000.0f, want, 1000).ok);
  EXPECT_FALSE(check_of(std::nextafter(4000.0f, 5000.0f), want, 1000).ok);
  const Reference zero = reference_of(Operation::sum, std::vector<float>{1, -1}, 2);
  EXPECT_TRUE(check_of(-0.0f, zero, 1).ok);
}

TEST(CheckResult, rounding_bound) {
  // 0.1f is not a multiple of a coarse unit: any order may round.
  const std::size_t n = 1 << 24;
  const Reference want = reference_of(Operation::sum, std::vector<float>{0.1f, 0.7f}, n);
  ASSERT_FALSE(want.exact_in_any_order);
  const double u = 0x1p-24, h = 30;
  const double bound = h * u / (1 - h * u) * want.sum_of_magnitudes;
  const auto value = static_cast<float>(want.value);
  const Check fine = check_of(static_cast<float>(want.value + 0.9 * bound), want, 30);
  EXPECT_TRUE(fine.ok) << fine.why;
  EXPECT_NEAR(fine.error_bound, bound, 1e-6 * bound);
  EXPECT_FALSE(check_of(static_cast<float>(want.value + 1.5 * bound), want, 30).ok);
  EXPECT_FALSE(check_of(static_cast<float>(want.value - 1.5 * bound), want, 30).ok);
  EXPECT_FALSE(check_of(0.0f, want, 30).ok);
  // No chain: no rounding is forgiven.
  EXPECT_TRUE(check_of(value, want, 1).ok);
  EXPECT_FALSE(
      check_of(std::nextafter(value, 2 * value), reference_of(Operation::sum, std::vector<float>{0.1f, 0.25f}, 2), 0)
          .ok);
}

TEST(CheckResult, squares_are_rounded_once_more) {
  const Reference want = reference_of(Operation::sum_of_squares, std::vector<float>{0.1f}, 1);
  EXPECT_TRUE(check_of(0.1f * 0.1f, want, 0, Operation::sum_of_squares).ok);
  EXPECT_FALSE(check_of(std::nextafter(0.1f * 0.1f, 1.0f), want, 0, Operation::sum_of_squares).ok);
  // Underflow: the square of 2^-80 is 0 in f32.
  const Reference tiny = reference_of(Operation::sum_of_squares, std::vector<float>{0x1p-80f}, 1000);
  EXPECT_TRUE(check_of(0.0f, tiny, 10, Operation::sum_of_squares).ok);
  EXPECT_FALSE(check_of(0x1p-120f, tiny, 10, Operation::sum_of_squares).ok);
}

TEST(CheckResult, nan_and_infinity_pass_only_where_they_belong) {
  const float f_inf = std::numeric_limits<float>::infinity(), f_nan = std::numeric_limits<float>::quiet_NaN();
  const auto want = [](std::vector<float> tile) { return reference_of(Operation::sum, tile, tile.size()); };
  EXPECT_FALSE(check_of(f_nan, want({0.1f, 0.2f}), 1000).ok);
  EXPECT_FALSE(check_of(f_inf, want({0.1f, 0.2f}), 1000).ok);
  EXPECT_FALSE(check_of(1.0f, want({f_nan, 1}), 1000).ok);
  EXPECT_FALSE(check_of(f_inf, want({f_nan, 1}), 1000).ok);
  EXPECT_TRUE(check_of(f_nan, want({f_nan, 1}), 1000).ok);
  EXPECT_TRUE(check_of(f_nan, want({f_inf, -f_inf}), 1000).ok);
  EXPECT_TRUE(check_of(f_inf, want({f_inf, 1}), 1000).ok);
  EXPECT_FALSE(check_of(-f_inf, want({f_inf, 1}), 1000).ok);
  EXPECT_FALSE(check_of(f_nan, want({f_inf, 1}), 1000).ok);
  EXPECT_FALSE(check_of(3.0f, want({f_inf, 1}), 1000).ok);
}

TEST(CheckResult, long_chains_over_terms_of_one_sign_may_lose_up_to_half) {
  // 2^24 partial sums added by f32 atomics: each is rounded to the large running sum's last place, the same way.
  const std::size_t n = std::size_t{1} << 28;
  const auto tile = make_tile("random", ElementType::f32, n, 1);
  const Reference squares = reference(Operation::sum_of_squares, ElementType::f32, tile, n);
  EXPECT_TRUE(check_of(static_cast<float>(squares.value * 0.97), squares, n / 16, Operation::sum_of_squares).ok);
  EXPECT_FALSE(check_of(static_cast<float>(squares.value * 0.49), squares, n / 16, Operation::sum_of_squares).ok);
  // Shorter chains have a proven bound, which 3 % is beyond.
  EXPECT_FALSE(check_of(static_cast<float>(squares.value * 0.97), squares, n / 4096, Operation::sum_of_squares).ok);
}

TEST(CheckResult, subnormals_may_be_flushed_only_where_the_plan_says_so) {
  const auto tile = make_tile("subnormal", ElementType::f32, 100, 1);
  const Reference want = reference(Operation::sum, ElementType::f32, tile, 100);
  ASSERT_GT(want.value, 0);
  const float nothing = 0, least_normal = std::numeric_limits<float>::min();
  EXPECT_FALSE(check_result(&nothing, want, 10, Operation::sum).ok);
  EXPECT_TRUE(check_result(&nothing, want, 10, Operation::sum, true).ok);
  const float too_much = 100 * least_normal;
  EXPECT_FALSE(check_result(&too_much, want, 10, Operation::sum, true).ok);
  // What may be behind it is told where it can be, and only there.
  const auto why = [&](float got, bool declared = false) {
    return check_result(&got, want, 10, Operation::sum, declared).why;
  };
  EXPECT_NE(why(0).find("declares flushes_subnormals"), std::string::npos) << why(0);
  EXPECT_NE(why(least_normal).find("declares flushes_subnormals"), std::string::npos) << why(least_normal);
  for (const std::string& other : {why(too_much), why(too_much, true), why(static_cast<float>(want.value / 2))})
    EXPECT_EQ(other.find("flushes_subnormals"), std::string::npos) << other;
  // Zero is within this bound, and wrong for another reason.
  const Reference large{.type = ElementType::f32, .value = 149040, .sum_of_magnitudes = 1e7};
  const std::string zero = check_result(&nothing, large, std::size_t{1} << 20, Operation::sum).why;
  EXPECT_NE(zero.find("within the bound, but exactly zero"), std::string::npos) << zero;
  EXPECT_EQ(zero.find("subnormal"), std::string::npos) << zero;
  // The room is for subnormals: whole numbers must still match.
  const auto ones = make_tile("exact", ElementType::f32, 100, 1);
  const Reference whole = reference(Operation::sum, ElementType::f32, ones, 100);
  const float off = static_cast<float>(whole.value) + 1;
  EXPECT_FALSE(check_result(&off, whole, 1000, Operation::sum, true).ok);
}

TEST(CheckResult, a_wide_sum_does_not_wrap_where_the_sum_does) {
  constexpr std::int32_t most_i32 = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> values{most_i32, 2};
  const Reference wide = reference_of(Operation::wide_sum, values, 5), own = reference_of(Operation::sum, values, 5);
  EXPECT_EQ(wide.type, ElementType::i64);
  const std::int64_t exact = 3 * std::int64_t{most_i32} + 4;
  EXPECT_TRUE(check_of(exact, wide, 5, Operation::wide_sum).ok);
  const auto wrapped = static_cast<std::int32_t>(exact);
  EXPECT_TRUE(check_of(wrapped, own, 5).ok);
  const Check narrow = check_of(std::int64_t{wrapped}, wide, 5, Operation::wide_sum);
  EXPECT_FALSE(narrow.ok);
  EXPECT_EQ(narrow.why, "got -2147483647, want 6442450945");
  // Past 2^32 elements of i8, and below zero.
  const std::size_t n = (std::size_t{1} << 33) + 1;
  const Reference bytes = reference_of(Operation::wide_sum, std::vector<std::int8_t>{-128}, n);
  EXPECT_TRUE(check_of(-128 * static_cast<std::int64_t>(n), bytes, n, Operation::wide_sum).ok);
}

TEST(CheckResult, a_wide_sum_of_floats_is_held_to_the_bound_of_its_accumulator) {
  const std::size_t n = 100000;
  const auto tile = make_tile("ill-conditioned", ElementType::f32, n, 1);
  const Reference wide = reference(Operation::wide_sum, ElementType::f32, tile, n);
  EXPECT_EQ(wide.type, ElementType::f64);
  ASSERT_FALSE(wide.exact_in_any_order);
  double sum = 0;
  float narrow = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float x;
    std::memcpy(&x, tile.data() + i * sizeof x, sizeof x);
    sum += x;
    narrow += x;
  }
  const Check right = check_of(sum, wide, n, Operation::wide_sum);
  EXPECT_TRUE(right.ok) << right.why;
  const Reference own = reference(Operation::sum, ElementType::f32, tile, n);
  const Check of_own = check_of(narrow, own, n);
  EXPECT_TRUE(of_own.ok) << of_own.why;
  EXPECT_NEAR(of_own.error_bound / right.error_bound, 0x1p29, 0x1p23) << "24 bits and 53";
  EXPECT_FALSE(check_of(double{narrow}, wide, n, Operation::wide_sum).ok);
}

TEST(CheckResult, chains_too_long_for_a_worst_case_bound_pass_nothing_idle) {
  // A sequential f32 sum of 2^28 elements: gamma_h is infinite.
  const std::size_t n = std::size_t{1} << 28;
  const auto tile = make_tile("random", ElementType::f32, n, 1);
  const Reference want = reference(Operation::sum, ElementType::f32, tile, n);
  EXPECT_TRUE(check_of(static_cast<float>(want.value) + 5, want, n).ok);
  EXPECT_FALSE(check_of(0.0f, want, n).ok);
  EXPECT_FALSE(check_of(std::numeric_limits<float>::quiet_NaN(), want, n).ok);
  const Reference squares = reference(Operation::sum_of_squares, ElementType::f32, tile, n);
  EXPECT_TRUE(check_of(static_cast<float>(squares.value), squares, n, Operation::sum_of_squares).ok);
  // Where a sequential sum stagnates: most of the sum is missing.
  const Check stagnated = check_of(0x1p24f, squares, n, Operation::sum_of_squares);
  EXPECT_FALSE(stagnated.ok);
  EXPECT_NE(stagnated.why.find("too long for a worst-case bound"), std::string::npos) << stagnated.why;
}

TEST(CheckResult, a_zeroed_buffer_fails_on_random_data_of_any_size) {
  for (const std::size_t n : {1000ul, 1ul << 20, 1ul << 26, (1ul << 32) + 1}) {
    const auto tile = make_tile("random", ElementType::f32, n, 7);
    const Reference want = reference(Operation::sum, ElementType::f32, tile, n);
    EXPECT_FALSE(check_of(0.0f, want, 100).ok) << n;
    EXPECT_FALSE(check_of(0.0f, want, n).ok) << n;
  }
}

TEST(CheckResult, zero_is_right_where_cancellation_gives_it) {
  const Reference want = reference_of(Operation::sum, std::vector<float>{1e20f, -1e20f, 1e-20f}, 3);
  EXPECT_TRUE(check_of(0.0f, want, 2).ok);
}

TEST(CheckResult, texts_read_back_exactly) {
  const Reference want = reference_of(Operation::sum, std::vector<float>{0.1f}, 1);
  EXPECT_EQ(check_of(0.1f, want, 0).text, "0.1");
  const Reference wide = reference_of(Operation::sum, std::vector<double>{0.1}, 1);
  EXPECT_EQ(check_of(0.1, wide, 0).text, "0.1");
  EXPECT_EQ(check_of(std::nextafter(0.1, 1), wide, 0).why.substr(0, 23), "got 0.10000000000000002");
}

}  // namespace
}  // namespace reductio
