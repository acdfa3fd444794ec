/// CUB's device-wide reductions: the yardstick that every other variant is compared with.
///
///   cub/sum               sum
///   cub/transform-reduce  sum of squares
///
/// Temporary storage is asked for and allocated while preparing, as CUB's two-phase interface has it. The type of the
/// element count decides how wide the kernels' indices are: `counts`.

#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/version.cuh>
#include <cuda/std/functional>
#include <limits>

#include "baselines/longest_chain.h"
#include "device/device.h"

namespace reductio {
namespace {

using device::Buffer;
using device::check;
using device::native;

/// `call(temporary, bytes, in, out, stream)` is the CUB call; with a null `temporary` it only sets `bytes`.
template <class T, class Call>
std::unique_ptr<Plan> plan(const Problem& p, const DeviceInfo& gpu, Call call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes, static_cast<const T*>(nullptr), static_cast<T*>(nullptr), cudaStream_t{}),
        "asking CUB for the size of its temporary storage");
  const Buffer<unsigned char> temporary(bytes);
  const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 256), .workspace_bytes = bytes};
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    std::size_t size = bytes;
    check(call(temporary.ptr(), size, static_cast<const T*>(in), static_cast<T*>(out), native(stream)), "CUB");
  });
}

/// f.operator()<T, Count>(), with Count the type of num_items.
template <class F>
std::unique_ptr<Plan> dispatch_counts(const Problem& p, const Settings& s, F&& f) {
  const std::string& counts = s.text("counts");
  const bool narrow = counts == "32" || (counts == "auto" && p.n <= std::numeric_limits<std::int32_t>::max());
  return device::dispatch(p, [&]<class T>() {
    return narrow ? f.template operator()<T, std::int32_t>() : f.template operator()<T, std::int64_t>();
  });
}

std::unique_ptr<Plan> prepare_sum(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch_counts(p, s, [&]<class T, class Count>() {
    const auto n = static_cast<Count>(p.n);
    return plan<T>(p, gpu, [n](void* temporary, std::size_t& bytes, const T* in, T* out, cudaStream_t stream) {
      return cub::DeviceReduce::Sum(temporary, bytes, in, out, n, stream);
    });
  });
}

std::unique_ptr<Plan> prepare_transform_reduce(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch_counts(p, s, [&]<class T, class Count>() {
    const auto n = static_cast<Count>(p.n);
    return plan<T>(p, gpu, [n](void* temporary, std::size_t& bytes, const T* in, T* out, cudaStream_t stream) {
      return cub::DeviceReduce::TransformReduce(temporary, bytes, in, out, n, ::cuda::std::plus<T>(), device::Square(),
                                                T{0}, stream);
    });
  });
}

std::string declines(const Problem& p, const Settings& s) {
  if (s.text("counts") == "32" && p.n > std::numeric_limits<std::int32_t>::max())
    return "counts=32 holds fewer than 2^31 elements; use counts=64 or auto";
  return "";
}

const std::string cccl = ", CCCL " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
                         std::to_string(CUB_SUBMINOR_VERSION);

Variant describe(std::string id, std::string title, std::string call, Operation operation) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(call) + cccl,
          .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "second launch"},
          .operations = {operation},
          .types = {ElementType::i32, ElementType::f32, ElementType::f64},
          .tunables = {Tunable::choice("counts", {"auto", "32", "64"}, "auto")},
          .determinism = Determinism::per_launch_shape,
          .declines = declines};
}

const device::Register register_sum(describe("cub/sum", "CUB Sum", "cub::DeviceReduce::Sum", Operation::sum),
                                    prepare_sum);
const device::Register register_transform_reduce(describe("cub/transform-reduce", "CUB TransformReduce",
                                                          "cub::DeviceReduce::TransformReduce",
                                                          Operation::sum_of_squares),
                                                 prepare_transform_reduce);

}  // namespace
}  // namespace reductio
