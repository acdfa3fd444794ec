/// The parts of sampling that need no device: orders, and what samples say about their points.

#include "measure/sampling/summarise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "measure/sampling/rounds.h"

namespace reductio {
namespace {

TEST(MeasureRounds, OrdersAreRandomRepeatableAndFair) {
  std::mt19937_64 a(5), b(5);
  std::map<int, int> first;
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 4000; ++i) {
    const auto order = shuffled(4, a);
    EXPECT_EQ(order, shuffled(4, b));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, (std::vector<int>{0, 1, 2, 3}));
    orders.insert(order);
    ++first[order.front()];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [who, count] : first) EXPECT_NEAR(count, 1000, 120) << who;  // over four standard deviations
}

TEST(MeasureSummarise, ImpossibleIsOnlyWhatPassesTheTheoreticalPeakOrTheReadCeilingClearly) {
  ReadCeiling c{.seconds = {}, .median_s = 1e-3, .interval = {0.99e-3, 1.01e-3}};
  const auto why = [&](double median, double high, std::optional<double> peak = {}) {
    return impossibility(4'000'000'000, median, {median * 0.99, high}, c, peak);
  };
  EXPECT_EQ(why(1e-3, 1.01e-3), "");
  EXPECT_EQ(why(0.985e-3, 0.986e-3), "");                  // within 2 %
  EXPECT_EQ(why(0.95e-3, 0.995e-3), "");                   // the intervals overlap
  EXPECT_NE(why(0.95e-3, 0.96e-3).find("below the time of only reading"), std::string::npos);
  EXPECT_NE(why(1e-3, 1.01e-3, 3.9e12).find("more than the memory's theoretical peak of 3.9 TB/s"), std::string::npos);
  EXPECT_EQ(why(1e-3, 1.01e-3, 4.1e12), "");
  EXPECT_EQ(impossibility(100, 1, {1, 1}, std::nullopt, std::nullopt), "");
}

}  // namespace
}  // namespace reductio
