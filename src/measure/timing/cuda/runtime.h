#pragma once
/// What the GPU's instruments use of CUDA's runtime: errors, pinned memory, events. No device code and no device.h,
/// which take seconds to compile: files that launch nothing are plain C++.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "core/error.h"
#include "core/variant.h"

namespace reductio::cuda {

/// Throws DeviceError with CUDA's own words if `status` is not success.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or this error would show up as the failure of the next launch
  throw DeviceError(std::string(what) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

inline cudaStream_t native(Stream s) { return static_cast<cudaStream_t>(s.handle); }

struct FreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};

/// One T, zero, that host and GPU both reach.
template <class T>
using Pinned = std::unique_ptr<T, FreeHost>;
template <class T>
Pinned<T> pinned() {
  void* p = nullptr;
  check(cudaHostAlloc(&p, sizeof(T), cudaHostAllocMapped), "allocating pinned memory");
  return Pinned<T>(new (p) T{});
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  void record(Stream s) { check(cudaEventRecord(event_, native(s)), "recording an event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

inline double elapsed_s(const Event& from, const Event& to) {
  float ms = 0;
  check(cudaEventElapsedTime(&ms, from.get(), to.get()), "reading the events");
  return static_cast<double>(ms) * 1e-3;
}

}  // namespace reductio::cuda
