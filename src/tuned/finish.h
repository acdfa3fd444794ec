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
/// A block whose sum does not fit the home band, or is infinite or NaN, adds it to the words of a far band (digits.h),
/// and counts itself in the home band's last word. One request does both, and nothing orders its parts. If all blocks
/// add to the same far band, as with data of one magnitude, the last block's update returns the band's complete words.
/// Else that block reads all bands (far_bands.h).
///
/// To the host (OnHost). A block's sum and its "full" mark are one 8-byte store, which PTX keeps whole; a vector store
/// it does not. So a 4-byte sum takes one word, an 8-byte sum two, and moments up to four. The host waits for each word
/// on its own.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "digits.h"
#include "far_bands.h"
#include "reading.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

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
  static constexpr bool floating = std::is_floating_point<W>::value, many = meet == Sums::many;
  static constexpr unsigned values = Summed<S>::values, lanes = values * D::words, last = lanes - 1,
                            all_lanes = 0xffffffffu;
  static_assert(lanes + (many ? 0 : 2 * lanes) <= claims_word, "with the floats' far bands");

 public:
  /// The sum of `blocks` blocks: of all of the grid, unless several sums are under way, each with words of its own.
  explicit __device__ PackedSum(std::uint64_t* workspace, unsigned blocks = gridDim.x)
      : words_(workspace), blocks_(blocks) {}
  /// What a warp has added so far, for a PackedSum that goes on with it.
  struct Added {
    std::int64_t digits = 0;
    unsigned bands = 0;
  };
  __device__ PackedSum(std::uint64_t* workspace, unsigned blocks, const Added& added)
      : words_(workspace), blocks_(blocks), digits_(added.digits), bands_(added.bands) {}
  __device__ Added added() const { return {digits_, bands_}; }

  /// By the first warp of a block, all of whose lanes have the sum.
  __device__ void add(const S& sum) {
    const W mine = Summed<S>::value(sum, which());
    if constexpr (floating)
      if (!D::fits(mine)) return add_far(mine);
    digits_ += D::digit(mine, k());
  }

  /// By the same warp, once for each of the blocks.
  template <class Result>
  __device__ void end(const Result& result) {
    if constexpr (floating && many) send_far();
    // Behind the lanes with a word: one for each sum, which counts the block if its sum is in a far band.
    const bool is_counter = floating && !many && threadIdx.x - lanes < values && bands_ != 0;
    unsigned have_updated = (1u << lanes) - 1;
    if constexpr (floating && !many)
      have_updated = values == 1 ? have_updated | unsigned{bands_ != 0} << lanes
                                 : __ballot_sync(all_lanes, has_word() || is_counter);
    std::uint64_t* place = words_ + threadIdx.x;
    std::uint64_t word = 0;
    if (has_word() || is_counter) {
      std::uint64_t mine = (static_cast<std::uint64_t>(digits_) << D::counts_of(k())) + one_block;
      if constexpr (floating)
        if (bands_ != 0) {
          if constexpr (many) {
            if (is_last_word()) mine += static_cast<std::uint64_t>(__popc(bands_)) << count_bits;
          } else if (is_counter) {
            place = words_of(which(), D::home) + (D::words - 1);
            mine = one_block + (one_block << count_bits);
          } else {
            place = words_of(which(), own_band()) + k();
          }
        }
      word = device::atomicAdd(place, mine) + mine;
    }
    // Sum up first and check afterwards: the sum then does not wait for the check.
    S sums = sums_of(word);
    // All blocks decide by the same word: the last word of the last sum's home band.
    const unsigned are_complete = __ballot_sync(all_lanes, (word & all_blocks) == blocks_),
                   counter = lanes + values - 1, decides = (have_updated >> counter & 1) != 0 ? counter : last;
    if ((are_complete >> decides & 1) == 0) return;
    bool is_whole = (are_complete & have_updated) == have_updated;
    if constexpr (floating)
      is_whole = is_whole && !__any_sync(all_lanes, many ? is_last_word() && D::far_updates(word) != 0
                                                         : bands_ >> D::specials != 0);
    if (!is_whole) sums = gathered(word);
    else if (has_word() || is_counter) store_relaxed(place, std::uint64_t{0});
    if (threadIdx.x == 0) result.store(sums);
  }

  /// end() for a single block. Needs no atomic if all sums are in the home band.
  template <class Result>
  __device__ void end_alone(const Result& result) {
    if constexpr (floating)
      if (__any_sync(all_lanes, bands_ != 0)) return end(result);
    const S sums = sums_of(static_cast<std::uint64_t>(digits_) << D::counts_of(k()));
    if (threadIdx.x == 0) result.store(sums);
  }

 private:
  static __device__ bool has_word() { return threadIdx.x < lanes; }
  /// Which sum this lane belongs to, and which digit of it.
  static __device__ unsigned which() {
    if constexpr (values == 1) return 0;
    else return has_word() ? threadIdx.x / D::words : threadIdx.x % values;
  }
  static __device__ unsigned k() { return threadIdx.x % D::words; }

  static __device__ bool is_last_word() { return has_word() && k() == D::words - 1; }

  /// The words of a band. The floats' far bands lie behind the home band, in the same request. By selection: lanes that
  /// took branches of their own would read one after the other.
  __device__ std::uint64_t* words_of(unsigned value, unsigned band) const {
    unsigned first = far_word + value * far_words + band * D::words;
    if (D::bands == 3 && !many) first = band == D::specials ? first : lanes + (value * 2 + band / 2) * D::words;
    return words_ + (band == D::home ? value * D::words : first);
  }
  /// Of one sum: the far band that it is in.
  __device__ unsigned own_band() const { return static_cast<unsigned>(__ffs(static_cast<int>(bands_))) - 1; }

  __device__ void add_far(W mine) {
    static_assert((D::specials + 1) * D::words <= far_words && D::specials < 32);
    const unsigned band = D::band_of(mine);
    if constexpr (many) {
      if (!has_word()) return;
      std::int64_t* const own = far_digits() + (which() * (D::specials + 1) * D::words + k());
      if (bands_ == 0)
        for (unsigned b = 0; b <= D::specials; ++b) own[b * D::words] = 0;
      own[band * D::words] += D::far_digit(mine, band, k());
    } else {
      digits_ = D::far_digit(mine, band, k());
    }
    bands_ |= 1u << band;
  }
  /// Of many sums: what they add to far bands. Each lane has words of its own.
  static __device__ std::int64_t* far_digits() {
    __shared__ __align__(16) std::int64_t digits[values * (D::specials + 1) * D::words];
    return digits;
  }
  __device__ void send_far() const {
    if (bands_ == 0 || !has_word()) return;
    for (unsigned band = 0; band <= D::specials; ++band) {
      if ((bands_ >> band & 1) == 0) continue;
      const std::int64_t digits = far_digits()[(which() * (D::specials + 1) + band) * D::words + k()];
      device::atomicAdd(words_of(which(), band) + k(),
                        (static_cast<std::uint64_t>(digits) << D::counts_of(k())) + one_block);
    }
  }

  /// The sum, in lane 0, where this block's own words are not all of it. Resets the words.
  __device__ S gathered(std::uint64_t word) const {
    if constexpr (floating) {
      const auto sum = [&](unsigned value) {
        return static_cast<W>(sum_of_bands<D, meet>(words_of(value, threadIdx.x), blocks_));
      };
      if constexpr (values == 1) return sum(0);
      else return {sum(0), sum(1)};
    } else {
      // Not seen on a GPU, where a warp's updates are one request, but nothing promises it.
      while (has_word() && (word & all_blocks) != blocks_) word = load_relaxed(words_ + threadIdx.x);
      __syncwarp();
      if (has_word()) store_relaxed(words_ + threadIdx.x, std::uint64_t{0});
      return sums_of(word);
    }
  }

  /// The sum, in lane 0, where all of it is in this block's words.
  __device__ S sums_of(std::uint64_t word) const {
    auto part = D::part(word, k());
    for (unsigned distance = D::words / 2; distance > 0; distance /= 2)
      part += __shfl_down_sync(all_lanes, part, distance);
    if constexpr (floating && !many)
      if (bands_ != 0) part *= power_of_two<double>(-D::shift_of(own_band()));
    const W total = static_cast<W>(part);
    if constexpr (std::is_same<S, W>::value)
      return total;
    else
      return {total, __shfl_sync(all_lanes, total, static_cast<int>(D::words))};
  }

  std::uint64_t* words_;
  unsigned blocks_;
  std::int64_t digits_ = 0;
  unsigned bands_ = 0;  ///< a bit for each far band that this lane's sum is in
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
