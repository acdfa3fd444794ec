#pragma once
/// tuned: a reduction in one launch, without knobs, for any n, any alignment and any stream.
///
///   #include <reductio/tuned/tuned.h>                        // in a .cu file
///   using namespace reductio;
///
///   const tuned::Gpu gpu = tuned::current_gpu();             // once
///   std::uint64_t* workspace;                                // once for each stream; any n and any type afterwards
///   cudaMalloc(&workspace, tuned::workspace_bytes);
///   tuned::init(workspace, stream);
///
///   tuned::sum(in, n, out, workspace, gpu, stream);          // out[0] = in[0] + ... + in[n - 1]
///   tuned::sum_of_squares(in, n, out, workspace, gpu, stream);
///   tuned::moments(in, n, out, workspace, gpu, stream);      // out[0] the sum, out[1] the sum of squares, in one read
///
///   const tuned::Reduction<float, double> total(n, gpu);     // a plan, whose launch is chosen; adds floats in double
///   total(in, out, workspace, stream);
///   const double value = total.to_host(in, arrival, stream); // waits, by polling memory of the host; no workspace
///
/// `in` and `out` are pointers to GPU memory, aligned to their element; `out` is no element of the input. Each call
/// puts one kernel onto the stream: it allocates nothing, waits for nothing and can be captured in a graph and
/// replayed. (to_host waits, and its words are cleared by the host, so it is not for graphs.) A workspace serves one
/// call at a time: calls of one stream, or calls that events order. One that two calls had at once, or that was never
/// initialised, may hold counts that no call completes: then results are wrong or not written, without a word, or a
/// call never ends. init() mends it. A Gpu and a workspace belong to one GPU. A plan keeps no state: host threads may
/// share it. A launch that CUDA refuses throws device::LaunchError, and nothing else is thrown.
///
/// The result's type holds every element, else the call does not compile. Integers go with an integer of 4 or 8 bytes
/// and no fewer than theirs, or with a float or double that has all their digits; __half, __nv_bfloat16 and float go
/// with float or double; double goes with double.
///
/// A sum begins at zero: of no elements it is 0, and of negative zeros alone +0.0, as CUB's sum (which begins at T{})
/// and std::accumulate(..., 0.0f) give; IEEE 754's sum of two negative zeros would be -0.0.
///
/// Integers wrap: sums are modulo 2^width. For one n, one type, one alignment of `in` modulo 128 bytes and one Gpu, the
/// result is the same bits at every call, unless Choice::any_order says otherwise: of floating-point numbers it is
/// fixed what is added to what, and in which order, wherever anything is rounded. So is that of to_host, but it may
/// differ in its last bits from the one on the GPU, and the calling thread's rounding mode counts.
///
/// How it works
///
///   Reading   16 bytes a load, four or eight loads of a thread under way at once (reading.h). All threads have the
///             same number of such rounds, and what is left is spread over all of them in one last step. What lies
///             before the first multiple of 16 bytes (of 128, a line of the caches, where there is much to read) and
///             behind the last whole vector is part of that step. Of much input blocks claim what they read as they go.
///   Blocks    add up by warp shuffles, and once over their warps.
///   Finish    by the sum's size and the input's (launch_table.h): one block that needs none; a thread block cluster,
///             for little (cluster.cuh); packed atomics, for all else (finish.h). To the host: each block sends its sum
///             there, and the calling thread adds them up in fixed order.
///
/// Packed atomics. One word of 64 bits holds the sum so far and how many blocks have added to it. A block adds its sum
/// and 1 in one update; the one that completes the number has the whole sum from that very update, so nothing else has
/// to be seen by anybody and the update is relaxed. It sets the word back to 0, which the next call sees because it
/// begins after this one has ended. Nobody waits.
///
/// More than 4 bytes of integer take several words, each with a digit of the sum and a count of its own, and one lane
/// of a warp for each (digits.h). A floating-point sum is written as a fixed-point number, so these words hold it as it
/// is, and adding them up rounds nothing off: it gives the same bits in any order. Who completes the number in the last
/// word has the result, for what the same instruction has updated beside it is complete as well, and if it were not, is
/// waited for: all blocks have sent it.
///
/// Sums that do not fit. What is too large or too small for the words, infinite, or no number, a block adds to a longer
/// fixed-point number, which has all the exponents of a double (long_accumulator.h), and counts itself in the last word
/// as a block of which something did not fit. A lane's updates of that number stand before its update of its own word,
/// with a fence between; and each lane of the block that has the result has seen its own word complete, and passes a
/// fence, before the warp's barrier and reading the long number. So lane k has seen what lane k of every block did, and
/// the barrier hands that on. The long number is read only if some block was counted so.
///
/// Why all words are zero when a call begins. Who has the result has set them so: that block ends no earlier, and the
/// next call on this workspace begins after it has ended.
///
/// Claims. Of much input each block reads the tile of its own number first. Before it reads one it claims the next, by
/// counting up a word of the workspace: dynamic scheduling. So there is one claim for each tile, and whoever has the
/// last number knows that no other follows, and sets the word back to 0. Where the order may vary, for integers always,
/// a block's threads add up what it got, tile after tile. Else it makes a sum of each tile, while it reads the next,
/// and adds these up in digits.
///
/// To the host. Sum and mark of a block are one store: PTX keeps a scalar store of 8 bytes whole, but no vector store.
/// So a sum of 4 bytes is sent as one word of 8, one of 8 bytes as two words, each of one half of the sum and the mark,
/// and the two sums of 8 bytes of moments as four. Each word says by itself whether it is there.
///
/// Calls one after another. From compute capability 9.0 a call's blocks may take their places while the kernel before
/// it in the stream, another call of tuned say, still runs (programmatic dependent launch). Before they touch global
/// memory they wait until that kernel has ended and what it stored can be seen, so nothing changes but the time: the
/// launch is hidden behind the work before it. A call allows the same to the kernel after it once each of its own
/// blocks has a place.
///
/// The wait is for the kernel before, not for those before that. So each kernel of the user's in the stream that is
/// itself launched so has to wait (griddepcontrol.wait, cudaGridDependencySynchronize()) before it ends, be it before
/// or behind a call: else a call after it may begin while one further back still writes its input or uses its
/// workspace. Kernels launched in the ordinary way need nothing. Choice::overlaps = false makes a call wait for all
/// before it.
///
/// Input is read past the coherent path (ld.global.nc) after that wait, which PTX promises for what nobody writes while
/// the kernel runs; the kernel before has ended by then, and the machine code has no such load before the wait.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../device/kernel.h"
#include "finish.h"
#include "launch_table.h"
#include "reading.h"

