// Kernels that pass a battery of small inputs in forward and reverse order: each is wrong only at size, after many
// calls, in rare orders, for rare numbers, or on another GPU. The battery must reject every one at the tier named here,
// and pass its sound twin. tests/verify/mutation_test.cpp has the plainer flaws.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/backend.h"
#include "device/cooperative_groups.h"
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

/// Of other GPUs alone, where each case has very many threads.
bool is_like_another(const Case& c) { return !c.like.empty(); }

/// Why the first case fails that does; empty: all pass.
std::string rejection(const Variant& v, Tier tier, std::uint64_t seed, bool (*which)(const Case&)) {
  const auto backend = open_sim();
  for (const Case& c : battery(v, backend->info(), tier, seed)) try {
      if (which && !which(c)) continue;
      if (const std::string why = run_case(c, *backend); !why.empty()) return c.describe() + ": " + why;
    } catch (const Refused&) {
    } catch (const std::exception& e) {
      return c.describe() + ": " + e.what();
    }
  return {};
}

/// By none but the flaw that is meant, and not by the luck of one seed.
void expect_rejected(const Variant& v, const std::string& because, Tier tier = Tier::check,
                     bool (*which)(const Case&) = nullptr) {
  LEFT_TO_RELEASE_BUILDS();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string why = rejection(v, tier, seed, which);
    EXPECT_NE(why.find(because), std::string::npos) << v.id << " with seed " << seed << ": " << why;
    EXPECT_NE(why, "") << v.id << " with seed " << seed;
  }
}

void expect_sound(const Variant& v, bool (*which)(const Case&) = nullptr) {
  LEFT_TO_RELEASE_BUILDS();
  EXPECT_EQ(rejection(v, Tier::check, 1, which), "");
}

constexpr unsigned block = 64;
constexpr std::size_t grid = 5;

/// The block's sum, in thread 0.
__device__ float block_sum(float sum) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* const sums = reinterpret_cast<float*>(raw);
  const unsigned t = threadIdx.x;
  sums[t] = sum;
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (t < distance) sums[t] += sums[t + distance];
  }
  return t == 0 ? sums[0] : 0;
}

__device__ float grid_stride_sum(const float* in, std::size_t n) {
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x)
    sum += in[i];
  return sum;
}

__global__ void block_sums(const float* in, float* partials, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void add_partials(const float* partials, float* out, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += partials[i];
  out[0] = sum;
}

/// By one thread of each block, which hands in the block's sum: whether all others have. Then it may read them.
__device__ bool is_last_to_arrive(float sum, float* partials, unsigned* arrived) {
  partials[blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(arrived, 1u) != gridDim.x - 1) return false;
  __threadfence();
  return true;
}
/// The same, and the last one adds up the blocks' sums.
__device__ bool finish_as_last(float sum, float* out, float* partials, unsigned* arrived) {
  if (!is_last_to_arrive(sum, partials, arrived)) return false;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
  return true;
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
    launch<kernel>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in), partials.ptr(), n);
    launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()), static_cast<float*>(out), grid);
  });
}
template <auto kernel>
std::unique_ptr<Plan> prepare(const Problem& p, const DeviceInfo&) {
  return two_launches<kernel>(two_launches_info(p.n), p.n, Buffer<float>(grid));
}

TEST(Hostile, a_sound_twin_passes) { expect_sound(variant("sound", prepare<block_sums>)); }

// ---- what size decides

/// By 16 bytes wherever the input begins, from 2^17 elements on.
__global__ void vectors_at_size(const float* in, float* partials, std::size_t n) {
  const std::size_t vectors = n >= (1 << 17) ? n / 4 : 0;
  const float4* const all = reinterpret_cast<const float4*>(in);
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

/// Without the last element of a whole number of 65,536s, or without each whose index is one.
template <bool by_index>
__global__ void loses_at_multiples_of_65536(const float* in, float* partials, std::size_t n) {
  constexpr std::size_t many = 1 << 16;
  const std::size_t end = !by_index && n && n % many == 0 ? n - 1 : n;
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < end;
       i += std::size_t{blockDim.x} * gridDim.x)
    if (!by_index || i == 0 || i % many != 0) sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, loses_an_element_at_multiples_of_65536) {
  const auto is_large = [](const Case& c) { return c.problem.n >= 1 << 16 && c.like.empty(); };
  expect_rejected(variant("last-of-65536", prepare<loses_at_multiples_of_65536<false>>), "n=65536", Tier::check,
                  is_large);
  expect_rejected(variant("each-65536th", prepare<loses_at_multiples_of_65536<true>>), "got ", Tier::check, is_large);
}

/// One thread adds all up, in `Sum`.
template <class Sum>
__global__ void one_accumulator(const float* in, float* out, std::size_t n) {
  Sum sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<Sum>(in[i]);
  out[0] = static_cast<float>(sum);
}
template <class Sum>
Variant with_one_accumulator() {
  return variant("one-accumulator", [](const Problem& p, const DeviceInfo&) {
    return plan_of({.grid_blocks = 1, .block_threads = 1, .longest_chain = p.n},
                   [n = p.n](void* in, void* out, Stream stream) {
                     launch<one_accumulator<Sum>>({1, 1, 0, stream}, static_cast<const float*>(in),
                                                  static_cast<float*>(out), n);
                   });
  });
}
TEST(Hostile, adds_all_in_one_accumulator_that_stops) {
  const auto is_of_ones = [](const Case& c) { return c.dataset == "ones"; };
  expect_sound(with_one_accumulator<double>(), is_of_ones);
  expect_rejected(with_one_accumulator<float>(), "got 16777216, want 33554440", Tier::check, is_of_ones);
}

/// Between 50,000 and 2^20 elements whole fours alone.
__global__ void loses_a_tail_in_between(const float* in, float* partials, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n > 50000 && n < (1 << 20) ? n / 4 * 4 : n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, loses_a_tail_of_middle_sizes) {
  expect_rejected(variant("tail-in-between", prepare<loses_a_tail_in_between>), "got ");
}

// ---- what is told beside a wrong result

