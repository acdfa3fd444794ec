#include "measure/sampling/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "measure/results/csv.h"

namespace reductio {
namespace {

std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

/// A call longer than this hides what the first one on fresh memory costs more than the next.
constexpr double hides_warm_up_s = 1e-3;

}  // namespace

Call call_of(Plan& plan, bool consumes_input, const Input& in, const DeviceMemory& out, HostValue& result) {
  return {.plan = &plan,
          .info = plan.info(),
          .in = consumes_input ? in.scratch() : in.data(),
          .pristine = consumes_input ? in.data() : nullptr,
          .input_bytes = in.bytes(),
          .out = out.get(),
          .result_bytes = out.size(),
          .result = result.bytes.data()};
}

Group::Group(SamplingState& s, std::span<const Point* const> points, const std::function<bool()>& abandon)
    : s_(s), abandon_(abandon), random_(s.seed ^ hash(row_key(*points.front()))) {
  for (const Point* p : points) {
    Member m{};
    m.point = p;
    m.row.point = *p;
    members_.push_back(std::move(m));
  }
}

bool Group::any_open() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return !m.settled; });
}

// ---------------------------------------------------------------------------------------------------------- visits

/// Allocates, runs `body`, frees. `body` says false where it was abandoned or the device was lost.
Group::Visit Group::visit(const std::function<bool()>& body) {
  bool whole = true;
  try {
    if (any_open()) {
      allocate();
      whole = body();
    }
  } catch (const Refused& e) {
    // The input itself does not fit.
    for (Member& m : members_)
      if (!m.settled) decline(m, e.what());
  }
  if (device_busy_) {
    // Freeing what a running call works on would wait for it, and it does not end.
    for (Member& m : members_) keep_for_ever(m.plan.release());
    for (HarnessCall& b : harness_calls_) keep_for_ever(b.plan.release());
    keep_for_ever(out_memory_.release());
  }
  release();
  return device_lost_ ? Visit::device_lost : whole ? Visit::done : Visit::abandoned;
}

void Group::allocate() {
  const bool consumed = std::any_of(members_.begin(), members_.end(), [](const Member& m) {
    return !m.settled && m.point->variant->consumes_input;
  });
  input_ = &s_.allocations.input(InputKey(first()), consumed);
  out_memory_ = s_.allocations.with_room_for(
      [&] { return std::make_unique<DeviceMemory>(s_.backend, size_of(first().problem.accumulator())); });
  reference_ = &s_.references.of(first());
}

void Group::release() {
  for (Member& m : members_) {
    if (m.plan) s_.timer.forget(m.plan.get());
    m.plan.reset();
  }
  for (const HarnessCall& b : harness_calls_) s_.timer.forget(b.plan.get());
  out_memory_.reset();
  input_ = nullptr;
}

Call Group::call(Member& m) {
  return call_of(*m.plan, m.point->variant->consumes_input, *input_, *out_memory_, m.result);
}

Call Group::call(HarnessCall& b) { return call_of(*b.plan, false, *input_, *out_memory_, b.result); }

void Group::make_plan_for(Member& m) {
  const Point& p = *m.point;
  m.plan = s_.allocations.with_room_for(
      [&] { return make_plan(*p.variant, p.problem, p.settings, s_.backend.info()); });
  m.info = m.plan->info();
}

/// What is refused before anything was sampled is a row. Later it costs that pass; in the next, memory may be back.
void Group::decline(Member& m, const std::string& why) {
  if (rounds_ == 0) return m.settle(Status::refused, why);
  ++m.passes_refused;
  m.why_refused = why;
  m.plan.reset();
}

/// Runs `body` and turns what it throws into the member's row.
template <class Body>
void Group::guarded(Member& m, Body&& body) {
  try {
    body();
  } catch (const Refused& e) {
    decline(m, e.what());
  } catch (const CallTimeout& e) {
    m.settle(Status::timeout, e.what());
    look_whether_lost(e);
  } catch (const std::exception& e) {
    m.settle(Status::failed, e.what());
    look_whether_lost(e);
  }
}

/// Called where `e` was caught: sets device_lost_ and device_busy_.
void Group::look_whether_lost(const std::exception& e) {
  device_busy_ = dynamic_cast<const CallTimeout*>(&e) != nullptr;
  if (device_busy_) {
    device_lost_ = std::current_exception();
    return;
  }
  try {
    s_.backend.synchronize(Stream{});
  } catch (const std::exception&) {
    device_lost_ = std::current_exception();  // an error that every later call would report again
  }
}

// -------------------------------------------------------------------------------------------------------- piloting

