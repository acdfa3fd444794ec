#include "measure/sampling/sampler.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <random>
#include <string>
#include <utility>

#include "core/bytes.h"
#include "core/child.h"
#include "measure/sampling/group.h"
#include "measure/sampling/pilot.h"
#include "measure/sampling/rounds.h"

namespace reductio {
namespace {

std::string describe(const Point& p) {
  const std::string settings = p.settings.str();
  return fmt::format("{}{}{} {}", p.variant->id, settings.empty() ? "" : " ", settings, describe_group(p));
}

/// A fresh context: a process that goes over the groups; if it ends early, the next one begins where it ended. Its
/// messages, by their number of fields: 0, the device is open; 1, a group begins; 3, what it knows of that group; 2, at
/// the end, the times for predictions and the counts of the host's CPU.
class FreshContext {
 public:
  /// What is done for the group of this index, in a process that has the device open.
  using Work = std::function<End(std::size_t)>;

  FreshContext(SamplingState& s, std::vector<Group>& groups, std::vector<Rounds>* rounds)
      : s_(s), groups_(groups), rounds_(rounds) {}

  /// Runs to the last group and tells `begun` of each. If a process ends early, the point whose call was under way is
  /// settled, and the rest of its group is sampled again. device_lost: it cannot be opened any more; lost() says why.
  End run(const Work& work, const std::function<void(std::size_t)>& begun, const std::function<bool()>& abandon) {
    for (at_ = 0; at_ < groups_.size();) {
      opened_ = false;
      now_->member = UnderWay::no_member;
      Child child([&](const Child::Send& send) { sample(work, send); });
      if (const End end = follow(child, begun, abandon); end != End::done) return end;
      if (!child.kill()) return lose("the driver holds a process that cannot be killed");
    }
    return End::done;
  }

  const std::exception_ptr& lost() const { return lost_; }

 private:
  /// In the context's process, from the group at_ on.
  void sample(const Work& work, const Child::Send& send) {
    s_.backend = open_here(s_.instruments);
    s_.under_way = now_.get();
    s_.random.seed(std::random_device{}());
    if (rounds_) s_.allocations.begin_next();
    send({});
    for (std::size_t i = at_; i < groups_.size(); ++i) {
      send({std::to_string(i)});
      if (rounds_) (*rounds_)[i].begin_apart();
      const bool lost = work(i) == End::device_lost;
      send({lost ? "lost" : "", groups_[i].known_apart(), rounds_ && !lost ? (*rounds_)[i].sampled_apart() : ""});
      if (lost) return;
    }
    BytesOut out;
    s_.history.cross(out);
    std::optional<HostCpuCounts> counts = s_.instruments.monitor->take_host_cpu_counts();
    out(counts);
    send({"", out.bytes});
  }

  /// Done: another process may follow.
  End follow(Child& child, const std::function<void(std::size_t)>& begun, const std::function<bool()>& abandon) {
    constexpr double look_s = 1;
    double still_s = 0;
    std::uint64_t steps = now_->steps;
    for (Child::Message m;;) {
      Child::Got got{};
      try {
        got = child.next(m, std::min(look_s, patience_s_), abandon);
      } catch (const std::exception&) {
        if (opened_) throw;
        lost_ = std::current_exception();
        return End::device_lost;
      }
      if (got == Child::Got::message) {
        still_s = 0;
        if (take(m, begun)) return End::done;
      } else if (got == Child::Got::done) {
        return End::done;
      } else if (got == Child::Got::stopped) {
        return End::abandoned;
      } else if (got == Child::Got::died) {
        if (child.memory_ended()) throw MemoryEnded("out of memory" + address_space_advice());
        return give_up(Status::failed, "its process was ended by " + child.death());
      } else if (std::exchange(steps, now_->steps) != now_->steps) {
        still_s = 0;
      } else if ((still_s += std::min(look_s, patience_s_)) >= patience_s_) {
        return give_up(Status::timeout, fmt::format("it did not end within {:g} s, and its process was killed",
                                                    patience_s_));
      }
    }
  }

  /// True: this process lost the device, and nothing more comes from it.
  bool take(const Child::Message& m, const std::function<void(std::size_t)>& begun) {
    if (m.empty()) opened_ = true;
    if (m.size() == 1) {
      begun(at_);
    } else if (m.size() == 2) {
      BytesIn in(m[1]);
      s_.history.cross(in);
      std::optional<HostCpuCounts> counts;
      in(counts);
      if (counts) s_.instruments.monitor->add(*counts);
    } else if (m.size() == 3) {
      Group& group = groups_[at_];
      const bool lost = !m[0].empty();
      const std::size_t before = group.settled();
      group.take_over(m[1], lost);
      if (lost && group.settled() == before)
        group.blame_process(UnderWay::no_member, Status::failed, "the device was lost");
      if (lost) return true;
      if (rounds_) (*rounds_)[at_].take_over(m[2]);
      ++at_;
    }
    return false;
  }

