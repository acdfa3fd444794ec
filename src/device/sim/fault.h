#pragma once
/// What the simulated device diagnoses, in a form that programs can read.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace reductio::sim {

struct Index;

enum class FaultKind {
  launch,              ///< a launch that CUDA would refuse
  out_of_bounds,       ///< outside a view, an allocation or the block's shared memory
  misaligned,          ///< a pointer that is not a multiple of its type's alignment
  use_after_free,      ///< memory that was released before the work ran
  unwritten,           ///< a read of what nobody wrote: shared memory, or poisoned global memory
  race,                ///< two threads, one of them writing, and nothing that orders the two
  divergent_barrier,   ///< threads of a block at different barriers
  unfinished_barrier,  ///< a barrier or warp operation for which threads wait that do not come
  warp_mask,           ///< lanes of a warp operation that disagree on mask or operation, or are not in their mask; or a
                       ///< width that no shuffle has
  endless_wait,        ///< threads poll for what nobody writes
  host_access,         ///< device memory read or written outside a kernel
  stopped,             ///< an assert() that does not hold, or __trap()
  memory,              ///< this machine lacks memory that a GPU has, or that it takes to watch a kernel's accesses
  contract,            ///< a plan that does what plans may not: wait in enqueue(), work in another plan's memory
};

std::string_view name(FaultKind);

/// Thrown where the work is waited for (synchronize, copy_to_host, copy_out), or by the launch itself if CUDA would
/// refuse it there. what() is one line that holds everything below.
struct Fault : DeviceError {
  Fault(FaultKind kind, std::string kernel, std::size_t block, std::vector<unsigned> threads, std::string file,
        int line, const std::string& what_happened, int column = 0);

  FaultKind kind;
  std::string kernel;             ///< "rolled<unsigned int, Identity>"; empty if no kernel is involved
  std::size_t block;              ///< its number in the grid
  std::vector<unsigned> threads;  ///< in the block, of those who fail or wait, ascending; empty if no kernel runs
  std::string file;               ///< the source file where known, from the project's folder where it lies there
  int line, column;               ///< 0 if unknown
};

/// The machine lacks memory that a GPU has, or that of records of accesses. No kernel is to blame, and what a program
/// does next says nothing of it.
struct NoHostMemory : NoMemory {
  using NoMemory::NoMemory;
};

/// "7", or "(3,1,0)" where the launch's blocks, or its grid, have y or z.
std::string thread_name(unsigned thread);
std::string block_name(std::size_t block);
/// The same of number n in a block or a grid of a size, where nobody may allocate.
struct PlainName {
  PlainName(const Index& size, std::size_t number);
  char text[64];
};
/// "0-31, 40, 48-63".
std::string ranges(const std::vector<unsigned>& ascending);

}  // namespace reductio::sim
