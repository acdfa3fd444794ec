#pragma once
/// CUDA's cooperative groups on the simulated device: the block, its cluster, the grid of a cooperative launch, tiles,
/// lanes of a warp that a partition by value puts together, and coalesced threads. Made of intrinsics.h, and checked as
/// those are.

#include <algorithm>
#include <array>
#include <bit>
#include <functional>

#include "device/sim/atomics.h"
#include "device/sim/intrinsics.h"
#include "device/sim/vectors.h"

namespace reductio::device {
inline namespace on_sim {
namespace cooperative_groups {

/// Shared memory by which the warps of tiles of more than 32 threads wait for each other and combine values.
struct TileMemory {
  std::array<unsigned, 32> arrived;                     ///< warps at the barriers of a tile, of all times
  std::array<std::array<std::uint64_t, 2>, 32> values;  ///< by warp
};
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory : TileMemory {};

class thread_block {
 public:
  TileMemory* memory = nullptr;

  static unsigned thread_rank() { return sim::thread_now; }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static void sync(sim::Site site = sim::here()) { __syncthreads(site); }
};
inline thread_block this_thread_block() { return {}; }
/// All threads of the block call it.
template <unsigned Size>
thread_block this_thread_block(block_tile_memory<Size>& memory, sim::Site site = sim::here()) {
  if (sim::thread_now < memory.arrived.size()) memory.arrived[sim::thread_now] = 0;
  __syncthreads(site);
  thread_block block;
  block.memory = &memory;
  return block;
}

class grid_group {
 public:
  static unsigned long long thread_rank() {
    const auto block = (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return block * thread_block::size() + thread_block::thread_rank();
  }
  static unsigned long long num_threads() {
    return std::uint64_t{gridDim.x} * gridDim.y * gridDim.z * thread_block::size();
  }
  static unsigned long long size() { return num_threads(); }
  static void sync(sim::Site site = sim::here()) { grid_sync(site); }
};
inline grid_group this_grid() { return {}; }

/// The blocks of a launch with Launch::cluster, which reach each other's shared memory.
class cluster_group {
 public:
  static unsigned block_rank() { return sim::cluster_rank(); }
  static unsigned num_blocks() { return sim::cluster_blocks(); }
  static dim3 block_index() { return {block_rank(), 0, 0}; }
  static dim3 dim_blocks() { return {num_blocks(), 1, 1}; }
  static unsigned thread_rank() { return block_rank() * thread_block::size() + sim::thread_now; }
  static unsigned num_threads() { return num_blocks() * thread_block::size(); }
  static unsigned size() { return num_threads(); }
  template <class T>
  static T* map_shared_rank(T* shared, int rank, sim::Site site = sim::here()) {
    return static_cast<T*>(sim::in_cluster(const_cast<const void*>(static_cast<const volatile void*>(shared)),
                                           static_cast<unsigned>(rank), site));
  }
  static void sync(sim::Site site = sim::here()) { sim::cluster_barrier(site); }
};
inline cluster_group this_cluster() { return {}; }

/// `Size` threads of one warp, beside each other. Ballots, matches and lanes count within the tile.
template <unsigned Size>
class Tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");
  static unsigned first() { return sim::thread_now % 32 / Size * Size; }

 public:
  static unsigned lanes() { return (~0u >> (32 - Size)) << first(); }
  static unsigned thread_rank() { return sim::thread_now % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }

  static void sync(sim::Site site = sim::here()) { __syncwarp(lanes(), site); }
  template <class V>
  static auto shfl(V v, int source, sim::Site site = sim::here()) {
    return __shfl_sync(lanes(), v, source, Size, site);
  }
  template <class V>
  static auto shfl_down(V v, unsigned delta, sim::Site site = sim::here()) {
    return __shfl_down_sync(lanes(), v, delta, Size, site);
  }
  template <class V>
  static auto shfl_up(V v, unsigned delta, sim::Site site = sim::here()) {
    return __shfl_up_sync(lanes(), v, delta, Size, site);
  }
  template <class V>
  static auto shfl_xor(V v, unsigned turned, sim::Site site = sim::here()) {
    return __shfl_xor_sync(lanes(), v, static_cast<int>(turned), Size, site);
  }
  static int any(int predicate, sim::Site site = sim::here()) { return __any_sync(lanes(), predicate, site); }
  static int all(int predicate, sim::Site site = sim::here()) { return __all_sync(lanes(), predicate, site); }
  static unsigned ballot(int predicate, sim::Site site = sim::here()) {
    return __ballot_sync(lanes(), predicate, site) >> first();
  }
  template <class V>
  static unsigned match_any(V v, sim::Site site = sim::here()) {
    return __match_any_sync(lanes(), v, site) >> first();
  }
  template <class V>
  static unsigned match_all(V v, int& alike, sim::Site site = sim::here()) {
    return __match_all_sync(lanes(), v, &alike, site) >> first();
  }
};

/// What tiled_partition makes of its parent, the block or a larger tile; as a parameter thread_block_tile<Size>, which
/// any such tile becomes.
template <unsigned Size, class Parent = void>
class thread_block_tile : public Tile<Size> {
 public:
  static unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
  static unsigned meta_group_size() { return (Parent::size() + Size - 1) / Size; }
};
template <unsigned Size>
requires(Size <= 32) class thread_block_tile<Size, void> : public Tile<Size> {
 public:
  template <class Parent>
  thread_block_tile(const thread_block_tile<Size, Parent>& tile)
      : rank_(tile.meta_group_rank()), tiles_(tile.meta_group_size()) {}
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return tiles_; }

 private:
  unsigned rank_, tiles_;
};
template <unsigned Size>
requires(Size <= 32) thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) { return {}; }
template <unsigned Size, unsigned Of, class Parent>
thread_block_tile<Size, thread_block_tile<Of, Parent>> tiled_partition(const thread_block_tile<Of, Parent>&) {
  static_assert(Size < Of, "a tile's tiles are smaller than it");
  return {};
}
/// Lanes of a warp that need not lie beside each other. Ranks count them from the lowest.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned lanes, unsigned rank = 0, unsigned groups = 1)
      : lanes_(lanes), rank_(rank), groups_(groups) {}
  unsigned thread_rank() const { return packed(~0u, sim::thread_now % 32); }
  unsigned num_threads() const { return static_cast<unsigned>(std::popcount(lanes_)); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return groups_; }
  unsigned lanes() const { return lanes_; }

