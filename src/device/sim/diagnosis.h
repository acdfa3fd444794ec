#pragma once
/// How a launch is ended by a fault, and what the fault says.

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "device/sim/fault.h"
#include "device/sim/place.h"

namespace reductio::sim {

/// Ends the launch with a fault of the running thread, or of `threads`; but where others may still have a race, which
/// says more (Scheduler::leaves()), once they have ended or wait. Unwinds the thread that calls it.
[[noreturn]] void stop_here(FaultKind, Site, const std::string& what, std::vector<unsigned> threads = {});

/// Ends the launch with what is no fault of its own.
[[noreturn]] void stop_launch(std::exception_ptr);

/// A barrier or warp operation outside a kernel.
[[noreturn]] void fail_outside();

bool same(const Site&, const Site&);
/// "src/kernels/twopass.cu:20:7": as shown_path().
std::string to_string(const Site&);
/// "0x0000ffff".
std::string hex(std::uint32_t mask);

}  // namespace reductio::sim
