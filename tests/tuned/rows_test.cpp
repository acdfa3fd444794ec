// tuned/rows.h, segments.h and columns.h by themselves: what bits follow from, rows that blocks share, and the ends of
// what may be loaded.

#include "tuned/rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/narrow_float.h"
#include "tests/device/sim/support.h"
#include "tests/sanitized.h"
#include "tuned/columns.h"
#include "tuned/segments.h"

namespace reductio::sim_tests {
namespace {

class SimRows : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimRows, testing::ValuesIn(orders_of_sums()), order_name);

constexpr tuned::Gpu two_sms_for_rows{2, 2048}, five_sms_for_rows{5, 2048};

Buffer<std::uint64_t> workspace_for_rows() {
  return zeros<std::uint64_t>(tuned::rows_workspace_words(five_sms_for_rows));
}

template <class Acc>
bool same_bits_of_rows(const Acc& a, const Acc& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Its bits alone, beside others, at odd addresses, with a pitch, by other blocks, and as a segment.
template <class In, class Acc, class Value>
void a_row_has_its_own_bits(const Value& value) {
  const Buffer<std::uint64_t> workspace = workspace_for_rows();
  std::mt19937 random(7);
  constexpr std::size_t in_vector = 16 / sizeof(In);
  // Around each of the trees; behind 512 vectors a row is a block's, behind 8,192 it has tiles.
  const std::vector<std::size_t> vectors{1,   2,   9,    130,  520,  1100, 4100, 9000, 2100, 3,
                                         5,   17,  33,   65,   512,  513,  1024, 1025, 2049, 8192, 8193};
  for (const std::size_t length : few_if_sanitized(8, vectors)) {
    const std::size_t n = length * in_vector - length % 3 % in_vector, rows = 3, pitch = n + 5;
    SCOPED_TRACE(n);
    std::vector<In> row(n), matrix(rows * n), padded(rows * pitch), shifted(1 + rows * n);
    for (In& x : row) x = value(random);
    for (In& x : matrix) x = value(random);
    for (In& x : padded) x = value(random);
    std::copy(row.begin(), row.end(), matrix.begin() + static_cast<std::ptrdiff_t>(n));
    std::copy(row.begin(), row.end(), padded.begin() + static_cast<std::ptrdiff_t>(pitch));
    std::copy(matrix.begin(), matrix.end(), shifted.begin() + 1);
    const Buffer<Acc> out(rows);
    const auto first = [&](std::size_t which) { return on_host(out)[which]; };
    const auto alone_in = on_device(row), in = on_device(matrix), padded_in = on_device(padded),
               odd = on_device(shifted);
    tuned::sum_rows(alone_in.ptr(), 1, n, n, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr);
    const Acc alone = first(0);
    tuned::sum_rows(in.ptr(), rows, n, n, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(1), alone)) << "beside others: " << first(1) << ", not " << alone;
    tuned::sum_rows(in.ptr(), rows, n, n, out.ptr(), workspace.ptr(), five_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(1), alone)) << "by more blocks";
    tuned::sum_rows(odd.ptr() + 1, rows, n, n, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(1), alone)) << "one element further: " << first(1) << ", not " << alone;
    tuned::sum_rows(padded_in.ptr(), rows, n, pitch, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(1), alone)) << "with a pitch: " << first(1) << ", not " << alone;
    const auto of = [](std::size_t i) { return static_cast<std::int64_t>(i); };
    const auto offsets = on_device(std::vector<std::int64_t>{0, of(n), of(2 * n), of(3 * n)});
    tuned::sum_segments(static_cast<const In*>(in.ptr()), static_cast<const std::int64_t*>(offsets.ptr()), rows,
                        out.ptr(), workspace.ptr(), five_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(1), alone)) << "as a segment: " << first(1) << ", not " << alone;
    // Where the memory ends, the last elements are loaded one by one.
    std::vector<In> tight(1 + n);
    std::copy(row.begin(), row.end(), tight.begin() + 1);
    const auto tight_in = on_device(tight);
    tuned::sum_segments(static_cast<const In*>(tight_in.ptr()) + 1, static_cast<const std::int64_t*>(offsets.ptr()), 1,
                        out.ptr(), workspace.ptr(), five_sms_for_rows, nullptr);
    EXPECT_TRUE(same_bits_of_rows(first(0), alone)) << "as the only segment: " << first(0) << ", not " << alone;
  }
  const std::vector<std::uint64_t> left = on_host(workspace);
  EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
}

