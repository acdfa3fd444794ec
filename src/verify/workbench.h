#pragma once
/// Inputs on the device, kept for further cases.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.h"
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
Recipe recipe_of(const Case&, std::uint64_t seed);

/// An input on the device.
struct CaseInput {
  Recipe recipe;
  std::vector<std::byte> tile;
  DeviceMemory memory;              ///< offset + n elements exactly, those before the offset left poisoned
  bool suspect = false;             ///< given to a case that has not passed (yet), which may have written to it
  int cases = 0;                    ///< that it was made for or found by
  const Variant* met_by = nullptr;  ///< of the last case that is one call
};

/// Keeps inputs on the device for further cases with the same recipe, within a share of its memory. A variant that
/// meets an input again finds another element in it, so that it cannot pass by what it remembers. After a failed case
/// its inputs are made anew, or the next case would be blamed.
class Workbench {
 public:
  explicit Workbench(Backend& backend) : backend(backend) {}

  /// As run_case().
  std::string run(const Case&);

  /// Makes room by dropping other inputs, but not `keep`. References stay valid until then.
  CaseInput& input(const Recipe&, const CaseInput* keep = nullptr);
  /// As much memory as the input has, poisoned.
  std::shared_ptr<DeviceMemory> room_for(const CaseInput&);
  /// Keeps a GPU's stream busy for a while, to find out what does not wait for it.
  void hold_back(Stream);

  Backend& backend;

 private:
  std::list<CaseInput> inputs_;  // the latest first
  std::optional<DeviceMemory> delay_;
};

}  // namespace reductio