/// A sum, or one of squares, with element 37 so many times.
template <bool squares>
__global__ void weighs_element_37(const float* in, float* out, std::size_t n, int times) {
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) {
    const float x = squares ? in[i] * in[i] : in[i];
    for (int k = 0; k < (i == 37 ? times : 1); ++k) sum += x;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[0] = sum;
}
template <bool squares>
Variant weighing_element_37(int times) {
  Variant v = variant("element-37", [=](const Problem& p, const DeviceInfo&) {
    const PlanInfo info{.grid_blocks = 1, .block_threads = block, .longest_chain = ceil_div(p.n, block) + 8};
    return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
      launch<weighs_element_37<squares>>({1, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                                         static_cast<float*>(out), n, times);
    });
  });
  if (squares) v.operations = {Operation::sum_of_squares};
  return v;
}
TEST(Hostile, the_element_that_explains_a_wrong_sum_is_named) {
  const auto is_small = [](const Case& c) { return c.problem.n > 37 && c.problem.n < 5000; };
  expect_sound(weighing_element_37<false>(1), is_small);
  for (const Variant& v : {weighing_element_37<false>(0), weighing_element_37<true>(0)})
    expect_rejected(v, "; element 37 is missing", Tier::quick, is_small);
  for (const Variant& v : {weighing_element_37<false>(2), weighing_element_37<true>(2)})
    expect_rejected(v, "; element 37 is counted twice", Tier::quick, is_small);
}

/// One thread's sum without element 37, to which it may add what it asks of a lane that is not there.
template <class T, bool uses_it>
__global__ void asks_a_lane_that_is_not_there(const T* in, T* out, std::size_t n) {
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (i != 37) sum += in[i];
  const T other = __shfl_sync(1u, sum, 1);
  out[0] = uses_it ? sum + other : sum;
}
template <class T, bool uses_it>
Variant asking_a_lane_that_is_not_there() {
  Variant v = variant("absent-lane", [](const Problem& p, const DeviceInfo&) {
    return plan_of({.grid_blocks = 1, .block_threads = 1, .longest_chain = p.n + 1},
                   [n = p.n](void* in, void* out, Stream stream) {
                     launch<asks_a_lane_that_is_not_there<T, uses_it>>({1, 1, 0, stream}, static_cast<const T*>(in),
                                                                       static_cast<T*>(out), n);
                   });
  });
  if (std::is_integral_v<T>) v.types = {ElementType::i32};
  return v;
}
TEST(Hostile, an_undefined_shuffle_is_told_where_its_value_matters) {
  const auto is_small = [](const Case& c) { return c.problem.n > 37 && c.problem.n < 5000; };
  const auto expect_told = [&](const Variant& v) {
    expect_rejected(v, "gives an undefined value, first to block 0, thread 0: lane 1 is not in the block", Tier::quick,
                    is_small);
  };
  const auto expect_silence = [&](const Variant& v) {
    expect_rejected(v, "; element 37 is missing", Tier::quick, is_small);
    EXPECT_EQ(rejection(v, Tier::quick, 1, is_small).find("undefined value"), std::string::npos) << v.id;
  };
  expect_told(asking_a_lane_that_is_not_there<float, true>());
  expect_told(asking_a_lane_that_is_not_there<unsigned, true>());
  expect_silence(asking_a_lane_that_is_not_there<float, false>());
  expect_silence(asking_a_lane_that_is_not_there<unsigned, false>());
}

// ---- what the order of blocks decides

/// The last block adds up the partial results in a balanced tree; `by_arrival` in the order in which they came.
__global__ void tree_of_partials(const float* in, float* out, std::size_t n, float* partials, unsigned* counters,
                                 bool by_arrival) {
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
    launch<tree_of_partials>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                             static_cast<float*>(out), n, partials.ptr(), counters.ptr(), by_arrival);
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
__global__ void claimed_tiles(const float* in, float* partials, std::size_t n, unsigned* next) {
  __shared__ unsigned tile[1];
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
      launch<claimed_tiles>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in), partials.ptr(),
                            n, next.ptr());
      launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()), static_cast<float*>(out),
                           grid);
    });
  });
  expect_rejected(v, "differ in bits");
  v.determinism = Determinism::none;
  expect_sound(v);
}

// ---- what many calls decide

/// The counters of a ring are used in turn, and never again zeroed.
__global__ void ring(const float* in, float* out, std::size_t n, float* partials, unsigned* counters, unsigned places) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  const unsigned call = load_acquire(&counters[places]);
  if (finish_as_last(sum, out, partials, &counters[call % places])) store_release(&counters[places], call + 1);
}
TEST(Hostile, comes_round_a_ring_of_counters) {
  for (const unsigned places : {16u, 256u}) {
    Variant v = variant("ring", [=](const Problem& p, const DeviceInfo&) {
      const Buffer<float> partials(grid);
      const Buffer<unsigned> counters = zeroed_buffer<unsigned>(places + 1);
      return plan_of(info_for(p.n, partials.bytes() + counters.bytes()),
                     [=, n = p.n](void* in, void* out, Stream stream) {
                       launch<ring>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                                    static_cast<float*>(out), n, partials.ptr(), counters.ptr(), places);
                     });
    });
    v.persistent_state = "counters, each used once";
    expect_rejected(v, "call " + std::to_string(places + 1) + " of one plan");
  }
}

/// The block that draws the last ticket of its call is the last. Tickets are never given back: after 2^32 of them, no
/// multiple of 5, another block is.
__global__ void draws_tickets(const float* in, float* out, std::size_t n, float* partials, unsigned* tickets) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  partials[blockIdx.x] = sum;
  __threadfence();
  if (atomicAdd(tickets, 1u) % gridDim.x != gridDim.x - 1) return;
  __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
}
TEST(Hostile, draws_tickets_until_they_wrap) {
  const auto of = [](std::size_t blocks) {
    Variant v = variant("tickets", [=](const Problem& p, const DeviceInfo&) {
      const Buffer<float> partials(blocks);
      const Buffer<unsigned> tickets = zeroed_buffer<unsigned>(1);
      PlanInfo info = info_for(p.n, partials.bytes() + tickets.bytes());
      info.grid_blocks = blocks;
      return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
        launch<draws_tickets>({blocks, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                              static_cast<float*>(out), n, partials.ptr(), tickets.ptr());
      });
    });
    v.persistent_state = "the number of tickets";
    return v;
  };
  expect_sound(of(8));  // a power of two divides 2^32
  expect_rejected(of(grid), "by then", Tier::check, [](const Case& c) { return c.check == "many-calls"; });
}

/// A block whose sum is NaN says so at once, and is not counted.
template <bool counts>
__global__ void leaves_on_nan(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  if (!counts && std::isnan(sum)) {
    store_relaxed(out, sum);
    return;
  }
  if (finish_as_last(sum, out, partials, arrived)) arrived[0] = 0;
}
template <bool counts>
Variant leaving_on_nan() {
  Variant v = variant("leaves-on-nan", [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    const Buffer<unsigned> arrived = zeroed_buffer<unsigned>(1);
    return plan_of(info_for(p.n, partials.bytes() + arrived.bytes()), [=, n = p.n](void* in, void* out, Stream stream) {
      launch<leaves_on_nan<counts>>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                                    static_cast<float*>(out), n, partials.ptr(), arrived.ptr());
    });
  });
  v.persistent_state = "the blocks that have arrived: zero between calls";
  return v;
}
TEST(Hostile, leaves_a_counter_unclean_when_it_meets_nan) {
  expect_sound(leaving_on_nan<true>());
  expect_rejected(leaving_on_nan<false>(), "check=repeat", Tier::quick,
                  [](const Case& c) { return c.dataset == "nan"; });  // a race, or a wrong second call
}

