/// The parts of the battery whose cases are large, are of other GPUs or of the random order, or have a lowered limit.

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.h"
#include "core/loop_index.h"
#include "verify/builder.h"

namespace reductio::cases {
namespace {

/// A grid so small that each thread of it would load more than this is not asked to do large sizes.
constexpr std::size_t most_loads_per_thread_of_settings = std::size_t{1} << 22;
constexpr std::size_t most_loads_per_thread = std::size_t{1} << 26;

}  // namespace

void Builder::add_other_gpus() {
  if (device_.kind != DeviceKind::sim) return;
  const auto add_like = [&](std::string_view like, const Settings& settings, std::size_t n, ElementType type) {
    const std::size_t before = cases_.size();
    add({draw(v_.operations), type, n}, settings, draw(offsets), exact_work(type), cheap_sim_orders.front());
    if (cases_.size() > before) cases_.back().like = like;
  };
  for (const char* like : {"sm-75", "sm-86"}) add_like(like, standard(), most_in_random(standard()), draw(v_.types));
  for (const ElementType type : v_.types) add_like("sm-75", draw(right_), 1021, type);
  const Settings* smallest = &right_.front();
  std::size_t least = threads_of_large(*smallest);  // makes a plan each time
  for (const Settings& s : right_)
    if (const std::size_t threads = threads_of_large(s); threads < least) {
      least = threads;
      smallest = &s;
    }
  const std::size_t n = (1 << 20) + 1 + random_() % 30;
  if (least <= scope_.most_threads) add_like("nvidia-b200", *smallest, n, draw(v_.types));
}

/// Of 148 SMs, which all have work.
std::size_t Builder::threads_of_large(const Settings& settings) {
  DeviceInfo large = device_;
  large.sm_count = 148;
  try {
    const PlanInfo info = make_plan(v_, {v_.operations.front(), v_.types.front(), 1 << 20}, settings, large)->info();
    return info.grid_blocks * info.block_threads;
  } catch (const std::exception&) {
    return std::numeric_limits<std::size_t>::max();
  }
}

/// The largest n, and no round one, that a call in the random order may have.
std::size_t Builder::most_in_random(const Settings& settings) {
  std::size_t n = 1 << 17;
  while (n > 1 << 10 && cost_of(device_.kind, shape_of(settings), n, "random", "") > scope_.most_in_random) n /= 2;
  return n + 1 + random_() % 30;
}

void Builder::add_random_orders() {
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

void Builder::add_large() {
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
void Builder::add_edge_in_host_memory(const Problem& problem) {
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
                             (simulated ? " on the simulated device" : "") + ", of " + std::to_string(there >> 20) +
                             " MiB that are free";
}

void Builder::add_long_chain() {
  constexpr std::size_t stops = std::size_t{1} << 24, n = 2 * stops + 7;  // with one accumulator half of it is lost
  const Operation operation = v_.operations.front();
  const auto type = std::find_if(v_.types.begin(), v_.types.end(), [&](ElementType t) {
    return is_defined(operation, t) && Problem{operation, t, n}.accumulator() == ElementType::f32;
  });
  if (type == v_.types.end()) return;
  try {
    const PlanInfo info = make_plan(v_, {operation, *type, n}, standard(), device_)->info();
    if (info.longest_chain < stops || info.grid_blocks * info.block_threads > scope_.most_threads) return;
  } catch (const std::exception&) {
    return;  // as in shape_of()
  }
  add({operation, *type, n}, standard(), 0, {"ones", "bounded", 0}, orders_of(device_.kind, true).front());
}

/// The defaults and a drawn setting, each with the type chosen; and the defaults with `index=i32`, as far as it goes.
void Builder::add_index_types() {
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
std::vector<std::size_t> Builder::steps_at_limit(const Settings& settings) {
  try {
    const PlanInfo info =
        make_plan(v_, {v_.operations.front(), v_.types.front(), narrow_index_limit}, settings, device_)->info();
    if (info.grid_blocks == 0) return {};
    return {info.grid_blocks * info.block_threads, (narrow_index_limit + info.grid_blocks - 1) / info.grid_blocks};
  } catch (const std::exception&) {
    return {};  // as in shape_of()
  }
}

void Builder::add_with_index_limit(ElementType type, std::size_t n, const Settings& settings) {
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
void Builder::add_large_simulated(std::size_t n) {
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
void Builder::add_large_wide_sums() {
  if (std::find(v_.operations.begin(), v_.operations.end(), Operation::wide_sum) == v_.operations.end()) return;
  for (const std::size_t n : scope_.huge)
    for (const ElementType type : v_.types)
      if (is_defined(Operation::wide_sum, type))
        add_exact_large({Operation::wide_sum, type, type == ElementType::i8 ? 2 * n : n}, standard(),
                        most_loads_per_thread);
}

/// The order in which many blocks are done shows in the bits of a float's sum, for which one type will do.
bool Builder::has_large_repeat(ElementType type) const {
  return v_.determinism != Determinism::none && first_float() == type;
}

/// Not on the simulated device: exact data for the document's operation, random data for its other one.
void Builder::add_large_pair(std::size_t n, ElementType type, const Settings& settings) {
  const std::size_t most_loads = n > (1 << 24) ? most_loads_per_thread : n;
  add_exact_large({v_.operations.front(), type, n}, settings, most_loads);
  const Work random = is_floating(type) ? Work{"random", "bounded", 0} : Work{"alternating", "exact", 0};
  // Wide sums have large cases of their own.
  const auto other =
      std::find_if(v_.operations.rbegin(), v_.operations.rend(), [](Operation o) { return o != Operation::wide_sum; });
  const Operation operation = other == v_.operations.rend() ? v_.operations.back() : *other;
  add({operation, type, n}, settings, 1, random, no_orders.front(), most_loads);
}

}  // namespace reductio::cases
