#pragma once
/// What a kernel does to memory, counted from the accesses of one simulated call in the units of Nsight Compute:
/// requests, 32-byte sectors, wavefronts of shared memory. A request is one access of the source by the lanes of a warp
/// that make it together: the k-th visit of each since they last met.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/sim/place.h"

namespace reductio::inspect {

inline constexpr std::size_t sector_bytes = 32, banks = 32;

enum class Kind : std::uint8_t {
  global_load,
  global_store,
  global_atomic,
  shared_load,
  shared_store,
  shared_atomic,
  block_barrier,
  warp_operation
};
inline constexpr std::size_t kinds = 8;
std::string_view name(Kind);

struct Counts {
  std::uint64_t threads = 0;     ///< accesses by threads; of barriers: threads that waited there
  std::uint64_t requests = 0;    ///< by warps; of barriers: how often a block, or lanes of a warp, met
  std::uint64_t bytes = 0;       ///< that the threads need, each byte of a request once
  std::uint64_t sectors = 0;     ///< of global memory
  std::uint64_t wavefronts = 0;  ///< of shared memory
  std::uint64_t conflicts = 0;   ///< wavefronts beyond those of the same accesses without bank conflicts
  void add(const Counts&);
};

/// Of one place in the source.
struct SourceCounts {
  std::string file;
  int line = 0, column = 0;
  Kind kind{};
  Counts counts{};
};

/// Between two barriers of a block, over all blocks: who makes an access or takes part in a warp operation.
struct Level {
  std::uint64_t warps = 0, lanes = 0;
};

/// What the first warp of a launch's first block asked for at one place, the first time.
struct Request {
  Kind kind{};
  std::string source;
  std::uint32_t lanes = 0;
  std::size_t bytes = 0;               ///< of each lane
  std::array<std::uint64_t, 32> at{};  ///< by lane; of shared memory from the block's first byte on
};

/// The launches of one kernel.
struct KernelCounts {
  std::string kernel;
  std::size_t launches = 0;
  std::size_t blocks = 0;              ///< of the first launch
  unsigned threads = 0;                ///< of a block
  std::vector<SourceCounts> places{};  ///< by file, line, column and kind
  std::vector<Level> levels{};
  std::vector<Request> first_requests{};
  std::uint64_t atomic_addresses = 0;  ///< of global memory
  std::uint64_t most_atomics = 0;      ///< at one of them
  /// Over all places.
  Counts of(Kind) const;
};

/// 32-byte sectors, or wavefronts and conflicts, of one request: `at` by lane.
Counts count_request(Kind, std::uint32_t lanes, const std::array<std::uint64_t, 32>& at, std::size_t bytes);

/// Counts the launches that run while it lives. One at a time.
class Counter {
 public:
  Counter();
  ~Counter();
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  /// In the order of their first launches.
  std::vector<KernelCounts> kernels() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reductio::inspect
