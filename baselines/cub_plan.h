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

/// `call` goes by CUB's convention: with a null `temporary` it only sets `bytes`; `in` is n elements, `out` the result.
/// `Count` is the type of num_items.
template <class In, class Acc, class Count, class Call>
std::unique_ptr<Plan> cub_plan(const Problem& p, const DeviceInfo& gpu, Call call) {
  const auto n = static_cast<Count>(p.n);
  std::size_t bytes = 0;
  device::check(call(nullptr, bytes, static_cast<const In*>(nullptr), static_cast<Acc*>(nullptr), n, cudaStream_t{}),
                "asking CUB for the size of its temporary storage");
  const device::Buffer<unsigned char> temporary(bytes);
  const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 256), .workspace_bytes = bytes};
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    std::size_t size = bytes;
    device::check(
        call(temporary.ptr(), size, static_cast<const In*>(in), static_cast<Acc*>(out), n, device::native(stream)),
        "CUB");
  });
}

}  // namespace reductio
