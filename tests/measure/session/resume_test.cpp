/// Runs that are cut off, and going on with them: what is whole on disk, which rows stay, which are measured again.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "measure/analysis/compare.h"
#include "tests/measure/session/run_folder.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

using namespace scripted;

/// The times of a file's rows in nanoseconds: "a n=100" -> 10000.
std::map<std::string, long> times_in(const RunFolder& folder) {
  std::map<std::string, long> out;
  for (const Row& row : folder.parsed())
    EXPECT_TRUE(out.emplace(row.point.variant + " n=" + std::to_string(row.point.problem.n),
                            std::lround(1e9 * row.time_median_s.value()))
                    .second);
  return out;
}

/// Of each row and harness call the times of its samples, which must all be the same, and how many there are.
std::map<std::string, std::pair<long, int>> sampled_in(const RunFolder& folder) {
  std::map<std::string, std::pair<long, int>> out;
  for (const RawSample& s : folder.raw_samples()) {
    const long ns = std::lround(1e9 * s.time_s.value());
    auto& [time, count] =
        out.try_emplace(s.point.variant + " n=" + std::to_string(s.point.problem.n), ns, 0).first->second;
    EXPECT_EQ(time, ns) << s.point.variant << " has samples of two runs";
    ++count;
  }
  return out;
}

TEST(MeasureRun, ExistingResultsAreNeverOverwritten) {
  RunFolder folder;
  folder.run({point(a, 100)});
  const std::string before = folder.csv();
  const std::string why = error_of([&] { folder.run({point(a, 200)}); });
  EXPECT_NE(why.find("--resume"), std::string::npos) << why;
  EXPECT_EQ(folder.csv(), before);
}

TEST(MeasureRun, ACsvCutAnywhereResumesToTheSamePoints) {
  RunFolder whole;
  whole.run(many_points());
  const std::string csv = whole.csv(), samples = whole.samples();
  std::set<std::string> keys;
  for (const Row& r : whole.rows) keys.insert(row_key(r.point));
  ASSERT_EQ(keys.size(), 24u);

  for (std::size_t cut = 0; cut < csv.size(); cut += sanitized ? 5 * 97 : 97) {
    RunFolder folder(whole);
    write_whole_file(folder.csv_path(), csv.substr(0, cut));
    write_whole_file(folder.samples_path(), samples.substr(0, samples.size() * cut / csv.size()));
    const auto report = folder.resume(many_points());
    EXPECT_EQ(report.skipped + folder.rows.size(), 24u) << cut;
    const bool in_a_row = cut > csv.find('\n') && csv[cut - 1] != '\n';
    EXPECT_EQ(folder.notices.size() > 0 && folder.notices[0].find("was cut") != std::string::npos, in_a_row) << cut;
    EXPECT_EQ(parse_csv(folder.csv()).whole_bytes, folder.csv().size());
    std::set<std::string> found;
    for (const Row& row : folder.parsed()) EXPECT_TRUE(found.insert(row_key(row.point)).second) << "twice";
    EXPECT_EQ(found, keys) << cut;
    EXPECT_TRUE(gzip_intact(folder.samples()));
  }
}

TEST(MeasureRun, WhatAWiderSelectionAddsIsMeasuredWithTheWholeGroup) {
  RunFolder folder;
  folder.run({point(a, 100), point(a, 200), point(b, 300)});
  EXPECT_TRUE(folder.notices.empty());
  const auto report = folder.resume({point(a, 100), point(b, 100), point(a, 200), point(b, 400)}, constant(2e-5));
  EXPECT_EQ(report.skipped, 1u) << "a group that lacks nothing";
  EXPECT_EQ(folder.rows.size(), 3u + 3u);
  EXPECT_EQ(times_in(folder),
            (std::map<std::string, long>{
                {"a n=200", 10000}, {"b n=300", 10000}, {"a n=100", 20000}, {"b n=100", 20000}, {"b n=400", 20000}}));
  std::map<std::string, std::pair<long, int>> samples;
  for (const auto& [row, ns] : times_in(folder))
    samples[row] = samples["(launch-floor)" + row.substr(row.find(' '))] = {ns, 48};
  EXPECT_EQ(sampled_in(folder), samples);
  EXPECT_EQ(folder.notices, std::vector<std::string>{"1 row of " + folder.csv_path().string() +
                                                     " is measured again: other points of their groups are missing, "
                                                     "and the points of a group are measured together"});
}

