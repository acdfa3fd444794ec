/// as_printed: what claims of the documents come to on a GPU when their code runs as it is printed, and what copying
/// costs. No variant may be wrong, so these are none.
///
///   build/bin/as_printed out/results/MACHINE        # writes as-printed.csv and copies.csv there
///
/// twopass, claim T1: the last warp may be unrolled without barriers, since a warp runs in lock-step, if the pointer is
/// volatile (`volatile_tail`). Claim T7: a block's size must be a multiple of 32 (`rolled_tree`). unroll has the same
/// tail in global memory (`global_tail`); that of levels begins at 64 threads, which on this GPU are two warps
/// (`two_warp_tail`). Many blocks add up other numbers each, and each block's sum is compared with one by atomics.
///
/// levels, claim L9: where the CPU finishes, blocks must be few, since copying over the bus costs. Copies of so many
/// bytes to ordinary (pageable) and to page-locked memory, by the host's clock, interleaved. `over_quarter` is the time
/// over that of a quarter of the bytes, the median of the rounds' ratios, with its 95 % interval by order statistics.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// What element `i` of a block is, small enough that no sum overflows.
__device__ unsigned element(std::uint64_t block, unsigned i, unsigned seed) {
  std::uint64_t x = (block * 4096 + i) * 0x9E3779B97F4A7C15U + seed;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9U;
  return static_cast<unsigned>(x >> 44);
}

/// The levels of a tree in a loop, with a barrier at each, until `last` sums are left.
__device__ void add_levels(int* buffer, unsigned last) {
  for (unsigned i = blockDim.x >> 1; i > last; i >>= 1) {
    if (threadIdx.x < i) buffer[threadIdx.x] += buffer[threadIdx.x + i];
    __syncthreads();
  }
}

__device__ void add_from(volatile int* sums, unsigned distance) {
  sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + distance];
}

/// The levels written out, through a volatile pointer and without barriers.
template <unsigned... distances>
__device__ void add_unguarded(volatile int* sums) {
  (add_from(sums, distances), ...);
}

/// A tree over shared memory whose last warp has no barrier. `buffer` has 64 elements at least.
struct VolatileTail {
  static constexpr const char* name = "volatile_tail";
  static __device__ void add_up(int* buffer) {
    add_levels(buffer, 32);
    if (threadIdx.x < 32) {
      if (blockDim.x > 32) add_unguarded<32>(buffer);
      add_unguarded<16, 8, 4, 2, 1>(buffer);
    }
  }
};

/// The same in the block's part of global memory.
struct GlobalTail : VolatileTail {
  static constexpr const char* name = "global_tail";
};

/// From 64 threads on, no barrier. `buffer` has 128 elements at least.
struct TwoWarpTail {
  static constexpr const char* name = "two_warp_tail";
  static __device__ void add_up(int* buffer) {
    add_levels(buffer, 64);
    if (threadIdx.x < 64) add_unguarded<64, 32, 16, 8, 4, 2, 1>(buffer);
  }
};

/// The tree in a loop, with a barrier at each level.
struct RolledTree {
  static constexpr const char* name = "rolled_tree";
  static __device__ void add_up(int* buffer) { add_levels(buffer, 0); }
};

/// Counts the blocks whose tree gives another sum than atomics. Launch: any grid, blocks of 16 threads or more.
/// `memory` has 1024 elements for each block of a GlobalTail.
template <class Tree>
__global__ void count_wrong(unsigned long long* wrong, unsigned seed, int* memory) {
  __shared__ int shared[std::is_same_v<Tree, GlobalTail> ? 1 : 1024];
  __shared__ int right;
  int* buffer = shared;
  if constexpr (std::is_same_v<Tree, GlobalTail>) buffer = memory + std::size_t{1024} * blockIdx.x;
  const int mine = static_cast<int>(element(blockIdx.x, threadIdx.x, seed));
  if (threadIdx.x == 0) right = 0;
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) buffer[i] = 0;
  __syncthreads();
  atomicAdd(&right, mine);
  buffer[threadIdx.x] = mine;
  __syncthreads();
  Tree::add_up(buffer);
  if (threadIdx.x == 0) {
    volatile int* sums = buffer;
    const int sum = sums[0];
    __threadfence_block();
    if (sum != right) atomicAdd(wrong, 1ULL);
  }
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&t));
  return text;
}

template <class Tree>
void try_tree(std::ofstream& csv, const std::string& gpu, unsigned block, unsigned long long* wrong,
              int* memory = nullptr) {
  const unsigned grid = memory ? 1U << 16 : 1U << 20, launches = memory ? 512 : 32;
  check(cudaMemset(wrong, 0, sizeof *wrong), "memset");
  for (unsigned seed = 0; seed < launches; ++seed) count_wrong<Tree><<<grid, block>>>(wrong, seed * 77777U, memory);
  check(cudaGetLastError(), Tree::name);
  unsigned long long counted = 0;
  check(cudaMemcpy(&counted, wrong, sizeof counted, cudaMemcpyDeviceToHost), Tree::name);
  const auto blocks = static_cast<unsigned long long>(grid) * launches;
  csv << Tree::name << ',' << block << ',' << blocks << ',' << counted << ',' << gpu << ',' << now() << '\n';
  std::printf("%-14s %4u threads: %llu of %llu blocks wrong\n", Tree::name, block, counted, blocks);
}

