#pragma once
/// A point: one row of results to be.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/variant.h"

namespace reductio {

/// What lies between the two readings of the clock.
enum class TimingMode {
  device,          ///< one enqueue between two events, the stream held back until both are queued
  graph,           ///< time per call of a captured graph of many dependent calls
  replay,          ///< as device, with a graph of one call that was captured before
  launch_to_idle,  ///< host clock from the call until the device is idle, without the host's part
  end_to_end,      ///< host clock from the call to the result in host memory
  clock,           ///< the kernel's own clock64() readings, in cycles
  globaltimer,     ///< the same by the GPU's one clock
};
inline constexpr TimingMode all_timing_modes[] = {
    TimingMode::device,     TimingMode::graph, TimingMode::replay,     TimingMode::launch_to_idle,
    TimingMode::end_to_end, TimingMode::clock, TimingMode::globaltimer};

/// What L2 holds when the timed interval begins.
enum class CacheState {
  cold_clean,  ///< evicted by reading other memory
  cold_dirty,  ///< evicted by writing other memory, as nvbench does
  warm,        ///< whatever the call before left
};
inline constexpr CacheState all_cache_states[] = {CacheState::cold_clean, CacheState::cold_dirty, CacheState::warm};

std::string_view name(TimingMode);
std::string_view name(CacheState);

/// The inverse of name(). Throws UsageError, which lists the known names.
TimingMode parse_timing_mode(std::string_view);
CacheState parse_cache_state(std::string_view);

/// A variant at one problem, with one way of timing it.
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
  int samples = 0;  ///< that it shall get, whatever they cost; 0: as many as the rules of sampling say
  /// Loop caller: each call follows an untimed one of its own. Otherwise each is the first in a while, after calls of
  /// all others in its group.
  bool in_loop = true;
};

/// How an input lies in memory that is no plain array: nothing is known of what a row leaves empty.
struct Shape {
  std::optional<std::size_t> rows, columns;
  std::optional<std::size_t> pitch_elements;  ///< from one row's start to the next one's; empty: `columns`
  std::optional<std::size_t> segments;        ///< of a ragged input, whose lengths the dataset tells
  bool operator==(const Shape&) const = default;
};

/// Identifies a point, with variant and settings in words, so that rows of another program have a key, too.
struct PointKey {
  PointKey() = default;
  PointKey(const Point&);  // implicit: a point can be named wherever its key can

  std::string variant;  ///< its id
  DeviceKind device = DeviceKind::cuda;
  Problem problem;
  std::string settings;
  TimingMode timing_mode = TimingMode::device;
  CacheState cache_state = CacheState::cold_dirty;
  std::size_t offset_elements = 0;
  std::string dataset;
  std::uint64_t seed = 1;
  std::string caller;  ///< how calls follow each other: "first", each the first in a while; empty: in a loop
  Shape shape;         ///< empty: one plain array of n elements, as of all points so far
  std::optional<std::size_t> gpus;  ///< that share the call; empty: one, or none

  /// One plain array on one device: what contrasts and models are of.
  bool is_plain() const { return shape == Shape{} && !gpus; }
};

/// What the points of its group share: "sum f32 n=1024 device cold_dirty".
std::string describe_group(const PointKey&);

}  // namespace reductio
