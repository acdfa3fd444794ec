#pragma once
/// One release of CUB and Thrust, from cccl_release.cu to cccl_releases.cu: plain functions, so that nothing else of
/// ours is compiled by the headers of two releases.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/types.h"

namespace reductio {

/// By CUB's convention: with a null `temporary` it only sets `bytes`. `in` is n elements, `out` the result.
using CubFunction = cudaError_t (*)(void* temporary, std::size_t& bytes, const void* in, void* out, std::size_t n,
                                cudaStream_t);
/// Rows or segments, each of which gets a sum.
struct CubLines {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  std::size_t length = 0, pitch = 0;  ///< of rows
  bool segments = false;              ///< else rows
  const std::int64_t* offsets = nullptr;
};
using CubLinesFunction = cudaError_t (*)(void* temporary, std::size_t& bytes, const CubLines&, cudaStream_t);
/// Blocks, and writes the result to `value` on the host. Throws DeviceError.
using ThrustFunction = void (*)(const void* in, std::size_t n, void* value, cudaStream_t);

/// A call for each element type; null: not compiled.
template <class Call>
struct ByType {
  static constexpr int types = static_cast<int>(ElementType::f64) + 1;
  Call calls[types]{};
  constexpr Call& operator[](ElementType t) { return calls[static_cast<int>(t)]; }
  constexpr Call operator[](ElementType t) const { return calls[static_cast<int>(t)]; }
};

struct CcclRelease {
  const char* name;               ///< "3.0.1", or what its user calls a checkout
  const char* toolkit = "";       ///< the CUDA toolkit that it shipped with: "13.0"; empty: a checkout
  int version = 0;                ///< CUB_VERSION: 300001; 0: this nvcc does not compile it
  bool takes_more_than_2_to_30 = false;  ///< elements
  bool lacks_libcudacxx = false;  ///< its wheel holds only a part, so the toolkit's is included
  ByType<CubFunction> sum{}, transform_reduce{};
  /// The sum by the interface that takes an environment, which demands less or more than the same bits on one GPU.
  /// Null: this release cannot, is known to be wrong, or takes the same kernels as without it.
  ByType<CubFunction> not_guaranteed{}, gpu_to_gpu{};
  ByType<ThrustFunction> reduce{};
  ByType<CubLinesFunction> by_offsets{}, by_fixed_size{};  ///< from 3.2 on
};

/// Registers a variant by offsets and, where there are such calls, one by a fixed size.
void register_segmented(const std::string& id, const std::string& fixed_id, const std::string& title,
                        const std::string& cites, const ByType<CubLinesFunction>& by_offsets,
                        const ByType<CubLinesFunction>& by_fixed_size, bool is_base);

/// Registers its variants.
struct RegisterCcclRelease {
  explicit RegisterCcclRelease(const CcclRelease&);
};

}  // namespace reductio
