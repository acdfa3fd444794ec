#pragma once
/// How the blocks of tuned/tuned.h combine their sums in the same launch.
///
/// Packed atomics (Packed). One 64-bit word holds the sum so far and the number of blocks that added to it. A block
/// adds its sum and 1 in one atomic. The block whose atomic completes the count reads the whole sum from its return
/// value. It needs nothing else that other blocks wrote, so the atomic is relaxed and nobody waits. It then resets the
/// word to 0. The next call on the workspace sees the 0, because it starts after this kernel has ended.
///
/// Wider sums take several words, one lane of a warp each (PackedSum). Each word has one digit of the sum and its own
/// count (digits.h). Floating-point sums are written in fixed point, so adding digits does not round and any order
/// gives the same bits. The block that completes the last word has the result. If another word is not complete yet, it
/// polls that word: every block has already sent it.
///
/// Values that do not fit. Too large, too small, infinite or NaN: the block adds them to a long accumulator
/// (long_accumulator.h) and counts itself in the last word. Each lane updates the accumulator, passes a fence, and then
/// updates its word. In the last block each lane sees its word complete and passes a fence before the warp's barrier.
/// So lane k sees what lane k of every block added, and the barrier shares it with the warp.
///
/// To the host (OnHost). A block's sum and its "full" mark are one 8-byte store, which PTX keeps whole; a vector store
/// it does not. So a 4-byte sum takes one word, an 8-byte sum two, and moments up to four. The host waits for each word
/// on its own.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "digits.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::load_relaxed;
using device::store_relaxed;

/// Sums as words that can arrive one by one. High half: 4 bytes of the sums. Low half: the mark `full`, or 0 until the
/// word has arrived.
template <class S>
struct Message {
  static_assert(sizeof(S) % 4 == 0 && sizeof(S) / 4 <= most_words, "sums of 4, 8 or 16 bytes");
  static constexpr unsigned words = sizeof(S) / 4;
  static constexpr std::uint32_t full = 1;
  std::uint64_t word[words];

  static __device__ Message of(const S& value) {
    std::uint32_t part[words];
    memcpy(part, &value, sizeof value);
    Message m;
    for (unsigned k = 0; k < words; ++k) m.word[k] = std::uint64_t{part[k]} << 32 | full;
    return m;
  }
  __host__ __device__ S value() const {
    std::uint32_t part[words];
    for (unsigned k = 0; k < words; ++k) part[k] = static_cast<std::uint32_t>(word[k] >> 32);
    S out;
    memcpy(&out, part, sizeof out);
    return out;
  }
};

/// Each block stores its own sum: for a single block, or where the host adds them up. Every finish is called by the
/// first warp of each block, with the block's sum.
struct StoreEach {
  template <class S, class Result>
  __device__ void end(const S& sum, const Result& result) const {
    if (threadIdx.x == 0) result.store(sum);
  }
};

/// Packed atomics over several words, without rounding. Each lane of a warp updates one word, all in one request.
template <class S, Sums meet = Sums::one_of_each_block>
class PackedSum {
  using W = typename Summed<S>::W;
  using D = Digits<W, meet>;
  static constexpr unsigned lanes = Summed<S>::values * D::words, last = lanes - 1, all_lanes = 0xffffffffu;
  static_assert(lanes <= claims_word, "words on 128 bytes");
  static constexpr bool floating = std::is_floating_point<W>::value;

 public:
  explicit __device__ PackedSum(std::uint64_t* workspace) : words_(workspace) {}

  /// By the first warp of a block, all of whose lanes have the sum.
  __device__ void add(const S& sum) {
    if (!has_word()) return;
    const W mine = Summed<S>::value(sum, which());
    if (D::fits(mine)) {
      digits_ += D::digit(mine, k());
    } else if constexpr (floating) {
      long_accumulator(which()).add(mine, k());
      did_not_fit_ = true;
    }
  }

  /// By the same warp, once for each block of the grid.
  template <class Result>
  __device__ void end(const Result& result) {
    const auto complete = [](std::uint64_t w) { return (w & all_blocks) == gridDim.x; };
    std::uint64_t word = 0;
    if (has_word()) {
      std::uint64_t mine = (static_cast<std::uint64_t>(digits_) << D::counts_of(k())) + one_block;
      if (did_not_fit_) {
        if (k() == D::words - 1) mine += one_that_did_not_fit;
        __threadfence();  // whoever sees the update below sees those of the long accumulator
      }
      word = device::atomicAdd(words_ + threadIdx.x, mine) + mine;
    }
    // Sum up first and check afterwards: the sum then does not wait for the check.
    S sums = sums_of(word);
    const unsigned are_complete = __ballot_sync(all_lanes, complete(word));
    if ((are_complete >> last & 1) == 0) return;
    if ((are_complete | ~0u << lanes) != all_lanes) {
      // Not seen on a GPU, where a warp's updates are one request, but nothing promises it.
      while (has_word() && !complete(word)) word = load_relaxed(words_ + threadIdx.x);
      __syncwarp();
      sums = sums_of(word);
    }
    // Every word is complete: behind this fence lane k sees what lane k of every block did before its update.
    if constexpr (floating)
      if (__any_sync(all_lanes, has_word() && k() == D::words - 1 && (word & all_that_did_not_fit) != 0)) {
        __threadfence();
        __syncwarp();  // all lanes' fences come before any lane's reads
        double more = long_accumulator(0).take();
        if constexpr (last >= D::words) {
          const double of_second = long_accumulator(1).take();
          if (threadIdx.x >= D::words) more = of_second;
        }
        sums = sums_of(word, more);
      }
    if (has_word()) store_relaxed(words_ + threadIdx.x, std::uint64_t{0});
    if (threadIdx.x == 0) result.store(sums);
  }

