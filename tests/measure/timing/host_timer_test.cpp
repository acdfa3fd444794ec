/// The CPU's timer. What is asserted holds on any machine, however slow or busy: an interval is no shorter than what is
/// known to lie in it, and no longer than what it lies in. How near it comes is a figure of `reductio selftest`.

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "measure/timing/cpu_flush.h"
#include "measure/timing/host_clock.h"
#include "measure/timing/instruments.h"

namespace reductio {
namespace {

constexpr double spin_s = 300e-6;

void spin(double seconds) {
  for (const double start = host_now(); host_now() - start < seconds;) {
  }
}

class MeasureHostTimer : public testing::Test {
 protected:
  /// A call that leaves the sum of its ten ones, and `enqueue`d does `more` first.
  std::unique_ptr<Plan> summing(std::function<void()> more = [] {}) {
    return plan_of({}, [=](void* in, void* out, Stream) {
      more();
      const auto* x = static_cast<const std::uint32_t*>(in);
      *static_cast<std::uint32_t*>(out) = std::accumulate(x, x + 10, 0u);
    });
  }
  Call call(Plan& plan) {
    return {.plan = &plan, .info = plan.info(), .in = in_.data(), .input_bytes = 40, .out = &out_, .result_bytes = 4,
            .result = &result_};
  }

