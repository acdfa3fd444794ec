#pragma once
/// Variants that a scripted clock knows by a number, and points of them. Their calls really run, on the CPU, so that
/// results are verified.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "measure/plan/point.h"

namespace reductio::scripted {

using Enqueue = std::function<void(const std::uint32_t* in, std::size_t n, std::uint32_t* out)>;

inline std::uint32_t sum(const std::uint32_t* in, std::size_t n) {
  std::uint32_t s = 0;
  for (std::size_t i = 0; i < n; ++i) s += in[i];
  return s;
}

inline Prepare& on_cpu(Variant& v) { return v.prepare[static_cast<int>(DeviceKind::cpu)]; }

/// An i32 sum on the CPU whose calls tell the clock that they are `id`. `enqueue` replaces the right sum.
inline Variant variant(std::string name, std::size_t id, Enqueue enqueue = {}) {
  Variant v{
      .id = std::move(name), .title = "t", .cites = "c", .operations = {Operation::sum}, .types = {ElementType::i32}};
  on_cpu(v) = [id, enqueue](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = id, .longest_chain = p.n}, [=, n = p.n](void* in, void* out, Stream) {
      const auto* x = static_cast<const std::uint32_t*>(in);
      auto* result = static_cast<std::uint32_t*>(out);
      if (enqueue) enqueue(x, n, result);
      else *result = sum(x, n);
    });
  };
  return v;
}

inline Point point(const Variant& v, std::size_t n, TimingMode mode = TimingMode::end_to_end,
                   CacheState cache = CacheState::cold_dirty) {
  return {.variant = &v, .device = DeviceKind::cpu, .problem = {Operation::sum, ElementType::i32, n},
          .settings = v.settings(), .timing_mode = mode, .cache_state = cache};
}

}  // namespace reductio::scripted
