#include "core/loop_index.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace reductio {
namespace {

std::size_t lowered_limit = std::numeric_limits<std::size_t>::max();

std::size_t largest_index(std::string_view type) {
  if (type == "i32") return std::min<std::size_t>(std::numeric_limits<std::int32_t>::max(), lowered_limit);
  if (type == "u32") return std::min<std::size_t>(std::numeric_limits<std::uint32_t>::max(), lowered_limit);
  if (type == "i64") return std::numeric_limits<std::int64_t>::max();
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

Tunable loop_index() { return Tunable::choice("index", {"document", "i32", "i64", "u32", "u64"}, "document"); }

Settings with_loop_index(Settings chosen, std::string_view documents, std::size_t last) {
  const std::string& asked = chosen.text("index");
  if (asked == "document") {
    chosen.set("index", std::string(last <= largest_index(documents) ? documents : "i64"));
  } else if (last > largest_index(asked)) {
    throw Refused("an index of type " + asked + " cannot count to " + std::to_string(last) +
                  ": choose index=i64, u64 or document");
  }
  return chosen;
}

LoweredIndexLimit::LoweredIndexLimit(std::size_t limit) : before_(lowered_limit) {
  if (limit) lowered_limit = limit;
}
LoweredIndexLimit::~LoweredIndexLimit() { lowered_limit = before_; }

bool indices_are_narrow() { return lowered_limit <= narrow_index_limit; }

}  // namespace reductio
