/// modern_cuda: what modern.cu does with compute capability 9.0, by PTX that nvcc alone takes.
///
///   modern/bulk-copy  the GPU copies whole tiles into shared memory while the threads add up the tile before
///
/// It is a small step from modern/loads-in-flight. The launch is that of modern.cu: grid=auto is two blocks for each
/// SM, but no more than have something to do. The start and the end, head and tail, shuffles and the second launch, are
/// those of modern.cu, and written there at leisure. They stand here again, in short: a header for both files would
/// take out of modern.cu what its first lessons are about, and there each stands in the order in which it is learned.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32, full_warp = 0xffffffffu;
constexpr unsigned most_threads = 1024;
constexpr int capability = 90;  // what the kernel here needs; for older GPUs it compiles to nothing and is refused

// ------------------------------------------------------------------------------------------------- as in modern.cu

// Not used in code for older GPUs, whose kernel is empty.
[[maybe_unused]] __device__ std::int64_t thread_of_grid() {
  return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
[[maybe_unused]] __device__ std::int64_t threads_of_grid() { return std::int64_t{gridDim.x} * blockDim.x; }

/// Valid in lane 0.
template <class T>
__device__ T sum_of_warp(T value) {
  for (unsigned distance = warp / 2; distance > 0; distance /= 2) value += __shfl_down_sync(full_warp, value, distance);
  return value;
}

/// Valid in thread 0. Blocks are whole warps.
template <class T>
__device__ T sum_of_block(T value) {
  __shared__ T sums[most_threads / warp];
  const unsigned lane = threadIdx.x % warp, warps = blockDim.x / warp;
  value = sum_of_warp(value);
  if (lane == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  if (threadIdx.x < warp) value = sum_of_warp(lane < warps ? sums[lane] : T(0));
  return value;
}

template <class T>
__global__ void __launch_bounds__(most_threads, 1) second_launch(const T* partials, T* out, unsigned count) {
  T sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[0] = sum;
}

template <class T>
struct __align__(16) Vector {
  static constexpr int lanes = 16 / sizeof(T);
  T lane[lanes];
};

template <class T>
__device__ T sum_of_lanes(const Vector<T>& v) {
  T sum = 0;
  for (int k = 0; k < Vector<T>::lanes; ++k) sum += v.lane[k];
  return sum;
}

/// `head` elements before the first multiple of 16 bytes, then `whole` vectors; the rest begins at element `tail`.
template <class T>
struct Vectors {
  const Vector<T>* body;
  std::int64_t head, whole, tail;
};

template <class T>
__device__ Vectors<T> as_vectors(const T* in, std::int64_t n) {
  constexpr std::int64_t lanes = Vector<T>::lanes;
  const std::int64_t to_boundary = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(in) % 16 / sizeof(T));
  const std::int64_t head = min(to_boundary, n), whole = (n - head) / lanes;
  return {reinterpret_cast<const Vector<T>*>(in + head), head, whole, head + whole * lanes};
}

template <class T>
__device__ T sum_of_ends(const T* in, std::int64_t n, const Vectors<T>& vectors) {
  const std::int64_t thread = thread_of_grid();
  T sum = 0;
  if (thread < vectors.head) sum += in[thread];
  if (vectors.tail + thread < n) sum += in[vectors.tail + thread];
  return sum;
}

// ------------------------------------------------------------------------------------------------------- bulk-copy

/// A tile of the input as it lies in shared memory.
constexpr unsigned tile_bytes = 16 * 1024, stages = 2;

#if __CUDA_ARCH__ >= 900
/// Where a copy reports: a barrier in shared memory that also counts bytes. It begins in phase 0. A phase is over when
/// thread 0 has arrived and all the bytes that it announced are there; then the next one begins. Who waits names the
/// phase by its parity, 0, 1, 0, ...: the wait for a phase that is over ends at once, and as nobody is ever two phases
/// behind, two names are enough.
struct CopyBarrier {
  std::uint64_t barrier;

  __device__ unsigned address() { return static_cast<unsigned>(__cvta_generic_to_shared(&barrier)); }

  /// By one thread, before anybody uses it.
  __device__ void begin() { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address()) : "memory"); }
  /// By one thread: announces `bytes` and asks for them. Both addresses and `bytes` are multiples of 16. The copy goes
  /// another way to shared memory than accesses of threads do, so a fence stands between what threads did there before
  /// (made the barrier begin, read the tile before) and the copy.
  __device__ void ask_for(const void* from, void* to, unsigned bytes) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(address())
                 : "memory");
  }
  /// By all threads: until the phase of this parity is over, and what was copied may be read.
  __device__ void wait(unsigned parity) {
    unsigned over = 0;
    while (!over)
      asm volatile(
          "{\n"
          ".reg .pred p;\n"
          "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n"
          "}\n"
          : "=r"(over)
          : "r"(address()), "r"(parity)
          : "memory");
  }
};
#endif

