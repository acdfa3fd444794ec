// The orders in which threads and blocks run.

#include <algorithm>
#include <cstdint>
#include <set>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

__global__ void write_down_who(unsigned* ticket, unsigned* who) {
  const unsigned n = atomicAdd(ticket, 1u);
  who[n] = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  const unsigned m = atomicAdd(ticket, 1u);
  who[m] = blockIdx.x * blockDim.x + threadIdx.x;
}

std::vector<unsigned> schedule(Order order, std::uint64_t seed, std::size_t grid = 6, unsigned block = 64) {
  sim::set_schedule(order, seed);
  const auto ticket = zeros<unsigned>(1);
  const Buffer<unsigned> who(2 * grid * block);
  run<write_down_who>(grid, block, 0, ticket.ptr(), who.ptr());
  sim::set_schedule(Order::forward);
  return on_host(who);
}

TEST(SimOrders, ForwardAndReverseAreWhatTheySay) {
  const auto forward = schedule(Order::forward, 1, 2, 3), reverse = schedule(Order::reverse, 1, 2, 3);
  EXPECT_EQ(forward, (std::vector<unsigned>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(reverse, (std::vector<unsigned>{5, 4, 3, 5, 4, 3, 2, 1, 0, 2, 1, 0}));
}

TEST(SimOrders, AStarvedBlockBeginsWhenTheOthersAreDone) {
  std::set<unsigned> last;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto who = schedule(Order::starve, seed, 3, 2);
    last.insert(who.back() / 2);
    std::vector<unsigned> others(who.begin(), who.end() - 4);
    EXPECT_TRUE(std::is_sorted(others.begin(), others.end(), [](unsigned a, unsigned b) { return a / 2 < b / 2; }));
    EXPECT_EQ(std::count_if(who.end() - 4, who.end(), [&](unsigned t) { return t / 2 == who.back() / 2; }), 4);
  }
  EXPECT_EQ(last, (std::set<unsigned>{0, 1, 2}));
}

TEST(SimOrders, TheSameSeedGivesTheSameSchedule) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 1000u}) {
    EXPECT_EQ(schedule(Order::random, seed), schedule(Order::random, seed)) << seed;
    EXPECT_EQ(schedule(Order::random, seed, 300, 32), schedule(Order::random, seed, 300, 32)) << seed;
  }
  std::set<std::vector<unsigned>> distinct;
  for (std::uint64_t seed = 0; seed < 20; ++seed) distinct.insert(schedule(Order::random, seed));
  EXPECT_EQ(distinct.size(), 20u);
  EXPECT_EQ(schedule(Order::forward, 1), schedule(Order::forward, 2)) << "only the random order reads the seed";
}

TEST(SimOrders, RandomInterleavesBlocks) {
  const auto who = schedule(Order::random, 5);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < who.size(); ++i) changes += who[i] / 64 != who[i - 1] / 64;
  EXPECT_GT(changes, who.size() / 2);
}

__global__ void count_blocks(unsigned* runs, unsigned* ticket, unsigned* order) {
  atomicAdd(runs + blockIdx.x, 1u);
  const unsigned n = atomicAdd(ticket, 1u);
  order[n] = blockIdx.x;
}

TEST(SimOrders, RandomStartsEachBlockOnce) {
  for (const std::size_t grid : {1u, 2u, 3u, 127u, 128u, 129u, 1000u}) {
    sim::set_schedule(Order::random, grid);
    const auto runs = zeros<unsigned>(grid), ticket = zeros<unsigned>(1);
    const Buffer<unsigned> order(grid);
    run<count_blocks>(grid, 1, 0, runs.ptr(), ticket.ptr(), order.ptr());
    EXPECT_EQ(on_host(runs), std::vector<unsigned>(grid, 1)) << grid;
    if (grid == 1000) {
      // Of the first hundred, blocks of the second half too: the order of starting is mixed, not only of going on.
      const auto first = on_host(order);
      EXPECT_GT(std::count_if(first.begin(), first.begin() + 100, [](unsigned b) { return b >= 500; }), 20);
    }
  }
  sim::set_schedule(Order::forward);
}

}  // namespace
}  // namespace reductio::sim_tests
