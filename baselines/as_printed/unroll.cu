/// unroll: the sum in place in global memory, in steps of unrolling; the host adds up the blocks' sums.
///
/// Document: `unroll`. Kept: blocks of 1024, the grid that is counted for one element a thread and then divided by 2 or
/// 8, the early return, in-place trees over int strides, the volatile tail, the copy of a whole grid of partial sums.
/// Inferred: unroll8, which the document times and does not print. Its template is not printed, either, and not here.
/// Ours: the elements and the check. n is cut from 2^24 to 2^15. Times go to stderr, since they are others in each run.
///
///   unroll unroll2 | unroll8 | unroll8-warp | unroll8-complete [N [BLOCKS]]     BLOCKS: in place of the divided grid
///
/// Mistakes: id | what shows it | the runs that do, behind `reductio simulate unroll.cu` | what is wrong
///   unroll/lock-step      | race | -- unroll8-warp; -- unroll8-complete | no __syncwarp() between a warp's levels
///   unroll/short-tail     | wrong result | -- unroll8 16000 | where fewer than 8 elements are left, none is added
///   unroll/divided-grid   | wrong result | -- unroll2 3000 | the divided grid is rounded down: the rest is lost
///   unroll/thread-guard   | out of bounds | -- unroll2 700 1 | the guard asks the thread's number, not the element's
///   unroll/early-return   | nothing: barriers wait for no returned threads | - | threads return before barriers
///   unroll/seconds        | nothing: prose | - | times in seconds are called ms
///   unroll/swapped-labels | nothing: prose | - | the summary exchanges the names of its two neighbored rows
///   unroll/five-barriers  | nothing: prose | - | the last warp saves six barriers, not five

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CHECK(call)                                                                  \
  do {                                                                               \
    const cudaError_t error = call;                                                  \
    if (error != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

__global__ void unroll2(int* in, int* out, unsigned int n) {
  unsigned int thread = threadIdx.x;
  unsigned int mine = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= n) return;  // unroll/early-return
  int* share = in + 2 * blockIdx.x * blockDim.x;
  if (mine + blockDim.x < n) in[mine] += in[mine + blockDim.x];
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (thread < stride) share[thread] += share[thread + stride];  // unroll/thread-guard
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = share[0];
}

__global__ void unroll8(int* in, int* out, unsigned int n) {
  unsigned int thread = threadIdx.x;
  unsigned int mine = 8 * blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= n) return;  // unroll/early-return
  int* share = in + 8 * blockIdx.x * blockDim.x;
  if (mine + 7 * blockDim.x < n) {  // unroll/short-tail
    for (int block = 1; block < 8; block++) in[mine] += in[mine + block * blockDim.x];
  }
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (thread < stride) share[thread] += share[thread + stride];
    __syncthreads();
  }
  if (thread == 0) out[blockIdx.x] = share[0];
}

__global__ void unroll8_warp(int* in, int* out, unsigned int n) {
  unsigned int thread = threadIdx.x;
  unsigned int mine = 8 * blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= n) return;  // unroll/early-return
  int* share = in + 8 * blockIdx.x * blockDim.x;
  if (mine + 7 * blockDim.x < n) {  // unroll/short-tail
    int x0 = in[mine], x1 = in[mine + blockDim.x], x2 = in[mine + 2 * blockDim.x], x3 = in[mine + 3 * blockDim.x];
    int x4 = in[mine + 4 * blockDim.x], x5 = in[mine + 5 * blockDim.x];
    int x6 = in[mine + 6 * blockDim.x], x7 = in[mine + 7 * blockDim.x];
    in[mine] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
  }
  __syncthreads();
  for (int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
    if (thread < stride) share[thread] += share[thread + stride];
    __syncthreads();
  }
  if (thread < 32) {
    volatile int* lanes = share;
    lanes[thread] += lanes[thread + 32];  // unroll/lock-step
    lanes[thread] += lanes[thread + 16];  // unroll/lock-step
    lanes[thread] += lanes[thread + 8];   // unroll/lock-step
    lanes[thread] += lanes[thread + 4];   // unroll/lock-step
    lanes[thread] += lanes[thread + 2];   // unroll/lock-step
    lanes[thread] += lanes[thread + 1];   // unroll/lock-step
  }
  if (thread == 0) out[blockIdx.x] = share[0];
}

