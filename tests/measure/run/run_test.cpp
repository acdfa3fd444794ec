/// Whole runs on a scripted clock: what is sampled, in which order, what becomes a row, and what survives being killed.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/dataset.h"
#include "core/reference.h"
#include "measure/analysis/compare.h"
#include "measure/analysis/selftest.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"
#include "measure/results/writer.h"
#include "measure/sampling/sampler.h"
#include "measure/stats/statistics.h"
#include "measure/timing/host_clock.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

using namespace scripted;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Rows of a results file by column name.
std::vector<std::map<std::string, std::string>> rows_of(const std::filesystem::path& path) {
  const CsvText csv = parse_csv(text_of(path));
  std::vector<std::map<std::string, std::string>> out;
  for (std::size_t i = 1; i < csv.records.size(); ++i) {
    out.emplace_back();
    for (std::size_t c = 0; c < csv.records[i].size(); ++c) out.back()[csv.records[0][c]] = csv.records[i][c];
  }
  return out;
}

std::filesystem::path csv_in(const Folder& f) { return f.path() / "scripted" / "test.csv"; }
std::filesystem::path samples_in(const Folder& f) { return f.path() / "scripted" / "test.samples.csv.gz"; }
std::vector<RawSample> raw_samples(const Folder& f) {
  return reductio::samples_in("the samples", parse_csv(gunzip(text_of(samples_in(f)))).records);
}

// ---------------------------------------------------------------------------------------------------- what is measured

TEST(MeasureRun, EndToEndAnEmptyCallIsAwaitedByPollingToo) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted script([](std::size_t id, std::size_t) {
    return id == floor_id ? 5e-6 : id == polled_floor_id ? 3e-6 : id >= reader_id ? 1e-6 : 8e-6;
  });
  script.calls().polls = true;
  script.calls().kernels_that_read = 1;
  std::map<std::size_t, int> with_device_part;  // samples, by the call
  script.clock().before_sample = [&](const Call& c) { with_device_part[c.info.grid_blocks] += c.device_part; };
  Heard heard;
  run_session(
      session(folder, {point(a, 1000, TimingMode::end_to_end, CacheState::warm), point(a, 1000, TimingMode::device)},
              std::move(script)),
      heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  EXPECT_GT(with_device_part[1], 0);
  EXPECT_EQ(with_device_part[polled_floor_id], 0) << "another call for a time that no row has";
  for (const Row& row : heard.rows) {
    const bool end_to_end = row.point.timing_mode == TimingMode::end_to_end;
    EXPECT_EQ(*row.launch_floor_s, 5e-6);
    EXPECT_EQ(row.polled_launch_floor_s, end_to_end ? std::optional(3e-6) : std::nullopt);
    EXPECT_EQ(row.read_time_s, end_to_end ? std::nullopt : std::optional(1e-6)) << "it is no kernel that reads";
  }
  int samples = 0;
  for (const RawSample& s : raw_samples(folder)) samples += s.point.variant == "(polled-launch-floor)";
  EXPECT_EQ(samples, 48);
}

TEST(MeasureRun, RowsHoldWhatTheClockSaid) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  std::mt19937_64 random(1);
  Scripted script([&](std::size_t id, std::size_t) {
    if (id == floor_id) return 1e-6;
    if (id >= reader_id) return 2e-6;
    return (id == 1 ? 4e-6 : 8e-6) * std::uniform_real_distribution(0.99, 1.01)(random);
  });
  script.calls().kernels_that_read = 2;
  script.clock().resolution = 32e-9;
  Heard heard;
  const auto report = run_session(
      session(folder, {point(a, 1000, TimingMode::device), point(b, 1000, TimingMode::device)}, std::move(script)),
      heard);
  EXPECT_EQ(report.count(Status::ok), 2u);
  ASSERT_EQ(heard.rows.size(), 2u);
  const Row& row = heard.rows[0];
  EXPECT_EQ(row.point.variant, a.id);
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
  EXPECT_NEAR(*heard.rows[1].share_of_read_ceiling, 0.25, 0.01);
  const auto stored = rows_of(csv_in(folder));
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].at("variant"), "a");
  EXPECT_EQ(stored[0].at("machine"), "scripted");
  EXPECT_EQ(stored[0].at("experiment"), "test");
  EXPECT_EQ(stored[0].at("status"), "ok");
}

/// Two variants and the floor, beside a clock of the kernels that reads `hz(k)` the k-th time that it is asked.
struct Throttled {
  explicit Throttled(std::function<double(int)> hz) {
    const Variant a = variant("a", 1), b = variant("b", 2);
    int asked = 0;
    double now = 0;
    Scripted script([&](std::size_t id, std::size_t) { return (now < 1.8e9 ? 1e-3 : 1e-5) * id; });
    script.device().hz = [&] { return now = hz(asked++); };
    script.clock().before_sample = [&](const Call&) { ++samples; };
    // All rounds on one allocation.
    Session s = session(folder, {point(a, 100), point(b, 100)}, std::move(script), {.allocations = 1});
    report = run_session(std::move(s), heard);
  }
  Folder folder;
  Heard heard;
  RunReport report;
  int samples = 0;
};

TEST(MeasureRun, AThrottledClockVoidsTheWholeRoundForAllVariants) {
  // Asked before the first round and after each; slow after the fourth and the fifth, so before the sixth.
  const Throttled t([](int k) { return k == 4 || k == 5 ? 1.2e9 : 1.98e9; });
  ASSERT_EQ(t.heard.rows.size(), 2u);
  for (const Row& row : t.heard.rows) {
    EXPECT_EQ(row.status, Status::ok);
    EXPECT_EQ(row.n_samples, 45u) << "void rounds are not repeated";
    EXPECT_EQ(row.n_rejected, 3u);
    EXPECT_LT(*row.time_p95_s, 1e-4) << "nothing of a voided round is left in the row";
  }
  // They are kept, and marked, among the raw samples.
  std::map<std::string, int> voided, kept;
  for (const RawSample& s : raw_samples(t.folder)) ++(s.voided ? voided : kept)[s.point.variant];
  EXPECT_EQ(voided, (std::map<std::string, int>{{"(launch-floor)", 3}, {"a", 3}, {"b", 3}}));
  EXPECT_EQ(kept, (std::map<std::string, int>{{"(launch-floor)", 45}, {"a", 45}, {"b", 45}}));
  ASSERT_FALSE(t.heard.notices.empty());
  EXPECT_NE(t.heard.notices[0].find("1200 MHz"), std::string::npos) << t.heard.notices[0];
}

TEST(MeasureRun, AHarnessCallThatFailsCostsItsOwnColumnAndNoRow) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  Scripted script([](std::size_t id, std::size_t) {
    if (id >= reader_id) throw DeviceError("planted");
    return 1e-5;
  });
  script.calls().kernels_that_read = 2;
  Heard heard;
  run_session(
      session(folder, {point(a, 100, TimingMode::device), point(b, 100, TimingMode::device)}, std::move(script)),
      heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  for (const Row& row : heard.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.n_samples, 48u);
    EXPECT_FALSE(row.read_time_s);
    EXPECT_TRUE(row.launch_floor_s);
  }
}

TEST(MeasureRun, AClockThatOnlyLaterShowsItWasThrottledVoidsTheEarlierRounds) {
  const Throttled t([](int k) { return k < 5 ? 1.2e9 : 1.98e9; });
  ASSERT_EQ(t.heard.rows.size(), 2u);
  for (const Row& row : t.heard.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.n_samples, 43u);
    EXPECT_EQ(row.n_rejected, 5u);
    EXPECT_LT(*row.time_p95_s, 1e-4);
  }
  const auto samples = raw_samples(t.folder);
  EXPECT_EQ(std::count_if(samples.begin(), samples.end(), [](const RawSample& s) { return s.voided; }), 3 * 5);
  EXPECT_EQ(samples.size(), 3u * 48);
  ASSERT_FALSE(t.heard.notices.empty());
}

TEST(MeasureRun, AKernelsClockThatCannotBeReadVoidsNothingAndCostsNoRow) {
  const Throttled t([](int k) -> double {
    if (k % 3 == 0) throw DeviceError("planted");
    return 1.98e9;
  });
  ASSERT_EQ(t.heard.rows.size(), 2u);
  for (const Row& row : t.heard.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.n_samples, 48u);
    EXPECT_EQ(row.n_rejected, 0u);
  }
}

TEST(MeasureRun, ASlightlySlowerClockVoidsNothing) {
  const Throttled t([](int k) { return k % 2 ? 1.9e9 : 1.98e9; });
  for (const Row& row : t.heard.rows) EXPECT_EQ(row.n_rejected, 0u);
}

TEST(MeasureRun, AClockThatStaysThrottledEndsInFailedRows) {
  const Throttled t([](int k) { return k == 0 ? 1.98e9 : 1.2e9; });
  ASSERT_EQ(t.heard.rows.size(), 2u);
  for (const Row& row : t.heard.rows) {
    EXPECT_EQ(row.status, Status::failed);
    EXPECT_EQ(row.n_samples, 0u);
    EXPECT_FALSE(row.time_median_s);
    EXPECT_NE(row.reason.find("throttled"), std::string::npos) << row.reason;
  }
  EXPECT_LE(t.samples, 3 * 101 + 2 + 3 * 48);  // the empty call in three modes, first; a pilot each; each round once
}

TEST(MeasureRun, WhereTheTimeWentIsRecorded) {
  const Throttled t([](int) { return 1.98e9; });
  const auto machine = nlohmann::json::parse(text_of(t.folder.path() / "scripted" / "machine.json"));
  const auto& spent = machine.at("runs").at(0).at("time_spent");
  EXPECT_NEAR(spent.at("timed_s").get<double>(), 48 * (1e-5 + 2e-5 + floor_id * 1e-5), 1e-3);
  EXPECT_GT(spent.at("wall_s").get<double>(), 0);
}

TEST(MeasureRun, HowMuchMemoryTheProcessHeldIsRecorded) {
  std::vector<std::byte> held(std::size_t{64} << 20, std::byte{1});
  const Throttled t([](int) { return 1.98e9; });
  const auto machine = nlohmann::json::parse(text_of(t.folder.path() / "scripted" / "machine.json"));
  const auto peak = machine.at("runs").at(0).at("peak_memory_bytes").get<std::size_t>();
  EXPECT_GE(peak, static_cast<std::size_t>(std::count(held.begin(), held.end(), std::byte{1})));
  EXPECT_LT(peak, std::size_t{1} << 40);  // KiB were made bytes once
}

TEST(MeasureRun, EveryRoundSamplesEveryVariantOnceInChangingOrder) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2), c = variant("c", 3);
  Scripted script = constant(1e-5);
  script.calls().kernels_that_read = 1;
  Heard heard;
  std::vector<Asked> asked;
  script.clock().before_sample = [&](const Call& call) { asked.push_back({call.info.grid_blocks, 0, true}); };
  run_session(
      session(folder,
              {point(a, 100, TimingMode::device), point(b, 100, TimingMode::device), point(c, 100, TimingMode::device)},
              std::move(script)),
      heard);
  // Past the measuring of the empty call in each mode that this clock has and that holds a launch, and one pilot each.
  asked.erase(asked.begin(), asked.begin() + 3 * 101 + 3);
  ASSERT_EQ(asked.size(), 48u * 5u);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t r = 0; r < 48; ++r) {
    std::vector<std::size_t> ids;
    for (std::size_t i = 0; i < 5; ++i) ids.push_back(asked[5 * r + i].id);
    orders.insert(ids);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, (std::vector<std::size_t>{1, 2, 3, floor_id, reader_id})) << "round " << r;
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(MeasureRun, DriftHitsAllVariantsAlike) {
  // The clock slows down to half its speed over the run. Interleaved, the ratio of two equal variants stays 1; measured
  // one after the other, as here simulated by their medians over halves, it would be 1.3 or so.
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
  double t = 1e-5;
  Scripted script([&](std::size_t id, std::size_t) { return (t *= 1.01) * (id == floor_id ? 0.1 : 1); });
  Heard heard;
  run_session(session(folder, {point(a, 100), point(b, 100)}, std::move(script)), heard);
  EXPECT_NEAR(*heard.rows[0].time_median_s / *heard.rows[1].time_median_s, 1, 0.04);
  EXPECT_GT(*heard.rows[0].time_p95_s / *heard.rows[0].time_min_s, 1.5);  // the drift itself is seen, not hidden
}

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

TEST(MeasureRun, RoundsAreSpreadOverAllocationsAndPlansAreMadeAnew) {
  const Folder folder;
  int plans = 0;
  Variant a = variant("a", 1);
  const Prepare prepare = a.prepare[static_cast<int>(DeviceKind::cpu)];
  a.prepare[static_cast<int>(DeviceKind::cpu)] = [&](const Problem& p, const Settings& s, const DeviceInfo& d) {
    ++plans;
    return prepare(p, s, d);
  };
  std::map<void*, int> samples_at;
  std::map<int, int> samples_of_plan;
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call& c) {
    if (c.info.grid_blocks != 1 || plans == 1) return;  // the first is the pilot's
    ++samples_at[c.in];
    ++samples_of_plan[plans];
  };
  Heard heard;
  Session s = session(folder, {point(a, 1000)}, {});
  s.instruments = std::move(script);
  s.backend = std::make_unique<FirstFit>();
  run_session(std::move(s), heard);
  EXPECT_EQ(plans, 1 + 12);
  EXPECT_EQ(samples_of_plan.size(), 12u);
  EXPECT_EQ(samples_at.size(), 12u) << "each allocation lies elsewhere";
  for (const auto& [where, count] : samples_at) EXPECT_GE(count, 2);
}

TEST(MeasureRun, WhatDriftsMeetsAllGroupsThatAreMeasuredTogether) {
  // The clock runs at half its speed for every other six hundred calls. Groups that were measured one after the
  // other would each see one of the speeds only.
  const Variant a = variant("a", 1);
  std::vector<Point> points;
  for (std::size_t n = 100; n < 120; ++n) points.push_back(point(a, n));
  int asked = 0;
  const auto slow = [&] { return asked++ / 600 % 2; };
  Heard together, apart;
  for (Heard* heard : {&together, &apart}) {
    const Folder folder;
    asked = 0;
    Scripted script([&](std::size_t, std::size_t) { return slow() ? 2e-5 : 1e-5; });
    run_session(session(folder, points, std::move(script), {.batch_s = heard == &apart ? 0.0 : 60.0}), *heard);
  }
  const auto sees_both = [](const Row& r) { return *r.time_min_s < 1.5e-5 && *r.time_p95_s > 1.5e-5; };
  EXPECT_EQ(std::count_if(together.rows.begin(), together.rows.end(), sees_both), 20);
  EXPECT_LT(std::count_if(apart.rows.begin(), apart.rows.end(), sees_both), 15);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(together.rows[i].point.problem.n, apart.rows[i].point.problem.n);
}

