#pragma once
/// Evicting L2: memory of twice its size that is written or read.

#include <algorithm>

#include "device/backend.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/cuda/runtime.h"

namespace reductio::cuda {

class L2Flush {
 public:
  L2Flush(const DeviceInfo& gpu, Stream stream)
      : stream_(stream),
        bytes_(2 * std::max<std::size_t>(gpu.l2_bytes, 1u << 20)),
        written_(device_bytes(bytes_)),
        read_(device_bytes(bytes_)),
        sum_(device_bytes(256)),
        reading_(reading_kernel(bytes_, gpu.sm_count)) {}

  std::size_t bytes() const { return bytes_; }
  /// What is read, and where the reading kernels may leave their sum.
  void* memory() const { return read_.get(); }
  void* sum() const { return sum_.get(); }

  /// What is read must hold something.
  void fill() { check(cudaMemsetAsync(read_.get(), 1, bytes_, native(stream_)), "filling GPU memory"); }
  /// Leaves L2 full of dirty lines of other memory.
  void overwrite() { check(cudaMemsetAsync(written_.get(), 0x5A, bytes_, native(stream_)), "flushing the cache"); }
  /// Evicts the dirty lines: their write-back is paid here and not inside the next timed interval.
  void clean() { reading_->enqueue(read_.get(), sum_.get(), stream_); }

 private:
  Stream stream_;
  std::size_t bytes_;
  DeviceBytes written_, read_, sum_;
  std::unique_ptr<Plan> reading_;
};

}  // namespace reductio::cuda
