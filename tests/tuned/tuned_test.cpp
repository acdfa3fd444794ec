// tuned/tuned.h by itself, as its user has it: every type, any n and start, one workspace for many calls, the calls'
// number coming around. What the battery does with the variant tuned/sum is not repeated here.

#include "tuned/tuned.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

constexpr tuned::Gpu small_gpu{6, 2048};
/// Several blocks at few elements, so that a test can make many calls.
constexpr tuned::Choice small_blocks{128, 1};

/// A workspace that was poisoned before, as raw memory is.
Buffer<std::uint64_t> new_workspace(const tuned::Gpu& gpu = small_gpu, std::uint32_t calls = 0) {
  const Buffer<std::uint64_t> w(tuned::workspace_words(gpu));
  EXPECT_EQ(w.bytes(), tuned::workspace_bytes(gpu));
  tuned::init(w.ptr(), gpu, nullptr, calls);
  sim::synchronize({});
  return w;
}

/// Small whole numbers of both signs, where the type has them: every sum of them is exact.
template <class In>
std::vector<In> whole_numbers(std::size_t n) {
  std::vector<In> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    const int value = static_cast<int>((i * 2654435761u >> 7) % 101);
    v[i] = static_cast<In>(std::is_unsigned_v<In> ? value : value - 40);
  }
  return v;
}

template <class Acc, class In>
Acc expected(const std::vector<In>& v, std::size_t start, bool squares = false) {
  long double sum = 0;
  for (std::size_t i = start; i < v.size(); ++i) {
    const long double x = v[i];
    sum += squares ? x * x : x;
  }
  return static_cast<Acc>(static_cast<std::conditional_t<std::is_floating_point_v<Acc>, Acc, std::int64_t>>(sum));
}

class SimTuned : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimTuned, testing::ValuesIn(all_orders), order_name);

template <class In, class Acc>
void adds_up() {
  const Buffer<std::uint64_t> workspace = new_workspace();
  const Buffer<Acc> out(1);
  for (const std::size_t n : {0, 1, 2, 15, 16, 17, 33, 1000, 4096, 4099, 17000}) {
    const std::vector<In> values = whole_numbers<In>(n + 3);
    const auto in = on_device(values);
    for (std::size_t start = 0; start <= 3; ++start) {
      const GlobalPtr<const In> from = in.ptr() + start;
      tuned::sum<In, Acc>(from, n + 3 - start, out.ptr(), workspace.ptr(), small_gpu, nullptr);
      EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, start))) << n << " from " << start;
      tuned::Reduction<In, Acc>(n + 3 - start, small_gpu, small_blocks)(from, out.ptr(), workspace.ptr(), nullptr);
      EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, start))) << n << " from " << start << ", small blocks";
    }
    tuned::sum_of_squares<In, Acc>(GlobalPtr<const In>(in.ptr()), n + 3, out.ptr(), workspace.ptr(), small_gpu, nullptr);
    EXPECT_EQ(on_host(out)[0], (expected<Acc>(values, 0, true))) << n << ", squares";
  }
}

TEST_P(SimTuned, AddsUpEveryTypeAtAnyStart) {
  adds_up<std::int32_t, std::int32_t>();
  adds_up<float, float>();
  adds_up<double, double>();
}

TEST_P(SimTuned, AddsUpInWiderTypes) {
  adds_up<std::int32_t, std::int64_t>();
  adds_up<float, double>();
}