TEST(MeasureRun, ASlowGroupsFewRoundsAreSpreadOverTheAllocations) {
  const Folder folder;
  const Variant fast = variant("fast", 1), slow = variant("slow", 2);
  std::vector<std::size_t> order;
  Scripted script([](std::size_t id, std::size_t) { return id == 2 ? 0.05 : 1e-5; });
  script.clock().before_sample = [&](const Call& c) {
    if (c.info.grid_blocks != floor_id) order.push_back(c.info.grid_blocks);
  };
  Heard heard;
  run_session(session(folder, {point(fast, 100), point(slow, 200)}, std::move(script)), heard);
  EXPECT_EQ(heard.rows[1].n_samples, 3u);
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

TEST(MeasureRun, MemoryThatIsHeldSoThatOtherLiesElsewhereIsGivenUpWhereItIsNeeded) {
  const Variant a = variant("a", 1);
  Heard heard;
  for (const std::size_t n : {100u, 250'000u, 300'000u}) {
    const Folder folder;
    Session s = session(folder, {point(a, n)}, constant(1e-5));
    s.backend = std::make_unique<Scarce>(std::size_t{1} << 20);  // 262,144 elements
    run_session(std::move(s), heard);
  }
  ASSERT_EQ(heard.rows.size(), 3u);
  EXPECT_EQ(heard.rows[0].n_samples, 48u) << heard.rows[0].reason;
  EXPECT_EQ(heard.rows[1].n_samples, 48u) << heard.rows[1].reason;
  EXPECT_EQ(heard.rows[2].status, Status::no_memory);
}

TEST(MeasureRun, MemoryIsIdleBeforeTheSamplesOnEachAllocationAndAfterAllThatItAllocates) {
  const Folder folder;
  const Variant a = variant("a", 1), b = variant("b", 2);
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
  Heard heard;
  run_session(session(folder, {point(a, 1000), point(b, 1000)}, std::move(script)), heard);
  ASSERT_EQ(asked.size(), 1u + 12u) << "the first before the clocks and the cache are measured";
  for (std::size_t allocation = 1; allocation < asked.size(); ++allocation) {
    const std::size_t at = asked[allocation];
    EXPECT_FALSE(all[at - 1].sampled || all[at - 2].sampled) << "both plans have made their first call";
    EXPECT_TRUE(all[at].sampled);
  }
  const auto machine = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json"));
  const auto& run = machine.at("runs").at(0);
  const double waited_s = run.at("time_spent").at("memory_wait_s").get<double>();
  EXPECT_GE(waited_s, 12e-3);  // any machine: the test slept so long
  EXPECT_LE(waited_s, run.at("time_spent").at("wall_s").get<double>());  // any machine: one lies in the other
  EXPECT_EQ(run.at("times_memory_stayed_busy"), 3) << "the 4th, 8th and 12th wait";
  ASSERT_FALSE(heard.notices.empty());
  EXPECT_EQ(heard.notices.back().substr(0, 46), "on 3 allocations the memory stayed slower than");
}

TEST(MeasureRun, WhatBecameOfTheHostsCpuIsRecordedAndToldWhereItWasBusy) {
  const auto run_of = [](std::optional<HostCpuCounts> counts, Heard& heard) {
    const Folder folder;
    const Variant a = variant("a", 1);
    Scripted script = constant(1e-5);
    script.device().host_cpu = counts;
    run_session(session(folder, {point(a, 1000)}, std::move(script)), heard);
    return nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json")).at("runs").at(0).at("host_cpu");
  };
  Heard unknown, calm, busy;
  EXPECT_TRUE(run_of(std::nullopt, unknown).is_null());
  const auto counts = run_of(HostCpuCounts{.samples = 100, .moved = 30, .on_busy_cpu = 5, .chain_s = 4e-4}, calm);
  EXPECT_EQ(counts, (nlohmann::json{{"samples", 100}, {"moved", 30}, {"on_busy_cpu", 5}, {"mean_chain_s", 4e-6}}));
  run_of(HostCpuCounts{.samples = 100, .moved = 30, .on_busy_cpu = 6}, busy);
  EXPECT_TRUE(calm.notices.empty());
  ASSERT_EQ(busy.notices.size(), 1u);
  EXPECT_EQ(busy.notices[0].substr(0, 59), "of 100 samples by the host's clock 6 were taken while no CP");
}

TEST(MeasureRun, MemoryThatCannotBeWaitedForLosesNoRows) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted script = constant(1e-5);
  int waits = 0;
  script.device().memory_idle = [&]() -> bool {
    throw DeviceError("no events left for wait " + std::to_string(++waits));
  };
  Heard heard;
  run_session(session(folder, {point(a, 1000)}, std::move(script)), heard);
  EXPECT_EQ(waits, 1 + 12);
  EXPECT_EQ(heard.notices.front(),
            "'memory_idle_at_start' could not be measured and is left out of machine.json: no events left for wait 1");
  ASSERT_EQ(heard.rows.size(), 1u);
  EXPECT_EQ(heard.rows[0].status, Status::ok);
  EXPECT_EQ(heard.rows[0].n_samples, 48u);
}

TEST(MeasureRun, ADeviceThatIsLostWhileMemoryIsWaitedForEndsTheRun) {
  const Variant a = variant("a", 1);
  for (const bool busy : {false, true}) {
    const Folder folder;
    Session s = session(folder, {point(a, 1000)}, {});
    Scripted script = constant(1e-5);
    auto backend = std::make_unique<Scarce>(std::size_t{1} << 24);
    Scarce& device = *backend;
    int waits = 0;
    script.device().memory_idle = [&waits, &device, busy]() -> bool {
      if (++waits < 5) return true;
      if (busy) throw CallTimeout("no result within 60 s");
      device.lost = true;
      throw DeviceError("an illegal memory access");
    };
    s.instruments = std::move(script);
    s.backend = std::move(backend);
    Heard heard;
    const std::string why = error_of([&] { run_session(std::move(s), heard); });
    EXPECT_EQ(why.substr(0, 68), "a stopped the device (while the memory's probe ran, a harness call: ") << why;
    EXPECT_EQ(waits, 5);
    ASSERT_EQ(heard.rows.size(), 1u);
    EXPECT_EQ(heard.rows[0].status, Status::failed);
  }
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
  EXPECT_EQ(measured(memory, {0.9}), 1);
  EXPECT_EQ(measured(memory, {1.0, 0.9}), 3) << "the first was disturbed, too";
}

TEST(MeasureRun, WaitingForIdleMemoryEndsAndWhatFastMeansIsNotForgotten) {
  SettleDetector memory;
  EXPECT_EQ(measured(memory, {1.0}), 1);
  for (int wait = 0; wait < 3; ++wait) EXPECT_EQ(measured(memory, {1.2}), -501);
  EXPECT_EQ(measured(memory, {1.0}), 1);
  EXPECT_EQ(measured(memory, {1.2, 1.2, 1.0}), 4);
}

TEST(MeasureRun, ASelftestWhoseCallNeverEndsFreesNothingThatItWorksOn) {
  constexpr std::size_t all = std::size_t{1} << 24;
  static Scarce backend(all);  // it outlives what is never freed
  const Variant hangs = variant("hangs", 1, [](auto, auto, auto) { throw CallTimeout("no result within 60 s"); });
  Scripted script = constant(1e-5);
  SelftestPlan plan;
  plan.point = point(hangs, 0);
  plan.sizes = {100};
  EXPECT_THROW(selftest(backend, script, plan, {.progress = [](auto, auto&) {}, .stop = [] { return false; }}),
               CallTimeout);
  EXPECT_LE(backend.memory_free(), all - 400);
}

TEST(MeasureRun, EachPassIsInAFreshContextInWhichNothingIsLeft) {
  const Folder folder;
  constexpr std::size_t all = std::size_t{1} << 30;
  auto device = std::make_unique<Scarce>(all);
  const Scarce& seen = *device;
  int plans = 0, renewed = 0;
  struct Counted {
    int& count;
    explicit Counted(int& c) : count(c) { ++count; }
    Counted(const Counted& other) : Counted(other.count) {}
    ~Counted() { --count; }
  };
  Variant a = variant("a", 1);
  Prepare& prepare = a.prepare[static_cast<int>(DeviceKind::cpu)];
  prepare = [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [counted = Counted(plans), n = p.n](void* in, void* out, Stream) {
      *static_cast<std::uint32_t*>(out) = scripted::sum(static_cast<const std::uint32_t*>(in), n);
    });
  };
  Session s = session(folder, {point(a, 100), point(a, 200)}, constant(1e-5), {.allocations = 5});
  s.backend = std::move(device);
  std::vector<int> samples_before;
  auto& clock = static_cast<Clock&>(*s.instruments.timer);
  s.instruments.renew_context = [&] {
    ++renewed;
    EXPECT_EQ(plans, 0);
    EXPECT_EQ(seen.memory_free(), all) << "of inputs and outputs";
    EXPECT_EQ(seen.scattered, renewed) << "or all contexts would have the same places";
    samples_before.push_back(static_cast<int>(std::count_if(clock.asked.begin(), clock.asked.end(),
                                                            [](const Asked& call) { return call.sampled; })));
  };
  Heard heard;
  run_session(std::move(s), heard);
  EXPECT_EQ(renewed, 5) << "all groups of a batch share them";
  for (std::size_t i = 1; i < samples_before.size(); ++i)
    EXPECT_GE(samples_before[i] - samples_before[i - 1], 2 * 9) << "both points' rounds are spread over them";
  EXPECT_EQ(heard.rows.at(0).n_samples, 48u);
}

TEST(MeasureRun, WhatIsLoadedAtItsFirstLaunchInAContextIsLaunchedOnceBeforeItIsTimed) {
  // On an H200 the first launch of a slow kernel in a context was the timed one, behind a hold that its loading waited
  // for: 15 of 5,607 points failed so.
  const Folder folder;
  // Which kernels a call launches may depend on n, so each size counts by itself.
  const Variant slow = variant("slow", 1), other = variant("other", 2);
  Scripted script = constant(2e-3);
  std::set<std::pair<std::size_t, std::size_t>> launched;  // in this context: the variant and its bytes
  std::size_t first_was_timed = 0;
  Clock& clock = script.clock();
  std::size_t seen = 0;
  const auto look = [&] {
    for (; seen < clock.asked.size(); ++seen)
      if (const Asked& call = clock.asked[seen]; call.id < scripted::floor_id)
        first_was_timed += launched.emplace(call.id, call.bytes).second && call.sampled;
  };
  script.renew_context = [&] {
    look();
    launched.clear();
  };
  Session s = session(folder, {point(slow, 100), point(slow, 200), point(other, 200)}, {}, {.allocations = 4});
  s.instruments = std::move(script);
  struct Looking final : RunObserver {
    std::function<void()> look;
    void group(const GroupOutcome&) override { look(); }  // at the last context, when all is over
  } looking;
  looking.look = look;
  const RunReport report = run_session(std::move(s), looking);
  EXPECT_EQ(first_was_timed, 0u);
  EXPECT_EQ(report.count(Status::ok), 3u);
}

TEST(MeasureRun, AContextThatCannotBeMadeEndsTheRunInOneLineThatSaysHowToGoOn) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted script = constant(1e-5);
  int made = 0;
  script.renew_context = [&] {
    if (++made == 3) throw Refused("flushing the cache: needs 0.2 GiB of GPU memory, 0.1 GiB free");
  };
  Heard heard;
  const std::string why =
      error_of([&] { run_session(session(folder, {point(a, 100)}, std::move(script)), heard); });
  EXPECT_EQ(why.find("the device no longer answers (flushing the cache: needs 0.2 GiB"), 0u) << why;
  EXPECT_NE(why.find("--resume goes on behind it"), std::string::npos) << why;
  EXPECT_TRUE(heard.rows.empty()) << "what is measured again shall not be there twice";
}

TEST(MeasureRun, ACallThatIsShortComesAfterOneOfItsOwn) {
  const Folder folder;
  const Variant quick = variant("quick", 1), slow = variant("slow", 2);
  Scripted script([](std::size_t id, std::size_t) { return id == 2 ? 2e-3 : 1e-5; });
  std::map<std::size_t, std::set<bool>> in_loop;
  std::set<std::size_t> piloted;
  script.clock().before_sample = [&](const Call& c) {
    if (!piloted.insert(c.info.grid_blocks).second) in_loop[c.info.grid_blocks].insert(c.in_loop);
  };
  Heard heard;
  run_session(session(folder, {point(quick, 100), point(slow, 100)}, std::move(script)), heard);
  EXPECT_EQ(in_loop[1], std::set{true});
  EXPECT_EQ(in_loop[2], std::set{false}) << "what came before does not show in it, and calling it twice costs time";
  EXPECT_EQ(in_loop[scripted::floor_id], std::set{true});
}

TEST(MeasureRun, CallsThatAreTheFirstInAWhileComeAfterNoneOfTheirOwnAndHaveRowsOfTheirOwn) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Point first = point(a, 100);
  first.in_loop = false;
  std::map<bool, int> samples;  // of the two groups, one after the other in each allocation
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call& c) { samples[c.in_loop] += c.info.grid_blocks == 1; };
  Heard heard;
  run_session(session(folder, {point(a, 100), first}, std::move(script)), heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  EXPECT_EQ(samples[true], 48 + 2) << "the pilots too";
  EXPECT_EQ(samples[false], 48);
  std::set<std::string> callers;
  for (const Row& row : heard.rows) callers.insert(row.point.caller);
  EXPECT_EQ(callers, (std::set<std::string>{"", "first"}));
}

