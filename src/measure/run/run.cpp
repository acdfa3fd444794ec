#include "measure/run/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "core/error.h"
#include "measure/timing/nvml.h"
#include "measure/results/writer.h"
#include "measure/plan/grouping.h"
#include "measure/sampling/sampler.h"
#include "measure/run/session.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

std::atomic<int> interrupts{0};

extern "C" void count_interrupt(int signal) {
  if (interrupts.fetch_add(1) < 2) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string new_run_id() {
  std::random_device random;
  std::string when = utc_now();
  std::erase_if(when, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("{}-{:08x}", when, random());
}

Json describe(const std::optional<GpuState>& s) {
  if (!s) return nullptr;
  const auto number = [](std::optional<double> v) { return v ? Json(*v) : Json(); };
  return {{"sm_clock_hz", number(s->sm_clock_hz)},
          {"memory_clock_hz", number(s->memory_clock_hz)},
          {"temperature_c", number(s->temperature_c)},
          {"power_w", number(s->power_w)},
          {"throttle_reasons", s->throttle_reasons ? Json(throttle_text(*s->throttle_reasons)) : Json()}};
}

std::optional<GpuState> state_of(const Machine& m) {
  return m.gpu ? gpu_state(m.gpu->uuid) : std::nullopt;
}

Json describe(const SamplingRules& r) {
  return {{"min_samples", r.min_samples},       {"max_samples", r.max_samples}, {"point_budget_s", r.time_budget_s},
          {"slow_s", r.slow_s},                 {"slow_samples", r.slow_samples}, {"limit_s", r.limit_s},
          {"full", r.full},                     {"allocations", r.allocations}, {"batch_s", r.batch_s},
          {"confidence", r.confidence},         {"clock_floor", r.clock_floor},
          {"paired", r.paired},                 {"bounds", r.harness_calls}};
}

/// Tick and launch floor of a mode, in the state of the first point of that mode, else of the first of all, or warm where
/// that cannot be; null where the timer has no such mode.
Json measure_clock(Timer& timer, Backend& backend, TimingMode mode, const std::vector<Point>& points) {
  if (!timer.keeps_time() || points.empty()) return nullptr;
  const auto first = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.timing_mode == mode; });
  CacheState cache = (first == points.end() ? points.front() : *first).cache_state;
  if (!timer.refusal(mode, cache).empty()) cache = CacheState::warm;
  if (!timer.refusal(mode, cache).empty()) return nullptr;
  const double resolution_s = timer.resolution_s(mode);
  Json out = {{"resolution_s", resolution_s > 0 ? Json(resolution_s) : Json()}};
  // Those are read by kernels themselves: there is no launch in them.
  if (mode == TimingMode::clock || mode == TimingMode::globaltimer) return out;
  const auto plan = timer.empty_plan();
  if (!plan) return out;
  const DeviceMemory memory(backend, 16);
  alignas(16) std::byte value[16];
  const Call call{.plan = plan.get(), .info = plan->info(), .in = memory.get(), .out = memory.get(),
                  .result_bytes = 4, .result = value};
  const struct Forgotten {  // also where a sample throws: another plan may get this one's address
    Timer& timer;
    const Plan* plan;
    ~Forgotten() { timer.forget(plan); }
  } forgotten{timer, plan.get()};
  std::vector<double> s;
  for (int i = 0; i < 101; ++i)
    if (const auto sample = timer.sample(call, mode, cache); sample.seconds) s.push_back(*sample.seconds);
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

/// Sets entry[key], or entry[key][inner], to what `measure` gives. No row needs it, so where it fails it is left out with
/// a notice. Throws where the device is lost, which no row would survive. `path`: "key" or "key/inner".
template <class Measure>
void record(Json& entry, const std::string& path, const Session& session, RunObserver& observer, Measure&& measure) {
  try {
    if (Json measured = measure(); !measured.is_null())
      entry[Json::json_pointer("/" + path)] = std::move(measured);
  } catch (const CallTimeout&) {
    throw;  // it still runs: waiting for it would not end
  } catch (const std::exception& e) {
    session.backend->synchronize(Stream{});  // throws what every later call would report again
    observer.notice(fmt::format("'{}' could not be measured and is left out of machine.json: {}", path, e.what()));
  }
}

/// Times of rows that an earlier part of this run measured, so that predictions go on where they were.
void remember(History& history, const std::vector<Row>& rows, const std::vector<Point>& points) {
  std::map<std::string, const Point*> by_key;
  for (const Point& p : points) by_key.emplace(row_key(p), &p);
  for (const Row& row : rows) {
    const auto point = by_key.find(row_key(row.point));
    if (point != by_key.end() && row.time_median_s) history.note(*point->second, *row.time_median_s);
  }
}

}  // namespace

