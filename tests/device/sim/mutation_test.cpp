// Lines that the simulated device leaves out on demand.

#include "device/sim/mutation.h"

#include <set>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

using sim::LineMutant;
using sim::LineRecorder;
using sim::Synchronization;

constexpr int before = __LINE__;
__global__ void passes_on(unsigned* out, unsigned* count) {
  extern __shared__ unsigned s[];
  if (threadIdx.x == 0) s[0] = 1;
  __syncwarp();  // before + 4
  if (threadIdx.x == 1) s[1] = s[0] + 1;
  __syncthreads();  // before + 6
  if (threadIdx.x == 2) out[blockIdx.x] = s[1];
  atomicAdd(count, 1u);  // before + 8
  __threadfence();       // before + 9
  grid_sync();           // before + 10
  if (threadIdx.x == 3 && blockIdx.x == 0) out[2] = out[0] + out[1] + *count;
}

/// What two blocks of 64 threads leave: their own value each, and the sum of both and of the count.
std::vector<unsigned> passed_on() {
  sim::set_schedule(Order::forward);
  const auto out = on_device<unsigned>({0, 0, 0}), count = on_device<unsigned>({0});
  launch_cooperative<passes_on>({2, 64, 2 * sizeof(unsigned), {}}, out.ptr(), count.ptr());
  return on_host(out);
}

TEST(SimMutation, ARecorderNotesEachLineOnceWithWhatItDoes) {
  const LineRecorder recorder;
  passed_on();
  std::set<std::pair<int, Synchronization>> lines;
  for (const auto& line : recorder.lines()) {
    EXPECT_EQ(line.file, "mutation_test.cpp");
    lines.emplace(line.line - before, line.what);
  }
  EXPECT_EQ(lines, (std::set<std::pair<int, Synchronization>>{{4, Synchronization::warp_barrier},
                                                              {6, Synchronization::block_barrier},
                                                              {8, Synchronization::atomic_update},
                                                              {9, Synchronization::fence},
                                                              {10, Synchronization::grid_barrier}}));
  EXPECT_EQ(recorder.lines().begin()->describe(), "__syncwarp at mutation_test.cpp:" + std::to_string(before + 4));
}

/// The device's faults are told by the first word that waits for it.
std::string fault_without(int line, Synchronization what) {
  const LineMutant mutant({"mutation_test.cpp", before + line, what});
  try {
    passed_on();
  } catch (const Fault& f) {
    return std::string(name(f.kind));
  }
  return {};
}

TEST(SimMutation, EachLineIsLeftOutAlone) {
  const std::vector<unsigned> right{2, 2, 132};
  EXPECT_EQ(passed_on(), right);
  EXPECT_EQ(fault_without(4, Synchronization::warp_barrier), name(FaultKind::race));
  EXPECT_EQ(fault_without(6, Synchronization::block_barrier), name(FaultKind::race));
  EXPECT_EQ(fault_without(8, Synchronization::atomic_update), name(FaultKind::race));
  EXPECT_NE(fault_without(10, Synchronization::grid_barrier), "");
  EXPECT_EQ(passed_on(), right);
}

TEST(SimMutation, AnotherLineOrAnotherKindChangesNothing) {
  EXPECT_EQ(fault_without(5, Synchronization::block_barrier), "");
  EXPECT_EQ(fault_without(6, Synchronization::fence), "");
  EXPECT_EQ(fault_without(9, Synchronization::fence), "");  // grid_sync() orders all that it ordered
}

}  // namespace
}  // namespace reductio::sim_tests
