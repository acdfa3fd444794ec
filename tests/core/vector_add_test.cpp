// A loop that adds two arrays is verified by the battery like any reduction: what it stores must be all there, and
// right.

#include "core/vector_add.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/backend.h"
#include "verify/verify.h"

namespace reductio {
namespace {

enum class Flaw {
  none,
  drops_tail,
  drops_last_on_odd_n,
  skips_one,
  forgets_c,
  subtracts,
  takes_the_next,
  adds_to_a,
  does_nothing
};

template <class T, Flaw flaw>
void add(const void* pb, const void* pc, void* pa, int n) {
  const T* const b = static_cast<const T*>(pb);
  const T* const c = static_cast<const T*>(pc);
  T* const a = static_cast<T*>(pa);
  int i = 0;
  for (; i < n - 3; i += 4)
    for (int k = i; k < i + 4; ++k) {
      if (flaw == Flaw::does_nothing || (flaw == Flaw::skips_one && k == 6)) continue;
      a[k] = flaw == Flaw::forgets_c        ? b[k]
             : flaw == Flaw::subtracts      ? b[k] - c[k]
             : flaw == Flaw::takes_the_next ? b[k] + c[k + 1 < n ? k + 1 : k]
             : flaw == Flaw::adds_to_a      ? a[k] + b[k] + c[k]
                                            : b[k] + c[k];
    }
  if (flaw == Flaw::drops_tail || flaw == Flaw::does_nothing) return;
  for (; i < (flaw == Flaw::drops_last_on_odd_n && n % 2 ? n - 1 : n); ++i) a[i] = b[i] + c[i];
}

template <Flaw flaw>
VerifyReport report_on() {
  Variant v{.id = "stand-in/vector-add",
            .title = "stand-in",
            .cites = "none",
            .operations = {Operation::vector_add},
            .types = {ElementType::i32, ElementType::f32},
            .result = ResultLocation::array};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return vector_add_plan(p, p.type == ElementType::i32 ? add<std::uint32_t, flaw> : add<float, flaw>);
  };
  return verify({&v}, *open_cpu(), Tier::quick, 1);
}

TEST(VectorAdd, ARightLoopPassesTheBattery) {
  const VerifyReport report = report_on<Flaw::none>();
  EXPECT_GT(report.passed, 100u);
  EXPECT_EQ(report.failed + report.refused, 0u)
      << report.failures.front().what.describe() << report.failures.front().why;
}

TEST(VectorAdd, AWrongLoopIsFound) {
  EXPECT_GT(report_on<Flaw::drops_tail>().failed, 0u);
  EXPECT_GT(report_on<Flaw::drops_last_on_odd_n>().failed, 0u);
  EXPECT_GT(report_on<Flaw::skips_one>().failed, 0u);
  EXPECT_GT(report_on<Flaw::forgets_c>().failed, 0u);
  EXPECT_GT(report_on<Flaw::subtracts>().failed, 0u);
  EXPECT_GT(report_on<Flaw::takes_the_next>().failed, 0u);
  EXPECT_GT(report_on<Flaw::adds_to_a>().failed, 0u);
  EXPECT_GT(report_on<Flaw::does_nothing>().failed, 0u);
}

/// The array is poisoned again after each check: what an earlier call has stored does not stand in for a later one.
TEST(VectorAdd, ACallThatStoresNothingIsFoundThoughTheOneBeforeWasRight) {
  static bool works;
  const VectorAdd once = [](const void* b, const void* c, void* a, int n) {
    if (works) add<std::uint32_t, Flaw::none>(b, c, a, n);
  };
  const std::vector<std::uint32_t> x{1, 2, 3, 4, 5};
  std::vector<std::uint32_t> in = x;
  const auto plan = vector_add_plan({Operation::vector_add, ElementType::i32, in.size()}, once);
  const auto value = [&](bool call_works) {
    works = call_works;
    std::uint32_t sum = 0;
    plan->enqueue(in.data(), nullptr, {});
    plan->finish(&sum, {});
    return sum;
  };
  EXPECT_EQ(value(true), 15u);
  EXPECT_NE(value(false), 15u);
  EXPECT_EQ(value(true), 15u);
  EXPECT_EQ(in, x);
}

TEST(VectorAdd, ThePlanSaysWhatItHoldsAndHowFarItRounds) {
  const auto info = [](std::size_t n) {
    return vector_add_plan({Operation::vector_add, ElementType::f32, n}, add<float, Flaw::none>)->info();
  };
  EXPECT_EQ(info(0).longest_chain, 0u);
  EXPECT_EQ(info(1).longest_chain, 1u);
  EXPECT_EQ(info(1 << 20).longest_chain, 3u);
  EXPECT_EQ(info(1001).workspace_bytes, 2000u);
  EXPECT_EQ(info(7).result, ResultLocation::array);
}

TEST(VectorAdd, WhatItCannotAddIsRefused) {
  const auto plan = [](ElementType type, std::size_t n) {
    vector_add_plan({Operation::vector_add, type, n}, add<float, Flaw::none>);
  };
  EXPECT_THROW(plan(ElementType::f64, 10), Refused);
  EXPECT_THROW(plan(ElementType::f32, std::size_t{1} << 32), Refused);
}

TEST(VectorAdd, IsTheOnlyOperationThatIsNoReduction) {
  for (const Operation operation : all_operations())
    EXPECT_EQ(is_reduction(operation), operation != Operation::vector_add) << name(operation);
}

}  // namespace
}  // namespace reductio