TEST(MeasureRun, CallsThatAllocateAreSampledWhileNoOtherPlanHoldsMemory) {
  // On an H200 thrust::reduce took up to a tenth longer beside the plans of 60 others than alone.
  const Folder folder;
  const Variant other = variant("other", 2);
  Variant allocating = variant("allocating", 1);
  allocating.result = ResultLocation::on_host;
  Prepare& prepare = allocating.prepare[static_cast<int>(DeviceKind::cpu)];
  prepare = [](const Problem& p, const Settings&, const DeviceInfo&) {
    const auto value = std::make_shared<std::uint32_t>();
    return plan_of({.grid_blocks = 1, .longest_chain = p.n, .result = ResultLocation::on_host},
                   [=, n = p.n](void* in, void*, Stream) {
                     *value = scripted::sum(static_cast<const std::uint32_t*>(in), n);
                   },
                   [=](void* result, Stream) { std::memcpy(result, value.get(), sizeof(*value)); });
  };
  Scripted script = constant(1e-5);
  // In the order of time, what was sampled and, 0, where a pass began.
  std::vector<std::size_t> order;
  script.clock().before_sample = [&](const Call& c) { order.push_back(c.info.grid_blocks); };
  script.renew_context = [&] { order.push_back(0); };
  Heard heard;
  run_session(session(folder, {point(other, 100), point(allocating, 100)}, std::move(script), {.allocations = 4}),
              heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  for (const Row& row : heard.rows) EXPECT_EQ(row.n_samples, 48u) << row.point.variant << ": " << row.reason;
  int passes = 0, samples = 0;
  bool others = false;
  for (const std::size_t id : order) {
    if (id == 0) ++passes, others = false;
    if (passes == 0 || id == 0) continue;
    if (id == 1) EXPECT_FALSE(others) << "in pass " << passes;
    else others = true;
    samples += id == 1;
  }
  EXPECT_EQ(passes, 4);
  EXPECT_EQ(samples, 48);

  // But where calls shall be the first in a while, all others come in between.
  const Folder first;
  Point points[] = {point(other, 100), point(allocating, 100)};
  for (Point& p : points) p.in_loop = false;
  Scripted mixed = constant(1e-5);
  std::vector<std::size_t> ids;
  mixed.clock().before_sample = [&](const Call& c) { ids.push_back(c.info.grid_blocks); };
  run_session(session(first, {points[0], points[1]}, std::move(mixed), {.allocations = 4}), heard);
  int in_a_row = 0, most = 0;
  for (std::size_t i = 2; i < ids.size(); ++i) most = std::max(most, in_a_row = ids[i] == 1 ? in_a_row + 1 : 0);
  EXPECT_LE(most, 2) << "the last of one round and the first of the next";
}

TEST(MeasureRun, SpeedupsAreOverTheBaseOfTheOperationWithItsDefaultSettings) {
  const auto reference_of = [](const std::vector<Operation>& base_of, const char* setting) {
    const Folder folder;
    const Variant a = variant("a", 1);
    Variant b = variant("b", 2);
    b.base_of = base_of;
    b.tunables = {Tunable::choice("block", {"32", "64"}, "64")};
    Point of_b = point(b, 100);
    of_b.settings.set("block", setting);
    Heard heard;
    run_session(session(folder, {point(a, 100), of_b}, constant(1e-5)), heard);
    return heard.rows.at(0).speedup_reference;
  };
  EXPECT_EQ(reference_of({Operation::sum}, "64"), "b");
  EXPECT_EQ(reference_of({Operation::sum}, "32"), "");
  EXPECT_EQ(reference_of({Operation::sum_of_squares}, "64"), "") << "whose base is another";
}

TEST(MeasureRun, AnAllocationThatIsRefusedCostsItsRoundsAndNotTheRow) {
  // Each refusal is answered by another try, without the memory that is held.
  struct Case {
    std::set<int> refused;  ///< plans, by their number
    unsigned allocations;
  };
  for (const Case& c : {Case{{7, 8}, 1}, Case{{2, 3, 4, 5}, 2}}) {
    const Folder folder;
    int plans = 0;
    Variant a = variant("a", 1);
    Prepare& prepare = a.prepare[static_cast<int>(DeviceKind::cpu)];
    prepare = [&, made = prepare](const Problem& p, const Settings& s, const DeviceInfo& d) {
      if (c.refused.contains(++plans)) throw Refused("planted");
      return made(p, s, d);
    };
    const Variant b = variant("b", 2);
    Heard heard;
    run_session(session(folder, {point(a, 100), point(b, 100)}, constant(1e-5)), heard);
    ASSERT_EQ(heard.rows.size(), 2u);
    EXPECT_EQ(heard.rows[0].status, Status::ok);
    EXPECT_EQ(heard.rows[0].n_samples, 48u - 4 * c.allocations);
    EXPECT_EQ(heard.rows[0].reason, std::to_string(c.allocations) + " of 12 allocations were refused, planted");
    EXPECT_EQ(heard.rows[1].n_samples, 48u);
    EXPECT_EQ(heard.rows[1].reason, "");
  }
}

TEST(MeasureRun, WhereEveryAllocationIsRefusedTheRowIs) {
  const Folder folder;
  int plans = 0;
  Variant a = variant("a", 1);
  Prepare& prepare = a.prepare[static_cast<int>(DeviceKind::cpu)];
  prepare = [&, made = prepare](const Problem& p, const Settings& s, const DeviceInfo& d) {
    if (++plans > 1) throw Refused("planted");
    return made(p, s, d);
  };
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard);
  EXPECT_EQ(heard.rows.at(0).status, Status::refused);
  EXPECT_EQ(heard.rows.at(0).reason, "planted");
  EXPECT_EQ(heard.rows.at(0).n_samples, 0u);
}

TEST(MeasureRun, FewAllocationsAreToldWhereTheIntervalNeedsMore) {
  const Folder folder;
  const Variant a = variant("a", 1);
  // Each allocation has a time of its own.
  int asked = 0;
  Scripted script([&](std::size_t, std::size_t) { return 1e-5 * (1 + ++asked / 20); });
  Heard heard;
  run_session(session(folder, {point(a, 100)}, std::move(script), {.allocations = 3}), heard);
  EXPECT_EQ(heard.rows.at(0).reason,
            "the interval is min..max: samples of 3 allocations give it a confidence of 0.75, not 0.95");
}

TEST(MeasureRun, AGroupsRoundsAreVoidedByTheClockThatAnotherGroupSaw) {
  const Folder folder;
  const Variant a = variant("a", 1);
  int asked = 0;
  double now = 0;
  Scripted script([&](std::size_t, std::size_t) { return now < 1.8e9 ? 1e-3 : 1e-5; });
  // Throttled all through the first group's first two allocations, whose end is the 15th reading but those of the
  // second.
  script.device().hz = [&] { return now = ++asked <= 5 ? 1.2e9 : 1.98e9; };
  Heard heard;
  run_session(session(folder, {point(a, 100), point(a, 200)}, std::move(script)), heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  EXPECT_EQ(heard.rows[0].n_rejected, 4u) << "nothing on that allocation showed that its clock was slow";
  EXPECT_EQ(heard.rows[0].n_samples, 44u);
  EXPECT_EQ(heard.rows[1].n_rejected, 0u);
  EXPECT_LT(*heard.rows[0].time_p95_s, 1e-4);
}

TEST(MeasureRun, RawSamplesAreKeptAndGiveTheSummaryBack) {
  const Folder folder;
  const Variant a = variant("a", 1);
  std::mt19937_64 random(3);
  Scripted script([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 1.0)(random); });
  Heard heard;
  run_session(session(folder, {point(a, 100), point(a, 200)}, std::move(script)), heard);
  struct Samples {
    std::vector<double> seconds;
    std::map<int, double> by_round;
    std::map<int, int> allocations;
  };
  std::map<std::uint64_t, Samples> by_n;
  std::size_t floors = 0;
  for (const RawSample& r : raw_samples(folder)) {
    if (r.point.variant == "a") {
      Samples& s = by_n[r.point.problem.n];
      s.seconds.push_back(*r.time_s);
      const std::string written = reductio::text_of(Value(*r.time_s));
      EXPECT_LE(written.size(), 11u) << written << ": no digits below a tenth of a nanosecond";
      s.by_round[r.round] = s.seconds.back();
      s.allocations[r.round] = r.allocation;
    }
    floors += r.point.variant == "(launch-floor)";
  }
  EXPECT_GT(floors, 0u);
  for (const Row& row : heard.rows) {
    const Samples& s = by_n.at(row.point.problem.n);
    EXPECT_EQ(s.seconds.size(), row.n_samples);
    ByRound seconds;
    std::vector<int> allocations;
    for (const auto& [round, value] : s.by_round) {
      seconds.push_back(value);
      allocations.push_back(s.allocations.at(round));
    }
    const CentralTime time = central_time(seconds, allocations, 0.95);
    EXPECT_EQ(time.seconds, *row.time_median_s);  // to the last bit: what is kept is what was used
    EXPECT_EQ(time.interval.low, *row.time_ci_low_s);
    EXPECT_EQ(time.interval.high, *row.time_ci_high_s);
    EXPECT_EQ(*std::min_element(s.seconds.begin(), s.seconds.end()), *row.time_min_s);
  }
}

TEST(MeasureRun, SlowCallsGetThreeSamplesAndSayWhatTheirIntervalIs) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(0.05)), heard);
  ASSERT_EQ(heard.rows.size(), 1u);
  EXPECT_EQ(heard.rows[0].n_samples, 3u);
  EXPECT_EQ(heard.rows[0].status, Status::ok);
  EXPECT_EQ(heard.rows[0].reason,
            "the interval is min..max: samples of 3 allocations give it a confidence of 0.75, not 0.95");
}

TEST(MeasureRun, ACallPredictedOverTheLimitIsRefusedWithoutBeingRun) {
  const Folder folder;
  const Variant a = variant("a", 1);
  std::size_t largest = 0;
  const auto linear = [&](std::size_t id, std::size_t bytes) {
    if (id == 1) largest = std::max(largest, bytes);
    return id == 1 ? 1e-6 * static_cast<double>(bytes) : 1e-6;
  };
  const std::vector<Point> points{point(a, 10000), point(a, 40000), point(a, 80000), point(a, 160000)};
  Heard heard;
  run_session(session(folder, points, Scripted(linear)), heard);
  ASSERT_EQ(heard.rows.size(), 4u);
  EXPECT_EQ(heard.rows[1].status, Status::ok);
  EXPECT_EQ(heard.rows[2].status, Status::over_limit);
  EXPECT_EQ(heard.rows[2].reason, "predicted 0.32 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(heard.rows[3].reason, "predicted 0.64 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(largest, 160000u);  // bytes of the second size
  EXPECT_FALSE(heard.rows[2].time_median_s);

  const Folder another;
  SamplingRules full;
  full.full = true;
  run_session(session(another, points, Scripted(linear), full), heard);
  EXPECT_EQ(heard.rows.back().status, Status::ok);
  EXPECT_EQ(heard.rows.back().n_samples, 3u);
}

/// What a call takes there says how busy the machine is: a limit as on a GPU left points unverified.
TEST(MeasureRun, ASimulatedDeviceOnABusyMachineVerifiesAllTheSame) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted busy([](std::size_t, std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); });
  busy.clock().simulated = true;
  Heard heard;
  run_session(session(folder, {point(a, 1000), point(a, 80000), point(a, 8000000)}, std::move(busy)), heard);
  ASSERT_EQ(heard.rows.size(), 3u);
  EXPECT_EQ(heard.rows[1].status, Status::ok);
  EXPECT_EQ(heard.rows[2].status, Status::over_limit);
  EXPECT_NE(heard.rows[2].reason.find("exceeds this experiment's limit of 10 s; --full runs it"), std::string::npos);
}

TEST(MeasureRun, AFirstSizeThatIsHugeIsPredictedFromPartsOfIt) {
  const Folder folder;
  // Only how many elements the plan was made for says how much a call does here.
  Variant a = variant("a", 1);
  std::size_t largest = 0;
  a.prepare[static_cast<int>(DeviceKind::cpu)] = [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = p.n, .longest_chain = p.n}, [&, n = p.n](void* in, void* out, Stream) {
      largest = std::max(largest, n);
      *static_cast<std::uint32_t*>(out) = sum(static_cast<const std::uint32_t*>(in), n);
    });
  };
  const std::size_t n = std::size_t{1} << 24;
  Heard heard;
  run_session(session(folder, {point(a, n)},
                      Scripted([](std::size_t elements, std::size_t) { return 1e-7 * static_cast<double>(elements); })),
              heard);
  EXPECT_EQ(heard.rows.at(0).status, Status::over_limit);
  EXPECT_EQ(heard.rows.at(0).reason,
            "predicted 1.68 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
  EXPECT_EQ(largest, std::size_t{1} << 20);
}

TEST(MeasureRun, ALaunchCostIsNotMistakenForTimePerElement) {
  // 90 ms whatever the size: scaled from 2^10 a call at 2^20 would take 92 s.
  const Folder folder;
  const Variant a = variant("a", 1);
  Heard heard;
  run_session(session(folder, {point(a, 1 << 10), point(a, 1 << 20)}, constant(0.09)), heard);
  EXPECT_EQ(heard.rows.at(1).status, Status::ok) << heard.rows.at(1).reason;
}

TEST(MeasureRun, WhatCannotBeMeasuredIsARowWithItsReason) {
  const Folder folder;
  const Variant good = variant("good", 1);
  const Variant nothing = variant("nothing", 2, [](auto, auto, auto) {});
  int calls = 0;
  const Variant once = variant("once", 3, [&](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
    if (calls++ == 5) return;  // leaves the poison once, in the middle of the run
    *out = sum(in, n);
  });
  const Variant tail =
      variant("tail", 4, [](const std::uint32_t* in, std::size_t n, std::uint32_t* out) { *out = sum(in, n - 1); });
  const Variant broken = variant("broken", 5, [](auto, auto, auto) { throw DeviceError("an illegal access"); });
  Variant declining = variant("declining", 6);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  Variant late = variant("late", 7);
  late.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem&, const Settings&,
                                                       const DeviceInfo&) -> std::unique_ptr<Plan> {
    throw Refused("its library is absent");
  };
  const Variant other_type = [] {
    Variant v = variant("other-type", 8);
    v.types = {ElementType::f64};
    return v;
  }();
  std::vector<Point> points;
  for (const Variant* v :
       std::initializer_list<const Variant*>{&good, &nothing, &once, &tail, &broken, &declining, &late, &other_type})
    points.push_back(point(*v, 100));
  Heard heard;
  const auto report = run_session(session(folder, points, constant(1e-5)), heard);
  std::map<std::string, const Row*> row;
  for (const Row& r : heard.rows) row[r.point.variant] = &r;
  EXPECT_EQ(row.at("good")->status, Status::ok);
  for (const auto* id : {"nothing", "once", "tail"}) {
    EXPECT_EQ(row.at(id)->status, Status::wrong) << id;
    EXPECT_NE(row.at(id)->reason, "") << id;
    EXPECT_FALSE(row.at(id)->time_median_s) << id;
    EXPECT_EQ(row.at(id)->n_samples, 0u) << id;
  }
  EXPECT_EQ(row.at("broken")->status, Status::failed);
  EXPECT_EQ(row.at("broken")->reason, "an illegal access");
  EXPECT_EQ(row.at("declining")->reason, "not on Sundays");
  EXPECT_EQ(row.at("late")->reason, "its library is absent");
  EXPECT_EQ(row.at("late")->status, Status::refused);
  EXPECT_EQ(row.at("other-type")->status, Status::refused);
  EXPECT_EQ(report.count(Status::refused), 3u);
  EXPECT_EQ(rows_of(csv_in(folder)).size(), points.size());
}

TEST(MeasureRun, InputsThatAreConsumedAreRestoredAndLeaveOthersAlone) {
  const Folder folder;
  Variant eater = variant("eater", 1);
  eater.consumes_input = true;
  eater.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = 1, .longest_chain = p.n}, [n = p.n](void* in, void* out, Stream) {
      auto* x = static_cast<std::uint32_t*>(in);
      *static_cast<std::uint32_t*>(out) = sum(x, n);
      std::fill_n(x, n, 0u);
    });
  };
  const Variant reader = variant("reader", 2);
  Heard heard;
  run_session(session(folder, {point(eater, 1000), point(reader, 1000)}, constant(1e-5)), heard);
  EXPECT_EQ(heard.rows.at(0).status, Status::ok) << heard.rows.at(0).reason;
  EXPECT_EQ(heard.rows.at(1).status, Status::ok) << heard.rows.at(1).reason;
  EXPECT_EQ(heard.rows.at(0).n_samples, 48u);
}

