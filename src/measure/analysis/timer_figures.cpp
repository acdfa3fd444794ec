#include "measure/analysis/timer_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "measure/stats/statistics.h"

namespace reductio {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

class Figures {
 public:
  Figures(Backend& backend, const Instruments& instruments)
      : backend_(backend),
        timer_(*instruments.timer),
        calls_(*instruments.harness_calls),
        monitor_(*instruments.monitor) {}

  void add(std::string name, std::string what, double value, std::string warning = {}) {
    found.push_back({std::move(name), std::move(what), value, std::move(warning)});
  }

  /// The median of so many samples of a plan on `bytes` bytes; nothing where this timer has no such time.
  std::optional<double> time(Plan& plan, void* in, std::size_t bytes, TimingMode mode, CacheState cache, int samples) {
    if (!timer_.refusal(mode, cache).empty()) return std::nullopt;
    const DeviceMemory out(backend_, 16);
    alignas(16) std::array<std::byte, 16> value{};
    const Call call{.plan = &plan, .info = plan.info(), .in = in, .input_bytes = bytes, .out = out.get(),
                    .result_bytes = 4, .result = value.data()};
    const struct Forgotten {  // also where a sample throws: another plan may get this one's address
      Timer& timer;
      const Plan* plan;
      ~Forgotten() { timer.forget(plan); }
    } forgotten{timer_, &plan};
    std::vector<double> s;
    for (int i = 0; i < samples; ++i)
      if (const auto seconds = timer_.sample(call, mode, cache).seconds) s.push_back(*seconds);
    if (s.empty()) return std::nullopt;
    return median(s);
  }

  void clocks() {
    for (const TimingMode mode : {TimingMode::device, TimingMode::end_to_end}) {
      if (!timer_.refusal(mode, CacheState::warm).empty()) continue;
      const double resolution = timer_.resolution_s(mode);
      add(fmt::format("{}_resolution_s", name(mode)), fmt::format("least difference of two readings, {}", name(mode)),
          resolution, resolution < 2e-6 ? "" : "coarse: short calls cannot be told apart");
      const auto plan = calls_.empty();
      if (!plan) continue;
      const DeviceMemory in(backend_, 16);
      if (const auto floor = time(*plan, in.get(), 16, mode, CacheState::warm, 101))
        add(fmt::format("{}_launch_floor_s", name(mode)), fmt::format("an empty call, {}", name(mode)), *floor,
            *floor < 500e-6 ? "" : "slow: is the machine busy?");
    }
    if (const auto hz = monitor_.clock_hz()) add("clock_hz", "the clock that kernels run at", *hz);
  }

  /// A spin of 200 us, as the difference of two spins: what a spin costs beyond its length is in both.
  void spin() {
    const TimingMode mode =
        timer_.refusal(TimingMode::device, CacheState::warm).empty() ? TimingMode::device : TimingMode::end_to_end;
    const DeviceMemory in(backend_, 16);
    const auto spinning = [&](double seconds) -> std::optional<double> {
      auto empty = calls_.empty();
      if (!empty) return std::nullopt;
      const auto plan = calls_.followed_by_spin(std::move(empty), seconds);
      return time(*plan, in.get(), 16, mode, CacheState::warm, 31);
    };
    const auto shorter = spinning(10e-6), longer = spinning(210e-6);
    if (!shorter || !longer) return;
    const double seen = *longer - *shorter;
    add("spin_200us_s", "a spin of 200 us", seen,
        seen > 195e-6 && seen < 205e-6 ? "" : "not as long as it is: is the machine busy?");
  }

  void cache() {
    const auto probe = monitor_.probe_cache();
    if (!probe || !(probe->warm_s > 0)) return;
    const double clean = probe->cold_clean_s / probe->warm_s, dirty = probe->cold_dirty_s / probe->warm_s;
    const auto warning = [](double ratio) {
      return ratio > 1.15 ? "" : "hardly slower than from a warm cache: cold samples may not be cold";
    };
    add("cold_clean_to_warm", fmt::format("reading {} bytes from a clean cold cache / from a warm one", probe->bytes),
        clean, warning(clean));
    add("cold_dirty_to_warm", "the same from a dirty cold cache", dirty, warning(dirty));
  }

