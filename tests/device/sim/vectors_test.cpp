// CUDA's vector types: sizes and alignments as nvcc prints them, initializers, and copies that the checks see as one.

#include <type_traits>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

template <class T, std::size_t bytes, std::size_t alignment>
constexpr bool is_laid_out = sizeof(T) == bytes && alignof(T) == alignment && std::is_trivially_default_constructible_v<T>;
#define LAID_OUT(name, bytes, aligned_4)                                                          \
  static_assert(is_laid_out<name##1, bytes, bytes> && is_laid_out<name##2, 2 * bytes, 2 * bytes>); \
  static_assert(is_laid_out<name##3, 3 * bytes, bytes> && is_laid_out<name##4, 4 * bytes, aligned_4>)
LAID_OUT(char, 1, 4);
LAID_OUT(uchar, 1, 4);
LAID_OUT(short, 2, 8);
LAID_OUT(ushort, 2, 8);
LAID_OUT(int, 4, 16);
LAID_OUT(uint, 4, 16);
LAID_OUT(float, 4, 16);
LAID_OUT(long, 8, 16);
LAID_OUT(ulong, 8, 16);
LAID_OUT(longlong, 8, 16);
LAID_OUT(ulonglong, 8, 16);
LAID_OUT(double, 8, 16);
static_assert(is_laid_out<double4_16a, 32, 16> && is_laid_out<double4_32a, 32, 32> && is_laid_out<ulong4_32a, 32, 32>);
static_assert(is_laid_out<longlong4_32a, 32, 32> && std::is_same_v<decltype(char2::x), signed char>);
#undef LAID_OUT

constexpr float4 of_braces = {1, 2, 3, 4}, of_fewer = {5, 6}, of_none = {};
constexpr int2 table[] = {{1, 2}, {3}};
static_assert(of_braces.w == 4 && of_fewer.y == 6 && of_fewer.z == 0 && of_none.x == 0 && table[1].x == 3 && !table[1].y);
static_assert(make_uchar3(1, 2, 3).z == 3 && make_double4(1, 2, 3, 4).w == 4 && make_short1(7).x == 7);
static_assert(dim3(make_uint3(1, 2, 3)).z == 3 && uint3(dim3(4)).y == 1);

struct Particle {
  float4 place;
  float3 speed;
  uchar4 colour;
};

/// As members, in unions and shared arrays, volatile, by value and by reference.
template <class V>
__device__ V doubled(V v) {
  v.x += v.x, v.y += v.y;
  return v;
}
__global__ void use_vectors(const Particle* in, Particle* out, double4* wide, float3* three) {
  __shared__ float4 places[32];
  __shared__ volatile int2 flags[1];
  const unsigned t = threadIdx.x;
  union {
    float4 vector;
    float values[4];
  } both;
  both.vector = in[t].place;
  both.values[3] = 9;
  places[t] = both.vector;
  if (t == 0) flags[0].x = 3, flags[0].y = 4;
  __syncthreads();
  Particle p = {{1, 2, 3, 4}, {5, 6, 7}, make_uchar4(8, 9, 10, 11)};
  p.place = doubled(places[t ^ 1]);
  const int2 both_flags = flags[0];
  p.colour.x = static_cast<unsigned char>(both_flags.x + both_flags.y);
  out[t] = p;
  if (t == 0) wide[0] = make_double4(1, 2, 3, 4), wide[1] = doubled(wide[0]);
  three[t] = make_float3(t, 1, 2);
}

class SimVectors : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimVectors, testing::ValuesIn(all_orders), order_name);

TEST_P(SimVectors, AreUsedLikeStructs) {
  std::vector<Particle> particles(32);
  for (unsigned t = 0; t < 32; ++t) particles[t].place = make_float4(t, t + 1, 0, 0);
  const Buffer<Particle> out(32);
  const Buffer<double4> wide(2);
  const Buffer<float3> three(32);
  const auto in = on_device(particles);
  run<use_vectors>(1, 32, 0, static_cast<const Particle*>(in.ptr()), out.ptr(), wide.ptr(), three.ptr());
  const Particle p = on_host(out)[4];
  EXPECT_EQ(p.place.x, 10);
  EXPECT_EQ(p.place.y, 12);
  EXPECT_EQ(p.place.w, 9);
  EXPECT_EQ(p.speed.z, 7);
  EXPECT_EQ(p.colour.x, 7);
  EXPECT_EQ(on_host(wide)[1].y, 4);
  EXPECT_EQ(on_host(wide)[1].w, 4);
  EXPECT_EQ(on_host(three)[31].x, 31);
}

template <class V, class T>
__global__ void copy_at(T* p, int place) {
  reinterpret_cast<V*>(p + 32)[0] = reinterpret_cast<V*>(p + place)[0];
}

template <class V, class T>
void misaligned_at(int place) {
  const auto p = zeros<T>(64);
  run<copy_at<V, T>>(1, 1, 0, p.ptr(), 0);
  const Fault f = fault_of<copy_at<V, T>>(1, 1, 0, p.ptr(), place);
  EXPECT_EQ(f.kind, FaultKind::misaligned) << f.what();
  EXPECT_TRUE(says(f, "not aligned to the " + std::to_string(alignof(V)) + " bytes")) << f.what();
}

TEST_P(SimVectors, MisalignedOnesAreFound) {
  misaligned_at<char2, signed char>(1);
  misaligned_at<uchar4, unsigned char>(2);
  misaligned_at<short4, short>(2);
  misaligned_at<uint2, unsigned>(3);
  misaligned_at<float4, float>(2);
  misaligned_at<ulong2, unsigned long>(1);
  misaligned_at<double4, double>(1);
  misaligned_at<longlong4_32a, long long>(2);
}

__global__ void race_of_vectors(uchar4* p) {
  if (threadIdx.x == 0) p[0] = make_uchar4(1, 2, 3, 4);
  else p[0].z = 1;
}
__global__ void beyond_the_end(double4* p) { p[1] = make_double4(1, 2, 3, 4); }

TEST_P(SimVectors, AreChecked) {
  const Fault race = fault_of<race_of_vectors>(1, 2, 0, zeros<uchar4>(1).ptr());
  EXPECT_EQ(race.kind, FaultKind::race) << race.what();
  const Fault beyond = fault_of<beyond_the_end>(1, 1, 0, zeros<double4>(1).ptr());
  EXPECT_EQ(beyond.kind, FaultKind::out_of_bounds) << beyond.what();
}

__global__ void sines(float2* out, double* shared_out, int* exponents) {
  __shared__ double parts[2];
  const unsigned t = threadIdx.x;
  if (t == 0) {
    sincosf(1.0f, &out[0].x, &out[0].y);
    sincos(1.0, parts, parts + 1);
    shared_out[0] = parts[0];
    shared_out[1] = frexp(6.0, exponents) + modf(2.5, shared_out + 2) + modff(2.5f, &out[1].x) + remquof(7, 2, exponents + 1);
    out[1].y = static_cast<float>(exponents[0]) + out[1].x + static_cast<float>(shared_out[2]);
  }
}
__global__ void sines_of_all(float* out) { sincosf(1.0f, &out[0], &out[1 + threadIdx.x]); }

// The C library stores them, where no hook is.
TEST_P(SimVectors, SecondResultsOfFunctionsAreChecked) {
  const Buffer<float2> out(2);
  const Buffer<double> doubles(3);
  const Buffer<int> exponents(2);
  run<sines>(1, 32, 0, out.ptr(), doubles.ptr(), exponents.ptr());
  EXPECT_FLOAT_EQ(on_host(out)[0].x, std::sin(1.0f));
  EXPECT_FLOAT_EQ(on_host(out)[0].y, std::cos(1.0f));
  EXPECT_EQ(on_host(out)[1].y, 3 + 2 + 2);
  EXPECT_EQ(on_host(doubles)[0], std::sin(1.0));
  EXPECT_EQ(on_host(doubles)[1], 0.75 + 0.5 + 0.5 - 1);
  const Fault race = fault_of<sines_of_all>(1, 64, 0, Buffer<float>(65).ptr());
  EXPECT_EQ(race.kind, FaultKind::race) << race.what();
  EXPECT_TRUE(says(race, "writes element 0 of 65")) << race.what();
  const Fault beyond = fault_of<sines_of_all>(1, 64, 0, Buffer<float>(1).ptr());
  EXPECT_EQ(beyond.kind, FaultKind::out_of_bounds) << beyond.what();
}

__global__ void assumes(float* p) {
  auto* const aligned = static_cast<float*>(__builtin_assume_aligned(p, 16));
  aligned[0] = 1;
}

TEST_P(SimVectors, AssumedAlignmentIsChecked) {
  const Buffer<float> p(8);
  run<assumes>(1, 1, 0, p.ptr());
  const Fault f = fault_of<assumes>(1, 1, 0, p.ptr() + 1);
  EXPECT_EQ(f.kind, FaultKind::misaligned) << f.what();
  EXPECT_TRUE(says(f, "to the 16 bytes that __builtin_assume_aligned() says")) << f.what();
}

}  // namespace
}  // namespace reductio::sim_tests