TEST(MeasureRun, ModesThatAPlanCannotHonestlyHaveAreRefused) {
  const Folder folder;
  Variant host = variant("host", 1), blocking = variant("blocking", 2), eater = variant("eater", 3);
  const auto finishing = [](std::size_t id, ResultLocation result) {
    return [=](const Problem& p, const Settings&, const DeviceInfo&) {
      auto value = std::make_shared<std::uint32_t>(0);
      return plan_of({.grid_blocks = id, .longest_chain = p.n, .result = result},
                     [=, n = p.n](void* in, void*, Stream) { *value = sum(static_cast<const std::uint32_t*>(in), n); },
                     [=](void* out, Stream) { std::memcpy(out, value.get(), sizeof *value); },
                     [] { return std::optional(ClockReading{1234}); });
    };
  };
  host.result = ResultLocation::host_part;
  host.prepare[static_cast<int>(DeviceKind::cpu)] = finishing(1, ResultLocation::host_part);
  blocking.result = ResultLocation::on_host;
  blocking.prepare[static_cast<int>(DeviceKind::cpu)] = finishing(2, ResultLocation::on_host);
  eater.consumes_input = true;
  Heard heard;
  run_session(
      session(folder,
              {point(host, 100, TimingMode::device), point(blocking, 100, TimingMode::device),
               point(host, 100, TimingMode::end_to_end), point(eater, 100, TimingMode::device, CacheState::warm),
               point(host, 100, TimingMode::clock), point(host, 100, TimingMode::globaltimer),
               point(host, 100, TimingMode::launch_to_idle), point(blocking, 100, TimingMode::launch_to_idle),
               point(eater, 100, TimingMode::launch_to_idle)},
              constant(1e-5)),
      heard);
  std::map<std::string, const Row*> row;
  for (const Row& r : heard.rows)
    row[r.point.variant + " " + std::string(name(r.point.timing_mode))] = &r;
  EXPECT_EQ(row.at("host device")->reason, "finishes on the host; timed end to end");
  EXPECT_EQ(row.at("blocking device")->reason, "blocks until its result is on the host; timed end to end");
  EXPECT_EQ(row.at("eater device")->reason, "overwrites its input: restoring it decides what the cache holds");
  EXPECT_EQ(row.at("host clock")->reason, "its kernels do not read the clock");
  EXPECT_EQ(row.at("host globaltimer")->status, Status::refused);
  EXPECT_EQ(row.at("host end_to_end")->status, Status::ok);
  EXPECT_EQ(*row.at("host end_to_end")->device_part_median_s, 5e-6);
  EXPECT_EQ(*row.at("host end_to_end")->cycles_median, 1234);
  EXPECT_EQ(row.at("blocking launch_to_idle")->reason, "blocks until its result is on the host; timed end to end");
  for (const char* timed : {"host launch_to_idle", "eater launch_to_idle"}) {
    EXPECT_EQ(row.at(timed)->status, Status::ok) << row.at(timed)->reason;
    EXPECT_EQ(*row.at(timed)->time_median_s, 1e-5) << timed;
    EXPECT_EQ(*row.at(timed)->launch_floor_s, 1e-5) << timed;
    EXPECT_FALSE(row.at(timed)->device_part_median_s) << timed;
  }
}

TEST(MeasureRun, ADevicePartHasTheIntervalThatItsRowWouldHave) {
  const Folder folder;
  Variant host = variant("host", 1);
  host.result = ResultLocation::host_part;
  host.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem& p, const Settings&, const DeviceInfo&) {
    auto value = std::make_shared<std::uint32_t>(0);
    return plan_of({.grid_blocks = 1, .longest_chain = p.n, .result = ResultLocation::host_part},
                   [=, n = p.n](void* in, void*, Stream) { *value = sum(static_cast<const std::uint32_t*>(in), n); },
                   [=](void* out, Stream) { std::memcpy(out, value.get(), sizeof *value); });
  };
  std::mt19937_64 random(5);
  Scripted script([&](std::size_t, std::size_t) { return std::lognormal_distribution(-12.0, 0.3)(random); });
  Heard heard;
  run_session(session(folder, {point(host, 100)}, std::move(script)), heard);
  const Row& row = heard.rows.at(0);
  ASSERT_EQ(row.status, Status::ok) << row.reason;
  // The scripted clock says that half of each call is the device's.
  EXPECT_NEAR(*row.device_part_median_s, *row.time_median_s / 2, 1e-10);
  EXPECT_NEAR(*row.device_part_ci_low_s, *row.time_ci_low_s / 2, 1e-10);
  EXPECT_NEAR(*row.device_part_ci_high_s, *row.time_ci_high_s / 2, 1e-10);
  EXPECT_LT(*row.device_part_ci_low_s, *row.device_part_median_s);
}

TEST(MeasureRun, OnACpuImpossibleIsWhatItsCoresCannotLoad) {
  const Variant a = variant("a", 1);
  const auto row_of = [&](double seconds) {
    const Folder folder;
    Heard heard;
    Session s = session(folder, {point(a, 1 << 20)}, constant(seconds));
    s.machine.gpu.emplace();  // whose memory is slower than a CPU's caches may be
    s.machine.gpu->uuid = "GPU-test";
    s.machine.gpu->memory_clock_hz = 1e9;
    s.machine.gpu->memory_bus_bits = 512;
    run_session(std::move(s), heard);
    return heard.rows.at(0);
  };
  EXPECT_EQ(row_of(1e-5).status, Status::ok);
  const Row impossible = row_of(1e-6);
  EXPECT_EQ(impossible.status, Status::impossible);
  EXPECT_EQ(impossible.reason,
            "4.194 TB/s is more than all cores can load from any cache, 1 TB/s: part of the input was not read");
}

// -------------------------------------------------------------------------------------------- who answers from memory

/// An i32 sum that is added up once for each `key` of what it reads.
Variant remembering(std::string name,
                    std::function<std::vector<std::uint64_t>(const std::uint32_t*, std::size_t)> key) {
  const auto known = std::make_shared<std::map<std::vector<std::uint64_t>, std::uint32_t>>();
  return variant(std::move(name), 1, [=](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
    const auto [at, is_new] = known->try_emplace(key(in, n));
    if (is_new) at->second = sum(in, n);
    *out = at->second;
  });
}

std::vector<Variant> remembering_ones() {
  return {remembering("by-n", [](auto*, std::size_t n) { return std::vector<std::uint64_t>{n}; }),
          remembering("by-address",
                      [](auto* in, std::size_t n) {
                        return std::vector<std::uint64_t>{reinterpret_cast<std::uintptr_t>(in), n};
                      }),
          remembering("by-first-middle-last",
                      [](auto* in, std::size_t n) {
                        return std::vector<std::uint64_t>{in[0], in[n / 2], in[n - 1], n};
                      }),
          remembering("by-samples", [](auto* in, std::size_t n) {
            std::vector<std::uint64_t> key{n};
            for (std::size_t i = 0; i < n; i += 1 + n / 64) key.push_back(in[i]);
            return key;
          })};
}

void expect_found(Session s) {
  const std::size_t points = s.points.size();
  Heard heard;
  run_session(std::move(s), heard);
  ASSERT_EQ(heard.rows.size(), points);
  for (const Row& row : heard.rows) {
    EXPECT_EQ(row.status, Status::wrong) << row.point.variant;
    EXPECT_NE(row.reason.find("which was right before element "), std::string::npos) << row.reason;
    EXPECT_FALSE(row.time_median_s);
  }
}

TEST(MeasureReplay, AnAnswerFromMemoryIsWrongInEveryMode) {
  for (const Variant& v : remembering_ones())
    for (const TimingMode mode : {TimingMode::end_to_end, TimingMode::device, TimingMode::graph})
      for (const CacheState cache : {CacheState::cold_dirty, CacheState::warm}) {
        const Folder folder;
        Scripted script = constant(1e-5);
        script.clock().capture_s = 1e-3;
        expect_found(session(folder, {point(v, 5000, mode, cache)}, std::move(script)));
      }
}

TEST(MeasureReplay, AnAnswerFromMemoryIsWrongWhereItIsTimedInFact) {
  for (const Variant& v : remembering_ones())
    for (const CacheState cache : {CacheState::cold_dirty, CacheState::warm}) {
      const Folder folder;
      Session s = session(folder, {point(v, 5000, TimingMode::end_to_end, cache)}, constant(0), {.max_samples = 8});
      s.instruments = make_host_instruments(*s.backend, [](CacheState) {});  // flushing takes long and finds nothing
      expect_found(std::move(s));
    }
}

// One call is on the input as it is. Where there is but one sample, it is on another.
TEST(MeasureReplay, AFewSlowSamplesAreEnough) {
  for (const Variant& v : remembering_ones()) {
    const Folder folder;
    expect_found(session(folder, {point(v, 5000)}, constant(0.05), {.min_samples = 1, .slow_samples = 1}));
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
  const Folder folder;
  Heard heard;
  run_session(session(folder, points, constant(1e-5)), heard);
  for (const Row& row : heard.rows) {
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_EQ(row.distinct_results, 1u);
    EXPECT_EQ(row.result, heard.rows.front().result);
  }
  for (const auto& [id, of_calls] : sums) {
    ASSERT_GT(of_calls.size(), 48u);
    for (std::size_t i = 1; i < of_calls.size(); ++i)
      EXPECT_EQ(of_calls[i] == of_calls[0], i % 2 == 0) << id << ", call " << i;
    EXPECT_GT(std::set(of_calls.begin(), of_calls.end()).size(), of_calls.size() / 2 - 2) << "each is drawn anew";
  }
}

TEST(MeasureRun, OnTheSimulatedDeviceRowsAreVerifiedAndCarryNoTimes) {
  const Folder folder;
  Variant v = variant("a", 1);
  v.prepare[static_cast<int>(DeviceKind::sim)] = v.prepare[static_cast<int>(DeviceKind::cpu)];
  class AsSim final : public Backend {
   public:
    AsSim() : cpu_(open_cpu()), info_(cpu_->info()) { info_.kind = DeviceKind::sim; }
    const DeviceInfo& info() const override { return info_; }
    void* allocate(std::size_t b) override { return cpu_->allocate(b); }
    void release(void* p) noexcept override { cpu_->release(p); }
    std::size_t memory_free() const override { return cpu_->memory_free(); }
    void fill(void* d, unsigned char b, std::size_t n, Stream s) override { cpu_->fill(d, b, n, s); }
    void copy_in(void* d, const void* h, std::size_t n, Stream s) override { cpu_->copy_in(d, h, n, s); }
    void copy_within(void* d, const void* h, std::size_t n, Stream s) override { cpu_->copy_within(d, h, n, s); }
    void copy_out(void* d, const void* h, std::size_t n, Stream s) override { cpu_->copy_out(d, h, n, s); }
    bool repeats(const void* p, std::size_t period, std::size_t n, Stream s) override {
      return cpu_->repeats(p, period, n, s);
    }
    Stream create_stream() override { return {}; }
    void destroy_stream(Stream) noexcept override {}
    void synchronize(Stream) override {}
    std::function<void()> watch_enqueue(const std::function<void()>& f, Stream s, FirstLaunch* l) override {
      return cpu_->watch_enqueue(f, s, l);
    }

   private:
    std::unique_ptr<Backend> cpu_;
    DeviceInfo info_;
  };
  Session s = session(folder, {point(v, 1000)}, {});
  s.points[0].device = DeviceKind::sim;
  s.backend = std::make_unique<AsSim>();
  s.instruments = make_sim_instruments(*s.backend);
  Heard heard;
  run_session(std::move(s), heard);
  const Row& row = heard.rows.at(0);
  EXPECT_EQ(row.status, Status::ok) << row.reason;
  EXPECT_EQ(row.n_samples, 1u);
  EXPECT_FALSE(row.result.empty());
  const auto stored = rows_of(csv_in(folder)).at(0);
  for (const auto* c : {"timer_resolution_s", "time_median_s", "time_ci_low_s", "time_min_s", "bandwidth_bytes_per_s",
                        "read_time_s", "launch_floor_s", "share_of_read_ceiling"})
    EXPECT_EQ(stored.at(c), "") << c;
}

TEST(MeasureRun, TheHostClockTimesRealCalls) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Session s = session(folder,
                      {point(a, 1 << 16, TimingMode::end_to_end, CacheState::warm),
                       point(a, 1 << 18, TimingMode::end_to_end, CacheState::warm),
                       point(a, 1 << 10, TimingMode::device, CacheState::warm)},
                      {});
  s.instruments = make_host_instruments(*s.backend);
  Heard heard;
  run_session(std::move(s), heard);
  EXPECT_EQ(heard.rows.at(0).status, Status::refused);  // 2^10 comes first
  EXPECT_EQ(heard.rows.at(0).reason, "a CPU has no clock of its own; timed end to end");
  for (const std::size_t i : {1, 2}) {
    const Row& row = heard.rows.at(i);
    EXPECT_EQ(row.status, Status::ok) << row.reason;
    EXPECT_GT(*row.time_min_s, 0);
    EXPECT_LE(*row.time_min_s, *row.time_ci_low_s);
    EXPECT_LE(*row.time_ci_low_s, *row.time_median_s);
    EXPECT_LE(*row.time_median_s, *row.time_ci_high_s);
    EXPECT_GE(*row.launch_floor_s, 0);
    EXPECT_GT(*row.timer_resolution_s, 0);
  }
}

TEST(MeasureRun, AFlushThatDoesNotFlushIsToldWhereSomethingShallBeCold) {
  const Variant a = variant("a", 1);
  const auto notices = [&](double dirty_s, CacheState cache) {
    const Folder folder;
    Scripted script = constant(1e-5);
    script.device().probe = [&] {
      return CacheProbe{.bytes = 4096, .warm_s = 1e-6, .cold_clean_s = 2e-6, .cold_dirty_s = dirty_s};
    };
    Heard heard;
    run_session(session(folder, {point(a, 100, TimingMode::end_to_end, cache)}, std::move(script)), heard);
    return heard.notices;
  };
  EXPECT_TRUE(notices(2e-6, CacheState::cold_dirty).empty());
  EXPECT_TRUE(notices(1e-6, CacheState::warm).empty());
  const auto told = notices(1e-6, CacheState::cold_dirty);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].ends_with("cold rows may not be cold")) << told[0];
}

/// The calls that were sampled, in their order, and the seed that the record tells.
std::pair<std::vector<std::size_t>, std::uint64_t> order_of(std::uint64_t seed,
                                                            std::optional<std::uint64_t> order_seed) {
  const Folder folder;
  const std::vector<Variant> all{variant("a", 1), variant("b", 2), variant("c", 3)};
  std::vector<std::size_t> order;
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call& c) { order.push_back(c.info.grid_blocks); };
  std::vector<Point> points{point(all[0], 100), point(all[1], 100), point(all[2], 100)};
  for (Point& p : points) p.seed = seed;
  Heard heard;
  Session s = session(folder, points, std::move(script));
  s.seed = seed;
  s.order_seed = order_seed;
  run_session(std::move(s), heard);
  const auto run = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json")).at("runs").at(0);
  EXPECT_EQ(run.at("seed"), seed);
  return {order, run.at("order_seed").get<std::uint64_t>()};
}

TEST(MeasureRun, EveryRunSamplesInAnOrderOfItsOwnThatItsSeedRepeats) {
  const auto [first, first_seed] = order_of(1, {});
  const auto [second, second_seed] = order_of(1, {});
  EXPECT_NE(first_seed, second_seed);
  EXPECT_NE(first, second) << "the same company in the same order";
  EXPECT_EQ(order_of(1, first_seed), std::pair(first, first_seed));
  EXPECT_EQ(order_of(1, 18446744073709551615u).second, 18446744073709551615u);
}

