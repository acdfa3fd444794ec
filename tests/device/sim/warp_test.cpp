// Warp operations: what they give, and what is said of masks that disagree and lanes that are gone.

#include <cmath>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimWarps : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimWarps, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void shuffles(T* down, T* across, T* from, int width) {
  const unsigned t = threadIdx.x;
  down[t] = __shfl_down_sync(0xffffffffu, T(t), 3, width);
  across[t] = __shfl_xor_sync(0xffffffffu, T(t), 5, width);
  from[t] = __shfl_sync(0xffffffffu, T(t), 6, width);
}

template <class T>
void shuffles_move_values(int width) {
  const Buffer<T> down(64), across(64), from(64);
  run<shuffles<T>>(1, 64, 0, down.ptr(), across.ptr(), from.ptr(), width);
  const auto d = on_host(down), a = on_host(across), f = on_host(from);
  const unsigned w = static_cast<unsigned>(width);
  for (unsigned t = 0; t < 64; ++t) {
    const unsigned lane = t % 32, warp = t - lane, segment = lane - lane % w;
    EXPECT_EQ(d[t], T(lane % w + 3 < w ? t + 3 : t)) << t << " width " << width;
    // Into the own or a lower segment, never a higher one.
    EXPECT_EQ(a[t], T((lane ^ 5) < segment + w ? warp + (lane ^ 5) : t)) << t << " width " << width;
    EXPECT_EQ(f[t], T(warp + segment + 6 % w)) << t << " width " << width;
  }
}

TEST_P(SimWarps, Shuffles) {
  for (const int width : {32, 16, 8, 4}) {
    shuffles_move_values<unsigned>(width);
    shuffles_move_values<float>(width);
    shuffles_move_values<double>(width);
  }
}

__global__ void small_block(float* out) {
  const float mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, mine, 4);
}
constexpr int line_of_shuffle = __LINE__ - 2;

TEST_P(SimWarps, LanesThatTheBlockLacksGiveNoValue) {
  const Buffer<float> out(8);
  run<small_block>(1, 8, 0, out.ptr());
  const auto v = on_host(out);
  EXPECT_EQ(v[3], 7.0f);
  EXPECT_TRUE(std::isnan(v[4]));  // lane 8 is not there: CUDA leaves this undefined
  EXPECT_EQ(sim::undefined_shuffles(),
            "in kernel small_block the shuffle at tests/device/sim/warp_test.cpp:" + std::to_string(line_of_shuffle) +
                ":22 gives an undefined value, first to block 0, thread 4: lane 8 is not in the block");
  sim::set_schedule(GetParam(), 7);
  EXPECT_EQ(sim::undefined_shuffles(), "") << "of what ran since";
}

/// Adds up 8 lanes: those above get undefined values, which lane 0 never sees.
__global__ void eight_lanes(int* out) {
  if (threadIdx.x >= 8) return;
  int sum = 5;
  for (unsigned distance = 4; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffu, sum, distance);
  if (threadIdx.x == 0) out[0] = sum;
}
__global__ void from_outside_the_mask(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_xor_sync(0xffffu, 7, 16);
}
__global__ void own_values(int* out) {
  out[threadIdx.x] = __shfl_down_sync(~0u, 7, 16) + __shfl_up_sync(~0u, 7, 16) + __shfl_down_sync(~0u, 7, 2, 4);
}

TEST_P(SimWarps, ValuesThatCudaLeavesUndefinedAreToldOf) {
  const auto out = zeros<int>(32);
  run<own_values>(1, 32, 0, out.ptr());
  EXPECT_EQ(sim::undefined_shuffles(), "") << "whose source is beyond its segment gets its own value";
  run<eight_lanes>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out)[0], 40) << "no fault: nobody uses them";
  const std::string dropped = sim::undefined_shuffles();
  EXPECT_NE(dropped.find("lane 8 is not in the mask 0x000000ff"), std::string::npos) << dropped;
  sim::set_schedule(GetParam(), 7);
  run<from_outside_the_mask>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out)[3], -1);
  const std::string used = sim::undefined_shuffles();
  EXPECT_NE(used.find("first to block 0, thread 0: lane 16 is not in the mask 0x0000ffff"), std::string::npos) << used;
  run<eight_lanes>(1, 32, 0, out.ptr());
  const std::string both = sim::undefined_shuffles();
  EXPECT_EQ(both.find(used + "; in kernel eight_lanes the shuffle at "), 0u) << both;
}

