/// The battery of operations over shapes: rows, columns and segments in place of sizes.

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string>

#include "verify/builder.h"
#include "verify/pairwise.h"

namespace reductio::cases {
namespace {

/// None, one, and around warps, vectors and blocks, either side odd; the long ones of few rows and of few columns.
constexpr std::array<Matrix, 16> small_matrices{{{0, 5, 0},
                                                 {5, 0, 0},
                                                 {1, 1, 0},
                                                 {1, 33, 0},
                                                 {33, 1, 0},
                                                 {2, 31, 1},
                                                 {31, 2, 0},
                                                 {3, 257, 3},
                                                 {257, 3, 1},
                                                 {64, 64, 0},
                                                 {37, 129, 1},
                                                 {5, 1021, 0},
                                                 {1021, 5, 2},
                                                 {2, 2048, 2},
                                                 {1, 4099, 0},
                                                 {4099, 1, 0}}};
constexpr std::array<Matrix, 4> middle_matrices{{{3, 100003, 1}, {9973, 3, 0}, {300, 1000, 24}, {1, 262147, 0}}};
/// Past 2^27 outputs, 2^32 elements, and rows whose offsets pass 2^31.
constexpr std::array<Matrix, 4> large_matrices{
    {{std::size_t{1} << 27, 2, 0}, {2, (std::size_t{1} << 27) + 1, 0}, {65537, 65539, 0}, {40000, 1000, 60000}}};

Problem over(Operation operation, ElementType type, const Matrix& m) {
  const AskedShape asked{m.rows, m.columns, m.columns + m.gap};
  return problems_of(operation, type, {}, {.matrices = {asked}}).front();
}

const std::vector<std::string> all_lengths{"uniform:1",     "uniform:31",    "uniform:32", "powerlaw:2.1",
                                           "powerlaw:1.5", "one-giant", "empty-many"};

}  // namespace

void Builder::add_shapes() {
  for (const Operation operation : v_.operations) {
    for (const bool floats : {false, true}) {
      std::vector<ElementType> types;
      std::copy_if(v_.types.begin(), v_.types.end(), std::back_inserter(types),
                   [&](ElementType t) { return is_floating(t) == floats && is_defined(operation, t); });
      if (!types.empty()) add_shapes_of(operation, types);
    }
    const std::vector<Problem> few = shapes_of(operation, v_.types.front());
    const auto orders = orders_of(device_.kind, true);
    const auto draw_problem = [&](std::size_t most) {
      Problem p = draw(few);
      while (p.n == 0 || p.n > most) p = draw(few);
      p.type = draw(v_.types);
      return p;
    };
    for (const Settings& s : one_by_one(scope_.every_value))
      add(draw_problem(5000), s, draw(offsets), {"random", "calls", 2}, draw(orders));
    add(draw_problem(5000), standard(), draw(offsets), {"random", "calls", 2}, draw(orders));
    if (scope_.middle) add(draw_problem(600), cheapest(), 0, {"random", "many-calls", 2}, draw(orders));
    const auto type = first_float();
    if (type && device_.kind == DeviceKind::sim) {
      Problem one = problem_with_shape(operation, *type, 1021,
                                       operation == Operation::segment_sums  ? "uniform:1021"
                                       : operation == Operation::column_sums ? "1021x1"
                                                                             : "1x1021");
      for (const Settings& s : right_) add(one, s, draw(offsets), {"random", "chain", 0}, draw(orders));
    }
    if (type && v_.determinism == Determinism::always) {
      Problem p = draw_problem(5000);
      p.type = *type;
      add(p, standard(), draw(offsets), {"ill-conditioned", "settings", 2}, draw(orders));
    }
    if (type && v_.determinism == Determinism::always && operation != Operation::column_sums)
      for (const Problem& p : few) {
        Problem floats = p;
        floats.type = *type;
        if (p.n > 1 && p.outputs() > 1)
          add(floats, draw(right_), draw(offsets), {"ill-conditioned", "neighbours", 2}, draw(orders));
      }
    add_large_shapes(operation);
  }
}

std::vector<Problem> Builder::shapes_of(Operation operation, ElementType type) const {
  std::vector<Problem> out;
  if (operation == Operation::segment_sums) {
    return problems_of(operation, type, {0, 1, 33, 1021, 4099}, {.segments = all_lengths});
  }
  for (const Matrix& m : small_matrices) out.push_back(affordable_over(operation, type, m, 1 << 15));
  return out;
}

/// Thousands of outputs, a large block each, switch threads for seconds on the simulated device.
const Settings& Builder::affordable(const Problem& p, const Settings& settings) {
  constexpr std::size_t most_threads = 1 << 16;
  const bool costly = device_.kind == DeviceKind::sim && p.outputs() * shape_of(settings).block > most_threads;
  return costly ? cheapest() : settings;
}

/// Of a matrix on the simulated device fewer columns, so that the launch for their sums has at most so many threads:
/// each further block does the same, and takes milliseconds of 512 threads for 16 columns.
Problem Builder::affordable_over(Operation operation, ElementType type, Matrix m, std::size_t most_threads) const {
  const auto threads = [&](const Problem& p) -> std::size_t {
    try {
      const PlanInfo info = make_plan(v_, p, standard(), device_)->info();
      return info.grid_blocks * info.block_threads;
    } catch (const std::exception&) {  // which the cases themselves will meet and tell
      return 0;
    }
  };
  Problem p = over(operation, type, m);
  if (operation != Operation::column_sums || device_.kind != DeviceKind::sim) return p;
  while (threads(p) > most_threads && m.columns > 1) {
    m.columns = m.columns / 4 | 1;
    p = over(operation, type, m);
  }
  return p;
}

/// Of types whose data are alike.
void Builder::add_shapes_of(Operation operation, const std::vector<ElementType>& types) {
  const std::vector<Problem> problems = shapes_of(operation, types.front());
  const std::vector<Work> works = works_of(types.front(), true);
  const auto orders = orders_of(device_.kind);
  std::vector<std::size_t> levels{problems.size(), works.size(), types.size(), offsets.size(), orders.size()};
  const std::size_t first_tunable = levels.size();
  for (const Tunable& t : tunables_) levels.push_back(t.values.size());
  const auto cost = [&](const std::vector<std::size_t>& row) {
    return cost_of(device_.kind, shape_of(standard()), problems[row[0]].n, orders[row[4]], works[row[1]].check);
  };
  std::size_t rows = 0;
  for (const auto& row : pairwise(levels, seed_, cost)) {
    if (rows++ % scope_.of_shapes != 0) continue;
    Settings settings(tunables_);
    for (std::size_t t = 0; t < tunables_.size(); ++t)
      settings.set(tunables_[t].name, tunables_[t].values[row[first_tunable + t]]);
    Problem p = problems[row[0]];
    p.type = types[row[2]];
    add(p, affordable(p, settings), offsets[row[3]], works[row[1]], orders[row[4]]);
  }
}

void Builder::add_large_shapes(Operation operation) {
  const auto add_both = [&](const Problem& p) {
    const auto orders = orders_of(device_.kind, true);
    const Settings settings = affordable(p, standard());
    add(p, settings, 0, exact_work(p.type), draw(orders));
    add(p, settings, 1, {"random", is_floating(p.type) ? "bounded" : "exact", 0}, draw(orders));
  };
  const auto add_all = [&](const auto& matrices, std::initializer_list<std::size_t> sizes) {
    if (operation == Operation::segment_sums)
      for (const Problem& p : problems_of(operation, draw(v_.types), sizes, {.segments = all_lengths})) add_both(p);
    else
      for (const Matrix& m : matrices) add_both(affordable_over(operation, draw(v_.types), m, 1 << 18));
  };
  if (scope_.middle) add_all(middle_matrices, {100003});
  if (!scope_.huge.empty() && device_.kind == DeviceKind::cuda)
    add_all(large_matrices, {(std::size_t{1} << 27) + 3});
}

}  // namespace reductio::cases
