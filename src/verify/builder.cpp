/// What the parts of the battery share: kinds of data, costs, and how a case is added.

#include "verify/builder.h"

#include <bit>
#include <exception>

namespace reductio::cases {
namespace {

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

}  // namespace

std::span<const char* const> orders_of(DeviceKind device, bool large) {
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

Work exact_work(ElementType type) { return is_floating(type) ? Work{"exact", "exact", 1} : Work{"random", "exact", 0}; }

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
                      : c.check == "bias"       ? bias_calls(c.problem.n)
                      : c.check == "settings"   ? static_cast<double>(settings)
                                                : 1;
  const double large = device.kind == DeviceKind::cuda ? static_cast<double>(c.problem.n) / (1 << 22) : 0;
  return more * (cost_of(device.kind, shape, c.problem.n, c.order, c.check) + large);
}

const Shape& Builder::shape_of(const Settings& settings) {
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

Settings Builder::standard() const { return v_.fault_of(v_.settings()) ? right_.front() : v_.settings(); }

const Settings& Builder::cheapest() {
  const auto cost = [&](const Settings& s) { return cost_of(device_.kind, shape_of(s), 300, "forward", ""); };
  return *std::min_element(right_.begin(), right_.end(),
                           [&](const Settings& a, const Settings& b) { return cost(a) < cost(b); });
}

std::vector<Settings> Builder::one_by_one(bool every_value) {
  std::vector<Settings> out;
  for (const Tunable& t : tunables_) {
    std::vector<Settings> of_this = v_.with_other_values(standard(), t);
    if (!every_value && !of_this.empty()) of_this = {draw(of_this)};
    out.insert(out.end(), of_this.begin(), of_this.end());
  }
  return out;
}

std::optional<ElementType> Builder::first_float() const {
  const auto first = std::find_if(v_.types.begin(), v_.types.end(), is_floating);
  return first == v_.types.end() ? std::nullopt : std::optional(*first);
}

/// Large inputs have one offset for each kind of data, so all variants share them.
void Builder::add_exact_large(const Problem& problem, const Settings& settings, std::size_t most_loads,
                              const char* order, std::size_t offset) {
  add(problem, settings, offset, exact_work(problem.type), order, most_loads);
}

/// On a GPU, a case whose threads would load more than `most_loads` elements is left out, and reported. If the drawn
/// operation and type do not go together, the document's operation is used.
void Builder::add(Problem problem, const Settings& settings, std::size_t offset, const Work& work, const char* order,
                  std::size_t most_loads) {
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

}  // namespace reductio::cases
