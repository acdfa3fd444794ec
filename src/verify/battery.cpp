/// The one place that says which cases a variant must pass: how far each tier goes, and the parts of small cases.
/// builder.h lists all parts, each with what it alone can find; those of large cases are in large_cases.cpp.
///
/// Tiers and devices differ only in the numbers of scope_of(). Of variants that are composed of shared parts, tiers
/// `check` and `sanitizer` run in full those that together have every part; the others, where there is no GPU, get the
/// quick tier's cases (repeats_parts()).

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/builder.h"
#include "verify/pairwise.h"
#include "verify/verify.h"

namespace reductio {
namespace cases {
namespace {

/// From here an index steps on to 0.
const std::vector<std::size_t> wrapping_sizes{(std::size_t{1} << 31) - 1, (std::size_t{1} << 32) - 1};
/// An index that counts one by one does not.
const std::vector<std::size_t> size_beyond_int{(std::size_t{1} << 31) + 5};

Scope scope_of(Tier tier, DeviceKind device) {
  const bool cuda = device == DeviceKind::cuda;
  switch (tier) {
    case Tier::quick: return {.pairs_to = 1 << 10};
    case Tier::sanitizer:
      // compute-sanitizer slows a GPU's calls by orders; on the host ASan leaves a sixth of the speed.
      return cuda ? Scope{.pairs_to = 1 << 12}
                  : Scope{.whole_to = 1 << 10, .whole_budget = 2e5, .pairs_to = 1 << 12, .of_shapes = 2};
    case Tier::gpu:
      if (cuda)
        return {.whole_to = 1 << 10,
                .whole_budget = 12000,
                .pairs_to = 1 << 18,
                .every_value = true,
                .drawn_to = 1 << 20,
                .middle = 2,
                .large = {(1 << 20) + 7, (1 << 24) + 3, (1 << 28) + 1, (1 << 30) + 7},
                .edges = wrapping_sizes,
                .large_settings = {(1 << 30) + 7},
                .huge = {(std::size_t{1} << 32) + 5}};
      [[fallthrough]];  // elsewhere it means the most that is sensible there
    case Tier::standard:
    case Tier::check:
      return {.whole_to = 1 << 10,
              .whole_budget = cuda                  ? 12000
                              : tier == Tier::check ? 1.0e6
                                                    : 30e6,
              .pairs_to = 1 << 14,
              .random_to = tier == Tier::check ? (1 << 12) + 1 : std::numeric_limits<std::size_t>::max(),
              .every_value = tier != Tier::check,
              .drawn_to = 20000,
              .middle = tier == Tier::check ? 2u : 6u,
              .most_threads = tier == Tier::check ? 160'000u : 1u << 19,
              .most_in_random = tier == Tier::check ? 40e3 : 400e3,
              .large = {(1 << 20) + 7},
              .edges = device == DeviceKind::cpu && tier != Tier::check ? size_beyond_int
                       : tier == Tier::gpu                              ? wrapping_sizes
                                                                        : std::vector<std::size_t>{},
              .widest_at_edges = tier == Tier::gpu ? std::numeric_limits<std::size_t>::max() : 1};
  }
  return {};
}

/// The tier of one variant where all have `tier`.
Tier tier_for(const Variant& v, DeviceKind device, Tier tier) {
  const bool in_little_time = device != DeviceKind::cuda && (tier == Tier::check || tier == Tier::sanitizer);
  return in_little_time && repeats_parts(v) ? Tier::quick : tier;
}

/// "ablation" and "one-load", "shuffle", "atomic" of "ablation/one-load+shuffle+atomic".
std::pair<std::string, std::vector<std::string>> parts_of(const std::string& id) {
  const std::size_t slash = id.find('/');
  std::vector<std::string> parts;
  for (std::size_t at = slash; at != std::string::npos;) {
    const std::size_t end = id.find('+', at + 1);
    parts.push_back(id.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  return {id.substr(0, slash), parts};
}

/// Costlier cases (microseconds on the simulated device) are left to the covering array: a large grid at small n shows
/// nothing that a smaller one does not.
constexpr double most_cost_in_whole = 8000;

/// What other kernels take in one go: blocks of 1000, and blocks times loads that are no power of two.
constexpr std::array<std::size_t, 4> common_tiles{1000, 4096, 5120, 6144};
constexpr std::array<std::size_t, 7> primes{61, 251, 509, 769, 2039, 4093, 13007};

/// Empty, one, and around every power of two; primes, which no tile divides.
std::vector<std::size_t> sizes_to(std::size_t limit) {
  std::set<std::size_t> out{0, 1, 2, 3};
  for (std::size_t p = 4; p <= limit; p *= 2) out.insert({p - 1, p, p + 1});
  for (const std::size_t prime : primes)
    if (prime <= limit) out.insert(prime);
  return {out.begin(), out.end()};
}

/// The covering array's sizes: fewer powers of two, since each further size adds a row for every kind of data.
std::vector<std::size_t> spread_sizes_to(std::size_t limit) {
  std::set<std::size_t> out{0, 1, 31, 33, 257, 1021, 1024, limit - 1, limit, limit + 1};
  for (std::size_t p = 1 << 12; p < limit; p *= 4) out.insert(p + 3);
  out.insert({2039, 4093, 13007});
  out.erase(out.upper_bound(limit + 1), out.end());
  return {out.begin(), out.end()};
}

}  // namespace

std::vector<Case> Builder::build() {
  if (has_shape(v_.operations.front())) {
    add_shapes();
    return std::move(cases_);
  }
  if (!right_.empty()) {
    if (scope_.whole_to) add_whole_product();
    if (scope_.pairs_to) add_covering_array();
    if (scope_.pairs_to) add_one_by_one();
    if (scope_.drawn_to) add_drawn_sizes();
    if (scope_.middle) {
      add_middle_sizes();
      add_many_calls();
      add_numbers();
      add_other_gpus();
    }
    if (scope_.most_in_random > 0) add_random_orders();
    add_large();
  }
  add_faults();
  if (!right_.empty() && scope_.middle) {
    add_index_types();
    add_long_chain();
  }
  if (!right_.empty() && scope_.pairs_to) add_special_numbers();
  return std::move(cases_);
}

void Builder::add_whole_product() {
  struct Candidate {
    const Settings* settings;
    Problem problem;
    const char* order;
    double cost;
  };
  const std::vector<std::size_t> common = sizes_to(scope_.whole_to);
  std::vector<Candidate> candidates;
  double total = 0;
  for (const Settings& s : right_) {
    const Shape& shape = shape_of(s);
    std::set<std::size_t> sizes(common.begin(), common.end());
    for (const std::size_t tile : shape.tiles)
      if (tile <= scope_.whole_to) sizes.insert({tile - 1, tile, tile + 1, 2 * tile + 1});
    // What is too slow for the random order is left out in all, so that nothing is covered by halves.
    const auto orders = orders_of(device_.kind);
    for (const std::size_t n : sizes) {
      if (cost_of(device_.kind, shape, n, orders.back(), "") > most_cost_in_whole) continue;
      for (const ElementType type : v_.types)
        for (const Operation operation : v_.operations) {
          if (!is_defined(operation, type)) continue;
          for (const char* order : orders) {
            const Problem problem{operation, type, n};
            candidates.push_back({&s, problem, order, cost_of(device_.kind, shape, n, order, "")});
            total += candidates.back().cost;
          }
        }
    }
  }
  const double share = scope_.whole_budget / total;
  for (const Candidate& c : candidates)
    if (share >= 1 || static_cast<double>(random_()) < share * 0x1p64) {
      const Work work = draw(works_of(c.problem.type, false));
      add(c.problem, *c.settings, draw(offsets), work, c.order);
    }
}

/// One array for integers and one for floats, whose data differ; of the wide sum, which not all types have, arrays of
/// its own.
void Builder::add_covering_array() {
  for (const bool wide : {false, true})
    for (const bool floats : {false, true}) {
      std::vector<Operation> operations;
      for (const Operation o : v_.operations)
        if ((o == Operation::wide_sum) == wide) operations.push_back(o);
      std::vector<ElementType> types;
      for (const ElementType t : v_.types)
        if (is_floating(t) == floats && (!wide || is_defined(Operation::wide_sum, t))) types.push_back(t);
      if (!operations.empty() && !types.empty()) add_covering_array_of(operations, types);
    }
}

/// Of types whose data are alike. The size "its own tile" depends on the settings.
void Builder::add_covering_array_of(const std::vector<Operation>& operations, const std::vector<ElementType>& types) {
  const std::vector<std::size_t> fixed = spread_sizes_to(scope_.pairs_to);
  constexpr std::array<int, 4> around_tile{-1, 0, 1, 2};  // the last: beyond two tiles
  const std::vector<Work> works = works_of(types.front(), true);
  const auto orders = orders_of(device_.kind);
  const bool has_tiles = device_.kind != DeviceKind::cpu;
  std::vector<std::size_t> levels{fixed.size() + (has_tiles ? around_tile.size() : 0),
                                  works.size(),
                                  types.size(),
                                  operations.size(),
                                  offsets.size(),
                                  orders.size()};
  const std::size_t first_tunable = levels.size();
  for (const Tunable& t : tunables_) levels.push_back(t.values.size());

  const auto settings_of = [&](const std::vector<std::size_t>& row) {
    Settings settings(tunables_);
    for (std::size_t t = 0; t < tunables_.size(); ++t)
      settings.set(tunables_[t].name, tunables_[t].values[row[first_tunable + t]]);
    return settings;
  };
  const auto cost = [&](const std::vector<std::size_t>& row) {
    const std::size_t n = row[0] < fixed.size() ? fixed[row[0]] : scope_.pairs_to;
    return cost_of(device_.kind, shape_of(settings_of(row)), n, orders[row[5]], works[row[1]].check);
  };
  for (const auto& row : pairwise(levels, seed_, cost)) {
    const Settings settings = settings_of(row);
    const std::size_t n =
        row[0] < fixed.size() ? fixed[row[0]] : tile_size(settings, around_tile[row[0] - fixed.size()]);
    const char* order = orders[row[5]];
    if (n > scope_.random_to && order == std::string_view("random")) order = draw(orders_of(device_.kind, true));
    add({operations[row[3]], types[row[2]], n}, settings, offsets[row[4]], works[row[1]], order);
  }
}

/// One of the settings' own tiles, a little less or more.
std::size_t Builder::tile_size(const Settings& settings, int around) {
  std::vector<std::size_t> tiles = shape_of(settings).tiles;
  std::erase_if(tiles, [&](std::size_t tile) { return tile > scope_.pairs_to; });
  const std::size_t tile = tiles.empty() ? 32 : draw(tiles);
  if (around == 2) return std::min(2 * tile + 1, scope_.pairs_to + 1);
  return tile + static_cast<std::size_t>(around);
}

void Builder::add_one_by_one() {
  std::vector<ElementType> floats;
  std::copy_if(v_.types.begin(), v_.types.end(), std::back_inserter(floats), is_floating);
  const auto orders = orders_of(device_.kind, true);
  // Large enough to fill blocks at least once, small enough for nine calls.
  const std::size_t sizes[] = {257, 1021, std::min<std::size_t>(scope_.pairs_to, 4093)};
  // Where the tier allows it, more than the defaults' grid has threads.
  const std::size_t full = scope_.drawn_to ? 2 * scope_.pairs_to + 3 : scope_.pairs_to + 1;
  std::vector<Settings> all = one_by_one(scope_.every_value);
  all.insert(all.begin(), standard());
  for (const Settings& s : all) {
    const ElementType type = draw(v_.types);
    add({draw(v_.operations), type, draw(sizes)}, s, draw(offsets), {"random", "calls", 2}, draw(orders));
    if (floats.empty() || device_.kind != DeviceKind::sim) continue;
    const std::size_t n = s == all.front() ? full : 1021;
    add({draw(v_.operations), draw(floats), n}, s, draw(offsets), {"random", "chain", 0}, draw(orders));
  }
  if (v_.determinism != Determinism::always) return;
  const auto add_settings = [&](ElementType type, std::size_t n, const char* dataset) {
    add({draw(v_.operations), type, n}, standard(), draw(offsets), {dataset, "settings", 2}, draw(orders));
  };
  for (const ElementType type : v_.types) {
    add_settings(type, 1021, "random");
    if (!is_floating(type)) continue;
    // What settings choose may be the same of a small n, and random data's last bit by luck.
    add_settings(type, 1021, "ill-conditioned");
    add_settings(type, full, "ill-conditioned");
  }
}

void Builder::add_drawn_sizes() {
  std::vector<std::size_t> tiles(common_tiles.begin(), common_tiles.end());
  for (const std::size_t own : shape_of(standard()).tiles) tiles.push_back(own);
  tiles.push_back(std::size_t{1} << (5 + random_() % 9));  // 32 to 8192
  for (const std::size_t tile : tiles)
    for (std::size_t rest = 0; rest < 4 && tile + rest <= scope_.drawn_to; ++rest) {
      const std::size_t n = tile * (1 + random_() % (scope_.drawn_to / tile)) + rest;
      const ElementType type = draw(v_.types);
      add({draw(v_.operations), type, n}, draw(right_), draw(offsets), exact_work(type),
          draw(orders_of(device_.kind, true)));
    }
}

void Builder::add_middle_sizes() {
  constexpr double most_cost = 40e3;
  for (const ElementType type : v_.types)
    for (std::size_t i = 0; i < scope_.middle; ++i) {
      const Settings settings = i == 0 ? standard() : draw(right_);
      const char* order = draw(orders_of(device_.kind, true));
      // All binary magnitudes alike, with every remainder.
      std::size_t n = scope_.drawn_to + random_() % (std::size_t{1} << (15 + random_() % 5));
      while (n > scope_.drawn_to && cost_of(device_.kind, shape_of(settings), n, order, "") > most_cost)
        n = scope_.drawn_to + (n - scope_.drawn_to) / 2;
      if (i == 1 && type == v_.types.front()) n = 1 << 16;
      const std::size_t offset = i == 0 ? 1 + 2 * (random_() % 2) : draw(offsets);  // aligned to no more than a type
      add({draw(v_.operations), type, n}, settings, offset, exact_work(type), order);
    }
}

/// With the settings of the smallest launch: what calls leave to each other is the same for all.
void Builder::add_many_calls() {
  const Settings& settings = cheapest();
  const std::size_t n = std::min<std::size_t>(2 * shape_of(settings).block, 256) + 1;
  add({draw(v_.operations), draw(v_.types), n}, settings, draw(offsets), {"random", "many-calls", 2},
      draw(orders_of(device_.kind, true)));
}

/// Sums of i8 beyond what f32 counts, and wide ones beyond 32 bits; rounding errors of one sign.
void Builder::add_numbers() {
  for (const Operation operation : v_.operations)
    if (std::find(v_.types.begin(), v_.types.end(), ElementType::i8) != v_.types.end()) {
      const std::size_t n = operation == Operation::wide_sum ? (1 << 24) + (1 << 18) + 3 : (1 << 18) + 3;
      add({operation, ElementType::i8, n}, standard(), 1, {"largest", "exact", 0},
          draw(orders_of(device_.kind, true)));
    }
  if (const auto type = first_float()) {
    // So many for each thread that what it truncates shows in few sums; of large grids that of their trees.
    const std::size_t n = 16 * shape_of(cheapest()).most_threads + 3;
    const bool small = device_.kind == DeviceKind::sim && n < (1 << 15);
    add({v_.operations.front(), *type, small ? std::max<std::size_t>(n, 515) : 515}, small ? cheapest() : standard(),
        draw(offsets), {"positive", "bias", 0}, draw(orders_of(device_.kind, true)));
  }
}

void Builder::add_special_numbers() {
  const auto type = first_float();
  if (!type) return;
  const auto orders = orders_of(device_.kind, true);
  constexpr std::size_t n = 515;
  add({draw(v_.operations), *type, n}, standard(), draw(offsets), {"nan", "repeat", 0}, draw(orders));
  add({draw(v_.operations), *type, n}, draw(right_), draw(offsets), {"infinity", "repeat", 0}, draw(orders));
  const Settings& settings = cheapest();
  const Shape& shape = shape_of(settings);
  if (!shape.known) return;
  std::set<std::size_t> distances(shape.tiles.begin(), shape.tiles.end());
  distances.insert(1);  // what vectors have, and chunks
  for (const std::size_t distance : distances) {
    const std::size_t size = std::max(n, 2 * distance + 3);
    if (size > scope_.pairs_to + 1 || cost_of(device_.kind, shape, size, "", "") > most_cost_in_whole) continue;
    const std::size_t before = cases_.size();
    add({draw(v_.operations), *type, size}, settings, 0, {"infinity-pair", "special", 0}, draw(orders));
    if (cases_.size() > before) cases_.back().seed = distance;
  }
}

/// All elements are positive and more than a block has threads, so that whatever is left out shows.
void Builder::add_faults() {
  for (const Settings& s : wrong_)
    add({draw(v_.operations), draw(v_.types), scope_.pairs_to + 1}, s, draw(offsets), {"exact", "fault", 1},
        draw(orders_of(device_.kind, true)));
}

}  // namespace cases

bool repeats_parts(const Variant& v) {
  auto [document, parts] = cases::parts_of(v.id);
  if (parts.size() < 2) return false;
  for (const Variant& other : variants()) {
    if (other.id >= v.id) break;  // they are sorted
    const auto [others_document, others_parts] = cases::parts_of(other.id);
    if (others_document != document || others_parts.size() != parts.size()) continue;
    for (std::size_t level = 0; level < parts.size(); ++level)
      if (others_parts[level] == parts[level]) parts[level].clear();
  }
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
}

std::vector<Case> battery(const Variant& v, const DeviceInfo& device, Tier tier, std::uint64_t seed) {
  return cases::Builder(v, device, cases::scope_of(cases::tier_for(v, device.kind, tier), device.kind), seed).build();
}

}  // namespace reductio