TEST(MeasureRun, OfADamagedFileTheOtherRowsAreKeptAndTheFileItselfToo) {
  const std::vector<Point> points{point(a, 100), point(a, 200), point(a, 300)};
  RunFolder folder;
  folder.run(points);
  std::string csv = folder.csv();
  const std::size_t line = csv.find('\n', csv.find('\n') + 1) + 1;  // the third
  csv.insert(line + 5, "\"");
  for (const char* aside : {"test.csv.damaged", "test.csv.damaged-2"}) {
    write_whole_file(folder.csv_path(), csv);
    EXPECT_NE(error_of([&] { read_results(folder.path()); }).find("test.csv:3:6: a quotation mark"), std::string::npos);
    folder.notices.clear();
    EXPECT_EQ(folder.resume(points).skipped, 2u);
    ASSERT_EQ(folder.notices.size(), 1u);
    EXPECT_NE(
        folder.notices[0].find("test.csv:3:6: a quotation mark that does not belong there: of 3 rows 1 dropped and "
                               "measured again, 2 kept; the file as it was is "),
        std::string::npos)
        << folder.notices[0];
    EXPECT_EQ(content_of(folder.csv_path().parent_path() / aside), csv);
    EXPECT_EQ(read_results(folder.path()).rows.size(), 3u);
  }
}

TEST(MeasureRun, AGroupOfWhichARowWasCutIsMeasuredAgainAsAWhole) {
  const std::vector<Point> points{point(a, 100), point(b, 100), point(a, 200)};
  RunFolder folder;
  folder.run(points);
  const CsvText csv = parse_csv(folder.csv());
  ASSERT_EQ(csv.records.size(), 4u);
  ASSERT_EQ(Row::parse(csv.records[3]).point.problem.n, 200u) << "the last";
  write_whole_file(folder.csv_path(), csv_record(csv.records[0]) + csv_record(csv.records[3]) +
                                          csv_record(csv.records[1]) + csv_record(csv.records[2]).substr(0, 100));
  folder.resume(points, constant(2e-5));
  EXPECT_EQ(times_in(folder),
            (std::map<std::string, long>{{"a n=100", 20000}, {"b n=100", 20000}, {"a n=200", 10000}}));
  for (const auto& [what, of] : sampled_in(folder)) EXPECT_EQ(of.second, 48) << what;
}

TEST(MeasureRun, RowsOfWhichSamplesAreMissingAreMeasuredAgainWithTheirGroups) {
  const std::vector<Point> points{point(a, 100), point(b, 100), point(a, 200)};
  RunFolder whole;
  whole.run(points, constant(1e-5), {.batch_s = 0});
  for (const bool lost : {false, true}) {
    RunFolder folder(whole);
    if (lost)
      std::filesystem::remove(folder.samples_path());
    else
      write_whole_file(folder.samples_path(),
                       whole.samples().substr(0, whole.samples().size() - 9));  // the last group's
    EXPECT_NE(error_of([&] { read_results(folder.path()); }).find("run the experiment with --resume"),
              std::string::npos);
    folder.resume(points, constant(2e-5), {.batch_s = 0});
    EXPECT_EQ(folder.rows.size(), lost ? 3u : 1u);
    EXPECT_EQ(read_results(folder.path()).rows.size(), 3u);
    for (const auto& [what, of] : sampled_in(folder)) EXPECT_EQ(of.second, 48) << what;
    ASSERT_EQ(folder.notices.size(), 1u);
    EXPECT_NE(folder.notices[0].find("measured again: raw samples, or other points, of their groups are missing"),
              std::string::npos);
  }
}

TEST(MeasureRun, OfARowThatStandsTwiceOneIsLeftAndTwoThatDifferAreRefused) {
  const std::vector<Point> points = points_at(100, {&a, &b});
  RunFolder folder;
  folder.run(points);
  const std::string csv = folder.csv();
  write_whole_file(folder.csv_path(), csv + csv.substr(csv.find('\n') + 1));
  EXPECT_EQ(folder.resume(points, constant(2e-5)).skipped, 2u);
  EXPECT_EQ(folder.csv(), csv);
  EXPECT_EQ(folder.notices, std::vector<std::string>{"2 rows of " + folder.csv_path().string() +
                                                     " stood there twice, and once do now"});
  Row other = folder.parsed().at(0);
  other.time_median_s = 1;
  write_whole_file(folder.csv_path(), csv + csv_record(other.fields()));
  EXPECT_EQ(error_of([&] { folder.resume(points, constant(2e-5)); }),
            "cannot resume " + folder.csv_path().string() + ":4: it is of the same point as line 2, a " +
                describe_group(point(a, 100)) + ", and differs; remove one of the two, or choose another --out");
  EXPECT_EQ(folder.csv(), csv + csv_record(other.fields())) << "refused means untouched";
}