  End give_up(Status status, const std::string& why) {
    if (!opened_) return lose("the process that opens the device: " + why);
    if (at_ < groups_.size()) groups_[at_].blame_process(now_->member, status, why);
    return End::done;
  }
  End lose(const std::string& why) {
    lost_ = std::make_exception_ptr(DeviceError(why));
    return End::device_lost;
  }

  /// Shared with the processes.
  struct Unmap {
    void operator()(UnderWay* shared) const { munmap(shared, sizeof *shared); }
  };
  static UnderWay* shared() {
    void* const page = mmap(nullptr, sizeof(UnderWay), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw MemoryEnded("out of memory" + address_space_advice());
    return new (page) UnderWay;
  }

  SamplingState& s_;
  std::vector<Group>& groups_;
  std::vector<Rounds>* rounds_;  ///< null: the groups are piloted
  const double patience_s_ = s_.timer().keeps_time() ? s_.patience_s : 10 * s_.patience_s;  ///< simulating is slow
  std::size_t at_ = 0;           ///< the group that is under way, or comes next
  bool opened_ = false;          ///< by the process that is followed
  std::exception_ptr lost_;
  std::unique_ptr<UnderWay, Unmap> now_{shared()};
};

}  // namespace

Sampler::Sampler(Sampling sampling) : s_(std::make_unique<SamplingState>(std::move(sampling))) {}
Sampler::~Sampler() = default;

History& Sampler::history() { return s_->history; }

Measurement Sampler::measure(std::span<const std::vector<const Point*>> points, const Watch& watch) {
  // Groups keep no memory of the device between their contexts.
  std::vector<Group> groups;
  groups.reserve(points.size());
  for (const auto& of_group : points) groups.emplace_back(*s_, of_group);
  int contexts = s_->timer().keeps_time() ? s_->rules.contexts : 1;  // until the pilots have told
  std::size_t done = 0;
  const auto tell = [&](const Group& group, bool sampled) {
    const std::size_t steps = groups.size() * static_cast<std::size_t>(1 + contexts);
    if (watch.progress)
      watch.progress(group.first(), sampled,
                     std::min(1.0, static_cast<double>(done++) / static_cast<double>(steps)));  // some come twice
  };

  Measurement out;
  std::vector<Rounds> rounds;
  rounds.reserve(groups.size());
  const auto lose = [&](std::size_t i, std::exception_ptr why) {
    out.device_lost = groups[i].device_lost = std::move(why);
    out.groups.push_back(rounds.empty() ? Rounds(groups[i]).finish() : rounds[i].finish());
    return false;
  };
  const bool apart = bool(s_->instruments.open);
  // In a process of its own nothing is abandoned: it is killed.
  const auto abandon = apart ? [] { return false; } : watch.abandon;
  /// All groups, in a process or here. Whether to go on.
  const auto in_fresh_context = [&](const FreshContext::Work& work) {
    const bool sampled = !rounds.empty();
    if (apart) {
      FreshContext processes(*s_, groups, sampled ? &rounds : nullptr);
      const End end = processes.run(work, [&](std::size_t i) { tell(groups[i], sampled); }, watch.abandon);
      out.abandoned = end == End::abandoned;
      return end == End::device_lost ? lose(0, processes.lost()) : end == End::done;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      tell(groups[i], sampled);
      const End end = work(i);
      out.abandoned = end == End::abandoned;
      if (end == End::device_lost) return lose(i, groups[i].device_lost);
      if (end != End::done) return false;
    }
    return true;
  };
  for (Group& group : groups) {
    if (!apart) break;
    if ((out.abandoned = watch.abandon())) return out;
    group.know_input();
  }
  if (!in_fresh_context([&](std::size_t i) { return pilot(groups[i], abandon); })) return out;
  for (Group& group : groups) rounds.emplace_back(group, rounds.size());
  contexts = 0;  // no more than any group has
  for (const Rounds& of_group : rounds) contexts = std::max(contexts, of_group.contexts());
  for (int context = 0; context < contexts; ++context) {
    if (!apart) s_->allocations.begin_next();
    const bool goes_on = in_fresh_context([&](std::size_t i) {
      // A group with fewer contexts takes part in some of these, evenly spread.
      const std::vector<int> its = spread_evenly(rounds[i].contexts(), contexts);
      const auto at = std::find(its.begin(), its.end(), context);
      return at == its.end() ? End::done : rounds[i].sample(static_cast<int>(at - its.begin()), abandon);
    });
    if (!goes_on) return out;
    const SoFar so_far = [&] {
      std::vector<GroupOutcome> all;
      for (const Rounds& of_group : rounds) all.push_back(of_group.so_far());
      return all;
    };
    if (watch.enough && context + 1 < contexts && watch.enough(context + 1, so_far)) break;
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
    out.groups.push_back({.rows = {m.row}, .seconds = {}, .contexts = {}, .samples_csv = {}});
    return out;
  }
  s_->allocations.free_all();
  return out;
}

}  // namespace reductio
