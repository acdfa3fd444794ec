#pragma once
/// One variant, called again and again on the simulated device for whoever follows.

#include <cstddef>
#include <span>
#include <vector>

#include "core/variant.h"
#include "verify/call.h"

namespace reductio::inspect {

class SimulatedCall {
 public:
  /// `input`: the elements' bytes, Problem::n of them. Threads run in order forward. Throws Refused and Fault.
  SimulatedCall(Backend&, const Variant&, const Problem&, const Settings&, std::span<const std::byte> input);
  /// One call, waited for.
  Result run();
  /// The same of other elements, as many. Throws DeviceError.
  Result run(std::span<const std::byte> input);
  PlanInfo info() const { return plan_.info(); }
  const std::byte* input() const { return static_cast<const std::byte*>(in_.get()); }
  const std::byte* output() const { return static_cast<const std::byte*>(output_.get()); }

 private:
  Backend& backend_;
  std::vector<std::byte> data_;
  OwnPlan plan_;
  OwnStream stream_;
  Output output_;
  DeviceMemory in_;
  Drain drain_;
};

}  // namespace reductio::inspect
