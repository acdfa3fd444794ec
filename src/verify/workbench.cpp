#include "verify/workbench.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/dataset.h"
#include "core/error.h"
#include "core/narrow_float.h"
#include "device/sim/schedule.h"
#include "verify/subnormals.h"

namespace reductio {
namespace {

constexpr std::size_t most_inputs = 256;
constexpr std::size_t most_input_bytes = std::size_t{1} << 30;
/// Long enough to write on a GPU that work on a wrong stream overtakes it, short enough to do often.
constexpr std::size_t delay_bytes = std::size_t{256} << 20;

using Result = std::array<std::byte, 16>;  // the widest: two accumulators

class OwnStream {
 public:
  explicit OwnStream(Backend& backend) : backend_(&backend), stream_(backend.create_stream()) {}
  ~OwnStream() { backend_->destroy_stream(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Backend* backend_;
  Stream stream_;
};

/// Waits, before the memory of a case goes, for all that a failing case may have left on its streams and, by mistake,
/// on the default stream. Declared last, so that it goes first.
class Drain {
 public:
  Drain(Backend& backend, std::initializer_list<Stream> streams) : backend_(&backend), streams_(streams) {
    streams_.push_back(Stream{});
  }
  ~Drain() {
    for (const Stream s : streams_) try {
        backend_->synchronize(s);
      } catch (const DeviceError&) {
        // The case has failed already, or a wrong stream's work has: its result was judged without it.
      }
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

 private:
  Backend* backend_;
  std::vector<Stream> streams_;
};

/// References cost a pass over a tile, and the same data meets many settings of many variants.
const ExactReference& reference_for(Operation operation, const Recipe& recipe, const std::vector<std::byte>& tile) {
  using Key = std::tuple<Operation, ElementType, std::string, std::size_t, std::uint64_t>;
  static std::map<Key, ExactReference> known;
  const Key key{operation, recipe.type, recipe.dataset, recipe.n, recipe.seed};
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  return known.try_emplace(key, operation, recipe.type, tile, recipe.n).first->second;
}

/// A result in device memory, poisoned, between guards that must stay as they are. They stand when it is made: a
/// case whose further memory is refused leaves no work behind on memory that goes.
class Output {
 public:
  Output(Backend& backend, std::size_t bytes, Stream stream)
      : backend_(&backend), bytes_(bytes), memory_(backend, 2 * guard + bytes) {
    backend.fill(memory_.get(), mark, guard, stream);
    backend.fill(memory_.bytes_at(guard + bytes), mark, guard, stream);
    backend.synchronize(stream);
  }
  void* get() const { return memory_.bytes_at(guard); }
  void poison(Stream stream) { backend_->fill(get(), 0xFF, bytes_, stream); }
  /// The result, after waiting for `stream`; or what is wrong with the guards.
  std::string read(void* result, Stream stream) const {
    std::vector<std::byte> all(memory_.size());
    backend_->copy_out(all.data(), memory_.get(), all.size(), stream);
    std::memcpy(result, all.data() + guard, bytes_);
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((i < guard || i >= guard + bytes_) && all[i] != std::byte{mark})
        return i < guard ? "wrote " + std::to_string(guard - i) + " bytes before the output"
                         : "wrote " + std::to_string(i - guard - bytes_) + " bytes behind the output";
    return {};
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr unsigned char mark = 0xA5;
  Backend* backend_;
  std::size_t bytes_;
  DeviceMemory memory_;
};

Recipe recipe_of(const Case& c, std::uint64_t seed) {
  return {c.dataset, c.problem.type, c.problem.n, c.offset_elements, seed};
}

void set_order(const Case& c, std::uint64_t seed) {
  if (c.order.empty()) return;
  sim::set_schedule(c.order == "forward"   ? sim::Order::forward
                    : c.order == "reverse" ? sim::Order::reverse
                                           : sim::Order::random,
                    seed);
}

/// The same case in the opposite order of threads; in another one where that is random, and its seed with it.
Case opposite(const Case& c) {
  Case out = c;
  if (c.order == "forward") out.order = "reverse";
  if (c.order == "reverse") out.order = "forward";
  return out;
}

/// The plan of a case. Settings with a known fault are refused otherwise; here they have one, to show it.
std::unique_ptr<Plan> plan_for(const Case& c, const DeviceInfo& device) {
  if (c.check != "fault") return make_plan(*c.variant, c.problem, c.settings, device);
  Variant v = *c.variant;
  v.known_fault = nullptr;
  return make_plan(v, c.problem, c.settings, device);
}

}  // namespace

/// One call of a plan, from its input to the verdict.
class Workbench::CaseCall {
 public:
  /// `copy`: works on a copy there that arrives on `stream` only just before the call, so that work on another stream
  /// finds what stood there before. Variants that consume their input get one of their own where it is null.
  /// `changed`: what the call finds in place of an element.
  CaseCall(Workbench& bench, const Case& what, Plan& plan, CaseInput& input, Output& output, Stream stream,
           std::shared_ptr<DeviceMemory> copy, std::optional<ChangedElement> changed = {})
      : bench_(&bench),
        case_(&what),
        plan_(&plan),
        input_(&input),
        output_(&output),
        stream_(stream),
        copy_(std::move(copy)),
        changed_(std::move(changed)) {
    if (!copy_ && what.variant->consumes_input) copy_ = bench.room_for(input);
  }

  /// `captured`: on a GPU as a graph. The simulated device watches every call.
  void enqueue(bool captured = false) {
    put_input();
    Backend& backend = *bench_->backend_;
    const auto put = [&] { plan_->enqueue(device_input().bytes_at(skipped()), output_->get(), stream_); };
    if (plan_->info().result == ResultLocation::on_host || !(captured || on_sim())) return put();
    const PlanInfo said = plan_->info();
    if (backend.info().kind == DeviceKind::cuda && said.grid_blocks == 0)  // a library's own launches
      return void(again_ = backend.watch_enqueue(put, stream_, nullptr));
    FirstLaunch launch;
    again_ = backend.watch_enqueue(put, stream_, &launch);
    if (launch.grid_blocks != said.grid_blocks || launch.block_threads != said.block_threads)
      wrong_launch_ = "the plan declares a first launch of " + shape_text(said.grid_blocks, said.block_threads) +
                      " (PlanInfo), and launches " + shape_text(launch.grid_blocks, launch.block_threads);
  }

  /// Launches what another call captured, which is of the same plan and memory.
  void enqueue_again(const CaseCall& captured) {
    put_input();
    captured.again_();
  }
  /// Whether it can be launched again. What only its finish() leaves may need the host's part of enqueue(), too.
  bool can_be_launched_again() const { return again_ && plan_->info().result == ResultLocation::on_device; }

  /// Waits for the result and judges it. Empty if all is well. `is_first`: no call of this plan came before.
  std::string settle(bool is_first = true) {
    if (!wrong_launch_.empty()) return wrong_launch_;
    Result in_output{};
    if (plan_->info().result == ResultLocation::on_device) {
      bench_->backend_->synchronize(stream_);
      if (std::string why = output_->read(in_output.data(), stream_); !why.empty()) return why;
      result_ = in_output;
    } else {
      plan_->finish(result_.data(), stream_);
      if (std::string why = output_->read(in_output.data(), stream_); !why.empty()) return why;
    }
    const Problem& p = case_->problem;
    const Reference& unchanged = reference_for(p.operation, input_->recipe, input_->tile).reference();
    if (case_->check == "exact" && !(changed_ ? changed_->want : unchanged).all_exact())
      return "the battery is at fault: this data is not exact in every order";
    const auto judged = [&](bool flushes) {
      return check_call(result_.data(), unchanged, changed_ ? &*changed_ : nullptr, plan_->info().longest_chain,
                        p.operation, flushes);
    };
    Check check = judged(plan_->info().flushes_subnormals.value_or(false));
    if (!check.ok && flushes_subnormals(*bench_->backend_, *case_, plan_->info())) check = judged(true);
    std::string why = case_->check == "fault" ? not_as_declared(check) : check.why;
    if (why.empty()) return input_unchanged();
    if (const std::string undefined = sim::undefined_shuffles(); on_sim() && !undefined.empty())
      return why + "; " + undefined;
    why += check.about_change;
    if (check.right_before) return why;
    return (untouched(in_output) ? "the output was not written, or with what stood there before the call: " : "") +
           why + (is_first ? "" : bench_->compared_with_first_call(*case_, input_->recipe));
  }

  const Result& result() const { return result_; }

 private:
  /// What is wrong with a result that has to be wrong in one known way; `check` says whether it is right. Wanted is the
  /// result of the elements that the variant says are kept, the others being zero.
  std::string not_as_declared(const Check& check) const {
    const Problem& p = case_->problem;
    const KnownFault fault = case_->variant->fault_of(case_->settings);
    if (check.ok) return "got " + check.text + ", which is right, though the variant declares that " + fault.why;
    std::vector<std::byte> kept = input_->tile;
    const std::size_t size = size_of(p.type);
    for (std::size_t i = 0; i * size < kept.size(); ++i)
      if (!fault.keeps(i, plan_->info())) std::fill_n(kept.data() + i * size, size, std::byte{0});
    const Reference want = reference(p.operation, p.type, kept, p.n);
    const Check declared = check_result(result_.data(), want, plan_->info().longest_chain, p.operation);
    return declared.ok ? "" : "wrong, but not as the variant declares (" + fault.why + "): " + declared.why;
  }

  bool on_sim() const { return bench_->backend_->info().kind == DeviceKind::sim; }

  /// Whether the result is to be in the output, and only what was put there before the call is.
  bool untouched(const Result& in_output) const {
    const auto bytes = static_cast<std::ptrdiff_t>(case_->problem.result_bytes());
    return plan_->info().result == ResultLocation::on_device &&
           std::all_of(in_output.begin(), in_output.begin() + bytes, [](std::byte b) { return b == std::byte{0xFF}; });
  }

  /// The input on its way, where the call works on a copy; then what is changed in it.
  void put_input() {
    Backend& backend = *bench_->backend_;
    if (copy_)
      backend.copy_within(copy_->bytes_at(skipped()), input_->memory.bytes_at(skipped()), case_->problem.bytes(),
                          stream_);
    if (changed_) backend.copy_in(changed_place(), changed_->is.data(), changed_->bytes, stream_);
  }
  void* changed_place() const { return device_input().bytes_at(skipped() + changed_->index * changed_->bytes); }

  std::size_t skipped() const { return case_->offset_elements * size_of(case_->problem.type); }
  const DeviceMemory& device_input() const { return copy_ ? *copy_ : input_->memory; }

  static std::string shape_text(std::size_t blocks, unsigned threads) {
    return std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads";
  }

  /// All of it, or who works on it next would be blamed: its first period here, the others against the one before each
  /// on the device.
  std::string input_unchanged() {
    const DeviceMemory& memory = device_input();
    if (changed_) bench_->backend_->copy_in(changed_place(), changed_->was.data(), changed_->bytes, stream_);
    const bool consumed = case_->variant->consumes_input;
    std::vector<std::byte> now(skipped() + (consumed ? 0 : input_->tile.size()));
    if (now.empty()) return {};
    bench_->backend_->copy_out(now.data(), memory.get(), now.size(), stream_);
    const auto poisoned = [](std::byte b) { return b == std::byte{0xFF}; };
    if (!std::all_of(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(skipped()), poisoned))
      return "wrote to memory before its input";
    if (consumed) return {};
    const std::size_t period = input_->tile.size();
    if (std::equal(input_->tile.begin(), input_->tile.end(), now.begin() + static_cast<std::ptrdiff_t>(skipped())) &&
        bench_->backend_->repeats(memory.bytes_at(skipped()), period, memory.size() - skipped(), stream_))
      return {};
    return "changed its input, which it does not declare (consumes_input)";
  }

  Workbench* bench_;
  const Case* case_;
  Plan* plan_;
  CaseInput* input_;
  Output* output_;
  Stream stream_;
  std::shared_ptr<DeviceMemory> copy_;
  std::optional<ChangedElement> changed_;
  std::function<void()> again_;
  std::string wrong_launch_;
  Result result_{};
};

std::shared_ptr<DeviceMemory> Workbench::room_for(const CaseInput& input) {
  return std::make_shared<DeviceMemory>(*backend_, input.memory.size());
}

Workbench::CaseInput& Workbench::input(const Recipe& recipe, const CaseInput* keep) {
  const auto known =
      std::find_if(inputs_.begin(), inputs_.end(), [&](const CaseInput& i) { return i.recipe == recipe; });
  if (known != inputs_.end()) {
    inputs_.splice(inputs_.begin(), inputs_, known);
    inputs_.front().suspect = true;
    ++inputs_.front().cases;
    return inputs_.front();
  }
  const std::size_t size = size_of(recipe.type), bytes = (recipe.offset_elements + recipe.n) * size;
  const std::size_t most = std::min(most_input_bytes, backend_->info().memory_bytes / 8);
  std::size_t held = bytes;
  for (const CaseInput& i : inputs_) held += i.memory.size();
  for (auto last = inputs_.end(); last != inputs_.begin() && (held > most || inputs_.size() >= most_inputs);) {
    --last;
    if (&*last == keep) continue;
    held -= last->memory.size();
    last = inputs_.erase(last);
  }

  CaseInput made{recipe, make_tile(recipe.dataset, recipe.type, recipe.n, recipe.seed), DeviceMemory(*backend_, bytes),
                 true, 1};
  const OwnStream stream(*backend_);
  const std::size_t begin = recipe.offset_elements * size, total = recipe.n * size;
  backend_->copy_in(made.memory.bytes_at(begin), made.tile.data(), made.tile.size(), stream);
  for (std::size_t done = made.tile.size(); done < total;) {
    const std::size_t next = std::min(done, total - done);
    backend_->copy_within(made.memory.bytes_at(begin + done), made.memory.bytes_at(begin), next, stream);
    done += next;
  }
  backend_->synchronize(stream);
  inputs_.push_front(std::move(made));
  return inputs_.front();
}

std::optional<ChangedElement> Workbench::change_of(CaseInput& input, const Case& c, const Plan& plan,
                                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return reference_for(c.problem.operation, input.recipe, input.tile)
      .draw_change(input.tile, random, plan.info().longest_chain);
}

std::string Workbench::run(const Case& c) {
  std::erase_if(inputs_, [](const CaseInput& i) { return i.suspect; });
  std::string why = checked(c);
  if (why.empty())
    for (CaseInput& i : inputs_) i.suspect = false;
  return why;
}

std::string Workbench::checked(const Case& c) {
  set_order(c, c.seed);
  if (c.check == "repeat") return repeat(c);
  if (c.check == "two-plans") return two_plans(c);
  if (c.check == "calls") return calls(c);
  if (c.check == "settings") return settings(c);
  if (c.check == "chain") return chain(c);
  return once(c);
}

std::string Workbench::once(const Case& c) {
  const auto plan = plan_for(c, backend_->info());
  CaseInput& in = input(recipe_of(c, c.seed));
  const OwnStream stream(*backend_);
  Output output(*backend_, c.problem.result_bytes(), stream);
  std::optional<ChangedElement> changed;
  const bool met_again = std::exchange(in.met_by, c.variant) == c.variant;
  if (met_again && c.check != "fault")
    changed = change_of(in, c, *plan, c.seed + static_cast<std::uint64_t>(in.cases));
  CaseCall call(*this, c, *plan, in, output, stream, nullptr, changed);
  const Drain drain(*backend_, {stream});
  call.enqueue();
  std::string why = call.settle();
  // Run again by itself, a case meets its input for the first time.
  if (changed && !why.empty()) why += ", as the variant had met this input before; --check calls does that alone";
  return why;
}

/// What is to be said of a later call of a plan that is wrong: its data may be what every call gets wrong.
std::string Workbench::compared_with_first_call(Case c, const Recipe& data) {
  c.dataset = data.dataset;
  c.seed = data.seed;
  std::string why;
  try {
    why = once(c);
  } catch (const std::exception& e) {
    why = e.what();
  }
  return why.empty() ? "; does a call leave a counter or other state behind?"
                     : "; so is the first call of a plan on this data: " + why;
}

/// The same plan on A, on B behind it with no pause where results stay on the device, and on A again. Of floats B is
/// exact data, so that each of its elements counts, whatever A is.
std::string Workbench::repeat(const Case& c) {
  const auto plan = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  CaseInput& a = input(recipe_of(c, c.seed));
  Recipe other = recipe_of(c, c.seed + 1);
  if (is_floating(c.problem.type)) other.dataset = "exact";
  CaseInput& b = input(other, &a);
  const std::size_t bytes = c.problem.result_bytes();
  const OwnStream stream(*backend_);
  Output first_output(*backend_, bytes, stream), second_output(*backend_, bytes, stream);
  CaseCall first(*this, c, *plan, a, first_output, stream, room_for(a));
  CaseCall second(*this, c, *plan, b, second_output, stream, room_for(b));
  CaseCall third(*this, c, *plan, a, first_output, stream, room_for(a));
  const Drain drain(*backend_, {stream});

  const bool at_once = plan->info().result == ResultLocation::on_device;
  if (plan->info().result != ResultLocation::on_host) hold_back(stream);
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
  if (c.variant->determinism != Determinism::none && first.result() != third.result())
    return "two calls on the same input differ in bits, though the variant declares that they do not";
  return {};
}

/// Two plans on two streams, each called twice, their calls interleaved and awaited in reverse.
std::string Workbench::two_plans(const Case& c) {
  const auto plan_1 = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  const auto plan_2 = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  CaseInput& a = input(recipe_of(c, c.seed));
  CaseInput& b = input(recipe_of(c, c.seed + 1), &a);
  const std::size_t bytes = c.problem.result_bytes();
  const OwnStream stream_1(*backend_), stream_2(*backend_);
  Output output_1(*backend_, bytes, stream_1), output_2(*backend_, bytes, stream_2);
  Output output_3(*backend_, bytes, stream_1), output_4(*backend_, bytes, stream_2);
  CaseCall call_1(*this, c, *plan_1, a, output_1, stream_1, room_for(a));
  CaseCall call_2(*this, c, *plan_2, b, output_2, stream_2, room_for(b));
  CaseCall call_3(*this, c, *plan_1, b, output_3, stream_1, room_for(b));
  CaseCall call_4(*this, c, *plan_2, a, output_4, stream_2, room_for(a));
  const Drain drain(*backend_, {stream_1, stream_2});

  const auto settle = [](CaseCall& call, const char* which, bool is_first = true) {
    std::string why = call.settle(is_first);
    return why.empty() ? why : std::string("two plans at once, ") + which + ": " + why;
  };
  const bool at_once = plan_1->info().result == ResultLocation::on_device;
  std::string why;
  call_1.enqueue();
  call_2.enqueue();
  std::string why_later;
  if (!at_once) {
    // Both device parts are done before either host part: partial results that two plans share are found out.
    backend_->synchronize(stream_1);
    backend_->synchronize(stream_2);
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

/// Nine calls of one plan: two inputs at one address, twice each in turn, the second of every three calls on another
/// stream. From the third on another element of the input is changed in each. One is captured where a device can, and
/// is launched twice. Each is awaited before the next.
std::string Workbench::calls(const Case& c) {
  const auto plan = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  CaseInput& a = input(recipe_of(c, c.seed));
  CaseInput& b = input(recipe_of(c, c.seed + 1), &a);
  const OwnStream stream(*backend_), other(*backend_);
  Output output(*backend_, c.problem.result_bytes(), stream);
  const auto room = room_for(a);
  const Drain drain(*backend_, {stream, other});
  constexpr int calls = 9;
  const auto change_in = [&](CaseInput& in, int i) {
    return change_of(in, c, *plan, c.seed + static_cast<std::uint64_t>(i));
  };
  const auto ready = [&](Stream on) {
    output.poison(on);
    // Work that stays on the stream of an earlier call is done before the input is there.
    if (plan->info().result != ResultLocation::on_host) hold_back(on);
  };
  for (int i = 0; i < calls; ++i) {
    const Stream on = i % 3 == 1 ? other : stream;
    CaseInput& in = (i + 1) / 2 % 2 == 0 ? a : b;  // each with one of the other data before it, and with one of its own
    const std::string which =
        "call " + std::to_string(i + 1) + " of one plan" + (i % 3 == 1 ? ", on another stream" : "");
    CaseCall call(*this, c, *plan, in, output, on, room, i < 2 ? std::nullopt : change_in(in, i));
    ready(on);
    call.enqueue(i == calls / 2);
    if (std::string why = call.settle(i == 0); !why.empty()) return which + ": " + why;
    if (i != calls / 2 || !call.can_be_launched_again()) continue;
    CaseCall second(*this, c, *plan, in, output, on, room, change_in(in, calls));
    ready(on);
    second.enqueue_again(call);
    if (std::string why = second.settle(false); !why.empty())
      return which + ", captured in a graph that is launched again: " + why;
  }
  return {};
}

/// The same call with every value of every tunable, each in the opposite order of the one before; and once more, with
/// another element in the input.
std::string Workbench::settings(const Case& c) {
  const Variant& v = *c.variant;
  if (v.determinism != Determinism::always)
    throw Refused("does not declare that n alone decides the bits (Determinism::always), so its settings may differ");
  std::vector<Settings> all{c.settings, c.settings};  // in both orders
  for (const Tunable& t : v.tunables)
    for (Settings& s : v.with_other_values(c.settings, t)) all.push_back(std::move(s));
  CaseInput& in = input(recipe_of(c, c.seed));
  const OwnStream stream(*backend_);
  Output output(*backend_, c.problem.result_bytes(), stream);
  std::optional<Result> first;
  Case one = c;
  for (const Settings& s : all) {
    one.settings = s;
    if (!refusal(v, backend_->info().kind, c.problem, s).empty()) continue;
    const auto plan = make_plan(v, c.problem, s, backend_->info());
    CaseCall call(*this, one, *plan, in, output, stream, nullptr);
    const Drain drain(*backend_, {stream});
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
  const auto plan = make_plan(v, c.problem, c.settings, backend_->info());
  CaseCall changed(*this, c, *plan, in, output, stream, nullptr, change_of(in, c, *plan, c.seed));
  const Drain drain(*backend_, {stream});
  output.poison(stream);
  changed.enqueue();
  if (std::string why = changed.settle(); !why.empty()) return "with another element in the input: " + why;
  return {};
}

namespace {

/// A large number among small ones, all of which together are too small to be seen beside it, added up with all
/// roundings upward: an addition that brings any of them to the large one raises it by one unit in the last place,
/// whatever else they are, so the result says how many additions the large one passed through. Those of zeros do not
/// count; they do not round either. No kernel needs another type for it, and a sum that is compensated, or in a wider
/// type than `Acc`, counts as little as it rounds. Both numbers are powers of two, and the small one's square is
/// normal.
template <class In, class Acc>
struct CountedData {
  static constexpr bool few_binades = std::is_same_v<In, F16>;  // from 2^-24 to 2^15
  static constexpr double large = few_binades ? 0x1p15 : 1;
  static constexpr double small = few_binades                  ? 0x1p-24
                                  : std::is_same_v<Acc, float> ? 0x1p-60
                                  : std::is_same_v<In, float>  ? 0x1p-120
                                                               : 0x1p-200;
  static constexpr std::size_t most_elements = few_binades ? std::size_t{1} << 16 : std::size_t{1} << 36;

  static std::vector<std::byte> with_large_at(std::size_t at, std::size_t n) {
    std::vector<In> values(n, static_cast<In>(small));
    values[at] = static_cast<In>(large);
    std::vector<std::byte> bytes(n * sizeof(In));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  /// None if the result, of moments the first value, is not such a sum.
  static std::optional<std::size_t> additions(const Result& result, Operation operation) {
    const Acc alone = static_cast<Acc>(operation == Operation::sum_of_squares ? large * large : large);
    Acc sum;
    std::memcpy(&sum, result.data(), sizeof sum);
    if (!(sum >= alone && sum < 2 * alone)) return std::nullopt;
    return static_cast<std::size_t>((sum - alone) / (alone * std::numeric_limits<Acc>::epsilon()));
  }
};

/// f(CountedData<In, Acc>()) of a problem of floats.
template <class F>
auto with_counted_data(const Problem& p, F f) {
  switch (p.type) {
    case ElementType::f16: return f(CountedData<F16, float>());
    case ElementType::bf16: return f(CountedData<BF16, float>());
    case ElementType::f32:
      return p.accumulator() == ElementType::f64 ? f(CountedData<float, double>()) : f(CountedData<float, float>());
    case ElementType::f64: return f(CountedData<double, double>());
    default: throw Refused("the additions of a chain are counted in floats");
  }
}

class RoundUpward {
 public:
  RoundUpward() : before_(std::fegetround()) { std::fesetround(FE_UPWARD); }
  ~RoundUpward() { std::fesetround(before_); }
  RoundUpward(const RoundUpward&) = delete;
  RoundUpward& operator=(const RoundUpward&) = delete;

 private:
  int before_;
};

}  // namespace

/// Counts the additions that some elements pass through: the first and the last, where chains are longest in most
/// kernels, one in the middle, and a few at random. None of them may pass through more than the plan declares. From
/// `least_judged` elements on, where what is empty no longer decides, it may not declare more than four times the most,
/// or than four times the depth of a balanced tree: a sum that hardly rounds, being compensated or of a wider type,
/// counts as one addition.
std::string Workbench::chain(const Case& c) {
  constexpr std::size_t least_judged = 1000, most_times = 4, at_random = 3;
  if (backend_->info().kind != DeviceKind::sim)
    throw Refused("the additions of a chain are counted on the simulated device alone");
  const std::size_t most_elements = with_counted_data(c.problem, [](auto data) { return data.most_elements; });
  if (c.problem.n > most_elements)
    throw Refused("the additions of a chain are counted in at most " + std::to_string(most_elements) + " elements of " +
                  std::string(name(c.problem.type)));
  if (c.problem.n == 0) return {};
  const std::size_t n = c.problem.n, size = size_of(c.problem.type), begin = c.offset_elements * size;
  const auto plan = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  const OwnStream stream(*backend_);
  Output output(*backend_, c.problem.result_bytes(), stream);
  const DeviceMemory in(*backend_, begin + n * size);
  const Drain drain(*backend_, {stream});
  std::vector<std::size_t> places{0, n / 2, n - 1};
  std::mt19937_64 random(c.seed);
  for (std::size_t i = 0; i < at_random; ++i) places.push_back(random() % n);

  std::size_t most = 0;
  for (const std::size_t at : places) {
    const auto data = with_counted_data(c.problem, [&](auto d) { return d.with_large_at(at, n); });
    backend_->copy_in(in.bytes_at(begin), data.data(), data.size(), stream);
    output.poison(stream);
    Result result{};
    std::string why;
    {
      const RoundUpward upward;
      plan->enqueue(in.bytes_at(begin), output.get(), stream);
      if (plan->info().result == ResultLocation::on_device)
        why = output.read(result.data(), stream);
      else
        plan->finish(result.data(), stream);
    }
    if (!why.empty()) return why;
    const auto counted = with_counted_data(c.problem, [&](auto d) { return d.additions(result, c.problem.operation); });
    if (!counted) return "the sum of one large number and of numbers near zero is not about the large one";
    most = std::max(most, *counted);
    if (most > plan->info().longest_chain)
      return "the plan declares a longest chain of " + std::to_string(plan->info().longest_chain) +
             " additions, and element " + std::to_string(at) + " passed through " + std::to_string(most);
  }
  const std::size_t tree = static_cast<std::size_t>(std::bit_width(n));
  if (n >= least_judged && plan->info().longest_chain > most_times * std::max(most, tree))
    return "the plan declares a longest chain of " + std::to_string(plan->info().longest_chain) +
           " additions, more than four times the longest found, " + std::to_string(most) + ", and a balanced tree's, " +
           std::to_string(tree) +
           ": so much forgiven rounding hides real faults; declare what this n and these settings take";
  return {};
}

void Workbench::hold_back(Stream stream) {
  if (backend_->info().kind != DeviceKind::cuda) return;  // the simulated device runs a stream only when it is awaited
  if (!delay_) delay_.emplace(*backend_, delay_bytes);
  backend_->fill(delay_->get(), 0, delay_bytes, stream);
}

}  // namespace reductio
