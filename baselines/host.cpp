/// Loops on one core of the CPU: the baseline, and the documents' unrolling of plain loops, which twopass holds to be
/// faster (claim T5; it does not say where) and of which unroll says that on the host nothing is to be seen (U7).
///
///   host/plain        one addition a turn: the baseline, and what unroll timed as its CPU reference. The text prints
///                     that time without its code. In its author's repository (Tony-Tan/CUDA_Freshman,
///                     12_reduce_unrolling), as far as we have it, the call of a recursive function is commented out
///                     and a plain loop is timed, beside which stands a line of output that the text shows, too.
///   host/unroll2      two: twopass's opening example, carried over to a sum
///   host/unroll4      four: unroll's opening example, carried over to a sum
///   host/unroll8      eight, for the trend
///   host/recursive    that recursive function, which the text so did not time: halving in place. It overwrites its
///                     input: working in a copy would time the copy as well.
///
/// The opening examples themselves add two vectors, which is no reduction: baselines/vector_add times them.
///
/// Setting `opt`: the level at which the compiler optimised the loop; "O3-fast-math" is -O3 -ffast-math, which may add
/// floats in another order. Whether unrolling by hand helps depends on it.

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "baselines/host_loops.h"
#include "core/variant.h"

namespace reductio {
namespace {

struct Level {
  const char* name;
  HostSum (*sum)(HostLoop, ElementType);
};
constexpr Level levels[] = {{"O0", host_loop_O0},
                            {"O1", host_loop_O1},
                            {"O2", host_loop_O2},
                            {"O3", host_loop_O3},
                            {"O3-fast-math", host_loop_O3_fast_math}};

Tunable opt() {
  std::vector<std::string> names;
  for (const Level& level : levels) names.emplace_back(level.name);
  return Tunable::choice("opt", std::move(names), "O2");
}

const Level& level_of(const Settings& s) {
  return *std::find_if(std::begin(levels), std::end(levels),
                       [&](const Level& level) { return level.name == s.text("opt"); });
}

std::string beyond_int(const Problem& p, const Settings&) {
  if (p.n <= static_cast<std::size_t>(std::numeric_limits<int>::max())) return {};
  return "counts elements by an int, as its document does: up to 2^31 - 1";
}

void register_loop(HostLoop loop, std::string id, std::string title, std::string cites, std::size_t document_n) {
  const bool halving = loop == HostLoop::recursive;
  Variant v{.id = std::move(id),
            .title = std::move(title),
            .cites = std::move(cites),
            .kind = VariantKind::cpu,
            .how = {.thread = halving ? "halving in place" : "one accumulator", .block = "", .grid = "one core"},
            .operations = {Operation::sum},
            .types = {ElementType::i32, ElementType::f32, ElementType::f64},
            .tunables = {opt()},
            .consumes_input = halving,
            // Where the compiler may reorder additions, the level of optimisation decides, too.
            .determinism = halving ? Determinism::always : Determinism::per_launch_shape,
            .document_n = document_n,
            .declines = beyond_int};
  if (!halving)
    v.wrong_for = [](std::string_view dataset, const Settings& s) {
      const bool one = s.text("opt") != "O3-fast-math";
      return std::string(one && dataset == "ones" ? "its one f32 accumulator stops at 2^24" : "");
    };
  register_variant(std::move(v), DeviceKind::cpu, [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    const HostSum sum = level_of(s).sum(loop, p.type);
    // One accumulator: an element passes through every addition after its own. For f32 this bound says nothing
    // from n = 2^24 on, which is the truth about such a loop. Where the compiler may use several, they are fewer.
    const std::size_t chain = halving ? std::bit_width(std::max<std::size_t>(p.n, 1) - 1) : p.n;
    return plan_of({.longest_chain = chain},
                   [=, n = static_cast<int>(p.n)](void* in, void* out, Stream) { sum(in, out, n); });
  });
}

const struct RegisterLoops {
  RegisterLoops() {
    register_loop(HostLoop::plain, "host/plain", "CPU loop", "baseline; unroll, its CPU reference (inferred)",
                  std::size_t{1} << 24);
    register_loop(HostLoop::unroll2, "host/unroll2", "CPU loop, unrolled by 2", "twopass, opening example as a sum",
                  1000);
    register_loop(HostLoop::unroll4, "host/unroll4", "CPU loop, unrolled by 4", "unroll, opening example as a sum",
                  100);
    register_loop(HostLoop::unroll8, "host/unroll8", "CPU loop, unrolled by 8",
                  "unroll, opening example as a sum, continued", 0);
    register_loop(HostLoop::recursive, "host/recursive", "CPU, recursive halving",
                  "unroll, its author's repository (not called)", std::size_t{1} << 24);
  }
} loops;

}  // namespace
}  // namespace reductio
