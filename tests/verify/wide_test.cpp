// Elements that are added up in a wider type, and moments: reductions of them that are wrong in the usual ways, each of
// which the battery must reject. Stand-ins on the CPU, where a variant is a function; how narrow elements are loaded is
// checked with tuned/sum on the simulated device, by its own battery.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dataset.h"
#include "core/error.h"
#include "core/narrow_float.h"
#include "core/reference.h"
#include "device/backend.h"
#include "verify/verify.h"

namespace reductio {
namespace {

enum class WideFlaw {
  none,
  wraps_in_the_element,  // adds up in the element's type
  takes_i8_for_unsigned,
  takes_bf16_for_f16,
  flushes_f16_subnormals,
  f16_has_no_infinity,  // as if its largest exponent were one more binade
  adds_i64_in_32_bits,
  adds_a_wide_sum_in_the_own_accumulator,  // that of a sum
  takes_i32_for_unsigned,
  forgets_the_second,  // of moments
  swaps_them,
  squares_neither,
  squares_the_sum,  // the square of the sum in place of the sum of squares
  writes_a_third,
};

/// The element in the type that it is added up in.
template <class Acc, class In>
Acc widened_by(WideFlaw flaw, In x) {
  if constexpr (std::is_same_v<In, F16>) {
    if (flaw == WideFlaw::takes_bf16_for_f16) return static_cast<Acc>(BF16::of_bits(x.bits));
    if (flaw == WideFlaw::flushes_f16_subnormals && (x.bits & F16::infinity_bits) == 0) return 0;
    if (flaw == WideFlaw::f16_has_no_infinity && (x.bits & 0x7fff) == F16::infinity_bits)
      return x.bits >> 15 ? -0x1p16f : 0x1p16f;
  }
  if constexpr (sizeof(In) == 1)
    if (flaw == WideFlaw::takes_i8_for_unsigned) return static_cast<std::uint8_t>(x);
  if constexpr (std::is_same_v<In, std::int32_t>)
    if (flaw == WideFlaw::takes_i32_for_unsigned) return static_cast<std::uint32_t>(x);
  return static_cast<Acc>(x);
}

/// A sum as it is kept.
template <class In, class Acc>
Acc kept_by(WideFlaw flaw, Acc sum) {
  if (flaw == WideFlaw::wraps_in_the_element) return static_cast<Acc>(static_cast<In>(sum));
  if constexpr (std::is_same_v<Acc, std::uint64_t>)
    if (flaw == WideFlaw::adds_i64_in_32_bits) return static_cast<std::uint32_t>(sum);
  if (flaw == WideFlaw::adds_a_wide_sum_in_the_own_accumulator) {
    using Own = std::conditional_t<std::is_floating_point_v<Acc>, float, std::int32_t>;
    return static_cast<Acc>(static_cast<Own>(sum));
  }
  return sum;
}

template <class In, class Acc>
void sums(const void* in, void* out, const Problem& p, WideFlaw flaw) {
  Acc sum = 0, squares = 0;
  for (std::size_t i = 0; i < p.n; ++i) {
    In element;
    std::memcpy(&element, static_cast<const std::byte*>(in) + i * sizeof element, sizeof element);
    const Acc x = widened_by<Acc>(flaw, element);
    sum = kept_by<In>(flaw, sum + x);
    squares = kept_by<In>(flaw, squares + (flaw == WideFlaw::squares_neither ? x : x * x));
  }
  if (flaw == WideFlaw::squares_the_sum) squares = sum * sum;
  if (flaw == WideFlaw::swaps_them) std::swap(sum, squares);
  const Acc result[] = {p.operation == Operation::sum_of_squares ? squares : sum, squares, squares};
  std::size_t count = values_of(p.operation);
  if (flaw == WideFlaw::forgets_the_second) count = 1;
  if (flaw == WideFlaw::writes_a_third) count += 1;
  std::memcpy(out, result, count * sizeof(Acc));
}

Variant stand_in(WideFlaw flaw, std::vector<ElementType> types, std::vector<Operation> operations) {
  Variant v{.id = "stand-in/wide",
            .title = "wide",
            .cites = "none",
            .how = {},
            .operations = std::move(operations),
            .types = std::move(types)};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [flaw](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream) {
      if (p.operation == Operation::wide_sum) switch (p.type) {
          case ElementType::i8: return sums<std::int8_t, std::uint64_t>(in, out, p, flaw);
          case ElementType::i32: return sums<std::int32_t, std::uint64_t>(in, out, p, flaw);
          case ElementType::f32: return sums<float, double>(in, out, p, flaw);
          default: throw Refused("no wide sum");
        }
      switch (p.type) {
        case ElementType::i8: return sums<std::int8_t, std::uint32_t>(in, out, p, flaw);
        case ElementType::i32: return sums<std::uint32_t, std::uint32_t>(in, out, p, flaw);
        case ElementType::i64: return sums<std::uint64_t, std::uint64_t>(in, out, p, flaw);
        case ElementType::i128: throw Refused("sums of i128 are CUB's alone");
        case ElementType::f16: return sums<F16, float>(in, out, p, flaw);
        case ElementType::bf16: return sums<BF16, float>(in, out, p, flaw);
        case ElementType::f32: return sums<float, float>(in, out, p, flaw);
        case ElementType::f64: return sums<double, double>(in, out, p, flaw);
      }
    });
  };
  return v;
}