 private:
  static __device__ bool has_word() { return threadIdx.x < lanes; }
  /// Which sum this lane belongs to, and which digit of it.
  static __device__ unsigned which() { return threadIdx.x / D::words; }
  static __device__ unsigned k() { return threadIdx.x % D::words; }

  __device__ LongAccumulator long_accumulator(unsigned of) const {
    return LongAccumulator(words_ + (long_accumulator_word + of * long_accumulator_words));
  }
  /// The sum, in lane 0. `more` is added to the sum that this lane belongs to.
  template <class... More>
  static __device__ S sums_of(std::uint64_t word, More... more) {
    auto part = D::part(word, k());
    for (unsigned distance = D::words / 2; distance > 0; distance /= 2)
      part += __shfl_down_sync(all_lanes, part, distance);
    ((part += more), ...);
    const W total = static_cast<W>(part);
    if constexpr (std::is_same<S, W>::value)
      return total;
    else
      return {total, __shfl_sync(all_lanes, total, static_cast<int>(D::words))};
  }

  std::uint64_t* words_;
  std::int64_t digits_ = 0;
  bool did_not_fit_ = false;
};

/// Packed atomics for blocks with one sum each.
struct Packed {
  std::uint64_t* workspace;

  template <class S, class Result>
  __device__ void end(const S& sum, const Result& result) const {
    if constexpr (std::is_same<S, std::uint32_t>::value) {  // nothing for the other lanes to do
      if (threadIdx.x != 0) return;
      const std::uint64_t mine =
          (static_cast<std::uint64_t>(Digits<S>::digit(sum, 0)) << Digits<S>::counts_of(0)) + one_block;
      const std::uint64_t before = device::atomicAdd(workspace, mine);
      if ((before & all_blocks) != gridDim.x - 1) return;
      result.store(Digits<S>::part(before + mine, 0));
      store_relaxed(workspace, std::uint64_t{0});
    } else {
      PackedSum<S> packed(workspace);
      packed.add(sum);
      packed.end(result);
    }
  }
};

/// Stores a result in GPU memory: out[0], or out[0] and out[1] of a Pair.
template <class Acc>
struct OnDevice {
  Acc* out;

  template <class W>
  __device__ void store(W sum) const { out[0] = static_cast<Acc>(sum); }
  template <class W>
  __device__ void store(const Pair<W>& sums) const {
    out[0] = static_cast<Acc>(sums.first);
    out[1] = static_cast<Acc>(sums.second);
  }
};

/// Stores a Message of each block in page-locked host memory, which is zero before the call and which the host polls.
struct OnHost {
  std::uint64_t* words;

  template <class S>
  __device__ void store(const S& sums) const {
    const Message<S> m = Message<S>::of(sums);
    for (unsigned k = 0; k < Message<S>::words; ++k)
      store_relaxed<device::Scope::system>(words + (blockIdx.x * Message<S>::words + k), m.word[k]);
  }
};

/// On the host: adds up the sums of `blocks` blocks in the order of a warp, first per lane, then across lanes.
/// `wait_for(i)` returns word i once it is marked.
template <class S, class WaitFor>
S sum_of_arrivals(unsigned blocks, const WaitFor& wait_for) {
  constexpr unsigned lanes = 32;
  S sums[lanes] = {};
  for (unsigned block = 0; block < blocks; ++block) {
    Message<S> m;
    for (unsigned k = 0; k < Message<S>::words; ++k) m.word[k] = wait_for(block * Message<S>::words + k);
    sums[block % lanes] += m.value();
  }
  for (unsigned half = lanes / 2; half > 0; half /= 2)
    for (unsigned lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

#ifdef __CUDACC__
/// Waits for the sums of all blocks of a call and adds them up. Throws device::LaunchError if the stream fails.
template <class S>
S await_arrivals(const std::uint64_t* words, unsigned blocks, cudaStream_t stream) {
  return sum_of_arrivals<S>(blocks, [=](unsigned i) {
    const auto load = [&] { return *static_cast<const volatile std::uint64_t*>(words + i); };
    const auto marked = [](std::uint64_t word) { return static_cast<std::uint32_t>(word) == Message<S>::full; };
    for (unsigned polls = 1;; ++polls) {
      const std::uint64_t word = load();
      if (marked(word)) return word;
      // Rarely, because it costs more than a poll. A stream that is done has written everything.
      if (polls % 4096 == 0) {
        const cudaError_t status = cudaStreamQuery(stream);
        if (status == cudaErrorNotReady) {
          cudaGetLastError();  // "not ready" must not show up as the next launch's error
          continue;
        }
        device::check_launch(status, "waiting for the result");
        if (!marked(load()))
          throw device::LaunchError("the stream is done and no result has arrived: is it the stream of the call?");
      }
    }
  });
}
#endif

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
