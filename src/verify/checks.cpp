#include "verify/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/loop_index.h"
#include "device/sim/gpu.h"
#include "device/sim/schedule.h"
#include "verify/call.h"

namespace reductio {
namespace {

void set_order(const Case& c, std::uint64_t seed) {
  if (const sim::NamedOrder* const known = sim::find_order(c.order)) sim::set_schedule(known->order, seed);
}

/// The same case in the opposite order of threads; in another one where that is random, and its seed with it.
Case opposite(const Case& c) {
  Case out = c;
  if (c.order == "forward") out.order = "reverse";
  if (c.order == "reverse") out.order = "forward";
  return out;
}

/// One call. A variant that has met this input finds another element somewhere.
std::string check_once(Workbench& bench, const Case& c) {
  OwnPlan plan = OwnPlan::of(c, bench);
  CaseInput& in = bench.input(recipe_of(c, c.seed));
  const OwnStream stream(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  std::optional<ChangedElement> changed;
  const bool met_again = std::exchange(in.met_by, c.variant) == c.variant;
  if (met_again && c.check != "fault") changed = change_of(in, c, plan, c.seed + static_cast<std::uint64_t>(in.cases));
  CaseCall call(bench, c, plan, in, output, stream, nullptr, changed);
  const Drain drain(bench.backend, {stream});
  call.enqueue();
  std::string why = call.settle();
  // Run again by itself, a case meets its input for the first time.
  if (changed && !why.empty()) why += ", as the variant had met this input before; --check calls does that alone";
  return why;
}

/// One plan on A, then on B with no pause where results stay on the device, then on A again. For floats, B is exact
/// data, so each of its elements counts.
std::string check_repeat(Workbench& bench, const Case& c) {
  OwnPlan plan = OwnPlan::of(c, bench);
  CaseInput& a = bench.input(recipe_of(c, c.seed));
  Recipe other = recipe_of(c, c.seed + 1);
  if (is_floating(c.problem.type)) other.dataset = "exact";
  CaseInput& b = bench.input(other, &a);
  const std::size_t bytes = c.problem.result_bytes();
  const OwnStream stream(bench.backend);
  Output first_output(bench.backend, bytes, stream), second_output(bench.backend, bytes, stream);
  CaseCall first(bench, c, plan, a, first_output, stream, bench.room_for(a));
  CaseCall second(bench, c, plan, b, second_output, stream, bench.room_for(b));
  CaseCall third(bench, c, plan, a, first_output, stream, bench.room_for(a));
  const Drain drain(bench.backend, {stream});

  const bool at_once = plan.info().result == ResultLocation::on_device;
  if (plan.info().result != ResultLocation::on_host) bench.hold_back(stream);
  first.enqueue();
  if (at_once) second.enqueue();
  if (std::string why = first.settle(); !why.empty()) return "first call: " + why;
  if (!at_once) second.enqueue();
  if (std::string why = second.settle(false); !why.empty()) return "second call of the same plan: " + why;

  // A result that is the same each time is so in the opposite order, too.
  set_order(opposite(c), c.seed + 1);
  first_output.poison(stream);
  third.enqueue();
  if (std::string why = third.settle(false); !why.empty()) return "third call of the same plan: " + why;
  if (c.variant->determinism_of(c.settings) != Determinism::none && first.result() != third.result() &&
      !first.is_nan())
    return "two calls on the same input differ in bits, though the variant declares that they do not";
  return {};
}

/// Two plans on two streams, each called twice, their calls interleaved and awaited in reverse.
std::string check_two_plans(Workbench& bench, const Case& c) {
  OwnPlan plan_1 = OwnPlan::of(c, bench);
  OwnPlan plan_2 = OwnPlan::of(c, bench);
  CaseInput& a = bench.input(recipe_of(c, c.seed));
  CaseInput& b = bench.input(recipe_of(c, c.seed + 1), &a);
  const std::size_t bytes = c.problem.result_bytes();
  const OwnStream stream_1(bench.backend), stream_2(bench.backend);
  Output output_1(bench.backend, bytes, stream_1), output_2(bench.backend, bytes, stream_2);
  Output output_3(bench.backend, bytes, stream_1), output_4(bench.backend, bytes, stream_2);
  CaseCall call_1(bench, c, plan_1, a, output_1, stream_1, bench.room_for(a));
  CaseCall call_2(bench, c, plan_2, b, output_2, stream_2, bench.room_for(b));
  CaseCall call_3(bench, c, plan_1, b, output_3, stream_1, bench.room_for(b));
  CaseCall call_4(bench, c, plan_2, a, output_4, stream_2, bench.room_for(a));
  const Drain drain(bench.backend, {stream_1, stream_2});

  const auto settle = [](CaseCall& call, const char* which, bool is_first = true) {
    std::string why = call.settle(is_first);
    return why.empty() ? why : std::string("two plans at once, ") + which + ": " + why;
  };
  const bool at_once = plan_1.info().result == ResultLocation::on_device;
  std::string why;
  call_1.enqueue();
  call_2.enqueue();
  std::string why_later;
  if (!at_once) {
    // Both device parts are done before either host part: partial results that two plans share are found out.
    bench.backend.synchronize(stream_1);
    bench.backend.synchronize(stream_2);
    if (why = settle(call_2, "second plan"); !why.empty()) return why;
    if (why = settle(call_1, "first plan"); !why.empty()) return why;
  }
  call_3.enqueue();
  call_4.enqueue();
  why_later = settle(call_4, "second plan, second call", false);
  if (why_later.empty()) why_later = settle(call_3, "first plan, second call", false);
  if (at_once) {  // a second call is not to blame for what is wrong of the first
    if (why = settle(call_2, "second plan"); !why.empty()) return why;
    if (why = settle(call_1, "first plan"); !why.empty()) return why;
  }
  return why_later;
}

/// Nine calls of one plan, each awaited: two inputs at one address, twice each in turn; every third call on another
/// stream. From the third call on, each changes another element of the input. One is captured, where a device can, and
/// launched twice.
std::string check_calls(Workbench& bench, const Case& c) {
  OwnPlan plan = OwnPlan::of(c, bench);
  CaseInput& a = bench.input(recipe_of(c, c.seed));
  CaseInput& b = bench.input(recipe_of(c, c.seed + 1), &a);
  const OwnStream stream(bench.backend), other(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  const auto room = bench.room_for(a);
  const Drain drain(bench.backend, {stream, other});
  constexpr int calls = 9;
  const auto change_in = [&](CaseInput& in, int i) {
    return change_of(in, c, plan, c.seed + static_cast<std::uint64_t>(i));
  };
  const auto ready = [&](Stream on) {
    output.poison(on);
    // Work that stays on the stream of an earlier call is done before the input is there.
    if (plan.info().result != ResultLocation::on_host) bench.hold_back(on);
  };
  for (int i = 0; i < calls; ++i) {
    const Stream on = i % 3 == 1 ? other : stream;
    CaseInput& in = (i + 1) / 2 % 2 == 0 ? a : b;  // each with one of the other data before it, and with one of its own
    const std::string which =
        "call " + std::to_string(i + 1) + " of one plan" + (i % 3 == 1 ? ", on another stream" : "");
    CaseCall call(bench, c, plan, in, output, on, room, i < 2 ? std::nullopt : change_in(in, i));
    ready(on);
    call.enqueue(i == calls / 2);
    if (std::string why = call.settle(i == 0); !why.empty()) return which + ": " + why;
    if (i != calls / 2 || !call.can_be_launched_again()) continue;
    CaseCall second(bench, c, plan, in, output, on, room, change_in(in, calls));
    ready(on);
    second.enqueue_again(call);
    if (std::string why = second.settle(false); !why.empty())
      return which + ", captured in a graph that is launched again: " + why;
  }
  return {};
}

using Words = std::vector<std::uint32_t>;
constexpr std::uint32_t third = many_calls / 3;

/// Sets a plan's counters to what they are shortly before one of them wraps: the words of its state that grew by the
/// same in each call, by the states that were seen after each third of many calls. The fastest that grows by less than
/// `step`, which becomes its step, wraps within 800 calls. Returns how many calls later that is; 0: there is none.
std::uint32_t age(OwnPlan& plan, const std::array<Words, 3>& seen, std::uint32_t& step) {
  constexpr std::uint32_t rings = 768;  // what comes round in so many calls, as flags do, is what it was
  Words now = plan.state(), each(now.size());
  std::uint32_t fastest = 0, left = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::uint32_t grown = seen[2][i] - seen[1][i];
    if (grown != seen[1][i] - seen[0][i] || grown % third != 0) continue;
    each[i] = grown / third;
    if (each[i] <= fastest || each[i] >= step || ~now[i] / each[i] < rings) continue;
    fastest = each[i];
    left = ~now[i] / fastest;
  }
  if (fastest == 0) return 0;
  step = fastest;
  const std::uint32_t later = (left - 30) / rings * rings;
  for (std::size_t i = 0; i < now.size(); ++i) now[i] += each[i] * later;
  plan.set_state(now);
  return later;
}

/// One plan called so often that rings of 256 places come round, on two inputs in turn; then where its counters wrap.
std::string check_many_calls(Workbench& bench, const Case& c) {
  OwnPlan plan = OwnPlan::of(c, bench);
  CaseInput& a = bench.input(recipe_of(c, c.seed));
  CaseInput& b = bench.input(recipe_of(c, c.seed + 1), &a);
  const OwnStream stream(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  const Drain drain(bench.backend, {stream});
  std::uint64_t done = 0;
  const auto call_often = [&](std::uint32_t times) -> std::string {
    for (const std::uint64_t end = done + times; done < end;) {
      CaseCall call(bench, c, plan, done % 3 == 0 ? b : a, output, stream);
      output.poison(stream);
      call.enqueue();
      const std::string why = call.settle(done++ == 0);
      if (!why.empty()) return "call " + std::to_string(done) + " of one plan: " + why;
    }
    return {};
  };
  std::array<Words, 3> seen;
  for (Words& state : seen) {
    if (std::string why = call_often(third); !why.empty()) return why;
    state = plan.state();
  }
  std::uint32_t step = std::numeric_limits<std::uint32_t>::max();
  while (const std::uint32_t later = age(plan, seen, step)) {
    done += later;
    if (std::string why = call_often(3 * many_calls); !why.empty())
      return why + " (its counters were set to what they are by then)";
  }
  return {};
}

/// Rounding errors of many calls, which must be of both signs: truncation stays within each call's bound.
std::string check_bias(Workbench& bench, const Case& c) {
  if (!is_floating(c.problem.type)) throw Refused("a bias is one of rounding, and integers are not rounded");
  OwnPlan plan = OwnPlan::of(c, bench);
  const OwnStream stream(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  const int calls = bias_calls(c.problem.n);
  double sum = 0, squares = 0;
  for (int i = 0; i < calls; ++i) {
    CaseInput& in = bench.input(recipe_of(c, c.seed + static_cast<std::uint64_t>(i)));
    CaseCall call(bench, c, plan, in, output, stream);
    const Drain drain(bench.backend, {stream});
    output.poison(stream);
    call.enqueue();
    if (std::string why = call.settle(i == 0); !why.empty()) return why;
    const double error = call.relative_error();
    sum += error;
    squares += error * error;
  }
  // Their mean in units of its standard deviation. Of errors that have no bias it is normal: 8 is never seen.
  constexpr double most = 8;
  const double mean = sum / calls, variance = squares / calls - mean * mean;
  if (mean * mean * calls <= most * most * variance) return {};
  return "the relative errors of " + std::to_string(calls) + " sums of positive numbers are " +
         std::to_string(mean * 0x1p24) + " * 2^-24 on average, " +
         std::to_string(std::abs(mean) / std::sqrt(variance / calls)) +
         " standard deviations from zero: are sums truncated in place of rounded?";
}

/// The same call with every value of every tunable, each in the opposite thread order of the one before; on a simulated
/// GPU of more SMs; then with another element in the input.
std::string check_settings(Workbench& bench, const Case& c) {
  const Variant& v = *c.variant;
  if (v.determinism != Determinism::always)
    throw Refused("does not declare that n alone decides the bits (Determinism::always), so its settings may differ");
  std::vector<Settings> all{c.settings, c.settings};  // in both orders
  for (const Tunable& t : v.tunables)
    for (Settings& s : v.with_other_values(c.settings, t)) all.push_back(std::move(s));
  CaseInput& in = bench.input(recipe_of(c, c.seed));
  const OwnStream stream(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  std::optional<Result> first;
  Case one = c;
  for (const Settings& s : all) {
    one.settings = s;
    if (!refusal(v, bench.backend.info().kind, c.problem, s).empty()) continue;
    OwnPlan plan(v, c.problem, s, bench.backend.info(), bench.offsets_of(c.problem));
    CaseCall call(bench, one, plan, in, output, stream);
    const Drain drain(bench.backend, {stream});
    output.poison(stream);
    call.enqueue();
    if (std::string why = call.settle(); !why.empty()) return s.str() + ": " + why;
    if (!first) first = call.result();
    if (call.result() != *first)
      return s == c.settings
                 ? "two calls on the same input differ in bits, though the variant declares that they do not"
                 : "the result with " + s.str() + " differs in bits from that with " + c.settings.str() +
                       ", though the variant declares that n alone decides (Determinism::always)";
    one = opposite(one);
    set_order(one, c.seed + 1);
  }
  if (bench.backend.info().kind == DeviceKind::sim) {
    constexpr const char* of_many_sms = "nvidia-h200";
    const sim::Like like(of_many_sms);
    OwnPlan plan(v, c.problem, c.settings, bench.backend.info(), bench.offsets_of(c.problem));
    CaseCall call(bench, c, plan, in, output, stream);
    const Drain drain(bench.backend, {stream});
    output.poison(stream);
    call.enqueue();
    if (std::string why = call.settle(); !why.empty()) return std::string("like ") + of_many_sms + ": " + why;
    if (first && call.result() != *first)
      return std::string("the result on a GPU like ") + of_many_sms + ", whose " +
             std::to_string(bench.backend.info().sm_count) +
             " SMs change the launch, differs in bits, though the variant declares that n alone decides "
             "(Determinism::always)";
  }
  OwnPlan plan(v, c.problem, c.settings, bench.backend.info(), bench.offsets_of(c.problem));
  CaseCall changed(bench, c, plan, in, output, stream, nullptr, change_of(in, c, plan, c.seed));
  const Drain drain(bench.backend, {stream});
  output.poison(stream);
  changed.enqueue();
  if (std::string why = changed.settle(); !why.empty()) return "with another element in the input: " + why;
  return {};
}

/// Rows or segments alone, each where it lies: their bits must be those that they have beside the others.
std::string check_neighbours(Workbench& bench, const Case& c) {
  const Problem& all = c.problem;
  if (c.variant->determinism != Determinism::always || all.operation == Operation::column_sums ||
      !has_shape(all.operation))
    throw Refused("does not declare that a row's bits are its own (Determinism::always of row_sums or segment_sums)");
  OwnPlan plan = OwnPlan::of(c, bench);
  CaseInput& in = bench.input(recipe_of(c, c.seed));
  const OwnStream stream(bench.backend);
  Output output(bench.backend, all.result_bytes(), stream);
  CaseCall call(bench, c, plan, in, output, stream);
  const Drain drain(bench.backend, {stream});
  call.enqueue();
  if (std::string why = call.settle(); !why.empty()) return why;

  const std::size_t size = size_of(all.accumulator()), outputs = all.outputs();
  constexpr std::size_t most_looked_at = 5;
  for (std::size_t k = 0; k < std::min(outputs, most_looked_at); ++k) {
    const std::size_t i = k * (outputs - 1) / std::max<std::size_t>(std::min(outputs, most_looked_at) - 1, 1);
    std::size_t begin = i * all.pitch(), length = all.columns();
    if (const auto& offsets = all.shape.offsets) {
      begin = static_cast<std::size_t>((*offsets)[i]);
      length = static_cast<std::size_t>((*offsets)[i + 1]) - begin;
    }
    Case alone = c;
    alone.problem = problem_with_shape(all.operation, all.type, length,
                                       all.shape.offsets ? "uniform:" + std::to_string(std::max<std::size_t>(length, 1))
                                                         : "1x" + std::to_string(length));
    if (alone.problem.outputs() != 1) continue;  // no segment has no elements alone
    OwnPlan one = OwnPlan::of(alone, bench);
    Output its(bench.backend, size, stream);
    one.begin_call(stream);
    one.enqueue(in.memory.bytes_at((c.offset_elements + begin) * size_of(all.type)), its.get(), stream);
    Result result(size);
    if (std::string why = its.read(result.data(), stream); !why.empty()) return why;
    if (!std::equal(result.begin(), result.end(), call.result().begin() + static_cast<std::ptrdiff_t>(i * size)))
      return "output " + std::to_string(i) + " of " + std::to_string(outputs) +
             " differs in bits from that of the same elements alone, though the variant declares that a row's bits are "
             "its own (Determinism::always)";
  }
  return {};
}

struct Protocol {
  const char* name;
  std::string (*run)(Workbench&, const Case&);
};
/// All other checks are of one call.
constexpr Protocol protocols[] = {{"repeat", check_repeat},
                                  {"two-plans", check_two_plans},
                                  {"calls", check_calls},
                                  {"many-calls", check_many_calls},
                                  {"settings", check_settings},
                                  {"bias", check_bias},
                                  {"neighbours", check_neighbours},
                                  {"chain", check_chain}};

}  // namespace

std::string run_check(Workbench& bench, const Case& c) {
  const sim::Like like(c.like);
  const LoweredIndexLimit lowered(c.index_limit);
  set_order(c, c.seed);
  for (const auto& [name, run] : protocols)
    if (c.check == name) return run(bench, c);
  return check_once(bench, c);
}

std::string compared_with_first_call(Workbench& bench, Case c, const Recipe& data) {
  c.dataset = data.dataset;
  c.seed = data.seed;
  std::string why;
  try {
    why = check_once(bench, c);
  } catch (const std::exception& e) {
    why = e.what();
  }
  return why.empty() ? "; does a call leave a counter or other state behind?"
                     : "; so is the first call of a plan on this data: " + why;
}

}  // namespace reductio