#ifdef __CUDACC__
#include "cluster.cuh"
#endif

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::ceil_div;
using device::Identity;
using device::Launch;
using device::Square;

/// Launch: at most as many blocks as one word can count (most_sums); one block takes StoreEach.
template <class In, class Acc, class Operation, class Reading, class Finish, class Result>
__global__ void __launch_bounds__(Reading::block, Reading::template blocks_per_sm<In, SumIn<Acc, Operation>>())
reduce(const Share<In> in, const Reading reading, const Finish finish, const Result result) {
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  const SharedPtr<S> sums = device::shared_array<S, Reading::block / 32>();
  const S sum = sum_of_block<Reading::block>(reading.template sum_of_thread<S, W, Operation>(in), sums);
  if (threadIdx.x < 32) finish.end(sum, result);
}

/// The same of tiles that blocks claim, for sums that are rounded: each tile's is added up without rounding, so it does
/// not matter to the result which block has read it.
template <class In, class Acc, class Operation>
__global__ void __launch_bounds__(Claimed::block, Claimed::blocks_per_sm<In, SumIn<Acc, Operation>>())
reduce_tiles(const Share<In> in, const Claimed reading, const Packed finish, const OnDevice<Acc> result) {
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;
  constexpr unsigned warps = Claimed::block / 32;
  const SharedPtr<S> sums = device::shared_array<S, 2 * warps>();
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  PackedSum<S, Sums::many> packed(finish.workspace);
  reading.sums_of_tiles<S, W, Operation>(in, [&](const S& sum, unsigned turn) {
    // What the first warp still reads of one tile lies elsewhere than what is stored of the next.
    const S of_tile = sum_of_block<Claimed::block>(sum, sums + turn * warps);
    if (threadIdx.x < 32) packed.add(of_tile);
  });
  if (threadIdx.x >= 32) return;
  packed.end(result);
}

/// A template, so that every file which includes this may have it.
template <class Word>
__global__ void set_up(GlobalPtr<Word> workspace, std::size_t words) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) workspace[i] = 0;
}

/// Makes raw memory a workspace; once, before the first call on it. Words of zero are a workspace: whoever has a memset
/// at hand needs no init().
inline void init(GlobalPtr<std::uint64_t> workspace, void* stream) {
  device::launch<set_up<std::uint64_t>>({ceil_div(workspace_words, 256), 256, 0, stream}, workspace, workspace_words);
}

/// Whether a result of type Acc has room for every element of type In.
template <class In, class Acc>
constexpr bool adds_up() {
  if constexpr (!std::is_same<In, std::remove_cv_t<In>>::value || !std::is_arithmetic<Acc>::value ||
                !std::is_same<Acc, std::remove_cv_t<Acc>>::value || (sizeof(Acc) != 4 && sizeof(Acc) != 8))
    return false;
#ifdef __CUDACC__
  else if constexpr (std::is_same<In, __half>::value || std::is_same<In, __nv_bfloat16>::value)
    return std::is_floating_point<Acc>::value;
#endif
  else if constexpr (std::is_integral<Acc>::value)
    return std::is_integral<In>::value && sizeof(In) <= sizeof(Acc);
  else if constexpr (std::is_arithmetic<In>::value)
    return std::numeric_limits<In>::digits <= std::numeric_limits<Acc>::digits;
  else
    return std::is_constructible<Acc, In>::value;
}

