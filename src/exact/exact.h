#pragma once
/// Exact sums: the real sum of all elements, rounded once. It depends on nothing but the elements, so it has the same
/// bits on every GPU, in every order, of any number of parts. In one launch, large inputs at the speed of tuned::sum:
///
///   tuned::exact_sum(in, n, out, workspace, gpu, stream);      // out[0]: rounded to nearest, ties to even
///   tuned::exact_sum_of_squares(in, n, out, workspace, gpu, stream);
///   tuned::exact_moments(in, n, out, workspace, gpu, stream);  // out[0] the sum, out[1] the sum of squares, one read
///   tuned::exact_partial(in, n, partial, workspace, gpu, stream);   // partial[0]: not rounded yet (exact/partial.h)
///   tuned::exact_partial<Square>(...)                          // or <Moments>: partial[0] and partial[1]
///   tuned::round_partials(partials, count, out, stream);       // adds up `count` of them and rounds
///
/// Pointers, calls, workspace and streams are tuned/tuned.h's. Types: __half, __nv_bfloat16 and float to float or
/// double, double to double.
/// Values: as exact::Partial::rounded() says. Infinities, NaN and the sign of zero are those of IEEE 754's additions,
/// in any order that does not overflow on the way. Subnormal numbers count. A square is not rounded before it is added.
///
/// How it works. A warp adds up tiles of 512 floats or 256 doubles (elements of 16 bits as floats). It has a window:
/// exponents in which a thread's sum of a tile is exact in double.
///
///   half            |-- all that it can have --|                   sums of numbers of 40 bits: 45 bits
///   float           |----- 26 exponents -----|                     sums of numbers of 24 bits: 53 bits
///   double          |------------- 47 exponents -------------|     each split in two, high and rest: 53 bits each
///   float squared   |----- 25 exponents -----|                     a double of 48 bits, split in two
///   double squared  |--- 21 exponents ---|                         two doubles, x * x and its error, split in three
///
/// The split adds and subtracts 1.5 * 2^k, so that high is a multiple of 2^(k - 52) and rest is what that leaves. The
/// error of x * x is fma(x, x, -x * x), which must not underflow: small x are multiplied by 2^600 before. Sums
/// of a tile become 64-bit integers. Each thread adds up its own until the window moves or the kernel ends; then the
/// warp adds them up, in digits of 40 bits: each lane has two of a long accumulator's (exact/partial.h), or three. A
/// tile that is wider than any window goes to bins in shared memory, element by element: floats and doubles to doubles
/// of their lane; squares, and doubles over more than some 250 exponents, in pieces to integers of their warp. Sums of
/// one tile a block have no bins: they cut such a tile into slices of its exponents, in registers. Four neighbouring
/// bfloats are added up as floats where that is exact: conversions to double take longest.
///
/// If no warp of a block has flushed, their integers become the block's digits together. If they also have the same
/// window, a sum that one block rounds takes one conversion. Moments, squares of doubles and large inputs make digits
/// warp by warp. Large inputs are read by dynamic scheduling (tuned/reading.h).
///
/// The finish is tuned/finish.h's: packed atomics, here on eight of the digits, 2^-160 to 2^144. A block with others
/// adds rows of eight to words of their own and counts those in the last word (finish.h). Of moments two warps finish
/// side by side, one for each sum, in words of their own.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../device/kernel.h"
#include "../tuned/launch_table.h"
#include "../tuned/reading.h"
#include "../tuned/tuned.h"
#include "finish.h"
#include "partial.h"
#include "tile.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// By one warp of each block: adds up partial sums. Block k has those of value k, of gridDim.x values.
template <class Result>
__global__ void add_partials(const std::int64_t* parts, std::size_t count, const Result result) {
  std::int64_t word[3] = {};
  const unsigned lane = threadIdx.x;
  for (std::size_t part = blockIdx.x; part < count * gridDim.x; part += gridDim.x)
#pragma unroll
    for (unsigned k = 0; k < 3; ++k) word[k] += parts[part * exact::words + lane + 32 * k];
  const auto is_set = [&](int i) { return __shfl_sync(whole_warp, word[2], i % 32) != 0; };
  unsigned specials = 0;
  for (int k = 0; k < 3; ++k) specials |= static_cast<unsigned>(is_set(exact::infinity_word + k)) << k;
  const bool others = is_set(exact::others_word), negative_zeros = is_set(exact::negative_zeros_word);
  if (lane + 64 >= exact::digits) word[2] = 0;
  const Result to = blockIdx.x == 0 ? result : result.second();
  to.store(word, others ? Added::others : negative_zeros ? Added::negative_zeros : Added::nothing, specials);
}

/// Whether elements of type In have exact sums that are rounded to Acc.
template <class In, class Acc>
constexpr bool adds_up_exactly() {
  return !std::is_integral<In>::value && std::is_floating_point<Acc>::value && adds_up<In, Acc>();
}

template <class Acc>
__host__ __device__ ExactResult exact_result(Acc* out) {
  if constexpr (std::is_same<Acc, float>::value) return {out, nullptr, nullptr};
  else if constexpr (std::is_same<Acc, double>::value) return {nullptr, out, nullptr};
  else return {nullptr, nullptr, reinterpret_cast<std::int64_t*>(out)};
}

/// A plan: the launch for n elements. Cheap to make and to copy; owns nothing. Of a Choice, how blocks read is fixed.
/// Operation: Identity, Square or Moments.
template <class In, class Operation = Identity>
class ExactReduction {
 public:
  /// Results of a call.
  static constexpr unsigned results = std::is_same<Operation, Moments>::value ? 2 : 1;
  static constexpr bool squares = !std::is_same<Operation, Identity>::value;

