#pragma once
/// A whole program on the simulated device: what its calls of CUDA's runtime tell whoever runs it.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "device/sim/fault.h"

namespace reductio::sim {

/// A call of the runtime that returned an error.
struct FailedCall {
  std::string file;  ///< empty if not known
  int line, column;
  std::string what;  ///< "cudaMalloc: cudaErrorMemoryAllocation, ..."
};

/// What a thread whose stack overflowed leaves to say. A signal handler tells it, while the thread may have been
/// allocating: so nobody may allocate on the way.
struct StackOverflow {
  const char* kernel;
  std::size_t block;
  unsigned thread;
  std::string_view file;  ///< empty if not known
  int line, column;
  const char* message;  ///< as a Fault's
};

struct ProgramEvents {
  std::function<void(const Fault&)> found;  ///< may end the process
  std::function<void(const FailedCall&)> failed;
  void (*overflowed)(const StackOverflow&);  ///< ends the process
  /// A kernel goes on after a race, and its other threads do after an access out of bounds; after another fault the
  /// device is as before. Else every call fails, as CUDA's.
  bool goes_on = false;
  std::size_t processes = 1;  ///< that run such a program at once
};
/// The process is going to run a program's main(). Faults are told, and not thrown: a call of the runtime returns
/// CUDA's error. In other processes, those of plug-ins, they are thrown.
void begin_program(ProgramEvents);
/// A program's author knows CUDA's names, and not those of device/kernel.h: `cudas` in a program, else `ours`.
std::string in_words(const char* ours, const char* cudas);
/// The running thread's stack overflowed: tells a program, which ends. Else returns what to say. Allocates nothing.
const char* tell_stack_overflow();
/// Runs what is left in its streams, for which the program has not waited.
void end_program();

/// Where a program is, if a kernel runs: "kernel sum, block 3, thread 7 is running, last at prog.cu:12:5". For signal
/// handlers, too: allocates nothing.
const char* where_it_runs();
/// What the kernel that has ended has printed, to stdout.
void flush_device_output();
/// What kernels print stands between these in the process's output: threads print in no order.
inline constexpr char begins_device_output = '\x1e', ends_device_output = '\x1f';

}  // namespace reductio::sim
