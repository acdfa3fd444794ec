// Sectors and wavefronts of single requests, by hand.

#include "inspect/counts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace reductio::inspect {
namespace {

std::array<std::uint64_t, 32> strided(std::uint64_t first, std::uint64_t stride) {
  std::array<std::uint64_t, 32> at{};
  for (std::uint64_t l = 0; l < 32; ++l) at[l] = first + l * stride;
  return at;
}

TEST(InspectCounts, SectorsAreThoseThatTheLanesTouchEachOnce) {
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(0, 4), 4).sectors, 4u);
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(4, 4), 4).sectors, 5u);
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(0, 32), 4).sectors, 32u);
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(0, 16), 16).sectors, 16u);
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(64, 0), 4).sectors, 1u);
  EXPECT_EQ(count_request(Kind::global_store, 1u, strided(28, 4), 8).sectors, 2u);
}

TEST(InspectCounts, BytesThatSeveralLanesReadAreNeededOnce) {
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(0, 4), 4).bytes, 128u);
  EXPECT_EQ(count_request(Kind::global_load, ~0u, strided(64, 0), 4).bytes, 4u);
  EXPECT_EQ(count_request(Kind::global_load, 3u, strided(0, 2), 4).bytes, 6u);
}

TEST(InspectCounts, WavefrontsAreWhatTheBusiestBankTakes) {
  const auto conflicts = [](std::uint64_t stride, std::size_t bytes) {
    return count_request(Kind::shared_load, ~0u, strided(0, stride), bytes).conflicts;
  };
  EXPECT_EQ(conflicts(4, 4), 0u);
  EXPECT_EQ(conflicts(8, 4), 1u);
  EXPECT_EQ(conflicts(128, 4), 31u);
  EXPECT_EQ(conflicts(132, 4), 0u);
  EXPECT_EQ(conflicts(0, 4), 0u) << "one word is served to all lanes at once";
  EXPECT_EQ(conflicts(8, 8), 0u);
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 1 << 20), 4).wavefronts, 0u) << "other blocks' memory";
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 8), 8).wavefronts, 2u);
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 16), 16).wavefronts, 4u);
  EXPECT_EQ(conflicts(16, 8), 2u);
  EXPECT_EQ(conflicts(1, 1), 0u);
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 12), 12).threads, 32u);
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 12), 12).wavefronts, 4u);
  EXPECT_EQ(count_request(Kind::shared_load, ~0u, strided(0, 24), 24).bytes, 32u * 24);
}

}  // namespace
}  // namespace reductio::inspect