/// A NaN is right, but only because it stood there.
__global__ void leaves_nan_alone(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0 || !is_last_to_arrive(sum, partials, arrived)) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  if (!std::isnan(total)) out[0] = total;
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

/// Adds zeros that lie beside its partial results, in other buffers if in any.
__global__ void strays(const float* in, float* partials, std::size_t n, std::int64_t distance) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum + partials[distance];
}
TEST(Hostile, reads_the_buffers_beside_its_own) {
  for (const std::int64_t pages : {-100, -10, -2, 2, 10, 100}) {
    Variant v = variant("strays", [=](const Problem& p, const DeviceInfo&) {
      std::vector<Buffer<float>> zeros;
      while (zeros.size() < 300) zeros.push_back(zeroed_buffer<float>(1024));
      PlanInfo info = two_launches_info(p.n);
      info.workspace_bytes = zeros.size() * zeros[0].bytes();
      return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
        float* const partials = zeros[zeros.size() / 2].ptr();
        launch<strays>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in), partials, n,
                       pages * 1024);
        launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials), static_cast<float*>(out), grid);
      });
    });
    v.persistent_state = "zeros";
    expect_rejected(v, "simulated device: out of bounds", Tier::quick);
  }
}

/// The last block zeroes the counter for the next call.
__global__ void last_block(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  if (finish_as_last(sum, out, partials, arrived)) arrived[0] = 0;
}
TEST(Hostile, leaves_state_between_calls_that_it_does_not_declare) {
  Variant v = variant("silent-state", [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    const Buffer<unsigned> arrived = zeroed_buffer<unsigned>(1);
    return plan_of(info_for(p.n, partials.bytes() + arrived.bytes()), [=, n = p.n](void* in, void* out, Stream stream) {
      launch<last_block>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                         static_cast<float*>(out), n, partials.ptr(), arrived.ptr());
    });
  });
  expect_rejected(v, "as its persistent_state", Tier::quick);
  v.persistent_state = "the blocks that have arrived: zero between calls";
  expect_sound(v);
}

/// One element is another while the kernel runs.
__global__ void borrows_its_input(float* in, float* partials, std::size_t n) {
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
                                                        static_cast<float*>(in), partials.ptr(), n);
                              launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()),
                                                   static_cast<float*>(out), grid);
                            });
                          }),
                  "changed its input", Tier::quick);
}

// ---- which numbers decide

/// Rounds toward zero in the block's tree.
__device__ float truncated_sum(float a, float b) {
  const double sum = static_cast<double>(a) + b;
  const auto rounded = static_cast<float>(sum);
  return std::abs(rounded) > std::abs(sum) ? std::nextafter(rounded, 0.0f) : rounded;
}
__global__ void truncates(const float* in, float* partials, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* const sums = reinterpret_cast<float*>(raw);
  const unsigned t = threadIdx.x;
  sums[t] = grid_stride_sum(in, n);
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (t < distance) sums[t] = truncated_sum(sums[t], sums[t + distance]);
  }
  if (t == 0) partials[blockIdx.x] = sums[0];
}
TEST(Hostile, truncates_in_place_of_rounding) {
  expect_rejected(variant("truncates", prepare<truncates>), "standard deviations from zero");
}

