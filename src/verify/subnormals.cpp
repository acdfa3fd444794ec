#include "verify/subnormals.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "verify/call.h"

namespace reductio {
namespace {

bool shown_by_a_call(Backend& backend, const Case& c) {
  if (has_shape(c.problem.operation)) return true;  // it may: what a plan leaves open is allowed
  const Problem p{c.problem.operation, ElementType::f32, 1000};
  // Of either operation a thousand values of 2^-140, whose sum is below the least normal number, 2^-126, and exact.
  const std::vector<float> values(p.n, p.operation == Operation::sum_of_squares ? 0x1p-70f : 0x1p-140f);
  float result = 0;
  try {
    const auto plan = make_plan(*c.variant, p, c.settings, backend.info());
    const DeviceMemory in(backend, p.bytes()), out(backend, p.result_bytes());
    const OwnStream stream(backend);
    backend.copy_in(in.get(), values.data(), p.bytes(), stream);
    plan->enqueue(in.get(), out.get(), stream);
    if (plan->info().result == ResultLocation::on_device)
      backend.copy_out(&result, out.get(), sizeof result, stream);
    else
      plan->finish(&result, stream);
  } catch (const std::exception&) {
    return false;  // what is wrong here is the case's to tell
  }
  return result >= 0 && result < 1000 * 0x1p-140f;
}

}  // namespace

bool flushes_subnormals(Backend& backend, const Case& c, const PlanInfo& info) {
  if (info.flushes_subnormals) return *info.flushes_subnormals;
  if (c.problem.type != ElementType::f32 || c.problem.accumulator() != ElementType::f32) return false;
  static std::map<std::tuple<DeviceKind, std::string, Operation, std::string>, bool> known;
  const auto [at, is_new] =
      known.try_emplace({backend.info().kind, c.variant->id, c.problem.operation, c.settings.str()}, false);
  if (is_new) at->second = shown_by_a_call(backend, c);
  return at->second;
}

}  // namespace reductio
