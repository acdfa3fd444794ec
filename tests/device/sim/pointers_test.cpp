// GlobalPtr and SharedPtr behave like pointers.

#include <type_traits>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimPointersInKernels : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimPointersInKernels, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void operators(GlobalPtr<T> out) {
  SharedPtr<T> s = shared_memory<T>();
  s[0] = T{6};
  s[1] = T{4};
  GlobalPtr<T> p = out;
  *p++ = s[0] + s[1];
  *p++ = s[0] - T{1};
  *p++ = 2 * s[1];
  p[0] = s[0] / s[1];
  p[1] = p[0];
  p[2] = T{0};
  p[2] += s[0];
  p[2] *= s[1];
  T local = 1;
  local += s[1];
  p[3] = local;
  p[4] = s[0] > s[1] ? s[0] : T{0};
  p[5] = -s[0] + s[0] + s[1]++;
  p[6] = ++s[1];
  p[7] = T(p - out) + T(s[0] == s[0]) + T(&p[1] == p + 1) + T(&*s == s) + T(p > out);
}

template <class T>
void operators_work() {
  const Buffer<T> out(11);
  run<operators<T>>(1, 1, 2 * sizeof(T), out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<T>{10, 5, 8, T(6) / T(4), T(6) / T(4), 24, 5, 6, 4, 6, 7}));
}

TEST_P(SimPointersInKernels, PointersBehaveLikePointers) {
  operators_work<unsigned>();
  operators_work<float>();
  operators_work<double>();
}

TEST(SimPointers, ConvertImplicitlyToTheirTypeAlone) {
  using Float = decltype(GlobalPtr<float>()[0]);
  static_assert(std::is_convertible_v<Float, float>);
  static_assert(!std::is_convertible_v<Float, int>, "`cond ? p[i] : 0` would cut the value off");
  static_assert(!std::is_convertible_v<Float, double>);
  static_assert(std::is_constructible_v<double, Float>);
  static_assert(std::is_convertible_v<GlobalPtr<float>, GlobalPtr<const float>>);
  static_assert(!std::is_convertible_v<GlobalPtr<const float>, GlobalPtr<float>>);
  static_assert(std::is_same_v<decltype(GlobalPtr<const float>()[0]), float>);
  static_assert(std::is_trivially_copyable_v<GlobalPtr<float>> && std::is_trivially_copyable_v<SharedPtr<float>>);
}

}  // namespace
}  // namespace reductio::sim_tests