TEST(MeasureRun, AResumeThatWouldTakeOutRowsForGoodIsRefused) {
  RunFolder folder;
  folder.run({point(a, 100), point(b, 100), point(b, 200)});
  const auto files = [&] { return folder.csv() + folder.samples() + folder.machine_json(); };
  const std::string before = files();
  EXPECT_EQ(error_of([&] {
              folder.resume({point(a, 100), point(c, 100), point(c, 200)});
            }),
            "cannot resume " + folder.csv_path().string() + ": it lacks c of " + describe_group(point(c, 100)) +
                ", which has to be measured together with b, which is there but not in this selection; select both, or "
                "choose another --out");
  EXPECT_EQ(files(), before) << "refused means untouched";
  // A narrower selection lacks nothing, and rows of groups that it does not touch stay.
  EXPECT_EQ(folder.resume({point(a, 100)}, constant(2e-5)).skipped, 1u);
  folder.resume({point(c, 300)}, constant(2e-5));
  EXPECT_EQ(times_in(folder), (std::map<std::string, long>{
                                  {"a n=100", 10000}, {"b n=100", 10000}, {"b n=200", 10000}, {"c n=300", 20000}}));
}

TEST(MeasureRun, ARowWithoutATimeStaysWhereItsGroupIsMeasuredAgain) {
  int calls = 0;
  const Variant fails = variant("fails", 3, [&](auto, auto, auto) {
    ++calls;
    throw CallTimeout("no result within 60 s");
  });
  RunFolder folder;
  EXPECT_NE(error_of([&] { folder.run(points_at(100, {&a, &fails})); }), "");
  EXPECT_EQ(calls, 1);
  folder.resume(points_at(100, {&a, &fails}));
  folder.resume(points_at(100, {&a, &fails, &b}), constant(2e-5));
  EXPECT_EQ(calls, 1) << "it would stop the device each time, and the run never end";
  std::map<std::string, std::string> times;
  for (const auto& row : folder.stored()) times[row.at("variant")] = row.at("status") + row.at("time_median_s");
  EXPECT_EQ(times, (std::map<std::string, std::string>{{"a", "ok2e-05"}, {"b", "ok2e-05"}, {"fails", "timeout"}}));
}

TEST(MeasureRun, AResumeElsewhereIsRefused) {
  RunFolder folder;
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  folder.run({point(a, 100)});
  const std::string csv = folder.csv(), json = folder.machine_json();
  const auto refused_with = [&](const std::string& json_now, const std::string& csv_now) {
    write_whole_file(folder.machine_path(), json_now);
    write_whole_file(folder.csv_path(), csv_now);
    const std::string why = error_of([&] { folder.resume(more); });
    EXPECT_EQ(folder.csv(), csv_now) << "refused means untouched";
    EXPECT_EQ(folder.machine_json(), json_now);
    return why;
  };
  const auto with = [&](const std::string& key, const std::string& value) {
    auto changed = nlohmann::ordered_json::parse(json);
    changed["runs"][0][key] = value;
    return refused_with(changed.dump(), csv);
  };
  EXPECT_NE(with("machine_id", "GPU-other").find("another machine (GPU-other"), std::string::npos);
  EXPECT_NE(with("binary", "0123").find("another build of the program"), std::string::npos);
  EXPECT_NE(with("run_id", "none").find("does not tell"), std::string::npos);
  for (const int version : {0, 1, 2}) {
    auto other = nlohmann::ordered_json::parse(json);
    other["schema_version"] = version;
    EXPECT_EQ(refused_with(other.dump(), csv), folder.machine_path().string() + " was written with schema version " +
                                                   std::to_string(version) + ", this program writes " +
                                                   std::to_string(schema_version) + "; choose another --out");
  }
  EXPECT_NE(refused_with("{ cut", csv).find("is damaged"), std::string::npos);
  EXPECT_NE(refused_with(json, "2" + csv.substr(1)).find("other columns"), std::string::npos);
  std::string other_version = csv;
  other_version[csv.find('\n') + 1] = '9';
  EXPECT_NE(refused_with(json, other_version).find("schema version 9"), std::string::npos);
  write_whole_file(folder.csv_path(), csv);
  std::filesystem::remove(folder.machine_path());
  EXPECT_NE(error_of([&] { folder.resume(more); }).find("does not tell"), std::string::npos);

  write_whole_file(folder.machine_path(), json);
  EXPECT_EQ(folder.resume(more).skipped, 1u);
  EXPECT_EQ(folder.stored().size(), 2u);
}