/// From loads-in-flight: what is under way has no registers. One thread of a block asks for a whole tile of 16 KB, the
/// GPU copies it into shared memory, and reports to a barrier on which the block waits. There is room for two tiles:
/// while the block adds up one, the other is under way.
///
///   room 0:  copy 0 | add 0 | copy 2 ....... | add 2
///   room 1:  copy 1 ....... | add 1 | copy 3 .......
///
/// Launch: any grid, whole warps; `stages` tiles of dynamic shared memory. Result: partials[b] of every block b.
template <class T>
__global__ void __launch_bounds__(most_threads, 1) bulk_copy(const T* in, T* partials, std::int64_t n) {
#if __CUDA_ARCH__ >= 900
  constexpr std::int64_t tile = tile_bytes / 16;  // vectors
  __shared__ CopyBarrier arrived[stages];
  extern __shared__ __align__(16) unsigned char raw[];
  Vector<T>* const room = reinterpret_cast<Vector<T>*>(raw);
  const Vectors<T> vectors = as_vectors(in, n);
  const std::int64_t tiles = (vectors.whole + tile - 1) / tile;

  /// This block's tiles are blockIdx.x, blockIdx.x + gridDim.x, ... The input's last tile may be smaller.
  const auto size_of_tile = [&](std::int64_t t) { return static_cast<unsigned>(min(tile, vectors.whole - t * tile)); };
  const auto ask_for = [&](std::int64_t t, unsigned stage) {
    if (t < tiles) arrived[stage].ask_for(vectors.body + t * tile, room + stage * tile, size_of_tile(t) * 16);
  };

  if (threadIdx.x == 0) {
    for (CopyBarrier& b : arrived) b.begin();
    for (unsigned s = 0; s < stages; ++s) ask_for(blockIdx.x + std::int64_t{s} * gridDim.x, s);
  }
  __syncthreads();  // the barriers have begun before another thread waits on them

  T sum = sum_of_ends(in, n, vectors);
  unsigned stage = 0, parity = 0;
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    arrived[stage].wait(parity);
    const unsigned size = size_of_tile(t);
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) sum += sum_of_lanes(room[stage * tile + i]);
    __syncthreads();  // the whole block has read this tile before the next copy overwrites it
    if (threadIdx.x == 0) ask_for(t + std::int64_t{stages} * gridDim.x, stage);
    if (++stage == stages) stage = 0, parity ^= 1;  // around once: each barrier is one phase further
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
#endif
}

// ------------------------------------------------------------------------------------------------------ on the host

/// The launch that the settings ask for, as in modern.cu; `share`: elements that a block takes at once.
PlanInfo shape(const Problem& p, const Settings& s, const DeviceInfo& gpu, std::size_t share) {
  const unsigned block = s.count("block");
  const std::size_t most = std::min(2u, most_threads / block) * static_cast<std::size_t>(gpu.sm_count);
  const std::size_t grid = s.text("grid") == "auto" ? std::min(blocks_for(p.n, share), most) : s.count("grid");
  return {.grid_blocks = grid, .block_threads = block};
}

/// What the start, of which each thread takes so many vectors one after the other, and `sums` partial sums at the end
/// make of the longest chain: vectors are added up first, and then to the sum; head and tail; two trees for each block.
std::size_t chain(std::size_t vectors, std::size_t lanes, std::size_t sums, unsigned block) {
  return vectors + lanes + 2 + 5 + 5 + (sums > 1 ? ceil_div(sums, block) + 1 + 5 + 5 : 0);
}

std::unique_ptr<Plan> prepare_bulk_copy(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  require_capability(gpu, capability);
  return dispatch(p, [&]<class T>() {
    constexpr std::size_t lanes = Vector<T>::lanes, tile = tile_bytes / 16;
    PlanInfo info = shape(p, s, gpu, tile * lanes);
    const std::size_t n = p.n, grid = info.grid_blocks;
    const unsigned block = info.block_threads;
    const Buffer<T> partials(grid);
    info.longest_chain = chain(ceil_div(n, grid * tile * lanes) * ceil_div(tile, block), lanes, grid, block);
    info.workspace_bytes = partials.bytes();
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<bulk_copy<T>>({grid, block, stages * tile_bytes, stream}, static_cast<const T*>(in), partials.ptr(),
                           static_cast<std::int64_t>(n));
      launch<second_launch<T>>({1, block, 0, stream}, partials.ptr(), static_cast<T*>(out),
                               static_cast<unsigned>(grid));
    });
  });
}

const Register registered({.id = "modern/bulk-copy",
                           .title = "bulk asynchronous copies",
                           .cites = "our own, from loads-in-flight",
                           .kind = VariantKind::ours,
                           .own_experiment = "modern",
                           .how = {.thread = "tiles of 16 KB, two under way",
                                   .block = "warp shuffles",
                                   .grid = "second launch"},
                           .operations = {Operation::sum},
                           .types = {ElementType::f32, ElementType::f64, ElementType::i32},
                           .tunables = {Tunable::powers_of_two("block", warp, most_threads, 512),
                                        Tunable::integer("grid", 1, 0x7ffffff8, {"auto", "1", "40"}, "auto")},
                           .cuda_only = "uses cp.async.bulk and mbarrier"},
                          prepare_bulk_copy);

}  // namespace
}  // namespace reductio
