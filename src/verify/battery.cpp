/// The one place that says which cases a variant must pass. Five parts, each for what it alone can find:
///
///   whole product   Every size up to about 2^10 with every setting, type, operation and order: the edges of warps,
///                   blocks and tiles are all here. Data and offset are drawn for each.
///   covering array  Every two values of all factors (sizes up to 2^14, every tunable, type, operation, offset,
///                   order, and kind of data or check) meet in some case; but for tier `check` no size beyond 2^12
///                   meets the random order.
///   one by one      Every value of every tunable (in smaller tiers one of each, drawn), the others at their defaults,
///                   in the checks that make many calls: nine calls of a plan, and the declared chain of additions
///                   against the executed one.
///   drawn sizes     Multiples of tiles, the plan's own and those of other kernels, and a little more: the tails that
///                   no power of two has.
///   middle sizes    Up to 2^19, with offsets and all settings: where kernels take another way from some size on.
///   many calls      300 of one plan, and those in which its counters wrap; 64 whose rounding errors are compared.
///   other GPUs      Of older limits, and of so many SMs that a grid has more blocks than a block has threads.
///   random orders   Of more blocks than forward and reverse order tell apart: those two mirror each other.
///   large sizes     Default settings around 2^20 and, on a GPU, past 2^30 and 2^32; past 2^30 every value of every
///                   tunable too, and past 2^32 wide sums.
///   edges           Where an index of 32 bits ends, of the type of the smallest elements: on a GPU; on a CPU, of i8,
///                   which takes 2 s. In tier `gpu` also of other types, and on the simulated device, if memory
///                   suffices.
///   index types     Where a tunable `index` is chosen from n, with the limit of 32 bits lowered to that of 16: sizes
///                   on both sides of where a thread's last step, past the end, reaches it.
///
/// Settings with a known fault are in none of them. Each has one case of its own, whose result has to be wrong.
///
/// Tiers and devices differ only in the numbers of scope_of(). Of variants that are composed of shared parts, tiers
/// `check` and `sanitizer` run in full those that together have every part; the others, where there is no GPU, get the
/// quick tier's cases (repeats_parts()).

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/loop_index.h"
#include "verify/pairwise.h"
#include "verify/verify.h"

