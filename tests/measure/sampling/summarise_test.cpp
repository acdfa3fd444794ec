/// The parts of sampling that need no device: orders, and what samples say about their points.

#include "measure/sampling/summarise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/schema.h"
#include "measure/sampling/rounds.h"
#include "measure/stats/ratio.h"

namespace reductio {
namespace {

/// Of a GPU's memory: a million floats, which take a microsecond at 4 TB/s.
PointKey key(std::string variant, DeviceKind device = DeviceKind::cuda) {
  PointKey k;
  k.variant = std::move(variant);
  k.device = device;
  k.problem = {Operation::sum, ElementType::f32, 1'000'000};
  k.timing_mode = TimingMode::device;
  k.cache_state = CacheState::cold_dirty;
  return k;
}

/// `points` and `harness_calls` sampled in each of `rounds` rounds on as many contexts as are said. `seconds` of a
/// call, by its index, in a round.
GroupSamples sampled(const std::vector<std::string>& points, std::vector<std::string> harness_calls, int rounds,
                     int contexts, const std::function<double(std::size_t call, int round)>& seconds) {
  GroupSamples g;
  for (const auto& variant : points) g.points.emplace_back().row.point = key(variant);
  g.harness_calls = std::move(harness_calls);
  g.resolution_s = 1e-9;
  for (int r = 0; r < rounds; ++r) {
    g.contexts.push_back(context_of(r, rounds, contexts));
    TakenRound& t = g.rounds.emplace_back();
    t.round = r;
    for (std::size_t call = 0; call < g.points.size() + g.harness_calls.size(); ++call)
      t.samples.push_back(
          {call, {.seconds = seconds(call, r), .device_part_s = {}, .cycles = {}}});
  }
  return g;
}

/// A little noise, the same each time.
double noise(std::size_t call, int round) {
  return 1 + 0.001 * static_cast<double>((7 * round + 3 * static_cast<int>(call)) % 11 - 5);
}

std::vector<RawSample> raw_samples(const GroupOutcome& outcome) {
  return samples_in("the samples", parse_csv(csv_record(sample_columns()) + outcome.samples_csv).records);
}

TEST(MeasureSummarise, TheCallsOfAGraphShareTheResolutionOfItsTime) {
  const auto constant = [](std::size_t call, int) { return call == 0 ? 4e-6 : 8e-6; };
  GroupSamples g = sampled({"cub/sum", "b"}, {}, 48, 12, constant);
  g.points[0].is_reference = true;
  g.resolution_s = 32e-9;
  for (TakenRound& r : g.rounds)
    for (TakenSample& s : r.samples) s.sample.calls = r.round == 3 ? 64 : 100;  // the fewest count
  const GroupOutcome out = summarise(g, {}, "run");
  for (const Row& row : out.rows) {
    EXPECT_DOUBLE_EQ(*row.timer_resolution_s, 0.5e-9);
    EXPECT_NEAR(*row.time_ci_high_s - *row.time_ci_low_s, 0.5e-9, 1e-15);
  }
  EXPECT_LT(*out.rows[1].speedup_ci_high / *out.rows[1].speedup_ci_low, 1.0003);
}

TEST(MeasureSummarise, ARowWithoutASpeedupForWantOfCommonContextsSaysSo) {
  GroupSamples g = sampled({"cub/sum", "b"}, {}, 48, 12, [](std::size_t, int) { return 4e-6; });
  g.points[0].is_reference = true;
  for (TakenRound& r : g.rounds) r.samples.erase(r.samples.begin() + g.contexts[static_cast<std::size_t>(r.round)] % 2);
  const GroupOutcome out = summarise(g, {}, "run");
  EXPECT_EQ(out.rows[1].status, Status::ok);
  EXPECT_FALSE(out.rows[1].speedup);
  EXPECT_EQ(out.rows[1].reason, "no speedup: no context has both this and cub/sum");
}

TEST(MeasureSummarise, RowsHoldWhatTheirSamplesSayAndWhatTheHarnessCallsSay) {
  const auto seconds = [](std::size_t call, int round) {
    constexpr double of[] = {4e-6, 8e-6, 1e-6, 2e-6, 3e-6};  // two points, the floor, two kernels that read
    return of[call] * noise(call, round);
  };
  const GroupSamples g = sampled({"a", "b"}, {"(launch-floor)", "(read/1)", "(read/2)"}, 48, 12, seconds);
  const GroupOutcome out = summarise(g, {}, "run");
  ASSERT_EQ(out.rows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Row& row = out.rows[i];
    const double truth = i == 0 ? 4e-6 : 8e-6;
    EXPECT_EQ(row.status, Status::ok);
    EXPECT_EQ(row.reason, "");
    EXPECT_EQ(row.n_samples, 48u);
    EXPECT_EQ(row.n_rejected, 0u);
    EXPECT_NEAR(*row.time_median_s, truth, 0.001 * truth);
    EXPECT_LE(*row.time_min_s, *row.time_ci_low_s);
    EXPECT_LE(*row.time_ci_low_s, *row.time_median_s);
    EXPECT_LE(*row.time_median_s, *row.time_ci_high_s);
    EXPECT_LE(*row.time_ci_high_s, *row.time_p95_s);
    EXPECT_EQ(*row.timer_resolution_s, 1e-9);
    EXPECT_NEAR(*row.launch_floor_s, 1e-6, 1e-9);
    EXPECT_NEAR(*row.read_time_s, 2e-6, 2e-9) << "of the faster of both";
    EXPECT_NEAR(*row.share_of_read_ceiling, 2e-6 / truth, 0.01);
    EXPECT_EQ(values(out.seconds[i]).size(), 48u);
  }
  EXPECT_EQ(out.contexts, g.contexts);
  EXPECT_FALSE(out.throttled_hz);
  // Each sample once, with the harness calls' own names.
  std::map<std::string, int> count;
  for (const RawSample& s : raw_samples(out)) ++count[s.point.variant];
  EXPECT_EQ(count, (std::map<std::string, int>{
                       {"a", 48}, {"b", 48}, {"(launch-floor)", 48}, {"(read/1)", 48}, {"(read/2)", 48}}));
}

TEST(MeasureSummarise, IntervalsAreNoNarrowerThanTheClocksResolution) {
  GroupSamples g = sampled({"a"}, {}, 48, 12, [](auto, auto) { return 4e-6; });
  g.resolution_s = 3.2e-8;
  const Row row = summarise(g, {}, "").rows.at(0);
  EXPECT_NEAR(*row.time_ci_high_s - *row.time_ci_low_s, 3.2e-8, 1e-12);
}

TEST(MeasureSummarise, VoidIsWhatTheHighestClockOfTheRunShows) {
  GroupSamples g =
      sampled({"a"}, {"(launch-floor)"}, 12, 12, [](std::size_t, int round) { return round < 3 ? 1 : 1e-5; });
  for (TakenRound& t : g.rounds) t.lowest_hz = t.round < 3 ? 1.2e9 : 1.9e9;
  g.highest_clock_hz = 1.3e9;  // nothing that is known shows that the first three were slow
  EXPECT_EQ(summarise(g, {}, "").rows.at(0).n_samples, 12u);
  g.highest_clock_hz = 1.98e9;
  const GroupOutcome out = summarise(g, {}, "");
  EXPECT_EQ(out.rows.at(0).n_samples, 9u);
  EXPECT_EQ(out.rows.at(0).n_rejected, 3u);
  EXPECT_LT(*out.rows.at(0).time_p95_s, 1e-4);
  EXPECT_EQ(*out.rows.at(0).launch_floor_s, 1e-5);
  EXPECT_EQ(*out.throttled_hz, 1.2e9);
  const auto all = raw_samples(out);
  EXPECT_EQ(all.size(), 24u) << "voided samples are kept, and marked";
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const RawSample& s) { return s.voided; }), 6);
}

