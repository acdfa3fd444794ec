#pragma once
/// Calls of the harness's own on a device, beside those of the variants: what a call costs at the least, and effects of
/// known size.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/variant.h"
#include "measure/plan/point.h"

namespace reductio {

struct HarnessPlan {
  std::string name;
  std::unique_ptr<Plan> plan;
};

class HarnessCalls {
 public:
  virtual ~HarnessCalls() = default;

  /// An empty call, whose time is the launch floor; nothing where there is no such thing.
  virtual std::unique_ptr<Plan> empty() { return nullptr; }

  /// An empty call that is awaited as tuned/sum-to-host is: its kernel writes one word to memory of the host, which the
  /// host polls. Its time end to end is the polled launch floor; nothing where there is no such thing.
  virtual std::unique_ptr<Plan> polled_empty() { return nullptr; }

  /// Kernels that read `bytes` bytes and do nothing else, for the read ceiling in this mode; none where it has none.
  virtual std::vector<HarnessPlan> readers(std::size_t /*bytes*/, TimingMode) { return {}; }

  /// `plan`, each of whose calls is followed, inside what is timed, by `seconds` of spinning by the device's own clock:
  /// an effect of known size, which the timer must find.
  virtual std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) = 0;
};

/// `plan`, whose enqueue() calls `after` on the same stream at its end.
std::unique_ptr<Plan> followed_by(std::unique_ptr<Plan> plan, std::function<void(Stream)> after);

}  // namespace reductio
