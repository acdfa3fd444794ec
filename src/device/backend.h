#pragma once
/// What the harness itself needs of a device: memory, copies, streams. Kernels never see this; they use device.h.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"

namespace reductio {

/// The first launch of one call, as the device saw it; zeros where it saw none.
struct FirstLaunch {
  std::size_t grid_blocks = 0;
  unsigned block_threads = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;

  /// Poisoned with 0xFF bytes (NaN for floats). Throws Refused if the memory is not there, saying how much is.
  /// The result is aligned to 256 bytes. The simulated device checks accesses against exactly these `bytes`.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void*) noexcept = 0;
  virtual std::size_t memory_free() const = 0;

  /// From now on each allocation below 1 MiB, plans' memory included, starts at a random offset of up to
  /// 64 KiB. The addresses of a few bytes decide how fast a GPU's blocks exchange them
  /// (docs/measuring.md has the effect). Each new context would repeat the same addresses, so a row's
  /// contexts would agree for that reason alone. Only GPUs do so, for the whole process, until such a
  /// backend ends; false from the others.
  virtual bool scatter() { return false; }

  /// Asynchronous with respect to the host where the device is; ordered in `stream`.
  virtual void fill(void* dst, unsigned char byte, std::size_t bytes, Stream) = 0;
  virtual void copy_in(void* dst, const void* host, std::size_t bytes, Stream) = 0;
  virtual void copy_within(void* dst, const void* src, std::size_t bytes, Stream) = 0;
  /// Returns when the bytes have arrived.
  virtual void copy_out(void* host, const void* src, std::size_t bytes, Stream) = 0;
  /// Whether each of the `bytes` at `p` but the first `period` equals the one a period before it. `p` and `period` are
  /// multiples of 4. Waits for the stream.
  virtual bool repeats(const void* p, std::size_t period, std::size_t bytes, Stream) = 0;

  /// The stream for all timed work and all work around it. In a context that has used a second one, each kernel starts
  /// later (on an H200 0.70 us after the one before in a graph, not 0.52).
  virtual Stream stream() const { return {}; }
  virtual Stream create_stream() = 0;
  virtual void destroy_stream(Stream) noexcept = 0;
  /// Waits for all work of one stream; throws DeviceError if any of it failed.
  virtual void synchronize(Stream) = 0;

  /// Runs `enqueue`, which puts one call onto `stream`, and checks that it does nothing else: it may not allocate,
  /// free or wait. Throws DeviceError if it does. The simulated device then names the offence. A GPU captures the
  /// stream, which fails on what cannot be captured, and launches the captured work. The CPU checks nothing.
  /// `first`, unless null, is given the first launch; on a GPU it must be of a kernel of this program. Returns a
  /// function that launches the captured work on `stream` again, with the host's values as captured. On the CPU that
  /// is empty.
  virtual std::function<void()> watch_enqueue(const std::function<void()>& enqueue, Stream stream,
                                              FirstLaunch* first) = 0;
};

/// Opens a device. `selector` picks a GPU by index or UUID ("" the first). Throws NoGpu where there is no usable
/// GPU (none, driver too old, older than this program's code, or built without CUDA) or no simulated one, UsageError
/// for a bad selector.
std::unique_ptr<Backend> open_backend(DeviceKind, const std::string& selector = "");

/// Whether the program was built with the simulated device; if not, require_sim() throws the NoGpu that says so.
bool has_sim();
void require_sim();

/// Which of the GPUs with these UUIDs ("GPU-..." as nvidia-smi -L prints them) a selector names: an index, a UUID or an
/// unambiguous beginning of one, "" for the first. Throws UsageError if it is malformed, names none or several.
std::size_t select_gpu(const std::string& selector, std::span<const std::string> uuids);

/// Throws NoGpu unless this program can run on a GPU, saying what the GPU is, what the program was compiled for and how
/// to compile it again. `capability` is ten times the compute capability (90 for 9.0), `built_for` the same of each
/// architecture compiled for, and `has_code` CUDA's own answer for one of the program's kernels.
void require_code(const std::string& gpu, int capability, std::span<const int> built_for, bool has_code);

/// Workspace for a plan of code that is not this program's: poisoned like a Buffer, aligned to 256 bytes. On a GPU and
/// a CPU guards lie around it. The memory ends with the pointer. Throws Refused if it is not there.
std::shared_ptr<void> guarded_workspace(DeviceKind, std::size_t bytes);

std::shared_ptr<void> cuda_workspace(std::size_t bytes);  ///< cuda/backend.cu, or cuda/absent.cpp
std::unique_ptr<Backend> open_cuda(const std::string& selector);  ///< cuda/backend.cu, or cuda/absent.cpp
std::unique_ptr<Backend> open_sim();                              ///< sim/backend.cpp
std::unique_ptr<Backend> open_cpu();                              ///< cpu/backend.cpp

/// Of this machine, what this process may still use: the system's, its container's and its address space's least.
std::size_t host_memory_free();
/// "1.5 GiB".
std::string gib(std::size_t bytes);
/// Suffix for out-of-memory messages: "; this program runs under 'ulimit -v 2000000': raise it". Empty where the
/// address space has no limit (RLIMIT_AS).
std::string address_space_advice();

/// Memory of a backend with an owner.
class DeviceMemory {
 public:
  DeviceMemory(Backend& backend, std::size_t bytes) : backend_(&backend), p_(backend.allocate(bytes)), bytes_(bytes) {}
  ~DeviceMemory() { if (p_) backend_->release(p_); }
  DeviceMemory(DeviceMemory&& o) noexcept : backend_(o.backend_), p_(o.p_), bytes_(o.bytes_) { o.p_ = nullptr; }
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  void* get() const { return p_; }
  std::byte* bytes_at(std::size_t offset) const { return static_cast<std::byte*>(p_) + offset; }
  std::size_t size() const { return bytes_; }

 private:
  Backend* backend_;
  void* p_;
  std::size_t bytes_;
};

/// The same for a purpose, which a Refused then names: "flushing the cache: needs 0.2 GiB of GPU memory, 0.1 GiB free".
DeviceMemory memory_for(const std::string& purpose, Backend&, std::size_t bytes);

}  // namespace reductio
