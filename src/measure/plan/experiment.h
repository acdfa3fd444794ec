#pragma once
/// An experiment is a list of points to measure and the rules for sampling them. Drivers under experiments/ make the
/// points; run_experiment() measures, verifies and writes them; the program only connects the two.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/variant.h"

namespace reductio {

/// What lies between the two readings of the clock.
enum class TimingMode {
  device,       ///< one enqueue between two events, the stream held back until both are queued
  graph,        ///< time per call of a captured graph of many dependent calls
  end_to_end,   ///< host clock from the call to the result in host memory
  clock,        ///< the kernel's own clock64() readings, in cycles
  globaltimer,  ///< the same by the GPU's one clock
};

/// What L2 holds when the timed interval begins.
enum class CacheState {
  cold_clean,  ///< evicted by reading other memory
  cold_dirty,  ///< evicted by writing other memory, as nvbench does
  warm,        ///< whatever the call before left
};

std::string_view name(TimingMode);
std::string_view name(CacheState);

/// The inverse of name(). Throws UsageError, which lists the known names.
TimingMode parse_timing_mode(std::string_view);
CacheState parse_cache_state(std::string_view);

/// One row to be: a variant at one problem, with one way of timing it.
struct Point {
  const Variant* variant = nullptr;
  DeviceKind device = DeviceKind::cuda;
  Problem problem;
  Settings settings;
  TimingMode timing_mode = TimingMode::device;
  CacheState cache_state = CacheState::cold_dirty;
  std::size_t offset_elements = 0;  ///< the input starts this many elements into its allocation
  std::string dataset = "random";
  std::uint64_t seed = 1;
};

/// What the points of its group share: "sum f32 n=1024 device cold_dirty".
std::string describe_group(const Point&);

/// What the user selected; empty lists mean the experiment's own choice.
struct Selection {
  std::string variants_regex;
  std::vector<ElementType> types;
  std::vector<Operation> operations;
  std::vector<std::size_t> sizes;
  std::vector<std::pair<std::string, std::string>> settings;
  std::optional<DeviceKind> device;
  std::uint64_t seed = 1;
};

struct SamplingRules {
  int min_samples = 7, max_samples = 48;  ///< per point; a 95 % interval of a median needs 6
  double point_budget_s = 0.15;           ///< wall-clock time after which a point gets no more than min_samples
  double slow_s = 0.020;                  ///< a call longer than this gets `slow_samples`
  int slow_samples = 3;
  double limit_s = 0.200;                 ///< a call predicted longer than this is a refused row, unless `full`
  bool full = false;
  int allocations = 12;    ///< of input and workspace, one a pass, over which a point's rounds are spread
  double batch_s = 60;     ///< groups that take so long together are measured together, pass after pass over all
  double confidence = 0.95;
  double clock_floor = 0.9;  ///< a round with the kernels' clock below this share of the highest seen is void for all
  bool paired = false;                    ///< all points of a group in every round, as many as the dearest affords
  bool bounds = true;                     ///< the read ceiling and the launch floor in every round
};

struct Experiment {
  std::string name, summary;
  /// The points, given what was selected and which device is there.
  std::function<std::vector<Point>(const Selection&, DeviceKind)> points;
  SamplingRules rules{};
  DeviceKind device = DeviceKind::cuda;  ///< where it runs unless the user says otherwise
};

struct RegisterExperiment {
  explicit RegisterExperiment(Experiment);
};
std::span<const Experiment> experiments();                 ///< sorted by name
const Experiment& find_experiment(std::string_view name);  ///< UsageError suggests the nearest

}  // namespace reductio
