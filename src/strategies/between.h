#pragma once
/// Between blocks: how the sums of the blocks become one, and the kernel that is composed of the three levels. Each
/// level is a class with
///
///   reduce<Thread, Block>(in, n, out, workspace)   the whole kernel, of which it decides the end
///
/// A level whose end is another launch, or the host, leaves that to whoever launches.

#include <cstddef>
#include <cstdint>

#include "device/kernel.h"
#include "strategies/slots.h"
#include "tuned/tuned.h"

namespace reductio::strategies {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::GlobalPtr;

/// What blocks hand sums on by; each level has the members that it names.
template <class T>
struct Workspace {
  GlobalPtr<T> partials{};        ///< one for each block
  GlobalPtr<unsigned> arrived{};  ///< zero before a call, and zero again behind it
  GlobalPtr<std::uint64_t> slots{};  ///< one for each block, as Slots has them; empty before and behind a call
};

/// Every block leaves its sum in out[b]. A second launch, of one block over these, or the host adds them up.
struct Partials {
  template <class Thread, class Block, class T>
  static __device__ void reduce(GlobalPtr<const T> in, std::int64_t n, GlobalPtr<T> out, const Workspace<T>&) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
};

/// Every block adds its sum to out[0], which is zero before the launch.
struct Atomic {
  template <class Thread, class Block, class T>
  static __device__ void reduce(GlobalPtr<const T> in, std::int64_t n, GlobalPtr<T> out, const Workspace<T>&) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
};

/// Every block stores its sum and draws a ticket. Who draws the last one knows that all sums are stored, and adds them
/// up. Uses `partials` and `arrived`.
struct LastBlock {
  template <class Thread, class Block, class T>
  static __device__ void reduce(GlobalPtr<const T> in, std::int64_t n, GlobalPtr<T> out, const Workspace<T>& w) {
    const T sum = Block::sum(Thread::sum(in, n));
    if (threadIdx.x == 0) w.partials[blockIdx.x] = sum;
    if (!is_last(w.arrived)) return;
    T total = 0;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) total += T(w.partials[i]);
    total = Block::sum(total);
    if (threadIdx.x == 0) out[0] = total;
  }

 private:
  /// True for all threads of the block that arrives last, once thread 0 of every block has stored its sum. A block
  /// barrier. The count wraps to zero with the last ticket, so the next call finds it as this one did.
  static __device__ bool is_last(GlobalPtr<unsigned> arrived) {
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

/// Every block but the last stores its sum together with a mark into a slot of its own; the last polls the slots, and
/// adds to its own threads' values what it finds, before they meet: one tree in place of two, and no atomic. Who has
/// read a slot leaves it empty. Sum and mark arrive together (tuned::Message). It ends, because nobody but the last
/// block waits, and a block that does not wait gives its place on the GPU up to one that has not begun. Uses `slots`.
struct FanIn {
  template <class Thread, class Block, class T>
  static __device__ void reduce(GlobalPtr<const T> in, std::int64_t n, GlobalPtr<T> out, const Workspace<T>& w) {
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

/// The composed kernel. Launch: the grid that Thread wants, a power of two from 32 as block, as much dynamic shared
/// memory as Block says. Result: out[0], or out[b] of every block b by Partials.
template <class T, class Thread, class Block, class Between>
__global__ void reduce(GlobalPtr<const T> in, std::int64_t n, GlobalPtr<T> out, Workspace<T> workspace) {
  Between::template reduce<Thread, Block>(in, n, out, workspace);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::strategies
