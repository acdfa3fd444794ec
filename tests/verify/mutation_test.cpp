// The battery is only worth what it rejects. Each kernel here has one flaw of the kind that reductions are written
// with; the battery must reject every one of them, and pass the same kernels without the flaw.
//
// The kernels are plain kernel code, compiled for the simulated device, and their variants are in no registry.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "device/backend.h"
#include "device/device.h"
#include "tests/sanitized.h"
#include "verify/verify.h"

namespace reductio::mutants {
namespace {
using namespace device;

enum class Flaw {
  none,
  // what is read
  drops_tail,           // elements behind the last whole tile
  drops_last_on_odd_n,  // an element that only some sizes have
  drops_1_behind_5120,
  drops_2_behind_4096,
  drops_1_beyond_2_18,
  adds_one_twice,
  skips_second_tile,   // one tile of many
  reads_past_the_end,  // a missing bounds check
  reads_far_away,
  reads_far_before,
  assumes_alignment,  // starts at the 16-byte boundary before the input
  // what is added
  does_nothing,
  writes_zero,
  returns_nan,
  forgets_to_square,
  loses_signs,
  skips_nan,
  flushes_subnormals,
  accumulates_in_f32,  // wrong for f64 only
  rounds_to_bf16,      // wrong by little
  keeps_few_digits,    // 12 of f32's, 40 of f64's, in whole tiles, and declares a chain that forgives it
  overstates_its_chain,
  // how threads work together
  no_block_barrier,
  no_barrier_between_levels,
  no_warp_barrier,
  assumes_full_warps,  // folds 32 lanes whatever the block
  shuffles_outside_its_mask,
  // how blocks work together
  no_fence,
  no_writers_fence,
  no_readers_fence,
  adds_plainly,  // every block to the result
  adds_plainly_between_fences,
  // what is written
  overwrites_input,
  writes_past_the_output,
  writes_before_the_output,
  writes_far_away,
  // from call to call
  works_once,
  works_for_one_plan,
  leaves_the_counter,
  adds_to_the_output,  // never sets it
  another_stream,
  remembers_the_first_result,
  remembers_by_address,
  works_four_times,
  keeps_its_first_stream,
  understates_its_chain,
  shares_workspace,  // between plans
  // what a plan says and may do
  declares_one_thread,
  declares_no_launch,
  copies_in_enqueue,
  allocates_in_enqueue,
  frees_in_enqueue,
  pins_in_enqueue,
};

// Flaws are arguments, not template parameters: each would be six more kernels to compile.

template <class Load, class T>
__device__ T loaded(T x, Flaw flaw) {
  switch (flaw) {
    case Flaw::forgets_to_square: return x;
    case Flaw::loses_signs:
      if constexpr (std::is_floating_point_v<T>) return Load{}(x < 0 ? -x : x);
      break;
    case Flaw::skips_nan: return x == x ? Load{}(x) : T(0);
    case Flaw::flushes_subnormals:
      if constexpr (std::is_floating_point_v<T>) return std::abs(x) < std::numeric_limits<T>::min() ? T(0) : Load{}(x);
      break;
    case Flaw::accumulates_in_f32:
      if constexpr (std::is_same_v<T, double>) return static_cast<float>(Load{}(x));
      break;
    case Flaw::rounds_to_bf16:
      if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(Load{}(x)) & 0xffff0000u);
      break;
    case Flaw::keeps_few_digits:
      if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>((std::bit_cast<std::uint32_t>(Load{}(x)) + 0x800u) & 0xfffff000u);
      if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<double>((std::bit_cast<std::uint64_t>(Load{}(x)) + 0x1000u) & ~std::uint64_t{0x1fff});
      break;
    default: break;
  }
  return Load{}(x);
}

/// Grid stride, a tree in shared memory whose last warp is unrolled, a partial result for each block.
template <class T, class Load>
__global__ void block_sums(T* in, T* out, std::size_t n, Flaw flaw) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* const sums = reinterpret_cast<T*>(raw);
  const unsigned t = threadIdx.x;
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  std::size_t end = n;
  if (flaw == Flaw::drops_tail) end = n / blockDim.x * blockDim.x;
  if (flaw == Flaw::drops_last_on_odd_n) end = n - n % 2;
  if (flaw == Flaw::drops_1_behind_5120) end = n % 5120 == 1 && n > 5120 ? n - 1 : n;
  if (flaw == Flaw::drops_2_behind_4096) end = n % 4096 == 2 && n > 4096 ? n - 2 : n;
  if (flaw == Flaw::drops_1_beyond_2_18) end = n > (1 << 18) ? n - 1 : n;
  if (flaw == Flaw::reads_past_the_end) end = n + (n % blockDim.x != 0);
  T sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t; i < end; i += stride) {
    if (flaw == Flaw::skips_second_tile)
      if (i / blockDim.x == 1) continue;
    if (flaw == Flaw::keeps_few_digits && i >= n / blockDim.x * blockDim.x) {
      sum += Load{}(T(in[i]));
      continue;
    }
    sum += loaded<Load>(T(in[i]), flaw);
    if (flaw == Flaw::reads_far_away && i == n / 2) sum += T(in[std::int64_t{1} << 40]);
    if (flaw == Flaw::reads_far_before && i == n / 2) sum += T(in[-(std::int64_t{1} << 40)]);
    if (flaw == Flaw::adds_one_twice)
      if (i == n / 2) sum += loaded<Load>(T(in[i]), flaw);
  }
  sums[t] = sum;
  if (flaw == Flaw::overwrites_input)
    if (std::size_t{blockIdx.x} * blockDim.x + t < n) in[std::size_t{blockIdx.x} * blockDim.x + t] = sum;
  if (flaw != Flaw::no_block_barrier) __syncthreads();
  for (unsigned distance = blockDim.x / 2; distance > 16; distance /= 2) {
    if (t < distance) sums[t] += sums[t + distance];
    if (flaw != Flaw::no_barrier_between_levels) __syncthreads();
  }
  if (t < 32) {
    const unsigned first = flaw == Flaw::assumes_full_warps ? 16 : std::min(16u, blockDim.x / 2);
    for (unsigned distance = first; distance > 0; distance /= 2) {
      const T other = sums[t ^ distance];
      if (flaw != Flaw::no_warp_barrier) __syncwarp();
      sums[t] += other;
      if (flaw != Flaw::no_warp_barrier) __syncwarp();
    }
  }
  if (t != 0) return;
  out[blockIdx.x] = sums[0];
  if (flaw == Flaw::shuffles_outside_its_mask) out[blockIdx.x] += __shfl_down_sync(1u, sums[0], 1);
}