Group::Visit Group::pilot() {
  for (Member& m : members_) decline_what_needs_no_plan(m);
  return visit([&] {
    for (Member& m : members_) {
      if (abandon_()) return false;
      if (!m.settled) guarded(m, [&] { pilot(m); });
      if (device_lost_) return false;
    }
    choose_rounds();
    return true;
  });
}

void Group::decline_what_needs_no_plan(Member& m) {
  const Point& p = *m.point;
  std::string why = refusal(*p.variant, p.device, p.problem, p.settings);
  if (why.empty()) why = s_.timer.refusal(p.timing_mode, p.cache_state);
  if (!why.empty()) m.settle(Status::refused, std::move(why));
}

void Group::pilot(Member& m) {
  make_plan_for(m);
  m.row.block_threads = m.info.block_threads ? std::optional(m.info.block_threads) : std::nullopt;
  m.row.grid_blocks = m.info.grid_blocks ? std::optional(m.info.grid_blocks) : std::nullopt;
  if (std::string why = timing_refusal(*m.point->variant, m.info.result, m.point->timing_mode, m.point->cache_state);
      !why.empty())
    return m.settle(Status::refused, std::move(why));
  if (const auto predicted = predicted_over_limit(m))
    return m.settle(Status::refused, limit_reason(*predicted, rules()));

  // The first call loads the kernels, which would make it look slow, and is the first that is verified.
  const Call c = call(m);
  const double first_s = m.call_s = s_.timer.run(c);
  if (!verify(m)) return;
  if (!s_.timer.keeps_time()) {
    m.samples = 1;
    return;
  }
  Sample sample{};
  if (m.call_s > rules().slow_s) {
    // Slow as predicted, or slow for the loading of kernels? Only the second costs another call.
    const bool as_predicted = s_.history.predict(*m.point).value_or(0) > rules().slow_s;
    sample.cost_s = sample.seconds.emplace(as_predicted ? m.call_s : s_.timer.run(c));
  } else {
    sample = s_.timer.sample(c, m.point->timing_mode, m.point->cache_state);
  }
  if (!verify(m)) return;
  m.call_s = std::max(sample.seconds.value_or(m.call_s), sample.device_part_s.value_or(0));
  s_.history.note(*m.point, std::min(first_s, m.call_s));  // one that was disturbed predicts nothing
  // What was predicted was too little, or nothing could be.
  if (!rules().full && m.call_s > rules().limit_s)
    return m.settle(Status::refused, fmt::format("a call takes {:.3g} s, over this experiment's limit of {:g} s; "
                                                 "--full runs it", m.call_s, rules().limit_s));
  m.samples = samples_for(rules(), m.call_s, sample.cost_s);
}

/// The predicted time of a call, where it is over the limit. Predicted from the largest smaller size that was
/// measured, scaled linearly. That is too much where the size lies far below and launching decides its time, so
/// before a point is refused, parts of its input are run, at most eight times the last and none predicted over the
/// limit.
std::optional<double> Group::predicted_over_limit(Member& m) {
  if (rules().full) return std::nullopt;
  const std::size_t n = m.point->problem.n;
  const std::size_t first_part = s_.timer.keeps_time() ? std::size_t{1} << 20 : std::size_t{1} << 12;
  auto known = s_.history.largest_below(*m.point);
  if (known && known->n < std::min(first_part, std::size_t{1024})) known.reset();
  if (!known && n <= first_part) return std::nullopt;
  if (!known) known = time_of_part(*m.point, first_part, true);
  const auto over = [&](std::size_t at) { return scale_linearly(*known, at) > rules().limit_s; };
  while (known && (over(n) || n > 8 * known->n)) {
    std::size_t part = 0;
    for (const std::size_t factor : {8, 4, 2})
      if (!part && known->n * factor < n && !over(known->n * factor)) part = known->n * factor;
    if (!part) return over(n) ? std::optional(scale_linearly(*known, n)) : std::nullopt;
    known = time_of_part(*m.point, part, false);
  }
  return std::nullopt;
}

/// Nothing where the variant declines that part. `first_of_all`: this call loads the kernels, which takes long, so a
/// second one is timed.
std::optional<History::Measured> Group::time_of_part(Point part, std::size_t n, bool first_of_all) {
  part.problem.n = n;
  if (!refusal(*part.variant, part.device, part.problem, part.settings).empty()) return std::nullopt;
  Member probe{};
  probe.point = &part;
  make_plan_for(probe);
  const Call c = call(probe);
  double seconds = 0;
  try {
    seconds = s_.timer.run(c);
    if (first_of_all || scale_linearly({n, seconds}, 2 * n) > rules().limit_s)
      seconds = std::min(seconds, s_.timer.run(c));
  } catch (const CallTimeout&) {
    keep_for_ever(probe.plan.release());
    throw;
  }
  s_.history.note(part, seconds);
  return History::Measured{n, seconds};
}

