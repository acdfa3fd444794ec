#pragma once
/// The product of axes, from which experiments' drivers make their points.

#include <cstddef>
#include <functional>
#include <vector>

#include "measure/plan/point.h"
#include "measure/plan/selection.h"

namespace reductio {

struct Axes {
  std::vector<ElementType> types = {};  ///< empty: of each variant the first that it has
  std::vector<std::size_t> sizes;
  std::vector<TimingMode> modes = {TimingMode::end_to_end};
  std::vector<CacheState> cache_states = {CacheState::cold_dirty};
  /// Of a variant; empty: what the user has set and otherwise its defaults.
  std::function<std::vector<Settings>(const Variant&)> settings = {};
  /// Combinations for which it is false are left out; empty: none are.
  std::function<bool(const Point&)> has = {};
};

/// Each variant that was selected, at every combination of the axes, the first axis outermost. Types and sizes that the
/// user selected take the place of the axes'; operations are those that the user selected, else a variant's first. One
/// whose first is moments, which hardly another does, is left out unless operations or variants are selected. Ways
/// of timing that calls of a variant do not have on this device (ways.h) are left out; UsageError where nothing else
/// was asked for. Settings with a known fault would all be refused, so they are left out unless the user asks for them,
/// by choosing no variant but theirs, or the setting that makes the fault.
std::vector<Point> product_of(const Axes&, const Selection&, DeviceKind);

}  // namespace reductio
