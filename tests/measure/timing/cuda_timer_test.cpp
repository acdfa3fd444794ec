/// The GPU's timer on a GPU; skipped where there is none. Calls here are made of the backend's own copies, so that this
/// is a test of the timer and of no kernel. What is asserted holds on any GPU, however slow or busy; how well flushing,
/// waiting and spinning work on this one are figures of `reductio selftest`.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/threads.h"
#include "measure/results/machine.h"
#include "measure/stats/statistics.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/host_clock.h"
#include "measure/timing/instruments.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"
#include "tuned/launch_table.h"

namespace reductio {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

class MeasureCuda : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = open_backend(DeviceKind::cuda);
    } catch (const NoGpu& e) {
      GTEST_SKIP() << e.what();
    }
    instruments_ = make_cuda_instruments(*backend_);
    stream_ = backend_->create_stream();
    input_ = std::make_unique<DeviceMemory>(*backend_, 256 * MiB);
    out_ = std::make_unique<DeviceMemory>(*backend_, 16);
    backend_->fill(input_->get(), 0x11, input_->size(), stream_);
    backend_->synchronize(stream_);
  }
  void TearDown() override {
    input_.reset();
    out_.reset();
    instruments_ = {};
    if (backend_) backend_->destroy_stream(stream_);
  }

  Timer& timer() const { return *instruments_.timer; }
  HarnessCalls& calls() const { return *instruments_.harness_calls; }
  DeviceMonitor& monitor() const { return *instruments_.monitor; }

  using Enqueue = std::function<void(void* in, void* out, Stream)>;
  Call call(Plan& plan, std::size_t bytes) {
    return {.plan = &plan, .info = plan.info(), .in = input_->get(), .input_bytes = bytes, .out = out_->get(),
            .result_bytes = 4, .result = value_.data()};
  }
  /// Leaves the input's first four bytes as the result.
  std::unique_ptr<Plan> copying() {
    return plan_of({}, [this](void* in, void* out, Stream s) { backend_->copy_within(out, in, 4, s); });
  }
  bool arrived() const {
    return value_ == std::array<std::byte, 4>{std::byte{0x11}, std::byte{0x11}, std::byte{0x11}, std::byte{0x11}};
  }
  double median_of(const Call& c, TimingMode mode, CacheState cache, int samples = 15) {
    std::vector<double> s;
    for (int i = 0; i < samples; ++i) s.push_back(timer().sample(c, mode, cache).seconds.value());
    return median(s);
  }

  std::unique_ptr<Backend> backend_;
  Instruments instruments_;
  Stream stream_;
  std::unique_ptr<DeviceMemory> input_, out_;
  alignas(16) std::array<std::byte, 4> value_{};
};

