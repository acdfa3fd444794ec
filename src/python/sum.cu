#include "python/sum.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "tuned/exact.h"
#include "tuned/tuned.h"
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

template <class In, class Acc>
void sum(const void* in, std::size_t n, void* out, void* stream) {
  const Prepared& p = prepared(stream);
  tuned::Reduction<In, Acc>(n, p.gpu)(static_cast<const In*>(in), static_cast<Acc*>(out), p.workspace, stream);
}

template <class T, class Of>
void exact(const void* in, std::size_t n, void* out, void* stream) {
  const Prepared& p = prepared(stream);
  tuned::ExactReduction<T, Of>(n, p.gpu)(static_cast<const T*>(in), static_cast<T*>(out), p.workspace, stream);
}

template <class T>
void exact(Operation operation, const void* in, std::size_t n, void* out, void* stream) {
  switch (operation) {
    case Operation::sum: return exact<T, device::Identity>(in, n, out, stream);
    case Operation::sum_of_squares: return exact<T, device::Square>(in, n, out, stream);
    case Operation::moments: return exact<T, tuned::Moments>(in, n, out, stream);
    case Operation::wide_sum: break;
  }
  throw UsageError("there is no exact " + std::string(name(operation)));
}

}  // namespace

void sum_on_gpu(std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  switch (type) {
    case REDUCTIO_I8: return sum<std::int8_t, std::int32_t>(in, n, out, stream);
    case REDUCTIO_I32: return sum<std::int32_t, std::int32_t>(in, n, out, stream);
    case REDUCTIO_I64: return sum<std::int64_t, std::int64_t>(in, n, out, stream);
    case REDUCTIO_F16: return sum<__half, float>(in, n, out, stream);
    case REDUCTIO_BF16: return sum<__nv_bfloat16, float>(in, n, out, stream);
    case REDUCTIO_F32: return sum<float, float>(in, n, out, stream);
    case REDUCTIO_F64: return sum<double, double>(in, n, out, stream);
    default: throw UsageError("unknown element type " + std::to_string(type));
  }
}

void exact_on_gpu(Operation operation, std::uint32_t type, const void* in, std::size_t n, void* out, void* stream) {
  switch (type) {
    case REDUCTIO_F32: return exact<float>(operation, in, n, out, stream);
    case REDUCTIO_F64: return exact<double>(operation, in, n, out, stream);
    default: throw UsageError("exact sums are of f32 and f64");
  }
}

}  // namespace reductio