  void sync(sim::Site site = sim::here()) const { __syncwarp(lanes_, site); }
  template <class V>
  auto shfl(V v, int source, sim::Site site = sim::here()) const {
    return __shfl_sync(lanes_, v, lane_of(static_cast<unsigned>(source) % size()), 32, site);
  }
  template <class V>
  auto shfl_down(V v, unsigned delta, sim::Site site = sim::here()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, v, lane_of(delta < size() - rank ? rank + delta : rank), 32, site);
  }
  template <class V>
  auto shfl_up(V v, unsigned delta, sim::Site site = sim::here()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, v, lane_of(delta <= rank ? rank - delta : rank), 32, site);
  }
  int any(int predicate, sim::Site site = sim::here()) const { return __any_sync(lanes_, predicate, site); }
  int all(int predicate, sim::Site site = sim::here()) const { return __all_sync(lanes_, predicate, site); }
  unsigned ballot(int predicate, sim::Site site = sim::here()) const {
    return ranks(__ballot_sync(lanes_, predicate, site));
  }
  template <class V>
  unsigned match_any(V v, sim::Site site = sim::here()) const {
    return ranks(__match_any_sync(lanes_, v, site));
  }
  template <class V>
  unsigned match_all(V v, int& alike, sim::Site site = sim::here()) const {
    return ranks(__match_all_sync(lanes_, v, &alike, site));
  }

 private:
  /// How many of the group's lanes below `end` are in `some`.
  unsigned packed(unsigned some, unsigned end) const {
    return static_cast<unsigned>(std::popcount(lanes_ & some & ((1u << end) - 1)));
  }
  int lane_of(unsigned rank) const {
    unsigned left = lanes_;
    for (; rank > 0; --rank) left &= left - 1;
    return std::countr_zero(left);
  }
  /// Lanes of the group, as a mask of their ranks.
  unsigned ranks(unsigned some) const {
    unsigned mask = 0;
    for (unsigned left = some; left; left &= left - 1) mask |= 1u << packed(~0u, std::countr_zero(left));
    return mask;
  }

  unsigned lanes_, rank_, groups_;
};
/// The threads that are here with the caller. CUDA promises of none but the caller that it is, so here that is all, as
/// of __activemask.
inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/// The group's threads whose predicate is the caller's.
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, sim::Site site = sim::here()) {
  const unsigned holds = __ballot_sync(group.lanes(), predicate, site);
  if (holds == 0 || holds == group.lanes()) return coalesced_group(group.lanes());
  return coalesced_group(predicate ? holds : group.lanes() & ~holds, predicate, 2);
}
/// The group's threads whose label is the caller's. Groups are numbered by their lowest lanes.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, sim::Site site = sim::here()) {
  const unsigned lanes = __match_any_sync(group.lanes(), label, site);
  const unsigned first = lanes & -lanes;
  const unsigned firsts = __ballot_sync(group.lanes(), first == 1u << sim::thread_now % 32, site);
  return coalesced_group(lanes, static_cast<unsigned>(std::popcount(firsts & (first - 1))),
                         static_cast<unsigned>(std::popcount(firsts)));
}

/// The block, or lanes of a warp: what every other group but a large tile becomes.
class thread_group {
 public:
  thread_group(const thread_block&) {}
  template <class Group>
  requires requires(const Group& g) { g.lanes(); }
  thread_group(const Group& group) : lanes_(group.lanes()) {}
  unsigned thread_rank() const { return lanes_ ? of_lanes().thread_rank() : thread_block::thread_rank(); }
  unsigned num_threads() const { return lanes_ ? of_lanes().size() : thread_block::size(); }
  unsigned size() const { return num_threads(); }
  void sync(sim::Site site = sim::here()) const { lanes_ ? of_lanes().sync(site) : __syncthreads(site); }

