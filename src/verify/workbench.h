#pragma once
/// Where cases are run: makes inputs on the device, knows their references, and keeps both for the next case.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reference.h"
#include "device/backend.h"
#include "verify/verify.h"

namespace reductio {

/// What an input is made from. Equal recipes give equal bytes.
struct Recipe {
  std::string dataset;
  ElementType type;
  std::size_t n, offset_elements;
  std::uint64_t seed;
  bool operator==(const Recipe&) const = default;
};

/// Inputs stay on the device for further cases with the same recipe, within a share of its memory. Cases in an order
/// that keeps recipes together pay for each input once. A variant that meets one again finds another element somewhere,
/// so that it does not pass by what it remembers. The inputs of a case that failed are made anew, or the next one would
/// be blamed for what it did to them.
class Workbench {
 public:
  explicit Workbench(Backend& backend) : backend_(&backend) {}

  /// As run_case().
  std::string run(const Case&);

 private:
  struct CaseInput {
    Recipe recipe;
    std::vector<std::byte> tile;
    DeviceMemory memory;   ///< offset + n elements exactly, those before the offset left poisoned
    bool suspect = false;  ///< given to a case that has not passed (yet), which may have written to it
    int cases = 0;         ///< that it was made for or found by
    const Variant* met_by = nullptr;  ///< of the last case that is one call
  };
  class CaseCall;

  /// Makes room by dropping other inputs, but not `keep`. References stay valid until then.
  CaseInput& input(const Recipe&, const CaseInput* keep = nullptr);
  /// Another element for one call on this input, by chance and `seed`; none where none shows in the result.
  static std::optional<ChangedElement> change_of(CaseInput&, const Case&, const Plan&, std::uint64_t seed);
  std::string checked(const Case&);
  std::string once(const Case&);
  std::string compared_with_first_call(Case, const Recipe& data);
  std::string repeat(const Case&);
  std::string two_plans(const Case&);
  std::string calls(const Case&);
  std::string settings(const Case&);
  std::string chain(const Case&);
  /// As much memory as the input has, poisoned.
  std::shared_ptr<DeviceMemory> room_for(const CaseInput&);
  /// Keeps a GPU's stream busy for a while: what belongs behind it and does not wait is found out.
  void hold_back(Stream);

  Backend* backend_;
  std::list<CaseInput> inputs_;  // the latest first
  std::optional<DeviceMemory> delay_;
};

}  // namespace reductio
