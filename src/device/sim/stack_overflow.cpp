#include "device/sim/stack_overflow.h"

#ifdef REDUCTIO_SANITIZED

void reductio::sim::watch_for_stack_overflow() {}  // AddressSanitizer has its own

#else

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {
namespace {

struct sigaction previous_segv;

/// Of the thread that runs, to who runs the program, or on stderr.
void say_overflow() {
  // A kernel's code runs, which holds no lock.
  tell_stack_overflow("its stack of " + std::to_string(stack_bytes / 1024) +
                      " KiB overflowed: local arrays or calls that are too deep (the line is that of the last access)");
  char text[512];
  const int n = std::snprintf(text, sizeof text,
                              "simulated device: kernel %s, block %u, thread %u: its stack of %zu KiB overflowed\n",
                              scheduler().kernel().c_str(), blockIdx.x, thread_now, stack_bytes / 1024);
  if (n > 0 && write(STDERR_FILENO, text, std::min<std::size_t>(n, sizeof text - 1)) < 0) return;
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