/// Thread 0 of one block adds up the partial results. `calls` counts calls of this plan.
template <class T>
__global__ void finish(const T* partials, std::size_t count, T* out, unsigned* calls, std::size_t places, Flaw flaw) {
  if (threadIdx.x != 0) return;
  if (flaw == Flaw::does_nothing) return;
  T sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += partials[i];
  if (flaw == Flaw::accumulates_in_f32 && std::is_same_v<T, double>) sum = static_cast<T>(static_cast<float>(sum));
  if (flaw == Flaw::writes_zero) sum = 0;
  if (flaw == Flaw::returns_nan) sum = std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : T(-1);
  const unsigned call = calls[0];
  calls[0] = call + 1;
  if (flaw == Flaw::works_once)
    if (call > 0) return;
  if (flaw == Flaw::works_four_times)
    if (call > 3) return;
  if (flaw == Flaw::writes_far_away) out[-(std::int64_t{1} << 33)] = sum;
  if (flaw == Flaw::adds_to_the_output) {
    out[0] += sum;
    return;
  }
  if (flaw == Flaw::writes_before_the_output) out[0] = sum;
  out[places - 1] = sum;
  out[0] = sum;
}

/// The last block to arrive adds up the partial results.
template <class T, class Load>
__global__ void last_block(const T* in, T* partials, unsigned* counter, T* out, std::size_t n, Flaw flaw) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* const sums = reinterpret_cast<T*>(raw);
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  T sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) sum += Load{}(T(in[i]));
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned i = 1; i < blockDim.x; ++i) sum += sums[i];
  if (flaw == Flaw::adds_plainly || flaw == Flaw::adds_plainly_between_fences) {
    if (flaw == Flaw::adds_plainly_between_fences) __threadfence();
    out[0] += sum;
    if (flaw == Flaw::adds_plainly_between_fences) __threadfence();
    return;
  }
  partials[blockIdx.x] = sum;
  if (flaw != Flaw::no_fence && flaw != Flaw::no_writers_fence) __threadfence();
  if (atomicAdd(&counter[0], 1u) != gridDim.x - 1) return;
  if (flaw != Flaw::no_fence && flaw != Flaw::no_readers_fence) __threadfence();
  sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += partials[b];
  if (flaw != Flaw::leaves_the_counter) counter[0] = 0;
  out[0] = sum;
}

