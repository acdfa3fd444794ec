#include "verify/workbench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "core/dataset.h"
#include "core/error.h"
#include "device/sim/schedule.h"

namespace reductio {
namespace {

constexpr std::size_t most_inputs = 256;
constexpr std::size_t most_input_bytes = std::size_t{1} << 30;
/// Up to this many bytes the input is read back and compared; beyond, only what lies before it.
constexpr std::size_t most_compared_bytes = std::size_t{16} << 20;
/// Long enough to write on a GPU that work on a wrong stream overtakes it, short enough to do often.
constexpr std::size_t delay_bytes = std::size_t{256} << 20;

using Accumulator = std::array<std::byte, 8>;  // the widest

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
const Reference& reference_for(Operation operation, const Recipe& recipe, const std::vector<std::byte>& tile) {
  using Key = std::tuple<Operation, ElementType, std::string, std::size_t, std::uint64_t>;
  static std::map<Key, Reference> known;
  const Key key{operation, recipe.type, recipe.dataset, recipe.n, recipe.seed};
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  return known.emplace(key, reference(operation, recipe.type, tile, recipe.n)).first->second;
}

/// One accumulator in device memory, poisoned, between guards that must stay as they are.
class Output {
 public:
  Output(Backend& backend, std::size_t bytes, Stream stream)
      : backend_(&backend), bytes_(bytes), memory_(backend, 2 * guard + bytes) {
    backend.fill(memory_.get(), mark, guard, stream);
    backend.fill(memory_.bytes_at(guard + bytes), mark, guard, stream);
  }
  void* get() const { return memory_.bytes_at(guard); }
  void poison(Stream stream) { backend_->fill(get(), 0xFF, bytes_, stream); }
  /// The accumulator, after waiting for `stream`; or what is wrong with the guards.
  std::string read(void* accumulator, Stream stream) const {
    std::vector<std::byte> all(memory_.size());
    backend_->copy_out(all.data(), memory_.get(), all.size(), stream);
    std::memcpy(accumulator, all.data() + guard, bytes_);
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

/// The plan of a case. Settings with a known fault are refused otherwise; here they have one, to show it.
std::unique_ptr<Plan> plan_for(const Case& c, const DeviceInfo& device) {
  if (c.check != "fault") return make_plan(*c.variant, c.problem, c.settings, device);
  Variant v = *c.variant;
  v.known_fault = nullptr;
  return make_plan(v, c.problem, c.settings, device);
}

}  // namespace

/// One call of a plan, from its input to the verdict.
class Workbench::Call {
 public:
  /// `own_copy`: works on a copy that arrives on `stream` only just before the call, so that work on another stream
  /// finds poison. Variants that consume their input always get one.
  Call(Workbench& bench, const Case& what, Plan& plan, Input& input, Output& output, Stream stream, bool own_copy)
      : bench_(&bench), case_(&what), plan_(&plan), input_(&input), output_(&output), stream_(stream) {
    if (own_copy || what.variant->consumes_input) copy_.emplace(*bench.backend_, input.memory.size());
  }

  void enqueue() {
    const std::size_t size = size_of(case_->problem.type);
    if (copy_)
      bench_->backend_->copy_within(copy_->bytes_at(skipped()), input_->memory.bytes_at(skipped()),
                                    case_->problem.n * size, stream_);
    plan_->enqueue(device_input().bytes_at(skipped()), output_->get(), stream_);
  }

  /// Waits for the result and judges it. Empty if all is well.
  std::string settle() {
    Accumulator in_output{};
    if (plan_->info().result == ResultLocation::on_device) {
      bench_->backend_->synchronize(stream_);
      if (std::string why = output_->read(in_output.data(), stream_); !why.empty()) return why;
      result_ = in_output;
    } else {
      plan_->finish(result_.data(), stream_);
      if (std::string why = output_->read(in_output.data(), stream_); !why.empty()) return why;
    }
    const Problem& p = case_->problem;
    const Reference& want = reference_for(p.operation, input_->recipe, input_->tile);
    if (case_->check == "exact" && !want.exact_in_any_order)
      return "the battery is at fault: this data is not exact in every order";
    const Check check =
        check_result(result_.data(), want, plan_->info().longest_chain, p.operation, plan_->info().flushes_subnormals);
    const std::string why = case_->check == "fault" ? not_as_declared(check) : check.why;
    if (why.empty()) return input_unchanged();
    return untouched(in_output) ? "the output was not written, or with what stood there before the call: " + why : why;
  }

