/// twopass: the sum in two launches of one kernel; its tree in a loop, with the last warp unrolled, and unrolled whole.
///
/// Document: `twopass`. Kept: the grid-stride load over a size_t index, the three trees, the second launch, the dynamic
/// shared memory of one int a thread, the order of the template's parameters and of its calls' arguments.
/// Ours: n, 4 blocks, the elements, the buffers and the check of the sum, none of which the document prints. Its
/// dispatch over 11 block sizes is cut to 4. The two calls that do not compile are behind macros.
///
///   twopass rolled | warp-unrolled | template | mended THREADS     mended: template, its arguments in the right order
///
/// Mistakes: id | what shows it | the runs that do, behind `reductio simulate twopass.cu` | what is wrong
///   twopass/no-extern      | compile error | -D AS_PRINTED_NO_EXTERN | the shared array without a size lacks `extern`
///   twopass/blocks-as-size | compile error | -D AS_PRINTED_BLOCKS_AS_SIZE | the template is given the number of blocks
///   twopass/misspelt       | compile error | -D AS_PRINTED_MISSPELT | the launch uses a name that nothing has
///   twopass/argument-order | out of bounds | -- template 256 | the calls pass output and input the wrong way round
///   twopass/multiple-of-32 | wrong result | -- rolled 96 | the tree needs a power of two, not a multiple of 32
///   twopass/small-block    | out of bounds | -- warp-unrolled 32; -- mended 32 | the tail reads past the shared memory
///   twopass/lock-step      | race | -- warp-unrolled 256; -- mended 256 | no __syncwarp() between a warp's levels

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef AS_PRINTED_NO_EXTERN
#define EXTERN
#else
#define EXTERN extern
#endif
#ifdef AS_PRINTED_BLOCKS_AS_SIZE
#define SIZE blocks
#else
#define SIZE threads
#endif
#ifdef AS_PRINTED_MISSPELT
#define THREADS threads_
#else
#define THREADS threads
#endif

__global__ void rolled(int* out, int* in, size_t n) {
  EXTERN __shared__ int sums[];  // twopass/no-extern
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  int step = gridDim.x * blockDim.x;
  int sum = 0;
  for (size_t k = first; k < n; k += step) sum += in[k];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x >> 1; half != 0; half >>= 1) {  // twopass/multiple-of-32
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

__global__ void warp_unrolled(int* out, int* in, size_t n) {
  EXTERN __shared__ int sums[];  // twopass/no-extern
  int first = blockIdx.x * blockDim.x + threadIdx.x;
  int step = gridDim.x * blockDim.x;
  int sum = 0;
  for (size_t k = first; k < n; k += step) sum += in[k];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x >> 1; half > 32; half >>= 1) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 32) {
    volatile int* lanes = sums;
    if (blockDim.x > 32) lanes[threadIdx.x] += lanes[threadIdx.x + 32];  // twopass/lock-step
    lanes[threadIdx.x] += lanes[threadIdx.x + 16];                       // twopass/lock-step, twopass/small-block
    lanes[threadIdx.x] += lanes[threadIdx.x + 8];                        // twopass/lock-step, twopass/small-block
    lanes[threadIdx.x] += lanes[threadIdx.x + 4];                        // twopass/lock-step, twopass/small-block
    lanes[threadIdx.x] += lanes[threadIdx.x + 2];                        // twopass/lock-step, twopass/small-block
    lanes[threadIdx.x] += lanes[threadIdx.x + 1];                        // twopass/lock-step, twopass/small-block
    if (threadIdx.x == 0) out[blockIdx.x] = lanes[0];
  }
}

