// CUDA's floats of 16 bits: their values and roundings against tables that share no code with them, for all patterns;
// their accesses, atomics and shuffles in kernels.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "device/sim/cuda/cuda_bf16.h"
#include "device/sim/cuda/cuda_fp16.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

static_assert(sizeof(half) == 2 && alignof(half) == 2 && sizeof(half2) == 4 && alignof(half2) == 4);
static_assert(sizeof(nv_bfloat16) == 2 && sizeof(nv_bfloat162) == 4 && alignof(nv_bfloat162) == 4);
static_assert(std::is_trivially_copyable_v<half> && std::is_trivially_default_constructible_v<half2>);

unsigned short bits_of_half(half x) { return __half_as_ushort(x); }
unsigned short bits_of_half(nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
template <class Half>
Half half_of(unsigned bits) {
  if constexpr (std::is_same_v<Half, half>) return __ushort_as_half(static_cast<unsigned short>(bits));
  else return __ushort_as_bfloat16(static_cast<unsigned short>(bits));
}
template <class Half>
constexpr int infinity = std::is_same_v<Half, half> ? 0x7c00 : 0x7f80;

/// By moving the bits to where f32 has them.
template <class Half>
float defined_value(unsigned bits) {
  if constexpr (!std::is_same_v<Half, half>) return std::bit_cast<float>(bits << 16);
  const float magnitude = (bits & 0x7c00) == 0x7c00 ? std::bit_cast<float>((bits & 0x7fffu) << 13 | 0x7f800000u)
                                                    : std::bit_cast<float>((bits & 0x7fffu) << 13) * 0x1p112f;
  return bits >> 15 ? -magnitude : magnitude;
}

/// All numbers from 0 up, by their bits. In the place of infinity stands the number that would follow the last.
template <class Half>
const std::vector<double>& magnitudes() {
  static const std::vector<double> all = [] {
    std::vector<double> v;
    for (int bits = 0; bits < infinity<Half>; ++bits) v.push_back(defined_value<Half>(static_cast<unsigned>(bits)));
    v.push_back(2 * v.back() - v[v.size() - 2]);
    return v;
  }();
  return all;
}
/// To nearest, ties to even.
template <class Half>
int rounded_bits(long double x) {
  const std::vector<double>& all = magnitudes<Half>();
  const long double size = std::fabs(x);
  const int sign = std::signbit(x) ? 0x8000 : 0;
  if (size >= all.back()) return sign | infinity<Half>;
  const auto above = std::upper_bound(all.begin(), all.end(), size, [](long double a, double b) { return a < b; });
  const int low = static_cast<int>(above - all.begin()) - 1;
  const long double rest = size - all[static_cast<std::size_t>(low)], gap = *above - size;
  return sign | (low + (rest > gap || (rest == gap && low % 2)));
}

template <class Half>
void widen_and_narrow() {
  int wrong = 0;
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const float want = defined_value<Half>(bits), got = half_of<Half>(bits);
    if (std::isnan(want)) {
      wrong += !std::isnan(got) || bits_of_half(Half(got)) != 0x7fff;
    } else {
      wrong += std::bit_cast<std::uint32_t>(want) != std::bit_cast<std::uint32_t>(got);
      wrong += bits_of_half(Half(got)) != bits || bits_of_half(Half(double{got})) != bits;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(SimHalves, AllPatternsHaveTheirValues) {
  widen_and_narrow<half>();
  widen_and_narrow<nv_bfloat16>();
  EXPECT_EQ(float(half(1.0f / 3)), 0.333251953125f);
  EXPECT_EQ(__half2float(__float2half(65520)), HUGE_VALF);
  EXPECT_EQ(__half2float(__float2half(65519)), 65504);
  EXPECT_EQ(bits_of_half(__float2half(-0.0f)), 0x8000);
}

template <class Half, class Rn, class Rz, class Ru, class Rd>
void round_each_way(Rn rn, Rz rz, Ru ru, Rd rd) {
  int wrong = 0;
  const std::vector<double>& all = magnitudes<Half>();
  for (int low = 0; low < infinity<Half>; ++low) {
    const auto at = [&](int k) { return static_cast<float>(all[static_cast<std::size_t>(k)]); };
    const float middle = low + 1 < infinity<Half> ? at(low) + (at(low + 1) - at(low)) / 2
                                                  : at(low) + (at(low) - at(low - 1)) / 2;
    const auto expect = [&](float x, int nearest, int high) {
      wrong += bits_of_half(rn(x)) != nearest || bits_of_half(rn(-x)) != (nearest | 0x8000);
      wrong += bits_of_half(rz(x)) != low || bits_of_half(rz(-x)) != (low | 0x8000);
      wrong += bits_of_half(ru(x)) != high || bits_of_half(ru(-x)) != (low | 0x8000);
      wrong += bits_of_half(rd(x)) != low || bits_of_half(rd(-x)) != (high | 0x8000);
    };
    expect(at(low), low, low);
    expect(std::nextafter(at(low), HUGE_VALF), low, low + 1);
    expect(std::nextafter(middle, 0.0f), low, low + 1);
    expect(middle, low + low % 2, low + 1);
    expect(std::nextafter(middle, HUGE_VALF), low + 1, low + 1);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(SimHalves, FloatsAreRoundedEachWay) {
  round_each_way<half>(__float2half_rn, __float2half_rz, __float2half_ru, __float2half_rd);
  round_each_way<nv_bfloat16>(__float2bfloat16_rn, __float2bfloat16_rz, __float2bfloat16_ru, __float2bfloat16_rd);
}

/// Exact in 64 binary digits: the numbers' exponents are not far from each other.
template <class Half>
void calculate() {
  std::mt19937 random(3);
  const auto draw = [&] {
    for (;;) {
      const Half x = half_of<Half>(random() & 0xffff);
      if (const float size = std::fabs(float(x));
          size < 0x1p18f && (size == 0 || size > 0x1p-20f || random() % 64 == 0))
        if (std::is_same_v<Half, half> || size > 0x1p-25f) return x;
    }
  };
  int wrong = 0;
  const auto check = [&](Half got, long double want) {
    wrong += bits_of_half(got) != rounded_bits<Half>(want);
  };
  for (int k = 0; k < 4000; ++k) {
    const Half x = draw(), y = draw(), z = draw();
    const long double a = float(x), b = float(y), c = float(z);
    check(x + y, a + b), check(__hadd(x, y), a + b);
    check(x - y, a - b), check(__hsub(x, y), a - b);
    check(x * y, a * b), check(__hmul(x, y), a * b);
    check(__hfma(x, y, z), a * b + c);
    if (b != 0) check(x / y, a / b), check(__hdiv(x, y), a / b);
    if (a > 0) check(hsqrt(x), std::sqrt(a));
    wrong += (x < y) != (a < b) || __hle(x, y) != (a <= b) || (x == y) != (a == b) || __hmax(x, y) != (a < b ? y : x);
    wrong += static_cast<int>(x) != static_cast<int>(a) || bool(x) != (a != 0);
    Half sum = x;
    sum += y, sum -= y, ++sum, sum--;
    wrong += bits_of_half(-x) != (bits_of_half(x) ^ 0x8000) || float(__habs(x)) != std::fabs(float(x));
  }
  EXPECT_EQ(wrong, 0);
}

TEST(SimHalves, ArithmeticIsRoundedOnce) {
  calculate<half>();
  calculate<nv_bfloat16>();
  // A product in the middle between two numbers, and a term far below: it decides.
  const nv_bfloat16 x = 1.0f + 0x1p-7f, y = 1.5f, little = 0x1p-100f;  // 1.5 + 1.5 * 2^-7: the middle
  EXPECT_EQ(float(__hfma(x, y, little)), 1.5f + 0x1p-6f);
  EXPECT_EQ(float(__hfma(x, y, -little)), 1.5f + 0x1p-7f);
}

TEST(SimHalves, IntegersAreRoundedEachWay) {
  EXPECT_EQ(__half2int_rn(half(2.5f)), 2);
  EXPECT_EQ(__half2int_rn(half(3.5f)), 4);
  EXPECT_EQ(__half2int_rz(half(-2.75f)), -2);
  EXPECT_EQ(__half2int_rd(half(-2.25f)), -3);
  EXPECT_EQ(__half2int_ru(half(2.25f)), 3);
  EXPECT_EQ(__half2short_rz(half(65504.0f)), 32767);
  EXPECT_EQ(__half2uint_rz(half(-1.0f)), 0u);
  EXPECT_EQ(__half2int_rz(half(HUGE_VALF)), 0x7fffffff);
  EXPECT_EQ(__half2int_rz(half(NAN)), 0);
  EXPECT_EQ(float(__int2half_rn(2049)), 2048);
  EXPECT_EQ(float(__int2half_rn(2051)), 2052);
  EXPECT_EQ(float(__int2half_rz(2051)), 2050);
  EXPECT_EQ(float(__int2half_ru(-2051)), -2050);
  EXPECT_EQ(float(__int2half_rd(-2051)), -2052);
  EXPECT_EQ(float(__uint2half_rz(4000000000u)), 65504);
  // In the middle, but for a last bit that a double has no room for.
  EXPECT_EQ(float(__ll2bfloat16_rn((1ll << 62) + (1ll << 54))), 0x1p62f);
  EXPECT_EQ(float(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + 1)), 0x1p62f + 0x1p55f);
  EXPECT_EQ(float(__ull2bfloat16_rd(~0ull)), 0x1p64f - 0x1p56f);
}

TEST(SimHalves, NaNsCompareAsCudaSays) {
  const half nan = NAN, one = 1.0f, zero = 0.0f, minus_zero = -0.0f;
  EXPECT_TRUE(__hisnan(nan) && !__hisnan(one) && __hisinf(half(-HUGE_VALF)) == -1 && __hisinf(one) == 0);
  EXPECT_TRUE(!__heq(nan, nan) && !__hne(nan, one) && __hneu(nan, one) && __hltu(nan, one) && nan != nan);
  EXPECT_EQ(float(__hmax(nan, one)), 1);
  EXPECT_EQ(float(__hmin(one, nan)), 1);
  EXPECT_TRUE(__hisnan(__hmax_nan(nan, one)) && __hisnan(nan + one) && __hisnan(-nan));
  EXPECT_EQ(bits_of_half(__hmax(minus_zero, zero)), 0);
  EXPECT_EQ(bits_of_half(__hmin(zero, minus_zero)), 0x8000);
  EXPECT_EQ(float(__hadd_sat(one, one)), 1);
  EXPECT_EQ(float(__hmul_sat(nan, one)), 0);
}

TEST(SimHalves, PairsAreTwoNumbers) {
  const half2 a = __floats2half2_rn(1, 2), b{half(3.0f), half(-4.0f)};
  const auto expect = [](half2 v, float x, float y) {
    EXPECT_EQ(__low2float(v), x);
    EXPECT_EQ(__high2float(v), y);
  };
  expect(a + b, 4, -2);
  expect(__hsub2(a, b), -2, 6);
  expect(a * b, 3, -8);
  expect(__hfma2(a, b, a), 4, -6);
  expect(__hmax2(a, b), 3, 2);
  expect(__hgt2(a, b), 0, 1);
  expect(__habs2(-b), 3, 4);
  expect(__lowhigh2highlow(a), 2, 1);
  expect(__half2half2(a.y), 2, 2);
  expect(__highs2half2(a, b), 2, -4);
  expect(h2sqrt(__float22half2_rn(make_float2(4, 9))), 2, 3);
  expect(__hcmadd(a, b, a), 12, 4);  // (1 + 2i)(3 - 4i) + 1 + 2i
  EXPECT_EQ(__hlt2_mask(a, b), 0x0000ffffu);
  EXPECT_TRUE(__hbeq2(a, a) && !__hblt2(a, b) && a == a && a != b);
  const float2 f = __bfloat1622float2(__float2bfloat162_rn(0.5f) * __halves2bfloat162(2.0f, 6.0f));
  EXPECT_EQ(f.x + f.y, 4);
  EXPECT_EQ(float(nv_bfloat16(a.y)) + float(half(nv_bfloat16(3))), 5);
}

// ---------------------------------------------------------------------------------------------------- in kernels

class SimHalfAccesses : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimHalfAccesses, testing::ValuesIn(all_orders), order_name);

/// Each thread adds to one of three neighbours, to the pair and to a shared one; then trees of shuffles.
template <class Half, class Half2>
__global__ void add_halves(Half* sums, Half2* pairs, float* out) {
  __shared__ Half in_shared[33];
  if (threadIdx.x < 33) in_shared[threadIdx.x] = 0.0f;
  __syncthreads();
  atomicAdd(&sums[threadIdx.x % 3], Half(1.0f));
  atomicAdd(&in_shared[32], Half(1.0f));
  const Half2 before = atomicAdd(pairs, Half2(1.0f, 2.0f));
  Half x = Half(before.y) - before.x;
  for (int lanes = 16; lanes > 0; lanes /= 2) x = __hmax(x, __shfl_xor_sync(~0u, x, lanes));
  Half2 y = Half2(x, Half(1.0f));
  for (int lanes = 16; lanes > 0; lanes /= 2) y += __shfl_down_sync(~0u, y, lanes);
  __syncthreads();
  if (threadIdx.x == 32) out[blockIdx.x] = float(y.y) + __ldg(out + 2) * float(in_shared[32]);
}

template <class Half, class Half2>
void add_up_halves() {
  const auto sums = zeros<Half>(3);
  const auto pairs = zeros<Half2>(1);
  const auto out = on_device<float>({0, 0, 1000});
  run<add_halves<Half, Half2>>(2, 64, 0, sums.ptr(), pairs.ptr(), out.ptr());
  EXPECT_EQ(float(on_host(sums)[0]), 44);
  EXPECT_EQ(float(on_host(sums)[2]), 42);
  EXPECT_EQ(float(on_host(pairs)[0].x), 128);
  EXPECT_EQ(float(on_host(pairs)[0].y), 256);
  EXPECT_EQ(on_host(out)[1], 64032);
}

TEST_P(SimHalfAccesses, AtomicsAddUpAndShufflesMove) {
  add_up_halves<half, half2>();
  add_up_halves<nv_bfloat16, nv_bfloat162>();
}

__global__ void atomic_beside_plain(half* p, int distance) {
  if (threadIdx.x == 0) atomicAdd(p, half(1.0f));
  else p[distance] = half(2.0f);
}
__global__ void by_two_sizes(unsigned* p) {
  if (threadIdx.x == 0) atomicAdd(p, 1u);
  else
    atomicCAS(reinterpret_cast<unsigned short*>(p) + 1, static_cast<unsigned short>(0), static_cast<unsigned short>(1));
}
__global__ void pair_at(half* p, int first, bool atomic) {
  half2* const pair = reinterpret_cast<half2*>(p + first);
  if (atomic) atomicAdd(pair, half2(1.0f, 1.0f));
  else *pair = half2(1.0f, 1.0f);
}
__global__ void half_at(half* p, int place) { atomicAdd(p + place, half(1.0f)); }

TEST_P(SimHalfAccesses, AtomicsAreRaceChecked) {
  const auto p = zeros<half>(3);
  const Fault race = fault_of<atomic_beside_plain>(1, 2, 0, p.ptr(), 0);
  EXPECT_EQ(race.kind, FaultKind::race) << race.what();
  EXPECT_TRUE(says(race, "element 0 of 3 elements in global memory")) << race.what();
  const auto neighbours = zeros<half>(3);
  run<atomic_beside_plain>(1, 2, 0, neighbours.ptr(), 1);
  const Fault sizes = fault_of<by_two_sizes>(1, 2, 0, zeros<unsigned>(1).ptr());
  EXPECT_TRUE(says(sizes, "atomics of two sizes are not atomic to each other")) << sizes.what();
  const Fault unwritten = fault_of<half_at>(1, 1, 0, Buffer<half>(3).ptr(), 2);
  EXPECT_EQ(unwritten.kind, FaultKind::unwritten) << unwritten.what();
  const Fault beyond = fault_of<half_at>(1, 1, 0, neighbours.ptr(), 3);
  EXPECT_EQ(beyond.kind, FaultKind::out_of_bounds) << beyond.what();
  EXPECT_TRUE(says(beyond, "updates (atomic) element 3 of 3 elements of 2 bytes")) << beyond.what();
}

TEST_P(SimHalfAccesses, MisalignedPairsAreFound) {
  const auto p = zeros<half>(6);
  run<pair_at>(1, 1, 0, p.ptr(), 2, false);
  const Fault stored = fault_of<pair_at>(1, 1, 0, p.ptr(), 1, false);
  EXPECT_EQ(stored.kind, FaultKind::misaligned) << stored.what();
  EXPECT_TRUE(says(stored, "halves_test.cpp")) << stored.what();
  const Fault added = fault_of<pair_at>(1, 1, 0, p.ptr(), 1, true);
  EXPECT_EQ(added.kind, FaultKind::misaligned) << added.what();
  EXPECT_TRUE(says(added, "an atomic of 4 bytes at an address that is not aligned to them")) << added.what();
}

constexpr int first_use = __LINE__ + 3;
template <int what>
__global__ void beyond_by(half* p, half2* q, float* out) {
  if (what == 0) out[0] = p[3] + p[0];
  if (what == 1) out[0] = p[3];
  if (what == 2) p[3] += p[0];
  if (what == 3) out[0] = __half2float(p[3]);
  if (what == 4) q[1] *= q[0];
  if (what == 5) out[0] = __low2float(q[0] * q[1]);
  if (what == 6) ++p[3];
  if (what == 7) out[0] = p[3] < p[0];
  if (what == 8) p[0] = __shfl_sync(~0u, p[3], 0);
  if (what == 9) p[3] = __float2half(1);
}

template <int what>
void is_beyond_at_its_line() {
  const auto p = zeros<half>(3);
  const auto q = zeros<half2>(1);
  const Fault f = fault_of<beyond_by<what>>(1, 1, 0, p.ptr(), q.ptr(), Buffer<float>(1).ptr());
  EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
  EXPECT_EQ(f.line, first_use + what) << f.what();
}

TEST_P(SimHalfAccesses, FaultsNameTheLineOfTheirUse) {
  is_beyond_at_its_line<0>(), is_beyond_at_its_line<1>(), is_beyond_at_its_line<2>(), is_beyond_at_its_line<3>();
  is_beyond_at_its_line<4>(), is_beyond_at_its_line<5>(), is_beyond_at_its_line<6>(), is_beyond_at_its_line<7>();
  is_beyond_at_its_line<8>(), is_beyond_at_its_line<9>();
}

/// A lock of 16 bits, by whose holder a plain counter is counted up.
__global__ void lock_of_16_bits(unsigned short* lock, unsigned* count) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, static_cast<unsigned short>(0), static_cast<unsigned short>(1)) != 0) __nanosleep(100);
  __threadfence();
  ++*count;
  __threadfence();
  atomicCAS(lock, static_cast<unsigned short>(1), static_cast<unsigned short>(0));
}

TEST_P(SimHalfAccesses, AtomicCasOf16Bits) {
  const auto lock = zeros<unsigned short>(1);
  const auto count = zeros<unsigned>(1);
  run<lock_of_16_bits>(8, 32, 0, lock.ptr(), count.ptr());
  EXPECT_EQ(on_host(count)[0], 8u);
}

}  // namespace
}  // namespace reductio::sim_tests
