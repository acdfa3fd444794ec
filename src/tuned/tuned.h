#pragma once
/// tuned: a reduction in one launch, without knobs, for any n, any alignment and any stream.
///
///   #include <reductio/tuned/tuned.h>                        // in a .cu file
///   using namespace reductio;
///
///   const tuned::Gpu gpu = tuned::current_gpu();             // once
///   std::uint64_t* workspace;                                // once for each stream; any n and any type afterwards
///   cudaMalloc(&workspace, tuned::workspace_bytes(gpu));
///   tuned::init(workspace, gpu, stream);
///
///   tuned::sum(in, n, out, workspace, gpu, stream);          // out[0] = in[0] + ... + in[n - 1]
///   tuned::sum_of_squares(in, n, out, workspace, gpu, stream);
///
///   const tuned::Reduction<float, double> total(n, gpu);     // a plan: the launch is chosen once. Adds floats in double
///   total(in, out, workspace, stream);
///
/// `in` and `out` are pointers to GPU memory, aligned to their element. Each call puts one kernel onto the stream: it
/// allocates nothing, waits for nothing and can be captured in a graph and replayed. A workspace serves one call at a
/// time: calls of one stream, or calls that events order. A launch that CUDA refuses throws device::LaunchError.
///
/// Integers wrap: sums are modulo 2^width. For one n, one type, one alignment of `in` modulo 16 bytes and one Gpu, the
/// result is the same bits at every call: who adds what, and in which order, is fixed.
///
/// How it works
///
///   Reading   16 bytes a load, four loads of a thread under way at once, threads of the grid taking turns. What lies
///             before the first multiple of 16 bytes and behind the last whole vector is less than a vector each, and
///             one step of single loads takes both.
///   Blocks    add up by warp shuffles, and once over their warps.
///   Finish    fan-in. Each block but the last has a slot in the workspace, into which it stores its sum. The last
///             block polls the slots and adds them to its own, in fixed order. There is no atomic update, no fence, no
///             second launch, and nothing is cleared between calls: a slot holds the sum together with a tag, the
///             call's number, and the last block takes what has this call's tag. The number lives in the workspace, so
///             a graph that is replayed has a new one each time; the last block counts it up.
///
/// Sum and tag must arrive together. PTX keeps a scalar store of 8 bytes whole, but no vector store: so a slot is one
/// word of 8 bytes for an accumulator of 4, and two words, each of one half of the sum and the tag, for one of 8. Each
/// word says by itself whether it is this call's, so the order in which they arrive does not matter, and relaxed
/// accesses are enough.
///
/// Why it ends. Only the last block waits, and only for blocks of its own launch, none of which waits for anybody: each
/// that gets a place on the GPU runs to its end and gives the place up. So the last block's wait ends unless the others
/// never get a place. GPUs so far give places in the order of the block's number, so that when the last block runs all
/// others have run or are running. CUDA does not promise that; without it there still is progress as long as the GPU
/// holds one block beside those that wait, of which each kernel under way has one.
///
/// Why the tag is right. A block reads the call's number before it stores its slot; the last block counts up after it
/// has seen all slots of this call, so after every block has read it. Numbers are of 32 bits: before the tag would come
/// around to one that an old slot may still hold, the last block clears every slot, once in 2^32 - 1 calls.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/kernel.h"
#include "tuned/launch_table.h"

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::ceil_div;
using device::GlobalPtr;
using device::Identity;
using device::Launch;
using device::load_relaxed;
using device::SharedPtr;
using device::Square;
using device::store_relaxed;

/// The type that is added in. Of integers the unsigned one, because signed overflow is undefined in C++.
template <class Acc, bool = std::is_integral<Acc>::value>
struct AddedIn {
  using type = Acc;
};
template <class Acc>
struct AddedIn<Acc, true> {
  using type = std::make_unsigned_t<Acc>;
};

/// The workspace, in words: the number of calls so far, alone on its 128 bytes, and from `first_slot` on the slots: of
/// each block its first word, then of each its second one.
inline constexpr unsigned first_slot = 16, most_words = 2;
inline constexpr std::uint32_t last_tag = 0xffffffffu;

