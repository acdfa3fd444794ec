#include "measure/sampling/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/bytes.h"

namespace reductio {
namespace {

/// Larger results are checked again in each context: sending them to its process would take as long.
constexpr std::size_t most_kept_bytes = 4096;

/// What another process knows of a member.
template <class Archive>
void cross(Archive& archive, Member& m) {
  Row& row = m.row;
  archive(row.status, row.reason, row.result, row.result2, row.abs_error, row.error_bound, row.exact_result,
          row.sum_of_magnitudes, row.distinct_results, row.grid_blocks, row.block_threads);
  HostValue verified = m.verified.bytes.size() <= most_kept_bytes ? m.verified : HostValue{{}};
  archive(m.contexts_refused, m.how_refused, m.why_refused, m.call_s, m.samples, m.calls, verified.bytes,
          m.any_verified, m.results);
  m.verified = std::move(verified);
}

}  // namespace

Call call_of(Plan& plan, bool consumes_input, const DeviceInput& in, const DeviceMemory& out, std::size_t bytes,
             HostValue& result) {
  result.bytes.resize(bytes);
  return {.plan = &plan,
          .info = plan.info(),
          .in = consumes_input ? in.scratch() : in.data(),
          .pristine = consumes_input ? in.data() : nullptr,
          .input_bytes = in.bytes(),
          .out = out.get(),
          .result_bytes = bytes,
          .result = result.bytes.data()};
}

Group::Group(SamplingState& s, std::span<const Point* const> points) : state(s) {
  for (const Point* p : points) {
    Member& m = members.emplace_back();
    m.point = p;
    m.row.point = *p;
    m.is_reference = p->variant->is_base_of(p->problem.operation) && p->settings == p->variant->settings();
  }
}

std::size_t Group::settled() const {
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(), [](const Member& m) { return m.settled(); }));
}

End Group::with_memory(const std::function<bool()>& body) {
  bool whole = true;
  try {
    if (any_open()) {
      allocate();
      whole = body();
    }
  } catch (const Refused& e) {
    // The input itself does not fit.
    for (Member& m : members)
      if (!m.settled()) decline(m, e);
  }
  if (device_busy) {
    // Freeing would wait for the running call, which does not end.
    for (Member& m : members) keep_for_ever(m.plan.release());
    for (HarnessCall& c : harness_calls) keep_for_ever(c.plan.release());
    keep_for_ever(out_.release());
    keep_for_ever(offsets_.release());
  }
  release();
  return device_lost ? End::device_lost : whole ? End::done : End::abandoned;
}

std::shared_ptr<const ExactOutputs> Group::exact_outputs(std::span<const std::byte> tile) {
  return state.references.of(first().problem, first().dataset, first().seed, tile);
}

void Group::allocate() {
  const bool consumed = std::any_of(members.begin(), members.end(),
                                    [](const Member& m) { return !m.settled() && m.point->variant->consumes_input; });
  input_ = &state.allocations.input(InputKey(first()), consumed);
  out_ = state.allocations.with_room_for(
      [&] { return std::make_unique<DeviceMemory>(*state.backend, std::max<std::size_t>(result_bytes(), 1)); });
  if (const auto& offsets = first().problem.shape.offsets) {
    const std::size_t bytes = offsets->size() * sizeof(std::int64_t);
    offsets_ = state.allocations.with_room_for([&] { return std::make_unique<DeviceMemory>(*state.backend, bytes); });
    state.backend->copy_in(offsets_->get(), offsets->data(), bytes, state.backend->stream());
    state.backend->synchronize(state.backend->stream());
  }
  reference_ = exact_outputs(input_->tile());
}

void Group::release() {
  for (Member& m : members) {
    const Step step(state.under_way, static_cast<int>(&m - members.data()));
    if (m.plan) state.timer().forget(m.plan.get());
    m.plan.reset();
    if (result_bytes() > most_kept_bytes) m.result = m.verified = HostValue{{}};  // other groups need the memory
  }
  for (const HarnessCall& c : harness_calls)
    if (c.plan) state.timer().forget(c.plan.get());  // a lost device's are kept for ever
  out_.reset();
  offsets_.reset();
  input_ = nullptr;
}

void Group::make_plan_for(Member& m) {
  const Point& p = *m.point;
  Problem placed = p.problem;
  if (offsets_) placed.shape.offsets_on_device = static_cast<const std::int64_t*>(offsets_->get());
  m.plan = state.allocations.with_room_for(
      [&] { return make_plan(*p.variant, placed, p.settings, state.backend->info()); });
  m.info = m.plan->info();
}

Call Group::call(Member& m) {
  Call call = call_of(*m.plan, m.point->variant->consumes_input, *input_, *out_, result_bytes(), m.result);
  // Every call stores an element, so all find caches alike; in every second call it is the element itself.
  m.stored = reference_->draw_change(input_->tile(), state.random, m.info.longest_chain, drawn_output_);
  if (m.stored) drawn_output_ = m.stored->output;
  m.changed = m.stored && m.calls++ % 2 == 1;
  if (m.stored && !m.changed) m.stored->is = m.stored->was;
  call.changed = m.stored ? &*m.stored : nullptr;
  return call;
}