  /// A cold graph finds none of its input in the cache.
  void cold_graph() {
    const std::size_t bytes = std::max<std::size_t>(backend_.info().l2_bytes / 4, 1);
    auto readers = calls_.readers(bytes, TimingMode::graph);
    if (readers.empty()) return;
    const DeviceMemory in(backend_, bytes);
    const auto read = [&](CacheState cache) {
      return time(*readers.front().plan, in.get(), bytes, TimingMode::graph, cache, 15);
    };
    const auto warm = read(CacheState::warm), cold = read(CacheState::cold_clean);
    if (!warm || !cold || !(*warm > 0)) return;
    add("cold_graph_to_warm", "a quarter of L2 read by a cold graph's calls / by a warm one's", *cold / *warm,
        *cold > 1.15 * *warm ? "" : "hardly slower: cold graphs may not be cold");
  }

  void read_ceiling(double peak) {
    const std::size_t bytes = std::min(256 * MiB, backend_.memory_free() / 4);
    auto readers = calls_.readers(bytes, TimingMode::device);
    if (readers.empty() || !(peak > 0)) return;
    const DeviceMemory in(backend_, bytes);
    double best = 0;
    for (auto& [name, plan] : readers)
      if (const auto s = time(*plan, in.get(), bytes, TimingMode::device, CacheState::cold_dirty, 15))
        best = std::max(best, static_cast<double>(bytes) / *s / peak);
    add("read_ceiling_to_theoretical_peak", "the fastest kernel that only reads / theoretical peak", best,
        best > 1   ? "faster than the memory can be: the clock or the peak is wrong"
        : best < 0.5 ? "far below: is the GPU busy, or its clock low?"
                     : "");
  }

  /// Memory that was freed, once waiting for it has ended, slows no copy.
  void freed_memory() {
    if (!timer_.refusal(TimingMode::device, CacheState::cold_dirty).empty()) return;
    const std::size_t bytes = std::min(256 * MiB, backend_.memory_free() / 4);
    const DeviceMemory memory(backend_, bytes);
    const auto plan = plan_of({}, [&](void* in, void*, Stream s) {
      backend_.copy_within(static_cast<std::byte*>(in) + bytes / 2, in, bytes / 2, s);
    });
    const auto copying = [&] {
      return time(*plan, memory.get(), 4, TimingMode::device, CacheState::cold_dirty, 15);
    };
    monitor_.wait_until_memory_idle();
    const auto undisturbed = copying();
    const auto after_freeing = [&](bool waits) {
      { const DeviceMemory freed(backend_, backend_.memory_free() / 4); }
      if (waits) monitor_.wait_until_memory_idle();
      return copying();
    };
    const auto waited = after_freeing(true), at_once = after_freeing(false);
    monitor_.wait_until_memory_idle();
    if (!undisturbed || !waited || !at_once || !(*undisturbed > 0)) return;
    add("after_freeing", "a copy right after memory was freed / undisturbed", *at_once / *undisturbed);
    add("after_freeing_and_waiting", "a copy after waiting until memory is idle / undisturbed", *waited / *undisturbed,
        *waited < 1.03 * *undisturbed ? "" : "waiting until memory is idle does not help, or something else uses it");
  }

  std::vector<Figure> found;

 private:
  Backend& backend_;
  Timer& timer_;
  HarnessCalls& calls_;
  DeviceMonitor& monitor_;
};

}  // namespace

std::vector<Figure> timer_figures(Backend& backend, const Instruments& instruments, double theoretical_peak_bytes_per_s,
                                  const std::function<void(const std::string&)>& notice) {
  if (!instruments.timer->keeps_time()) return {};
  Figures figures(backend, instruments);
  const auto measure = [&](const char* what, auto&& body) {
    try {
      body();
    } catch (const CallTimeout&) {
      throw;
    } catch (const std::exception& e) {  // a device that is lost is told by what is measured next
      notice(fmt::format("the figures of {} are left out: {}", what, e.what()));
    }
  };
  measure("the clocks", [&] { figures.clocks(); });
  measure("a spin", [&] { figures.spin(); });
  measure("the cache", [&] { figures.cache(); });
  measure("a cold graph", [&] { figures.cold_graph(); });
  measure("the read ceiling", [&] { figures.read_ceiling(theoretical_peak_bytes_per_s); });
  measure("freed memory", [&] { figures.freed_memory(); });
  return std::move(figures.found);
}

}  // namespace reductio
