#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <tuple>

#include "verify/pairwise.h"

namespace reductio {
namespace {

using Levels = std::vector<std::size_t>;

/// The number of pairs of levels that stand in no row.
std::size_t missing(const Levels& levels, const std::vector<std::vector<std::size_t>>& rows) {
  std::size_t count = 0;
  for (std::size_t f = 0; f < levels.size(); ++f)
    for (std::size_t g = f + 1; g < levels.size(); ++g)
      for (std::size_t a = 0; a < levels[f]; ++a)
        for (std::size_t b = 0; b < levels[g]; ++b)
          count += std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row[f] == a && row[g] == b; });
  return count;
}

class Pairwise : public testing::TestWithParam<Levels> {};

TEST_P(Pairwise, every_pair_stands_in_some_row) {
  const Levels& levels = GetParam();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto rows = pairwise(levels, seed);
    for (const auto& row : rows) {
      ASSERT_EQ(row.size(), levels.size());
      for (std::size_t f = 0; f < row.size(); ++f) ASSERT_LT(row[f], levels[f]);
    }
    EXPECT_EQ(missing(levels, rows), 0u);
    EXPECT_EQ(rows, pairwise(levels, seed));
  }
}

TEST_P(Pairwise, takes_few_rows) {
  Levels sorted = GetParam();
  std::sort(sorted.rbegin(), sorted.rend());
  const std::size_t least =
      sorted.size() > 1 ? sorted[0] * sorted[1] : std::accumulate(sorted.begin(), sorted.end(), 0ul);
  EXPECT_GE(pairwise(GetParam(), 1).size(), least);
  EXPECT_LE(pairwise(GetParam(), 1).size(), least + least / 2 + 10);
}

INSTANTIATE_TEST_SUITE_P(shapes, Pairwise,
                         testing::Values(Levels{}, Levels{5}, Levels{1, 1}, Levels{2, 2, 2, 2}, Levels{3, 1, 4, 1, 5},
                                         Levels{19, 13, 2, 2, 3, 3, 11, 4, 2}, Levels(12, 4)));

TEST(Pairwise, expensive_rows_are_few) {
  const Levels levels{20, 10, 5, 4};
  const auto expensive = [](const std::vector<std::size_t>& row) { return row[2] == 0 && row[3] == 0; };
  const auto count = [&](const auto& rows) { return std::count_if(rows.begin(), rows.end(), expensive); };
  const auto rows =
      pairwise(levels, 1, [&](const std::vector<std::size_t>& row) { return expensive(row) ? 100.0 : 1.0; });
  EXPECT_EQ(missing(levels, rows), 0u);
  EXPECT_LT(count(rows), count(pairwise(levels, 1)));
  EXPECT_LE(count(rows), 2);
}

}  // namespace
}  // namespace reductio
