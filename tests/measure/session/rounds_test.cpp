/// What is sampled, in which order, and on which memory: rounds, contexts, groups, and clocks that are throttled.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/measure/session/run_folder.h"

namespace reductio {
namespace {

using namespace scripted;

// ------------------------------------------------------------------------------------------------- throttled clocks

/// Two variants and the floor, beside a clock of the kernels that reads `hz(k)` the k-th time that it is asked: before
/// the first round and after each. All rounds are in one context.
struct Throttled : RunFolder {
  explicit Throttled(std::function<double(int)> hz) {
    int asked = 0;
    double now = 0;
    Scripted script([&](std::size_t id, std::size_t) { return (now < 1.8e9 ? 1e-3 : 1e-5) * id; });
    script.device().hz = [&] { return now = hz(asked++); };
    script.clock().before_sample = [&](const Call&) { ++sampled; };
    run(points_at(100, {&a, &b}), std::move(script), {.contexts = 1});
  }
  int sampled = 0;
};

TEST(MeasureRun, AThrottledClockVoidsItsRoundsForAllVariants) {
  struct Case {
    const char* what;
    std::function<double(int)> hz;
    int voided;
  };
  const Case cases[] = {// Slow after the fourth and the fifth round, so before the sixth.
                        {"throttled for a while", [](int k) { return k == 4 || k == 5 ? 1.2e9 : 1.98e9; }, 3},
                        {"only later seen to have been throttled", [](int k) { return k < 5 ? 1.2e9 : 1.98e9; }, 5},
                        {"unreadable", [](int k) { return k % 3 == 0 ? throw DeviceError("planted") : 1.98e9; }, 0},
                        {"slightly slower", [](int k) { return k % 2 ? 1.9e9 : 1.98e9; }, 0}};
  for (const auto& [what, hz, voided] : cases) {
    SCOPED_TRACE(what);
    const Throttled t(hz);
    ASSERT_EQ(t.rows.size(), 2u);
    for (const Row& row : t.rows) {
      EXPECT_EQ(row.status, Status::ok) << row.reason;
      EXPECT_EQ(row.n_samples, 48u - static_cast<std::size_t>(voided)) << "void rounds are not repeated";
      EXPECT_EQ(row.n_rejected, static_cast<std::size_t>(voided));
      EXPECT_LT(*row.time_p95_s, 1e-4) << "nothing of a voided round is left in the row";
    }
    // They are kept, and marked, among the raw samples.
    std::map<std::string, int> marked, all;
    for (const RawSample& s : t.raw_samples()) {
      marked[s.point.variant] += s.voided;
      ++all[s.point.variant];
    }
    EXPECT_EQ(marked, (std::map<std::string, int>{{"(launch-floor)", voided}, {"a", voided}, {"b", voided}}));
    EXPECT_EQ(all, (std::map<std::string, int>{{"(launch-floor)", 48}, {"a", 48}, {"b", 48}}));
    if (voided) {
      ASSERT_FALSE(t.notices.empty());
      EXPECT_NE(t.notices[0].find("1200 MHz"), std::string::npos) << t.notices[0];
    }
  }
}

TEST(MeasureRun, AClockThatStaysThrottledEndsInFailedRows) {
  const Throttled t([](int k) { return k == 0 ? 1.98e9 : 1.2e9; });
  ASSERT_EQ(t.rows.size(), 2u);
  for (const Row& row : t.rows) {
    EXPECT_EQ(row.status, Status::failed);
    EXPECT_EQ(row.n_samples, 0u);
    EXPECT_FALSE(row.time_median_s);
    EXPECT_NE(row.reason.find("throttled"), std::string::npos) << row.reason;
  }
  EXPECT_LE(t.sampled, 4 * 101 + 2 + 3 * 48);  // the empty call in four modes, first; a pilot each; each round once
}

TEST(MeasureRun, AGroupsRoundsAreVoidedByTheClockThatAnotherGroupSaw) {
  RunFolder folder;
  int asked = 0;
  double now = 0;
  Scripted script([&](std::size_t, std::size_t) { return now < 1.8e9 ? 1e-3 : 1e-5; });
  // Throttled all through the first group's first two contexts, whose end is the 15th reading but those of the
  // second.
  script.device().hz = [&] { return now = ++asked <= 5 ? 1.2e9 : 1.98e9; };
  folder.run({point(a, 100), point(a, 200)}, std::move(script));
  ASSERT_EQ(folder.rows.size(), 2u);
  EXPECT_EQ(folder.rows[0].n_rejected, 4u) << "nothing in that context showed that its clock was slow";
  EXPECT_EQ(folder.rows[0].n_samples, 44u);
  EXPECT_EQ(folder.rows[1].n_rejected, 0u);
  EXPECT_LT(*folder.rows[0].time_p95_s, 1e-4);
}

// ------------------------------------------------------------------------------------------------------------- order

TEST(MeasureRun, EveryRoundSamplesEveryVariantOnceInChangingOrder) {
  RunFolder folder;
  Scripted script = constant(1e-5);
  script.calls().kernels_that_read = 1;
  std::vector<std::size_t> sampled;
  script.clock().before_sample = [&](const Call& call) { sampled.push_back(call.info.grid_blocks); };
  folder.run({point(a, 100, TimingMode::device), point(b, 100, TimingMode::device), point(c, 100, TimingMode::device)},
             std::move(script));
  // Past the measuring of the empty call in each mode that this clock has and that holds a launch, and one pilot each.
  const auto rounds = sampled.begin() + 4 * 101 + 3;
  ASSERT_EQ(sampled.end() - rounds, 48 * 5);
  std::set<std::vector<std::size_t>> orders;
  for (int r = 0; r < 48; ++r) {
    std::vector<std::size_t> ids(rounds + 5 * r, rounds + 5 * r + 5);
    orders.insert(ids);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, (std::vector<std::size_t>{1, 2, 3, floor_id, reader_id})) << "round " << r;
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(MeasureRun, EveryRunSamplesInAnOrderOfItsOwnThatItsSeedRepeats) {
  /// The calls that were sampled, in their order, and the seed that the record tells.
  const auto order_of = [](std::optional<std::uint64_t> order_seed) {
    RunFolder folder;
    std::vector<std::size_t> order;
    Scripted script = constant(1e-5);
    script.clock().before_sample = [&](const Call& call) { order.push_back(call.info.grid_blocks); };
    Session s = session(folder, points_at(100, {&a, &b, &c}), std::move(script));
    s.order_seed = order_seed;
    folder.run(std::move(s));
    return std::pair(order, folder.entry().at("order_seed").get<std::uint64_t>());
  };
  const auto first = order_of({}), second = order_of({});
  EXPECT_NE(first.second, second.second);
  EXPECT_NE(first.first, second.first) << "the same company in the same order";
  EXPECT_EQ(order_of(first.second), first);
  EXPECT_EQ(order_of(18446744073709551615u).second, 18446744073709551615u);
}

TEST(MeasureRun, WhatDriftsMeetsAllGroupsThatAreMeasuredTogether) {
  // The clock runs at half its speed for every other six hundred calls. Groups that were measured one after the
  // other would each see one of the speeds only.
  std::vector<Point> points;
  for (std::size_t n = 100; n < 120; ++n) points.push_back(point(a, n));
  const auto see_both = [&](double batch_s) {
    RunFolder folder;
    int asked = 0;
    folder.run(points, Scripted([&](std::size_t, std::size_t) { return asked++ / 600 % 2 ? 2e-5 : 1e-5; }),
               {.batch_s = batch_s});
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(folder.rows.at(i).point.problem.n, 100 + i);
    return std::count_if(folder.rows.begin(), folder.rows.end(),
                         [](const Row& r) { return *r.time_min_s < 1.5e-5 && *r.time_p95_s > 1.5e-5; });
  };
  EXPECT_EQ(see_both(60), 20);
  EXPECT_LT(see_both(0), 15);
}

TEST(MeasureRun, ASlowGroupsFewRoundsAreSpreadOverTheAllocations) {
  RunFolder folder;
  const Variant fast = variant("fast", 1), slow = variant("slow", 2);
  std::vector<std::size_t> order;
  Scripted script([](std::size_t id, std::size_t) { return id == 2 ? 0.05 : 1e-5; });
  script.clock().before_sample = [&](const Call& c) {
    if (c.info.grid_blocks != floor_id) order.push_back(c.info.grid_blocks);
  };
  folder.run({point(fast, 100), point(slow, 200)}, std::move(script));
  EXPECT_EQ(folder.rows[1].n_samples, 3u);
  // Of the first's samples, so many lie before each of the second's; its pilot was no sample.
  std::vector<std::ptrdiff_t> before;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] == 2)
      before.push_back(std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i), std::size_t{1}));
  ASSERT_EQ(before.size(), 3u);
  EXPECT_NEAR(static_cast<double>(before[0]), 1 + 48 / 6., 5);
  EXPECT_NEAR(static_cast<double>(before[1]), 1 + 48 / 2., 5);
  EXPECT_NEAR(static_cast<double>(before[2]), 1 + 48 * 5 / 6., 5);
}

