#pragma once
/// A thread that overflows its stack runs into the guard below it. The program ends then, and says whose stack it was.

namespace reductio::sim {

/// To be called before a grid runs: arms this OS thread.
void watch_for_stack_overflow();

}  // namespace reductio::sim
