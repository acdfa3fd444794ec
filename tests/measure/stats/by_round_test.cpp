#include "measure/stats/by_round.h"
#include "tests/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace reductio {
namespace {

TEST(MeasureByRound, TheReadCeilingIsNotTheLuckiestOfItsKernels) {
  SIMULATION_FOR_RELEASE_BUILDS();
  // Six equal kernels with noise. The least of their medians is below the truth by selection; the ceiling is not.
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(10, 1);
  double ceiling = 0, luckiest = 0;
  constexpr int trials = 2000;
  for (int t = 0; t < trials; ++t) {
    std::vector<ByRound> kernels(6, ByRound(15));
    double least = 1e9;
    for (auto& k : kernels) {
      std::vector<double> s;
      for (auto& x : k) s.push_back(*(x = noise(random)));
      least = std::min(least, median(s));
    }
    ceiling += read_ceiling_of(kernels, {}, 0.95)->median_s / trials;
    luckiest += least / trials;
  }
  EXPECT_NEAR(ceiling, 10, 0.05);
  EXPECT_LT(luckiest, 9.7);
}

TEST(MeasureByRound, TheReadCeilingIsTheFastestWhereThereIsOneAndCopesWithFewRounds) {
  const ByRound slow{5, 5, 5, 5}, fast{1, 2, 1, 2};
  EXPECT_EQ(read_ceiling_of({slow, fast}, {}, 0.95)->seconds, fast);
  EXPECT_EQ(read_ceiling_of({slow, fast}, {}, 0.95)->median_s, 1.5);
  EXPECT_EQ(read_ceiling_of({{3.0}, {2.0}}, {}, 0.95)->median_s, 2);
  EXPECT_FALSE(read_ceiling_of({}, {}, 0.95));
  EXPECT_FALSE(read_ceiling_of({ByRound(3)}, {}, 0.95));
  // Rounds that were voided may be all of one parity.
  const auto gap = std::nullopt;
  EXPECT_EQ(read_ceiling_of({{5.0, gap, 5.0}, {2.0, gap, 3.0}}, {}, 0.95)->seconds, (ByRound{2.0, gap, 3.0}));
  EXPECT_EQ(read_ceiling_of({{gap, 5.0, gap}, {gap, 2.0, gap}}, {}, 0.95)->median_s, 2);
}

TEST(MeasureByRound, SharesArePairedByRound) {
  // Both drift by a factor of four together; unpaired medians would hide that the ratio is constant.
  const ByRound ceiling{1, 2, 4, std::nullopt}, times{2, 4, 8, 1}, gaps{2, std::nullopt, 8, 1};
  EXPECT_DOUBLE_EQ(*share_of(ceiling, times), 0.5);
  EXPECT_DOUBLE_EQ(*share_of(ceiling, gaps), 0.5);
  EXPECT_FALSE(share_of(ByRound(4), times));
}

}  // namespace
}  // namespace reductio
