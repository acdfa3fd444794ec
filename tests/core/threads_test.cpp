#include "core/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
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

TEST(Shares, AreAllThingsOnce) {
  for (const std::size_t count : {0, 1, 7, 1000})
    for (const std::size_t threads : {0, 1, 3, 16}) {
      std::vector<std::atomic<int>> met(count);
      in_shares(count, threads, [&](std::size_t first, std::size_t many) {
        for (std::size_t i = first; i < first + many; ++i) ++met[i];
      });
      EXPECT_TRUE(std::all_of(met.begin(), met.end(), [](const auto& times) { return times == 1; }))
          << count << " " << threads;
    }
}

TEST(Shares, OfAPinnedThreadRunOnAllItsCpus) {
  const std::vector<int> before = allowed_cpus();
  if (before.size() < 2) GTEST_SKIP() << "there is one CPU";
  const PinnedThread here(before.front());
  const PinnedThread there(before.back());
  std::mutex mutex;
  std::vector<std::vector<int>> seen;
  in_shares(2, 0, [&](std::size_t, std::size_t) {
    const std::lock_guard lock(mutex);
    seen.push_back(allowed_cpus());
  });
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_TRUE(std::find(seen.begin(), seen.end(), before) != seen.end());
  EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()}) << "the pinned thread stays where it is";
}

TEST(Shares, PassOnWhatABodyThrows) {
  for (const std::size_t thrower : {0, 3})
    EXPECT_THROW(in_shares(4, 4,
                           [&](std::size_t first, std::size_t) {
                             if (first == thrower) throw std::runtime_error("planted");
                           }),
                 std::runtime_error);
}

}  // namespace
}  // namespace reductio