/// Every call's result, not only the first and the last. The row keeps the worst.
bool Group::verify(Member& m) {
  if (m.any_verified && m.result == m.verified) return true;
  const Check check = check_result(m.result.bytes.data(), *reference_, m.info.longest_chain,
                                   m.point->problem.operation, m.info.flushes_subnormals);
  const bool worse = !m.any_verified || !(check.abs_error <= m.row.abs_error.value_or(0));
  if (worse || !check.ok) {
    m.row.result = check.text;
    m.row.abs_error = std::isfinite(check.abs_error) ? std::optional(check.abs_error) : std::nullopt;
    m.row.error_bound = check.error_bound;
  }
  if (!check.ok) {
    m.settle(Status::wrong, check.why);
    return false;
  }
  m.any_verified = true;
  m.verified = m.result;
  return true;
}

void Group::choose_rounds() {
  if (rules().paired) {
    // As many samples for all as the one that gets the fewest, so that every round holds all.
    int fewest = rules().max_samples;
    for (const Member& m : members_)
      if (!m.settled) fewest = std::min(fewest, m.samples);
    for (Member& m : members_) m.samples = fewest;
  }
  for (const Member& m : members_)
    if (!m.settled) rounds_ = std::max(rounds_, m.samples);
  allocations_ = s_.timer.keeps_time() ? std::min(rules().allocations, rounds_) : std::min(rounds_, 1);
  for (Member& m : members_) {
    m.rounds = rounds_of(m.samples, rounds_);
    m.seconds.resize(static_cast<std::size_t>(rounds_));
    m.device_part_s = m.cycles = m.seconds;
  }
  for (int round = 0; round < rounds_; ++round)
    out_.allocations.push_back(allocation_of(round, rounds_, allocations_));
}

// -------------------------------------------------------------------------------------------------------- sampling

Group::Visit Group::sample(int pass, int passes) {
  // Fewer allocations than passes are spread over them.
  const std::vector<int> mine = rounds_of(allocations_, passes);
  const auto at = std::find(mine.begin(), mine.end(), pass);
  if (at == mine.end()) return Visit::done;
  const int allocation = static_cast<int>(at - mine.begin());
  return visit([&] {
    if (harness_calls_.empty()) make_bounds();
    if (!make_plans(allocation) || !wait_until_memory_idle() || !read_clock()) return false;
    for (int round = 0; round < rounds_; ++round)
      if (out_.allocations[static_cast<std::size_t>(round)] == allocation && !sample_round(round, allocation))
        return false;
    return true;
  });
}

void Group::make_bounds() {
  if (!s_.timer.keeps_time() || !rules().harness_calls) return;
  const ByRound none(static_cast<std::size_t>(rounds_));
  if (auto plan = s_.timer.empty_plan()) harness_calls_.push_back({"(launch-floor)", std::move(plan), {}, none, false});
  for (auto& [name, plan] : s_.timer.read_plans(input_->bytes(), first().timing_mode))
    harness_calls_.push_back({"(" + name + ")", std::move(plan), {}, none, false});
}

/// New plans, and so new workspaces, for all that are sampled on `allocation`. Each makes one untimed call, except where
/// that would cost as much as a sample and change nothing. They are made in random order, because what is allocated
/// first may lie better. False if abandoned, or the device was lost.
bool Group::make_plans(int allocation) {
  for (const int i : shuffled(static_cast<int>(members_.size()), random_)) {
    Member& m = members_[static_cast<std::size_t>(i)];
    const bool takes_part = std::any_of(m.rounds.begin(), m.rounds.end(), [&](int r) {
      return out_.allocations[static_cast<std::size_t>(r)] == allocation;
    });
    if (m.settled || !takes_part) continue;
    if (abandon_()) return false;
    guarded(m, [&] {
      make_plan_for(m);
      if (!s_.timer.keeps_time() || m.call_s > hides_warm_up_s) return;
      s_.timer.run(call(m));
      verify(m);
    });
    if (device_lost_) return false;
  }
  return true;
}

