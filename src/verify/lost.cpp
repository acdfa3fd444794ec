/// Which element a wrong sum has lost, or counted twice.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/narrow_float.h"
#include "verify/call.h"
#include "verify/checks.h"

namespace reductio {
namespace {

/// All partial sums of what is added up here are exact in each type.
constexpr std::uint64_t exact_to = std::uint64_t{1} << 24;
constexpr std::size_t most_elements = std::size_t{1} << 21;  ///< beyond, the calls take too long
constexpr unsigned most_digit_bits = 7;                      ///< what i8 holds

/// Calls of new plans on small whole numbers, of which a wrong sum tells more than one of the case's own data.
class SmallNumbers {
 public:
  SmallNumbers(Workbench& bench, const Case& c)
      : bench_(bench),
        case_(c),
        stream_(bench.backend),
        output_(bench.backend, c.problem.result_bytes(), stream_),
        memory_(bench.backend, skipped() + c.problem.bytes()),
        drain_(bench.backend, {stream_}) {}

  bool squares() const { return case_.problem.operation == Operation::sum_of_squares; }

  /// How much is missing of the sum of value(i), or of their squares.
  std::int64_t missing(const std::function<unsigned(std::size_t)>& value) {
    const Problem& p = case_.problem;
    std::vector<std::byte> data(p.bytes());
    std::int64_t want = 0;
    for (std::size_t i = 0; i < p.n; ++i) {
      const unsigned x = value(i);
      want += squares() ? x * x : x;
      put(data.data() + i * size_of(p.type), x);
    }
    OwnPlan plan = OwnPlan::of(case_, bench_);
    bench_.backend.copy_in(memory_.bytes_at(skipped()), data.data(), data.size(), stream_);
    output_.poison(stream_);
    plan.begin_call(stream_);
    plan.enqueue(memory_.bytes_at(skipped()), output_.get(), stream_);
    Result result(output_.bytes());
    if (plan.info().result == ResultLocation::on_device)
      output_.read(result.data(), stream_);
    else
      plan.finish(result.data(), stream_);
    return want - whole(result);
  }

 private:
  std::size_t skipped() const { return case_.offset_elements * size_of(case_.problem.type); }

  void put(std::byte* to, unsigned x) const {
    const auto store = [&](auto element) { std::memcpy(to, &element, sizeof element); };
    switch (case_.problem.type) {
      case ElementType::i8: return store(static_cast<std::int8_t>(x));
      case ElementType::i32: return store(static_cast<std::int32_t>(x));
      case ElementType::i64: return store(static_cast<std::int64_t>(x));
      case ElementType::i128: return store(static_cast<Int128>(x));
      case ElementType::f16: return store(static_cast<F16>(static_cast<float>(x)));
      case ElementType::bf16: return store(static_cast<BF16>(static_cast<float>(x)));
      case ElementType::f32: return store(static_cast<float>(x));
      case ElementType::f64: return store(static_cast<double>(x));
    }
  }

  /// A result, of moments the sum; far from any right one where it is none of these.
  std::int64_t whole(const Result& result) const {
    const ElementType type = case_.problem.accumulator();
    if (is_floating(type)) {
      const double x = floating_result(result.data(), type);
      return std::abs(x) < 0x1p40 ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::max() / 2;
    }
    if (type == ElementType::i32) {
      std::int32_t narrow;
      std::memcpy(&narrow, result.data(), sizeof narrow);
      return narrow;
    }
    std::int64_t wide;
    std::memcpy(&wide, result.data(), sizeof wide);  // of i128 the lower half
    return wide;
  }

  Workbench& bench_;
  const Case& case_;
  OwnStream stream_;
  Output output_;
  DeviceMemory memory_;
  Drain drain_;
};

std::string lost_in(SmallNumbers& calls, std::size_t n) {
  const std::int64_t ones = calls.missing([](std::size_t) { return 1u; });
  const auto many = static_cast<std::int64_t>(n);
  if (ones == 0 || std::abs(ones) > many) return {};
  if (std::abs(ones) > 1)
    return "; " + std::to_string(std::abs(ones)) + " of the " + std::to_string(n) + " elements " +
           (ones > 0 ? "are missing" : "are counted again");
  // Its index, by digits of as many bits as sums of all have room for: each is the data of one call.
  const auto fits = [&](unsigned bits) {
    const std::uint64_t most = (std::uint64_t{1} << bits) - 1;
    return n * most * (calls.squares() ? most : 1) <= exact_to;
  };
  unsigned bits = 1;
  while (bits < most_digit_bits && fits(bits + 1)) ++bits;
  std::size_t index = 0;
  for (unsigned shift = 0; (n - 1) >> shift; shift += bits) {
    const auto digit_of = [&](std::size_t i) { return static_cast<unsigned>((i >> shift) & ((1u << bits) - 1)); };
    const std::int64_t missing = ones * calls.missing(digit_of);
    if (missing < 0) return {};
    const auto digit =
        static_cast<std::size_t>(calls.squares() ? std::llround(std::sqrt(static_cast<double>(missing))) : missing);
    if (digit >> bits || (calls.squares() && static_cast<std::int64_t>(digit * digit) != missing)) return {};
    index |= digit << shift;
  }
  if (index >= n) return {};
  return "; element " + std::to_string(index) + (ones > 0 ? " is missing" : " is counted twice");
}

}  // namespace

std::string lost_element(Workbench& bench, const Case& c) {
  if (c.problem.n == 0 || c.problem.n > most_elements || has_shape(c.problem.operation)) return {};
  try {
    SmallNumbers calls(bench, c);
    return lost_in(calls, c.problem.n);
  } catch (const std::exception&) {
    return {};  // what is wrong is told already
  }
}

}  // namespace reductio