TEST_F(MeasureCuda, EveryModeBringsTheResultOfItsOwnCall) {
  const auto plan = copying();
  const Call c = call(*plan, MiB);
  for (const TimingMode mode :
       {TimingMode::device, TimingMode::launch_to_idle, TimingMode::end_to_end, TimingMode::graph, TimingMode::replay})
    for (const CacheState cache : {CacheState::cold_dirty, CacheState::cold_clean, CacheState::warm}) {
      if (!timer().refusal(mode, cache).empty()) continue;
      value_ = {};
      const Sample s = timer().sample(c, mode, cache);
      EXPECT_TRUE(arrived()) << name(mode) << " " << name(cache);
      EXPECT_GT(*s.seconds, 0) << name(mode);
    }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, AnElementIsChangedForTheTimedCallAlone) {
  const auto plan = copying();
  for (const std::size_t bytes : {1u, 2u, 4u, 8u}) {
    ChangedElement changed{.index = 0, .bytes = bytes};
    changed.was.fill(std::byte{0x11});
    changed.is.fill(std::byte{0x33});
    std::array<std::byte, 4> want{std::byte{0x11}, std::byte{0x11}, std::byte{0x11}, std::byte{0x11}};
    std::fill_n(want.begin(), std::min<std::size_t>(bytes, 4), std::byte{0x33});
    for (const TimingMode mode :
         {TimingMode::device, TimingMode::launch_to_idle, TimingMode::end_to_end, TimingMode::graph,
          TimingMode::replay})
      for (const CacheState cache : {CacheState::cold_dirty, CacheState::cold_clean, CacheState::warm}) {
        if (!timer().refusal(mode, cache).empty()) continue;
        Call c = call(*plan, MiB);
        for (int i = 0; i < 2; ++i) {
          c.changed = &changed;
          timer().sample(c, mode, cache);
          EXPECT_EQ(value_, want) << name(mode) << " " << name(cache) << " " << bytes;
          c.changed = nullptr;
          timer().sample(c, mode, cache);
          EXPECT_TRUE(arrived()) << "it is put back: " << name(mode) << " " << name(cache) << " " << bytes;
        }
      }
    Call c = call(*plan, MiB);
    c.changed = &changed;
    timer().run(c);
    EXPECT_EQ(value_, want);
    std::vector<unsigned char> now(MiB);
    backend_->copy_out(now.data(), input_->get(), MiB, backend_->stream());
    EXPECT_EQ(std::count(now.begin(), now.end(), 0x11), std::ssize(now));
  }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, AnEmptyCallIsAwaitedByPolling) {
  const auto plan = calls().polled_empty();
  Call c = call(*plan, MiB);
  for (const CacheState cache : {CacheState::cold_dirty, CacheState::warm}) {
    value_.fill(std::byte{0x77});
    const Sample s = timer().sample(c, TimingMode::end_to_end, cache);
    EXPECT_GT(*s.seconds, 0);
    EXPECT_EQ(value_, (std::array<std::byte, 4>{})) << "the word that arrived";
  }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, AGraphReadsTheInputOfTheCallAndNotTheOneItWasFirstCapturedWith) {
  const auto plan = copying();
  const DeviceMemory other(*backend_, MiB);
  backend_->fill(other.get(), 0x22, other.size(), stream_);
  backend_->synchronize(stream_);
  for (const CacheState cache : {CacheState::warm, CacheState::cold_clean}) {
    Call c = call(*plan, MiB);
    timer().sample(c, TimingMode::graph, cache);
    EXPECT_TRUE(arrived()) << name(cache);
    c.in = other.get();
    timer().sample(c, TimingMode::graph, cache);
    EXPECT_EQ(value_[0], std::byte{0x22}) << name(cache);
  }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, EachCallOfAGraphIsCheckedOnInputsThatDiffer) {
  // The second leaves out all calls of a graph but the first, whose result stands to the end.
  for (const bool cheats : {false, true}) {
    int calls = 0;
    const auto plan = plan_of({}, [&](void* in, void* out, Stream s) {
      if (!cheats || calls++ % 10 == 0) backend_->copy_within(out, in, 4, s);
    });
    for (const CacheState cache : {CacheState::warm, CacheState::cold_clean}) {
      ChangedElement changed{.index = 0, .bytes = 1};
      changed.was.fill(std::byte{0x11});
      changed.is.fill(std::byte{0x33});
      Call c = call(*plan, MiB);
      c.changed = &changed;
      const auto results = timer().graph_results(c, cache);
      EXPECT_GE(results.size(), 10u);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < results.size(); ++i)
        wrong += results[i][0] != (i % 2 ? std::byte{0x33} : std::byte{0x11}) || results[i][1] != std::byte{0x11};
      EXPECT_EQ(wrong > 0, cheats) << name(cache) << ", " << wrong << " of " << results.size();
      EXPECT_TRUE(timer().graph_results(c, cache).empty()) << "once for each graph";
      c.changed = nullptr;
      timer().sample(c, TimingMode::graph, cache);
      EXPECT_TRUE(cheats || arrived()) << "the input is as it was: " << name(cache);
    }
    timer().forget(plan.get());
  }
}

