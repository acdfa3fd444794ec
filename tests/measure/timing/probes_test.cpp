/// What is made of the readings of a GPU's clocks. The GPU itself is probed where there is one.

#include "measure/timing/probes.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace reductio {
namespace {

std::map<unsigned, double> of(const std::vector<Probe>& probes, const std::string& quantity) {
  std::map<unsigned, double> out;
  for (const Probe& p : probes)
    if (p.quantity == quantity) out[p.sm.value()] = p.value;
  return out;
}

TEST(MeasureProbes, OffsetsOfSmClocksAreAgainstTheLowestSmAtTheSameTime) {
  // SM 0 counts from 1000 on at time 0, SM 2 from 4000 and SM 5 from 0; all at 2 cycles a nanosecond. They are read at
  // 100, 140 and 90 ns, and not in the order of their numbers.
  const std::vector<SmClocks> readings = {{5, 180, 90, 20180, 10090}, {0, 1200, 100, 21200, 10100},
                                          {2, 4280, 140, 24280, 10140}};
  const auto probes = clock_probes(readings, 3);
  EXPECT_EQ(of(probes, "sm_clock_rate"), (std::map<unsigned, double>{{0, 2}, {2, 2}, {5, 2}}));
  EXPECT_EQ(of(probes, "sm_clock_offset"), (std::map<unsigned, double>{{0, 0}, {2, 3000}, {5, -1000}}));
  for (const Probe& p : probes) EXPECT_EQ(p.repeat, 3);
  EXPECT_TRUE(clock_probes({}, 0).empty());
}

TEST(MeasureProbes, OffsetsOfTheOneClockComeFromTheMiddleOfQuestionAndAnswer) {
  // SM 4 asks; of SM 1 ten answers, each 1000 ns after the question came back, and read 20 ns too late for the middle.
  const std::vector<Exchanges> exchanges = {{4, 0, 0, 0}, {1, 10, 400, 10000}, {7, 10, -200, 12000}};
  const auto probes = exchange_probes(exchanges, 0);
  EXPECT_EQ(of(probes, "globaltimer_offset"), (std::map<unsigned, double>{{1, 0}, {4, -20}, {7, -30}}));
  EXPECT_EQ(of(probes, "exchange_round_trip"), (std::map<unsigned, double>{{1, 1000}, {7, 1200}}));
}

TEST(MeasureProbes, AMessagesTimeIsThatOfARoundTrip) {
  const std::vector<Exchanges> exchanges = {{4, 0, 0, 0}, {1, 10, 0, 5000}, {7, 10, 0, 6000}};
  EXPECT_EQ(of(message_probes(exchanges, 2), "message_round_trip"), (std::map<unsigned, double>{{1, 500}, {7, 600}}));
}

TEST(MeasureProbes, RecordsOfTheWholeGpuNameNoSm) {
  const std::vector<Probe> probes = {{"sm_clock_offset", 7, 2, -1.5, "cycles"},
                                     {"load_latency_l2", {}, 0, 270.25, "ns"}};
  EXPECT_EQ(probes_csv(probes),
            "quantity,sm,repeat,value,unit\nsm_clock_offset,7,2,-1.5,cycles\nload_latency_l2,,0,270.25,ns\n");
}

TEST(MeasureProbes, OnAGpuEverySmAndEveryMemoryIsProbed) {
  std::unique_ptr<Backend> gpu;
  try {
    gpu = open_backend(DeviceKind::cuda);
  } catch (const NoGpu& e) {
    GTEST_SKIP() << e.what();
  }
  const auto probes = probe_gpu(*gpu);
  const auto sms = static_cast<std::size_t>(gpu->info().sm_count);
  for (const char* quantity : {"sm_clock_rate", "sm_clock_offset", "globaltimer_offset"})
    EXPECT_EQ(of(probes, quantity).size(), sms) << quantity;
  EXPECT_EQ(of(probes, "message_round_trip").size(), sms - 1) << "the asking SM has none";
  std::map<std::string, double> cycles;  // each of the last repeat
  for (const Probe& p : probes)
    if (p.unit == "cycles" && !p.sm) cycles[p.quantity] = p.value;
  // any machine: a memory farther away takes more cycles, by factors
  EXPECT_LT(cycles.at("load_latency_l1"), cycles.at("load_latency_l2"));
  EXPECT_LT(cycles.at("load_latency_l2"), cycles.at("load_latency_memory"));  // any machine: likewise
  EXPECT_GT(cycles.at("atomic_latency_l2"), cycles.at("load_latency_l2") / 2);  // any machine: it goes there and back
}

}  // namespace
}  // namespace reductio