TEST(MeasureSummarise, ARoundThatIsVoidInOnePartIsVoidInTheOther) {
  // Calls that allocate are sampled in each round before the others, so a round is taken in two parts.
  GroupSamples g = sampled({"allocating", "other"}, {}, 24, 12, [](std::size_t, int) { return 1e-5; });
  std::vector<TakenRound> parts;
  for (std::size_t call = 0; call < 2; ++call)
    for (const TakenRound& round : g.rounds) {
      TakenRound& part = parts.emplace_back(round);
      part.samples = {round.samples[call]};
      part.lowest_hz = call == 1 && round.round == 5 ? 1e9 : 2e9;
    }
  g.rounds = std::move(parts);
  g.highest_clock_hz = 2e9;
  const GroupOutcome out = summarise(g, {}, "run");
  for (const Row& row : out.rows) {
    EXPECT_EQ(row.n_rejected, 1u) << row.point.variant;
    EXPECT_EQ(row.n_samples, 23u) << row.point.variant;
  }
}

TEST(MeasureSummarise, ThrottledInEveryRoundIsAFailedRow) {
  GroupSamples g = sampled({"a"}, {}, 12, 12, [](auto, auto) { return 1e-5; });
  for (TakenRound& t : g.rounds) t.lowest_hz = 1.2e9;
  g.highest_clock_hz = 1.98e9;
  const Row row = summarise(g, {}, "").rows.at(0);
  EXPECT_EQ(row.status, Status::failed);
  EXPECT_EQ(row.reason,
            "the GPU's clock was throttled in every round, down to 1200 MHz; let it cool, and see that "
            "nothing else runs on it");
  EXPECT_EQ(row.n_samples, 0u);
  EXPECT_EQ(row.n_rejected, 12u);
  EXPECT_FALSE(row.time_median_s);
}

