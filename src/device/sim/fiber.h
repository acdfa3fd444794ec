#pragma once
/// Fibers: the stacks on which threads run, and the switch between them. A fiber is a loop that runs one thread after
/// another, so a thread that never waits costs no switch: the next one starts on the same stack.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/sim/context.h"

#ifdef REDUCTIO_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/// For what every switch runs: in the caller's frame, because each further frame is one more cache line on each of
/// thousands of stacks. Rare code is kept out of line for the same reason.
#define REDUCTIO_HOT [[gnu::always_inline]] inline
#define REDUCTIO_RARE [[gnu::noinline]]

namespace reductio::sim {

#ifdef REDUCTIO_SANITIZED
inline constexpr std::size_t stack_bytes = 128 * 1024;  // instrumented frames are several times as large
#else
inline constexpr std::size_t stack_bytes = 32 * 1024;
#endif

/// A stack, and the loop that runs threads on it.
struct Fiber {
  void* context = nullptr;
  std::byte* stack = nullptr;  ///< its lowest usable byte
  std::size_t size = 0;
  void* asan_stack = nullptr;
};

class Fibers {
 public:
  /// `loop` is what each fiber runs; it begins with arrived() and never returns.
  explicit Fibers(void (*loop)()) : loop_(loop) {}

  /// A fiber without a thread; a new one if all have one.
  Fiber* take_idle() {
    if (idle_.empty()) return make();
    Fiber* const f = idle_.back();
    idle_.pop_back();
    return f;
  }
  void put_back(Fiber* f) { idle_.push_back(f); }
  /// Restarts the idle ones, in the caller's rounding mode.
  void begin_anew();

  Fiber* current() const { return current_; }
  /// The host's stack, which waits for the grid.
  Fiber& main() { return main_; }
  /// Says that this code runs on the main stack.
  void begin_on_main() { current_ = &main_; }

  /// Keeps this place in *save and continues at `context`, on the stack of `to`. Returns when another switch leads
  /// here.
  void switch_to(void** save, Fiber* to, void* context);
  /// Call it on the stack that was switched to.
  void arrived();

  /// Switches to the main stack; nothing returns to what is on this one.
  void leave_for_good();
  /// Its stack is as new, and free.
  void restart(Fiber*);

  /// Whether the address lies in one of the stacks, or in the guard below one.
  bool in_a_stack(std::uintptr_t address) const;
  bool in_a_guard(std::uintptr_t address) const;

 private:
  Fiber* make();

  void (*loop_)();
  std::deque<Fiber> all_;
  std::vector<Fiber*> idle_;
  Fiber main_;
  Fiber* current_ = nullptr;
  [[maybe_unused]] Fiber* previous_ = nullptr;
};

REDUCTIO_HOT void Fibers::arrived() {
#ifdef REDUCTIO_SANITIZED
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(current_->asan_stack, &bottom, &size);
  if (previous_ == &main_) {
    main_.stack = static_cast<std::byte*>(const_cast<void*>(bottom));
    main_.size = size;
  }
#endif
}

REDUCTIO_HOT void Fibers::switch_to(void** save, Fiber* to, void* context) {
#ifdef REDUCTIO_SANITIZED
  previous_ = current_;
  __sanitizer_start_switch_fiber(&current_->asan_stack, to->stack, to->size);
#endif
  current_ = to;
  switch_context(save, context);
  arrived();
}

}  // namespace reductio::sim
