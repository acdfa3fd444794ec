#pragma once
/// tuned: a fast sum on the GPU in one launch, for any n, any alignment and any stream. Needs C++17.
///
///   #include <reductio/tuned/tuned.h>                        // in a .cu file
///   using namespace reductio;
///
///   const tuned::Gpu gpu = tuned::current_gpu();             // once
///   std::uint64_t* workspace;                                // once for each stream; fits any n and any type
///   cudaMalloc(&workspace, tuned::workspace_bytes);
///   tuned::init(workspace, stream);
///
///   tuned::sum(in, n, out, workspace, gpu, stream);          // out[0] = in[0] + ... + in[n - 1]; 0 for n = 0
///   tuned::sum_of_squares(in, n, out, workspace, gpu, stream);
///   tuned::moments(in, n, out, workspace, gpu, stream);      // out[0] the sum, out[1] the sum of squares, in one read
///
///   const tuned::Reduction<float, double> total(n, gpu);     // a plan, safe for threads to share; sums in double
///   total(in, out, workspace, stream);
///   const double value = total.to_host(in, arrival, stream); // waits: polls page-locked memory; no workspace
///
/// Pointers   to GPU memory, aligned to their element. `out` must not be part of the input.
/// Calls      put one kernel onto the stream. They allocate nothing, wait for nothing and can be captured in a graph.
///            (to_host cannot.) A launch that CUDA refuses throws device::LaunchError; nothing else is thrown.
/// Workspace  serves one call at a time on one GPU: calls of one stream, or calls ordered by events. Two calls at once,
///            or a workspace that was never initialised, give wrong results or hang. init() repairs it.
/// Types      integers: to an integer of 4 or 8 bytes that is no smaller, or to a float or double with all their
///            digits. __half, __nv_bfloat16, float: to float or double. double: to double. Others do not compile.
/// Values     a sum starts at +0. Integers wrap. Floating-point results repeat bit by bit for one n, type, Gpu and
///            alignment of `in` modulo 128 bytes, unless Choice::any_order. to_host may differ in its last bits.
/// Streams    from compute capability 9.0 a call may start while the kernel before still runs (programmatic dependent
///            launch); it waits for its end before it reads. Your own kernels in the stream that are launched so must
///            wait likewise (cudaGridDependencySynchronize()), or set Choice::overlaps to false.
///
/// How it works: reading.h (16-byte loads, dynamic scheduling), finish.h (packed atomics), cluster.cuh (clusters for
/// small inputs), launch_table.h (the launch for each size). docs/tuned.md has the design and the measurements.

#if __cplusplus < 201703L
#error "reductio/tuned needs C++17: compile with -std=c++17, in CMake target_compile_features(NAME PRIVATE cxx_std_17)"
#else

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

/// Launch: at most most_sums blocks, which is what one word can count. A single block finishes by StoreEach.
template <class In, class Acc, class Operation, class Reading, class Finish, class Result>
__global__ void __launch_bounds__(Reading::block, Reading::template blocks_per_sm<In, SumIn<Acc, Operation>>())
reduce(const Share<In> in, const Reading reading, const Finish finish, const Result result) {
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  __shared__ __align__(16) S sums[Reading::block / 32];
  const S sum = sum_of_block<Reading::block>(reading.template sum_of_thread<S, W, Operation>(in), sums);
  if (threadIdx.x < 32) finish.end(sum, result);
}

/// The same with dynamic scheduling, for floating-point sums. Tile sums are added without rounding, so the result does
/// not depend on which block read which tile.
template <class In, class Acc, class Operation>
__global__ void __launch_bounds__(Claimed::block, Claimed::blocks_per_sm<In, SumIn<Acc, Operation>>())
reduce_tiles(const Share<In> in, const Claimed reading, const Packed finish, const OnDevice<Acc> result) {
  using W = typename AddedIn<Acc>::type;
  using S = SumIn<Acc, Operation>;
  constexpr unsigned warps = Claimed::block / 32;
  __shared__ __align__(16) S sums[2 * warps];
  device::wait_for_previous_kernel();
  device::let_next_kernel_begin();
  PackedSum<S, Sums::many> packed(finish.workspace);
  reading.sums_of_tiles<S, W, Operation>(in, [&](const S& sum, unsigned turn) {
    // Two buffers in turn: the first warp may still read the last tile's sums.
    const S of_tile = sum_of_block<Claimed::block>(sum, sums + turn * warps);
    if (threadIdx.x < 32) packed.add(of_tile);
  });
  if (threadIdx.x >= 32) return;
  packed.end(result);
}

/// A template, so that several files may include it.
template <class Word>
__global__ void set_up(Word* workspace, std::size_t words) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) workspace[i] = 0;
}

/// Initialises a workspace, once, before the first call on it: sets it to zero. cudaMemset does as well.
inline void init(std::uint64_t* workspace, void* stream) {
  device::launch<set_up<std::uint64_t>>({ceil_div(workspace_words, 256), 256, 0, stream}, workspace, workspace_words);
}

/// Whether a result of type Acc can hold every element of type In.
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

/// A plan: the launch for n elements. Cheap to make and to copy; owns nothing.
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
  void operator()(const In* in, Acc* out, std::uint64_t* workspace, void* stream) const {
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
        return;  // launch_shape() chooses it where Gpu::most_cluster_blocks is not 0: it is inline PTX
#endif
    }
  }

  /// Puts a call onto the stream, each of whose to_host_shape().grid blocks sends its sum to `arrival`: arrival_words()
  /// words of zero that the host can read while the kernel runs. sum_of_arrivals() adds them up.
  void send_to_host(const In* in, std::uint64_t* arrival, void* stream) const {
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
  /// One call and its result. Each block sends its sum to `arrival`, page-locked memory (cudaMallocHost) of
  /// arrival_words() words, which serves one call at a time. This thread polls them and adds them up, in its own
  /// rounding mode. Moments give a Pair<Acc>. Throws device::LaunchError if the stream fails.
  auto to_host(const In* in, std::uint64_t* arrival, cudaStream_t stream) const {
    begin_to_host(in, arrival, stream);
    return end_to_host(arrival, stream);
  }
  /// Its two halves: enqueue, and wait.
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

  /// The longest chain of additions that an element passes through; each may round.
  std::size_t longest_chain() const {
    // Three steps over a band's words at most; five over the bands, two to put those below, at and above home together;
    // one to the result.
    std::size_t finish = 3 + 5 + 2 + 1;
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
    if (shape.reading == tuned::Reading::claimed)  // in any order one block may claim every tile
      rounds = any_order_ ? rounds * shape.grid + 1 : 1;
    // The tree inside a vector, the tree over vectors in flight, the thread's running sum, and the ends.
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
  Share<In> share_of(const In* in, const LaunchShape& shape) const {
    return tuned::share_of(in, n_, aligned_to(shape.reading), shape.kept_bytes);
  }

  template <class How>
  void launch(const How& how, const Share<In>& share, const OnDevice<Acc>& result, std::uint64_t* workspace,
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
void sum(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace, const Gpu& gpu,
         void* stream) {
  Reduction<In, Acc>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void sum_of_squares(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
                    const Gpu& gpu, void* stream) {
  Reduction<In, Acc, Square>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void moments(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
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

#endif  // C++17
