/// CUB's sum by another policy than its own: how many threads a block has, how many elements a thread, and how many are
/// loaded at once.
///
///   cub/sum-tuned  sum
///
/// CUB's own policy for compute capability 9.0 is that of 6.0, made on a P100. A fair rival of tuned/sum is tuned with
/// the same effort: experiment `autotune`, in a program that is built with REDUCTIO_CUB_POLICIES=ON, times about
/// as many policies as it does launches of tuned/sum, and experiments/autotune.py says which is the fastest of each
/// element type. CUB takes a policy for each type and architecture, not for each n, so one row of `best` is what a
/// caller of CUB can have.
///
/// CUB 3.5 takes a policy by its environment. Before, cub::DispatchReduce takes one.

#include <array>
#include <cstdint>
#include <cub/device/dispatch/dispatch_reduce.cuh>
#include <cuda/std/functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/cub_plan.h"
#if CUB_VERSION >= 300500
#include <cuda/execution>

#include "baselines/cub_environment.h"
#endif
#include "device/device.h"

namespace reductio {
namespace {

struct Policy {
  int threads;
  int items;    ///< a thread, where they have 4 bytes; CUB scales them for others
  int at_once;  ///< elements of one load

  std::string name() const {
    return std::to_string(threads) + "x" + std::to_string(items) + "x" + std::to_string(at_once);
  }
};

// What `auto` takes: of i32, f32 and f64 the fastest on an H200 of those below, by experiments/autotune.py.
template <class T>
constexpr Policy best = {512, 16, 4};
template <>
constexpr Policy best<float> = {512, 16, 4};
template <>
constexpr Policy best<double> = {512, 16, 2};

#ifdef REDUCTIO_CUB_POLICIES
constexpr std::array searched = {Policy{128, 8, 2},  Policy{128, 8, 4},  Policy{128, 16, 2}, Policy{128, 16, 4},
                                 Policy{128, 32, 2}, Policy{128, 32, 4}, Policy{256, 8, 2},  Policy{256, 8, 4},
                                 Policy{256, 16, 2}, Policy{256, 16, 4}, Policy{256, 32, 2}, Policy{256, 32, 4},
                                 Policy{512, 8, 2},  Policy{512, 8, 4},  Policy{512, 16, 2}, Policy{512, 16, 4},
                                 Policy{512, 32, 2}, Policy{512, 32, 4}};
#else
constexpr std::array<Policy, 0> searched = {};
#endif

#if CUB_VERSION >= 300500
/// The same policy on each architecture, for both launches.
template <class Acc, int Threads, int Items, int AtOnce>
struct Selector {
  constexpr cub::ReducePolicy operator()(::cuda::compute_capability) const {
    constexpr cub::ReducePassPolicy pass{Threads, Items * 4 / int{sizeof(Acc)}, AtOnce,
                                         cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG};
    return {pass, pass};
  }
};

/// cub::DeviceReduce::Sum for counts of 32 bits, but for the policy.
template <int Threads, int Items, int AtOnce>
struct SumBy {
  template <class T>
  cudaError_t operator()(void* temporary, std::size_t& bytes, const T* in, T* out, std::uint32_t n,
                         cudaStream_t s) const {
    using Tuning = decltype(::cuda::execution::tune(Selector<T, Threads, Items, AtOnce>{}));
    using Query = ::cuda::execution::__get_tuning_t;
    using Answer = decltype(Tuning{}.query(Query{}));
    return sum_by_environment<Query, std::remove_cvref_t<Answer>>(temporary, bytes, in, out, n, s);
  }
};
#else
/// What CUB wants a policy in: by architecture, the same from the oldest on. Numbers, since nvcc cannot name a kernel
/// by an element of an array.
template <class Acc, int Threads, int Items, int AtOnce>
struct Hub {
  struct MaxPolicy : cub::ChainedPolicy<500, MaxPolicy, MaxPolicy> {
    using ReducePolicy =
        cub::AgentReducePolicy<Threads, Items, Acc, AtOnce, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::LOAD_LDG>;
    using SingleTilePolicy = ReducePolicy;
    using SegmentedReducePolicy = ReducePolicy;
    using ReduceNondeterministicPolicy = ReducePolicy;
  };
};

/// cub::DeviceReduce::Sum for counts of 32 bits, but for the policy.
template <int Threads, int Items, int AtOnce>
struct SumBy {
  template <class T>
  cudaError_t operator()(void* temporary, std::size_t& bytes, const T* in, T* out, std::uint32_t n,
                         cudaStream_t s) const {
    using Plus = ::cuda::std::plus<>;
    return cub::DispatchReduce<const T*, T*, std::uint32_t, Plus, T, T, ::cuda::std::identity,
                               Hub<T, Threads, Items, AtOnce>>::Dispatch(temporary, bytes, in, out, n, Plus{}, T{}, s);
  }
};
#endif

template <class T, int Threads, int Items, int AtOnce>
std::unique_ptr<Plan> plan_by(const Problem& p, const DeviceInfo& gpu) {
  return cub_plan<T, T, std::uint32_t>(p, gpu, SumBy<Threads, Items, AtOnce>());
}

template <class T, std::size_t... I>
std::unique_ptr<Plan> plan_by_name(const Problem& p, const DeviceInfo& gpu, [[maybe_unused]] std::string_view name,
                                   std::index_sequence<I...>) {
  std::unique_ptr<Plan> plan;
  (void)((searched[I].name() == name &&
          (plan = plan_by<T, searched[I].threads, searched[I].items, searched[I].at_once>(p, gpu))) ||
         ...);
  return plan;
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return device::dispatch(p, [&]<class T>() {
    const std::string& policy = s.text("policy");
    constexpr Policy standard = best<T>;
    return policy == "auto" ? plan_by<T, standard.threads, standard.items, standard.at_once>(p, gpu)
                            : plan_by_name<T>(p, gpu, policy, std::make_index_sequence<searched.size()>());
  });
}

std::vector<std::string> policies() {
  std::vector<std::string> names{"auto"};
  for (const Policy& p : searched) names.push_back(p.name());
  return names;
}

std::string declines(const Problem& p, const Settings&) {
  return p.n > std::numeric_limits<std::int32_t>::max()
             ? "counts have 32 bits, as in cub/sum up to 2^31 - 1; use cub/sum"
             : "";
}

const device::Register register_sum(
    {.id = "cub/sum-tuned",
     .title = "CUB Sum, another policy",
     .cites = (CUB_VERSION >= 300500 ? "cub::DeviceReduce::Sum, cuda::execution::tune" : "cub::DispatchReduce") +
              cccl_version(),
     .kind = VariantKind::library,
     .own_experiment = "tuned",
     .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "second launch"},
     .operations = {Operation::sum},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::choice("policy", policies(), "auto")},
     .determinism = Determinism::per_launch_shape,
     .declines = declines},
    prepare);

}  // namespace
}  // namespace reductio
