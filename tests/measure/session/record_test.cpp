/// What is told of a run beside its rows: machine.json, notices, profiling; and of a device that no longer answers.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measure/results/provenance.h"
#include "measure/results/writer.h"
#include "tests/measure/session/run_folder.h"

namespace reductio {
namespace {

using namespace scripted;

TEST(MeasureRun, TheMachineIsWrittenBesideTheResults) {
  const std::vector<std::byte> held(std::size_t{64} << 20, std::byte{1});
  RunFolder folder;
  Session s = session(folder, {point(a, 100)}, constant(1e-5));
  s.options.arguments = {"run", "test"};
  s.seed = 7;
  folder.run(std::move(s));
  const auto json = folder.machine();
  EXPECT_EQ(json.at("schema_version"), 3);
  EXPECT_EQ(json.at("machine"), "scripted");
  EXPECT_TRUE(json.at("gpu").is_null());
  EXPECT_EQ(json.at("cpu").at("model"), "a CPU");
  EXPECT_FALSE(json.at("build").at("cxx_compiler").get<std::string>().empty());
  const auto& run = json.at("runs").at(0);
  EXPECT_EQ(run.at("run_id"), folder.rows.at(0).run_id);
  EXPECT_EQ(run.at("arguments"), (std::vector<std::string>{"run", "test"}));
  EXPECT_EQ(run.at("seed"), 7);
  EXPECT_EQ(run.at("binary"), binary_hash());
  EXPECT_EQ(run.at("timing").at("end_to_end").at("launch_floor_s"), 1e-5);
  EXPECT_EQ(run.at("timing").at("end_to_end").at("resolution_s"), 1e-9);
  for (const char* unused : {"device", "launch_to_idle"})
    EXPECT_EQ(run.at("timing").at(unused).at("launch_floor_s"), 1e-5) << "a mode that no point uses";
  EXPECT_TRUE(run.contains("ended_utc"));
  const auto& spent = run.at("time_spent");
  EXPECT_NEAR(spent.at("timed_s").get<double>(), 48 * 2 * 1e-5, 1e-4);
  EXPECT_GT(spent.at("wall_s").get<double>(), 0);
  const auto peak = run.at("peak_memory_bytes").get<std::ptrdiff_t>();
  EXPECT_GE(peak, std::count(held.begin(), held.end(), std::byte{1}));
  EXPECT_LT(peak, std::ptrdiff_t{1} << 40);  // KiB were made bytes once
  const CsvText catalog = parse_csv(*content_of(folder.path() / "scripted" / "catalog.csv"));
  EXPECT_EQ(catalog.records.at(0).at(1), "variant");
}

TEST(MeasureRun, AFinishedRunHasTheHashesOfItsRowsAndSamplesAndAResumedOneNewOnes) {
  RunFolder folder;
  const auto hashes = [&](const nlohmann::json& entry) {
    const std::string id = entry.at("run_id");
    return nlohmann::json{{"test.csv", hash_of_run(folder.csv(), id).value()},
                          {"test.samples.csv", hash_of_run(gunzip(folder.samples()), id).value()}};
  };
  folder.run({point(a, 100)});
  const auto first = folder.entry();
  EXPECT_EQ(first.at("sha256"), hashes(first));
  folder.resume({point(a, 100), point(a, 200)});
  const auto second = folder.entry();
  EXPECT_EQ(second.at("sha256"), hashes(second));
  EXPECT_NE(second.at("sha256"), first.at("sha256"));
}

TEST(MeasureRun, TheHeaderIsOfAMachineThatMeasured) {
  RunFolder folder;
  folder.run({point(a, 100)});
  const auto measured = [&] { return folder.machine().at("cpu").at("model"); };
  EXPECT_EQ(measured(), "a CPU");
  const auto begun_on = [&](const char* model, Status status) {
    Machine machine;
    machine.name = "scripted";
    machine.cpu.model = model;
    Results results(folder.path() / "scripted", machine, {.run_id = model, .experiment = "other-" + std::string(model)},
                    false);
    Row row;
    row.point = point(a, 100);
    row.status = status;
    results.append({row}, "");
    results.write_machine();
  };
  begun_on("refused", Status::refused);
  EXPECT_EQ(measured(), "a CPU");
  begun_on("timed", Status::ok);
  EXPECT_EQ(measured(), "timed");
  EXPECT_EQ(folder.machine().at("runs").size(), 3u);
}

TEST(MeasureRun, ATableOfAnotherProgramGetsARunsIdAndAnEntryAmongTheTools) {
  RunFolder folder;
  folder.run({point(a, 100)});
  const auto place = folder.path() / "scripted";
  const auto text = [&](const char* file) { return *content_of(place / file); };
  Machine card;
  card.cpu.model = "card";
  write_whole_file(place / "ncu.csv", "kernel,value\n\"a, b\",1\nc,2\n");
  write_whole_file(place / "copies.csv", "bytes\n4\n");
  const std::string id = record_tool(place, card, "ncu", {"record", "ncu.csv"}, {"ncu.csv", "copies.csv"});
  EXPECT_EQ(text("ncu.csv"), "run_id,kernel,value\n" + id + ",\"a, b\",1\n" + id + ",c,2\n");
  auto tools = folder.machine().at("tools");
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_EQ(tools[0].at("run_id"), id);
  EXPECT_EQ(tools[0].at("tool"), "ncu");
  EXPECT_EQ(tools[0].at("machine_id"), card.id());
  EXPECT_EQ(tools[0].at("git_revision"), build_description().git_revision);
  EXPECT_EQ(tools[0].at("sha256").at("ncu.csv"), hash_of_run(text("ncu.csv"), id));
  EXPECT_EQ(tools[0].at("sha256").at("copies.csv"), hash_of_run(text("copies.csv"), id));
  EXPECT_EQ(folder.machine().at("cpu").at("model"), "a CPU") << "a tool does not make the header";

  // A table that knows its runs keeps them, and one that is made anew replaces the tool's entry.
  write_whole_file(place / "compared.csv", "variant,run_id\na,x\nb,y\nc,x\n");
  record_tool(place, card, "compare", {}, {"compared.csv"});
  EXPECT_EQ(text("compared.csv"), "variant,run_id\na,x\nb,y\nc,x\n");
  write_whole_file(place / "ncu.csv", "kernel,value\nc,3\n");
  const std::string next = record_tool(place, card, "ncu", {}, {"ncu.csv"});
  tools = folder.machine().at("tools");
  ASSERT_EQ(tools.size(), 3u);
  EXPECT_EQ(tools[0].at("run_id"), "x");
  EXPECT_EQ(tools[1].at("run_id"), "y");
  EXPECT_EQ(tools[2].at("run_id"), next);
  folder.resume({point(a, 100), point(a, 200)});
  EXPECT_EQ(folder.machine().at("tools"), tools) << "a run leaves them";

  EXPECT_NE(error_of([&] { record_tool(place, card, "x", {}, {"absent.csv"}); }).find("absent.csv is not a table"),
            std::string::npos);
}

TEST(MeasureRun, WhatBecameOfTheHostsCpuIsRecordedAndToldWhereItWasBusy) {
  const auto recorded = [](std::optional<HostCpuCounts> counts, RunFolder& folder) {
    Scripted script = constant(1e-5);
    script.device().host_cpu = counts;
    folder.run({point(a, 1000)}, std::move(script));
    return folder.entry().at("host_cpu");
  };
  RunFolder unknown, calm, busy;
  EXPECT_TRUE(recorded(std::nullopt, unknown).is_null());
  EXPECT_EQ(recorded(HostCpuCounts{.samples = 100, .moved = 30, .on_busy_cpu = 5, .chain_s = 4e-4}, calm),
            (nlohmann::json{{"samples", 100}, {"moved", 30}, {"on_busy_cpu", 5}, {"mean_chain_s", 4e-6}}));
  recorded(HostCpuCounts{.samples = 100, .moved = 30, .on_busy_cpu = 6}, busy);
  EXPECT_TRUE(calm.notices.empty());
  ASSERT_EQ(busy.notices.size(), 1u);
  EXPECT_EQ(busy.notices[0].substr(0, 59), "of 100 samples by the host's clock 6 were taken while no CP");
}

TEST(MeasureRun, AFlushThatDoesNotFlushIsToldWhereSomethingShallBeCold) {
  const auto notices = [](double dirty_s, CacheState cache) {
    Scripted script = constant(1e-5);
    script.device().probe = [&] {
      return CacheProbe{.bytes = 4 << 20, .warm_s = 1e-6, .cold_clean_s = 2e-6, .cold_dirty_s = dirty_s};
    };
    RunFolder folder;
    folder.run({point(a, 100, TimingMode::end_to_end, cache)}, std::move(script));
    return folder.notices;
  };
  EXPECT_TRUE(notices(2e-6, CacheState::cold_dirty).empty());
  EXPECT_TRUE(notices(1e-6, CacheState::warm).empty());
  const auto told = notices(1e-6, CacheState::cold_dirty);
  ASSERT_EQ(told.size(), 1u);
  const std::string words = told[0].substr(told[0].find("reading"));
  EXPECT_TRUE(words.starts_with("reading 4 MiB takes 1 us from a warm cache, 2 and 1 us from a clean")) << words;
  EXPECT_TRUE(words.ends_with("cold rows may not be cold")) << words;
}

TEST(MeasureRun, ProfilingSaysWhatBecameOfEachPoint) {
  const Variant nothing = variant("nothing", 2, [](auto, auto, auto) {}),
                broken = variant("broken", 3, [](auto, auto, auto) { throw DeviceError("an illegal access"); });
  Variant declining = variant("declining", 4);
  declining.declines = [](const Problem&, const Settings&) { return std::string("not on Sundays"); };
  RunFolder folder;
  Session s = session(folder, points_at(100, {&a, &nothing, &broken, &declining}), constant(1e-5));
  s.options.profile = true;
  folder.run(std::move(s));
  ASSERT_EQ(folder.notices.size(), 4u);
  for (std::string& text : folder.notices) text.erase(0, std::min(text.find(": "), text.size()));
  EXPECT_EQ(folder.notices[0], "");
  EXPECT_TRUE(folder.notices[1].starts_with(": wrong, ")) << folder.notices[1];
  EXPECT_EQ(folder.notices[2], ": failed, an illegal access");
  EXPECT_EQ(folder.notices[3], ": refused, declining: not on Sundays");
  EXPECT_TRUE(folder.rows.empty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(MeasureRun, ExperimentsThatRunAtOnceKeepEachOthersEntries) {
  const Folder folder;
  const auto path = folder.path() / "machine.json";
  write_whole_file(path.string() + ".new", "another program's draft");
  Results first(folder.path(), machine(), {.run_id = "1", .experiment = "first", .started_utc = "", .arguments = {}},
                false);
  Results second(folder.path(), machine(), {.run_id = "2", .experiment = "second", .started_utc = "", .arguments = {}},
                 false);
  first.entry()["ended_utc"] = "later";
  first.write_machine();
  const auto runs = nlohmann::json::parse(*content_of(path)).at("runs");
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.at(0).at("ended_utc"), "later");
  EXPECT_EQ(runs.at(1).at("run_id"), "2");
  EXPECT_EQ(*content_of(path.string() + ".new"), "another program's draft");
}

TEST(MeasureRun, AFolderThatCannotBeWrittenIsOneClearLine) {
  RunFolder folder;
  write_whole_file(folder.path() / "scripted", "a file where the folder should be");
  const std::string why = error_of([&] { folder.run({point(a, 100)}); });
  EXPECT_NE(why.find("cannot create the folder"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos);
}

TEST(MeasureRun, NamesOfMachinesAreFitForFolders) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia-h200");
  EXPECT_EQ(slug("  NVIDIA H100 80GB HBM3 (x)  "), "nvidia-h100-80gb-hbm3-x");
  const auto backend = open_cpu();
  const Machine m = describe_machine(*backend);
  EXPECT_TRUE(m.name.starts_with("cpu-")) << m.name;
  EXPECT_EQ(m.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << m.name;
  EXPECT_GT(m.cpu.cores, 0);
  struct WithCache final : scripted::Scarce {
    WithCache() : Scarce(1), with_cache(Scarce::info()) { with_cache.l2_bytes = 12345; }
    const DeviceInfo& info() const override { return with_cache; }
    DeviceInfo with_cache;
  };
  EXPECT_EQ(describe_machine(WithCache()).cpu.last_level_cache_bytes, 12345u) << "what cold calls write twice";
  EXPECT_FALSE(m.os.empty());
  GpuDescription h200;
  h200.memory_clock_hz = 3201e6;
  h200.memory_bus_bits = 6016;
  EXPECT_NEAR(h200.theoretical_peak_bytes_per_s(), 4.81e12, 0.01e12);
}

// ------------------------------------------------------------------------------------- devices that do not answer

TEST(MeasureRun, WhatIsForTheRecordAloneCostsNoRowWhereItFails) {
  /// The harness's own empty call throws `error` the first time, which is for machine.json.
  const auto failing_once = [](const auto& error) {
    Scripted script(nullptr);
    Clock& clock = script.clock();
    clock = Clock([error, &clock, failed = false](std::size_t id, std::size_t) mutable {
      if (id == floor_id && !std::exchange(failed, true)) throw error;
      EXPECT_GT(clock.forgotten, 0) << "a plan that is gone";
      return 1e-5;
    });
    return script;
  };
  RunFolder folder, lost, busy;
  Scripted script = failing_once(DeviceError("no floor"));
  script.device().probe = []() -> CacheProbe { throw DeviceError("no memory to flush by"); };
  folder.run({point(a, 100)}, std::move(script));
  EXPECT_EQ(folder.rows.at(0).status, Status::ok) << folder.rows[0].reason;
  EXPECT_EQ(folder.rows[0].n_samples, 48u);
  EXPECT_EQ(folder.notices,
            (std::vector<std::string>{
                "'timing/device' could not be measured and is left out of machine.json: no floor",
                "'cache_probe' could not be measured and is left out of machine.json: no memory to flush by"}));
  const auto run = folder.entry();
  EXPECT_FALSE(run.at("timing").contains("device"));
  EXPECT_EQ(run.at("timing").at("end_to_end").at("launch_floor_s"), 1e-5) << "another mode is none the worse for it";
  EXPECT_FALSE(run.contains("cache_probe"));
  EXPECT_TRUE(run.contains("rules") && run.contains("ended_utc"));

  // But a device that is lost there ends the run before the first row.
  Session s = session(lost, {point(a, 100)}, failing_once(DeviceError("an illegal access")));
  auto backend = std::make_unique<Scarce>(std::size_t{1} << 20);
  backend->lost = true;
  s.backend = std::move(backend);
  EXPECT_EQ(error_of([&] { lost.run(std::move(s)); }), "the device is lost");
  EXPECT_EQ(error_of([&] { busy.run({point(a, 100)}, failing_once(CallTimeout("no result within 60 s"))); }),
            "no result within 60 s");
  EXPECT_TRUE(lost.rows.empty() && lost.notices.empty() && busy.rows.empty() && busy.notices.empty());
}

TEST(MeasureRun, ADeviceThatNoLongerAnswersEndsTheRunBehindARow) {
  RunFolder folder;
  const std::vector<Point> points{point(a, 10), point(hangs, 20), point(a, 30)};
  const std::string why = error_of([&] { folder.run(points); });
  EXPECT_NE(why.find("hangs stopped the device (no result within 60 s)"), std::string::npos) << why;
  EXPECT_NE(why.find("--resume continues after it"), std::string::npos) << why;
  ASSERT_EQ(folder.stored().size(), 1u) << "nothing else of its batch, which was under way";
  EXPECT_EQ(folder.stored()[0].at("status"), "timeout");
  folder.resume(points);
  ASSERT_EQ(folder.stored().size(), 3u);
  EXPECT_EQ(folder.stored()[2].at("status"), "ok");
}

TEST(MeasureRun, ADeviceThatIsLostWhileMemoryIsWaitedForEndsTheRun) {
  for (const bool busy : {false, true}) {
    RunFolder folder;
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
    const std::string why = error_of([&] { folder.run(std::move(s)); });
    EXPECT_EQ(why.substr(0, 68), "a stopped the device (while the memory's probe ran, a harness call: ") << why;
    EXPECT_EQ(waits, 5);
    ASSERT_EQ(folder.rows.size(), 1u);
    EXPECT_EQ(folder.rows[0].status, Status::failed);
  }
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
  on_cpu(v) = [&last, made = on_cpu(v)](const Problem& p, const Settings& s, const DeviceInfo& d) {
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

TEST(MeasureRun, AProfiledCallThatNeverEndsFreesNothingAndEndsTheRun) {
  static int freed = 0;  // it outlives what is never freed
  static std::weak_ptr<int> workspace;
  int freed_before = -1, asked = 0;
  for (const int hanging : {1, 2}) {  // the call that loads the kernels, or the one in the range
    const Variant hangs_then = variant("hangs", 2, [&](auto in, auto n, auto out) {
      if (++asked == hanging) {
        freed_before = freed;
        throw CallTimeout("no result within 60 s");
      }
      *out = sum(in, n);
    });
    const Variant held = with_workspace(hangs_then, workspace);
    asked = 0;
    RunFolder folder;
    Session s = session(folder, {point(a, 10), point(held, 20), point(a, 30)}, constant(1e-5));
    s.options.profile = true;
    s.backend = std::make_unique<Counted>(freed);
    EXPECT_EQ(error_of([&] { folder.run(std::move(s)); }), "hangs stopped the device (no result within 60 s)");
    EXPECT_EQ(freed, freed_before) << hanging;
    EXPECT_FALSE(workspace.expired()) << hanging;
    EXPECT_EQ(folder.notices.size(), 2u) << "nothing is called behind it";
  }
}

}  // namespace
}  // namespace reductio
