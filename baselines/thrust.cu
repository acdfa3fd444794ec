/// Thrust on the GPU. Both calls block and return their value to the host, so they are timed end to end only.
///
///   thrust/reduce            sum
///   thrust/transform-reduce  sum of squares
///
/// Thrust allocates temporary storage inside every call. That is part of the call as it is used, so it stays in the
/// time (allocator=default); allocator=caching is what Thrust's documentation advises to users who mind.

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/system_error.h>
#include <thrust/transform_reduce.h>
#include <thrust/version.h>

#include <cstring>
#include <map>
#include <new>

#include "baselines/longest_chain.h"
#include "device/device.h"

namespace reductio {
namespace {

using device::check;
using device::native;

/// Keeps what is given back and hands it out again. It starts with one block that is larger than anything a reduction
/// asks for (CUB: one accumulator a block), so that no call of a plan allocates, the first one included.
class CachingAllocator {
 public:
  using value_type = char;
  static constexpr std::size_t reserved = std::size_t{1} << 20;

  CachingAllocator() { deallocate(make(reserved), reserved); }
  CachingAllocator(const CachingAllocator&) = delete;
  ~CachingAllocator() {
    for (const auto& [size, block] : free_) device::free_block(block);
    for (const auto& [block, size] : used_) device::free_block(block);
  }

  char* allocate(std::ptrdiff_t bytes) {
    const auto fits = free_.lower_bound(static_cast<std::size_t>(bytes));
    if (fits == free_.end()) return make(static_cast<std::size_t>(bytes));
    char* const block = fits->second;
    used_.emplace(block, fits->first);
    free_.erase(fits);
    return block;
  }

  void deallocate(char* block, std::size_t) {
    const auto it = used_.find(block);
    free_.emplace(it->second, block);
    used_.erase(it);
  }

 private:
  char* make(std::size_t bytes) {
    void* p = nullptr;
    check(device::allocate_block(&p, bytes), "allocating Thrust's temporary storage");
    char* const block = static_cast<char*>(p);
    used_.emplace(block, bytes);
    return block;
  }

  std::multimap<std::size_t, char*> free_;
  std::map<char*, std::size_t> used_;
};

/// `call(policy, first, last)` is the Thrust call; it returns a T.
template <class T, class Function>
std::unique_ptr<Plan> plan(const Problem& p, const Settings& s, const DeviceInfo& gpu, Function call) {
  const bool caching = s.text("allocator") == "caching";
  const auto allocator = caching ? std::make_shared<CachingAllocator>() : nullptr;
  const auto value = std::make_shared<T>();
  const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 256),
                      .workspace_bytes = caching ? CachingAllocator::reserved : 0,
                      .result = ResultLocation::on_host};
  return plan_of(
      info,
      [=, n = p.n](void* in, void*, Stream stream) {
        const T* const first = static_cast<const T*>(in);
        try {
          *value = allocator ? call(thrust::cuda::par(*allocator).on(native(stream)), first, first + n)
                             : call(thrust::cuda::par.on(native(stream)), first, first + n);
        } catch (const thrust::system_error& e) {
          throw DeviceError(std::string("Thrust: ") + e.what());
        } catch (const std::bad_alloc& e) {
          throw DeviceError(std::string("Thrust: no memory for its temporary storage: ") + e.what());
        }
      },
      [value](void* result, Stream) { std::memcpy(result, value.get(), sizeof(T)); });
}

std::unique_ptr<Plan> prepare_reduce(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return device::dispatch(p, [&]<class T>() {
    return plan<T>(p, s, gpu, [](const auto& policy, const T* first, const T* last) {
      return thrust::reduce(policy, first, last, T{0}, thrust::plus<T>());
    });
  });
}

std::unique_ptr<Plan> prepare_transform_reduce(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return device::dispatch(p, [&]<class T>() {
    return plan<T>(p, s, gpu, [](const auto& policy, const T* first, const T* last) {
      return thrust::transform_reduce(policy, first, last, device::Square(), T{0}, thrust::plus<T>());
    });
  });
}

const std::string cccl = ", CCCL " + std::to_string(THRUST_MAJOR_VERSION) + "." + std::to_string(THRUST_MINOR_VERSION) +
                         "." + std::to_string(THRUST_SUBMINOR_VERSION);

Variant describe(std::string id, std::string title, std::string call, Operation operation) {
  return {
      .id = std::move(id),
      .title = std::move(title),
      .cites = std::move(call) + cccl,
      .kind = VariantKind::library,
      .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "second launch, value to the host"},
      .operations = {operation},
      .types = {ElementType::i32, ElementType::f32, ElementType::f64},
      .tunables = {Tunable::choice("allocator", {"default", "caching"}, "default")},
      .result = ResultLocation::on_host,
      .determinism = Determinism::per_launch_shape};
}

const device::Register register_reduce(describe("thrust/reduce", "Thrust reduce", "thrust::reduce", Operation::sum),
                                       prepare_reduce);
const device::Register register_transform_reduce(describe("thrust/transform-reduce", "Thrust transform_reduce",
                                                          "thrust::transform_reduce", Operation::sum_of_squares),
                                                 prepare_transform_reduce);

}  // namespace
}  // namespace reductio
