#include "measure/timing/cuda/hold.h"

#include "device/kernel.h"

namespace reductio::cuda {
namespace {

using device::globaltimer;

constexpr std::uint64_t limit_ns = 1'000'000'000;

/// One thread. The limit makes a call that waits for the device inside enqueue() an error instead of a deadlock.
__global__ void hold(volatile HoldControl* control, std::uint64_t ticket, std::uint64_t limit) {
  const std::uint64_t start = globaltimer();
  while (control->released < ticket) {
    if (globaltimer() - start > limit) {
      control->timed_out = ticket;
      __threadfence_system();  // visible to the host before the events behind this kernel complete
      return;
    }
  }
}

}  // namespace

void Holds::launch() {
  hold<<<1, 1, 0, native(stream_)>>>(control_.get(), ticket_, limit_ns);
  check(cudaGetLastError(), "launching the kernel that holds the stream");
  turns_.launched();
}

void Holds::load() {
  control_->released = ++ticket_;
  launch();
}

Hold::Hold(Holds& all) : control_(all.control_.get()), ticket_(++all.ticket_) { all.launch(); }

void Hold::release() { __atomic_store_n(&control_->released, ticket_, __ATOMIC_RELEASE); }

void Hold::must_not_have_timed_out() const {
  if (__atomic_load_n(&control_->timed_out, __ATOMIC_ACQUIRE) == ticket_)
    throw DeviceError(
        "enqueue() waits for the device: the stream was held back for a second and the call was still not "
        "queued");
}

}  // namespace reductio::cuda
