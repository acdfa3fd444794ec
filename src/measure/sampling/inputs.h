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

#include "device/backend.h"
#include "measure/plan/point.h"

namespace reductio {

/// What decides an input's bytes and where in its allocation it starts.
struct InputKey {
  std::string dataset;
  ElementType type;
  std::size_t n;  ///< elements of memory (Problem::extent)
  std::size_t offset_elements;
  std::uint64_t seed;
  auto operator<=>(const InputKey&) const = default;
  explicit InputKey(const Point& p)
      : dataset(p.dataset),
        type(p.problem.type),
        n(p.problem.extent()),
        offset_elements(p.offset_elements),
        seed(p.seed) {}
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

/// Buffer placement shifts times, so each allocation must lie elsewhere than the last. But an allocator hands out what
/// was just freed, and a fresh context repeats the placement of the one before. On a GPU, small blocks therefore begin
/// at random places (Backend::scatter()). Elsewhere, pieces of random sizes are held before each allocation. A repeated
/// run must not find the same places, or its intervals would be too narrow.
class Allocations {
 public:
  explicit Allocations(Backend* const& backend) : backend_(backend) {}

  /// Frees the input, then scatters the next allocations, or holds more pieces. Pilots run before any.
  void begin_next();
  void free_all();

  /// Reused while consecutive groups on an allocation want the same: filling gigabytes takes time. Throws Refused where
  /// it does not fit.
  DeviceInput& input(const InputKey&, bool with_scratch);
  /// Its elements in host memory; made once, here or in the process that this one was forked from.
  const std::vector<std::byte>& tile(const InputKey&);

  /// What `allocate` returns. If it throws Refused, it is called again without the held pieces.
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
  Backend* const& backend_;  ///< each process opens its own
  std::mt19937_64 random_{std::random_device{}()};
  std::vector<DeviceMemory> held_;  ///< all so far
  std::unique_ptr<DeviceInput> input_;
  std::map<InputKey, std::vector<std::byte>> tiles_;  ///< in host memory, because every allocation wants them again
};

}  // namespace reductio
