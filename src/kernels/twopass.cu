/// twopass: blocks add up their share, a second pass adds up the blocks.
///
/// Document: `twopass`, a Chinese tutorial on unrolling loops ("循环展开"), sections "再看规约-两段规约" (two-pass
/// reduction) and the two on unrolling its second stage. int32; it measures nothing.
///
/// Its claims (T1 to T7): unrolling a loop makes it faster; unrolling the last warp saves its barriers and is safe, as
/// a warp runs in lock-step; unrolling everything at compile time is faster still; shifts are an optimisation over
/// division; the block must be a multiple of 32; finishing on the CPU is preferable to a second launch, in its opinion;
/// one kernel cannot finish alone, or could it?
///
///   twopass/rolled             the tree is a loop with a barrier at every level
///   twopass/warp-unrolled      the last 32 lanes are written out and need no block barrier
///   twopass/template-unrolled  the block size is a template parameter: every level is written out
///   twopass/multiple-of-32     rolled, in the blocks that the document asks for: wrong in most, and then never timed
///
/// finish=second-launch runs the kernel again as one block over the partial results; finish=host copies them,
/// finish=host-pinned into page-locked memory.
/// The document does not name its number of blocks. grid=auto takes what the GPU holds at once, and no more blocks
/// than have an element to read.
///
/// The document asks for blocks of a multiple of 32 threads (claim T7), but its tree needs a power of two: a level with
/// an odd number of sums leaves out the last one. A block of 96 loses the sums of 32 threads, and a second launch of
/// such a block loses those of every third block. twopass/multiple-of-32 shows it: it declares the fault, and
/// verification wants the sum of just the elements that are left. The other variants offer powers of two alone.
///
/// Mended: the last warp's lanes exchange values through volatile shared memory with no barrier at all, which since
/// Volta is a race: here they meet at __syncwarp() between reading and writing. Blocks of fewer than 64 threads read
/// past their memory there: here a lane's partner is lane ^ distance, the same as lane + distance for the lanes that
/// matter, and never outside. The template is instantiated for the block size; the document passes the number of
/// blocks, and its calls pass input and output the other way round from what the template declares. The shared array
/// whose size the launch states is `extern`, which the document leaves out and nvcc demands.
/// The loop counts with the document's `size_t` (index=document), which nvcc does not unroll.

#include <algorithm>
#include <bit>
#include <memory>

#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

constexpr unsigned warp = 32;

/// The first stage of all three kernels: each thread adds up every (G * B)-th element and leaves its sum in shared
/// memory. Two blocks of two threads:
///
///   in: 0 1 0' 1' 0 1 0' 1' 0 1 0' 1'
///
/// `threads` is the block's size, a constant where the caller knows it. Ends with a block barrier.
template <class T, class Load, class Index>
__device__ void load_sums(Input<T, Load> in, Index n, T* buffer, unsigned threads) {
  const Index block = threads, blocks = gridDim.x, bid = blockIdx.x, tid = threadIdx.x;
  const Index stride = block * blocks;
  T sum = 0;
  for (Index i = block * bid + tid; i < n; i += stride) sum += in[i];
  buffer[threadIdx.x] = sum;
  __syncthreads();  // every thread's sum is there before another thread reads it
}

/// The base: a tree in a loop, the stride halves.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Launch: any grid, a power of two from 1 as block, B elements of shared memory. Result: out[b] of every block b. With
/// another block, of the threads whose sums arrive() alone.
template <class T, class Load, class Index>
__global__ void rolled(Input<T, Load> in, T* out, Index n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* buffer = reinterpret_cast<T*>(raw);
  load_sums(in, n, buffer, blockDim.x);
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    if (threadIdx.x < distance) buffer[threadIdx.x] += buffer[threadIdx.x + distance];
    __syncthreads();  // this level is written before the next one reads it
  }
  if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

/// One level inside a warp, taken by all its lanes, without a condition:
///
///   a b c d  ->  a+c b+d c+a d+b      (distance 2)
///
/// The first `distance` lanes hold what the next level needs; the others do the same work for nothing.
template <class T>
__device__ void fold_warp(T* buffer, unsigned distance) {
  const T other = buffer[threadIdx.x ^ distance];
  __syncwarp();  // the partner has read this lane's value before it is overwritten
  buffer[threadIdx.x] += other;
  __syncwarp();  // this level is written before the next one reads it
}

/// From rolled: once 32 lanes are left they are one warp, so the last levels need no block barrier and no loop.
/// Launch: any grid, a power of two from 32 as block, B elements of shared memory. Result: out[b] of every block b.
template <class T, class Load, class Index>
__global__ void warp_unrolled(Input<T, Load> in, T* out, Index n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* buffer = reinterpret_cast<T*>(raw);
  load_sums(in, n, buffer, blockDim.x);
  for (unsigned distance = blockDim.x / 2; distance > warp; distance /= 2) {
    if (threadIdx.x < distance) buffer[threadIdx.x] += buffer[threadIdx.x + distance];
    __syncthreads();  // this level is written before the next one reads it
  }
  if (threadIdx.x < warp) {  // no block barrier follows, so the other warps may leave
    if (blockDim.x > warp) buffer[threadIdx.x] += buffer[threadIdx.x + warp];
    __syncwarp();  // the warp's 32 sums are there before another lane reads them
    fold_warp<T>(buffer, 16);
    fold_warp<T>(buffer, 8);
    fold_warp<T>(buffer, 4);
    fold_warp<T>(buffer, 2);
    fold_warp<T>(buffer, 1);
    if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
  }
}

