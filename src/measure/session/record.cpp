#include "measure/session/record.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/child.h"
#include "measure/stats/statistics.h"
#include "measure/timing/nvml.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

Json describe(const std::optional<GpuState>& s) {
  if (!s) return nullptr;
  const auto number = [](std::optional<double> v) { return v ? Json(*v) : Json(); };
  return {{"sm_clock_hz", number(s->sm_clock_hz)},
          {"memory_clock_hz", number(s->memory_clock_hz)},
          {"temperature_c", number(s->temperature_c)},
          {"power_w", number(s->power_w)},
          {"throttle_reasons", s->throttle_reasons ? Json(throttle_text(*s->throttle_reasons)) : Json()}};
}

Json state_of(const Machine& m) { return describe(m.gpu ? gpu_state(m.gpu->uuid) : std::nullopt); }

/// By a process of its own, as another run may follow, whose processes use NVML.
Json state_apart(const Machine& m) {
  Json out;
  if (m.gpu)
    run_apart([&](const Child::Send& send) { send({state_of(m).dump()}); },
              [&](const Child::Message& said) { out = Json::parse(said.at(0)); });
  return out;
}

/// Resolution and launch floor of a mode, in the cache state of its first point; else of the first point of all, or
/// warm if that cannot be. Null where the timer lacks the mode.
Json measure_clock(const Instruments& instruments, Backend& backend, TimingMode mode,
                   const std::vector<Point>& points) {
  Timer& timer = *instruments.timer;
  if (!timer.keeps_time() || points.empty()) return nullptr;
  const auto first = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.timing_mode == mode; });
  CacheState cache = (first == points.end() ? points.front() : *first).cache_state;
  if (!timer.refusal(mode, cache).empty()) cache = CacheState::warm;
  if (!timer.refusal(mode, cache).empty()) return nullptr;
  const double resolution_s = timer.resolution_s(mode);
  Json out = {{"resolution_s", resolution_s > 0 ? Json(resolution_s) : Json()}};
  // Those are read by kernels themselves: there is no launch in them.
  if (mode == TimingMode::clock || mode == TimingMode::globaltimer) return out;
  auto plan = instruments.harness_calls->empty();
  if (!plan) return out;
  auto memory = std::make_unique<DeviceMemory>(backend, 16);
  alignas(16) std::byte value[16];
  const Call call{.plan = plan.get(),
                  .info = plan->info(),
                  .in = memory->get(),
                  .out = memory->get(),
                  .result_bytes = 4,
                  .result = value};
  std::vector<double> s;
  try {
    for (int i = 0; i < 101; ++i)
      if (const auto sample = timer.sample(call, mode, cache); sample.seconds) s.push_back(*sample.seconds);
  } catch (const CallTimeout&) {
    keep_for_ever(memory.release());  // freeing would wait for the call that does not end
    keep_for_ever(plan.release());
    throw;
  } catch (...) {
    timer.forget(plan.get());  // another plan may get this one's address
    throw;
  }
  timer.forget(plan.get());
  out["launch_floor_s"] = s.empty() ? Json() : Json(median(s));
  out["launch_floor_cache_state"] = name(cache);
  return out;
}

Json describe(const std::optional<CacheProbe>& probe) {
  if (!probe) return nullptr;
  return {{"bytes", probe->bytes},
          {"warm_s", probe->warm_s},
          {"cold_clean_s", probe->cold_clean_s},
          {"cold_dirty_s", probe->cold_dirty_s}};
}

/// Sets entry[key], or entry[key][inner], to what `measure` returns. No row needs it, so a failure leaves it out with a
/// notice. Throws if the device is lost. `path`: "key" or "key/inner".
template <class Measure>
void record(Json& entry, const std::string& path, Backend& backend, RunObserver& observer, Measure&& measure) {
  try {
    if (Json measured = measure(); !measured.is_null()) entry[Json::json_pointer("/" + path)] = std::move(measured);
  } catch (const CallTimeout&) {
    throw;  // it still runs: waiting for it would not end
  } catch (const std::exception& e) {
    backend.synchronize(backend.stream());  // throws what every later call would report again
    observer.notice(fmt::format("'{}' could not be measured and is left out of machine.json: {}", path, e.what()));
  }
}

/// Merges `key` of two processes of a run; null unless both finished.
template <class Combine>
void combine(Json& entry, const Json& before, const char* key, Combine&& of_both) {
  Json& now = entry[key];
  if (const auto then = before.find(key); then == before.end() || then->is_null() || now.is_null())
    now = nullptr;
  else
    now = of_both(*then, now);
}