// ---------------------------------------------------------------------------------------------------------- provenance

TEST(MeasureRun, TheMachineIsWrittenBesideTheResults) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Heard heard;
  Session s = session(folder, {point(a, 100)}, constant(1e-5));
  s.options.arguments = {"run", "test"};
  s.seed = 7;
  run_session(std::move(s), heard);
  const auto json = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json"));
  EXPECT_EQ(json.at("schema_version"), 2);
  EXPECT_EQ(json.at("machine"), "scripted");
  EXPECT_TRUE(json.at("gpu").is_null());
  EXPECT_EQ(json.at("cpu").at("model"), "a CPU");
  EXPECT_FALSE(json.at("build").at("cxx_compiler").get<std::string>().empty());
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("run_id"), heard.rows.at(0).run_id);
  EXPECT_EQ(run.at("arguments"), (std::vector<std::string>{"run", "test"}));
  EXPECT_EQ(run.at("seed"), 7);
  EXPECT_EQ(run.at("binary"), binary_hash());
  EXPECT_EQ(run.at("timing").at("end_to_end").at("launch_floor_s"), 1e-5);
  EXPECT_EQ(run.at("timing").at("end_to_end").at("resolution_s"), 1e-9);
  for (const char* unused : {"device", "launch_to_idle"})
    EXPECT_EQ(run.at("timing").at(unused).at("launch_floor_s"), 1e-5) << "a mode that no point uses";
  EXPECT_TRUE(run.contains("ended_utc"));
  const CsvText catalog = parse_csv(text_of(folder.path() / "scripted" / "catalog.csv"));
  EXPECT_EQ(catalog.records.at(0).at(1), "variant");
}

/// The harness's own empty call throws `error` the first time, which is for machine.json.
template <class Error>
Scripted failing_once(const Error& error) {
  Scripted script(nullptr);
  Clock& clock = script.clock();
  clock = Clock([error, &clock, failed = false](std::size_t id, std::size_t) mutable {
    if (id == floor_id && !std::exchange(failed, true)) throw error;
    EXPECT_GT(clock.forgotten, 0) << "a plan that is gone";
    return 1e-5;
  });
  return script;
}

TEST(MeasureRun, WhatIsForTheRecordAloneCostsNoRowWhereItFails) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted script = failing_once(DeviceError("no floor"));
  script.device().probe = []() -> CacheProbe { throw DeviceError("no memory to flush by"); };
  Heard heard;
  run_session(session(folder, {point(a, 100)}, std::move(script)), heard);
  EXPECT_EQ(heard.rows.at(0).status, Status::ok) << heard.rows[0].reason;
  EXPECT_EQ(heard.rows[0].n_samples, 48u);
  EXPECT_EQ(heard.notices,
            (std::vector<std::string>{
                "'timing/device' could not be measured and is left out of machine.json: no floor",
                "'cache_probe' could not be measured and is left out of machine.json: no memory to flush by"}));
  const auto run = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json")).at("runs").at(0);
  EXPECT_FALSE(run.at("timing").contains("device"));
  EXPECT_EQ(run.at("timing").at("end_to_end").at("launch_floor_s"), 1e-5) << "another mode is none the worse for it";
  EXPECT_FALSE(run.contains("cache_probe"));
  EXPECT_TRUE(run.contains("rules") && run.contains("ended_utc"));
}

/// Counts what is freed of it, itself included.
class Counted final : public Scarce {
 public:
  explicit Counted(int& freed) : Scarce(std::size_t{1} << 24), freed_(freed) {}
  ~Counted() override { ++freed_; }
  void release(void* p) noexcept override {
    ++freed_;
    Scarce::release(p);
  }

 private:
  int& freed_;
};

/// Its plans hold a workspace, which shows in `last` whether the last of them is still there.
Variant with_workspace(Variant v, std::weak_ptr<int>& last) {
  Prepare& prepare = v.prepare[static_cast<int>(DeviceKind::cpu)];
  prepare = [&last, made = prepare](const Problem& p, const Settings& s, const DeviceInfo& d) {
    const auto workspace = std::make_shared<int>();
    last = workspace;
    const std::shared_ptr<Plan> inner = made(p, s, d);
    return plan_of(inner->info(), [=](void* in, void* out, Stream stream) {
      ++*workspace;
      inner->enqueue(in, out, stream);
    });
  };
  return v;
}

TEST(MeasureRun, ProfilingSaysWhatBecameOfEachPoint) {
  const Folder folder;
  const Variant a = variant("a", 1), nothing = variant("nothing", 2, [](auto, auto, auto) {}),
                broken = variant("broken", 3, [](auto, auto, auto) { throw DeviceError("an illegal access"); });
  Variant declining = variant("declining", 4);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  Heard heard;
  Session s = session(folder, {point(a, 100), point(nothing, 100), point(broken, 100), point(declining, 100)},
                      constant(1e-5));
  s.options.profile = true;
  run_session(std::move(s), heard);
  ASSERT_EQ(heard.notices.size(), 4u);
  for (std::string& text : heard.notices) text.erase(0, std::min(text.find(": "), text.size()));
  EXPECT_EQ(heard.notices[0], "");
  EXPECT_TRUE(heard.notices[1].starts_with(": wrong, ")) << heard.notices[1];
  EXPECT_EQ(heard.notices[2], ": failed, an illegal access");
  EXPECT_EQ(heard.notices[3], ": refused, declining: not on Sundays");
  EXPECT_TRUE(heard.rows.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MeasureRun, AProfiledCallThatNeverEndsFreesNothingAndEndsTheRun) {
  static int freed = 0;  // it outlives what is never freed
  static std::weak_ptr<int> workspace;
  int freed_before = -1, asked = 0;
  for (const int hanging : {1, 2}) {  // the call that loads the kernels, or the one in the range
    const Folder folder;
    const Variant a = variant("a", 1), hangs = with_workspace(variant("hangs", 2, [&](auto in, auto n, auto out) {
      if (++asked == hanging) {
        freed_before = freed;
        throw CallTimeout("no result within 60 s");
      }
      *out = sum(in, n);
    }), workspace);
    asked = 0;
    Heard heard;
    Session s = session(folder, {point(a, 10), point(hangs, 20), point(a, 30)}, constant(1e-5));
    s.options.profile = true;
    s.backend = std::make_unique<Counted>(freed);
    EXPECT_EQ(error_of([&] { run_session(std::move(s), heard); }), "hangs stopped the device (no result within 60 s)");
    EXPECT_EQ(freed, freed_before) << hanging;
    EXPECT_FALSE(workspace.expired()) << hanging;
    EXPECT_EQ(heard.notices.size(), 2u) << "nothing is called behind it";
  }
}

TEST(MeasureRun, ACallForTheRecordThatNeverEndsFreesNothing) {
  static int freed = 0;
  const Folder folder;
  const Variant a = variant("a", 1);
  int freed_before = -1;
  Scripted script = constant(1e-5);
  Clock& clock = script.clock();
  clock.before_sample = [&](const Call&) {
    freed_before = freed;
    throw CallTimeout("no result within 60 s");
  };
  Heard heard;
  Session s = session(folder, {point(a, 100)}, std::move(script));
  s.backend = std::make_unique<Counted>(freed);
  EXPECT_EQ(error_of([&] { run_session(std::move(s), heard); }), "no result within 60 s");
  EXPECT_EQ(freed, freed_before);
  EXPECT_EQ(clock.forgotten, 0) << "forgetting a graph would wait, too";
  EXPECT_TRUE(heard.rows.empty());
}

TEST(MeasureRun, ADeviceThatIsLostBeforeTheFirstRowEndsTheRun) {
  const Folder first, second;
  const Variant a = variant("a", 1);
  Heard heard;
  Session lost = session(first, {point(a, 100)}, failing_once(DeviceError("an illegal access")));
  auto backend = std::make_unique<Scarce>(std::size_t{1} << 20);
  backend->lost = true;
  lost.backend = std::move(backend);
  EXPECT_EQ(error_of([&] { run_session(std::move(lost), heard); }), "the device is lost");
  Session busy = session(second, {point(a, 100)}, failing_once(CallTimeout("no result within 60 s")));
  EXPECT_EQ(error_of([&] { run_session(std::move(busy), heard); }), "no result within 60 s");
  EXPECT_TRUE(heard.rows.empty() && heard.notices.empty());
}

TEST(MeasureRun, OtherExperimentsEntriesStay) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard);
  Session second = session(folder, {point(a, 100)}, constant(1e-5));
  second.experiment = "second";
  run_session(std::move(second), heard);
  const auto json = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json"));
  ASSERT_EQ(json.at("runs").size(), 2u);
  EXPECT_EQ(json.at("runs").at(0).at("experiment"), "test");
  EXPECT_EQ(json.at("runs").at(1).at("experiment"), "second");
}

TEST(MeasureRun, ExperimentsThatRunAtOnceKeepEachOthersEntries) {
  const Folder folder;
  const auto path = folder.path() / "machine.json";
  write_text(path.string() + ".new", "another program's draft");
  Results first(folder.path(), machine(), {.run_id = "1", .experiment = "first", .started_utc = "", .arguments = {}},
                false);
  Results second(folder.path(), machine(), {.run_id = "2", .experiment = "second", .started_utc = "", .arguments = {}},
                 false);
  first.entry()["ended_utc"] = "later";
  first.write_machine();
  const auto runs = nlohmann::json::parse(text_of(path)).at("runs");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.at(0).at("ended_utc"), "later");
  EXPECT_EQ(runs.at(1).at("run_id"), "2");
  EXPECT_EQ(text_of(path.string() + ".new"), "another program's draft");
}

TEST(MeasureRun, AFolderOfAnotherSchemaVersionIsRefused) {
  const Variant a = variant("a", 1);
  for (const int version : {1, 3}) {
    const Folder folder;
    const auto path = folder.path() / "scripted" / "machine.json";
    std::filesystem::create_directories(path.parent_path());
    const std::string text = nlohmann::json{{"schema_version", version}, {"runs", nlohmann::json::array()}}.dump();
    write_text(path, text);
    Heard heard;
    EXPECT_EQ(error_of([&] { run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard); }),
              path.string() + " was written with schema version " + std::to_string(version) + ", this program writes " +
                  std::to_string(schema_version) + "; choose another --out");
    EXPECT_EQ(text_of(path), text) << "nothing of it is touched";
  }
}

TEST(MeasureRun, NamesOfMachinesAreFitForFolders) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia-h200");
  EXPECT_EQ(slug("  NVIDIA H100 80GB HBM3 (x)  "), "nvidia-h100-80gb-hbm3-x");
  const auto backend = open_cpu();
  const Machine m = describe_machine(*backend);
  EXPECT_TRUE(m.name.starts_with("cpu-")) << m.name;
  EXPECT_EQ(m.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << m.name;
  EXPECT_GT(m.cpu.cores, 0);
  EXPECT_FALSE(m.os.empty());
  GpuDescription h200;
  h200.memory_clock_hz = 3201e6;
  h200.memory_bus_bits = 6016;
  EXPECT_NEAR(h200.theoretical_peak_bytes_per_s(), 4.81e12, 0.01e12);
}

// -------------------------------------------------------------------------------------------------------- resuming

std::vector<Point> many_points(const std::vector<Variant>& all) {
  std::vector<Point> points;
  for (const Variant& v : all)
    for (const std::size_t n : {10, 20, 30, 40, 50, 60}) {
      points.push_back(point(v, n));
      points.push_back(point(v, n, TimingMode::device));
    }
  return points;
}

Session resumed(Session s) {
  s.options.resume = true;
  return s;
}

TEST(MeasureRun, ExistingResultsAreNeverOverwritten) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard);
  const std::string before = text_of(csv_in(folder));
  const std::string why = error_of([&] { run_session(session(folder, {point(a, 200)}, constant(1e-5)), heard); });
  EXPECT_NE(why.find("--resume"), std::string::npos) << why;
  EXPECT_EQ(text_of(csv_in(folder)), before);
}

TEST(MeasureRun, ACsvCutAnywhereResumesToTheSamePoints) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  const Folder whole;
  Heard heard;
  run_session(session(whole, many_points(all), constant(1e-5)), heard);
  const std::string csv = text_of(csv_in(whole)), samples = text_of(samples_in(whole));
  std::set<std::string> keys;
  for (const Row& r : heard.rows) keys.insert(row_key(r.point));
  ASSERT_EQ(keys.size(), 24u);

  for (std::size_t cut = 0; cut < csv.size(); cut += sanitized ? 5 * 97 : 97) {
    const Folder folder;
    std::filesystem::copy(whole.path(), folder.path(), std::filesystem::copy_options::recursive);
    write_text(csv_in(folder), csv.substr(0, cut));
    write_text(samples_in(folder), samples.substr(0, samples.size() * cut / csv.size()));
    Heard second;
    const auto report = run_session(resumed(session(folder, many_points(all), constant(1e-5))), second);
    EXPECT_EQ(report.skipped + second.rows.size(), 24u) << cut;
    const bool in_a_row = cut > csv.find('\n') && csv[cut - 1] != '\n';
    EXPECT_EQ(second.notices.size() > 0 && second.notices[0].find("was cut") != std::string::npos, in_a_row) << cut;
    std::set<std::string> found;
    const CsvText read = parse_csv(text_of(csv_in(folder)));
    EXPECT_EQ(read.whole_bytes, text_of(csv_in(folder)).size());
    for (std::size_t i = 1; i < read.records.size(); ++i) {
      ASSERT_EQ(read.records[i].size(), columns().size());
      const std::string key = row_key(Row::parse(read.records[i]).point);
      EXPECT_TRUE(found.insert(key).second) << "twice: " << key;
    }
    EXPECT_EQ(found, keys) << cut;
    EXPECT_TRUE(gzip_intact(text_of(samples_in(folder))));
  }
}

TEST(MeasureRun, SamplesOfPointsThatAreMeasuredAgainAreDropped) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  const Folder folder;
  Heard heard;
  run_session(session(folder, many_points(all), constant(1e-5)), heard);
  // Killed between the samples and the rows of the last groups.
  const std::string csv = text_of(csv_in(folder));
  const CsvText parsed = parse_csv(csv);
  std::string shorter;
  for (std::size_t i = 0; i + 4 < parsed.records.size(); ++i) shorter += csv_record(parsed.records[i]);
  write_text(csv_in(folder), shorter);
  run_session(resumed(session(folder, many_points(all), constant(1e-5))), heard);
  std::map<std::string, int> count;
  for (const RawSample& s : raw_samples(folder))
    ++count[s.point.variant + " n=" + std::to_string(s.point.problem.n) + " " + std::string(name(s.point.timing_mode))];
  EXPECT_EQ(count.size(), 36u);  // two variants and the floor, six sizes, two modes
  for (const auto& [what, n] : count) EXPECT_EQ(n, 48) << what;
}

/// The times of a file's rows in nanoseconds: "a n=100" -> 10000.
std::map<std::string, long> times_in(const Folder& folder) {
  std::map<std::string, long> out;
  for (const auto& row : rows_of(csv_in(folder)))
    EXPECT_TRUE(
        out.emplace(row.at("variant") + " n=" + row.at("n"), std::lround(1e9 * std::stod(row.at("time_median_s"))))
            .second);
  return out;
}

