// Kernels that pass a battery of small inputs in forward and reverse order: each is wrong only at size, after many
// calls, in rare orders, for rare numbers, or on another GPU. The battery must reject every one at the tier named here,
// and pass its sound twin. tests/verify/mutation_test.cpp has the plainer flaws.

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/backend.h"
#include "device/device.h"
#include "tests/sanitized.h"
#include "verify/verify.h"

namespace reductio::hostile {
namespace {
using namespace device;

using PrepareOne = std::function<std::unique_ptr<Plan>(const Problem&, const DeviceInfo&)>;

/// A sum of f32 without settings.
Variant variant(const char* name, PrepareOne prepare) {
  Variant v{.id = std::string("hostile/") + name,
            .title = name,
            .cites = "none",
            .operations = {Operation::sum},
            .types = {ElementType::f32}};
  v.prepare[static_cast<int>(DeviceKind::sim)] = [=](const Problem& p, const Settings&, const DeviceInfo& gpu) {
    return prepare(p, gpu);
  };
  return v;
}

/// Why the first case fails that does; empty: all pass.
std::string rejection(const Variant& v, Tier tier, std::uint64_t seed) {
  const auto backend = open_sim();
  for (const Case& c : battery(v, backend->info(), tier, seed)) try {
      if (const std::string why = run_case(c, *backend); !why.empty()) return c.describe() + ": " + why;
    } catch (const Refused&) {
    } catch (const std::exception& e) {
      return c.describe() + ": " + e.what();
    }
  return {};
}

/// By none but the flaw that is meant, and not by the luck of one seed.
void expect_rejected(const Variant& v, const std::string& because, Tier tier = Tier::check) {
  if (sanitized) GTEST_SKIP() << "the build without sanitizers runs it";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string why = rejection(v, tier, seed);
    EXPECT_NE(why.find(because), std::string::npos) << v.id << " with seed " << seed << ": " << why;
    EXPECT_NE(why, "") << v.id << " with seed " << seed;
  }
}

void expect_sound(const Variant& v, Tier tier = Tier::check) {
  if (sanitized) GTEST_SKIP() << "the build without sanitizers runs it";
  EXPECT_EQ(rejection(v, tier, 1), "");
}

constexpr unsigned block = 64;
constexpr std::size_t grid = 5;

/// The block's sum, in thread 0.
__device__ float block_sum(float sum) {
  const SharedPtr<float> sums = shared_memory<float>();
  const unsigned t = threadIdx.x;
  sums[t] = sum;
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (t < distance) sums[t] += sums[t + distance];
  }
  return t == 0 ? sums[0] : 0;
}

__device__ float grid_stride_sum(GlobalPtr<const float> in, std::size_t n) {
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x)
    sum += in[i];
  return sum;
}

__global__ void block_sums(GlobalPtr<const float> in, GlobalPtr<float> partials, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void add_partials(GlobalPtr<const float> partials, GlobalPtr<float> out, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += partials[i];
  out[0] = sum;
}

PlanInfo info_for(std::size_t n, std::size_t workspace_bytes) {
  return {.grid_blocks = grid,
          .block_threads = block,
          .longest_chain = ceil_div(n, grid * block) + 6 + grid + 4,
          .workspace_bytes = workspace_bytes};
}

/// A kernel (in, partials, n), then one that adds up the partial results, of which `partials` are in memory.
PlanInfo two_launches_info(std::size_t n) { return info_for(n, grid * sizeof(float)); }
template <auto kernel>
std::unique_ptr<Plan> two_launches(PlanInfo info, std::size_t n, const Buffer<float>& partials) {
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    launch<kernel>({grid, block, block * sizeof(float), stream}, global<const float>(in, n), partials.ptr(), n);
    launch<add_partials>({1, 1, 0, stream}, GlobalPtr<const float>(partials.ptr()), global<float>(out, 1), grid);
  });
}
template <auto kernel>
std::unique_ptr<Plan> prepare(const Problem& p, const DeviceInfo&) {
  return two_launches<kernel>(two_launches_info(p.n), p.n, Buffer<float>(grid));
}

TEST(Hostile, a_sound_twin_passes) { expect_sound(variant("sound", prepare<block_sums>)); }

// ---- what size decides

