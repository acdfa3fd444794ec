#pragma once
/// Fibers: the stacks on which threads run, and the switch from one to another. A fiber is a loop that runs one thread
/// after another, so a thread that never waits costs no switch: the next one starts on the stack that it leaves behind.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/sim/context.h"

#ifdef REDUCTIO_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

/// On the way of every switch: in the caller's frame, since each further frame is one more cache line of each of
/// thousands of stacks. What is rare is kept out of line for the same reason.
#define REDUCTIO_HOT [[gnu::always_inline]] inline
#define REDUCTIO_RARE [[gnu::noinline]]

namespace reductio::sim {

#ifdef REDUCTIO_SANITIZED
inline constexpr std::size_t stack_bytes = 128 * 1024;  // instrumented frames are several times as large
#else
inline constexpr std::size_t stack_bytes = 32 * 1024;
#endif

/// A stack, and the loop on it while no thread has it.
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

  /// One that has no thread, made where there is none.
  Fiber* take_idle() {
    if (idle_.empty()) return make();
    Fiber* const f = idle_.back();
    idle_.pop_back();
    return f;
  }
  void put_back(Fiber* f) { idle_.push_back(f); }
  /// Lets the idle ones begin anew, in the caller's rounding mode.
  void begin_anew();

  Fiber* current() const { return current_; }
  /// The stack of whoever waits for the grid.
  Fiber& main() { return main_; }
  /// Says that this code runs on the main stack.
  void begin_on_main() { current_ = &main_; }

  /// Keeps this place in *save and goes on at `context`, on the stack of `to`. Returns when somebody comes back.
  void switch_to(void** save, Fiber* to, void* context);
  /// To be called on the stack that was switched to.
  void arrived();

  /// Whether the address lies in the guard below one of the stacks.
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
