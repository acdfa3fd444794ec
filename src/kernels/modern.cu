/// modern: what CUDA and newer GPUs offer beyond the five documents, for learners: one idea in each kernel.
///
/// No document has these. Each is a small step from another one, named in its comment ("From ..."), so that
/// `reductio compare` of the two shows what the idea is worth.
///
///   modern/shuffle          the start: a grid-stride loop, warp shuffles, and a second launch for the blocks' sums
///   modern/warp-reduce      one instruction adds up a warp (i32; compute capability 8.0)
///   modern/vector-loads     a load takes 16 bytes
///   modern/loads-in-flight  a thread asks for several vectors before it uses the first
///   modern/cooperative      all blocks meet at a barrier, in place of the second launch
///   modern/fan-in           one block waits for the sums of the others, which say themselves that they are there
///   modern/packed-atomic    one atomic adds a sum and counts its block (i32)
///   modern/cluster          blocks that run side by side read each other's shared memory (compute capability 9.0)
///
/// cuda_only/modern_cuda.cu goes on with what else compute capability 9.0 brought: bulk copies.
///
///   shuffle --> vector-loads --> loads-in-flight --> cooperative --> fan-in
///      '--> warp-reduce                 |----------> packed-atomic, cluster
///                                       '----------> bulk-copy
///
/// grid=auto is two blocks for each SM, or one of 1024 threads, but no more than have something to load for each of
/// their threads. So up to 1024 threads are resident on an SM, and as each may then have 64 registers, all blocks are,
/// which `cooperative` needs. It is half of what an SM of many GPUs holds: so the loads that each thread has in flight
/// should tell.
///
/// `tuned` (src/tuned/tuned.h) is made of what proved useful.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cooperative_groups.h"
#include "device/device.h"
#include "device/grid_sync.h"
#include "strategies/slots.h"
#include "tuned/tuned.h"

