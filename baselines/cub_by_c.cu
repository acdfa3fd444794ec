/// cub_by_c.so: CUB's sum of floats as a C function, which experiments/ctypes_cub.py calls from Python, and as the
/// plug-in plug/cub, which calls it from C. So their kernels are the same. Up to 2^31 - 1 elements.

#include <reductio/plugin.h>

#include <cub/device/device_reduce.cuh>

extern "C" int cub_sum(void* room, size_t* bytes, const float* in, float* out, int n, cudaStream_t stream) {
  return cub::DeviceReduce::Sum(room, *bytes, in, out, n, stream);
}

static void plugged(const float* in, size_t n, float* out, void* workspace, cudaStream_t stream) {
  size_t bytes = REDUCTIO_WORKSPACE_BYTES;
  cub_sum(workspace, &bytes, in, out, static_cast<int>(n), stream);
}
REDUCTIO_SUM_F32("plug/cub", plugged)
