#include "measure/sampling/pilot.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/stats/statistics.h"

namespace reductio {
namespace {

/// The simulated device's speed depends on the machine's load. Its limit only keeps a run from lasting for ever.
constexpr double limit_of_simulated_s = 10;

SamplingRules with_limit_of(const Timer& timer, SamplingRules rules) {
  if (!timer.keeps_time()) rules.limit_s = limit_of_simulated_s;
  return rules;
}

class Pilot {
 public:
  Pilot(Group& group, Member& member)
      : group_(group),
        s_(group.state),
        m_(member),
        point_(*member.point),
        rules_(with_limit_of(s_.timer(), s_.rules)) {}

  void decline_what_needs_no_plan() {
    std::string why = refusal(*point_.variant, point_.device, point_.problem, point_.settings);
    if (why.empty()) why = s_.timer().refusal(point_.timing_mode, point_.cache_state);
    if (why.empty()) why = timing_refusal(*point_.variant, point_.settings, point_.timing_mode, point_.cache_state);
    // Each of a graph's calls is checked, which takes room for all their results.
    if (why.empty() && point_.timing_mode == TimingMode::graph && has_shape(point_.problem.operation))
      why = "mode graph is of operations with one result; mode replay times one call in a graph";
    if (!why.empty()) m_.settle(Status::refused, std::move(why));
  }

  void run() {
    group_.make_plan_for(m_);
    m_.row.block_threads = m_.info.block_threads ? std::optional(m_.info.block_threads) : std::nullopt;
    m_.row.grid_blocks = m_.info.grid_blocks ? std::optional(m_.info.grid_blocks) : std::nullopt;
    if (const auto predicted = predicted_over_limit())
      return m_.settle(Status::over_limit, limit_reason(*predicted, rules_));
    time_calls();
  }

 private:
  void time_calls() {
    // The first call loads the kernels, so it looks slow. It is also the first one verified.
    const double first_s = m_.call_s = s_.timer().run(group_.call(m_));
    if (!group_.verify(m_)) return;
    if (!s_.timer().keeps_time()) {
      m_.samples = 1;
      return;
    }
    const bool slow = m_.call_s > rules_.slow_s;
    Sample sample{};
    if (slow) {
      // Slow as predicted, or only by loading kernels? The latter costs one more call.
      const bool as_predicted = s_.history.predict(point_).value_or(0) > rules_.slow_s;
      sample.cost_s = sample.seconds.emplace(as_predicted ? m_.call_s : s_.timer().run(group_.call(m_)));
    } else {
      sample = take_sample();
    }
    if (!group_.verify(m_)) return;
    m_.call_s = std::max(sample.seconds.value_or(m_.call_s), sample.device_part_s.value_or(0));
    s_.history.note(point_, std::min(first_s, m_.call_s));  // one that was disturbed predicts nothing
    // What was predicted was too little, or nothing could be.
    if (!rules_.full && m_.call_s > rules_.limit_s)
      return m_.settle(Status::over_limit, fmt::format("a call takes {:.3g} s, over this experiment's limit of {:g} s; "
                                                       "--full runs it",
                                                       m_.call_s, rules_.limit_s));
    std::vector<double> costs_s{sample.cost_s};
    if (!slow && !take_more_pilots(costs_s)) return;
    m_.samples = affordable(median(costs_s));
  }

  Sample take_sample() { return s_.timer().sample(group_.call(m_), point_.timing_mode, point_.cache_state); }

  int affordable(double cost_s) const { return samples_for(point_, rules_, m_.call_s, cost_s); }

  /// Two more pilots if the first one's cost would leave fewer than the most samples: one search for a quiet CPU costs
  /// as much as tens of short samples. False if a result is wrong.
  bool take_more_pilots(std::vector<double>& costs_s) {
    const auto again = [&] {
      costs_s.push_back(take_sample().cost_s);
      return group_.verify(m_);
    };
    // The first sample captures, instantiates and uploads the graph; later ones do not pay for it.
    if (point_.timing_mode == TimingMode::graph || point_.timing_mode == TimingMode::replay) {
      costs_s.clear();
      if (!again()) return false;
    }
    if (affordable(costs_s.front()) >= affordable(0)) return true;
    return again() && again();
  }

