// Correct kernels of every kind pass on the simulated device in each order, and mean what CUDA says they mean.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimKernels : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimKernels, testing::ValuesIn(all_orders), order_name);

template <class T>
__global__ void tree(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> s = shared_memory<T>();
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : T{0};
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

template <class T>
T tree_sum(const std::vector<T>& values, unsigned block) {
  const auto in = on_device(values);
  const std::size_t n = values.size(), grid = ceil_div(n, block);
  const Buffer<T> out(grid);
  run<tree<T>>(grid, block, block * sizeof(T), GlobalPtr<const T>(in.ptr()), out.ptr(), n);
  const auto partials = on_host(out);
  return std::accumulate(partials.begin(), partials.end(), T{0});
}

TEST_P(SimKernels, Tree) {
  for (const unsigned block : {1u, 2u, 32u, 64u, 512u, 1024u})
    for (const std::size_t n : {1u, 2u, 100u, 5000u}) {
      std::vector<unsigned> u(n);
      std::iota(u.begin(), u.end(), 0xfffffff0u);  // wraps
      EXPECT_EQ(tree_sum(u, block), std::accumulate(u.begin(), u.end(), 0u)) << block << ' ' << n;
      std::vector<double> d(n);
      std::iota(d.begin(), d.end(), 1.0);
      EXPECT_EQ(tree_sum(d, block), std::accumulate(d.begin(), d.end(), 0.0)) << block << ' ' << n;
    }
}

// ---------------------------------------------------------------------------------------------------- warps

template <class T>
__global__ void shuffles(GlobalPtr<T> down, GlobalPtr<T> across, GlobalPtr<T> from, int width) {
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

TEST_P(SimKernels, Shuffles) {
  for (const int width : {32, 16, 8, 4}) {
    shuffles_move_values<unsigned>(width);
    shuffles_move_values<float>(width);
    shuffles_move_values<double>(width);
  }
}

__global__ void small_block(GlobalPtr<float> out) {
  const float mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, mine, 4);
}

TEST_P(SimKernels, LanesThatTheBlockLacksGiveNoValue) {
  const Buffer<float> out(8);
  run<small_block>(1, 8, 0, out.ptr());
  const auto v = on_host(out);
  EXPECT_EQ(v[3], 7.0f);
  EXPECT_TRUE(std::isnan(v[4]));  // lane 8 is not there: CUDA leaves this undefined
}

__global__ void warp_sums(GlobalPtr<unsigned> u, GlobalPtr<int> i) {
  u[threadIdx.x] = __reduce_add_sync(0xffffffffu, 0xfffffff0u + threadIdx.x % 32);
  if (threadIdx.x % 2) i[threadIdx.x] = __reduce_add_sync(0xaaaaaaaau, -static_cast<int>(threadIdx.x % 32));
  else i[threadIdx.x] = __reduce_add_sync(0x55555555u, 1);
}

TEST_P(SimKernels, WarpReductionsOfSeveralMasksAtOnce) {
  const Buffer<unsigned> u(64);
  const Buffer<int> i(64);
  run<warp_sums>(1, 64, 0, u.ptr(), i.ptr());
  for (const unsigned t : {0u, 31u, 32u, 63u}) EXPECT_EQ(on_host(u)[t], 31u * 16 - 512);
  EXPECT_EQ(on_host(i)[5], -256);
  EXPECT_EQ(on_host(i)[6], 16);
}

__global__ void votes(GlobalPtr<int> out, unsigned who) {
  const int first = __syncthreads_or(threadIdx.x == who);
  const int second = __syncthreads_or(0);
  if (threadIdx.x == 77) {
    out[0] = first;
    out[1] = second;
  }
}

TEST_P(SimKernels, BarrierWithPredicate) {
  const Buffer<int> out(2);
  run<votes>(1, 96, 0, out.ptr(), 13u);
  EXPECT_NE(on_host(out)[0], 0);
  EXPECT_EQ(on_host(out)[1], 0);
  run<votes>(1, 96, 0, out.ptr(), 1000u);
  EXPECT_EQ(on_host(out)[0], 0);
}

// ---------------------------------------------------------------------------------------------------- between blocks

__global__ void last_block(GlobalPtr<const unsigned> in, GlobalPtr<unsigned> partials, GlobalPtr<unsigned> counter,
                           GlobalPtr<unsigned> out) {
  SharedPtr<unsigned> is_last = shared_memory<unsigned>();
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    is_last[0] = atomicInc(&counter[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last[0] && threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partials[b];
    out[0] = sum;
  }
}

TEST_P(SimKernels, LastBlockAddsUp) {
  const auto in = counting(300), counter = zeros<unsigned>(1);
  for (int call = 0; call < 3; ++call) {  // atomicInc wraps, so the counter is 0 again
    const Buffer<unsigned> partials(300), out(1);
    run<last_block>(300, 64, 4, GlobalPtr<const unsigned>(in.ptr()), partials.ptr(), counter.ptr(), out.ptr());
    EXPECT_EQ(on_host(out)[0], 299u * 300 / 2);
    EXPECT_EQ(on_host(counter)[0], 0u);
  }
}

__global__ void chained(GlobalPtr<unsigned> ticket, GlobalPtr<unsigned> sums, GlobalPtr<unsigned> flags) {
  SharedPtr<unsigned> shared = shared_memory<unsigned>();
  if (threadIdx.x == 0) shared[0] = atomicAdd(ticket, 1u);  // blocks may start in any order
  __syncthreads();
  const unsigned b = shared[0];
  if (threadIdx.x == 0) {
    unsigned before = 0;
    if (b > 0) {
      while (load_acquire(flags + (b - 1)) == 0) {
      }
      before = sums[b - 1];
    }
    sums[b] = before + b;
    __threadfence();
    store_release(flags + b, 1u);
  }
}

TEST_P(SimKernels, SpinningOnAnotherBlocksFlag) {
  const auto ticket = zeros<unsigned>(1), flags = zeros<unsigned>(500);
  const Buffer<unsigned> sums(500);
  run<chained>(500, 32, 4, ticket.ptr(), sums.ptr(), flags.ptr());
  EXPECT_EQ(on_host(sums)[499], 499u * 500 / 2);
}

__global__ void all_wait_for_the_last(GlobalPtr<unsigned> flag, GlobalPtr<unsigned> out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) store_release(flag, 7u);
  unsigned seen;
  while ((seen = load_acquire(flag)) == 0) {
  }
  out[i] = seen;
}

TEST_P(SimKernels, EveryResidentThreadMakesProgress) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> out(8 * 1024);
  run<all_wait_for_the_last>(8, 1024, 0, flag.ptr(), out.ptr());
  const auto seen = on_host(out);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 7u), 8 * 1024);
}

