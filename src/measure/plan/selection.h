#pragma once
/// From what the user selected to variants, types, sizes and settings.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/variant.h"

namespace reductio {

/// What the user selected; empty lists mean the experiment's own choice.
struct Selection {
  std::string variants_regex;
  std::vector<ElementType> types;
  std::vector<Operation> operations;
  std::vector<std::size_t> sizes;
  AskedShapes shapes;  ///< of operations over shapes
  Assignments settings;
  std::optional<DeviceKind> device;
  std::uint64_t seed = 1;                   ///< of the data
  std::optional<std::uint64_t> order_seed;  ///< of the order in which points are sampled; nothing: drawn by each run
  bool full = false;  ///< also what an experiment leaves out for its time
  /// Multiprocessors of the device, for grids that fill it. Estimates need no device and assume an H100 or H200.
  int sm_count = 132;

  /// Whether the user chose a value of this tunable.
  bool sets(const std::string& tunable) const;
  /// Whether nothing is said of variants, types, operations and sizes.
  bool chooses_all() const { return variants_regex.empty() && types.empty() && operations.empty() && sizes.empty() &&
                                       shapes.empty(); }
};

/// The variants that run on `device` and match the selection, sorted by id. Throws UsageError where nothing matches,
/// and where --set names a tunable that none of them has.
std::vector<const Variant*> selected_variants(const Selection&, DeviceKind device);

/// What the user selected, else `otherwise`.
template <class T>
std::vector<T> selected_or(const std::vector<T>& selected, const std::vector<T>& otherwise) {
  return selected.empty() ? otherwise : selected;
}

/// Every combination of the values of the tunables in `expanded`, others at their defaults; what the user has set is
/// fixed. Open tunables (a number of threads) expand to the values that verification covers, up to `largest`.
std::vector<Settings> expand_settings(const Variant&, const Selection&, const std::vector<std::string>& expanded,
                                      std::int64_t largest = 0x7fffffff);

/// A new one each time. Processes with the same order would repeat the same interleaving, so their agreement would
/// prove nothing.
std::uint64_t draw_order_seed();

/// 2^first, ..., 2^last.
std::vector<std::size_t> powers_of_two(unsigned first, unsigned last);

}  // namespace reductio