  /// `claims`: whether blocks claim their tiles (ExactTiles); of a fixed choice, for experiments.
  ExactReduction(std::size_t n, const Gpu& gpu, const Choice& choice = {}, bool claims = false)
      : n_(n), claims_(choice.fixed ? claims : by_claims(n * sizeof(In), gpu)),
        overlaps_(gpu.compute_capability >= 90 && choice.overlaps),
        shape_(shape_for(n * sizeof(In), gpu, choice)) {}

  /// Puts one call onto the stream. `out`: `results` floats or doubles to round to, or exact::Partials.
  template <class Out>
  void operator()(const In* in, Out* out, std::uint64_t* workspace, void* stream) const {
    static_assert(adds_up_exactly<In, Out>() || std::is_same<Out, exact::Partial>::value,
                  "tuned: exact sums are of __half, __nv_bfloat16 or float, to float, double or exact::Partial, or of "
                  "double, to double or exact::Partial");
    Launch launch{shape_.grid, shape_.block, 0, stream};
    launch.overlaps = overlaps_;
    const Share<In> share = share_of(in, n_, aligned_to(shape_.reading), shape_.kept_bytes);
    const ExactFinish finish{workspace, exact_result(out), n_ == 0, shape_.grid};
    if (claims_) return device::launch<add_exactly<In, Operation, 4, ExactRead::claimed>>(launch, share, finish);
    if constexpr (!squares) {
      if constexpr (!std::is_same<Out, exact::Partial>::value)
        if (shape_.grid == 1 && n_ * sizeof(In) <= one_tile)
          return device::launch<add_exactly<In, Operation, 4, ExactRead::alone>>(launch, share, finish);
      const std::size_t round = std::size_t{16} * shape_.grid * exact_block;  // one vector a thread
      if (n_ * sizeof(In) <= round)
        return device::launch<add_exactly<In, Operation, 1, ExactRead::at_once>>(launch, share, finish);
      if (n_ * sizeof(In) <= 4 * round)
        return device::launch<add_exactly<In, Operation, 4, ExactRead::at_once>>(launch, share, finish);
    }
    device::launch<add_exactly<In, Operation, 4, ExactRead::in_turn>>(launch, share, finish);
  }

  LaunchShape shape() const { return shape_; }

 private:
  /// Elements of 16 bits take more arithmetic for each byte, which claims spread evenly.
  static bool by_claims(std::size_t bytes, const Gpu& gpu) { return bytes > row(gpu, sizeof(In) == 2 ? 12 : 48); }
  /// An H200's sizes, scaled by SMs.
  static std::size_t row(const Gpu& gpu, std::size_t mebibytes) {
    return scaled(mebibytes * MiB, gpu.sm_count, h200.sm_count);
  }
  static LaunchShape shape_for(std::size_t bytes, const Gpu& gpu, Choice choice) {
    if (!choice.fixed) {
      const ExactRead read = by_claims(bytes, gpu) ? ExactRead::claimed : ExactRead::in_turn;
      // Up to 1 MiB two blocks an SM read all with one vector a thread.
      if (!squares && bytes > one_tile && bytes <= row(gpu, 1)) choice.vectors_per_thread = 1;
      // Up to `few` bytes by two blocks an SM, because few blocks finish sooner.
      const std::size_t few = row(gpu, sizeof(In) == 8 ? (squares ? 32 : 16) : sizeof(In) == 4 ? 4 : 8);
      choice.most_blocks = bytes <= one_tile ? 0 : bytes <= few ? 2 : exact_blocks_per_sm<In, Operation>(read);
      if (bytes > row(gpu, 48) && bytes <= row(gpu, 256))
        choice.kept_bytes = scaled(kept_in_l2, gpu.l2_bytes, h200.l2_bytes);
    }
    choice.fixed = true;
    choice.reading = Reading::strided;
    LaunchShape shape = launch_shape(bytes, FinishedBy::words, gpu, choice);
    if (shape.grid > ExactFinish::most_blocks) shape.grid = ExactFinish::most_blocks;
    return shape;
  }
  /// What a single block has registers for.
  static constexpr std::size_t one_tile = 16 * KiB;

  std::size_t n_;
  bool claims_, overlaps_;
  LaunchShape shape_;
};

/// The exact sum, rounded once, in one call.
template <class In, class Acc>
void exact_sum(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
               const Gpu& gpu, void* stream) {
  ExactReduction<In>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void exact_sum_of_squares(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
                          const Gpu& gpu, void* stream) {
  ExactReduction<In, Square>(n, gpu)(in, out, workspace, stream);
}
template <class In, class Acc>
void exact_moments(const In* in, std::size_t n, Acc* out, std::uint64_t* workspace,
                   const Gpu& gpu, void* stream) {
  ExactReduction<In, Moments>(n, gpu)(in, out, workspace, stream);
}
/// The exact sum, not rounded; of squares by <Square>, both by <Moments>.
template <class Operation = Identity, class In>
void exact_partial(const In* in, std::size_t n, exact::Partial* out,
                   std::uint64_t* workspace, const Gpu& gpu, void* stream) {
  ExactReduction<In, Operation>(n, gpu)(in, out, workspace, stream);
}
/// Adds up partial sums, up to 2^18, and rounds to a float or double, or not to an exact::Partial. values = 2: of
/// moments, `count` pairs of Partials, to two results.
template <class Out>
void round_partials(const exact::Partial* parts, std::size_t count, Out* out, void* stream,
                    unsigned values = 1) {
  device::launch<add_partials<ExactResult>>({values, 32, 0, stream}, reinterpret_cast<const std::int64_t*>(parts),
                                            count, exact_result(out));
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
