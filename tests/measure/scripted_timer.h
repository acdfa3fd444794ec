#pragma once
/// A clock that reads what a test tells it to, and variants to be timed by it. Calls really run, on the CPU, so that
/// results are verified; only their times are invented.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "measure/sampling/sampler.h"
#include "measure/session/run_experiment.h"
#include "measure/session/session.h"
#include "measure/timing/instruments.h"
#include "tests/measure/scripted_variant.h"

namespace reductio::scripted {

/// What a call of these variants tells the clock about itself, in PlanInfo::grid_blocks: which variant it is.
inline constexpr std::size_t floor_id = 1000, polled_floor_id = 1001, reader_id = 2000;

class NamedPlan final : public Plan {
 public:
  explicit NamedPlan(std::size_t id) : id_(id) {}
  PlanInfo info() const override { return {.grid_blocks = id_}; }
  void enqueue(void*, void*, Stream) override {}

 private:
  std::size_t id_;
};

/// A plan whose calls the clock reads as longer.
class SpinningPlan final : public Plan {
 public:
  SpinningPlan(std::unique_ptr<Plan> plan, double seconds) : seconds(seconds), plan_(std::move(plan)) {}
  PlanInfo info() const override { return plan_->info(); }
  void enqueue(void* in, void* out, Stream s) override { plan_->enqueue(in, out, s); }
  const double seconds;

 private:
  std::unique_ptr<Plan> plan_;
};

struct Asked {
  std::size_t id;     ///< of the variant or reference
  std::size_t bytes;  ///< of the whole input
  bool sampled;       ///< a sample, not a plain run
};

class Clock final : public Timer {
 public:
  /// `seconds(id, bytes)` is called once a sample.
  explicit Clock(std::function<double(std::size_t id, std::size_t bytes)> seconds) : seconds_(std::move(seconds)) {}

  std::string refusal(TimingMode mode, CacheState) const override {
    return mode == TimingMode::graph && !capture_s ? "the scripted clock has no graphs" : "";
  }
  double run(const Call& c) override {
    asked.push_back({c.info.grid_blocks, c.input_bytes, false});
    complete(c);
    return seconds_(c.info.grid_blocks, c.input_bytes);
  }
  Sample sample(const Call& c, TimingMode mode, CacheState) override {
    asked.push_back({c.info.grid_blocks, c.input_bytes, true});
    if (before_sample) before_sample(c);
    complete(c);
    const auto* spinning = dynamic_cast<const SpinningPlan*>(c.plan);
    const double s = seconds_(c.info.grid_blocks, c.input_bytes) + (spinning && !deaf ? spinning->seconds : 0);
    Sample out{
        .seconds = s, .device_part_s = {}, .cycles = {}, .cost_s = s + overhead_s, .timed_s = s, .prepared_s = 0};
    if (mode == TimingMode::graph && captured_.insert(c.plan).second) out.cost_s += capture_s.value();
    if (mode == TimingMode::end_to_end && c.info.result == ResultLocation::host_part) out.device_part_s = s / 2;
    if (const auto reading = c.plan->clock_reading()) out.cycles = reading->cycles;
    return out;
  }
  bool keeps_time() const override { return !simulated; }
  double resolution_s(TimingMode) const override { return resolution; }
  void forget(const Plan* plan) override {
    ++forgotten;
    captured_.erase(plan);
  }

  std::vector<Asked> asked;
  std::function<void(const Call&)> before_sample;
  bool simulated = false;  ///< as of a device that verifies and gives no times
  double resolution = 1e-9, overhead_s = 1e-5;
  std::optional<double> capture_s;  ///< more for a plan's first sample in a graph; without it, no graphs
  int forgotten = 0;
  bool deaf = false;  ///< to spins

 private:
  static void complete(const Call& c) {
    if (c.changed) std::memcpy(c.changed_place(), c.changed->is.data(), c.changed->bytes);
    if (c.pristine) std::memcpy(c.in, c.pristine, c.input_bytes);
    if (c.out) std::memset(c.out, 0xFF, c.result_bytes);
    std::memset(c.result, 0xFF, c.result_bytes);
    c.plan->enqueue(c.in, c.out, {});
    if (c.info.result == ResultLocation::on_device) std::memcpy(c.result, c.out, c.result_bytes);
    else c.plan->finish(c.result, {});
    if (c.changed) std::memcpy(c.changed_place(), c.changed->was.data(), c.changed->bytes);
  }
  std::set<const Plan*> captured_;
  std::function<double(std::size_t, std::size_t)> seconds_;
};

class Calls final : public HarnessCalls {
 public:
  std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) override {
    return std::make_unique<SpinningPlan>(std::move(plan), seconds);
  }
  std::unique_ptr<Plan> empty() override { return std::make_unique<NamedPlan>(floor_id); }
  std::unique_ptr<Plan> polled_empty() override {
    return polls ? std::make_unique<NamedPlan>(polled_floor_id) : nullptr;
  }
  std::vector<HarnessPlan> readers(std::size_t, TimingMode mode) override {
    std::vector<HarnessPlan> out;
    for (int i = 0; i < kernels_that_read && mode == TimingMode::device; ++i)
      out.push_back({"read/" + std::to_string(i), std::make_unique<NamedPlan>(reader_id + i)});
    return out;
  }

  int kernels_that_read = 0;
  bool polls = false;  ///< has an empty call that the host polls for
};

