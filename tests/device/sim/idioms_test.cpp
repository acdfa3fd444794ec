// The idioms of CUDA that device/kernel.h carries, on the simulated device: what they give, in every order, and the
// faults of those that can be used wrongly.

#include "tests/device/idioms.h"

#include <numeric>

#include "device/wide.h"
#include "tests/device/groups.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

static_assert(std::is_same_v<decltype(cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block())),
                             cooperative_groups::thread_block_tile<32, cooperative_groups::thread_block>>);

class SimIdioms : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimIdioms, testing::ValuesIn(all_orders), order_name);

/// What each of the 64 threads found wrong.
std::vector<unsigned> wrong_of(void (*start)(const Launch&, unsigned*)) {
  std::vector<unsigned> words(128);
  std::iota(words.begin() + 64, words.end(), 0u);
  const auto wrong = on_device(words);
  start({1, 64, idioms::shared_bytes, nullptr}, wrong.ptr());
  sim::synchronize({});
  std::vector<unsigned> found = on_host(wrong);
  found.resize(64);
  return found;
}

TEST_P(SimIdioms, DoAsCudaSays) {
  for (const idioms::Idiom& idiom : idioms::kernels) {
    SCOPED_TRACE(idiom.name);
    EXPECT_EQ(wrong_of(idiom.start), std::vector<unsigned>(64));
  }
  EXPECT_EQ(wrong_of(idioms::groups_kernel.start), std::vector<unsigned>(64));
  EXPECT_EQ(wrong_of(launch<idioms::planted>), std::vector<unsigned>(64, 2u));
}

// ---------------------------------------------------------------------------------------------------- faults

__global__ void part_of_a_tile(unsigned* out) {
  const auto tile = cooperative_groups::tiled_partition<8>(cooperative_groups::this_thread_block());
  if (threadIdx.x != 11) out[threadIdx.x] = cooperative_groups::reduce(tile, 1u, cooperative_groups::plus<unsigned>());
}
__global__ void a_large_tile_without_memory() {
  cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block()).sync();
}
__global__ void a_tile_of_24() {
  cooperative_groups::tiled_partition(cooperative_groups::this_thread_block(), 24).sync();
}
/// A tile's barrier, where the block's is needed.
__global__ void beside_its_tile(unsigned* out) {
  __shared__ cooperative_groups::block_tile_memory<128> memory;
  __shared__ unsigned s[128];
  const auto tile = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block(memory));
  s[threadIdx.x] = 1;
  tile.sync();
  out[threadIdx.x] = s[127 - threadIdx.x];
}
__global__ void part_of_a_block() {
  if (threadIdx.x != 11) cooperative_groups::this_thread_block().sync();
}

TEST_P(SimIdioms, GroupsAreOfTheirThreadsThatHaveNotReturned) {
  const Buffer<unsigned> out(32);
  run<part_of_a_tile>(1, 32, 0, out.ptr());
  const std::string tile = sim::undefined_shuffles();
  EXPECT_NE(tile.find("lane 11 has returned"), std::string::npos) << tile;
  EXPECT_NE(tile.find("idioms_test.cpp:"), std::string::npos) << tile;
  run<part_of_a_block>(1, 32, 0);
}

__global__ void votes_disagree() {
  if (threadIdx.x % 2)
    __any_sync(0xffffffffu, 1);
  else
    __all_sync(0xffffffffu, 1);
}
__global__ void vote_without_the_voter() { __ballot_sync(1u, 1); }
__global__ void vote_of_the_absent(unsigned* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

TEST_P(SimIdioms, VotesAreWarpOperations) {
  const Fault mixed = fault_of<votes_disagree>(1, 32, 0);
  EXPECT_EQ(mixed.kind, FaultKind::warp_mask) << mixed.what();
  EXPECT_TRUE(says(mixed, "__any_sync with mask 0xffffffff")) << mixed.what();
  EXPECT_TRUE(says(mixed, "__all_sync with mask 0xffffffff")) << mixed.what();
  EXPECT_EQ(fault_of<vote_without_the_voter>(1, 32, 0).kind, FaultKind::warp_mask);
  const Buffer<unsigned> out(16);
  run<vote_of_the_absent>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out)[3], 0xffffu) << "who has returned casts no vote";
}

