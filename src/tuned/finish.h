#pragma once
/// How the blocks of tuned/tuned.h make one result of their sums, in the launch that read the input. tuned.h says why
/// each is right, and why it ends.

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

/// Sums as words each of which says by itself whether it is there: its high half is 4 bytes of the sums, its low half
/// the mark that it is full. Where nothing has arrived there are zeros.
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

/// Each block stores its sum as a result of its own: where there is one block, or the host adds them up. (As all
/// others, it is called by the first warp of each block, with the block's sum.)
struct StoreEach {
  template <class S, class Result>
  __device__ void end(const S& sum, const Result& result) const {
    if (threadIdx.x == 0) result.store(sum);
  }
};

/// Where sums are added up without rounding (digits.h), so that it does not matter who adds first: words that say how
/// much they hold and how many blocks have added to it. The lanes of one warp have a word each, which they update all
/// at once; who completes the number of blocks has the result.
template <class S, Sums meet = Sums::one_of_each_block>
class PackedSum {
  using W = typename Summed<S>::W;
  using D = Digits<W, meet>;
  static constexpr unsigned lanes = Summed<S>::values * D::words, last = lanes - 1, all_lanes = 0xffffffffu;
  static_assert(lanes <= claims_word, "words on 128 bytes");
  static constexpr bool floating = std::is_floating_point<W>::value;

 public:
  explicit __device__ PackedSum(GlobalPtr<std::uint64_t> workspace) : words_(workspace) {}

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
        __threadfence();  // who sees this update sees those before it
      }
      word = device::atomicAdd(words_ + threadIdx.x, mine) + mine;
    }
    // The sum is made of what there is, complete or not, so that making it does not wait for knowing that.
    S sums = sums_of(word);
    const unsigned are_complete = __ballot_sync(all_lanes, complete(word));
    if ((are_complete >> last & 1) == 0) return;
    if ((are_complete | ~0u << lanes) != all_lanes) {
      // The updates of a warp are one request, so a GPU is not seen to do this; but nothing promises that.
      while (has_word() && !complete(word)) word = load_relaxed(words_ + threadIdx.x);
      __syncwarp();
      sums = sums_of(word);
    }
    // Each lane's word is complete: so, behind this fence, lane k sees what lane k of every block did before its own.
    if constexpr (floating)
      if (__any_sync(all_lanes, has_word() && k() == D::words - 1 && (word & all_that_did_not_fit) != 0)) {
        __threadfence();
        __syncwarp();  // the fences of all lanes stand before what any of them reads
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
  /// Which sum's digit this lane has, and which of its digits.
  static __device__ unsigned which() { return threadIdx.x / D::words; }
  static __device__ unsigned k() { return threadIdx.x % D::words; }

  __device__ LongAccumulator long_accumulator(unsigned of) const {
    return LongAccumulator(words_ + (long_accumulator_word + of * long_accumulator_words));
  }
  /// In lane 0. `more`: what is added to the sum that this lane has a word of, if anything is.
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

  GlobalPtr<std::uint64_t> words_;
  std::int64_t digits_ = 0;
  bool did_not_fit_ = false;
};

/// The same for blocks with one sum each.
struct Packed {
  GlobalPtr<std::uint64_t> workspace;

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

/// To page-locked memory of the host, where the host polls for it: a Message of each block, its words side by side,
/// which are zero before the call.
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
    Message<S> m;
    for (unsigned k = 0; k < Message<S>::words; ++k) m.word[k] = wait_for(block * Message<S>::words + k);
    sums[block % lanes] += m.value();
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
