#include "measure/sampling/summarise.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "measure/results/schema.h"
#include "measure/stats/ratio.h"

namespace reductio {
namespace {

/// What one point or harness call took in the rounds that count.
struct Times {
  ByRound seconds, device_part_s, cycles;
  std::size_t counted = 0, voided = 0;  ///< samples
  std::optional<int> fewest_calls{};    ///< in the timed interval of a sample
};

std::vector<Times> times_of(const GroupSamples& g, const std::set<int>& void_rounds) {
  const ByRound none(g.contexts.size());
  std::vector<Times> out(g.points.size() + g.harness_calls.size(), Times{none, none, none});
  for (const TakenRound& r : g.rounds)
    for (const TakenSample& taken : r.samples) {
      Times& times = out[taken.call];
      if (void_rounds.contains(r.round)) {
        ++times.voided;
        continue;
      }
      const auto round = static_cast<std::size_t>(r.round);
      times.seconds[round] = taken.sample.seconds;
      times.device_part_s[round] = taken.sample.device_part_s;
      times.cycles[round] = taken.sample.cycles;
      ++times.counted;
      times.fewest_calls = std::min(times.fewest_calls.value_or(taken.sample.calls), taken.sample.calls);
    }
  return out;
}

/// What the harness calls tell all points of the group.
struct Limits {
  std::optional<double> launch_floor_s, polled_launch_floor_s;
  std::optional<ReadCeiling> read_ceiling;
};

Limits limits_of(const GroupSamples& g, const std::vector<Times>& times, double confidence) {
  Limits out;
  std::vector<ByRound> readers;
  for (std::size_t i = 0; i < g.harness_calls.size(); ++i) {
    const ByRound& seconds = times[g.points.size() + i].seconds;
    const auto known = values(seconds);
    if (known.empty()) continue;
    if (g.harness_calls[i] == launch_floor_name)
      out.launch_floor_s = median(known);
    else if (g.harness_calls[i] == polled_floor_name)
      out.polled_launch_floor_s = median(known);
    else
      readers.push_back(seconds);
  }
  out.read_ceiling = read_ceiling_of(readers, g.contexts, confidence);
  return out;
}

std::optional<double> median_of(const ByRound& by_round) {
  const auto known = values(by_round);
  return known.empty() ? std::nullopt : std::optional(median(known));
}

/// Why an interval is min..max instead of the confidence asked for; empty if it is not.
std::string shortcoming(const CentralTime& time, double confidence) {
  if (time.enough) return {};
  return fmt::format("samples of {} context{} give it a confidence of {:.3g}, not {:g}", time.contexts,
                     time.contexts == 1 ? "" : "s", time.confidence, confidence);
}

void add_sentence(std::string& reason, const std::string& sentence) {
  reason += (reason.empty() ? "" : "; ") + sentence;
}

class Summary {
 public:
  Summary(const GroupSamples& g, const SamplingRules& rules) : g_(g), rules_(rules) {
    for (const TakenRound& r : g.rounds) {
      if (!is_void(r, g.highest_clock_hz, rules)) continue;
      void_rounds_.insert(r.round);
      throttled_hz_ = std::min(throttled_hz_.value_or(r.lowest_hz), r.lowest_hz);
    }
    times_ = times_of(g, void_rounds_);
    limits_ = limits_of(g, times_, rules.confidence);
  }

  GroupOutcome outcome(const std::string& run_id) const {
    GroupOutcome out{.rows = {}, .seconds = {}, .contexts = g_.contexts, .samples_csv = {}};
    if (g_.written) out.samples_csv = raw_samples(run_id);
    out.throttled_hz = throttled_hz_;
    for (std::size_t i = 0; i < g_.points.size(); ++i) {
      out.rows.push_back(row(g_.points[i], times_[i]));
      out.seconds.push_back(times_[i].seconds);
    }
    add_speedups(out);
    return out;
  }

 private:
  Row row(SampledPoint point, const Times& times) const {
    Row& row = point.row;
    row.n_rejected = times.voided;
    if (point.settled()) return row;
    row.cycles_median = median_of(times.cycles);
    const std::string of_part = summarise_device_part(row, times);
    const bool timed = !values(times.seconds).empty();
    if (times.voided > 0 && times.counted == 0)
      point.settle(Status::failed, fmt::format("the GPU's clock was throttled in every round, down to {:.0f} MHz; let "
                                               "it cool, and see that nothing else runs on it",
                                               throttled_hz_.value_or(0) * 1e-6));
    else if (!timed && point.contexts_refused > 0)
      point.settle(point.how_refused, point.why_refused);
    if (point.settled()) return row;
    row.n_samples = times.counted;
    if (timed) summarise_times(point, times, of_part);
    return row;
  }

