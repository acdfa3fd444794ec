/// Loops on one core of the CPU: the baseline, and what the documents say of the host.
///
///   host/plain      one addition a turn
///   host/unroll2    two: twopass's opening example, carried over to a sum
///   host/unroll4    four: unroll's opening example, carried over to a sum
///   host/unroll8    eight, for the trend
///   host/recursive  unroll's CPU reference. The text prints its time without its code; recursive halving in place,
///                   as such references are written, is inferred. It overwrites its input: working in a copy would
///                   time the copy as well.
///
/// Setting `opt`: the level at which the compiler optimised the loop. Whether unrolling by hand helps depends on it.

#include <algorithm>
#include <bit>
#include <string>

#include "baselines/host_loops.h"
#include "core/variant.h"

namespace reductio {
namespace {

HostSum loop_at(const std::string& level, HostLoop loop, ElementType type) {
  if (level == "O0") return host_loop_O0(loop, type);
  if (level == "O1") return host_loop_O1(loop, type);
  if (level == "O3") return host_loop_O3(loop, type);
  return host_loop_O2(loop, type);
}

struct RegisterLoop {
  RegisterLoop(HostLoop loop, std::string id, std::string title, std::string cites, std::size_t document_n) {
    const bool halving = loop == HostLoop::recursive;
    Variant v{.id = std::move(id),
              .title = std::move(title),
              .cites = std::move(cites),
              .how = {.thread = halving ? "halving in place" : "one accumulator", .block = "", .grid = "one core"},
              .operations = {Operation::sum},
              .types = {ElementType::i32, ElementType::f32, ElementType::f64},
              .tunables = {Tunable::choice("opt", {"O0", "O1", "O2", "O3"}, "O2")},
              .consumes_input = halving,
              .determinism = Determinism::always,
              .document_n = document_n};
    const auto prepare = [=](const Problem& p, const Settings& s, const DeviceInfo&) {
      const HostSum sum = loop_at(s.text("opt"), loop, p.type);
      // One accumulator: an element passes through every addition after its own. For f32 this bound says nothing
      // from n = 2^24 on, which is the truth about such a loop.
      const std::size_t chain = halving ? std::bit_width(std::max<std::size_t>(p.n, 1) - 1) : p.n;
      return plan_of({.longest_chain = chain}, [=, n = p.n](void* in, void* out, Stream) { sum(in, out, n); });
    };
    register_variant(std::move(v), DeviceKind::cpu, prepare);
  }
};

const RegisterLoop plain(HostLoop::plain, "host/plain", "CPU loop", "baseline", 0);
const RegisterLoop unroll2(HostLoop::unroll2, "host/unroll2", "CPU loop, unrolled by 2", "twopass, opening example",
                           1000);
const RegisterLoop unroll4(HostLoop::unroll4, "host/unroll4", "CPU loop, unrolled by 4", "unroll, opening example",
                           100);
const RegisterLoop unroll8(HostLoop::unroll8, "host/unroll8", "CPU loop, unrolled by 8",
                           "unroll, opening example continued", 0);
const RegisterLoop recursive(HostLoop::recursive, "host/recursive", "CPU, recursive halving",
                             "unroll, its CPU reference (inferred)", std::size_t{1} << 24);

}  // namespace
}  // namespace reductio