/// Slots: for the most blocks that any launch has.
inline std::size_t workspace_slots(const Gpu& gpu) {
  const std::size_t per_sm = gpu.threads_per_sm / least_block;
  return (per_sm ? per_sm : 1) * gpu.sm_count;
}
inline std::size_t workspace_words(const Gpu& gpu) { return first_slot + most_words * workspace_slots(gpu); }
inline std::size_t workspace_bytes(const Gpu& gpu) { return workspace_words(gpu) * sizeof(std::uint64_t); }

// ------------------------------------------------------------------------------------------------------ one thread

/// 16 bytes of input.
template <class In>
struct Vector {
  static constexpr int lanes = 16 / sizeof(In);
  In lane[lanes];
};

/// Loads one at once, through the cache for what nobody writes in this launch.
template <class In>
__device__ Vector<In> load_vector(GlobalPtr<const uint4> p) {
  const uint4 bits = __ldg(p);
  Vector<In> v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/// Adds up a vector in a tree, each element as the operation takes it.
template <class W, class Operation, class In>
__device__ W sum_of_vector(const Vector<In>& v) {
  constexpr int lanes = Vector<In>::lanes;
  W sums[lanes];
  for (int k = 0; k < lanes; ++k) sums[k] = Operation{}(static_cast<W>(v.lane[k]));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

/// What one thread adds up: every `threads`-th vector, from the grid's thread number on. The index is signed, so that
/// nvcc need not allow for one that wraps. An operation takes 0 to 0.
template <class W, class Operation, class In>
__device__ W sum_of_thread(GlobalPtr<const In> in, std::int64_t n) {
  constexpr std::int64_t lanes = Vector<In>::lanes;
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t threads = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t before = static_cast<std::int64_t>(-device::address_of(in) % 16 / sizeof(In));
  const std::int64_t head = min(before, n), whole = (n - head) / lanes, tail = head + whole * lanes;

  W sum = 0;
  const GlobalPtr<const uint4> body = device::pointer_cast<const uint4>(in + head);
  std::int64_t i = thread;
  for (; i + 3 * threads < whole; i += 4 * threads) {
    // All four are asked for before the first is waited for.
    const Vector<In> a = load_vector<In>(body + i), b = load_vector<In>(body + (i + threads)),
                     c = load_vector<In>(body + (i + 2 * threads)), d = load_vector<In>(body + (i + 3 * threads));
    sum += (sum_of_vector<W, Operation>(a) + sum_of_vector<W, Operation>(b)) +
           (sum_of_vector<W, Operation>(c) + sum_of_vector<W, Operation>(d));
  }
  // At most three are left, and the odd ends. These too are asked for together: at middle sizes they are all there is.
  Vector<In> a{}, b{}, c{};
  In first{}, final{};
  if (i < whole) a = load_vector<In>(body + i);
  if (i + threads < whole) b = load_vector<In>(body + (i + threads));
  if (i + 2 * threads < whole) c = load_vector<In>(body + (i + 2 * threads));
  if (thread < head) first = in[thread];
  if (tail + thread < n) final = in[tail + thread];
  sum += (sum_of_vector<W, Operation>(a) + sum_of_vector<W, Operation>(b)) +
         (sum_of_vector<W, Operation>(c) + (Operation{}(static_cast<W>(first)) + Operation{}(static_cast<W>(final))));
  return sum;
}

// ------------------------------------------------------------------------------------------------------- one block

/// Adds up one value of every lane of a warp; valid in lane 0.
template <class W>
__device__ W sum_of_warp(W value) {
  for (unsigned distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

/// Adds up one value of every thread; valid in thread 0. Blocks are whole warps. Once in a kernel: its shared memory is
/// not kept for a second time.
template <class W>
__device__ W sum_of_block(W value) {
  const SharedPtr<W> sums = device::shared_array<W, 32>();
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  value = sum_of_warp(value);
  if (lane == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's sum is stored before the first warp reads it
  if (threadIdx.x < 32) value = sum_of_warp(lane < warps ? W(sums[lane]) : W(0));
  return value;
}

// -------------------------------------------------------------------------------------------------- between blocks

/// A sum as the words of a slot carry it: the low half of each is the call's tag, the high half 4 bytes of the sum.
template <class W>
struct Message {
  static_assert(sizeof(W) == 4 || sizeof(W) == 8, "accumulators have 4 or 8 bytes");
  static constexpr unsigned words = sizeof(W) / 4;
  std::uint64_t word[words];

  static __device__ Message of(W value, std::uint32_t tag) {
    std::uint32_t part[words];
    memcpy(part, &value, sizeof value);
    Message m;
    for (unsigned k = 0; k < words; ++k) m.word[k] = std::uint64_t{part[k]} << 32 | tag;
    return m;
  }
  __device__ bool has(std::uint32_t tag) const {
    bool all = true;
    for (unsigned k = 0; k < words; ++k) all = all && static_cast<std::uint32_t>(word[k]) == tag;
    return all;
  }
  __device__ W value() const {
    std::uint32_t part[words];
    for (unsigned k = 0; k < words; ++k) part[k] = static_cast<std::uint32_t>(word[k] >> 32);
    W out;
    memcpy(&out, part, sizeof out);
    return out;
  }
};

/// The slots of a workspace.
struct Slots {
  GlobalPtr<std::uint64_t> first;
  unsigned count;

  template <class W>
  __device__ void store(unsigned slot, const Message<W>& m) const {
    for (unsigned k = 0; k < Message<W>::words; ++k) store_relaxed(first + (k * count + slot), m.word[k]);
  }
  template <class W>
  __device__ Message<W> load(unsigned slot) const {
    Message<W> m;
    for (unsigned k = 0; k < Message<W>::words; ++k) m.word[k] = load_relaxed(first + (k * count + slot));
    return m;
  }
};

/// What a thread of the last block adds up of the others' sums: every blockDim-th, in order. It looks at two at a time,
/// so that one wait serves both where there are more blocks than threads.
template <class W>
__device__ W sum_of_slots(const Slots& slots, unsigned senders, std::uint32_t tag) {
  W sum = 0;
  for (unsigned slot = threadIdx.x; slot < senders; slot += 2 * blockDim.x) {
    const bool two = slot + blockDim.x < senders;
    Message<W> a, b;
    do {
      a = slots.load<W>(slot);
      b = two ? slots.load<W>(slot + blockDim.x) : a;
    } while (!a.has(tag) || !b.has(tag));
    sum += a.value();
    if (two) sum += b.value();
  }
  return sum;
}

/// Launch: one block of whole warps. Result: out[0]. No workspace.
template <class In, class Acc, class Operation>
__global__ void __launch_bounds__(most_block_alone)
one_block(GlobalPtr<const In> __restrict__ in, GlobalPtr<Acc> out, std::int64_t n) {
  using W = typename AddedIn<Acc>::type;
  const W sum = sum_of_block(sum_of_thread<W, Operation, In>(in, n));
  if (threadIdx.x == 0) out[0] = static_cast<Acc>(sum);
}

/// Launch: at most as many blocks as there are slots, and one. Result: out[0].
template <class In, class Acc, class Operation>
__global__ void __launch_bounds__(most_block)
fan_in(GlobalPtr<const In> __restrict__ in, GlobalPtr<Acc> out, std::int64_t n, GlobalPtr<std::uint64_t> workspace,
       unsigned slot_count) {
  using W = typename AddedIn<Acc>::type;
  const Slots slots{workspace + first_slot, slot_count};
  const unsigned senders = gridDim.x - 1;
  const bool last = blockIdx.x == senders;

  // Asked for before the input, so that it has arrived by the time the sum is there; only by those who need it.
  std::uint32_t tag = 0;
  if (last || threadIdx.x == 0) tag = static_cast<std::uint32_t>(load_relaxed(workspace)) + 1;

  W sum = sum_of_thread<W, Operation, In>(in, n);
  if (last) sum += sum_of_slots<W>(slots, senders, tag);
  sum = sum_of_block(sum);
  if (!last) {
    if (threadIdx.x == 0) slots.store(blockIdx.x, Message<W>::of(sum, tag));
    return;
  }
  if (threadIdx.x == 0) {
    out[0] = static_cast<Acc>(sum);
    store_relaxed(workspace, std::uint64_t{tag == last_tag ? 0 : tag});
  }
  // All slots have been read: sum_of_block has a barrier.
  if (tag == last_tag)
    for (unsigned k = threadIdx.x; k < most_words * slot_count; k += blockDim.x)
      store_relaxed(slots.first + k, std::uint64_t{0});
}

/// A template, so that every file which includes this may have it.
template <class Word>
__global__ void set_up(GlobalPtr<Word> workspace, std::size_t words, std::uint32_t calls) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < words) workspace[i] = i == 0 ? calls : 0;
}

// ----------------------------------------------------------------------------------------------------- on the host

/// Makes raw memory a workspace; once, before the first call on it. `calls` is where it begins to count, which only
/// tests choose. Words of zero are a workspace as well: whoever has a memset at hand needs no init().
inline void init(GlobalPtr<std::uint64_t> workspace, const Gpu& gpu, void* stream, std::uint32_t calls = 0) {
  const std::size_t words = workspace_words(gpu);
  device::launch<set_up<std::uint64_t>>({ceil_div(words, 256), 256, 0, stream}, workspace, words, calls);
}

/// A plan: the launch for n elements, chosen when it is made. Cheap to make and to copy; it owns nothing.
template <class In, class Acc = In, class Operation = Identity>
class Reduction {
  static_assert(!std::is_integral<Acc>::value || std::is_integral<In>::value, "integers add up integers");

 public:
  Reduction(std::size_t n, const Gpu& gpu, const Choice& choice = {})
      : n_(n), slots_(workspace_slots(gpu)), shape_(launch_shape(n, sizeof(In), gpu, choice)) {}

  /// Puts one call onto the stream.
  void operator()(GlobalPtr<const In> in, GlobalPtr<Acc> out, GlobalPtr<std::uint64_t> workspace, void* stream) const {
    const Launch shape{shape_.grid, shape_.block, 0, stream};
    const std::int64_t n = static_cast<std::int64_t>(n_);
    if (shape_.grid == 1)
      device::launch<one_block<In, Acc, Operation>>(shape, in, out, n);
    else
      device::launch<fan_in<In, Acc, Operation>>(shape, in, out, n, workspace, static_cast<unsigned>(slots_));
  }

  LaunchShape shape() const { return shape_; }

  /// The most additions that an element passes through, each of which may round.
  std::size_t longest_chain() const {
    std::size_t lane_tree = 0;
    while (Vector<In>::lanes >> (lane_tree + 1)) ++lane_tree;
    const std::size_t threads = std::size_t{shape_.grid} * shape_.block, vectors = n_ * sizeof(In) / 16 + 1;
    // A vector's own tree, that of four vectors (the odd ends are no deeper), and a sum that takes these one by one.
    const std::size_t thread = std::max<std::size_t>(lane_tree, 1) + 2 + ceil_div(vectors, 4 * threads) + 1, block = 5 + 5;
    const std::size_t finish = shape_.grid > 1 ? ceil_div(shape_.grid - 1, shape_.block) + 1 + block : 0;
    return Operation::roundings + thread + block + finish;
  }

 private:
  std::size_t n_, slots_;
  LaunchShape shape_;
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

#ifdef __CUDACC__
/// The current GPU of the calling thread.
inline Gpu current_gpu() {
  int gpu = 0, sms = 0, threads = 0;
  device::check_launch(cudaGetDevice(&gpu), "asking for the current GPU");
  device::check_launch(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, gpu), "asking for its SMs");
  device::check_launch(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, gpu),
                       "asking for its threads");
  return {static_cast<unsigned>(sms), static_cast<unsigned>(threads)};
}
#endif

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