namespace reductio {
namespace {

/// How far each part goes. A limit of 0 leaves a part out.
struct Scope {
  std::size_t whole_to = 0;
  /// What the whole product may cost, in the units of cost_of(). A larger one is sampled evenly.
  double whole_budget = 0;
  std::size_t pairs_to = 0;
  /// In the covering array larger sizes have a cheap order in place of the random one, which costs four times as much.
  std::size_t random_to = std::numeric_limits<std::size_t>::max();
  bool every_value = false;  ///< one by one: every value of each tunable, not one that is drawn
  std::size_t drawn_to = 0;
  std::size_t middle = 0;      ///< so many sizes of each type between drawn_to and 2^19
  std::size_t most_threads = 0;  ///< what a launch on a large GPU may have
  double most_in_random = 0;   ///< what a call in the random order may cost beyond random_to
  /// Every type, default settings. Of the smallest, first, the first float also in repeated calls.
  std::vector<std::size_t> large{};
  std::vector<std::size_t> edges{};  ///< the type of the smallest elements: where an index of 32 bits ends
  std::size_t widest_at_edges = std::numeric_limits<std::size_t>::max();  ///< in bytes
  std::vector<std::size_t> large_settings{};  ///< the document's type, every single value of every tunable
  std::vector<std::size_t> huge{};            ///< every type, default settings
};

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
      return cuda ? Scope{.pairs_to = 1 << 12} : Scope{.whole_to = 1 << 10, .whole_budget = 2e5, .pairs_to = 1 << 12};
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
              .most_threads = tier == Tier::check ? 1u << 17 : 1u << 19,
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
/// A grid so small that each thread of it would load more than this is not asked to do large sizes.
constexpr std::size_t most_loads_per_thread_of_settings = std::size_t{1} << 22;
constexpr std::size_t most_loads_per_thread = std::size_t{1} << 26;

constexpr std::array<std::size_t, 4> offsets{0, 1, 2, 3};
/// What other kernels take in one go: blocks of 1000, and blocks times loads that are no power of two.
constexpr std::array<std::size_t, 4> common_tiles{1000, 4096, 5120, 6144};
constexpr std::array<std::size_t, 7> primes{61, 251, 509, 769, 2039, 4093, 13007};

/// What is added up and how it is looked at.
struct Work {
  const char* dataset;
  const char* check;
  unsigned seed;  ///< added to twice the battery's seed: even seeds of `exact` mix signs, odd ones are positive
};

// Integer sums are defined modulo 2^32, so full-range data is exact for them.
constexpr std::array<Work, 4> integer_calls{
    {{"random", "exact", 0}, {"random", "exact", 1}, {"exact", "exact", 1}, {"alternating", "exact", 0}}};
constexpr std::array<Work, 14> float_calls{{{"exact", "exact", 0},
                                            {"exact", "exact", 1},
                                            {"wide", "exact", 1},
                                            {"random", "bounded", 0},
                                            {"ill-conditioned", "bounded", 0},
                                            {"alternating", "exact", 0},
                                            {"subnormal", "exact", 1},
                                            {"tiny", "exact", 1},
                                            {"huge", "exact", 1},
                                            {"infinity", "special", 0},
                                            {"infinity", "special", 1},
                                            {"nan", "special", 0},
                                            {"mixed-infinities", "special", 0},
                                            {"mixed-infinities", "special", 1}}};
// Only in the covering array: each makes several calls.
constexpr std::array<Work, 2> integer_protocols{{{"random", "repeat", 2}, {"random", "two-plans", 4}}};
constexpr std::array<Work, 4> float_protocols{
    {{"exact", "repeat", 1}, {"random", "repeat", 2}, {"exact", "two-plans", 2}, {"random", "two-plans", 4}}};

/// The simulated device's schedules. The random ones differ by their case's seed.
constexpr std::array<const char*, 3> sim_orders{"forward", "reverse", "random"};
constexpr std::array<const char*, 2> cheap_sim_orders{"forward", "reverse"};  // for large sizes
constexpr std::array<const char*, 1> no_orders{""};

std::span<const char* const> orders_of(DeviceKind device, bool large = false) {
  if (device != DeviceKind::sim) return no_orders;
  if (large) return cheap_sim_orders;
  return sim_orders;
}

std::vector<Work> works_of(ElementType type, bool with_protocols) {
  std::vector<Work> out;
  const auto add = [&](const auto& works) { out.insert(out.end(), works.begin(), works.end()); };
  if (is_floating(type)) {
    add(float_calls);
    if (with_protocols) add(float_protocols);
  } else {
    add(integer_calls);
    if (with_protocols) add(integer_protocols);
  }
  return out;
}

/// Of positive values, so that what is left out or added twice cannot cancel; all integers are exact.
Work exact_work(ElementType type) {
  return is_floating(type) ? Work{"exact", "exact", 1} : Work{"random", "exact", 0};
}

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

/// What the settings make of a launch.
struct Shape {
  std::size_t least_threads = 1, most_threads = 1;  ///< for one element and for 2^20
  unsigned block = 1;
  bool known = false;  ///< a library does not tell its launches
  std::vector<std::size_t> tiles{};  ///< a block; what a block and what the whole grid takes in one go
};

/// What a case costs: about microseconds on the simulated device and the CPU; calls on a GPU, where all calls cost
/// alike at these sizes.
double cost_of(DeviceKind device, const Shape& shape, std::size_t n, std::string_view order, std::string_view check) {
  const double calls = check == "repeat" ? 3 : check == "two-plans" ? 4 : 1;  // of those in the covering array
  const auto elements = static_cast<double>(n);
  switch (device) {
    case DeviceKind::cuda: return calls;
    case DeviceKind::cpu: return calls * (10 + elements / 1000);
    case DeviceKind::sim: {
      const auto threads = static_cast<double>(std::max(shape.least_threads, std::min(shape.most_threads, n)));
      const double switches = threads * (1 + std::bit_width(shape.block));  // a barrier for each level of a tree
      return calls * (50 + switches * (order == "random" ? 0.5 : 0.12) + elements * 0.05);
    }
  }
  return calls;
}

/// The same for the checks of all parts, and on a GPU with the time that large inputs take.
double whole_cost_of(const DeviceInfo& device, const Shape& shape, const Case& c, std::size_t settings) {
  const double more = c.check == "calls"        ? 9
                      : c.check == "many-calls" ? many_calls
                      : c.check == "bias"       ? bias_calls
                      : c.check == "settings"   ? static_cast<double>(settings)
                                                : 1;
  const double large = device.kind == DeviceKind::cuda ? static_cast<double>(c.problem.n) / (1 << 22) : 0;
  return more * (cost_of(device.kind, shape, c.problem.n, c.order, c.check) + large);
}

/// The cases of one variant, as they are collected.
class Builder {
 public:
  Builder(const Variant& v, const DeviceInfo& device, Scope scope, std::uint64_t seed)
      : v_(v), tunables_(v.tunables), device_(device), scope_(std::move(scope)), seed_(seed), random_(seed) {
    for (Settings& s : all_settings(v.tunables)) (v.fault_of(s) ? wrong_ : right_).push_back(std::move(s));
    for (Tunable& t : tunables_) {
      std::erase_if(t.values, [&](const std::string& value) {
        return std::none_of(right_.begin(), right_.end(), [&](const Settings& s) { return s.text(t.name) == value; });
      });
    }
  }

