#pragma once
/// Every idiom of CUDA that device/kernel.h carries, in kernels that check themselves: each says what CUDA's
/// documentation says of it. Both devices run them, the simulated one in sim/idioms_test.cpp, a GPU in
/// test_kernel_header.py. Nothing of the harness is used here.

#include <cstddef>
#include <cstdint>

#include "device/kernel.h"

namespace idioms {
namespace {
using namespace reductio::device;

/// What one thread finds: bit k is set where the k-th thing that it was told does not hold, or the 32nd behind it.
struct Checks {
  unsigned wrong = 0, n = 0;
  __device__ void operator()(bool holds) { wrong |= unsigned(!holds) << n++ % 32; }
};

constexpr unsigned all = 0xffffffffu;

__global__ void votes(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x, lane = t % warpSize, odd = lane % 2;
  check(__any_sync(all, lane == 7) == 1);
  check(__any_sync(all, 0) == 0);
  check(__all_sync(all, lane < 32) == 1);
  check(__all_sync(all, lane != 31) == 0);
  check(__ballot_sync(all, odd) == 0xaaaaaaaau);
  const unsigned mine = odd ? 0xaaaaaaaau : 0x55555555u;
  check(__ballot_sync(mine, lane < 4) == (odd ? 0xau : 0x5u));
  check(__all_sync(mine, odd) == int(odd));
  check(__any_sync(mine, odd) == int(odd));
  check((__activemask() >> lane & 1) == 1);
  check(__syncthreads_count(t % 4 == 0) == int(blockDim.x) / 4);
  check(__syncthreads_and(t < blockDim.x) != 0);
  check(__syncthreads_and(t != 5) == 0);
  check(__syncthreads_or(t == 5) != 0);
  check(__syncthreads_or(0) == 0);
  wrong[t] = check.wrong;
}

template <class T>
__device__ void shuffled(Checks& check, T mine) {
  const unsigned lane = threadIdx.x % warpSize, first = threadIdx.x - lane;
  check(__shfl_up_sync(all, mine, 3) == mine - T(lane < 3 ? 0 : 3));
  check(__shfl_up_sync(all, mine, 3, 8) == mine - T(lane % 8 < 3 ? 0 : 3));
  check(__shfl_down_sync(all, mine, 1) == mine + T(lane == 31 ? 0 : 1));
  check(__shfl_xor_sync(all, mine, 1) == mine + T(1) - T(2 * (lane % 2)));
  check(__shfl_sync(all, mine, 4) == mine - T(threadIdx.x) + T(first + 4));
}

__global__ void shuffles(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  shuffled(check, 1000 + int(t));
  shuffled(check, 5000000000 + (long long)(t));  // more than 4 bytes hold
  shuffled(check, 1e15 + double(t));
  extern __shared__ __align__(16) unsigned char raw[];
  double* s = reinterpret_cast<double*>(raw);
  s[t] = t;
  check(__shfl_xor_sync(all, s[t], 1) == double(t ^ 1));
  check(__shfl_sync(all, t % warpSize == 3, 3) == 1 && __shfl_sync(all, short(-5), 1) == -5);
  wrong[t] = check.wrong;
}

__global__ void reductions(unsigned* wrong) {
  Checks check;
  const unsigned lane = threadIdx.x % warpSize;
  const int signed_one = 10 - int(lane);
  check(__reduce_add_sync(all, lane) == 496);
  check(__reduce_add_sync(all, signed_one) == 320 - 496);
  check(__reduce_min_sync(all, lane + 3) == 3);
  check(__reduce_max_sync(all, 0x80000000u + lane) == 0x8000001fu);
  check(__reduce_min_sync(all, signed_one) == -21);
  check(__reduce_max_sync(all, signed_one) == 10);
  check(__reduce_max_sync(all, signed_one - 100) == -90);
  check(__reduce_and_sync(all, lane | 0x60u) == 0x60);
  check(__reduce_or_sync(all, 1u << lane) == all);
  check(__reduce_xor_sync(all, lane == 3 ? 0u : lane) == 3);
  wrong[threadIdx.x] = check.wrong;
}

__global__ void numbers(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  const float nan = __uint_as_float(0x7fc00000);
  check(min(3, -2) == -2 && max(3, -2) == 3);
  check(min(t, 1000u) == t && max(t, 1000u) == 1000);
  check(min(5000000000ll, 4ll) == 4 && max(std::size_t{1} << 40, std::size_t{1}) == std::size_t{1} << 40);
  check(min(1.5f, -2.5f) == -2.5f && max(1.5, 2.5) == 2.5);
  check(max(nan, 2.0f) == 2.0f && min(2.0f, nan) == 2.0f);
  check(__popc(0xf0f00001u) == 9 && __popcll(0xff00000000000001ull) == 9);
  check(__clz(1) == 31 && __clz(0) == 32 && __clz(-1) == 0 && __clzll(1) == 63);
  check(__ffs(0) == 0 && __ffs(8) == 4 && __ffs(int(0x80000000u)) == 32 && __ffsll(1ll << 40) == 41);
  check(__float_as_uint(1.0f) == 0x3f800000u && __float_as_int(-0.0f) == int(0x80000000u));
  check(__int_as_float(0x40000000) == 2.0f);
  check(__double_as_longlong(1.0) == 0x3ff0000000000000ll && __longlong_as_double(0x4000000000000000ll) == 2.0);
  // 1 + 2^-12 squared has a last bit that rounding takes away, and a fused multiply-add keeps.
  const float x = 1.0f + 1.0f / 4096;
  check(__fadd_rn(__fmul_rn(x, x), -1.0f) == 1.0f / 2048 && __fmaf_rn(x, x, -1.0f) > 1.0f / 2048);
  check(__fsub_rn(16777216.0f, -1.0f) == 16777216.0f);
  const double y = 1.0 + 1.0 / (1 << 27);
  check(__dadd_rn(__dmul_rn(y, y), -1.0) == 1.0 / (1 << 26) && __fma_rn(y, y, -1.0) > 1.0 / (1 << 26));
  check(__dsub_rn(1.0, 2.0) == -1.0);
  const long long half_way = (1LL << 60) + (1LL << 7);
  check(__ll2double_rn(half_way) == 0x1p60 && __ll2double_rn(-half_way - 1) == -0x1.0000000000001p60);
  check(__ll2double_rn(half_way + (1LL << 8)) == 0x1.0000000000002p60 && __ll2float_rn((1LL << 24) + 3) == 16777220.0f);
  wrong[t] = check.wrong;
}

__global__ void bits(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  check(__brev(1) == 0x80000000u && __brev(0xf0000001u) == 0x8000000fu && __brev(__brev(t)) == t);
  check(__brevll(1) == 1ull << 63 && __brevll(0xff00000000000002ull) == 0x40000000000000ffull);
  check(__funnelshift_l(0x80000000u, 1, 4) == 0x18 && __funnelshift_l(7, t, 32) == t);
  check(__funnelshift_r(0x10, 0xf, 4) == 0xf0000001u && __funnelshift_r(t, 7, 0) == t);
  check(__mulhi(-2, 3) == -1 && __mulhi(1 << 30, 8) == 2 && __umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu);
  check(__dp4a(0x01ff0203, 0x01010101, 10) == 10 + 1 - 1 + 2 + 3);
  check(__dp4a(0x01ff0203u, 0x01010101u, 10u) == 10 + 1 + 255 + 2 + 3);
  check(__double2hiint(1.0) == 0x3ff00000 && __double2loint(1.0) == 0 && __double2loint(-1e-300) != 0);
  check(__hiloint2double(__double2hiint(-1e-300), __double2loint(-1e-300)) == -1e-300);
  wrong[t] = check.wrong;
}

/// By their plain names, too: each has the type of what it takes.
__global__ void roots(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  const float x = float(t) + 0.5f, square = x * x;  // exact
  const float r = rsqrtf(square), s = rsqrt(square);
  check(fabsf(r * x - 1) < 1e-6f && fabsf(s * x - 1) < 1e-6f && fabs(rsqrt(double(square)) * x - 1) < 1e-15);
  check(rsqrtf(0.0f) > 3e38f && rsqrtf(-1.0f) != rsqrtf(-1.0f));
  check(sqrtf(square) == x && __fsqrt_rn(square) == x && __dsqrt_rn(double(square)) == double(x));
  check(__fdiv_rn(1.0f, 3.0f) == 0x1.555556p-2f && __frcp_rn(3.0f) == __fdiv_rn(1.0f, 3.0f));
  check(__ddiv_rn(1.0, 3.0) == 0x1.5555555555555p-2 && __drcp_rn(3.0) == __ddiv_rn(1.0, 3.0));
  check(fmaf(x, x, -square) == 0 && fma(double(x), double(x), 1.0) == double(square) + 1);
  check(fminf(x, 1e9f) == x && fmaxf(x, -1.0f) == x && fmax(1.0, double(x) + 2) == double(x) + 2);
  extern __shared__ __align__(16) unsigned char raw[];
  float* const shared = reinterpret_cast<float*>(raw);
  shared[t] = -x;
  check(abs(-x) == x && abs(shared[t]) == x && abs(-1.5) == 1.5 && abs(-3) == 3 && abs(-5000000000ll) == 5000000000ll);
  static_assert(sizeof sqrt(1.0f) == 4 && sizeof sqrt(1.0) == 8 && sizeof fabs(1.0f) == 4, "");
  check(sqrt(4.0f) == 2 && sqrt(4.0) == 2 && floorf(x) == float(t) && truncf(-x) == -float(t));
  wrong[t] = check.wrong;
}

__global__ void matches(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x, lane = t % warpSize, odd = lane % 2;
  const unsigned mine = odd ? 0xaaaaaaaau : 0x55555555u;
  check(__match_any_sync(all, odd) == mine);
  check(__match_any_sync(all, int(lane) / 4) == 0xfu << (lane / 4 * 4));
  check(__match_any_sync(mine, lane < 8) == (mine & (lane < 8 ? 0xffu : ~0xffu)));
  check(__match_any_sync(all, (long long)(lane) << 32) == 1u << lane);  // what 4 bytes do not tell apart
  check(__match_any_sync(all, odd ? 0.0f : -0.0f) == mine);            // bits, not values
  check(__match_any_sync(all, double(odd)) == mine);
  int alike = 7;
  check(__match_all_sync(all, 5u, &alike) == all && alike == 1);
  check(__match_all_sync(all, lane == 31, &alike) == 0 && alike == 0);
  check(__match_all_sync(mine, double(odd), &alike) == mine && alike == 1);
  check(__match_all_sync(mine, 1ull << (32 + lane / 16), &alike) == 0 && alike == 0);
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* const s = reinterpret_cast<unsigned*>(raw);
  s[t] = odd;
  check(__match_any_sync(all, s[t]) == mine);
  // Lanes of one key add up by one atomic.
  __shared__ unsigned count[4];
  if (t < 4) count[t] = 0;
  __syncthreads();
  const unsigned key = t % 3, peers = __match_any_sync(all, key);
  if (__ffs(int(peers)) - 1 == int(lane)) atomicAdd(count + key, unsigned(__popc(peers)));
  __syncthreads();
  check(count[0] == 22 && count[1] == 21 && count[2] == 21);
  wrong[t] = check.wrong;
}

struct Weights {
  float of[4];
};
/// Waits a little, and what holds.
__global__ void waits_and_asserts(const __grid_constant__ Weights weights, unsigned* wrong) {
  const unsigned t = threadIdx.x;
  __nanosleep(20);
  assert(t < blockDim.x && "a block of 64 threads");
  if (t >= blockDim.x) __trap();
  wrong[t] = weights.of[t % 4] != 0.5f * float(t % 4);
}

/// One thread, so that what each atomic finds is known.
template <class Pointer>
__device__ void one_by_one(Checks& check, Pointer p) {
  *p = 10;
  check(atomicSub(p, 3u) == 10);
  check(atomicMin(p, 9u) == 7);
  check(atomicMin(p, 2u) == 7);
  check(atomicMax(p, 1u) == 2);
  check(atomicMax(p, 12u) == 2);
  check(atomicAnd(p, 10u) == 12);
  check(atomicOr(p, 3u) == 8);
  check(atomicXor(p, 1u) == 11);
  check(atomicExch(p, 1u) == 10);
  check(atomicCAS(p, 5u, 6u) == 1);
  check(atomicCAS(p, 1u, 6u) == 1);
  check(atomicDec(p, 100u) == 6);
  check(atomicInc(p, 5u) == 5);
  check(atomicDec(p, 7u) == 0);
  check(atomicAdd_block(p, 1u) == 7);
  check(atomicAdd_system(p, 1u) == 8);
  check(*p == 9);
}

__global__ void atomics_of_one_thread(unsigned* wrong) {
  Checks check, in_shared;
  one_by_one(check, wrong + threadIdx.x);
  __shared__ unsigned words[64];
  one_by_one(in_shared, words + threadIdx.x);
  wrong[threadIdx.x] = check.wrong | in_shared.wrong;
}

/// Signs, eight bytes, floats: of each thread its own words.
__global__ void atomics_of_other_types(unsigned* wrong) {
  Checks check;
  __shared__ int room_of_i[64];
  int* const i = room_of_i + threadIdx.x;
  __shared__ unsigned long long room_of_u[64];
  unsigned long long* const u = room_of_u + threadIdx.x;
  __shared__ long long room_of_s[64];
  long long* const s = room_of_s + threadIdx.x;
  __shared__ std::size_t room_of_z[64];
  std::size_t* const z = room_of_z + threadIdx.x;
  __shared__ float room_of_f[64];
  float* const f = room_of_f + threadIdx.x;
  *i = -3, *u = 1ull << 40, *s = -(1ll << 40), *z = std::size_t{1} << 40, *f = 1.5f;
  check(atomicMin(i, 2) == -3 && atomicMax(i, -1) == -3 && atomicCAS(i, -1, -8) == -1 && *i == -8);
  check(atomicSub(i, 2) == -8 && atomicExch(i, 4) == -10 && *i == 4);
  check(atomicMax(u, 1ull << 41) == 1ull << 40 && atomicCAS(u, 1ull << 41, 5ull) == 1ull << 41 && *u == 5);
  check(atomicMin(s, 0ll) == -(1ll << 40) && atomicMax(s, 7ll) == -(1ll << 40) && *s == 7);
  check(atomicAdd(z, std::size_t{2}) == std::size_t{1} << 40 && *z == (std::size_t{1} << 40) + 2);
  check(atomicExch(f, 2.5f) == 1.5f && *f == 2.5f);
  wrong[threadIdx.x] = check.wrong;
}

/// All threads of the block at once: a maximum of floats by compare-and-swap, and a lock.
__global__ void atomics_of_all_threads(unsigned* wrong) {
  Checks check;
  __shared__ unsigned most[1];
  __shared__ int lock[1];
  __shared__ int count[1];
  const unsigned t = threadIdx.x;
  if (t == 0) *most = 0, *lock = 0, *count = 0;
  __syncthreads();
  const float mine = float(t) * 0.5f;
  for (unsigned found = 0, before; __uint_as_float(found) < mine; found = before) {
    before = atomicCAS(most, found, __float_as_uint(mine));
    if (before == found) break;
  }
  for (bool done = false; !done;) {  // lanes of one warp must not wait inside for each other
    if (atomicExch(lock, 1) == 0) {
      __threadfence_block();
      const int now = load_relaxed<Scope::block>(count);
      store_relaxed<Scope::block>(count, now + 1);
      __threadfence_block();
      atomicExch(lock, 0);
      done = true;
    }
  }
  __syncthreads();
  check(__uint_as_float(*most) == float(blockDim.x - 1) * 0.5f);
  check(*count == int(blockDim.x));
  wrong[t] = check.wrong;
}

/// Every order, scope and size of loads and stores.
template <Scope scope, class T>
__device__ void stored_and_loaded(Checks& check, T* p) {
  store_relaxed<scope>(p, 5);
  check(load_relaxed<scope>(p) == T(5));
  store_release<scope>(p, 6);
  check(load_acquire<scope>(p) == T(6));
  check(load_acquire<scope>(static_cast<const T*>(p)) == T(6) &&
        load_relaxed<scope>(static_cast<volatile T*>(p)) == T(6));
}

__global__ void loads_and_stores_that_order(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  __shared__ double room_of_eight[64];
  double* const eight = room_of_eight + t;
  __shared__ int room_of_four[64];
  int* const four = room_of_four + t;
  stored_and_loaded<Scope::block>(check, eight);
  stored_and_loaded<Scope::gpu>(check, eight);
  stored_and_loaded<Scope::system>(check, eight);
  stored_and_loaded<Scope::block>(check, four);
  stored_and_loaded<Scope::gpu>(check, four);
  stored_and_loaded<Scope::system>(check, four);
  __threadfence();
  __threadfence_system();
  store_release(wrong + t, check.wrong);
  if (load_acquire(wrong + t) != load_relaxed(wrong + t)) wrong[t] = all;
}

/// A warp's sum by its last lanes, each of them of 16 bytes.
struct __align__(16) Pair {
  double sum;
  unsigned n;
};

__global__ void vectors(unsigned* wrong) {
  Checks check;
  const unsigned t = threadIdx.x;
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && alignof(int2) == 8 && alignof(double2) == 16, "");
  static_assert(sizeof(Pair) == 16 && alignof(Pair) == 16, "");
  __shared__ unsigned words[256];
  for (unsigned k = 0; k < 4; ++k) words[4 * t + k] = 10 * t + k;
  const uint4 v = reinterpret_cast<uint4*>(words)[t];
  check(v.x == 10 * t && v.y == 10 * t + 1 && v.z == 10 * t + 2 && v.w == 10 * t + 3);
  uint2* const halves = reinterpret_cast<uint2*>(words);
  halves[2 * t] = make_uint2(7, 8);
  check(words[4 * t + 1] == 8 && words[4 * t + 2] == 10 * t + 2);
  const uint4* const wholes = reinterpret_cast<const uint4*>(words) + t;
  check(wholes->y == 8 && wholes[0].w == 10 * t + 3);
  __shared__ Pair pairs[64];
  pairs[t] = Pair{0.5, t};
  const Pair pair = pairs[t];
  check(pair.sum == 0.5 && pair.n == t);
  const float4 f = make_float4(1, 2, 3, 4);
  const double2 d = make_double2(1, 2);
  const longlong2 l = make_longlong2(1, 2);
  const int4 i = make_int4(1, 2, 3, 4);
  check(f.x + f.y + f.z + f.w == 10 && d.x + d.y == 3 && l.x + l.y == 3 && i.x + i.w == 5);
  const dim3 one(2), block = blockDim;
  check(one.x == 2 && one.y == 1 && one.z == 1 && block.x == blockDim.x && threadIdx.y == 0 && gridDim.y == 1);
  wrong[t] = check.wrong;
}

__device__ __noinline__ unsigned third(const unsigned* __restrict__ in) { return __ldg(in + 2); }

__global__ void __launch_bounds__(64) loads(unsigned* __restrict__ wrong) {
  Checks check;
  unsigned* const mine = wrong + threadIdx.x;
  *mine = 3;
  check(__ldca(mine) == 3 && __ldcg(mine) == 3 && __ldcs(mine) == 3 && __ldcv(mine) == 3);
  __stcs(mine, 4u);
  check(*mine == 4);
  __stcg(mine, 5u);
  __stwb(mine, 6u);
  __stwt(mine, 7u);
  check(*mine == 7);
  volatile unsigned* const again = mine;
  *again = 8;
  check(*again == 8 && again[0] == 8);
  check(reinterpret_cast<std::uintptr_t>(mine) - reinterpret_cast<std::uintptr_t>(wrong) == 4 * threadIdx.x);
  extern __shared__ __align__(16) unsigned char raw[];
  volatile unsigned* const last = reinterpret_cast<unsigned*>(raw);
  last[threadIdx.x] = threadIdx.x;
  last[threadIdx.x] = last[threadIdx.x] + 2;  // C++20 has no += of what is volatile
  check(last[threadIdx.x] == threadIdx.x + 2);
  wrong[threadIdx.x] = check.wrong;
}

/// Of what the launch finds written: the constants that come with it.
__global__ void constant_loads(unsigned* wrong) {
  Checks check;
  const unsigned* const in = wrong + 64;  // 64 words behind: 0, 1, 2, ...
  check(third(in) == 2);
  check(__ldg(in + threadIdx.x) == threadIdx.x && __ldlu(in + threadIdx.x) == threadIdx.x);
  const uint4* const whole = reinterpret_cast<const uint4*>(in);
  if (threadIdx.x < 16)
    check(whole[threadIdx.x].w == 4 * threadIdx.x + 3 && __ldg(whole + threadIdx.x).x == 4 * threadIdx.x);
  wrong[threadIdx.x] = check.wrong;
}

/// 64 threads in three dimensions: x is counted first, then y, then z, and warps are 32 of them in that order.
__global__ void dimensions(unsigned* wrong) {
  Checks check;
  check(blockDim.x == 4 && blockDim.y == 8 && blockDim.z == 2 && gridDim.x * gridDim.y * gridDim.z == 1);
  check(threadIdx.x < 4 && threadIdx.y < 8 && threadIdx.z < 2);
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  check(__shfl_sync(0xffffffffu, thread, 5) == thread / 32 * 32 + 5);
  wrong[thread] = check.wrong;
}
inline void in_three_dimensions(const Launch& shape, unsigned* wrong) {
  launch<dimensions>({dim3(1), dim3(4, 8, 2), 0, shape.stream}, wrong);
}

/// What is wrong here must be found: the second of two things.
__global__ void planted(unsigned* wrong) {
  Checks check;
  check(__popc(3) == 2);
  check(__popc(3) == 3);
  wrong[threadIdx.x] = check.wrong;
}

/// Shapes are numbers of any integer type.
inline void wait_and_assert(const Launch& shape, unsigned* wrong) {
  const int grid = int(shape.grid.x), bytes = 0;
  const std::size_t block = shape.block.x;
  launch<waits_and_asserts>({grid, block, bytes, shape.stream}, Weights{{0, 0.5f, 1, 1.5f}}, wrong);
}

/// Each in one block of 64 threads, with `wrong` of 128 words, the last 64 of which are 0, 1, 2, ...
struct Idiom {
  const char* name;
  void (*start)(const Launch&, unsigned*);
};
const Idiom kernels[] = {{"votes", launch<votes>},
                         {"shuffles", launch<shuffles>},
                         {"reductions", launch<reductions>},
                         {"numbers", launch<numbers>},
                         {"bits", launch<bits>},
                         {"roots", launch<roots>},
                         {"matches", launch<matches>},
                         {"waits_and_asserts", wait_and_assert},
                         {"atomics_of_one_thread", launch<atomics_of_one_thread>},
                         {"atomics_of_other_types", launch<atomics_of_other_types>},
                         {"atomics_of_all_threads", launch<atomics_of_all_threads>},
                         {"loads_and_stores_that_order", launch<loads_and_stores_that_order>},
                         {"vectors", launch<vectors>},
                         {"loads", launch<loads>},
                         {"constant_loads", launch<constant_loads>},
                         {"dimensions", in_three_dimensions}};
constexpr std::size_t shared_bytes = 64 * sizeof(double);

}  // namespace
}  // namespace idioms
