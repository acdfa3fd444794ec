#include "measure/timing/cuda/harness_kernels.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "device/kernel.h"
#include "measure/timing/cuda/runtime.h"
#include "tuned/finish.h"
#include "tuned/launch_table.h"
#include "tuned/prepared.h"
#include "tuned/reading.h"

namespace reductio::cuda {
namespace {

using device::globaltimer;

__global__ void empty() {}

/// The result is zero, in one word with its mark.
__global__ void empty_to_host(tuned::OnHost result) {
  if (threadIdx.x == 0) result.store(std::uint32_t{0});
}
static_assert(polled_words == tuned::Message<std::uint32_t>::words);

__global__ void spin(std::uint64_t ns) {
  const std::uint64_t start = globaltimer();
  while (globaltimer() - start < ns) {
  }
}

template <class Word>
__global__ void store_word(const ElementPlace place, const Word word) {
  const unsigned copy = blockIdx.x * blockDim.x + threadIdx.x;
  if (copy < place.copies) *reinterpret_cast<Word*>(place.first + copy * place.stride) = word;
}

/// How a vector is loaded.
struct Cached {
  static __device__ uint4 load(const uint4* p) { return __ldg(p); }
};
/// Bypasses L1. An H200's L2 evicts such lines first, so they displace each other and not dirty lines: faster between
/// 2^20 and 2^24 elements, slower beyond.
struct PastL1 {
  static __device__ uint4 load(const uint4* p) { return device::load_past_l1(p); }
};

/// Reads every vector once, Unroll loads in flight per thread. The sum makes the loads necessary; it is stored only if
/// it equals `sum_that_is_stored`.
template <int Block, int Unroll, class Load>
__global__ void __launch_bounds__(Block)
    read_only(const uint4* in, std::size_t vectors, unsigned* out) {
  constexpr std::size_t tile = std::size_t{Block} * Unroll;
  unsigned sum = 0;
  for (std::size_t first = blockIdx.x * tile; first < vectors; first += gridDim.x * tile) {
    uint4 v[Unroll];
    if (first + tile <= vectors) {
#pragma unroll
      for (int u = 0; u < Unroll; ++u) v[u] = Load::load(in + first + u * Block + threadIdx.x);
    } else {
#pragma unroll
      for (int u = 0; u < Unroll; ++u) {
        const std::size_t i = first + u * Block + threadIdx.x;
        v[u] = i < vectors ? Load::load(in + i) : uint4{0, 0, 0, 0};
      }
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) sum += v[u].x + v[u].y + v[u].z + v[u].w;
  }
  if (sum == sum_that_is_stored) *out = sum;
}
/// From read_only: a block also stores a share of `out` with each tile, 16 bytes a thread. The last words fill no
/// vector.
template <int Block, int Unroll>
__global__ void __launch_bounds__(Block)
    read_and_write(const uint4* in, std::size_t vectors, uint4* out, std::size_t out_vectors, std::size_t out_words) {
  constexpr std::size_t tile = std::size_t{Block} * Unroll;
  const std::size_t tiles = (vectors + tile - 1) / tile, share = (out_vectors + tiles - 1) / tiles;
  unsigned sum = 0;
  for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    uint4 v[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const std::size_t i = t * tile + u * Block + threadIdx.x;
      v[u] = i < vectors ? Cached::load(in + i) : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) sum += v[u].x + v[u].y + v[u].z + v[u].w;
    const std::size_t end = min((t + 1) * share, out_vectors);
    for (std::size_t i = t * share + threadIdx.x; i < end; i += Block) out[i] = uint4{sum, sum, sum, sum};
  }
  if (blockIdx.x == 0 && 4 * out_vectors + threadIdx.x < out_words)
    reinterpret_cast<unsigned*>(out)[4 * out_vectors + threadIdx.x] = sum;
  if (sum == sum_that_is_stored && out_words > 0) *reinterpret_cast<unsigned*>(out) = sum;
}

/// The same by the code of `tuned`.
template <class Reading>
__global__ void __launch_bounds__(Reading::block, Reading::template blocks_per_sm<unsigned, unsigned>())
    read_as_tuned(const tuned::Share<unsigned> in, const Reading reading, unsigned* out) {
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const unsigned sum = reading.template sum_of_thread<unsigned, unsigned, device::Identity>(in);
  if (sum == sum_that_is_stored) *out = sum;
}

class EmptyPlan final : public Plan {
 public:
  PlanInfo info() const override { return {.grid_blocks = 1, .block_threads = 32}; }
  void enqueue(void*, void*, Stream s) override {
    empty<<<1, 32, 0, native(s)>>>();
    check(cudaGetLastError(), "launching an empty kernel");
  }
};

class PolledEmptyPlan final : public Plan {
 public:
  explicit PolledEmptyPlan(std::uint64_t* arrival) : arrival_(arrival) {}
  PlanInfo info() const override {
    return {.grid_blocks = 1, .block_threads = 32, .result = ResultLocation::host_part};
  }
  void enqueue(void*, void*, Stream s) override {
    std::fill_n(arrival_, polled_words, 0);
    empty_to_host<<<1, 32, 0, native(s)>>>({arrival_});
    check(cudaGetLastError(), "launching an empty kernel that is polled for");
  }
  void finish(void* result, Stream s) override {
    const auto value = tuned::await_arrivals<std::uint32_t>(arrival_, 1, native(s));
    if (result) std::memcpy(result, &value, sizeof value);
  }

