#include "measure/stats/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> s;
  for (int i = n; i >= 1; --i) s.push_back(i);  // not in order: nothing may rely on it
  return s;
}

TEST(MeasureStatistics, MedianAndQuantileOfKnownData) {
  EXPECT_EQ(median(one_to(1)), 1);
  EXPECT_EQ(median(one_to(5)), 3);
  EXPECT_EQ(median(one_to(6)), 3.5);
  EXPECT_EQ(quantile(one_to(20), 0.95), 19);
  EXPECT_EQ(quantile(one_to(21), 0.95), 20);
  EXPECT_EQ(quantile(one_to(3), 0.95), 3);
  EXPECT_EQ(quantile(one_to(100), 0.01), 1);
  EXPECT_EQ(quantile(one_to(100), 1), 100);
  EXPECT_THROW(median({}), UsageError);
}

TEST(MeasureStatistics, ATrimmedMeanLeavesOutATenthAtEitherEnd) {
  EXPECT_DOUBLE_EQ(trimmed_mean(one_to(1)), 1);
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{1, 2}), 1.5);
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000}), 4.5);
  // Of four, 0.4 of the outer two: (0.6 * 1 + 2 + 3 + 0.6 * 100) / 3.2.
  EXPECT_DOUBLE_EQ(trimmed_mean(std::vector<double>{100, 3, 1, 2}), 65.6 / 3.2);
  EXPECT_THROW(trimmed_mean({}), UsageError);
}

TEST(MeasureStatistics, CentresAreThoseOfTheSignedRankTables) {
  // Critical values of Wilcoxon's test, two-sided 5 %, from its tables: the greatest sum that rejects.
  struct Known {
    int n, rejects;
  };
  for (const auto& [n, rejects] : {Known{6, 0}, Known{8, 3}, Known{10, 8}, Known{12, 13}, Known{24, 81}}) {
    std::vector<double> s, means;
    for (int i = 0; i < n; ++i) s.push_back(std::exp2(i));  // the mean of each pair is another
    for (int i = 0; i < n; ++i)
      for (int j = i; j < n; ++j)
        means.push_back((s[static_cast<std::size_t>(i)] + s[static_cast<std::size_t>(j)]) / 2);
    std::sort(means.begin(), means.end());
    const Centre c = centre_of(s, 0.95);
    const auto k = static_cast<std::size_t>(rejects);  // counted from 0
    EXPECT_EQ(c.interval.low, means[k]) << n;
    EXPECT_EQ(c.interval.high, means[means.size() - 1 - k]) << n;
    EXPECT_EQ(c.value, median(means));
    EXPECT_TRUE(c.enough);
    EXPECT_GE(c.confidence, 0.95);
    EXPECT_LT(c.confidence, 0.97);
  }
  const Centre few = centre_of(one_to(5), 0.95);
  EXPECT_FALSE(few.enough);
  EXPECT_DOUBLE_EQ(few.confidence, 1 - 2 * std::exp2(-5.0));
  EXPECT_EQ(few.interval.low, 1);
  EXPECT_EQ(few.interval.high, 5);
  const Centre one = centre_of(one_to(1), 0.95);
  EXPECT_EQ(one.value, 1);
  EXPECT_EQ(one.confidence, 0);
  EXPECT_THROW(centre_of({}, 0.95), UsageError);
  EXPECT_THROW(centre_of(one_to(9), 1), UsageError);
}

TEST(MeasureStatistics, MoreConfidenceThanRanksCanGiveIsStretchedAsStudentsT) {
  const Centre range = centre_of(one_to(9), 1 - std::exp2(-8.0)), wider = centre_of(one_to(9), 0.9999);
  EXPECT_EQ(range.interval.low, 1);
  EXPECT_EQ(range.interval.high, 9);
  EXPECT_EQ(wider.value, 5);
  EXPECT_TRUE(wider.enough);
  EXPECT_EQ(wider.confidence, 0.9999);
  // Tables: t of 8 degrees of freedom is 7.120 at 99.99 %, and 3.957 or so at 99.61 %.
  EXPECT_NEAR((wider.interval.high - 5) / 4, 7.120 / 3.98, 0.05);
  EXPECT_DOUBLE_EQ(wider.interval.high - 5, 5 - wider.interval.low);
}

TEST(MeasureStatistics, CentresAreHeldAlsoByStretchedIntervals) {
  LEFT_TO_RELEASE_BUILDS();
  std::mt19937_64 random(11);
  constexpr int trials = 20000;
  int held = 0, held_stretched = 0;
  for (int t = 0; t < trials; ++t) {
    std::vector<double> s;
    for (int i = 0; i < 8; ++i) s.push_back(std::normal_distribution()(random));
    const Interval i = centre_of(s, 0.95).interval, stretched = centre_of(s, 0.999).interval;
    held += i.low <= 0 && 0 <= i.high;
    held_stretched += stretched.low <= 0 && 0 <= stretched.high;
  }
  EXPECT_NEAR(held / double(trials), centre_of(one_to(8), 0.95).confidence, 0.006);
  EXPECT_GE(held_stretched / double(trials), 0.998);
  EXPECT_LT(held_stretched, trials);
}

TEST(MeasureStatistics, TheFewestSamplesAreThoseOfTheSignTest) {
  EXPECT_EQ(fewest_samples(0.95), 6u);
  EXPECT_EQ(fewest_samples(0.99), 8u);
  for (const double bad : {0.0, 1.0, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(fewest_samples(bad), UsageError);
}

TEST(MeasureStatistics, NoIntervalIsNarrowerThanTheResolution) {
  const Interval wide = no_narrower_than({1.0, 1.0}, 1.0, 0.25);
  EXPECT_DOUBLE_EQ(wide.low, 0.875);
  EXPECT_DOUBLE_EQ(wide.high, 1.125);
  const Interval kept = no_narrower_than({0.5, 2.0}, 1.0, 0.25);
  EXPECT_EQ(kept.low, 0.5);
  EXPECT_EQ(kept.high, 2.0);
  const Interval off_centre = no_narrower_than({0.9, 1.0}, 1.0, 0.25);
  EXPECT_GE(off_centre.high - off_centre.low, 0.2499);  // widened about the median, never moved off it
  EXPECT_LE(off_centre.low, 0.9);
}

TEST(MeasureStatistics, SharesHaveTheIntervalsOfClopperAndPearson) {
  // Published: 0 of 10 at 95 %: [0, 0.3085]; 5 of 10: [0.1871, 0.8129]; 5 of 100: [0.0164, 0.1128].
  EXPECT_EQ(share_interval(0, 10, 0.95).low, 0);
  EXPECT_NEAR(share_interval(0, 10, 0.95).high, 0.3085, 5e-5);
  EXPECT_NEAR(share_interval(5, 10, 0.95).low, 0.1871, 5e-5);
  EXPECT_NEAR(share_interval(5, 10, 0.95).high, 0.8129, 5e-5);
  EXPECT_NEAR(share_interval(5, 100, 0.95).low, 0.0164, 5e-5);
  EXPECT_NEAR(share_interval(5, 100, 0.95).high, 0.1128, 5e-5);
  EXPECT_EQ(share_interval(10, 10, 0.95).high, 1);
  EXPECT_THROW(share_interval(1, 2, 1), UsageError);
}

}  // namespace
}  // namespace reductio
