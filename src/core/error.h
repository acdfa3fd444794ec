#pragma once
/// The errors that reductio tells its user about. Each message is one line: what is wrong, and what to do.

#include <stdexcept>
#include <string>

namespace reductio {

/// The request itself is wrong: an unknown name, a malformed size, a setting out of range. Exit code 1.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A variant declines this problem, setting or device. Told to the user and written as a row, never dropped.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Refused for want of what this machine lacks: memory, a compute capability, a library. Another machine may have it.
struct Unavailable : Refused {
  using Refused::Refused;
};

/// Unavailable for want of memory, on the device or the machine.
struct NoMemory : Unavailable {
  using Unavailable::Unavailable;
};

/// The device failed: a CUDA error, or a fault that the simulated device diagnosed. Exit code 1.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// No usable GPU where one was demanded. Exit code 77, which test runners read as "skipped".
struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace reductio