Interrupts::Interrupts() {
  interrupts = 0;
  struct sigaction count {};
  count.sa_handler = count_interrupt;
  sigaction(SIGINT, &count, &earlier_interrupt_);
  sigaction(SIGTERM, &count, &earlier_terminate_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &earlier_interrupt_, nullptr);
  sigaction(SIGTERM, &earlier_terminate_, nullptr);
}

int Interrupts::count() { return interrupts; }

std::vector<Point> choose_points(const Experiment& e, const Selection& selection, DeviceKind device, bool quick) {
  std::vector<Point> points = e.points(selection, device);
  if (quick && selection.sizes.empty()) {
    std::set<std::size_t> sizes;
    for (const Point& p : points) sizes.insert(p.problem.n);
    // Every fourth size, up to where a call costs nothing.
    std::set<std::size_t> kept;
    std::size_t i = 0;
    for (const std::size_t n : sizes)
      if (i++ % 4 == 0 && (n <= (std::size_t{1} << 22) || kept.empty())) kept.insert(n);
    std::erase_if(points, [&](const Point& p) { return !kept.contains(p.problem.n); });
  }
  std::set<std::string> keys;
  std::erase_if(points, [&](const Point& p) { return !keys.insert(row_key(p)).second; });
  if (points.empty())
    throw UsageError("experiment '" + e.name + "' has no point for this selection on device " +
                     std::string(name(device)));
  return points;
}

SamplingRules choose_rules(const Experiment& e, const RunOptions& o) {
  SamplingRules rules = e.rules;
  if (o.quick) {
    rules.max_samples = rules.min_samples;
    rules.time_budget_s = 0.02;
    rules.allocations = std::min(rules.allocations, 3);
  }
  if (o.min_samples) rules.min_samples = *o.min_samples;
  if (o.max_samples) rules.max_samples = *o.max_samples;
  if (o.min_samples && !o.max_samples) rules.max_samples = std::max(rules.max_samples, rules.min_samples);
  if (o.max_samples && !o.min_samples) rules.min_samples = std::min(rules.max_samples, rules.min_samples);
  if (o.confidence) rules.confidence = *o.confidence;
  if (o.time_budget_s) rules.time_budget_s = *o.time_budget_s;
  rules.full = rules.full || o.full;
  if (rules.min_samples < 1 || rules.max_samples < 1)
    throw UsageError("a point needs at least one sample; give --min-samples and --max-samples 1 or more");
  if (rules.max_samples < rules.min_samples)
    throw UsageError(
        fmt::format("--max-samples {} is less than --min-samples {}", rules.max_samples, rules.min_samples));
  require_confidence(rules.confidence);
  if (!(rules.time_budget_s > 0 && std::isfinite(rules.time_budget_s)))
    throw UsageError(fmt::format("--timeout {:g} is no time for sampling a point; give seconds, more than 0",
                                 rules.time_budget_s));
  // Samples that the user demands are demanded of slow calls, too.
  rules.slow_samples = std::clamp(rules.slow_samples, o.min_samples.value_or(1), rules.max_samples);
  return rules;
}