/// Of each row and harness call the times of its samples, which must all be the same, and how many there are.
std::map<std::string, std::pair<long, int>> sampled_in(const Folder& folder) {
  std::map<std::string, std::pair<long, int>> out;
  for (const RawSample& s : raw_samples(folder)) {
    const long ns = std::lround(1e9 * s.time_s.value());
    auto& [time, count] =
        out.try_emplace(s.point.variant + " n=" + std::to_string(s.point.problem.n), ns, 0).first->second;
    EXPECT_EQ(time, ns) << s.point.variant << " has samples of two runs";
    ++count;
  }
  return out;
}

TEST(MeasureRun, WhatAWiderSelectionAddsIsMeasuredWithTheWholeGroup) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  const Folder folder;
  Heard first, second;
  run_session(session(folder, {point(a, 100), point(a, 200), point(b, 300)}, constant(1e-5)), first);
  EXPECT_TRUE(first.notices.empty());
  const auto report = run_session(
      resumed(session(folder, {point(a, 100), point(b, 100), point(a, 200), point(b, 400)}, constant(2e-5))), second);
  EXPECT_EQ(report.skipped, 1u) << "a group that lacks nothing";
  EXPECT_EQ(second.rows.size(), 3u);
  EXPECT_EQ(times_in(folder), (std::map<std::string, long>{{"a n=200", 10000},
                                                           {"b n=300", 10000},
                                                           {"a n=100", 20000},
                                                           {"b n=100", 20000},
                                                           {"b n=400", 20000}}));
  std::map<std::string, std::pair<long, int>> samples;
  for (const auto& [row, ns] : times_in(folder))
    samples[row] = samples["(launch-floor)" + row.substr(row.find(' '))] = {ns, 48};
  EXPECT_EQ(sampled_in(folder), samples);
  EXPECT_EQ(second.notices, std::vector<std::string>{"1 row of " + csv_in(folder).string() +
                                                     " is measured again: other points of their groups are missing, "
                                                     "and the points of a group are measured together"});
}

TEST(MeasureRun, AGroupOfWhichARowWasCutIsMeasuredAgainAsAWhole) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  const std::vector<Point> points{point(a, 100), point(b, 100), point(a, 200)};
  const Folder folder;
  Heard heard;
  run_session(session(folder, points, constant(1e-5)), heard);
  const CsvText csv = parse_csv(text_of(csv_in(folder)));
  ASSERT_EQ(csv.records.size(), 4u);
  ASSERT_EQ(Row::parse(csv.records[3]).point.problem.n, 200u) << "the last";
  write_text(csv_in(folder), csv_record(csv.records[0]) + csv_record(csv.records[3]) + csv_record(csv.records[1]) +
                                 csv_record(csv.records[2]).substr(0, 100));
  run_session(resumed(session(folder, points, constant(2e-5))), heard);
  EXPECT_EQ(times_in(folder),
            (std::map<std::string, long>{{"a n=100", 20000}, {"b n=100", 20000}, {"a n=200", 10000}}));
  for (const auto& [what, of] : sampled_in(folder)) EXPECT_EQ(of.second, 48) << what;
}

TEST(MeasureRun, RowsOfWhichSamplesAreMissingAreMeasuredAgainWithTheirGroups) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  const std::vector<Point> points{point(a, 100), point(b, 100), point(a, 200)};
  const Folder whole;
  Heard heard;
  run_session(session(whole, points, constant(1e-5), {.batch_s = 0}), heard);
  const std::string samples = text_of(samples_in(whole));
  for (const bool lost : {false, true}) {
    const Folder folder;
    std::filesystem::copy(whole.path(), folder.path(), std::filesystem::copy_options::recursive);
    if (lost)
      std::filesystem::remove(samples_in(folder));
    else
      write_text(samples_in(folder), samples.substr(0, samples.size() - 9));  // cuts the last group's
    EXPECT_NE(error_of([&] { read_results(folder.path()); }).find("run the experiment with --resume"),
              std::string::npos);
    Heard second;
    run_session(resumed(session(folder, points, constant(2e-5), {.batch_s = 0})), second);
    EXPECT_EQ(second.rows.size(), lost ? 3u : 1u);
    EXPECT_EQ(read_results(folder.path()).rows.size(), 3u);
    for (const auto& [what, of] : sampled_in(folder)) EXPECT_EQ(of.second, 48) << what;
    ASSERT_EQ(second.notices.size(), 1u);
    EXPECT_NE(second.notices[0].find("measured again: raw samples, or other points, of their groups are missing"),
              std::string::npos);
  }
}

TEST(MeasureRun, OfARowThatStandsTwiceOneIsLeftAndTwoThatDifferAreRefused) {
  const Variant a = variant("a", 1), b = variant("b", 2);
  const std::vector<Point> points{point(a, 100), point(b, 100)};
  const Folder folder;
  Heard heard, second;
  run_session(session(folder, points, constant(1e-5)), heard);
  const std::string csv = text_of(csv_in(folder)), rows = csv.substr(csv.find('\n') + 1);
  write_text(csv_in(folder), csv + rows);
  run_session(resumed(session(folder, points, constant(2e-5))), second);
  EXPECT_EQ(text_of(csv_in(folder)), csv);
  EXPECT_TRUE(second.rows.empty());
  EXPECT_EQ(second.notices,
            std::vector<std::string>{"2 rows of " + csv_in(folder).string() + " stood there twice, and once do now"});
  Row other = Row::parse(parse_csv(csv).records.at(1));
  other.time_median_s = 1;
  write_text(csv_in(folder), csv + csv_record(other.fields()));
  EXPECT_EQ(error_of([&] { run_session(resumed(session(folder, points, constant(2e-5))), second); }),
            "cannot resume " + csv_in(folder).string() + ":4: it is of the same point as line 2, a " +
                describe_group(point(a, 100)) + ", and differs; remove one of the two, or choose another --out");
  EXPECT_EQ(text_of(csv_in(folder)), csv + csv_record(other.fields())) << "refused means untouched";
}

TEST(MeasureRun, AResumeThatWouldTakeOutRowsForGoodIsRefused) {
  const Variant a = variant("a", 1), b = variant("b", 2), c = variant("c", 3);
  const Folder folder;
  Heard heard;
  run_session(session(folder, {point(a, 100), point(b, 100), point(b, 200)}, constant(1e-5)), heard);
  const auto files = [&] {
    return text_of(csv_in(folder)) + text_of(samples_in(folder)) +
           text_of(folder.path() / "scripted" / "machine.json");
  };
  const std::string before = files();
  EXPECT_EQ(
      error_of([&] {
        run_session(resumed(session(folder, {point(a, 100), point(c, 100), point(c, 200)}, constant(1e-5))), heard);
      }),
      "cannot resume " + csv_in(folder).string() + ": it lacks c of " + describe_group(point(c, 100)) +
          ", which has to be measured together with b, which is there but not in this selection; select both, or "
          "choose another --out");
  EXPECT_EQ(files(), before) << "refused means untouched";
  // A narrower selection lacks nothing, and rows of groups that it does not touch stay.
  EXPECT_EQ(run_session(resumed(session(folder, {point(a, 100)}, constant(2e-5))), heard).skipped, 1u);
  run_session(resumed(session(folder, {point(c, 300)}, constant(2e-5))), heard);
  EXPECT_EQ(times_in(folder), (std::map<std::string, long>{
                                  {"a n=100", 10000}, {"b n=100", 10000}, {"b n=200", 10000}, {"c n=300", 20000}}));
}

TEST(MeasureRun, ARowWithoutATimeStaysWhereItsGroupIsMeasuredAgain) {
  int calls = 0;
  const Variant a = variant("a", 1), b = variant("b", 2), fails = variant("fails", 3, [&](auto, auto, auto) {
    ++calls;
    throw CallTimeout("no result within 60 s");
  });
  const Folder folder;
  Heard heard;
  EXPECT_NE(error_of([&] { run_session(session(folder, {point(a, 100), point(fails, 100)}, constant(1e-5)), heard); }),
            "");
  EXPECT_EQ(calls, 1);
  run_session(resumed(session(folder, {point(a, 100), point(fails, 100)}, constant(1e-5))), heard);
  run_session(resumed(session(folder, {point(a, 100), point(fails, 100), point(b, 100)}, constant(2e-5))), heard);
  EXPECT_EQ(calls, 1) << "it would stop the device each time, and the run never end";
  std::map<std::string, std::string> times;
  for (const auto& row : rows_of(csv_in(folder))) times[row.at("variant")] = row.at("status") + row.at("time_median_s");
  EXPECT_EQ(times, (std::map<std::string, std::string>{{"a", "ok2e-05"}, {"b", "ok2e-05"}, {"fails", "timeout"}}));
}

TEST(MeasureRun, KilledWhileGroupsAreMeasuredAgainItResumesToTheSamePoints) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2), variant("c", 3)};
  const Folder begun;
  Heard heard;
  run_session(session(begun, many_points({all[0], all[1]}), constant(1e-5), {.batch_s = 0}), heard);
  std::mt19937_64 random(7);
  for (int trial = 0; trial < (sanitized ? 4 : 20); ++trial) {
    const Folder folder;
    std::filesystem::copy(begun.path(), folder.path(), std::filesystem::copy_options::recursive);
    // From the first call for the record, when the rows are out, to amid the last group's rounds.
    int left = trial == 0 ? 1 : 1 + static_cast<int>(random() % (2 * 101 + 12 * 4 * 48));
    const pid_t child = fork();
    if (child == 0) {
      Scripted script = constant(2e-5);
      script.clock().before_sample = [&](const Call&) {
        if (--left == 0) std::raise(SIGKILL);
      };
      const std::string why = error_of(
          [&] { run_session(resumed(session(folder, many_points(all), std::move(script), {.batch_s = 0})), heard); });
      _exit(why.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "trial " << trial << " came to its end";
    run_session(resumed(session(folder, many_points(all), constant(3e-5), {.batch_s = 0})), heard);
    std::map<std::string, std::set<double>> times;
    std::set<std::string> found;
    const CsvText csv = parse_csv(text_of(csv_in(folder)));
    for (std::size_t i = 1; i < csv.records.size(); ++i) {
      const Row row = Row::parse(csv.records[i]);
      EXPECT_TRUE(found.insert(row_key(row.point)).second);
      times[group_key(row.point)].insert(row.time_median_s.value());
    }
    EXPECT_EQ(found.size(), 36u) << trial;
    std::map<std::string, std::set<double>> sampled;
    std::map<std::string, int> count;
    for (const RawSample& s : raw_samples(folder)) {
      sampled[group_key(s.point)].insert(s.time_s.value());
      ++count[row_key(s.point)];
    }
    for (const auto& [group, of_group] : times) EXPECT_EQ(of_group.size(), 1u) << trial << ' ' << group;
    EXPECT_EQ(sampled, times) << trial;
    EXPECT_EQ(count.size(), 48u);
    for (const auto& [what, n] : count) EXPECT_EQ(n, 48) << trial << ' ' << what;
  }
}

TEST(MeasureRun, AResumeElsewhereIsRefused) {
  const Folder folder;
  const Variant a = variant("a", 1);
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard);
  const auto json_path = folder.path() / "scripted" / "machine.json";
  const std::string csv = text_of(csv_in(folder)), json = text_of(json_path);
  const auto attempt = [&] {
    return error_of([&] { run_session(resumed(session(folder, more, constant(1e-5))), heard); });
  };
  const auto with = [&](const std::string& key, const std::string& value) {
    auto changed = nlohmann::ordered_json::parse(json);
    changed["runs"][0][key] = value;
    write_text(json_path, changed.dump());
    return attempt();
  };
  EXPECT_NE(with("machine_id", "GPU-other").find("another machine (GPU-other"), std::string::npos);
  EXPECT_NE(with("binary", "0123").find("another build of the program"), std::string::npos);
  EXPECT_NE(with("run_id", "none").find("does not tell"), std::string::npos);
  auto old = nlohmann::ordered_json::parse(json);
  old["schema_version"] = 0;
  write_text(json_path, old.dump());
  EXPECT_NE(attempt().find("schema version 0"), std::string::npos);
  write_text(json_path, "{ cut");
  EXPECT_NE(attempt().find("is damaged"), std::string::npos);
  std::filesystem::remove(json_path);
  EXPECT_NE(attempt().find("does not tell"), std::string::npos);
  write_text(json_path, json);
  write_text(csv_in(folder), "2" + csv.substr(1));
  EXPECT_NE(attempt().find("other columns"), std::string::npos);
  std::string other_version = csv;
  other_version[csv.find('\n') + 1] = '9';
  write_text(csv_in(folder), other_version);
  EXPECT_NE(attempt().find("schema version 9"), std::string::npos);
  EXPECT_EQ(text_of(csv_in(folder)), other_version);  // refused means untouched

  write_text(csv_in(folder), csv);
  const auto report = run_session(resumed(session(folder, more, constant(1e-5))), heard);
  EXPECT_EQ(report.skipped, 1u);
  EXPECT_EQ(rows_of(csv_in(folder)).size(), 2u);
}

TEST(MeasureRun, AResumedRunPredictsFromTheTimesThatAreThere) {
  const Folder folder;
  const Variant a = variant("a", 1);
  const auto linear = [](std::size_t, std::size_t bytes) { return 1e-6 * static_cast<double>(bytes); };
  Heard heard;
  run_session(session(folder, {point(a, 40000)}, Scripted(linear)), heard);
  run_session(resumed(session(folder, {point(a, 40000), point(a, 80000)}, Scripted(linear))), heard);
  ASSERT_EQ(heard.rows.size(), 2u);
  EXPECT_EQ(heard.rows[1].reason, "predicted 0.32 s a call exceeds this experiment's limit of 0.2 s; --full runs it");
}

TEST(MeasureRun, AResumedRunKeepsTheSeedOfItsOrder) {
  const Folder folder;
  const Variant a = variant("a", 1);
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  const auto recorded = [&] {
    return nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json"))
        .at("runs")
        .at(0)
        .at("order_seed");
  };
  const auto with = [&](Session s, std::optional<std::uint64_t> order_seed) {
    s.order_seed = order_seed;
    return s;
  };
  Heard heard;
  run_session(with(session(folder, {point(a, 100)}, constant(1e-5)), {}), heard);
  const std::uint64_t seed = recorded();
  const std::string csv = text_of(csv_in(folder));
  EXPECT_EQ(error_of([&] { run_session(resumed(with(session(folder, more, constant(1e-5)), seed + 1)), heard); }),
            "cannot resume " + csv_in(folder).string() + ": its order seed is " + std::to_string(seed) + ", this is " +
                std::to_string(seed + 1) + "; leave --order-seed out, or choose another --out");
  EXPECT_EQ(text_of(csv_in(folder)), csv);
  run_session(resumed(with(session(folder, more, constant(1e-5)), {})), heard);
  EXPECT_EQ(recorded(), seed) << "one entry tells that of all rows";
  EXPECT_EQ(run_session(resumed(with(session(folder, more, constant(1e-5)), seed)), heard).skipped, 2u);
}