std::unique_ptr<Plan> prepare_two_launches(Flaw flaw, const Problem& p, const Settings& s) {
  static int plans = 0;
  const bool broken_plan = flaw == Flaw::works_for_one_plan && plans++ > 0;
  return dispatch(p, [&]<class T, class Load>() {
    const auto block = static_cast<unsigned>(s.integer("block"));
    const auto grid = static_cast<std::size_t>(s.integer("grid"));
    const std::size_t n = p.n;
    const Buffer<T> partials(grid);
    const Buffer<unsigned> calls(1);
    PlanInfo info{grid, block, ceil_div(n, grid * block) + std::bit_width(block) + grid,
                  partials.bytes() + calls.bytes() + sizeof(T)};
    if (flaw == Flaw::understates_its_chain) info.longest_chain = 0;
    if (flaw == Flaw::keeps_few_digits || flaw == Flaw::overstates_its_chain) info.longest_chain = n + 10000;
    if (flaw == Flaw::declares_one_thread) info.grid_blocks = info.block_threads = 1;
    if (flaw == Flaw::declares_no_launch) info.grid_blocks = info.block_threads = 0;
    auto first_input = std::make_shared<void*>(nullptr);
    auto first_stream = std::make_shared<std::optional<Stream>>();
    auto kept = std::make_shared<std::optional<Buffer<T>>>(Buffer<T>(1));
    zero(calls.ptr(), 1, Stream{});
    std::vector<unsigned> none(1);
    copy_to_host<unsigned>(none.data(), calls.ptr(), 1, Stream{});  // the count is 0 when the plan is made
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      if (flaw == Flaw::another_stream) stream = Stream{};
      if (flaw == Flaw::keeps_its_first_stream) {
        if (!*first_stream) *first_stream = stream;
        stream = **first_stream;
      }
      if (flaw == Flaw::copies_in_enqueue)
        copy_to_host<unsigned>(std::vector<unsigned>(1).data(), calls.ptr(), 1, stream);
      if (flaw == Flaw::allocates_in_enqueue) zero(Buffer<T>(1).ptr(), 0, stream);
      if (flaw == Flaw::frees_in_enqueue) kept->reset();
      if (flaw == Flaw::pins_in_enqueue) HostBuffer<T>(1, true);
      if (flaw == Flaw::remembers_the_first_result) {
        if (!*first_input) *first_input = in;
        in = *first_input;
      }
      if (flaw == Flaw::assumes_alignment) in = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(in) / 16 * 16);
      const std::size_t places = flaw == Flaw::writes_past_the_output ? 2 : 1;
      if (flaw == Flaw::writes_before_the_output) out = static_cast<T*>(out) - 1;
      const Launch shape{grid, block, block * sizeof(T), stream};
      const bool remembered = flaw == Flaw::remembers_by_address && std::exchange(*first_input, in) == in;
      if (!remembered) launch<block_sums<T, Load>>(shape, static_cast<T*>(in), partials.ptr(), n, flaw);
      const std::size_t count = broken_plan ? 0 : grid;
      launch<finish<T>>(Launch{1, 32, 0, stream}, static_cast<const T*>(partials.ptr()), count, static_cast<T*>(out),
                        calls.ptr(), flaw == Flaw::writes_before_the_output ? 2 : places, flaw);
    });
  });
}

/// Adds up the input unless it did in the call of this number.
template <class T, class Load>
__global__ void sum_unless_seen(const T* in, std::size_t n, unsigned number, unsigned* seen, T* kept, T* out) {
  if (threadIdx.x != 0) return;
  if (seen[0] != number) {
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += Load{}(T(in[i]));
    kept[0] = sum;
    seen[0] = number;
  }
  out[0] = T(kept[0]);
}

/// The host counts the calls, which a captured call does not see.
std::unique_ptr<Plan> prepare_counted_by_host(Flaw, const Problem& p, const Settings&) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n;
    const Buffer<T> kept(1);
    const Buffer<unsigned> seen(1);
    zero(seen.ptr(), 1, Stream{});
    std::vector<unsigned> none(1);
    copy_to_host<unsigned>(none.data(), seen.ptr(), 1, Stream{});
    const PlanInfo info{1, 32, n, kept.bytes() + seen.bytes()};
    return plan_of(info, [=, calls = std::make_shared<unsigned>(0)](void* in, void* out, Stream s) {
      launch<sum_unless_seen<T, Load>>(Launch{1, 32, 0, s}, static_cast<const T*>(in), n, ++*calls, seen.ptr(),
                                       kept.ptr(), static_cast<T*>(out));
    });
  });
}

/// Adds up the partial results in a tree that loses some unless their number is a power of two.
template <class T>
__global__ void fold_partials(T* partials, unsigned count, T* out) {
  for (unsigned distance = count / 2; distance > 0; distance /= 2) {
    if (threadIdx.x < distance) partials[threadIdx.x] += partials[threadIdx.x + distance];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = partials[0];
}

std::unique_ptr<Plan> prepare_two_blocks_per_sm(const Problem& p, const Settings&, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n, grid = 2 * static_cast<std::size_t>(gpu.sm_count);
    const Buffer<T> partials(grid);
    const PlanInfo info{grid, 64, ceil_div(n, grid * 64) + 6 + std::bit_width(grid), partials.bytes()};
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<block_sums<T, Load>>(Launch{grid, 64, 64 * sizeof(T), stream}, static_cast<T*>(in), partials.ptr(), n,
                                  Flaw::none);
      launch<fold_partials<T>>(Launch{1, 64, 0, stream}, partials.ptr(), static_cast<unsigned>(grid),
                               static_cast<T*>(out));
    });
  });
}

