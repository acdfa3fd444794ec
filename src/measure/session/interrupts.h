#pragma once
/// Ending a run from outside.

#include <array>
#include <csignal>

namespace reductio {

/// While it lives, counts SIGINT, SIGTERM and SIGHUP instead of dying by them. The third kills. A SIGHUP that nohup
/// ignores stays ignored.
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