/// Rounds toward zero in each thread, and nowhere else.
__global__ void truncates_in_each_thread(const float* in, float* partials, std::size_t n) {
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x)
    sum = truncated_sum(sum, in[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, truncates_in_each_thread_in_place_of_rounding) {
  const auto asks_for_bias = [](const Case& c) { return c.check == "bias"; };
  expect_sound(variant("rounds", prepare<block_sums>), asks_for_bias);
  expect_rejected(variant("truncates-in-threads", prepare<truncates_in_each_thread>), "standard deviations from zero",
                  Tier::check, asks_for_bias);
}

/// A thread keeps the last infinity that it meets: of opposite ones no NaN.
__global__ void keeps_the_last_infinity(const float* in, float* partials, std::size_t n) {
  float sum = 0, infinity = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x)
    (std::isinf(in[i]) ? infinity : sum) = std::isinf(in[i]) ? in[i] : sum + in[i];
  sum = block_sum(infinity != 0 ? infinity : sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, keeps_one_of_opposite_infinities) {
  expect_rejected(variant("last-infinity", prepare<keeps_the_last_infinity>), "infinity-pair", Tier::quick,
                  [](const Case& c) { return c.dataset == "infinity-pair"; });
}

enum class Loss { below, above, infinities };
/// `below`: drops what it takes for noise. `above`: scales all down and up again. `infinities`: counts them in 3 bits.
template <Loss loss>
__global__ void loses(const float* in, float* partials, std::size_t n) {
  float sum = 0;
  unsigned infinities = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x) {
    const float x = in[i];
    if (loss == Loss::below)
      sum += std::abs(x) < 0x1p-100f ? 0 : x;
    else if (loss == Loss::above)
      sum += x * 0x1p10f;
    else if (std::isinf(x))
      infinities += x > 0 ? 1 : 3;
    else
      sum += x;
  }
  if (loss == Loss::above) sum *= 0x1p-10f;
  if (infinities % 4 == 1) sum += std::numeric_limits<float>::infinity();
  if (infinities % 4 == 3) sum -= std::numeric_limits<float>::infinity();
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
template <Loss loss>
Variant losing(const char* name) {
  return variant(name, [](const Problem& p, const DeviceInfo&) {
    PlanInfo info = two_launches_info(p.n);
    info.flushes_subnormals = true;
    return two_launches<loses<loss>>(info, p.n, Buffer<float>(grid));
  });
}
TEST(Hostile, loses_numbers_at_the_ends_of_the_range) {
  expect_rejected(losing<Loss::below>("noise"), "tiny");
  expect_rejected(losing<Loss::above>("scaled"), "huge");
  expect_rejected(losing<Loss::infinities>("infinities"), "infinit");
}

/// One block adds bytes up in `Sum`, one thread each in `Own`.
template <class Own, class Sum, class Out>
__global__ void sum_of_bytes(const std::int8_t* in, Out* out, std::size_t n) {
  Own own = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) own += static_cast<Own>(in[i]);
  extern __shared__ __align__(16) unsigned char raw[];
  Own* const sums = reinterpret_cast<Own*>(raw);
  sums[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  Sum sum = 0;
  for (unsigned t = 0; t < blockDim.x; ++t)
    sum = static_cast<Sum>(static_cast<long long>(sum) + static_cast<long long>(Own(sums[t])));
  out[0] = static_cast<Out>(sum);
}
template <class Own, class Sum, class Out>
Variant of_bytes(Operation operation) {
  Variant v = variant("bytes", [](const Problem& p, const DeviceInfo&) {
    const PlanInfo info{.grid_blocks = 1, .block_threads = block, .longest_chain = ceil_div(p.n, block) + block};
    return plan_of(info, [n = p.n](void* in, void* out, Stream stream) {
      launch<sum_of_bytes<Own, Sum, Out>>({1, block, block * sizeof(Own), stream}, static_cast<const std::int8_t*>(in),
                                          static_cast<Out*>(out), n);
    });
  });
  v.operations = {operation};
  v.types = {ElementType::i8};
  return v;
}
TEST(Hostile, counts_bytes_in_too_narrow_a_type) {
  expect_sound(of_bytes<int, int, int>(Operation::sum));
  expect_rejected(of_bytes<float, float, int>(Operation::sum), "n=262147 offset=1 largest");
  expect_sound(of_bytes<int, long long, long long>(Operation::wide_sum));
  expect_rejected(of_bytes<int, int, long long>(Operation::wide_sum), "n=17039363 offset=1 largest");
}

/// What is lost in each addition goes to the next. Of infinities it is no number.
__global__ void compensated_sums(const float* in, float* partials, std::size_t n) {
  float sum = 0, lost = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x) {
    const float x = in[i] - lost, next = sum + x;
    lost = (next - sum) - x;
    sum = next;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
TEST(Hostile, takes_an_infinity_from_an_infinity) {
  Variant v = variant("kahan", prepare<compensated_sums>);
  const auto of_infinities = [](const Case& c) { return c.dataset == "infinity" || c.dataset == "exact"; };
  expect_rejected(v, "an infinity was taken from an infinity", Tier::quick, of_infinities);
  v.wrong_for = [](std::string_view dataset, const Settings&) {
    return dataset == "infinity" ? std::string("an infinity spoils its correction") : std::string();
  };
  expect_sound(v, of_infinities);
}

// ---- which GPU it is

/// A block adds up a partial result of each of its threads, and of no more.
__global__ void add_one_each(const float* partials, float* out, std::size_t count) {
  const float sum = block_sum(threadIdx.x < count ? partials[threadIdx.x] : 0);
  if (threadIdx.x == 0) out[0] = sum;
}
TEST(Hostile, has_more_blocks_than_a_block_has_threads) {
  expect_rejected(variant("few-partials",
                          [](const Problem& p, const DeviceInfo& gpu) {
                            const std::size_t n = p.n, blocks = 8 * static_cast<std::size_t>(gpu.sm_count);
                            const Buffer<float> partials(blocks);
                            PlanInfo info = info_for(n, partials.bytes());
                            info.grid_blocks = blocks;
                            info.longest_chain = ceil_div(n, blocks * block) + 6 + 11;
                            return plan_of(info, [=](void* in, void* out, Stream stream) {
                              launch<block_sums>({blocks, block, block * sizeof(float), stream},
                                                 static_cast<const float*>(in), partials.ptr(), n);
                              launch<add_one_each>({1, 1024, 1024 * sizeof(float), stream},
                                                   static_cast<const float*>(partials.ptr()), static_cast<float*>(out),
                                                   blocks);
                            });
                          }),
                  "like=nvidia-b200", Tier::check, is_like_another);
}

/// The second launch has room for 512 partial results, or for as many as there are.
__global__ void add_some(const float* partials, float* out, std::size_t count, std::size_t most) {
  float sum = 0;
  for (std::size_t i = threadIdx.x; i < count && i < most; i += blockDim.x) sum += partials[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[0] = sum;
}
Variant of_four_blocks_an_sm(std::size_t most) {
  return variant("four-blocks-an-sm", [=](const Problem& p, const DeviceInfo& gpu) {
    const std::size_t n = p.n, blocks = 4 * static_cast<std::size_t>(gpu.sm_count);
    const Buffer<float> partials(blocks);
    PlanInfo info = info_for(n, partials.bytes());
    info.grid_blocks = blocks;
    info.block_threads = 256;
    info.longest_chain = ceil_div(n, blocks * 256) + 8 + ceil_div(blocks, 256) + 8;
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<block_sums>({blocks, 256, 256 * sizeof(float), stream}, static_cast<const float*>(in), partials.ptr(), n);
      launch<add_some>({1, 256, 256 * sizeof(float), stream}, static_cast<const float*>(partials.ptr()),
                       static_cast<float*>(out), blocks, most);
    });
  });
}
TEST(Hostile, has_room_for_512_partial_results_where_132_sms_leave_more) {
  expect_sound(of_four_blocks_an_sm(std::numeric_limits<std::size_t>::max()), is_like_another);
  expect_rejected(of_four_blocks_an_sm(512), "like=nvidia-b200", Tier::check, is_like_another);
}

TEST(Hostile, declares_bits_that_follow_from_n_alone_while_its_grid_follows_the_sms) {
  const auto compares_bits = [](const Case& c) { return c.check == "settings"; };
  Variant follows = of_four_blocks_an_sm(std::numeric_limits<std::size_t>::max()),
          does_not = variant("fixed-grid", prepare<block_sums>);
  follows.determinism = does_not.determinism = Determinism::always;
  expect_sound(does_not, compares_bits);
  expect_rejected(follows, "a GPU like nvidia-h200, whose 132 SMs", Tier::check, compares_bits);
}

__global__ void sum_by_grid_barrier(const float* in, float* out, std::size_t n, float* partials) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
  grid_sync();
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
}
TEST(Hostile, takes_2048_threads_for_what_an_sm_holds) {
  const auto of = [](int threads_per_sm) {
    return [=](const Problem& p, const DeviceInfo& gpu) {
      const int threads = threads_per_sm ? threads_per_sm : gpu.threads_per_sm;
      const std::size_t n = p.n, blocks = static_cast<std::size_t>(gpu.sm_count * threads / 512);
      const Buffer<float> partials(blocks);
      PlanInfo info = info_for(n, partials.bytes());
      info.grid_blocks = blocks;
      info.block_threads = 512;
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        launch_cooperative<sum_by_grid_barrier>({blocks, 512, 512 * sizeof(float), stream},
                                                static_cast<const float*>(in), static_cast<float*>(out), n,
                                                partials.ptr());
      });
    };
  };
  expect_sound(variant("cooperative", of(0)), is_like_another);
  expect_rejected(variant("cooperative-2048", of(2048)), "a cooperative launch of 24 blocks", Tier::check,
                  is_like_another);
}

