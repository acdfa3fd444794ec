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
  AskedShapes shapes = {};  ///< of operations over shapes, where none are selected
  std::vector<TimingMode> modes = {TimingMode::end_to_end};
  std::vector<CacheState> cache_states = {CacheState::cold_dirty};
  /// Of a variant; empty: what the user has set and otherwise its defaults.
  std::function<std::vector<Settings>(const Variant&)> settings = {};
  /// Combinations for which it is false are left out; empty: none are.
  std::function<bool(const Point&)> has = {};
};

/// Each selected variant at every combination of the axes, the first axis outermost. Selected types and sizes replace
/// the axes'. Operations are the selected ones, else the variant's first; a variant whose first is moments,
/// or is over shapes while the axes have none, is left out unless operations or variants are selected. Leaves out ways
/// of timing that a variant's calls lack on this device (ways.h); UsageError if nothing is left. Settings with a known
/// fault are refused anyway, so they are left out, too, unless the user asks for them by selecting only their variant,
/// or the faulty setting.
std::vector<Point> product_of(const Axes&, const Selection&, DeviceKind);

}  // namespace reductio
