// What a thread computes by itself: CUDA's arithmetic of integers, conversions and roundings.

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "device/sim/cuda/math_constants.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();

static_assert(__byte_perm(0x33221100, 0x77665544, 0x7531) == 0x77553311);
static_assert(__byte_perm(0x0000ff80, 0, 0x9880) == 0xff808080 && __byte_perm(0x12345678, 0, 0x3333) == 0x12121212);
static_assert(__mul24(-3, 5) == -15 && __mul24(0x01000002, 3) == 6 && __umul24(0xff000002, 0x01000003) == 6);
static_assert(__mul64hi(-1, 1) == -1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1);
static_assert(__sad(-5, 3, 10) == 18 && __usad(3, 5, 1) == 3 && __sad(least, most, 1) == 0);
static_assert(__hadd(-3, 0) == -2 && __rhadd(-3, 0) == -1 && __uhadd(~0u, ~0u) == ~0u && __urhadd(1, 2) == 2);
static_assert(__funnelshift_lc(1, 2, 40) == 1 && __funnelshift_rc(1, 2, 40) == 2 && __funnelshift_lc(0, 1, 4) == 16);
static_assert(umin(3, ~0u) == 3 && llmax(-1, 2) == 2 && ullmin(5, 4) == 4 && __saturatef(2) == 1 &&
              __saturatef(-1) == 0);
static_assert(__float_as_uint(CUDART_NAN_F) == 0x7fffffff && CUDART_INF_F > CUDART_MAX_NORMAL_F && CUDART_PI_F > 3.14f);

TEST(SimNumbers, FloatsBecomeIntegersEachWay) {
  for (const float x : {2.5f, 3.5f, -2.5f, 0.5f, -0.5f, 0.49999997f, 8388607.5f, 16777217.0f, -7.0f, 1e-40f}) {
    EXPECT_EQ(__float2int_rn(x), static_cast<int>(std::nearbyint(x))) << x;
    EXPECT_EQ(__float2int_rz(x), static_cast<int>(x)) << x;
    EXPECT_EQ(__double2int_rd(x), static_cast<int>(std::floor(x))) << x;
    EXPECT_EQ(__double2ll_ru(x), static_cast<long long>(std::ceil(x))) << x;
  }
  EXPECT_EQ(__float2int_rn(3e9f), most);
  EXPECT_EQ(__float2int_rn(-3e9f), least);
  EXPECT_EQ(__float2uint_rz(-1), 0u);
  EXPECT_EQ(__float2uint_rn(4294967040.0f), 4294967040u);
  EXPECT_EQ(__float2uint_rn(4294967296.0f), ~0u);
  EXPECT_EQ(__float2ull_rz(1e30f), ~0ull);
  EXPECT_EQ(__double2ll_rz(-1e30), std::numeric_limits<long long>::min());
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__double2ull_rn(NAN), 1ull << 63);
}

/// The exact result is between down and up, which are neighbours or equal; toward zero is the smaller one.
template <class T>
void expect_directed(T down, T up, T to_zero, T nearest, const char* what) {
  EXPECT_TRUE(down == up ? nearest == up : std::nextafter(down, up) == up && (nearest == down || nearest == up))
      << what;
  EXPECT_EQ(to_zero, down < 0 ? up : down) << what;
}

