#pragma once
/// CUDA's cooperative groups, for both devices: this_thread_block, this_grid, tiled_partition<N> with N up to 32, and
/// their sync, thread_rank, num_threads, size; a tile's meta_group_rank, meta_group_size, shfl, shfl_down, shfl_up,
/// shfl_xor, any, all, ballot; reduce(tile, value, plus, less or greater). Apart from device/kernel.h, because CUDA's
/// headers for them take nvcc some seconds.

#include "device/kernel.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#else
#include "device/sim/cooperative_groups.h"
#endif
