#pragma once
/// What a sanitized build leaves out.

#include <gtest/gtest.h>

/// A simulation is the same arithmetic a million times over. The release build runs it; sanitizers see that arithmetic
/// in the tests that run it a few times, and would take minutes over this.
#ifdef REDUCTIO_SANITIZED
inline constexpr bool sanitized = true;
#define SIMULATION_FOR_RELEASE_BUILDS() GTEST_SKIP() << "a simulation, which the release build runs"
#else
inline constexpr bool sanitized = false;
#define SIMULATION_FOR_RELEASE_BUILDS() (void)0
#endif
