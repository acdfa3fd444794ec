#include "python/sum.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "tuned/prepared.h"
#define REDUCTIO_WITHOUT_MACROS
#include "plugin/include/reductio/plugin.h"

namespace reductio {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status));
}

/// Of one stream of one GPU. Workspaces are never freed: the stream may outlive whoever would free them.
struct Prepared {
  tuned::Gpu gpu;
  std::uint64_t *workspace = nullptr, *along = nullptr, *exactly_along = nullptr;
};

/// Allocates a workspace at its first use.
std::uint64_t* zeros_for(std::uint64_t*& kept, std::size_t words, void* stream) {
  if (kept) return kept;
  std::uint64_t* workspace = nullptr;
  check(cudaMalloc(&workspace, words * sizeof(std::uint64_t)), "allocating the workspace of a stream");
  check(cudaMemsetAsync(workspace, 0, words * sizeof(std::uint64_t), static_cast<cudaStream_t>(stream)),
        "clearing the workspace of a stream");
  return kept = workspace;
}

/// With the workspace for `along`; null: that of one sum.
Prepared prepared(void* stream, const Along* along = nullptr) {
  static std::mutex mutex;
  static std::map<std::pair<int, void*>, Prepared> all;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  const std::lock_guard lock(mutex);
  Prepared& p = all[{device, stream}];
  if (p.gpu.sm_count == 0) p.gpu = tuned::current_gpu();
  if (!along)
    zeros_for(p.workspace, tuned::workspace_words, stream);
  else if (*along == Along::exact_sum)
    zeros_for(p.exactly_along, tuned::exact_axis_workspace_words(p.gpu), stream);
  else
    zeros_for(p.along, tuned::axis_workspace_words(p.gpu), stream);
  return p;
}

ElementType element_type(std::uint32_t type) {
  switch (type) {
    case REDUCTIO_I8: return ElementType::i8;
    case REDUCTIO_I32: return ElementType::i32;
    case REDUCTIO_I64: return ElementType::i64;
    case REDUCTIO_F16: return ElementType::f16;
    case REDUCTIO_BF16: return ElementType::bf16;
    case REDUCTIO_F32: return ElementType::f32;
    case REDUCTIO_F64: return ElementType::f64;
    default: throw UsageError("unknown element type " + std::to_string(type));
  }
}

}  // namespace

void sum_on_gpu(std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  const ElementType known = element_type(type);
  const Prepared p = prepared(stream);
  tuned::add_up(known, in, n, out, p.workspace, p.gpu, stream);
}

void exact_on_gpu(Operation operation, std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  if (type != REDUCTIO_F32 && type != REDUCTIO_F64) throw UsageError("exact sums are of f32 and f64");
  const Prepared p = prepared(stream);
  tuned::add_up_exactly(operation, element_type(type), in, n, out, p.workspace, p.gpu, stream);
}

void along_axis_on_gpu(Along what, std::uint32_t type, const void* in, std::size_t outer, std::size_t n,
                       std::size_t inner, std::size_t pitch, void* out, void* stream) {
  const ElementType known = element_type(type);
  const tuned::Axis axis{outer, n, inner, pitch};
  const Prepared p = prepared(stream, &what);
  if (what == Along::exact_sum)
    tuned::add_up_exactly_along(known, in, axis, out, p.exactly_along, p.gpu, stream);
  else
    tuned::add_up_along(known, what == Along::squares, in, axis, out, p.along, p.gpu, stream);
}

}  // namespace reductio