/// The simulated device writes words only, so the values come as words, and are read as bytes.
TEST_P(SimTuned, AddsUpBytes) {
  std::vector<unsigned> words(3000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned>(i * 2654435761u);
  std::vector<std::int8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  const auto in = on_device(words);
  const GlobalPtr<const unsigned> as_words = in.ptr();
  const auto workspace = new_workspace();
  const Buffer<std::int64_t> out(1);
  const Buffer<std::int32_t> narrow(1);
  for (const std::size_t start : {0, 1, 7, 15, 16}) {
    const auto from = pointer_cast<const std::int8_t>(as_words) + start;
    const tuned::Reduction<std::int8_t, std::int64_t> wide(bytes.size() - start, small_gpu, small_blocks);
    EXPECT_GT(wide.shape().grid, 1u);
    wide(from, out.ptr(), workspace.ptr(), nullptr);
    EXPECT_EQ(on_host(out)[0], expected<std::int64_t>(bytes, start)) << start;
    tuned::sum(from, bytes.size() - start, narrow.ptr(), workspace.ptr(), small_gpu, nullptr);
    EXPECT_EQ(on_host(narrow)[0], expected<std::int32_t>(bytes, start)) << start;
  }
}

TEST_P(SimTuned, NothingAddsUpToZeroWithoutBeingRead) {
  const Buffer<float> out(1);
  const auto workspace = new_workspace();
  tuned::sum(GlobalPtr<const float>(), 0, out.ptr(), workspace.ptr(), small_gpu, nullptr);
  EXPECT_EQ(on_host(out)[0], 0);
}

TEST_P(SimTuned, OneWorkspaceServesAThousandCallsOfAllSizesAndTypes) {
  const auto workspace = new_workspace();
  const auto floats = on_device(whole_numbers<float>(2100));
  const auto doubles = on_device(whole_numbers<double>(2100));
  const Buffer<float> f(1);
  const Buffer<double> d(1);
  const std::size_t sizes[] = {2100, 600, 1300, 1};
  float wanted[4];
  for (int k = 0; k < 4; ++k) {
    std::vector<float> part = whole_numbers<float>(2100);
    part.resize(sizes[k]);
    wanted[k] = expected<float>(part, 0);
  }
  for (int call = 0; call < 1000; ++call) {
    const std::size_t n = sizes[call % 4];
    if (call % 3) {
      tuned::Reduction<float>(n, small_gpu, small_blocks)(floats.ptr(), f.ptr(), workspace.ptr(), nullptr);
      ASSERT_EQ(on_host(f)[0], wanted[call % 4]) << call;
    } else {
      tuned::Reduction<double>(n, small_gpu, small_blocks)(doubles.ptr(), d.ptr(), workspace.ptr(), nullptr);
      ASSERT_EQ(on_host(d)[0], wanted[call % 4]) << call;
    }
  }
}

TEST_P(SimTuned, TwoPlansWithAWorkspaceEachTakeTurns) {
  const Stream streams[] = {sim::create_stream(), sim::create_stream()};
  const Buffer<std::uint64_t> workspaces[] = {new_workspace(), new_workspace()};
  const std::vector<int> values = whole_numbers<int>(3000);
  const auto in = on_device(values);
  const Buffer<int> outs[] = {Buffer<int>(1), Buffer<int>(1)};
  for (int call = 0; call < 8; ++call)
    for (int k = 0; k < 2; ++k)
      tuned::Reduction<int>(3000 - 1000 * k, small_gpu, small_blocks)(in.ptr() + 1000 * k, outs[k].ptr(),
                                                                      workspaces[k].ptr(), streams[k]);
  for (int k : {1, 0}) {
    sim::synchronize(streams[k]);
    EXPECT_EQ(on_host(outs[k])[0], expected<int>(values, 1000 * k));
    EXPECT_EQ(on_host(workspaces[k])[0], 8u) << "calls are counted";
    sim::destroy_stream(streams[k]);
  }
}

/// A slot that was written 2^32 - 1 calls ago has the tag of today's call; the last block may look before the slot's
/// owner has stored today's sum.
TEST_P(SimTuned, OldSlotsAreForgottenBeforeTheirTagComesAgain) {
  const auto workspace = new_workspace();
  const Buffer<int> out(1);
  const std::vector<int> values = whole_numbers<int>(3000);
  const auto in = on_device(values), others = on_device(std::vector<int>(3000, 7));
  const tuned::Reduction<int> large(3000, small_gpu, small_blocks), small(900, small_gpu, small_blocks);
  ASSERT_GT(large.shape().grid, small.shape().grid);
  ASSERT_GT(small.shape().grid, 1u);
  large(others.ptr(), out.ptr(), workspace.ptr(), nullptr);  // tag 1 in every slot

  const std::uint64_t calls = tuned::last_tag - 2;  // so many later, all of them small
  sim::enqueue_copy_in({}, reinterpret_cast<void*>(workspace.ptr().address()), &calls, sizeof calls);
  small(others.ptr(), out.ptr(), workspace.ptr(), nullptr);
  EXPECT_EQ(on_host(out)[0], 900 * 7);
  EXPECT_EQ(on_host(workspace)[0], tuned::last_tag - 1);
  small(others.ptr(), out.ptr(), workspace.ptr(), nullptr);
  EXPECT_EQ(on_host(out)[0], 900 * 7);
  EXPECT_EQ(on_host(workspace), std::vector<std::uint64_t>(workspace.size())) << "as after init()";

  large(in.ptr(), out.ptr(), workspace.ptr(), nullptr);  // tag 1 again
  EXPECT_EQ(on_host(out)[0], expected<int>(values, 0));
  EXPECT_EQ(on_host(workspace)[0], 1u);
}

/// Blocks beyond those that a GPU holds at once get a place when others end: only the last one waits.
TEST_P(SimTuned, MoreBlocksThanTheGpuHoldsEndAllTheSame) {
  const tuned::Gpu larger{40, 2048};
  const auto workspace = new_workspace(larger);
  const Buffer<double> out(1);
  const std::vector<double> values = whole_numbers<double>(90000);
  const auto in = on_device(values);
  const tuned::Reduction<double> sum(values.size(), larger, {512, 4});
  EXPECT_GT(sum.shape().grid * sum.shape().block, 6u * 2048u) << "the simulated device holds that many threads";
  sum(in.ptr(), out.ptr(), workspace.ptr(), nullptr);
  EXPECT_EQ(on_host(out)[0], expected<double>(values, 0));
}

TEST_P(SimTuned, AWorkspaceThatNobodyInitialisedIsReported) {
  const Buffer<std::uint64_t> raw(tuned::workspace_words(small_gpu));
  const Buffer<float> in = zeros<float>(3000), out(1);
  tuned::Reduction<float>(3000, small_gpu, small_blocks)(in.ptr(), out.ptr(), raw.ptr(), nullptr);
  try {
    sim::synchronize({});
    ADD_FAILURE() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::unwritten) << fault.what();
  }
}

