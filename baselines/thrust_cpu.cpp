/// Thrust without a GPU: its headers, compiled by the host compiler.
///
///   thrust/cpu  sum, and sum of squares by thrust::transform_reduce
///
/// Setting `system`: cpp is Thrust's sequential system, omp its OpenMP one.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_OMP
#else
#define THRUST_DEVICE_SYSTEM THRUST_DEVICE_SYSTEM_CPP
#endif
#define THRUST_HOST_SYSTEM THRUST_HOST_SYSTEM_CPP
// The program also holds Thrust's CUDA system. Names of their own keep the linker from merging the two.
#define THRUST_CUB_WRAPPED_NAMESPACE reductio_cpu

#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/transform_reduce.h>
#include <thrust/version.h>
#ifdef _OPENMP
#include <thrust/system/omp/execution_policy.h>
#endif

#include "baselines/cpu_types.h"
#include "core/variant.h"

namespace reductio {
namespace {

namespace thrust = reductio_cpu::thrust;

template <class T>
struct SquareOf {
  T operator()(T v) const { return v * v; }
};

template <class T, class Policy>
T reduce(const Policy& policy, Operation operation, const T* x, std::size_t n) {
  if (operation == Operation::sum) return thrust::reduce(policy, x, x + n, T{0}, thrust::plus<T>());
  return thrust::transform_reduce(policy, x, x + n, SquareOf<T>(), T{0}, thrust::plus<T>());
}

template <class T, class Policy>
std::unique_ptr<Plan> plan(const Problem& p, std::size_t chain, const Policy& policy) {
  return plan_of({.longest_chain = chain}, [=](void* in, void* out, Stream) {
    *static_cast<T*>(out) = reduce(policy, p.operation, static_cast<const T*>(in), p.n);
  });
}

std::unique_ptr<Plan> prepare(const Problem& p, [[maybe_unused]] const Settings& s, const DeviceInfo&) {
  return dispatch_cpu(p, [&]<class T>() -> std::unique_ptr<Plan> {
#ifdef _OPENMP
    if (s.text("system") == "omp") {
      // Thrust leaves their number to OpenMP.
      require_threads(std::min(omp_get_max_threads(), omp_get_thread_limit()), "set OMP_NUM_THREADS to fewer");
      // One interval for each processor, each added up in one chain, then the intervals' sums one after another.
      const std::size_t intervals = static_cast<std::size_t>(std::max(omp_get_num_procs(), 1));
      return plan<T>(p, std::min(p.n, p.n / intervals + 1 + intervals), thrust::omp::par);
    }
#endif
    return plan<T>(p, p.n, thrust::cpp::par);
  });
}

std::string declines(const Problem&, [[maybe_unused]] const Settings& s) {
#ifndef _OPENMP
  if (s.text("system") == "omp")
    return "this program was compiled without OpenMP; rebuild it with a compiler that has it, or use system=cpp";
#endif
  return "";
}

std::string adds_up_wrongly(std::string_view dataset, const Settings& s) {
  const bool one = s.text("system") == "cpp";
  return one && dataset == "ones" ? "its one f32 accumulator stops at 2^24" : "";
}

const RegisterCpu register_cpu(
    {.id = "thrust/cpu",
     .title = "Thrust on the CPU",
     .cites = "thrust::reduce, thrust::transform_reduce, CCCL " + std::to_string(THRUST_MAJOR_VERSION) + "." +
              std::to_string(THRUST_MINOR_VERSION) + "." + std::to_string(THRUST_SUBMINOR_VERSION),
     .kind = VariantKind::cpu,
     .how = {.thread = "one accumulator", .block = "", .grid = "one core, or an even share for each"},
     .operations = {Operation::sum, Operation::sum_of_squares},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::choice("system", {"cpp", "omp"}, "cpp")},
     .determinism = Determinism::per_launch_shape,
     .declines = declines,
     .wrong_for = adds_up_wrongly},
    prepare);

}  // namespace
}  // namespace reductio
