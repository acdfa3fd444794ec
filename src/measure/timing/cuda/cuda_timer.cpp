/// The instruments of an NVIDIA GPU. A sample, in its stream; "prepare" restores the input, poisons the result and sets
/// the cache state:
///
///   device          prepare, hold | start event, call, stop event | release the hold, wait
///   end_to_end      go to a quiet CPU, prepare, wait until idle | call, copy 16 bytes to pinned memory, wait
///   launch_to_idle  go to a quiet CPU, prepare, wait until idle | call, wait until idle | the host's part
///   graph           as device, with a graph of many calls as the call
///   replay          as device, with a graph of one call as the call
///   globaltimer     the kernels' own readings of the GPU's one clock; clock: of their SMs' cycles
///
/// A call's changed element is stored before the cache is set, and put back when the call is over.

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/threads.h"
#include "measure/timing/cuda/graphs.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/cuda/timed_stream.h"
#include "measure/timing/host_clock.h"
#include "measure/timing/instruments.h"
#include "measure/timing/quiet_cpu.h"

namespace reductio {
namespace cuda {
namespace {

/// Of those that this thread may run on, the CPUs that are near the GPU, on a host with several sockets; else all.
std::vector<int> cpus_near_gpu() {
  const std::vector<int> allowed = allowed_cpus();
  int device = 0;
  std::array<char, 32> address{};
  std::string list;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), device) == cudaSuccess) {
    std::string name = address.data();
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::getline(std::ifstream("/sys/bus/pci/devices/" + name + "/local_cpulist"), list);
  }
  const std::vector<int> near = cpus_of(list);
  std::vector<int> both;
  for (const int cpu : allowed)
    if (std::find(near.begin(), near.end(), cpu) != near.end()) both.push_back(cpu);
  return both.empty() ? allowed : both;
}

/// All that the instruments have on the device, and the CPU that calls are made from.
class OnDevice {
 public:
  OnDevice(Backend& backend, double awake_s) : cpu_(cpus_near_gpu()), stream_(backend, awake_s), graphs_(stream_) {
    if (cpu_.survey().moved) stream_.warm_up_host();
  }
  TimedStream& stream() { return stream_; }
  Graphs& graphs() { return graphs_; }
  /// Before an end-to-end sample. Another CPU has cold caches, so a loop caller makes one more call there.
  void go_to_quiet_cpu(const Call& c) {
    if (!cpu_.chooses()) return;
    const QuietCpu::Found found = cpu_.settle();
    if (found.moved) {
      stream().warm_up_host();
      if (c.in_loop) {
        Call untimed = c;
        untimed.changed = nullptr;
        stream().run(untimed);
      }
    }
    ++cpu_counts_.samples;
    cpu_counts_.moved += found.moved;
    cpu_counts_.on_busy_cpu += !found.quiet;
    cpu_counts_.chain_s += found.chain_s;
  }
  std::optional<HostCpuCounts> take_cpu_counts() {
    if (!cpu_.chooses()) return std::nullopt;
    return std::exchange(cpu_counts_, {});
  }

 private:
  QuietCpu cpu_;
  HostCpuCounts cpu_counts_;
  TimedStream stream_;
  Graphs graphs_;
};

class CudaTimer final : public Timer {
 public:
  CudaTimer(std::shared_ptr<OnDevice> device, const Seen& seen) : device_(std::move(device)) {
    host_resolution_s_ = host_clock_resolution_s();
    event_resolution_s_ = seen.event_resolution_s > 0 ? seen.event_resolution_s : measure_event_resolution();
    globaltimer_resolution_s_ = seen.globaltimer_resolution_s > 0 ? seen.globaltimer_resolution_s
                                                                  : stream().clocks().globaltimer_resolution_s();
  }

  std::string refusal(TimingMode mode, CacheState cache) const override {
    return timing_refusal(DeviceKind::cuda, mode, cache);
  }

  double run(const Call& c) override { return stream().run(c); }

