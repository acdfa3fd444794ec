#pragma once
/// The GPU that the simulated device stands for, as plans and launches see it. It can be another one for a while.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace reductio::sim {

struct Gpu {
  std::string_view name;
  int sm_count;
  unsigned threads_per_sm, blocks_per_sm;
  std::size_t shared_bytes_per_sm;
  int capability;  ///< ten times
};

/// The first is what it is by itself: small, and with no power of two of SMs, as on most GPUs. "sm-75" and "sm-86" are
/// as small, with the limits of those capabilities.
std::span<const Gpu> gpus();
const Gpu& gpu();

/// While one lives, the simulated device is like the GPU of that name; an empty name changes nothing. One at a time.
/// Throws UsageError for an unknown name.
class Like {
 public:
  explicit Like(std::string_view name);
  ~Like();
  Like(const Like&) = delete;
  Like& operator=(const Like&) = delete;

 private:
  const Gpu* before_;
};

}  // namespace reductio::sim
