#pragma once
/// CUDA's cooperative groups, for both devices: this_thread_block, this_grid, this_cluster (block_rank, num_blocks,
/// map_shared_rank; its sync alone, no arrival apart from the wait), tiled_partition<N> of the block or of a tile
/// (N over 32: of a block with block_tile_memory, with sync and reduce alone), coalesced_threads, which promises the
/// caller's thread alone, and their sync, thread_rank, num_threads, size; a tile's meta_group_rank, meta_group_size,
/// shfl, shfl_down, shfl_up, shfl_xor, any, all, ballot, match_any, match_all; thread_group, which any of these
/// becomes; tiled_partition(group, size), labeled_partition and binary_partition; reduce(tile, value, plus, less,
/// greater, bit_and, bit_or or bit_xor), inclusive_scan and exclusive_scan. Apart from device/kernel.h, because CUDA's
/// headers for them take nvcc some seconds.

#include "device/kernel.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
/// Where CUDA has no clusters, their kernels compile, and plans refuse them: require_capability(gpu, 90).
namespace cooperative_groups {
struct cluster_group {
  static __device__ unsigned block_rank() { return 0; }
  static __device__ unsigned num_blocks() { return 1; }
  template <class T>
  static __device__ T* map_shared_rank(T* shared, int) {
    return shared;
  }
  static __device__ void sync() { __syncthreads(); }
};
inline __device__ cluster_group this_cluster() { return {}; }
}  // namespace cooperative_groups
#endif
#else
#include "device/sim/cooperative_groups.h"
#endif