  std::vector<Case> build() {
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
    if (!right_.empty() && scope_.middle) add_index_types();
    return std::move(cases_);
  }

 private:
  template <class Range>
  auto draw(const Range& choices) {
    return choices[random_() % std::size(choices)];
  }

  /// Of one setting of the tunables, whatever the type: launches are chosen in elements.
  const Shape& shape_of(const Settings& settings) {
    const auto [at, is_new] = shapes_.try_emplace(settings.str());
    Shape& shape = at->second;
    if (!is_new) return shape;
    constexpr std::size_t many = 1 << 20;
    try {
      const auto info = [&](std::size_t n) {
        return make_plan(v_, {v_.operations.front(), v_.types.front(), n}, settings, device_)->info();
      };
      const PlanInfo small = info(1), large = info(many);
      const auto threads = [](const PlanInfo& i) { return std::max<std::size_t>(1, i.grid_blocks * i.block_threads); };
      shape.least_threads = threads(small);
      shape.most_threads = std::max(threads(large), shape.least_threads);
      shape.known = large.grid_blocks > 0;
      shape.block = std::max(1u, large.block_threads);
      if (large.grid_blocks > 0)
        for (const std::size_t tile : {std::size_t{large.block_threads}, many / large.grid_blocks, threads(large)})
          if (tile > 1) shape.tiles.push_back(tile);
    } catch (const std::exception&) {
      // A refusal, or a fault that the cases themselves will meet and tell.
    }
    return shape;
  }

