/// levels: the sum of floats in three levels: inside a thread, inside a block, between blocks.
///
/// Document: `levels`. It prints the kernel reduce0, and three programs: naive, global stride and local stride.
/// Kept: the blocks (256 in naive, 1024 in the two others) and how each counts its grid, the granularity of 1024, the
/// trees, the dynamic shared memory, the atomics, and which results are zeroed.
/// Ours: reduce0's host code, with a block of 256. n is cut from 2^20 to 2^14.
///
///   levels reduce0 | naive | global-stride | local-stride [N [THREADS [BLOCKS]]]
///
/// Mistakes: id | what shows it | the runs that do, behind `reductio simulate levels.cu` | what is wrong
///   levels/no-bounds-check   | out of bounds | -- reduce0 1000 | each thread loads an element, whatever n is
///   levels/fixed-tree        | out of bounds | -- global-stride 16384 256 | the tree is for 1024 threads in any block
///   levels/fixed-granularity | wrong result | --orders forward -- global-stride 1100000 1024 1 | loads stop at 1024
///   levels/not-zeroed        | read of unwritten memory | -- local-stride | the result on the device is never zeroed
///   levels/undivided-grid    | nothing: timing | - | the grid is not divided by the granularity: a thread loads once
///   levels/local-is-global   | nothing: the sum is right | - | local stride has global stride's loop
///   levels/assigned          | nothing: pseudocode | - | Algorithms 2 and 5 assign where they should add
///   levels/lock-step         | nothing: pseudocode | - | Algorithm 5 has no barriers from 64 threads on, two warps

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include <iostream>

#define THREADS 256

__global__ void reduce0(float* in, float* out) {
  __shared__ float sums[THREADS];
  unsigned int mine = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int thread = threadIdx.x;
  sums[thread] = in[mine];  // levels/no-bounds-check
  __syncthreads();
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    if (thread % (2 * stride) == 0) sums[thread] += sums[thread + stride];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = sums[thread];
}

__global__ void naive(float* in, float* result, int n) {
  extern __shared__ float sums[];
  int mine = blockIdx.x * blockDim.x + threadIdx.x;
  int thread = threadIdx.x;
  sums[thread] = mine < n ? in[mine] : 0;
  __syncthreads();
  for (int stride = 1; stride < blockDim.x; stride = 2 * stride) {
    if (thread % (2 * stride) == 0) sums[thread] += sums[thread + stride];
    __syncthreads();
  }
  if (thread == 0) atomicAdd(result, sums[0]);
}

__global__ void global_stride(float* in, float* result, int n) {
  extern __shared__ float sums[];
  int mine = blockIdx.x * blockDim.x + threadIdx.x;
  int thread = threadIdx.x;
  int all = gridDim.x * blockDim.x;
  float sum = 0;
  for (int k = 0; k < 1024 && mine + k * all < n; k++) sum += in[mine + k * all];  // levels/fixed-granularity
  sums[thread] = sum;
  __syncthreads();
  for (int half = 512; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];  // levels/fixed-tree
    __syncthreads();
  }
  if (thread == 0) atomicAdd(result, sums[0]);
}

__global__ void local_stride(float* in, float* result, int n) {
  extern __shared__ float sums[];
  int mine = blockIdx.x * blockDim.x + threadIdx.x;
  int thread = threadIdx.x;
  int all = gridDim.x * blockDim.x;
  float sum = 0;
  for (int k = 0; k < 1024 && mine + k * all < n; k++) sum += in[mine + k * all];  // levels/local-is-global
  sums[thread] = sum;
  __syncthreads();
  for (int half = 512; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];  // levels/fixed-tree
  }
  if (thread == 0) atomicAdd(result, sums[0]);  // levels/not-zeroed
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  const bool first = strcmp(part, "reduce0") == 0, simple = strcmp(part, "naive") == 0;
  const bool global = strcmp(part, "global-stride") == 0, local = strcmp(part, "local-stride") == 0;
  if (!first && !simple && !global && !local) {
    std::cerr << "usage: levels reduce0 | naive | global-stride | local-stride [N [THREADS [BLOCKS]]]\n";
    return 1;
  }
  const int n = argc > 2 ? atoi(argv[2]) : 16384;
  const int threads = argc > 3 ? atoi(argv[3]) : first || simple ? THREADS : 1024;
  const int blocks = argc > 4 ? atoi(argv[4]) : local ? n / threads : (n + threads - 1) / threads;
  const int results = first ? blocks : 1;

  float* elements = new float[n];
  float* sums = new float[results];
  for (int k = 0; k < n; k++) elements[k] = 1.0f;
  sums[0] = 0.0f;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, results * sizeof(float));
  cudaMemcpy(in, elements, n * sizeof(float), cudaMemcpyHostToDevice);
  if (simple || global) cudaMemcpy(out, sums, sizeof(float), cudaMemcpyHostToDevice);

  const size_t shared = threads * sizeof(float);
  if (first) reduce0<<<blocks, threads>>>(in, out);
  if (simple) naive<<<blocks, threads, shared>>>(in, out, n);
  if (global) global_stride<<<blocks, threads, shared>>>(in, out, n);  // levels/undivided-grid
  if (local) local_stride<<<blocks, threads, shared>>>(in, out, n);    // levels/undivided-grid
  cudaMemcpy(sums, out, results * sizeof(float), cudaMemcpyDeviceToHost);

  float sum = 0;
  for (int k = 0; k < results; k++) sum += sums[k];
  const bool right = sum == static_cast<float>(n);
  std::cout << part << ": sum " << sum << ", expected " << n << ": " << (right ? "right" : "wrong") << std::endl;
  delete[] elements;
  delete[] sums;
  cudaFree(in);
  cudaFree(out);
  return right ? 0 : 1;
}
