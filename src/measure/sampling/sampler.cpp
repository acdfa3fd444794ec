#include "measure/sampling/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "measure/sampling/group.h"
#include "measure/sampling/pilot.h"
#include "measure/sampling/rounds.h"

namespace reductio {
namespace {

std::string describe(const Point& p) {
  const std::string settings = p.settings.str();
  return fmt::format("{}{}{} {}", p.variant->id, settings.empty() ? "" : " ", settings, describe_group(p));
}

}  // namespace

Sampler::Sampler(Sampling sampling) : s_(std::make_unique<SamplingState>(std::move(sampling))) {}
Sampler::~Sampler() = default;

History& Sampler::history() { return s_->history; }

Measurement Sampler::measure(std::span<const std::vector<const Point*>> points, const Watch& watch) {
  // Groups keep no memory of the device between their allocations.
  std::vector<Group> groups;
  groups.reserve(points.size());
  for (const auto& of_group : points) groups.emplace_back(*s_, of_group);
  int allocations = s_->timer().keeps_time() ? s_->rules.allocations : 1;  // until the pilots have told
  std::size_t done = 0;
  const auto tell = [&](const Group& group, bool sampled) {
    const std::size_t steps = groups.size() * static_cast<std::size_t>(1 + allocations);
    if (watch.progress)
      watch.progress(group.first(), sampled, static_cast<double>(done++) / static_cast<double>(steps));
  };

  Measurement out;
  /// Whether to go on.
  const auto note = [&](Group& group, Rounds* rounds, End end) {
    out.abandoned = end == End::abandoned;
    if (end == End::device_lost) {
      out.device_lost = group.device_lost;
      out.device_busy = group.device_busy;
      out.groups.push_back(rounds ? rounds->finish() : Rounds(group).finish());
    }
    return end == End::done;
  };
  for (Group& group : groups) {
    tell(group, false);
    if (!note(group, nullptr, pilot(group, watch.abandon))) return out;
  }
  std::vector<Rounds> rounds;
  rounds.reserve(groups.size());
  for (Group& group : groups) rounds.emplace_back(group, rounds.size());
  allocations = 0;  // no more than any group has
  for (const Rounds& of_group : rounds) allocations = std::max(allocations, of_group.allocations());
  for (int allocation = 0; allocation < allocations; ++allocation) {
    const auto& renew_context = s_->instruments.renew_context;
    s_->allocations.begin_next(bool(renew_context));
    try {
      if (renew_context) renew_context();
    } catch (const std::exception&) {
      // Without a context nothing can be measured; earlier batches are written already.
      groups.front().device_lost = out.device_lost = std::current_exception();
      out.groups.push_back(rounds.front().finish());
      return out;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      tell(groups[i], true);
      // A group with fewer allocations takes part in some of these, evenly spread.
      const std::vector<int> its = spread_evenly(rounds[i].allocations(), allocations);
      const auto at = std::find(its.begin(), its.end(), allocation);
      if (at == its.end()) continue;
      const End end = rounds[i].sample(static_cast<int>(at - its.begin()), watch.abandon);
      if (!note(groups[i], &rounds[i], end)) return out;
    }
    const SoFar so_far = [&] {
      std::vector<GroupOutcome> all;
      for (const Rounds& of_group : rounds) all.push_back(of_group.so_far());
      return all;
    };
    if (watch.enough && allocation + 1 < allocations && watch.enough(allocation + 1, so_far)) break;
  }
  s_->allocations.free_all();
  for (Rounds& of_group : rounds) out.groups.push_back(of_group.finish());
  return out;
}

Measurement Sampler::profile(std::span<const Point* const> points,
                             const std::function<void(const std::string&)>& notice) {
  Measurement out;
  for (const Point* p : points) {
    Group alone(*s_, {&p, 1});
    Member& m = alone.members.front();
    alone.with_memory([&] {
      return alone.guarded(m, [&] {
        alone.make_plan_for(m);
        const Call call = alone.call(m);
        s_->timer().run(call);
        s_->instruments.monitor->in_range(describe(*p), [&] { s_->timer().run(call); });
        alone.verify(m);
      });
    });
    notice(describe(*p) + (m.settled() ? fmt::format(": {}, {}", name(m.row.status), m.row.reason) : ""));
    if (!alone.device_lost) continue;
    out.device_lost = alone.device_lost;
    out.device_busy = alone.device_busy;
    out.groups.push_back({.rows = {m.row}, .seconds = {}, .allocations = {}, .samples_csv = {}});
    return out;
  }
  s_->allocations.free_all();
  return out;
}

}  // namespace reductio