TEST(MeasureRun, AResumedRunsEntryTellsOfAllProcessesThatMeasuredItsRows) {
  const Folder folder;
  const Variant a = variant("a", 1);
  const auto written = [&] {
    return nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json")).at("runs").at(0);
  };
  const auto run = [&](const std::vector<std::size_t>& sizes, HostCpuCounts counts, const char* argument, int busy) {
    std::vector<Point> points;
    for (const std::size_t n : sizes) points.push_back(point(a, n));
    Scripted script = constant(1e-5);
    script.device().host_cpu = counts;
    script.device().memory_idle = [busy]() mutable { return busy-- <= 0; };
    Session s = resumed(session(folder, points, std::move(script)));
    s.options.arguments = {"reductio", argument};
    Heard heard;
    run_session(std::move(s), heard);
    return written();
  };
  auto first = run({100}, {.samples = 100, .moved = 30, .on_busy_cpu = 5, .chain_s = 4e-4}, "first", 4);
  EXPECT_FALSE(first.contains("resumed"));
  const auto rewrite = [&](const std::function<void(nlohmann::ordered_json& entry)>& change) {
    auto machine = nlohmann::ordered_json::parse(text_of(folder.path() / "scripted" / "machine.json"));
    change(machine["runs"][0]);
    write_text(folder.path() / "scripted" / "machine.json", machine.dump());
  };
  // As of a process that held more, and on a GPU.
  first["peak_memory_bytes"] = std::int64_t{1} << 50;
  first["gpu_state_at_start"] = {{"temperature_c", 31}};
  rewrite([&](auto& entry) {
    for (const char* key : {"peak_memory_bytes", "gpu_state_at_start"}) entry[key] = first[key];
  });
  const auto second = run({100, 200}, {.samples = 300, .moved = 1, .on_busy_cpu = 7, .chain_s = 20e-4}, "second", 3);
  EXPECT_EQ(second["gpu_state_at_start"], first["gpu_state_at_start"]);
  EXPECT_EQ(second["run_id"], first["run_id"]);
  EXPECT_EQ(second["started_utc"], first["started_utc"]);
  EXPECT_EQ(second["arguments"], first["arguments"]);
  ASSERT_EQ(second["resumed"].size(), 1u);
  EXPECT_EQ(second["resumed"][0]["arguments"], (nlohmann::json{"reductio", "second"}));
  EXPECT_EQ(second["host_cpu"]["samples"], 400);
  EXPECT_EQ(second["host_cpu"]["moved"], 31);
  EXPECT_EQ(second["host_cpu"]["on_busy_cpu"], 12);
  EXPECT_DOUBLE_EQ(second["host_cpu"]["mean_chain_s"].get<double>(), 6e-6);
  EXPECT_EQ(first["times_memory_stayed_busy"], 3) << "and once before the first row";
  EXPECT_EQ(second["times_memory_stayed_busy"], 3 + 2);
  for (const auto& [key, value] : first["time_spent"].items())
    EXPECT_GE(second["time_spent"][key], value) << key;  // any machine: the one is a part of the other
  EXPECT_GT(second["time_spent"]["timed_s"], first["time_spent"]["timed_s"]);
  EXPECT_EQ(second["peak_memory_bytes"], first["peak_memory_bytes"]);

  EXPECT_EQ(run({100, 200}, {.samples = 1}, "nothing left", 0), second)
      << "a process that measures nothing changes nothing";

  // One that is killed leaves an entry without what is recorded at the end, and rows that took nobody knows how long.
  rewrite([](auto& entry) {
    for (const char* key : {"time_spent", "host_cpu", "times_memory_stayed_busy", "peak_memory_bytes"})
      entry.erase(key);
  });
  const auto third = run({100, 200, 400}, {.samples = 100}, "third", 0);
  for (const char* key : {"time_spent", "host_cpu", "times_memory_stayed_busy", "peak_memory_bytes"})
    EXPECT_TRUE(third.at(key).is_null()) << key;
  ASSERT_EQ(third["resumed"].size(), 2u);
  EXPECT_EQ(third["resumed"][0], second["resumed"][0]);
}

TEST(MeasureRun, AResumeByOtherRulesIsRefused) {
  const Folder folder;
  const Variant a = variant("a", 1);
  SamplingRules rules;
  rules.confidence = 0.5;
  rules.max_samples = 7;
  Heard heard;
  run_session(session(folder, {point(a, 100)}, constant(1e-5), rules), heard);
  const auto json_path = folder.path() / "scripted" / "machine.json";
  const std::string json = text_of(json_path), csv = text_of(csv_in(folder));
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  EXPECT_EQ(error_of([&] { run_session(resumed(session(folder, more, constant(1e-5))), heard); }),
            "cannot resume " + csv_in(folder).string() +
                ": it was measured by other rules (max_samples 7, this is 48; confidence 0.5, this is 0.95); give the "
                "same options, or choose another --out");
  EXPECT_EQ(text_of(json_path), json);
  EXPECT_EQ(text_of(csv_in(folder)), csv);
  EXPECT_EQ(run_session(resumed(session(folder, more, constant(1e-5), rules)), heard).skipped, 1u);
}

TEST(MeasureRun, KilledFiftyTimesItLeavesWholeRowsAndResumesToTheSamePoints) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  std::set<std::string> keys;
  for (const Point& p : many_points(all)) keys.insert(row_key(p));
  // Killed before so many samples, or once so many rows were written.
  const auto run_in = [&](const Folder& folder, int samples, int rows) {
    const pid_t child = fork();
    if (child == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(null, 2);
      Scripted script = constant(1e-5);
      script.clock().before_sample = [&](const Call&) {
        if (--samples == 0) std::raise(SIGKILL);
      };
      struct Killing final : RunObserver {
        explicit Killing(int& rows) : left(rows) {}
        void row(const Row&) override {
          if (--left == 0) std::raise(SIGKILL);
        }
        int& left;
      } killing(rows);
      // Each group is written by itself, as a run of many minutes writes what each minute measured.
      const std::string why =
          error_of([&] { run_session(session(folder, many_points(all), std::move(script), {.batch_s = 0}), killing); });
      _exit(why.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  };
  const Folder whole;
  ASSERT_EQ(run_in(whole, 0, 0), 0) << "not killed at all";
  // At least: an empty call timed in two modes, and the rounds of twelve groups of three.
  constexpr int samples = 2 * 101 + 12 * 3 * 48;
  std::mt19937_64 random(7);
  int amid_rows = 0;
  const int trials = sanitized ? 10 : 50;
  for (int trial = 0; trial < trials; ++trial) {
    const Folder folder;
    const bool by_row = trial % 5 == 0;
    const auto drawn = static_cast<int>(random() % (by_row ? keys.size() : samples));
    const int status = run_in(folder, by_row ? 0 : 1 + drawn, by_row ? 1 + drawn : 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "trial " << trial << " came to its end";
    if (std::filesystem::exists(csv_in(folder))) {
      const CsvText csv = parse_csv(text_of(csv_in(folder)));
      for (const Fields& r : csv.records) ASSERT_EQ(r.size(), columns().size());
      amid_rows += csv.records.size() > 1 && csv.records.size() < 1 + keys.size();
    }
    Heard heard;
    run_session(resumed(session(folder, many_points(all), constant(1e-5), {.batch_s = 0})), heard);
    std::set<std::string> found;
    const CsvText csv = parse_csv(text_of(csv_in(folder)));
    for (std::size_t i = 1; i < csv.records.size(); ++i)
      EXPECT_TRUE(found.insert(row_key(Row::parse(csv.records[i]).point)).second);
    ASSERT_EQ(found, keys) << "trial " << trial;
    ASSERT_TRUE(gzip_intact(text_of(samples_in(folder))));
  }
  EXPECT_GE(amid_rows, trials * 3 / 5) << "few kills fell where some rows were written and some not";
}

TEST(MeasureRun, AnInterruptFinishesTheRowsUnderWayAndASecondDropsThem) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  struct Case {
    int signal, signals;
  };
  for (const Case& c : {Case{SIGINT, 1}, Case{SIGTERM, 1}, Case{SIGHUP, 1}, Case{SIGINT, 2}}) {
    const int signal = c.signal, signals = c.signals;  // clang 14 captures no structured binding
    const Folder folder;
    Scripted script = constant(1e-5);
    int samples = 0;
    script.clock().before_sample = [&](const Call& c) {
      if (c.info.grid_blocks == 1 && ++samples == 70)  // in the middle of the second group
        for (int i = 0; i < signals; ++i) std::raise(signal);
    };
    Heard heard;
    // Each group by itself is under way.
    const auto report = run_session(session(folder, many_points(all), std::move(script), {.batch_s = 0}), heard);
    EXPECT_TRUE(report.interrupted);
    EXPECT_EQ(heard.rows.size(), signals == 1 ? 4u : 2u);
    EXPECT_EQ(rows_of(csv_in(folder)).size(), heard.rows.size());
    const auto recorded = [&] {
      return nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json"))
          .at("runs")
          .at(0)
          .at("interrupted");
    };
    EXPECT_EQ(recorded(), true);
    const auto rest = run_session(resumed(session(folder, many_points(all), constant(1e-5), {.batch_s = 0})), heard);
    EXPECT_FALSE(rest.interrupted);
    EXPECT_EQ(recorded(), false);
    EXPECT_EQ(rows_of(csv_in(folder)).size(), 24u);
  }
}

TEST(MeasureRun, AnObserverThatThrowsCostsNoRowOfItsBatch) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  struct Throwing final : RunObserver {
    void row(const Row&) override { throw OutputError("the terminal hung up"); }
  } throwing;
  const Folder folder;
  EXPECT_EQ(error_of<OutputError>([&] { run_session(session(folder, many_points(all), constant(1e-5)), throwing); }),
            "the terminal hung up");
  EXPECT_EQ(rows_of(csv_in(folder)).size(), 24u) << "all of one batch";
  const auto recorded = nlohmann::json::parse(text_of(folder.path() / "scripted" / "machine.json")).at("runs").at(0);
  EXPECT_TRUE(recorded.contains("ended_utc"));
  EXPECT_EQ(recorded.at("interrupted"), false) << "no row is left over";
}

TEST(MeasureRun, AFolderOfAClockThatSawNoTimePassIsReadResumedAndCompared) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  const Folder folders[2];
  std::vector<MeasuredSet> sets;
  for (const Folder& folder : folders) {
    const auto coarse = [] {
      Scripted script = constant(0);
      script.calls().kernels_that_read = 1;
      return script;
    };
    Heard heard;
    run_session(session(folder, {point(all[0], 100)}, coarse()), heard);
    run_session(resumed(session(folder, {point(all[0], 100), point(all[1], 100)}, coarse())), heard);
    const auto rows = rows_of(csv_in(folder));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].at("status"), "ok") << rows[1].at("reason");
    EXPECT_EQ(rows[1].at("time_median_s"), "0");
    EXPECT_EQ(rows[1].at("read_time_s"), "") << "nothing that a share could be of";
    EXPECT_EQ(read_results(folder.path()).rows.size(), 2u);
    sets.push_back(measured_in(read_results(folder.path())));
  }
  for (const Compared& c : compare(match(sets[0], sets[1], false), false, 0.95, 0.01).rows) {
    EXPECT_FALSE(c.ratio);
    EXPECT_NE(c.reason, "");
  }
}

TEST(MeasureRun, TheShareOfABatchThatIsDoneGoesFromNothingToNearlyAllWhateverItsGroupsGet) {
  const Variant slow = variant("slow", 1);  // three samples, on as many allocations of twelve
  Scripted script = constant(0.05);
  const auto backend = open_cpu();
  Sampler sampler({*backend, script, SamplingRules{}, 1});
  const Point p = point(slow, 100);
  const std::vector<std::vector<const Point*>> groups{{&p}};
  std::vector<double> shares;
  sampler.measure(groups, {.abandon = [] { return false; }, .progress = [&](const Point&, bool, double share) {
                             shares.push_back(share);
                           }});
  EXPECT_EQ(shares.size(), 4u);
  EXPECT_EQ(shares.front(), 0);
  EXPECT_EQ(shares.back(), 0.75);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
}

TEST(MeasureRun, AHangupThatIsIgnoredStaysIgnored) {
  const Folder folder;
  const Variant a = variant("a", 1);
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call&) { std::raise(SIGHUP); };
  Heard heard;
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup does
  const auto report = run_session(session(folder, {point(a, 100)}, std::move(script)), heard);
  std::signal(SIGHUP, before);
  EXPECT_FALSE(report.interrupted);
  EXPECT_EQ(heard.rows.size(), 1u);
}

TEST(MeasureRun, AnInterruptFinishesABatchOfWhichSecondsAreLeftAndDropsAnother) {
  const std::vector<Variant> all{variant("a", 1), variant("b", 2)};
  struct Case {
    int sample, signals;
    std::size_t rows;
  };
  // A pilot's, the first after all pilots, and one of the last allocation.
  for (const Case& c : {Case{5, 1, 0}, Case{40, 1, 0}, Case{570, 1, 24}, Case{570, 2, 0}}) {
    const Folder folder;
    Scripted script = constant(1e-5);
    int samples = 0;
    script.clock().before_sample = [&](const Call& call) {
      if (call.info.grid_blocks == 1 && ++samples == c.sample)
        for (int i = 0; i < c.signals; ++i) std::raise(SIGINT);
    };
    Heard heard;
    // Where all was measured all the same, nothing is left to go on with.
    // By the estimate 25 seconds in all.
    Session s = session(folder, many_points(all), std::move(script), {.time_budget_s = 1});
    const bool interrupted = run_session(std::move(s), heard).interrupted;
    EXPECT_EQ(interrupted, c.rows == 0) << c.sample;
    EXPECT_EQ(heard.rows.size(), c.rows) << c.sample;
  }
}

TEST(MeasureRun, ADeviceThatNoLongerAnswersEndsTheRunBehindARow) {
  const Folder folder;
  const Variant a = variant("a", 1),
                hangs = variant("hangs", 2, [](auto, auto, auto) { throw CallTimeout("no result within 60 s"); });
  Heard heard;
  const std::string why = error_of([&] {
    run_session(session(folder, {point(a, 10), point(hangs, 20), point(a, 30)}, constant(1e-5)), heard);
  });
  EXPECT_NE(why.find("hangs stopped the device (no result within 60 s)"), std::string::npos) << why;
  EXPECT_NE(why.find("--resume goes on behind it"), std::string::npos) << why;
  auto rows = rows_of(csv_in(folder));
  ASSERT_EQ(rows.size(), 1u) << "nothing else of its batch, which was under way";
  EXPECT_EQ(rows[0].at("status"), "timeout");
  run_session(resumed(session(folder, {point(a, 10), point(hangs, 20), point(a, 30)}, constant(1e-5))), heard);
  rows = rows_of(csv_in(folder));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].at("status"), "ok");
}

