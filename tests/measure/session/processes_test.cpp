// Contexts that are processes, on the CPU: a variant that ends its own costs its own rows and no others.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "measure/session/bench.h"
#include "tests/measure/session/run_folder.h"

namespace reductio::scripted {
namespace {

/// Rules under which a run takes a second.
SamplingRules few() {
  SamplingRules rules;
  rules.contexts = rules.min_samples = rules.max_samples = 3;
  return rules;
}

/// A session whose contexts are processes that open the CPU with this script; `script` is copied into each.
Session apart(const Folder& folder, std::vector<Point> points, std::function<Scripted()> script) {
  Session s = session(folder, std::move(points), {}, few());
  s.backend.reset();
  s.instruments = distant_instruments(DeviceKind::cpu, true, {});
  s.instruments.open = [script = std::move(script)](Instruments& instruments) {
    instruments = script();
    return open_cpu().release();
  };
  return s;
}
Session apart(const Folder& folder, std::vector<Point> points, double seconds = 1e-5) {
  return apart(folder, std::move(points), [=] { return constant(seconds); });
}

/// What processes count together.
std::atomic<int>* shared_count() {
  void* const page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (page) std::atomic<int>(0);
}

/// A right sum, whose call of this number, and each after it, goes wrong.
Variant from_call(int first, std::string name, std::function<void()> wrong) {
  return variant(std::move(name), 7, [=, calls = shared_count()](auto in, auto n, auto out) {
    if (++*calls >= first) wrong();
    *out = sum(in, n);
  });
}

void segfault() {
  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer or the simulated device has a handler, which a raised one outlives
  std::raise(SIGSEGV);
}

TEST(MeasureProcesses, GiveTheRowsThatOneProcessGives) {
  RunFolder here, apart_from_it;
  const std::vector<Point> points = many_points();
  Session s = session(here, points, constant(1e-5), few());
  here.run(std::move(s));
  const RunReport report = apart_from_it.run(apart(apart_from_it, points));
  EXPECT_EQ(report.count(Status::ok), points.size());
  ASSERT_EQ(here.rows.size(), apart_from_it.rows.size());
  for (std::size_t i = 0; i < here.rows.size(); ++i) {
    Row row = apart_from_it.rows[i];
    row.run_id = here.rows[i].run_id;
    row.timestamp_utc = here.rows[i].timestamp_utc;
    row.timer_resolution_s = here.rows[i].timer_resolution_s;  // the script's, which is not asked here
    row.time_ci_low_s = here.rows[i].time_ci_low_s;
    row.time_ci_high_s = here.rows[i].time_ci_high_s;
    EXPECT_EQ(row.fields(), here.rows[i].fields());
  }
  const auto orders = [](const RunFolder& folder) {
    std::vector<std::string> out;
    for (const RawSample& sample : folder.raw_samples())
      out.push_back(row_key(sample.point) + std::to_string(sample.round));
    return out;
  };
  EXPECT_EQ(orders(here), orders(apart_from_it)) << "one order seed, one order";
}

TEST(MeasureProcesses, EachContextHasOneOfItsOwnAndThisOneCallsNothing) {
  RunFolder folder;
  std::atomic<int>& opened = *shared_count();
  std::atomic<int>& called_here = *shared_count();
  const Variant v = variant("v", 1, [&, here = getpid()](auto in, auto n, auto out) {
    called_here += getpid() == here;
    *out = sum(in, n);
  });
  folder.run(apart(folder, {point(v, 100), point(v, 200)}, [&] {
    ++opened;
    return constant(1e-5);
  }));
  EXPECT_EQ(opened, 1 + 1 + 3) << "for machine.json, for pilots, and for each context";
  EXPECT_EQ(called_here, 0);
}

TEST(MeasureProcesses, AVariantThatEndsItsOwnCostsItsOwnRows) {
  const struct {
    const char* how;
    std::function<void()> wrong;
    const char* reason;
  } cases[] = {{"a signal", segfault, "its process was ended by SIGSEGV (Segmentation fault)"},
               {"exit(3)", [] { _exit(3); }, "its process was ended by exit(3)"},
               {"exit(0)", [] { _exit(0); }, "its process was ended by exit(0)"},
               {"abort", [] { std::abort(); }, "its process was ended by SIGABRT (Aborted)"}};
  for (const auto& [how, wrong, reason] : cases)
    for (const int first : {1, 4}) {  // in a pilot, and in a context
      RunFolder folder;
      const Variant bad = from_call(first, "bad", wrong);
      const RunReport report = folder.run(
          apart(folder, {point(a, 100), point(bad, 100), point(b, 100), point(a, 200), point(b, 200)}));
      EXPECT_EQ(report.count(Status::ok), 4u) << how << " from call " << first;
      EXPECT_EQ(report.count(Status::failed), 1u);
      const Row row = by_variant(folder.rows).at("bad");
      EXPECT_EQ(row.reason, reason);
      EXPECT_FALSE(row.time_median_s);
      for (const Row& other : folder.rows)
        EXPECT_EQ(other.n_samples, other.status == Status::ok ? 3u : 0u) << other.point.variant;
      EXPECT_EQ(folder.stored().size(), 5u);
    }
}

TEST(MeasureProcesses, APlugInThatEndsItBetweenCallsCostsNoKernelOfTheProgram) {
  RunFolder folder;
  Variant closes = from_call(1, "closes", [] { close_range(3, ~0u, 0); });  // the pipe, too
  closes.plugin = "./closes.so";
  folder.run(apart(folder, {point(a, 100), point(closes, 100), point(b, 100), point(a, 200)}));
  const auto rows = by_variant(folder.rows);
  EXPECT_EQ(rows.at("closes").status, Status::failed);
  EXPECT_EQ(rows.at("closes").reason, "while none of its own calls was under way, its process was ended by exit(1)");
  EXPECT_EQ(std::count_if(folder.rows.begin(), folder.rows.end(), [](auto& r) { return r.status == Status::ok; }), 3);
}

TEST(MeasureProcesses, OneThatCrashesWhereItIsPreparedOrFreedIsNamedLikewise) {
  RunFolder folder;
  const Variant prepared = planned(variant("prepared", 1), segfault);
  Variant freed = variant("freed", 2);
  on_cpu(freed) = [made = on_cpu(freed)](const Problem& p, const Settings& s, const DeviceInfo& d) {
    struct Crashes {
      ~Crashes() { segfault(); }
    };
    const std::shared_ptr<Plan> plan = made(p, s, d);
    return plan_of(plan->info(), [plan, crash = std::make_shared<Crashes>()](void* in, void* out, Stream stream) {
      plan->enqueue(in, out, stream);
    });
  };
  folder.run(apart(folder, {point(a, 100), point(prepared, 100), point(freed, 100)}));
  const auto rows = by_variant(folder.rows);
  EXPECT_EQ(rows.at("a").status, Status::ok);
  for (const char* name : {"prepared", "freed"}) {
    EXPECT_EQ(rows.at(name).status, Status::failed);
    EXPECT_EQ(rows.at(name).reason, "its process was ended by SIGSEGV (Segmentation fault)");
  }
}

TEST(MeasureProcesses, ACallThatNeverEndsIsKilledWithItsProcess) {
  RunFolder folder;
  const Variant endless = from_call(4, "endless", [] {
    for (;;) pause();
  });
  Session s = apart(folder, {point(a, 100), point(endless, 100), point(b, 100), point(a, 200)});
  s.patience_s = 0.5;
  folder.run(std::move(s));
  const auto rows = by_variant(folder.rows);
  EXPECT_EQ(rows.at("endless").status, Status::timeout);
  EXPECT_EQ(rows.at("endless").reason, "it did not end within 0.5 s, and its process was killed");
  EXPECT_EQ(std::count_if(folder.rows.begin(), folder.rows.end(), [](auto& r) { return r.status == Status::ok; }), 3);
}

TEST(MeasureProcesses, AnErrorThatStaysCostsItsOwnRowsAndSoDoesTheTimersPatience) {
  RunFolder folder;
  const Variant late = from_call(4, "late", [] { throw CallTimeout("no result within 60 s"); });
  std::atomic<int>& broken = *shared_count();
  const Variant breaks = from_call(4, "breaks", [&] {
    broken = getpid();
    throw DeviceError("an illegal access");
  });
  Session s = apart(folder, {point(a, 100), point(late, 100), point(breaks, 100), point(b, 100), point(a, 200)});
  s.instruments.open = [&broken](Instruments& instruments) {
    struct Sticky final : Scarce {
      explicit Sticky(std::atomic<int>& b) : Scarce(std::size_t{1} << 30), broken_in(b) {}
      void synchronize(Stream stream) override {
        if (broken_in == getpid()) throw DeviceError("an illegal access");
        Scarce::synchronize(stream);
      }
      std::atomic<int>& broken_in;
    };
    instruments = constant(1e-5);
    return new Sticky(broken);
  };
  const RunReport report = folder.run(std::move(s));
  const auto rows = by_variant(folder.rows);
  EXPECT_EQ(rows.at("late").status, Status::timeout);
  EXPECT_EQ(rows.at("late").reason, "no result within 60 s");
  EXPECT_EQ(rows.at("breaks").status, Status::failed);
  EXPECT_EQ(rows.at("breaks").reason, "an illegal access");
  EXPECT_EQ(report.count(Status::ok), 3u);
}

TEST(MeasureProcesses, ADeviceThatCannotBeOpenedAgainEndsTheRun) {
  RunFolder folder;
  std::atomic<int>& opened = *shared_count();
  const auto script = [&] {
    if (++opened > 3) throw DeviceError("it fell off the bus");
    return constant(1e-5);
  };
  const std::string why = error_of([&] { folder.run(apart(folder, {point(a, 100)}, script)); });
  EXPECT_NE(why.find("the device no longer answers (it fell off the bus)"), std::string::npos) << why;
  EXPECT_TRUE(folder.rows.empty());
  opened = -100;
  EXPECT_EQ(folder.resume(apart(folder, {point(a, 100)}, script)).count(Status::ok), 1u);
}

TEST(MeasureProcesses, AnInterruptEndsThemAtOnce) {
  RunFolder folder;
  const Variant interrupts = from_call(4, "interrupts", [parent = getpid()] {
    kill(parent, SIGINT);  // seconds are left, which it would wait for
    kill(parent, SIGTERM);
    for (;;) pause();
  });
  const RunReport report = folder.run(apart(folder, {point(a, 100), point(interrupts, 100)}));
  EXPECT_TRUE(report.interrupted);
  EXPECT_TRUE(folder.rows.empty());
  EXPECT_EQ(folder.resume(apart(folder, {point(a, 100), point(b, 100)})).count(Status::ok), 2u);
}

TEST(MeasureProcesses, WhatTheyCountIsAddedUp) {
  RunFolder folder;
  const RunReport report = folder.run(apart(folder, {point(a, 100)}, [] {
    Scripted script = constant(1e-5);
    script.device().host_cpu = HostCpuCounts{.samples = 10, .moved = 3, .on_busy_cpu = 1, .chain_s = 1e-5};
    script.device().memory_idle = [] { return false; };
    return script;
  }));
  ASSERT_TRUE(report.host_cpu);
  EXPECT_EQ(report.host_cpu->samples, 10u * (1 + 3));
  EXPECT_EQ(report.host_cpu->moved, 3u * (1 + 3));
  EXPECT_EQ(report.times_memory_stayed_busy, 3);
  EXPECT_GT(report.spent.timed_s, 0);
}

TEST(MeasureProcesses, InputsAndPlacesDifferFromContextToContext) {
  RunFolder folder;
  auto* const places = static_cast<std::atomic<std::size_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::atomic<int>& calls = *shared_count();
  const Variant v = variant("v", 1, [&](auto in, auto n, auto out) {
    places[calls++ % 500] = reinterpret_cast<std::size_t>(in);
    *out = sum(in, n);
  });
  // Of 32 KiB, since a small block may be one that the heap had free.
  Session s = apart(folder, {point(v, 8192)});
  s.rules.contexts = s.rules.min_samples = s.rules.max_samples = 12;
  folder.run(std::move(s));
  std::set<std::size_t> distinct;
  for (int i = 0; i < calls; ++i) distinct.insert(places[i]);
  EXPECT_GT(distinct.size(), 1u);
}

TEST(MeasureProcesses, NvmlAnswersAtTheStartAndTheEndOfEachRun) {
  if (dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD)) GTEST_SKIP() << "this process has loaded another";
  const auto folder_of_tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  void* const nvml = dlopen((folder_of_tests / "libreductio_fake_nvml.so").c_str(), RTLD_NOW);
  ASSERT_TRUE(nvml) << dlerror();
  for (int run = 0; run < 2; ++run) {
    RunFolder folder;
    Session s = apart(folder, {point(a, 100)});
    s.machine.gpu.emplace();
    folder.run(std::move(s));
    for (const char* when : {"gpu_state_at_start", "gpu_state_at_end"}) {
      const auto state = folder.entry().at(when);
      ASSERT_TRUE(state.is_object()) << when << " of run " << run;
      EXPECT_EQ(state.at("temperature_c"), 40);
    }
  }
  dlclose(nvml);
}

// A real device, as a run opens it.
TEST(MeasureProcesses, ADeviceIsDescribedByAProcessOfItsOwn) {
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::sim}) {
    const Bench here = open_bench(device, "", true), apart_from_it = open_bench(device, "");
    EXPECT_TRUE(here.backend && !here.instruments.open);
    EXPECT_TRUE(!apart_from_it.backend && apart_from_it.instruments.open);
    EXPECT_EQ(apart_from_it.machine.id(), here.machine.id());
    EXPECT_EQ(apart_from_it.machine.name, here.machine.name);
    EXPECT_EQ(apart_from_it.info.name, here.info.name);
    EXPECT_EQ(apart_from_it.info.l2_bytes, here.info.l2_bytes);
    EXPECT_EQ(apart_from_it.instruments.timer->keeps_time(), here.instruments.timer->keeps_time());
    for (const TimingMode mode : all_timing_modes)
      for (const CacheState cache : all_cache_states)
        EXPECT_EQ(apart_from_it.instruments.timer->refusal(mode, cache), here.instruments.timer->refusal(mode, cache));
  }
}

}  // namespace
}  // namespace reductio::scripted
