#include "device/sim/context.h"

#include <cstdint>

#if defined(__x86_64__) && !defined(REDUCTIO_BOOST_SWITCH)

// System V ABI: rbx, rbp and r12-r15 belong to the caller; everything else is lost in any call.
asm(R"(
.text
.p2align 4
.globl reductio_sim_switch_context
.type reductio_sim_switch_context, @function
reductio_sim_switch_context:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size reductio_sim_switch_context, .-reductio_sim_switch_context
)");

namespace reductio::sim {

void* make_context(std::byte* lowest, std::size_t bytes, void (*entry)()) {
  auto* top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(lowest + bytes) & ~std::uintptr_t{15});
  *--top = nullptr;  // where entry would return to: ends a debugger's walk up the stack, and aligns it
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  return top;
}

}  // namespace reductio::sim

#else

#include <boost/context/detail/fcontext.hpp>

namespace reductio::sim {
namespace {

namespace ctx = boost::context::detail;

// Boost passes the place that was left to the code that runs next, which has to keep it.
void keep(ctx::transfer_t from) { *static_cast<void**>(from.data) = from.fctx; }

void (*new_entry)() = nullptr;  // all fibers of the simulated device begin alike

void begin(ctx::transfer_t from) {
  keep(from);
  new_entry();
}

}  // namespace

void* make_context(std::byte* lowest, std::size_t bytes, void (*entry)()) {
  new_entry = entry;
  return ctx::make_fcontext(lowest + bytes, bytes, &begin);
}

void switch_context(void** save, void* context) { keep(ctx::jump_fcontext(context, save)); }

}  // namespace reductio::sim

#endif
