#pragma once
/// Kernels of the harness's own: the empty one, one that spins, and those that only read.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/types.h"
#include "measure/timing/harness_calls.h"

namespace reductio::cuda {

std::unique_ptr<Plan> empty_kernel();

/// An empty kernel that writes one word to host memory, and the host's polling for it; both are
/// tuned::Reduction::to_host's. `arrival`: page-locked memory of polled_words words.
std::unique_ptr<Plan> polled_empty_kernel(std::uint64_t* arrival);
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
void store_element(const ElementPlace&, const ElementBytes& value, std::size_t bytes, Stream);

/// One in 2^32, so that a compiler cannot leave out what is read.
inline constexpr unsigned sum_that_is_stored = 0x9e3779b9u;

/// Kernels that only read `bytes` bytes, at any alignment: one for each kind of fast launch, and tuned's own reading.
/// The fastest is the read ceiling. `claims`: where dynamic scheduling counts, one word of GPU memory, 0 between calls.
/// `out`: four bytes, written if a thread's sum equals `sum_that_is_stored`.
std::vector<HarnessPlan> reading_kernels(std::size_t bytes, const DeviceInfo& gpu, std::uint64_t* claims);
/// Kernels that read `bytes` bytes and write `written`, a multiple of four, to `out`, which is aligned to 16.
std::vector<HarnessPlan> reading_and_writing_kernels(std::size_t bytes, std::size_t written, const DeviceInfo& gpu);
/// tuned's reading with dynamic scheduling, whatever it would choose for so many bytes.
std::unique_ptr<Plan> reading_by_claims(std::size_t bytes, const DeviceInfo& gpu, std::uint64_t* claims);
/// The first of them.
std::unique_ptr<Plan> reading_kernel(std::size_t bytes, int sm_count);

}  // namespace reductio::cuda
