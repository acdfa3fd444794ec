#include "core/vector_add.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace reductio {
namespace {

/// `Sum` rounds so finely that the additions to be checked decide the error.
template <class T, class Sum>
std::unique_ptr<Plan> plan(std::size_t n, VectorAdd add) {
  struct State {
    std::vector<T> a;
    const T* in = nullptr;  ///< of the last call
  };
  const auto state = std::make_shared<State>();
  const auto poison = [state] { std::memset(state->a.data(), 0xFF, state->a.size() * sizeof(T)); };
  const std::size_t half = n / 2;
  if (half > 0) {
    state->a.resize(half);
    poison();
  }

  // Rounded once by the loop and once at the end; in between in double, which from n = 2^29 on may add as much again.
  const std::size_t chain = std::min(n, 3 + (n >> 29));
  const PlanInfo info{.longest_chain = chain, .workspace_bytes = half * sizeof(T), .result = ResultLocation::array};
  const auto call = [=](void* in, void*, Stream) {
    state->in = static_cast<const T*>(in);
    add(state->in, state->in + half, state->a.data(), static_cast<int>(half));
  };
  const auto check = [=](void* result, Stream) {
    Sum sums[8] = {};  // one would wait for itself at each addition
    for (std::size_t i = 0; i < half; ++i) sums[i % 8] += state->a[i];
    Sum sum = n % 2 ? state->in[n - 1] : T{0};
    for (const Sum s : sums) sum += s;
    const T value = static_cast<T>(sum);
    std::memcpy(result, &value, sizeof value);
    if (half > 0) poison();
  };
  return plan_of(info, call, check);
}

}  // namespace

std::unique_ptr<Plan> vector_add_plan(const Problem& p, VectorAdd add) {
  if (p.n / 2 > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Refused("adds no more than 2^31 - 1 elements, which its int counts");
  switch (p.type) {
    case ElementType::i32: return plan<std::uint32_t, std::uint32_t>(p.n, add);
    case ElementType::f32: return plan<float, double>(p.n, add);
    default: throw Refused("element type is not supported");  // no document adds vectors of it
  }
}

}  // namespace reductio
