#pragma once
/// State that one call of a plan leaves to the next (Variant::persistent_state): how preparing sets it. Apart from
/// device/device.h, because few plans have any.

#include "device/device.h"

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// A Buffer of zeros, not poisoned. They are there when this returns; only where plans are prepared, never in
/// enqueue().
template <class T>
Buffer<T> zeroed_buffer(std::size_t count) {
  Buffer<T> buffer(count);
#ifdef __CUDACC__
  check(cudaMemsetAsync(buffer.ptr(), 0, buffer.bytes(), native(workspace_stream())), "zeroing of a plan's state");
  check(cudaStreamSynchronize(native(workspace_stream())), "zeroing of a plan's state");
#else
  sim::fill_now(host_range(buffer.ptr(), count), 0, buffer.bytes());
#endif
  return buffer;
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