/// One level of the block's tree with its barrier; nothing in blocks too small to have it.
template <unsigned Threads, unsigned Distance, class T>
__device__ void fold_block(T* buffer) {
  if constexpr (Threads >= 2 * Distance) {
    if (threadIdx.x < Distance) buffer[threadIdx.x] += buffer[threadIdx.x + Distance];
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// From warp-unrolled: the block size is a template parameter, so the compiler drops the levels that a block does not
/// have and the loop's bookkeeping with them.
/// Launch: any grid, Threads as block (a power of two from 1), as many elements of shared memory.
/// Result: out[b] of every block b.
template <class T, class Load, class Index, unsigned Threads>
__global__ void template_unrolled(Input<T, Load> in, T* out, Index n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* buffer = reinterpret_cast<T*>(raw);
  load_sums(in, n, buffer, Threads);
  fold_block<Threads, 512, T>(buffer);
  fold_block<Threads, 256, T>(buffer);
  fold_block<Threads, 128, T>(buffer);
  fold_block<Threads, 64, T>(buffer);
  if (threadIdx.x < warp) {  // no block barrier follows, so the other warps may leave
    if constexpr (Threads >= 64) buffer[threadIdx.x] += buffer[threadIdx.x + warp];
    __syncwarp();  // the warp's sums are there before another lane reads them
    if constexpr (Threads >= 32) fold_warp<T>(buffer, 16);
    if constexpr (Threads >= 16) fold_warp<T>(buffer, 8);
    if constexpr (Threads >= 8) fold_warp<T>(buffer, 4);
    if constexpr (Threads >= 4) fold_warp<T>(buffer, 2);
    if constexpr (Threads >= 2) fold_warp<T>(buffer, 1);
    if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
  }
}

/// grid=auto: as many blocks as the GPU holds at once and have an element to read.
std::size_t resident_blocks(std::size_t n, unsigned block, const DeviceInfo& gpu) {
  constexpr int most_blocks_per_sm = 32;
  const int blocks_per_sm = std::clamp(gpu.threads_per_sm / static_cast<int>(block), 1, most_blocks_per_sm);
  const std::size_t resident = static_cast<std::size_t>(gpu.sm_count) * static_cast<std::size_t>(blocks_per_sm);
  return std::clamp<std::size_t>(ceil_div(n, block), 1, resident);
}

/// Whether the first of `count` sums receives sum `at`, where each level of a tree adds the upper half to the lower.
bool arrives(std::size_t at, std::size_t count) {
  for (; count > 1; count /= 2) {
    const std::size_t half = count / 2;
    if (at == 2 * half) return false;  // the last of an odd number
    at %= half;
  }
  return true;
}

/// The fault of blocks that are no power of two.
KnownFault loses_sums(const Settings& s) {
  const unsigned block = s.count("block"), kept = std::bit_floor(block);
  if (block == kept) return {};
  return {.why = "block=" + std::to_string(block) + " is no power of two, so the tree leaves out the sums of " +
                 std::to_string(block - kept) + " of its threads",
          .keeps = [block, second_launch = !finishes_on_host(s)](std::size_t i, const PlanInfo& info) {
            return arrives(i % block, block) &&
                   (!second_launch || arrives(i / block % info.grid_blocks % block, block));
          }};
}

const Variant shared{
    .kind = VariantKind::document, .how = {.thread = "grid stride", .grid = "second launch or host"},
    .operations = {Operation::sum, Operation::sum_of_squares},
    .types = {ElementType::i32, ElementType::f32, ElementType::f64},
    .tunables = {Tunable::powers_of_two("block", 1, 1024, 256),
                 Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "40"}, "auto"),
                 Tunable::choice("finish", {"second-launch", "host", "host-pinned"}, "second-launch"), loop_index()}};

const SumShape shape{.finish = Finish::second_launch, .threads_per_shared_element = 1, .grid = resident_blocks,
                     .document_index = "u64"};

const Register registered[] = {
    sum_kernel(combined(shared, {.id = "twopass/rolled", .title = "two-pass, rolled",
                                 .cites = "twopass, two-pass reduction", .how = {.block = "tree, stride halves"}}),
               shape, []<class T, class Load, class Index>() { return launch<rolled<T, Load, Index>>; }),
    sum_kernel(combined(shared, {.id = "twopass/warp-unrolled", .title = "two-pass, warp unrolled",
                                 .cites = "twopass, unrolling of the second stage",
                                 .how = {.block = "tree, stride halves, last warp unrolled"},
                                 .tunables = {Tunable::powers_of_two("block", 32, 1024, 256)}}),
               shape, []<class T, class Load, class Index>() { return launch<warp_unrolled<T, Load, Index>>; }),
    sum_kernel(combined(shared, {.id = "twopass/template-unrolled", .title = "two-pass, unrolled by template",
                                 .cites = "twopass, further unrolling of the second stage",
                                 .how = {.block = "tree, stride halves, unrolled by template"},
                                 .compiled_in = "every block"}),
               shape, []<class T, class Load, class Index>(const Settings& s) {  // the document's switch over the sizes
                 return for_block<1, 1024>(s.count("block"), []<unsigned Threads>() {
                   return launch<template_unrolled<T, Load, Index, Threads>>;
                 });
               }),
    sum_kernel(combined(shared, {.id = "twopass/multiple-of-32", .title = "two-pass, block a multiple of 32",
                                 .cites = "twopass, two-pass reduction, its first note",
                                 .how = {.block = "tree, stride halves, loses sums unless the block is a power of two"},
                                 .tunables = {Tunable::choice("block", {"32", "64", "96", "128", "160", "192", "224",
                                                                        "256", "512", "768", "1024"}, "96")},
                                 .known_fault = loses_sums}),
               shape, []<class T, class Load, class Index>() { return launch<rolled<T, Load, Index>>; })};

}  // namespace
}  // namespace reductio