/// A plan: the launch for n elements, chosen when it is made. Cheap to make and to copy; it owns nothing.
template <class In, class Acc = In, class Operation = Identity>
class Reduction {
  static_assert(
      adds_up<In, Acc>(),
      "tuned: the result's type does not go with the elements': integers take an integer of 4 or 8 bytes and no "
      "fewer than theirs, or a float or double with all their digits; __half, __nv_bfloat16 and float take float "
      "or double; double takes double; none is const or volatile");
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;

 public:
  /// Results of a call: 2 for Moments.
  static constexpr unsigned results = sizeof(S) / sizeof(W);
  static constexpr FinishedBy finished_by =
      std::is_same<S, std::uint32_t>::value ? FinishedBy::one_word : FinishedBy::words;

  Reduction(std::size_t n, const Gpu& gpu, const Choice& choice = {})
      : n_(n), overlaps_(gpu.compute_capability >= 90 && choice.overlaps),
        any_order_(choice.any_order || std::is_integral<Acc>::value),
        shape_(launch_shape(n * sizeof(In), finished_by, gpu, choice)),
        to_host_shape_(launch_shape(n * sizeof(In), FinishedBy::host, gpu, choice)) {}

  /// Puts one call onto the stream. `out`: `results` elements.
  void operator()(GlobalPtr<const In> in, GlobalPtr<Acc> out, GlobalPtr<std::uint64_t> workspace, void* stream) const {
    const OnDevice<Acc> result{out};
    const Share<In> share = share_of(in, shape_);
    switch (shape_.reading) {
      case tuned::Reading::strided: return launch(Strided<256>(), share, result, workspace, stream);
      case tuned::Reading::tiled: return launch(Tiled(), share, result, workspace, stream);
      case tuned::Reading::claimed: {
        const Claimed claimed{workspace + claims_word};
        if constexpr (!std::is_integral<Acc>::value)
          if (!any_order_)
            return device::launch<reduce_tiles<In, Acc, Operation>>(launch_of(shape_, stream), share, claimed,
                                                                    Packed{workspace}, result);
        return launch(claimed, share, result, workspace, stream);
      }
      case tuned::Reading::cluster:
#ifdef __CUDACC__
        Launch shape = launch_of(shape_, stream);
        shape.cluster = shape_.grid;
        return device::launch<reduce_in_cluster<In, Acc, Operation>>(shape, share, result);
#else
        return;  // launch_shape() chooses it from compute capability 9.0 only, which no simulated device has
#endif
    }
  }

  /// Puts a call onto the stream whose blocks, to_host_shape().grid of them, each send their sum to `arrival`: empty
  /// memory, arrival_words() of it, that the host may read while the kernel runs. sum_of_arrivals() adds them up.
  void send_to_host(GlobalPtr<const In> in, GlobalPtr<std::uint64_t> arrival, void* stream) const {
    const Launch shape = launch_of(to_host_shape_, stream);
    const Share<In> share = share_of(in, to_host_shape_);
    if (to_host_shape_.reading == tuned::Reading::tiled)
      device::launch<reduce<In, Acc, Operation, Tiled, StoreEach, OnHost>>(shape, share, Tiled(), StoreEach{},
                                                                          OnHost{arrival});
    else
      device::launch<reduce<In, Acc, Operation, Strided<256>, StoreEach, OnHost>>(shape, share, Strided<256>(),
                                                                                  StoreEach{}, OnHost{arrival});
  }

#ifdef __CUDACC__
  /// One call, awaited. Nothing is copied, and no block waits for another: each sends its sum to `arrival`, page-locked
  /// memory (cudaMallocHost) of arrival_words() words for one call at a time, and this thread polls them and adds them
  /// up. Throws device::LaunchError if the stream fails. Of Moments the result is a Pair<Acc>.
  auto to_host(const In* in, std::uint64_t* arrival, cudaStream_t stream) const {
    begin_to_host(in, arrival, stream);
    return end_to_host(arrival, stream);
  }
  /// Its two halves: putting the call onto the stream, and waiting for it.
  void begin_to_host(const In* in, std::uint64_t* arrival, cudaStream_t stream) const {
    std::fill_n(arrival, to_host_shape_.grid * Message<S>::words, 0);
    send_to_host(in, arrival, stream);
  }
  auto end_to_host(const std::uint64_t* arrival, cudaStream_t stream) const {
    const S sums = await_arrivals<S>(arrival, to_host_shape_.grid, stream);
    if constexpr (results == 1)
      return static_cast<Acc>(sums);
    else
      return Pair<Acc>{static_cast<Acc>(sums.first), static_cast<Acc>(sums.second)};
  }
#endif