TEST(MeasureRun, ACallThatIsShortComesAfterOneOfItsOwn) {
  RunFolder folder;
  const Variant quick = variant("quick", 1), slow = variant("slow", 2);
  Scripted script([](std::size_t id, std::size_t) { return id == 2 ? 2e-3 : 1e-5; });
  std::map<std::size_t, std::set<bool>> in_loop;
  std::set<std::size_t> piloted;
  script.clock().before_sample = [&](const Call& c) {
    if (!piloted.insert(c.info.grid_blocks).second) in_loop[c.info.grid_blocks].insert(c.in_loop);
  };
  folder.run({point(quick, 100), point(slow, 100)}, std::move(script));
  EXPECT_EQ(in_loop[1], std::set{true});
  EXPECT_EQ(in_loop[2], std::set{false}) << "what came before does not show in it, and calling it twice costs time";
  EXPECT_EQ(in_loop[scripted::floor_id], std::set{true});
}

TEST(MeasureRun, CallsThatAreTheFirstInAWhileComeAfterNoneOfTheirOwnAndHaveRowsOfTheirOwn) {
  RunFolder folder;
  Point first = point(a, 100);
  first.in_loop = false;
  std::map<bool, int> samples;  // of the two groups, one after the other in each context
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call& c) { samples[c.in_loop] += c.info.grid_blocks == 1; };
  folder.run({point(a, 100), first}, std::move(script));
  ASSERT_EQ(folder.rows.size(), 2u);
  EXPECT_EQ(samples[true], 48 + 2) << "the pilots too";
  EXPECT_EQ(samples[false], 48);
  std::set<std::string> callers;
  for (const Row& row : folder.rows) callers.insert(row.point.caller);
  EXPECT_EQ(callers, (std::set<std::string>{"", "first"}));
}

