/// What becomes a row: times, results, bounds beside them, and reasons; and that no answer from memory does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "core/dataset.h"
#include "core/reference.h"
#include "measure/stats/statistics.h"
#include "measure/timing/host_clock.h"
#include "tests/measure/session/run_folder.h"

namespace reductio {
namespace {

using namespace scripted;

TEST(MeasureRun, EndToEndAnEmptyCallIsAwaitedByPollingToo) {
  RunFolder folder;
  Scripted script([](std::size_t id, std::size_t) {
    return id == floor_id ? 5e-6 : id == polled_floor_id ? 3e-6 : id >= reader_id ? 1e-6 : 8e-6;
  });
  script.calls().polls = true;
  script.calls().kernels_that_read = 1;
  std::map<std::size_t, int> with_device_part;  // samples, by the call
  script.clock().before_sample = [&](const Call& c) { with_device_part[c.info.grid_blocks] += c.device_part; };
  folder.run({point(a, 1000, TimingMode::end_to_end, CacheState::warm), point(a, 1000, TimingMode::device)},
             std::move(script));
  ASSERT_EQ(folder.rows.size(), 2u);
  EXPECT_GT(with_device_part[1], 0);
  EXPECT_EQ(with_device_part[polled_floor_id], 0) << "another call for a time that no row has";
  for (const Row& row : folder.rows) {
    const bool end_to_end = row.point.timing_mode == TimingMode::end_to_end;
    EXPECT_EQ(*row.launch_floor_s, 5e-6);
    EXPECT_EQ(row.polled_launch_floor_s, end_to_end ? std::optional(3e-6) : std::nullopt);
    EXPECT_EQ(row.read_time_s, end_to_end ? std::nullopt : std::optional(1e-6)) << "it is no kernel that reads";
  }
  int samples = 0;
  for (const RawSample& s : folder.raw_samples()) samples += s.point.variant == "(polled-launch-floor)";
  EXPECT_EQ(samples, 48);
}

TEST(MeasureRun, RowsHoldWhatTheClockSaid) {
  RunFolder folder;
  std::mt19937_64 random(1);
  Scripted script([&](std::size_t id, std::size_t) {
    if (id == floor_id) return 1e-6;
    if (id >= reader_id) return 2e-6;
    return (id == 1 ? 4e-6 : 8e-6) * std::uniform_real_distribution(0.99, 1.01)(random);
  });
  script.calls().kernels_that_read = 2;
  script.clock().resolution = 32e-9;
  folder.run({point(a, 1000, TimingMode::device), point(b, 1000, TimingMode::device)}, std::move(script));
  ASSERT_EQ(folder.rows.size(), 2u);
  const Row& row = folder.rows[0];
  EXPECT_EQ(row.n_samples, 48u);
  EXPECT_NEAR(*row.time_median_s, 4e-6, 4e-8);
  EXPECT_LE(*row.time_ci_low_s, *row.time_median_s);
  EXPECT_GE(*row.time_ci_high_s, *row.time_median_s);
  EXPECT_GE(*row.time_ci_high_s - *row.time_ci_low_s, 32e-9 * 0.999);
  EXPECT_LE(*row.time_min_s, *row.time_ci_low_s);
  EXPECT_GE(*row.time_p95_s, *row.time_ci_high_s);
  EXPECT_EQ(*row.launch_floor_s, 1e-6);
  EXPECT_EQ(*row.read_time_s, 2e-6);
  EXPECT_NEAR(*row.share_of_read_ceiling, 0.5, 0.01);
  EXPECT_EQ(row.abs_error, 0.0);
  EXPECT_FALSE(row.result.empty());
  EXPECT_EQ(row.reason, "");
  EXPECT_NEAR(*folder.rows[1].share_of_read_ceiling, 0.25, 0.01);
  const auto stored = folder.stored();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].at("variant"), "a");
  EXPECT_EQ(stored[0].at("machine"), "scripted");
  EXPECT_EQ(stored[0].at("experiment"), "test");
  EXPECT_EQ(stored[0].at("status"), "ok");
}

