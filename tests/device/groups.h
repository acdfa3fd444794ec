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
  tile.sync();
}

__global__ void groups(GlobalPtr<unsigned> wrong) {
  Checks check;
  const cg::thread_block block = cg::this_thread_block();
  const SharedPtr<unsigned> s = shared_array<unsigned, 64>();
  s[block.thread_rank()] = block.thread_rank();
  block.sync();
  check(s[63 - threadIdx.x] == 63 - threadIdx.x);
  check(block.size() == 64 && block.num_threads() == 64 && block.group_index().x == blockIdx.x);
  in_tiles<32>(check, block);
  in_tiles<8>(check, block);
  const cg::grid_group grid = cg::this_grid();
  check(grid.thread_rank() == threadIdx.x && grid.size() == 64);
  wrong[threadIdx.x] = check.wrong;
}

const Idiom groups_kernel = {"groups", launch<groups>};

}  // namespace
}  // namespace idioms