TEST_P(SimRows, ARowsBitsAreItsOwn) {
  std::normal_distribution<double> normal;
  a_row_has_its_own_bits<float, float>([&](std::mt19937& r) { return static_cast<float>(normal(r)); });
  a_row_has_its_own_bits<double, double>([&](std::mt19937& r) { return normal(r); });
  a_row_has_its_own_bits<BF16, float>([&](std::mt19937& r) { return BF16(static_cast<float>(normal(r))); });
}

/// Tiles whose sums lie in far bands, in rows that blocks share and in rows that are one block's.
template <class T>
void rows_of_any_magnitude() {
  using L = std::numeric_limits<T>;
  constexpr int of_tile = 512 * 4 * 2 * 16 / int{sizeof(T)}, tiles = 5, rows = 5, n = tiles * of_tile;
  constexpr int small = L::min_exponent + 20, large = L::max_exponent - 20;
  std::vector<T> values(rows * n);
  const auto fill = [&](int row, int tile, T value) {
    std::fill_n(values.begin() + (row * n + tile * of_tile), of_tile, value);
  };
  for (int tile = 0; tile < tiles; ++tile) {
    fill(0, tile, std::ldexp(T(1), small));
    fill(1, tile, std::ldexp(T(-1), large - 16));
    fill(2, tile, tile == 2 ? std::ldexp(T(1), large - 16) : std::ldexp(T(1), small));
    fill(3, tile, 1);
    fill(4, tile, tile == 1 ? L::infinity() : tile == 3 ? -L::infinity() : T(1));
  }
  values[3 * n + of_tile] = L::infinity();
  const std::vector<T> want{std::ldexp(T(n), small), -std::ldexp(T(n), large - 16), std::ldexp(T(of_tile), large - 16),
                            L::infinity(), L::quiet_NaN()};
  const auto in = on_device(values);
  const Buffer<T> out(rows);
  const Buffer<std::uint64_t> workspace = workspace_for_rows();
  for (const tuned::Gpu& gpu : {two_sms_for_rows, five_sms_for_rows, tuned::Gpu{1, 512}}) {
    tuned::sum_rows(in.ptr(), rows, n, n, out.ptr(), workspace.ptr(), gpu, nullptr);
    const std::vector<T> got = on_host(out);
    for (int row = 0; row < rows; ++row)
      EXPECT_TRUE(std::isnan(want[row]) ? std::isnan(got[row]) : got[row] == want[row]) << row << ": " << got[row];
    const std::vector<std::uint64_t> left = on_host(workspace);
    EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
  }
}
TEST_P(SimRows, TilesMayLieFarFromOne) {
  rows_of_any_magnitude<float>();
  if (!sanitized) rows_of_any_magnitude<double>();
}

/// Of n elements in a row, the first 1 and the others 0, sums are 1. Behind the last row lies nothing to be loaded.
template <class In, class Acc>
void tiny_rows(std::size_t rows, std::size_t columns, std::size_t start) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns) + " from " + std::to_string(start));
  std::vector<In> values(start + rows * columns, In(0));
  for (std::size_t r = 0; r < rows; ++r) values[start + r * columns] = In(1);
  const auto in = on_device(values);
  const Buffer<Acc> out(rows);
  const Buffer<std::uint64_t> workspace = workspace_for_rows();
  tuned::sum_rows(in.ptr() + start, rows, columns, columns, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr);
  EXPECT_EQ(on_host(out), std::vector<Acc>(rows, Acc(1)));
}
TEST_P(SimRows, NothingIsLoadedBehindTheLastRow) {
  tiny_rows<float, float>(4097, 1, 1);
  tiny_rows<float, float>(2049, 2, 1);
  tiny_rows<BF16, float>(5461, 3, 0);
  tiny_rows<std::int32_t, std::int32_t>(4097, 1, 1);
}

