#pragma once
/// Where a thread of a kernel waits for others, or lets them go first.

#include <cstdint>

#include "device/sim/place.h"

namespace reductio::sim {

/// Blocks until every thread of the block is here. The result: whether `predicate` was true for any.
bool block_barrier(bool predicate, bool with_predicate, Site);
/// Blocks until every thread of every block of a cooperative launch is here.
void grid_barrier(Site);

enum class WarpOperation : std::uint8_t { sync, shuffle, reduce_add };
/// Blocks until all lanes in `mask` are here. The result: for `shuffle` the bits that lane `source` brought (0xFF.. if
/// that lane is not in the mask, where CUDA leaves the value undefined), for `reduce_add` the sum modulo 2^32.
std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);

/// Before each acquire load, and each atomic that changes nothing: lets others run if this is a repeated look.
void poll(std::uintptr_t address, Site);
/// Before atomics, release stores and fences: lets others run in the random order.
void give_way();
/// Somebody changed a value that others may be polling.
void note_progress();
/// Counts switches between threads and readings of itself; not a time.
std::uint64_t steps();

}  // namespace reductio::sim