/// A warp adds up by one instruction, which GPUs have from 8.0 on.
__global__ void reduces_in_one_instruction(const unsigned* in, unsigned* out, std::size_t n) {
  unsigned sum = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x == 0) out[0] = sum;
}
TEST(Hostile, uses_an_instruction_that_older_gpus_lack) {
  const auto of = [](int capability) {
    Variant v = variant("reduce", [=](const Problem& p, const DeviceInfo& gpu) {
      require_capability(gpu, capability);
      const PlanInfo info{.grid_blocks = 1, .block_threads = 32, .longest_chain = 0};
      return plan_of(info, [n = p.n](void* in, void* out, Stream stream) {
        launch<reduces_in_one_instruction>({1, 32, 0, stream}, static_cast<const unsigned*>(in),
                                           static_cast<unsigned*>(out), n);
      });
    });
    v.types = {ElementType::i32};
    return v;
  };
  expect_sound(of(80));
  expect_rejected(of(0), "__reduce_add_sync");
}

// ---- what other streams do

/// The blocks' sums in memory of each plan, or in memory that belongs to none and that all plans share.
TEST(Hostile, keeps_workspace_that_belongs_to_no_plan) {
  const auto device = open_sim();
  const auto of = [&](bool shared) {
    const auto make = [&device = *device] { return std::make_shared<DeviceMemory>(device, grid * sizeof(float)); };
    return [=, all = make()](const Problem& p, const DeviceInfo&) {
      const auto partials = shared ? all : make();
      return plan_of(info_for(p.n, 0), [=, n = p.n](void* in, void* out, Stream stream) {
        launch<block_sums>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                           static_cast<float*>(partials->get()), n);
        launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials->get()), static_cast<float*>(out),
                             grid);
      });
    };
  };
  const auto with_two_plans = [](const Case& c) { return c.check == "two-plans"; };
  expect_sound(variant("memory-of-its-own", of(false)), with_two_plans);
  expect_rejected(variant("memory-of-all", of(true)), "of a launch of another stream", Tier::check, with_two_plans);
}

// ---- how far an index counts

template <class Index>
__global__ void sums_by_index(const float* in, float* partials, Index n) {
  const Index first = static_cast<Index>(blockIdx.x * blockDim.x + threadIdx.x);
  const Index stride = static_cast<Index>(gridDim.x * blockDim.x);
  float sum = 0;
  for (Index i = first; i < n; i = static_cast<Index>(i + stride)) sum += in[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
/// The type is chosen by n and `steps` steps beyond.
Variant with_index(std::size_t steps) {
  Variant v = variant("index", nullptr);
  v.tunables = {loop_index()};
  v.prepare[static_cast<int>(DeviceKind::sim)] = [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    const std::string type = with_loop_index(s, "i32", p.n + steps * grid * block).text("index");
    return for_index(type, [&]<class Index>() {
      return plan_of(
          two_launches_info(p.n), [n = p.n, partials = Buffer<float>(grid)](void* in, void* out, Stream stream) {
            launch<sums_by_index<Index>>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                                         partials.ptr(), static_cast<Index>(n));
            launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()), static_cast<float*>(out),
                                 grid);
          });
    });
  };
  return v;
}
TEST(Hostile, chooses_its_index_without_the_step_past_the_end) {
  expect_sound(with_index(1));
  expect_rejected(with_index(0), "index-limit=32767: simulated device: out of bounds");
}

/// A sum of bytes by 16 at a time, whose index may be one of 32 bits that wraps in the step past the end.
__global__ void wraps_at_2_to_31(const std::int8_t* in, int* out, std::size_t n, bool wraps) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* const sums = reinterpret_cast<int*>(raw);
  const uint4* const vectors = reinterpret_cast<const uint4*>(in);
  int sum = 0;
  const auto add = [&](unsigned four) {
    for (int byte = 0; byte < 4; ++byte) sum += static_cast<std::int8_t>(four >> 8 * byte);
  };
  const std::int64_t step = 16 * blockDim.x, end = static_cast<std::int64_t>(n);
  std::int64_t i = 16 * threadIdx.x;
  for (; i + 16 <= end; i = wraps ? static_cast<std::int32_t>(i + step) : i + step) {
    const uint4 v = vectors[i / 16];
    add(v.x), add(v.y), add(v.z), add(v.w);
  }
  for (; i < end; ++i) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned t = 1; t < blockDim.x; ++t) sum += sums[t];
  out[0] = sum;
}
Variant of_many_bytes(bool wraps) {
  Variant v = variant("many-bytes", [=](const Problem& p, const DeviceInfo&) {
    const PlanInfo info{.grid_blocks = 1, .block_threads = block, .longest_chain = p.n};
    return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
      launch<wraps_at_2_to_31>({1, block, block * sizeof(int), stream}, static_cast<const std::int8_t*>(in),
                               static_cast<int*>(out), n, wraps);
    });
  });
  v.types = {ElementType::i8};
  return v;
}
bool is_at_the_edge(const Case& c) { return c.problem.n >= (std::size_t{1} << 31) - 1; }
TEST(Hostile, tier_gpu_has_the_sizes_at_which_an_index_of_32_bits_wraps) {
  const auto device = open_sim();
  const auto sizes = [&](const Variant& v, Tier tier) {
    std::vector<std::size_t> all;
    for (const Case& c : battery(v, device->info(), tier, 1))
      if (is_at_the_edge(c)) all.push_back(c.problem.n);
    return all;
  };
  for (const Variant& v : {of_many_bytes(false), variant("floats", prepare<block_sums>)}) {
    EXPECT_EQ(sizes(v, Tier::gpu), (std::vector<std::size_t>{(std::size_t{1} << 31) - 1, (std::size_t{1} << 32) - 1}));
    EXPECT_TRUE(sizes(v, Tier::standard).empty());
  }
  EXPECT_GT(device->info().memory_bytes, (std::size_t{1} << 32) * sizeof(float)) << "the host alone may have less";
}
/// Takes minutes and 6 GB: --gtest_also_run_disabled_tests.
TEST(Hostile, DISABLED_has_an_index_that_wraps_at_2_to_31) {
  EXPECT_EQ(rejection(of_many_bytes(false), Tier::gpu, 1, is_at_the_edge), "");
  const std::string why = rejection(of_many_bytes(true), Tier::gpu, 1, is_at_the_edge);
  EXPECT_NE(why.find("n=2147483647"), std::string::npos) << why;
}