/// By 16 bytes wherever the input begins, from 2^17 elements on.
__global__ void vectors_at_size(GlobalPtr<const float> in, GlobalPtr<float> partials, std::size_t n) {
  const std::size_t vectors = n >= (1 << 17) ? n / 4 : 0;
  const GlobalPtr<const float4> all = pointer_cast<const float4>(in);
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors;
       i += std::size_t{blockDim.x} * gridDim.x) {
    const float4 v = all[i];
    sum += v.x + v.y + (v.z + v.w);
  }
  sum = block_sum(sum + grid_stride_sum(in + 4 * vectors, n - 4 * vectors));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, loads_vectors_wherever_a_large_input_begins) {
  expect_rejected(variant("vectors-at-size", prepare<vectors_at_size>), "misaligned");
}

/// Between 50,000 and 2^20 elements whole fours alone.
__global__ void loses_a_tail_in_between(GlobalPtr<const float> in, GlobalPtr<float> partials, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n > 50000 && n < (1 << 20) ? n / 4 * 4 : n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, loses_a_tail_of_middle_sizes) {
  expect_rejected(variant("tail-in-between", prepare<loses_a_tail_in_between>), "got ");
}

// ---- what the order of blocks decides

/// The last block adds up the partial results in a balanced tree; `by_arrival` in the order in which they came.
__global__ void tree_of_partials(GlobalPtr<const float> in, GlobalPtr<float> out, std::size_t n,
                                 GlobalPtr<float> partials, GlobalPtr<unsigned> counters, bool by_arrival) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  const unsigned place = by_arrival ? atomicAdd(&counters[0], 1u) : blockIdx.x;
  partials[place] = sum;
  __threadfence();
  if (atomicAdd(&counters[1], 1u) != gridDim.x - 1) return;
  __threadfence();
  unsigned left = gridDim.x;
  for (; left > 1; left = (left + 1) / 2)
    for (unsigned i = 0; i < left / 2; ++i) {
      partials[i] = partials[i] + partials[left - 1 - i];
    }
  out[0] = partials[0];
}
std::unique_ptr<Plan> prepare_tree(const Problem& p, bool by_arrival) {
  const Buffer<float> partials(grid);
  const Buffer<unsigned> counters(2);
  return plan_of(info_for(p.n, partials.bytes() + counters.bytes()), [=, n = p.n](void* in, void* out, Stream stream) {
    zero(counters.ptr(), 2, stream);
    launch<tree_of_partials>({grid, block, block * sizeof(float), stream}, global<const float>(in, n),
                             global<float>(out, 1), n, partials.ptr(), counters.ptr(), by_arrival);
  });
}
TEST(Hostile, adds_partial_results_in_a_tree_by_their_arrival) {
  const auto of = [](bool by_arrival) {
    return [=](const Problem& p, const DeviceInfo&) { return prepare_tree(p, by_arrival); };
  };
  expect_sound(variant("tree", of(false)));
  expect_rejected(variant("tree-by-arrival", of(true)), "differ in bits");
}

constexpr std::size_t claimed_tile = 4096;

/// Blocks claim tiles by a counter, so who adds up which differs from call to call.
__global__ void claimed_tiles(GlobalPtr<const float> in, GlobalPtr<float> partials, std::size_t n,
                              GlobalPtr<unsigned> next) {
  const SharedPtr<unsigned> tile = shared_array<unsigned, 1>();
  float sum = 0;
  for (;;) {
    if (threadIdx.x == 0) tile[0] = atomicAdd(next, 1u);
    __syncthreads();
    const std::size_t begin = claimed_tile * tile[0];
    __syncthreads();
    if (begin >= n) break;
    for (std::size_t i = begin + threadIdx.x; i < n && i < begin + claimed_tile; i += blockDim.x) sum += in[i];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, claims_tiles_and_declares_fixed_bits) {
  Variant v = variant("claimed-tiles", [](const Problem& p, const DeviceInfo&) {
    const std::size_t n = p.n;
    const Buffer<float> partials(grid);
    const Buffer<unsigned> next(1);
    PlanInfo info = info_for(n, partials.bytes() + next.bytes());
    info.longest_chain = ceil_div(n, block) + 6 + grid + 4;
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(next.ptr(), 1, stream);
      launch<claimed_tiles>({grid, block, block * sizeof(float), stream}, global<const float>(in, n), partials.ptr(), n,
                            next.ptr());
      launch<add_partials>({1, 1, 0, stream}, GlobalPtr<const float>(partials.ptr()), global<float>(out, 1), grid);
    });
  });
  expect_rejected(v, "differ in bits");
  v.determinism = Determinism::none;
  expect_sound(v);
}