  Sample sample(const Call& c, TimingMode mode, CacheState cache) override {
    const double begin = host_now();
    Sample s;
    stream().take_prepared_s();
    if (mode == TimingMode::end_to_end || mode == TimingMode::launch_to_idle) device_->go_to_quiet_cpu(c);
    switch (mode) {
      case TimingMode::device:
        s.seconds = s.timed_s = stream().device_interval(c, cache);
        stream().collect(c);
        break;
      case TimingMode::graph: {
        const Graphs::Graph& graph = device_->graphs().of(c, cache);
        s.timed_s = device_->graphs().interval(c, graph, cache);
        s.calls = graph.calls;
        s.seconds = s.timed_s / s.calls;
        stream().collect(c);
        break;
      }
      case TimingMode::replay:
        s.seconds = s.timed_s = device_->graphs().interval(c, device_->graphs().of_one(c), cache);
        stream().collect(c);
        break;
      case TimingMode::launch_to_idle:
        s.seconds = s.timed_s = stream().launch_to_idle_interval(c, cache);
        stream().collect(c);
        break;
      case TimingMode::end_to_end:
        s.seconds = s.timed_s = stream().end_to_end_interval(c, cache);
        break;
      case TimingMode::clock:
      case TimingMode::globaltimer:
        s.timed_s = stream().end_to_end_interval(c, cache);
        break;
    }
    if (const auto reading = c.plan->clock_reading()) {  // of the timed call, so before another one
      s.cycles = reading->cycles;
      if (mode == TimingMode::globaltimer) s.seconds = reading->seconds;
    }
    if (mode == TimingMode::end_to_end && c.info.result == ResultLocation::host_part && c.device_part)
      add_device_part(c, cache, s);
    s.prepared_s = stream().take_prepared_s();
    s.cost_s = host_now() - begin;
    return s;
  }

  std::vector<std::array<std::byte, 16>> graph_results(const Call& c, CacheState cache) override {
    return device_->graphs().results(c, cache);
  }

  double resolution_s(TimingMode mode) const override {
    switch (mode) {
      case TimingMode::device:
      case TimingMode::replay: return event_resolution_s_;
      case TimingMode::graph: return event_resolution_s_;  // of the whole graph; Sample::calls share it
      case TimingMode::launch_to_idle:
      case TimingMode::end_to_end: return host_resolution_s_;
      case TimingMode::globaltimer: return globaltimer_resolution_s_;
      case TimingMode::clock: return 0;  // in cycles, not in seconds
    }
    return 0;
  }

  void forget(const Plan* plan) override {
    device_->graphs().forget(plan);
    stream().forget(plan);
  }

 private:
  /// By another call, so that events do not disturb the end-to-end time. The value that counts is the timed call's.
  void add_device_part(const Call& c, CacheState cache, Sample& s) {
    const auto* const bytes = static_cast<const std::byte*>(c.result);
    const std::vector<std::byte> value(bytes, bytes + c.result_bytes);
    s.device_part_s = stream().device_interval(c, cache);
    s.timed_s += *s.device_part_s;
    stream().collect(c);
    std::memcpy(c.result, value.data(), c.result_bytes);
  }

  /// The least difference between two of many intervals of different lengths.
  double measure_event_resolution() {
    std::vector<double> s;
    for (int i = 0; i < 200; ++i) {
      const auto spin = spinning_kernel(static_cast<std::uint64_t>(1000 + 37 * i));
      s.push_back(stream().held_interval([&] { spin->enqueue(nullptr, nullptr, stream().get()); }));
    }
    std::sort(s.begin(), s.end());
    double resolution = 1e-3;
    // Differences below a tenth of a nanosecond are the rounding of the events' own float milliseconds.
    for (std::size_t i = 1; i < s.size(); ++i)
      if (const double d = s[i] - s[i - 1]; d > 1e-10) resolution = std::min(resolution, d);
    return resolution;
  }

  TimedStream& stream() { return device_->stream(); }

  std::shared_ptr<OnDevice> device_;
  double event_resolution_s_ = 0, host_resolution_s_ = 0, globaltimer_resolution_s_ = 0;
};

class CudaCalls final : public HarnessCalls {
 public:
  explicit CudaCalls(std::shared_ptr<OnDevice> device) : device_(std::move(device)) {}

  std::unique_ptr<Plan> empty() override { return empty_kernel(); }

  std::unique_ptr<Plan> polled_empty() override { return polled_empty_kernel(device_->stream().arrival()); }

  std::vector<HarnessPlan> readers(std::size_t bytes, TimingMode mode) override {
    if (!is_by_events(mode) || bytes == 0) return {};
    return reading_kernels(bytes, device_->stream().gpu(), device_->stream().claims());
  }