TEST_F(MeasureCuda, ACallInALoopComesAfterAnUntimedOneAndTheFirstInAWhileDoesNot) {
  int calls = 0;
  const auto plan = plan_of({}, [&](void* in, void* out, Stream s) {
    ++calls;
    backend_->copy_within(out, in, 4, s);
  });
  Call c = call(*plan, MiB);
  timer().sample(c, TimingMode::device,
                 CacheState::cold_dirty);  // the first finds out, too, how many kernels it launches
  for (const TimingMode mode : {TimingMode::device, TimingMode::launch_to_idle, TimingMode::end_to_end})
    for (const bool in_loop : {true, false}) {
      calls = 0;
      c.in_loop = in_loop;
      monitor().take_host_cpu_counts();
      timer().sample(c, mode, CacheState::cold_dirty);
      const auto cpu = monitor().take_host_cpu_counts();
      const int on_another_cpu = cpu && cpu->moved;
      EXPECT_EQ(calls, in_loop ? 2 + on_another_cpu : 1) << name(mode);
    }
}

TEST_F(MeasureCuda, InstrumentsThatAreToldWhatOthersSawDoNotMeasureItAgain) {
  const auto seen = instruments_.seen;
  EXPECT_GT(seen.least_memory_s, 0);
  instruments_ = {};
  instruments_ = make_cuda_instruments(*backend_, seen);
  EXPECT_EQ(timer().resolution_s(TimingMode::device), seen.event_resolution_s);
  EXPECT_EQ(timer().resolution_s(TimingMode::globaltimer), seen.globaltimer_resolution_s);
  EXPECT_LE(instruments_.seen.least_memory_s, seen.least_memory_s);
  EXPECT_GT(monitor().clock_hz().value(), 0);
}

TEST_F(MeasureCuda, ACallThatWritesNothingLeavesThePoison) {
  const auto plan = plan_of({}, [](void*, void*, Stream) {});
  timer().sample(call(*plan, 4), TimingMode::device, CacheState::cold_dirty);
  EXPECT_EQ(value_[0], std::byte{0xFF});
}

TEST_F(MeasureCuda, NoHostLatencyLiesInTheDeviceInterval) {
  const auto plan = plan_of({}, [this](void* in, void* out, Stream s) {
    for (int i = 0; i < 20; ++i) {
      backend_->copy_within(out, in, 4, s);
      const double until = host_now() + 2e-3;  // a host that is slow to launch
      while (host_now() < until) {
      }
    }
  });
  const double start = host_now();
  const double interval_s = *timer().sample(call(*plan, 4), TimingMode::device, CacheState::warm).seconds;
  const double host_s = host_now() - start;
  EXPECT_GE(host_s, 40e-3);         // any machine: the host spins so long
  EXPECT_LT(interval_s, host_s / 2);  // any machine: twenty copies of four bytes are a thousandth of that
}

TEST_F(MeasureCuda, WaitingUntilMemoryThatWasFreedIsIdleEndsAndLeavesTheTimerUsable) {
  const auto plan = copying();
  for (int i = 0; i < 3; ++i) {
    { const DeviceMemory freed(*backend_, backend_->memory_free() / 4); }
    RecordProperty("idle_" + std::to_string(i), monitor().wait_until_memory_idle());
    value_ = {};
    timer().sample(call(*plan, MiB), TimingMode::device, CacheState::cold_dirty);
    EXPECT_TRUE(arrived());
  }
}

TEST_F(MeasureCuda, ASpinAfterACallIsInItsTime) {
  const auto spinning = [&](double seconds) {
    const auto plan = calls().followed_by_spin(copying(), seconds);
    const Call c = call(*plan, 4);
    timer().run(c);
    const double median_s = median_of(c, TimingMode::device, CacheState::cold_dirty, 31);
    EXPECT_TRUE(arrived());
    return median_s;
  };
  EXPECT_GT(spinning(210e-6), 200e-6);  // any machine: the GPU spins so long
}

TEST_F(MeasureCuda, AnEnqueueThatWaitsIsAnErrorAndNoDeadlock) {
  const auto plan = plan_of({}, [this](void* in, void* out, Stream s) {
    backend_->copy_within(out, in, 4, s);
    backend_->synchronize(s);
  });
  const double start = host_now();
  EXPECT_THROW(timer().sample(call(*plan, 4), TimingMode::device, CacheState::cold_dirty), DeviceError);
  EXPECT_LT(host_now() - start, 300);  // any machine: longer is a hang
  const auto good = copying();
  value_ = {};
  timer().sample(call(*good, 4), TimingMode::device, CacheState::cold_dirty);
  EXPECT_TRUE(arrived());
}