 private:
  std::uint64_t* arrival_;
};

class SpinPlan final : public Plan {
 public:
  explicit SpinPlan(std::uint64_t ns) : ns_(ns) {}
  PlanInfo info() const override { return {.grid_blocks = 1, .block_threads = 1}; }
  void enqueue(void*, void*, Stream s) override {
    spin<<<1, 1, 0, native(s)>>>(ns_);
    check(cudaGetLastError(), "launching a spinning kernel");
  }

 private:
  std::uint64_t ns_;
};

/// The vectors that cover `bytes` bytes at `in`, at any alignment. The first and the last are read whole; allocations
/// are aligned and padded to more than a vector.
struct Vectors {
  const uint4* first;
  std::size_t count;
};
Vectors vectors_of(const void* in, std::size_t bytes, std::size_t boundary) {
  const auto address = reinterpret_cast<std::uintptr_t>(in), first = address / boundary * boundary;
  return {reinterpret_cast<const uint4*>(first), (address + bytes - first + sizeof(uint4) - 1) / sizeof(uint4)};
}

/// A shape of read_only.
struct ReadShape {
  std::string name;
  void (*kernel)(const uint4*, std::size_t, unsigned*);
  int block, unroll;
  int blocks_per_sm;  ///< most blocks of the grid for each SM; 0: a block for every tile
};

template <int Block, int Unroll, class Load>
ReadShape read_shape(std::string name, int blocks_per_sm) {
  return {std::move(name), read_only<Block, Unroll, Load>, Block, Unroll, blocks_per_sm};
}

/// The extremes of what is fast: one or many loads in flight, a persistent grid or a block per tile, small blocks for
/// small inputs.
std::vector<ReadShape> read_shapes() {
  return {read_shape<512, 4, Cached>("read/512x4", 4),       read_shape<512, 4, PastL1>("read/512x4/past-l1", 4),
          read_shape<256, 8, Cached>("read/256x8/tiles", 0), read_shape<256, 8, PastL1>("read/256x8/tiles/past-l1", 0),
          read_shape<1024, 1, Cached>("read/1024x1", 2),     read_shape<128, 1, Cached>("read/128x1", 16)};
}

class ReadPlan final : public Plan {
 public:
  ReadPlan(ReadShape shape, std::size_t bytes, int sm_count) : shape_(std::move(shape)), bytes_(bytes) {
    const std::size_t vectors = bytes / sizeof(uint4) + 1, tile = std::size_t(shape_.block) * shape_.unroll;
    grid_ = (vectors + tile - 1) / tile;
    if (shape_.blocks_per_sm) grid_ = std::min<std::size_t>(grid_, std::size_t(shape_.blocks_per_sm) * sm_count);
    grid_ = std::min<std::size_t>(grid_, 0x7fffffff);
  }
  PlanInfo info() const override {
    return {.grid_blocks = grid_, .block_threads = static_cast<unsigned>(shape_.block)};
  }
  void enqueue(void* in, void* out, Stream s) override {
    const Vectors v = vectors_of(in, bytes_, sizeof(uint4));
    shape_.kernel<<<static_cast<unsigned>(grid_), shape_.block, 0, native(s)>>>(v.first, v.count,
                                                                               static_cast<unsigned*>(out));
    check(cudaGetLastError(), "launching a read-only kernel");
  }

 private:
  ReadShape shape_;
  std::size_t bytes_, grid_ = 1;
};

class ReadAndWritePlan final : public Plan {
 public:
  static constexpr int block = 256, unroll = 8;
  ReadAndWritePlan(std::size_t bytes, std::size_t written, std::size_t most_blocks) : bytes_(bytes), written_(written) {
    const std::size_t tile = std::size_t{block} * unroll, tiles = (bytes / sizeof(uint4) + tile) / tile;
    grid_ = std::min(tiles, most_blocks);
  }
  PlanInfo info() const override { return {.grid_blocks = grid_, .block_threads = block}; }
  void enqueue(void* in, void* out, Stream s) override {
    const Vectors v = vectors_of(in, bytes_, sizeof(uint4));
    read_and_write<block, unroll><<<static_cast<unsigned>(grid_), block, 0, native(s)>>>(
        v.first, v.count, static_cast<uint4*>(out), written_ / sizeof(uint4), written_ / sizeof(unsigned));
    check(cudaGetLastError(), "launching a kernel that reads and writes");
  }

