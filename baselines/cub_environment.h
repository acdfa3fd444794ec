#pragma once
/// cub::DeviceReduce::Sum by the interface that takes an environment: how a caller demands determinism (CUB 3.2) or a
/// policy (CUB 3.5). Its workspace is allocated before the call, as by the older interface.

#include <cuda_runtime.h>

#include <cstddef>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/execution>
#include <cuda/stream_ref>
#include <new>

#ifdef THRUST_CUB_WRAPPED_NAMESPACE  // each release has its own, or the linker would merge what is of two releases
namespace reductio::THRUST_CUB_WRAPPED_NAMESPACE {
#else
namespace reductio {
#endif

/// Memory for one call: what was allocated before it. Without any, a request is noted and fails.
struct KeptWorkspace {
  void* memory = nullptr;
  std::size_t* asked;

  void* allocate(std::size_t bytes, std::size_t = 0) const {
    *asked = bytes;
    if (!memory) throw std::bad_alloc();
    return memory;
  }
  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t = 0) const { return allocate(bytes); }
  void* allocate_sync(std::size_t bytes, std::size_t = 0) const { return allocate(bytes); }
  void deallocate(void*, std::size_t, std::size_t = 0) const noexcept {}
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t = 0) const noexcept {}
  void deallocate_sync(void*, std::size_t, std::size_t = 0) const noexcept {}
  bool operator==(const KeptWorkspace& o) const { return memory == o.memory; }
};

/// What is asked of a call: `Query` is answered by `Answer`.
template <class Query, class Answer>
struct Environment {
  KeptWorkspace workspace;
  cudaStream_t stream;

  auto query(::cuda::get_stream_t) const noexcept { return ::cuda::stream_ref{stream}; }
  auto query(::cuda::mr::__get_memory_resource_t) const noexcept { return workspace; }
  auto query(Query) const noexcept { return Answer{}; }
};

/// By CUB's older convention: with a null `temporary` it only sets `bytes`.
template <class Query, class Answer, class In, class Out, class Count>
cudaError_t sum_by_environment(void* temporary, std::size_t& bytes, const In* in, Out* out, Count n, cudaStream_t s) {
  std::size_t asked = 0;
  const Environment<Query, Answer> environment{{temporary, &asked}, s};
  const cudaError_t status = CUB_NS_QUALIFIER::DeviceReduce::Sum(in, out, n, environment);
  if (temporary) return status;
  cudaGetLastError();
  bytes = asked;
  return asked ? cudaSuccess : status;
}

}  // namespace reductio
