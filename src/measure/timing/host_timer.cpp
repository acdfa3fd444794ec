/// Timers without a GPU: a steady clock for CPUs; none for the simulated device.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "measure/timing/cpu_flush.h"
#include "measure/timing/host_clock.h"
#include "measure/timing/instruments.h"

namespace reductio {
namespace {

class EmptyPlan final : public Plan {
 public:
  PlanInfo info() const override { return {}; }
  void enqueue(void*, void*, Stream) override {}
};

/// Reads a word of each line, so that the memory decides how long it takes.
class ReadPlan final : public Plan {
 public:
  explicit ReadPlan(std::size_t words) : words_(words) {}
  PlanInfo info() const override { return {}; }
  void enqueue(void* in, void*, Stream) override {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < words_; i += 8) sum += static_cast<const std::size_t*>(in)[i];
    keep_ = sum;
  }

 private:
  std::size_t words_;
  volatile std::size_t keep_ = 0;  // so that the reading is not optimised away
};

/// What both have in common: preparing a call, and running it to its result.
class PlainTimer : public Timer {
 public:
  explicit PlainTimer(Backend& backend) : backend_(backend), stream_(backend.create_stream()) {}
  ~PlainTimer() override { backend_.destroy_stream(stream_); }
  PlainTimer(const PlainTimer&) = delete;

  double run(const Call& c) override {
    const Changed changed(*this, c);
    prepare(c);
    const double start = host_now(), end = complete(c);
    return end - start;
  }

 protected:
  /// The input with a call's changed element, as long as it lives.
  class Changed {
   public:
    Changed(PlainTimer& timer, const Call& c) : timer_(timer), c_(c) { store(&ChangedElement::is); }
    ~Changed() {
      try {
        store(&ChangedElement::was);
        timer_.backend_.synchronize(timer_.stream_);  // nothing may be left to do on memory that goes
      } catch (const std::exception&) {
        // The call has failed, or the next one will.
      }
    }
    Changed(const Changed&) = delete;

   private:
    void store(ElementBytes ChangedElement::* value) {
      if (c_.changed)
        timer_.backend_.copy_in(c_.changed_place(), (c_.changed->*value).data(), c_.changed->bytes, timer_.stream_);
    }
    PlainTimer& timer_;
    const Call& c_;
  };

  void prepare(const Call& c) {
    if (c.pristine) backend_.copy_within(c.in, c.pristine, c.input_bytes, stream_);
    poison(c);
  }
  void poison(const Call& c) {
    if (c.out) backend_.fill(c.out, 0xFF, c.result_bytes, stream_);
    backend_.synchronize(stream_);
    if (c.result) std::memset(c.result, 0xFF, c.result_bytes);
  }
  /// One call, to its value. Says when its interval ended.
  double complete(const Call& c) {
    c.plan->enqueue(c.in, c.out, stream_);
    if (c.info.result != ResultLocation::on_device) c.plan->finish(c.result, stream_);
    else if (c.out) backend_.copy_out(c.result, c.out, c.result_bytes, stream_);
    else backend_.synchronize(stream_);
    return host_now();
  }

  Backend& backend_;
  Stream stream_;
};

class HostTimer final : public PlainTimer {
 public:
  HostTimer(Backend& backend, std::function<void(CacheState)> flush)
      : PlainTimer(backend), flush_(std::move(flush)), resolution_s_(host_clock_resolution_s()) {
    if (flush_) return;
    // All contexts of a run share one, since they take turns: it has two or four times the cache, 64 MiB at least.
    static CpuFlush shared(backend.info().l2_bytes);
    flush_ = [](CacheState cache) { shared(cache); };
  }

  std::string refusal(TimingMode mode, CacheState cache) const override {
    return timing_refusal(DeviceKind::cpu, mode, cache);
  }

  Sample sample(const Call& c, TimingMode, CacheState cache) override {
    const double begin = host_now();
    std::optional<Changed> changed;
    if (cache != CacheState::warm) {
      changed.emplace(*this, c);
      prepare(c);
      flush_(cache);
    } else {
      prepare(c);
      if (c.input_bytes <= backend_.info().l2_bytes || c.in != last_input_) {
        complete(c);
        poison(c);
      }  // beyond the cache, an untimed call would leave in it what the last call, which read the same input, has left
      changed.emplace(*this, c);
    }
    if (!dynamic_cast<const EmptyPlan*>(c.plan)) last_input_ = c.in;
    const double start = host_now(), end = complete(c);
    return {.seconds = end - start, .device_part_s = {}, .cycles = {}, .cost_s = host_now() - begin,
            .timed_s = end - start, .prepared_s = start - begin};
  }

  double resolution_s(TimingMode) const override { return resolution_s_; }

  /// The input that it read may be freed now, and another lie where it was.
  void forget(const Plan*) override { last_input_ = nullptr; }

 private:
  std::function<void(CacheState)> flush_;
  double resolution_s_;
  const void* last_input_ = nullptr;
};

class SimTimer final : public PlainTimer {
 public:
  using PlainTimer::PlainTimer;
  bool keeps_time() const override { return false; }
  std::string refusal(TimingMode mode, CacheState cache) const override {
    return timing_refusal(DeviceKind::sim, mode, cache);
  }
  Sample sample(const Call& c, TimingMode, CacheState) override {
    return {.seconds = {}, .device_part_s = {}, .cycles = {}, .cost_s = run(c), .timed_s = 0, .prepared_s = 0};
  }
  double resolution_s(TimingMode) const override { return 0; }
};

class HostCalls : public HarnessCalls {
 public:
  std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) override {
    return followed_by(std::move(plan), [seconds](Stream) {
      for (const double start = host_now(); host_now() - start < seconds;) {
      }
    });
  }
};

class TimedHostCalls final : public HostCalls {
 public:
  std::unique_ptr<Plan> empty() override { return std::make_unique<EmptyPlan>(); }
};

class HostMonitor final : public DeviceMonitor {
 public:
  HostMonitor(Backend& backend, Timer& timer) : backend_(backend), timer_(timer) {}

  std::optional<CacheProbe> probe_cache() override {
    // More than the inner caches, and little enough to fit beside others' data in the shared one.
    const std::size_t bytes = std::max<std::size_t>(backend_.info().l2_bytes / 16, 256u << 10);
    std::vector<std::size_t> memory(bytes / sizeof(std::size_t), 1);
    ReadPlan plan(memory.size());
    const Call c{.plan = &plan, .info = plan.info(), .in = memory.data(), .input_bytes = bytes};
    const CacheProbe probe =
        probe_of(bytes, 5, [&](CacheState cache) { return *timer_.sample(c, TimingMode::end_to_end, cache).seconds; });
    timer_.forget(&plan);
    return probe;
  }

 private:
  Backend& backend_;
  Timer& timer_;
};

}  // namespace

Instruments make_host_instruments(Backend& backend, std::function<void(CacheState)> flush) {
  auto timer = std::make_unique<HostTimer>(backend, std::move(flush));
  auto monitor = std::make_unique<HostMonitor>(backend, *timer);
  return {
      .timer = std::move(timer), .harness_calls = std::make_unique<TimedHostCalls>(), .monitor = std::move(monitor)};
}

Instruments make_sim_instruments(Backend& backend) {
  return {.timer = std::make_unique<SimTimer>(backend),
          .harness_calls = std::make_unique<HostCalls>(),
          .monitor = std::make_unique<DeviceMonitor>()};
}

}  // namespace reductio