__global__ void unroll8_complete(int* in, int* out, unsigned int n) {
  unsigned int thread = threadIdx.x;
  unsigned int mine = 8 * blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= n) return;  // unroll/early-return
  int* share = in + 8 * blockIdx.x * blockDim.x;
  if (mine + 7 * blockDim.x < n) {  // unroll/short-tail
    int x0 = in[mine], x1 = in[mine + blockDim.x], x2 = in[mine + 2 * blockDim.x], x3 = in[mine + 3 * blockDim.x];
    int x4 = in[mine + 4 * blockDim.x], x5 = in[mine + 5 * blockDim.x];
    int x6 = in[mine + 6 * blockDim.x], x7 = in[mine + 7 * blockDim.x];
    in[mine] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
  }
  __syncthreads();
  if (blockDim.x >= 1024 && thread < 512) share[thread] += share[thread + 512];
  __syncthreads();
  if (blockDim.x >= 512 && thread < 256) share[thread] += share[thread + 256];
  __syncthreads();
  if (blockDim.x >= 256 && thread < 128) share[thread] += share[thread + 128];
  __syncthreads();
  if (blockDim.x >= 128 && thread < 64) share[thread] += share[thread + 64];
  __syncthreads();
  if (thread < 32) {
    volatile int* lanes = share;
    lanes[thread] += lanes[thread + 32];  // unroll/lock-step
    lanes[thread] += lanes[thread + 16];  // unroll/lock-step
    lanes[thread] += lanes[thread + 8];   // unroll/lock-step
    lanes[thread] += lanes[thread + 4];   // unroll/lock-step
    lanes[thread] += lanes[thread + 2];   // unroll/lock-step
    lanes[thread] += lanes[thread + 1];   // unroll/lock-step
  }
  if (thread == 0) out[blockIdx.x] = share[0];
}

static double seconds() {
  struct timeval now;
  gettimeofday(&now, NULL);
  return now.tv_sec + 1e-6 * now.tv_usec;
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*kernel)(int*, int*, unsigned int);
    int factor;
  } steps[] = {{"unroll2", unroll2, 2},
               {"unroll8", unroll8, 8},
               {"unroll8-warp", unroll8_warp, 8},
               {"unroll8-complete", unroll8_complete, 8}};
  int step = 0;
  while (step < 4 && (argc < 2 || strcmp(argv[1], steps[step].name) != 0)) step++;
  if (step == 4) {
    fprintf(stderr, "usage: unroll unroll2 | unroll8 | unroll8-warp | unroll8-complete [N [BLOCKS]]\n");
    return 1;
  }

  const int n = argc > 2 ? atoi(argv[2]) : 1 << 15;
  const size_t bytes = n * sizeof(int);
  const dim3 block(1024), grid((n - 1) / block.x + 1);
  int* elements = (int*)malloc(bytes);
  int* partials = (int*)malloc(grid.x * sizeof(int));
  int expected = 0;
  for (int k = 0; k < n; k++) expected += elements[k] = rand() & 0xff;
  int *in, *out;
  CHECK(cudaMalloc((void**)&in, bytes));
  CHECK(cudaMalloc((void**)&out, grid.x * sizeof(int)));
  CHECK(cudaMemcpy(in, elements, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());

  const unsigned blocks = argc > 3 ? atoi(argv[3]) : grid.x / steps[step].factor;  // unroll/divided-grid
  const double start = seconds();
  steps[step].kernel<<<blocks, block>>>(in, out, n);
  cudaDeviceSynchronize();
  const double elapsed = seconds() - start;
  cudaMemcpy(partials, out, grid.x * sizeof(int), cudaMemcpyDeviceToHost);
  int sum = 0;
  for (unsigned k = 0; k < blocks; k++) sum += partials[k];
  fprintf(stderr, "%s: %lf ms, <<<grid %u block %u>>>\n", steps[step].name, elapsed, blocks,
          block.x);  // unroll/seconds
  printf("%s: sum %d, expected %d: %s\n", steps[step].name, sum, expected, sum == expected ? "right" : "wrong");

  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  free(elements);
  free(partials);
  return sum != expected;
}