std::vector<ElementType> every_type() {
  std::vector<ElementType> all(all_types().begin(), all_types().end());
  std::erase(all, ElementType::i128);
  return all;
}
const std::vector<Operation> reductions{Operation::sum, Operation::sum_of_squares, Operation::moments};

VerifyReport report_on(const Variant& v) { return verify({&v}, *open_cpu(), Tier::quick, 1); }

std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const Failure& f : report.failures) text += f.what.describe() + ": " + f.why + "\n";
  return text;
}

TEST(Wide, the_unflawed_twin_passes_with_every_type_and_reduction) {
  const Variant v = stand_in(WideFlaw::none, every_type(), reductions);
  const VerifyReport report = report_on(v);
  EXPECT_EQ(report.failed, 0u) << text_of(report);
  EXPECT_EQ(report.refused, 0u);
  EXPECT_GT(report.passed, 150u);
}

TEST(Wide, the_unflawed_twin_passes_with_wide_sums_of_the_types_that_have_them) {
  std::vector<Operation> operations = reductions;
  operations.push_back(Operation::wide_sum);
  const Variant v = stand_in(WideFlaw::none, every_type(), operations);
  const VerifyReport report = report_on(v);
  EXPECT_EQ(report.failed, 0u) << text_of(report);
  EXPECT_EQ(report.refused, 0u) << "no case of a type without a wide sum";
}

/// Whether a case of the battery fails. The first ends it: the others would only take time.
bool is_rejected(const Variant& v, std::uint64_t seed) {
  const auto cpu = open_cpu();
  for (const Case& c : battery(v, cpu->info(), Tier::quick, seed))
    if (!run_case(c, *cpu).empty()) return true;
  return false;
}

/// Of each operation by itself, with each of three seeds.
void expect_rejected(WideFlaw flaw, ElementType type, const std::vector<Operation>& operations = reductions) {
  for (const Operation operation : operations)
    for (const std::uint64_t seed : {1, 2, 3})
      EXPECT_TRUE(is_rejected(stand_in(flaw, {type}, {operation}), seed))
          << name(type) << ' ' << name(operation) << " seed " << seed;
}

TEST(Wide, a_sum_in_the_elements_own_type_is_rejected) {
  for (const ElementType type : {ElementType::i8, ElementType::f16, ElementType::bf16})
    expect_rejected(WideFlaw::wraps_in_the_element, type);
}
TEST(Wide, elements_taken_for_another_type_are_rejected) {
  expect_rejected(WideFlaw::takes_i8_for_unsigned, ElementType::i8);
  expect_rejected(WideFlaw::takes_bf16_for_f16, ElementType::f16);
  expect_rejected(WideFlaw::flushes_f16_subnormals, ElementType::f16);
  expect_rejected(WideFlaw::f16_has_no_infinity, ElementType::f16);
}
TEST(Wide, a_sum_of_i64_in_32_bits_is_rejected) { expect_rejected(WideFlaw::adds_i64_in_32_bits, ElementType::i64); }

TEST(Wide, a_wide_sum_in_the_accumulator_of_a_sum_is_rejected) {
  for (const ElementType type : {ElementType::i32, ElementType::f32})
    expect_rejected(WideFlaw::adds_a_wide_sum_in_the_own_accumulator, type, {Operation::wide_sum});
}
TEST(Wide, a_wide_sum_of_integers_taken_for_unsigned_is_rejected) {
  expect_rejected(WideFlaw::takes_i8_for_unsigned, ElementType::i8, {Operation::wide_sum});
  expect_rejected(WideFlaw::takes_i32_for_unsigned, ElementType::i32, {Operation::wide_sum});
}