TEST(SimNumbers, ArithmeticIsRoundedEachWay) {
  std::mt19937 random(11);
  std::normal_distribution<float> draw;
  for (int k = 0; k < 200; ++k) {
    const float a = draw(random), b = draw(random), c = draw(random);
    const double x = a, y = b, z = c;
    expect_directed(__fadd_rd(a, b), __fadd_ru(a, b), __fadd_rz(a, b), __fadd_rn(a, b), "float sum");
    EXPECT_TRUE(__fadd_rd(a, b) <= x + y && x + y <= __fadd_ru(a, b));
    expect_directed(__fmul_rd(a, b), __fmul_ru(a, b), __fmul_rz(a, b), __fmul_rn(a, b), "float product");
    EXPECT_TRUE(__fmul_rd(a, b) <= x * y && x * y <= __fmul_ru(a, b));
    EXPECT_TRUE(__fdiv_rd(a, b) <= x / y && x / y <= __fdiv_ru(a, b) && __fdiv_rd(a, b) < __fdiv_ru(a, b));
    EXPECT_TRUE(__fsqrt_rd(a * a) <= std::fabs(a) && std::fabs(a) <= __fsqrt_ru(a * a));
    EXPECT_TRUE(__fmaf_rd(a, b, c) <= x * y + z && x * y + z <= __fmaf_ru(a, b, c));
    EXPECT_TRUE(__double2float_rd(x / y) <= x / y && x / y <= __double2float_ru(x / y));
    expect_directed(__dadd_rd(x / y, z), __dadd_ru(x / y, z), __dadd_rz(x / y, z), __dadd_rn(x / y, z), "double sum");
    expect_directed(__dmul_rd(x / y, z), __dmul_ru(x / y, z), __dmul_rz(x / y, z), __dmul_rn(x / y, z), "product");
    expect_directed(__ddiv_rd(x, y), __ddiv_ru(x, y), __ddiv_rz(x, y), __ddiv_rn(x, y), "quotient");
    expect_directed(__fma_rd(x, y, z / y), __fma_ru(x, y, z / y), __fma_rz(x, y, z / y), __fma_rn(x, y, z / y), "fma");
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(__int2float_rd(16777217), 16777216);
  EXPECT_EQ(__int2float_ru(16777217), 16777218);
  EXPECT_EQ(__int2float_rn(16777219), 16777220);
  EXPECT_EQ(__ull2float_rd(~0ull), 0x1p64f - 0x1p40f);
  EXPECT_EQ(__ull2double_rz(~0ull), 0x1p64 - 0x1p11);
  EXPECT_EQ(__ull2double_rn(~0ull), 0x1p64);
  EXPECT_EQ(__ll2double_ru(-(1ll << 53) - 1), -0x1p53);
}

// Conversions are none of the additions that a verification counts by rounding upward.
TEST(SimNumbers, ConversionsToNearestDoNotHearOfTheMode) {
  std::fesetround(FE_UPWARD);
  const float of_int = __int2float_rn(16777217), of_ull = __ull2float_rn((1ull << 40) + 1);
  const int whole = __float2int_rn(2.5f);
  const double half_way = __double2float_rn(1 + 0x1p-30);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(of_int, 16777216);
  EXPECT_EQ(of_ull, 0x1p40f);
  EXPECT_EQ(whole, 2);
  EXPECT_EQ(half_way, 1);
}

TEST(SimNumbers, FunctionsBesideThoseOfC) {
  for (double x = -4; x <= 4; x += 0.25) {
    EXPECT_NEAR(sinpi(x), std::sin(M_PI * x), 1e-15) << x;
    EXPECT_NEAR(cospi(x), std::cos(M_PI * x), 1e-15) << x;
    EXPECT_EQ(sinpi(x) == 0, x == std::floor(x)) << x;
    EXPECT_EQ(std::fabs(cospi(x)) == 1, x == std::floor(x)) << x;
  }
  EXPECT_EQ(cospif(1e20f), 1);
  EXPECT_EQ(sinpif(4194304.5f), 1);
  EXPECT_FLOAT_EQ(rcbrtf(8), 0.5f);
  EXPECT_DOUBLE_EQ(norm3d(2, 3, 6), 7);
  EXPECT_FLOAT_EQ(rnorm4df(2, 4, 5, 6), 1 / 9.0f);
  EXPECT_DOUBLE_EQ(normcdf(0), 0.5);
  EXPECT_FLOAT_EQ(__frsqrt_rn(4), 0.5f);
  EXPECT_FLOAT_EQ(__expf(1) * __powf(2, 3) + __log2f(8) + __cosf(0) + __fdividef(1, 4), std::exp(1.0f) * 8 + 4.25f);
  EXPECT_FLOAT_EQ(exp10f(2) + __exp10f(1), 110);
}

__global__ void read_clocks(long long* out) {
  const clock_t begin = clock();
  __syncthreads();
  out[threadIdx.x] = clock() - begin;
  out[32 + threadIdx.x] = clock64() - begin;
}
__global__ void where_pointers_lead(unsigned* out) {
  __shared__ int s[1];
  int local = 0;
  out[0] = __isGlobal(out) + 2 * __isShared(s) + 4 * __isGlobal(s) + 8 * __isShared(out) + 16 * __isShared(&local);
}

TEST(SimNumbers, ClocksOfKernelsCountSteps) {
  const Buffer<long long> out(64);
  run<read_clocks>(1, 32, 0, out.ptr());
  const auto read = on_host(out);
  for (unsigned t = 0; t < 32; ++t) EXPECT_TRUE(0 < read[t] && read[t] <= read[32 + t] && read[t] < 1000) << read[t];
  const Buffer<unsigned> places(1);
  run<where_pointers_lead>(1, 1, 0, places.ptr());
  EXPECT_EQ(on_host(places)[0], 3u);
}

// ---------------------------------------------------------------------------------------------------- atomics

class SimScopedAtomics : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimScopedAtomics, testing::ValuesIn(all_orders), order_name);

__global__ void all_in_block(int* i, long long* l) {
  const int t = static_cast<int>(threadIdx.x);
  atomicMin_block(&i[0], -t), atomicMax_block(&i[1], t), atomicSub_block(&i[2], 1),
      atomicAnd_block(&i[3], ~(1 << t % 32));
  atomicOr_block(&i[4], 1 << t % 32), atomicXor_block(&i[5], t), atomicExch_block(&i[6], 7);
  atomicInc_block(reinterpret_cast<unsigned*>(&i[7]), 99), atomicCAS_block(&i[8], 0, t + 1);
  atomicMin(&l[0], -1ll - t), atomicMax_system(&l[1], 1ll + t);
}
__global__ void block_scope_of_all_blocks(int* p) { atomicMax_block(p, static_cast<int>(blockIdx.x)); }
__global__ void system_scope_of_all_blocks(int* p) { atomicMax_system(p, static_cast<int>(blockIdx.x)); }

TEST_P(SimScopedAtomics, HaveEveryScope) {
  std::vector<int> start(9);
  start[3] = -1;
  const auto i = on_device(start);
  const auto l = zeros<long long>(2);
  run<all_in_block>(1, 64, 0, i.ptr(), l.ptr());
  auto found = on_host(i);
  EXPECT_TRUE(1 <= found[8] && found[8] <= 64);
  found.pop_back();
  EXPECT_EQ(found, (std::vector<int>{-63, 63, -64, 0, -1, 0, 7, 64}));
  EXPECT_EQ(on_host(l), (std::vector<long long>{-64, 64}));
  run<system_scope_of_all_blocks>(4, 32, 0, zeros<int>(1).ptr());
  const Fault f = fault_of<block_scope_of_all_blocks>(4, 32, 0, zeros<int>(1).ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_TRUE(says(f, "an atomic with block scope is not atomic to another block")) << f.what();
}

}  // namespace
}  // namespace reductio::sim_tests
