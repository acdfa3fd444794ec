#pragma once
/// Between blocks: how the blocks' sums become one, and the kernel composed of the three levels. Each level is a class
/// with
///
///   reduce<Thread, Block>(in, n, out, workspace)   the whole kernel, of which it decides the end
///
/// Where a second launch or the host adds up the blocks' sums, the launching code does that.

#include <cstddef>
#include <cstdint>

#include "device/kernel.h"
#include "strategies/slots.h"
#include "tuned/tuned.h"

namespace reductio::strategies {
inline namespace REDUCTIO_DEVICE_NAMESPACE {


/// What blocks hand sums on by; each level has the members that it names.
template <class T>
struct Workspace {
  T* partials{};        ///< one for each block
  unsigned* arrived{};  ///< zero before a call, and zero again behind it
  std::uint64_t* slots{};  ///< one for each block, as Slots has them; empty before and behind a call
};

/// Each block stores its sum in out[b]. A second launch of one block, or the host, adds them up.
struct Partials {
  template <class Thread, class Block, class T>
  static __device__ void reduce(const T* in, std::int64_t n, T* out, const Workspace<T>&) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
};

/// Every block adds its sum to out[0], which is zero before the launch.
struct Atomic {
  template <class Thread, class Block, class T>
  static __device__ void reduce(const T* in, std::int64_t n, T* out, const Workspace<T>&) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
};

/// Each block stores its sum and draws a ticket. The block with the last ticket knows that all sums are stored, and
/// adds them up. Uses `partials` and `arrived`.
struct LastBlock {
  template <class Thread, class Block, class T>
  static __device__ void reduce(const T* in, std::int64_t n, T* out, const Workspace<T>& w) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) w.partials[blockIdx.x] = sum;
    if (!is_last(w.arrived)) return;
    T total = 0;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += w.partials[i];
    total = Block::sum(total);
    if (threadIdx.x == 0) out[0] = total;
  }

 private:
  /// True for all threads of the last block, once thread 0 of every block has stored its sum. A block barrier. The
  /// count wraps to zero at the last ticket, ready for the next call.
  static __device__ bool is_last(unsigned* arrived) {
    bool last = false;
    if (threadIdx.x == 0) {
      __threadfence();  // whoever sees this block counted also sees the sum that this thread stored before
      last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
      // Pairs with the fences of the blocks counted before: what this block reads from here on is no older than what
      // they stored.
      __threadfence();
    }
    // The barrier hands thread 0's view on to the whole block; it also keeps the shared memory of the first sum until
    // thread 0 has read it.
    return __syncthreads_or(last) != 0;
  }
};

/// Each block but the last stores its sum, with a mark that it is there, in a slot of its own. The last block polls the
/// slots and adds the sums to its threads' values before they meet: one tree in place of two, and no atomic. It empties
/// each slot that it has read. Sum and mark arrive together (tuned::Message). It ends: only the last block waits, and
/// the others leave the GPU to blocks that have not begun. Uses `slots`.
struct FanIn {
  template <class Thread, class Block, class T>
  static __device__ void reduce(const T* in, std::int64_t n, T* out, const Workspace<T>& w) {
    using Message = tuned::Message<T>;
    const unsigned senders = gridDim.x - 1;
    const Slots slots{w.slots, senders};
    const bool last = blockIdx.x == senders;

    T sum = Thread::sum(in, n);
    if (last)
      for (unsigned slot = threadIdx.x; slot < senders; slot += blockDim.x) {
        Message message;
        do message = slots.load<T>(slot);
        while (!is_full(message));
        slots.store(slot, Message{});
        sum += message.value();
      }
    sum = Block::sum(sum);
    if (threadIdx.x != 0) return;
    if (last)
      out[0] = sum;
    else
      slots.store(blockIdx.x, Message::of(sum));
  }
};

/// The composed kernel. Launch: Thread's grid, a power of two from 32 as block, and Block's dynamic shared memory.
/// Result: out[0], or with Partials out[b] for every block b.
template <class T, class Thread, class Block, class Between>
__global__ void reduce(const T* in, std::int64_t n, T* out, Workspace<T> workspace) {
  Between::template reduce<Thread, Block>(in, n, out, workspace);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::strategies
