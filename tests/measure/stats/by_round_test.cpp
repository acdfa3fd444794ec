#include "measure/stats/by_round.h"
#include "tests/sanitized.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace reductio {
namespace {

TEST(MeasureByRound, TheReadCeilingIsNotTheLuckiestOfItsKernels) {
  LEFT_TO_RELEASE_BUILDS();
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
    ceiling += read_ceiling_of(kernels, {}, 0.95)->time_s / trials;
    luckiest += least / trials;
  }
  EXPECT_NEAR(ceiling, 10, 0.05);
  EXPECT_LT(luckiest, 9.7);
}

TEST(MeasureByRound, TheReadCeilingIsTheFastestWhereThereIsOneAndCopesWithFewRounds) {
  const ByRound slow{5, 5, 5, 5}, fast{1, 2, 1, 2};
  EXPECT_EQ(read_ceiling_of({slow, fast}, {}, 0.95)->seconds, fast);
  EXPECT_DOUBLE_EQ(read_ceiling_of({slow, fast}, {}, 0.95)->time_s, std::sqrt(2.0));
  EXPECT_EQ(read_ceiling_of({{3.0}, {2.0}}, {}, 0.95)->time_s, 2);
  EXPECT_FALSE(read_ceiling_of({}, {}, 0.95));
  EXPECT_FALSE(read_ceiling_of({ByRound(3)}, {}, 0.95));
  // Rounds that were voided may be all of one parity.
  const auto gap = std::nullopt;
  EXPECT_EQ(read_ceiling_of({{5.0, gap, 5.0}, {2.0, gap, 3.0}}, {}, 0.95)->seconds, (ByRound{2.0, gap, 3.0}));
  EXPECT_EQ(read_ceiling_of({{gap, 5.0, gap}, {gap, 2.0, gap}}, {}, 0.95)->time_s, 2);
}

TEST(MeasureByRound, SharesArePairedByRound) {
  // Both drift by a factor of four together; unpaired medians would hide that the ratio is constant.
  const ByRound ceiling{1, 2, 4, std::nullopt}, times{2, 4, 8, 1}, gaps{2, std::nullopt, 8, 1};
  EXPECT_DOUBLE_EQ(*share_of(ceiling, times), 0.5);
  EXPECT_DOUBLE_EQ(*share_of(ceiling, gaps), 0.5);
  EXPECT_FALSE(share_of(ByRound(4), times));
}

TEST(MeasureByRound, ATimeIsTheCentreOfWhatAllocationsTook) {
  // Three rounds on each of seven contexts, one of which is slow, and one call in each that was interrupted.
  ByRound seconds;
  std::vector<int> contexts;
  for (int a = 0; a < 7; ++a)
    for (int r = 0; r < 10; ++r) {
      seconds.push_back(r == 4 ? 1.0 : (a == 3 ? 2e-6 : 1e-6));
      contexts.push_back(a);
    }
  const CentralTime t = central_time(seconds, contexts, 0.95);
  EXPECT_DOUBLE_EQ(t.seconds, 1e-6);
  EXPECT_TRUE(t.enough);
  EXPECT_GE(t.confidence, 0.95);
  EXPECT_DOUBLE_EQ(t.interval.low, 1e-6);
  EXPECT_LT(t.interval.high, 2e-6);
}

TEST(MeasureByRound, ACallOfTwoTimesTakesWhatLiesBetween) {
  ByRound seconds;
  std::vector<int> contexts;
  for (int a = 0; a < 12; ++a)
    for (int r = 0; r < 10; ++r) {
      seconds.push_back((a + r) % 2 ? 8e-6 : 6e-6);
      contexts.push_back(a);
    }
  const CentralTime t = central_time(seconds, contexts, 0.95);
  EXPECT_NEAR(t.seconds, std::sqrt(48) * 1e-6, 1e-12);
  EXPECT_LT(t.interval.high - t.interval.low, 1e-12);
}

TEST(MeasureByRound, WhatIsTooLittleForAnIntervalIsToldAndSpansTheSamples) {
  const CentralTime three = central_time({3e-6, 1e-6, std::nullopt, 2e-6}, std::vector{0, 1, 2, 3}, 0.95);
  EXPECT_FALSE(three.enough);
  EXPECT_DOUBLE_EQ(three.confidence, 0.75);
  EXPECT_EQ(three.interval.low, 1e-6);
  EXPECT_EQ(three.interval.high, 3e-6);
  // Many rounds on three contexts: the rounds' own spread is known, what contexts differ by is not.
  ByRound seconds;
  std::vector<int> contexts;
  for (int r = 0; r < 48; ++r) {
    seconds.push_back(1e-6 * (1 + r / 16) + 1e-9 * (r % 5));
    contexts.push_back(r / 16);
  }
  const CentralTime few = central_time(seconds, contexts, 0.95);
  EXPECT_FALSE(few.enough);
  EXPECT_EQ(few.interval.low, 1e-6);
  EXPECT_TRUE(central_time(seconds, std::vector<int>(48, 0), 0.95).enough) << "nothing tells that they differ";
  const CentralTime none = central_time({0.0, 0.0, 0.0}, std::vector{0, 1, 2}, 0.95);
  EXPECT_EQ(none.seconds, 0) << "of a clock that saw no time pass";
  EXPECT_FALSE(none.enough);
}

}  // namespace
}  // namespace reductio
