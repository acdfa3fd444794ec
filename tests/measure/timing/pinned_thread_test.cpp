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

}  // namespace
}  // namespace reductio