  /// The predicted time of a call if it is over the limit. Scales the largest smaller size linearly, which is too much
  /// where launching dominates. So before a point is refused, parts of its input are run: each at most eight times the
  /// last, and none predicted over the limit.
  std::optional<double> predicted_over_limit() {
    // Of other rows and columns nothing follows: the first call tells.
    if (rules_.full || has_shape(point_.problem.operation)) return std::nullopt;
    const std::size_t n = point_.problem.n;
    const std::size_t first_part = s_.timer().keeps_time() ? std::size_t{1} << 20 : std::size_t{1} << 12;
    auto known = s_.history.largest_below(point_);
    if (known && known->n < std::min(first_part, std::size_t{1024})) known.reset();
    if (!known && n <= first_part) return std::nullopt;
    if (!known) known = time_of_part(first_part, true);
    const auto over = [&](std::size_t at) { return scale_linearly(*known, at) > rules_.limit_s; };
    while (known && (over(n) || n > 8 * known->n)) {
      std::size_t part = 0;
      for (const std::size_t factor : {8, 4, 2})
        if (!part && known->n * factor < n && !over(known->n * factor)) part = known->n * factor;
      if (!part) return over(n) ? std::optional(scale_linearly(*known, n)) : std::nullopt;
      known = time_of_part(part, false);
    }
    return std::nullopt;
  }

  /// The time for the first n elements; nothing where the variant declines that size. `first_of_all`: loads the
  /// kernels, so a second call is timed.
  std::optional<History::TimeAtSize> time_of_part(std::size_t n, bool first_of_all) {
    Point part = point_;
    part.problem.n = n;
    if (!refusal(*part.variant, part.device, part.problem, part.settings).empty()) return std::nullopt;
    Member probe;
    probe.point = &part;
    group_.make_plan_for(probe);
    const Call c = group_.call(probe);
    double seconds = 0;
    try {
      seconds = s_.timer().run(c);
      if (first_of_all || scale_linearly({n, seconds}, 2 * n) > rules_.limit_s)
        seconds = std::min(seconds, s_.timer().run(c));
    } catch (const CallTimeout&) {
      keep_for_ever(probe.plan.release());
      throw;
    }
    s_.history.note(part, seconds);
    return History::TimeAtSize{n, seconds};
  }

  Group& group_;
  SamplingState& s_;
  Member& m_;
  const Point& point_;
  const SamplingRules rules_;
};

/// What a plug-in declares of its rounding is its own word, and n additions in a row by default. On the timed data that
/// forgives an f32 sum of 2^18 elements an error of 1 %.
bool is_believed(const Point& p) { return p.variant->plugin.empty() || !is_floating(p.problem.accumulator()); }

/// A call of each plug-in on data whose sum is exact in any order of adding, so that the result must match bit for bit.
End call_on_exact_data(Group& group, const std::function<bool()>& abandon) {
  std::vector<Point> points;
  for (const Member& m : group.members) {
    points.push_back(*m.point);
    points.back().dataset = "exact";
    points.back().seed = 1;  // odd: all are positive, so no two errors cancel
  }
  std::vector<const Point*> pointers;
  for (const Point& p : points) pointers.push_back(&p);
  Group exact(group.state, pointers);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (group.members[i].settled() || is_believed(points[i])) exact.members[i].settle(Status::refused, "not called");
  const End end = exact.with_memory([&] {
    for (std::size_t i = 0; i < points.size(); ++i) {
      Member& m = exact.members[i];
      if (m.settled()) continue;
      if (abandon()) return false;
      const bool alive = exact.guarded(m, [&] {
        exact.make_plan_for(m);
        group.state.timer().run(exact.call(m));
        exact.verify(m);
      });
      if (m.row.status == Status::wrong)
        m.row.reason += ", of data whose sum is exact in any order of adding; 'reductio verify' tells more";
      // Memory that this data lacks, the timed data may have.
      if (m.settled() && m.row.status != Status::no_memory && m.row.status != Status::refused)
        group.members[i].settle(m.row.status, m.row.reason);
      if (!alive) return false;
    }
    return true;
  });
  group.device_lost = exact.device_lost;
  group.device_busy = exact.device_busy;
  return end;
}

}  // namespace

End pilot(Group& group, const std::function<bool()>& abandon) {
  for (Member& m : group.members) Pilot(group, m).decline_what_needs_no_plan();
  End end = group.with_memory([&] {
    for (Member& m : group.members) {
      if (abandon()) return false;
      if (!m.settled() && !group.guarded(m, [&] { Pilot(group, m).run(); })) return false;
    }
    return true;
  });
  if (end == End::done) end = call_on_exact_data(group, abandon);
  group.piloted = true;
  return end;
}

}  // namespace reductio