  const Accumulator& result() const { return result_; }

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

  /// Whether the result is to be in the output, and only what was put there before the call is.
  bool untouched(const Accumulator& in_output) const {
    const auto bytes = static_cast<std::ptrdiff_t>(size_of(case_->problem.accumulator()));
    return plan_->info().result == ResultLocation::on_device &&
           std::all_of(in_output.begin(), in_output.begin() + bytes, [](std::byte b) { return b == std::byte{0xFF}; });
  }

  std::size_t skipped() const { return case_->offset_elements * size_of(case_->problem.type); }
  const DeviceMemory& device_input() const { return copy_ ? *copy_ : input_->memory; }

  std::string input_unchanged() {
    const DeviceMemory& memory = device_input();
    const bool whole = !case_->variant->consumes_input && memory.size() <= most_compared_bytes;
    std::vector<std::byte> now(whole ? memory.size() : skipped());
    if (now.empty()) return {};
    bench_->backend_->copy_out(now.data(), memory.get(), now.size(), stream_);
    const auto poisoned = [](std::byte b) { return b == std::byte{0xFF}; };
    if (!std::all_of(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(skipped()), poisoned)) {
      bench_->inputs_spoilt_ = true;
      return "wrote to memory before its input";
    }
    for (std::size_t at = skipped(); at < now.size(); at += input_->tile.size()) {
      const std::size_t bytes = std::min(input_->tile.size(), now.size() - at);
      if (std::memcmp(now.data() + at, input_->tile.data(), bytes) != 0) {
        bench_->inputs_spoilt_ = true;
        return "changed its input, which it does not declare (consumes_input)";
      }
    }
    return {};
  }

  Workbench* bench_;
  const Case* case_;
  Plan* plan_;
  Input* input_;
  Output* output_;
  Stream stream_;
  std::optional<DeviceMemory> copy_;
  Accumulator result_{};
};

Workbench::Input& Workbench::input(const Recipe& recipe, const Input* keep) {
  const auto known = std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.recipe == recipe; });
  if (known != inputs_.end()) {
    inputs_.splice(inputs_.begin(), inputs_, known);
    return inputs_.front();
  }
  const std::size_t size = size_of(recipe.type), bytes = (recipe.offset_elements + recipe.n) * size;
  const std::size_t most = std::min(most_input_bytes, backend_->info().memory_bytes / 8);
  std::size_t held = bytes;
  for (const Input& i : inputs_) held += i.memory.size();
  for (auto last = inputs_.end(); last != inputs_.begin() && (held > most || inputs_.size() >= most_inputs);) {
    --last;
    if (&*last == keep) continue;
    held -= last->memory.size();
    last = inputs_.erase(last);
  }