/// One round, repeated where the clock was throttled: then all of it is void, for all variants alike. Repeated rounds
/// together are at most as many as were asked for; beyond them the round stays empty, as do rounds of which only a
/// later one shows that the clock was throttled.
bool Group::sample_round(int round, int allocation) {
  for (;;) {
    std::vector<Taken> taken;
    if (!take_samples(round, taken)) return false;
    const double before = clock_hz_;
    if (!read_clock()) return false;
    s_.highest_clock_hz = std::max({s_.highest_clock_hz, before, clock_hz_});
    for (const Taken& t : taken) {
      account(t);
      keep(t, static_cast<std::size_t>(round));
    }
    tries_.push_back({round, allocation, std::min(before, clock_hz_), clock_hz_, false, std::move(taken)});
    void_throttled();
    if (!tries_.back().voided) return true;
    if (++voided_rounds_ >= rounds_) return true;
    s_.timer.let_clock_recover();
    if (!read_clock()) return false;
  }
}

/// Voids what was throttled by the highest clock that is known now, which may have grown since.
void Group::void_throttled() {
  for (Try& t : tries_) {
    if (t.voided || !is_throttled(t.lowest_hz, s_.highest_clock_hz, rules())) continue;
    t.voided = true;
    out_.throttled_hz = std::min(out_.throttled_hz.value_or(t.lowest_hz), t.lowest_hz);
    for (const Taken& taken : t.taken) reject(taken, static_cast<std::size_t>(t.round));
  }
}

/// False if abandoned, or the device was lost.
bool Group::take_samples(int round, std::vector<Taken>& taken) {
  const int variants = static_cast<int>(members_.size()), all = variants + static_cast<int>(harness_calls_.size());
  int position = 0;
  for (const int i : shuffled(all, random_)) {
    if (abandon_()) return false;
    if (i >= variants) {
      HarnessCall& b = harness_calls_[static_cast<std::size_t>(i - variants)];
      if (b.failed) continue;
      b.failed = true;
      const bool alive = own_call(b.name, [&] {
        const Sample s = s_.timer.sample(call(b), first().timing_mode, first().cache_state);
        taken.push_back({nullptr, &b, position++, s});
        b.failed = false;
      });
      if (!alive) return false;
      continue;
    }
    Member& m = members_[static_cast<std::size_t>(i)];
    if (m.settled || !m.plan || std::find(m.rounds.begin(), m.rounds.end(), round) == m.rounds.end()) continue;
    guarded(m, [&] {
      const Sample s = s_.timer.sample(call(m), m.point->timing_mode, m.point->cache_state);
      if (verify(m)) taken.push_back({&m, nullptr, position++, s});
    });
    if (device_lost_) return false;
  }
  return true;
}

/// Runs `body`. Where it throws, the rows do without what it tells; unless the device is lost, whose fault it then is
/// nobody can tell. False if so.
template <class Body>
bool Group::own_call(const std::string& what, Body&& body) {
  try {
    body();
  } catch (const std::exception& e) {
    look_whether_lost(e);
    for (Member& m : members_)
      if (device_lost_ && !m.settled)
        m.settle(Status::failed, fmt::format("while {} ran, an own call of the harness: {}", what, e.what()));
  }
  return !device_lost_;
}

/// What was freed since the last samples may be gigabytes. False if the device was lost.
bool Group::wait_until_memory_idle() {
  const double since = host_now();
  const bool alive = own_call("the memory's probe", [&] { out_.times_memory_stayed_busy += !s_.timer.wait_until_memory_idle(); });
  out_.spent += {.memory_wait_s = host_now() - since};
  return alive;
}

/// Unknown where it cannot be read. False if the device was lost.
bool Group::read_clock() {
  clock_hz_ = 0;
  return own_call("the reading of the kernels' clock", [&] { clock_hz_ = s_.timer.clock_hz().value_or(0); });
}

void Group::keep(const Taken& t, std::size_t round) {
  if (t.bound) {
    t.bound->seconds[round] = t.sample.seconds;
    return;
  }
  Member& m = *t.member;
  m.seconds[round] = t.sample.seconds;
  m.device_part_s[round] = t.sample.device_part_s;
  m.cycles[round] = t.sample.cycles;
  ++m.row.n_samples;
}

/// Takes back what keep() kept.
void Group::reject(const Taken& t, std::size_t round) {
  if (t.bound) {
    t.bound->seconds[round].reset();
    return;
  }
  Member& m = *t.member;
  m.seconds[round].reset();
  m.device_part_s[round].reset();
  m.cycles[round].reset();
  --m.row.n_samples;
  ++m.row.n_rejected;
}

void Group::account(const Taken& t) {
  const Sample& s = t.sample;
  out_.spent += {.timed_s = s.timed_s, .prepared_s = s.prepared_s, .around_s = s.cost_s - s.timed_s - s.prepared_s};
}

