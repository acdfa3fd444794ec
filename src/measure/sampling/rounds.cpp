#include "measure/sampling/rounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "core/bytes.h"
#include "measure/plan/budget.h"
#include "measure/timing/host_clock.h"

namespace reductio {
namespace {

/// In longer calls, what the first one on fresh memory costs extra does not show.
constexpr double hides_warm_up_s = 1e-3;

bool shows_what_ran_before(const Member& m) { return m.call_s <= hides_warm_up_s; }
bool shows_what_ran_before(const HarnessCall&) { return true; }

std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// A blocking call, such as Thrust's, allocates its workspace each time. If calls are the first in a while, it is
/// sampled among the others.
bool allocates(const Point& p) {
  return p.in_loop && p.variant->result_of(p.settings) == ResultLocation::on_host;
}

/// Rounded to 0.1 ns, far below any clock's resolution: further digits are noise and would be most of the raw-sample
/// file.
void round_times(Sample& s) {
  for (std::optional<double>* time : {&s.seconds, &s.device_part_s})
    if (*time) **time = std::round(**time * 1e10) / 1e10;
}

/// Asked for each sample: a search from the start would take longer than the samples where there are 10^5 of a point.
bool contains(const std::vector<int>& ascending, int round) {
  return std::binary_search(ascending.begin(), ascending.end(), round);
}

/// Drops unfinished rows and all samples: a resumed run measures them again and must not find them twice.
void keep_settled(const std::vector<bool>& settled, GroupOutcome& out) {
  GroupOutcome kept = out;
  kept.rows.clear();
  kept.seconds.clear();
  kept.samples_csv.clear();
  for (std::size_t i = 0; i < settled.size(); ++i)
    if (settled[i]) {
      kept.rows.push_back(std::move(out.rows[i]));
      kept.seconds.push_back(std::move(out.seconds[i]));
    }
  out = std::move(kept);
}

}  // namespace

Rounds::Rounds(Group& group, std::size_t index)
    : group_(group), s_(group.state), random_(s_.order_seed ^ hash(row_key(group.first()) + std::to_string(index))) {
  choose_rounds();
}

/// Which rounds each point takes part in, and in which context each round is.
void Rounds::choose_rounds() {
  if (s_.rules.paired) {
    // Paired: all get as many samples as the one that gets fewest, so every round holds all.
    int fewest = s_.rules.max_samples;
    for (const Member& m : group_.members)
      if (!m.settled()) fewest = std::min(fewest, m.samples);
    for (Member& m : group_.members) m.samples = fewest;
  }
  for (const Member& m : group_.members)
    if (!m.settled()) rounds_ = std::max(rounds_, m.samples);
  contexts_ = std::min(s_.timer().keeps_time() ? s_.rules.contexts : 1, rounds_);
  for (Member& m : group_.members) m.rounds = rounds_of(m.samples, rounds_, contexts_);
  for (int round = 0; round < rounds_; ++round) context_of_.push_back(context_of(round, rounds_, contexts_));
}

End Rounds::sample(int context, const std::function<bool()>& abandon) {
  return group_.with_memory([&] {
    if (group_.harness_calls.empty() || !group_.harness_calls.front().plan) make_harness_calls();
    // Calls that allocate are sampled first, while no other plan holds memory: beside 60 plans thrust::reduce was up to
    // 10 % slower (one H200).
    return sample(context, Part::allocating, abandon) && sample(context, Part::others, abandon);
  });
}

/// False if abandoned, or the device was lost.
bool Rounds::sample(int context, Part part, const std::function<bool()>& abandon) {
  const auto& all = group_.members;
  if (part == Part::allocating &&
      std::none_of(all.begin(), all.end(), [&](const Member& m) { return takes_part(m, context, part); }))
    return true;
  if (!make_plans(context, part, abandon) || !wait_until_memory_idle() || !read_clock()) return false;
  for (int round = 0; round < rounds_; ++round)
    if (context_of_[static_cast<std::size_t>(round)] == context && !sample_round(round, part, abandon)) return false;
  return true;
}

bool Rounds::takes_part(const Member& m, Part part) {
  return !m.settled() && allocates(*m.point) == (part == Part::allocating);
}

bool Rounds::takes_part(const Member& m, int context, Part part) const {
  return takes_part(m, part) && std::any_of(m.rounds.begin(), m.rounds.end(), [&](int round) {
           return context_of_[static_cast<std::size_t>(round)] == context;
         });
}

void Rounds::make_harness_calls() {
  if (!s_.timer().keeps_time() || !s_.rules.harness_calls) return;
  const std::vector<HarnessCall> of_another_process = std::exchange(group_.harness_calls, {});
  HarnessCalls& calls = *s_.instruments.harness_calls;
  if (auto plan = calls.empty())
    group_.harness_calls.push_back({.name = std::string(launch_floor_name), .plan = std::move(plan)});
  if (group_.first().timing_mode == TimingMode::end_to_end)
    if (auto plan = calls.polled_empty())
      group_.harness_calls.push_back({.name = std::string(polled_floor_name), .plan = std::move(plan)});
  const Point& first = group_.first();
  for (auto& [name, plan] : has_shape(first.problem.operation)
                                ? calls.readers_and_writers(group_.input_bytes(), first.problem.result_bytes(),
                                                            first.timing_mode)
                                : calls.readers(group_.input_bytes(), first.timing_mode))
    group_.harness_calls.push_back({.name = "(" + name + ")", .plan = std::move(plan)});
  for (std::size_t i = 0; i < of_another_process.size(); ++i)
    group_.harness_calls[i].failed = of_another_process[i].failed;
}

/// Makes new plans, and so new workspaces, for all that are sampled in `context`. Each makes one untimed call,
/// because the first in a process loads kernels, which may wait for the device. Each call of a graph is checked.
/// Plans are made in random order, as what is allocated first may be placed better. False if abandoned or the device
/// was lost.
bool Rounds::make_plans(int context, Part part, const std::function<bool()>& abandon) {
  for (const int i : shuffled(static_cast<int>(group_.members.size()), random_)) {
    Member& m = group_.members[static_cast<std::size_t>(i)];
    if (!takes_part(m, context, part)) continue;
    if (abandon()) return false;
    const bool alive = group_.guarded(m, [&] {
      group_.make_plan_for(m);
      if (!s_.timer().keeps_time()) return;
      s_.timer().run(group_.call(m));
      if (group_.verify(m)) group_.verify_graph(m);
    });
    if (!alive) return false;
  }
  return true;
}

/// One round. summarise() decides later whether the clock was throttled, which voids it for all variants.
bool Rounds::sample_round(int round, Part part, const std::function<bool()>& abandon) {
  TakenRound taken;
  taken.round = round;
  if (!take_samples(taken, part, abandon)) return false;
  const double before = clock_hz_;
  if (!read_clock()) return false;
  s_.highest_clock_hz = std::max({s_.highest_clock_hz, before, clock_hz_});
  taken.lowest_hz = std::min(before, clock_hz_);
  for (const TakenSample& one : taken.samples) {
    const Sample& s = one.sample;
    spent_ += {.timed_s = s.timed_s, .prepared_s = s.prepared_s, .around_s = s.cost_s - s.timed_s - s.prepared_s};
  }
  taken_.push_back(std::move(taken));
  return true;
}

/// False if abandoned, or the device was lost.
bool Rounds::take_samples(TakenRound& taken, Part part, const std::function<bool()>& abandon) {
  const std::size_t points = group_.members.size();
  for (const int i : shuffled(static_cast<int>(points + group_.harness_calls.size()), random_)) {
    if (abandon()) return false;
    const auto call = static_cast<std::size_t>(i);
    const auto sample = [&](auto& of) {
      Call call = group_.call(of);
      call.in_loop = group_.first().in_loop &&
                     (shows_what_ran_before(of) || group_.first().timing_mode == TimingMode::graph);
      Sample taken_now = s_.timer().sample(call, group_.first().timing_mode, group_.first().cache_state);
      round_times(taken_now);
      return taken_now;
    };
    bool alive = true;
    if (call >= points) {
      HarnessCall& c = group_.harness_calls[call - points];
      if (c.failed || part == Part::allocating) continue;
      c.failed = true;
      alive = group_.guarded(c.name, [&] {
        const Sample s = sample(c);
        taken.samples.push_back({call, s});
        c.failed = false;
      });
    } else {
      Member& m = group_.members[call];
      if (!takes_part(m, part) || !m.plan || !contains(m.rounds, taken.round)) continue;
      alive = group_.guarded(m, [&] {
        const Sample s = sample(m);
        if (group_.verify(m)) taken.samples.push_back({call, s});
      });
    }
    if (!alive) return false;
  }
  return true;
}

/// Waits, because the driver may be overwriting gigabytes freed since the last samples. False if the device was lost.
bool Rounds::wait_until_memory_idle() {
  const double since = host_now();
  const bool alive = group_.guarded(
      "the memory's probe", [&] { times_memory_stayed_busy_ += !s_.instruments.monitor->wait_until_memory_idle(); });
  spent_ += {.memory_wait_s = host_now() - since};
  return alive;
}

/// Unknown where it cannot be read. False if the device was lost.
bool Rounds::read_clock() {
  clock_hz_ = 0;
  return group_.guarded("the reading of the kernels' clock",
                        [&] { clock_hz_ = s_.instruments.monitor->clock_hz().value_or(0); });
}

void Rounds::begin_apart() {
  taken_.clear();
  spent_ = {};
  times_memory_stayed_busy_ = 0;
}

std::string Rounds::sampled_apart() {
  BytesOut out;
  std::size_t rounds = taken_.size();
  out(random_, spent_, times_memory_stayed_busy_, s_.highest_clock_hz, rounds);
  for (TakenRound& r : taken_) out(r.round, r.lowest_hz, r.samples);
  std::size_t calls = group_.harness_calls.size();
  out(calls);
  for (HarnessCall& c : group_.harness_calls) out(c.name, c.failed);
  return out.bytes;
}

void Rounds::take_over(const std::string& bytes) {
  BytesIn in(bytes);
  Spent spent;
  int stayed_busy = 0;
  double highest_hz = 0;
  std::size_t rounds = 0, calls = 0;
  in(random_, spent, stayed_busy, highest_hz, rounds);
  spent_ += spent;
  times_memory_stayed_busy_ += stayed_busy;
  s_.highest_clock_hz = std::max(s_.highest_clock_hz, highest_hz);
  for (; rounds > 0; --rounds) {
    TakenRound& r = taken_.emplace_back();
    in(r.round, r.lowest_hz, r.samples);
  }
  in(calls);
  group_.harness_calls.clear();
  for (; calls > 0; --calls) {
    HarnessCall& c = group_.harness_calls.emplace_back();
    in(c.name, c.failed);
  }
}

GroupOutcome Rounds::so_far() const {
  GroupSamples samples{.points = {},
                       .harness_calls = {},
                       .contexts = context_of_,
                       .rounds = taken_,
                       .highest_clock_hz = s_.highest_clock_hz,
                       .resolution_s = s_.timer().resolution_s(group_.first().timing_mode),
                       .device_part_resolution_s = s_.timer().resolution_s(TimingMode::device),
                       .theoretical_peak_bytes_per_s = s_.theoretical_peak_bytes_per_s,
                       .load_limit_bytes_per_s = s_.load_limit_bytes_per_s,
                       .written = s_.keeps_samples};
  for (const Member& m : group_.members) samples.points.push_back(m);
  for (const HarnessCall& c : group_.harness_calls) samples.harness_calls.push_back(c.name);
  GroupOutcome out = summarise(samples, s_.rules, s_.run_id);
  out.spent = spent_;
  out.times_memory_stayed_busy = times_memory_stayed_busy_;
  return out;
}

GroupOutcome Rounds::finish() const {
  GroupOutcome out = so_far();
  std::vector<bool> settled;
  for (const Member& m : group_.members) settled.push_back(m.settled());
  if (group_.device_lost) keep_settled(settled, out);
  return out;
}

std::vector<int> shuffled(int count, std::mt19937_64& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

}  // namespace reductio