RunReport run_session(Session session, RunObserver& observer) {
  const double begin = host_now();
  const Interrupts catching;
  RunReport report;
  report.points = session.points.size();

  if (session.options.profile) {
    Sampler sampler({*session.backend, *session.timer, session.rules, session.seed});
    observer.started({}, session.points.size(), 0);
    for (const auto& indices : group_points(session.points)) {
      std::vector<const Point*> group;
      for (const std::size_t i : indices) group.push_back(&session.points[i]);
      sampler.profile(group, [&](const std::string& text) { observer.notice(text); });
      if (Interrupts::count()) break;
    }
    report.interrupted = Interrupts::count() > 0;
    report.measured_s = host_now() - begin;
    return report;
  }

  std::optional<Results> results;
  if (session.keeps_rows) {
    const auto folder = session.folder.empty() ? session.options.out / session.machine.name : session.folder;
    results.emplace(folder, session.machine,
                    RunRecord{new_run_id(), session.experiment, utc_now(), session.options.arguments, session.seed},
                    session.options.resume);
    report.csv = results->csv_path();
    for (const std::string& text : results->notices()) observer.notice(text);
    const auto there = [&](const Point& p) { return results->has(row_key(p)); };
    report.skipped =
        static_cast<std::size_t>(std::count_if(session.points.begin(), session.points.end(), there));
    std::erase_if(session.points, there);
  }
  // Rows that are kept nowhere have one, too: what is printed of them can be told from another run's.
  const std::string run_id = results ? results->run_id() : new_run_id();
  observer.started(report.csv, report.points, report.skipped);

  if (results) {
    Json& entry = results->entry();
    entry["rules"] = describe(session.rules);
    // What an experiment before this one freed shall not be in what is measured next.
    record(entry, "memory_idle_at_start", session, observer, [&] { return Json(session.timer->wait_until_memory_idle()); });
    entry["timing"] = Json::object();
    for (const TimingMode mode : {TimingMode::device, TimingMode::graph, TimingMode::end_to_end, TimingMode::clock,
                                  TimingMode::globaltimer})
      record(entry, "timing/" + std::string(name(mode)), session, observer,
             [&] { return measure_clock(*session.timer, *session.backend, mode, session.points); });
    const bool flushes = std::any_of(session.points.begin(), session.points.end(),
                                     [](const Point& p) { return p.cache_state != CacheState::warm; });
    record(entry, "cache_probe", session, observer, [&] {
      const auto probe = flushes ? session.timer->probe_cache() : std::nullopt;
      if (probe && std::min(probe->cold_clean_s, probe->cold_dirty_s) <= probe->warm_s)
        observer.notice(fmt::format("reading {} bytes takes {:.3g} us from a warm cache, {:.3g} and {:.3g} us from a "
                                    "clean and a dirty cold one: cold rows may not be cold",
                                    probe->bytes, 1e6 * probe->warm_s, 1e6 * probe->cold_clean_s,
                                    1e6 * probe->cold_dirty_s));
      return describe(probe);
    });
    entry["gpu_state_at_start"] = describe(state_of(session.machine));
    results->write_machine();
  }

  std::optional<double> peak;
  if (session.machine.gpu && session.machine.gpu->memory_peak_bytes_per_s() > 0)
    peak = session.machine.gpu->memory_peak_bytes_per_s();
  auto sampler =
      std::make_unique<Sampler>(Sampling{*session.backend, *session.timer, session.rules, session.seed,
                                         run_id, peak});
  if (results) remember(sampler->history(), results->earlier_rows(), session.points);

  std::vector<std::vector<const Point*>> groups;
  std::vector<double> costs;
  for (const auto& indices : group_points(session.points)) {
    groups.emplace_back();
    costs.push_back(0);
    for (const std::size_t i : indices) {
      groups.back().push_back(&session.points[i]);
      costs.back() += rough_cost_s(session.points[i], session.rules);
    }
  }
  const auto cost_of = [&](std::size_t first, std::size_t last) {
    return std::accumulate(costs.begin() + static_cast<std::ptrdiff_t>(first),
                           costs.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  };
  std::size_t done = report.skipped;
  bool told = false, worth_finishing = false;
  const auto abandon = [&] {
    if (Interrupts::count() == 1 && worth_finishing && !told) {
      told = true;
      observer.notice("stopping when the rows under way are done, which may take a minute; interrupt again to drop them");
    }
    return Interrupts::count() > (worth_finishing ? 1 : 0);
  };
  const double measuring_since = host_now();
  // Without a clock there is nothing to spread over time.
  for (const auto& [first, last] : batches_of(costs, session.timer->keeps_time() ? session.rules.batch_s : 0)) {
    if (Interrupts::count()) break;
    worth_finishing = false;
    const double before = cost_of(0, first), batch = cost_of(first, last), all = cost_of(0, costs.size());
    const auto visiting = [&](const Point& of_group, bool sampled, double share) {
      worth_finishing = worth_finishing || (sampled && results);
      const double elapsed = host_now() - measuring_since, so_far = before + share * batch;
      observer.progress(done, report.points, elapsed, so_far > 0 ? elapsed * (all - so_far) / so_far : -1,
                        describe_group(of_group));
    };
    Measurement measured =
        sampler->measure(std::span(groups).subspan(first, last - first), {.abandon = abandon, .visiting = visiting});
    if (measured.abandoned) break;
    for (GroupOutcome& outcome : measured.groups) {
      for (Row& row : outcome.rows) {
        row.run_id = run_id;
        row.timestamp_utc = utc_now();
        row.experiment = session.experiment;
        row.machine = session.machine.name;
        ++report.by_status[static_cast<std::size_t>(row.status)];
      }
      if (results) results->append(outcome.rows, outcome.samples_csv);
      report.spent += outcome.spent;
      report.times_memory_stayed_busy += outcome.times_memory_stayed_busy;
      if (outcome.throttled_hz)
        observer.notice(fmt::format("{}: the GPU's clock fell to {:.0f} MHz; the rounds that it fell in are void",
                                    describe_group(outcome.rows.front().point), *outcome.throttled_hz * 1e-6));
      for (const Row& row : outcome.rows) observer.row(row);
      observer.group(outcome);
      done += outcome.rows.size();
    }
    if (measured.device_lost) {
      std::string why = "the device no longer answers";
      for (const Row& row : measured.groups.front().rows)
        if (row.status == Status::failed || row.status == Status::timeout)
          why = fmt::format("{} stopped the device ({})", row.point.variant, row.reason);
      if (measured.device_busy) {
        // Freeing anything would wait for the call that does not end.
        keep_for_ever(sampler.release());
        keep_for_ever(session.timer.release());
        keep_for_ever(session.backend.release());
      }
      if (results) why += "; rows so far are in " + report.csv.string() + ", --resume goes on behind it";
      throw DeviceError(why);
    }
  }
  report.interrupted = Interrupts::count() > 0;
  observer.progress(done, report.points, host_now() - measuring_since, report.interrupted ? -1 : 0, "");
  report.measured_s = host_now() - begin;
  if (report.times_memory_stayed_busy)
    observer.notice(fmt::format("at {} visits of groups the memory stayed slower than it had been: something else uses "
                                "it, and these samples may be slow", report.times_memory_stayed_busy));
  // What is not in the samples: allocating and filling inputs, exact references, plans, first calls and pilots, files.
  if (results) {
    Json& entry = results->entry();
    entry["gpu_state_at_end"] = describe(state_of(session.machine));
    entry["ended_utc"] = utc_now();
    entry["time_spent"] = {{"wall_s", report.measured_s},
                           {"timed_s", report.spent.timed_s},
                           {"cache_and_restoring_s", report.spent.prepared_s},
                           {"around_samples_s", report.spent.around_s},
                           {"memory_wait_s", report.spent.memory_wait_s}};
    entry["times_memory_stayed_busy"] = report.times_memory_stayed_busy;
    results->write_machine();
  }
  return report;
}

RunReport run_experiment(const Experiment& e, const Selection& selection, const RunOptions& options,
                         RunObserver& observer) {
  const DeviceKind device = selection.device.value_or(e.device);
  const SamplingRules rules = choose_rules(e, options);
  std::vector<Point> points = choose_points(e, selection, device, options.quick);
  if (options.dry_run) {
    RunReport report;
    report.points = points.size();
    for (const Point& p : points) report.estimated_s += rough_cost_s(p, rules);
    return report;
  }
  Session session{.experiment = e.name, .points = std::move(points), .rules = rules, .options = options,
                  .seed = selection.seed, .machine = {}, .backend = open_backend(device, options.gpu), .timer = {}};
  session.machine = describe_machine(*session.backend);
  session.timer = make_timer(*session.backend);
  return run_session(std::move(session), observer);
}

}  // namespace reductio
