/// multiblock: the sum by a grid that fills the GPU, in two launches, and in one whose last block adds up the others'.
///
/// Document: `multiblock`. It prints two programs. Kept: 24 blocks of 1024 threads, the grid-stride loop, the tree, the
/// guard of the last block with its fence, the kernel's own `grid_size`, the memset of the counter.
/// Ours: the elements and the check. The array is cut from 100,000,000 elements to 1,100,000.
///
///   multiblock two-launch | last-block [BLOCKS]
///
/// Mistakes: id | what shows it | the runs that do, behind `reductio simulate multiblock.cu` | what is wrong
///   multiblock/hidden-grid      | out of bounds | -- last-block | the kernel's grid_size counts threads, not blocks
///   multiblock/no-second-fence  | race | -- last-block | the last block reads the sums with no fence of its own
///   multiblock/over-1024-blocks | wrong result | --keep-going --orders forward -- last-block 1030 | the rest is lost
///   multiblock/counter-memset   | nothing: timing | - | the memset before the launch belongs to its time

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int array_size = 1100000;
static const int block_size = 1024;
static const int grid_size = 24;

__global__ void two_launch(const int* in, int n, int* out) {
  int thread = threadIdx.x;
  int first = thread + blockIdx.x * block_size;
  const int grid_size = block_size * gridDim.x;
  int sum = 0;
  for (int k = first; k < n; k += grid_size) sum += in[k];
  __shared__ int sums[block_size];
  sums[thread] = sum;
  __syncthreads();
  for (int half = block_size / 2; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = sums[0];
}

__device__ bool is_last_block(int* arrived) {
  __threadfence();
  int ticket = 0;
  if (threadIdx.x == 0) ticket = atomicAdd(arrived, 1);
  return __syncthreads_or(ticket == gridDim.x - 1);
}

__global__ void last_block(const int* in, int n, int* out, int* arrived) {
  int thread = threadIdx.x;
  int first = thread + blockIdx.x * block_size;
  const int grid_size = block_size * gridDim.x;
  int sum = 0;
  for (int k = first; k < n; k += grid_size) sum += in[k];
  __shared__ int sums[block_size];
  sums[thread] = sum;
  __syncthreads();
  for (int half = block_size / 2; half > 0; half /= 2) {
    if (thread < half) sums[thread] += sums[thread + half];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = sums[0];
  if (is_last_block(arrived)) {                           // multiblock/over-1024-blocks
    sums[thread] = thread < grid_size ? out[thread] : 0;  // multiblock/hidden-grid, multiblock/no-second-fence
    __syncthreads();
    for (int half = block_size / 2; half > 0; half /= 2) {
      if (thread < half) sums[thread] += sums[thread + half];
      __syncthreads();
    }
    if (thread == 0) out[0] = sums[0];  // multiblock/no-second-fence
  }
}

static int sum_array(const char* part, int* elements, int blocks) {
  int *in, *out, sum = 0;
  cudaMalloc((void**)&in, array_size * sizeof(int));
  cudaMemcpy(in, elements, array_size * sizeof(int), cudaMemcpyHostToDevice);
  cudaMalloc((void**)&out, sizeof(int) * blocks);
  if (strcmp(part, "two-launch") == 0) {
    two_launch<<<blocks, block_size>>>(in, array_size, out);
    two_launch<<<1, block_size>>>(out, blocks, out);
  } else {
    int* arrived;
    cudaMalloc((void**)&arrived, sizeof(int));
    cudaMemset(arrived, 0, sizeof(int));  // multiblock/counter-memset
    last_block<<<blocks, block_size>>>(in, array_size, out, arrived);
  }
  cudaDeviceSynchronize();
  cudaMemcpy(&sum, out, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return sum;
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  if (strcmp(part, "two-launch") != 0 && strcmp(part, "last-block") != 0) {
    fprintf(stderr, "usage: multiblock two-launch | last-block [BLOCKS]\n");
    return 1;
  }
  static int elements[array_size];
  int expected = 0;
  for (int k = 0; k < array_size; k++) expected += elements[k] = k % 100;
  const int sum = sum_array(part, elements, argc > 2 ? atoi(argv[2]) : grid_size);
  printf("%s: sum %d, expected %d: %s\n", part, sum, expected, sum == expected ? "right" : "wrong");
  return sum != expected;
}
