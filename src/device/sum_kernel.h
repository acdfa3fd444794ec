#pragma once
/// sum_kernel(): a variant in one statement, for kernels (in, out, n) of the shapes that most reductions have:
///
///   const Register mine = sum_kernel("mine/atomic", {.finish = Finish::thread_atomics, .block = 256},
///                                    []<class T>() { return launch<add_all<T>>; });
///
/// It chooses the launch, allocates the workspace, zeroes what each call needs zeroed, and computes the longest chain
/// of additions from the shape. A variant that no shape fits prepares its own plan (device/plan.h).

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/plan.h"

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// How the blocks' sums become the result, out[0].
enum class Finish {
  thread_atomics,  ///< every thread adds its sum by an atomic to out[0], which each call zeroes first
  warp_atomics,    ///< one thread of every warp does
  block_atomics,   ///< one thread of every block does
  second_launch,   ///< block b stores its sum in out[b]; the kernel runs again, as one block, on those sums
  last_block,  ///< the kernel takes (in, out, n, partials, arrived): block b stores its sum in partials[b] and counts
               ///< itself in arrived[0], which each call zeroes first; the last to arrive adds up and stores out[0]
};

inline const char* in_words(Finish finish) {
  switch (finish) {
    case Finish::thread_atomics: return "atomic of every thread";
    case Finish::warp_atomics: return "atomic of every warp";
    case Finish::block_atomics: return "atomic of every block";
    case Finish::second_launch: return "second launch";
    case Finish::last_block: return "last block";
  }
  return "";
}

/// What sum_kernel() cannot read off the kernel.
struct SumShape {
  Finish finish = Finish::second_launch;
  /// Threads per block. A tunable `block` overrides it.
  unsigned block = 256;
  /// The grid has at most this many blocks per SM, and none without an element. A tunable `grid`, if it is a number,
  /// overrides it.
  unsigned blocks_per_sm = 8;
  /// That a thread loads at once: 4 if it loads float4.
  unsigned elements_per_step = 1;
  /// Dynamic shared memory: 1 for an element per thread, 32 for one per warp, 0 for none.
  unsigned threads_per_shared_element = 0;
  /// last_block alone: the kernel resets `arrived` to zero itself, so it is zeroed once and not in each call.
  bool resets_counter = false;
  std::vector<Tunable> tunables{};
  std::vector<ElementType> types{ElementType::f32, ElementType::f64, ElementType::i32};  ///< of a template kernel
  Determinism determinism = Determinism::none;
  std::string title{}, cites{};  ///< empty: the id; none
  Strategy how{};                ///< in words; between blocks, empty: as `finish` says
  std::string cuda_only{};       ///< as Variant::cuda_only
  /// Replaces the computed longest chain (PlanInfo::longest_chain) of n elements in this launch.
  std::function<std::size_t(std::size_t n, std::size_t grid, unsigned block)> longest_chain{};
  /// Replaces blocks_per_sm: how many blocks, if no setting says it.
  std::function<std::size_t(std::size_t n, unsigned block, const DeviceInfo&)> grid{};
  /// As Variant::wrong_for: data that it is known to add up wrongly, as a compensated sum does infinities.
  std::function<std::string(std::string_view dataset, const Settings&)> wrong_for{};
  /// For a kernel with the setting `index`: the type that its document has (core/loop_index.h).
  std::string document_index{};
};

/// What sum_kernel() needs to know of a kernel's parameters. A template has none yet, so any element will do.
template <class Kernel>
struct SumParameters {
  using Element = float;
  static constexpr bool fit = false, has_counter = false;
};
template <class In, class T, class N>
struct SumParameters<void (*)(const Launch&, In, T*, N)> {
  using Element = T;
  using Number = N;
  static constexpr bool fit = std::is_integral_v<N> && requires(const T* p) { In{p}; };
  static constexpr bool has_counter = false;
};
template <class In, class T, class N>
struct SumParameters<void (*)(const Launch&, In, T*, N, T*, unsigned*)>
    : SumParameters<void (*)(const Launch&, In, T*, N)> {
  static constexpr bool has_counter = true;
};

template <class T>
constexpr ElementType type_of() {
  constexpr bool integer = std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int32_t>;
  static_assert(integer || std::is_same_v<T, float> || std::is_same_v<T, double>,
                "a sum_kernel adds up float, double or unsigned");
  return integer ? ElementType::i32 : std::is_same_v<T, float> ? ElementType::f32 : ElementType::f64;
}

/// A kernel of any of these signatures, whose input is in memory and whose other types are decided.
template <class T>
using SumStart = std::function<void(const Launch&, const T* in, T* out, std::size_t n, T* partials, unsigned* arrived)>;
template <class T>
struct SumLaunch {
  SumStart<T> start;
  std::uint64_t most;  ///< the largest n that the kernel can count to
  bool has_counter;
};

