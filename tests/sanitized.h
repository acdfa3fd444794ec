#pragma once
/// What a sanitized build leaves out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

/// A simulation is the same arithmetic a million times over. The release build runs it; sanitizers see that arithmetic
/// in the tests that run it a few times, and would take minutes over this.
#ifdef REDUCTIO_SANITIZED
inline constexpr bool sanitized = true;
#define SIMULATION_FOR_RELEASE_BUILDS() GTEST_SKIP() << "a simulation, which the release build runs"
#else
inline constexpr bool sanitized = false;
#define SIMULATION_FOR_RELEASE_BUILDS() (void)0
#endif

/// Of cases that differ by their data or size alone, sanitizers see the first few: the same lines of code again find
/// nothing new there, and cost six times as much.
template <class T>
std::vector<T> few_if_sanitized(std::size_t few, std::vector<T> cases) {
  if (sanitized) cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(std::min(few, cases.size())), cases.end());
  return cases;
}