__global__ void by_width(unsigned* out, int width) { out[threadIdx.x] = __shfl_down_sync(~0u, threadIdx.x, 1, width); }
__global__ void mask_for_value(unsigned* out) { out[threadIdx.x] = __shfl_down_sync(threadIdx.x, ~0u, 1); }

TEST_P(SimWarps, WidthsAreThoseOfCuda) {
  const Buffer<unsigned> out(32);
  for (const int width : {0, 3, 24, 64, -1}) {
    const Fault f = fault_of<by_width>(1, 32, 0, out.ptr(), width);
    EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
    EXPECT_TRUE(says(f, "in segments of " + std::to_string(width) + " lanes; CUDA takes 1, 2, 4, 8, 16 or 32"));
  }
  const Fault f = fault_of<mask_for_value>(1, 32, 0, out.ptr());
  EXPECT_TRUE(says(f, "that it passes: the mask comes first, then the value")) << f.what();
}

__global__ void warp_sums(unsigned* u, int* i) {
  u[threadIdx.x] = __reduce_add_sync(0xffffffffu, 0xfffffff0u + threadIdx.x % 32);
  if (threadIdx.x % 2)
    i[threadIdx.x] = __reduce_add_sync(0xaaaaaaaau, -static_cast<int>(threadIdx.x % 32));
  else
    i[threadIdx.x] = __reduce_add_sync(0x55555555u, 1);
}

TEST_P(SimWarps, WarpReductionsOfSeveralMasksAtOnce) {
  const Buffer<unsigned> u(64);
  const Buffer<int> i(64);
  run<warp_sums>(1, 64, 0, u.ptr(), i.ptr());
  for (const unsigned t : {0u, 31u, 32u, 63u}) EXPECT_EQ(on_host(u)[t], 31u * 16 - 512);
  EXPECT_EQ(on_host(i)[5], -256);
  EXPECT_EQ(on_host(i)[6], 16);
}

// ---------------------------------------------------------------------------------------------------- faults

/// The documents' last warp: lanes exchange through memory as if they ran in lock-step.
template <bool Synchronised, class Pointer>
void last_warp(Pointer p) {
  const unsigned t = threadIdx.x;
  for (unsigned k = 16; k > 0; k /= 2) {
    const unsigned other = p[t + k];
    if (Synchronised) __syncwarp();
    p[t] += other;
    if (Synchronised) __syncwarp();
  }
}

template <bool Synchronised>
__global__ void last_warp_in_shared(const unsigned* in, unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32) last_warp<Synchronised>(s);
  if (threadIdx.x == 0) out[0] = s[0];
}

template <bool Synchronised>
__global__ void last_warp_in_global(unsigned* data) {
  if (threadIdx.x < 32) last_warp<Synchronised>(data);
}

TEST_P(SimWarps, MissingWarpBarrierInSharedMemory) {
  const auto in = counting(64);
  const Buffer<unsigned> out(1);
  const Fault f =
      fault_of<last_warp_in_shared<false>>(1, 64, 64 * 4, static_cast<const unsigned*>(in.ptr()), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "last_warp_in_shared<false>");
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_LT(f.threads[0], 32u);
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads[0], 1u) << f.what();
  }
  run<last_warp_in_shared<true>>(1, 64, 64 * 4, static_cast<const unsigned*>(in.ptr()), out.ptr());
  EXPECT_EQ(on_host(out)[0], 31u * 32 / 2);
}

TEST_P(SimWarps, MissingWarpBarrierInGlobalMemory) {
  const auto data = counting(64);
  const Fault f = fault_of<last_warp_in_global<false>>(1, 64, 0, data.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "last_warp_in_global<false>");
  EXPECT_TRUE(says(f, "of 64 elements in global memory")) << f.what();
  const auto again = counting(64);
  run<last_warp_in_global<true>>(1, 64, 0, again.ptr());
  EXPECT_EQ(on_host(again)[0], 31u * 32 / 2);
}

__global__ void not_in_own_mask(unsigned* out) { out[threadIdx.x] = __shfl_down_sync(0x0000ffffu, 1u, 1); }