template <class T, class Load, class Choose>
SumLaunch<T> sum_launch(const Choose& choose, const Settings& s) {
  return with_kernel<T, Load>(choose, s, [](auto* kernel) -> SumLaunch<T> {
    using Kernel = decltype(kernel);
    using Parameters = SumParameters<Kernel>;
    if constexpr (Parameters::fit) {
      using N = typename Parameters::Number;
      static_assert(std::is_same_v<typename Parameters::Element, T>,
                    "the kernel's `out` is not of the type T asked for");
      return {[=](const Launch& l, const T* in, T* out, std::size_t n, [[maybe_unused]] T* partials,
                  [[maybe_unused]] unsigned* arrived) {
                if constexpr (Parameters::has_counter)
                  kernel(l, {in}, out, static_cast<N>(n), partials, arrived);
                else
                  kernel(l, {in}, out, static_cast<N>(n));
              },
              static_cast<std::uint64_t>(std::numeric_limits<N>::max()), Parameters::has_counter};
    } else {
      static_assert(Parameters::fit,
                    "a sum_kernel takes (const T* in, T* out, std::int64_t n), or with Finish::last_block "
                    "(in, out, n, T* partials, unsigned* arrived); `in` may be Input<T, Load>, and n any integer");
      return {};
    }
  });
}

/// The most additions that an element passes through, its load's own roundings left out: in its thread, in its block's
/// tree, and in the finish.
inline std::size_t longest_chain_of(const SumShape& shape, std::size_t n, std::size_t grid, unsigned block,
                                    bool on_host) {
  if (shape.longest_chain) return shape.longest_chain(n, grid, block);
  const std::size_t step = shape.elements_per_step, threads = grid * block, warps = grid * ceil_div(block, 32);
  const auto in_thread = [&](std::size_t elements, std::size_t of) {
    return step * ceil_div(elements, of * step) + (step > 1 ? 2 : 0);  // head and tail, which vectors leave
  };
  const std::size_t tree = std::bit_width(block - 1);
  switch (shape.finish) {
    case Finish::thread_atomics: return in_thread(n, threads) + std::min(n, threads);
    case Finish::warp_atomics: return in_thread(n, threads) + std::min<std::size_t>(tree, 5) + std::min(n, warps);
    case Finish::block_atomics: return in_thread(n, threads) + tree + grid;
    case Finish::second_launch:
      return in_thread(n, threads) + tree + (on_host ? 0 : in_thread(grid, block) + tree);  // the host adds its own
    case Finish::last_block: return in_thread(n, threads) + tree + ceil_div(grid, block) + tree;
  }
  return n;
}

inline std::size_t grid_of(const SumShape& shape, std::size_t n, unsigned block, const Settings& s,
                           const DeviceInfo& gpu) {
  if (s.has("grid") && s.text("grid") != "auto") return s.count("grid");
  if (shape.grid) return shape.grid(n, block, gpu);
  const std::size_t fill = std::size_t{shape.blocks_per_sm} * static_cast<std::size_t>(gpu.sm_count);
  return std::min(blocks_for(n, std::size_t{block} * shape.elements_per_step), fill);
}

/// The plan of sum_kernel() for one element type. `first` gives the kernel for the settings, `second` the one that adds
/// up partial sums; `roundings` are the load's.
template <class T>
std::unique_ptr<Plan> plan_of_sum(const SumShape& shape, const std::function<SumLaunch<T>(const Settings&)>& first,
                                  const std::function<SumLaunch<T>(const Settings&)>& second, unsigned roundings,
                                  const Problem& p, Settings s, const DeviceInfo& gpu) {
  const unsigned block = s.count("block", shape.block), per_element = shape.threads_per_shared_element;
  const std::size_t n = p.n, grid = grid_of(shape, n, block, s, gpu);
  const std::size_t end = n + grid * block * shape.elements_per_step;  // no index passes it
  if (s.has("index")) s = with_loop_index(s, shape.document_index, end);
  const SumLaunch<T> kernel = first(s);
  if (end > kernel.most)
    throw Refused("the kernel's n counts to " + std::to_string(kernel.most) + ", and its last step ends at " +
                  std::to_string(end) + ": make it std::int64_t");

  PlanInfo info{.grid_blocks = grid,
                .block_threads = block,
                .longest_chain = roundings + longest_chain_of(shape, n, grid, block, finishes_on_host(s))};
  const std::size_t shared_bytes = per_element ? ceil_div(block, per_element) * sizeof(T) : 0;
  const auto blocks = [=, start = kernel.start](void* in, T* out, Stream stream, T* partials = nullptr,
                                                unsigned* arrived = nullptr) {
    start({grid, block, shared_bytes, stream}, static_cast<const T*>(in), out, n, partials, arrived);
  };
  if (finishes_on_host(s)) return plan_with_host_part<T>(info, s, n, blocks);
  if (shape.finish == Finish::second_launch) {
    const Buffer<T> partials(grid);
    info.workspace_bytes = partials.bytes();
    return plan_of(info, [=, again = second(s).start](void* in, void* out, Stream stream) {
      blocks(in, partials.ptr(), stream);
      again({1, block, shared_bytes, stream}, partials.ptr(), static_cast<T*>(out), grid, nullptr, nullptr);
    });
  }
  if (shape.finish == Finish::last_block) {
    const Buffer<T> partials(grid);
    const Buffer<unsigned> arrived = shape.resets_counter ? zeroed_buffer<unsigned>(1) : Buffer<unsigned>(1);
    info.workspace_bytes = partials.bytes() + arrived.bytes();
    return plan_of(info, [=, resets = shape.resets_counter](void* in, void* out, Stream stream) {
      if (!resets) zero(arrived.ptr(), 1, stream);
      blocks(in, static_cast<T*>(out), stream, partials.ptr(), arrived.ptr());
    });
  }
  if (std::is_same_v<T, float>) info.flushes_subnormals.reset();  // a GPU's atomics may: found out by running
  return plan_of(info, [=](void* in, void* out, Stream stream) {
    zero(static_cast<T*>(out), 1, stream);
    blocks(in, static_cast<T*>(out), stream);
  });
}

