/// CUB's device-wide reductions: the yardstick that every other variant is compared with.
///
///   cub/sum               sum, wide sum
///   cub/sum-to-host       sum, whose result CUB writes to page-locked memory of the host: for a caller who wants it
///                         there and spares itself the copy
///   cub/transform-reduce  sum of squares
///   cub/moments           both, by two calls one after the other: CUB has none that does it in one read
///
/// Temporary storage is asked for and allocated while preparing, as CUB's two-phase interface has it. The type of the
/// element count decides how wide the kernels' indices are: `counts`.
///
/// Elements that are narrower than what they are added up in (i8, f16, bf16, those of a wide sum) are widened by
/// TransformReduce's transform.
/// CUB applies that to what it has loaded, so `in` stays a pointer, of which alone its kernels load several elements at
/// once; an iterator that widens would be loaded element by element. DeviceReduce::Sum adds up in the output's type, so
/// for i8 it is the same kernel; of f32 + f16, which it would write, it does not compile.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "baselines/cub_plan.h"
#include "device/device.h"
#include "device/wide.h"

#ifdef REDUCTIO_CUB_VERSION
static_assert(CUB_VERSION == REDUCTIO_CUB_VERSION, "--version and machine.json name another CUB than this one");
#endif

namespace reductio {
namespace {

/// An element as the accumulator's type has it, and its square.
template <class Acc>
struct Widened {
  template <class In>
  __device__ Acc operator()(In x) const {
    return static_cast<Acc>(x);
  }
};
template <class Acc>
struct WidenedSquare {
  template <class In>
  __device__ Acc operator()(In x) const {
    return device::Square()(static_cast<Acc>(x));
  }
};

// CUB's calls, by its convention: with a null `temporary` they only set `bytes`. `in` is n elements, `out` the result.
struct Sum {
  template <class In, class Acc, class Count>
  cudaError_t operator()(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) const {
    if constexpr (std::is_same_v<In, Acc>)
      return cub::DeviceReduce::Sum(temporary, bytes, in, out, n, s);
    else
      return cub::DeviceReduce::TransformReduce(temporary, bytes, in, out, n, ::cuda::std::plus<Acc>(), Widened<Acc>(),
                                                Acc{0}, s);
  }
};
struct SumOfSquares {
  template <class In, class Acc, class Count>
  cudaError_t operator()(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) const {
    return cub::DeviceReduce::TransformReduce(temporary, bytes, in, out, n, ::cuda::std::plus<Acc>(),
                                              WidenedSquare<Acc>(), Acc{0}, s);
  }
};
/// Both have the same temporary storage, one after the other: as much as the one that needs more.
struct Moments {
  template <class In, class Acc, class Count>
  cudaError_t operator()(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) const {
    std::size_t for_sum = bytes, for_squares = bytes;
    if (const cudaError_t status = Sum()(temporary, for_sum, in, out, n, s); status != cudaSuccess) return status;
    const cudaError_t status = SumOfSquares()(temporary, for_squares, in, out + 1, n, s);
    bytes = std::max(for_sum, for_squares);
    return status;
  }
};

bool narrow_counts(const Problem& p, const Settings& s) {
  const std::string& counts = s.text("counts");
  return counts == "32" || (counts == "auto" && p.n <= std::numeric_limits<std::int32_t>::max());
}

template <class Function>
std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const bool narrow = narrow_counts(p, s);
  const auto plan = [&]<class In, class Acc>() {
    return narrow ? cub_plan<In, Acc, std::int32_t>(p, gpu, Function())
                  : cub_plan<In, Acc, std::int64_t>(p, gpu, Function());
  };
  if constexpr (std::is_same_v<Function, Sum>)
    if (p.operation == Operation::wide_sum) return device::dispatch_wide_sum(p, plan);
  return device::dispatch_wide(p, plan);
}

std::unique_ptr<Plan> prepare_to_host(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  const bool narrow = narrow_counts(p, s);
  return device::dispatch_wide(p, [&]<class In, class Acc>() {
    const auto to_host = [](auto prepared) {
      prepared.info.result = ResultLocation::host_part;
      const auto value = std::make_shared<device::HostBuffer<Acc>>(1, true);
      return plan_of(
          prepared.info,
          [=, enqueue = prepared.enqueue](void* in, void*, Stream stream) { enqueue(in, value->data(), stream); },
          [=](void* result, Stream stream) {
            device::check(cudaStreamSynchronize(device::native(stream)), "awaiting CUB");
            std::memcpy(result, value->data(), sizeof(Acc));
          });
    };
    return narrow ? to_host(cub_call<In, Acc, std::int32_t>(p, gpu, Sum()))
                  : to_host(cub_call<In, Acc, std::int64_t>(p, gpu, Sum()));
  });
}

std::string declines(const Problem& p, const Settings& s) {
  if (s.text("counts") == "32" && p.n > std::numeric_limits<std::int32_t>::max())
    return "counts=32 holds fewer than 2^31 elements; use counts=64 or auto";
  return "";
}

Variant describe(std::string id, std::string title, std::string call, std::vector<Operation> operations) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(call) + cccl_version(),
          .kind = VariantKind::library,
          .base_of = operations,
          .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "second launch"},
          .operations = operations,
          .types = {ElementType::i32, ElementType::f32, ElementType::f64, ElementType::i8, ElementType::i64,
                    ElementType::f16, ElementType::bf16},
          .tunables = {Tunable::choice("counts", {"auto", "32", "64"}, "auto")},
          .determinism = Determinism::per_launch_shape,
          .declines = declines};
}

const device::Register register_sum(describe("cub/sum", "CUB Sum", "cub::DeviceReduce::Sum",
                                             {Operation::sum, Operation::wide_sum}),
                                    prepare<Sum>);
Variant describe_to_host() {
  Variant v = describe("cub/sum-to-host", "CUB Sum, to the host", "cub::DeviceReduce::Sum", {Operation::sum});
  v.base_of = {};
  v.own_experiment = "compare";
  v.how.grid = "second launch, into the host's memory";
  v.result = ResultLocation::host_part;
  return v;
}
const device::Register register_sum_to_host(describe_to_host(), prepare_to_host);
const device::Register register_transform_reduce(describe("cub/transform-reduce", "CUB TransformReduce",
                                                          "cub::DeviceReduce::TransformReduce",
                                                          {Operation::sum_of_squares}),
                                                 prepare<SumOfSquares>);
const device::Register register_moments(describe("cub/moments", "CUB Sum and TransformReduce",
                                                 "cub::DeviceReduce::Sum, cub::DeviceReduce::TransformReduce",
                                                 {Operation::moments}),
                                        prepare<Moments>);

}  // namespace
}  // namespace reductio
