#include "measure/sampling/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "measure/sampling/group.h"

namespace reductio {
namespace {

std::string describe(const Point& p) {
  const std::string settings = p.settings.str();
  return fmt::format("{}{}{} {}", p.variant->id, settings.empty() ? "" : " ", settings, describe_group(p));
}

}  // namespace

Measurement Sampler::measure(std::span<const std::vector<const Point*>> groups, const Watch& watch) {
  // Groups keep no memory of the device between their visits.
  std::vector<Group> all;
  all.reserve(groups.size());
  for (const auto& points : groups) all.emplace_back(s_, points, watch.abandon);
  int passes = s_.timer.keeps_time() ? s_.rules.allocations : 1;

  Measurement out;
  std::size_t visits = 0;
  /// Whether there is another.
  const auto visit = [&](Group& group, bool sampled, const std::function<Group::Visit()>& body) {
    if (watch.visiting) {
      const auto in_all = all.size() * static_cast<std::size_t>(1 + passes);
      watch.visiting(group.first(), sampled, static_cast<double>(visits++) / static_cast<double>(in_all));
    }
    const Group::Visit end = body();
    out.abandoned = end == Group::Visit::abandoned;
    if (end == Group::Visit::device_lost) {
      out.device_lost = group.device_lost();
      out.device_busy = group.device_busy();
      out.groups.push_back(group.finish());
    }
    return end == Group::Visit::done;
  };
  for (Group& group : all)
    if (!visit(group, false, [&] { return group.pilot(); })) return out;
  passes = 0;  // no more than any group has allocations
  for (const Group& group : all) passes = std::max(passes, group.allocations());
  for (int pass = 0; pass < passes; ++pass) {
    s_.allocations.begin_pass();
    for (Group& group : all)
      if (!visit(group, true, [&] { return group.sample(pass, passes); })) return out;
  }
  s_.allocations.end_passes();
  for (Group& group : all) out.groups.push_back(group.finish());
  return out;
}

void Sampler::profile(std::span<const Point* const> group, const std::function<void(const std::string&)>& notice) {
  for (const Point* p : group) {
    try {
      const Input& input = s_.allocations.input(InputKey(*p), p->variant->consumes_input);
      const auto plan = make_plan(*p->variant, p->problem, p->settings, s_.backend.info());
      const DeviceMemory out(s_.backend, size_of(p->problem.accumulator()));
      HostValue result;
      const Call call = call_of(*plan, p->variant->consumes_input, input, out, result);
      s_.timer.run(call);
      s_.timer.in_range(describe(*p), [&] { s_.timer.run(call); });
      const Check check = check_result(result.bytes.data(), s_.references.of(*p), plan->info().longest_chain,
                                       p->problem.operation, plan->info().flushes_subnormals);
      notice(describe(*p) + (check.ok ? "" : ": wrong result, " + check.why));
    } catch (const Refused& e) {
      notice(describe(*p) + ": refused, " + e.what());
    }
  }
  s_.allocations.end_passes();
}

}  // namespace reductio
