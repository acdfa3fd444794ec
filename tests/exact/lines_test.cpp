// exact/lines.h on the simulated device: of each row, column and segment the bits of core's exact sum, on data that
// rounded sums get wrong, whoever shares a line; and tuned's sums of several matrices and of squares, which the call
// along an axis takes.

#include "exact/lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/exact.h"
#include "core/narrow_float.h"
#include "tests/device/sim/support.h"
#include "tests/sanitized.h"
#include "tuned/columns.h"

namespace reductio::sim_tests {
namespace {

class SimLines : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimLines, testing::ValuesIn(orders_of_sums()), order_name);

constexpr tuned::Gpu few_blocks{1, 2048}, more_blocks{5, 2048};

/// The exact sum of `n` elements, `step` apart.
template <class Acc, class In>
Acc exact_sum_of_line(const In* in, std::size_t n, std::size_t step = 1) {
  ExactSum sum;
  bool only_negative_zeros = n > 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(in[i * step]);
    sum.add(x);
    only_negative_zeros = only_negative_zeros && x == 0 && std::signbit(x);
  }
  if (only_negative_zeros) return -Acc(0);
  return std::is_same_v<Acc, float> ? static_cast<Acc>(sum.to_f32()) : static_cast<Acc>(sum.to_f64());
}

template <class Acc>
void expect_bits(const std::vector<Acc>& got, const std::vector<Acc>& want, const std::string& what) {
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : std::memcmp(&got[i], &want[i], sizeof(Acc)) == 0)
        << what << ", " << i << ": " << got[i] << ", not " << want[i];
}

/// Lines take turns between these: about 1 and cancelling, all exponents, -0, infinities of both signs, and what
/// overflows on the way.
template <class In, class Value>
std::vector<In> lines_of(std::size_t count, std::size_t n, const Value& value, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<In> out;
  for (std::size_t line = 0; line < count; ++line)
    for (std::size_t i = 0; i < n; ++i) {
      const double about_one = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
      const std::size_t kind = line % 5;
      out.push_back(kind == 2 ? value(-0.0)
                    : kind == 3 && i % 1000 == 7
                        ? value(i % 2000 == 7 ? std::numeric_limits<double>::infinity() : -2.0)
                    : kind == 1 ? value(std::ldexp(about_one, static_cast<int>(random() % 240) - 120))
                                : value(about_one));
      if (kind == 4 && i % 2 == 1) out.back() = value(-static_cast<double>(out[out.size() - 2]));
    }
  return out;
}

/// Calls with a workspace that is zero before and behind.
template <class Call>
void in_workspace(const tuned::Gpu& gpu, const Call& call) {
  const Buffer<std::uint64_t> workspace = zeros<std::uint64_t>(exact::lines_workspace_words(gpu));
  call(workspace.ptr());
  const std::vector<std::uint64_t> left = on_host(workspace);
  EXPECT_EQ(std::count(left.begin(), left.end(), 0u), static_cast<std::ptrdiff_t>(left.size()));
}

/// As rows, at an odd address, with a pitch, as segments of which some are empty, and as columns.
template <class In, class Acc, class Value>
void lines_have_the_bits_of_exact_sums(std::size_t count, std::size_t n, const Value& value) {
  SCOPED_TRACE(std::to_string(count) + " lines of " + std::to_string(n));
  const std::vector<In> rows = lines_of<In>(count, n, value, static_cast<unsigned>(n));
  std::vector<In> odd(1 + rows.size()), padded(count * (n + 3), value(1.0));
  std::copy(rows.begin(), rows.end(), odd.begin() + 1);
  std::vector<Acc> want, of_columns;
  std::vector<std::int64_t> offsets{0, 0};  // an empty one before and behind
  for (std::size_t r = 0; r < count; ++r) {
    want.push_back(exact_sum_of_line<Acc>(rows.data() + r * n, n));
    std::copy_n(rows.data() + r * n, n, padded.data() + r * (n + 3));
    offsets.push_back(static_cast<std::int64_t>((r + 1) * n));
  }
  offsets.push_back(offsets.back());
  std::vector<Acc> of_segments{0};
  of_segments.insert(of_segments.end(), want.begin(), want.end());
  of_segments.push_back(0);
  for (std::size_t c = 0; c < n; ++c) of_columns.push_back(exact_sum_of_line<Acc>(rows.data() + c, count, n));
  const auto in = on_device(rows), odd_in = on_device(odd), padded_in = on_device(padded);
  const auto offsets_in = on_device(offsets);
  const Buffer<Acc> out(count), padded_out(count), odd_out(count), segments(count + 2), columns(n);
  in_workspace(few_blocks, [&](std::uint64_t* workspace) {
    exact::sum_rows(in.ptr(), count, n, n, out.ptr(), workspace, few_blocks, nullptr);
    expect_bits(on_host(out), want, "rows");
    exact::sum_rows(padded_in.ptr(), count, n, n + 3, padded_out.ptr(), workspace, few_blocks, nullptr);
    expect_bits(on_host(padded_out), want, "rows with a pitch");
    exact::sum_segments(static_cast<const In*>(in.ptr()), static_cast<const std::int64_t*>(offsets_in.ptr()), count + 2,
                        segments.ptr(), workspace, few_blocks, nullptr);
    expect_bits(on_host(segments), of_segments, "segments");
    if (n > 200) return;  // blocks of 512 threads for 16 columns each
    exact::sum_columns(in.ptr(), count, n, n, columns.ptr(), workspace, few_blocks, nullptr);
    expect_bits(on_host(columns), of_columns, "columns");
  });
  in_workspace(more_blocks, [&](std::uint64_t* workspace) {
    exact::sum_rows(odd_in.ptr() + 1, count, n, n, odd_out.ptr(), workspace, more_blocks, nullptr);
    expect_bits(on_host(odd_out), want, "rows, one element further");
  });
}