  /// Says what its interval falls short of.
  std::string summarise_device_part(Row& row, const Times& times) const {
    const auto seconds = values(times.device_part_s);
    if (seconds.empty()) return {};
    const CentralTime time = central_time(times.device_part_s, g_.contexts, rules_.confidence);
    row.device_part_median_s = time.seconds;
    const Interval shown = no_narrower_than(time.interval, time.seconds, g_.device_part_resolution_s);
    row.device_part_ci_low_s = shown.low;
    row.device_part_ci_high_s = shown.high;
    return shortcoming(time, rules_.confidence);
  }

  int contexts() const { return g_.contexts.back() + 1; }

  /// `of_part`: what the device part's interval falls short of.
  void summarise_times(SampledPoint& point, const Times& times, const std::string& of_part) const {
    Row& row = point.row;
    const auto seconds = values(times.seconds);
    const CentralTime time = central_time(times.seconds, g_.contexts, rules_.confidence);
    row.timer_resolution_s = resolution_s(times);
    row.time_median_s = time.seconds;
    const Interval shown = no_narrower_than(time.interval, time.seconds, resolution_s(times));
    row.time_ci_low_s = shown.low;
    row.time_ci_high_s = shown.high;
    row.time_min_s = *std::min_element(seconds.begin(), seconds.end());
    row.time_p95_s = quantile(seconds, 0.95);
    row.launch_floor_s = limits_.launch_floor_s;
    row.polled_launch_floor_s = limits_.polled_launch_floor_s;
    if (limits_.read_ceiling) {
      row.read_time_s = limits_.read_ceiling->time_s;
      row.share_of_read_ceiling = share_of(limits_.read_ceiling->seconds, times.seconds);
    }
    const std::string of_row = shortcoming(time, rules_.confidence);
    if (!of_row.empty()) add_sentence(row.reason, "the interval is min..max: " + of_row);
    if (!of_part.empty())
      add_sentence(row.reason, of_part == of_row ? "so is the device part's"
                                                 : "the device part's interval is min..max: " + of_part);
    if (point.contexts_refused > 0)
      add_sentence(row.reason, fmt::format("{} of {} contexts were refused, {}", point.contexts_refused, contexts(),
                                           point.why_refused));
    if (std::string why = impossibility(row.point.problem.bytes(), *row.time_median_s, shown,
                                        bounds_of(row.point, limits_.read_ceiling, g_));
        !why.empty())
      point.settle(Status::impossible, std::move(why));
  }

  /// Over the group's reference if that is ok. The reference's own row has a speedup of 1.
  void add_speedups(GroupOutcome& out) const {
    std::size_t base = 0;
    while (base < g_.points.size() && !(g_.points[base].is_reference && can_have_speedup(out.rows[base]))) ++base;
    if (base == g_.points.size()) return;
    for (std::size_t i = 0; i < out.rows.size(); ++i) {
      Row& row = out.rows[i];
      if (!can_have_speedup(row)) continue;
      if (!share_a_context(timed_rounds(base), timed_rounds(i))) {
        add_sentence(row.reason, "no speedup: no context has both this and " + out.rows[base].point.variant);
        continue;
      }
      const Ratio r =
          i == base ? Ratio{.enough = true} : paired_ratio(timed_rounds(base), timed_rounds(i), rules_.confidence);
      row.speedup_reference = out.rows[base].point.variant;
      row.speedup = r.value;
      row.speedup_ci_low = r.interval.low;
      row.speedup_ci_high = r.interval.high;
      row.speedup_enough = r.enough;
    }
  }

  static bool can_have_speedup(const Row& row) { return row.status == Status::ok && row.time_median_s > 0.0; }

  /// Of the time of one call: that of an interval is shared by its calls.
  double resolution_s(const Times& times) const { return g_.resolution_s / times.fewest_calls.value_or(1); }

  TimedRounds timed_rounds(std::size_t i) const { return {times_[i].seconds, g_.contexts, resolution_s(times_[i])}; }