TEST(MeasureSummarise, AllocationsThatWereRefusedAreToldAndWhereAllWereTheRowIsRefused) {
  GroupSamples g = sampled({"a"}, {}, 48, 12, [](std::size_t call, int round) { return 1e-5 * noise(call, round); });
  g.points[0].contexts_refused = 2;
  g.points[0].why_refused = "planted";
  Row row = summarise(g, {}, "").rows.at(0);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_EQ(row.reason, "2 of 12 contexts were refused, planted");
  for (TakenRound& t : g.rounds) t.samples.clear();
  row = summarise(g, {}, "").rows.at(0);
  EXPECT_EQ(row.status, Status::refused);
  EXPECT_EQ(row.reason, "planted");
}

TEST(MeasureSummarise, TooFewSamplesAndTooFewAllocationsAreTold) {
  const auto reason = [](int rounds, int contexts, auto seconds) {
    GroupSamples g = sampled({"a"}, {}, rounds, contexts, seconds);
    return summarise(g, {}, "").rows.at(0).reason;
  };
  const auto steady = [](std::size_t call, int round) { return 1e-5 * noise(call, round); };
  EXPECT_EQ(reason(3, 3, steady),
            "the interval is min..max: samples of 3 contexts give it a confidence of 0.75, not 0.95");
  // Each context has a time of its own, and there are three.
  const auto shifted = [](std::size_t, int round) { return 1e-5 * (1 + context_of(round, 48, 3)); };
  EXPECT_EQ(reason(48, 3, shifted),
            "the interval is min..max: samples of 3 contexts give it a confidence of 0.75, not 0.95");
  EXPECT_EQ(reason(48, 12, steady), "");
}

TEST(MeasureSummarise, ADevicePartsIntervalThatIsTheRangeIsToldAsTheRowsIs) {
  const auto steady = [](int round) { return 1e-5 * noise(0, round); };
  // Each context has a time of its own, and there are three.
  const auto shifted = [](int round) { return 1e-5 * (1 + context_of(round, 48, 3)); };
  const auto row = [](int rounds, int contexts, const std::function<double(int)>& all,
                      const std::function<double(int)>& part) {
    GroupSamples g = sampled({"a"}, {}, rounds, contexts, [&](auto, int round) { return all(round); });
    for (TakenRound& t : g.rounds) t.samples[0].sample.device_part_s = part(t.round);
    return summarise(g, {}, "").rows.at(0);
  };
  const Row few = row(3, 3, steady, steady);
  EXPECT_EQ(few.reason,
            "the interval is min..max: samples of 3 contexts give it a confidence of 0.75, not 0.95; so is the "
            "device part's");
  EXPECT_EQ(*few.device_part_ci_low_s, std::min({steady(0), steady(1), steady(2)}));
  EXPECT_EQ(*few.device_part_ci_high_s, std::max({steady(0), steady(1), steady(2)}));
  EXPECT_EQ(row(48, 3, steady, shifted).reason,
            "the interval is min..max: samples of 3 contexts give it a confidence of 0.75, not 0.95; so is the "
            "device part's");
  EXPECT_EQ(row(48, 12, steady, steady).reason, "");
}

