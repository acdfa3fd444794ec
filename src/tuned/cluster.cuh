#pragma once
/// tuned's finish for small inputs: the blocks form one thread block cluster, and each warp sends its sum into the
/// first block's shared memory. From compute capability 9.0. It is inline PTX, so only GPUs check
/// this: exact references, memcheck, racecheck, synccheck.
///
/// The first block initialises its barrier with the bytes it expects. All blocks then meet (they arrive before reading
/// the input and wait after it, so the meeting costs nothing). So the barrier exists before anyone sends, and every
/// block has started. A transfer (st.async) writes a sum and counts its bytes on the barrier in one operation: once the
/// barrier's phase completes, all sums are there. The first block outlives the transfers because it waits for them. The
/// others may exit once theirs are sent.

#include <cstdint>
#include <cstring>

#include "finish.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
/// The same place in the shared memory of the cluster's first block.
__device__ inline std::uint32_t in_first_block(std::uint32_t address) {
  std::uint32_t there;
  asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(address));
  return there;
}
/// Sends a word of 4 or 8 bytes to `place` and counts its bytes on `barrier`, both of the first block.
__device__ inline void send(std::uint32_t place, std::uint32_t word, std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(place), "r"(word),
               "r"(barrier)
               : "memory");
}
__device__ inline void send(std::uint32_t place, std::uint64_t word, std::uint32_t barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(place), "l"(word),
               "r"(barrier)
               : "memory");
}
template <class S>
__device__ void send_sums(std::uint32_t place, const S& sums, std::uint32_t barrier) {
  using Word = std::conditional_t<sizeof(S) == 4, std::uint32_t, std::uint64_t>;
  Word words[sizeof(S) / sizeof(Word)];
  memcpy(words, &sums, sizeof sums);
  for (unsigned k = 0; k < sizeof(S) / sizeof(Word); ++k) send(place + k * sizeof(Word), words[k], barrier);
}
#endif

/// Launch: one cluster of 2 to 16 blocks. No workspace.
template <class In, class Acc, class Operation>
__global__ void __launch_bounds__(512, 1) reduce_in_cluster(const Share<In> in, const OnDevice<Acc> result) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;
  constexpr unsigned block = 512, warps = block / 32;
  __shared__ __align__(16) unsigned char sums_memory[most_blocks_of_cluster * warps * sizeof(S)];
  __shared__ __align__(8) std::uint64_t barrier_memory;
  S* const sums = reinterpret_cast<S*>(sums_memory);
  const std::uint32_t place = shared_address(sums), barrier = shared_address(&barrier_memory);
  const unsigned senders = gridDim.x * warps, sender = blockIdx.x * warps + threadIdx.x / 32;

  if (blockIdx.x == 0 && threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(senders * static_cast<unsigned>(sizeof(S)))
                 : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const S sum = sum_of_warp(Strided<block>().template sum_of_thread<S, W, Operation>(in));
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  if (threadIdx.x % 32 == 0)
    send_sums(in_first_block(place + sender * static_cast<unsigned>(sizeof(S))), sum, in_first_block(barrier));

  if (blockIdx.x != 0 || threadIdx.x >= 32) return;
  unsigned complete;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(complete)
        : "r"(barrier)
        : "memory");
  } while (!complete);
  S total{};
#pragma unroll
  for (unsigned first = 0; first < most_blocks_of_cluster * warps; first += 32)
    if (first + threadIdx.x < senders) total += sums[first + threadIdx.x];
  total = sum_of_warp(total);
  if (threadIdx.x == 0) result.store(total);
#else
  asm volatile("trap;");  // an error, not a result that never came
#endif
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
