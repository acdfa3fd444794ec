#pragma once
/// Shared memory in words, for messages.

#include <cstdint>
#include <string>

namespace reductio::sim {

/// "byte 12 of the shared array sums, of 128 bytes": of the one that the offset lies in, or behind.
std::string place_in_shared_memory(std::uint64_t offset);

}  // namespace reductio::sim
