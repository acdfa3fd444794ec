/// The turns of a stream's kernels: every plan's calls meet each alike, whoever else launches in between.

#include "measure/timing/cuda/stream_turns.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace reductio::cuda {
namespace {

/// A stream whose kernels are counted beside, and three plans of one, two and three kernels.
class MeasureStreamTurns : public testing::Test {
 protected:
  void launch(unsigned kernels) {
    turns_.launched(kernels);
    kernels_ += kernels;
  }
  void call(unsigned plan) {
    turns_.called(&plans_[plan]);
    kernels_ += plan + 1;
  }
  /// The turn that a sample of the plan meets: an untimed call, a flush, a hold, the call.
  unsigned sample(unsigned plan, bool held = true) {
    call(plan);
    launch(turns_.missing_before(&plans_[plan], 1 + held, held));
    launch(1 + held);
    const unsigned turn = kernels_ % StreamTurns::turns;
    call(plan);
    return turn;
  }

  StreamTurns turns_{1};
  std::vector<int> plans_ = {0, 1, 2};
  unsigned kernels_ = 0;
  std::minstd_rand random_{2};
};

TEST_F(MeasureStreamTurns, EightSamplesOfAPlanMeetAllTurnsWhateverElseRuns) {
  for (unsigned plan = 0; plan < 3; ++plan) turns_.learn(&plans_[plan], plan + 1);
  std::map<unsigned, std::vector<unsigned>> met;
  while (met[0].size() < 64 || met[1].size() < 64 || met[2].size() < 64) {
    const unsigned plan = random_() % 3;
    met[plan].push_back(sample(plan));
    if (random_() % 5 == 0) launch(random_() % 4);  // a reading of the clock
  }
  for (const auto& [plan, turns] : met)
    for (std::size_t i = 0; i + 8 <= turns.size(); i += 8)
      EXPECT_EQ(std::set(turns.begin() + static_cast<long>(i), turns.begin() + static_cast<long>(i) + 8).size(), 8u)
          << "plan " << plan << " from sample " << i;
}

TEST_F(MeasureStreamTurns, TheOrderOfTheTurnsIsDrawn) {
  turns_.learn(&plans_[0], 1);
  std::set<std::vector<unsigned>> orders;
  for (int i = 0; i < 20; ++i) {
    std::vector<unsigned> order;
    for (int k = 0; k < 8; ++k) order.push_back(sample(0));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST_F(MeasureStreamTurns, SamplesBehindAHoldAndOthersMeetAllTurnsEach) {
  turns_.learn(&plans_[1], 2);
  std::set<unsigned> held, others;
  for (int i = 0; i < 8; ++i) {
    held.insert(sample(1, true));
    others.insert(sample(1, false));
  }
  EXPECT_EQ(held.size(), 8u);
  EXPECT_EQ(others.size(), 8u);
}

TEST_F(MeasureStreamTurns, ACallOfWhichNobodyKnowsHowManyKernelsItLaunchesMeetsAnyTurn) {
  turns_.learn(&plans_[1], std::nullopt);  // it launches two
  std::map<unsigned, int> met;
  for (int i = 0; i < 800; ++i) ++met[sample(1)];
  EXPECT_EQ(met.size(), 8u);
  for (const auto& [turn, times] : met) EXPECT_GT(times, 50) << turn;
}

/// As after the replay of a graph: of what is not counted nothing is presumed, not even that it repeats.
TEST_F(MeasureStreamTurns, WhatIsNotCountedLeavesAnyTurnNext) {
  turns_.learn(&plans_[0], 1);
  const auto eights_with_each_turn = [&](bool uncounted) {
    int found = 0;
    for (int eight = 0; eight < 100; ++eight) {
      std::set<unsigned> missing;
      for (int i = 0; i < 8; ++i) {
        if (uncounted) turns_.launched_uncounted();
        missing.insert(turns_.missing_before(&plans_[0], 0, true));
      }
      found += missing.size() == 8;
    }
    return found;
  };
  EXPECT_EQ(eights_with_each_turn(false), 100);
  EXPECT_LT(eights_with_each_turn(true), 20);  // of random ones one in 400
}

TEST_F(MeasureStreamTurns, APlanThatWasForgottenIsAnother) {
  turns_.learn(&plans_[0], 1);
  turns_.forget(&plans_[0]);
  EXPECT_FALSE(turns_.knows(&plans_[0]));
}

}  // namespace
}  // namespace reductio::cuda