TEST(MeasureSummarise, DevicePartsAndCyclesHaveMediansOfTheirOwn) {
  GroupSamples g =
      sampled({"a", "b"}, {}, 12, 12, [](std::size_t call, int round) { return 1e-4 * noise(call, round); });
  for (TakenRound& t : g.rounds) {
    t.samples[0].sample.device_part_s = 5e-5 * noise(0, t.round);
    t.samples[1].sample = {.seconds = {}, .device_part_s = {}, .cycles = 1000 + t.round};  // a clock mode has no times
  }
  const auto rows = summarise(g, {}, "").rows;
  EXPECT_NEAR(*rows[0].device_part_median_s, 5e-5, 5e-8);
  // By the rule of the row's own interval, on the device's clock.
  EXPECT_NEAR(*rows[0].device_part_ci_low_s, *rows[0].time_ci_low_s / 2, 1e-15);
  EXPECT_NEAR(*rows[0].device_part_ci_high_s, *rows[0].time_ci_high_s / 2, 1e-15);
  g.device_part_resolution_s = 1e-5;
  const Row coarse = summarise(g, {}, "").rows[0];
  EXPECT_NEAR(*coarse.device_part_ci_high_s - *coarse.device_part_ci_low_s, 1e-5, 1e-12);
  EXPECT_FALSE(rows[0].cycles_median);
  EXPECT_EQ(*rows[1].cycles_median, 1005.5);
  EXPECT_EQ(rows[1].status, Status::ok);
  EXPECT_EQ(rows[1].n_samples, 12u);
  EXPECT_FALSE(rows[1].time_median_s);
}

TEST(MeasureSummarise, SpeedupsAreOverTheReferenceOfTheSameRounds) {
  // All share a drift; the last takes one and a half times as long as the third, which is CUB's with other settings.
  const auto seconds = [](std::size_t call, int round) {
    constexpr double of[] = {8e-6, 4e-6, 2e-6, 3e-6};
    return of[call] * (1 + 0.01 * round) * noise(call, round);
  };
  GroupSamples g = sampled({"a", "cub/sum", "cub/sum", "b"}, {}, 48, 12, seconds);
  g.points[1].is_reference = true;
  const auto out = summarise(g, {}, "");
  const auto rounds = [&](std::size_t i) { return TimedRounds{out.seconds[i], g.contexts, g.resolution_s}; };
  for (const std::size_t i : {0u, 2u, 3u}) {
    const Row& row = out.rows[i];
    const Ratio wanted = paired_ratio(rounds(1), rounds(i), 0.95);
    EXPECT_EQ(row.speedup_reference, "cub/sum");
    EXPECT_EQ(*row.speedup, wanted.value);
    EXPECT_EQ(*row.speedup_ci_low, wanted.interval.low);
    EXPECT_EQ(*row.speedup_ci_high, wanted.interval.high);
    EXPECT_LT(*row.speedup_ci_high / *row.speedup_ci_low, 1.01) << "what drifts by half for both is in neither";
    EXPECT_EQ(row.reason, "");
  }
  EXPECT_NEAR(*out.rows[0].speedup, 0.5, 0.001);
  const Row& reference = out.rows[1];
  EXPECT_EQ(reference.speedup_reference, "cub/sum");
  EXPECT_EQ(*reference.speedup, 1);
  EXPECT_EQ(*reference.speedup_ci_low, 1);
  EXPECT_EQ(*reference.speedup_ci_high, 1);
}

TEST(MeasureSummarise, WithoutAReferenceOrATimeThereIsNoSpeedup) {
  const auto rows = [](auto change) {
    GroupSamples g =
        sampled({"a", "cub/sum"}, {}, 12, 12, [](std::size_t call, int round) { return 1e-5 * noise(call, round); });
    g.points[1].is_reference = true;
    change(g);
    return summarise(g, {}, "").rows;
  };
  const auto none = [](const Row& row) {
    return row.speedup_reference.empty() && !row.speedup && !row.speedup_ci_low && !row.speedup_ci_high;
  };
  EXPECT_FALSE(none(rows([](auto&) {})[0]));
  EXPECT_TRUE(none(rows([](auto& g) { g.points[1].is_reference = false; })[0]));
  EXPECT_TRUE(none(rows([](auto& g) { g.points[1].settle(Status::failed, "planted"); })[0]));
  const auto apart = rows([](auto& g) {
    for (TakenRound& t : g.rounds)
      t.samples.erase(t.samples.begin() + g.contexts[static_cast<std::size_t>(t.round)] % 2);
  });
  EXPECT_TRUE(none(apart[0])) << "in no context with it";
  EXPECT_FALSE(none(apart[1]));
  const auto failed = rows([](auto& g) { g.points[0].settle(Status::wrong, "planted"); });
  EXPECT_TRUE(none(failed[0]));
  EXPECT_FALSE(none(failed[1]));
}

