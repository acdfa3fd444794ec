#pragma once
/// The harness's own calls: the cheapest possible ones, for floors and ceilings, and planted effects of known size.

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

  /// An empty call that polls for its result as tuned/sum-to-host does: its kernel writes one word to host memory. Its
  /// end-to-end time is the polled launch floor. Null where there is no such call.
  virtual std::unique_ptr<Plan> polled_empty() { return nullptr; }

  /// Kernels that only read `bytes` bytes, for the read ceiling in this mode; none where the mode has none.
  virtual std::vector<HarnessPlan> readers(std::size_t /*bytes*/, TimingMode) { return {}; }

  /// Kernels that read so many bytes and write `written`, where there are many outputs: the ceiling of that mode. Their
  /// output has room for `written` bytes and is aligned to 16.
  virtual std::vector<HarnessPlan> readers_and_writers(std::size_t /*bytes*/, std::size_t /*written*/, TimingMode) {
    return {};
  }

  /// `plan` with a spin of `seconds`, by the device's clock, after each call and inside the timed interval: an effect
  /// of known size that the timer must find.
  virtual std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) = 0;
};

/// `plan`, whose enqueue() calls `after` on the same stream at its end.
std::unique_ptr<Plan> followed_by(std::unique_ptr<Plan> plan, std::function<void(Stream)> after);

}  // namespace reductio
