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

/// Of the lanes that agree about something.
__device__ void in_parts(Checks& check, const cg::thread_block& block) {
  const auto warp = cg::tiled_partition<32>(block);
  const unsigned t = threadIdx.x, lane = t % 32, first = t - lane;
  const auto thirds = cg::binary_partition(warp, lane % 3 == 0);
  const unsigned rank = lane % 3 == 0 ? lane / 3 : lane - lane / 3 - 1;
  check(thirds.size() == (lane % 3 == 0 ? 11 : 21) && thirds.thread_rank() == rank && thirds.meta_group_size() == 2);
  check(thirds.meta_group_rank() == (lane % 3 == 0) && thirds.shfl(t, 2) == first + (lane % 3 == 0 ? 6 : 4));
  check(cg::reduce(thirds, lane, cg::plus<unsigned>()) == (lane % 3 == 0 ? 165 : 331));
  check(thirds.shfl_up(rank, 1) == (rank ? rank - 1 : 0) && thirds.ballot(rank == 1) == 2);
  check(thirds.shfl_down(rank, 1) == (rank + 1 < thirds.size() ? rank + 1 : rank));
  check(thirds.any(lane == 3) == (lane % 3 == 0) && thirds.all(lane % 3) == (lane % 3 != 0));
  const auto same = cg::binary_partition(warp, lane < 32);
  check(same.size() == 32 && same.meta_group_rank() == 0 && same.meta_group_size() == 1);
  const auto label = cg::labeled_partition(warp, int(lane % 5));
  check(label.size() == (lane % 5 < 2 ? 7 : 6) && label.thread_rank() == lane / 5 &&
        label.meta_group_rank() == lane % 5);
  check(cg::reduce(label, int(lane), cg::greater<int>()) == int(lane % 5 < 2 ? 30 + lane % 5 : 25 + lane % 5));
  label.sync();
}

/// As a function that takes any group does: the group's ranks added up in memory of its own.
__device__ unsigned ranks_of(const cg::thread_group& group, unsigned* s) {
  s[group.thread_rank()] = group.thread_rank();
  group.sync();
  unsigned sum = 0;
  for (unsigned i = 0; i < group.size(); ++i) sum += s[i];
  group.sync();
  return sum;
}

/// Each group of a larger one, down from the block.
__device__ void in_any(Checks& check, const cg::thread_block& block, unsigned* s) {
  const unsigned t = threadIdx.x;
  block.sync();
  check(ranks_of(block, s) == 63 * 32);
  check(ranks_of(cg::tiled_partition<16>(block), s + t / 16 * 16) == 15 * 8);
  const cg::thread_group eight = cg::tiled_partition(block, 8), two = cg::tiled_partition(eight, 2);
  check(eight.thread_rank() == t % 8 && eight.size() == 8 && two.thread_rank() == t % 2 && two.size() == 2);
  check(ranks_of(eight, s + t / 8 * 8) == 28 && ranks_of(two, s + t / 2 * 2) == 1);
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
  in_any(check, block, s);
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