__global__ void rotates(GlobalPtr<unsigned> values, unsigned rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (unsigned r = 0; r < rounds; ++r) {
    const unsigned next = values[(i + 1) % n];
    grid_sync();
    values[i] = next;
    grid_sync();
  }
}

TEST_P(SimKernels, GridBarrier) {
  const auto values = counting(16 * 96);
  launch_cooperative<rotates>({16, 96, 0, {}}, values.ptr(), 5u);
  const auto v = on_host(values);
  for (unsigned i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], (i + 5) % v.size());
}

// ---------------------------------------------------------------------------------------------------- atomics, clocks

template <class T>
__global__ void add_ones(GlobalPtr<T> sum, GlobalPtr<T> shared_sum) {
  SharedPtr<T> s = shared_memory<T>();
  if (threadIdx.x == 0) s[0] = T{0};
  __syncthreads();
  atomicAdd(sum, T{1});
  atomicAdd(s, T{1});
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&shared_sum[0], s[0]);
}

template <class T>
void atomics_add_up() {
  const auto sum = zeros<T>(1), shared_sum = zeros<T>(1);
  run<add_ones<T>>(10, 96, sizeof(T), sum.ptr(), shared_sum.ptr());
  EXPECT_EQ(on_host(sum)[0], T(960));
  EXPECT_EQ(on_host(shared_sum)[0], T(960));
}

TEST_P(SimKernels, AtomicAdd) {
  atomics_add_up<unsigned>();
  atomics_add_up<int>();
  atomics_add_up<unsigned long long>();
  atomics_add_up<float>();
  atomics_add_up<double>();
}

__global__ void overflow(GlobalPtr<int> sum, GlobalPtr<unsigned> counter, GlobalPtr<unsigned> out) {
  atomicAdd(sum, std::numeric_limits<int>::max());
  out[0] = atomicInc(counter, 1u);
  out[1] = atomicInc(counter, 1u);
  out[2] = atomicInc(counter, 1u);
}

TEST_P(SimKernels, AtomicsWrap) {
  const auto sum = on_device<int>({std::numeric_limits<int>::max()});
  const auto counter = zeros<unsigned>(1);
  const Buffer<unsigned> out(3);
  run<overflow>(1, 1, 0, sum.ptr(), counter.ptr(), out.ptr());
  EXPECT_EQ(on_host(sum)[0], -2);
  EXPECT_EQ(on_host(out), (std::vector<unsigned>{0, 1, 0}));
}

