#pragma once
/// The GPU's clocks, read by kernels.

#include <cstdint>

#include "measure/timing/cuda/runtime.h"
#include "measure/timing/cuda/stream_turns.h"

namespace reductio::cuda {

class GpuClocks {
 public:
  GpuClocks(Stream stream, StreamTurns& turns) : stream_(stream), turns_(turns), read_(pinned<Reading>()) {}
  /// Launches a kernel once, asynchronously: loading at a first launch may wait for the device.
  void load() { read(0); }
  /// Of the kernels' clock, now.
  double hz();
  /// The least difference of two readings of the GPU's one clock.
  double globaltimer_resolution_s();

  /// What one thread reads of both clocks.
  struct Reading {
    std::uint64_t cycles, ns;
  };

 private:
  void read(std::uint64_t at_least_ns);
  void wait() { check(cudaStreamSynchronize(native(stream_)), "waiting for the stream"); }
  Stream stream_;
  StreamTurns& turns_;
  Pinned<Reading> read_;
};

}  // namespace reductio::cuda
