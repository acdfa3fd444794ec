// The strategies in blocks of other sizes than the variants of `ablation` have, at any start: one warp, where levels of
// a tree fall away, and the largest block.

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "strategies/between.h"
#include "strategies/block.h"
#include "strategies/thread.h"
#include "tests/device/sim/support.h"
#include "tests/sanitized.h"

namespace reductio::sim_tests {
namespace {

class SimStrategies : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimStrategies, testing::ValuesIn(all_orders), order_name);

/// Twice with one workspace, since what a call leaves there the next one finds.
template <class Thread, class Block, class Between>
void adds_up() {
  for (const unsigned block : {32u, 64u, 1024u})
    for (const std::size_t n : few_if_sanitized<std::size_t>(3, {1, 70, 2049, 0, 31, 5003}))
      for (const std::size_t start : few_if_sanitized<std::size_t>(2, {0, 3, 1})) {
        const Buffer<unsigned> in = counting(n + start), out(1);
        const std::size_t grid = Thread::loops ? 3 : blocks_for(n, block);
        const Buffer<unsigned> partials(grid), arrived = zeros<unsigned>(1);
        const Buffer<std::uint64_t> slots = zeros<std::uint64_t>(grid);
        unsigned expected = 0;
        for (std::size_t i = start; i < n + start; ++i) expected += static_cast<unsigned>(i);
        for (int call = 0; call < 2; ++call) {
          run<strategies::reduce<unsigned, Thread, Block, Between>>(
              grid, block, Block::shared_elements(block) * sizeof(unsigned),
              static_cast<const unsigned*>(in.ptr()) + start, static_cast<std::int64_t>(n), out.ptr(),
              strategies::Workspace<unsigned>{partials.ptr(), arrived.ptr(), slots.ptr()});
          ASSERT_EQ(on_host(out)[0], expected)
              << n << " from " << start << " in blocks of " << block << ", call " << call;
        }
      }
}

TEST_P(SimStrategies, AddUpInAnyBlock) {
  using namespace strategies;
  adds_up<OneLoad, Neighbored, LastBlock>();
  adds_up<LocalStride, NeighboredLess, LastBlock>();
  adds_up<Unrolled4, Interleaved, FanIn>();
  adds_up<Vectors, LastWarp, LastBlock>();
  adds_up<Vectors4, Shuffle, FanIn>();
}

}  // namespace
}  // namespace reductio::sim_tests
