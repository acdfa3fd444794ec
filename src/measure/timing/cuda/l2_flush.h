#pragma once
/// Evicting L2: memory of twice its size that is written or read.

#include <algorithm>

#include "device/backend.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/cuda/runtime.h"
#include "measure/timing/cuda/stream_turns.h"

namespace reductio::cuda {

class L2Flush {
 public:
  L2Flush(Backend& backend, Stream stream, StreamTurns& turns)
      : stream_(stream),
        turns_(turns),
        bytes_(2 * std::max<std::size_t>(backend.info().l2_bytes, 1u << 20)),
        written_(memory_for("flushing the cache", backend, bytes_)),
        read_(memory_for("flushing the cache", backend, bytes_)),
        sum_(backend, 256),
        reading_(reading_kernel(bytes_, backend.info().sm_count)) {}

  std::size_t bytes() const { return bytes_; }
  /// What is read, and where the reading kernels may leave their sum.
  void* memory() const { return read_.get(); }
  void* sum() const { return sum_.get(); }

  /// What is read must hold something.
  void fill() { check(cudaMemsetAsync(read_.get(), 1, bytes_, native(stream_)), "filling GPU memory"); }
  /// Leaves L2 full of dirty lines of other memory.
  void overwrite() {
    check(cudaMemsetAsync(written_.get(), 0x5A, bytes_, native(stream_)), "flushing the cache");
    turns_.launched();
  }
  /// Evicts the dirty lines: their write-back is paid here and not inside the next timed interval.
  void clean() {
    reading_->enqueue(read_.get(), sum_.get(), stream_);
    turns_.launched();
  }

 private:
  Stream stream_;
  StreamTurns& turns_;
  std::size_t bytes_;
  DeviceMemory written_, read_, sum_;
  std::unique_ptr<Plan> reading_;
};

}  // namespace reductio::cuda
