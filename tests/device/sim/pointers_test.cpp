// GlobalPtr and SharedPtr behave like pointers.

#include <type_traits>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimPointersInKernels : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimPointersInKernels, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void operators(T* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  s[0] = T{6};
  s[1] = T{4};
  T* p = out;
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

struct Twice {
  template <class T>
  T operator()(T x) const {
    return x + x;
  }
};

__global__ void elements_as_operands(float* out, int yes) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* s = reinterpret_cast<float*>(raw);
  __shared__ unsigned u[4];
  s[0] = s[1] = 2.5f;
  u[0] = 3, u[1] = 0xfffffff0u, u[2] = 1;
  out[0] = yes ? s[0] : 0;  // a float: 2.5
  out[1] = yes ? 0 : s[0];
  out[2] = !yes ? s[0] : 7;
  out[3] = 1;
  out[3] += yes ? s[0] : 0;
  out[4] = static_cast<float>((yes ? u[1] : -1) >> 4);  // unsigned, also where it is the int
  out[5] = static_cast<float>((yes ? -1 : u[1]) >> 4);
  out[6] = yes ? s[u[2]] : s[0];
  out[7] = Twice{}(float(s[0]));
  const auto get = [&](unsigned i) { return s[i]; };
  const float got = get(1);
  s[1] = 0;
  out[8] = got;
  // As a sort exchanges them.
  const float a = s[0];
  s[0] = s[1];
  s[1] = a;
  out[9] = s[1];
  out[10] = s[0];
}

TEST_P(SimPointersInKernels, ElementsAreOperandsOfTheirType) {
  const Buffer<float> out(11);
  run<elements_as_operands>(1, 1, 8, out.ptr(), 1);
  EXPECT_EQ(on_host(out), (std::vector<float>{2.5f, 0, 7, 3.5f, 268435455.0f, 268435455.0f, 2.5f, 5, 2.5f, 2.5f, 0}));
}

TEST(SimPointers, ConvertImplicitlyToTheirTypeAlone) {
  using Float = decltype(static_cast<float*>()[0]);
  static_assert(std::is_convertible_v<Float, float>);
  static_assert(!std::is_convertible_v<Float, int>, "`cond ? p[i] : 0` would cut the value off");
  static_assert(!std::is_convertible_v<Float, double>);
  static_assert(std::is_constructible_v<double, Float>);
  static_assert(std::is_convertible_v<float*, const float*>);
  static_assert(!std::is_convertible_v<const float*, float*>);
  static_assert(std::is_same_v<decltype(static_cast<const float*>()[0]), float>);
  static_assert(std::is_trivially_copyable_v<float*> && std::is_trivially_copyable_v<float*>);
}

}  // namespace
}  // namespace reductio::sim_tests
