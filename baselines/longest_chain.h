#pragma once
/// The longest chain of additions of a GPU library that does not document its order of adding.

#include <algorithm>
#include <cstddef>

#include "core/types.h"

namespace reductio {

/// The assumption: a library worth its name gives every multiprocessor at least `threads_per_sm` threads, each of which
/// adds up its even share one element after another; block and grid are then trees. CUB (and Thrust, which calls it)
/// launches blocks of 256 or more (of 128 where a policy of cub/sum-tuned asks for it) and up to five times what is
/// resident, so an SM's worth of 256 is on the safe side by a factor of 5 at least. The constant covers what the
/// quotient leaves out: one more tile by rounding (at most 32 elements a thread), the block's tree (10), and the second
/// pass over one partial a block (at most 40 a thread, and its tree). The number n itself would be safe too, and
/// worthless: from n = 2^24 on it allows f32 any result.
inline std::size_t assumed_longest_chain(std::size_t n, const DeviceInfo& gpu, std::size_t threads_per_sm) {
  const std::size_t threads = static_cast<std::size_t>(std::max(gpu.sm_count, 1)) * threads_per_sm;
  return std::min(n, n / threads + 128);
}

}  // namespace reductio