TEST(SimTunedCall, IsOneLaunchThatNeitherAllocatesNorWaits) {
  const auto workspace = new_workspace();
  const Buffer<float> out(1);
  const auto in = zeros<float>(50000);
  const sim::Shape first = sim::watch_enqueue([&] {
    tuned::sum(GlobalPtr<const float>(in.ptr()), 50000, out.ptr(), workspace.ptr(), small_gpu, nullptr);
  });
  EXPECT_EQ(first.grid, tuned::Reduction<float>(50000, small_gpu).shape().grid);
  sim::synchronize({});
}

TEST(SimTunedCall, GivesTheSameBitsInEveryOrder) {
  std::vector<float> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / static_cast<float>(1 + i * 7919 % 20011);
  const auto in = on_device(values);
  const auto workspace = new_workspace();
  const Buffer<float> out(1);
  std::vector<float> results;
  for (const Order order : all_orders)
    for (const unsigned seed : {1, 2, 3}) {
      sim::set_schedule(order, seed);
      tuned::sum(GlobalPtr<const float>(in.ptr()), values.size(), out.ptr(), workspace.ptr(), small_gpu, nullptr);
      results.push_back(on_host(out)[0]);
    }
  sim::set_schedule(Order::forward);
  EXPECT_EQ(results, std::vector<float>(results.size(), results[0]));
  EXPECT_NEAR(results[0], 10.48, 0.01);
}

TEST(TunedLaunch, HasASlotForEveryBlockAndFillsNoSmTwice) {
  // Turing holds 1024 threads an SM, Ampere's small chips 1536, Hopper 2048; and one that holds less than a block.
  for (const tuned::Gpu& gpu : {tuned::Gpu{40, 1024}, tuned::Gpu{84, 1536}, tuned::Gpu{132, 2048}, tuned::Gpu{1, 64}})
    for (const unsigned block : {0, 128, 256, 512, 1024})
      for (const unsigned per_sm : {0, 1, 3, 64})
        for (std::size_t n = 0; n < std::size_t{1} << 34; n = 3 * n + 1) {
          const tuned::LaunchShape shape = tuned::launch_shape(n, 4, gpu, {block, per_sm});
          ASSERT_GE(shape.grid, 1u);
          ASSERT_EQ(shape.block % 32, 0u);
          ASSERT_LE(shape.block, shape.grid > 1 ? tuned::most_block : tuned::most_block_alone);
          ASSERT_LE(shape.grid - 1, tuned::workspace_slots(gpu));
          if (gpu.threads_per_sm >= 512) {
            ASSERT_LE(std::size_t{shape.grid} * shape.block,
                      std::max(std::size_t{gpu.sm_count} * gpu.threads_per_sm, std::size_t{1024}));
          }
        }
}

TEST(TunedLaunch, IsOneBlockForLittleAndAGridForMuch) {
  const tuned::Gpu h200{132, 2048};
  const auto of = [&](std::size_t n, std::size_t bytes) { return tuned::launch_shape(n, bytes, h200); };
  EXPECT_EQ(of(0, 4).grid, 1u);
  EXPECT_EQ(of(0, 4).block, 32u);
  EXPECT_EQ(of(4096, 4).grid, 1u);
  EXPECT_EQ(of(4096, 4).block, 1024u);
  EXPECT_EQ(of(2048, 8).grid, 1u);
  EXPECT_EQ(of(4097, 4).grid, 3u);
  EXPECT_EQ(of(std::size_t{1} << 30, 4).grid, 4u * 132);
  EXPECT_EQ(of(std::size_t{1} << 33, 8).block, 512u);
}

}  // namespace
}  // namespace reductio::sim_tests