class Monitor final : public DeviceMonitor {
 public:
  std::optional<CacheProbe> probe_cache() override { return probe ? std::optional(probe()) : std::nullopt; }
  std::optional<double> clock_hz() override { return hz ? std::optional(hz()) : std::nullopt; }
  bool wait_until_memory_idle() override { return !memory_idle || memory_idle(); }

  std::optional<HostCpuCounts> take_host_cpu_counts() override { return host_cpu; }

  std::function<void()> each_context;     ///< called as it begins, where open_scripted() opened the device
  std::optional<HostCpuCounts> host_cpu;  ///< where calls are made from a CPU that is chosen
  std::function<double()> hz;         ///< the kernels' clock, where there is one
  std::function<bool()> memory_idle;  ///< before the samples on each context
  std::function<CacheProbe()> probe;  ///< of the cache, where there is one
};

/// What a test sets of these goes with them when they are moved into a session.
struct Scripted : Instruments {
  explicit Scripted(std::function<double(std::size_t id, std::size_t bytes)> seconds)
      : Instruments{std::make_unique<Clock>(std::move(seconds)), std::make_unique<Calls>(),
                    std::make_unique<Monitor>()} {}
  Clock& clock() const { return static_cast<Clock&>(*timer); }
  Calls& calls() const { return static_cast<Calls&>(*harness_calls); }
  Monitor& device() const { return static_cast<Monitor&>(*monitor); }
};

/// What measuring these points together, and nothing else, gives.
inline GroupOutcome measure(Sampler& sampler, const std::vector<const Point*>& group) {
  return std::move(sampler.measure({&group, 1}, {[] { return false; }}).groups.at(0));
}

/// A folder of its own, removed with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "reductio-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Heard : RunObserver {
  void row(const Row& r) override { rows.push_back(r); }
  void notice(const std::string& text) override { notices.push_back(text); }
  std::vector<Row> rows;
  std::vector<std::string> notices;
};

inline Machine machine() {
  Machine m;
  m.name = "scripted";
  m.cpu.model = "a CPU";
  m.cpu.cores = 1;
  return m;
}

/// The CPU, or as a GPU where the script has an each_context.
inline std::unique_ptr<Backend> open_scripted(const Instruments&);

inline Session session(const Folder& folder, std::vector<Point> points, Instruments instruments,
                       SamplingRules rules = {}) {
  Session s;
  s.experiment = "test";
  s.points = std::move(points);
  s.rules = rules;
  s.order_seed = 1;  // tests repeat
  s.options.out = folder.path();
  s.machine = machine();
  s.backend = open_scripted(instruments);
  s.instruments = std::move(instruments);
  return s;
}

/// A device, the CPU unless said, with so much memory.
class Scarce : public Backend {
 public:
  explicit Scarce(std::size_t bytes, std::unique_ptr<Backend> device = open_cpu())
      : device_(std::move(device)), free_(bytes) {}
  const DeviceInfo& info() const override { return device_->info(); }
  void* allocate(std::size_t bytes) override {
    if (bytes > free_) throw NoMemory("does not fit");
    void* p = device_->allocate(bytes);
    free_ -= sizes_[p] = bytes;
    return p;
  }
  void release(void* p) noexcept override {
    free_ += std::exchange(sizes_[p], 0);
    device_->release(p);
  }
  std::size_t memory_free() const override { return free_; }
  bool scatter() override { return ++scattered, false; }
  void fill(void* p, unsigned char b, std::size_t n, Stream s) override { device_->fill(p, b, n, s); }
  void copy_in(void* p, const void* h, std::size_t n, Stream s) override { device_->copy_in(p, h, n, s); }
  void copy_within(void* p, const void* q, std::size_t n, Stream s) override { device_->copy_within(p, q, n, s); }
  void copy_out(void* h, const void* p, std::size_t n, Stream s) override { device_->copy_out(h, p, n, s); }
  bool repeats(const void* p, std::size_t period, std::size_t n, Stream s) override {
    return device_->repeats(p, period, n, s);
  }
  Stream stream() const override { return device_->stream(); }
  Stream create_stream() override { return device_->create_stream(); }
  void destroy_stream(Stream s) noexcept override { device_->destroy_stream(s); }
  void synchronize(Stream s) override {
    if (lost) throw DeviceError("the device is lost");
    device_->synchronize(s);
  }
  std::function<void()> watch_enqueue(const std::function<void()>& f, Stream s, FirstLaunch* l) override {
    return device_->watch_enqueue(f, s, l);
  }
  /// Leaves so much of it free, whatever is allocated.
  void leave(std::size_t bytes) { free_ = bytes; }
  bool lost = false;
  int scattered = 0;  ///< how often it was asked to

 private:
  std::unique_ptr<Backend> device_;
  std::size_t free_;
  std::map<void*, std::size_t> sizes_;
};

inline std::unique_ptr<Backend> open_scripted(const Instruments& instruments) {
  struct Telling final : Scarce {
    explicit Telling(std::function<void()> f) : Scarce(std::size_t{1} << 40), each_context(std::move(f)) {}
    bool scatter() override { return each_context(), true; }
    std::function<void()> each_context;
  };
  const auto* monitor = dynamic_cast<const Monitor*>(instruments.monitor.get());
  if (!monitor || !monitor->each_context) return open_cpu();
  return std::make_unique<Telling>(monitor->each_context);
}

inline Scripted constant(double seconds) {
  return Scripted([=](std::size_t, std::size_t) { return seconds; });
}

}  // namespace reductio::scripted
