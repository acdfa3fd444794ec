#include "measure/timing/cold_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

namespace reductio {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(MeasureColdCopies, WhatEachCallKeepsInL2IsEvictedBeforeItIsReadAgain) {
  for (const std::size_t l2 : {50 * mib, 60 * mib})
    for (const std::size_t input : {mib / 2, 16 * mib, 60 * mib, 99 * mib, 120 * mib, 128 * mib, 256 * mib}) {
      const std::size_t copies = cold_copies(input, l2);
      EXPECT_GT(copies * input, 2 * l2) << input;
      EXPECT_GT(copies * std::min(input, 32 * mib), 2 * l2) << input;  // tuned keeps 32 MiB by plain loads
      EXPECT_LE(copies * (input + 1024), cold_copies_bytes(l2)) << input;
    }
  EXPECT_EQ(cold_copies(1024 * mib, 60 * mib), 1u);
  EXPECT_EQ(cold_copies(0, 60 * mib), 1u);
}

}  // namespace
}  // namespace reductio
