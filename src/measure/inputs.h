#pragma once
/// Inputs in device memory, and what the right results over them are.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/reference.h"
#include "device/backend.h"
#include "measure/experiment.h"

namespace reductio {

/// What decides an input's bytes and where in its allocation it starts.
struct InputKey {
  std::string dataset;
  ElementType type;
  std::size_t n, offset_elements;
  std::uint64_t seed;
  auto operator<=>(const InputKey&) const = default;
  explicit InputKey(const Point& p)
      : dataset(p.dataset), type(p.problem.type), n(p.problem.n), offset_elements(p.offset_elements), seed(p.seed) {}
};

/// Copies of one input in allocations of their own, all alive at once so that their addresses differ: where memory
/// lies shifts times. They stay for as long as consecutive groups want the same input, because gigabytes are not
/// allocated in no time. Variants that consume their input get a scratch copy in each.
class Inputs {
 public:
  /// At most `placements` copies, fewer where they and their scratch would take more than two thirds of the free
  /// memory. Throws Refused where not even one fits.
  Inputs(Backend&, const InputKey&, int placements, bool with_scratch);

  const InputKey& key() const { return key_; }
  int placements() const { return static_cast<int>(data_.size()); }
  bool has_scratch() const { return !scratch_.empty(); }
  void* data(int placement) const { return start(data_, placement); }
  void* scratch(int placement) const { return start(scratch_, placement); }
  std::size_t bytes() const { return key_.n * size_of(key_.type); }

 private:
  void* start(const std::vector<DeviceMemory>& all, int placement) const {
    return all.at(static_cast<std::size_t>(placement)).bytes_at(key_.offset_elements * size_of(key_.type));
  }
  InputKey key_;
  std::vector<DeviceMemory> data_, scratch_;
};

/// Exact references, each computed once.
class References {
 public:
  const Reference& of(const Point&);

 private:
  std::map<std::tuple<Operation, ElementType, std::size_t, std::string, std::uint64_t>, Reference> known_;
};

}  // namespace reductio