TEST(MeasureRun, CallsThatAllocateAreSampledWhileNoOtherPlanHoldsMemory) {
  // On an H200 thrust::reduce took up to a tenth longer beside the plans of 60 others than alone.
  const Variant allocating = finishing("allocating", 1, ResultLocation::on_host);
  // What was sampled, in the order of time, and, 0, where a context began.
  const auto order_of = [&](bool in_loop) {
    std::vector<Point> points = points_at(100, {&b, &allocating});
    for (Point& p : points) p.in_loop = in_loop;
    Scripted script = constant(1e-5);
    std::vector<std::size_t> order;
    script.clock().before_sample = [&](const Call& call) { order.push_back(call.info.grid_blocks); };
    script.device().each_context = [&] { order.push_back(0); };
    RunFolder folder;
    folder.run(points, std::move(script), {.contexts = 4});
    for (const Row& row : folder.rows) EXPECT_EQ(row.n_samples, 48u) << row.point.variant << ": " << row.reason;
    return order;
  };
  int contexts = 0, samples = 0;
  bool others = false;
  for (const std::size_t id : order_of(true)) {
    if (id == 0) ++contexts, others = false;
    if (contexts == 0 || id == 0) continue;
    EXPECT_FALSE(id == 1 && others) << "in context " << contexts;
    others = others || id != 1;
    samples += id == 1;
  }
  EXPECT_EQ(contexts, 4);
  EXPECT_EQ(samples, 48);

  // But where calls shall be the first in a while, all others come in between.
  auto ids = order_of(false);
  std::erase(ids, 0u);
  int in_a_row = 0, most = 0;
  for (std::size_t i = 2; i < ids.size(); ++i) most = std::max(most, in_a_row = ids[i] == 1 ? in_a_row + 1 : 0);
  EXPECT_LE(most, 2) << "the last of one round and the first of the next";
}