TEST(MeasureSummarise, ASpeedupOfTooFewContextsSaysSo) {
  for (const int contexts : {1, 3, 12}) {
    GroupSamples g = sampled({"a", "cub/sum"}, {}, contexts, contexts,
                             [](std::size_t call, int round) { return 1e-5 * noise(call, round); });
    g.points[1].is_reference = true;
    const GroupOutcome out = summarise(g, {}, "");
    EXPECT_EQ(out.rows[0].speedup_enough, contexts == 12) << contexts;
    EXPECT_EQ(out.rows[1].speedup_enough, true) << "over itself";
  }
}

TEST(MeasureSummarise, ImpossibleIsWhatPassesTheBoundOfItsWayAndCache) {
  const auto status = [](auto change, double share = 0.9) {
    GroupSamples g = sampled({"a"}, {"(read/1)"}, 12, 12, [=](std::size_t call, int round) {
      return (call == 0 ? share * 1e-6 : 1e-6) * noise(call, round);  // a tenth faster than only reading, unless said
    });
    change(g);
    return summarise(g, {}, "").rows.at(0).status;
  };
  const auto point = [](GroupSamples& g) -> PointKey& { return g.points[0].row.point; };
  const auto warm = [&](GroupSamples& g) { point(g).cache_state = CacheState::warm; };
  EXPECT_EQ(status([](auto&) {}), Status::impossible);
  EXPECT_EQ(status(warm), Status::ok);
  EXPECT_EQ(status([&](auto& g) { point(g).timing_mode = TimingMode::end_to_end; }), Status::ok);
  EXPECT_EQ(status([&](auto& g) { point(g).device = DeviceKind::cpu; }), Status::ok);

  const auto alone = [](GroupSamples& g) {
    g.harness_calls[0] = "(launch-floor)";  // no read ceiling, then
  };
  EXPECT_EQ(status(alone), Status::ok);
  EXPECT_EQ(status([&](auto& g) { alone(g), g.theoretical_peak_bytes_per_s = 4.8e12; }), Status::ok);
  EXPECT_EQ(status([&](auto& g) { alone(g), g.theoretical_peak_bytes_per_s = 4e12; }), Status::impossible);
  EXPECT_EQ(status([&](auto& g) { warm(g), g.theoretical_peak_bytes_per_s = 4e12; }), Status::ok) << "by a cache";

  // Of what a cache may hold, where reading is more than its latency, less than half the time of reading it.
  for (const TimingMode mode : {TimingMode::device, TimingMode::graph}) {
    const auto large = [&](GroupSamples& g) { warm(g), point(g).problem.n = 1 << 22, point(g).timing_mode = mode; };
    EXPECT_EQ(status(large, 0.55), Status::ok);
    EXPECT_EQ(status(large, 0.45), Status::impossible);
    EXPECT_EQ(status([&](auto& g) { large(g), point(g).problem.n = 1 << 21; }, 0.45), Status::ok);
  }

  // What all cores can load holds everywhere but for clocks that may be coarse.
  for (const DeviceKind device : {DeviceKind::cuda, DeviceKind::cpu})
    for (const TimingMode mode : {TimingMode::device, TimingMode::graph, TimingMode::end_to_end,
                                  TimingMode::launch_to_idle, TimingMode::globaltimer}) {
      const auto limited = [&](double most) {
        return status([&](GroupSamples& g) {
          warm(g), point(g).device = device, point(g).timing_mode = mode, g.load_limit_bytes_per_s = most;
        });
      };
      EXPECT_EQ(limited(4.5e12), Status::ok);
      EXPECT_EQ(limited(4.4e12), mode == TimingMode::globaltimer ? Status::ok : Status::impossible);
    }
}