  std::string raw_samples(const std::string& run_id) const {
    std::vector<RawSample> samples;
    for (const TakenRound& r : g_.rounds)
      for (const TakenSample& taken : r.samples)
        if (taken.sample.seconds || taken.sample.cycles)  // the simulated device's have neither
          samples.push_back(raw_sample(run_id, r, taken));
    return csv_records(samples);
  }

  RawSample raw_sample(const std::string& run_id, const TakenRound& in, const TakenSample& taken) const {
    const Sample& s = taken.sample;
    const bool of_harness = taken.call >= g_.points.size();
    RawSample out{.run_id = run_id,
                  .point = g_.points[of_harness ? 0 : taken.call].row.point,
                  .round = in.round,
                  .context = g_.contexts[static_cast<std::size_t>(in.round)],
                  .time_s = s.seconds,
                  .device_part_s = s.device_part_s,
                  .cycles = s.cycles,
                  .voided = void_rounds_.contains(in.round)};
    if (of_harness) {
      out.point.variant = g_.harness_calls[taken.call - g_.points.size()];
      out.point.settings.clear();
    }
    return out;
  }

  const GroupSamples& g_;
  const SamplingRules& rules_;
  /// By round number: a void round is void for allocating calls, too, which were sampled before the others.
  std::set<int> void_rounds_;
  std::optional<double> throttled_hz_;
  std::vector<Times> times_;  ///< of the points, then of the harness calls
  Limits limits_;
};

}  // namespace

GroupOutcome summarise(const GroupSamples& g, const SamplingRules& rules, const std::string& run_id) {
  return Summary(g, rules).outcome(run_id);
}

bool is_void(const TakenRound& r, double highest_clock_hz, const SamplingRules& rules) {
  return r.lowest_hz > 0 && r.lowest_hz < rules.clock_floor * highest_clock_hz;
}

TimeBounds bounds_of(const PointKey& p, const std::optional<ReadCeiling>& ceiling, const GroupSamples& g) {
  constexpr std::size_t of_little_latency = std::size_t{16} << 20;  // bytes
  TimeBounds out;
  if (p.timing_mode == TimingMode::clock || p.timing_mode == TimingMode::globaltimer) return out;
  out.load_limit_bytes_per_s = g.load_limit_bytes_per_s;
  if (p.device != DeviceKind::cuda) return out;
  const bool warm = p.cache_state == CacheState::warm;
  if (!warm) out.memory_bytes_per_s = g.theoretical_peak_bytes_per_s;
  // By the host's clock there are no reading kernels.
  const bool by_events = p.timing_mode == TimingMode::device || p.timing_mode == TimingMode::graph ||
                         p.timing_mode == TimingMode::replay;
  // Where latency decides, sums of short rows are faster than a kernel that reads and adds up whole blocks.
  const bool may_have_less_latency = warm || has_shape(p.problem.operation);
  if (ceiling && by_events && (!may_have_less_latency || p.problem.bytes() >= of_little_latency))
    out.ceiling = &*ceiling;
  if (warm) out.times_as_fast = 2;
  return out;
}

std::string impossibility(std::size_t bytes, double median_s, Interval interval, const TimeBounds& bounds) {
  if (bytes == 0) return {};
  const double bandwidth = static_cast<double>(bytes) / median_s;
  if (const auto most = bounds.memory_bytes_per_s; most && bandwidth > *most)
    return fmt::format("{:.4g} TB/s is more than the memory's theoretical peak of {:.4g} TB/s: the cache was not cold, "
                       "or not all was read",
                       bandwidth * 1e-12, *most * 1e-12);
  if (const auto most = bounds.load_limit_bytes_per_s; most && static_cast<double>(bytes) > *most * interval.high)
    return fmt::format("{:.4g} TB/s is more than all cores can load from any cache, {:.4g} TB/s: part of the input was "
                       "not read",
                       bandwidth * 1e-12, *most * 1e-12);
  if (const ReadCeiling* c = bounds.ceiling;
      c && median_s * bounds.times_as_fast < c->time_s && interval.high < c->interval.low)
    return fmt::format("{:.4g} s is {:.1f} % below the time of only reading the input, {:.4g} s", median_s,
                       100 * (1 - median_s / c->time_s), c->time_s);
  return {};
}

}  // namespace reductio
