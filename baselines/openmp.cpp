/// OpenMP, the usual way to use all cores.
///
///   openmp/sum  sum
///
/// Setting `threads`: auto takes what OpenMP would (OMP_NUM_THREADS, else every core). More than 1024, or than the
/// system starts, are refused. On a machine with several memory nodes the input lies where the harness first wrote it,
/// which is one of them.

#include <algorithm>
#include <cstddef>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "baselines/cpu_types.h"
#include "core/variant.h"

namespace reductio {
namespace {

#ifdef _OPENMP

template <class T>
T sum(const T* x, std::size_t n, int threads) {
  T total = 0;
  // The pointer as each thread's own: clang reloads a shared one in every turn and then cannot use SIMD.
#pragma omp parallel for simd reduction(+ : total) num_threads(threads) schedule(static) firstprivate(x)
  for (std::size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo&) {
  const int wanted = s.text("threads") == "auto" ? omp_get_max_threads() : static_cast<int>(s.integer("threads"));
  const int threads = std::min(wanted, omp_get_thread_limit());
  require_threads(threads, "set OMP_NUM_THREADS to fewer");
  // A thread's even share in one chain (SIMD lanes only shorten it), then the threads' sums one after another.
  const std::size_t t = static_cast<std::size_t>(threads);
  const PlanInfo info{.longest_chain = std::min(p.n, p.n / t + 1 + t)};
  return dispatch_cpu(p, [&]<class T>() -> std::unique_ptr<Plan> {
    return plan_of(info, [=, n = p.n](void* in, void* out, Stream) {
      *static_cast<T*>(out) = sum(static_cast<const T*>(in), n, threads);
    });
  });
}

#else

std::unique_ptr<Plan> prepare(const Problem&, const Settings&, const DeviceInfo&) {
  throw Unavailable("this program was compiled without OpenMP; rebuild it with a compiler that has it");
}

#endif

const RegisterCpu register_sum({.id = "openmp/sum",
                                .title = "OpenMP",
                                .cites = "parallel for simd reduction(+)",
                                .kind = VariantKind::cpu,
                                .how = {.thread = "SIMD loop over an even share", .block = "", .grid = "all cores"},
                                .operations = {Operation::sum},
                                .types = {ElementType::i32, ElementType::f32, ElementType::f64},
                                .tunables = {Tunable::integer("threads", 1, most_threads, {"auto", "1", "2", "3", "4"},
                                                              "auto")},
                                // The threads' sums are added in the order in which they finish.
                                .determinism = Determinism::none},
                               prepare);

}  // namespace
}  // namespace reductio
