#include "measure/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "measure/csv.h"

namespace reductio {
namespace {

/// One accumulator in host memory.
struct Value {
  alignas(16) std::array<std::byte, 16> bytes{};
  bool operator==(const Value&) const = default;
};

std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::string cell(std::optional<double> value) { return value ? fmt::format("{}", *value) : std::string(); }

std::string describe(const Point& p) {
  const std::string settings = p.settings.str();
  return fmt::format("{}{}{} {} {} n={} {} {}", p.variant->id, settings.empty() ? "" : " ", settings,
                     name(p.problem.operation), name(p.problem.type), p.problem.n, name(p.timing_mode),
                     name(p.cache_state));
}

}  // namespace

const std::vector<std::string>& sample_columns() {
  static const std::vector<std::string> all{
      "run_id",  "device",   "variant",     "operation",   "element_type", "n",          "offset_elements",
      "dataset", "seed",     "settings",    "timing_mode", "cache_state",  "round",      "allocation",
      "position", "time_s",  "device_part_s", "cycles", "clock_hz", "voided"};
  return all;
}

/// A point on its way to a row.
struct Sampler::Member {
  const Point* point;
  Row row;
  std::unique_ptr<Plan> plan;
  PlanInfo info;
  bool settled = false;  ///< refused, failed, wrong: nothing more to run
  int samples = 0;
  std::vector<int> rounds;
  ByRound seconds, device_part_s, cycles;
  Value result, verified;
  bool any_verified = false;
  double call_s = 0;

  void settle(Status status, std::string reason) {
    settled = true;
    row.status = status;
    row.reason = std::move(reason);
  }
};

/// One of the harness's own calls: the empty one, or a kernel that only reads.
struct Sampler::Reference {
  std::string name;
  std::unique_ptr<Plan> plan;
  Value result;
  ByRound seconds;
  bool failed = false;  ///< called no more
};

/// The state of measuring one group; what Sampler keeps between groups stays there.
class Sampler::Group {
 public:
  Group(Sampler& s, std::span<const Point* const> points, const std::function<bool()>& abandon)
      : s_(s), abandon_(abandon), first_(*points.front()) {
    for (const Point* p : points) {
      Member m{};
      m.point = p;
      m.row.point = *p;
      members_.push_back(std::move(m));
    }
  }

  GroupOutcome run() {
    try {
      for (Member& m : members_) decline_what_needs_no_plan(m);
      if (any_open()) allocate();
      for (Member& m : members_) {
        if (abandon_()) return abandoned();
        if (!m.settled) guarded(m, [&] { pilot(m); });
        if (out_.device_lost) return lost();
      }
      if (rules().paired) pair_up();
      if (any_open() && !sample_rounds()) return out_.device_lost ? lost() : abandoned();
      for (Member& m : members_) summarise(m);
    } catch (const Refused& e) {
      // The input itself does not fit.
      for (Member& m : members_)
        if (!m.settled) m.settle(Status::refused, e.what());
    }
    release_plans();
    for (Member& m : members_) {
      out_.rows.push_back(std::move(m.row));
      out_.seconds.push_back(std::move(m.seconds));
    }
    return std::move(out_);
  }

 private:
  const SamplingRules& rules() const { return s_.rules_; }

