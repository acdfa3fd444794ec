#pragma once
/// Ending a run from outside.

#include <array>
#include <csignal>

namespace reductio {

/// Counts SIGINT, SIGTERM and SIGHUP while it lives, instead of being killed by them. The third kills. A SIGHUP that is
/// ignored, as nohup does, stays ignored.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  static int count();

 private:
  std::array<struct sigaction, 3> earlier_;
};

}  // namespace reductio
