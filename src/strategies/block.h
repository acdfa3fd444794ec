#pragma once
/// Block level: how the threads of a block add up one value each. Each level is a class with
///
///   name, words              as an id and as a listing have it
///   shared_elements(block)   of dynamic shared memory, for a block of so many threads
///   sum<T>(value)            of all threads of the block; valid in thread 0
///
/// The block is a power of two from 32. Every thread calls sum(), and between two calls the block passes a barrier,
/// since both use the same memory. An element meets log2(block) additions.

#include <cstddef>

#include "device/kernel.h"

namespace reductio::strategies {
inline namespace REDUCTIO_DEVICE_NAMESPACE {


inline constexpr unsigned warp = 32;

/// Neighbours are added up; at each level half of the working threads of every warp drop out.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 2, then thread 0)
struct Neighbored {
  static constexpr const char *name = "neighbored", *words = "tree, stride doubles";
  static constexpr std::size_t shared_elements(unsigned block) { return block; }
  template <class T>
  static __device__ T sum(T value) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* const sums = reinterpret_cast<T*>(raw);
    sums[threadIdx.x] = value;
    __syncthreads();  // every thread's value is there before another thread reads it
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
      if ((threadIdx.x & (2 * stride - 1)) == 0) sums[threadIdx.x] += sums[threadIdx.x + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    return sums[0];
  }
};

/// From Neighbored: the same pairs, but the first threads take them, so that whole warps drop out. Their words lie
/// 2 * stride apart, so several lanes want the same bank.
///
///   a b c d  ->  a+b . c+d .  ->  a+b+c+d . . .      (threads 0 and 1, then thread 0)
struct NeighboredLess {
  static constexpr const char *name = "neighbored-less", *words = "tree, stride doubles, consecutive threads";
  static constexpr std::size_t shared_elements(unsigned block) { return block; }
  template <class T>
  static __device__ T sum(T value) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* const sums = reinterpret_cast<T*>(raw);
    sums[threadIdx.x] = value;
    __syncthreads();  // every thread's value is there before another thread reads it
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
      const unsigned at = 2 * stride * threadIdx.x;
      if (at < blockDim.x) sums[at] += sums[at + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    return sums[0];
  }
};

/// From NeighboredLess: the stride halves, so that neighbouring threads touch neighbouring words, each in its own bank.
///
///   a b c d  ->  a+c b+d . .  ->  a+c+b+d . . .      (threads 0 and 1, then thread 0)
struct Interleaved {
  static constexpr const char *name = "interleaved", *words = "tree, stride halves";
  static constexpr std::size_t shared_elements(unsigned block) { return block; }
  template <class T>
  static __device__ T sum(T value) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* const sums = reinterpret_cast<T*>(raw);
    sums[threadIdx.x] = value;
    __syncthreads();  // every thread's value is there before another thread reads it
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
      if (threadIdx.x < stride) sums[threadIdx.x] += sums[threadIdx.x + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    return sums[0];
  }
};

/// From Interleaved: the last 32 values are one warp's, so the last levels need no block barrier and no loop. All lanes
/// work without a condition; some for nothing.
///
///   a b c d  ->  a+c b+d c+a d+b      (distance 2)
struct LastWarp {
  static constexpr const char *name = "last-warp", *words = "tree, stride halves, last warp unrolled";
  static constexpr std::size_t shared_elements(unsigned block) { return block; }
  template <class T>
  static __device__ T sum(T value) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* const sums = reinterpret_cast<T*>(raw);
    sums[threadIdx.x] = value;
    __syncthreads();  // every thread's value is there before another thread reads it
    for (unsigned stride = blockDim.x / 2; stride > warp; stride /= 2) {
      if (threadIdx.x < stride) sums[threadIdx.x] += sums[threadIdx.x + stride];
      __syncthreads();  // this level is written before the next one reads it
    }
    if (threadIdx.x < warp) {
      if (blockDim.x > warp) sums[threadIdx.x] += sums[threadIdx.x + warp];
      __syncwarp();  // the warp's sums are there before another lane reads them
      fold<T>(sums, 16);
      fold<T>(sums, 8);
      fold<T>(sums, 4);
      fold<T>(sums, 2);
      fold<T>(sums, 1);
      value = sums[threadIdx.x];
    }
    return value;
  }

 private:
  template <class T>
  static __device__ void fold(T* sums, unsigned distance) {
    const T other = sums[threadIdx.x ^ distance];
    __syncwarp();  // the partner has read this lane's value before it is overwritten
    sums[threadIdx.x] += other;
    __syncwarp();  // this level is written before the next one reads it
  }
};

/// Through registers, in two levels: every warp adds up its lanes, then the first warp the warps. One block barrier
/// instead of one a level.
struct Shuffle {
  static constexpr const char *name = "shuffle", *words = "warp shuffles";
  static constexpr std::size_t shared_elements(unsigned block) { return block / warp; }
  template <class T>
  static __device__ T sum(T value) {
    extern __shared__ __align__(16) unsigned char raw[];
    T* const sums = reinterpret_cast<T*>(raw);
    const unsigned lane = threadIdx.x % warp, warps = blockDim.x / warp;
    value = sum_of_warp(value);
    if (lane == 0) sums[threadIdx.x / warp] = value;
    __syncthreads();  // every warp's sum is there before the first warp reads them
    if (threadIdx.x < warp) {
      value = 0;
      if (lane < warps) value = sums[lane];
      value = sum_of_warp(value);
    }
    return value;
  }

 private:
  template <class T>
  static __device__ T sum_of_warp(T value) {
    for (unsigned distance = warp / 2; distance > 0; distance /= 2)
      value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::strategies
