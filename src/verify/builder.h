#pragma once
/// How the battery of one variant is made: what its parts share, and the list of those parts.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/verify.h"

namespace reductio::cases {

/// How far each part goes. A limit of 0 leaves a part out.
struct Scope {
  std::size_t whole_to = 0;
  /// What the whole product may cost, in the units of cost_of(). A larger one is sampled evenly.
  double whole_budget = 0;
  std::size_t pairs_to = 0;
  /// Of the rows of the shapes' covering array one of so many.
  std::size_t of_shapes = 1;
  /// In the covering array larger sizes have a cheap order in place of the random one, which costs four times as much.
  std::size_t random_to = std::numeric_limits<std::size_t>::max();
  bool every_value = false;  ///< one by one: every value of each tunable, not one that is drawn
  std::size_t drawn_to = 0;
  std::size_t middle = 0;        ///< so many sizes of each type between drawn_to and 2^19
  std::size_t most_threads = 0;  ///< what a launch on a large GPU may have
  double most_in_random = 0;     ///< what a call in the random order may cost beyond random_to
  /// Every type, default settings. Of the smallest, first, the first float also in repeated calls.
  std::vector<std::size_t> large{};
  std::vector<std::size_t> edges{};  ///< the type of the smallest elements: where an index of 32 bits ends
  std::size_t widest_at_edges = std::numeric_limits<std::size_t>::max();  ///< in bytes
  std::vector<std::size_t> large_settings{};  ///< the document's type, every single value of every tunable
  std::vector<std::size_t> huge{};            ///< every type, default settings
};

/// What is added up and how it is looked at.
struct Work {
  const char* dataset;
  const char* check;
  unsigned seed;  ///< added to twice the battery's seed: even seeds of `exact` mix signs, odd ones are positive
};

/// All that are made for a type; `with_protocols`: also those of several calls.
std::vector<Work> works_of(ElementType, bool with_protocols);
/// Of positive values, so that what is left out or added twice cannot cancel; all integers are exact.
Work exact_work(ElementType);

/// The simulated device's schedules. The random ones differ by their case's seed.
constexpr std::array<const char*, 3> sim_orders{"forward", "reverse", "random"};
constexpr std::array<const char*, 2> cheap_sim_orders{"forward", "reverse"};  // for large sizes
constexpr std::array<const char*, 1> no_orders{""};
std::span<const char* const> orders_of(DeviceKind, bool large = false);

constexpr std::array<std::size_t, 4> offsets{0, 1, 2, 3};

struct Matrix {
  std::size_t rows, columns, gap;  ///< gap: what lies between two rows
};

/// What the settings make of a launch.
struct Shape {
  std::size_t least_threads = 1, most_threads = 1;  ///< for one element and for 2^20
  unsigned block = 1;
  bool known = false;                ///< a library does not tell its launches
  std::vector<std::size_t> tiles{};  ///< a block; what a block and what the whole grid takes in one go
};

/// What a case costs: about microseconds on the simulated device and the CPU; calls on a GPU, where all calls cost
/// alike at these sizes.
double cost_of(DeviceKind, const Shape&, std::size_t n, std::string_view order, std::string_view check);

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

  std::vector<Case> build();

 private:
  // The parts, each for what it alone can find. Settings with a known fault are in add_faults() alone. First those of
  // battery.cpp.

