/// limits: what no call can beat, over a million-fold range of sizes: the read ceiling (the fastest of several kernels
/// that only read the input) and the launch floor (an empty call), in each way of timing on the device and each state
/// of the cache. The harness measures both beside every point and writes them into its row, so this experiment needs no
/// calls of its own: its points are CUB's sum, or whatever --variants names, and its columns are read_time_s and
/// launch_floor_s.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::limits {
namespace {

std::vector<Point> points(Selection selection, DeviceKind device) {
  if (selection.variants_regex.empty()) selection.variants_regex = "^cub/sum$";
  return product_of({.types = {ElementType::f32},  // a read ceiling knows bytes only
                     .sizes = sizes_on(device, powers_of_two(10, 30)),
                     .modes = {TimingMode::device, TimingMode::graph},
                     .cache_states = {CacheState::cold_clean, CacheState::cold_dirty, CacheState::warm}},
                    selection, device);
}

const RegisterExperiment limits({.name = "limits",
                                 .summary = "read ceiling and launch floor by size, way of timing and state of the "
                                            "cache, beside CUB's sum",
                                 .points = points});

}  // namespace
}  // namespace reductio::drivers::limits
