#pragma once
/// Where a thread of a kernel waits for others, or yields to them.

#include <cstdint>

#include "device/sim/place.h"

namespace reductio::sim {

/// What a thread waits for. The four kinds of the block's barrier must not be mixed.
enum class Waiting : std::uint8_t {
  no,
  block_barrier,
  block_barrier_or,
  block_barrier_and,
  block_barrier_count,
  grid_barrier,
  cluster_barrier,
  warp,
  poll
};

/// Waits for every thread of the block that has not returned from the kernel. `kind` is one of the block's barriers.
/// Returns the number of threads whose `predicate` was true.
unsigned block_barrier(Waiting kind, bool predicate, Site);
/// Waits for every thread of every block of a cooperative launch.
void grid_barrier(Site);
/// Waits for every thread of the cluster that has not returned from the kernel.
void cluster_barrier(Site);
/// The running block's number in its cluster, how many that has, and the same place in the shared memory of another.
unsigned cluster_rank();
unsigned cluster_blocks();
void* in_cluster(const void* shared, unsigned rank, Site);

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
/// Waits for all lanes in `mask` that have not returned from the kernel. Returns, by operation:
///   shuffle    the `bits` of lane `source`, 0xFF.. if it is not among them (undefined_shuffles())
///   match_any  the lanes with the caller's bits
///   match_all  all lanes if their bits agree, else 0
///   others     the lanes' `bits` combined, as unsigned 4-byte words. For ballot each lane passes the bit of its vote,
///              for any and all 0 or 1.
std::uint64_t warp_operation(WarpOperation, unsigned mask, std::uint64_t bits, unsigned source, Site);

/// Ends the kernel: a shuffle's width is no power of two up to 32.
[[noreturn]] void fail_width(int width, Site);
/// Ends the kernel where the GPU that the device is like (gpu.h) is older than the `instruction`.
void need_capability(int capability, const char* instruction, Site);

/// Called before each atomic load, and each atomic that changes nothing. Yields if the thread has loaded it before.
/// `waits`: it is made to wait. Updates that happen to change nothing are as often part of the work.
void poll(std::uintptr_t address, bool waits, Site);
/// Called before atomic updates, atomic stores and fences. Yields if the order is random.
void give_way();
/// From here on the thread may touch global memory, in a launch that overlaps the kernel before.
void wait_for_previous_kernel();
/// A value has changed that others may be polling.
void note_progress();
/// Ends the kernel, or the host's code, as assert and trap do: `what` says why.
[[noreturn]] void stop_kernel(const char* what, Site);
/// Counts switches between threads and readings of itself; not a time.
std::uint64_t steps();

}  // namespace reductio::sim