// -------------------------------------------------------------------------------------------------------- contexts

/// Gives the lowest place that is free, so that memory lies elsewhere only where other is held: whatever malloc() would
/// do in a process in which other tests have run.
class FirstFit final : public Scarce {
 public:
  FirstFit() : Scarce(std::size_t{1} << 24) {}
  void* allocate(std::size_t bytes) override {
    std::size_t at = 0;
    for (const auto& [begin, size] : taken_) {
      if (at + bytes <= begin) break;
      at = (begin + size + 255) / 256 * 256;
    }
    if (at + bytes > arena_.size()) throw Refused("does not fit");
    taken_[at] = bytes;
    return arena_.data() + at;
  }
  void release(void* p) noexcept override {
    taken_.erase(static_cast<std::size_t>(static_cast<std::byte*>(p) - arena_.data()));
  }

 private:
  std::vector<std::byte> arena_ = std::vector<std::byte>(std::size_t{1} << 24);
  std::map<std::size_t, std::size_t> taken_;
};

TEST(MeasureRun, RoundsAreSpreadOverContextsAndPlansAreMadeAnew) {
  int plans = 0;
  const Variant counted = planned(a, [&] { ++plans; });
  std::map<void*, int> samples_at;
  std::map<int, int> samples_of_plan;
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call& call) {
    if (call.info.grid_blocks != 1 || plans == 1) return;  // the first is the pilot's
    ++samples_at[call.in];
    ++samples_of_plan[plans];
  };
  RunFolder folder;
  Session s = session(folder, {point(counted, 1000)}, std::move(script));
  s.backend = std::make_unique<FirstFit>();
  folder.run(std::move(s));
  EXPECT_EQ(plans, 1 + 12);
  EXPECT_EQ(samples_of_plan.size(), 12u);
  EXPECT_EQ(samples_at.size(), 12u) << "each context lies elsewhere";
  for (const auto& [where, count] : samples_at) EXPECT_GE(count, 2);
}

