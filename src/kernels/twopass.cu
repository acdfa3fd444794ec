/// twopass: blocks add up their share, a second pass adds up the blocks.
///
/// Document: `twopass`, a Chinese tutorial on unrolling loops ("循环展开"), sections "再看规约-两段规约" (two-pass
/// reduction) and the two on unrolling its second stage. int32; it measures nothing.
///
/// Its claim: unrolling the last warp saves its barriers, unrolling everything at compile time is faster still, and
/// finishing on the CPU is preferable to a second launch.
///
///   twopass/rolled             the tree is a loop with a barrier at every level
///   twopass/warp-unrolled      the last 32 lanes are written out and need no block barrier
///   twopass/template-unrolled  the block size is a template parameter: every level is written out
///
/// finish=second-launch runs the kernel again as one block over the partial results; finish=host copies them,
/// finish=host-pinned into page-locked memory.
/// The document does not name its number of blocks. grid=auto takes what the GPU holds at once, and no more blocks
/// than have an element to read.
///
/// Mended: the block size has to be a power of two (the document: a multiple of 32, with which its tree loses
/// elements). The last warp's lanes exchange values through shared memory with no barrier at all, which since Volta is
/// a race: here they meet at __syncwarp() between reading and writing. Blocks of fewer than 64 threads read past their
/// memory there: here a lane's partner is lane ^ distance, the same as lane + distance for the lanes that matter, and
/// never outside. The template is instantiated for the block size; the document passes the number of blocks.

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
template <class T, class Load>
__device__ void load_sums(GlobalPtr<const T> in, std::size_t n, SharedPtr<T> buffer, unsigned threads) {
  const std::size_t stride = std::size_t{threads} * gridDim.x;
  T sum = 0;
  for (std::size_t i = std::size_t{threads} * blockIdx.x + threadIdx.x; i < n; i += stride) sum += Load{}(T(in[i]));
  buffer[threadIdx.x] = sum;
  __syncthreads();  // every thread's sum is there before another thread reads it
}