TEST(MeasureRun, AFolderThatCannotBeWrittenIsOneClearLine) {
  const Folder folder;
  const Variant a = variant("a", 1);
  write_text(folder.path() / "scripted", "a file where the folder should be");
  Heard heard;
  const std::string why = error_of([&] { run_session(session(folder, {point(a, 100)}, constant(1e-5)), heard); });
  EXPECT_NE(why.find("cannot make the folder"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

TEST(MeasureRun, AFullDiskEndsTheRunWithItsRowsIntact) {
  const Variant a = variant("a", 1);
  std::vector<Point> points;
  for (std::size_t n = 1; n <= 400; ++n) points.push_back(point(a, n));
  Heard heard;
  // A limit on the size of any file stands in for the disk: no room for all rows, but for all that is written before.
  const Folder whole;
  run_session(session(whole, points, constant(1e-5)), heard);
  std::uintmax_t others = 0;
  for (const char* name : {"catalog.csv", "machine.json"})
    others = std::max(others, std::filesystem::file_size(csv_in(whole).parent_path() / name));
  const rlim_t room = others + 2000;
  ASSERT_GT(std::filesystem::file_size(csv_in(whole)), room);

  // The signal kills amid the write, unless it is ignored: then the write fails.
  for (const bool killed : {false, true}) {
    const Folder folder;
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
      const rlimit none{0, 0}, small{room, room};
      setrlimit(RLIMIT_CORE, &none);
      setrlimit(RLIMIT_FSIZE, &small);
      const std::string why = error_of([&] { run_session(session(folder, points, constant(1e-5)), heard); });
      _exit(why.find("cannot write") != std::string::npos ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WIFSIGNALED(status), killed);
    EXPECT_EQ(killed ? WTERMSIG(status) : WEXITSTATUS(status), killed ? SIGXFSZ : 0);
    const CsvText csv = parse_csv(text_of(csv_in(folder)));
    if (!killed) {
      EXPECT_EQ(csv.whole_bytes, text_of(csv_in(folder)).size());
    }
    EXPECT_GT(csv.records.size(), 1u);
    run_session(resumed(session(folder, points, constant(1e-5))), heard);
    EXPECT_EQ(rows_of(csv_in(folder)).size(), points.size());
  }
}

// ------------------------------------------------------------------------------------------------------------- options

TEST(MeasureRun, OptionsThatMakeNoSenseAreRefused) {
  const Experiment e{
      .name = "x", .summary = "", .points = [](const Selection&, DeviceKind) { return std::vector<Point>(); }};
  const auto why = [&](auto change) {
    RunOptions o;
    change(o);
    return error_of([&] { choose_rules(e, o); });
  };
  EXPECT_NE(why([](auto& o) { o.min_samples = 0; }), "");
  EXPECT_NE(why([](auto& o) { o.max_samples = 0; }), "");
  EXPECT_NE(why([](auto& o) { o.min_samples = 9, o.max_samples = 8; }), "");
  for (const int bad : {-1, 0, 1, 5, 10'001})
    EXPECT_EQ(why([&](auto& o) { o.allocations = bad; }).find("--allocations takes a number from 6 on"), 0u) << bad;
  EXPECT_EQ(why([](auto& o) { o.allocations = 200, o.max_samples = 50; }),
            "--max-samples 50 is less than --allocations 200: each takes one sample at least");
  EXPECT_EQ(why([](auto& o) { o.allocations = 6; }), "");
  for (const int none : {0, -4}) {
    EXPECT_EQ(why([&](auto& o) { o.allocations = 10, o.min_samples = none; }),
              why([&](auto& o) { o.min_samples = none; }));
    EXPECT_EQ(why([&](auto& o) { o.allocations = 10, o.max_samples = none; }),
              why([&](auto& o) { o.max_samples = none; }));
  }
  Experiment twice = e;
  twice.rules.end_to_end_factor = 2;
  const auto factor = [&](auto change) {
    RunOptions o;
    change(o);
    return choose_rules(twice, o).end_to_end_factor;
  };
  EXPECT_EQ(factor([](auto& o) { o.allocations = 24; }), 2);
  EXPECT_EQ(factor([](auto& o) { o.min_samples = 9; }), 1) << "what the user says holds for all points";
  EXPECT_EQ(factor([](auto& o) { o.max_samples = 60; }), 1) << "what the user says holds for all points";
  EXPECT_EQ(factor([](auto& o) { o.quick = true; }), 1);
  EXPECT_EQ(why([](auto& o) { o.allocations = 60, o.min_samples = 70, o.max_samples = 65; }),
            "--max-samples 65 is less than --min-samples 70");
  for (const double bad : {0.0, 1.0, -0.5, 95.0, std::nan("")})
    EXPECT_EQ(why([&](auto& o) { o.confidence = bad; }), error_of([&] { require_confidence(bad); })) << bad;
  EXPECT_EQ(error_of([] { require_confidence(95); }),
            "--confidence 95 does not lie between 0 and 1; give a share, as 95% or 0.95");
  EXPECT_EQ(error_of([] { require_confidence(0.999); }), "");
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_NE(why([&](auto& o) { o.time_budget_s = bad; }).find("--timeout"), std::string::npos) << bad;
  EXPECT_EQ(why([](auto& o) { o.time_budget_s = 1e-9; }), "");
  EXPECT_EQ(why([](auto& o) { o.min_samples = 50; }), "");
  EXPECT_NE(error_of([&] { choose_points(e, {}, DeviceKind::cpu, false); }), "");
}

TEST(MeasureRun, TheTimeoutDecidesHowManySamplesFitAndTheMinimumHowManyAreTakenAllTheSame) {
  const Variant a = variant("a", 1);
  const Experiment e{.name = "x", .summary = "", .points = {}};
  const auto samples = [&](double call_s, auto change) {
    RunOptions o;
    change(o);
    const Folder folder;
    Scripted script = constant(call_s);
    script.clock().overhead_s = 1e-3 - call_s;  // a sample costs 1 ms in all
    if (call_s > 1e-3) script.clock().overhead_s = 0;
    Heard heard;
    run_session(session(folder, {point(a, 100)}, std::move(script), choose_rules(e, o)), heard);
    return heard.rows.at(0).n_samples;
  };
  EXPECT_EQ(samples(1e-5, [](auto&) {}), 48u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 0.0155; }), 15u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1e-6; }), 7u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1e-6, o.min_samples = 11; }), 11u);
  EXPECT_EQ(samples(1e-5, [](auto& o) { o.time_budget_s = 1000, o.max_samples = 40; }), 40u);
  // A slow call has fewer of its own accord, unless the user demands more.
  EXPECT_EQ(samples(0.05, [](auto& o) { o.time_budget_s = 1000; }), 3u);
  EXPECT_EQ(samples(0.05, [](auto& o) { o.min_samples = 8; }), 8u);
  EXPECT_EQ(samples(0.05, [](auto& o) { o.max_samples = 2; }), 2u);
}

TEST(MeasureRun, SamplesAreSpreadOverAsManyAllocationsAsAreAskedFor) {
  const Variant a = variant("a", 1);
  const auto contexts_and_samples = [&](auto change, double call_s = 1e-5) {
    RunOptions o;
    change(o);
    const Folder folder;
    Scripted script = constant(call_s);
    int contexts = 0;
    script.renew_context = [&] { ++contexts; };
    Heard heard;
    run_session(session(folder, {point(a, 100)}, std::move(script),
                        choose_rules({.name = "x", .summary = "", .points = {}}, o)),
                heard);
    return std::pair(contexts, heard.rows.at(0).n_samples);
  };
  using Both = std::pair<int, std::size_t>;
  EXPECT_EQ(contexts_and_samples([](auto&) {}), Both(12, 48));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 30; }), Both(30, 120)) << "four on each, as before";
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 80, o.time_budget_s = 1e-6; }), Both(80, 80));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 80, o.min_samples = 9, o.time_budget_s = 1e-6; }),
            Both(80, 80));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 30, o.min_samples = 7; }), Both(30, 120));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 30, o.min_samples = 200; }), Both(30, 200));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 20, o.max_samples = 20; }), Both(20, 20));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 9, o.quick = true; }), Both(9, 27));
  EXPECT_EQ(contexts_and_samples([](auto& o) { o.allocations = 9; }, 0.05), Both(9, 9)) << "of a slow call, too";
}

TEST(MeasureRun, CapturingAGraphIsNotChargedToEverySample) {
  const Variant a = variant("a", 1);
  RunOptions o;
  o.time_budget_s = 0.0255;
  const Folder folder;
  Scripted script = constant(1e-5);
  script.clock().overhead_s = 1e-3 - 1e-5;  // a sample costs 1 ms in all
  script.clock().capture_s = 0.02;
  Heard heard;
  run_session(session(folder, {point(a, 100, TimingMode::graph, CacheState::warm)}, std::move(script),
                      choose_rules({.name = "x", .summary = "", .points = {}}, o)),
              heard);
  EXPECT_EQ(heard.rows.at(0).n_samples, 25u) << heard.rows.at(0).reason;
}

TEST(MeasureRun, APilotThatCostMoreThanOthersLeavesNoFewerSamples) {
  int calls = 0, wrong = 0;
  const Variant a = variant("a", 1, [&](const std::uint32_t* in, std::size_t n, std::uint32_t* out) {
    *out = sum(in, n) + (++calls == wrong);
  });
  const auto measured = [&](std::set<int> costly) {
    const Folder folder;
    Scripted script = constant(1e-5);
    Clock& clock = script.clock();
    int taken = 0;
    clock.before_sample = [&](const Call& c) {
      if (c.info.grid_blocks == 1) clock.overhead_s = costly.count(++taken) ? 0.02 : 1e-3;
    };
    calls = 0;
    Heard heard;
    run_session(session(folder, {point(a, 100)}, std::move(script), {.time_budget_s = 0.1}), heard);
    return heard.rows.at(0);
  };
  EXPECT_EQ(measured({}).n_samples, 48u);
  EXPECT_EQ(measured({1}).n_samples, 48u) << "a search for a quiet CPU came before the first";
  EXPECT_EQ(measured({1, 3}).n_samples, 7u) << "that is what they cost";
  wrong = 4;  // the third pilot's call: before the pilots there was one that loads the kernels
  EXPECT_EQ(measured({1}).status, Status::wrong);
  EXPECT_EQ(calls, wrong);
}

TEST(MeasureRun, SamplesThatAPointDemandsAreTakenWhateverTheyCostUnlessTheUserSaysOtherwise) {
  static const Variant a = variant("a", 1);
  Point demanding = point(a, 100);
  demanding.samples = 200;
  const auto taken = [&](double call_s) {
    const Folder folder;
    Heard heard;
    run_session(session(folder, {demanding, point(a, 200)}, constant(call_s)), heard);
    return std::pair(heard.rows.at(0).n_samples, heard.rows.at(1).n_samples);
  };
  EXPECT_EQ(taken(1e-5), (std::pair<std::size_t, std::size_t>(200, 48)));
  EXPECT_EQ(taken(0.05), (std::pair<std::size_t, std::size_t>(200, 3)));
  Experiment e{.name = "x", .summary = "", .points = [&](const Selection&, DeviceKind) {
                 Point real = point(find_variant("host/plain"), 100, TimingMode::end_to_end, CacheState::warm);
                 real.samples = 200;
                 return std::vector<Point>{real};
               }};
  e.device = DeviceKind::cpu;
  const auto of_run = [&](auto change) {
    const Folder folder;
    RunOptions o;
    o.out = folder.path();
    change(o);
    Heard heard;
    run_experiment(e, {}, o, heard);
    return heard.rows.at(0).n_samples;
  };
  EXPECT_EQ(of_run([](auto&) {}), 200u);
  EXPECT_EQ(of_run([](auto& o) { o.min_samples = o.max_samples = 9; }), 9u);
  EXPECT_EQ(of_run([](auto& o) { o.quick = true; }), 7u);
}

TEST(MeasureRun, DifferentBitsAmongAPointsResultsAreCountedAndErrorsHaveTheirScaleBeside) {
  /// An f32 sum of which every call's result is one of `results` neighbours.
  const auto wavering = [](const char* id, int results) {
    Variant v{.id = id, .title = "t", .cites = "c", .operations = {Operation::sum}, .types = {ElementType::f32}};
    v.prepare[static_cast<int>(DeviceKind::cpu)] = [=](const Problem& p, const Settings&, const DeviceInfo&) {
      auto calls = std::make_shared<int>(0);
      return plan_of({.longest_chain = p.n}, [=, n = p.n](void* in, void* out, Stream) {
        float sum = std::accumulate(static_cast<const float*>(in), static_cast<const float*>(in) + n, 0.0f);
        for (int i = (*calls)++ % results; i > 0; --i) sum = std::nextafter(sum, 1e30f);
        *static_cast<float*>(out) = sum;
      });
    };
    return v;
  };
  const Variant steady = wavering("a", 1), three = wavering("b", 3);
  std::vector<Point> points{point(steady, 1000), point(three, 1000)};
  for (Point& p : points) p.problem.type = ElementType::f32;
  const Variant whole = variant("c", 3);
  points.push_back(point(whole, 1000));
  const Folder folder;
  Heard heard;
  run_session(session(folder, points, constant(1e-5)), heard);
  std::map<std::string, Row> rows;
  for (const Row& row : heard.rows) rows[row.point.variant] = row;
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& [id, row] : rows) EXPECT_EQ(row.status, Status::ok) << id << ": " << row.reason;
  EXPECT_EQ(rows["a"].distinct_results, 1u);
  EXPECT_EQ(rows["b"].distinct_results, 3u);
  EXPECT_EQ(rows["c"].distinct_results, 1u);
  const Reference want =
      reference(Operation::sum, ElementType::f32, make_tile("random", ElementType::f32, 1000, 1), 1000);
  EXPECT_EQ(rows["a"].exact_result, want.value);
  EXPECT_EQ(rows["a"].sum_of_magnitudes, want.sum_of_magnitudes);
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
  const Folder folder;
  Heard heard;
  run_session(session(folder, points, constant(1e-5)), heard);
  const auto stored = rows_of(csv_in(folder));
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

TEST(MeasureRun, QuickKeepsSomeSizesAndPointsAreTakenOnce) {
  static const Variant a = variant("a", 1);
  const Experiment e{.name = "x", .summary = "", .points = [](const Selection&, DeviceKind) {
                       std::vector<Point> p;
                       for (int e = 10; e <= 30; ++e)
                         for (int twice = 0; twice < 2; ++twice) p.push_back(point(a, std::size_t{1} << e));
                       return p;
                     }};
  EXPECT_EQ(choose_points(e, {}, DeviceKind::cpu, false).size(), 21u);
  std::vector<std::size_t> sizes;
  for (const Point& p : choose_points(e, {}, DeviceKind::cpu, true)) sizes.push_back(p.problem.n);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1 << 10, 1 << 14, 1 << 18, 1 << 22}));
  Selection selection;
  selection.sizes = {5};
  EXPECT_EQ(choose_points(e, selection, DeviceKind::cpu, true).size(), 21u);  // what the user names is not thinned
}

TEST(MeasureRun, ADryRunCountsAndEstimatesAndWritesNothing) {
  static const Variant a = variant("a", 1);
  const Experiment e{.name = "x", .summary = "", .points = [](const Selection&, DeviceKind) {
                       return std::vector<Point>{point(a, 1 << 10), point(a, 1 << 20)};
                     }, .device = DeviceKind::cuda};  // needs no GPU either
  const Folder folder;
  RunOptions o;
  o.out = folder.path();
  o.dry_run = true;
  Heard heard;
  const auto report = run_experiment(e, {}, o, heard);
  EXPECT_EQ(report.points, 2u);
  EXPECT_GT(report.estimated_s, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace reductio