TEST(Wide, moments_of_which_one_value_is_wrong_are_rejected) {
  for (const ElementType type : {ElementType::i8, ElementType::f16, ElementType::f32, ElementType::f64})
    for (const WideFlaw flaw :
         {WideFlaw::forgets_the_second, WideFlaw::swaps_them, WideFlaw::squares_neither, WideFlaw::squares_the_sum})
      expect_rejected(flaw, type, {Operation::moments});
  // The report's failures name the variant, so it has to last as long.
  const Variant writes_a_third = stand_in(WideFlaw::writes_a_third, {ElementType::f16}, {Operation::moments});
  const VerifyReport third = report_on(writes_a_third);
  EXPECT_NE(text_of(third).find("bytes past the output"), std::string::npos) << text_of(third);
}

/// Plans of `variant` that declare another longest chain than its own.
Variant with_chain(const Variant& variant, std::size_t chain) {
  Variant v = variant;
  Prepare& prepare = v.prepare[static_cast<int>(DeviceKind::sim)];
  prepare = [chain, own = prepare](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
    const std::shared_ptr<Plan> plan = own(p, s, gpu);
    PlanInfo info = plan->info();
    info.longest_chain = chain;
    return plan_of(info, [plan](void* in, void* out, Stream stream) { plan->enqueue(in, out, stream); });
  };
  return v;
}

// f16 has too few binades for the numbers by which additions are counted in the other types.
TEST(Wide, additions_are_counted_in_narrow_floats_too) {
  const auto sim = open_backend(DeviceKind::sim);
  const Variant& tuned = find_variant("tuned/sum");
  for (const ElementType type : {ElementType::f16, ElementType::bf16})
    for (const Operation operation : {Operation::sum, Operation::sum_of_squares}) {
      const auto verdict = [&](const Variant& v) {
        return run_case({&v, {operation, type, 40000}, v.settings(), 1, "random", 1, "forward", "chain"}, *sim);
      };
      EXPECT_EQ(verdict(tuned), "");
      const std::string little = verdict(with_chain(tuned, 2)), much = verdict(with_chain(tuned, 40000));
      EXPECT_NE(little.find("declares a longest chain of 2 additions"), std::string::npos) << little;
      EXPECT_NE(much.find("more than four times the longest found"), std::string::npos) << much;
    }
  const Case large{
      &tuned, {Operation::sum, ElementType::f16, (1 << 16) + 1}, tuned.settings(), 0, "random", 1, "forward", "chain"};
  EXPECT_THROW(run_case(large, *sim), Refused) << "all small numbers together would be seen beside the large one";
}

// Elements of f32 have other binades than the f64 that a wide sum of them is made in.
TEST(Wide, additions_are_counted_in_wide_sums_too) {
  const auto sim = open_backend(DeviceKind::sim);
  const Variant& tuned = find_variant("tuned/sum");
  const auto verdict = [&](const Variant& v) {
    return run_case(
        {&v, {Operation::wide_sum, ElementType::f32, 40000}, v.settings(), 1, "random", 1, "forward", "chain"}, *sim);
  };
  EXPECT_EQ(verdict(tuned), "");
  const std::string little = verdict(with_chain(tuned, 2)), much = verdict(with_chain(tuned, 40000));
  EXPECT_NE(little.find("declares a longest chain of 2 additions"), std::string::npos) << little;
  EXPECT_NE(much.find("more than four times the longest found"), std::string::npos) << much;
}

// Random i8 have a mean of -1/2, so that no size which other types get would show that their wide sum has 64 bits.
TEST(Wide, on_a_gpu_wide_sums_of_i8_leave_32_bits) {
  const Variant v = stand_in(WideFlaw::none, every_type(), {Operation::sum, Operation::wide_sum});
  DeviceInfo gpu;
  gpu.kind = DeviceKind::cuda;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::size_t beyond = 0;
    for (const Case& c : battery(v, gpu, Tier::gpu, seed)) {
      const Problem& p = c.problem;
      if (p.operation != Operation::wide_sum || p.type != ElementType::i8 || p.n < std::size_t{1} << 32) continue;
      const auto tile = make_tile(c.dataset, p.type, p.n, c.seed);
      const auto sum = static_cast<std::int64_t>(reference(p.operation, p.type, tile, p.n).integer);
      beyond += sum != static_cast<std::int32_t>(sum);
    }
    EXPECT_GT(beyond, 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace reductio