// ---- what caches and overlapping launches decide

enum class Cache { plain, read_only };
/// The last block adds up the partial results, fenced, but maybe through the read-only cache.
template <Cache cache>
__global__ void last_block_by(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0 || !is_last_to_arrive(sum, partials, arrived)) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) {
    if constexpr (cache == Cache::plain)
      total += __ldcg(partials + b);
    else
      total += __ldg(partials + b);
  }
  out[0] = total;
}
struct How {
  bool overlaps = false, flushes_subnormals = false;
};
template <auto kernel>
std::unique_ptr<Plan> one_launch(const Problem& p, How how) {
  const Buffer<float> partials(grid);
  const Buffer<unsigned> arrived(1);
  PlanInfo info = info_for(p.n, partials.bytes() + arrived.bytes());
  info.flushes_subnormals = how.flushes_subnormals;
  return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
    zero(arrived.ptr(), 1, stream);
    zero(partials.ptr(), grid, stream);
    Launch shape{grid, block, block * sizeof(float), stream};
    shape.overlaps = how.overlaps;
    launch<kernel>(shape, static_cast<const float*>(in), static_cast<float*>(out), n, partials.ptr(), arrived.ptr());
  });
}
TEST(Hostile, reads_through_the_read_only_cache_what_the_launch_wrote) {
  const auto of = [](auto prepare_one) {
    return variant("cache", [=](const Problem& p, const DeviceInfo&) { return prepare_one(p, How{}); });
  };
  expect_sound(of(one_launch<last_block_by<Cache::plain>>));
  expect_rejected(of(one_launch<last_block_by<Cache::read_only>>), "through the read-only cache", Tier::quick);
}

/// The same through `again`, which as a pointer to const promises that nobody writes there.
template <class Again>
__global__ void last_block_again(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived,
                                 Again __restrict__ again) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0 || !is_last_to_arrive(sum, partials, arrived)) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += again[b];
  out[0] = total;
}
// On a GPU the read may be through the read-only cache, too. Of a raw pointer the simulated device does not see what it
// promises (docs/memory_model.md).
TEST(Hostile, what_a_pointer_to_const_promises_is_not_seen) {
  const auto of = []<class Again>(Again) {
    return variant("restrict", [](const Problem& p, const DeviceInfo&) {
      const Buffer<float> partials(grid);
      const Buffer<unsigned> arrived(1);
      return plan_of(info_for(p.n, partials.bytes() + arrived.bytes()),
                     [=, n = p.n](void* in, void* out, Stream stream) {
                       zero(arrived.ptr(), 1, stream);
                       launch<last_block_again<Again>>({grid, block, block * sizeof(float), stream},
                                                       static_cast<const float*>(in), static_cast<float*>(out), n,
                                                       partials.ptr(), arrived.ptr(), partials.ptr());
                     });
    });
  };
  expect_sound(of(static_cast<float*>(nullptr)));
  expect_sound(of(static_cast<const float*>(nullptr)));
}

/// All blocks add to one number, and the last one reads it. Without a fence before the count it may miss what others
/// added. It looks by a load, or by adding nothing.
template <bool fenced, bool loads>
__global__ void one_total(const float* in, float* out, std::size_t n, float* total, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  atomicAdd(total, sum);
  if (fenced) __threadfence();
  if (atomicAdd(arrived, 1u) != gridDim.x - 1) return;
  if (fenced) __threadfence();
  out[0] = loads ? load_relaxed(total) : atomicAdd(total, 0.0f);
}
TEST(Hostile, counts_its_blocks_before_what_they_added_is_there) {
  const auto of = [](auto prepare_one) {
    Variant v = variant("total", [=](const Problem& p, const DeviceInfo&) {
      return prepare_one(p, How{.flushes_subnormals = true});
    });
    v.determinism = Determinism::none;
    return v;
  };
  expect_sound(of(one_launch<one_total<true, true>>));
  expect_rejected(of(one_launch<one_total<false, true>>), "order=random");
  expect_rejected(of(one_launch<one_total<false, false>>), "order=random");
}

template <bool late>
__global__ void overlapping(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  if (!late) wait_for_previous_kernel();
  const float sum = block_sum(grid_stride_sum(in, n));
  if (late) wait_for_previous_kernel();
  if (threadIdx.x != 0) return;
  finish_as_last(sum, out, partials, arrived);
}
TEST(Hostile, touches_memory_before_the_previous_kernel_is_done) {
  const auto of = [](auto prepare_one) {
    return variant("overlaps", [=](const Problem& p, const DeviceInfo&) {
      return prepare_one(p, How{.overlaps = true});
    });
  };
  expect_sound(of(one_launch<overlapping<false>>));
  expect_rejected(of(one_launch<overlapping<true>>), "before wait_for_previous_kernel()", Tier::quick);
}

/// One thread waits for the block.
template <bool synced>
__global__ void overlapping_by_one(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  if (threadIdx.x == 0) wait_for_previous_kernel();
  if (synced) __syncthreads();
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) finish_as_last(sum, out, partials, arrived);
}
TEST(Hostile, waits_for_the_previous_kernel_by_one_thread) {
  const auto of = [](auto prepare_one) {
    return variant("overlaps",
                   [=](const Problem& p, const DeviceInfo&) { return prepare_one(p, How{.overlaps = true}); });
  };
  expect_sound(of(one_launch<overlapping_by_one<true>>));
  expect_rejected(of(one_launch<overlapping_by_one<false>>), "before wait_for_previous_kernel()", Tier::quick);
}

__global__ void waits_and_sums(const float* in, float* partials, std::size_t n) {
  wait_for_previous_kernel();
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}
__global__ void returns_at_once() {}
__global__ void waits_at_once() { wait_for_previous_kernel(); }
template <Cache cache>
__global__ void waits_and_adds(const float* partials, float* out, std::size_t count) {
  wait_for_previous_kernel();
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += cache == Cache::plain ? partials[i] : __ldg(partials + i);
  out[0] = sum;
}
/// Each launch may begin while the one before runs.
template <auto between, Cache cache>
Variant three_overlapping() {
  return variant("three-overlapping", [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    return plan_of(two_launches_info(p.n), [=, n = p.n](void* in, void* out, Stream stream) {
      const auto shape = [&](std::size_t blocks, unsigned threads) {
        Launch l{blocks, threads, threads * sizeof(float), stream};
        l.overlaps = true;
        return l;
      };
      launch<waits_and_sums>(shape(grid, block), static_cast<const float*>(in), partials.ptr(), n);
      if constexpr (between != nullptr) launch<between>(shape(1, 1));
      launch<waits_and_adds<cache>>(shape(1, 1), static_cast<const float*>(partials.ptr()), static_cast<float*>(out),
                                    grid);
    });
  });
}
constexpr void (*none)() = nullptr;
TEST(Hostile, relies_on_a_kernel_that_has_not_waited) {
  expect_sound(three_overlapping<&waits_at_once, Cache::plain>());
  expect_rejected(three_overlapping<&returns_at_once, Cache::plain>(), "has ended without wait_for_previous_kernel()",
                  Tier::quick);
}
TEST(Hostile, reads_through_the_read_only_cache_what_an_overlapped_kernel_wrote) {
  expect_sound(three_overlapping<none, Cache::plain>());
  expect_rejected(three_overlapping<none, Cache::read_only>(), "may still run when this launch begins", Tier::quick);
}

