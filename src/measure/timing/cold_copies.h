#pragma once
/// Copies of an input that the calls of a cold graph read in turn.

#include <algorithm>
#include <cstddef>

namespace reductio {

/// Enough copies to exceed twice L2: whoever reads them in turn finds none cached. An input larger than L2 does not
/// evict all of itself, because some variants keep its first L2-sized half and read the rest evict-first. So there are
/// at least four copies, unless the input is six times L2 or more, where the kept part is small.
constexpr std::size_t cold_copies(std::size_t input_bytes, std::size_t l2_bytes) {
  if (input_bytes == 0 || input_bytes >= 6 * l2_bytes) return 1;
  return std::max<std::size_t>(2 * l2_bytes / input_bytes + 2, 4);
}

/// Room for the aligned copies of any input, as long as there are at most about a thousand.
constexpr std::size_t cold_copies_bytes(std::size_t l2_bytes) { return 4 * 6 * l2_bytes + (std::size_t{1} << 20); }

}  // namespace reductio