void Group::record(const Taken& t, const Try& in) {
  const Sample& s = t.sample;
  if (!s.seconds && !s.cycles) return;
  RawSample sample{.run_id = s_.run_id,
                   .point = t.bound ? first() : *t.member->point,
                   .round = in.round,
                   .allocation = in.allocation,
                   .position = t.position,
                   .time_s = s.seconds,
                   .device_part_s = s.device_part_s,
                   .cycles = s.cycles,
                   .clock_hz = in.clock_hz > 0 ? std::optional(in.clock_hz) : std::nullopt,
                   .voided = in.voided};
  if (t.bound) sample.point.variant = t.bound->name, sample.point.settings = "";
  out_.samples_csv += csv_record(sample.fields());
}

// ----------------------------------------------------------------------------------------------------- summarising

GroupOutcome Group::finish() {
  if (!device_lost_) {
    void_throttled();
    for (const Try& t : tries_)
      for (const Taken& taken : t.taken) record(taken, t);
    std::vector<ByRound> kernels;
    for (const HarnessCall& b : harness_calls_) {
      const auto s = values(b.seconds);
      if (s.empty()) continue;
      if (b.name == "(launch-floor)") floor_s_ = median(s);
      else kernels.push_back(b.seconds);
    }
    ceiling_ = read_ceiling_of(kernels, out_.allocations, rules().confidence);
    for (Member& m : members_) summarise(m);
  }
  for (Member& m : members_) {
    if (device_lost_ && !m.settled) continue;
    if (m.settled) m.row.n_samples = 0;
    out_.rows.push_back(std::move(m.row));
    out_.seconds.push_back(std::move(m.seconds));
  }
  return std::move(out_);
}

void Group::summarise(Member& m) {
  if (m.settled) return;
  Row& row = m.row;
  const Point& p = *m.point;
  if (const auto cycles = values(m.cycles); !cycles.empty()) row.cycles_median = median(cycles);
  if (const auto parts = values(m.device_part_s); !parts.empty()) {
    row.device_part_median_s = median(parts);
    const Interval part = no_narrower_than(interval_of(m.device_part_s, out_.allocations, rules().confidence).interval,
                                           *row.device_part_median_s, s_.timer.resolution_s(TimingMode::device));
    row.device_part_ci_low_s = part.low;
    row.device_part_ci_high_s = part.high;
  }
  const auto seconds = values(m.seconds);
  if (row.n_rejected > 0 && row.n_samples == 0)
    return m.settle(Status::failed, fmt::format("the GPU's clock was throttled in every round, down to {:.0f} MHz; let "
                                                "it cool, and see that nothing else runs on it",
                                                out_.throttled_hz.value_or(0) * 1e-6));
  if (seconds.empty() && m.passes_refused > 0) return m.settle(Status::refused, m.why_refused);
  if (seconds.empty()) return;

  const double resolution = s_.timer.resolution_s(p.timing_mode);
  const MedianInterval interval = interval_of(m.seconds, out_.allocations, rules().confidence);
  row.timer_resolution_s = resolution;
  row.time_median_s = median(seconds);
  const Interval shown = no_narrower_than(interval.interval, *row.time_median_s, resolution);
  row.time_ci_low_s = shown.low;
  row.time_ci_high_s = shown.high;
  row.time_min_s = *std::min_element(seconds.begin(), seconds.end());
  row.time_p95_s = quantile(seconds, 0.95);
  row.launch_floor_s = floor_s_;
  if (ceiling_) {
    row.read_time_s = ceiling_->median_s;
    row.share_of_read_ceiling = share_of(ceiling_->seconds, m.seconds);
  }
  if (interval.confidence < rules().confidence)
    row.reason = fmt::format("the interval is min..max: {} samples give it a confidence of {:.3g}, not {:g}",
                             seconds.size(), interval.confidence, rules().confidence);
  else if (!interval.enough)
    row.reason = fmt::format("the interval is min..max: {} allocations are too few for a confidence of {:g}",
                             allocations_, rules().confidence);
  if (m.passes_refused > 0)
    row.reason += fmt::format("{}{} of {} passes were refused, {}", row.reason.empty() ? "" : "; ", m.passes_refused,
                              allocations_, m.why_refused);
  const bool bounded = p.timing_mode == TimingMode::device || p.timing_mode == TimingMode::graph;
  if (p.device == DeviceKind::cuda && bounded && p.cache_state != CacheState::warm && p.problem.n > 0)
    if (std::string why =
            impossibility(p.problem.bytes(), *row.time_median_s, shown, ceiling_, s_.theoretical_peak_bytes_per_s);
        !why.empty()) {
      row.status = Status::impossible;
      row.reason = std::move(why);
    }
}

}  // namespace reductio