// ---- locks, and words that nobody has set

/// Blocks add to the result one after the other; a lock says whose turn it is.
template <bool fenced>
__global__ void adds_under_a_lock(const float* in, float* out, std::size_t n, float*, unsigned* lock) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  while (atomicExch(lock, 1u) != 0) {
  }
  if (fenced) __threadfence();
  out[0] += sum;
  if (fenced) __threadfence();
  atomicExch(lock, 0u);
}
template <auto kernel>
Variant into_a_zeroed_result(const char* name) {
  Variant v = variant(name, [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    const Buffer<unsigned> words(1);
    return plan_of(info_for(p.n, partials.bytes() + words.bytes()), [=, n = p.n](void* in, void* out, Stream stream) {
      zero(words.ptr(), 1, stream);
      zero(static_cast<float*>(out), 1, stream);
      launch<kernel>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                     static_cast<float*>(out), n, partials.ptr(), words.ptr());
    });
  });
  v.determinism = Determinism::none;
  return v;
}
TEST(Hostile, adds_under_a_lock_of_exchanges) {
  expect_sound(into_a_zeroed_result<adds_under_a_lock<true>>("lock"));
  expect_rejected(into_a_zeroed_result<adds_under_a_lock<false>>("lock-without-fences"),
                  "has passed no __threadfence() between that and its atomic", Tier::quick);
}

/// Who exchanges its tile's flag first adds the tile up; or who loads it and then stores.
template <bool exchanges>
__global__ void claims_tiles(const float* in, float* out, std::size_t n, float*, unsigned* claimed) {
  __shared__ unsigned mine[1];
  float sum = 0;
  const std::size_t tiles = (n + claimed_tile - 1) / claimed_tile;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x == 0) {
      if (exchanges) {
        mine[0] = atomicExch(claimed + tile, 1u) == 0;
      } else {
        mine[0] = load_relaxed(claimed + tile) == 0;
        store_relaxed(claimed + tile, 1u);
      }
    }
    __syncthreads();
    const bool take = mine[0] != 0;
    __syncthreads();
    if (!take) continue;
    for (std::size_t i = tile * claimed_tile + threadIdx.x; i < n && i < (tile + 1) * claimed_tile; i += blockDim.x)
      sum += in[i];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}
template <bool exchanges>
Variant claiming() {
  Variant v = variant("claims", [](const Problem& p, const DeviceInfo&) {
    const Buffer<unsigned> claimed(ceil_div(p.n, claimed_tile));
    PlanInfo info = info_for(p.n, claimed.bytes());
    info.longest_chain = ceil_div(p.n, block) + 6 + grid;
    info.flushes_subnormals = true;
    return plan_of(info, [=, n = p.n](void* in, void* out, Stream stream) {
      zero(claimed.ptr(), claimed.size(), stream);
      zero(static_cast<float*>(out), 1, stream);
      launch<claims_tiles<exchanges>>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                                      static_cast<float*>(out), n, static_cast<float*>(nullptr), claimed.ptr());
    });
  });
  v.determinism = Determinism::none;
  return v;
}
TEST(Hostile, claims_tiles_by_exchanges) {
  expect_sound(claiming<true>());
  expect_rejected(claiming<false>(), "got ");
}

/// The result is exchanged into memory that nobody has set: what was there is dropped, or added.
template <bool dropped>
__global__ void exchanges_its_result(const float* partials, float* out, std::size_t count) {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += partials[i];
  const float was = atomicExch(out, sum);
  if (!dropped) out[0] = sum + was;
}
template <bool dropped>
Variant exchanging() {
  return variant("exchanges", [](const Problem& p, const DeviceInfo&) {
    const Buffer<float> partials(grid);
    return plan_of(two_launches_info(p.n), [=, n = p.n](void* in, void* out, Stream stream) {
      launch<block_sums>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in), partials.ptr(),
                         n);
      launch<exchanges_its_result<dropped>>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()),
                                            static_cast<float*>(out), grid);
    });
  });
}
TEST(Hostile, exchanges_its_result_into_memory_that_is_not_set) {
  expect_sound(exchanging<true>());
  expect_rejected(exchanging<false>(), "meets a word that nobody has written", Tier::quick);
}

// ---- flags

/// Block b + 1 waits for block b's flag, adds its own sums to those of block b, tile by tile: a pipeline.
template <bool fenced>
__global__ void pipeline(const float* in, float* out, std::size_t n, float* sums, unsigned* flags) {
  constexpr std::size_t share = 256;
  const std::size_t tiles = (n + share - 1) / share;
  for (std::size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::size_t i = tile * share + threadIdx.x;
    float sum = 0;
    for (std::size_t k = i; k < n && k < (tile + 1) * share; k += blockDim.x) sum += in[k];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
      if (tile > 0) {
        while (load_relaxed(flags + tile - 1) == 0) {
        }
        if (fenced) __threadfence();
        sum += sums[tile - 1];
      }
      sums[tile] = sum;
      __threadfence();
      store_relaxed(flags + tile, 1u);
      if (tile == tiles - 1) out[0] = sum;
    }
    __syncthreads();
  }
  if (tiles == 0 && blockIdx.x == 0 && threadIdx.x == 0) out[0] = 0;
}
template <bool fenced>
Variant pipelined() {
  return variant("pipeline", [](const Problem& p, const DeviceInfo&) {
    const std::size_t n = p.n, tiles = ceil_div(n, 256);
    const Buffer<float> sums(tiles);
    const Buffer<unsigned> flags(tiles);
    PlanInfo info = info_for(n, sums.bytes() + flags.bytes());
    info.longest_chain = 4 + 6 + tiles;
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(flags.ptr(), flags.size(), stream);
      launch<pipeline<fenced>>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in),
                               static_cast<float*>(out), n, sums.ptr(), flags.ptr());
    });
  });
}
TEST(Hostile, passes_sums_on_by_flags) {
  expect_sound(pipelined<true>());
  expect_rejected(pipelined<false>(), "has passed no __threadfence() since it acquired that", Tier::quick);
}