 private:
  std::size_t bytes_, written_, grid_ = 1;
};

/// tuned/sum's launch for so many bytes of i32, without its finish: it keeps in L2 what tuned keeps, and in a graph its
/// launches overlap as tuned's do.
class ReadAsTunedPlan final : public Plan {
 public:
  ReadAsTunedPlan(std::size_t bytes, const DeviceInfo& info, std::uint64_t* claims, const tuned::Choice& choice = {})
      : bytes_(bytes), overlaps_(info.capability >= 90),
        shape_(tuned::launch_shape(bytes, tuned::FinishedBy::one_word, tuned::gpu_of(info), choice)),
        claims_(claims) {}
  PlanInfo info() const override { return {.grid_blocks = shape_.grid, .block_threads = shape_.block}; }
  void enqueue(void* in, void* out, Stream s) override {
    const Vectors v = vectors_of(in, bytes_, tuned::aligned_to(shape_.reading));
    const tuned::Share<unsigned> share{v.first, nullptr, nullptr, static_cast<std::int64_t>(v.count),
                                       static_cast<std::int64_t>(shape_.kept_bytes / sizeof(uint4)), 0, 0};
    device::Launch launch{shape_.grid, shape_.block, 0, s};
    launch.overlaps = overlaps_;
    auto* const sum = static_cast<unsigned*>(out);
    if (shape_.reading == tuned::Reading::claimed)
      device::launch<read_as_tuned<tuned::Claimed>>(launch, share, tuned::Claimed{claims_}, sum);
    else if (shape_.reading == tuned::Reading::tiled)
      device::launch<read_as_tuned<tuned::Tiled>>(launch, share, tuned::Tiled(), sum);
    else
      device::launch<read_as_tuned<tuned::Strided<256>>>(launch, share, tuned::Strided<256>(), sum);
  }

 private:
  std::size_t bytes_;
  bool overlaps_;
  tuned::LaunchShape shape_;
  std::uint64_t* claims_;
};

}  // namespace

std::unique_ptr<Plan> empty_kernel() { return std::make_unique<EmptyPlan>(); }

std::unique_ptr<Plan> polled_empty_kernel(std::uint64_t* arrival) { return std::make_unique<PolledEmptyPlan>(arrival); }

std::unique_ptr<Plan> spinning_kernel(std::uint64_t ns) { return std::make_unique<SpinPlan>(ns); }

void store_element(const ElementPlace& place, const ElementBytes& value, std::size_t bytes, Stream s) {
  const auto store = [&]<class Word>(Word word) {
    std::memcpy(&word, value.data(), sizeof word);
    store_word<Word><<<place.copies / 256 + 1, 256, 0, native(s)>>>(place, word);
  };
  if (bytes == 16) store(UInt128{});
  else if (bytes == 8) store(std::uint64_t{});
  else if (bytes == 4) store(std::uint32_t{});
  else if (bytes == 2) store(std::uint16_t{});
  else store(std::uint8_t{});
  check(cudaGetLastError(), "changing an element of the input");
}

std::vector<HarnessPlan> reading_kernels(std::size_t bytes, const DeviceInfo& gpu, std::uint64_t* claims) {
  std::vector<HarnessPlan> out;
  for (auto& shape : read_shapes())
    out.push_back({shape.name, std::make_unique<ReadPlan>(shape, bytes, gpu.sm_count)});
  out.push_back({"read/as-tuned", std::make_unique<ReadAsTunedPlan>(bytes, gpu, claims)});
  return out;
}

std::vector<HarnessPlan> reading_and_writing_kernels(std::size_t bytes, std::size_t written, const DeviceInfo& gpu) {
  const auto sms = static_cast<std::size_t>(gpu.sm_count);
  std::vector<HarnessPlan> out;
  out.push_back({"read-write/tiles", std::make_unique<ReadAndWritePlan>(bytes, written, 0x7fffffff)});
  out.push_back({"read-write/resident", std::make_unique<ReadAndWritePlan>(bytes, written, 8 * sms)});
  return out;
}

std::unique_ptr<Plan> reading_by_claims(std::size_t bytes, const DeviceInfo& gpu, std::uint64_t* claims) {
  return std::make_unique<ReadAsTunedPlan>(bytes, gpu, claims, tuned::Choice{true, tuned::Reading::claimed, 8, 2});
}

std::unique_ptr<Plan> reading_kernel(std::size_t bytes, int sm_count) {
  return std::make_unique<ReadPlan>(read_shapes().front(), bytes, sm_count);
}

}  // namespace reductio::cuda
