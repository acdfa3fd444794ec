/// squares: the sum of squares, timed inside the kernel by clock().
///
/// Document: `squares`. It prints the kernel that strides over one block, and the kernel and the host code of 32
/// blocks. Kept: DATA_SIZE (inferred: an earlier page sets it), 256 and 512 threads, 32 blocks, the int index, the
/// places at which the clock is read, the host's sum and "latest stop - earliest start". Ours: the elements, the check
/// of the sum, and where the time goes: to stderr, since it is another in each run.
///
///   squares strided [THREADS]     one block, 256 threads or 512
///   squares multi-block           32 blocks of 256
///
/// Mistakes: id | what shows it | the runs that do, behind `reductio simulate squares.cu` | what is wrong
///   squares/stop-clock   | nothing: timing | - | no barrier before the stop clock: it is thread 0's, not the block's
///   squares/many-clocks  | nothing: timing | - | the clocks of two SMs are two counters; their difference is no time
///   squares/clock-as-int | nothing: timing | - | a clock_t of 64 bits is printed as an int

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DATA_SIZE 1048576
#define BLOCK_NUM 32
#define THREAD_NUM 256

__global__ void squares_strided(const int* numbers, int* sums, clock_t* elapsed) {
  const int thread = threadIdx.x;
  const int threads = blockDim.x;
  int sum = 0;
  clock_t begin;
  if (thread == 0) begin = clock();
  for (int k = thread; k < DATA_SIZE; k += threads) sum += numbers[k] * numbers[k];
  sums[thread] = sum;
  if (thread == 0) *elapsed = clock() - begin;  // squares/stop-clock
}

__global__ void squares_multi_block(const int* numbers, int* sums, clock_t* clocks) {
  const int thread = threadIdx.x;
  const int block = blockIdx.x;
  int sum = 0;
  if (thread == 0) clocks[block] = clock();
  for (int k = block * THREAD_NUM + thread; k < DATA_SIZE; k += BLOCK_NUM * THREAD_NUM) sum += numbers[k] * numbers[k];
  sums[block * THREAD_NUM + thread] = sum;
  if (thread == 0) clocks[BLOCK_NUM + block] = clock();  // squares/stop-clock
}

static int numbers[DATA_SIZE];

static int report(const char* part, int sum, long long cycles) {
  int expected = 0;
  for (int k = 0; k < DATA_SIZE; k++) expected += numbers[k] * numbers[k];
  fprintf(stderr, "%s: %d cycles\n", part, (int)cycles);  // squares/clock-as-int
  printf("%s: sum %d, expected %d: %s\n", part, sum, expected, sum == expected ? "right" : "wrong");
  return sum != expected;
}

static int strided(int threads) {
  int *on_device, *sums;
  clock_t* elapsed;
  cudaMalloc((void**)&on_device, sizeof(int) * DATA_SIZE);
  cudaMalloc((void**)&sums, sizeof(int) * threads);
  cudaMalloc((void**)&elapsed, sizeof(clock_t));
  cudaMemcpy(on_device, numbers, sizeof(int) * DATA_SIZE, cudaMemcpyHostToDevice);
  squares_strided<<<1, threads, 0>>>(on_device, sums, elapsed);

  int of_threads[512];
  clock_t cycles;
  cudaMemcpy(of_threads, sums, sizeof(int) * threads, cudaMemcpyDeviceToHost);
  cudaMemcpy(&cycles, elapsed, sizeof(clock_t), cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  cudaFree(sums);
  cudaFree(elapsed);

  int sum = 0;
  for (int k = 0; k < threads; k++) sum += of_threads[k];
  return report("strided", sum, cycles);
}

static int multi_block() {
  int *on_device, *sums;
  clock_t* clocks;
  cudaMalloc((void**)&on_device, sizeof(int) * DATA_SIZE);
  cudaMalloc((void**)&sums, sizeof(int) * BLOCK_NUM * THREAD_NUM);
  cudaMalloc((void**)&clocks, sizeof(clock_t) * BLOCK_NUM * 2);
  cudaMemcpy(on_device, numbers, sizeof(int) * DATA_SIZE, cudaMemcpyHostToDevice);
  squares_multi_block<<<BLOCK_NUM, THREAD_NUM, 0>>>(on_device, sums, clocks);

  int of_threads[BLOCK_NUM * THREAD_NUM];
  clock_t of_blocks[BLOCK_NUM * 2];
  cudaMemcpy(of_threads, sums, sizeof(of_threads), cudaMemcpyDeviceToHost);
  cudaMemcpy(of_blocks, clocks, sizeof(of_blocks), cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  cudaFree(sums);
  cudaFree(clocks);

  int sum = 0;
  for (int k = 0; k < BLOCK_NUM * THREAD_NUM; k++) sum += of_threads[k];
  clock_t earliest = of_blocks[0], latest = of_blocks[BLOCK_NUM];
  for (int b = 1; b < BLOCK_NUM; b++) {
    if (of_blocks[b] < earliest) earliest = of_blocks[b];
    if (of_blocks[BLOCK_NUM + b] > latest) latest = of_blocks[BLOCK_NUM + b];
  }
  return report("multi-block", sum, latest - earliest);  // squares/many-clocks
}

int main(int argc, char** argv) {
  for (int k = 0; k < DATA_SIZE; k++) numbers[k] = rand() % 10;
  if (argc > 1 && strcmp(argv[1], "strided") == 0) return strided(argc > 2 ? atoi(argv[2]) : THREAD_NUM);
  if (argc > 1 && strcmp(argv[1], "multi-block") == 0) return multi_block();
  fprintf(stderr, "usage: squares strided [THREADS] | multi-block\n");
  return 1;
}
