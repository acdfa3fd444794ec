#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/narrow_float.h"
#include "verify/call.h"
#include "verify/checks.h"

namespace reductio {
namespace {

/// One large number among numbers too small to change it even all together, added up with upward rounding. Each
/// addition that brings any of them to the large number then raises it by one unit in the last place, so the result
/// counts the additions that it passed through. Adding zeros does not count, and does not round. It works with every
/// kernel's own type; a compensated sum, or one in a wider type than `Acc`, counts as little as it rounds. Both numbers
/// are powers of two, and the small one's square is normal.
template <class In, class Acc>
struct CountedData {
  static constexpr bool few_binades = std::is_same_v<In, F16>;  // from 2^-24 to 2^15
  static constexpr double large = few_binades ? 0x1p15 : 1;
  static constexpr double small = few_binades                  ? 0x1p-24
                                  : std::is_same_v<Acc, float> ? 0x1p-60
                                  : std::is_same_v<In, float>  ? 0x1p-120
                                                               : 0x1p-200;
  static constexpr std::size_t most_elements = few_binades ? std::size_t{1} << 16 : std::size_t{1} << 36;

  static std::vector<std::byte> with_large_at(std::size_t at, std::size_t n) {
    std::vector<In> values(n, static_cast<In>(small));
    values[at] = static_cast<In>(large);
    std::vector<std::byte> bytes(n * sizeof(In));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  /// None if the result, of moments the first value, is not such a sum.
  static std::optional<std::size_t> additions(const Result& result, Operation operation) {
    const Acc alone = static_cast<Acc>(operation == Operation::sum_of_squares ? large * large : large);
    Acc sum;
    std::memcpy(&sum, result.data(), sizeof sum);
    if (!(sum >= alone && sum < 2 * alone)) return std::nullopt;
    return static_cast<std::size_t>((sum - alone) / (alone * std::numeric_limits<Acc>::epsilon()));
  }
};

/// f(CountedData<In, Acc>()) of a problem of floats.
template <class F>
auto with_counted_data(const Problem& p, F f) {
  switch (p.type) {
    case ElementType::f16: return f(CountedData<F16, float>());
    case ElementType::bf16: return f(CountedData<BF16, float>());
    case ElementType::f32:
      return p.accumulator() == ElementType::f64 ? f(CountedData<float, double>()) : f(CountedData<float, float>());
    case ElementType::f64: return f(CountedData<double, double>());
    default: throw Refused("the additions of a chain are counted in floats");
  }
}

class RoundUpward {
 public:
  RoundUpward() : before_(std::fegetround()) { std::fesetround(FE_UPWARD); }
  ~RoundUpward() { std::fesetround(before_); }
  RoundUpward(const RoundUpward&) = delete;
  RoundUpward& operator=(const RoundUpward&) = delete;

 private:
  int before_;
};

}  // namespace

std::vector<std::size_t> followed_elements(std::size_t n, std::uint64_t seed) {
  constexpr std::size_t at_random = 3;
  std::vector<std::size_t> places{0, n / 2, n - 1};
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < at_random; ++i) places.push_back(random() % n);
  return places;
}

std::optional<std::size_t> additions_of(const Problem& p, std::size_t element, const ChainCall& call) {
  const auto data = with_counted_data(p, [&](auto d) { return d.with_large_at(element, p.n); });
  Result result;
  {
    const RoundUpward upward;
    result = call(data);
  }
  return with_counted_data(p, [&](auto d) { return d.additions(result, p.operation); });
}

std::string check_chain(Workbench& bench, const Case& c) {
  constexpr std::size_t least_judged = 1000, most_times = 4;
  if (bench.backend.info().kind != DeviceKind::sim)
    throw Refused("the additions of a chain are counted on the simulated device alone");
  const std::size_t most_elements = with_counted_data(c.problem, [](auto data) { return data.most_elements; });
  if (c.problem.n > most_elements)
    throw Refused("the additions of a chain are counted in at most " + std::to_string(most_elements) + " elements of " +
                  std::string(name(c.problem.type)));
  if (c.problem.n == 0) return {};
  const std::size_t n = c.problem.n, size = size_of(c.problem.type), begin = c.offset_elements * size;
  if (c.problem.outputs() != 1) throw Refused("the additions of a chain are counted where there is one output");
  OwnPlan plan = OwnPlan::of(c, bench);
  const OwnStream stream(bench.backend);
  Output output(bench.backend, c.problem.result_bytes(), stream);
  const DeviceMemory in(bench.backend, begin + n * size);
  const Drain drain(bench.backend, {stream});

  std::size_t most = 0;
  for (const std::size_t at : followed_elements(n, c.seed)) {
    std::string why;
    const auto counted = additions_of(c.problem, at, [&](const std::vector<std::byte>& data) {
      bench.backend.copy_in(in.bytes_at(begin), data.data(), data.size(), stream);
      output.poison(stream);
      Result result(output.bytes());
      plan.enqueue(in.bytes_at(begin), output.get(), stream);
      if (plan.info().result == ResultLocation::on_device)
        why = output.read(result.data(), stream);
      else
        plan.finish(result.data(), stream);
      return result;
    });
    if (!why.empty()) return why;
    if (!counted) return "the sum of one large number and of numbers near zero is not about the large one";
    most = std::max(most, *counted);
    if (most > plan.info().longest_chain)
      return "the plan declares a longest chain of " + std::to_string(plan.info().longest_chain) +
             " additions, and element " + std::to_string(at) + " passed through " + std::to_string(most) +
             ": does .finish say how the kernel ends? If so, set .longest_chain of sum_kernel() or of the PlanInfo";
  }
  const std::size_t tree = static_cast<std::size_t>(std::bit_width(n));
  const bool says_nothing = !c.variant->plugin.empty() && plan.info().longest_chain == n;  // a plug-in's n by default
  if (n >= least_judged && !says_nothing && plan.info().longest_chain > most_times * std::max(most, tree))
    return "the plan declares a longest chain of " + std::to_string(plan.info().longest_chain) +
           " additions, more than four times the longest found, " + std::to_string(most) + ", and a balanced tree's, " +
           std::to_string(tree) +
           ": so much forgiven rounding hides real faults; declare what this n and these settings take";
  return {};
}

}  // namespace reductio
