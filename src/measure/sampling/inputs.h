#pragma once
/// Inputs in device memory, and what the right results over them are.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/reference.h"
#include "device/backend.h"
#include "measure/plan/point.h"

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

/// An input in an allocation of its own, beside a scratch copy for variants that consume theirs.
class DeviceInput {
 public:
  /// Repeats `tile`, as of make_tile(), which must outlive it. Throws Refused where it does not fit.
  DeviceInput(Backend&, const InputKey&, std::span<const std::byte> tile, bool with_scratch);

  const InputKey& key() const { return key_; }
  std::span<const std::byte> tile() const { return tile_; }
  bool has_scratch() const { return scratch_.has_value(); }
  void* data() const { return start(data_); }
  void* scratch() const { return start(*scratch_); }
  std::size_t bytes() const { return key_.n * size_of(key_.type); }

 private:
  void* start(const DeviceMemory& memory) const { return memory.bytes_at(key_.offset_elements * size_of(key_.type)); }
  InputKey key_;
  std::span<const std::byte> tile_;
  DeviceMemory data_;
  std::optional<DeviceMemory> scratch_;
};

/// Where memory lies shifts times, so each allocation of input, result and workspace shall lie elsewhere than the last;
/// but what was freed is what the next allocation of that size gets, and a fresh context has the same places as the one
/// before. So in fresh contexts small blocks begin at places of their own (Backend::scatter()). Where there are no
/// contexts, pieces of many sizes are taken and held before each, as many as chance says. A run that is repeated shall
/// not find the same places, or its intervals would know too little.
class Allocations {
 public:
  explicit Allocations(Backend& backend) : backend_(backend) {}

  /// Frees the input and, unless the next allocation is made in a fresh context, takes more pieces; there it scatters
  /// what follows. Pilots run before any.
  void begin_next(bool in_fresh_context);
  void free_all();

  /// Stays for as long as consecutive groups want the same on an allocation, because gigabytes are not filled in no
  /// time. Throws Refused where it does not fit.
  DeviceInput& input(const InputKey&, bool with_scratch);

  /// What `allocate` gives, which may throw Refused: then once more without the pieces that are held.
  template <class F>
  auto with_room_for(F&& allocate) {
    try {
      return allocate();
    } catch (const Refused&) {
      if (held_.empty()) throw;
      held_.clear();
      return allocate();
    }
  }

 private:
  Backend& backend_;
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<DeviceMemory> held_;  ///< all so far
  std::unique_ptr<DeviceInput> input_;
  std::map<InputKey, std::vector<std::byte>> tiles_;  ///< in host memory, because every allocation wants them again
};

/// Exact references, each computed once.
class References {
 public:
  const ExactReference& of(const Point&);

 private:
  std::map<std::tuple<Operation, ElementType, std::size_t, std::string, std::uint64_t>, ExactReference> known_;
};

}  // namespace reductio
