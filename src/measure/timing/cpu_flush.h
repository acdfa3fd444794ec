#pragma once
/// Brings a CPU's cache into a cold state.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "measure/plan/point.h"

namespace reductio {

/// Writes twice the last-level cache, 64 MiB at least, and for the clean state then reads as much other memory.
/// Allocates both where they are first needed.
class CpuFlush {
 public:
  explicit CpuFlush(std::size_t cache_bytes)
      : words_(2 * std::max<std::size_t>(cache_bytes, 32u << 20) / sizeof(std::size_t)) {}

  void operator()(CacheState cache) {
    written_.resize(words_);
    for (auto& w : written_) w += 1;
    if (cache == CacheState::cold_dirty) return;
    read_.resize(words_, 1);
    std::size_t sum = 0;
    for (const auto& w : read_) sum += w;
    sum_read_ = sum;
  }

  /// Each word counts how often it was written.
  std::span<const std::size_t> written() const { return written_; }
  /// How many words the last reading read.
  std::size_t words_read() const { return sum_read_; }

 private:
  std::size_t words_;
  std::vector<std::size_t> written_, read_;
  volatile std::size_t sum_read_ = 0;  // so that the reading is not optimised away
};

}  // namespace reductio