/// Sums of f32 in f64.
__global__ void wide_block_sums(const float* in, double* out, std::size_t n) {
  extern __shared__ __align__(16) unsigned char raw[];
  double* const sums = reinterpret_cast<double*>(raw);
  const unsigned t = threadIdx.x;
  double sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + t; i < n; i += std::size_t{blockDim.x} * gridDim.x)
    sum += double{float(in[i])};
  sums[t] = sum;
  for (unsigned distance = blockDim.x / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (t < distance) sums[t] += sums[t + distance];
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

__global__ void wide_finish(const double* partials, float* out, unsigned count) {
  double sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += partials[i];
  out[0] = static_cast<float>(sum);
}

/// Adds f32 up in f64, which rounds once, and declares `chain(n)`.
std::unique_ptr<Plan> prepare_wide(std::size_t (*chain)(std::size_t n), const Problem& p) {
  constexpr unsigned grid = 3, block = 128;
  const std::size_t n = p.n;
  const Buffer<double> partials(grid);
  return plan_of({grid, block, chain(n), partials.bytes()}, [=](void* in, void* out, Stream stream) {
    launch<wide_block_sums>(Launch{grid, block, block * sizeof(double), stream}, static_cast<const float*>(in),
                            partials.ptr(), n);
    launch<wide_finish>(Launch{1, 1, 0, stream}, static_cast<const double*>(partials.ptr()), static_cast<float*>(out),
                        grid);
  });
}

/// Every thread adds what it loaded to the result.
template <class T, class Load>
__global__ void add_all(const T* in, T* out, std::size_t n) {
  T sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += std::size_t{blockDim.x} * gridDim.x)
    sum += Load{}(T(in[i]));
  atomicAdd(out, sum);
}

std::unique_ptr<Plan> prepare_atomic(const Problem& p, const Settings&, const DeviceInfo&) {
  return dispatch(p, [&]<class T, class Load>() {
    const std::size_t n = p.n, threads = 4 * 64;
    const PlanInfo info{.grid_blocks = 4,
                        .block_threads = 64,
                        .longest_chain = ceil_div(n, threads) + std::min(n, threads),
                        .flushes_subnormals = true};
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(static_cast<T*>(out), 1, stream);
      launch<add_all<T, Load>>(Launch{4, 64, 0, stream}, static_cast<const T*>(in), static_cast<T*>(out), n);
    });
  });
}

/// The host adds up the blocks' partial results.
std::unique_ptr<Plan> prepare_host_part(Flaw flaw, const Problem& p, const Settings& s) {
  return dispatch(p, [&]<class T, class Load>() {
    const auto block = static_cast<unsigned>(s.integer("block"));
    const auto grid = static_cast<std::size_t>(s.integer("grid"));
    const std::size_t n = p.n;
    static std::weak_ptr<Buffer<T>> shared;
    auto partials = flaw == Flaw::shares_workspace ? shared.lock() : nullptr;
    if (!partials) partials = std::make_shared<Buffer<T>>(3);
    shared = partials;
    const PlanInfo info{grid, block, ceil_div(n, grid * block) + std::bit_width(block) + grid, partials->bytes(),
                        ResultLocation::host_part};
    return plan_of(
        info,
        [=](void* in, void*, Stream stream) {
          launch<block_sums<T, Load>>(Launch{grid, block, block * sizeof(T), stream}, static_cast<T*>(in),
                                      partials->ptr(), n, Flaw::none);
        },
        [=](void* result, Stream stream) {
          std::vector<T> values(grid);
          copy_to_host<T>(values.data(), partials->ptr(), grid, stream);
          const T sum = std::accumulate(values.begin(), values.end(), T(0));
          std::memcpy(result, &sum, sizeof sum);
        });
  });
}

std::unique_ptr<Plan> prepare_last_block(Flaw flaw, const Problem& p, const Settings& s) {
  return dispatch(p, [&]<class T, class Load>() {
    const auto block = static_cast<unsigned>(s.integer("block"));
    const auto grid = static_cast<std::size_t>(s.integer("grid"));
    const std::size_t n = p.n;
    const Buffer<T> partials(grid);
    const Buffer<unsigned> counter(1);
    zero(counter.ptr(), 1, Stream{});
    std::vector<unsigned> none(1);
    copy_to_host<unsigned>(none.data(), counter.ptr(), 1, Stream{});  // the counter is 0 when the plan is made
    return plan_of({grid, block, ceil_div(n, grid * block) + block + grid, partials.bytes() + counter.bytes()},
                   [=](void* in, void* out, Stream stream) {
                     zero(static_cast<T*>(out), 1, stream);
                     launch<last_block<T, Load>>(Launch{grid, block, block * sizeof(T), stream},
                                                 static_cast<const T*>(in), partials.ptr(), counter.ptr(),
                                                 static_cast<T*>(out), n, flaw);
                   });
  });
}

