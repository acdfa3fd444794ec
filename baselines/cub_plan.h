#pragma once
/// A plan of one of CUB's device-wide calls, and which CCCL it is of.

#include <cstddef>
#include <cub/version.cuh>
#include <memory>
#include <string>

#include "baselines/longest_chain.h"
#include "device/device.h"

namespace reductio {

inline std::string cccl_version() {
  return ", CCCL " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

/// A prepared call, for plan_of(): what is known of it, and the call itself with its temporary storage.
template <class Enqueue>
struct CubCall {
  PlanInfo info;
  Enqueue enqueue;  ///< (in, out, stream)
};

/// Asks CUB how much temporary storage such a call needs, and allocates it. `call` goes by CUB's convention: with a
/// null `temporary` it only sets `bytes`; `in` is n elements, `out` the result. `Count` is the type of num_items.
template <class In, class Acc, class Count, class Function>
auto cub_call(const Problem& p, const DeviceInfo& gpu, Function call) {
  const auto n = static_cast<Count>(p.n);
  std::size_t bytes = 0;
  device::check(call(nullptr, bytes, static_cast<const In*>(nullptr), static_cast<Acc*>(nullptr), n, cudaStream_t{}),
                "asking CUB for the size of its temporary storage");
  const device::Buffer<unsigned char> temporary(bytes);
  const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 256), .workspace_bytes = bytes};
  return CubCall{info, [=](void* in, void* out, Stream stream) {
                   std::size_t size = bytes;
                   device::check(call(temporary.ptr(), size, static_cast<const In*>(in), static_cast<Acc*>(out), n,
                                      device::native(stream)),
                                 "CUB");
                 }};
}

/// A plan of such a call that leaves its result on the device.
template <class In, class Acc, class Count, class Function>
std::unique_ptr<Plan> cub_plan(const Problem& p, const DeviceInfo& gpu, Function call) {
  const auto prepared = cub_call<In, Acc, Count>(p, gpu, call);
  return plan_of(prepared.info, prepared.enqueue);
}

}  // namespace reductio