namespace reductio {
namespace {
using namespace device;
namespace cg = cooperative_groups;

constexpr unsigned warp = 32, full_warp = 0xffffffffu;
/// Of a block. __launch_bounds__(most_threads, 1) asks that one such block fits on an SM, which has 65536 registers: so
/// the compiler gives a thread up to 64. Without the 1 it keeps to 32, for two blocks, and so to fewer loads in flight.
constexpr unsigned most_threads = 1024;

__device__ std::int64_t thread_of_grid() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::int64_t threads_of_grid() { return std::int64_t{gridDim.x} * blockDim.x; }

// ------------------------------------------------------------------------------------------- shuffle and warp-reduce

/// What one thread adds up where all threads of the grid take turns. Two blocks of two threads:
///
///   in: 0 1 0' 1' 0 1 0' 1' 0 1 0' 1'
///
/// Neighbours in a warp load neighbours in memory, so a warp's loads make one access of 128 bytes. The index is signed:
/// over an unsigned one, which may wrap, nvcc would not unroll this loop, and each load would wait for the one before.
/// It has 4 loads of floats under way, and 16 of integers, which it may add up in any order.
template <class T>
__device__ T sum_of_elements(const T* in, std::int64_t n) {
  T sum = 0;
  for (std::int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) sum += in[i];
  return sum;
}

/// Adds up one value of every lane of a warp; valid in lane 0. A shuffle hands a register from one lane to another: no
/// shared memory, and no barrier, since the lanes meet in the shuffle itself.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
struct Shuffles {
  template <class T>
  static __device__ T sum(T value) {
    for (unsigned distance = warp / 2; distance > 0; distance /= 2)
      value += __shfl_down_sync(full_warp, value, distance);
    return value;
  }
};

/// Adds up one value of every thread; valid in thread 0. Every warp adds up its lanes, then the first warp adds up the
/// warps, so the block meets once. Blocks are whole warps. Before it is called again the block has to pass a barrier.
template <class Warp = Shuffles, class T>
__device__ T sum_of_block(T value) {
  __shared__ T sums[most_threads / warp];
  const unsigned lane = threadIdx.x % warp, warps = blockDim.x / warp;
  value = Warp::template sum<T>(value);
  if (lane == 0) sums[threadIdx.x / warp] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  if (threadIdx.x < warp) value = Warp::template sum<T>(lane < warps ? sums[lane] : T(0));
  return value;
}

/// The start. Every block leaves one partial sum.
/// Launch: any grid, whole warps. Result: partials[b] of every block b.
template <class Warp, class T>
__global__ void __launch_bounds__(most_threads, 1)
    shuffle(const T* in, T* partials, std::int64_t n) {
  const T sum = sum_of_block<Warp>(sum_of_elements(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// What one thread adds up where a single block adds up the blocks' partial sums.
template <class T>
__device__ T sum_of_partials(const T* partials, unsigned count) {
  T sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
  return sum;
}

/// The end of all kernels that leave partial sums. A launch begins when the one before it has ended, so it is a barrier
/// for all blocks. What it costs does not depend on n: so it matters at small n.
/// Launch: 1 block of whole warps. Result: out[0].
template <class Warp, class T>
__global__ void __launch_bounds__(most_threads, 1)
    second_launch(const T* partials, T* out, unsigned count) {
  const T total = sum_of_block<Warp>(sum_of_partials(partials, count));
  if (threadIdx.x == 0) out[0] = total;
}

/// From shuffle: GPUs of compute capability 8.0 and later add up a warp's integers in one instruction in place of five
/// shuffles and five additions. A block has two such trees whatever n is, so this can matter at small n alone.
struct OneInstruction {
  template <class T>
  static __device__ T sum(T value) {
    return __reduce_add_sync(full_warp, value);
  }
};

// ---------------------------------------------------------------------------------- vector-loads and loads-in-flight

/// 16 bytes, the most that one load takes. Aligned to 16, as such a load wants its address.
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

/// An array as vectors: `head` elements lie before the first address that is a multiple of 16, then `whole` vectors,
/// and what lies from element `tail` on fills no vector.
///
///   . . 2 3   4 5 6 7   8 9 . .     n = 8 that begin at address 8: head 2, whole 1, tail 6
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

/// What one thread adds up of head and tail. Each has fewer elements than a vector, so one step takes both.
template <class T>
__device__ T sum_of_ends(const T* in, std::int64_t n, const Vectors<T>& vectors) {
  const std::int64_t thread = thread_of_grid();
  T sum = 0;
  if (thread < vectors.head) sum += in[thread];
  if (vectors.tail + thread < n) sum += in[vectors.tail + thread];
  return sum;
}

/// From shuffle: a load takes 16 bytes, so there are a quarter as many of them (of doubles half as many), and as many
/// times more bytes are under way. The compiler unrolls the loop as it sees fit.
/// Launch: any grid, whole warps. Result: partials[b] of every block b.
template <class T>
__global__ void __launch_bounds__(most_threads, 1)
    vector_loads(const T* in, T* partials, std::int64_t n) {
  const Vectors<T> vectors = as_vectors(in, n);
  T sum = sum_of_ends(in, n, vectors);
  for (std::int64_t i = thread_of_grid(); i < vectors.whole; i += threads_of_grid()) {
    const Vector<T> v = vectors.body[i];
    sum += sum_of_lanes(v);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// From vector-loads: the thread says itself how many loads are under way. It asks for `Loads` vectors, and only then
/// waits for the first. Memory answers after several hundred nanoseconds (`reductio probe` tells them), and gives its
/// full bandwidth only if enough bytes are asked for in that time: bandwidth x latency, shared among the SMs.
///
///   loads=1:  ask wait add  ask wait add         loads=2:  ask ask wait add add  ask ask wait add add
template <int Loads, class T>
__device__ T sum_of_vectors(const T* in, std::int64_t n) {
  const Vectors<T> vectors = as_vectors(in, n);
  const std::int64_t threads = threads_of_grid();
  T sum = sum_of_ends(in, n, vectors);
#pragma unroll 1  // the compiler would unroll further, and have more loads under way than this says
  for (std::int64_t i = thread_of_grid(); i < vectors.whole; i += Loads * threads) {
    Vector<T> loaded[Loads]{};  // zeros where there is no vector left: one loop takes the rest, too
#pragma unroll
    for (int k = 0; k < Loads; ++k)
      if (i + k * threads < vectors.whole) loaded[k] = vectors.body[i + k * threads];
#pragma unroll
    for (int k = 0; k < Loads; ++k) sum += sum_of_lanes(loaded[k]);
  }
  return sum;
}

/// Launch: any grid, whole warps. Result: partials[b] of every block b.
template <int Loads, class T>
__global__ void __launch_bounds__(most_threads, 1)
    loads_in_flight(const T* in, T* partials, std::int64_t n) {
  const T sum = sum_of_block(sum_of_vectors<Loads>(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// What the kernels that change the end have, for a thread of theirs to be like one of loads-in-flight by default.
constexpr int usual_loads = 4;

// --------------------------------------------------------------------------- cooperative, fan-in and packed-atomic

/// From loads-in-flight: one launch, and a barrier of all its blocks in place of the second. A block that waits at the
/// barrier keeps its place on the GPU, so all blocks have to fit there at once, which a cooperative launch promises or
/// refuses. All blocks pass the barrier, though only one continues.
/// Launch: cooperative, whole warps. Result: out[0].
template <class T>
__global__ void __launch_bounds__(most_threads, 1)
    cooperative(const T* in, T* out, std::int64_t n, T* partials) {
  const T sum = sum_of_block(sum_of_vectors<usual_loads>(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  // Every block's sum is stored before block 0 reads them; and its first warp has read the shared memory of the first
  // tree before the second one writes there.
  grid_sync();
  if (blockIdx.x != 0) return;
  const T total = sum_of_block(sum_of_partials<T>(partials, gridDim.x));
  if (threadIdx.x == 0) out[0] = total;
}

/// From cooperative: no barrier, since only one block needs the others' sums, and nobody needs to wait for it. Each
/// other block stores its sum in a slot together with a mark that the slot is full, and is done. The last block looks
/// at each slot until it is full, takes the sum, and leaves the slot empty for the next call. Sum and mark arrive
/// together (tuned::Message), so there is no fence and no atomic update.
///
///   slot:  empty -- a block stores (sum, full) --> full -- the last block has read it --> empty
///
/// It ends, because nobody but the last block waits, and only for blocks of its own launch, none of which waits for
/// anybody: each that gets a place on the GPU runs to its end and gives the place up. So the wait ends unless the
/// others never get a place. GPUs so far give places in the order of the block's number, so that when the last block
/// runs all others have run or are running. CUDA does not promise that; without it there still is progress as long as
/// the GPU holds one block beside those that wait, of which each kernel under way has one. And a slot is empty when a
/// call begins, because the last block of the call before has emptied it, and ended after that.
///
/// Launch: any grid, whole warps, empty slots. Result: out[0]; the slots are empty again.
template <class T>
__global__ void __launch_bounds__(most_threads, 1)
    fan_in(const T* in, T* out, std::int64_t n, strategies::Slots slots) {
  using Message = tuned::Message<T>;
  const unsigned last = gridDim.x - 1;

  T sum = sum_of_vectors<usual_loads>(in, n);
  if (blockIdx.x == last)
    for (unsigned slot = threadIdx.x; slot < last; slot += blockDim.x) {
      Message message;
      do message = slots.load<T>(slot);
      while (!strategies::is_full(message));
      slots.store(slot, Message{});
      sum += message.value();
    }
  sum = sum_of_block(sum);
  if (threadIdx.x != 0) return;
  if (blockIdx.x != last)
    slots.store(blockIdx.x, Message::of(sum));
  else
    out[0] = sum;
}

/// From loads-in-flight: one launch, one atomic of 64 bits for each block. Its high half adds the block's sum, its low
/// half counts the block:
///
///     sum of the blocks so far | blocks so far       atomicAdd(packed, sum << 32 | 1)
///
/// The atomic gives what was there before. Who finds all others counted also holds their sum: value and count come in
/// one word, so there is no fence and nothing else to read. That block puts the word back to zero for the next call.
/// What runs over the high half is dropped, as a sum modulo 2^32 drops it; the low half runs over into no sum, because
/// a grid has fewer than 2^32 blocks. The halves of a 64-bit addition are integers, so of floats each block's sum would
/// have to be written as one first, as tuned does it (tuned/digits.h).
///
/// Launch: any grid, whole warps, `packed` zero. Result: out[0]; `packed` is zero again.
__global__ void __launch_bounds__(most_threads, 1)
    packed_atomic(const std::uint32_t* in, std::uint32_t* out, std::int64_t n,
                  std::uint64_t* packed) {
  const std::uint32_t sum = sum_of_block(sum_of_vectors<usual_loads>(in, n));
  if (threadIdx.x != 0) return;
  const std::uint64_t before = atomicAdd(packed, std::uint64_t{sum} << 32 | 1);
  if (static_cast<std::uint32_t>(before) != gridDim.x - 1) return;
  out[0] = static_cast<std::uint32_t>(before >> 32) + sum;
  store_relaxed(packed, std::uint64_t{0});
}

// --------------------------------------------------------------------------------------------------------- cluster

/// From loads-in-flight: the blocks of a cluster run at the same time, on SMs that lie together, and may read each
/// other's shared memory ("distributed" shared memory). So a cluster adds up its blocks without a word in global
/// memory, and the second launch has an eighth of the sums to add. Where one cluster takes the whole input, there is no
/// second launch at all: up to 8 blocks, 2^14 floats in blocks of 512, are done in one launch that waits for nothing.
/// Launch: whole clusters, whole warps. Result: partials[c] of every cluster c.
template <class T>
__global__ void __launch_bounds__(most_threads, 1) cluster(const T* in, T* partials, std::int64_t n) {
  __shared__ T sum_of_this_block;
  const cg::cluster_group blocks = cg::this_cluster();
  const T sum = sum_of_block(sum_of_vectors<usual_loads>(in, n));
  if (threadIdx.x == 0) sum_of_this_block = sum;
  // Each block's sum is stored before the first block reads it. And each block has begun: until then its shared memory
  // is not there.
  blocks.sync();
  if (blocks.block_rank() == 0 && threadIdx.x < warp) {
    const unsigned lane = threadIdx.x;
    const T total =
        Shuffles::sum(lane < blocks.num_blocks() ? *blocks.map_shared_rank(&sum_of_this_block, lane) : T(0));
    if (lane == 0) partials[blockIdx.x / blocks.num_blocks()] = total;
  }
  blocks.sync();  // a block's shared memory goes away with it, so none leaves before the first block has read it
}

// ---------------------------------------------------------------------------------------------------- on the host

/// The most blocks that are resident at once for certain: of an SM's 65536 registers 64 for each thread, and 16 blocks,
/// as on the smallest of the GPUs that CUDA 13 knows.
std::size_t resident_blocks(unsigned block, const DeviceInfo& gpu) {
  return static_cast<std::size_t>(gpu.sm_count) * std::min(16u, most_threads / block);
}

/// The launch that the settings ask for, of threads that take `share` elements a load, in whole clusters. The longest
/// chain is that of a thread which takes one after the other, as all here do, and of its block.
PlanInfo shape(const Problem& p, const Settings& s, const DeviceInfo& gpu, std::size_t share, unsigned cluster = 1) {
  const unsigned block = s.count("block");
  const std::size_t two_per_sm = std::min(2 * static_cast<std::size_t>(gpu.sm_count), resident_blocks(block, gpu));
  const std::size_t blocks =
      s.text("grid") == "auto" ? std::min(blocks_for(p.n, block * share), two_per_sm) : s.count("grid");
  const std::size_t grid = ceil_div(blocks, cluster) * cluster;
  // Each vector is added up first, and then to the sum; head and tail are two more.
  const std::size_t thread = ceil_div(p.n, grid * block * share) + (share > 1 ? share + 2 : 0), trees = 5 + 5;
  return {.grid_blocks = grid, .block_threads = block, .longest_chain = thread + trees};
}

/// What adding up so many sums by one block adds to the chain: those of a thread, then the block's trees.
std::size_t chain_of_partials(std::size_t sums, unsigned block) { return ceil_div(sums, block) + 1 + 5 + 5; }

template <class T>
constexpr std::size_t lanes = Vector<T>::lanes;

/// The plan of a kernel that leaves partial sums to a second launch.
template <class Warp, class T>
std::unique_ptr<Plan> two_launches(void (*kernel)(const Launch&, const T*, T*, std::int64_t),
                                   const Problem& p, PlanInfo info) {
  const std::size_t n = p.n, grid = info.grid_blocks;
  const unsigned block = info.block_threads;
  const Buffer<T> partials(grid);
  info.longest_chain += chain_of_partials(grid, block);
  info.workspace_bytes = partials.bytes();
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    kernel({grid, block, 0, stream}, static_cast<const T*>(in), partials.ptr(), static_cast<std::int64_t>(n));
    launch<second_launch<Warp, T>>({1, block, 0, stream}, partials.ptr(), static_cast<T*>(out),
                                   static_cast<unsigned>(grid));
  });
}

std::unique_ptr<Plan> prepare_shuffle(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(
      p, [&]<class T>() { return two_launches<Shuffles, T>(launch<shuffle<Shuffles, T>>, p, shape(p, s, gpu, 1)); });
}

std::unique_ptr<Plan> prepare_warp_reduce(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  require_capability(gpu, 80);
  using T = std::uint32_t;
  return two_launches<OneInstruction, T>(launch<shuffle<OneInstruction, T>>, p, shape(p, s, gpu, 1));
}

std::unique_ptr<Plan> prepare_vector_loads(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(
      p, [&]<class T>() { return two_launches<Shuffles, T>(launch<vector_loads<T>>, p, shape(p, s, gpu, lanes<T>)); });
}

std::unique_ptr<Plan> prepare_loads_in_flight(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T>() {
    return for_block<1, 8>(s.count("loads"), [&]<unsigned Loads>() {
      return two_launches<Shuffles, T>(launch<loads_in_flight<Loads, T>>, p, shape(p, s, gpu, lanes<T>));
    });
  });
}

std::unique_ptr<Plan> prepare_cooperative(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T>() {
    PlanInfo info = shape(p, s, gpu, lanes<T>);
    const std::size_t n = p.n, grid = info.grid_blocks, most = resident_blocks(info.block_threads, gpu);
    const unsigned block = info.block_threads;
    if (grid > most)
      throw Refused("a cooperative launch has all blocks resident at once: choose grid=" + std::to_string(most) +
                    " or less");
    const Buffer<T> partials(grid);
    info.longest_chain += chain_of_partials(grid, block);
    info.workspace_bytes = partials.bytes();
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch_cooperative<cooperative<T>>({grid, block, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out),
                                         static_cast<std::int64_t>(n), partials.ptr());
    });
  });
}

std::unique_ptr<Plan> prepare_fan_in(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T>() {
    PlanInfo info = shape(p, s, gpu, lanes<T>);
    const std::size_t n = p.n, grid = info.grid_blocks;
    const unsigned block = info.block_threads;
    const auto words = zeroed_buffer<std::uint64_t>(tuned::Message<T>::words * grid);
    info.longest_chain += chain_of_partials(grid, block);
    info.workspace_bytes = words.bytes();
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<fan_in<T>>({grid, block, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out),
                        static_cast<std::int64_t>(n), strategies::Slots{words.ptr(), static_cast<unsigned>(grid)});
    });
  });
}

std::unique_ptr<Plan> prepare_packed_atomic(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  using T = std::uint32_t;
  PlanInfo info = shape(p, s, gpu, lanes<T>);
  const std::size_t n = p.n, grid = info.grid_blocks;
  const unsigned block = info.block_threads;
  const auto packed = zeroed_buffer<std::uint64_t>(1);
  info.longest_chain += grid;
  info.workspace_bytes = packed.bytes();
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    launch<packed_atomic>({grid, block, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out),
                          static_cast<std::int64_t>(n), packed.ptr());
  });
}

std::unique_ptr<Plan> prepare_cluster(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  require_capability(gpu, 90);
  return dispatch(p, [&]<class T>() {
    const unsigned blocks = s.count("cluster");
    PlanInfo info = shape(p, s, gpu, lanes<T>, blocks);
    const std::size_t n = p.n, grid = info.grid_blocks, clusters = grid / blocks;
    const unsigned block = info.block_threads;
    const Buffer<T> partials(clusters);
    info.longest_chain += 5 + (clusters > 1 ? chain_of_partials(clusters, block) : 0);  // 5: the cluster's tree
    info.workspace_bytes = partials.bytes();
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<cluster<T>>({grid, block, 0, stream, blocks}, static_cast<const T*>(in),
                         clusters == 1 ? static_cast<T*>(out) : partials.ptr(), static_cast<std::int64_t>(n));
      if (clusters > 1)
        launch<second_launch<Shuffles, T>>({1, block, 0, stream}, partials.ptr(), static_cast<T*>(out),
                                           static_cast<unsigned>(clusters));
    });
  });
}