  LaunchShape shape() const { return shape_; }
  LaunchShape to_host_shape() const { return to_host_shape_; }

  /// The most additions that an element passes through, each of which may round.
  std::size_t longest_chain() const {
    // Words are added up in three steps, or two. What did not fit is rounded twice and added to that, and all of it is
    // rounded to the result.
    std::size_t finish = 3 + 3 + 1;
    if (shape_.reading == tuned::Reading::cluster)
      finish = ceil_div(shape_.grid * shape_.block / 32, 32) + 5;
    else if (shape_.grid == 1 && shape_.reading != tuned::Reading::claimed)
      finish = 0;
    return chain_of_block(shape_) + finish;
  }
  /// The same of a call to the host.
  std::size_t longest_chain_to_host() const {
    return chain_of_block(to_host_shape_) + ceil_div(to_host_shape_.grid, 32) + 5;
  }

 private:
  std::size_t chain_of_block(const LaunchShape& shape) const {
    const std::size_t all = n_ * sizeof(In) / 16 + 1, at_once = vectors_at_once(shape.reading);
    std::size_t rounds = ceil_div(all, at_once * shape.grid * shape.block);
    if (shape.reading == tuned::Reading::claimed)  // in any order one block may have claimed all
      rounds = any_order_ ? rounds * shape.grid + 1 : 1;
    // A vector's own tree, that of the vectors at once, the sum that takes these one by one, and the odd ends.
    const std::size_t thread = depth(Vector<In>::lanes) + depth(at_once) + rounds + 3;
    return Operation::roundings + thread + 5 + depth(shape.block / 32);
  }
  static std::size_t depth(std::size_t leaves) {
    std::size_t levels = 0;
    while (leaves >> (levels + 1)) ++levels;
    return levels;
  }

  Launch launch_of(const LaunchShape& shape, void* stream) const {
    Launch launch{shape.grid, shape.block, 0, stream};
    launch.overlaps = overlaps_;
    return launch;
  }
  Share<In> share_of(GlobalPtr<const In> in, const LaunchShape& shape) const {
    return tuned::share_of(in, n_, aligned_to(shape.reading), shape.kept_bytes);
  }

  template <class How>
  void launch(const How& how, const Share<In>& share, const OnDevice<Acc>& result, GlobalPtr<std::uint64_t> workspace,
              void* stream) const {
    const Launch shape = launch_of(shape_, stream);
    if (shape_.grid == 1)
      device::launch<reduce<In, Acc, Operation, How, StoreEach, OnDevice<Acc>>>(shape, share, how, StoreEach{}, result);
    else
      device::launch<reduce<In, Acc, Operation, How, Packed, OnDevice<Acc>>>(shape, share, how, Packed{workspace},
                                                                             result);
  }

  std::size_t n_;
  bool overlaps_, any_order_;
  LaunchShape shape_, to_host_shape_;
};

/// The sum in one call.
template <class In, class Acc>
void sum(GlobalPtr<const In> in, std::size_t n, GlobalPtr<Acc> out, GlobalPtr<std::uint64_t> workspace, const Gpu& gpu,
         void* stream) {
  Reduction<In, Acc>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void sum_of_squares(GlobalPtr<const In> in, std::size_t n, GlobalPtr<Acc> out, GlobalPtr<std::uint64_t> workspace,
                    const Gpu& gpu, void* stream) {
  Reduction<In, Acc, Square>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void moments(GlobalPtr<const In> in, std::size_t n, GlobalPtr<Acc> out, GlobalPtr<std::uint64_t> workspace,
             const Gpu& gpu, void* stream) {
  Reduction<In, Acc, Moments>(n, gpu)(in, out, workspace, stream);
}

#ifdef __CUDACC__
/// The current GPU of the calling thread.
inline Gpu current_gpu() {
  int gpu = 0, sms = 0, threads = 0, l2 = 0;
  device::check_launch(cudaGetDevice(&gpu), "asking for the current GPU");
  device::check_launch(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, gpu), "asking for its SMs");
  device::check_launch(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, gpu),
                       "asking for its threads");
  device::check_launch(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gpu), "asking for its L2 cache");
  return {static_cast<unsigned>(sms), static_cast<unsigned>(threads),
          device::usable_capability<set_up<std::uint64_t>>(),
          device::most_cluster_blocks<set_up<std::uint64_t>>(block_of(Reading::cluster)), static_cast<std::size_t>(l2)};
}
#endif

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