TEST(MeasureRun, AHarnessCallThatFailsCostsItsOwnColumnAndNoRow) {
  RunFolder folder;
  Scripted script([](std::size_t id, std::size_t) {
    if (id >= reader_id) throw DeviceError("planted");
    return 1e-5;
  });
  script.calls().kernels_that_read = 2;
  folder.run({point(a, 100, TimingMode::device), point(b, 100, TimingMode::device)}, std::move(script));
  ASSERT_EQ(folder.rows.size(), 2u);
  for (const Row& row : folder.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.n_samples, 48u);
    EXPECT_FALSE(row.read_time_s);
    EXPECT_TRUE(row.launch_floor_s);
  }
}

TEST(MeasureRun, RawSamplesAreKeptAndGiveTheSummaryBack) {
  RunFolder folder;
  std::mt19937_64 random(3);
  folder.run({point(a, 100), point(a, 200)},
             Scripted([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 1.0)(random); }));
  std::map<std::uint64_t, std::map<int, RawSample>> by_round;  // of each n
  std::size_t floors = 0;
  for (const RawSample& r : folder.raw_samples()) {
    floors += r.point.variant == "(launch-floor)";
    if (r.point.variant != "a") continue;
    const std::string written = text_of(Value(*r.time_s));
    EXPECT_LE(written.size(), 11u) << written << ": no digits below a tenth of a nanosecond";
    by_round[r.point.problem.n][r.round] = r;
  }
  EXPECT_GT(floors, 0u);
  for (const Row& row : folder.rows) {
    ByRound seconds;
    std::vector<int> contexts;
    for (const auto& [round, sample] : by_round.at(row.point.problem.n)) {
      seconds.push_back(sample.time_s);
      contexts.push_back(sample.context);
    }
    EXPECT_EQ(seconds.size(), row.n_samples);
    const CentralTime time = central_time(seconds, contexts, 0.95);
    EXPECT_EQ(time.seconds, *row.time_median_s);  // to the last bit: what is kept is what was used
    EXPECT_EQ(time.interval.low, *row.time_ci_low_s);
    EXPECT_EQ(time.interval.high, *row.time_ci_high_s);
  }
}

TEST(MeasureRun, SlowCallsGetThreeSamplesAndSayWhatTheirIntervalIs) {
  const Row row = row_of({point(a, 100)}, constant(0.05));
  EXPECT_EQ(row.n_samples, 3u);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_EQ(row.reason, "the interval is min..max: samples of 3 contexts give it a confidence of 0.75, not 0.95");
}

TEST(MeasureRun, WhatCannotBeMeasuredIsARowWithItsReason) {
  const Variant nothing = variant("nothing", 2, [](auto, auto, auto) {});
  int calls = 0;
  const Variant once = variant("once", 3, [&](auto in, auto n, auto out) {
    if (calls++ == 5) return;  // leaves the poison once, in the middle of the run
    *out = sum(in, n);
  });
  const Variant tail = variant("tail", 4, [](auto in, auto n, auto out) { *out = sum(in, n - 1); });
  const Variant broken = variant("broken", 5, [](auto, auto, auto) { throw DeviceError("an illegal access"); });
  Variant declining = variant("declining", 6), late = variant("late", 7), other_type = variant("other-type", 8);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  on_cpu(late) = [](const Problem&, const Settings&, const DeviceInfo&) -> std::unique_ptr<Plan> {
    throw Refused("its library is absent");
  };
  other_type.types = {ElementType::f64};
  const auto points = points_at(100, {&a, &nothing, &once, &tail, &broken, &declining, &late, &other_type});
  RunFolder folder;
  const auto report = folder.run(points);
  auto row = by_variant(folder.rows);
  EXPECT_EQ(row["a"].status, Status::ok);
  for (const auto* id : {"nothing", "once", "tail"}) {
    EXPECT_EQ(row[id].status, Status::wrong) << id;
    EXPECT_NE(row[id].reason, "") << id;
    EXPECT_FALSE(row[id].time_median_s) << id;
    EXPECT_EQ(row[id].n_samples, 0u) << id;
  }
  EXPECT_EQ(row["broken"].status, Status::failed);
  EXPECT_EQ(row["broken"].reason, "an illegal access");
  EXPECT_EQ(row["declining"].reason, "not on Sundays");
  EXPECT_EQ(row["late"].reason, "its library is absent");
  EXPECT_EQ(row["late"].status, Status::refused);
  EXPECT_EQ(row["other-type"].status, Status::refused);
  EXPECT_EQ(report.count(Status::refused), 3u);
  EXPECT_EQ(folder.stored().size(), points.size());
}