TEST(MeasureRun, MemoryThatIsHeldSoThatOtherLiesElsewhereIsGivenUpWhereItIsNeeded) {
  const auto row_at = [](std::size_t n) {
    RunFolder folder;
    Session s = session(folder, {point(a, n)}, constant(1e-5));
    s.backend = std::make_unique<Scarce>(std::size_t{1} << 20);  // 262,144 elements
    folder.run(std::move(s));
    return folder.rows.at(0);
  };
  EXPECT_EQ(row_at(100).n_samples, 48u);
  EXPECT_EQ(row_at(250'000).n_samples, 48u);
  EXPECT_EQ(row_at(300'000).status, Status::no_memory);
}

TEST(MeasureRun, AContextThatIsRefusedCostsItsRoundsAndNotTheRow) {
  // Each refusal is answered by another try, without the memory that is held.
  struct Case {
    std::set<int> refused;  ///< plans, by their number
    unsigned contexts;
  };
  std::set<int> all;
  for (int plan = 2; plan < 100; ++plan) all.insert(plan);
  for (const Case& which : {Case{{7, 8}, 1}, Case{{2, 3, 4, 5}, 2}, Case{all, 12}}) {
    int plans = 0;
    const Variant refused = planned(a, [&] {
      if (which.refused.contains(++plans)) throw Refused("planted");
    });
    RunFolder folder;
    folder.run(points_at(100, {&refused, &b}));
    ASSERT_EQ(folder.rows.size(), 2u);
    EXPECT_EQ(folder.rows[0].n_samples, 48u - 4 * which.contexts);
    if (which.contexts == 12) {
      EXPECT_EQ(folder.rows[0].status, Status::refused);
      EXPECT_EQ(folder.rows[0].reason, "planted");
    } else {
      EXPECT_EQ(folder.rows[0].status, Status::ok);
      EXPECT_EQ(folder.rows[0].reason, std::to_string(which.contexts) + " of 12 contexts were refused, planted");
    }
    EXPECT_EQ(folder.rows[1].n_samples, 48u);
    EXPECT_EQ(folder.rows[1].reason, "");
  }
}

TEST(MeasureRun, EachContextBeginsWithNothingAndTakesItsShareOfEveryGroup) {
  const auto plans = std::make_shared<int>();  // held by each
  Variant held = a;
  on_cpu(held) = [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [plans, n = p.n](void* in, void* out, Stream) {
      *static_cast<std::uint32_t*>(out) = sum(static_cast<const std::uint32_t*>(in), n);
    });
  };
  RunFolder folder;
  Scripted script = constant(1e-5);
  std::vector<int> samples_before;
  script.device().each_context = [&, &clock = script.clock()] {
    EXPECT_EQ(plans.use_count(), 1);
    samples_before.push_back(static_cast<int>(
        std::count_if(clock.asked.begin(), clock.asked.end(), [](const Asked& call) { return call.sampled; })));
  };
  folder.run({point(held, 100), point(held, 200)}, std::move(script), {.contexts = 5});
  EXPECT_EQ(samples_before.size(), 5u) << "all groups of a batch share them";
  for (std::size_t i = 1; i < samples_before.size(); ++i)
    EXPECT_GE(samples_before[i] - samples_before[i - 1], 2 * 9) << "both points' rounds are spread over them";
  EXPECT_EQ(folder.rows.at(0).n_samples, 48u);
}

TEST(MeasureRun, WhatIsLoadedAtItsFirstLaunchInAContextIsLaunchedOnceBeforeItIsTimed) {
  // On an H200 the first launch of a slow kernel in a context was the timed one, behind a hold that its loading waited
  // for: 15 of 5,607 points failed so.
  Scripted script = constant(2e-3);
  // In this context: the variant and its bytes, as which kernels a call launches may depend on n.
  std::set<std::pair<std::size_t, std::size_t>> launched;
  std::size_t first_was_timed = 0, seen = 0;
  Clock& clock = script.clock();
  struct Looking final : RunObserver {
    std::function<void()> look;
    void group(const GroupOutcome&) override { look(); }  // at the last context, when all is over
  } looking;
  looking.look = [&] {
    for (; seen < clock.asked.size(); ++seen)
      if (const Asked& call = clock.asked[seen]; call.id < floor_id)
        first_was_timed += launched.emplace(call.id, call.bytes).second && call.sampled;
  };
  script.device().each_context = [&] {
    looking.look();
    launched.clear();
  };
  const RunFolder folder;
  const std::vector<Point> points{point(a, 100), point(a, 200), point(b, 200)};
  const RunReport report = run_session(session(folder, points, std::move(script), {.contexts = 4}), looking);
  EXPECT_EQ(first_was_timed, 0u);
  EXPECT_EQ(report.count(Status::ok), 3u);
}

// -------------------------------------------------------------------------------------------------------- idle memory

TEST(MeasureRun, MemoryIsIdleBeforeTheSamplesInEachContextAndAfterAllThatItAllocates) {
  RunFolder folder;
  Scripted script = constant(1e-5);
  Clock& c = script.clock();
  std::vector<std::size_t> asked;  // so far, at each wait
  script.device().memory_idle = [&] {
    asked.push_back(c.asked.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return asked.size() % 4 != 0;
  };
  std::vector<Asked> all;
  script.clock().before_sample = [&](const Call&) { all = c.asked; };
  folder.run({point(a, 1000), point(b, 1000)}, std::move(script));
  ASSERT_EQ(asked.size(), 1u + 12u) << "the first before the clocks and the cache are measured";
  for (std::size_t context = 1; context < asked.size(); ++context) {
    const std::size_t at = asked[context];
    EXPECT_FALSE(all[at - 1].sampled || all[at - 2].sampled) << "both plans have made their first call";
    EXPECT_TRUE(all[at].sampled);
  }
  const auto machine = folder.machine();
  const auto& run = machine.at("runs").at(0);
  const double waited_s = run.at("time_spent").at("memory_wait_s").get<double>();
  EXPECT_GE(waited_s, 12e-3);                                            // any machine: the test slept so long
  EXPECT_LE(waited_s, run.at("time_spent").at("wall_s").get<double>());  // any machine: one lies in the other
  EXPECT_EQ(run.at("times_memory_stayed_busy"), 3) << "the 4th, 8th and 12th wait";
  ASSERT_FALSE(folder.notices.empty());
  EXPECT_EQ(folder.notices.back().substr(0, 43), "in 3 contexts the memory stayed slower than");
}

TEST(MeasureRun, MemoryThatCannotBeWaitedForLosesNoRows) {
  RunFolder folder;
  Scripted script = constant(1e-5);
  int waits = 0;
  script.device().memory_idle = [&]() -> bool {
    throw DeviceError("no events left for wait " + std::to_string(++waits));
  };
  folder.run({point(a, 1000)}, std::move(script));
  EXPECT_EQ(waits, 1 + 12);
  EXPECT_EQ(folder.notices.front(),
            "'memory_idle_at_start' could not be measured and is left out of machine.json: no events left for wait 1");
  ASSERT_EQ(folder.rows.size(), 1u);
  EXPECT_EQ(folder.rows[0].status, Status::ok);
  EXPECT_EQ(folder.rows[0].n_samples, 48u);
}

/// Waits with measurements from this list, the last again and again; how many it took, negative where in vain.
int measured(SettleDetector& memory, const std::vector<double>& seconds) {
  int taken = 0, pauses = 0;
  const auto measure = [&] { return seconds[std::min(static_cast<std::size_t>(taken++), seconds.size() - 1)]; };
  const bool fast = memory.wait(measure, [&] { ++pauses; });
  EXPECT_EQ(pauses, taken - 1);
  return fast ? taken : -taken;
}

TEST(MeasureRun, MemoryIsIdleOnceItIsAsFastAsItWas) {
  SettleDetector memory;
  EXPECT_EQ(measured(memory, {1.0}), 1);
  EXPECT_EQ(measured(memory, {1.04}), 1) << "noise";
  EXPECT_EQ(measured(memory, {1.12, 1.12, 1.1, 1.02, 1.0}), 5) << "after a slow one two that are fast";
  EXPECT_EQ(measured(memory, {1.12, 1.0, 1.12, 1.0, 1.0}), 5);
  for (int wait = 0; wait < 3; ++wait) EXPECT_EQ(measured(memory, {1.2}), -501) << "waiting ends";
  EXPECT_EQ(measured(memory, {1.2, 1.2, 1.0}), 4) << "what fast means is not forgotten";
  EXPECT_EQ(measured(memory, {0.9}), 1);
  EXPECT_EQ(measured(memory, {1.0, 0.9}), 3) << "the first was disturbed, too";
}

}  // namespace
}  // namespace reductio
