#pragma once
/// CUDA's cooperative groups on the simulated device, as far as reductions use them: the block, the grid of a
/// cooperative launch, tiles of at most a warp, and coalesced threads. Made of intrinsics.h, and checked as those are.

#include <functional>

#include "device/sim/intrinsics.h"
#include "device/sim/vectors.h"

namespace reductio::device {
inline namespace on_sim {
namespace cooperative_groups {

class thread_block {
 public:
  static unsigned thread_rank() { return sim::thread_now; }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static void sync(sim::Site site = sim::here()) { __syncthreads(site); }
};
inline thread_block this_thread_block() { return {}; }

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

/// `Size` threads of one warp, beside each other. Ballots, matches and lanes count within the tile.
template <unsigned Size>
class Tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "tiles are of 1, 2, 4, 8, 16 or 32 threads");
  static unsigned first() { return sim::thread_now % 32 / Size * Size; }
  static unsigned mask() { return (~0u >> (32 - Size)) << first(); }

 public:
  static unsigned thread_rank() { return sim::thread_now % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }

  static void sync(sim::Site site = sim::here()) { __syncwarp(mask(), site); }
  template <class V>
  static auto shfl(V v, int source, sim::Site site = sim::here()) {
    return __shfl_sync(mask(), v, source, Size, site);
  }
  template <class V>
  static auto shfl_down(V v, unsigned delta, sim::Site site = sim::here()) {
    return __shfl_down_sync(mask(), v, delta, Size, site);
  }
  template <class V>
  static auto shfl_up(V v, unsigned delta, sim::Site site = sim::here()) {
    return __shfl_up_sync(mask(), v, delta, Size, site);
  }
  template <class V>
  static auto shfl_xor(V v, unsigned lanes, sim::Site site = sim::here()) {
    return __shfl_xor_sync(mask(), v, static_cast<int>(lanes), Size, site);
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
thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned Size, unsigned Of, class Parent>
thread_block_tile<Size, thread_block_tile<Of, Parent>> tiled_partition(const thread_block_tile<Of, Parent>&) {
  static_assert(Size < Of, "a tile's tiles are smaller than it");
  return {};
}
template <class Group>
Group tiled_partition(const Group& group, unsigned) {
  static_assert(sizeof(Group) == 0, "a tile's size goes in brackets here: tiled_partition<32>(group)");
  return group;
}

/// The threads that are here with the caller. CUDA promises of none but the caller that it is, so here that is all, as
/// of __activemask.
class coalesced_group : public Tile<1> {
 public:
  static unsigned meta_group_rank() { return 0; }
  static unsigned meta_group_size() { return 1; }
};
inline coalesced_group coalesced_threads() { return {}; }

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
auto reduce(const Tile<Size>& tile, V v, Op op, sim::Site site = sim::here()) {
  auto value = v;
  for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, site));
  return value;
}

}  // namespace cooperative_groups
}  // namespace on_sim
}  // namespace reductio::device

namespace cooperative_groups = reductio::device::cooperative_groups;