  std::vector<HarnessPlan> readers_and_writers(std::size_t bytes, std::size_t written, TimingMode mode) override {
    if (!is_by_events(mode) || bytes == 0) return {};
    return reading_and_writing_kernels(bytes, written, device_->stream().gpu());
  }

  std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) override {
    const std::shared_ptr<Plan> spin = spinning_kernel(static_cast<std::uint64_t>(seconds * 1e9 + 0.5));
    return followed_by(std::move(plan), [spin](Stream s) { spin->enqueue(nullptr, nullptr, s); });
  }

 private:
  static bool is_by_events(TimingMode mode) {
    return mode == TimingMode::device || mode == TimingMode::graph || mode == TimingMode::replay;
  }
  std::shared_ptr<OnDevice> device_;
};

class CudaMonitor final : public DeviceMonitor {
 public:
  explicit CudaMonitor(std::shared_ptr<OnDevice> device) : device_(std::move(device)) {}

  std::optional<CacheProbe> probe_cache() override {
    const DeviceInfo& gpu = stream().gpu();
    const std::size_t bytes = std::max<std::size_t>(gpu.l2_bytes / 4, 1u << 20);
    const DeviceMemory memory = memory_for("probing the cache", stream().backend(), bytes);
    check(cudaMemsetAsync(memory.get(), 1, bytes, native(stream().get())), "filling GPU memory");
    const auto plan = reading_kernel(bytes, gpu.sm_count);
    const Call c{.plan = plan.get(), .info = plan->info(), .in = memory.get(), .out = stream().l2().sum()};
    const CacheProbe probe = probe_of(bytes, 21, [&](CacheState cache) { return stream().device_interval(c, cache); });
    stream().forget(plan.get());  // another may get its address
    return probe;
  }

  std::optional<double> clock_hz() override { return stream().clocks().hz(); }

  std::optional<HostCpuCounts> take_host_cpu_counts() override { return device_->take_cpu_counts(); }

  /// After cudaFree the driver overwrites the freed memory, for milliseconds a gigabyte, which takes bandwidth from
  /// kernels that already run.
  bool wait_until_memory_idle() override {
    L2Flush& l2 = stream().l2();
    const bool idle = memory_settled_.wait(
        [&] {
          l2.overwrite();  // so that what must be written back is the same each time: L2 full of dirty lines
          return stream().held_interval([&] {
            for (int i = 0; i < 4; ++i) l2.overwrite();  // what is noise in one is none in four
          });
        },
        [&] {
          for (int i = 0; i < 20; ++i) l2.overwrite();  // a GPU that only slept would lower its clock
          stream().synchronize();
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    l2.clean();  // a warm sample shall not write it back
    return idle;
  }

  SettleDetector& memory_settled() { return memory_settled_; }

  void in_range(const std::string& name, const std::function<void()>& body) override {
    nvtxRangePushA(name.c_str());
    cudaProfilerStart();  // for `ncu --profile-from-start off`; nothing where no profiler is attached
    struct End {
      ~End() {
        cudaProfilerStop();
        nvtxRangePop();
      }
    } end;
    body();
  }

 private:
  TimedStream& stream() { return device_->stream(); }

  std::shared_ptr<OnDevice> device_;
  SettleDetector memory_settled_;
};

}  // namespace
}  // namespace cuda

Instruments make_cuda_instruments(Backend& backend, const Seen& seen) {
  const bool first = seen.least_memory_s <= 0;
  const auto device = std::make_shared<cuda::OnDevice>(backend, first ? 0.3 : 0.05);  // a later one finds it awake
  auto monitor = std::make_unique<cuda::CudaMonitor>(device);
  // The monitor compares with the minimum that it has seen, so it must see idle memory before samples free any. The
  // driver may still be overwriting an earlier program's memory: hence several readings over a tenth of a second.
  if (!first) monitor->memory_settled().knows(seen.least_memory_s);
  for (int i = 0; i < 20 && first; ++i) {
    monitor->wait_until_memory_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  auto timer = std::make_unique<cuda::CudaTimer>(device, seen);
  const Seen now{.event_resolution_s = timer->resolution_s(TimingMode::device),
                 .globaltimer_resolution_s = timer->resolution_s(TimingMode::globaltimer),
                 .least_memory_s = monitor->memory_settled().least_s()};
  return {.timer = std::move(timer),
          .harness_calls = std::make_unique<cuda::CudaCalls>(device),
          .monitor = std::move(monitor),
          .open = {},
          .seen = now};
}

}  // namespace reductio