  std::unique_ptr<Backend> backend_ = open_cpu();
  std::vector<std::uint32_t> in_ = std::vector<std::uint32_t>(10, 1);
  std::uint32_t out_ = 0, result_ = 0;
};

TEST_F(MeasureHostTimer, TheIntervalHoldsAllOfTheCallAndOfASpinAfterIt) {
  const Instruments instruments = make_instruments(*backend_);
  const auto own = summing([] { spin(spin_s); }),
             followed = instruments.harness_calls->followed_by_spin(summing(), spin_s);
  for (Plan* plan : {own.get(), followed.get()}) {
    std::vector<double> s;
    for (int i = 0; i < 21; ++i) {
      result_ = 0;
      const double before = host_now();
      const Sample sample = instruments.timer->sample(call(*plan), TimingMode::end_to_end, CacheState::warm);
      const double around = host_now() - before;
      EXPECT_EQ(result_, 10u);
      EXPECT_LE(*sample.seconds, sample.cost_s);
      EXPECT_LE(sample.cost_s, around);  // any machine: one lies in the other
      EXPECT_EQ(sample.timed_s, *sample.seconds);  // any machine: one interval
      s.push_back(*sample.seconds);
    }
    EXPECT_GE(*std::min_element(s.begin(), s.end()), spin_s);  // any machine: the call spins so long
  }
}

TEST_F(MeasureHostTimer, WhatPreparesACallLiesBeforeItsInterval) {
  std::vector<std::string> order;
  const Instruments instruments = make_host_instruments(*backend_, [&](CacheState cache) {
    order.emplace_back(name(cache));
    spin(spin_s);
  });
  std::vector<std::uint32_t> consumed(10, 7);
  const auto plan = summing([&] { order.emplace_back(consumed[0] == 1 ? "call" : "call before it was restored"); });
  for (const CacheState cache : {CacheState::cold_dirty, CacheState::cold_clean}) {
    order.clear();
    std::fill(consumed.begin(), consumed.end(), 7u);
    Call c = call(*plan);
    c.in = consumed.data();
    c.pristine = in_.data();
    const Sample sample = instruments.timer->sample(c, TimingMode::end_to_end, cache);
    EXPECT_EQ(order, (std::vector<std::string>{std::string(name(cache)), "call"}));
    EXPECT_EQ(result_, 10u);
    EXPECT_GE(sample.prepared_s, spin_s);  // any machine: the flush spins so long
    // None of it is in the interval.
    EXPECT_LE(sample.prepared_s + *sample.seconds, sample.cost_s * (1 + 1e-9));  // any machine: parts and their sum
  }
  // A warm sample follows a call of its own, and nothing is flushed.
  order.clear();
  instruments.timer->sample(call(*summing([&] { order.emplace_back("call"); })), TimingMode::end_to_end,
                            CacheState::warm);
  EXPECT_EQ(order, (std::vector<std::string>{"call", "call"}));
}

TEST_F(MeasureHostTimer, AnElementIsChangedForTheTimedCallAlone) {
  const Instruments instruments = make_host_instruments(*backend_, [](CacheState) {});
  std::vector<std::uint32_t> seen, consumed(10, 7);
  ChangedElement changed{.index = 4, .bytes = 4};
  changed.was[0] = std::byte{1};
  changed.is[0] = std::byte{91};
  for (const bool consumes : {false, true}) {
    const auto plan = plan_of({}, [&](void* in, void* out, Stream) {
      auto* const x = static_cast<std::uint32_t*>(in);
      seen.push_back(*static_cast<std::uint32_t*>(out) = std::accumulate(x, x + 10, 0u));
      if (consumes) std::fill_n(x, 10, 7u);
    });
    Call c = call(*plan);
    c.changed = &changed;
    if (consumes) {
      c.pristine = in_.data();
      c.in = consumed.data();
    }
    const auto expect_seen = [&](const std::vector<std::uint32_t>& sums) {
      EXPECT_EQ(seen, sums) << consumes;
      EXPECT_EQ(in_, std::vector<std::uint32_t>(10, 1)) << "it is put back";
      seen.clear();
    };
    instruments.timer->run(c);
    expect_seen({100});
    instruments.timer->sample(c, TimingMode::end_to_end, CacheState::cold_dirty);
    expect_seen({100});
    if (consumes) continue;
    instruments.timer->sample(c, TimingMode::end_to_end, CacheState::warm);
    expect_seen({10, 100});
    EXPECT_EQ(result_, 100u);
  }
}

TEST_F(MeasureHostTimer, AFlushWritesAndReadsTwiceTheCacheEachTime) {
  constexpr std::size_t cache = std::size_t{33} << 20, words = 2 * cache / sizeof(std::size_t);
  CpuFlush flush(cache);
  EXPECT_TRUE(flush.written().empty()) << "takes no memory before it is needed";
  for (std::size_t times = 1; times <= 3; ++times) {
    flush(times == 3 ? CacheState::cold_clean : CacheState::cold_dirty);
    ASSERT_EQ(flush.written().size(), words);
    EXPECT_EQ(std::count(flush.written().begin(), flush.written().end(), times), static_cast<std::ptrdiff_t>(words));
    EXPECT_EQ(flush.words_read(), times == 3 ? words : 0);
  }
  CpuFlush small(4096);  // a cache that nobody told the size of
  small(CacheState::cold_dirty);
  EXPECT_EQ(small.written().size_bytes(), std::size_t{64} << 20);
}

TEST_F(MeasureHostTimer, FlushesOfAllContextsAreOne) {
  const auto resident = [] {
    std::size_t all = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> all >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  };
  const auto plan = summing();
  std::vector<Instruments> contexts;
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 4; ++i) {
    contexts.push_back(make_instruments(*backend_));
    contexts.back().timer->sample(call(*plan), TimingMode::end_to_end, CacheState::cold_dirty);
    sizes.push_back(resident());
  }
  EXPECT_LT(sizes[3], sizes[0] + (std::size_t{64} << 20)) << "64 MB is the least that one flush takes";
}

TEST_F(MeasureHostTimer, TheHostsClockNeverStepsBackAndHasAResolution) {
  double last = host_now();
  for (int i = 0; i < 100000; ++i) {
    const double now = host_now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(host_clock_resolution_s(), 0);
  EXPECT_GT(make_instruments(*backend_).timer->resolution_s(TimingMode::end_to_end), 0);
}

}  // namespace
}  // namespace reductio
