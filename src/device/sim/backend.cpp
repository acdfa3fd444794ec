// The simulated device as the harness sees it.

#include "device/backend.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <utility>

#include "core/error.h"
#include "device/sim/gpu.h"
#include "device/sim/limits.h"
#include "device/sim/lock.h"
#include "device/sim/memory.h"
#include "device/sim/streams.h"

namespace reductio {
namespace {

class SimBackend final : public Backend {
 public:
  SimBackend() {
    info_.kind = DeviceKind::sim;
    info_.name = "simulated GPU";
    info_.shared_bytes_per_block = sim::shared_bytes_per_block;
    info_.l2_bytes = std::size_t{4} << 20;
    info_.memory_bytes = sim::device_memory_bytes;
    info_.max_grid = static_cast<unsigned>(sim::max_grid);
  }

  /// Reports work on the default stream that nothing waited for, which is never done.
  ~SimBackend() override {
    const sim::DeviceLock lock;
    while (!mine_.empty()) destroy_stream({*mine_.begin()});
    if (const std::size_t left = sim::abandon_default_stream())
      std::fprintf(stderr,
                   "simulated device: closed with %zu operations on the default stream that nobody waited for; they "
                   "were never done\n",
                   left);
    if (failure_) report(failure_);
  }

  const DeviceInfo& info() const override {
    const sim::Gpu& like = sim::gpu();
    info_.sm_count = like.sm_count;
    info_.threads_per_sm = static_cast<int>(like.threads_per_sm);
    info_.capability = like.capability;
    return info_;
  }
  void* allocate(std::size_t bytes) override { return sim::allocate(bytes); }
  void release(void* p) noexcept override { sim::release(p); }
  std::size_t memory_free() const override { return sim::memory_free(); }

  void fill(void* dst, unsigned char byte, std::size_t bytes, Stream s) override {
    sim::enqueue_fill(s, dst, byte, bytes);
  }
  void copy_in(void* dst, const void* host, std::size_t bytes, Stream s) override {
    sim::enqueue_copy_in(s, dst, host, bytes);
  }
  void copy_within(void* dst, const void* src, std::size_t bytes, Stream s) override {
    sim::enqueue_copy_within(s, dst, src, bytes);
  }
  void copy_out(void* host, const void* src, std::size_t bytes, Stream s) override {
    rethrow();
    sim::copy_out(s, host, src, bytes);
  }
  bool repeats(const void* p, std::size_t period, std::size_t bytes, Stream s) override {
    synchronize(s);
    return bytes <= period || sim::equal_now(p, static_cast<const std::byte*>(p) + period, bytes - period);
  }

  Stream create_stream() override {
    const sim::DeviceLock lock;
    const Stream s = sim::create_stream();
    mine_.insert(s.handle);
    return s;
  }

  /// Finishes the stream's work first, as CUDA does; a fault in it is thrown by the next wait.
  void destroy_stream(Stream s) noexcept override {
    const sim::DeviceLock lock;
    if (mine_.erase(s.handle) == 0) return;
    try {
      sim::destroy_stream(s);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  void synchronize(Stream s) override {
    rethrow();
    sim::synchronize(s);
  }
  std::function<void()> watch_enqueue(const std::function<void()>& enqueue, Stream, FirstLaunch* first) override {
    sim::Watched watched = sim::watch_enqueue(enqueue);
    if (first) *first = {watched.first_launch.grid, watched.first_launch.block};
    return std::move(watched.again);
  }

 private:
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  static void report(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "simulated device: closed with a failure that nobody waited for: %s\n", e.what());
    } catch (...) {
      std::fprintf(stderr, "simulated device: closed with a failure that nobody waited for\n");
    }
  }

  mutable DeviceInfo info_;  ///< of the GPU that it is like now
  std::set<void*> mine_;  ///< handles of the streams that were created here
  std::exception_ptr failure_;
};

}  // namespace

bool has_sim() {
#ifdef REDUCTIO_WITH_SIM
  return true;
#else
  return false;
#endif
}

void require_sim() {
  if (!has_sim())
    throw NoGpu(
        "this program was built without the simulated device (-DREDUCTIO_SIM=OFF); rebuild it with -DREDUCTIO_SIM=ON, "
        "which needs clang++ 14 or newer (Debian and Ubuntu: apt-get install clang)");
}

std::unique_ptr<Backend> open_sim() {
  require_sim();
  return std::make_unique<SimBackend>();
}

}  // namespace reductio
