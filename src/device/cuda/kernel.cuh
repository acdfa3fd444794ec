#pragma once
/// The GPU side of device/kernel.h. On CUDA most names already mean what they say; this adds the few that need a
/// wrapper. Nothing of the harness is included here.

#include <cuda_runtime.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

// Where a library and a program both use an installed header and are compiled for different GPUs, each must launch its
// own kernels: functions of one name would be merged by the linker. So the name has the architectures in it, up to
// eight.
#define REDUCTIO_NAMESPACE_OF(a, b, c, d, e, f, g, h, ...) on_cuda_##a##_##b##_##c##_##d##_##e##_##f##_##g##_##h
#define REDUCTIO_NAMESPACE_FOR(...) REDUCTIO_NAMESPACE_OF(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0)
#define REDUCTIO_DEVICE_NAMESPACE REDUCTIO_NAMESPACE_FOR(__CUDA_ARCH_LIST__)

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

// CUDA has this for unsigned long long alone.
using ::atomicAdd;
__device__ inline std::size_t atomicAdd(std::size_t* p, std::size_t value) {
  static_assert(sizeof(std::size_t) == sizeof(unsigned long long), "words of 8 bytes");
  return atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(value));
}

enum class Scope { block, gpu, system };

// In PTX's words, because <cuda/atomic>, which says the same, takes nvcc two seconds in every file.
#define REDUCTIO_LOAD(order, scope, type, constraint) \
  asm volatile("ld." order "." scope "." type " %0, [%1];" : "=" constraint(bits) : "l"(p) : "memory")
#define REDUCTIO_STORE(order, scope, type, constraint) \
  asm volatile("st." order "." scope "." type " [%0], %1;" ::"l"(p), constraint(bits) : "memory")
#define REDUCTIO_IN_SCOPE(access, order, type, constraint)                               \
  if constexpr (scope == Scope::block) access(order, "cta", type, constraint);           \
  else if constexpr (scope == Scope::gpu) access(order, "gpu", type, constraint);        \
  else access(order, "sys", type, constraint)
#define REDUCTIO_OF_SIZE(access, order)                                                  \
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 and 8 bytes");             \
  if constexpr (sizeof(T) == 4) {                                                        \
    REDUCTIO_IN_SCOPE(access, order, "b32", "r");                                        \
  } else {                                                                               \
    REDUCTIO_IN_SCOPE(access, order, "b64", "l");                                        \
  }
#define REDUCTIO_LOAD_FUNCTION(name, order)                                              \
  template <Scope scope = Scope::gpu, class T>                                           \
  __device__ std::remove_cv_t<T> name(T* p) {                                            \
    WordOf<T> bits;                                                                      \
    REDUCTIO_OF_SIZE(REDUCTIO_LOAD, order)                                               \
    std::remove_cv_t<T> value;                                                           \
    memcpy(&value, &bits, sizeof value);                                                 \
    return value;                                                                        \
  }
#define REDUCTIO_STORE_FUNCTION(name, order)                                             \
  template <Scope scope = Scope::gpu, class T>                                           \
  __device__ void name(T* p, std::remove_cv_t<T> value) {                                \
    WordOf<T> bits;                                                                      \
    memcpy(&bits, &value, sizeof value);                                                 \
    REDUCTIO_OF_SIZE(REDUCTIO_STORE, order)                                              \
  }
template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
REDUCTIO_LOAD_FUNCTION(load_relaxed, "relaxed")
REDUCTIO_LOAD_FUNCTION(load_acquire, "acquire")
REDUCTIO_STORE_FUNCTION(store_relaxed, "relaxed")
REDUCTIO_STORE_FUNCTION(store_release, "release")
#undef REDUCTIO_LOAD
#undef REDUCTIO_STORE
#undef REDUCTIO_IN_SCOPE
#undef REDUCTIO_OF_SIZE
#undef REDUCTIO_LOAD_FUNCTION
#undef REDUCTIO_STORE_FUNCTION

__device__ inline uint4 load_past_l1(const uint4* p) {
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p));
  return v;
}

