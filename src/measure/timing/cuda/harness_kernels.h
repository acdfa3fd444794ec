#pragma once
/// Kernels of the harness's own: the empty one, one that spins, and those that only read.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "measure/timing/harness_calls.h"

namespace reductio::cuda {

std::unique_ptr<Plan> empty_kernel();

/// An empty kernel but for the word by which its end is seen, and the host's polling of that word: both are those of
/// tuned::Reduction::to_host. `arrival`: asked at each call for page-locked memory of polled_words words, which a fresh
/// context has anew.
std::unique_ptr<Plan> polled_empty_kernel(std::function<std::uint64_t*()> arrival);
inline constexpr std::size_t polled_words = 1;

/// Runs for about `ns`.
std::unique_ptr<Plan> spinning_kernel(std::uint64_t ns);

/// An element of an input, or the same one of copies of it.
struct ElementPlace {
  std::byte* first = nullptr;
  std::size_t stride = 0;  ///< bytes from one copy to the next
  unsigned copies = 1;
};
/// Stores the first `bytes` (1, 2, 4 or 8) of `value` there, by one small kernel.
void store_element(const ElementPlace&, const std::array<std::byte, 8>& value, std::size_t bytes, Stream);

/// One in 2^32, so that a compiler cannot leave out what is read.
inline constexpr unsigned sum_that_is_stored = 0x9e3779b9u;

/// Asked at each call for GPU memory of one word, 0 between calls, that a fresh context has anew: a kernel that
/// outlives its context must hold none.
using WordOfContext = std::function<std::uint64_t*()>;

/// Kernels that read `bytes` bytes, at any alignment, and do nothing else: one for each end of what is fast, and
/// tuned's own reading, so that the fastest of them tells the read ceiling. `claims`: where it counts claims. `out`:
/// four bytes, written where a thread's sum of the words that it read is `sum_that_is_stored`.
std::vector<HarnessPlan> reading_kernels(std::size_t bytes, const DeviceInfo& gpu, const WordOfContext& claims);
/// tuned's reading of tiles that blocks claim, whatever it would choose for so many bytes.
std::unique_ptr<Plan> reading_by_claims(std::size_t bytes, const DeviceInfo& gpu, const WordOfContext& claims);
/// The first of them.
std::unique_ptr<Plan> reading_kernel(std::size_t bytes, int sm_count);

}  // namespace reductio::cuda