TEST(MeasureRun, AResumedRunKeepsTheSeedOfItsOrder) {
  RunFolder folder;
  const auto with = [&](std::vector<Point> points, std::optional<std::uint64_t> order_seed) {
    Session s = session(folder, std::move(points), constant(1e-5));
    s.order_seed = order_seed;
    return s;
  };
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  folder.run(with({point(a, 100)}, {}));
  const std::uint64_t seed = folder.entry().at("order_seed");
  const std::string csv = folder.csv();
  EXPECT_EQ(error_of([&] { folder.resume(with(more, seed + 1)); }),
            "cannot resume " + folder.csv_path().string() + ": its order seed is " + std::to_string(seed) +
                ", this is " + std::to_string(seed + 1) + "; leave --order-seed out, or choose another --out");
  EXPECT_EQ(folder.csv(), csv);
  folder.resume(with(more, {}));
  EXPECT_EQ(folder.entry().at("order_seed"), seed) << "one entry tells that of all rows";
  EXPECT_EQ(folder.resume(with(more, seed)).skipped, 2u);
}

TEST(MeasureRun, AResumedRunsEntryTellsOfAllProcessesThatMeasuredItsRows) {
  RunFolder folder;
  const auto run = [&](const std::vector<std::size_t>& sizes, HostCpuCounts counts, const char* argument, int busy) {
    std::vector<Point> points;
    for (const std::size_t n : sizes) points.push_back(point(a, n));
    Scripted script = constant(1e-5);
    script.device().host_cpu = counts;
    script.device().memory_idle = [busy]() mutable { return busy-- <= 0; };
    Session s = session(folder, points, std::move(script));
    s.options.arguments = {"reductio", argument};
    folder.resume(std::move(s));
    return folder.entry();
  };
  auto first = run({100}, {.samples = 100, .moved = 30, .on_busy_cpu = 5, .chain_s = 4e-4}, "first", 4);
  EXPECT_FALSE(first.contains("resumed"));
  const auto rewrite = [&](const std::function<void(nlohmann::ordered_json & entry)>& change) {
    auto machine = nlohmann::ordered_json::parse(folder.machine_json());
    change(machine["runs"][0]);
    write_whole_file(folder.machine_path(), machine.dump());
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
  RunFolder folder;
  const SamplingRules rules{.max_samples = 7, .confidence = 0.5};
  folder.run({point(a, 100)}, constant(1e-5), rules);
  const std::string json = folder.machine_json(), csv = folder.csv();
  const std::vector<Point> more{point(a, 100), point(a, 200)};
  EXPECT_EQ(error_of([&] { folder.resume(more); }),
            "cannot resume " + folder.csv_path().string() +
                ": it was measured by other rules (max_samples 7, this is 48; confidence 0.5, this is 0.95); give the "
                "same options, or choose another --out");
  EXPECT_EQ(folder.machine_json(), json);
  EXPECT_EQ(folder.csv(), csv);
  EXPECT_EQ(folder.resume(more, constant(1e-5), rules).skipped, 1u);
}

TEST(MeasureRun, AFolderOfAClockThatSawNoTimePassIsReadResumedAndCompared) {
  const auto coarse = [] {
    Scripted script = constant(0);
    script.calls().kernels_that_read = 1;
    return script;
  };
  RunFolder folders[2];
  std::vector<MeasuredSet> sets;
  for (RunFolder& folder : folders) {
    folder.run({point(a, 100)}, coarse());
    folder.resume(points_at(100, {&a, &b}), coarse());
    const auto rows = folder.stored();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].at("status"), "ok") << rows[1].at("reason");
    EXPECT_EQ(rows[1].at("time_median_s"), "0");
    EXPECT_EQ(rows[1].at("read_time_s"), "") << "nothing that a share could be of";
    EXPECT_EQ(read_results(folder.path()).rows.size(), 2u);
    sets.push_back(measured_in(read_results(folder.path())));
  }
  for (const Compared& compared : compare(match(sets[0], sets[1], false), false, 0.95, 0.01).rows) {
    EXPECT_FALSE(compared.ratio);
    EXPECT_NE(compared.reason, "");
  }
}