const std::vector<ElementType> any_type{ElementType::f32, ElementType::f64, ElementType::i32};
const std::vector<ElementType> integers{ElementType::i32};

/// What all have in common, with what one has of its own. `state`: what a call leaves to the next one.
Variant modern(const Own& own, const std::vector<ElementType>& types, const std::string& state = "") {
  return combined({.kind = VariantKind::ours,
                   .own_experiment = "modern",
                   .how = {.thread = "grid stride", .block = "warp shuffles", .grid = "second launch"},
                   .operations = {Operation::sum},
                   .types = types,
                   .tunables = {Tunable::powers_of_two("block", warp, most_threads, 512),
                                Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "40"}, "auto")},
                   .persistent_state = state},
                  own);
}

const char* const by_vectors = "grid stride by 16 bytes";
const char* const by_four_vectors = "grid stride by 16 bytes, four loads";

const Register registered[] = {
    {modern({.id = "modern/shuffle", .title = "warp shuffles", .cites = "our own"}, any_type), prepare_shuffle},
    {modern({.id = "modern/warp-reduce",
             .title = "warp reduction in one instruction",
             .cites = "our own, from shuffle",
             .how = {.block = "warp reduction in one instruction"}},
            integers),
     prepare_warp_reduce},
    {modern({.id = "modern/vector-loads",
             .title = "16-byte loads",
             .cites = "our own, from shuffle",
             .how = {.thread = by_vectors}},
            any_type),
     prepare_vector_loads},
    {modern({.id = "modern/loads-in-flight",
             .title = "several loads in flight",
             .cites = "our own, from vector-loads",
             .how = {.thread = "grid stride by 16 bytes, several loads"},
             .tunables = {Tunable::powers_of_two("loads", 1, 8, usual_loads)},
             .compiled_in = "loads"},
            any_type),
     prepare_loads_in_flight},
    {modern({.id = "modern/cooperative",
             .title = "cooperative grid barrier",
             .cites = "our own, from loads-in-flight",
             .how = {.thread = by_four_vectors, .grid = "grid barrier"},
             .tunables = {Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "5"}, "auto")}},  // resident anywhere
            any_type),
     prepare_cooperative},
    {modern({.id = "modern/fan-in",
             .title = "fan-in",
             .cites = "our own, from cooperative",
             .how = {.thread = by_four_vectors, .grid = "fan-in over marked slots"}},
            any_type, "the blocks' slots, empty between calls"),
     prepare_fan_in},
    {modern({.id = "modern/packed-atomic",
             .title = "packed atomic",
             .cites = "our own, from loads-in-flight",
             .how = {.thread = by_four_vectors, .grid = "atomic of sum and count"}},
            integers, "the word of sum and count, zero when prepared and after each call"),
     prepare_packed_atomic},
    {modern({.id = "modern/cluster",
             .title = "thread-block cluster",
             .cites = "our own, from loads-in-flight",
             .how = {.thread = by_four_vectors, .grid = "clusters, second launch"},
             .tunables = {Tunable::integer("grid", 1, 0x7ffffff8, {"auto", "1", "40"}, "auto"),  // in whole clusters
                          Tunable::powers_of_two("cluster", 1, 8, 8)}},
            any_type),
     prepare_cluster}};

}  // namespace
}  // namespace reductio