TEST_P(SimWarps, LaneNotInItsMask) {
  const Buffer<unsigned> out(64);
  const Fault f = fault_of<not_in_own_mask>(1, 64, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_GE(f.threads[0] % 32, 16u);
  EXPECT_TRUE(says(f, "is not in the mask 0x0000ffff that it passes")) << f.what();
}

__global__ void value_before_mask(unsigned* out) { out[threadIdx.x] = __shfl_down_sync(threadIdx.x & 0u, ~0u, 1); }

TEST_P(SimWarps, AValueThatIsPassedForTheMask) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<value_before_mask>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  EXPECT_TRUE(says(f, "is not in the mask 0x00000000 that it passes: the mask comes first, then the value"))
      << f.what();
}

__global__ void masks_disagree(unsigned* out) {
  out[threadIdx.x] = __shfl_sync(threadIdx.x < 16 ? 0xffffffffu : 0xffff0001u, threadIdx.x, 20);
}

TEST_P(SimWarps, MasksDisagree) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<masks_disagree>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  EXPECT_EQ(f.kernel, "masks_disagree");
  EXPECT_TRUE(says(f, "a shuffle with mask 0xffff0001")) << f.what();
  EXPECT_TRUE(says(f, "a shuffle with mask 0xffffffff")) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads, Threads{16});
  }
}

__global__ void half_joins_nobody(unsigned* out) {
  const unsigned mask = threadIdx.x < 16 ? 0xffffffffu : 0xffff0000u;
  out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 20);
}

TEST_P(SimWarps, MaskNamesLanesThatNeverCome) {
  const Buffer<unsigned> out(32);
  run<half_joins_nobody>(1, 32, 0, out.ptr());  // they return, so nobody waits for them
  EXPECT_EQ(on_host(out)[16], 20u);
  EXPECT_EQ(on_host(out)[0], ~0u);
  const std::string why = sim::undefined_shuffles();
  EXPECT_NE(why.find("first to block 0, thread 0: lane 20 has returned"), std::string::npos) << why;
}

__global__ void operations_disagree() {
  if (threadIdx.x % 2)
    __syncwarp();
  else
    __reduce_add_sync(0xffffffffu, 1u);
}

TEST_P(SimWarps, WarpOperationsDisagree) {
  const Fault f = fault_of<operations_disagree>(1, 32, 0);
  EXPECT_EQ(f.kind, FaultKind::warp_mask) << f.what();
  EXPECT_TRUE(says(f, "__syncwarp with mask 0xffffffff")) << f.what();
  EXPECT_TRUE(says(f, "__reduce_add_sync with mask 0xffffffff")) << f.what();
}

__global__ void shuffle_after_return(unsigned* out) {
  if (threadIdx.x >= 50) return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, threadIdx.x, 1);
}

/// All lanes but those of a mask are gone; the others meet by masks that name all, and exchange through memory.
__global__ void meet_after_return(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  const unsigned t = threadIdx.x;
  if (t % 4 == 3) return;
  s[t] = t;
  __syncwarp();
  out[t] = s[t ^ 32 ^ 32 ^ (t % 4 == 2 ? 2 : t % 4 == 0 ? 2 : 0)];
  out[64 + t] = __reduce_add_sync(~0u, 1u) + 100 * __ballot_sync(~0u, 1) + 10000u * (__all_sync(~0u, 1) != 0);
}

// CUDA: all lanes in the mask that have not returned take part.
TEST_P(SimWarps, LanesThatHaveReturnedAreNotWaitedFor) {
  const auto out = zeros<unsigned>(128);
  run<shuffle_after_return>(1, 64, 0, out.ptr());
  const auto shuffled = on_host(out);
  EXPECT_EQ(shuffled[48], 49u);
  EXPECT_EQ(shuffled[49], ~0u) << "its source has returned";
  const std::string why = sim::undefined_shuffles();
  EXPECT_NE(why.find("thread 49: lane 18 has returned"), std::string::npos) << why;
  run<meet_after_return>(1, 64, 64 * 4, out.ptr());
  const auto met = on_host(out);
  for (const unsigned t : {0u, 1u, 2u, 40u, 62u}) {
    EXPECT_EQ(met[t], t % 4 == 1 ? t : t ^ 2) << t;
    EXPECT_EQ(met[64 + t], 24 + 100 * 0x77777777u + 10000) << t;
  }
}

}  // namespace
}  // namespace reductio::sim_tests
