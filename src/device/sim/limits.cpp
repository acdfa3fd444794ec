#include "device/sim/limits.h"

#include <algorithm>

#include "device/sim/fault.h"
#include "device/sim/place.h"

namespace reductio::sim {

std::size_t resident_blocks(const Shape& s) {
  const std::size_t whole_warps = (s.block + warp_size - 1) / warp_size * warp_size;
  const std::size_t by_threads = threads_per_sm / whole_warps;
  const std::size_t by_shared = shared_bytes_per_sm / (s.shared_bytes + shared_bytes_reserved);
  return sm_count * std::min({std::size_t{blocks_per_sm}, by_threads, by_shared});
}

void check_launch(const Shape& s, const std::string& kernel) {
  const auto refuse = [&](const std::string& why) { throw Fault(FaultKind::launch, kernel, 0, {}, "", 0, why); };
  if (s.grid == 0 || s.grid > max_grid)
    refuse("a grid of " + std::to_string(s.grid) + " blocks; CUDA launches 1 to " + std::to_string(max_grid));
  if (s.block == 0 || s.block > max_threads_per_block)
    refuse("blocks of " + std::to_string(s.block) + " threads; CUDA launches 1 to " +
           std::to_string(max_threads_per_block));
  if (s.shared_bytes > shared_bytes_per_block)
    refuse(std::to_string(s.shared_bytes) + " bytes of shared memory a block; " +
           std::to_string(shared_bytes_per_block) + " are there");
  if (s.cooperative && s.grid > resident_blocks(s))
    refuse("a cooperative launch of " + std::to_string(s.grid) + " blocks; " + std::to_string(resident_blocks(s)) +
           " of them fit on the device at once");
}

}  // namespace reductio::sim