// ----------------------------------------------------------------------------------------------- killed, interrupted

/// Each group is written by itself, as a run of many minutes writes what each minute measured.
const SamplingRules group_by_group{.batch_s = 0};

/// What becomes of a child that does this: its status as waitpid() has it, 0 where `body` says that all is well.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), 2);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(MeasureRun, KilledAtAnyInstantItLeavesWholeRowsAndResumesToTheSamePoints) {
  const std::vector<Point> points = many_points({&a, &b, &c});
  std::set<std::string> keys;
  for (const Point& p : points) keys.insert(row_key(p));
  RunFolder empty, whole, begun;  // begun: each group lacks a variant, so that all are measured again
  begun.run(many_points(), constant(1e-5), group_by_group);
  // Killed before so many samples, or once so many rows were written.
  const auto run_in = [&](RunFolder& folder, int samples, int rows) {
    return status_of_child([&] {
      Scripted script = constant(2e-5);
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
      Session s = session(folder, points, std::move(script), group_by_group);
      s.options.resume = true;
      return error_of([&] { run_session(std::move(s), killing); }).empty();
    });
  };
  ASSERT_EQ(run_in(whole, 0, 0), 0) << "not killed at all";
  // At least: an empty call timed in two modes, and the rounds of twelve groups of four.
  constexpr int samples = 2 * 101 + 12 * 4 * 48;
  std::mt19937_64 random(7);
  int fresh = 0, amid_rows = 0;
  for (int trial = 0; trial < (sanitized ? 12 : 48); ++trial) {
    SCOPED_TRACE(trial);
    const bool by_row = trial % 5 == 4, again = trial % 3 == 0;
    RunFolder folder(again ? begun : empty);
    // The first trial's is the first call for the record, when the rows of `begun` are out.
    const int left = trial == 0 ? 1 : 1 + static_cast<int>(random() % (by_row ? keys.size() : samples));
    const int status = run_in(folder, by_row ? 0 : left, by_row ? left : 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "came to its end";
    if (std::filesystem::exists(folder.csv_path())) {
      const CsvText csv = parse_csv(folder.csv());
      for (const Fields& r : csv.records) ASSERT_EQ(r.size(), columns().size());
      amid_rows += !again && csv.records.size() > 1 && csv.records.size() < 1 + keys.size();
    }
    fresh += !again;
    folder.resume(points, constant(3e-5), group_by_group);

    std::set<std::string> found;
    std::map<std::string, std::set<double>> times, sampled;  // of each group
    std::map<std::string, int> count;
    for (const Row& row : folder.parsed()) {
      EXPECT_TRUE(found.insert(row_key(row.point)).second);
      times[group_key(row.point)].insert(row.time_median_s.value());
    }
    for (const RawSample& s : folder.raw_samples()) {
      sampled[group_key(s.point)].insert(s.time_s.value());
      ++count[row_key(s.point)];
    }
    ASSERT_EQ(found, keys);
    for (const auto& [group, of_group] : times) EXPECT_EQ(of_group.size(), 1u) << group << " is of two runs";
    EXPECT_EQ(sampled, times);
    EXPECT_EQ(count.size(), 48u) << "three variants and the floor, six sizes, two modes";
    for (const auto& [what, n] : count) EXPECT_EQ(n, 48) << what;
    ASSERT_TRUE(gzip_intact(folder.samples()));
  }
  EXPECT_GE(amid_rows, fresh * 3 / 5) << "few kills fell where some rows were written and some not";
}

