#pragma once
/// grid_sync(): a barrier of all blocks of a cooperative launch. Apart from device/kernel.h, because CUDA's header for
/// it takes nvcc two seconds.

#include "device/kernel.h"

#ifdef __CUDACC__
#include <cooperative_groups.h>

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

__device__ inline void grid_sync() { cooperative_groups::this_grid().sync(); }

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
#endif
