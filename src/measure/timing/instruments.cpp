#include "measure/timing/instruments.h"

#include <stdexcept>
#include <utility>

namespace reductio {
namespace {

using Resolutions = std::array<double, std::size(all_timing_modes)>;

class DistantTimer final : public Timer {
 public:
  DistantTimer(DeviceKind device, bool keeps_time, const Resolutions& resolution_s)
      : device_(device), keeps_time_(keeps_time), resolution_s_(resolution_s) {}
  bool keeps_time() const override { return keeps_time_; }
  std::string refusal(TimingMode mode, CacheState cache) const override { return timing_refusal(device_, mode, cache); }
  double resolution_s(TimingMode mode) const override { return resolution_s_[static_cast<std::size_t>(mode)]; }
  double run(const Call&) override { throw std::logic_error("a call in a process that leaves the device alone"); }
  Sample sample(const Call& c, TimingMode, CacheState) override {
    run(c);
    return {};
  }

 private:
  DeviceKind device_;
  bool keeps_time_;
  Resolutions resolution_s_;
};

class DistantMonitor final : public DeviceMonitor {
 public:
  std::optional<HostCpuCounts> take_host_cpu_counts() override { return std::exchange(counts_, {}); }
  void add(const HostCpuCounts& more) override {
    if (!counts_) counts_.emplace();
    counts_->samples += more.samples;
    counts_->moved += more.moved;
    counts_->on_busy_cpu += more.on_busy_cpu;
    counts_->chain_s += more.chain_s;
  }

 private:
  std::optional<HostCpuCounts> counts_;
};

}  // namespace

Instruments distant_instruments(DeviceKind device, bool keeps_time, const Resolutions& resolution_s) {
  return {.timer = std::make_unique<DistantTimer>(device, keeps_time, resolution_s),
          .harness_calls = nullptr,
          .monitor = std::make_unique<DistantMonitor>()};
}

Backend* open_here(Instruments& instruments) {
  const auto open = std::exchange(instruments.open, {});  // it replaces what it was in
  return open(instruments);
}

Instruments make_instruments(Backend& backend, const Seen& seen) {
  switch (backend.info().kind) {
    case DeviceKind::cuda: return make_cuda_instruments(backend, seen);
    case DeviceKind::sim: return make_sim_instruments(backend);
    case DeviceKind::cpu: return make_host_instruments(backend);
  }
  throw DeviceError("unknown device");
}

void keep_for_ever(Instruments&& instruments) {
  keep_for_ever(instruments.timer.release());
  keep_for_ever(instruments.harness_calls.release());
  keep_for_ever(instruments.monitor.release());
}

}  // namespace reductio
