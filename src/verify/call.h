#pragma once
/// One call of a plan, from its input to the verdict, with its stream and an output between guards.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/outputs.h"
#include "core/variant.h"
#include "device/backend.h"
#include "device/sim/plans.h"
#include "verify/workbench.h"

namespace reductio {

using Result = std::vector<std::byte>;

class OwnStream {
 public:
  explicit OwnStream(Backend& backend) : backend_(backend), stream_(backend.create_stream()) {}
  ~OwnStream() { backend_.destroy_stream(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator Stream() const { return stream_; }

 private:
  Backend& backend_;
  Stream stream_;
};

/// Before a case's memory is freed, waits for all that a failing case may have left on its streams and, by mistake, on
/// the default stream. Declared last, so destroyed first.
class Drain {
 public:
  Drain(Backend& backend, std::initializer_list<Stream> streams) : backend_(backend), streams_(streams) {
    streams_.push_back(Stream{});
  }
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

 private:
  Backend& backend_;
  std::vector<Stream> streams_;
};

/// A poisoned result in device memory between guards that must stay intact. The constructor waits until the guards are
/// written, so a case whose further memory is refused leaves no work behind.
class Output {
 public:
  Output(Backend&, std::size_t bytes, Stream);
  void* get() const;
  std::size_t bytes() const { return bytes_; }
  void poison(Stream stream) { backend_.fill(get(), 0xFF, bytes_, stream); }
  /// The result, after waiting for `stream`; or what is wrong with the guards.
  std::string read(void* result, Stream stream) const;

 private:
  Backend& backend_;
  std::size_t bytes_;
  DeviceMemory memory_;
};

/// A plan, of which the simulated device knows what is its own (device/sim/plans.h).
class OwnPlan {
 public:
  /// `offsets`: of the problem's segments, on the device.
  OwnPlan(const Variant&, Problem, const Settings&, const DeviceInfo&, std::shared_ptr<DeviceMemory> offsets = {});
  /// Of a case. Settings with a known fault are refused otherwise; here they have one, to show it.
  static OwnPlan of(const Case&, Workbench&);

  PlanInfo info() const { return plan_->info(); }
  Guarded guarded() const { return plan_->guarded(); }
  void enqueue(void* in, void* out, Stream);
  void finish(void* result, Stream);
  /// Forgets what no call may need of an earlier one, by what the variant declares.
  void begin_call(Stream);
  /// The state that it declares, in words, on the simulated device. Others, and stateless plans, have none.
  std::vector<std::uint32_t> state() const;
  void set_state(const std::vector<std::uint32_t>& words) { sim::set_words(id_, words); }
  /// What is wrong with the workspace that the plan declares.
  std::string misdeclared() const;

 private:
  sim::PlanId id_ = 0;  ///< 0: on another device
  bool keeps_state_;
  std::shared_ptr<DeviceMemory> offsets_;  ///< that the plan points to
  std::unique_ptr<Plan> plan_;
};

/// Draws an element to change for one call, by `seed`; none if no change would show in the result.
std::optional<ChangedElement> change_of(const CaseInput&, const Case&, const OwnPlan&, std::uint64_t seed);

class CaseCall {
 public:
  /// `copy`: the call works on a copy that arrives on `stream` just before it, so work on another stream finds older
  /// data. Variants that consume their input get one if this is null. `changed`: an element that differs for this call.
  CaseCall(Workbench&, const Case&, OwnPlan&, CaseInput&, Output&, Stream, std::shared_ptr<DeviceMemory> copy = {},
           std::optional<ChangedElement> changed = {});

  /// `captured`: on a GPU as a graph. The simulated device watches every call.
  void enqueue(bool captured = false);
  /// Launches what another call of the same plan and memory captured.
  void enqueue_again(const CaseCall& captured) {
    put_input();
    plan_.begin_call(stream_);
    captured.again_();
  }
  /// Whether it can be launched again. Not if finish() makes the result, which may need the host's part of enqueue().
  bool can_be_launched_again() const { return again_ && plan_.info().result == ResultLocation::on_device; }

  /// Waits for the result and judges it. Empty if all is well. `is_first`: no call of this plan came before.
  std::string settle(bool is_first = true);
  const Result& result() const { return result_; }
  /// Whether a NaN is right, of which nobody promises the bits.
  bool is_nan() const;
  /// Of a finite result of floats, the first value; with its sign.
  double relative_error() const;

 private:
  std::string not_as_declared(const Check&) const;
  std::string workspace_intact() const;
  std::string written_later(const Result& then) const;
  std::string undefined_values();
  bool drops_undefined_shuffles();
  std::string input_unchanged();
  void put_input();

  bool on_sim() const { return bench_.backend.info().kind == DeviceKind::sim; }
  std::size_t input_bytes() const { return case_.problem.extent() * size_of(case_.problem.type); }
  std::size_t skipped() const { return case_.offset_elements * size_of(case_.problem.type); }
  const DeviceMemory& device_input() const { return copy_ ? *copy_ : input_.memory; }
  void* changed_place() const { return device_input().bytes_at(skipped() + changed_->index * changed_->bytes); }

  Workbench& bench_;
  const Case& case_;
  OwnPlan& plan_;
  CaseInput& input_;
  Output& output_;
  Stream stream_;
  std::shared_ptr<DeviceMemory> copy_;
  std::optional<ChangedElement> changed_;
  std::function<void()> again_;
  std::string wrong_launch_, wrong_arithmetic_;
  Result result_;
};

}  // namespace reductio