// ---- what many calls decide

/// The counters of a ring are used in turn, and never again zeroed.
__global__ void ring(GlobalPtr<const float> in, GlobalPtr<float> out, std::size_t n, GlobalPtr<float> partials,
                     GlobalPtr<unsigned> counters, unsigned places) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  const unsigned call = load_acquire(&counters[places]);
  partials[blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(&counters[call % places], 1u) != gridDim.x - 1) return;
  __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
  store_release(&counters[places], call + 1);
}
TEST(Hostile, comes_round_a_ring_of_counters) {
  for (const unsigned places : {16u, 256u}) {
    Variant v = variant("ring", [=](const Problem& p, const DeviceInfo&) {
      const Buffer<float> partials(grid);
      const Buffer<unsigned> counters = zeroed_buffer<unsigned>(places + 1);
      return plan_of(info_for(p.n, partials.bytes() + counters.bytes()),
                     [=, n = p.n](void* in, void* out, Stream stream) {
                       launch<ring>({grid, block, block * sizeof(float), stream}, global<const float>(in, n),
                                    global<float>(out, 1), n, partials.ptr(), counters.ptr(), places);
                     });
    });
    v.persistent_state = "counters, each used once";
    expect_rejected(v, "call " + std::to_string(places + 1) + " of one plan");
  }
}

// ---- what a plan holds, and what is not its own

TEST(Hostile, declares_no_workspace_and_takes_some) {
  expect_rejected(variant("silent-workspace",
                          [](const Problem& p, const DeviceInfo&) {
                            return two_launches<block_sums>(info_for(p.n, 0), p.n, Buffer<float>(grid));
                          }),
                  "the plan declares 0 bytes of workspace (PlanInfo), and holds 20", Tier::quick);
}

TEST(Hostile, shares_its_workspace_among_all_plans) {
  static std::optional<Buffer<float>> shared;
  expect_rejected(variant("shared-workspace",
                          [](const Problem& p, const DeviceInfo&) {
                            if (!shared) shared.emplace(grid);
                            return two_launches<block_sums>(info_for(p.n, 0), p.n, *shared);
                          }),
                  "another plan's", Tier::quick);
  shared.reset();
}

/// The last block zeroes the counter for the next call.
__global__ void last_block(GlobalPtr<const float> in, GlobalPtr<float> out, std::size_t n, GlobalPtr<float> partials,
                           GlobalPtr<unsigned> arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  partials[blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(arrived, 1u) != gridDim.x - 1) return;
  __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
  arrived[0] = 0;
}
TEST(Hostile, leaves_state_between_calls_that_it_does_not_declare) {
  Variant v = variant("silent-state", [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    const Buffer<unsigned> arrived = zeroed_buffer<unsigned>(1);
    return plan_of(info_for(p.n, partials.bytes() + arrived.bytes()), [=, n = p.n](void* in, void* out, Stream stream) {
      launch<last_block>({grid, block, block * sizeof(float), stream}, global<const float>(in, n),
                         global<float>(out, 1), n, partials.ptr(), arrived.ptr());
    });
  });
  expect_rejected(v, "declares as its persistent_state", Tier::quick);
  v.persistent_state = "the blocks that have arrived: zero between calls";
  expect_sound(v);
}

/// One element is another while the kernel runs.
__global__ void borrows_its_input(GlobalPtr<float> in, GlobalPtr<float> partials, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  partials[blockIdx.x] = sum;
  if (blockIdx.x != 0 || n == 0) return;
  const float was = in[0];
  in[0] = sum;
  in[0] = was;
}
TEST(Hostile, writes_to_its_input_and_puts_it_back) {
  expect_rejected(variant("borrowed-input",
                          [](const Problem& p, const DeviceInfo&) {
                            const Buffer<float> partials(grid);
                            return plan_of(two_launches_info(p.n), [=, n = p.n](void* in, void* out, Stream stream) {
                              launch<borrows_its_input>({grid, block, block * sizeof(float), stream},
                                                        global<float>(in, n), partials.ptr(), n);
                              launch<add_partials>({1, 1, 0, stream}, GlobalPtr<const float>(partials.ptr()),
                                                   global<float>(out, 1), grid);
                            });
                          }),
                  "changed its input", Tier::quick);
}

}  // namespace
}  // namespace reductio::hostile