TEST(MeasureSummarise, ShortRowsMayBeFasterThanReadingWhereLatencyDecides) {
  const std::optional<ReadCeiling> ceiling(ReadCeiling{});
  const auto is_bound = [&](Operation operation, std::size_t n) {
    PointKey p;
    p.device = DeviceKind::cuda;
    p.timing_mode = TimingMode::device;
    p.cache_state = CacheState::cold_dirty;
    p.problem.operation = operation;
    p.problem.type = ElementType::f32;
    p.problem.n = n;
    return bounds_of(p, ceiling, {}).ceiling != nullptr;
  };
  EXPECT_TRUE(is_bound(Operation::sum, 1 << 18));
  EXPECT_FALSE(is_bound(Operation::row_sums, 1 << 18));
  EXPECT_TRUE(is_bound(Operation::row_sums, 1 << 22)) << "16 MiB";
}

TEST(MeasureSummarise, WhatWasSettledStaysAndItsSamplesCountNothing) {
  GroupSamples g =
      sampled({"a", "b"}, {}, 12, 12, [](std::size_t call, int round) { return 1e-5 * noise(call, round); });
  g.points[0].settle(Status::wrong, "planted");
  const GroupOutcome out = summarise(g, {}, "");
  EXPECT_EQ(out.rows[0].status, Status::wrong);
  EXPECT_EQ(out.rows[0].reason, "planted");
  EXPECT_EQ(out.rows[0].n_samples, 0u);
  EXPECT_FALSE(out.rows[0].time_median_s);
  EXPECT_EQ(out.rows[1].n_samples, 12u);
  EXPECT_EQ(raw_samples(out).size(), 24u);
}

TEST(MeasureSummarise, ADeviceWithoutAClockGivesRowsWithoutTimes) {
  GroupSamples g = sampled({"a"}, {}, 1, 1, [](auto, auto) { return 0.0; });
  g.rounds[0].samples[0].sample.seconds.reset();
  const GroupOutcome out = summarise(g, {}, "");
  EXPECT_EQ(out.rows.at(0).status, Status::ok);
  EXPECT_EQ(out.rows.at(0).n_samples, 1u);
  EXPECT_FALSE(out.rows.at(0).time_median_s || out.rows.at(0).timer_resolution_s);
  EXPECT_EQ(out.samples_csv, "");
}

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
  ReadCeiling c{.seconds = {}, .time_s = 1e-3, .interval = {0.99e-3, 1.01e-3}};
  const auto why = [&](double median, double high, std::optional<double> peak = {}) {
    return impossibility(4'000'000'000, median, {median * 0.99, high}, {.ceiling = &c, .memory_bytes_per_s = peak});
  };
  EXPECT_EQ(why(1e-3, 1.01e-3), "");
  EXPECT_EQ(why(0.985e-3, 0.986e-3), "");                  // within 2 %
  EXPECT_EQ(why(0.95e-3, 0.995e-3), "");                   // the intervals overlap
  EXPECT_NE(why(0.95e-3, 0.96e-3).find("below the time of only reading"), std::string::npos);
  EXPECT_NE(why(1e-3, 1.01e-3, 3.9e12).find("more than the memory's theoretical peak of 3.9 TB/s"), std::string::npos);
  EXPECT_EQ(why(1e-3, 1.01e-3, 4.1e12), "");
  EXPECT_EQ(impossibility(100, 1, {1, 1}, {}), "");
  const TimeBounds twice{.ceiling = &c, .times_as_fast = 2};
  EXPECT_EQ(impossibility(100, 0.51e-3, {0.5e-3, 0.52e-3}, twice), "");
  EXPECT_NE(impossibility(100, 0.49e-3, {0.48e-3, 0.5e-3}, twice), "");
  const TimeBounds load{.load_limit_bytes_per_s = 100};
  EXPECT_EQ(impossibility(100, 0.9, {0.8, 1}, load), "") << "its interval reaches what is possible";
  EXPECT_NE(impossibility(100, 0.9, {0.8, 0.99}, load).find("more than all cores can load"), std::string::npos);
  EXPECT_EQ(impossibility(0, 0.9, {0.8, 0.99}, load), "");
}

}  // namespace
}  // namespace reductio
