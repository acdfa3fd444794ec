// Waits for other threads by polling: those that end, and those that never would.

#include <algorithm>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimWaits : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimWaits, testing::ValuesIn(all_orders), order_name);

__global__ void last_block(const unsigned* in, unsigned* partials, unsigned* counter, unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* is_last = reinterpret_cast<unsigned*>(raw);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    is_last[0] = atomicInc(&counter[0], gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last[0] && threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partials[b];
    out[0] = sum;
  }
}

TEST_P(SimWaits, LastBlockAddsUp) {
  const auto in = counting(300), counter = zeros<unsigned>(1);
  for (int call = 0; call < 3; ++call) {  // atomicInc wraps, so the counter is 0 again
    const Buffer<unsigned> partials(300), out(1);
    run<last_block>(300, 64, 4, static_cast<const unsigned*>(in.ptr()), partials.ptr(), counter.ptr(), out.ptr());
    EXPECT_EQ(on_host(out)[0], 299u * 300 / 2);
    EXPECT_EQ(on_host(counter)[0], 0u);
  }
}

__global__ void chained(unsigned* ticket, unsigned* sums, unsigned* flags) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* shared = reinterpret_cast<unsigned*>(raw);
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

TEST_P(SimWaits, SpinningOnAnotherBlocksFlag) {
  const auto ticket = zeros<unsigned>(1), flags = zeros<unsigned>(500);
  const Buffer<unsigned> sums(500);
  run<chained>(500, 32, 4, ticket.ptr(), sums.ptr(), flags.ptr());
  EXPECT_EQ(on_host(sums)[499], 499u * 500 / 2);
}

__global__ void all_wait_for_the_last(unsigned* flag, unsigned* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1) store_release(flag, 7u);
  unsigned seen;
  while ((seen = load_acquire(flag)) == 0) {
  }
  out[i] = seen;
}

TEST_P(SimWaits, EveryResidentThreadMakesProgress) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> out(8 * 1024);
  run<all_wait_for_the_last>(8, 1024, 0, flag.ptr(), out.ptr());
  const auto seen = on_host(out);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 7u), 8 * 1024);
}

// ---------------------------------------------------------------------------------------------------- faults

/// Words that arrive one by one, all looked at in one loop.
__global__ void waits_for_four(unsigned* flags, unsigned* out, unsigned senders) {
  if (blockIdx.x < gridDim.x - 1) {
    if (blockIdx.x < senders) store_relaxed(flags + blockIdx.x, blockIdx.x + 1);
    return;
  }
  unsigned a, b, c, d;
  do {
    a = load_relaxed(flags), b = load_relaxed(flags + 1), c = load_relaxed(flags + 2), d = load_relaxed(flags + 3);
  } while (!a || !b || !c || !d);
  out[threadIdx.x] = a + b + c + d;
}

TEST_P(SimWaits, ForSeveralWordsInTurn) {
  const auto flags = zeros<unsigned>(4);
  const Buffer<unsigned> out(40);
  run<waits_for_four>(5, 40, 0, flags.ptr(), out.ptr(), 4u);
  EXPECT_EQ(on_host(out), std::vector<unsigned>(40, 10));
  const Fault f = fault_of<waits_for_four>(5, 40, 0, zeros<unsigned>(4).ptr(), out.ptr(), 3u);
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
}

__global__ void wait_for_flag(unsigned* flag, unsigned* out, unsigned producer_sets) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    if (producer_sets) store_release(flag, 1u);
  } else {
    while (load_acquire(flag) == 0) {
    }
    out[blockIdx.x] = 1;
  }
}
constexpr int line_of_poll = __LINE__ - 5;

TEST_P(SimWaits, LostWakeUpBetweenBlocks) {
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> out(4);
  const Fault f = fault_of<wait_for_flag>(4, 64, 0, flag.ptr(), out.ptr(), 0u);
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_EQ(f.kernel, "wait_for_flag");
  EXPECT_NE(f.block, 0u);
  EXPECT_EQ(f.threads, Threads{0});
  EXPECT_EQ(f.line, line_of_poll);
  EXPECT_TRUE(says(f, "thread 0 polls at tests/device/sim/waiting_test.cpp:" + std::to_string(line_of_poll)))
      << f.what();
  EXPECT_TRUE(says(f, "2 more blocks wait")) << f.what();
  run<wait_for_flag>(4, 64, 0, flag.ptr(), out.ptr(), 1u);
}

__global__ void producer_with_a_branch(const unsigned* in, unsigned* values, unsigned* flags, unsigned* out) {
  const unsigned b = blockIdx.x;
  if (threadIdx.x == 0) {
    const unsigned value = in[b];
    if (value % 2 == 1) {
      values[b] = value;
      __threadfence();
      store_release(flags + b, 1u);
    } else if (value != 6) {  // forgets the flag of this one value
      store_release(flags + b, 2u);
    }
    if (b > 0) {
      while (load_acquire(flags + (b - 1)) == 0) {
      }
    }
    out[b] = 1;
  }
}

TEST_P(SimWaits, ProducerForgetsTheFlagInOneBranch) {
  const auto attempt = [&](unsigned third) {
    const auto in = on_device<unsigned>({1, 2, third, 5, 7});
    const auto flags = zeros<unsigned>(5);
    const Buffer<unsigned> values(5), out(5);
    launch<producer_with_a_branch>({5, 32, 0, {}}, static_cast<const unsigned*>(in.ptr()), values.ptr(), flags.ptr(),
                                   out.ptr());
    sim::synchronize({});
  };
  EXPECT_NO_THROW(attempt(4));
  try {
    attempt(6);
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
    EXPECT_EQ(f.block, 3u) << f.what();
    EXPECT_EQ(f.threads, Threads{0});
  }
}

__global__ void waits_for_its_successor(unsigned* flags) {
  if (blockIdx.x + 1 < gridDim.x) {
    while (load_acquire(flags + (blockIdx.x + 1)) == 0) {
    }
  }
  store_release(flags + blockIdx.x, 1u);
}

TEST(SimWaitsForward, WaitForABlockThatDoesNotFit) {
  sim::set_schedule(Order::forward);
  const auto fits = zeros<unsigned>(192);
  EXPECT_NO_THROW(run<waits_for_its_successor>(192, 1, 0, fits.ptr()));
  const auto flags = zeros<unsigned>(264);
  const Fault f = fault_of<waits_for_its_successor>(264, 1, 0, flags.ptr());
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_TRUE(says(f, "72 blocks have not started, since only 192 fit at once")) << f.what();
}

__global__ void polls_by_adding_nothing(unsigned* flag) {
  while (atomicAdd(flag, 0u) == 0) {
  }
}

TEST_P(SimWaits, PollingByAtomics) {
  const auto flag = zeros<unsigned>(1);
  EXPECT_EQ(fault_of<polls_by_adding_nothing>(2, 32, 0, flag.ptr()).kind, FaultKind::endless_wait);
}

__global__ void polls_by_plain_reads(unsigned* flag) {
  while (flag[0] == 0) {
  }
}

TEST(SimWaitsForward, PollingByPlainReads) {
  const auto flag = zeros<unsigned>(1);
  const Fault f = fault_of<polls_by_plain_reads>(1, 1, 0, flag.ptr());
  EXPECT_EQ(f.kind, FaultKind::endless_wait) << f.what();
  EXPECT_TRUE(says(f, "load_acquire")) << f.what();
}

}  // namespace
}  // namespace reductio::sim_tests
