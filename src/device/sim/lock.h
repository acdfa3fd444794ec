#pragma once
/// One lock over everything of the simulated device.

#include <mutex>

namespace reductio::sim {

/// Everything of the simulated device is one thread's at a time. Recursive: work that runs may release memory.
class DeviceLock {
 public:
  DeviceLock();

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

}  // namespace reductio::sim
