#pragma once
/// Where a thread of a kernel waits for others, or lets them go first.

#include <cstdint>

#include "device/sim/place.h"

namespace reductio::sim {

/// What a thread waits for. Of the block's barrier there are four kinds, which must not meet.
enum class Waiting : std::uint8_t {
  no,
  block_barrier,
  block_barrier_or,
  block_barrier_and,
  block_barrier_count,
  grid_barrier,
  warp,
  poll
};

/// Blocks until every thread of the block is here that has not returned from the kernel. `kind` is one of the block's
/// barriers. The result: for how many threads `predicate` was true.
unsigned block_barrier(Waiting kind, bool predicate, Site);
/// Blocks until every thread of every block of a cooperative launch is here.
void grid_barrier(Site);

enum class WarpOperation : std::uint8_t {
  sync,
  shuffle,
  any,
  all,
  ballot,
  reduce_add,
  reduce_min,
  reduce_max,
  reduce_and,
  reduce_or,
  reduce_xor,
  match_any,
  match_all
};
/// Blocks until all lanes in `mask` are here that have not returned from the kernel. The result: for `shuffle` the bits
/// that lane `source` brought, 0xFF.. if it brought none (undefined_shuffles()); for `match_any` the lanes that brought
/// the same bits as the caller, for `match_all` all lanes that are here if all did, else 0; for the others what those
/// lanes' `bits` make together, as unsigned words of 4 bytes: for `ballot` each lane brings the bit of its own vote,
/// for `any` and `all` 0 or 1.
std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);

/// Before each atomic load, and each atomic that changes nothing: lets others run if this is a repeated look.
void poll(std::uintptr_t address, Site);
/// Before atomic updates and stores, and fences: lets others run in the random order.
void give_way();
/// Somebody changed a value that others may be polling.
void note_progress();
/// The kernel ends here by its own will, or the host's code: `what` says why.
[[noreturn]] void stop_kernel(const char* what, Site);
/// Counts switches between threads and readings of itself; not a time.
std::uint64_t steps();

}  // namespace reductio::sim