Call Group::call(HarnessCall& c) {
  Call call = call_of(*c.plan, false, *input_, *out_, std::min<std::size_t>(out_->size(), 16), c.result);
  call.device_part = false;  // no row has it
  return call;
}

bool Group::verify(Member& m) {
  if (!m.changed && m.any_verified && m.result == m.verified) return true;
  // Of a result that was right in an earlier context its hash is known.
  const std::string hash = m.changed ? "" : hash_of(m.result.bytes);
  if (m.results.contains(hash)) {
    m.any_verified = true;
    m.verified = m.result;
    return true;
  }
  const void* const right = m.verified.bytes.empty() ? nullptr : m.verified.bytes.data();
  const Check check = reference_->check(m.result.bytes.data(), m.changed ? &*m.stored : nullptr, m.info.longest_chain,
                                        m.info.flushes_subnormals.value_or(true), m.changed ? right : nullptr);
  if (m.changed && check.ok) return true;
  if (!m.changed) {
    m.results.insert(hash);
    m.row.distinct_results = m.results.size();
  }
  const bool worse = !m.any_verified || !(check.abs_error <= m.row.abs_error.value_or(0));
  if (worse || !check.ok) {
    m.row.result = check.text;
    m.row.result2 = check.text2;
    m.row.abs_error = std::isfinite(check.abs_error) ? std::optional(check.abs_error) : std::nullopt;
    m.row.error_bound = check.error_bound;
    const Reference& want = m.changed ? m.stored->want : reference_->first();
    if (is_floating(want.type) && !has_shape(m.point->problem.operation)) {
      const auto if_finite = [](double x) { return std::isfinite(x) ? std::optional(x) : std::nullopt; };
      m.row.exact_result = if_finite(want.value);
      m.row.sum_of_magnitudes = if_finite(want.sum_of_magnitudes);
    }
  }
  if (!check.ok) {
    m.settle(Status::wrong, check.why + check.about_change);
    return false;
  }
  m.any_verified = true;
  m.verified = m.result;
  return true;
}

bool Group::verify_graph(Member& m) {
  if (first().timing_mode != TimingMode::graph) return true;
  const auto changed = reference_->draw_change(input_->tile(), state.random, m.info.longest_chain);
  Call c = call_of(*m.plan, m.point->variant->consumes_input, *input_, *out_, result_bytes(), m.result);
  c.changed = changed ? &*changed : nullptr;
  const auto results = state.timer().graph_results(c, first().cache_state);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Check check =
        reference_->check(results[i].data(), i % 2 == 1 ? &*changed : nullptr, m.info.longest_chain,
                          m.info.flushes_subnormals.value_or(true));
    if (check.ok) continue;
    m.settle(Status::wrong, fmt::format("call {} of {} in one graph: {}{}", i + 1, results.size(), check.why,
                                        check.about_change));
    return false;
  }
  return true;
}

/// Refused before any sample: a row. Refused later: only that context is lost, as memory may be back for the next.
void Group::decline(Member& m, const Refused& why) {
  const Status status = dynamic_cast<const NoMemory*>(&why) ? Status::no_memory : Status::refused;
  if (!piloted) return m.settle(status, why.what());
  ++m.contexts_refused;
  m.how_refused = status;
  m.why_refused = why.what();
  m.plan.reset();
}

/// Called where `e` was caught: sets device_lost and device_busy.
void Group::look_whether_lost(const std::exception& e) {
  device_busy = dynamic_cast<const CallTimeout*>(&e) != nullptr;
  if (device_busy) {
    device_lost = std::current_exception();
    return;
  }
  try {
    state.backend->synchronize(state.backend->stream());
  } catch (const std::exception&) {
    device_lost = std::current_exception();  // an error that every later call would report again
  }
}

void Group::know_input() {
  if (!any_open()) return;
  exact_outputs(state.allocations.tile(InputKey(first())));
}

std::string Group::known_apart() {
  BytesOut out;
  out(piloted);
  for (Member& m : members) {
    bool settled = m.settled();
    BytesOut of_member;
    cross(of_member, m);
    out(settled, of_member.bytes);
  }
  return out.bytes;
}

void Group::take_over(const std::string& bytes, bool was_lost) {
  BytesIn in(bytes);
  bool was_piloted = false;
  in(was_piloted);
  piloted = was_piloted && (piloted || !was_lost);
  for (Member& m : members) {
    bool settled = false;
    std::string of_member;
    in(settled, of_member);
    if (was_lost && !settled) continue;
    BytesIn one(of_member);
    cross(one, m);
  }
}

void Group::blame_process(int member, Status status, const std::string& why) {
  if (member >= 0 && !members.at(static_cast<std::size_t>(member)).settled())
    return members[static_cast<std::size_t>(member)].settle(status, why);
  const auto open_plugin = [](const Member& m) { return !m.settled() && !m.point->variant->plugin.empty(); };
  const bool any_plugin = std::any_of(members.begin(), members.end(), open_plugin);
  for (Member& m : members)
    if (any_plugin ? open_plugin(m) : !m.settled())
      m.settle(status, "while none of its own calls was under way, " + why);
}

void Group::blame(const std::string& what, const std::exception& e) {
  for (Member& m : members)
    if (!m.settled()) m.settle(Status::failed, fmt::format("while {} ran, a harness call: {}", what, e.what()));
}

}  // namespace reductio
