/// Eigen on one core, compiled for the processor's baseline (SSE2 on x86-64) like the rest of the program, so that one
/// executable runs everywhere.
///
///   eigen/sum           sum
///   eigen/squared-norm  sum of squares

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <string>

#include "baselines/cpu_types.h"
#include "core/variant.h"

namespace reductio {
namespace {

template <class T>
using Vector = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>;

/// Eigen adds aligned packets into two packets of accumulators, folds those, and adds at most one packet less one of
/// unaligned elements before and after, one by one. Types that it has no packets for it adds one by one.
template <class T>
std::size_t longest_chain(std::size_t n) {
  constexpr std::size_t packet = Eigen::internal::packet_traits<T>::Vectorizable
                                     ? static_cast<std::size_t>(Eigen::internal::packet_traits<T>::size)
                                     : 1;
  if (packet == 1) return n;
  return std::min(n, n / (2 * packet) + 2 + std::bit_width(packet) + 2 * packet);
}

/// `call(vector)` is the Eigen call.
template <class Function>
std::unique_ptr<Plan> plan(const Problem& p, Function call) {
  return dispatch_cpu(p, [&]<class T>() -> std::unique_ptr<Plan> {
    return plan_of({.longest_chain = longest_chain<T>(p.n)}, [=, n = p.n](void* in, void* out, Stream) {
      *static_cast<T*>(out) = call(Vector<T>(static_cast<const T*>(in), static_cast<Eigen::Index>(n)));
    });
  });
}

std::unique_ptr<Plan> prepare_sum(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan(p, [](const auto& v) { return v.sum(); });
}

std::unique_ptr<Plan> prepare_squared_norm(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan(p, [](const auto& v) { return v.squaredNorm(); });
}

Variant describe(std::string id, std::string title, std::string call, Operation operation) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(call) + ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
                   std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION),
          .kind = VariantKind::cpu,
          .how = {.thread = "two SIMD accumulators", .block = "", .grid = "one core"},
          .operations = {operation},
          .types = {ElementType::i32, ElementType::f32, ElementType::f64},
          // Where the aligned packets begin depends on the input's address.
          .determinism = Determinism::per_launch_shape};
}

const RegisterCpu register_sum(describe("eigen/sum", "Eigen sum", "Map::sum", Operation::sum), prepare_sum);
const RegisterCpu register_squared_norm(describe("eigen/squared-norm", "Eigen squaredNorm", "Map::squaredNorm",
                                                 Operation::sum_of_squares),
                                        prepare_squared_norm);

}  // namespace
}  // namespace reductio