TEST_F(MeasureCuda, AnEnqueueThatThrowsLeavesTheTimerUsable) {
  const auto bad = plan_of({}, [](void*, void*, Stream) { throw std::runtime_error("planted"); });
  for (const TimingMode mode :
       {TimingMode::device, TimingMode::graph, TimingMode::launch_to_idle, TimingMode::end_to_end})
    EXPECT_THROW(timer().sample(call(*bad, 4), mode, CacheState::warm), std::runtime_error) << name(mode);
  int calls = 0;
  const auto only_captured = plan_of({}, [&](void* in, void* out, Stream s) {
    if (++calls > 2) throw std::runtime_error("planted");  // in the middle of a capture
    backend_->copy_within(out, in, 4, s);
  });
  EXPECT_THROW(timer().sample(call(*only_captured, 4), TimingMode::graph, CacheState::warm), std::runtime_error);
  const auto good = copying();
  for (const TimingMode mode :
       {TimingMode::device, TimingMode::graph, TimingMode::launch_to_idle, TimingMode::end_to_end}) {
    value_ = {};
    timer().sample(call(*good, 4), mode, CacheState::warm);
    EXPECT_TRUE(arrived()) << name(mode);
  }
  timer().forget(good.get());
}

TEST_F(MeasureCuda, TheCacheIsProbedInEveryState) {
  const CacheProbe p = monitor().probe_cache().value();
  EXPECT_GT(p.bytes, 0u);
  for (const double s : {p.warm_s, p.cold_clean_s, p.cold_dirty_s}) EXPECT_GT(s, 0);
}

TEST_F(MeasureCuda, AColdGraphsCallsPassThroughMoreThanTwiceTheCacheAndAWarmOnesReadOneInput) {
  const std::size_t l2 = backend_->info().l2_bytes, bytes = l2 / 4;
  std::set<void*> inputs;
  const auto plan = plan_of({}, [&](void* in, void* out, Stream s) {
    inputs.insert(in);
    backend_->copy_within(out, in, 4, s);
  });
  const Call c = call(*plan, bytes);
  timer().sample(c, TimingMode::graph, CacheState::warm);
  EXPECT_EQ(inputs, std::set<void*>{c.in});
  inputs.clear();
  timer().sample(c, TimingMode::graph, CacheState::cold_clean);
  EXPECT_TRUE(arrived());
  inputs.erase(c.in);  // timed alone first
  EXPECT_GT(inputs.size() * bytes, 2 * l2);
  for (auto a = inputs.begin(), b = std::next(a); b != inputs.end(); ++a, ++b)
    EXPECT_GE(static_cast<std::byte*>(*b) - static_cast<std::byte*>(*a), static_cast<std::ptrdiff_t>(bytes));
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, AColdGraphOfThousandsOfCallsIsRefused) {
  const auto plan = copying();
  EXPECT_THROW(timer().sample(call(*plan, 4096), TimingMode::graph, CacheState::cold_clean), Refused);
  EXPECT_NE(timer().refusal(TimingMode::graph, CacheState::cold_dirty), "");
  value_ = {};
  timer().sample(call(*plan, 4096), TimingMode::graph, CacheState::warm);
  EXPECT_TRUE(arrived());
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, AColdGraphWhoseCopiesDoNotFitIsRefusedAndSaysSo) {
  constexpr std::size_t all = std::size_t{1} << 40;
  scripted::Scarce gpu(all, open_backend(DeviceKind::cuda));
  const Instruments instruments = make_cuda_instruments(gpu);
  const auto plan = copying();
  const Call c = call(*plan, backend_->info().l2_bytes / 4);
  gpu.leave(MiB);
  EXPECT_EQ(error_of<Refused>([&] { instruments.timer->sample(c, TimingMode::graph, CacheState::cold_clean); }),
            "the copies of the input that a cold graph reads: does not fit");
  for (const CacheState cache :
       {CacheState::warm, CacheState::cold_clean}) {  // once there is memory, the cold one, too
    if (cache == CacheState::cold_clean) gpu.leave(all);
    value_ = {};
    instruments.timer->sample(c, TimingMode::graph, cache);
    EXPECT_TRUE(arrived()) << name(cache);
  }
  instruments.timer->forget(plan.get());
}

