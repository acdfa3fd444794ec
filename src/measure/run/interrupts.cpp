#include "measure/run/interrupts.h"

#include <atomic>

namespace reductio {
namespace {

std::atomic<int> interrupts{0};

extern "C" void count_interrupt(int signal) {
  if (interrupts.fetch_add(1) < 2) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

Interrupts::Interrupts() {
  interrupts = 0;
  struct sigaction count {};
  count.sa_handler = count_interrupt;
  sigaction(SIGINT, &count, &earlier_interrupt_);
  sigaction(SIGTERM, &count, &earlier_terminate_);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &earlier_interrupt_, nullptr);
  sigaction(SIGTERM, &earlier_terminate_, nullptr);
}

int Interrupts::count() { return interrupts; }

}  // namespace reductio
