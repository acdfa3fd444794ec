#pragma once
/// CUDA's cooperative groups on the simulated device: the block, its cluster, the grid of a cooperative launch, tiles,
/// their parts by a label, and coalesced threads; reductions and scans. Made of intrinsics.h, and checked as those are.

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
  std::array<std::array<std::uint64_t, 4>, 32> values;  ///< by warp
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
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
  static void sync(sim::Site site = sim::here()) { __syncthreads(site); }
};
inline thread_block this_thread_block() { return {}; }
/// All threads of the block call it.
template <unsigned Size>
thread_block this_thread_block(block_tile_memory<Size>& memory, sim::Site site = sim::here()) {
  if (sim::thread_now == 0) memory.arrived.fill(0);
  __syncthreads(site);
  thread_block block;
  block.memory = &memory;
  return block;
}

class grid_group {
 public:
  static unsigned long long block_rank() {
    return (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long num_blocks() { return std::uint64_t{gridDim.x} * gridDim.y * gridDim.z; }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
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

/// What lane `source` brings, of up to 32 bytes.
template <class V>
V exchange(unsigned mask, const V& mine, unsigned source, sim::Site site) {
  static_assert(sizeof(V) <= 32, "groups exchange values of up to 32 bytes");
  V theirs;
  for (std::size_t at = 0; at < sizeof(V); at += 8) {
    const std::size_t bytes = sizeof(V) - at < 8 ? sizeof(V) - at : 8;
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, reinterpret_cast<const char*>(&mine) + at, bytes);
    bits = sim::warp_operation(sim::WarpOperation::shuffle, mask, bits, source, site);
    __builtin_memcpy(reinterpret_cast<char*>(&theirs) + at, &bits, bytes);
  }
  return theirs;
}

/// `Size` threads of one warp, beside each other. Ballots, matches and lanes count within the tile.
template <unsigned Size>
class Tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");
  static unsigned lane() { return sim::thread_now % 32; }
  static unsigned first() { return lane() / Size * Size; }

 public:
  static unsigned mask() { return (~0u >> (32 - Size)) << first(); }
  static unsigned thread_rank() { return sim::thread_now % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }

  static void sync(sim::Site site = sim::here()) { __syncwarp(mask(), site); }
  template <class V>
  static V shfl(V v, int source, sim::Site site = sim::here()) {
    return exchange(mask(), v, first() + static_cast<unsigned>(source) % Size, site);
  }
  template <class V>
  static V shfl_down(V v, unsigned delta, sim::Site site = sim::here()) {
    return exchange(mask(), v, delta < Size - thread_rank() ? lane() + delta : lane(), site);
  }
  template <class V>
  static V shfl_up(V v, unsigned delta, sim::Site site = sim::here()) {
    return exchange(mask(), v, delta <= thread_rank() ? lane() - delta : lane(), site);
  }
  template <class V>
  static V shfl_xor(V v, unsigned lanes, sim::Site site = sim::here()) {
    return exchange(mask(), v, (lane() ^ lanes) % 32, site);
  }
  static int any(int predicate, sim::Site site = sim::here()) {
    return __any_sync(mask(), predicate, site);
  }
  static int all(int predicate, sim::Site site = sim::here()) {
    return __all_sync(mask(), predicate, site);
  }
  static unsigned ballot(int predicate, sim::Site site = sim::here()) {
    return __ballot_sync(mask(), predicate, site) >> first();
  }
  template <class V>
  static unsigned match_any(V v, sim::Site site = sim::here()) {
    return __match_any_sync(mask(), v, site) >> first();
  }
  template <class V>
  static unsigned match_all(V v, int& alike, sim::Site site = sim::here()) {
    return __match_all_sync(mask(), v, &alike, site) >> first();
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
  requires(Size <= 32)
class thread_block_tile<Size, void> : public Tile<Size> {
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
  requires(Size <= 32)
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned Size, unsigned Of, class Parent>
thread_block_tile<Size, thread_block_tile<Of, Parent>> tiled_partition(const thread_block_tile<Of, Parent>&) {
  static_assert(Size < Of, "a tile's tiles are smaller than it");
  return {};
}

/// Some lanes of a warp, known only when it runs. Ranks, ballots and matches count its lanes alone.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned groups = 1)
      : mask_(mask), rank_(rank), groups_(groups) {}

  unsigned mask() const { return mask_; }
  unsigned thread_rank() const { return rank_of(sim::thread_now % 32); }
  unsigned num_threads() const { return static_cast<unsigned>(std::popcount(mask_)); }
  unsigned size() const { return num_threads(); }
  unsigned meta_group_rank() const { return rank_; }
  unsigned meta_group_size() const { return groups_; }

  void sync(sim::Site site = sim::here()) const { __syncwarp(mask_, site); }
  template <class V>
  V shfl(V v, unsigned source, sim::Site site = sim::here()) const {
    return exchange(mask_, v, lane_of(source % size()), site);
  }
  template <class V>
  V shfl_down(V v, unsigned delta, sim::Site site = sim::here()) const {
    const unsigned rank = thread_rank();
    return exchange(mask_, v, lane_of(delta < size() - rank ? rank + delta : rank), site);
  }
  template <class V>
  V shfl_up(V v, unsigned delta, sim::Site site = sim::here()) const {
    const unsigned rank = thread_rank();
    return exchange(mask_, v, lane_of(delta <= rank ? rank - delta : rank), site);
  }
  int any(int predicate, sim::Site site = sim::here()) const { return __any_sync(mask_, predicate, site); }
  int all(int predicate, sim::Site site = sim::here()) const { return __all_sync(mask_, predicate, site); }
  unsigned ballot(int predicate, sim::Site site = sim::here()) const {
    return by_rank(__ballot_sync(mask_, predicate, site));
  }
  template <class V>
  unsigned match_any(V v, sim::Site site = sim::here()) const {
    return by_rank(__match_any_sync(mask_, v, site));
  }
  template <class V>
  unsigned match_all(V v, int& alike, sim::Site site = sim::here()) const {
    return by_rank(__match_all_sync(mask_, v, &alike, site));
  }

 private:
  unsigned rank_of(unsigned lane) const {
    return static_cast<unsigned>(std::popcount(mask_ & ((1u << lane) - 1)));
  }
  unsigned lane_of(unsigned rank) const {
    unsigned left = mask_;
    while (rank-- > 0) left &= left - 1;
    return static_cast<unsigned>(std::countr_zero(left));
  }
  unsigned by_rank(unsigned lanes) const {
    unsigned ranks = 0;
    for (unsigned left = lanes; left; left &= left - 1) ranks |= 1u << rank_of(std::countr_zero(left));
    return ranks;
  }

  unsigned mask_, rank_, groups_;
};
/// The threads that are here with the caller. CUDA promises of none but the caller that it is, so here that is all, as
/// of __activemask.
inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/// A group of any kind, as a function takes it that asks for no more than its ranks and its barrier.
class thread_group {
 public:
  thread_group(const thread_block&) : lanes_(0) {}
  thread_group(const coalesced_group& group) : lanes_(group) {}
  template <unsigned Size>
  thread_group(const Tile<Size>& tile) : lanes_(tile.mask()) {}

  bool is_block() const { return lanes_.mask() == 0; }
  const coalesced_group& lanes() const { return lanes_; }
  unsigned thread_rank() const { return is_block() ? thread_block::thread_rank() : lanes_.thread_rank(); }
  unsigned num_threads() const { return is_block() ? thread_block::num_threads() : lanes_.num_threads(); }
  unsigned size() const { return num_threads(); }
  void sync(sim::Site site = sim::here()) const {
    if (is_block()) thread_block::sync(site);
    else lanes_.sync(site);
  }

 private:
  coalesced_group lanes_;
};

/// Tiles whose size is known only when it runs: `size` threads of the block or of a tile, or that many lanes of
/// coalesced ones.
inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size, sim::Site site = sim::here()) {
  segment(static_cast<int>(size), site);
  const unsigned part = group.thread_rank() / size;
  unsigned mask = 0, rank = 0;
  for (unsigned left = group.mask(); left; left &= left - 1, ++rank)
    if (rank / size == part) mask |= left & -left;
  return coalesced_group(mask, part, (group.size() + size - 1) / size);
}
inline thread_group tiled_partition(const thread_group& group, unsigned size, sim::Site site = sim::here()) {
  if (!group.is_block()) return tiled_partition(group.lanes(), size, site);
  segment(static_cast<int>(size), site);
  return coalesced_group((~0u >> (32 - size)) << sim::thread_now % 32 / size * size);
}
template <unsigned Size, class Parent>
thread_group tiled_partition(const thread_block_tile<Size, Parent>& tile, unsigned size, sim::Site site = sim::here()) {
  return tiled_partition(thread_group(tile), size, site);
}

/// Several warps, which wait and combine values by the memory that this_thread_block() was given.
template <unsigned Size, class Parent>
  requires(Size > 32)
class thread_block_tile<Size, Parent> {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");
  static constexpr unsigned warps = Size / 32;

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
    static_assert(sizeof(V) <= 32, "groups exchange values of up to 32 bytes");
    const unsigned lane = sim::thread_now % 32, warp = sim::thread_now / 32, first = warp / warps * warps;
    const auto of_warp = [this](unsigned w) { return reinterpret_cast<V*>(&memory_->values[w]); };
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) v = op(v, exchange(~0u, v, lane ^ lanes, site));
    if (lane == 0) *of_warp(warp) = v;
    sync(site);
    V result = *of_warp(first);
    for (unsigned w = first + 1; w < first + warps; ++w) result = op(result, *of_warp(w));
    sync(site);
    return result;
  }