/// The base: a tree in a loop, the stride halves.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .
///
/// Launch: any grid, a power of two from 1 as block, B elements of shared memory. Result: out[b] of every block b.
template <class T, class Load>
__global__ void rolled(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> buffer = shared_memory<T>();
  load_sums<T, Load>(in, n, buffer, blockDim.x);
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
__device__ void fold_warp(SharedPtr<T> buffer, unsigned distance) {
  const T other = buffer[threadIdx.x ^ distance];
  __syncwarp();  // the partner has read this lane's value before it is overwritten
  buffer[threadIdx.x] += other;
  __syncwarp();  // this level is written before the next one reads it
}

/// From rolled: once 32 lanes are left they are one warp, so the last levels need no block barrier and no loop.
/// Launch: any grid, a power of two from 32 as block, B elements of shared memory. Result: out[b] of every block b.
template <class T, class Load>
__global__ void warp_unrolled(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> buffer = shared_memory<T>();
  load_sums<T, Load>(in, n, buffer, blockDim.x);
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
__device__ void fold_block(SharedPtr<T> buffer) {
  if constexpr (Threads >= 2 * Distance) {
    if (threadIdx.x < Distance) buffer[threadIdx.x] += buffer[threadIdx.x + Distance];
    __syncthreads();  // this level is written before the next one reads it
  }
}

/// From warp-unrolled: the block size is a template parameter, so the compiler drops the levels that a block does not
/// have and the loop's bookkeeping with them.
/// Launch: any grid, Threads as block (a power of two from 1), as many elements of shared memory.
/// Result: out[b] of every block b.
template <class T, class Load, unsigned Threads>
__global__ void template_unrolled(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> buffer = shared_memory<T>();
  load_sums<T, Load>(in, n, buffer, Threads);
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

/// The document's switch from a block size known at run time to one known at compile time.
template <class T, class Load, class... Args>
void launch_template_unrolled(const Launch& l, Args... args) {
  switch (l.block) {
    case 1: return launch<template_unrolled<T, Load, 1>>(l, args...);
    case 2: return launch<template_unrolled<T, Load, 2>>(l, args...);
    case 4: return launch<template_unrolled<T, Load, 4>>(l, args...);
    case 8: return launch<template_unrolled<T, Load, 8>>(l, args...);
    case 16: return launch<template_unrolled<T, Load, 16>>(l, args...);
    case 32: return launch<template_unrolled<T, Load, 32>>(l, args...);
    case 64: return launch<template_unrolled<T, Load, 64>>(l, args...);
    case 128: return launch<template_unrolled<T, Load, 128>>(l, args...);
    case 256: return launch<template_unrolled<T, Load, 256>>(l, args...);
    case 512: return launch<template_unrolled<T, Load, 512>>(l, args...);
    case 1024: return launch<template_unrolled<T, Load, 1024>>(l, args...);
  }
}

/// The number of blocks: as told, or for "auto" as many as the GPU holds at once and have an element to read.
std::size_t grid_for(const Settings& s, unsigned block, std::size_t n, const DeviceInfo& gpu) {
  if (s.text("grid") != "auto") return static_cast<std::size_t>(s.integer("grid"));
  constexpr int most_blocks_per_sm = 32;
  const int blocks_per_sm = std::clamp(gpu.threads_per_sm / static_cast<int>(block), 1, most_blocks_per_sm);
  const std::size_t resident = static_cast<std::size_t>(gpu.sm_count) * static_cast<std::size_t>(blocks_per_sm);
  return std::clamp<std::size_t>(ceil_div(n, block), 1, resident);
}

/// Makes the preparation of one kernel, which `start` launches.
template <class Start>
Prepare preparation(Start start) {
  return [=](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
    return dispatch(p, [&]<class T, class Load>() {
      const std::size_t n = p.n;
      const unsigned block = static_cast<unsigned>(s.integer("block"));
      const std::size_t grid = grid_for(s, block, n, gpu), shared_bytes = block * sizeof(T);
      const Buffer<T> partials(grid);
      const auto first_pass = [=](void* in, Stream stream) {
        const Launch shape{grid, block, shared_bytes, stream};
        start(Types<T, Load>{}, shape, global<const T>(in, n), partials.ptr(), n);
      };

      const std::size_t tree = std::countr_zero(block);
      const std::size_t first_chain = (p.operation == Operation::sum_of_squares) + ceil_div(n, grid * block) + tree;
      PlanInfo info{grid, block, first_chain, partials.bytes()};
      if (finishes_on_host(s.text("finish"))) {
        info.longest_chain += grid;
        info.result = ResultLocation::host_part;
        return plan_of(
            info, [=](void* in, void*, Stream stream) { first_pass(in, stream); }, AddOnHost<T>(partials, s.text("finish")));
      }
      info.longest_chain += ceil_div(grid, block) + tree;
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        first_pass(in, stream);
        const Launch shape{1, block, shared_bytes, stream};
        const GlobalPtr<const T> sums = partials.ptr();  // not squared again
        start(Types<T, Identity>{}, shape, sums, global<T>(out, 1), grid);
      });
    });
  };
}

/// What the three variants have in common.
Variant variant(std::string id, std::string title, std::string cites, std::string tree, unsigned smallest_block) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(cites),
          .how = {"grid stride", std::move(tree), "second launch or host"},
          .operations = {Operation::sum, Operation::sum_of_squares},
          .types = {ElementType::i32, ElementType::f32, ElementType::f64},
          .tunables = {Tunable::powers_of_two("block", smallest_block, 1024, 256),
                       Tunable::integer("grid", 1, 0x7fffffff, {"auto", "1", "40"}, "auto"),
                       Tunable::choice("finish", {"second-launch", "host", "host-pinned"}, "second-launch")}};
}

const Register register_rolled(
    variant("twopass/rolled", "two-pass, rolled", "twopass, two-pass reduction", "tree, stride halves", 1),
    preparation([]<class T, class Load>(Types<T, Load>, const auto&... args) { launch<rolled<T, Load>>(args...); }));
const Register register_warp_unrolled(variant("twopass/warp-unrolled", "two-pass, warp unrolled",
                                              "twopass, unrolling of the second stage",
                                              "tree, stride halves, last warp unrolled", 32),
                                      preparation([]<class T, class Load>(Types<T, Load>, const auto&... args) {
                                        launch<warp_unrolled<T, Load>>(args...);
                                      }));
const Register register_template_unrolled(variant("twopass/template-unrolled", "two-pass, unrolled by template",
                                                  "twopass, further unrolling of the second stage",
                                                  "tree, stride halves, unrolled by template", 1),
                                          preparation([]<class T, class Load>(Types<T, Load>, const auto&... args) {
                                            launch_template_unrolled<T, Load>(args...);
                                          }));

}  // namespace
}  // namespace reductio
