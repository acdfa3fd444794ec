// The __device__ variables of kernels' files: global memory that is there from the program's beginning to its end.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/sim/kernel_name.h"
#include "device/sim/memory.h"
#include "device/sim/out_of_memory.h"
#include "device/sim/scheduler.h"
#include "device/sim/tables.h"

namespace reductio::sim {
namespace {

/// One that a kernel has touched.
struct Touched {
  Memory memory;
  std::string name;
  std::vector<std::byte> initial;
  std::uint64_t call = 0;  ///< the last that has forgotten it

  Touched() = default;
  Touched(const Touched&) = delete;
  ~Touched() {
    std::free(memory.written);
    free_records(memory);
  }
};
struct Variable : ListedVariable {
  Touched* touched = nullptr;  ///< null: no kernel has
};
struct Variables {
  std::vector<Variable> all;  ///< by address
  std::uintptr_t begin = 0, end = 0;
  std::deque<Touched> kept;
  std::unordered_map<PlanId, std::uint64_t> calls;  ///< of plans that forget: the number of the last
  std::uint64_t n_calls = 0;
  std::size_t n_tables = 0;

  /// Those of objects that were loaded since.
  void update() {
    for (; n_tables < tables().size(); ++n_tables)
      for (const ListedVariable& v : tables()[n_tables].variables) all.push_back({v});
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    if (all.empty()) return;
    begin = all.front().begin;
    for (const Variable& v : all) end = std::max(end, v.begin + v.bytes);
  }
};
Variables& variables() {
  static Variables v;
  if (v.n_tables != tables().size()) v.update();
  return v;
}

/// The one in which the address lies, or null.
Variable* find(Variables& v, std::uintptr_t at) {
  if (at - v.begin >= v.end - v.begin) return nullptr;
  const auto next = std::upper_bound(v.all.begin(), v.all.end(), at,
                                     [](std::uintptr_t a, const Variable& n) { return a < n.begin; });
  return next != v.all.begin() && at - next[-1].begin < next[-1].bytes ? &next[-1] : nullptr;
}

Touched& touch(Variables& v, const ListedVariable& n) {
  Touched& t = v.kept.emplace_back();
  t.name = last_name(n.mangled);
  Memory& m = t.memory;
  m.begin = n.begin / word_bytes * word_bytes;
  m.end = n.begin + n.bytes;
  m.reach = n.begin;
  m.reach_bytes = n.bytes;
  m.name = t.name.c_str();
  m.written = static_cast<std::uint8_t*>(std::malloc(words(m)));
  if (!m.written) end_out_of_memory();
  std::memset(m.written, whole_word, words(m));
  const auto* const bytes = reinterpret_cast<const std::byte*>(n.begin);
  t.initial.assign(bytes, bytes + n.bytes);
  return t;
}

void forget(Memory& m) {
  m.forgotten = true;
  for (std::size_t w = 0; w < words(m); ++w) {
    if (!(m.writes && m.writes[w].bits) && !(m.atomics && m.atomics[w].bits)) continue;
    m.written[w] = 0;
    const std::uintptr_t from = std::max(m.begin + w * word_bytes, m.reach), to = m.begin + (w + 1) * word_bytes;
    std::memset(reinterpret_cast<void*>(from), 0xFF, std::min(to, m.end) - from);
  }
}

}  // namespace

Memory* variable_at(std::uintptr_t at) {
  Variables& v = variables();
  Variable* const n = find(v, at);
  if (!n || n->kind != ListedVariable::of_device || is_parameters_target(at)) return nullptr;
  Touched*& t = n->touched;
  if (!t) t = &touch(v, *n);
  // Others' variables stay as they are: a plan forgets what it touches.
  if (const auto call = v.calls.find(working_plan()); call != v.calls.end() && call->second != t->call) {
    forget(t->memory);
    t->call = call->second;
  }
  return &t->memory;
}

std::string host_variable_at(std::uintptr_t at) {
  const Variable* const n = find(variables(), at);
  return n && n->kind == ListedVariable::of_host ? last_name(n->mangled) : "";
}

bool is_parameters_target(std::uintptr_t at) {
  constexpr std::size_t page = 4096;  // of a constant of another file, how far it may reach
  const Variable* const n = find(variables(), at);
  const std::uintptr_t begin = n ? n->begin : at - page, end = n ? n->begin + n->bytes : at + 1;
  const auto* const all = static_cast<const std::byte*>(scheduler().parameters());
  for (std::size_t i = 0; all && i + sizeof(std::uintptr_t) <= scheduler().parameter_bytes(); i += sizeof begin) {
    std::uintptr_t p = 0;
    std::memcpy(&p, all + i, sizeof p);
    if (p - begin < end - begin) return true;
  }
  return false;
}

void write_variable(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  if (const Variable* const n = find(variables(), reinterpret_cast<std::uintptr_t>(to)); n && n->touched)
    std::memset(n->touched->memory.written, whole_word, words(n->touched->memory));
}

void forget_variables_records() {
  for (Touched& t : variables().kept) forget_records(t.memory);
}

void forget_variables(PlanId plan) { variables().calls[plan] = ++variables().n_calls; }

void restore_variables() {
  for (Touched& t : variables().kept) {
    std::memcpy(reinterpret_cast<void*>(t.memory.reach), t.initial.data(), t.initial.size());
    std::memset(t.memory.written, whole_word, words(t.memory));
  }
}

}  // namespace reductio::sim
