/// What is quiet is scripted: how busy this machine is when the tests run decides nothing.

#include "measure/timing/quiet_cpu.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

namespace reductio {
namespace {

constexpr CpuContention quiet{.chain_s = 5e-6, .instruction_slots = 0.34, .cache = 2.0};
constexpr CpuContention slots_taken{.instruction_slots = 0.45, .cache = 2.0};
constexpr CpuContention cache_taken{.instruction_slots = 0.34, .cache = 3.1};

struct ScriptedCpus {
  std::map<int, CpuContention> of;  ///< those that are not quiet
  int at = -1;
  int moves = 0, looks = 0;
  double now_s = 0, between_s = 1e-3;  ///< what passes between two readings of the clock

  QuietCpu::Actions actions() {
    return {.go_to = [this](int cpu) { at = cpu, ++moves; },
            .contention =
                [this] {
                  ++looks;
                  const auto found = of.find(at);
                  return found == of.end() ? quiet : found->second;
                },
            .now = [this] { return now_s += between_s; }};
  }
};

std::vector<int> cpus(int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

bool stays(QuietCpu::Found f) { return f.quiet && !f.moved; }
bool finds_another(QuietCpu::Found f) { return f.quiet && f.moved; }

TEST(QuietCpu, StaysWhileItIsQuietAndLeavesAsSoonAsItIsNot) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(4), script.actions(), 1);
  EXPECT_TRUE(finds_another(cpu.survey()));
  const int first = script.at, moves = script.moves;
  EXPECT_TRUE(stays(cpu.settle()));
  EXPECT_EQ(script.moves, moves);
  for (const CpuContention& busy : {slots_taken, cache_taken}) {
    const int before = script.at;
    script.of = {{before, busy}};
    EXPECT_TRUE(finds_another(cpu.settle()));
    EXPECT_NE(script.at, before);
  }
  script.of = {{first, slots_taken}};
  script.of[script.at] = {.instruction_slots = 0.36, .cache = 2.1};  // 6 and 5 % more
  EXPECT_TRUE(stays(cpu.settle())) << "so much two quiet readings differ by";
}

TEST(QuietCpu, WhatWasSeenHoldsForHalfAMillisecond) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(4), script.actions(), 1);
  cpu.survey();
  EXPECT_TRUE(stays(cpu.settle()));
  script.between_s = 0;
  script.now_s += 0.9 * QuietCpu::holds_s;
  script.of = {{script.at, slots_taken}};
  const int looks = script.looks;
  EXPECT_TRUE(stays(cpu.settle()));
  EXPECT_EQ(script.looks, looks);
  script.now_s += 0.2 * QuietCpu::holds_s;
  EXPECT_TRUE(finds_another(cpu.settle()));
  EXPECT_TRUE(stays(cpu.settle())) << "it moved for the call before";
  script.of[script.at] = cache_taken;
  for (const int each : cpus(4)) script.of[each] = cache_taken;
  script.now_s += 1.1 * QuietCpu::holds_s;
  const QuietCpu::Found busy = cpu.settle();
  EXPECT_TRUE(!busy.quiet && busy.chain_s == cache_taken.chain_s);
  const int before = script.looks;
  const QuietCpu::Found same = cpu.settle();
  EXPECT_TRUE(!same.quiet && !same.moved && same.chain_s == busy.chain_s) << "busy is not forgotten";
  EXPECT_EQ(script.looks, before);
  script.of.clear();
  cpu.survey();
  const int after_survey = script.looks;
  EXPECT_TRUE(stays(cpu.settle()));
  EXPECT_EQ(script.looks, after_survey + 1) << "what was seen before a survey holds no more";
}

TEST(QuietCpu, AReadingThatIsTooGoodToBeTrueMisleadsNoSurvey) {
  ScriptedCpus script;
  int readings = 0;
  auto actions = script.actions();
  actions.contention = [&] {  // an interrupt in the chain made one in 40 look better than can be
    return ++readings % 40 == 0 ? CpuContention{.instruction_slots = 0.2, .cache = 1.0} : quiet;
  };
  QuietCpu misled(cpus(8), actions, 1);
  EXPECT_TRUE(misled.survey().quiet);
  EXPECT_TRUE(stays(misled.settle()));
}