__device__ inline void prefetch_to_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

__device__ inline void wait_for_previous_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ inline void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
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

// A program and a library in it may each have a CUDA runtime, which knows its own kernels and errors alone. So each has
// its own of what calls the runtime for all kernels: hidden functions.

/// A launch that CUDA refused, or the first launch after an earlier one failed.
struct LaunchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
[[gnu::visibility("hidden")]] inline void check_launch(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or this error would show up as the failure of the next launch
  throw LaunchError(in_words(status, what));
}

/// Launches a kernel, whatever its parameters are: `arguments` points to each. Not as <<<>>> does, whose errors only
/// cudaGetLastError() would return, mixed with earlier errors of the caller's.
[[gnu::visibility("hidden")]] __noinline__ inline void launch_any(const void* kernel, const Launch& l, void** arguments,
                                                                  bool cooperative) {
  // x is clamped to what it holds, which CUDA refuses, too.
  const dim3 blocks(Count<unsigned>(l.grid.x).value, l.grid.y, l.grid.z), threads(l.block.x, l.block.y, l.block.z);
  const auto stream = static_cast<cudaStream_t>(l.stream);
  if (cooperative)
    return check_launch(cudaLaunchCooperativeKernel(kernel, blocks, threads, arguments, l.shared_bytes, stream),
                        "cooperative launch");
  if (!l.overlaps && l.cluster == 1)
    return check_launch(cudaLaunchKernel(kernel, blocks, threads, arguments, l.shared_bytes, stream), "kernel launch");
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = {blocks, threads, l.shared_bytes, stream, attributes, 0};
  if (l.overlaps) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (l.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {l.cluster, 1, 1};
  }
  // Clusters that other GPUs of the same generation may lack must be requested, in each context.
  if (l.cluster > 8)
    check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                 "asking for a cluster of more than 8 blocks");
  check_launch(cudaLaunchKernelExC(&config, kernel, arguments), "kernel launch");
}

/// A kernel with its parameters, for launch<kernel>. There are hundreds: what they share is launch_any().
template <auto kernel>
struct Launcher;
template <class... Parameters, void (*kernel)(Parameters...)>
struct Launcher<kernel> {
  static void run(const Launch& l, Parameters... args) {
    void* pointers[] = {static_cast<void*>(&args)..., nullptr};
    launch_any(reinterpret_cast<const void*>(kernel), l, pointers, false);
  }
  static void run_cooperative(const Launch& l, Parameters... args) {
    void* pointers[] = {static_cast<void*>(&args)..., nullptr};
    launch_any(reinterpret_cast<const void*>(kernel), l, pointers, true);
  }
};

/// The compute capability, 90 for 9.0, whose instructions a kernel may use: that of the PTX from which CUDA took its
/// code for the current GPU. It is never more than the GPU's own, which could not run that code.
template <auto kernel>
unsigned usable_capability() {
  cudaFuncAttributes of_kernel;
  check_launch(cudaFuncGetAttributes(&of_kernel, kernel), "asking what a kernel was compiled for");
  return static_cast<unsigned>(of_kernel.ptxVersion);
}

/// The most blocks of `block` threads that a cluster of this kernel can have on the current GPU: 8 or 16 on most, fewer
/// where multiprocessors are few or shared out; 0 where there are no clusters, or CUDA does not say.
template <auto kernel>
unsigned most_cluster_blocks(unsigned block) {
  if (usable_capability<kernel>() < 90) return 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = 16;
  config.blockDim = block;
  int blocks = 0;
  cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (status == cudaSuccess) status = cudaOccupancyMaxPotentialClusterSize(&blocks, kernel, &config);
  if (status == cudaSuccess) return static_cast<unsigned>(blocks);
  cudaGetLastError();  // of this question alone, and no failure of a later call
  return 0;
}

template <auto kernel>
inline constexpr auto launch = &Launcher<kernel>::run;
template <auto kernel>
inline constexpr auto launch_cooperative = &Launcher<kernel>::run_cooperative;

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
