// The documents' loops once more, as plainly as their texts have them: int elements, the index types that they write,
// their constants, no settings. test_loops.py compares what nvcc makes of these with what it makes of src/kernels.
// Nothing runs them.

#include <cstddef>

// squares: one block of 256 or 512, then 32 blocks of 256; the constants are macros there. The chunks are inferred.
__global__ void squares_chunked(const int* in, int* out, int n) {
  const int tid = threadIdx.x;
  const int size = n / 256;
  int sum = 0;
  for (int i = tid * size; i < (tid + 1) * size; i++) sum += in[i] * in[i];
  out[tid] = sum;
}
template <int Threads>
__global__ void squares_strided(const int* in, int* out, int n) {
  const int tid = threadIdx.x;
  int sum = 0;
  for (int i = tid; i < n; i += Threads) sum += in[i] * in[i];
  out[tid] = sum;
}
template __global__ void squares_strided<256>(const int*, int*, int);
template __global__ void squares_strided<512>(const int*, int*, int);
__global__ void squares_multi_block(const int* in, int* out, int n) {
  const int tid = threadIdx.x, bid = blockIdx.x;
  int sum = 0;
  for (int i = bid * 256 + tid; i < n; i += 32 * 256) sum += in[i] * in[i];
  out[bid * 256 + tid] = sum;
}

// multiblock: a grid-stride loop over int, then a tree over a constant 1024.
__device__ void multiblock_tree(int* sums, int tid) {
  __syncthreads();
  for (int size = 1024 / 2; size > 0; size /= 2) {
    if (tid < size) sums[tid] += sums[tid + size];
    __syncthreads();
  }
}
__device__ void multiblock_partial(const int* in, int n, int* out, int* sums) {
  const int tid = threadIdx.x;
  const int threads = 1024 * gridDim.x;
  int sum = 0;
  for (int i = tid + blockIdx.x * 1024; i < n; i += threads) sum += in[i];
  sums[tid] = sum;
  multiblock_tree(sums, tid);
  if (tid == 0) out[blockIdx.x] = sums[0];
}
__global__ void multiblock_two_launch(const int* in, int n, int* out) {
  __shared__ int sums[1024];
  multiblock_partial(in, n, out, sums);
}
// In one launch: the last block reads one partial sum a thread.
__global__ void multiblock_last_block(const int* in, int n, int* out, int* arrived) {
  __shared__ int sums[1024];
  multiblock_partial(in, n, out, sums);
  const int tid = threadIdx.x, threads = 1024 * gridDim.x;
  __threadfence();
  int last = 0;
  if (tid == 0) last = atomicAdd(arrived, 1);
  if (__syncthreads_or(last == gridDim.x - 1)) {
    sums[tid] = tid < threads ? out[tid] : 0;
    multiblock_tree(sums, tid);
    if (tid == 0) out[0] = sums[0];
  }
}

// twopass: a grid-stride loop over size_t, then a tree over the block that was launched.
__global__ void twopass_rolled(int* out, int* in, std::size_t n) {
  extern __shared__ int buffer[];
  int sum = 0;
  const int tid = threadIdx.x + blockDim.x * blockIdx.x;
  const int stride = blockDim.x * gridDim.x;
  for (std::size_t i = tid; i < n; i += stride) sum += in[i];
  buffer[threadIdx.x] = sum;
  __syncthreads();
  for (int i = blockDim.x >> 1; i != 0; i >>= 1) {
    if (threadIdx.x < i) buffer[threadIdx.x] += buffer[threadIdx.x + i];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

// levels: two conditions, an index that is multiplied anew; the pseudocode's local stride, with the code's 1024.
__global__ void levels_global_stride(float* in, float* out, int n) {
  const int tid = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;
  float sum = 0;
  for (int i = 0; i < 1024 && tid + i * threads < n; i++) sum += in[tid + i * threads];
  out[tid] = sum;
}
__global__ void levels_local_stride(float* in, float* out, int n) {
  const int tid = blockIdx.x * blockDim.x * 1024 + threadIdx.x;
  const int threads = blockDim.x;
  float sum = 0;
  for (int i = 0; i < 1024 && tid + i * threads < n; i++) sum += in[tid + i * threads];
  out[tid] = sum;
}

// unroll: in place; by 2, 4 and 8 one after the other, from the last warp on eight loads before the first addition.
__device__ void tree(int* data, unsigned tid, int last) {
  for (int stride = blockDim.x / 2; stride > last; stride >>= 1) {
    if (tid < stride) data[tid] += data[tid + stride];
    __syncthreads();
  }
}
template <int Factor>
__global__ void unroll_chained(int* in, int* out, unsigned n) {
  const unsigned tid = threadIdx.x, i = blockDim.x * blockIdx.x * Factor + threadIdx.x;
  int* data = in + blockIdx.x * blockDim.x * Factor;
  if (i + (Factor - 1) * blockDim.x < n) {
    in[i] += in[i + blockDim.x];
    if (Factor > 2) in[i] += in[i + 2 * blockDim.x];
    if (Factor > 2) in[i] += in[i + 3 * blockDim.x];
    if (Factor > 4) in[i] += in[i + 4 * blockDim.x];
    if (Factor > 4) in[i] += in[i + 5 * blockDim.x];
    if (Factor > 4) in[i] += in[i + 6 * blockDim.x];
    if (Factor > 4) in[i] += in[i + 7 * blockDim.x];
  }
  __syncthreads();
  tree(data, tid, 0);
  if (tid == 0) out[blockIdx.x] = data[0];
}
template __global__ void unroll_chained<2>(int*, int*, unsigned);
template __global__ void unroll_chained<4>(int*, int*, unsigned);
template __global__ void unroll_chained<8>(int*, int*, unsigned);
__global__ void unroll_warp8(int* in, int* out, unsigned n) {
  const unsigned tid = threadIdx.x, i = blockDim.x * blockIdx.x * 8 + threadIdx.x, b = blockDim.x;
  int* data = in + blockIdx.x * blockDim.x * 8;
  if (i + 7 * b < n) {
    const int x0 = in[i], x1 = in[i + b], x2 = in[i + 2 * b], x3 = in[i + 3 * b];
    const int x4 = in[i + 4 * b], x5 = in[i + 5 * b], x6 = in[i + 6 * b], x7 = in[i + 7 * b];
    in[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
  }
  __syncthreads();
  tree(data, tid, 32);
  if (tid < 32) {
    volatile int* lanes = data;
    lanes[tid] += lanes[tid + 32];
    lanes[tid] += lanes[tid + 16];
    lanes[tid] += lanes[tid + 8];
    lanes[tid] += lanes[tid + 4];
    lanes[tid] += lanes[tid + 2];
    lanes[tid] += lanes[tid + 1];
  }
  if (tid == 0) out[blockIdx.x] = data[0];
}