/// Of few blocks, so that each has several windows of offsets, tiles and rounds of long ones.
template <class In, class Acc>
void segments_of(const std::vector<std::size_t>& lengths, std::size_t start) {
  SCOPED_TRACE(std::to_string(lengths.size()) + " segments from " + std::to_string(start));
  std::vector<std::int64_t> offsets{static_cast<std::int64_t>(start)};
  std::vector<In> values(start);
  std::vector<Acc> want;
  for (const std::size_t length : lengths) {
    Acc sum{};
    for (std::size_t i = 0; i < length; ++i) {
      const int value = static_cast<int>(values.size() * 7 % 31) - 12;
      values.push_back(In(value));
      sum += static_cast<Acc>(value);
    }
    want.push_back(sum);
    offsets.push_back(static_cast<std::int64_t>(values.size()));
  }
  const auto in = on_device(values);
  const auto offsets_in = on_device(offsets);
  const Buffer<Acc> out(lengths.size());
  const Buffer<std::uint64_t> workspace = workspace_for_rows();
  tuned::sum_segments(static_cast<const In*>(in.ptr()), static_cast<const std::int64_t*>(offsets_in.ptr()),
                      lengths.size(), out.ptr(), workspace.ptr(), tuned::Gpu{1, 2048}, nullptr);
  EXPECT_EQ(on_host(out), want);
}
TEST_P(SimRows, SegmentsOfAnyLengths) {
  std::mt19937 random(5);
  std::vector<std::size_t> mixed;
  for (int k = 0; k < (sanitized ? 300 : 6000); ++k) {
    const unsigned kind = random() % 100;
    mixed.push_back(kind < 60 ? random() % 4 : kind < 97 ? random() % 40 : random() % 900);
  }
  mixed.insert(mixed.begin() + 100, 40000);
  segments_of<float, float>(mixed, 0);
  segments_of<BF16, float>(mixed, 3);
  segments_of<std::int8_t, std::int32_t>(mixed, 5);
  segments_of<double, double>(std::vector<std::size_t>(sanitized ? 20 : 900, 1025), 1);
  segments_of<std::int32_t, std::int32_t>(std::vector<std::size_t>(sanitized ? 500 : 5000, 1), 1);
  segments_of<float, float>(std::vector<std::size_t>(3000, 0), 0);
}

/// By one block and by many, with a rest behind the rows that are read as one; at odd addresses by other loads. What
/// lies between rows (pitch) would show.
template <class In, class Acc>
void columns_of(std::size_t rows, std::size_t columns, std::size_t pitch = 0, std::size_t matrices = 1) {
  if (pitch == 0) pitch = columns;
  SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns");
  std::vector<In> values(matrices * rows * pitch, In(100)), shifted(1 + values.size(), In(100));
  std::vector<Acc> want(matrices * columns);
  for (std::size_t r = 0; r < matrices * rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const int value = static_cast<int>((r * columns + c) * 7 % 31) - 12;
      values[r * pitch + c] = shifted[r * pitch + c + 1] = In(value);
      want[r / rows * columns + c] += static_cast<Acc>(value);
    }
  const auto in = on_device(values), odd = on_device(shifted);
  const auto workspace = zeros<std::uint64_t>(tuned::columns_workspace_words<In, Acc>());
  const Buffer<Acc> out(want.size());
  for (const In* const start : {static_cast<const In*>(in.ptr()), static_cast<const In*>(odd.ptr()) + 1}) {
    tuned::sum_columns(start, rows, columns, pitch, out.ptr(), workspace.ptr(), two_sms_for_rows, nullptr, matrices);
    EXPECT_EQ(on_host(out), want);
  }
}
TEST_P(SimRows, ColumnsOfAnyShape) {
  columns_of<float, float>(2047 + 3 * 2048, 1);
  columns_of<float, float>(40000, 3);
  columns_of<double, double>(999, 33);
  columns_of<std::int32_t, std::int32_t>(3, 1001);
  columns_of<float, float>(700, 300);
  // Tiles so narrow that a warp has lanes in several rows.
  columns_of<std::int8_t, std::int32_t>(520, 100, 112);
  columns_of<BF16, float>(520, 100, 104);
  columns_of<float, float>(520, 100, 0, 2);
}

}  // namespace
}  // namespace reductio::sim_tests
