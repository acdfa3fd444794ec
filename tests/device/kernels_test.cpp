// What a kernel file hands to Register: its kernel for every pair of types, chosen by the settings where they decide.

#include <stdexcept>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

template <class T, class Load>
using Sums = Start<Input<T, Load>, GlobalPtr<T>, std::size_t>;

template <class T, class Load, unsigned Threads>
__global__ void one_thread_adds(Input<T, Load> in, GlobalPtr<T> out, std::size_t n) {
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
using Doubling = Start<GlobalPtr<T>>;

template <class T>
__global__ void doubles(GlobalPtr<T> x) {
  x[threadIdx.x] += x[threadIdx.x];
}

TEST(Kernels, MayKnowOneOperationAndNoSettings) {
  const Kernels<Doubling> kernels = []<class T>() { return launch<doubles<T>>; };
  const auto x = on_device(std::vector<float>{1, 2, 3});
  kernels.get<float>(Settings())({1, 3, 0, nullptr}, x.ptr());
  EXPECT_EQ(on_host(x), (std::vector<float>{2, 4, 6}));
}

}  // namespace
}  // namespace reductio::sim_tests