/// A warp's tile is of 128 vectors, a block's of 1,024. Up to 1,024 vectors a row may be a warp's.
TEST_P(SimLines, HaveTheBitsOfExactSums) {
  const auto as_float = [](double x) { return static_cast<float>(x); };
  const std::vector<std::size_t> lengths{5, 130, 4101, 520, 13001, 1500};
  for (const std::size_t n : few_if_sanitized(2, lengths))
    lines_have_the_bits_of_exact_sums<float, float>(5, n, as_float);
  if (sanitized) return;
  lines_have_the_bits_of_exact_sums<float, float>(70, 600, as_float);  // warps of several blocks
  lines_have_the_bits_of_exact_sums<double, double>(5, 2051, [](double x) { return x; });
  lines_have_the_bits_of_exact_sums<float, double>(5, 700, as_float);
  lines_have_the_bits_of_exact_sums<BF16, float>(5, 8205, [](double x) { return BF16(static_cast<float>(x)); });
}

/// A warp takes a row where it is as fast as a block, of whose threads a short row needs few.
TEST(ExactRows, WarpsTakeShortRowsAndBlocksBelongToOneRow) {
  const auto blocks = [](std::size_t rows, std::size_t columns) {
    return exact::rows_launch<float>(rows, columns, tuned::h200).blocks;
  };
  EXPECT_EQ(blocks(0, 8192), 1u);
  EXPECT_EQ(blocks(100, 1000), 13u);     // 8 warps each
  EXPECT_EQ(blocks(500, 2048), 500u);    // a block for 8 KiB, but
  EXPECT_EQ(blocks(1000, 3000), 125u);   // no block for two such rows
  EXPECT_EQ(blocks(1000, 4096), 528u);   // 16 KiB
  EXPECT_EQ(blocks(1100, 4096), 138u);
  EXPECT_EQ(blocks(128, 8192), 128u);    // two tiles
  EXPECT_EQ(blocks(128, 32768), 512u);   // eight: four blocks each, not 4.1
  EXPECT_EQ(blocks(16, 32768), 128u);    // never more than tiles
  EXPECT_EQ(blocks(400, 32768), 400u);   // one each
  EXPECT_EQ(blocks(300, 32768), 528u);   // or half of all would be idle
  EXPECT_EQ(blocks(600, 32768), 528u);
}

/// One giant among dust, which all blocks share: 12 tiles and a bit of 4,096 floats each.
TEST_P(SimLines, BlocksShareOneSegment) {
  const std::size_t dust = 300, giant = 50003;
  std::vector<std::int64_t> offsets{0};
  for (std::size_t s = 0; s < 2 * dust; ++s) {
    if (s == dust) offsets.push_back(offsets.back() + static_cast<std::int64_t>(giant));
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(s % 3));
  }
  const std::vector<float> values =
      lines_of<float>(2, giant, [](double x) { return static_cast<float>(x); }, 3);  // the second has all exponents
  const std::size_t n = static_cast<std::size_t>(offsets.back()), count = offsets.size() - 1;
  for (const std::size_t first : {std::size_t{1}, giant}) {
    const std::vector<float> some(values.begin() + static_cast<std::ptrdiff_t>(first),
                                  values.begin() + static_cast<std::ptrdiff_t>(std::min(first + n, values.size())));
    std::vector<std::int64_t> ends = offsets;
    for (std::int64_t& end : ends) end = std::min(end, static_cast<std::int64_t>(some.size()));
    std::vector<float> want;
    for (std::size_t s = 0; s < count; ++s)
      want.push_back(exact_sum_of_line<float>(some.data() + ends[s], static_cast<std::size_t>(ends[s + 1] - ends[s])));
    const auto in = on_device(some);
    const auto ends_in = on_device(ends);
    for (const tuned::Gpu& gpu : {few_blocks, more_blocks}) in_workspace(gpu, [&](std::uint64_t* workspace) {
      const Buffer<float> out(count);
      exact::sum_segments(static_cast<const float*>(in.ptr()), static_cast<const std::int64_t*>(ends_in.ptr()), count,
                          out.ptr(), workspace, gpu, nullptr);
      expect_bits(on_host(out), want, "segments");
    });
  }
}

