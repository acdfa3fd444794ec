#pragma once
/// CUB's sums of rows and segments, as plain functions: of the toolkit's CUB and, once for each, of its releases
/// (cccl_release.cu). Include it behind CUB's own headers.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>

#include "baselines/cccl_release.h"

#ifdef THRUST_CUB_WRAPPED_NAMESPACE
namespace reductio::THRUST_CUB_WRAPPED_NAMESPACE {
namespace cub = ::THRUST_CUB_WRAPPED_NAMESPACE::cub;
#else
namespace reductio {
#endif

/// Where row `i` begins or ends, as an iterator.
struct RowOffsets {
  using value_type = std::int64_t;
  using reference = std::int64_t;
  using pointer = const std::int64_t*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::random_access_iterator_tag;
  std::int64_t pitch, at;
  __host__ __device__ std::int64_t operator*() const { return at; }
  __host__ __device__ std::int64_t operator[](std::ptrdiff_t i) const { return at + i * pitch; }
  __host__ __device__ RowOffsets operator+(std::ptrdiff_t i) const { return {pitch, at + i * pitch}; }
  __host__ __device__ RowOffsets& operator+=(std::ptrdiff_t i) {
    at += i * pitch;
    return *this;
  }
};

template <class T>
cudaError_t sum_by_offsets(void* temporary, std::size_t& bytes, const CubLines& l, cudaStream_t s) {
  const auto call = [&](auto begins, auto ends) {
    return cub::DeviceSegmentedReduce::Sum(temporary, bytes, static_cast<const T*>(l.in), static_cast<T*>(l.out),
                                           static_cast<std::int64_t>(l.count), begins, ends, s);
  };
  if (l.segments) return call(l.offsets, l.offsets + 1);
  const auto pitch = static_cast<std::int64_t>(l.pitch);
  return call(RowOffsets{pitch, 0}, RowOffsets{pitch, static_cast<std::int64_t>(l.length)});
}

#if CUB_VERSION >= 300200
constexpr bool has_fixed_size = true;
template <class T>
cudaError_t sum_by_fixed_size(void* temporary, std::size_t& bytes, const CubLines& l, cudaStream_t s) {
  return cub::DeviceSegmentedReduce::Sum(temporary, bytes, static_cast<const T*>(l.in), static_cast<T*>(l.out),
                                         static_cast<std::int64_t>(l.count), static_cast<int>(l.length), s);
}
#else
constexpr bool has_fixed_size = false;
template <class T>
constexpr CubLinesFunction sum_by_fixed_size = nullptr;
#endif

}  // namespace