  /// Every size up to about 2^10 with every setting, type, operation and order: the edges of warps, blocks and tiles
  /// are all here. Data and offset are drawn for each.
  void add_whole_product();
  /// Every two values of all factors (sizes up to 2^14, every tunable, type, operation, offset, order, and kind of data
  /// or check) meet in some case; but for tier `check` no size beyond 2^12 meets the random order.
  void add_covering_array();
  /// Every value of every tunable (in smaller tiers one of each, drawn), the others at their defaults, in the checks
  /// that make many calls: nine calls of a plan, and the declared chain of additions against the executed one.
  void add_one_by_one();
  /// Multiples of tiles, the plan's own and those of other kernels, and a little more: the tails that no power of two
  /// has.
  void add_drawn_sizes();
  /// Up to 2^19, with offsets and all settings, 2^16 among them: where kernels take another way from some size on.
  void add_middle_sizes();
  /// 300 of one plan, and those in which its counters wrap.
  void add_many_calls();
  /// Sums of i8 beyond what f32 counts, and wide ones beyond 32 bits; some whose rounding errors are compared.
  void add_numbers();
  /// Calls after those that met a NaN or an infinity, which leave a counter where they should not if they return early;
  /// and opposite infinities that one thread meets.
  void add_special_numbers();
  /// One case of each setting with a known fault, whose result has to be wrong.
  void add_faults();

  // Those of large_cases.cpp.

  /// Of older limits, and of so many SMs that a grid has more blocks than a block has threads, or than 512.
  void add_other_gpus();
  /// More blocks than forward and reverse order tell apart: those two mirror each other.
  void add_random_orders();
  /// Default settings around 2^20 and, on a GPU, past 2^30 and 2^32; past 2^30 every value of every tunable too, and
  /// past 2^32 wide sums. Where an index of 32 bits ends, of the type of the smallest elements: on a GPU; on a CPU, of
  /// i8, which takes 2 s. In tier `gpu` also of other types, and on the simulated device, if memory suffices.
  void add_large();
  /// Ones, where a plan declares a chain of additions on which an f32 accumulator stops at 2^24.
  void add_long_chain();
  /// Where a tunable `index` is chosen from n, with the limit of 32 bits lowered to that of 16: sizes on both sides of
  /// where a thread's last step, past the end, reaches it.
  void add_index_types();

  // Those of shape_cases.cpp.

  /// Of operations over shapes, in place of all the others: every two values of all factors meet, a shape in place of a
  /// size. Rows and columns from 0 on, odd ones and vectors' edges, pitches, segments without elements and one giant.
  void add_shapes();
  void add_shapes_of(Operation, const std::vector<ElementType>&);
  std::vector<Problem> shapes_of(Operation, ElementType) const;
  void add_large_shapes(Operation);
  const Settings& affordable(const Problem&, const Settings&);
  Problem affordable_over(Operation, ElementType, Matrix, std::size_t most_threads) const;

  // What the parts are made of.

  void add_covering_array_of(const std::vector<Operation>&, const std::vector<ElementType>&);
  std::size_t tile_size(const Settings&, int around);
  std::size_t threads_of_large(const Settings&);
  std::size_t most_in_random(const Settings&);
  void add_edge_in_host_memory(const Problem&);
  std::vector<std::size_t> steps_at_limit(const Settings&);
  void add_with_index_limit(ElementType, std::size_t n, const Settings&);
  void add_large_simulated(std::size_t n);
  void add_large_wide_sums();
  bool has_large_repeat(ElementType) const;
  void add_large_pair(std::size_t n, ElementType, const Settings&);

  template <class Range>
  auto draw(const Range& choices) {
    return choices[random_() % std::size(choices)];
  }

  /// Of one setting of the tunables, whatever the type: launches are chosen in elements.
  const Shape& shape_of(const Settings&);
  /// The defaults, or what comes first where those have a known fault.
  Settings standard() const;
  /// Those of the smallest launch.
  const Settings& cheapest();
  /// The defaults with one value of one tunable each, but not the defaults themselves: every value, or one that is
  /// drawn of each tunable.
  std::vector<Settings> one_by_one(bool every_value);
  std::optional<ElementType> first_float() const;
  void add_exact_large(const Problem&, const Settings&, std::size_t most_loads, const char* order = "",
                       std::size_t offset = 0);
  void add(Problem, const Settings&, std::size_t offset, const Work&, const char* order,
           std::size_t most_loads = std::numeric_limits<std::size_t>::max());

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

}  // namespace reductio::cases