// ---- clusters, variables and other places

enum class Left { nothing, first_barrier, last_barrier };
/// The first block of each cluster adds up what the others have in shared memory.
template <Left left>
__global__ void cluster_sums(const float* in, float* partials, std::size_t n) {
  namespace cg = cooperative_groups;
  __shared__ float mine[1];
  const auto cluster = cg::this_cluster();
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) mine[0] = sum;
  if (left != Left::first_barrier) cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    float total = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r) total += cluster.map_shared_rank(mine, static_cast<int>(r))[0];
    partials[blockIdx.x / cluster.num_blocks()] = total;
  }
  if (left != Left::last_barrier) cluster.sync();
}
template <Left left>
Variant in_clusters(std::size_t blocks) {
  return variant("clusters", [=](const Problem& p, const DeviceInfo& gpu) {
    require_capability(gpu, 90);
    constexpr unsigned cluster = 4;
    const std::size_t n = p.n, clusters = blocks / cluster;
    const Buffer<float> partials(clusters);
    PlanInfo info = info_for(n, partials.bytes());
    info.grid_blocks = blocks;
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<cluster_sums<left>>({blocks, block, block * sizeof(float), stream, cluster}, static_cast<const float*>(in),
                                 partials.ptr(), n);
      launch<add_partials>({1, 1, 0, stream}, static_cast<const float*>(partials.ptr()), static_cast<float*>(out),
                           clusters);
    });
  });
}
TEST(Hostile, adds_up_in_clusters) {
  expect_sound(in_clusters<Left::nothing>(8));
  expect_rejected(in_clusters<Left::nothing>(10), "is not a multiple of its clusters' 4", Tier::quick);
  expect_rejected(in_clusters<Left::first_barrier>(8), "which may not have begun", Tier::quick);
  expect_rejected(in_clusters<Left::last_barrier>(8), "of its cluster, which has ended", Tier::quick);
}

__device__ float block_totals[grid];
__device__ unsigned blocks_done;
__global__ void sums_in_a_variable(const float* in, std::size_t n) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0) block_totals[blockIdx.x] = sum;
}
__global__ void adds_a_variable(float* out) {
  float sum = 0;
  for (const float x : block_totals) sum += x;
  out[0] = sum;
}
__global__ void counts_in_a_variable(const float* in, float* out, std::size_t n, float* partials, unsigned*) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x == 0 && finish_as_last(sum, out, partials, &blocks_done)) blocks_done = 0;
}
TEST(Hostile, keeps_its_sums_in_a_variable) {
  // Calls of one plan come one after the other; two plans share the variable.
  const Variant v = variant("variable", [](const Problem& p, const DeviceInfo&) {
    return plan_of(info_for(p.n, 0), [=, n = p.n](void* in, void* out, Stream stream) {
      launch<sums_in_a_variable>({grid, block, block * sizeof(float), stream}, static_cast<const float*>(in), n);
      launch<adds_a_variable>({1, 1, 0, stream}, static_cast<float*>(out));
    });
  });
  expect_sound(v, [](const Case& c) { return c.check != "two-plans"; });
  expect_rejected(v, "of 5 elements of variable block_totals, which thread 0 of a launch of another stream ",
                  Tier::quick);
  // What a call leaves there to the next it declares.
  Variant counts = variant("counter-variable",
                           [](const Problem& p, const DeviceInfo&) { return one_launch<counts_in_a_variable>(p, {}); });
  expect_rejected(counts, "of variable blocks_done, which nobody has written since this call began", Tier::quick);
  counts.persistent_state = "the blocks that are done: zero between calls";
  expect_sound(counts, [](const Case& c) { return c.check != "two-plans"; });
}

/// Its last block adds up, after a barrier of all that works where all run at once.
__global__ void meets_by_hand(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  partials[blockIdx.x] = sum;
  __threadfence();
  atomicAdd(arrived, 1u);
  while (load_acquire(arrived) != gridDim.x) {
  }
  if (blockIdx.x != 0) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += partials[b];
  out[0] = total;
}
TEST(Hostile, fills_the_gpu_and_waits_for_all_its_blocks) {
  const auto of = [](bool cooperative) {
    return variant("full", [=](const Problem& p, const DeviceInfo& gpu) {
      const std::size_t n = p.n, blocks = static_cast<std::size_t>(gpu.sm_count * gpu.threads_per_sm / 1024);
      const Buffer<float> partials(blocks);
      const Buffer<unsigned> arrived(1);
      PlanInfo info = info_for(n, partials.bytes() + arrived.bytes());
      info.grid_blocks = blocks;
      info.block_threads = 1024;
      info.longest_chain = ceil_div(n, blocks * 1024) + 10 + blocks;
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        zero(arrived.ptr(), 1, stream);
        (cooperative ? launch_cooperative<meets_by_hand>
                     : launch<meets_by_hand>)({blocks, 1024, 1024 * sizeof(float), stream},
                                              static_cast<const float*>(in), static_cast<float*>(out), n,
                                              partials.ptr(), arrived.ptr());
      });
    });
  };
  const auto two_plans = [](const Case& c) { return c.check == "two-plans" && c.like.empty(); };
  expect_sound(of(true), two_plans);
  expect_rejected(of(false), "have not started, since only 6 fit at once", Tier::check, two_plans);
}

/// Block 0 waits for the others, but not for ever.
__global__ void gives_up(const float* in, float* out, std::size_t n, float* partials, unsigned* arrived) {
  const float sum = block_sum(grid_stride_sum(in, n));
  if (threadIdx.x != 0) return;
  store_relaxed(partials + blockIdx.x, sum);
  __threadfence();
  atomicAdd(arrived, 1u);
  if (blockIdx.x != 0) return;
  for (int look = 0; look < 10000 && load_acquire(arrived) != gridDim.x; ++look) {
  }
  __threadfence();
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += load_relaxed(partials + b);  // zero until it is there
  out[0] = total;
}
TEST(Hostile, leaves_the_nan_that_stood_in_its_output) {
  expect_rejected(variant("nan-alone",
                          [](const Problem& p, const DeviceInfo&) { return one_launch<leaves_nan_alone>(p, {}); }),
                  "which is right by chance alone", Tier::quick);
}

TEST(Hostile, gives_up_waiting_for_a_block_that_is_late) {
  expect_rejected(variant("gives-up", [](const Problem& p, const DeviceInfo&) { return one_launch<gives_up>(p, {}); }),
                  "order=starve");
}

}  // namespace
}  // namespace reductio::hostile