template <class PrepareFlawed>
Variant variant(const char* name, PrepareFlawed prepare, Flaw flaw, ResultLocation result = ResultLocation::on_device) {
  Variant v{
      .id = std::string("mutant/") + name,
      .title = name,
      .cites = "none",
      .how = {},
      .operations = {Operation::sum, Operation::sum_of_squares},
      .types = {ElementType::i32, ElementType::f32, ElementType::f64},
      .tunables = {Tunable::choice("block", {"16", "32", "128"}, "128"), Tunable::choice("grid", {"1", "3"}, "3")},
      .result = result,
      .persistent_state = "counters of calls and of arrived blocks"};
  v.prepare[static_cast<int>(DeviceKind::sim)] = [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    return prepare(flaw, p, s);
  };
  return v;
}

VerifyReport report_on(const Variant& v, Tier tier, std::uint64_t seed) {
  const auto backend = open_sim();
  return verify({&v}, *backend, tier, seed);
}

std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const Failure& f : report.failures) text += f.what.describe() + ": " + f.why + "\n";
  return text;
}

/// Why the case fails, empty if it does not; as verify() has it.
std::string failure_of(const Case& c, Backend& backend) {
  try {
    return run_case(c, backend);
  } catch (const Refused&) {
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

/// The first failure that says `because` is enough: the rest of the battery would say the same.
void expect_rejected(const Variant& v, const std::string& because = "", Tier tier = Tier::quick) {
  if (tier == Tier::check) LEFT_TO_RELEASE_BUILDS();
  // Not by the luck of one seed: even the battery that takes seconds rejects it with each. Sanitizers see one.
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 3); ++seed) {
    const auto backend = open_sim();
    bool rejected = false;
    std::string failures;
    for (const Case& c : battery(v, backend->info(), tier, seed)) {
      const std::string why = failure_of(c, *backend);
      rejected = !why.empty() && why.find(because) != std::string::npos;
      if (rejected) break;
      if (!why.empty()) failures += c.describe() + ": " + why + "\n";
    }
    EXPECT_TRUE(rejected) << v.id << " with seed " << seed << ", wanted because: " << because << "; got\n" << failures;
    const Variant twin = variant("twin", prepare_two_launches, Flaw::none);
    const Problem some{Operation::sum, ElementType::i32, 1000};
    const Case sound{&twin, some, twin.settings(), 0, "random", 1, "forward", "exact"};
    EXPECT_EQ(run_case(sound, *backend), "") << "the device no longer works";
  }
}

TEST(Mutation, unflawed_twins_pass) {
  for (const Variant& v : {variant("two-launches", prepare_two_launches, Flaw::none),
                           variant("host-part", prepare_host_part, Flaw::none, ResultLocation::host_part),
                           variant("last-block", prepare_last_block, Flaw::none)}) {
    const VerifyReport report = report_on(v, Tier::sanitizer, 1);
    EXPECT_EQ(report.failed, 0u) << text_of(report);
    EXPECT_GT(report.passed, 300u);
    EXPECT_EQ(report.refused, 0u);
    EXPECT_EQ(report.not_run, 0u);
  }
}

