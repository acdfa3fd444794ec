#pragma once
/// Who follows launches: counts and pictures (src/inspect) are made of what is told here.

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/sim/access.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

struct BlockState;
struct Shape;

/// Called by the threads of a launch, under the device's lock: `running` and `thread_now` say which. It touches no
/// device memory but by peek(), and throws nothing.
class Follower {
 public:
  virtual ~Follower() = default;
  virtual void launch_begins(const std::string& kernel, const Shape&) = 0;
  virtual void launch_ends() = 0;
  /// An access is about to be made, also to the thread's own variables. Nothing else runs until it is.
  virtual void access(Access, std::uintptr_t at, std::size_t bytes, SiteCode) = 0;
  /// The lanes of `mask` have come to one operation and go on; the block's warp has their bits and results.
  virtual void warp_meets(const BlockState&, unsigned warp, std::uint32_t mask, WarpOperation, const Site&) = 0;
  /// All threads of the block have come to a barrier, of the block or of more, or have returned.
  virtual void block_meets(const BlockState&, const Site&) = 0;
  virtual void block_ends(const BlockState&) = 0;
};
extern Follower* follower;  ///< null: nobody; set it while nothing runs

enum class Space : std::uint8_t { global, shared, other };
/// Where an address lies, as the running block sees it. `other`: the thread's own variables, parameters.
Space space_of(std::uintptr_t at);

}  // namespace reductio::sim
