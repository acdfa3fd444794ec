#include "device/sim/stack_overflow.h"

#ifdef REDUCTIO_SANITIZED

void reductio::sim::watch_for_stack_overflow() {}  // AddressSanitizer has its own

#else

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {
namespace {

struct sigaction previous_segv;

/// Of the thread that runs, to who runs the program, or on stderr.
void say_overflow() {
  const char* const text = tell_stack_overflow();
  for (const char* const part : {text, "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
}

void on_segv(int signal, siginfo_t* info, void*) {
  if (scheduler().fibers().in_a_guard(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    say_overflow();
    std::abort();
  }
  sigaction(signal, &previous_segv, nullptr);  // not ours: it happens again, as if we had never been here
}

}  // namespace

void watch_for_stack_overflow() {
  static bool done = false;
  if (!done) {
    done = true;
    struct sigaction action {};
    action.sa_sigaction = on_segv;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
  }
  thread_local bool has_stack = false;  // the handler's own: the thread's is full
  if (!has_stack) {
    has_stack = true;
    constexpr std::size_t size = 64 * 1024;
    stack_t alternative{};
    alternative.ss_sp = new std::byte[size];  // kept: a signal may come as late as one likes
    alternative.ss_size = size;
    sigaltstack(&alternative, nullptr);
  }
}

}  // namespace reductio::sim

#endif