Json added(const Json& then, const Json& now) {
  if (!now.is_object())
    return now.is_number_float() ? Json(then.get<double>() + now.get<double>())
                                 : Json(then.get<std::int64_t>() + now.get<std::int64_t>());
  Json sum = now;
  for (auto& [key, value] : sum.items()) value = added(then.at(key), value);
  return sum;
}

void add_what_was_before(Json& entry, const Json& before) {
  combine(entry, before, "time_spent", added);
  combine(entry, before, "times_memory_stayed_busy", added);
  combine(entry, before, "host_cpu", [](const Json& then, const Json& now) {
    if (then.at("samples") == 0) return now;  // and no mean
    if (now.at("samples") == 0) return then;
    const auto chain_s = [](const Json& cpu) {
      return cpu.at("samples").get<double>() * cpu.at("mean_chain_s").get<double>();
    };
    Json sum = added(then, now);
    sum["mean_chain_s"] = (chain_s(then) + chain_s(now)) / sum["samples"].get<double>();
    return sum;
  });
  combine(entry, before, "peak_memory_bytes", [](const Json& then, const Json& now) { return std::max(then, now); });
}

}  // namespace

void record_start(Json& entry, const Session& session, RunObserver& observer) {
  const auto note = [&](const std::string& path, auto&& measure) {
    record(entry, path, *session.backend, observer, measure);
  };
  DeviceMonitor& monitor = *session.instruments.monitor;
  // Memory that an earlier experiment freed must not disturb this one.
  note("memory_idle_at_start", [&] { return Json(monitor.wait_until_memory_idle()); });
  entry["timing"] = Json::object();
  for (const TimingMode mode : all_timing_modes)
    note("timing/" + std::string(name(mode)),
         [&] { return measure_clock(session.instruments, *session.backend, mode, session.points); });
  const bool flushes = std::any_of(session.points.begin(), session.points.end(),
                                   [](const Point& p) { return p.cache_state != CacheState::warm; });
  note("cache_probe", [&] {
    const auto probe = flushes ? monitor.probe_cache() : std::nullopt;
    if (probe && std::min(probe->cold_clean_s, probe->cold_dirty_s) <= probe->warm_s) {
      const bool is_long = probe->warm_s >= 1e-3;
      const double scale = is_long ? 1e3 : 1e6;
      observer.notice(fmt::format(
          "reading {:.3g} MiB takes {:.3g} {unit} from a warm cache, {:.3g} and {:.3g} {unit} from a clean and a dirty "
          "cold one: cold rows may not be cold",
          static_cast<double>(probe->bytes) / (1 << 20), scale * probe->warm_s, scale * probe->cold_clean_s,
          scale * probe->cold_dirty_s, fmt::arg("unit", is_long ? "ms" : "us")));
    }
    return describe(probe);
  });
  if (!entry.contains("gpu_state_at_start")) entry["gpu_state_at_start"] = state_of(session.machine);
}

void record_end(Json& entry, const Machine& machine, const RunReport& report, const Json& before) {
  entry["gpu_state_at_end"] = state_apart(machine);
  entry["ended_utc"] = utc_now();
  entry["interrupted"] = report.interrupted;  // with ended_utc it tells scripts whether the run is complete
  // What is not in the samples: allocating and filling inputs, exact references, plans, first calls and pilots, files.
  entry["time_spent"] = {{"wall_s", report.measured_s},
                         {"timed_s", report.spent.timed_s},
                         {"cache_and_restoring_s", report.spent.prepared_s},
                         {"around_samples_s", report.spent.around_s},
                         {"memory_wait_s", report.spent.memory_wait_s}};
  entry["times_memory_stayed_busy"] = report.times_memory_stayed_busy;
  entry["host_cpu"] = nullptr;
  if (const auto& cpu = report.host_cpu)
    entry["host_cpu"] = {
        {"samples", cpu->samples},
        {"moved", cpu->moved},
        {"on_busy_cpu", cpu->on_busy_cpu},
        {"mean_chain_s", cpu->samples ? Json(cpu->chain_s / static_cast<double>(cpu->samples)) : Json()}};
  std::int64_t peak_kib = 0;  // of the process so far, and of those that it made
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN})
    if (rusage usage{}; getrusage(who, &usage) == 0) peak_kib = std::max<std::int64_t>(peak_kib, usage.ru_maxrss);
  if (peak_kib > 0) entry["peak_memory_bytes"] = peak_kib * 1024;
  if (!before.is_null()) add_what_was_before(entry, before);
}

}  // namespace reductio
