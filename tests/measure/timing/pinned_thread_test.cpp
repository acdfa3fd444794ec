#include "measure/timing/pinned_thread.h"

#include <gtest/gtest.h>

#include <vector>

namespace reductio {
namespace {

TEST(PinnedThread, IsOnOneCpuWhileItLivesAndOnAllOfThoseBeforeAfterwards) {
  const std::vector<int> before = allowed_cpus();
  if (before.empty()) GTEST_SKIP() << "the system does not tell which CPUs there are";
  {
    const PinnedThread here(before.back());
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
    {
      const PinnedThread there(before.front());
      EXPECT_EQ(allowed_cpus(), std::vector<int>{before.front()});
    }
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
  }
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(PinnedThread, CpusAreReadAsTheSystemListsThem) {
  EXPECT_EQ(cpus_of("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(cpus_of("5\n"), std::vector<int>{5});
  EXPECT_EQ(cpus_of("0-0,2"), (std::vector<int>{0, 2}));
  for (const char* no_list : {"", "\n", "none", "3-1", "-2", "0-99999999", "1+2"})
    EXPECT_EQ(cpus_of(no_list), std::vector<int>{}) << no_list;
}

}  // namespace
}  // namespace reductio