double seconds_of_copy(void* to, const void* from, std::size_t bytes) {
  const auto begin = std::chrono::steady_clock::now();
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Interval {
  double median, low, high;
};

/// Of the values' median, with 95 % confidence by the binomial distribution of their ranks.
Interval median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  const auto off = static_cast<std::size_t>(std::ceil(0.98 * std::sqrt(n)));
  const std::size_t middle = values.size() / 2;
  return {values[middle], values[middle - std::min(middle, off)], values[std::min(values.size() - 1, middle + off)]};
}

void time_copies(std::ofstream& csv, const std::string& gpu) {
  constexpr std::size_t most = 16U << 20;
  constexpr int rounds = 400;
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 4; bytes <= most; bytes *= 4) sizes.push_back(bytes);
  void* from = nullptr;
  void* locked = nullptr;
  check(cudaMalloc(&from, most), "cudaMalloc");
  check(cudaMemset(from, 1, most), "memset");
  check(cudaMallocHost(&locked, most), "cudaMallocHost");
  std::vector<char> pageable(most, 1);
  const struct {
    const char* name;
    void* to;
  } kinds[] = {{"pageable", pageable.data()}, {"page-locked", locked}};
  std::vector<std::vector<double>> times(2 * sizes.size());
  std::vector<std::size_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937 random(1);
  for (int round = -20; round < rounds; ++round) {  // the first to warm up
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      check(cudaDeviceSynchronize(), "synchronize");
      const double s = seconds_of_copy(kinds[i % 2].to, from, sizes[i / 2]);
      if (round >= 0) times[i].push_back(s);
    }
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Interval time = median_of(times[i]);
    csv << kinds[i % 2].name << ',' << sizes[i / 2] << ',' << rounds << ',' << time.median << ',' << time.low << ','
        << time.high << ',';
    if (i >= 2) {
      std::vector<double> ratios;
      for (int k = 0; k < rounds; ++k)
        ratios.push_back(times[i][static_cast<std::size_t>(k)] / times[i - 2][static_cast<std::size_t>(k)]);
      const Interval over = median_of(ratios);
      csv << over.median << ',' << over.low << ',' << over.high;
    } else {
      csv << ",,";
    }
    csv << ',' << gpu << ',' << now() << '\n';
    std::printf("%-12s %9zu bytes: %7.2f us\n", kinds[i % 2].name, sizes[i / 2], 1e6 * time.median);
  }
  check(cudaFree(from), "cudaFree");
  check(cudaFreeHost(locked), "cudaFreeHost");
}

/// In a file of another name until all is measured: older tables stay where a run is cut.
std::ofstream opened(const std::string& path, const char* head) {
  std::ofstream csv(path + ".part");
  csv << head << '\n';
  if (!csv) throw std::runtime_error(path + " cannot be written: name a folder that is there");
  csv.precision(6);
  return csv;
}

void run(const std::string& folder) {
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, 0), "no GPU");
  const std::string tables[] = {folder + "/as-printed.csv", folder + "/copies.csv"};
  std::ofstream printed = opened(tables[0], "kernel,block,blocks,wrong,gpu,timestamp_utc");
  std::ofstream copies = opened(tables[1],
                                "memory,bytes,rounds,time_s,time_low_s,time_high_s,over_quarter,over_quarter_low,"
                                "over_quarter_high,gpu,timestamp_utc");
  unsigned long long* wrong = nullptr;
  check(cudaMalloc(&wrong, sizeof *wrong), "cudaMalloc");
  for (const unsigned block : {32U, 64U, 128U, 256U, 512U, 1024U})
    try_tree<VolatileTail>(printed, gpu.name, block, wrong);
  for (const unsigned block : {16U, 32U, 64U, 96U, 160U, 192U, 256U})
    try_tree<RolledTree>(printed, gpu.name, block, wrong);
  int* memory = nullptr;
  check(cudaMalloc(&memory, sizeof(int) << 26), "cudaMalloc");
  for (const unsigned block : {64U, 256U, 1024U}) try_tree<GlobalTail>(printed, gpu.name, block, wrong, memory);
  for (const unsigned block : {128U, 256U, 1024U}) try_tree<TwoWarpTail>(printed, gpu.name, block, wrong);
  check(cudaFree(memory), "cudaFree");
  check(cudaFree(wrong), "cudaFree");
  time_copies(copies, gpu.name);
  if (!printed.flush() || !copies.flush()) throw std::runtime_error(folder + " is full");
  for (const std::string& table : tables)
    if (std::rename((table + ".part").c_str(), table.c_str()) != 0)
      throw std::runtime_error(table + " cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("write as_printed FOLDER, where it writes as-printed.csv and copies.csv");
    run(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "as_printed: %s\n", e.what());
    return 1;
  }
}
