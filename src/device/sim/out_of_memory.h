#pragma once
/// Where the host's memory ends within a launch, the program ends: thousands of stacks and the scheduler's state do not
/// survive an exception at any place.

#include <new>

namespace reductio::sim {

/// While it lives, a `new` that finds no memory ends the program with one line and exit code 1.
class EndsOutOfMemory {
 public:
  EndsOutOfMemory();
  ~EndsOutOfMemory() { std::set_new_handler(before_); }
  EndsOutOfMemory(const EndsOutOfMemory&) = delete;

 private:
  std::new_handler before_;
};

/// The same, for memory that no `new` asked for.
[[noreturn]] void end_out_of_memory();

}  // namespace reductio::sim