TEST(QuietCpu, OfBusyOnesTheCalmestIsTakenAndItIsSaid) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(3), script.actions(), 7);
  cpu.survey();
  script.of = {{0, cache_taken}, {1, {.instruction_slots = 0.40, .cache = 2.0}}, {2, slots_taken}};
  EXPECT_FALSE(cpu.settle().quiet);
  EXPECT_EQ(script.at, 1);
  script.of.erase(2);
  EXPECT_TRUE(finds_another(cpu.survey()));
  EXPECT_EQ(script.at, 2);
}

TEST(QuietCpu, WhereAllAreBusyItSearchesSeldomAndStaysOnOneThatBecameQuiet) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(16), script.actions(), 7);
  cpu.survey();
  for (const int each : cpus(16)) script.of[each] = slots_taken;
  const int looks = script.looks;
  int moved = 0;
  for (int i = 0; i < 32; ++i) {
    const QuietCpu::Found found = cpu.settle();
    EXPECT_FALSE(found.quiet);
    moved += found.moved;
  }
  EXPECT_EQ(moved, 2);
  EXPECT_EQ(script.looks - looks, 32 + 2 * 16);
  script.of.erase(script.at);
  const QuietCpu::Found found = cpu.settle();
  EXPECT_TRUE(stays(found));
  EXPECT_EQ(found.chain_s, quiet.chain_s);
}

TEST(QuietCpu, OnAMachineOfOneCpuItMovesNowhereAndNothingIsWarmedUpForThat) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(1), script.actions(), 1);
  EXPECT_TRUE(cpu.survey().moved) << "the thread was nowhere";
  script.of = {{0, slots_taken}};
  const QuietCpu::Found found = cpu.settle();
  EXPECT_FALSE(found.quiet || found.moved);
  EXPECT_EQ(script.moves, 1);
}

TEST(QuietCpu, CoresOfTwoKindsAreToldByOneReadingAndNotByTheBestOfBoth) {
  ScriptedCpus script;
  for (const int small_core : {4, 5, 6, 7}) script.of[small_core] = {.instruction_slots = 0.6, .cache = 1.5};
  QuietCpu cpu(cpus(8), script.actions(), 1);
  EXPECT_TRUE(cpu.survey().quiet);
  EXPECT_LT(script.at, 4);
}

TEST(QuietCpu, WhatOneSurveySawHoldsForTheNext) {
  ScriptedCpus script;
  QuietCpu cpu(cpus(2), script.actions(), 3);
  cpu.survey();
  script.of = {{0, slots_taken}, {1, slots_taken}};
  EXPECT_FALSE(cpu.survey().quiet) << "all are busy now, and it knows from before what quiet is";
}

TEST(QuietCpu, NeverMovesWhereTheSystemNamesNoCpusAndLooksAtNoMoreThan32) {
  ScriptedCpus script;
  QuietCpu none({}, script.actions(), 1);
  EXPECT_TRUE(stays(none.survey()));
  EXPECT_TRUE(stays(none.settle()));
  EXPECT_EQ(script.moves + script.looks, 0);
  QuietCpu many(cpus(256), script.actions(), 1);
  many.survey();
  EXPECT_LE(script.moves, 33);
  for (const int each : cpus(256)) script.of[each] = slots_taken;
  script.moves = 0;
  EXPECT_FALSE(many.settle().quiet);
  EXPECT_LE(script.moves, 33);
}

TEST(QuietCpu, OfThisMachine) {
  const std::vector<int> before = allowed_cpus();
  if (before.empty()) GTEST_SKIP() << "the system does not tell which CPUs there are";
  {
    const CpuContention c = read_cpu_contention();
    EXPECT_GT(c.instruction_slots, 0);
    EXPECT_GT(c.cache, 0);
    QuietCpu cpu(before);
    cpu.survey();
    EXPECT_EQ(allowed_cpus().size(), 1u);
    cpu.settle();
    EXPECT_EQ(allowed_cpus().size(), 1u);
  }
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace reductio
