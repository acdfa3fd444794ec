#include "verify/call.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "core/error.h"
#include "device/sim/schedule.h"
#include "verify/checks.h"
#include "verify/subnormals.h"

namespace reductio {
namespace {

constexpr std::size_t guard = 64;
constexpr unsigned char mark = 0xA5;

/// A reference costs a pass over a tile, and many settings of many variants use the same data.
std::shared_ptr<const ExactOutputs> exact_outputs(const Problem& problem, const CaseInput& input) {
  static KnownOutputs known;
  return known.of(problem, input.recipe.dataset, input.recipe.seed, input.tile);
}

bool all_poisoned(const std::byte* bytes, std::size_t count) {
  return std::all_of(bytes, bytes + count, [](std::byte b) { return b == std::byte{0xFF}; });
}

/// What code has changed of this thread's arithmetic, after restoring it; empty: nothing.
std::string changed_arithmetic(const std::fenv_t& before, int rounding) {
  const volatile double least = std::numeric_limits<double>::denorm_min();
  const volatile double same = least * 1.0;
  const bool rounds = std::fegetround() != rounding, flushes = !(same > 0);
  if (!rounds && !flushes) return {};
  std::fesetenv(&before);
  return std::string("changed how this thread ") + (rounds ? "rounds" : "computes with subnormals") +
         " and left it so, for all who compute after it";
}

std::string shape_text(std::size_t blocks, unsigned threads) {
  return std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads";
}

}  // namespace

Drain::~Drain() {
  for (const Stream s : streams_) try {
      backend_.synchronize(s);
    } catch (const DeviceError&) {
      // The case has failed already, or a wrong stream's work has: its result was judged without it.
    }
}

Output::Output(Backend& backend, std::size_t bytes, Stream stream)
    : backend_(backend), bytes_(bytes), memory_(backend, 2 * guard + bytes) {
  backend.fill(memory_.get(), mark, guard, stream);
  backend.fill(memory_.bytes_at(guard + bytes), mark, guard, stream);
  backend.synchronize(stream);
}

void* Output::get() const { return memory_.bytes_at(guard); }

std::string Output::read(void* result, Stream stream) const {
  std::vector<std::byte> all(memory_.size());
  backend_.copy_out(all.data(), memory_.get(), all.size(), stream);
  if (bytes_ > 0) std::memcpy(result, all.data() + guard, bytes_);
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((i < guard || i >= guard + bytes_) && all[i] != std::byte{mark})
      return i < guard ? "wrote " + std::to_string(guard - i) + " bytes before the output"
                       : "wrote " + std::to_string(i - guard - bytes_) + " bytes past the output";
  return {};
}

OwnPlan::OwnPlan(const Variant& v, Problem p, const Settings& s, const DeviceInfo& device,
                 std::shared_ptr<DeviceMemory> offsets)
    : id_(device.kind == DeviceKind::sim ? sim::new_plan() : 0),
      keeps_state_(!v.persistent_state.empty()),
      offsets_(std::move(offsets)) {
  if (offsets_) p.shape.offsets_on_device = static_cast<const std::int64_t*>(offsets_->get());
  const sim::ActsAs me(id_);
  plan_ = make_plan(v, p, s, device);
}

OwnPlan OwnPlan::of(const Case& c, Workbench& bench) {
  const DeviceInfo& device = bench.backend.info();
  if (c.check != "fault") return {*c.variant, c.problem, c.settings, device, bench.offsets_of(c.problem)};
  Variant v = *c.variant;
  v.known_fault = nullptr;
  return {v, c.problem, c.settings, device};
}

void OwnPlan::enqueue(void* in, void* out, Stream stream) {
  const sim::ActsAs me(id_);
  plan_->enqueue(in, out, stream);
}

void OwnPlan::finish(void* result, Stream stream) {
  const sim::ActsAs me(id_);
  plan_->finish(result, stream);
}

void OwnPlan::begin_call(Stream stream) {
  if (id_ && !keeps_state_) sim::enqueue_forgetting(stream, id_);
}

std::vector<std::uint32_t> OwnPlan::state() const {
  return id_ && keeps_state_ ? sim::words_of(id_) : std::vector<std::uint32_t>();
}

std::string OwnPlan::misdeclared() const {
  if (!id_) return {};
  const sim::Workspace holds = sim::workspace_of(id_);
  const std::size_t says = plan_->info().workspace_bytes;
  if (says <= holds.bytes && says + holds.single >= holds.bytes) return {};
  return "the plan declares " + std::to_string(says) + " bytes of workspace (PlanInfo), and holds " +
         std::to_string(holds.bytes);
}

std::optional<ChangedElement> change_of(const CaseInput& input, const Case& c, const OwnPlan& plan,
                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  return exact_outputs(c.problem, input)->draw_change(input.tile, random, plan.info().longest_chain);
}

CaseCall::CaseCall(Workbench& bench, const Case& what, OwnPlan& plan, CaseInput& input, Output& output, Stream stream,
                   std::shared_ptr<DeviceMemory> copy, std::optional<ChangedElement> changed)
    : bench_(bench),
      case_(what),
      plan_(plan),
      input_(input),
      output_(output),
      stream_(stream),
      copy_(std::move(copy)),
      changed_(std::move(changed)),
      result_(output.bytes()) {
  if (!copy_ && what.variant->consumes_input) copy_ = bench.room_for(input);
  if (!on_sim()) return;
  // Kernels may touch the n elements and the result, and nothing beside them.
  sim::set_reach(device_input().bytes_at(skipped()), input_bytes());
  sim::set_reach(output_.get(), output_.bytes());
  if (!what.variant->consumes_input) sim::protect_input(device_input().get());
}

/// Copies the input, if the call works on a copy, then changes the element.
void CaseCall::put_input() {
  Backend& backend = bench_.backend;
  if (copy_)
    backend.copy_within(copy_->bytes_at(skipped()), input_.memory.bytes_at(skipped()), input_bytes(), stream_);
  if (changed_) backend.copy_in(changed_place(), changed_->is.data(), changed_->bytes, stream_);
}

void CaseCall::enqueue(bool captured) {
  put_input();
  plan_.begin_call(stream_);
  Backend& backend = bench_.backend;
  const PlanInfo said = plan_.info();
  const auto put = [&] {
    if (backend.info().kind != DeviceKind::cpu)
      return plan_.enqueue(device_input().bytes_at(skipped()), output_.get(), stream_);
    std::fenv_t before;
    std::fegetenv(&before);
    const int rounding = std::fegetround();
    plan_.enqueue(device_input().bytes_at(skipped()), output_.get(), stream_);
    wrong_arithmetic_ = changed_arithmetic(before, rounding);
  };
  if (said.result == ResultLocation::on_host || !(captured || on_sim())) return put();
  // A library's own launches, or a plug-in's.
  if (said.grid_blocks == 0 && (backend.info().kind == DeviceKind::cuda || !case_.variant->plugin.empty()))
    return void(again_ = backend.watch_enqueue(put, stream_, nullptr));
  FirstLaunch launch;
  again_ = backend.watch_enqueue(put, stream_, &launch);
  if (launch.grid_blocks != said.grid_blocks || launch.block_threads != said.block_threads)
    wrong_launch_ = "the plan declares a first launch of " + shape_text(said.grid_blocks, said.block_threads) +
                    " (PlanInfo), and launches " + shape_text(launch.grid_blocks, launch.block_threads);
  else
    wrong_launch_ = plan_.misdeclared();
}

std::string CaseCall::settle(bool is_first) {
  if (!wrong_launch_.empty()) return wrong_launch_;
  if (!wrong_arithmetic_.empty()) return wrong_arithmetic_;
  const PlanInfo info = plan_.info();
  const bool on_device = info.result == ResultLocation::on_device;
  if (on_device)
    bench_.backend.synchronize(stream_);
  else
    plan_.finish(result_.data(), stream_);
  Result in_output(output_.bytes());
  if (std::string why = output_.read(in_output.data(), stream_); !why.empty()) return why;
  if (std::string why = workspace_intact(); !why.empty()) return why;
  if (on_device) result_ = in_output;

  const Problem& p = case_.problem;
  const std::shared_ptr<const ExactOutputs> exact = exact_outputs(p, input_);
  if (case_.check == "exact" && !(changed_ ? changed_->want.all_exact() : exact->all_exact()))
    return "the battery is at fault: this data is not exact in every order";
  const auto judged = [&](bool flushes) {
    return exact->check(result_.data(), changed_ ? &*changed_ : nullptr, info.longest_chain, flushes);
  };
  Check check = judged(info.flushes_subnormals.value_or(false));
  if (!check.ok && flushes_subnormals(bench_.backend, case_, info)) check = judged(true);
  std::string why = case_.check == "fault" ? not_as_declared(check) : check.why;
  const bool untouched = on_device && p.outputs() > 0 && all_poisoned(in_output.data(), p.result_bytes());
  if (why.empty() && untouched && is_floating(p.accumulator())) why = "got nan, which is right by chance alone";
  if (why.empty()) return input_unchanged();
  if (const std::string undefined = undefined_values(); !undefined.empty()) return why + "; " + undefined;
  why += check.about_change;
  if (check.right_before) return why;
  if (untouched) why = "the output was not written, or with what stood there before the call: " + why;
  if (on_device && bench_.backend.info().kind == DeviceKind::cpu) why += written_later(in_output);
  if (is_first && case_.check != "fault") why += lost_element(bench_, case_);
  return is_first ? why : why + compared_with_first_call(bench_, case_, input_.recipe);
}

bool CaseCall::is_nan() const {
  const auto exact = exact_outputs(case_.problem, input_);
  const Reference& want = exact->first();
  return is_floating(want.type) && std::isnan(want.value);
}

/// What of undefined values may explain a wrong result: kernels may drop them.
std::string CaseCall::undefined_values() {
  if (!on_sim()) return {};
  std::string shuffles = sim::undefined_shuffles();
  const std::string exchanges = sim::unset_exchanges();
  if (!shuffles.empty() && drops_undefined_shuffles()) shuffles.clear();
  return shuffles + (shuffles.empty() || exchanges.empty() ? "" : "; ") + exchanges;
}

/// Whether a wrong result is the same whatever those shuffles give: a number although they give NaN, or the same
/// integer when they give others.
bool CaseCall::drops_undefined_shuffles() {
  const Problem& p = case_.problem;
  if (const ElementType type = p.accumulator(); is_floating(type))
    return p.operation != Operation::moments && !std::isnan(floating_result(result_.data(), type));
  if (!can_be_launched_again()) return false;
  const sim::OtherUndefined others;
  Result again(output_.bytes());
  try {
    enqueue_again(*this);
    bench_.backend.synchronize(stream_);
    output_.read(again.data(), stream_);
  } catch (const DeviceError&) {
    return false;
  }
  return again == result_;
}

double CaseCall::relative_error() const {
  const auto exact = exact_outputs(case_.problem, input_);
  const Reference& want = exact->first();
  const double got = floating_result(result_.data(), want.type);
  return (got - want.value - want.residual) / want.value;
}

/// What is wrong with a result that must be wrong in one known way: the sum of the elements that the variant declares
/// as kept, the others being zero. `check` says whether it is right.
std::string CaseCall::not_as_declared(const Check& check) const {
  const Problem& p = case_.problem;
  const KnownFault fault = case_.variant->fault_of(case_.settings);
  if (check.ok) return "got " + check.text + ", which is right, though the variant declares that " + fault.why;
  std::vector<std::byte> kept = input_.tile;
  const std::size_t size = size_of(p.type);
  for (std::size_t i = 0; i * size < kept.size(); ++i)
    if (!fault.keeps(i, plan_.info())) std::fill_n(kept.data() + i * size, size, std::byte{0});
  const Reference want = reference(p.operation, p.type, kept, p.n);
  const Check declared = check_result(result_.data(), want, plan_.info().longest_chain, p.operation);
  return declared.ok ? "" : "wrong, but not as the variant declares (" + fault.why + "): " + declared.why;
}

std::string CaseCall::workspace_intact() const {
  const Guarded g = plan_.guarded();
  if (!g.memory) return {};
  constexpr std::size_t guard = Guarded::guard_bytes;
  std::array<std::byte, guard> bytes;
  const auto read = [&](std::size_t from) {
    bench_.backend.copy_out(bytes.data(), static_cast<std::byte*>(g.memory) + from - guard, guard, stream_);
  };
  const auto written = [](std::byte b) { return b != std::byte{Guarded::mark}; };
  read(0);
  if (std::any_of(bytes.begin(), bytes.end(), written)) return "wrote to memory before its workspace";
  read(g.bytes + guard);
  if (std::none_of(bytes.begin(), bytes.end(), written)) return {};
  return "wrote to memory past its workspace of " + std::to_string(g.bytes) + " bytes";
}

/// Of a CPU's wrong result: whether there is another one a while later.
std::string CaseCall::written_later(const Result& then) const {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Result now(output_.bytes());
  output_.read(now.data(), stream_);
  return now == then ? "" : "; 50 ms later the output is another: the call returned before its work was done";
}

/// Checks all of it, or the next case would be blamed: the first period here, the others on the device, each against
/// the one before.
std::string CaseCall::input_unchanged() {
  const DeviceMemory& memory = device_input();
  Backend& backend = bench_.backend;
  if (changed_) backend.copy_in(changed_place(), changed_->was.data(), changed_->bytes, stream_);
  const bool consumed = case_.variant->consumes_input;
  const std::vector<std::byte>& tile = input_.tile;
  std::vector<std::byte> now(skipped() + (consumed ? 0 : tile.size()));
  if (now.empty()) return {};
  backend.copy_out(now.data(), memory.get(), now.size(), stream_);
  if (!all_poisoned(now.data(), skipped())) return "wrote to memory before its input";
  if (consumed) return {};
  if (std::equal(tile.begin(), tile.end(), now.begin() + static_cast<std::ptrdiff_t>(skipped())) &&
      backend.repeats(memory.bytes_at(skipped()), tile.size(), memory.size() - skipped(), stream_))
    return {};
  return "changed its input, which it does not declare (consumes_input)";
}

}  // namespace reductio
