#pragma once
/// CUDA's runtime, for programs on the simulated device. What comes back are CUDA's errors; docs/simulating.md says
/// what differs. Where a parameter list ends in a Site, that is where it was called; nobody passes it.

#include <cstddef>

#include "device/sim/cuda/runtime_types.h"
#include "device/sim/place.h"
#include "device/sim/streams.h"

namespace reductio::sim::cuda {

// Memory.
cudaError_t allocate(void** p, std::size_t bytes, Site);
cudaError_t allocate_for_host(void** p, std::size_t bytes, Site);
cudaError_t allocate_pitched(void** p, std::size_t* pitch, std::size_t width, std::size_t height, Site);
template <class T>
cudaError_t cudaMalloc(T** p, std::size_t bytes, Site site = here()) {
  return allocate(reinterpret_cast<void**>(p), bytes, site);
}
template <class T>
cudaError_t cudaMallocAsync(T** p, std::size_t bytes, cudaStream_t, Site site = here()) {
  return allocate(reinterpret_cast<void**>(p), bytes, site);
}
template <class T>
cudaError_t cudaMallocPitch(T** p, std::size_t* pitch, std::size_t width, std::size_t height, Site site = here()) {
  return allocate_pitched(reinterpret_cast<void**>(p), pitch, width, height, site);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr*, cudaExtent, Site = here());
template <class T>
cudaError_t cudaMallocManaged(T** p, std::size_t bytes, unsigned = cudaMemAttachGlobal, Site site = here()) {
  return allocate_for_host(reinterpret_cast<void**>(p), bytes, site);
}
template <class T>
cudaError_t cudaMallocHost(T** p, std::size_t bytes, unsigned = cudaHostAllocDefault, Site site = here()) {
  return allocate_for_host(reinterpret_cast<void**>(p), bytes, site);
}
template <class T>
cudaError_t cudaHostAlloc(T** p, std::size_t bytes, unsigned, Site site = here()) {
  return allocate_for_host(reinterpret_cast<void**>(p), bytes, site);
}
cudaError_t cudaHostRegister(void*, std::size_t, unsigned, Site = here());
cudaError_t cudaHostUnregister(void*, Site = here());
cudaError_t device_pointer(void** device, void* host, Site);
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned, Site site = here()) {
  return device_pointer(reinterpret_cast<void**>(device), host, site);
}
cudaError_t cudaFree(void*, Site = here());
cudaError_t cudaFreeHost(void*, Site = here());
cudaError_t cudaFreeAsync(void*, cudaStream_t, Site = here());
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*, Site = here());
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int device, cudaStream_t = nullptr, Site = here());
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int device, Site = here());

// Copies and fills.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, Site = here());
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t = nullptr,
                            Site = here());
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind, Site = here());
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t = nullptr,
                              Site = here());
cudaError_t cudaMemset(void*, int byte, std::size_t bytes, Site = here());
cudaError_t cudaMemsetAsync(void*, int byte, std::size_t bytes, cudaStream_t = nullptr, Site = here());
cudaError_t cudaMemset2D(void*, std::size_t pitch, int byte, std::size_t width, std::size_t height, Site = here());
cudaError_t copy_to_symbol(const void* symbol, std::size_t symbol_bytes, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind, cudaStream_t, Site);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind, cudaStream_t, Site);
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, Site site = here()) {
  return copy_to_symbol(&symbol, sizeof symbol, from, bytes, offset, kind, nullptr, site);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, Site site = here()) {
  return copy_from_symbol(to, &symbol, sizeof symbol, bytes, offset, kind, nullptr, site);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream = nullptr, Site site = here()) {
  return copy_to_symbol(&symbol, sizeof symbol, from, bytes, offset, kind, stream, site);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream = nullptr, Site site = here()) {
  return copy_from_symbol(to, &symbol, sizeof symbol, bytes, offset, kind, stream, site);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, const T& symbol) {
  *p = const_cast<void*>(static_cast<const volatile void*>(&symbol));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}

// Streams and events. An elapsed time is 0: the simulated device has none.
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t, Site = here());
cudaError_t cudaStreamSynchronize(cudaStream_t, Site = here());
cudaError_t cudaStreamQuery(cudaStream_t, Site = here());
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0, Site = here());
cudaError_t cudaStreamAddCallback(cudaStream_t, void (*)(cudaStream_t, cudaError_t, void*), void*, unsigned,
                                  Site = here());
cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*)(void*), void*, Site = here());
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreate(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t, Site = here());
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr, Site = here());
cudaError_t cudaEventSynchronize(cudaEvent_t, Site = here());
cudaError_t cudaEventQuery(cudaEvent_t, Site = here());
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop, Site = here());

// The device.
cudaError_t cudaDeviceSynchronize(Site = here());
cudaError_t cudaThreadSynchronize(Site = here());
cudaError_t cudaDeviceReset(Site = here());
cudaError_t cudaGetDeviceCount(int*);
cudaError_t cudaGetDevice(int*);
cudaError_t cudaSetDevice(int, Site = here());
cudaError_t cudaSetDeviceFlags(unsigned);
cudaError_t cudaInitDevice(int, unsigned, unsigned);
cudaError_t cudaChooseDevice(int*, const cudaDeviceProp*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int device, Site = here());
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device, Site = here());
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t);
cudaError_t cudaThreadSetLimit(cudaLimit, std::size_t);
cudaError_t cudaDeviceGetLimit(std::size_t*, cudaLimit);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDriverGetVersion(int*);
cudaError_t cudaRuntimeGetVersion(int*);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t);
const char* cudaGetErrorName(cudaError_t);

// Launches, for launches.h.
struct Launched {
  Index grid{1, 1, 1}, block{1, 1, 1};
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  unsigned cluster = 1;
  bool cooperative = false, overlaps = false;
};
cudaError_t launch(const Launched&, KernelCode, Site);
/// Ends the launch that runs, if one does.
void forbid_in_kernel(const char* call, Site);
/// How many blocks an SM holds. Kernels take no registers here.
cudaError_t blocks_per_sm(int* blocks, int block, std::size_t shared_bytes);
/// How many blocks of `block` threads the whole device holds.
cudaError_t blocks_on_device(int* grid, int block, std::size_t shared_bytes);
cudaError_t attributes_of_kernel(cudaFuncAttributes*);
cudaError_t set_attribute_of_kernel(cudaFuncAttribute, int value, Site);

}  // namespace reductio::sim::cuda