#define REJECTED(flaw) \
  TEST(Mutation, flaw) { expect_rejected(variant(#flaw, prepare_two_launches, Flaw::flaw)); }
#define REJECTED_BECAUSE(flaw, because) \
  TEST(Mutation, flaw) { expect_rejected(variant(#flaw, prepare_two_launches, Flaw::flaw), because); }

REJECTED(drops_tail)
REJECTED(drops_last_on_odd_n)
REJECTED(adds_one_twice)
REJECTED(skips_second_tile)
REJECTED(reads_past_the_end)
REJECTED(assumes_alignment)
REJECTED(does_nothing)
REJECTED(writes_zero)
REJECTED(returns_nan)
REJECTED(forgets_to_square)
REJECTED(loses_signs)
REJECTED(skips_nan)
REJECTED(flushes_subnormals)
REJECTED(accumulates_in_f32)
REJECTED(rounds_to_bf16)
REJECTED(no_block_barrier)
REJECTED(no_barrier_between_levels)
REJECTED(no_warp_barrier)
REJECTED(assumes_full_warps)
REJECTED_BECAUSE(shuffles_outside_its_mask,
                 "gives an undefined value, first to block 0, thread 0: lane 1 is not in the mask")
REJECTED_BECAUSE(overwrites_input, "changed its input")
REJECTED_BECAUSE(writes_past_the_output, "writes element 1 of 1 elements of ")
REJECTED_BECAUSE(writes_before_the_output, "writes element -1 of 1 elements of ")
REJECTED_BECAUSE(works_once, "second call of the same plan")
REJECTED(works_for_one_plan)
REJECTED(adds_to_the_output)
REJECTED(another_stream)
REJECTED_BECAUSE(remembers_the_first_result, "second call of the same plan")
REJECTED_BECAUSE(remembers_by_address, "of one plan")
REJECTED_BECAUSE(works_four_times, "call 5 of one plan")
REJECTED_BECAUSE(keeps_its_first_stream, "call 2 of one plan, on another stream")
REJECTED_BECAUSE(understates_its_chain, "does .finish say how the kernel ends? If so, set .longest_chain")
REJECTED_BECAUSE(overstates_its_chain, "so much forgiven rounding hides real faults")
REJECTED_BECAUSE(reads_far_away, ": reads 4 bytes that are not memory of the device")
REJECTED_BECAUSE(reads_far_before, ": reads 4 bytes that are not memory of the device")
REJECTED_BECAUSE(writes_far_away, ": writes 4 bytes that are not memory of the device")
REJECTED_BECAUSE(declares_one_thread, "declares a first launch of 1 blocks of 1 threads (PlanInfo), and launches ")
REJECTED_BECAUSE(declares_no_launch, "declares a first launch of 0 blocks of 0 threads (PlanInfo), and launches ")
REJECTED_BECAUSE(copies_in_enqueue, "enqueue() copies to the host, which waits for the device: only finish() may wait")
REJECTED_BECAUSE(allocates_in_enqueue, "enqueue() allocates device memory")
REJECTED_BECAUSE(frees_in_enqueue, "enqueue() frees device memory")
REJECTED_BECAUSE(pins_in_enqueue, "enqueue() allocates page-locked memory")

TEST(Mutation, counts_its_calls_on_the_host) {
  expect_rejected(variant("counted-by-host", prepare_counted_by_host, Flaw::none),
                  "captured in a graph that is launched again: got ");
}

/// One type, and no settings but the first: cheap even in the larger tiers.
Variant plain(const char* name, Flaw flaw) {
  Variant v = variant(name, prepare_two_launches, flaw);
  v.types = {ElementType::f32};
  v.operations = {Operation::sum};
  v.tunables = {Tunable::choice("block", {"128"}, "128"), Tunable::choice("grid", {"3"}, "3")};
  return v;
}
TEST(Mutation, drops_1_behind_5120) {
  expect_rejected(plain("drops_1_behind_5120", Flaw::drops_1_behind_5120), "exact", Tier::check);
}
TEST(Mutation, drops_2_behind_4096) {
  expect_rejected(plain("drops_2_behind_4096", Flaw::drops_2_behind_4096), "exact", Tier::check);
}

// What is rounded away of a value that needs all digits is found by what is added up, whatever chain is declared.
TEST(Mutation, keeps_few_digits) {
  const Variant v = variant("keeps_few_digits", prepare_two_launches, Flaw::keeps_few_digits);
  expect_rejected(v, "so much forgiven rounding hides real faults");
  for (const Operation op : v.operations)
    for (const ElementType type : {ElementType::f32, ElementType::f64})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto sim = open_sim();
        const std::string data = op == Operation::sum ? "wide" : "wide-square";
        const Case exact{&v, {op, type, 1024}, v.settings(), 0, data, seed, "forward", "exact"};
        EXPECT_NE(run_case(exact, *sim).find("exactly"), std::string::npos) << data << run_case(exact, *sim);
        Case forgiven = exact;
        forgiven.dataset = "random", forgiven.check = "bounded";
        EXPECT_EQ(run_case(forgiven, *sim), "") << "which is why the wide value is needed";
      }
}

// What is added up in a wider type rounds once, whatever its chain: it may declare a tree's depth, as all must at
// least, and a little more, but no chain that forgives thousands.
TEST(Mutation, a_sum_in_a_wider_type_declares_the_depth_of_a_tree) {
  const auto of = [](const char* name, std::size_t (*chain)(std::size_t n)) {
    Variant v = plain(name, Flaw::none);
    v.tunables.clear();
    v.prepare[static_cast<int>(DeviceKind::sim)] = [=](const Problem& p, const Settings&, const DeviceInfo&) {
      return prepare_wide(chain, p);
    };
    return v;
  };
  const Variant honest = of("tree", [](std::size_t n) { return std::size_t(std::bit_width(n)) + 10; });
  const VerifyReport report = report_on(honest, sanitized ? Tier::sanitizer : Tier::check, 1);
  EXPECT_EQ(report.failed, 0u) << text_of(report);
  expect_rejected(of("thousands", [](std::size_t n) { return n + 10000; }),
                  "so much forgiven rounding hides real faults");
}

// Of the float type whose large size is repeated: one of the repeated inputs is exact.
TEST(Mutation, drops_1_beyond_2_18) {
  expect_rejected(plain("drops_1_beyond_2_18", Flaw::drops_1_beyond_2_18), "exactly", Tier::check);
}

TEST(Mutation, folds_two_blocks_per_sm_as_a_power_of_two) {
  Variant v = plain("two-blocks-per-sm", Flaw::none);
  v.tunables.clear();
  v.prepare[static_cast<int>(DeviceKind::sim)] = prepare_two_blocks_per_sm;
  expect_rejected(v);
  v.prepare[static_cast<int>(DeviceKind::sim)] = [](const Problem& p, const Settings& s, DeviceInfo gpu) {
    gpu.sm_count = 4;  // of which this would be right
    return prepare_two_blocks_per_sm(p, s, gpu);
  };
  EXPECT_EQ(report_on(v, Tier::quick, 1).failed, 0u);
}

TEST(Mutation, atomics_that_declare_always) {
  Variant v = plain("atomics", Flaw::none);
  v.tunables.clear();
  v.prepare[static_cast<int>(DeviceKind::sim)] = prepare_atomic;
  v.determinism = Determinism::none;
  const VerifyReport honest = report_on(v, Tier::quick, 1);
  EXPECT_EQ(honest.failed, 0u) << text_of(honest);
  v.determinism = Determinism::always;
  for (const Tier tier : {Tier::quick, Tier::check}) expect_rejected(v, "differ in bits", tier);
}

// Twins whose settings differ in bits: a grid of its own for each.
TEST(Mutation, settings_that_differ_where_n_alone_decides) {
  Variant v = variant("settings", prepare_two_launches, Flaw::none);
  v.determinism = Determinism::per_launch_shape;
  EXPECT_EQ(report_on(v, Tier::quick, 1).failed, 0u);
  v.determinism = Determinism::always;
  expect_rejected(v, "though the variant declares that n alone decides (Determinism::always)");
}
/// As many blocks as the setting says, but none without a tile.
template <std::size_t tile>
std::unique_ptr<Plan> prepare_clamped(Flaw flaw, const Problem& p, const Settings& s) {
  Settings clamped = s;
  const auto most = static_cast<std::size_t>(s.integer("grid"));
  clamped.set("grid", std::to_string(std::clamp<std::size_t>(ceil_div(p.n, tile), 1, most)));
  return prepare_two_launches(flaw, p, clamped);
}
// A small n has one launch whatever the setting, or few whose sums of random data agree by luck.
TEST(Mutation, settings_that_differ_of_large_sizes_alone) {
  const auto always = [](const char* name, auto prepare) {
    Variant v = variant(name, prepare, Flaw::none);
    v.types = {ElementType::f32};
    v.operations = {Operation::sum};
    v.tunables = {Tunable::choice("block", {"128"}, "128"), Tunable::choice("grid", {"3", "24", "64"}, "24")};
    v.determinism = Determinism::always;
    return v;
  };
  const std::string because = "though the variant declares that n alone decides (Determinism::always)";
  expect_rejected(always("unsettled", prepare_clamped<256>), because);
  expect_rejected(always("settled-below-4096", prepare_clamped<4096>), because, Tier::check);
}

#ifndef REDUCTIO_SANITIZED  // which has no command line
/// The exit code of a command that verify printed.
int call(const std::string& command) {
  std::istringstream text(command);
  std::vector<std::string> words;
  for (std::string word; text >> word;) {
    std::erase(word, '\'');
    words.push_back(word);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return cli::program(static_cast<int>(words.size()), arguments.data());
}

/// For a process of its own, whose registry has the mutant.
void enter(const Variant& v) { register_variant(v, DeviceKind::sim, v.prepare[static_cast<int>(DeviceKind::sim)]); }

// Each failure's command says the same again: exit code 2, of the one case.
TEST(Mutation, what_a_failure_prints_runs_it_again) {
  const auto expect_again = [](const Variant& v, const std::string& check) {
    const VerifyReport report = report_on(v, Tier::quick, 1);
    const auto failure = std::find_if(report.failures.begin(), report.failures.end(),
                                      [&](const Failure& f) { return f.what.check == check; });
    ASSERT_NE(failure, report.failures.end()) << check << '\n' << text_of(report);
    const auto run_again = [&] {
      if (!std::freopen("/dev/null", "w", stdout)) std::exit(1);  // what it says again is said to nobody
      enter(v);
      std::exit(call(failure->what.command(DeviceKind::sim)));
    };
    EXPECT_EXIT(run_again(), testing::ExitedWithCode(2), "verification failed: 1 of 1 cases, in 1 variant")
        << failure->what.command(DeviceKind::sim);
  };
  Variant differing = variant("differing", prepare_two_launches, Flaw::none);
  differing.determinism = Determinism::always;
  expect_again(differing, "settings");
  expect_again(variant("four-times", prepare_two_launches, Flaw::works_four_times), "calls");
  expect_again(variant("overstating", prepare_two_launches, Flaw::overstates_its_chain), "chain");
  expect_again(variant("once", prepare_two_launches, Flaw::works_once), "repeat");
  expect_again(variant("sharing", prepare_host_part, Flaw::shares_workspace, ResultLocation::host_part), "two-plans");
  expect_again(variant("tail", prepare_two_launches, Flaw::drops_tail), "exact");
}

// A sample of all that the battery asks: of each check, kind of data, GPU and end of the index the cheapest case.
TEST(Mutation, the_command_of_every_kind_of_case_runs_that_case) {
  const auto never_works = [](Flaw, const Problem&, const Settings&) -> std::unique_ptr<Plan> {
    throw std::runtime_error("never works");
  };
  Variant v = variant("throws", never_works, Flaw::none);
  v.operations.assign(all_operations().begin(), all_operations().end());
  std::erase_if(v.operations, has_shape);  // which no variant has beside others
  v.types.assign(all_types().begin(), all_types().end());
  v.tunables.push_back(loop_index());
  v.determinism = Determinism::always;
  const DeviceInfo device = open_sim()->info();
  std::map<std::tuple<std::string, std::string, std::string, bool>, Case> sample;
  for (const Case& c : battery(v, device, Tier::check, 1)) {
    if (!c.left_out.empty()) continue;
    const auto [at, is_new] = sample.try_emplace({c.check, c.dataset, c.like, c.index_limit != 0}, c);
    if (!is_new && c.cost < at->second.cost) at->second = c;
  }
  EXPECT_GT(sample.size(), 30u);
  const auto run_all = [&] {
    enter(v);
    for (const auto& [kind, c] : sample) {
      testing::internal::CaptureStdout();
      const int code = call(c.command(DeviceKind::sim) + " --json");
      const std::string printed = testing::internal::GetCapturedStdout();
      if (code == 2 && printed.find("\"case\": \"" + c.describe() + "\"") != std::string::npos) continue;
      std::fprintf(stderr, "%s: exit code %d\n%s", c.command(DeviceKind::sim).c_str(), code, printed.c_str());
      std::exit(1);
    }
    std::fprintf(stderr, "all %zu run\n", sample.size());
    std::exit(0);
  };
  EXPECT_EXIT(run_all(), testing::ExitedWithCode(0), "all [0-9]+ run");
}
#endif

TEST(Mutation, shares_workspace) {
  expect_rejected(variant("shares_workspace", prepare_host_part, Flaw::shares_workspace, ResultLocation::host_part),
                  "of global memory that is another plan's");
}
// Their results are right in every order: only what orders memory is missing.
TEST(Mutation, fences) {
  const auto expect_race = [](const char* name, Flaw flaw, const std::string& because) {
    const Variant v = variant(name, prepare_last_block, flaw);
    expect_rejected(v, because);
    // Each failure is the race, in whatever order; no result was wrong.
    for (const Failure& f : report_on(v, Tier::quick, 1).failures)
      EXPECT_NE(f.why.find("simulated device: race in kernel last_block"), std::string::npos) << f.why;
  };
  const std::string writer = "has passed no __threadfence() between that and its atomic";
  expect_race("no_fence", Flaw::no_fence, writer);
  expect_race("no_writers_fence", Flaw::no_writers_fence, writer);
  expect_race("no_readers_fence", Flaw::no_readers_fence,
              "this block has passed no __threadfence() since it acquired that");
  expect_race("no_readers_fence", Flaw::no_readers_fence, "needs a fence of its own after its atomic");
  expect_race("adds_plainly", Flaw::adds_plainly, "has published nothing since");
  expect_race("adds_plainly_between_fences", Flaw::adds_plainly_between_fences, "has published nothing since");
}
TEST(Mutation, leaves_the_counter) {
  expect_rejected(variant("leaves_the_counter", prepare_last_block, Flaw::leaves_the_counter),
                  "second call of the same plan");
  expect_rejected(variant("leaves_the_counter", prepare_last_block, Flaw::leaves_the_counter),
                  "; does a call leave a counter or other state behind?");
}

}  // namespace
}  // namespace reductio::mutants
