#pragma once
/// What a .cu file of anybody's is compiled with for the simulated device, before all else, as nvcc includes CUDA's
/// own: kernels' names (device/kernel.h), CUDA's runtime, launches.

// nvcc's files know these names whatever they include.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <utility>

#include "device/kernel.h"
#include "device/sim/cuda/launches.h"
#include "device/sim/tables.h"

// The device's, where sim.h's are stricter: those are for the tree's own kernels.
#undef __constant__
#undef __managed__
// A variable without such a mark is the host's (hooks.awk).
#undef __device__
#define __device__ __attribute__((annotate("reductio_device")))
#define __constant__ __device__
#define __managed__ __device__

#ifndef __CUDACC__
#define __CUDACC__
#define __NVCC__
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ 900
#define __CUDACC_EXTENDED_LAMBDA__
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__
#endif

using namespace reductio::sim::cuda;

namespace reductio::sim {
namespace {

/// The tables of this shared object. (Each of its files comes here; the first tells.)
__attribute__((constructor(101), used)) void tell_tables() { add_tables(own_tables()); }

}  // namespace
}  // namespace reductio::sim