/// Narrow ones are read as wider ones; of many rows several blocks have a column.
TEST_P(SimLines, ColumnsOfSeveralMatrices) {
  struct Shape {
    std::size_t matrices, rows, columns;
  };
  for (const Shape& s : {Shape{1, 9003, 1}, Shape{3, 600, 5}, Shape{2, 1100, 17}, Shape{20, 7, 8}}) {
    SCOPED_TRACE(std::to_string(s.matrices) + " of " + std::to_string(s.rows) + "x" + std::to_string(s.columns));
    const std::size_t of_matrix = s.rows * s.columns;
    const std::vector<float> values =
        lines_of<float>(1, s.matrices * of_matrix, [](double x) { return static_cast<float>(x); }, 5);
    std::vector<float> whole(values.size()), want, of_whole, of_squares;
    for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<float>(i * 7 % 31) - 12;
    for (std::size_t i = 0; i < s.matrices * s.columns; ++i) {
      const std::size_t first = i / s.columns * of_matrix + i % s.columns;
      want.push_back(exact_sum_of_line<float>(values.data() + first, s.rows, s.columns));
      float sum = 0, squares = 0;
      for (std::size_t r = 0; r < s.rows; ++r) {
        const float x = whole[first + r * s.columns];
        sum += x, squares += x * x;
      }
      of_whole.push_back(sum);
      of_squares.push_back(squares);
    }
    const auto in = on_device(values), whole_in = on_device(whole);
    const Buffer<float> out(want.size());
    for (const tuned::Gpu& gpu : {few_blocks, more_blocks}) {
      in_workspace(gpu, [&](std::uint64_t* workspace) {
        exact::sum_columns(in.ptr(), s.rows, s.columns, s.columns, out.ptr(), workspace, gpu, nullptr, s.matrices);
        expect_bits(on_host(out), want, "exact columns");
      });
      const auto workspace = zeros<std::uint64_t>(tuned::columns_workspace_words<float, float>());
      tuned::sum_columns(static_cast<const float*>(whole_in.ptr()), s.rows, s.columns, s.columns, out.ptr(),
                         workspace.ptr(), gpu, nullptr, s.matrices);
      EXPECT_EQ(on_host(out), of_whole);
      tuned::ColumnSums<float, float, tuned::Square>(s.rows, s.columns, s.columns, gpu, s.matrices)(
          whole_in.ptr(), out.ptr(), workspace.ptr(), nullptr);
      EXPECT_EQ(on_host(out), of_squares);
    }
  }
}

/// A matrix ends behind its last row's pitch, in both libraries.
TEST_P(SimLines, ColumnsOfSeveralMatricesWithAPitch) {
  const std::size_t matrices = 3, rows = 37, columns = 20, pitch = 23;
  std::vector<float> values(matrices * rows * pitch), want(matrices * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7 % 31) - 12;
    if (i % pitch < columns) want[i / (rows * pitch) * columns + i % pitch] += values[i];
  }
  const auto in = on_device(values);
  const Buffer<float> out(want.size());
  in_workspace(few_blocks, [&](std::uint64_t* workspace) {
    exact::sum_columns(in.ptr(), rows, columns, pitch, out.ptr(), workspace, few_blocks, nullptr, matrices);
    EXPECT_EQ(on_host(out), want);
  });
  const auto workspace = zeros<std::uint64_t>(tuned::columns_workspace_words<float, float>());
  tuned::sum_columns(static_cast<const float*>(in.ptr()), rows, columns, pitch, out.ptr(), workspace.ptr(), few_blocks,
                     nullptr, matrices);
  EXPECT_EQ(on_host(out), want);
}

/// Two tiles of 512 rows, and no other block: the sum of all lanes has more bits than that of one tile.
TEST_P(SimLines, ColumnsOfOneSign) {
  const std::size_t rows = 1024, columns = 17;
  const auto in = on_device(std::vector<float>(rows * columns, 12));
  const Buffer<float> out(columns);
  in_workspace(few_blocks, [&](std::uint64_t* workspace) {
    exact::sum_columns(in.ptr(), rows, columns, columns, out.ptr(), workspace, few_blocks, nullptr);
    EXPECT_EQ(on_host(out), std::vector<float>(columns, static_cast<float>(12 * rows)));
  });
}

/// Whole numbers, of which rows of each kind have sums of squares without rounding.
TEST_P(SimLines, SquaresOfRows) {
  for (const std::size_t n : {3, 40, 600, 4000, 17001}) {
    const std::size_t rows = 3;
    std::vector<float> values(rows * n), want(rows);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7 % 31) - 12;
      want[i / n] += values[i] * values[i];
    }
    const auto in = on_device(values);
    const tuned::Gpu& gpu = more_blocks;
    const auto workspace = zeros<std::uint64_t>(tuned::rows_workspace_words(gpu));
    const Buffer<float> out(rows);
    tuned::RowSums<float, float, tuned::Square>(rows, n, n, gpu)(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out), want) << n;
  }
}

}  // namespace
}  // namespace reductio::sim_tests