TEST(MeasureRun, InputsThatAreConsumedAreRestoredAndLeaveOthersAlone) {
  Variant eater = variant("eater", 1);
  eater.consumes_input = true;
  on_cpu(eater) = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = 1, .longest_chain = p.n}, [n = p.n](void* in, void* out, Stream) {
      auto* x = static_cast<std::uint32_t*>(in);
      *static_cast<std::uint32_t*>(out) = sum(x, n);
      std::fill_n(x, n, 0u);
    });
  };
  RunFolder folder;
  folder.run({point(eater, 1000), point(b, 1000)});
  for (const Row& row : folder.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.n_samples, 48u);
  }
}

TEST(MeasureRun, ModesThatAPlanCannotHonestlyHaveAreRefused) {
  const Variant host = finishing("host", 1, ResultLocation::host_part),
                blocking = finishing("blocking", 2, ResultLocation::on_host);
  Variant eater = variant("eater", 3);
  eater.consumes_input = true;
  RunFolder folder;
  folder.run({point(host, 100, TimingMode::device), point(blocking, 100, TimingMode::device),
              point(host, 100, TimingMode::end_to_end), point(eater, 100, TimingMode::device, CacheState::warm),
              point(host, 100, TimingMode::clock), point(host, 100, TimingMode::globaltimer),
              point(host, 100, TimingMode::launch_to_idle), point(blocking, 100, TimingMode::launch_to_idle),
              point(eater, 100, TimingMode::launch_to_idle)});
  std::map<std::string, Row> row;
  for (const Row& r : folder.rows) row[r.point.variant + " " + std::string(name(r.point.timing_mode))] = r;
  EXPECT_EQ(row["host device"].reason, "finishes on the host; timed end to end");
  EXPECT_EQ(row["blocking device"].reason, "blocks until its result is on the host; timed end to end");
  EXPECT_EQ(row["eater device"].reason, "overwrites its input: restoring it decides what the cache holds");
  EXPECT_EQ(row["host clock"].reason, "its kernels do not read the clock");
  EXPECT_EQ(row["host globaltimer"].status, Status::refused);
  EXPECT_EQ(row["host end_to_end"].status, Status::ok);
  EXPECT_EQ(*row["host end_to_end"].device_part_median_s, 5e-6);
  EXPECT_EQ(*row["host end_to_end"].cycles_median, 1234);
  EXPECT_EQ(row["blocking launch_to_idle"].reason, "blocks until its result is on the host; timed end to end");
  for (const char* timed : {"host launch_to_idle", "eater launch_to_idle"}) {
    EXPECT_EQ(row[timed].status, Status::ok) << row[timed].reason;
    EXPECT_EQ(*row[timed].time_median_s, 1e-5) << timed;
    EXPECT_EQ(*row[timed].launch_floor_s, 1e-5) << timed;
    EXPECT_FALSE(row[timed].device_part_median_s) << timed;
  }
}

TEST(MeasureRun, ADevicePartHasTheIntervalThatItsRowWouldHave) {
  const Variant host = finishing("host", 1, ResultLocation::host_part);
  std::mt19937_64 random(5);
  const Row row =
      row_of({point(host, 100)},
             Scripted([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 0.3)(random); }));
  ASSERT_EQ(row.status, Status::ok) << row.reason;
  // The scripted clock says that half of each call is the device's.
  EXPECT_NEAR(*row.device_part_median_s, *row.time_median_s / 2, 1e-10);
  EXPECT_NEAR(*row.device_part_ci_low_s, *row.time_ci_low_s / 2, 1e-10);
  EXPECT_NEAR(*row.device_part_ci_high_s, *row.time_ci_high_s / 2, 1e-10);
  EXPECT_LT(*row.device_part_ci_low_s, *row.device_part_median_s);
}

