#pragma once
/// What a sanitized build leaves out.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

/// A simulation is the same arithmetic a million times over; mutants are the same kernels a hundred times. Sanitizers
/// would take minutes over these, and see that code in other tests. CMakeLists.txt finds the files that say this:
/// without a GPU, `./check` runs those alone without sanitizers, too.
#ifdef REDUCTIO_SANITIZED
inline constexpr bool sanitized = true;
#define LEFT_TO_RELEASE_BUILDS() GTEST_SKIP() << "the build without sanitizers runs it"
#else
inline constexpr bool sanitized = false;
#define LEFT_TO_RELEASE_BUILDS() (void)0
#endif

/// Of cases that differ by their data or size alone, sanitizers see the first few: the same lines of code again find
/// nothing new there, and cost six times as much.
template <class T>
std::vector<T> few_if_sanitized(std::size_t few, std::vector<T> cases) {
  if (sanitized) cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(std::min(few, cases.size())), cases.end());
  return cases;
}
