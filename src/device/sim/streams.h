#pragma once
/// Streams of the simulated device: queues whose work runs only when the host waits for that stream.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "core/types.h"
#include "device/sim/place.h"

namespace reductio::sim {

/// The shape of a launch.
struct Shape {
  std::size_t grid = 0;  ///< blocks in all
  unsigned block = 0;    ///< threads of each
  Index blocks{}, threads{};  ///< in x, y and z
  std::size_t shared_bytes = 0;
  bool cooperative = false;
  bool overlaps = false;  ///< it may begin before the kernel before it has ended
  unsigned cluster = 1;   ///< blocks of a cluster
};
/// From numbers in x, y and z, whatever they are: what does not fit is the largest there is.
Shape shape_of(const std::array<std::size_t, 3>& blocks, const std::array<std::size_t, 3>& threads);

/// A kernel and its arguments: `thread(arguments)` runs it for one thread.
struct KernelCode {
  void (*thread)(const void* arguments) = nullptr;
  std::shared_ptr<const void> arguments;
  std::size_t argument_bytes = 0;
  /// "rolled<unsigned int, Identity>", or what readable() makes that of (kernel_name.h).
  const char* name = "";
};

/// A stream of its own, besides the default one.
Stream create_stream();
/// Runs what is left on it first, as CUDA does. Throws the first Fault; the stream is destroyed nevertheless.
void destroy_stream(Stream);
/// Drops what the default stream holds. Returns the number of operations.
std::size_t abandon_default_stream();
/// Whether another stream than that (Enqueued::stream) holds kernels. Under the device's lock.
bool another_stream_holds_kernels(const void* stream);
/// Whether the default stream holds work, for a message.
bool default_stream_holds_work();

/// Puts a kernel onto a stream. Throws Fault where CUDA refuses the launch.
void enqueue_kernel(Stream, const Shape&, KernelCode);
void enqueue_fill(Stream, void* dst, unsigned char byte, std::size_t bytes);
/// Copies the host's bytes at once, as CUDA does for pageable memory: the host may reuse them when this returns.
void enqueue_copy_in(Stream, void* dst, const void* host, std::size_t bytes);
void enqueue_copy_within(Stream, void* dst, const void* src, std::size_t bytes);
/// Calls a function of the host's, in its turn.
void enqueue_host_work(Stream, std::function<void()>);
/// Runs the stream up to and including the copy.
void copy_out(Stream, void* host, const void* src, std::size_t bytes);
/// What copy_out() has copied since the program began, for tests.
struct CopiedOut {
  std::size_t copies = 0, bytes = 0;
};
CopiedOut copied_out();
/// Runs everything on the stream. Throws the first Fault; what was queued behind it is dropped.
void synchronize(Stream);
/// The same until that has come true.
void synchronize(Stream, const bool& reached);
/// Whether it is one of those that were created and not destroyed.
bool is_stream(Stream);
/// Host code touches device memory, where nothing may be thrown: who waits next for a stream throws the Fault.
void note_host_access(const char* verb, Site) noexcept;

struct Watched {
  Shape first_launch{};           ///< all zeros if nothing was launched
  std::function<void()> again{};  ///< puts the same work onto the same streams, as a captured graph's launch does
};
/// Runs `enqueue`, which may put work onto streams and do nothing else. Throws Fault (contract) if it allocates, frees
/// or waits.
Watched watch_enqueue(const std::function<void()>& enqueue);
/// Throws Fault while a watched enqueue() runs. `what` it may not do, "allocates device memory"; `advice`: what to do
/// instead.
void forbid_in_enqueue(const char* what, const char* advice);
/// The same where nothing may be thrown: watch_enqueue() throws the Fault when enqueue() has returned.
void note_in_enqueue(const char* what, const char* advice) noexcept;

}  // namespace reductio::sim
