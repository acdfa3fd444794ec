#pragma once
/// Thread level: what one thread adds up before the threads of its block meet. Each level is a class with
///
///   name, words       as an id and as a listing have it
///   load_bytes        of one load
///   loops             whether a thread takes as many elements as the grid leaves it; else one, and the grid grows by n
///   longest_chain(n, threads)   additions, at most, of an element inside its thread
///   sum<T>(in, n)     what the calling thread adds up of n elements
///
/// The pictures show in which order two blocks of two threads take elements. Every loop stays a loop: a level has as
/// many loads in flight as it says, not as many as the compiler unrolls to.

#include <cstddef>
#include <cstdint>

#include "device/kernel.h"
#include "tuned/tuned.h"

namespace reductio::strategies {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::ceil_div;

/// The calling thread's number in the grid, and how many there are. Signed, as n is: an index need not wrap.
__device__ inline std::int64_t grid_thread() { return std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t grid_threads() { return std::int64_t{gridDim.x} * blockDim.x; }

/// One element for each thread.
///
///   in: 0 1 0' 1'
struct OneLoad {
  static constexpr const char *name = "one-load", *words = "one load";
  static constexpr unsigned load_bytes = 4;
  static constexpr bool loops = false;
  static std::size_t longest_chain(std::size_t, std::size_t) { return 1; }
  template <class T>
  static __device__ T sum(const T* in, std::int64_t n) {
    const std::int64_t i = grid_thread();
    T x = 0;
    if (i < n) x = in[i];
    return x;
  }
};

/// Elements one grid apart: at each step the grid reads one contiguous stretch.
///
///   in: 0 1 0' 1' 0 1 0' 1' 0 1 0' 1'
struct GridStride {
  static constexpr const char *name = "grid-stride", *words = "grid stride";
  static constexpr unsigned load_bytes = 4;
  static constexpr bool loops = true;
  static std::size_t longest_chain(std::size_t n, std::size_t threads) { return ceil_div(n, threads); }
  template <class T>
  static __device__ T sum(const T* in, std::int64_t n) {
    const std::int64_t stride = grid_threads();
    T sum = 0;
#pragma unroll 1
    for (std::int64_t i = grid_thread(); i < n; i += stride) sum += in[i];
    return sum;
  }
};

/// Elements one block apart: each block reads a contiguous chunk of whole steps. Its length takes a division, which the
/// other levels do not need.
///
///   in: 0 1 0 1 0 1 0' 1' 0' 1' 0' 1'
struct LocalStride {
  static constexpr const char *name = "local-stride", *words = "local stride";
  static constexpr unsigned load_bytes = 4;
  static constexpr bool loops = true;
  static std::size_t longest_chain(std::size_t n, std::size_t threads) { return ceil_div(n, threads); }
  template <class T>
  static __device__ T sum(const T* in, std::int64_t n) {
    const std::int64_t threads = grid_threads(), steps = (n + threads - 1) / threads;
    const std::int64_t begin = steps * blockDim.x * blockIdx.x, end = min(n, begin + steps * blockDim.x);
    T sum = 0;
#pragma unroll 1
    for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) sum += in[i];
    return sum;
  }
};

/// From GridStride: four loads in flight. The rest is taken one by one.
struct Unrolled4 {
  static constexpr const char *name = "unrolled-4", *words = "grid stride, unrolled by 4";
  static constexpr unsigned load_bytes = 4;
  static constexpr bool loops = true;
  static std::size_t longest_chain(std::size_t n, std::size_t threads) { return ceil_div(n, threads); }
  template <class T>
  static __device__ T sum(const T* in, std::int64_t n) {
    const std::int64_t stride = grid_threads();
    std::int64_t i = grid_thread();
    T sum = 0;
#pragma unroll 1
    for (; i + 3 * stride < n; i += 4 * stride) {
      const T a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
      sum += a;
      sum += b;
      sum += c;
      sum += d;
    }
#pragma unroll 1
    for (; i < n; i += stride) sum += in[i];
    return sum;
  }
};

/// From GridStride: 16 bytes a load, `InFlight` of them in flight. The elements before the first multiple of 16 bytes
/// and behind the last whole vector are fewer than a vector holds; the grid's first threads take one each.
template <int InFlight>
struct VectorsInFlight {
  static constexpr const char* name = InFlight == 1 ? "vectors" : "vectors-4";
  static constexpr const char* words =
      InFlight == 1 ? "grid stride by 16 bytes" : "grid stride by 16 bytes, four loads in flight";
  static_assert(InFlight == 1 || InFlight == 4, "name it");
  static constexpr unsigned load_bytes = 16;
  static constexpr bool loops = true;
  /// A vector of four is added up in a tree; then the vectors, and an element at each odd end.
  static std::size_t longest_chain(std::size_t n, std::size_t threads) { return 2 + ceil_div(n, 4 * threads) + 2; }
  template <class T>
  static __device__ T sum(const T* in, std::int64_t n) {
    constexpr std::int64_t lanes = tuned::Vector<T>::lanes;
    const std::int64_t thread = grid_thread(), stride = grid_threads();
    const std::int64_t before = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(in) % 16 / sizeof(T));
    const std::int64_t head = min(before, n), whole = (n - head) / lanes, tail = head + whole * lanes;
    const uint4* const body = reinterpret_cast<const uint4*>(in + head);

    T sum = 0;
    if (thread < head) sum += in[thread];
    if (tail + thread < n) sum += in[tail + thread];
    std::int64_t i = thread;
    if constexpr (InFlight == 4) {
#pragma unroll 1
      for (; i + 3 * stride < whole; i += 4 * stride) {
        const uint4 a = __ldg(body + i), b = __ldg(body + (i + stride)), c = __ldg(body + (i + 2 * stride)),
                    d = __ldg(body + (i + 3 * stride));
        sum += sum_of<T>(a);
        sum += sum_of<T>(b);
        sum += sum_of<T>(c);
        sum += sum_of<T>(d);
      }
    }
#pragma unroll 1
    for (; i < whole; i += stride) sum += sum_of<T>(__ldg(body + i));
    return sum;
  }

 private:
  template <class T>
  static __device__ T sum_of(const uint4& vector) {
    return tuned::sum_of_vector<T, T, device::Identity, T>(vector);
  }
};
using Vectors = VectorsInFlight<1>;
using Vectors4 = VectorsInFlight<4>;

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::strategies
