/// The CPU's twin of exact/sum (exact/exact.h): the real sum, rounded once, so it has the same bits.
///
///   exact/cpu  sum, wide sum, sum of squares, moments (which read the array twice)
///
/// Threads take even shares (exact::add and add_squares of exact/partial.h). Adding up their sums rounds nothing, so
/// `threads` changes no bit.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "baselines/cpu_types.h"
#include "core/variant.h"
#include "exact/partial.h"

namespace reductio {
namespace {

using tuned::exact::Partial;

template <class T>
Partial exact_sum_of(const T* x, std::size_t n, std::size_t threads, bool squares) {
  const auto add = squares ? tuned::exact::add_squares<T> : tuned::exact::add<T>;
  std::vector<Partial> sums(threads);
  std::vector<std::jthread> others;
  others.reserve(threads - 1);
  const std::size_t share = n / threads;
  for (std::size_t t = 1; t < threads; ++t)
    others.emplace_back([=, &sums] { add(sums[t], x + (t - 1) * share, share); });
  add(sums[0], x + (threads - 1) * share, n - (threads - 1) * share);
  for (std::jthread& t : others) t.join();
  for (std::size_t t = 1; t < threads; ++t) sums[0] += sums[t];
  return sums[0];
}

template <class In, class Acc>
std::unique_ptr<Plan> exact_on_cpu(std::size_t n, std::size_t threads, Operation op = Operation::sum) {
  return plan_of({.longest_chain = 0}, [=](void* in, void* out, Stream) {
    auto* to = static_cast<Acc*>(out);
    for (const bool squares : {false, true})
      if (squares ? has_squares(op) : op != Operation::sum_of_squares)
        *to++ = exact_sum_of(static_cast<const In*>(in), n, threads, squares).template rounded<Acc>();
  });
}

std::unique_ptr<Plan> prepare_exact(const Problem& p, const Settings& s, const DeviceInfo&) {
  constexpr std::size_t least_share = 1 << 16;  // starting a thread takes longer than adding up fewer
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto automatic = static_cast<int>(std::clamp<std::size_t>(p.n / least_share, 1, cores));
  const int wanted = s.text("threads") == "auto" ? automatic : static_cast<int>(s.integer("threads"));
  require_threads(wanted, "choose fewer threads");
  const auto threads = static_cast<std::size_t>(wanted);
  if (p.operation == Operation::wide_sum) return exact_on_cpu<float, double>(p.n, threads);
  if (p.type == ElementType::f32) return exact_on_cpu<float, float>(p.n, threads, p.operation);
  return exact_on_cpu<double, double>(p.n, threads, p.operation);
}

const RegisterCpu exact_cpu({.id = "exact/cpu",
                             .title = "exact, on the CPU",
                             .cites = "src/exact/partial.h",
                             .kind = VariantKind::cpu,
                             .own_experiment = "compare",
                             .how = {.thread = "SIMD sums without rounding", .block = "", .grid = "all cores"},
                             .operations = {Operation::sum, Operation::wide_sum,
                                            Operation::sum_of_squares, Operation::moments},
                             .types = {ElementType::f32, ElementType::f64},
                             .tunables = {Tunable::integer("threads", 1, most_threads, {"auto", "1", "2", "3"},
                                                           "auto")},
                             .determinism = Determinism::always},
                            prepare_exact);

}  // namespace
}  // namespace reductio
