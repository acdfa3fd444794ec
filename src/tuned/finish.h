#pragma once
/// How the blocks of tuned/tuned.h make one result of their sums, in the launch that read the input. tuned.h says why
/// each is right, and why it ends.

#include <cstdint>
#include <cstring>

#include "../device/kernel.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::load_relaxed;
using device::store_relaxed;

/// Sums as the words of a slot carry them: the high half of each word is 4 bytes of the sums, the low half the mark
/// that it is full. Words of zero are an empty slot.
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
  __device__ bool is_full() const {
    bool all = true;
    for (unsigned k = 0; k < words; ++k) all &= static_cast<std::uint32_t>(word[k]) == full;
    return all;
  }
  __device__ S value() const {
    std::uint32_t part[words];
    for (unsigned k = 0; k < words; ++k) part[k] = static_cast<std::uint32_t>(word[k] >> 32);
    S out;
    memcpy(&out, part, sizeof out);
    return out;
  }
};

/// The slots of a workspace.
struct Slots {
  GlobalPtr<std::uint64_t> first;
  unsigned count;

  template <class S>
  __device__ void store(unsigned slot, const Message<S>& m) const {
    for (unsigned k = 0; k < Message<S>::words; ++k) store_relaxed(first + (k * count + slot), m.word[k]);
  }
  template <class S>
  __device__ Message<S> load(unsigned slot) const {
    Message<S> m;
    for (unsigned k = 0; k < Message<S>::words; ++k) m.word[k] = load_relaxed(first + (k * count + slot));
    return m;
  }
};

/// What a thread of the last block's first `threads` adds up of the others' sums, or of the pieces': every `threads`-th,
/// in order. As many as fit into registers are asked for at once, and looked at only then: a branch between two loads
/// would have the second wait for the first, one round trip to L2 each. A thread beyond the last slot looks at that one.
/// Who has read a slot empties it.
template <class S, unsigned threads>
__device__ S sum_of_slots(const Slots& slots, unsigned senders) {
  constexpr unsigned at_once = Message<S>::words == 1 ? 9 : Message<S>::words == 2 ? 5 : 3;
  S sum{};
  for (unsigned first = 0; first < senders; first += threads * at_once) {
    const unsigned mine = first + threadIdx.x, end = senders - 1;
    Message<S> m[at_once];
    for (unsigned k = 0; k < at_once; ++k) m[k] = Message<S>::of(S{});
    bool all;
    do {
      for (unsigned k = 0; k < at_once; ++k)
        if (first + threads * k < senders) m[k] = slots.load<S>(min(mine + threads * k, end));
      all = true;
      for (unsigned k = 0; k < at_once; ++k) all &= m[k].is_full();
    } while (!all);
    if constexpr (threads == 32)
      __syncwarp();  // the last slot has been seen by all who look at it
    else
      __syncthreads();
    for (unsigned k = 0; k < at_once; ++k)
      if (mine + threads * k < senders) {
        slots.store(mine + threads * k, Message<S>{});
        sum += m[k].value();
      }
  }
  return sum;
}

/// Each block stores its sum as a result of its own: where there is one block, or the host adds them up. (As all
/// others, it is called by the first warp of each block, with the block's sum.)
struct StoreEach {
  template <class S, class Result>
  __device__ void end(const S& sum, const Result& result) const {
    if (threadIdx.x == 0) result.store(sum);
  }
};

/// Each block but the last stores its sum in a slot; the last one's first warp polls the slots and adds them up. For two
/// blocks or more.
struct FanIn {
  Slots slots;

  template <class S, class Result>
  __device__ void end(S sum, const Result& result) const {
    const unsigned senders = gridDim.x - 1;
    const bool first_lane = threadIdx.x == 0;
    if (blockIdx.x != senders) {
      if (first_lane) slots.store(blockIdx.x, Message<S>::of(sum));
      return;
    }
    S total = sum_of_slots<S, 32>(slots, senders);
    if (first_lane) total += sum;
    total = sum_of_warp(total);
    if (first_lane) result.store(total);
  }
};

/// For sums of 4 bytes of integer, where it does not matter who adds first: one word holds the sum so far in its high
/// half and how many blocks have added in its low half. Who completes the number has the result. For two blocks or more.
struct Packed {
  GlobalPtr<std::uint64_t> arrived;

  template <class Result>
  __device__ void end(std::uint32_t sum, const Result& result) const {
    if (threadIdx.x != 0) return;
    const std::uint64_t mine = std::uint64_t{sum} << 32 | 1;
    const std::uint64_t before = device::atomicAdd(arrived, mine);
    if (static_cast<std::uint32_t>(before) != gridDim.x - 1) return;
    result.store(static_cast<std::uint32_t>((before + mine) >> 32));
    store_relaxed(arrived, std::uint64_t{0});
  }
};

/// Where a call's result goes: to GPU memory, out[0], of a Pair out[0] and out[1].
template <class Acc>
struct OnDevice {
  GlobalPtr<Acc> out;

  template <class W>
  __device__ void store(W sum) const { out[0] = static_cast<Acc>(sum); }
  template <class W>
  __device__ void store(const Pair<W>& sums) const {
    out[0] = static_cast<Acc>(sums.first);
    out[1] = static_cast<Acc>(sums.second);
  }
};

/// To page-locked memory of the host, where the host polls for it: as in slots, one of each block, which are empty
/// before the call. A slot's words lie together here, as the host reads them.
struct OnHost {
  GlobalPtr<std::uint64_t> words;

  template <class S>
  __device__ void store(const S& sums) const {
    const Message<S> m = Message<S>::of(sums);
    for (unsigned k = 0; k < Message<S>::words; ++k)
      store_relaxed<device::Scope::system>(words + (blockIdx.x * Message<S>::words + k), m.word[k]);
  }
};

/// By the host: adds up the sums of `blocks` blocks, OnHost, in the order in which a warp's lanes and then the warp
/// would. `wait_for(i)` gives word i once it is marked.
template <class S, class WaitFor>
S sum_of_arrivals(unsigned blocks, const WaitFor& wait_for) {
  constexpr unsigned lanes = 32;
  S sums[lanes] = {};
  for (unsigned block = 0; block < blocks; ++block) {
    std::uint32_t part[Message<S>::words];
    for (unsigned k = 0; k < Message<S>::words; ++k)
      part[k] = static_cast<std::uint32_t>(wait_for(block * Message<S>::words + k) >> 32);
    S sum;
    std::memcpy(&sum, part, sizeof sum);
    sums[block % lanes] += sum;
  }
  for (unsigned half = lanes / 2; half > 0; half /= 2)
    for (unsigned lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

#ifdef __CUDACC__
/// Waits until the sums of all `blocks` blocks of a call have arrived OnHost, and adds them up. Throws
/// device::LaunchError if the stream fails meanwhile.
template <class S>
S await_arrivals(const std::uint64_t* words, unsigned blocks, cudaStream_t stream) {
  return sum_of_arrivals<S>(blocks, [=](unsigned i) {
    const auto load = [&] { return *static_cast<const volatile std::uint64_t*>(words + i); };
    const auto marked = [](std::uint64_t word) { return static_cast<std::uint32_t>(word) == Message<S>::full; };
    for (unsigned polls = 1;; ++polls) {
      const std::uint64_t word = load();
      if (marked(word)) return word;
      // Rarely, since it takes longer than a poll. A stream that is done has written everything.
      if (polls % 4096 == 0) {
        const cudaError_t status = cudaStreamQuery(stream);
        if (status == cudaErrorNotReady) {
          cudaGetLastError();  // which is no error, and must not show up as that of the next launch
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