TEST(MeasureRun, OnACpuImpossibleIsWhatItsCoresCannotLoad) {
  const auto row_at = [&](double seconds) {
    RunFolder folder;
    Session s = session(folder, {point(a, 1 << 20)}, constant(seconds));
    s.machine.gpu.emplace();  // whose memory is slower than a CPU's caches may be
    s.machine.gpu->uuid = "GPU-test";
    s.machine.gpu->memory_clock_hz = 1e9;
    s.machine.gpu->memory_bus_bits = 512;
    s.keeps_rows = false;  // and so no state of it, for which this process would begin NVML
    folder.run(std::move(s));
    return folder.rows.at(0);
  };
  EXPECT_EQ(row_at(1e-5).status, Status::ok);
  const Row impossible = row_at(1e-6);
  EXPECT_EQ(impossible.status, Status::impossible);
  EXPECT_EQ(impossible.reason,
            "4.194 TB/s is more than all cores can load from any cache, 1 TB/s: part of the input was not read");
}

TEST(MeasureRun, SpeedupsAreOverTheBaseOfTheOperationWithItsDefaultSettings) {
  const auto reference_of = [](const std::vector<Operation>& base_of, const char* setting) {
    Variant base = b;
    base.base_of = base_of;
    base.tunables = {Tunable::choice("block", {"32", "64"}, "64")};
    Point of_base = point(base, 100);
    of_base.settings.set("block", setting);
    return row_of({point(a, 100), of_base}).speedup_reference;
  };
  EXPECT_EQ(reference_of({Operation::sum}, "64"), "b");
  EXPECT_EQ(reference_of({Operation::sum}, "32"), "");
  EXPECT_EQ(reference_of({Operation::sum_of_squares}, "64"), "") << "whose base is another";
}

TEST(MeasureRun, DifferentBitsAmongAPointsResultsAreCountedAndErrorsHaveTheirScaleBeside) {
  /// An f32 sum of which every call's result is one of `results` neighbours.
  const auto wavering = [](const char* id, int results) {
    Variant v{.id = id, .title = "t", .cites = "c", .operations = {Operation::sum}, .types = {ElementType::f32}};
    on_cpu(v) = [=](const Problem& p, const Settings&, const DeviceInfo&) {
      auto calls = std::make_shared<int>(0);
      return plan_of({.longest_chain = p.n}, [=, n = p.n](void* in, void* out, Stream) {
        float sum = std::accumulate(static_cast<const float*>(in), static_cast<const float*>(in) + n, 0.0f);
        for (int i = (*calls)++ % results; i > 0; --i) sum = std::nextafter(sum, 1e30f);
        *static_cast<float*>(out) = sum;
      });
    };
    return v;
  };
  const Variant steady = wavering("steady", 1), three = wavering("three", 3);
  std::vector<Point> points{point(steady, 1000), point(three, 1000)};
  for (Point& p : points) p.problem.type = ElementType::f32;
  points.push_back(point(c, 1000));
  RunFolder folder;
  folder.run(points);
  auto rows = by_variant(folder.rows);
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& [id, row] : rows) {
    EXPECT_EQ(row.status, Status::ok) << id << ": " << row.reason;
    EXPECT_EQ(row.distinct_results, id == "three" ? 3u : 1u) << id;
  }
  const Reference want =
      reference(Operation::sum, ElementType::f32, make_tile("random", ElementType::f32, 1000, 1), 1000);
  EXPECT_EQ(rows["steady"].exact_result, want.value);
  EXPECT_EQ(rows["steady"].sum_of_magnitudes, want.sum_of_magnitudes);
  EXPECT_FALSE(rows["c"].exact_result || rows["c"].sum_of_magnitudes) << "integers have no errors";
}