template <class T, class Load, class Choose>
std::unique_ptr<Plan> plan_of_sum(const SumShape& shape, const Choose& kernel, const Problem& p, const Settings& s,
                                  const DeviceInfo& gpu) {
  return plan_of_sum<T>(
      shape, [&](const Settings& decided) { return sum_launch<T, Load>(kernel, decided); },
      // Partial sums are not squared again.
      [&](const Settings& decided) { return sum_launch<T, Identity>(kernel, decided); }, Load::roundings, p, s, gpu);
}

/// Registers `kernel` as a variant. It is
///
///   []<class T>() { return launch<kernel<T>>; }                    for f32, f64 and i32, whose T is unsigned
///   []<class T, class Load>() { return launch<kernel<T, Load>>; }  for the sum of squares, too
///   []<class T>(const Settings& s) { ... }                         where the kernel depends on the tunables
///   launch<kernel>                                                 a kernel of float alone, or of double or unsigned
///
/// This one is for the project's own variants: it takes the descriptor, and of `shape` what describes the launch.
template <class Kernel>
Register sum_kernel(Variant v, const SumShape& shape, Kernel kernel, const char* file = __builtin_FILE()) {
  using T = typename SumParameters<Kernel>::Element;
  const bool counts = sum_launch<T, Identity>(kernel, Settings(v.tunables)).has_counter;
  if (counts != (shape.finish == Finish::last_block))
    end_registration("variant '" + v.id + "': " +
                     (counts ? "its kernel takes partials and a counter, which Finish::last_block alone gives"
                             : "with Finish::last_block its kernel takes (in, out, n, partials, arrived)"));
  return Register(
      std::move(v),
      [=](const Problem& p, const Settings& s, const DeviceInfo& gpu) -> std::unique_ptr<Plan> {
        if constexpr (std::is_pointer_v<Kernel>)
          return plan_of_sum<T, Identity>(shape, kernel, p, s, gpu);
        else if constexpr (takes_load<Kernel>)
          return dispatch(
              p, [&]<class Element, class Load>() { return plan_of_sum<Element, Load>(shape, kernel, p, s, gpu); });
        else
          return dispatch(p, [&]<class Element>() { return plan_of_sum<Element, Identity>(shape, kernel, p, s, gpu); });
      },
      file);
}

template <class Kernel>
Register sum_kernel(const std::string& id, const SumShape& shape, Kernel kernel, const char* file = __builtin_FILE()) {
  Variant v{.id = id,
            .title = shape.title,
            .cites = shape.cites,
            .how = shape.how,
            .operations = {Operation::sum},
            .types = shape.types,
            .tunables = shape.tunables,
            .determinism = shape.determinism,
            .cuda_only = shape.cuda_only,
            .wrong_for = shape.wrong_for};
  if (v.how.grid.empty()) v.how.grid = in_words(shape.finish);
  if (shape.resets_counter) v.persistent_state = "the blocks that have arrived: zero between calls";
  if constexpr (std::is_pointer_v<Kernel>)
    v.types = {type_of<typename SumParameters<Kernel>::Element>()};
  else if (takes_load<Kernel>)
    v.operations.push_back(Operation::sum_of_squares);
  return sum_kernel(std::move(v), shape, kernel, file);
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
