#include "device/sim/tables.h"

#include <algorithm>

namespace reductio::sim {
namespace {

std::vector<Tables>& all_tables() {
  static std::vector<Tables> all{own_tables()};
  return all;
}

}  // namespace

const std::vector<Tables>& tables() { return all_tables(); }

void add_tables(const Tables& added) {
  auto& all = all_tables();
  const auto is_it = [&](const Tables& t) { return t.places.first == added.places.first; };
  if (std::none_of(all.begin(), all.end(), is_it)) all.push_back(added);
}

}  // namespace reductio::sim
