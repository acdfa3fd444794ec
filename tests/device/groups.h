#pragma once
/// Cooperative groups as idioms.h has the other idioms: a kernel that checks itself, on both devices. Apart from those,
/// because they are in a header of their own.

#include "device/cooperative_groups.h"
#include "idioms.h"

namespace idioms {
namespace {

namespace cg = cooperative_groups;

template <unsigned Size>
__device__ void in_tiles(Checks& check, const cg::thread_block& block) {
  const cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
  const unsigned t = threadIdx.x, rank = tile.thread_rank(), first = t - rank;
  check(rank == t % Size && tile.size() == Size && tile.num_threads() == Size);
  check(tile.meta_group_rank() == t / Size && tile.meta_group_size() == blockDim.x / Size);
  check(tile.shfl(t, 1) == first + 1);
  check(tile.shfl_down(double(t), 1) == double(rank + 1 < Size ? t + 1 : t));
  check(tile.shfl_up(t, 1) == (rank ? t - 1 : t) && tile.shfl_xor(t, 1) == (t ^ 1));
  check(tile.ballot(rank == 1) == 2);
  const bool has_5 = first <= 5 && 5 < first + Size;
  check(tile.any(t == 5) == int(has_5) && tile.all(t != 5) == int(!has_5));
  check(cg::reduce(tile, t, cg::plus<unsigned>()) == Size * first + Size * (Size - 1) / 2);
  check(cg::reduce(tile, -int(t), cg::less<int>()) == -int(first + Size - 1));
  check(cg::reduce(tile, float(t), cg::greater<float>()) == float(first + Size - 1));
  int alike = 7;
  check(tile.match_any(rank / 2) == 3u << rank / 2 * 2);
  check(tile.match_all(t / Size, alike) == all >> (32 - Size) && alike == 1);
  check(cg::reduce(tile, 1u << rank, cg::bit_or<unsigned>()) == all >> (32 - Size));
  tile.sync();
  cg::sync(tile);
}

/// Each of a tile of 16 of a tile of 32: ranks are those in the tile that it is of.
__device__ void in_tiles_of_tiles(Checks& check, const cg::thread_block& block) {
  const auto warp = cg::tiled_partition<32>(block);
  const auto half = cg::tiled_partition<16>(warp);
  const cg::thread_block_tile<4> four = cg::tiled_partition<4>(half);
  const unsigned t = threadIdx.x;
  check(warp.meta_group_rank() == t / 32 && warp.meta_group_size() == 2);
  check(half.meta_group_rank() == t % 32 / 16 && half.meta_group_size() == 2 && half.thread_rank() == t % 16);
  check(four.meta_group_rank() == t % 16 / 4 && four.meta_group_size() == 4 && four.thread_rank() == t % 4);
  check(cg::reduce(half, 1u, cg::plus<unsigned>()) == 16 && four.shfl(t, 3) == t / 4 * 4 + 3);
}

struct Weighted {
  double weight;
  int rank;
};

/// Groups of a size that is known when it runs, by a label and by a predicate; scans. A function takes any group.
__device__ int added_up(const cg::thread_group& group, int* room, int value) {
  const int rank = static_cast<int>(group.thread_rank());
  for (int half = static_cast<int>(group.size()) / 2; half > 0; half /= 2) {
    room[rank] = value;
    group.sync();
    if (rank < half) value += room[rank + half];
    group.sync();
  }
  return value;
}
__device__ void in_parts(Checks& check, const cg::thread_block& block) {
  __shared__ int room[64];
  const int t = static_cast<int>(threadIdx.x);
  const auto warp = cg::tiled_partition<32>(block);
  const int all_of_them = added_up(block, room, t);
  check(t != 0 || all_of_them == 63 * 32);
  const cg::thread_group eight = cg::tiled_partition(block, 8);
  check(eight.size() == 8 && eight.thread_rank() == threadIdx.x % 8);
  const int of_eight = added_up(eight, room + t / 8 * 8, t);
  check(t % 8 != 0 || of_eight == 8 * t + 28);

  const auto thirds = cg::labeled_partition(warp, t % 32 % 3);
  const int rank = t % 32 / 3, label = t % 32 % 3, size = label == 2 ? 10 : 11;
  check(int(thirds.size()) == size && int(thirds.thread_rank()) == rank && thirds.meta_group_size() == 3);
  check(cg::reduce(thirds, 1 << rank, cg::plus<int>()) == (1 << size) - 1);
  check(cg::reduce(thirds, rank, cg::greater<int>()) == size - 1);
  check(thirds.shfl(t, 1) == t / 32 * 32 + 3 + label && thirds.shfl_up(t, 1) == (rank ? t - 3 : t));
  check(thirds.shfl_down(rank, 2) == (rank + 2 < size ? rank + 2 : rank));
  check(thirds.ballot(rank % 2) == (0xaaaaaaaau & ((1u << size) - 1)) && thirds.any(rank == 4) &&
        !thirds.all(rank == 4));
  thirds.sync();

  const auto odd = cg::binary_partition(warp, t % 2 == 1);
  check(odd.size() == 16 && odd.thread_rank() == threadIdx.x % 32 / 2 && odd.meta_group_size() == 2);
  check(cg::reduce(odd, t % 2, cg::plus<int>()) == 16 * (t % 2));
  const auto four = cg::tiled_partition<4>(warp);
  check(cg::inclusive_scan(four, t % 4) == (t % 4) * (t % 4 + 1) / 2);
  check(cg::exclusive_scan(four, t % 4) == (t % 4) * (t % 4 - 1) / 2);
  check(cg::inclusive_scan(odd, rank, cg::greater<int>()) == rank);
  const Weighted pair = four.shfl(Weighted{t / 2.0, t}, 1);
  check(pair.rank == t / 4 * 4 + 1 && pair.weight == pair.rank / 2.0);
}

/// Two warps in one tile.
__device__ void in_two_warps(Checks& check, cg::block_tile_memory<64>& memory, unsigned* s) {
  const cg::thread_block block = cg::this_thread_block(memory);
  const cg::thread_block_tile<64> tile = cg::tiled_partition<64>(block);
  const unsigned t = threadIdx.x;
  check(tile.thread_rank() == t && tile.size() == 64 && tile.meta_group_rank() == 0 && tile.meta_group_size() == 1);
  for (unsigned round = 1; round < 4; ++round) {
    s[t] = round * t;
    tile.sync();
    check(s[63 - t] == round * (63 - t));
    check(cg::reduce(tile, double(t) * round, cg::plus<double>()) == 63 * 32 * round);
  }
  check(cg::reduce(tile, int(t), cg::less<int>()) == 0);
}

/// Counts as whoever is here counts together, which is right whoever they are.
__device__ unsigned counted(unsigned* count) {
  const cg::coalesced_group here = cg::coalesced_threads();
  unsigned before = 0;
  if (here.thread_rank() == 0) before = atomicAdd(count, here.num_threads());
  return here.shfl(before, 0) + here.thread_rank();
}

__global__ void groups(unsigned* wrong) {
  Checks check;
  const cg::thread_block block = cg::this_thread_block();
  __shared__ unsigned s[64];
  s[block.thread_rank()] = block.thread_rank();
  block.sync();
  check(s[63 - threadIdx.x] == 63 - threadIdx.x);
  check(block.size() == 64 && block.num_threads() == 64 && block.group_index().x == blockIdx.x);
  in_tiles<32>(check, block);
  in_tiles<8>(check, block);
  in_tiles_of_tiles(check, block);
  in_parts(check, block);
  block.sync();
  __shared__ cg::block_tile_memory<64> memory;
  in_two_warps(check, memory, s);
  __shared__ unsigned seen[65];
  unsigned* const count = seen + 64;
  seen[threadIdx.x] = 0;
  if (threadIdx.x == 0) *count = 0;
  block.sync();
  if (threadIdx.x % 3 == 0) atomicAdd(seen + counted(count), 1u);
  cg::sync(block);
  check(seen[threadIdx.x] == (threadIdx.x < 22 ? 1 : 0));
  const cg::grid_group grid = cg::this_grid();
  check(grid.thread_rank() == threadIdx.x && grid.size() == 64);
  wrong[threadIdx.x] = check.wrong;
}

const Idiom groups_kernel = {"groups", launch<groups>};

}  // namespace
}  // namespace idioms
