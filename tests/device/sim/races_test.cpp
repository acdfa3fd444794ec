// Two threads of a block that touch a word, one of them writing, with no barrier between.

#include "device/sim/records.h"
#include "tests/device/sim/support.h"
#include "tests/error_of.h"

namespace reductio::sim_tests {
namespace {

class SimRaces : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimRaces, testing::ValuesIn(all_orders), order_name);

__global__ void tree_without_barriers(const unsigned* in, unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k /= 2)
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

TEST_P(SimRaces, MissingBlockBarrierIsARace) {
  const auto in = counting(256);
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<tree_without_barriers>(1, 256, 256 * 4, static_cast<const unsigned*>(in.ptr()), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "tree_without_barriers");
  EXPECT_EQ(f.block, 0u);
  ASSERT_EQ(f.threads.size(), 1u);
  EXPECT_TRUE(says(f, "the block's last barrier: tests/device/sim/races_test.cpp:")) << f.what();
  if (GetParam() == Order::forward) {
    // Thread 0 goes through all levels and reads word 1; then thread 1 begins its first.
    EXPECT_EQ(f.threads[0], 1u);
    EXPECT_TRUE(
        says(f,
             "writes byte 4 of the block's shared memory, which thread 0 read "
             "(tests/device/sim/races_test.cpp:19:41) with no barrier between"))
        << f.what();
  } else if (GetParam() == Order::reverse) {
    // Threads 127 ... 64 have one level each; thread 63 has two.
    EXPECT_EQ(f.threads[0], 63u);
    EXPECT_TRUE(
        says(f,
             "reads byte 508 of the block's shared memory, which thread 127 wrote "
             "(tests/device/sim/races_test.cpp:19:41) with no barrier between"))
        << f.what();
  }
}

__global__ void exchange_without_barrier(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST_P(SimRaces, BarrierMissingAfterTheFirstStore) {
  const Buffer<unsigned> out(128);
  const Fault f = fault_of<exchange_without_barrier>(1, 128, 128 * 4, out.ptr());
  // Also where who reads first finds nothing: another thread still writes it.
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_EQ(f.kernel, "exchange_without_barrier");
  EXPECT_TRUE(says(f, "with no barrier between")) << f.what();
}

__global__ void two_writers(unsigned* out) {
  if (threadIdx.x == 3 || threadIdx.x == 70) out[1] = 5;
}

TEST_P(SimRaces, TwoWritersOfOneWord) {
  const Buffer<unsigned> out(2);
  const Fault f = fault_of<two_writers>(1, 96, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  const bool low_first = says(f, "which thread 3 wrote");
  EXPECT_EQ(f.threads, Threads{low_first ? 70u : 3u}) << f.what();
  EXPECT_TRUE(low_first || says(f, "which thread 70 wrote")) << f.what();
}

__global__ void zero_beside_atomics(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  if (threadIdx.x == 0) s[0] = 0;
  // The barrier that belongs here is missing.
  atomicAdd(s, 1u);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = s[0];
}

TEST_P(SimRaces, AtomicsRaceWithAPlainStore) {
  const Buffer<unsigned> out(1);
  const Fault f = fault_of<zero_beside_atomics>(1, 64, 4, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_EQ(f.threads, Threads{1});
  }
}

__global__ void read_while_others_add(unsigned* sum, unsigned* out) {
  atomicAdd(sum, 1u);
  if (threadIdx.x == 40) out[0] = sum[0];
}

TEST_P(SimRaces, PlainReadBesideAtomics) {
  const auto sum = zeros<unsigned>(1);
  const Buffer<unsigned> out(1);
  EXPECT_EQ(fault_of<read_while_others_add>(1, 64, 0, sum.ptr(), out.ptr()).kind, FaultKind::race);
}

__global__ void all_read_one_writes(unsigned* p, unsigned* out) {
  out[threadIdx.x] = p[0];
  if (threadIdx.x == 64) p[0] = 1;
}

TEST_P(SimRaces, WriteWhereSeveralWarpsRead) {
  const auto p = zeros<unsigned>(1);
  const Buffer<unsigned> out(128);
  const Fault f = fault_of<all_read_one_writes>(1, 128, 0, p.ptr(), out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  if (GetParam() == Order::forward) {
    EXPECT_TRUE(says(f, "threads of several warps read")) << f.what();
  }
}

__global__ void half_warps(unsigned* out, unsigned wrong) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  const unsigned t = threadIdx.x, half = t < 16 ? 0x0000ffffu : 0xffff0000u;
  s[t] = t;
  __syncwarp(half);  // orders each half within itself
  out[t] = s[t ^ wrong];
}

TEST_P(SimRaces, WarpBarrierOrdersOnlyTheLanesItNames) {
  const Buffer<unsigned> out(32);
  run<half_warps>(1, 32, 32 * 4, out.ptr(), 15u);
  EXPECT_EQ(on_host(out)[3], 12u);
  EXPECT_EQ(fault_of<half_warps>(1, 32, 32 * 4, out.ptr(), 16u).kind, FaultKind::race);
}

/// Thread 40 reads what thread 3 of the same block, or one of the other block, writes with nothing between; or behind
/// the next barrier.
__global__ void reads_too_early(unsigned* p, unsigned* out, unsigned block, bool behind) {
  if (blockIdx.x == 0 && threadIdx.x == 40) out[0] = p[0];
  if (behind) __syncthreads();
  if (blockIdx.x == block && threadIdx.x == 3) p[0] = 1;
}

TEST_P(SimRaces, ReadOfWhatAnotherThreadStillWrites) {
  const Buffer<unsigned> out(1);
  for (const unsigned block : {0u, 1u}) {
    const Buffer<unsigned> fresh(1);
    const Fault f = fault_of<reads_too_early>(2, 64, 0, fresh.ptr(), out.ptr(), block, false);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
    EXPECT_TRUE(says(f, "thread 40 read") || says(f, "thread 3 wrote")) << f.what();
  }
  const Buffer<unsigned> fresh(1);
  const Fault f = fault_of<reads_too_early>(1, 64, 0, fresh.ptr(), out.ptr(), 0u, true);
  EXPECT_EQ(f.kind, FaultKind::unwritten) << "the barrier stands between: " << f.what();
  EXPECT_EQ(f.threads, Threads{40});
}

/// Every thread of `from` to `to` stores a value to one place of memory, at one line.
template <class Pointer>
__device__ void store_together(Pointer p, unsigned from, unsigned to, unsigned step) {
  const unsigned t = threadIdx.x;
  if (t >= from && t < to) p[0] = 7 + t * step;
}
__global__ void lanes_store(unsigned* out, unsigned to, unsigned step) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  store_together(s, 0, to, step);
  store_together(out, 0, to, step);
  __syncthreads();
  if (threadIdx.x == 50 && s[0] != 7) out[0] = 0;
}
__global__ void two_lines_store(unsigned* out) {
  if (threadIdx.x == 0) out[0] = 7;
  if (threadIdx.x == 1) out[0] = 7;
}
__global__ void lanes_store_and_one_reads(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  store_together(s, 0, 32, 0);
  if (threadIdx.x == 40) out[0] = s[0];
}

// CUDA: of the lanes that an instruction of a warp writes to one place for, one is the last, which one is not said.
TEST_P(SimRaces, LanesOfAWarpMayStoreOneValueTogether) {
  const Buffer<unsigned> out(1);
  run<lanes_store>(1, 64, 4, out.ptr(), 32u, 0u);
  EXPECT_EQ(on_host(out)[0], 7u);
  const Fault differ = fault_of<lanes_store>(1, 64, 4, out.ptr(), 32u, 1u);
  EXPECT_EQ(differ.kind, FaultKind::race) << differ.what();
  EXPECT_TRUE(says(differ, "; they store different values at one line, and either may stay: let one thread store it"))
      << differ.what();
  const char* const strict =
      "; both store the same value, which CUDA allows only for lanes of one warp at one line";
  const Fault warps = fault_of<lanes_store>(1, 64, 4, out.ptr(), 64u, 0u);
  EXPECT_EQ(warps.kind, FaultKind::race) << warps.what();
  EXPECT_TRUE(says(warps, strict)) << warps.what();
  const Fault blocks = fault_of<lanes_store>(2, 64, 4, out.ptr(), 1u, 0u);
  EXPECT_EQ(blocks.kind, FaultKind::race) << blocks.what();
  EXPECT_TRUE(says(blocks, strict)) << blocks.what();
  const Fault lines = fault_of<two_lines_store>(1, 32, 0, out.ptr());
  EXPECT_EQ(lines.kind, FaultKind::race) << lines.what();
  EXPECT_TRUE(says(lines, "; two lines store there: if they mean two arrays, these overlap")) << lines.what();
  EXPECT_EQ(fault_of<lanes_store_and_one_reads>(1, 64, 4, out.ptr()).kind, FaultKind::race);
}

__global__ void ordered_through_a_third(unsigned* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  unsigned* s = reinterpret_cast<unsigned*>(raw);
  const unsigned t = threadIdx.x;
  if (t == 0) s[0] = 42;
  if (t < 2) __syncwarp(0b011);
  if (t == 1 || t == 2) __syncwarp(0b110);
  if (t == 2) out[0] = s[0];  // 0 before 1 before 2
}

TEST_P(SimRaces, OrderPassesThroughAThirdLane) {
  const Buffer<unsigned> out(1);
  run<ordered_through_a_third>(1, 32, 4, out.ptr());
  EXPECT_EQ(on_host(out)[0], 42u);
}

/// Threads write neighbours in an array of small elements, in some order, and then one reads another's.
template <class T>
__global__ void neighbours(T* out, unsigned* result, unsigned writer, bool waits) {
  out[threadIdx.x] = static_cast<T>(threadIdx.x);
  if (waits) __syncthreads();
  if (threadIdx.x == 40) *result = static_cast<unsigned>(out[writer]);
}

template <class T>
void expect_neighbours_told_apart(std::size_t offset) {
  const Buffer<T> out(64 + 8);
  const Buffer<unsigned> result(1);
  T* const p = out.ptr() + offset;
  run<neighbours<T>>(1, 64, 0, p, result.ptr(), 33u, true);
  run<neighbours<T>>(1, 64, 0, p, result.ptr(), 40u, false);  // its own
  for (const unsigned writer : {33u, 34u, 35u, 36u, 39u, 41u}) {
    const Fault f = fault_of<neighbours<T>>(1, 64, 0, p, result.ptr(), writer, false);
    EXPECT_TRUE(f.kind == FaultKind::race || f.kind == FaultKind::unwritten) << f.what();
    const std::string other = std::to_string(f.threads == Threads{40} ? writer : 40);
    EXPECT_TRUE(says(f, "thread " + other + (other == "40" ? " read" : " wrote"))) << f.what();
  }
}

TEST_P(SimRaces, SmallElementsAreToldApart) {
  for (const std::size_t offset : {0, 1, 2, 3}) {
    expect_neighbours_told_apart<signed char>(offset);
    expect_neighbours_told_apart<short>(offset);
  }
}

__global__ void lane_by_lane(unsigned* p, unsigned readers) {
  const unsigned value = readers >> threadIdx.x % 32 & 1 ? *p : 0;
  if (threadIdx.x == 40) *p = value + 1;
}

/// Lanes of a warp read a word; all but one meet at a barrier, and then one of these writes.
__global__ void one_stays_away(unsigned* p, unsigned readers, unsigned away, unsigned writer) {
  const unsigned lane = threadIdx.x;
  const unsigned value = readers >> lane & 1 ? *p : 0;
  if (lane == away) return;
  __syncwarp(~(1u << away));
  if (lane == writer) *p = value + 1;
}

TEST_P(SimRaces, EachReadingLaneIsKept) {
  const auto p = zeros<unsigned>(1);
  for (const unsigned readers : {1u, 0x80u, 0xf0u, 0xfu, 0x10001u, 0xffff00ffu, ~0u, ~1u}) {
    const Fault f = fault_of<lane_by_lane>(1, 32 + 9, 0, p.ptr(), readers);
    EXPECT_EQ(f.kind, FaultKind::race) << f.what();
    for (unsigned away = 0; away < 32; ++away) {
      const unsigned writer = away == 31 ? 0 : 31;
      if (!(readers >> away & 1)) {
        run<one_stays_away>(1, 32, 0, p.ptr(), readers, away, writer);
        continue;
      }
      // The others' reads are ordered: this lane's alone is not.
      const Fault other = fault_of<one_stays_away>(1, 32, 0, p.ptr(), readers, away, writer);
      EXPECT_EQ(other.kind, FaultKind::race) << other.what();
      if (GetParam() == Order::random) continue;  // it may read after the barrier, and then more lanes are named
      EXPECT_TRUE(says(other, "thread " + std::to_string(away) + " read") || other.threads == Threads{away})
          << other.what();
    }
  }
  run<lane_by_lane>(1, 41, 0, p.ptr(), 0u);
}

/// Stamps are numbers of 25 bits: they begin anew, and where a launch takes all, records go without.
TEST_P(SimRaces, RecordsOutlastTheirStamps) {
  struct Few {
    ~Few() { sim::stamps.most = sim::Packed::most_stamps; }
  } few;
  const auto p = zeros<unsigned>(1);
  const auto bytes = zeros<unsigned>(32);
  for (const unsigned most : {3u, 4u, 16u}) {
    sim::stamps.most = most;
    for (int again = 0; again < 20; ++again) {
      run<add_one>(1, 32, 0, bytes.ptr());
      EXPECT_EQ(fault_of<lane_by_lane>(1, 41, 0, p.ptr(), 0x10001u).kind, FaultKind::race);
      run<neighbours<signed char>>(1, 64, 0, reinterpret_cast<signed char*>(bytes.ptr()), p.ptr(), 33u, true);
      EXPECT_NE(error_of([&] {
                  run<neighbours<short>>(1, 64, 0, reinterpret_cast<short*>(bytes.ptr()), p.ptr(), 33u, false);
                }),
                "");
      zero(bytes.ptr(), 32, Stream{});
      sim::synchronize({});
    }
  }
}

}  // namespace
}  // namespace reductio::sim_tests
