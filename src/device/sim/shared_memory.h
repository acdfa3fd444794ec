#pragma once
/// Shared memory in words, for messages.

#include <cstdint>
#include <string>

namespace reductio::sim {

/// "byte 12 of shared array sums": of the one that the offset lies in, or is near. `with_size`: and how large it is,
/// for an access outside.
std::string place_in_shared_memory(std::uint64_t offset, bool with_size = false);

}  // namespace reductio::sim
