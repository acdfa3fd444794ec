/// CUB's sums by key: thrust::reduce_by_key makes this call and waits for it.
///
///   cub/reduce-by-key   rows and segments, by a key for each element
///
/// A row's key is computed from the element's place, as in Thrust's example sum_rows.cu. A segment's key is read, four
/// bytes for each element. Keys that no element has get no output, so the plan lists the segments that are not empty.

#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <algorithm>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <vector>

#include "baselines/cub_plan.h"
#include "device/device.h"

namespace reductio {
namespace {

using device::Buffer;
using device::check;
using device::native;

struct RowOf {
  std::uint32_t columns;
  __host__ __device__ std::uint32_t operator()(std::uint32_t i) const { return i / columns; }
};

/// The plan of one call: `keys` are its elements' and `out_of` gives where the sums go.
template <class T, class Keys, class OutOf>
std::unique_ptr<Plan> plan_by(const Problem& p, std::size_t more_bytes, Keys keys, OutOf out_of) {
  const auto n = static_cast<std::int64_t>(p.n);
  const Buffer<std::int64_t> runs(1);
  const auto call = [=](void* temporary, std::size_t& bytes, const T* in, T* out, cudaStream_t stream) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, thrust::make_discard_iterator(), in, out_of(out),
                                          runs.ptr(), cuda::std::plus<T>(), n, stream);
  };
  std::size_t bytes = 0;
  check(call(nullptr, bytes, nullptr, nullptr, cudaStream_t{}), "asking CUB for the size of its temporary storage");
  const Buffer<unsigned char> temporary(bytes);
  // A tile's sum joins the ones before it one by one, at worst.
  const PlanInfo info{.longest_chain = longest_line(p), .workspace_bytes = bytes + runs.bytes() + more_bytes};
  return plan_of(info, [=, zeroed = p.result_bytes()](void* in, void* out, Stream stream) {
    if (more_bytes || n == 0) device::zero(static_cast<unsigned char*>(out), zeroed, stream);
    if (n == 0) return;
    std::size_t size = bytes;
    check(call(temporary.ptr(), size, static_cast<const T*>(in), static_cast<T*>(out), native(stream)), "CUB");
  });
}

template <class T>
std::unique_ptr<Plan> plan_of_rows(const Problem& p) {
  const auto columns = static_cast<std::uint32_t>(std::max<std::size_t>(1, p.columns()));
  return plan_by<T>(p, 0, thrust::make_transform_iterator(thrust::counting_iterator<std::uint32_t>(0), RowOf{columns}),
                    [](T* out) { return out; });
}

template <class T>
std::unique_ptr<Plan> plan_of_segments(const Problem& p) {
  const std::size_t segments = p.segments();
  const std::vector<std::int64_t>& offsets = *p.shape.offsets;
  std::vector<std::uint32_t> filled;
  for (std::size_t s = 0; s < segments; ++s)
    if (offsets[s] != offsets[s + 1]) filled.push_back(static_cast<std::uint32_t>(s));
  const Buffer<std::uint32_t> keys(p.n), places(filled.size());
  check(cudaMemcpy(places.ptr(), filled.data(), filled.size() * sizeof(std::uint32_t), cudaMemcpyHostToDevice),
        "copying the segments that are not empty");
  // An element's segment is the first that ends behind it.
  const thrust::counting_iterator<std::int64_t> first(0);
  if (const std::int64_t* const begins = p.shape.offsets_on_device)
    thrust::upper_bound(thrust::device, begins + 1, begins + segments + 1, first,
                        first + static_cast<std::int64_t>(p.n), keys.ptr());
  return plan_by<T>(p, keys.bytes() + places.bytes(), static_cast<const std::uint32_t*>(keys.ptr()),
                    [keys, places](T* out) { return thrust::make_permutation_iterator(out, places.ptr()); });
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings&, const DeviceInfo&) {
  return device::dispatch(p, [&]<class T>() {
    return p.operation == Operation::segment_sums ? plan_of_segments<T>(p) : plan_of_rows<T>(p);
  });
}

const device::Register registered(
    {.id = "cub/reduce-by-key",
     .title = "CUB sums by key",
     .cites = "cub::DeviceReduce::ReduceByKey, of thrust::reduce_by_key" + cccl_version(),
     .kind = VariantKind::library,
     .own_experiment = "shapes",
     .how = {.thread = "a tile's keys and values", .block = "segmented scan", .grid = "decoupled look-back"},
     .operations = {Operation::row_sums, Operation::segment_sums},
     .types = {ElementType::f32, ElementType::f64, ElementType::i32},
     .determinism = Determinism::none,
     .declines =
         [](const Problem& p, const Settings&) -> std::string {
           if (p.operation == Operation::row_sums && p.pitch() != p.columns())
             return "a pitch leaves elements between the rows, and each element has a key";
           return p.n > 0xffffffff ? "keys of rows count elements by 32 bits, so fewer than 2^32 of them" : "";
         }},
    prepare);

}  // namespace
}  // namespace reductio