  void add_whole_product() {
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
              candidates.push_back({&s, {operation, type, n}, order, cost_of(device_.kind, shape, n, order, "")});
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
  void add_covering_array() {
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
  void add_covering_array_of(const std::vector<Operation>& operations, const std::vector<ElementType>& types) {
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
  std::size_t tile_size(const Settings& settings, int around) {
    std::vector<std::size_t> tiles = shape_of(settings).tiles;
    std::erase_if(tiles, [&](std::size_t tile) { return tile > scope_.pairs_to; });
    const std::size_t tile = tiles.empty() ? 32 : draw(tiles);
    if (around == 2) return std::min(2 * tile + 1, scope_.pairs_to + 1);
    return tile + static_cast<std::size_t>(around);
  }

  /// The defaults, or what comes first where those have a known fault.
  Settings standard() const { return v_.fault_of(v_.settings()) ? right_.front() : v_.settings(); }

  /// The defaults with one value of one tunable each, but not the defaults themselves: every value, or one that is
  /// drawn of each tunable.
  std::vector<Settings> one_by_one(bool every_value) {
    std::vector<Settings> out;
    for (const Tunable& t : tunables_) {
      std::vector<Settings> of_this = v_.with_other_values(standard(), t);
      if (!every_value && !of_this.empty()) of_this = {draw(of_this)};
      out.insert(out.end(), of_this.begin(), of_this.end());
    }
    return out;
  }

  void add_one_by_one() {
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

  void add_drawn_sizes() {
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

  void add_middle_sizes() {
    constexpr double most_cost = 40e3;
    for (const ElementType type : v_.types)
      for (std::size_t i = 0; i < scope_.middle; ++i) {
        const Settings settings = i == 0 ? standard() : draw(right_);
        const char* order = draw(orders_of(device_.kind, true));
        // All binary magnitudes alike, with every remainder.
        std::size_t n = scope_.drawn_to + random_() % (std::size_t{1} << (15 + random_() % 5));
        while (n > scope_.drawn_to && cost_of(device_.kind, shape_of(settings), n, order, "") > most_cost)
          n = scope_.drawn_to + (n - scope_.drawn_to) / 2;
        const std::size_t offset = i == 0 ? 1 + 2 * (random_() % 2) : draw(offsets);  // aligned to no more than a type
        add({draw(v_.operations), type, n}, settings, offset, exact_work(type), order);
      }
  }

  /// With the settings of the smallest launch: what calls leave to each other is the same for all.
  void add_many_calls() {
    const auto cost = [&](const Settings& s) { return cost_of(device_.kind, shape_of(s), 300, "forward", ""); };
    const Settings& cheapest = *std::min_element(right_.begin(), right_.end(), [&](const auto& a, const auto& b) {
      return cost(a) < cost(b);
    });
    const std::size_t n = std::min<std::size_t>(2 * shape_of(cheapest).block, 256) + 1;
    add({draw(v_.operations), draw(v_.types), n}, cheapest, draw(offsets), {"random", "many-calls", 2},
        draw(orders_of(device_.kind, true)));
  }

  /// Default settings on GPUs of other limits; all types on the oldest of them; and the smallest blocks on the largest,
  /// whose grid has more blocks than a block has threads.
  void add_other_gpus() {
    if (device_.kind != DeviceKind::sim) return;
    const auto add_like = [&](std::string_view like, const Settings& settings, std::size_t n, ElementType type) {
      const std::size_t before = cases_.size();
      add({draw(v_.operations), type, n}, settings, draw(offsets), exact_work(type), cheap_sim_orders.front());
      if (cases_.size() > before) cases_.back().like = like;
    };
    for (const char* like : {"sm-75", "sm-86"})
      add_like(like, standard(), most_in_random(standard()), draw(v_.types));
    for (const ElementType type : v_.types) add_like("sm-75", draw(right_), 1021, type);
    const Settings* cheapest = &right_.front();
    std::size_t least = threads_of_large(*cheapest);  // makes a plan each time
    for (const Settings& s : right_)
      if (const std::size_t threads = threads_of_large(s); threads < least) {
        least = threads;
        cheapest = &s;
      }
    const std::size_t n = (1 << 18) + 1 + random_() % 30;
    if (least <= scope_.most_threads) add_like("nvidia-b200", *cheapest, n, draw(v_.types));
  }

  /// Of 148 SMs.
  std::size_t threads_of_large(const Settings& settings) {
    DeviceInfo large = device_;
    large.sm_count = 148;
    try {
      const PlanInfo info = make_plan(v_, {v_.operations.front(), v_.types.front(), 1 << 18}, settings, large)->info();
      return info.grid_blocks * info.block_threads;
    } catch (const std::exception&) {
      return std::numeric_limits<std::size_t>::max();
    }
  }

  /// Sums of i8 beyond what f32 counts, and wide ones beyond 32 bits; rounding errors of one sign.
  void add_numbers() {
    for (const Operation operation : v_.operations)
      if (std::find(v_.types.begin(), v_.types.end(), ElementType::i8) != v_.types.end()) {
        const std::size_t n = operation == Operation::wide_sum ? (1 << 24) + (1 << 18) + 3 : (1 << 18) + 3;
        add({operation, ElementType::i8, n}, standard(), 1, {"largest", "exact", 0},
            draw(orders_of(device_.kind, true)));
      }
    if (const auto type = first_float())
      add({v_.operations.front(), *type, 515}, standard(), draw(offsets), {"positive", "bias", 0},
          draw(orders_of(device_.kind, true)));
  }

  /// The largest n, and no round one, that a call in the random order may have.
  std::size_t most_in_random(const Settings& settings) {
    std::size_t n = 1 << 17;
    while (n > 1 << 10 && cost_of(device_.kind, shape_of(settings), n, "random", "") > scope_.most_in_random) n /= 2;
    return n + 1 + random_() % 30;
  }

  /// A call of some type, and repeated calls of the first float, whose bits would tell.
  void add_random_orders() {
    if (device_.kind != DeviceKind::sim) return;
    const std::size_t n = most_in_random(standard());
    const ElementType type = draw(v_.types);
    add({draw(v_.operations), type, n}, standard(), draw(offsets), exact_work(type), "random");
    for (const std::size_t starved : {std::size_t{2000}, std::size_t{2000}, n})
      add({draw(v_.operations), type, starved + random_() % 100}, standard(), 0, exact_work(type), "starve");
    const auto repeated = first_float();
    if (!repeated) return;
    std::vector<Settings> all = one_by_one(scope_.every_value);
    all.insert(all.begin(), standard());
    for (const Settings& s : all) {
      if (v_.determinism_of(s) == Determinism::none) continue;
      const std::size_t sizes[] = {1021, std::min<std::size_t>(most_in_random(s), (1 << 12) + 3), most_in_random(s)};
      for (const std::size_t size : sizes)
        if (s == standard() || size == sizes[1])
          // Its sum is small beside its terms, so another order of adding shows in the bits of all but few sums.
          add({draw(v_.operations), *repeated, size}, s, draw(offsets), {"ill-conditioned", "repeat", 0}, "random");
    }
  }

  void add_large() {
    for (const std::size_t n : scope_.large) {
      if (device_.kind == DeviceKind::sim) {
        add_large_simulated(n);
        continue;
      }
      for (const ElementType type : v_.types) {
        if (n == scope_.large.front() && has_large_repeat(type))
          add({v_.operations.front(), type, n}, standard(), 0, {"random", "repeat", 0}, no_orders.front());
        add_large_pair(n, type, standard());
      }
    }
    for (const std::size_t n : scope_.edges) {
      const auto smallest = std::min_element(v_.types.begin(), v_.types.end(),
                                             [](ElementType a, ElementType b) { return size_of(a) < size_of(b); });
      if (device_.kind == DeviceKind::cuda)
        add_exact_large({v_.operations.front(), *smallest, n}, standard(), most_loads_per_thread);
      else if (size_of(*smallest) <= scope_.widest_at_edges)
        add_edge_in_host_memory({v_.operations.front(), *smallest, n});
    }
    for (const std::size_t n : scope_.large_settings)
      for (const Settings& s : one_by_one(true))
        add_exact_large({v_.operations.front(), v_.types.front(), n}, s, most_loads_per_thread_of_settings);
    for (const std::size_t n : scope_.huge)
      for (const ElementType type : v_.types) add_large_pair(n, type, standard());
    add_large_wide_sums();
  }

  /// On the simulated device 2^32 - 1 bytes take 5.3 GB, and 13 s by vectors, about a minute one by one.
  void add_edge_in_host_memory(const Problem& problem) {
    const bool simulated = device_.kind == DeviceKind::sim;
    add_exact_large(problem, standard(), problem.n, orders_of(device_.kind, true).front());
    const std::size_t bytes = problem.bytes(), copies = v_.consumes_input ? 2 : 1;
    std::size_t needs = copies * bytes + (std::size_t{1} << 28);
    // A byte beside each simulated word says whether it has been written. Of one that kernels write to, 48 more are
    // kept.
    if (simulated) needs += copies * bytes / 4 + (v_.consumes_input ? 12 * bytes : 0);
    const std::size_t there = std::min(open_backend(DeviceKind::cpu)->memory_free(), device_.memory_bytes);
    if (needs > there)
      cases_.back().left_out = "too little memory: " + std::to_string(problem.n) + " elements of " +
                               std::string(name(problem.type)) + " take " + std::to_string(needs >> 20) + " MiB" +
                               (simulated ? " on the simulated device" : "") + ", of " +
                               std::to_string(there >> 20) + " MiB that are free";
  }

  /// The defaults and a drawn setting, each with the type chosen; and the defaults with `index=i32`, as far as it goes.
  void add_index_types() {
    if (device_.kind != DeviceKind::sim || !v_.settings().has("index")) return;
    std::vector<Settings> chosen;
    std::copy_if(right_.begin(), right_.end(), std::back_inserter(chosen),
                 [](const Settings& s) { return s.text("index") == "document"; });
    if (chosen.empty()) return;
    Settings narrow = standard();
    narrow.set("index", "i32");
    for (const Settings& s : {standard(), draw(chosen), narrow}) {
      std::set<std::size_t> sizes;
      const auto on_both_sides = [&](std::size_t n) { sizes.insert({n, n + 1}); };
      on_both_sides(narrow_index_limit);
      for (const std::size_t step : steps_at_limit(s)) {
        if (step >= narrow_index_limit) continue;
        on_both_sides(narrow_index_limit - step);
        on_both_sides(narrow_index_limit / step * step);
      }
      for (const std::size_t n : sizes) add_with_index_limit(draw(v_.types), n, s);
    }
  }

  /// The threads of the grid, and the elements that a block takes.
  std::vector<std::size_t> steps_at_limit(const Settings& settings) {
    try {
      const PlanInfo info =
          make_plan(v_, {v_.operations.front(), v_.types.front(), narrow_index_limit}, settings, device_)->info();
      if (info.grid_blocks == 0) return {};
      return {info.grid_blocks * info.block_threads, (narrow_index_limit + info.grid_blocks - 1) / info.grid_blocks};
    } catch (const std::exception&) {
      return {};  // as in shape_of()
    }
  }

  void add_with_index_limit(ElementType type, std::size_t n, const Settings& settings) {
    const Problem problem{draw(v_.operations), type, n};
    const char* order = draw(orders_of(device_.kind, true));
    try {
      const LoweredIndexLimit lowered(narrow_index_limit);
      if (!refusal(v_, device_.kind, problem, settings).empty()) return;
      make_plan(v_, problem, settings, device_);
    } catch (const Refused&) {
      return;  // rightly, of the type that was asked for
    } catch (const std::exception&) {
    }
    const std::size_t before = cases_.size();
    add(problem, settings, 0, exact_work(type), order);
    if (cases_.size() > before) cases_.back().index_limit = narrow_index_limit;
  }

  /// The repeated calls are in both orders, one of them of exact data. Other types' calls take turns: forward from an
  /// aligned address, reverse from one that is aligned to the type alone.
  void add_large_simulated(std::size_t n) {
    std::size_t turn = 0;
    const auto add_in_turn = [&](ElementType type) {
      const std::size_t odd = turn++ % 2;
      add_exact_large({v_.operations.front(), type, n}, standard(), n, cheap_sim_orders[odd], odd);
    };
    for (const ElementType type : v_.types)
      if (has_large_repeat(type))
        add({v_.operations.front(), type, n}, standard(), 1, {"random", "repeat", 0}, cheap_sim_orders.front());
      else
        add_in_turn(type);
    if (turn == 1 && v_.types.size() == 1) add_in_turn(v_.types.front());
  }

  /// Only from about 2^33 random elements on does the sum of i8, whose mean is -1/2, leave 32 bits for sure.
  void add_large_wide_sums() {
    if (std::find(v_.operations.begin(), v_.operations.end(), Operation::wide_sum) == v_.operations.end()) return;
    for (const std::size_t n : scope_.huge)
      for (const ElementType type : v_.types)
        if (is_defined(Operation::wide_sum, type))
          add_exact_large({Operation::wide_sum, type, type == ElementType::i8 ? 2 * n : n}, standard(),
                          most_loads_per_thread);
  }

  /// The order in which many blocks are done shows in the bits of a float's sum, for which one type will do.
  bool has_large_repeat(ElementType type) const {
    return v_.determinism != Determinism::none && first_float() == type;
  }

  std::optional<ElementType> first_float() const {
    const auto first = std::find_if(v_.types.begin(), v_.types.end(), is_floating);
    return first == v_.types.end() ? std::nullopt : std::optional(*first);
  }

  /// All elements are positive and more than a block has threads, so that whatever is left out shows.
  void add_faults() {
    for (const Settings& s : wrong_)
      add({draw(v_.operations), draw(v_.types), scope_.pairs_to + 1}, s, draw(offsets), {"exact", "fault", 1},
          draw(orders_of(device_.kind, true)));
  }

  /// Not on the simulated device: exact data for the document's operation, random data for its other one.
  void add_large_pair(std::size_t n, ElementType type, const Settings& settings) {
    const std::size_t most_loads = n > (1 << 24) ? most_loads_per_thread : n;
    add_exact_large({v_.operations.front(), type, n}, settings, most_loads);
    const Work random = is_floating(type) ? Work{"random", "bounded", 0} : Work{"alternating", "exact", 0};
    // Wide sums have large cases of their own.
    const auto other = std::find_if(v_.operations.rbegin(), v_.operations.rend(),
                                    [](Operation o) { return o != Operation::wide_sum; });
    const Operation operation = other == v_.operations.rend() ? v_.operations.back() : *other;
    add({operation, type, n}, settings, 1, random, no_orders.front(), most_loads);
  }

  /// Large inputs have one offset for each kind of data, so all variants share them.
  void add_exact_large(const Problem& problem, const Settings& settings, std::size_t most_loads, const char* order = "",
                       std::size_t offset = 0) {
    add(problem, settings, offset, exact_work(problem.type), order, most_loads);
  }

  /// On a GPU, a case whose threads would load more than `most_loads` elements is left out, and reported. If the drawn
  /// operation and type do not go together, the document's operation is used.
  void add(Problem problem, const Settings& settings, std::size_t offset, const Work& work, const char* order,
           std::size_t most_loads = std::numeric_limits<std::size_t>::max()) {
    if (work.check != std::string_view("fault") && v_.fault_of(settings)) return;  // one of several values together
    if (!is_defined(problem.operation, problem.type)) problem.operation = v_.operations.front();
    Case c{&v_, problem, settings, offset, work.dataset, 2 * seed_ + work.seed, order, work.check};
    const Shape& shape = shape_of(settings);
    if (device_.kind == DeviceKind::cuda && shape.known && problem.n / shape.most_threads > most_loads)
      c.left_out = "too slow: more than " + std::to_string(most_loads) + " elements a thread";
    // Squares of subnormals are rounded; those of the alternating data overflow, but for f16's in f32.
    if (has_squares(problem.operation) && is_floating(problem.type)) {
      if (c.dataset == "subnormal") c.check = "bounded";
      if (c.dataset == "wide" || c.dataset == "tiny" || c.dataset == "huge") c.dataset += "-square";
      if (c.dataset == "alternating" && problem.type != ElementType::f16) c.check = "special";
    }
    // Each random order differs, and so does its data; the even step keeps what the seed says about signs.
    if (c.order == "random" || c.order == "starve") c.seed += 2 * (random_() % 4);
    c.cost = whole_cost_of(device_, shape, c, right_.size());
    cases_.push_back(std::move(c));
  }

  const Variant& v_;
  std::vector<Settings> right_{}, wrong_{};  // without and with a known fault
  std::vector<Tunable> tunables_;            // with the values alone that some settings without a fault have
  const DeviceInfo& device_;
  const Scope scope_;
  const std::uint64_t seed_;
  std::mt19937_64 random_;
  std::map<std::string, Shape> shapes_;  // by settings
  std::vector<Case> cases_;
};

}  // namespace

bool repeats_parts(const Variant& v) {
  auto [document, parts] = parts_of(v.id);
  if (parts.size() < 2) return false;
  for (const Variant& other : variants()) {
    if (other.id >= v.id) break;  // they are sorted
    const auto [others_document, others_parts] = parts_of(other.id);
    if (others_document != document || others_parts.size() != parts.size()) continue;
    for (std::size_t level = 0; level < parts.size(); ++level)
      if (others_parts[level] == parts[level]) parts[level].clear();
  }
  return std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
}

std::vector<Case> battery(const Variant& v, const DeviceInfo& device, Tier tier, std::uint64_t seed) {
  return Builder(v, device, scope_of(tier_for(v, device.kind, tier), device.kind), seed).build();
}

}  // namespace reductio
