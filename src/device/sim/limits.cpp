#include "device/sim/limits.h"

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "device/sim/fault.h"
#include "device/sim/gpu.h"
#include "device/sim/place.h"

namespace reductio::sim {

namespace {

constexpr std::size_t kib = 1024;
constexpr Gpu known[] = {{"small", 6, 2048, 32, 228 * kib, 90},
                         {"sm-75", 6, 1024, 16, 64 * kib, 75},
                         {"sm-86", 6, 1536, 16, 100 * kib, 86},
                         {"nvidia-h200", 132, 2048, 32, 228 * kib, 90},
                         {"nvidia-b200", 148, 2048, 32, 228 * kib, 100}};
const Gpu* now_like = known;  // under the device's lock, as launches are

}  // namespace

std::span<const Gpu> gpus() { return known; }
const Gpu& gpu() { return *now_like; }

Like::Like(std::string_view name) : before_(now_like) {
  if (name.empty()) return;
  const auto* const at = std::find_if(std::begin(known), std::end(known), [&](const Gpu& g) { return g.name == name; });
  if (at == std::end(known)) {
    std::string names;
    for (const Gpu& g : known) names += (names.empty() ? "" : ", ") + std::string(g.name);
    throw UsageError("unknown GPU '" + std::string(name) + "' to be like; known: " + names);
  }
  now_like = at;
}
Like::~Like() { now_like = before_; }

std::size_t resident_blocks(const Shape& s) {
  const Gpu& g = gpu();
  const std::size_t whole_warps = (s.block + warp_size - 1) / warp_size * warp_size;
  const std::size_t by_threads = g.threads_per_sm / whole_warps;
  const std::size_t by_shared = g.shared_bytes_per_sm / (s.shared_bytes + shared_bytes_reserved);
  const std::size_t blocks =
      static_cast<std::size_t>(g.sm_count) * std::min({std::size_t{g.blocks_per_sm}, by_threads, by_shared});
  return blocks / s.cluster * s.cluster;
}

Shape shape_of(const std::array<std::size_t, 3>& blocks, const std::array<std::size_t, 3>& threads) {
  const auto fitting = [](std::size_t n) { return static_cast<unsigned>(std::min<std::size_t>(n, ~0u)); };
  const auto index = [&](const auto& n) { return Index{fitting(n[0]), fitting(n[1]), fitting(n[2])}; };
  const auto product = [](const auto& n) {
    std::size_t all = 1;
    for (const std::size_t one : n)
      if (__builtin_mul_overflow(all, one, &all)) return ~std::size_t{0};
    return all;
  };
  return {.grid = product(blocks),
          .block = fitting(product(threads)),
          .blocks = index(blocks),
          .threads = index(threads)};
}

void check_launch(const Shape& s, const std::string& kernel) {
  const auto refuse = [&](const std::string& why) { throw Fault(FaultKind::launch, kernel, 0, {}, "", 0, why); };
  const auto words = [](std::size_t n, const Index& i) {
    return is_flat(i) ? std::to_string(n)
                      : std::to_string(i.x) + " x " + std::to_string(i.y) + " x " + std::to_string(i.z);
  };
  if (s.blocks.y > max_grid_yz || s.blocks.z > max_grid_yz)
    refuse("a grid of " + words(s.grid, s.blocks) + " blocks; CUDA launches at most " + std::to_string(max_grid_yz) +
           " in y and z");
  if (s.grid == 0 || s.grid > max_grid)
    refuse("a grid of " + words(s.grid, s.blocks) + " blocks; " +
           (is_flat(s.blocks) || s.grid == 0 ? "CUDA" : "the simulated device") + " launches 1 to " +
           std::to_string(max_grid));
  if (s.threads.z > max_block_z)
    refuse("blocks of " + words(s.block, s.threads) + " threads; CUDA launches at most " + std::to_string(max_block_z) +
           " in z");
  if (s.block == 0 || s.block > max_threads_per_block)
    refuse("blocks of " + words(s.block, s.threads) + " threads; CUDA launches 1 to " +
           std::to_string(max_threads_per_block));
  if (s.shared_bytes > shared_bytes_per_block)
    refuse(std::to_string(s.shared_bytes) + " bytes of shared memory a block; " +
           std::to_string(shared_bytes_per_block) + " is the most");
  if (s.cluster != 1) {
    if (gpu().capability < 90)
      refuse("clusters, which this GPU (like " + std::string(gpu().name) +
             ") is too old for: where the plan is prepared, require_capability(gpu, 90)");
    if (s.cluster == 0 || s.cluster > max_cluster)
      refuse("clusters of " + std::to_string(s.cluster) + " blocks; CUDA launches 1 to " + std::to_string(max_cluster));
    if (const unsigned over = s.blocks.x % s.cluster; over != 0)
      refuse("a grid of " + words(s.grid, s.blocks) + " blocks, which is not a multiple of its clusters' " +
             std::to_string(s.cluster) + "; round it up to " + std::to_string(s.blocks.x + s.cluster - over) +
             (is_flat(s.blocks) ? "" : " in x"));
    if (resident_blocks(s) == 0)
      refuse("clusters of " + std::to_string(s.cluster) + " blocks of " + words(s.block, s.threads) +
             " threads, of which the device holds none");
    if (s.cooperative) refuse("a cooperative launch of clusters, which is not simulated");
  }
  if (s.cooperative && s.grid > resident_blocks(s))
    refuse("a cooperative launch of " + std::to_string(s.grid) + " blocks; " + std::to_string(resident_blocks(s)) +
           " of them fit on the device at once");
}

}  // namespace reductio::sim
