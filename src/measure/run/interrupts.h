#pragma once
/// Ending a run from outside.

#include <csignal>

namespace reductio {

/// Counts SIGINT and SIGTERM while it lives, instead of being killed by them. The third kills.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  static int count();

 private:
  struct sigaction earlier_interrupt_, earlier_terminate_;
};

}  // namespace reductio
