/// The figures that selftest reports, of clocks and caches that do what a test says.

#include "measure/analysis/timer_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/measure/scripted_timer.h"

namespace reductio {
namespace {

using namespace scripted;

constexpr double peak = 1e9;  // bytes a second; 4 MiB of the backend's 16 are read in 4.2 ms

/// A clock of which nothing is to be said.
Scripted good() {
  Scripted script([](std::size_t id, std::size_t bytes) {
    return id == reader_id ? 1.1 * static_cast<double>(bytes) / peak : 2e-6;
  });
  script.calls().kernels_that_read = 1;
  script.device().hz = [] { return 1.5e9; };
  script.device().probe = [] {
    return CacheProbe{.bytes = 4096, .warm_s = 1e-6, .cold_clean_s = 2e-6, .cold_dirty_s = 3e-6};
  };
  return script;
}

struct Seen {
  std::map<std::string, Figure> figures;
  std::vector<std::string> notices;
  std::vector<std::string> warned() const {
    std::vector<std::string> names;
    for (const auto& [name, f] : figures)
      if (!f.warning.empty()) names.push_back(name);
    return names;
  }
};

Seen seen(const Scripted& script) {
  Scarce backend(std::size_t{1} << 24);
  Seen out;
  for (Figure& f :
       timer_figures(backend, script, peak, [&](const std::string& text) { out.notices.push_back(text); })) {
    EXPECT_FALSE(f.what.empty()) << f.name;
    EXPECT_TRUE(out.figures.emplace(f.name, f).second) << f.name << " twice";
  }
  EXPECT_EQ(backend.memory_free(), std::size_t{1} << 24);
  return out;
}

TEST(MeasureFigures, SayWhatTheClockAndTheCacheDo) {
  const Scripted script = good();
  script.clock().resolution = 32e-9;
  const Seen s = seen(script);
  EXPECT_TRUE(s.notices.empty()) << s.notices[0];
  EXPECT_EQ(s.warned(), std::vector<std::string>{});
  const auto value = [&](const std::string& name) { return s.figures.at(name).value; };
  EXPECT_EQ(value("device_resolution_s"), 32e-9);
  EXPECT_EQ(value("end_to_end_launch_floor_s"), 2e-6);
  EXPECT_EQ(value("clock_hz"), 1.5e9);
  EXPECT_NEAR(value("spin_200us_s"), 200e-6, 1e-9);
  EXPECT_EQ(value("cold_clean_to_warm"), 2);
  EXPECT_EQ(value("cold_dirty_to_warm"), 3);
  EXPECT_NEAR(value("read_ceiling_to_theoretical_peak"), 1 / 1.1, 1e-9);
  EXPECT_EQ(value("after_freeing_and_waiting"), 1);
}

TEST(MeasureFigures, WarnWhereAMeasurementCannotBeTrusted) {
  using Change = std::function<void(const Scripted&)>;
  const auto warned = [](const Change& change) {
    const Scripted script = good();
    change(script);
    return seen(script).warned();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(warned([](auto& c) { c.clock().resolution = 1e-5; }),
            (Names{"device_resolution_s", "end_to_end_resolution_s"}));
  EXPECT_EQ(warned([](auto& c) { c.clock().deaf = true; }), Names{"spin_200us_s"});
  EXPECT_EQ(warned([](auto& c) {
              c.device().probe = [] {
                return CacheProbe{.bytes = 1, .warm_s = 1e-6, .cold_clean_s = 1e-6, .cold_dirty_s = 2e-6};
              };
            }),
            Names{"cold_clean_to_warm"});
  for (const double rate : {0.4, 1.01}) {
    const Scripted fast([&](std::size_t id, std::size_t bytes) {
      return id == reader_id ? static_cast<double>(bytes) / (rate * peak) : 2e-6;
    });
    fast.calls().kernels_that_read = 1;
    EXPECT_EQ(seen(fast).warned(), Names{"read_ceiling_to_theoretical_peak"}) << rate;
  }
  // Everything is slow but for the first, undisturbed copies: waiting did not help.
  int waits = 0;
  const Scripted disturbed([&](std::size_t, std::size_t) { return waits > 1 ? 3e-6 : 2e-6; });
  disturbed.device().memory_idle = [&] { return ++waits > 0; };
  EXPECT_EQ(seen(disturbed).warned(), Names{"after_freeing_and_waiting"});
  const Scripted slow([](std::size_t, std::size_t) { return 1e-3; });
  EXPECT_EQ(seen(slow).warned(), (Names{"device_launch_floor_s", "end_to_end_launch_floor_s"}));
}

TEST(MeasureFigures, OneThatFailsIsLeftOutAndToldAndADeviceThatHangsEndsThem) {
  const Scripted script = good();
  script.device().probe = []() -> CacheProbe { throw DeviceError("planted"); };
  const Seen s = seen(script);
  EXPECT_EQ(s.notices, std::vector<std::string>{"the figures of the cache are left out: planted"});
  EXPECT_FALSE(s.figures.contains("cold_clean_to_warm"));
  EXPECT_TRUE(s.figures.contains("after_freeing"));
  script.device().probe = []() -> CacheProbe { throw CallTimeout("no result within 60 s"); };
  EXPECT_THROW(seen(script), CallTimeout);
}

TEST(MeasureFigures, OfARealCpuAreThere) {
  const auto backend = open_cpu();
  const Instruments instruments =
      make_host_instruments(*backend, [](CacheState) {});  // which figures, not what they are
  std::vector<std::string> names, notices;
  for (const Figure& f : timer_figures(*backend, instruments, 0, [&](const std::string& t) { notices.push_back(t); })) {
    EXPECT_TRUE(std::isfinite(f.value)) << f.name;
    names.push_back(f.name);
  }
  // any machine: their names
  EXPECT_EQ(names, (std::vector<std::string>{"end_to_end_resolution_s", "end_to_end_launch_floor_s", "spin_200us_s",
                                             "cold_clean_to_warm", "cold_dirty_to_warm"}));
  EXPECT_TRUE(notices.empty()) << notices[0];
  const auto sim = open_sim();
  EXPECT_TRUE(timer_figures(*sim, make_instruments(*sim), 0, [](auto&) {}).empty()) << "measures no time";
}

}  // namespace
}  // namespace reductio
