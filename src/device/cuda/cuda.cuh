#pragma once
/// The GPU side of device.h beside cuda/kernel.cuh: the memory of a plan, and errors as the harness knows them.

#include <cuda_runtime.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

#include "core/error.h"
#include "core/types.h"
#include "device/kernel.h"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
/// Not there before 8.0. So that kernel files compile all the same; variants that use it are refused there by
/// require_capability().
__device__ inline unsigned __reduce_add_sync(unsigned, unsigned) { return __trap(), 0; }
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

inline constexpr DeviceKind device_kind = DeviceKind::cuda;

/// Throws DeviceError with CUDA's own words if `status` is not success.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or this error would show up as the failure of the next launch
  throw DeviceError(in_words(status, what));
}

inline cudaStream_t native(Stream s) { return static_cast<cudaStream_t>(s.handle); }

/// Where workspaces are poisoned: the stream of the backend that was opened last (Backend::stream() says why not any).
inline Stream& workspace_stream() {
  static Stream stream;
  return stream;
}

/// Where the blocks that follow begin in their memory, of all of the process: at its start, or where chance says
/// (Backend::scatter()).
struct Places {
  static constexpr std::size_t step = 512;  ///< bytes, to which cudaMalloc() aligns
  static constexpr std::size_t count = 128;
  static constexpr std::size_t below = std::size_t{1} << 20;  ///< larger blocks, which have pages of their own, stay
  std::optional<std::mt19937_64> drawn;
  std::unordered_map<void*, void*> memory_of;  ///< of blocks that do not begin where their memory does
};
inline Places& places() {
  static Places of_all;
  return of_all;
}
/// cudaMalloc() of at least one byte, and cudaFree(). A block ends where its memory does, so that compute-sanitizer
/// sees what is written behind it.
inline cudaError_t allocate_block(void** p, std::size_t bytes) {
  const bool moves = places().drawn && bytes < Places::below;
  const std::size_t before = moves ? (*places().drawn)() % Places::count * Places::step : 0;
  const cudaError_t status = cudaMalloc(p, before + (bytes ? bytes : 1));
  if (status != cudaSuccess) return status;
  if (before == 0) return status;
  void* const memory = *p;
  *p = static_cast<char*>(memory) + before;
  places().memory_of[*p] = memory;
  return status;
}
inline void free_block(void* p) noexcept {
  const auto moved = places().memory_of.find(p);
  cudaFree(moved == places().memory_of.end() ? p : moved->second);
  if (moved != places().memory_of.end()) places().memory_of.erase(moved);
}

/// The memory of a Buffer.
inline std::shared_ptr<void> allocate_workspace(std::size_t bytes) {
  void* p = nullptr;
  const cudaError_t status = allocate_block(&p, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw NoMemory("needs a workspace of " + std::to_string(bytes) + " bytes, for which the GPU has no memory");
  }
  check(status, "workspace allocation");
  std::shared_ptr<void> memory(p, free_block);
  check(cudaMemsetAsync(p, 0xFF, bytes, native(workspace_stream())), "workspace poisoning");
  check(cudaStreamSynchronize(native(workspace_stream())), "workspace poisoning");
  return memory;
}

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
      if (!pinned) return ::operator delete(p);
      cudaFreeHost(p);
    }
  };
  std::size_t count_;
  std::unique_ptr<T, Free> memory_;
};

template <class T>
T* global(void* p, std::size_t) {
  return static_cast<T*>(p);
}

template <class T>
void zero(T* p, std::size_t count, Stream s) {
  check(cudaMemsetAsync(p, 0, count * sizeof(T), native(s)), "zeroing");
}

template <class T>
void copy_to_host(T* dst, const T* src, std::size_t count, Stream s) {
  check(cudaMemcpyAsync(dst, src, count * sizeof(T), cudaMemcpyDeviceToHost, native(s)), "copy to the host");
  check(cudaStreamSynchronize(native(s)), "waiting for the stream");
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
