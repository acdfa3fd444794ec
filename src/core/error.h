#pragma once
/// The errors that reductio reports to its user. Each message is one line: what is wrong, and what to do.

#include <stdexcept>
#include <string>

namespace reductio {

/// The request itself is wrong: an unknown name, a malformed size, a setting out of range. Exit code 1.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A variant declines this problem, setting or device. It is reported and written as a row, never dropped.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Refused because this machine lacks memory, a compute capability or a library. Another machine may have it.
struct Unavailable : Refused {
  using Refused::Refused;
};

/// Unavailable because the device or the machine lacks memory.
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