  Input made{recipe, make_tile(recipe.dataset, recipe.type, recipe.n, recipe.seed), DeviceMemory(*backend_, bytes)};
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

std::string Workbench::run(const Case& c) {
  if (inputs_spoilt_) inputs_.clear();
  inputs_spoilt_ = false;
  set_order(c, c.seed);
  if (c.check == "repeat") return repeat(c);
  if (c.check == "two-plans") return two_plans(c);
  return once(c);
}

std::string Workbench::once(const Case& c) {
  const auto plan = plan_for(c, backend_->info());
  Input& in = input(recipe_of(c, c.seed));
  const OwnStream stream(*backend_);
  Output output(*backend_, size_of(c.problem.accumulator()), stream);
  Call call(*this, c, *plan, in, output, stream, false);
  const Drain drain(*backend_, {stream});
  call.enqueue();
  return call.settle();
}

/// The same plan on A, on B behind it with no pause where results stay on the device, and on A again.
std::string Workbench::repeat(const Case& c) {
  const auto plan = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  Input& a = input(recipe_of(c, c.seed));
  Input& b = input(recipe_of(c, c.seed + 1), &a);
  const std::size_t bytes = size_of(c.problem.accumulator());
  const OwnStream stream(*backend_);
  Output first_output(*backend_, bytes, stream), second_output(*backend_, bytes, stream);
  Call first(*this, c, *plan, a, first_output, stream, true);
  Call second(*this, c, *plan, b, second_output, stream, true);
  Call third(*this, c, *plan, a, first_output, stream, true);
  const Drain drain(*backend_, {stream});

  const bool at_once = plan->info().result == ResultLocation::on_device;
  if (plan->info().result != ResultLocation::on_host) hold_back(stream);
  first.enqueue();
  if (at_once) second.enqueue();
  if (std::string why = first.settle(); !why.empty()) return "first call: " + why;
  if (!at_once) second.enqueue();
  if (std::string why = second.settle(); !why.empty()) return "second call of the same plan: " + why;

  // A result that is the same each time is so in the opposite order, too.
  Case opposite = c;
  if (c.order == "forward") opposite.order = "reverse";
  if (c.order == "reverse") opposite.order = "forward";
  set_order(opposite, c.seed + 1);
  first_output.poison(stream);
  third.enqueue();
  if (std::string why = third.settle(); !why.empty()) return "third call of the same plan: " + why;
  if (c.variant->determinism != Determinism::none && first.result() != third.result())
    return "two calls on the same input differ in bits, though the variant declares that they do not";
  return {};
}

/// Two plans on two streams, each called twice, their calls interleaved and awaited in reverse.
std::string Workbench::two_plans(const Case& c) {
  const auto plan_1 = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  const auto plan_2 = make_plan(*c.variant, c.problem, c.settings, backend_->info());
  Input& a = input(recipe_of(c, c.seed));
  Input& b = input(recipe_of(c, c.seed + 1), &a);
  const std::size_t bytes = size_of(c.problem.accumulator());
  const OwnStream stream_1(*backend_), stream_2(*backend_);
  Output output_1(*backend_, bytes, stream_1), output_2(*backend_, bytes, stream_2);
  Output output_3(*backend_, bytes, stream_1), output_4(*backend_, bytes, stream_2);
  Call call_1(*this, c, *plan_1, a, output_1, stream_1, true);
  Call call_2(*this, c, *plan_2, b, output_2, stream_2, true);
  Call call_3(*this, c, *plan_1, b, output_3, stream_1, true);
  Call call_4(*this, c, *plan_2, a, output_4, stream_2, true);
  const Drain drain(*backend_, {stream_1, stream_2});

  const auto settle = [](Call& call, const char* which) {
    std::string why = call.settle();
    return why.empty() ? why : std::string("two plans at once, ") + which + ": " + why;
  };
  const bool at_once = plan_1->info().result == ResultLocation::on_device;
  std::string why;
  call_1.enqueue();
  call_2.enqueue();
  if (!at_once) {
    // Both device parts are done before either host part: partial results that two plans share are found out.
    backend_->synchronize(stream_1);
    backend_->synchronize(stream_2);
    if (why = settle(call_2, "second plan"); !why.empty()) return why;
    if (why = settle(call_1, "first plan"); !why.empty()) return why;
  }
  call_3.enqueue();
  call_4.enqueue();
  if (why = settle(call_4, "second plan, second call"); !why.empty()) return why;
  if (why = settle(call_3, "first plan, second call"); !why.empty()) return why;
  if (at_once) {
    if (why = settle(call_2, "second plan"); !why.empty()) return why;
    if (why = settle(call_1, "first plan"); !why.empty()) return why;
  }
  return {};
}

void Workbench::hold_back(Stream stream) {
  if (backend_->info().kind != DeviceKind::cuda) return;  // the simulated device runs a stream only when it is awaited
  if (!delay_) delay_.emplace(*backend_, delay_bytes);
  backend_->fill(delay_->get(), 0, delay_bytes, stream);
}

}  // namespace reductio
