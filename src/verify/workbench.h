#pragma once
/// Inputs on the device, shared by cases.

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
  std::size_t n;  ///< elements of memory (Problem::extent)
  std::size_t offset_elements;
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
  int cases = 0;                    ///< how many have used it
  const Variant* met_by = nullptr;  ///< the variant of the last case that is one call
};

/// Keeps inputs on the device for further cases with the same recipe, within a share of its memory. If a variant gets
/// an input again, one element differs, so a remembered result fails. After a failed case its inputs are made anew,
/// because it may have written to them.
class Workbench {
 public:
  explicit Workbench(Backend& backend) : backend(backend) {}

  /// As run_case().
  std::string run(const Case&);

  /// Makes room by dropping other inputs, but not `keep`. References stay valid until then.
  CaseInput& input(const Recipe&, const CaseInput* keep = nullptr);
  /// As much memory as the input has, poisoned.
  std::shared_ptr<DeviceMemory> room_for(const CaseInput&);
  /// The offsets of a problem's segments on the device, for as long as somebody holds them; null: it has none.
  std::shared_ptr<DeviceMemory> offsets_of(const Problem&);
  /// Keeps a GPU's stream busy for a while: work that does not wait for the stream then comes too early.
  void hold_back(Stream);

  Backend& backend;

 private:
  std::list<CaseInput> inputs_;  // the latest first
  std::optional<DeviceMemory> delay_;
  std::shared_ptr<const std::vector<std::int64_t>> placed_offsets_;
  std::shared_ptr<DeviceMemory> offsets_;  ///< those
};

}  // namespace reductio
