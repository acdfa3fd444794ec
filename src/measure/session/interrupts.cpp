#include "measure/session/interrupts.h"

#include <atomic>

namespace reductio {
namespace {

std::atomic<int> interrupts{0};
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};

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
  for (std::size_t i = 0; i < earlier_.size(); ++i) {
    sigaction(signals[i], &count, &earlier_[i]);
    if (signals[i] == SIGHUP && earlier_[i].sa_handler == SIG_IGN) sigaction(signals[i], &earlier_[i], nullptr);
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < earlier_.size(); ++i) sigaction(signals[i], &earlier_[i], nullptr);
}

int Interrupts::count() { return interrupts; }

}  // namespace reductio