template <int threads>
__global__ void template_unrolled(int* in, int* out, size_t n) {
  EXTERN __shared__ int sums[];  // twopass/no-extern
  int thread = threadIdx.x;
  int first = blockIdx.x * threads + thread;
  int step = gridDim.x * threads;
  int sum = 0;
  for (size_t k = first; k < n; k += step) sum += in[k];  // twopass/argument-order
  sums[thread] = sum;
  __syncthreads();
  if (threads >= 1024) {
    if (thread < 512) sums[thread] += sums[thread + 512];
    __syncthreads();
  }
  if (threads >= 512) {
    if (thread < 256) sums[thread] += sums[thread + 256];
    __syncthreads();
  }
  if (threads >= 256) {
    if (thread < 128) sums[thread] += sums[thread + 128];
    __syncthreads();
  }
  if (threads >= 128) {
    if (thread < 64) sums[thread] += sums[thread + 64];
    __syncthreads();
  }
  if (thread < 32) {
    volatile int* lanes = sums;
    if (threads >= 64) lanes[thread] += lanes[thread + 32];  // twopass/lock-step
    if (threads >= 32) lanes[thread] += lanes[thread + 16];  // twopass/lock-step, twopass/small-block
    if (threads >= 16) lanes[thread] += lanes[thread + 8];   // twopass/lock-step, twopass/small-block
    if (threads >= 8) lanes[thread] += lanes[thread + 4];    // twopass/lock-step, twopass/small-block
    if (threads >= 4) lanes[thread] += lanes[thread + 2];    // twopass/lock-step, twopass/small-block
    if (threads >= 2) lanes[thread] += lanes[thread + 1];    // twopass/lock-step, twopass/small-block
    if (thread == 0) out[blockIdx.x] = lanes[0];
  }
}

template <int threads>
void add_by_template(int* result, int* partial, int* in, size_t n, int blocks, bool mended) {
  if (mended) {
    template_unrolled<threads><<<blocks, threads, threads * sizeof(int)>>>(in, partial, n);
    template_unrolled<threads><<<1, threads, threads * sizeof(int)>>>(partial, result, blocks);
  } else {
    const dim3 block(THREADS);                                                              // twopass/misspelt
    template_unrolled<SIZE><<<blocks, block, threads * sizeof(int)>>>(partial, in, n);      // twopass/blocks-as-size
    template_unrolled<SIZE><<<1, block, threads * sizeof(int)>>>(result, partial, blocks);  // twopass/blocks-as-size
  }
}

static void add(const char* part, int* result, int* partial, int* in, size_t n, int blocks, int threads) {
  const size_t shared = threads * sizeof(int);
  if (strcmp(part, "rolled") == 0) {
    rolled<<<blocks, threads, shared>>>(partial, in, n);
    rolled<<<1, threads, shared>>>(result, partial, blocks);
  } else if (strcmp(part, "warp-unrolled") == 0) {
    warp_unrolled<<<blocks, threads, shared>>>(partial, in, n);
    warp_unrolled<<<1, threads, shared>>>(result, partial, blocks);
  } else {
    const bool mended = strcmp(part, "mended") == 0;
    switch (threads) {
      case 32: return add_by_template<32>(result, partial, in, n, blocks, mended);
      case 64: return add_by_template<64>(result, partial, in, n, blocks, mended);
      case 256: return add_by_template<256>(result, partial, in, n, blocks, mended);
      case 1024: return add_by_template<1024>(result, partial, in, n, blocks, mended);
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: twopass rolled | warp-unrolled | template | mended THREADS\n");
    return 1;
  }
  const int n = 10000, blocks = 4;
  static int elements[n];
  int expected = 0;
  for (int k = 0; k < n; k++) expected += elements[k] = k % 100;

  int *in, *partial, *result, sum = 0;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&partial, blocks * sizeof(int));
  cudaMalloc(&result, sizeof(int));
  cudaMemcpy(in, elements, n * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(partial, 0, blocks * sizeof(int));
  cudaMemset(result, 0, sizeof(int));
  add(argv[1], result, partial, in, n, blocks, atoi(argv[2]));
  cudaMemcpy(&sum, result, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(partial);
  cudaFree(result);
  printf("%s: sum %d, expected %d: %s\n", argv[1], sum, expected, sum == expected ? "right" : "wrong");
  return sum != expected;
}
