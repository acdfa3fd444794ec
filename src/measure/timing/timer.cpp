#include "measure/timing/timer.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "measure/stats/statistics.h"

namespace reductio {
namespace {

class FollowedPlan final : public Plan {
 public:
  FollowedPlan(std::unique_ptr<Plan> plan, std::function<void(Stream)> after)
      : plan_(std::move(plan)), after_(std::move(after)) {}
  PlanInfo info() const override { return plan_->info(); }
  void enqueue(void* in, void* out, Stream s) override {
    plan_->enqueue(in, out, s);
    after_(s);
  }
  void finish(void* result, Stream s) override { plan_->finish(result, s); }
  std::optional<ClockReading> clock_reading() override { return plan_->clock_reading(); }

 private:
  std::unique_ptr<Plan> plan_;
  std::function<void(Stream)> after_;
};

}  // namespace

std::unique_ptr<Plan> followed_by(std::unique_ptr<Plan> plan, std::function<void(Stream)> after) {
  return std::make_unique<FollowedPlan>(std::move(plan), std::move(after));
}

CacheProbe probe_of(std::size_t bytes, int intervals, const std::function<double(CacheState)>& interval_s) {
  const auto timed = [&](CacheState cache) {
    std::vector<double> s;
    for (int i = 0; i < intervals; ++i) s.push_back(interval_s(cache));
    return median(s);
  };
  CacheProbe probe{.bytes = bytes};
  probe.warm_s = timed(CacheState::warm);
  probe.cold_clean_s = timed(CacheState::cold_clean);
  probe.cold_dirty_s = timed(CacheState::cold_dirty);
  return probe;
}

bool SettleDetector::wait(const std::function<double()>& measure, const std::function<void()>& pause) {
  int fast = 1;  // in a row; one is enough unless another was slow
  for (int pauses = 0;; ++pauses) {
    const double s = measure();
    least_s_ = std::min(least_s_, s);
    fast = s <= 1.05 * least_s_ ? fast + 1 : 0;
    if (fast == 2) {
      patience_ = std::min(2 * patience_ + 1, 500);
      return true;
    }
    if (pauses >= patience_) {
      patience_ /= 2;
      return false;
    }
    pause();
  }
}

std::string timing_refusal(const Variant& v, ResultLocation result, TimingMode mode, CacheState cache) {
  if (v.consumes_input) {
    if (mode == TimingMode::graph)
      return "overwrites its input, which a graph of many calls cannot restore in between";
    if (cache == CacheState::warm) return "overwrites its input: restoring it decides what the cache holds";
  }
  switch (mode) {
    case TimingMode::device:
    case TimingMode::graph:
      if (result == ResultLocation::host_part) return "finishes on the host; timed end to end";
      if (result == ResultLocation::on_host) return "blocks until its result is on the host; timed end to end";
      return {};
    case TimingMode::end_to_end: return {};
    case TimingMode::clock:
    case TimingMode::globaltimer: return v.reads_clock ? "" : "its kernels do not read the clock";
  }
  return "unknown timing mode";
}

std::unique_ptr<Timer> make_timer(Backend& backend) {
  switch (backend.info().kind) {
    case DeviceKind::cuda: return make_cuda_timer(backend);
    case DeviceKind::sim: return make_sim_timer(backend);
    case DeviceKind::cpu: return make_host_timer(backend);
  }
  throw DeviceError("unknown device");
}

void keep_for_ever(void* p) {
  static auto* kept = new std::vector<void*>;
  kept->push_back(p);
}

double host_now() {
  // Since the first reading, so that a double holds nanoseconds however long the machine has been up.
  static const auto first = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count();
}

double host_clock_resolution_s() {
  double resolution = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    const double start = host_now();
    double now = start;
    while (now == start) now = host_now();
    resolution = std::min(resolution, now - start);
  }
  return resolution;
}

}  // namespace reductio