__global__ void matches_disagree() {
  int alike = 0;
  if (threadIdx.x % 2)
    __match_any_sync(0xffffffffu, 1);
  else
    __match_all_sync(0xffffffffu, 1, &alike);
}
__global__ void match_without_the_matcher() { __match_any_sync(1u, 1); }
/// Who has returned takes no part.
__global__ void matches_of_those_who_stay(unsigned* out) {
  if (threadIdx.x >= 4) return;
  int alike = 0;
  out[threadIdx.x] = __match_any_sync(0xffffffffu, threadIdx.x % 2) | __match_all_sync(0xffffffffu, 1, &alike) << 16;
}
__global__ void matches_in_part_of_a_warp(unsigned* out) {
  int alike = 0;
  out[threadIdx.x] = __match_any_sync(0xffffffffu, threadIdx.x % 2) | __match_all_sync(0xffffffffu, 1, &alike) << 16;
}

TEST_P(SimIdioms, MatchesAreWarpOperations) {
  const Fault mixed = fault_of<matches_disagree>(1, 32, 0);
  EXPECT_EQ(mixed.kind, FaultKind::warp_mask) << mixed.what();
  EXPECT_TRUE(says(mixed, "__match_any_sync with mask 0xffffffff")) << mixed.what();
  EXPECT_TRUE(says(mixed, "__match_all_sync with mask 0xffffffff")) << mixed.what();
  EXPECT_EQ(fault_of<match_without_the_matcher>(1, 32, 0).kind, FaultKind::warp_mask);
  const Buffer<unsigned> out(4);
  const std::vector<unsigned> of_four{0xf0005, 0xf000a, 0xf0005, 0xf000a};
  run<matches_in_part_of_a_warp>(1, 4, 0, out.ptr());
  EXPECT_EQ(on_host(out), of_four);
  run<matches_of_those_who_stay>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out), of_four);
}

__global__ void matched_without_barrier(unsigned* out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = threadIdx.x;
  __match_any_sync(0xffffffffu, threadIdx.x);  // orders nothing in memory
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}

