#pragma once
/// Copies of an input that the calls of a cold graph read in turn.

#include <algorithm>
#include <cstddef>

namespace reductio {

/// As many as are together more than twice L2: who reads one after the other finds none of them there. An input larger
/// than L2 does not evict all of itself: some variants keep its first half an L2 or so, and read the rest evict first.
/// So there are at least four, whose kept parts are together more than L2, but for inputs of six times L2 or more, of
/// which what is kept is a small part.
constexpr std::size_t cold_copies(std::size_t input_bytes, std::size_t l2_bytes) {
  if (input_bytes == 0 || input_bytes >= 6 * l2_bytes) return 1;
  return std::max<std::size_t>(2 * l2_bytes / input_bytes + 2, 4);
}

/// Bytes that hold the copies of any input, each aligned, if they are no more than a thousand or so.
constexpr std::size_t cold_copies_bytes(std::size_t l2_bytes) { return 4 * 6 * l2_bytes + (std::size_t{1} << 20); }

}  // namespace reductio
