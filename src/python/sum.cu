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

/// Of one stream of one GPU.
struct Prepared {
  tuned::Gpu gpu;
  std::uint64_t* workspace = nullptr;  ///< never freed: its stream may outlive whoever would free it
};

const Prepared& prepared(void* stream) {
  static std::mutex mutex;
  static std::map<std::pair<int, void*>, Prepared> all;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the GPU");
  const std::lock_guard lock(mutex);
  Prepared& p = all[{device, stream}];
  if (p.workspace) return p;
  p.gpu = tuned::current_gpu();
  std::uint64_t* workspace = nullptr;
  check(cudaMalloc(&workspace, tuned::workspace_bytes), "allocating the workspace of a stream");
  tuned::init(workspace, stream);
  p.workspace = workspace;
  return p;
}

}  // namespace

void sum_on_gpu(std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  const auto call = [&](ElementType known) {
    const Prepared& p = prepared(stream);
    tuned::add_up(known, in, n, out, p.workspace, p.gpu, stream);
  };
  switch (type) {
    case REDUCTIO_I8: return call(ElementType::i8);
    case REDUCTIO_I32: return call(ElementType::i32);
    case REDUCTIO_I64: return call(ElementType::i64);
    case REDUCTIO_F16: return call(ElementType::f16);
    case REDUCTIO_BF16: return call(ElementType::bf16);
    case REDUCTIO_F32: return call(ElementType::f32);
    case REDUCTIO_F64: return call(ElementType::f64);
    default: throw UsageError("unknown element type " + std::to_string(type));
  }
}

void exact_on_gpu(Operation operation, std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  if (type != REDUCTIO_F32 && type != REDUCTIO_F64) throw UsageError("exact sums are of f32 and f64");
  const Prepared& p = prepared(stream);
  tuned::add_up_exactly(operation, type == REDUCTIO_F32 ? ElementType::f32 : ElementType::f64, in, n, out, p.workspace,
                        p.gpu, stream);
}

}  // namespace reductio