  bool any_open() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return !m.settled; });
  }

  // ------------------------------------------------------------------------------------------------- preparing

  void decline_what_needs_no_plan(Member& m) {
    const Point& p = *m.point;
    std::string why = refusal(*p.variant, p.device, p.problem, p.settings);
    if (why.empty()) why = s_.timer_.refusal(p.timing_mode, p.cache_state);
    if (!why.empty()) m.settle(Status::refused, std::move(why));
  }

  void allocate() {
    const bool consumed = std::any_of(members_.begin(), members_.end(), [](const Member& m) {
      return !m.settled && m.point->variant->consumes_input;
    });
    inputs_ = &s_.inputs_for(first_, consumed);
    accumulator_bytes_ = size_of(first_.problem.accumulator());
    out_memory_ = std::make_unique<DeviceMemory>(s_.backend_, accumulator_bytes_);
    reference_ = &s_.references_.of(first_);
  }

  Call call(Member& m, int placement) {
    Call c{.plan = m.plan.get(), .info = m.info};
    const bool consumes = m.point->variant->consumes_input;
    c.in = consumes ? inputs_->scratch(placement) : inputs_->data(placement);
    c.pristine = consumes ? inputs_->data(placement) : nullptr;
    c.input_bytes = inputs_->bytes();
    c.out = out_memory_->get();
    c.result_bytes = accumulator_bytes_;
    c.result = m.result.bytes.data();
    return c;
  }

  Call call(Reference& r, int placement) {
    return {.plan = r.plan.get(),
            .info = r.plan->info(),
            .in = inputs_->data(placement),
            .input_bytes = inputs_->bytes(),
            .out = out_memory_->get(),
            .result_bytes = accumulator_bytes_,
            .result = r.result.bytes.data()};
  }

  void make_plan_for(Member& m) {
    const Point& p = *m.point;
    auto plan = make_plan(*p.variant, p.problem, p.settings, s_.backend_.info());
    // The old plan goes last, so that the new workspace lies elsewhere.
    if (m.plan) s_.timer_.forget(m.plan.get());
    m.plan = std::move(plan);
    m.info = m.plan->info();
  }

  /// Runs `body` and turns what it throws into the member's row.
  template <class Body>
  void guarded(Member& m, Body&& body) {
    try {
      body();
    } catch (const Refused& e) {
      m.settle(Status::refused, e.what());
    } catch (const CallTimeout& e) {
      m.settle(Status::timeout, e.what());
      out_.device_lost = std::current_exception();
      out_.device_busy = true;
    } catch (const std::exception& e) {
      m.settle(Status::failed, e.what());
      try {
        s_.backend_.synchronize(Stream{});
      } catch (const std::exception&) {
        out_.device_lost = std::current_exception();  // an error that every later call would report again
      }
    }
  }

  // -------------------------------------------------------------------------------------------------- piloting

  /// Decides whether the point is measured and by how many samples. Nothing timed here counts.
  void pilot(Member& m) {
    make_plan_for(m);
    m.row.block_threads = m.info.block_threads ? std::optional(m.info.block_threads) : std::nullopt;
    m.row.grid_blocks = m.info.grid_blocks ? std::optional(m.info.grid_blocks) : std::nullopt;
    if (std::string why = timing_refusal(*m.point->variant, m.info.result, m.point->timing_mode, m.point->cache_state);
        !why.empty())
      return m.settle(Status::refused, std::move(why));
    if (const auto predicted = predicted_over_limit(m))
      return m.settle(Status::refused, limit_reason(*predicted, rules()));

    // The first call loads the kernels, which would make it look slow, and is the first that is verified.
    const Call c = call(m, 0);
    m.call_s = s_.timer_.run(c);
    if (!verify(m)) return;
    if (!s_.timer_.keeps_time()) {
      m.samples = 1;
      return;
    }
    Sample sample{};
    if (m.call_s > rules().slow_s) {
      // Slow as predicted, or slow for the loading of kernels? Only the second costs another call.
      const bool as_predicted = s_.history_.predict(*m.point).value_or(0) > rules().slow_s;
      sample.cost_s = sample.seconds.emplace(as_predicted ? m.call_s : s_.timer_.run(c));
    } else {
      sample = s_.timer_.sample(c, m.point->timing_mode, m.point->cache_state);
    }
    if (!verify(m)) return;
    m.call_s = std::max(sample.seconds.value_or(m.call_s), sample.device_part_s.value_or(0));
    // What was predicted was too little, or nothing could be.
    if (!rules().full && m.call_s > rules().limit_s) {
      s_.history_.note(*m.point, m.call_s);
      return m.settle(Status::refused, fmt::format("a call takes {:.2g} s, over this experiment's limit of {:g} s; "
                                                   "--full runs it", m.call_s, rules().limit_s));
    }
    m.samples = samples_for(rules(), m.call_s, sample.cost_s);
  }

  /// The predicted time of a call, where it is over the limit. Predicted from the largest smaller size that was
  /// measured, scaled linearly. That is too much where the size lies far below and launching decides its time, so
  /// before a point is refused, parts of its input are run, at most eight times the last and none predicted over the
  /// limit.
  std::optional<double> predicted_over_limit(Member& m) {
    if (rules().full) return std::nullopt;
    const std::size_t n = m.point->problem.n;
    const std::size_t first_part = s_.timer_.keeps_time() ? std::size_t{1} << 20 : std::size_t{1} << 12;
    auto known = s_.history_.largest_below(*m.point);
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
  std::optional<History::Measured> time_of_part(Point part, std::size_t n, bool first_of_all) {
    part.problem.n = n;
    if (!refusal(*part.variant, part.device, part.problem, part.settings).empty()) return std::nullopt;
    Member probe{};
    probe.point = &part;
    make_plan_for(probe);
    const Call c = call(probe, 0);
    double seconds = s_.timer_.run(c);
    if (first_of_all || scale_linearly({n, seconds}, 2 * n) > rules().limit_s)
      seconds = std::min(seconds, s_.timer_.run(c));
    s_.history_.note(part, seconds);
    return History::Measured{n, seconds};
  }

  /// Every call's result, not only the first and the last. The row keeps the worst.
  bool verify(Member& m) {
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

  // -------------------------------------------------------------------------------------------------- sampling

  /// As many samples for all as the one that gets the fewest, so that every round holds all.
  void pair_up() {
    int fewest = rules().max_samples;
    for (const Member& m : members_)
      if (!m.settled) fewest = std::min(fewest, m.samples);
    for (Member& m : members_) m.samples = fewest;
  }

  void make_references() {
    if (!s_.timer_.keeps_time() || !rules().bounds) return;
    if (auto plan = s_.timer_.empty_plan()) references_.push_back({"(launch-floor)", std::move(plan), {}, {}, false});
    for (auto& [name, plan] : s_.timer_.read_plans(inputs_->bytes(), first_.timing_mode))
      references_.push_back({"(" + name + ")", std::move(plan), {}, {}, false});
  }

  /// False if abandoned, or the device was lost.
  bool sample_rounds() {
    make_references();
    int rounds = 1;
    for (const Member& m : members_)
      if (!m.settled) rounds = std::max(rounds, m.samples);
    const int placements = s_.timer_.keeps_time() ? std::min(inputs_->placements(), rounds) : 1;
    for (Member& m : members_) {
      m.rounds = rounds_of(m.samples, rounds);
      m.seconds.resize(static_cast<std::size_t>(rounds));
      m.device_part_s = m.cycles = m.seconds;
    }
    for (Reference& r : references_) r.seconds.resize(static_cast<std::size_t>(rounds));

    std::mt19937_64 random(s_.seed_ ^ hash(row_key(first_)));
    if (!read_clock()) return false;
    int placement = 0;  // where the pilots ran
    for (int round = 0; round < rounds; ++round) {
      if (const int next = placement_of(round, rounds, placements); next != placement) {
        placement = next;
        if (!move_to(placement, round, rounds, placements)) return false;
      }
      out_.allocations.push_back(placement);
      if (!sample_round(round, rounds, placement, random)) return false;
    }
    for (const Try& t : tries_)
      for (const Taken& taken : t.taken) record(taken, t);
    return true;
  }

  /// New plans, and so new workspaces, for all that are sampled while the input lies at `placement`. Each makes one
  /// untimed call, except where calls are slow: there it would cost as much as a sample and its effect is nothing.
  bool move_to(int placement, int round, int rounds, int placements) {
    for (Member& m : members_) {
      if (m.settled || out_.device_lost) continue;
      if (abandon_()) return false;
      const bool takes_part = std::any_of(m.rounds.begin(), m.rounds.end(), [&](int r) {
        return r >= round && placement_of(r, rounds, placements) == placement;
      });
      if (!takes_part) continue;
      guarded(m, [&] {
        make_plan_for(m);
        if (m.call_s > rules().slow_s) return;
        s_.timer_.run(call(m, placement));
        verify(m);
      });
    }
    return !out_.device_lost;
  }

  /// A sample that was taken in a round which may still be voided.
  struct Taken {
    Member* member;        ///< or
    Reference* reference;  ///< one of the harness's own
    int position;
    Sample sample;
  };

  /// What one try at a round gave.
  struct Try {
    int round, placement;
    double lowest_hz, clock_hz;  ///< of the kernels' clock: the lower of before and after; after
    bool voided;
    std::vector<Taken> taken;
  };

  /// One round, repeated where the clock was throttled: then all of it is void, for all variants alike. Repeated rounds
  /// together are at most as many as were asked for; beyond them the round stays empty, as do rounds of which only a
  /// later one shows that the clock was throttled.
  bool sample_round(int round, int rounds, int placement, std::mt19937_64& random) {
    for (;;) {
      std::vector<Taken> taken;
      if (!take_samples(round, placement, random, taken)) return false;
      const double before = clock_hz_;
      if (!read_clock()) return false;
      const double highest = std::max({s_.highest_clock_hz_, before, clock_hz_});
      const bool higher = highest > std::exchange(s_.highest_clock_hz_, highest);
      for (const Taken& t : taken) {
        account(t);
        keep(t, static_cast<std::size_t>(round));
      }
      tries_.push_back({round, placement, std::min(before, clock_hz_), clock_hz_, false, std::move(taken)});
      void_throttled(higher ? 0 : tries_.size() - 1);
      if (!tries_.back().voided) return true;
      if (++voided_rounds_ >= rounds) return true;
      s_.timer_.let_clock_recover();
      if (!read_clock()) return false;
    }
  }

  /// Voids what was throttled by the highest clock that is known now, from the try `first` on.
  void void_throttled(std::size_t first) {
    for (std::size_t i = first; i < tries_.size(); ++i) {
      Try& t = tries_[i];
      if (t.voided || !is_throttled(t.lowest_hz, s_.highest_clock_hz_, rules())) continue;
      t.voided = true;
      out_.throttled_hz = std::min(out_.throttled_hz.value_or(t.lowest_hz), t.lowest_hz);
      for (const Taken& taken : t.taken) reject(taken, static_cast<std::size_t>(t.round));
    }
  }

  /// False if abandoned, or the device was lost.
  bool take_samples(int round, int placement, std::mt19937_64& random, std::vector<Taken>& taken) {
    const int variants = static_cast<int>(members_.size()), all = variants + static_cast<int>(references_.size());
    int position = 0;
    for (const int i : shuffled(all, random)) {
      if (abandon_()) return false;
      if (i >= variants) {
        Reference& r = references_[static_cast<std::size_t>(i - variants)];
        if (r.failed) continue;
        try {
          taken.push_back({nullptr, &r, position,
                           s_.timer_.sample(call(r, placement), first_.timing_mode, first_.cache_state)});
          ++position;
        } catch (const std::exception& e) {
          r.failed = true;
          if (!own_call_failed(r.name, e)) return false;
        }
        continue;
      }
      Member& m = members_[static_cast<std::size_t>(i)];
      if (m.settled || std::find(m.rounds.begin(), m.rounds.end(), round) == m.rounds.end()) continue;
      guarded(m, [&] {
        const Sample s = s_.timer_.sample(call(m, placement), m.point->timing_mode, m.point->cache_state);
        if (verify(m)) taken.push_back({&m, nullptr, position++, s});
      });
      if (out_.device_lost) return false;
    }
    return true;
  }

  /// Unknown where it cannot be read. False if the device was lost.
  bool read_clock() {
    try {
      clock_hz_ = s_.timer_.clock_hz().value_or(0);
    } catch (const std::exception& e) {
      clock_hz_ = 0;
      return own_call_failed("reading the kernels' clock", e);
    }
    return true;
  }

  /// The rows do without what it tells; unless the device is lost, whose fault it then is nobody can tell. False if so.
  /// Called where `e` was caught.
  bool own_call_failed(const std::string& what, const std::exception& e) {
    std::exception_ptr lost;
    out_.device_busy = dynamic_cast<const CallTimeout*>(&e) != nullptr;
    if (out_.device_busy) {
      lost = std::current_exception();
    } else {
      try {
        s_.backend_.synchronize(Stream{});
      } catch (const std::exception&) {
        lost = std::current_exception();
      }
    }
    if (!lost) return true;
    for (Member& m : members_)
      if (!m.settled)
        m.settle(Status::failed, fmt::format("while {} ran, an own call of the harness: {}", what, e.what()));
    out_.device_lost = lost;
    return false;
  }

  void keep(const Taken& t, std::size_t round) {
    if (t.reference) {
      t.reference->seconds[round] = t.sample.seconds;
      return;
    }
    Member& m = *t.member;
    m.seconds[round] = t.sample.seconds;
    m.device_part_s[round] = t.sample.device_part_s;
    m.cycles[round] = t.sample.cycles;
    ++m.row.n_samples;
  }

  /// Takes back what keep() kept.
  void reject(const Taken& t, std::size_t round) {
    if (t.reference) {
      t.reference->seconds[round].reset();
      return;
    }
    Member& m = *t.member;
    m.seconds[round].reset();
    m.device_part_s[round].reset();
    m.cycles[round].reset();
    --m.row.n_samples;
    ++m.row.n_rejected;
  }

  void account(const Taken& t) {
    const Sample& s = t.sample;
    out_.spent += {.timed_s = s.timed_s, .prepared_s = s.prepared_s, .around_s = s.cost_s - s.timed_s - s.prepared_s};
  }

  void record(const Taken& t, const Try& in) {
    const Sample& s = t.sample;
    if (!s.seconds && !s.cycles) return;
    const Point& p = first_;
    const std::string who = t.reference ? t.reference->name : t.member->point->variant->id;
    const std::string settings = t.reference ? std::string() : t.member->point->settings.str();
    out_.samples_csv +=
        csv_record({s_.run_id_, std::string(name(p.device)), who, std::string(name(p.problem.operation)),
                    std::string(name(p.problem.type)), std::to_string(p.problem.n), std::to_string(p.offset_elements),
                    p.dataset, std::to_string(p.seed), settings, std::string(name(p.timing_mode)),
                    std::string(name(p.cache_state)), std::to_string(in.round), std::to_string(in.placement),
                    std::to_string(t.position), cell(s.seconds), cell(s.device_part_s), cell(s.cycles),
                    in.clock_hz > 0 ? cell(in.clock_hz) : std::string(), in.voided ? "yes" : "no"});
  }

  // ----------------------------------------------------------------------------------------------- summarising

  void summarise(Member& m) {
    if (m.settled) {
      if (m.row.status == Status::wrong || m.row.status == Status::failed) m.row.n_samples = 0;
      return;
    }
    if (!ceiling_known_) {
      std::vector<ByRound> kernels;
      for (const Reference& r : references_) {
        const auto s = values(r.seconds);
        if (s.empty()) continue;
        if (r.name == "(launch-floor)") floor_s_ = median(s);
        else kernels.push_back(r.seconds);
      }
      ceiling_ = ceiling_of(kernels, rules().confidence);
      ceiling_known_ = true;
    }
    Row& row = m.row;
    const Point& p = *m.point;
    if (const auto cycles = values(m.cycles); !cycles.empty()) row.cycles_median = median(cycles);
    if (const auto parts = values(m.device_part_s); !parts.empty()) row.device_part_median_s = median(parts);
    const auto seconds = values(m.seconds);
    if (row.n_rejected > 0 && row.n_samples == 0)
      return m.settle(Status::failed, fmt::format("the GPU's clock was throttled in every round, down to {:.0f} MHz; let "
                                                  "it cool, and see that nothing else runs on it",
                                                  out_.throttled_hz.value_or(0) * 1e-6));
    if (seconds.empty()) return;

    const double tick = s_.timer_.tick_s(p.timing_mode);
    const MedianInterval interval = median_interval(seconds, rules().confidence);
    row.timer_tick_s = tick;
    row.time_median_s = median(seconds);
    const Interval shown = no_narrower_than(interval.interval, *row.time_median_s, tick);
    row.time_ci_low_s = shown.low;
    row.time_ci_high_s = shown.high;
    row.time_min_s = *std::min_element(seconds.begin(), seconds.end());
    row.time_p95_s = quantile(seconds, 0.95);
    row.launch_floor_s = floor_s_;
    if (ceiling_) {
      row.read_time_s = ceiling_->median_s;
      row.share_of_read_ceiling = share_of(ceiling_->seconds, m.seconds);
    }
    s_.history_.note(p, *row.time_median_s);

    if (!interval.enough)
      row.reason = fmt::format("the interval is min..max: {} samples give it a confidence of {:.3g}, not {:g}",
                               seconds.size(), interval.confidence, rules().confidence);
    const bool bounded = p.timing_mode == TimingMode::device || p.timing_mode == TimingMode::graph;
    if (p.device == DeviceKind::cuda && bounded && p.cache_state != CacheState::warm && p.problem.n > 0)
      if (std::string why =
              impossibility(p.problem.bytes(), *row.time_median_s, shown, ceiling_, s_.paper_bytes_per_s_);
          !why.empty()) {
        row.status = Status::impossible;
        row.reason = std::move(why);
      }
  }

  // ------------------------------------------------------------------------------------------------- finishing

  void release_plans() {
    for (Member& m : members_)
      if (m.plan) s_.timer_.forget(m.plan.get());
    for (Reference& r : references_) s_.timer_.forget(r.plan.get());
  }

  GroupOutcome abandoned() {
    release_plans();
    GroupOutcome none;
    none.abandoned = true;
    return none;
  }

  GroupOutcome lost() {
    for (Member& m : members_)
      if (m.settled) {
        m.row.n_samples = 0;
        out_.rows.push_back(std::move(m.row));
      }
    out_.samples_csv.clear();
    if (out_.device_busy) {
      // Freeing what a running call works on would wait for it, and it does not end.
      for (Member& m : members_) keep_for_ever(m.plan.release());
      for (Reference& r : references_) keep_for_ever(r.plan.release());
      keep_for_ever(out_memory_.release());
    } else {
      release_plans();
    }
    return std::move(out_);
  }

  Sampler& s_;
  const std::function<bool()>& abandon_;
  const Point& first_;  ///< what all points of the group share
  std::vector<Member> members_;
  std::vector<Reference> references_;
  Inputs* inputs_ = nullptr;
  const reductio::Reference* reference_ = nullptr;
  std::unique_ptr<DeviceMemory> out_memory_;
  std::size_t accumulator_bytes_ = 0;
  bool ceiling_known_ = false;
  std::optional<Ceiling> ceiling_;
  std::optional<double> floor_s_;
  double clock_hz_ = 0;  ///< of the kernels, at the end of the last round; 0: unknown
  int voided_rounds_ = 0;
  std::vector<Try> tries_;  ///< in the order of time
  GroupOutcome out_;
};

Sampler::Sampler(Backend& backend, Timer& timer, const SamplingRules& rules, std::uint64_t seed, std::string run_id,
                 std::optional<double> paper_bytes_per_s)
    : backend_(backend),
      timer_(timer),
      rules_(rules),
      seed_(seed),
      run_id_(std::move(run_id)),
      paper_bytes_per_s_(paper_bytes_per_s) {}

Sampler::~Sampler() = default;

GroupOutcome Sampler::measure(std::span<const Point* const> group, const std::function<bool()>& abandon) {
  return Group(*this, group, abandon).run();
}

Inputs& Sampler::inputs_for(const Point& p, bool with_scratch) {
  const InputKey key(p);
  if (!inputs_ || inputs_->key() != key || (with_scratch && !inputs_->has_scratch())) {
    inputs_.reset();  // first, so that both need not fit at once
    inputs_ = std::make_unique<Inputs>(backend_, key, timer_.keeps_time() ? rules_.allocations : 1, with_scratch);
  }
  return *inputs_;
}

void Sampler::profile(std::span<const Point* const> group, const std::function<void(const std::string&)>& notice) {
  for (const Point* p : group) {
    try {
      Inputs& inputs = inputs_for(*p, p->variant->consumes_input);
      const auto plan = make_plan(*p->variant, p->problem, p->settings, backend_.info());
      const DeviceMemory out(backend_, size_of(p->problem.accumulator()));
      Value result;
      const bool consumes = p->variant->consumes_input;
      const Call call{.plan = plan.get(), .info = plan->info(),
                      .in = consumes ? inputs.scratch(0) : inputs.data(0),
                      .pristine = consumes ? inputs.data(0) : nullptr, .input_bytes = inputs.bytes(),
                      .out = out.get(), .result_bytes = out.size(), .result = result.bytes.data()};
      timer_.run(call);
      timer_.in_range(describe(*p), [&] { timer_.run(call); });
      const Check check = check_result(result.bytes.data(), references_.of(*p), plan->info().longest_chain,
                                       p->problem.operation, plan->info().flushes_subnormals);
      notice(describe(*p) + (check.ok ? "" : ": wrong result, " + check.why));
    } catch (const Refused& e) {
      notice(describe(*p) + ": refused, " + e.what());
    }
  }
}

}  // namespace reductio
