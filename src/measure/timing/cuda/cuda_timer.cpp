/// The instruments of an NVIDIA GPU. A sample, in its stream:
///
///   device          restore, poison, set the cache state, hold | start event, call, stop event | release the hold, wait
///   end_to_end      restore, poison, set the cache state, wait until idle | call, copy 16 bytes to pinned memory, wait
///   launch_to_idle  restore, poison, set the cache state, wait until idle | call, wait until idle | the host's part
///   graph           as device, with a graph of many calls as the call
///   globaltimer     the kernels' own readings of the GPU's one clock; clock: of their SMs' cycles

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "measure/timing/cuda/graphs.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/cuda/timed_stream.h"
#include "measure/timing/host_clock.h"
#include "measure/timing/instruments.h"

namespace reductio {
namespace cuda {
namespace {

class CudaTimer final : public Timer {
 public:
  explicit CudaTimer(std::shared_ptr<TimedStream> stream) : stream_(std::move(stream)), graphs_(*stream_) {
    host_resolution_s_ = host_clock_resolution_s();
    event_resolution_s_ = measure_event_resolution();
    globaltimer_resolution_s_ = stream_->clocks().globaltimer_resolution_s();
  }

  std::string refusal(TimingMode mode, CacheState cache) const override {
    return timing_refusal(DeviceKind::cuda, mode, cache);
  }

  double run(const Call& c) override { return stream_->run(c); }

  Sample sample(const Call& c, TimingMode mode, CacheState cache) override {
    const double begin = host_now();
    Sample s;
    stream_->take_prepared_s();
    switch (mode) {
      case TimingMode::device:
        s.seconds = s.timed_s = stream_->device_interval(c, cache);
        stream_->collect(c);
        break;
      case TimingMode::graph: {
        const Graphs::Graph& graph = graphs_.of(c, cache);
        s.timed_s = graphs_.interval(c, graph, cache);
        s.seconds = s.timed_s / graph.calls;
        stream_->collect(c);
        break;
      }
      case TimingMode::launch_to_idle:
        s.seconds = s.timed_s = stream_->launch_to_idle_interval(c, cache);
        stream_->collect(c);
        break;
      case TimingMode::end_to_end:
        s.seconds = s.timed_s = stream_->end_to_end_interval(c, cache);
        break;
      case TimingMode::clock:
      case TimingMode::globaltimer:
        s.timed_s = stream_->end_to_end_interval(c, cache);
        break;
    }
    if (const auto reading = c.plan->clock_reading()) {  // of the timed call, so before another one
      s.cycles = reading->cycles;
      if (mode == TimingMode::globaltimer) s.seconds = reading->seconds;
    }
    if (mode == TimingMode::end_to_end && c.info.result == ResultLocation::host_part) add_device_part(c, cache, s);
    s.prepared_s = stream_->take_prepared_s();
    s.cost_s = host_now() - begin;
    return s;
  }

  double resolution_s(TimingMode mode) const override {
    switch (mode) {
      case TimingMode::device: return event_resolution_s_;
      case TimingMode::graph: return event_resolution_s_;  // of the whole graph; a call's share is finer
      case TimingMode::launch_to_idle:
      case TimingMode::end_to_end: return host_resolution_s_;
      case TimingMode::globaltimer: return globaltimer_resolution_s_;
      case TimingMode::clock: return 0;  // in cycles, not in seconds
    }
    return 0;
  }

  void forget(const Plan* plan) override { graphs_.forget(plan); }

 private:
  /// By another call, so that events do not disturb the end-to-end time. The value that counts is the timed call's.
  void add_device_part(const Call& c, CacheState cache, Sample& s) {
    std::array<std::byte, 16> value{};
    std::memcpy(value.data(), c.result, c.result_bytes);
    s.device_part_s = stream_->device_interval(c, cache);
    s.timed_s += *s.device_part_s;
    stream_->collect(c);
    std::memcpy(c.result, value.data(), c.result_bytes);
  }