TEST_F(MeasureCuda, TheKernelsClockIsReadWithoutTheEvents) {
  for (int i = 0; i < 5; ++i) EXPECT_GT(monitor().clock_hz().value(), 0);
  EXPECT_GT(timer().resolution_s(TimingMode::globaltimer), 0);
}

TEST_F(MeasureCuda, WhereASamplesTimeGoesAddsUp) {
  const auto plan = copying();
  for (const TimingMode mode :
       {TimingMode::device, TimingMode::launch_to_idle, TimingMode::end_to_end, TimingMode::graph,
        TimingMode::replay}) {
    const Sample s = timer().sample(call(*plan, MiB), mode, CacheState::cold_clean);
    EXPECT_GE(s.timed_s, *s.seconds) << name(mode);  // any machine: parts and their sum
    EXPECT_GT(s.prepared_s, 0) << name(mode);        // twice L2 was written and read
    EXPECT_LE(s.timed_s + s.prepared_s, s.cost_s) << name(mode);  // any machine: parts and their sum
  }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, ReadersTakeAnyAlignmentAndSize) {
  for (const std::size_t bytes : {1u, 15u, 16u, 17u, 4096u, 100001u})
    for (auto& [name, plan] : calls().readers(bytes, TimingMode::device))
      for (const std::size_t offset : {0u, 4u, 12u}) {
        Call c = call(*plan, bytes);
        c.in = input_->bytes_at(offset);
        EXPECT_GT(*timer().sample(c, TimingMode::device, CacheState::warm).seconds, 0) << name << " " << bytes;
      }
  EXPECT_TRUE(calls().readers(0, TimingMode::device).empty());
  EXPECT_TRUE(calls().readers(4096, TimingMode::end_to_end).empty());
}

/// Also what is claimed, where a count that does not begin at 0 would skip tiles. The one word of the input that is not
/// 0 lies in the last tile; a sum of it is stored.
TEST_F(MeasureCuda, ReadersReadAll) {
  constexpr std::size_t bytes = 5000 * 65536;  // whole tiles, as many as an H200's blocks claim
  static_assert(tuned::launch_shape(bytes, tuned::FinishedBy::one_word, tuned::h200).reading ==
                tuned::Reading::claimed);
  auto readers = calls().readers(bytes, TimingMode::device);
  ASSERT_FALSE(readers.empty());
  EXPECT_EQ(readers.back().name, "read/as-tuned");
  DeviceMemory input(*backend_, bytes);
  backend_->fill(input.get(), 0, bytes, stream_);
  backend_->copy_in(input.bytes_at(bytes - 4), &cuda::sum_that_is_stored, 4, stream_);
  backend_->synchronize(stream_);
  for (auto& [name, plan] : readers)
    for (int i = 0; i < 3; ++i) {
      Call c = call(*plan, bytes);
      c.in = input.get();
      value_ = {};
      EXPECT_GT(*timer().sample(c, TimingMode::device, CacheState::warm).seconds, 0);
      EXPECT_EQ(std::memcmp(value_.data(), &cuda::sum_that_is_stored, 4), 0) << name << ", call " << i;
    }
}

TEST_F(MeasureCuda, ConsumedInputIsRestoredBeforeEachCall) {
  DeviceMemory scratch(*backend_, MiB);
  const auto plan = plan_of({}, [this](void* in, void* out, Stream s) {
    backend_->copy_within(out, in, 4, s);
    backend_->fill(in, 0, MiB, s);
  });
  Call c = call(*plan, MiB);
  c.pristine = input_->get();
  c.in = scratch.get();
  for (int i = 0; i < 3; ++i) {
    timer().sample(c, TimingMode::device, CacheState::cold_dirty);
    EXPECT_TRUE(arrived()) << i;
  }
}

