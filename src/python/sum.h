#pragma once
/// tuned's sum for callers that know the element's type at run time.

#include <cstddef>
#include <cstdint>

#include "core/types.h"

namespace reductio {

/// Puts one call onto `stream` of the current GPU: out[0] = in[0] + ... + in[n - 1], both in GPU memory. `type`: one of
/// plugin.h's. The workspace of a stream is allocated at its first call and kept. Throws UsageError for an unknown type
/// and in a build without CUDA, DeviceError where CUDA fails.
void sum_on_gpu(std::uint32_t type, const void* in, std::size_t n, void* out, void* stream);
/// The same of the exact sum, sum of squares or moments, rounded once (exact/exact.h), of f32 and f64. Moments are
/// both, out[0] and out[1], from one read.
void exact_on_gpu(Operation, std::uint32_t type, const void* in, std::size_t n, void* out, void* stream);

/// What is added up along an axis.
enum class Along : std::uint32_t { sum, squares, exact_sum };
/// The same along the middle of (outer, n, inner): `outer` times `inner` sums. `pitch`: elements from row to row, or
/// where `inner` is 1 from one sum's first to the next one's. Squares of floats; exact sums of f32 and f64.
void along_axis_on_gpu(Along, std::uint32_t type, const void* in, std::size_t outer, std::size_t n, std::size_t inner,
                       std::size_t pitch, void* out, void* stream);

}  // namespace reductio
