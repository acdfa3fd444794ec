#pragma once
/// The GPU side of device/kernel.h. On CUDA most names already mean what they say; this adds the few that need a
/// wrapper. Nothing of the harness is included here.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#define REDUCTIO_DEVICE_NAMESPACE on_cuda

namespace reductio::device {
inline namespace on_cuda {

template <class T>
using GlobalPtr = T*;
template <class T>
using SharedPtr = T*;

template <class T>
__device__ SharedPtr<T> shared_memory() {
  // One untyped array: `extern __shared__ T x[]` of two types would be two declarations of one symbol.
  extern __shared__ __align__(16) unsigned char reductio_dynamic_shared_memory[];
  return reinterpret_cast<T*>(reductio_dynamic_shared_memory);
}

// In PTX's words, because <cuda/atomic>, which says the same, takes nvcc two seconds in every file.
template <class T>
__device__ T load_acquire(GlobalPtr<T> p) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 and 8 bytes");
  T value;
  if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(bits) : "l"(p) : "memory");
    memcpy(&value, &bits, sizeof value);
  } else {
    std::uint64_t bits;
    asm volatile("ld.acquire.gpu.b64 %0, [%1];" : "=l"(bits) : "l"(p) : "memory");
    memcpy(&value, &bits, sizeof value);
  }
  return value;
}

template <class T>
__device__ void store_release(GlobalPtr<T> p, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 and 8 bytes");
  if constexpr (sizeof(T) == 4) {
    std::uint32_t bits;
    memcpy(&bits, &value, sizeof value);
    asm volatile("st.release.gpu.b32 [%0], %1;" ::"l"(p), "r"(bits) : "memory");
  } else {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof value);
    asm volatile("st.release.gpu.b64 [%0], %1;" ::"l"(p), "l"(bits) : "memory");
  }
}

__device__ inline std::uint64_t globaltimer() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

/// CUDA's own words on a call that failed.
inline std::string in_words(cudaError_t status, const char* what) {
  return std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
}

/// A launch that CUDA refused, or the first launch after an earlier one failed.
struct LaunchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void check_launch(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that was told of must not show up as the failure of the next launch
  throw LaunchError(in_words(status, what));
}

/// A kernel with its parameters, for launch<kernel>.
template <auto kernel>
struct Launcher;
template <class... Parameters, void (*kernel)(Parameters...)>
struct Launcher<kernel> {
  static void run(const Launch& l, Parameters... args) {
    kernel<<<static_cast<unsigned>(l.grid), l.block, l.shared_bytes, static_cast<cudaStream_t>(l.stream)>>>(args...);
    check_launch(cudaGetLastError(), "kernel launch");
  }
  static void run_cooperative(const Launch& l, Parameters... args) {
    void* pointers[] = {static_cast<void*>(&args)...};
    check_launch(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), static_cast<unsigned>(l.grid),
                                             l.block, pointers, l.shared_bytes, static_cast<cudaStream_t>(l.stream)),
                 "cooperative launch");
  }
};

template <auto kernel>
inline constexpr auto launch = &Launcher<kernel>::run;
template <auto kernel>
inline constexpr auto launch_cooperative = &Launcher<kernel>::run_cooperative;

}  // namespace on_cuda
}  // namespace reductio::device
