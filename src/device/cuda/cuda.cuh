#pragma once
/// The GPU side of device.h. On CUDA most names already mean what they say; this adds the few that need a wrapper.

#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda_runtime.h>

#include <memory>
#include <string>

#define REDUCTIO_DEVICE_NAMESPACE on_cuda

namespace reductio::device {
inline namespace on_cuda {

inline constexpr DeviceKind device_kind = DeviceKind::cuda;

template <class T>
using GlobalPtr = T*;
template <class T>
using SharedPtr = T*;

/// Throws DeviceError with CUDA's own words if `status` is not success.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that was told of must not show up as the failure of the next launch
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

inline cudaStream_t native(Stream s) { return static_cast<cudaStream_t>(s.handle); }

template <class T>
__device__ SharedPtr<T> shared_memory() {
  // One untyped array: `extern __shared__ T x[]` of two types would be two declarations of one symbol.
  extern __shared__ __align__(16) unsigned char reductio_dynamic_shared_memory[];
  return reinterpret_cast<T*>(reductio_dynamic_shared_memory);
}

template <class T>
__device__ T load_acquire(GlobalPtr<T> p) {
  return ::cuda::atomic_ref<T, ::cuda::thread_scope_device>(*p).load(::cuda::std::memory_order_acquire);
}

template <class T>
__device__ void store_release(GlobalPtr<T> p, T value) {
  ::cuda::atomic_ref<T, ::cuda::thread_scope_device>(*p).store(value, ::cuda::std::memory_order_release);
}

__device__ inline std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

__device__ inline void grid_sync() { cooperative_groups::this_grid().sync(); }

template <auto Kernel, class... Args>
void launch(const Launch& l, Args... args) {
  Kernel<<<static_cast<unsigned>(l.grid), l.block, l.shared_bytes, native(l.stream)>>>(args...);
  check(cudaGetLastError(), "kernel launch");
}

template <auto Kernel, class... Args>
void launch_cooperative(const Launch& l, Args... args) {
  void* pointers[] = {static_cast<void*>(&args)...};
  check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(Kernel), static_cast<unsigned>(l.grid), l.block, pointers,
                                    l.shared_bytes, native(l.stream)),
        "cooperative launch");
}

template <class T>
class Buffer {
 public:
  /// Poisoned with 0xFF bytes, which is NaN for floats: whoever reads what nobody wrote gets a wrong result.
  explicit Buffer(std::size_t count) : count_(count) {
    void* p = nullptr;
    const std::size_t bytes = (count ? count : 1) * sizeof(T);
    const cudaError_t status = cudaMalloc(&p, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Refused("needs a workspace of " + std::to_string(bytes) + " bytes, for which the GPU has no memory");
    }
    check(status, "workspace allocation");
    memory_ = std::shared_ptr<void>(p, [](void* q) { cudaFree(q); });
    check(cudaMemset(p, 0xFF, bytes), "workspace poisoning");
    check(cudaDeviceSynchronize(), "workspace poisoning");
  }
  GlobalPtr<T> ptr() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

template <class T>
class HostBuffer {
 public:
  HostBuffer(std::size_t count, bool pinned) : count_(count) {
    const std::size_t bytes = (count ? count : 1) * sizeof(T);
    void* p = nullptr;
    if (pinned) check(cudaMallocHost(&p, bytes), "allocating page-locked memory");
    else p = ::operator new(bytes);
    std::memset(p, 0xFF, bytes);  // mapped now, and not inside the first timed call
    memory_ = {static_cast<T*>(p), Free{pinned}};
  }
  T* data() { return memory_.get(); }
  std::size_t size() const { return count_; }

 private:
  struct Free {
    bool pinned = false;
    void operator()(T* p) const {
      if (pinned) cudaFreeHost(p);
      else ::operator delete(p);
    }
  };
  std::size_t count_;
  std::unique_ptr<T, Free> memory_;
};

template <class T>
GlobalPtr<T> global(void* p, std::size_t) {
  return static_cast<T*>(p);
}

template <class T>
void zero(GlobalPtr<T> p, std::size_t count, Stream s) {
  check(cudaMemsetAsync(p, 0, count * sizeof(T), native(s)), "zeroing");
}

template <class T>
void copy_to_host(T* dst, GlobalPtr<const T> src, std::size_t count, Stream s) {
  check(cudaMemcpyAsync(dst, src, count * sizeof(T), cudaMemcpyDeviceToHost, native(s)), "copy to the host");
  check(cudaStreamSynchronize(native(s)), "waiting for the stream");
}

}  // namespace on_cuda
}  // namespace reductio::device
