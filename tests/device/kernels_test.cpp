// What a kernel file hands to Register: its kernel for every pair of types, chosen by the settings where they decide;
// and the plans that sum_kernel() makes of one. That each finish passes the battery is shown by
// tests/cli/test_new.py.

#include <stdexcept>

#include "tests/device/sim/support.h"
#include "tests/error_of.h"

namespace reductio::sim_tests {
namespace {

template <class T, class Load>
using Sums = Start<Input<T, Load>, T*, std::size_t>;

template <class T, class Load, unsigned Threads>
__global__ void one_thread_adds(Input<T, Load> in, T* out, std::size_t n) {
  if (threadIdx.x != 0) return;
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += in[i];
  out[0] = sum * T(Threads);
}

template <class T, class Load>
T sum_of(const Kernels<Sums>& kernels, const Settings& s) {
  const auto in = on_device(std::vector<T>{1, 2, 3});
  const Buffer<T> out(1);
  const Sums<T, Load> start = kernels.get<T, Load>(s);
  start({1, s.count("block"), 0, nullptr}, {in.ptr()}, out.ptr(), 3);
  return on_host(out)[0];
}

TEST(Kernels, AreChosenByTypesAndSettings) {
  const Kernels<Sums> kernels = []<class T, class Load>(const Settings& s) {
    return for_block<32, 64>(s.count("block"),
                             []<unsigned Threads>() { return launch<one_thread_adds<T, Load, Threads>>; });
  };
  Settings s({Tunable::choice("block", {"32", "64", "48", "16", "128"}, "32")});
  EXPECT_EQ((sum_of<float, Identity>(kernels, s)), 6 * 32);
  EXPECT_EQ((sum_of<float, Square>(kernels, s)), 14 * 32);
  s.set("block", "64");
  EXPECT_EQ((sum_of<std::uint32_t, Square>(kernels, s)), 14u * 64);
  EXPECT_EQ((sum_of<double, Identity>(kernels, s)), 6 * 64);
  for (const char* unknown : {"48", "16", "128"}) {  // never a launch of nothing
    s.set("block", unknown);
    EXPECT_THROW((sum_of<float, Identity>(kernels, s)), std::invalid_argument) << unknown;
  }
}

template <class T, class = Identity>  // the sum is all it knows
using Doubling = Start<T*>;

template <class T>
__global__ void doubles(T* x) {
  x[threadIdx.x] += x[threadIdx.x];
}

TEST(Kernels, MayKnowOneOperationAndNoSettings) {
  const Kernels<Doubling> kernels = []<class T>() { return launch<doubles<T>>; };
  const auto x = on_device(std::vector<float>{1, 2, 3});
  kernels.get<float>(Settings())({1, 3, 0, nullptr}, x.ptr());
  EXPECT_EQ(on_host(x), (std::vector<float>{2, 4, 6}));
}

/// Thread 0 of every block adds up the block's share.
template <class T, class Load, class N>
__global__ void stores_sums(Input<T, Load> in, T* out, N n) {
  if (threadIdx.x != 0) return;
  T sum = 0;
  for (N i = static_cast<N>(blockIdx.x); i < n; i += static_cast<N>(gridDim.x)) sum += in[static_cast<std::size_t>(i)];
  out[blockIdx.x] = sum;
}
constexpr auto storing = []<class T, class Load>() { return launch<stores_sums<T, Load, std::int64_t>>; };

template <class T>
__global__ void adds_all(const T* in, T* out, int n) {
  for (int i = static_cast<int>(threadIdx.x); i < n && blockIdx.x == 0; i += static_cast<int>(blockDim.x))
    atomicAdd(out, T(in[static_cast<std::size_t>(i)]));
}

DeviceInfo simulated() { return open_sim()->info(); }  // of 6 multiprocessors

template <class T, class Load, class Kernel>
PlanInfo planned(const SumShape& shape, Kernel kernel, std::size_t n, const Settings& s = {}) {
  return plan_of_sum<T, Load>(shape, kernel, {Operation::sum, ElementType::f32, n}, s, simulated())->info();
}

TEST(SumKernel, TheLaunchFillsTheGpuAndTheChainFollowsFromIt) {
  const SumShape two{.finish = Finish::second_launch, .block = 64, .blocks_per_sm = 2};
  const PlanInfo info = planned<float, Identity>(two, storing, 10000);
  EXPECT_EQ(info.grid_blocks, 12u);
  EXPECT_EQ(info.block_threads, 64u);
  EXPECT_EQ(info.longest_chain, 14u + 6 + 1 + 6) << "a thread's elements, two trees, a thread's partial sums";
  EXPECT_EQ(info.workspace_bytes, 12 * sizeof(float));
  EXPECT_EQ((planned<float, Identity>(two, storing, 100).grid_blocks), 2u) << "none without an element";
  EXPECT_EQ((planned<float, Identity>(two, storing, 0).grid_blocks), 1u);
  EXPECT_EQ((planned<float, Square>(two, storing, 10000).longest_chain), info.longest_chain + 1);

  const auto chain = [&](Finish finish) {
    return planned<float, Identity>({.finish = finish, .block = 64, .blocks_per_sm = 2}, storing, 10000).longest_chain;
  };
  EXPECT_EQ(chain(Finish::thread_atomics), 14u + 12 * 64);
  EXPECT_EQ(chain(Finish::warp_atomics), 14u + 5 + 24);
  EXPECT_EQ(chain(Finish::block_atomics), 14u + 6 + 12);
  const SumShape told{.elements_per_step = 4, .longest_chain = [](auto...) { return 7; }};
  EXPECT_EQ((planned<float, Identity>(told, storing, 10000).longest_chain), 7u);
}

TEST(SumKernel, SettingsTakeThePlaceOfTheShape) {
  Settings s({Tunable::powers_of_two("block", 32, 128, 128), Tunable::integer("grid", 1, 99, {"auto", "1"}, "auto"),
              Tunable::choice("finish", {"second-launch", "host"}, "second-launch")});
  const SumShape shape{.finish = Finish::second_launch, .blocks_per_sm = 1};
  EXPECT_EQ((planned<float, Identity>(shape, storing, 10000, s).block_threads), 128u);
  s.set("grid", "40");
  EXPECT_EQ((planned<float, Identity>(shape, storing, 10000, s).grid_blocks), 40u);
  s.set("finish", "host");
  const PlanInfo info = planned<float, Identity>(shape, storing, 10000, s);
  EXPECT_EQ(info.result, ResultLocation::host_part);
  EXPECT_EQ(info.longest_chain, 2u + 7 + 40) << "the host adds one block's sum after the other";
}

TEST(SumKernel, WhetherAtomicsFlushIsLeftOpen) {
  const SumShape shape{.finish = Finish::thread_atomics};
  EXPECT_FALSE((planned<float, Identity>(shape, launch<adds_all<float>>, 10).flushes_subnormals.has_value()));
  EXPECT_EQ((planned<double, Identity>(shape, launch<adds_all<double>>, 10).flushes_subnormals), false);
  EXPECT_EQ((planned<float, Identity>({.finish = Finish::second_launch}, storing, 10).flushes_subnormals), false);
}

TEST(SumKernel, AnIntForNIsRefusedWhereItCannotCountThatFar) {
  const SumShape shape{.finish = Finish::thread_atomics, .block = 64, .blocks_per_sm = 1};
  const std::size_t most = 0x7fffffff - 6 * 64;
  EXPECT_NO_THROW((planned<float, Identity>(shape, launch<adds_all<float>>, most)));
  EXPECT_EQ(error_of<Refused>([&] { planned<float, Identity>(shape, launch<adds_all<float>>, most + 1); }),
            "the kernel's n counts to 2147483647, and its last step ends at 2147483648: make it std::int64_t");
}

TEST(SumKernel, ASecondLaunchSquaresNothingAgain) {
  const auto device = open_sim();
  const Problem p{Operation::sum_of_squares, ElementType::f32, 300};
  const std::vector<float> twos(p.n, 2);
  const auto in = on_device(twos);
  const Buffer<float> out(1);
  const auto plan =
      plan_of_sum<float, Square>({.finish = Finish::second_launch, .block = 32}, storing, p, {}, device->info());
  plan->enqueue(in.ptr(), out.ptr(), {});
  EXPECT_EQ(on_host(out)[0], 1200);
}

}  // namespace
}  // namespace reductio::sim_tests