 private:
  friend thread_group tiled_partition(const thread_group&, unsigned, sim::Site);
  coalesced_group of_lanes() const { return coalesced_group(lanes_); }
  unsigned lanes_ = 0;  ///< none: the block
};
/// The caller's tile of `size` threads, of which the last may have less.
inline thread_group tiled_partition(const thread_group& group, unsigned size, sim::Site site = sim::here()) {
  if (size == 0 || size > 32 || !std::has_single_bit(size))
    sim::stop_kernel("a tile's size is 1, 2, 4, 8, 16 or 32 threads", site);
  if (!group.lanes_) {
    const unsigned warp = sim::thread_now / 32 * 32, left = thread_block::size() - warp;
    const unsigned first = sim::thread_now % 32 / size * size;
    return coalesced_group(~0u >> (32 - std::min(size, left - first)) << first);
  }
  unsigned lanes = 0, rank = 0;
  for (unsigned left = group.lanes_; left; left &= left - 1, ++rank)
    if (rank / size == group.thread_rank() / size) lanes |= left & -left;
  return coalesced_group(lanes);
}

/// Several warps, whose lanes wait and combine values by the memory that this_thread_block() was given.
template <unsigned Size, class Parent>
requires(Size > 32) class thread_block_tile<Size, Parent> {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "tiles have a power of two of threads");

 public:
  explicit thread_block_tile(TileMemory* memory) : memory_(memory) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>& tile) : memory_(tile.memory()) {}
  TileMemory* memory() const { return memory_; }
  static unsigned thread_rank() { return sim::thread_now % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return sim::thread_now / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }

  /// Each warp's first lane publishes what its lanes did, and each lane acquires what the warps published.
  void sync(sim::Site site = sim::here()) const {
    constexpr unsigned warps = Size / 32;
    unsigned* const arrived = &memory_->arrived[1024 / Size + meta_group_rank()];  // each size has its own
    __syncwarp(~0u, site);
    unsigned all = 0;
    if (sim::thread_now % 32 == 0) {
      __threadfence(site);
      all = (atomicAdd(arrived, 1u, site) / warps + 1) * warps;
    }
    all = __shfl_sync(~0u, all, 0, 32, site);
    while (static_cast<int>(load_acquire(arrived, site) - all) < 0) {
    }
  }
  template <class V, class Op>
  V reduce(V v, Op op, sim::Site site) const {
    static_assert(sizeof(V) <= 16, "tiles of several warps reduce values of up to 16 bytes here");
    const auto value_of = [this](unsigned warp) { return reinterpret_cast<V*>(&memory_->values[warp]); };
    for (int lanes = 16; lanes > 0; lanes /= 2) v = op(v, __shfl_xor_sync(~0u, v, lanes, 32, site));
    const unsigned warp = sim::thread_now / 32, first = warp / (Size / 32) * (Size / 32);
    if (sim::thread_now % 32 == 0) *value_of(warp) = v;
    sync(site);
    V result = *value_of(first);
    for (unsigned w = first + 1; w < first + Size / 32; ++w) result = op(result, *value_of(w));
    sync(site);
    return result;
  }

 private:
  TileMemory* memory_;
};
template <unsigned Size>
requires(Size > 32) thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block,
                                                                          sim::Site site = sim::here()) {
  if (!block.memory)
    sim::stop_kernel(
        "a tile of more than 32 threads is of a block made by this_thread_block(memory), with a "
        "block_tile_memory in shared memory",
        site);
  return thread_block_tile<Size, thread_block>(block.memory);
}

template <class Group>
void sync(const Group& group, sim::Site site = sim::here()) {
  group.sync(site);
}

template <class T>
using plus = std::plus<T>;
template <class T>
using bit_and = std::bit_and<T>;
template <class T>
using bit_or = std::bit_or<T>;
template <class T>
using bit_xor = std::bit_xor<T>;
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};

/// All threads of the group get the result; which are combined first is not said, here as on CUDA.
template <unsigned Size, class V, class Op>
auto reduce(const Tile<Size>& tile, V v, Op op, sim::Site site = sim::here()) {
  auto value = v;
  for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
  return value;
}
template <class V, class Op>
auto reduce(const coalesced_group& group, V v, Op op, sim::Site site = sim::here()) {
  auto value = group.shfl(v, 0, site);
  for (unsigned rank = 1; rank < group.size(); ++rank) value = op(value, group.shfl(v, static_cast<int>(rank), site));
  return value;
}
template <unsigned Size, class Parent, class V, class Op>
requires(Size > 32) V reduce(const thread_block_tile<Size, Parent>& tile, V v, Op op, sim::Site site = sim::here()) {
  return tile.reduce(v, op, site);
}

}  // namespace cooperative_groups
}  // namespace on_sim
}  // namespace reductio::device

namespace cooperative_groups = reductio::device::cooperative_groups;
