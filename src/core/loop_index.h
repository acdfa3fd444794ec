#pragma once
/// The type of a loop's index, as a setting of kernels. It decides whether nvcc unrolls a loop of one condition that
/// steps by more than one. Overflow of a signed index is undefined, so nvcc knows the number of steps and unrolls the
/// loop. An unsigned index may wrap round and miss the end, so nvcc does not unroll, and a thread has one load in
/// flight.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/settings.h"

namespace reductio {

/// The tunable `index`. "document" is the type of the document's own loop, or a signed one of 64 bits if that cannot
/// count so far.
Tunable loop_index();

/// `chosen` with its `index` decided: one of i32, i64, u32, u64. `documents` is the type in the document, `last` the
/// largest value that any thread's index takes, the step past the end included. Throws Refused where the type that was
/// asked for cannot count so far.
Settings with_loop_index(Settings chosen, std::string_view documents, std::size_t last);

/// f.template operator()<Index>() for the type of that name.
template <class F>
auto for_loop_index(std::string_view type, F f) {
  if (type == "i32") return f.template operator()<std::int32_t>();
  if (type == "u32") return f.template operator()<std::uint32_t>();
  if (type == "i64") return f.template operator()<std::int64_t>();
  return f.template operator()<std::uint64_t>();
}

/// While one lives, indices of 32 bits count to `limit` only; 0 changes nothing. So small inputs show whether the
/// choice of the type is right (battery.cpp).
class LoweredIndexLimit {
 public:
  explicit LoweredIndexLimit(std::size_t limit);
  ~LoweredIndexLimit();
  LoweredIndexLimit(const LoweredIndexLimit&) = delete;
  LoweredIndexLimit& operator=(const LoweredIndexLimit&) = delete;

 private:
  std::size_t before_;
};

/// Whether indices of 32 bits count no further than those of 16. The simulated device then gives kernels an i32 of 16
/// bits (device/device.h). An index that the choice lets pass its end wraps there, as on a GPU.
inline constexpr std::size_t narrow_index_limit = std::numeric_limits<std::int16_t>::max();
bool indices_are_narrow();

}  // namespace reductio