__global__ void clocks(GlobalPtr<long long> out) {
  const long long a = clock64();
  const std::uint64_t g = globaltimer();
  __syncthreads();
  const std::uint64_t h = globaltimer();
  out[threadIdx.x] = clock64() - a;
  if (threadIdx.x == 0) out[blockDim.x] = static_cast<long long>(h - g);
}

TEST_P(SimKernels, ClocksGoForward) {
  const Buffer<long long> out(65);
  run<clocks>(1, 64, 0, out.ptr());
  for (const long long d : on_host(out)) EXPECT_GT(d, 0);
}

// ---------------------------------------------------------------------------------------------------- pointers

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

TEST_P(SimKernels, PointersBehaveLikePointers) {
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

// ---------------------------------------------------------------------------------------------------- orders

__global__ void write_down_who(GlobalPtr<unsigned> ticket, GlobalPtr<unsigned> who) {
  const unsigned n = atomicAdd(ticket, 1u);
  who[n] = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  const unsigned m = atomicAdd(ticket, 1u);
  who[m] = blockIdx.x * blockDim.x + threadIdx.x;
}

std::vector<unsigned> schedule(Order order, std::uint64_t seed, std::size_t grid = 6, unsigned block = 64) {
  sim::set_schedule(order, seed);
  const auto ticket = zeros<unsigned>(1);
  const Buffer<unsigned> who(2 * grid * block);
  run<write_down_who>(grid, block, 0, ticket.ptr(), who.ptr());
  sim::set_schedule(Order::forward);
  return on_host(who);
}

TEST(SimOrders, ForwardAndReverseAreWhatTheySay) {
  const auto forward = schedule(Order::forward, 1, 2, 3), reverse = schedule(Order::reverse, 1, 2, 3);
  EXPECT_EQ(forward, (std::vector<unsigned>{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(reverse, (std::vector<unsigned>{5, 4, 3, 5, 4, 3, 2, 1, 0, 2, 1, 0}));
}

TEST(SimOrders, TheSameSeedGivesTheSameSchedule) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 1000u}) {
    EXPECT_EQ(schedule(Order::random, seed), schedule(Order::random, seed)) << seed;
    EXPECT_EQ(schedule(Order::random, seed, 300, 32), schedule(Order::random, seed, 300, 32)) << seed;
  }
  std::set<std::vector<unsigned>> distinct;
  for (std::uint64_t seed = 0; seed < 20; ++seed) distinct.insert(schedule(Order::random, seed));
  EXPECT_EQ(distinct.size(), 20u);
  EXPECT_EQ(schedule(Order::forward, 1), schedule(Order::forward, 2)) << "only the random order reads the seed";
}

TEST(SimOrders, RandomInterleavesBlocks) {
  const auto who = schedule(Order::random, 5);
  std::size_t changes = 0;
  for (std::size_t i = 1; i < who.size(); ++i) changes += who[i] / 64 != who[i - 1] / 64;
  EXPECT_GT(changes, who.size() / 2);
}

__global__ void count_blocks(GlobalPtr<unsigned> runs, GlobalPtr<unsigned> ticket, GlobalPtr<unsigned> order) {
  atomicAdd(runs + blockIdx.x, 1u);
  const unsigned n = atomicAdd(ticket, 1u);
  order[n] = blockIdx.x;
}

TEST(SimOrders, RandomStartsEachBlockOnce) {
  for (const std::size_t grid : {1u, 2u, 3u, 127u, 128u, 129u, 1000u}) {
    sim::set_schedule(Order::random, grid);
    const auto runs = zeros<unsigned>(grid), ticket = zeros<unsigned>(1);
    const Buffer<unsigned> order(grid);
    run<count_blocks>(grid, 1, 0, runs.ptr(), ticket.ptr(), order.ptr());
    EXPECT_EQ(on_host(runs), std::vector<unsigned>(grid, 1)) << grid;
    if (grid == 1000) {
      // Of the first hundred, blocks of the second half too: the order of starting is mixed, not only of going on.
      const auto first = on_host(order);
      EXPECT_GT(std::count_if(first.begin(), first.begin() + 100, [](unsigned b) { return b >= 500; }), 20);
    }
  }
  sim::set_schedule(Order::forward);
}

}  // namespace
}  // namespace reductio::sim_tests