 private:
  TileMemory* memory_;
};
template <unsigned Size>
  requires(Size > 32)
thread_block_tile<Size, thread_block> tiled_partition(const thread_block& block, sim::Site site = sim::here()) {
  if (!block.memory)
    sim::stop_kernel(
        "a tile of more than 32 threads is of a block made by this_thread_block(memory), with a block_tile_memory in "
        "shared memory",
        site);
  return thread_block_tile<Size, thread_block>(block.memory);
}

/// The lanes of the group that bring the same label; all of its lanes must call it.
template <class Group, class Label>
coalesced_group labeled_partition(const Group& group, Label label, sim::Site site = sim::here()) {
  const unsigned mask = __match_any_sync(group.mask(), label, site);
  unsigned rank = 0, groups = 0;
  // In the order of each label's first lane.
  for (unsigned left = group.mask(); left; ++groups) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const unsigned alike = exchange(group.mask(), mask, lane, site);
    if (alike == mask) rank = groups;
    left &= ~alike;
  }
  return coalesced_group(mask, rank, groups);
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate, sim::Site site = sim::here()) {
  const unsigned yes = __ballot_sync(group.mask(), predicate, site), no = group.mask() & ~yes;
  return coalesced_group(predicate ? yes : no, predicate && no ? 1 : 0, (yes != 0) + (no != 0));
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

/// All threads of the tile get the result; which are combined first is not said, here as on CUDA.
template <unsigned Size, class V, class Op>
V reduce(const Tile<Size>& tile, V v, Op op, sim::Site site = sim::here()) {
  V value = v;
  for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
  return value;
}
template <class V, class Op>
V reduce(const coalesced_group& group, V v, Op op, sim::Site site = sim::here()) {
  V value = v;
  const unsigned size = group.size(), rank = group.thread_rank();
  for (unsigned ranks = std::bit_ceil(size) / 2; ranks > 0; ranks /= 2) {
    const V other = group.shfl_down(value, ranks, site);
    if (rank + ranks < size) value = op(value, other);
  }
  return group.shfl(value, 0, site);
}

template <unsigned Size, class Parent, class V, class Op>
  requires(Size > 32)
V reduce(const thread_block_tile<Size, Parent>& tile, V v, Op op, sim::Site site = sim::here()) {
  return tile.reduce(v, op, site);
}

/// Of a tile or coalesced threads: what those up to this one, or before it, make together. For the first there is none
/// before, and it gets V's zero.
template <class Group, class V, class Op>
V inclusive_scan(const Group& group, V v, Op op, sim::Site site = sim::here()) {
  V value = v;
  for (unsigned ranks = 1; ranks < group.size(); ranks *= 2) {
    const V before = group.shfl_up(value, ranks, site);
    if (group.thread_rank() >= ranks) value = op(before, value);
  }
  return value;
}
template <class Group, class V, class Op>
V exclusive_scan(const Group& group, V v, Op op, sim::Site site = sim::here()) {
  const V before = group.shfl_up(inclusive_scan(group, v, op, site), 1, site);
  return group.thread_rank() == 0 ? V{} : before;
}
template <class Group, class V>
V inclusive_scan(const Group& group, V v, sim::Site site = sim::here()) {
  return inclusive_scan(group, v, plus<V>(), site);
}
template <class Group, class V>
V exclusive_scan(const Group& group, V v, sim::Site site = sim::here()) {
  return exclusive_scan(group, v, plus<V>(), site);
}

}  // namespace cooperative_groups
}  // namespace on_sim
}  // namespace reductio::device

namespace cooperative_groups = reductio::device::cooperative_groups;
