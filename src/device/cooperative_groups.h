#pragma once
/// CUDA's cooperative groups, for both devices: this_thread_block, this_grid, this_cluster (block_rank, num_blocks,
/// map_shared_rank; its sync alone, no arrival apart from the wait), tiled_partition<N> of the block or of a tile
/// (N over 32: of a block with block_tile_memory, with sync and reduce alone), tiled_partition(group, n),
/// binary_partition, labeled_partition, coalesced_threads, which promises the caller's thread alone, thread_group;
/// their sync, thread_rank, num_threads, size; meta_group_rank, meta_group_size, shfl, shfl_down, shfl_up, any, all,
/// ballot, match_any, match_all, a tile's shfl_xor; reduce(group, value, plus, less, greater, bit_and, bit_or or
/// bit_xor). Apart from device/kernel.h, because CUDA's headers for them take nvcc some seconds.

#include "device/kernel.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#else
#include "device/sim/cooperative_groups.h"
#endif
