/// limits: what bounds every call, over a million-fold range of sizes: the read ceiling (the fastest of several kernels
/// that only read the input) and the launch floor (an empty call), in each way of timing on the device and each state
/// of the cache. The harness measures both beside every point and writes them into its row, so this experiment needs no
/// calls of its own: its points are CUB's sum, or whatever --variants names, and its columns are read_time_s and
/// launch_floor_s. States that a way of timing does not have are refused rows.

#include "measure/plan/selection.h"

namespace reductio {
namespace {

std::vector<Point> points(Selection selection, DeviceKind device) {
  if (selection.variants_regex.empty()) selection.variants_regex = "^cub/sum$";
  const auto sizes = chosen(selection.sizes, powers_of_two(10, 30));
  const auto types = chosen(selection.types, {ElementType::f32});  // a ceiling knows bytes only
  std::vector<Point> out;
  for (const Variant* v : chosen_variants(selection, device))
    for (const Operation operation : chosen(selection.operations, {v->operations.front()}))
      for (const ElementType type : types)
        for (const std::size_t n : sizes)
          for (const TimingMode mode : {TimingMode::device, TimingMode::graph})
            for (const CacheState state : {CacheState::cold_clean, CacheState::cold_dirty, CacheState::warm})
              out.push_back({.variant = v,
                             .device = device,
                             .problem = {operation, type, n},
                             .settings = v->settings(selection.settings),
                             .timing_mode = mode,
                             .cache_state = state,
                             .seed = selection.seed});
  return out;
}

const RegisterExperiment limits({.name = "limits",
                                 .summary = "read ceiling and launch floor by size, way of timing and state of the "
                                            "cache, beside CUB's sum",
                                 .points = points});

}  // namespace
}  // namespace reductio