TEST(MeasureRun, MomentsHaveBothValuesInTheirRowsAndBothMustBeRight) {
  const auto moments = [](const char* id, std::size_t number, std::uint32_t off) {
    Variant v = variant(id, number, [=](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
      out[0] = sum(in, n);
      out[1] = std::inner_product(in, in + n, in, off);
    });
    v.operations = {Operation::moments};
    return v;
  };
  const Variant right = moments("right", 1, 0), wrong = moments("wrong", 2, 1);
  std::vector<Point> points{point(right, 1000), point(wrong, 1000)};
  for (Point& p : points) p.problem.operation = Operation::moments;
  RunFolder folder;
  folder.run(points);
  const auto stored = folder.stored();
  ASSERT_EQ(stored.size(), 2u);
  const auto tile = make_tile("random", ElementType::i32, 1000, 1);
  const Reference want = reference(Operation::moments, ElementType::i32, tile, 1000);
  const auto text = [](const Reference& r) {
    return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(r.integer)));
  };
  for (const auto& row : stored) {
    const bool is_right = row.at("variant") == "right";
    EXPECT_EQ(row.at("status"), is_right ? "ok" : "wrong");
    EXPECT_EQ(row.at("result"), text(want));
    EXPECT_EQ(row.at("result2") == text(want.second.front()), is_right) << row.at("result2");
    EXPECT_EQ(row.at("abs_error"), is_right ? "0" : "1");
    EXPECT_EQ(row.at("reason").starts_with("sum of squares: got "), !is_right) << row.at("reason");
  }
}

TEST(MeasureRun, OnTheSimulatedDeviceRowsAreVerifiedAndCarryNoTimes) {
  struct AsSim final : Scarce {
    AsSim() : Scarce(std::size_t{1} << 24), is(Scarce::info()) { is.kind = DeviceKind::sim; }
    const DeviceInfo& info() const override { return is; }
    DeviceInfo is;
  };
  Variant v = a;
  v.prepare[static_cast<int>(DeviceKind::sim)] = on_cpu(v);
  RunFolder folder;
  Session s = session(folder, {point(v, 1000)}, {});
  s.points[0].device = DeviceKind::sim;
  s.backend = std::make_unique<AsSim>();
  s.instruments = make_sim_instruments(*s.backend);
  folder.run(std::move(s));
  const Row& row = folder.rows.at(0);
  EXPECT_EQ(row.status, Status::ok) << row.reason;
  EXPECT_EQ(row.n_samples, 1u);
  EXPECT_FALSE(row.result.empty());
  const auto stored = folder.stored().at(0);
  for (const auto* column : {"timer_resolution_s", "time_median_s", "time_ci_low_s", "time_min_s",
                             "bandwidth_bytes_per_s", "read_time_s", "launch_floor_s", "share_of_read_ceiling"})
    EXPECT_EQ(stored.at(column), "") << column;
}

TEST(MeasureRun, TheHostClockTimesRealCalls) {
  RunFolder folder;
  Session s = session(folder,
                      {point(a, 1 << 16, TimingMode::end_to_end, CacheState::warm),
                       point(a, 1 << 18, TimingMode::end_to_end, CacheState::warm),
                       point(a, 1 << 10, TimingMode::device, CacheState::warm)},
                      {});
  s.instruments = make_host_instruments(*s.backend);
  folder.run(std::move(s));
  EXPECT_EQ(folder.rows.at(0).status, Status::refused);  // 2^10 comes first
  EXPECT_EQ(folder.rows.at(0).reason, "a CPU has no clock of its own; timed end to end");
  for (const std::size_t i : {1, 2}) {
    const Row& row = folder.rows.at(i);
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_GT(*row.time_min_s, 0);
    EXPECT_LE(*row.time_min_s, *row.time_ci_low_s);
    EXPECT_LE(*row.time_ci_low_s, *row.time_median_s);
    EXPECT_LE(*row.time_median_s, *row.time_ci_high_s);
    EXPECT_GE(*row.launch_floor_s, 0);
    EXPECT_GT(*row.timer_resolution_s, 0);
  }
}

// ------------------------------------------------------------------------------------------------ answers from memory

/// A part of the input by which a sum is remembered.
using Remembered = std::vector<std::uint64_t> (*)(const std::uint32_t* in, std::size_t n);

