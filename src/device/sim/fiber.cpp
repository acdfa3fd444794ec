#include "device/sim/fiber.h"

#include <sys/mman.h>

#include "device/sim/out_of_memory.h"

namespace reductio::sim {
namespace {

constexpr std::size_t guard_bytes = 60 * 1024;  // below each stack: large enough that one frame does not step over it
/// Each guard that faults makes two mappings, and Linux gives a process 65,530. Below further stacks is a gap that does
/// not fault.
constexpr std::size_t most_faulting = 1 << 14;

}  // namespace

Fiber* Fibers::make() {
  void* const p = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) end_out_of_memory();
  if (all_.size() >= most_faulting)
    madvise(p, guard_bytes + stack_bytes, MADV_NOHUGEPAGE);  // or each would take 2 MiB
  else if (mprotect(p, guard_bytes, PROT_NONE) != 0)
    end_out_of_memory();
  Fiber& f = all_.emplace_back();
  f.stack = static_cast<std::byte*>(p) + guard_bytes;
  // Tops at different offsets in their pages, or all stacks would compete for the same few cache sets.
  f.size = stack_bytes - (all_.size() * 448 % 4096 & ~std::size_t{63});
  f.context = make_context(f.stack, f.size, loop_);
  return &f;
}

void Fibers::begin_anew() {
  for (Fiber* const f : idle_) f->context = make_context(f->stack, f->size, loop_);
}

void Fibers::leave_for_good() {
  void* nowhere = nullptr;
  switch_to(&nowhere, &main_, main_.context);
}

void Fibers::restart(Fiber* f) {
#ifdef REDUCTIO_SANITIZED
  __asan_unpoison_memory_region(f->stack, f->size);
#endif
  f->context = make_context(f->stack, f->size, loop_);
  put_back(f);
}

bool Fibers::in_a_stack(std::uintptr_t address) const {
  for (const Fiber& f : all_)
    if (address - reinterpret_cast<std::uintptr_t>(f.stack) < f.size) return true;
  return false;
}

bool Fibers::in_a_guard(std::uintptr_t address) const {
  for (const Fiber& f : all_) {
    const auto bottom = reinterpret_cast<std::uintptr_t>(f.stack);
    if (address < bottom && address >= bottom - guard_bytes) return true;
  }
  return false;
}

}  // namespace reductio::sim