TEST(MeasureRun, AnInterruptFinishesWhatIsNearlyDoneAndASecondDropsIt) {
  struct Case {
    SamplingRules rules;
    int sample, signal, signals;
    std::size_t rows;
  };
  // Group by group, in the middle of the second: that one is finished.
  std::vector<Case> cases{{group_by_group, 70, SIGINT, 1, 4},
                          {group_by_group, 70, SIGTERM, 1, 4},
                          {group_by_group, 70, SIGHUP, 1, 4},
                          {group_by_group, 70, SIGINT, 2, 2}};
  // A batch of 25 seconds by the estimate, at a pilot's sample, the first after all pilots, and one of the last
  // context: only in the last case are seconds left, and nothing to go on with.
  const SamplingRules one_batch{.time_budget_s = 1};
  cases.insert(cases.end(), {{one_batch, 5, SIGINT, 1, 0},
                             {one_batch, 40, SIGINT, 1, 0},
                             {one_batch, 570, SIGINT, 1, 24},
                             {one_batch, 570, SIGINT, 2, 0}});
  for (const Case& which : cases) {
    SCOPED_TRACE(which.sample);
    RunFolder folder;
    Scripted script = constant(1e-5);
    int samples = 0;
    script.clock().before_sample = [&](const Call& call) {
      if (call.info.grid_blocks == 1 && ++samples == which.sample)
        for (int i = 0; i < which.signals; ++i) std::raise(which.signal);
    };
    const bool interrupted = folder.run(many_points(), std::move(script), which.rules).interrupted;
    EXPECT_EQ(interrupted, which.rows < 24);
    EXPECT_EQ(folder.entry().at("interrupted"), interrupted);
    EXPECT_EQ(folder.rows.size(), which.rows);
    EXPECT_EQ(folder.stored().size(), which.rows);
    EXPECT_FALSE(folder.resume(many_points(), constant(1e-5), which.rules).interrupted);
    EXPECT_EQ(folder.entry().at("interrupted"), false);
    EXPECT_EQ(folder.stored().size(), 24u);
  }
}

TEST(MeasureRun, AHangupThatIsIgnoredStaysIgnored) {
  RunFolder folder;
  Scripted script = constant(1e-5);
  script.clock().before_sample = [&](const Call&) { std::raise(SIGHUP); };
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup does
  const auto report = folder.run({point(a, 100)}, std::move(script));
  std::signal(SIGHUP, before);
  EXPECT_FALSE(report.interrupted);
  EXPECT_EQ(folder.rows.size(), 1u);
}

TEST(MeasureRun, AnObserverThatThrowsCostsNoRowOfItsBatch) {
  struct Throwing final : RunObserver {
    void row(const Row&) override { throw OutputError("the terminal hung up"); }
  } throwing;
  const RunFolder folder;
  EXPECT_EQ(error_of<OutputError>([&] { run_session(session(folder, many_points(), constant(1e-5)), throwing); }),
            "the terminal hung up");
  EXPECT_EQ(folder.stored().size(), 24u) << "all of one batch";
  EXPECT_TRUE(folder.entry().contains("ended_utc"));
  EXPECT_EQ(folder.entry().at("interrupted"), false) << "no row is left over";
}

TEST(MeasureRun, AFullDiskEndsTheRunWithItsRowsIntact) {
  std::vector<Point> points;
  for (std::size_t n = 1; n <= 400; ++n) points.push_back(point(a, n));
  // A limit on the size of any file stands in for the disk: no room for all rows, but for all that is written before.
  RunFolder whole;
  whole.run(points);
  std::uintmax_t others = 0;
  for (const char* name : {"catalog.csv", "machine.json"})
    others = std::max(others, std::filesystem::file_size(whole.csv_path().parent_path() / name));
  const rlim_t room = others + 2000;
  ASSERT_GT(whole.csv().size(), room);

  // The signal kills amid the write, unless it is ignored: then the write fails.
  for (const bool killed : {false, true}) {
    RunFolder folder;
    const int status = status_of_child([&] {
      std::signal(SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
      const rlimit none{0, 0}, small{room, room};
      setrlimit(RLIMIT_CORE, &none);
      setrlimit(RLIMIT_FSIZE, &small);
      return error_of([&] { folder.run(points); }).find("cannot write") != std::string::npos;
    });
    EXPECT_EQ(WIFSIGNALED(status), killed);
    EXPECT_EQ(killed ? WTERMSIG(status) : WEXITSTATUS(status), killed ? SIGXFSZ : 0);
    const CsvText csv = parse_csv(folder.csv());
    EXPECT_TRUE(killed || csv.whole_bytes == folder.csv().size());
    EXPECT_GT(csv.records.size(), 1u);
    folder.resume(points);
    EXPECT_EQ(folder.stored().size(), points.size());
  }
}

}  // namespace
}  // namespace reductio