/// An i32 sum that is added up once for each `key` of what it reads.
Variant remembering(std::string name, Remembered key) {
  const auto known = std::make_shared<std::map<std::vector<std::uint64_t>, std::uint32_t>>();
  return variant(std::move(name), 1, [=](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
    const auto [at, is_new] = known->try_emplace(key(in, n));
    if (is_new) at->second = sum(in, n);
    *out = at->second;
  });
}

std::vector<Variant> remembering_ones() {
  using Key = std::vector<std::uint64_t>;
  return {remembering("by-n", [](auto*, std::size_t n) { return Key{n}; }),
          remembering("by-address",
                      [](auto* in, std::size_t n) {
                        return Key{reinterpret_cast<std::uintptr_t>(in), n};
                      }),
          remembering("by-first-middle-last",
                      [](auto* in, std::size_t n) {
                        return Key{in[0], in[n / 2], in[n - 1], n};
                      }),
          remembering("by-samples", [](auto* in, std::size_t n) {
            Key key{n};
            for (std::size_t i = 0; i < n; i += 1 + n / 64) key.push_back(in[i]);
            return key;
          })};
}

void expect_found(const Row& row) {
  EXPECT_EQ(row.status, Status::wrong) << row.point.variant;
  EXPECT_NE(row.reason.find("which was right before element "), std::string::npos) << row.reason;
  EXPECT_FALSE(row.time_median_s);
}

TEST(MeasureReplay, AnAnswerFromMemoryIsWrongInEveryMode) {
  for (const Variant& v : remembering_ones()) {
    for (const TimingMode mode : {TimingMode::end_to_end, TimingMode::device, TimingMode::graph})
      for (const CacheState cache : {CacheState::cold_dirty, CacheState::warm}) {
        Scripted script = constant(1e-5);
        script.clock().capture_s = 1e-3;
        expect_found(row_of({point(v, 5000, mode, cache)}, std::move(script)));
      }
    // One call is on the input as it is. Where there is but one sample, it is on another.
    expect_found(row_of({point(v, 5000)}, constant(0.05), {.min_samples = 1, .slow_samples = 1}));
  }
}

TEST(MeasureReplay, AnAnswerFromMemoryIsWrongWhereItIsTimedInFact) {
  for (const Variant& v : remembering_ones())
    for (const CacheState cache : {CacheState::cold_dirty, CacheState::warm}) {
      RunFolder folder;
      Session s = session(folder, {point(v, 5000, TimingMode::end_to_end, cache)}, constant(0), {.max_samples = 8});
      s.instruments = make_host_instruments(*s.backend, [](CacheState) {});  // flushing takes long and finds nothing
      folder.run(std::move(s));
      expect_found(folder.rows.at(0));
    }
}

// What calls of one plan remember of that plan's calls is in no other's way.
TEST(MeasureReplay, EveryOtherCallOfAMemberIsOnTheInputAsItIs) {
  std::map<std::size_t, std::vector<std::uint32_t>> sums;
  std::vector<Variant> all;
  for (std::size_t id = 1; id <= 3; ++id)
    all.push_back(variant(std::string(1, static_cast<char>('a' + id)), id,
                          [&sums, id](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
                            sums[id].push_back(*out = sum(in, n));
                          }));
  std::vector<Point> points;
  for (const Variant& v : all) points.push_back(point(v, 1000));
  RunFolder folder;
  folder.run(points);
  for (const Row& row : folder.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.distinct_results, 1u);
    EXPECT_EQ(row.result, folder.rows.front().result);
  }
  for (const auto& [id, of_calls] : sums) {
    ASSERT_GT(of_calls.size(), 48u);
    for (std::size_t i = 1; i < of_calls.size(); ++i)
      EXPECT_EQ(of_calls[i] == of_calls[0], i % 2 == 0) << id << ", call " << i;
    EXPECT_GT(std::set(of_calls.begin(), of_calls.end()).size(), of_calls.size() / 2 - 2) << "each is drawn anew";
  }
}

}  // namespace
}  // namespace reductio