TEST_P(SimIdioms, AMatchIsNoBarrier) {
  const Buffer<unsigned> out(32);
  const Fault f = fault_of<matched_without_barrier>(1, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
}

__global__ void asserts(unsigned* p) {
  if (threadIdx.x == 5) assert(p[0] == 1 && "one, two");
}
__global__ void traps() {
  if (threadIdx.x == 5) __trap();
}

TEST_P(SimIdioms, AnAssertionThatDoesNotHoldIsAFault) {
  const auto one = on_device<unsigned>({1}), two = on_device<unsigned>({2});
  run<asserts>(2, 32, 0, one.ptr());
  const Fault f = fault_of<asserts>(1, 32, 0, two.ptr());
  EXPECT_EQ(f.kind, FaultKind::stopped) << f.what();
  EXPECT_EQ(f.threads, Threads{5});
  EXPECT_TRUE(says(f, R"(assert(p[0] == 1 && "one, two") does not hold)")) << f.what();
  EXPECT_TRUE(says(f, "idioms_test.cpp:")) << f.what();
  const Fault trapped = fault_of<traps>(1, 32, 0);
  EXPECT_EQ(trapped.kind, FaultKind::stopped) << trapped.what();
  EXPECT_TRUE(says(trapped, "__trap()")) << trapped.what();
}

/// Waits for a flag as code of today does.
__global__ void sleeps_until_told(unsigned* flag) {
  if (blockIdx.x == 0)
    while (load_acquire(flag) == 0) __nanosleep(100);
  else
    store_release(flag, 1u);
}
__global__ void sleeps_for_ever(unsigned* flag) {
  while (load_acquire(flag) == 0) __nanosleep(100);
}

TEST_P(SimIdioms, SleepingIsNoProgress) {
  run<sleeps_until_told>(2, 1, 0, zeros<unsigned>(1).ptr());
  EXPECT_EQ(fault_of<sleeps_for_ever>(2, 32, 0, zeros<unsigned>(1).ptr()).kind, FaultKind::endless_wait);
}

/// By CUDA's names, as an element is loaded and widened.
__global__ void halves(const __half* in, const __nv_bfloat16* wide_in, float* out) {
  const __half h = in[threadIdx.x];
  out[threadIdx.x] = __half2float(h) + __bfloat162float(wide_in[threadIdx.x]);
  out[threadIdx.x + 2] = __half2float(__float2half(0.1f)) + float(__float2bfloat16(256.5f));
}

TEST_P(SimIdioms, FloatsOf16BitsAreWidened) {
  const auto in = on_device<unsigned>({0xc0003c00u}), wide_in = on_device<unsigned>({0x40003f80u});
  const Buffer<float> out(4);
  run<halves>(1, 2, 0, reinterpret_cast<const __half*>(static_cast<const unsigned*>(in.ptr())),
              reinterpret_cast<const __nv_bfloat16*>(static_cast<const unsigned*>(wide_in.ptr())), out.ptr());
  const float tenth = 0x1.998p-4f;
  EXPECT_EQ(on_host(out), (std::vector<float>{1 + 1, -2 + 2, tenth + 256, tenth + 256}));
}

TEST_P(SimIdioms, LargeTilesWaitInMemoryAndForTheirOwnWarps) {
  const Fault bare = fault_of<a_large_tile_without_memory>(1, 64, 0);
  EXPECT_TRUE(says(bare, "of a block made by this_thread_block(memory)")) << bare.what();
  const Fault odd = fault_of<a_tile_of_24>(1, 64, 0);
  EXPECT_EQ(odd.kind, FaultKind::warp_mask) << odd.what();
  const Buffer<unsigned> out(128);
  const Fault race = fault_of<beside_its_tile>(1, 128, 0, out.ptr());
  EXPECT_EQ(race.kind, FaultKind::race) << race.what();
}

__global__ void assumes_a_whole_group(unsigned* out) {
  const auto here = cooperative_groups::coalesced_threads();
  const unsigned sum = cooperative_groups::reduce(here, 1u, cooperative_groups::plus<unsigned>());
  if (threadIdx.x == 0) out[0] = sum;
}

TEST_P(SimIdioms, CoalescedThreadsPromiseTheCallerAlone) {
  const Buffer<unsigned> out(1);
  run<assumes_a_whole_group>(1, 32, 0, out.ptr());
  EXPECT_NE(on_host(out)[0], 32u);
}

__global__ void counts_and_waits() {
  if (threadIdx.x < 8)
    __syncthreads_count(1);
  else
    __syncthreads();
}
TEST_P(SimIdioms, CountingBarriersAreBarriers) {
  const Fault mixed = fault_of<counts_and_waits>(1, 32, 0);
  EXPECT_EQ(mixed.kind, FaultKind::divergent_barrier) << mixed.what();
  EXPECT_TRUE(says(mixed, "(__syncthreads_count)")) << mixed.what();
}

/// Sums a warp over the lanes that happen to be together: CUDA does not say that these are all of them.
__global__ void sums_whoever_is_here(unsigned* out) {
  const unsigned mask = __activemask();
  const unsigned sum = __reduce_add_sync(mask, 1u);
  if (threadIdx.x == 0) out[0] = sum;
}
/// Counts by whoever is here, one atomic for all of them, which is right whoever they are.
__global__ void counts_together(unsigned* out) {
  const unsigned mask = __activemask();
  if (__ffs(static_cast<int>(mask)) - 1 == static_cast<int>(threadIdx.x % 32)) atomicAdd(out, unsigned(__popc(mask)));
}

TEST_P(SimIdioms, ActivemaskPromisesTheCallerAlone) {
  const auto out = zeros<unsigned>(1), count = zeros<unsigned>(1);
  run<sums_whoever_is_here>(1, 32, 0, out.ptr());
  EXPECT_NE(on_host(out)[0], 32u);
  run<counts_together>(3, 64, 0, count.ptr());
  EXPECT_EQ(on_host(count)[0], 192u);
}

__global__ void waits_for_a_lock(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
}
__global__ void waits_by_exchanging(int* lock) {
  while (atomicExch(lock, 1) != 0) {
  }
}
__global__ void waits_for_a_bit(unsigned* bits) {
  while (!(atomicOr(bits, 0u) & 4)) {
  }
}

TEST_P(SimIdioms, AtomicsThatChangeNothingAreWaits) {
  const auto lock = on_device<int>({1});
  // Two threads: each may update 400,000 times in vain before the wait counts as endless.
  EXPECT_EQ(fault_of<waits_for_a_lock>(2, 1, 0, lock.ptr()).kind, FaultKind::endless_wait);
  EXPECT_EQ(fault_of<waits_by_exchanging>(2, 1, 0, lock.ptr()).kind, FaultKind::endless_wait);
  EXPECT_EQ(fault_of<waits_for_a_bit>(2, 1, 0, zeros<unsigned>(1).ptr()).kind, FaultKind::endless_wait);
}

/// One that finds what is there already is no wait, however often.
__global__ void maximum_of_many(unsigned* most) {
  for (unsigned i = 0; i < 20000; ++i) atomicMax(most, 3u);
}

TEST_P(SimIdioms, AMaximumThatIsThereAlreadyIsNoWait) {
  const auto most = on_device<unsigned>({7});
  run<maximum_of_many>(2, 4, 0, most.ptr());
  EXPECT_EQ(on_host(most)[0], 7u);
}

template <class T>
__global__ void sums(const T* in, double* out) {
  const T v = in[threadIdx.x];
  out[threadIdx.x] = v.x + v.y;
}
template <class T>
__global__ void casts(const float* in, float* out, std::size_t first) {
  const T* const v = reinterpret_cast<const T*>(in + first);
  if (!out) return;
  const T all = v[threadIdx.x];  // a member by itself is a load of that member alone
  if constexpr (sizeof(T) == 16)
    out[threadIdx.x] = all.x + all.y + all.z + all.w;
  else
    out[threadIdx.x] = all.x + all.y;
}
template <class T>
__global__ void writes(float* out) {
  reinterpret_cast<T*>(out)[threadIdx.x] = T{};
}

TEST_P(SimIdioms, EveryWordOfAVectorIsChecked) {
  const Buffer<float> in(7), out(8);
  const float* const view = in.ptr();
  const Fault unwritten = fault_of<casts<float4>>(1, 1, 0, view, out.ptr(), std::size_t{0});
  EXPECT_EQ(unwritten.kind, FaultKind::unwritten) << unwritten.what();
  zero(in.ptr(), 3, {});  // of the first four all but one
  EXPECT_EQ(fault_of<casts<float4>>(1, 1, 0, view, out.ptr(), std::size_t{0}).kind, FaultKind::unwritten);
  zero(in.ptr(), 7, {});
  run<casts<float4>>(1, 1, 0, view, out.ptr(), std::size_t{0});
  run<casts<float2>>(1, 3, 0, view, out.ptr(), std::size_t{0});
  run<casts<float2>>(1, 2, 0, view, out.ptr(), std::size_t{2});
  // Elements 4 to 6 make no four, 6 alone no two.
  const Fault past = fault_of<casts<float4>>(1, 2, 0, view, out.ptr(), std::size_t{0});
  EXPECT_EQ(past.kind, FaultKind::out_of_bounds) << past.what();
  EXPECT_TRUE(says(past, "element 1 of 1 elements of 16 bytes")) << past.what();
  EXPECT_EQ(fault_of<casts<float2>>(1, 4, 0, view, out.ptr(), std::size_t{0}).kind, FaultKind::out_of_bounds);
  EXPECT_EQ(fault_of<writes<float4>>(1, 2, 0, in.ptr()).kind, FaultKind::out_of_bounds);
}

TEST_P(SimIdioms, AVectorAtAnAddressThatIsNotItsOwn) {
  const auto in = zeros<float>(9);
  const Buffer<float> out(8);
  const float* const view = in.ptr();
  for (const std::size_t first : {1, 2, 3, 5}) {
    const Fault f = fault_of<casts<float4>>(1, 1, 0, view, out.ptr(), first);
    EXPECT_EQ(f.kind, FaultKind::misaligned) << f.what();
    EXPECT_TRUE(says(f, "uses an address that is not aligned to the 16 bytes that its type needs")) << f.what();
    run<casts<float4>>(1, 1, 0, view, static_cast<float*>(nullptr), first);  // a pointer that nobody follows is none
  }
  run<casts<float4>>(1, 2, 0, view, out.ptr(), std::size_t{0});
  run<casts<float2>>(1, 2, 0, view, out.ptr(), std::size_t{2});
}

TEST_P(SimIdioms, AnArrayOfVectorsFromTheHost) {
  const auto in = on_device<double2>({{1, 2}, {3, 4}});
  const Buffer<double> out(3);
  run<sums<double2>>(1, 2, 0, static_cast<const double2*>(in.ptr()), out.ptr());
  EXPECT_EQ(on_host(out)[1], 7);
  EXPECT_EQ(fault_of<sums<double2>>(1, 3, 0, static_cast<const double2*>(in.ptr()), out.ptr()).kind,
            FaultKind::out_of_bounds);
}

__global__ void past_the_array(unsigned n) {
  __shared__ float first[8];
  __shared__ float second[16];
  float* const p = first;  // of an index of `first` itself the compiler knows the size
  if (threadIdx.x < n) p[threadIdx.x] = second[threadIdx.x] = 1.0f;
}
__global__ void arrays_of_one_type(float* out) {
  __shared__ float first[8];
  __shared__ float second[8];
  first[threadIdx.x] = 1.0f;
  second[threadIdx.x] = 2.0f;
  out[threadIdx.x] = first[threadIdx.x];
}
__global__ void array_nobody_wrote(float* out) {
  __shared__ float s[8];
  out[0] = s[0];
}
__global__ void array_without_barrier(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = 1.0f;
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void too_much() {
  __shared__ double s[6144];
  s[0] = 1.0;
}

TEST_P(SimIdioms, SharedArrays) {
  for (const std::size_t dynamic : {0, 12, 40000}) {
    run<past_the_array>(3, 8, dynamic, 8u);
    const Fault past = fault_of<past_the_array>(1, 9, dynamic, 9u);
    EXPECT_EQ(past.kind, FaultKind::out_of_bounds) << past.what();
    EXPECT_TRUE(says(past, "writes 4 bytes at byte 32 of shared array first, which has 32 bytes")) << past.what();
  }
  const Buffer<float> out(32);
  run<arrays_of_one_type>(1, 8, 0, out.ptr());
  EXPECT_EQ(on_host(out)[7], 1.0f) << "each array has memory of its own";
  EXPECT_EQ(fault_of<array_nobody_wrote>(1, 1, 0, out.ptr()).kind, FaultKind::unwritten);
  const FaultKind early = fault_of<array_without_barrier>(1, 32, 0, out.ptr()).kind;
  EXPECT_TRUE(early == FaultKind::unwritten || early == FaultKind::race) << name(early);
  run<too_much>(1, 1, 0);
  const Fault much = fault_of<too_much>(1, 1, 16);
  EXPECT_EQ(much.kind, FaultKind::launch) << much.what();
  EXPECT_TRUE(says(much, "take 49168 bytes a block; 49152 are there")) << much.what();
}

/// The documents' last warp: volatile makes no order between lanes.
__global__ void last_warp_of_volatiles(unsigned* out) {
  __shared__ volatile unsigned s[64];
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 32)
    for (unsigned k = 32; k > 0; k /= 2) s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + k];
  if (threadIdx.x == 0) out[0] = s[0];
}

TEST_P(SimIdioms, VolatileIsAPlainAccess) {
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<last_warp_of_volatiles>(1, 64, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
}

}  // namespace
}  // namespace reductio::sim_tests