  /// The least difference between two of many intervals of different lengths.
  double measure_event_resolution() {
    std::vector<double> s;
    for (int i = 0; i < 200; ++i) {
      const auto spin = spinning_kernel(static_cast<std::uint64_t>(1000 + 37 * i));
      s.push_back(stream_->held_interval([&] { spin->enqueue(nullptr, nullptr, stream_->get()); }));
    }
    std::sort(s.begin(), s.end());
    double resolution = 1e-3;
    // Differences below a tenth of a nanosecond are the rounding of the events' own float milliseconds.
    for (std::size_t i = 1; i < s.size(); ++i)
      if (const double d = s[i] - s[i - 1]; d > 1e-10) resolution = std::min(resolution, d);
    return resolution;
  }

  std::shared_ptr<TimedStream> stream_;
  Graphs graphs_;
  double event_resolution_s_ = 0, host_resolution_s_ = 0, globaltimer_resolution_s_ = 0;
};

class CudaCalls final : public HarnessCalls {
 public:
  explicit CudaCalls(int sm_count) : sm_count_(sm_count) {}

  std::unique_ptr<Plan> empty() override { return empty_kernel(); }

  std::vector<HarnessPlan> readers(std::size_t bytes, TimingMode mode) override {
    if ((mode != TimingMode::device && mode != TimingMode::graph) || bytes == 0) return {};
    return reading_kernels(bytes, sm_count_);
  }

  std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) override {
    const std::shared_ptr<Plan> spin = spinning_kernel(static_cast<std::uint64_t>(seconds * 1e9 + 0.5));
    return followed_by(std::move(plan), [spin](Stream s) { spin->enqueue(nullptr, nullptr, s); });
  }

 private:
  int sm_count_;
};

class CudaMonitor final : public DeviceMonitor {
 public:
  explicit CudaMonitor(std::shared_ptr<TimedStream> stream) : stream_(std::move(stream)) {}

  std::optional<CacheProbe> probe_cache() override {
    const DeviceInfo& gpu = stream_->gpu();
    const std::size_t bytes = std::max<std::size_t>(gpu.l2_bytes / 4, 1u << 20);
    const DeviceMemory memory = memory_for("probing the cache", stream_->backend(), bytes);
    check(cudaMemsetAsync(memory.get(), 1, bytes, native(stream_->get())), "filling GPU memory");
    const auto plan = reading_kernel(bytes, gpu.sm_count);
    const Call c{.plan = plan.get(), .info = plan->info(), .in = memory.get(), .out = stream_->l2().sum()};
    return probe_of(bytes, 21, [&](CacheState cache) { return stream_->device_interval(c, cache); });
  }

  std::optional<double> clock_hz() override { return stream_->clocks().hz(); }

  /// After cudaFree the driver's scrubber overwrites what was given back, for milliseconds a gigabyte, while kernels
  /// run already: they miss the bandwidth.
  bool wait_until_memory_idle() override {
    L2Flush& l2 = stream_->l2();
    const bool idle = memory_settled_.wait(
        [&] {
          l2.overwrite();  // so that what must be written back is the same each time: L2 full of dirty lines
          return stream_->held_interval([&] {
            for (int i = 0; i < 4; ++i) l2.overwrite();  // what is noise in one is none in four
          });
        },
        [&] {
          for (int i = 0; i < 20; ++i) l2.overwrite();  // a GPU that only slept would lower its clock
          stream_->synchronize();
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    l2.clean();  // a warm sample shall not write it back
    return idle;
  }

  void in_range(const std::string& name, const std::function<void()>& body) override {
    nvtxRangePushA(name.c_str());
    struct Pop {
      ~Pop() { nvtxRangePop(); }
    } pop;
    body();
  }

 private:
  std::shared_ptr<TimedStream> stream_;
  SettleDetector memory_settled_;
};

}  // namespace
}  // namespace cuda

Instruments make_cuda_instruments(Backend& backend) {
  const auto stream = std::make_shared<cuda::TimedStream>(backend);
  auto monitor = std::make_unique<cuda::CudaMonitor>(stream);
  // The monitor compares with the fastest that it has seen, so it must see idle memory before samples free any. The
  // driver may still be overwriting what an earlier program freed: hence several looks, a tenth of a second in all.
  for (int i = 0; i < 20; ++i) {
    monitor->wait_until_memory_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {.timer = std::make_unique<cuda::CudaTimer>(stream),
          .harness_calls = std::make_unique<cuda::CudaCalls>(backend.info().sm_count),
          .monitor = std::move(monitor)};
}

}  // namespace reductio
