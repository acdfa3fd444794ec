#pragma once
/// The order in which the simulated device runs threads and blocks. A header of its own, for the code that verifies:
/// device/sim/sim.h is for kernel files and cannot be included beside cuda.cuh.

#include <cstdint>
#include <string>
#include <string_view>

namespace reductio::sim {

enum class Order {
  forward,  ///< lowest runnable block and thread first
  reverse,  ///< highest runnable block and thread first
  starve,   ///< as forward, but one of the blocks begins only when all others are done, wait or have looked in vain
            ///< for very long
  random,   ///< any runnable thread of any resident block, again at atomics, fences and atomic loads; and these may
            ///< give a value that nothing orders after its replacement (Causality::earlier())
};

struct NamedOrder {
  std::string_view name;
  Order order;
};
inline constexpr NamedOrder named_orders[] = {
    {"forward", Order::forward}, {"reverse", Order::reverse}, {"starve", Order::starve}, {"random", Order::random}};
/// Null if there is none of that name.
constexpr const NamedOrder* find_order(std::string_view name) {
  for (const NamedOrder& known : named_orders)
    if (known.name == name) return &known;
  return nullptr;
}

/// Holds for launches that run from now on; the same seed gives the same schedule. `random` and `starve` read the seed.
/// At start: forward.
void set_schedule(Order order, std::uint64_t seed = 1);

/// The lines where since set_schedule() a shuffle read from a lane that did not take part, in one sentence; empty if
/// there are none. CUDA leaves that value undefined. A kernel may read it and drop it, as the upper lanes of a tree do,
/// so only messages about results that depend on it name these lines. Here the value is NaN, or all bits set.
std::string undefined_shuffles();
/// The same of exchanges that met a word which nobody had written. What they find is NaN, or all bits set.
std::string unset_exchanges();
/// While one lives, those shuffles give zeros.
class OtherUndefined {
 public:
  OtherUndefined();
  ~OtherUndefined();
  OtherUndefined(const OtherUndefined&) = delete;
  OtherUndefined& operator=(const OtherUndefined&) = delete;
};

}  // namespace reductio::sim