TEST_F(MeasureCuda, HostPartsAreTimedEndToEndWithTheirDevicePartBeside) {
  const auto plan = plan_of({.result = ResultLocation::host_part}, [](void*, void*, Stream) {},
                            [](void* result, Stream) {
                              const double until = host_now() + 200e-6;
                              while (host_now() < until) {
                              }
                              std::memset(result, 0x11, 4);
                            });
  const Sample s = timer().sample(call(*plan, 4), TimingMode::end_to_end, CacheState::cold_dirty);
  EXPECT_GT(*s.seconds, 200e-6);  // any machine: the host spins so long
  EXPECT_TRUE(s.device_part_s.has_value());  // of a call of its own, so that the two need not add up
  EXPECT_TRUE(arrived());
}

TEST_F(MeasureCuda, FromTheLaunchUntilIdleTheDevicesWorkIsTimedAndTheHostsPartIsNot) {
  double finish_began = 0;
  const auto host_part = [&](void* result, Stream s) {
    finish_began = host_now();
    for (const double start = host_now(); host_now() - start < 20e-3;) {
    }
    backend_->copy_out(result, out_->get(), 4, s);
  };
  const auto plan = calls().followed_by_spin(
      plan_of({.result = ResultLocation::host_part},
              [this](void* in, void*, Stream s) { backend_->copy_within(out_->get(), in, 4, s); }, host_part),
      210e-6);
  timer().run(call(*plan, 4));
  value_ = {};
  const double before = host_now();
  const Sample s = timer().sample(call(*plan, 4), TimingMode::launch_to_idle, CacheState::cold_dirty);
  EXPECT_GT(*s.seconds, 200e-6);                    // any machine: the GPU spins so long
  EXPECT_LE(*s.seconds, finish_began - before);     // any machine: the host's part begins after the interval
  EXPECT_FALSE(s.device_part_s);
  EXPECT_TRUE(arrived());
}

TEST_F(MeasureCuda, WhatTheHostsClockTimesIsCalledFromACpuThatWasLookedAtAndNothingElseIs) {
  const auto plan = copying();
  const Call c = call(*plan, MiB);
  monitor().take_host_cpu_counts();
  for (const TimingMode mode :
       {TimingMode::device, TimingMode::end_to_end, TimingMode::graph, TimingMode::launch_to_idle}) {
    SCOPED_TRACE(name(mode));
    timer().sample(c, mode, mode == TimingMode::graph ? CacheState::warm : CacheState::cold_dirty);
    const std::size_t samples = mode == TimingMode::end_to_end || mode == TimingMode::launch_to_idle;
    const auto counts = monitor().take_host_cpu_counts();
    if (!counts) GTEST_SKIP() << "the system does not tell which CPUs there are";
    EXPECT_EQ(counts->samples, samples);
    EXPECT_LE(counts->moved, samples);
    EXPECT_LE(counts->on_busy_cpu, samples);
    EXPECT_EQ(counts->chain_s > 0, samples == 1) << "nobody looked";
    EXPECT_EQ(allowed_cpus().size(), 1u);
  }
  timer().forget(plan.get());
}

TEST_F(MeasureCuda, ResolutionsAndFloorsAreThere) {
  const auto empty = calls().empty();
  for (const TimingMode mode : {TimingMode::device, TimingMode::launch_to_idle, TimingMode::end_to_end}) {
    EXPECT_GT(timer().resolution_s(mode), 0) << name(mode);
    EXPECT_GT(median_of(call(*empty, 4), mode, CacheState::cold_dirty), 0) << name(mode);
  }
}

TEST_F(MeasureCuda, TheMachineIsDescribed) {
  const Machine m = describe_machine(*backend_);
  ASSERT_TRUE(m.gpu);
  EXPECT_TRUE(m.gpu->uuid.starts_with("GPU-"));
  EXPECT_EQ(m.gpu->uuid.size(), 40u);
  EXPECT_GT(m.gpu->sm_count, 0);
  EXPECT_GT(m.gpu->l2_bytes, 0u);
  EXPECT_GT(m.gpu->theoretical_peak_bytes_per_s(), 0);
  EXPECT_FALSE(m.gpu->driver.empty());
  EXPECT_EQ(m.name, slug(m.gpu->name));
}

}  // namespace
}  // namespace reductio
