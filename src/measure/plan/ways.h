#pragma once
/// Ways of timing that calls lack, known from variant and settings before any plan is made. Experiments have no such
/// points.

#include <string>

#include "measure/plan/point.h"

namespace reductio {

/// Why calls on this device cannot be timed so, whatever they are; empty if they can.
std::string timing_refusal(DeviceKind, TimingMode, CacheState);

/// Why calls of this variant with these settings cannot be timed so on any device; empty if they can.
std::string timing_refusal(const Variant&, const Settings&, TimingMode, CacheState);

/// The timing modes that the variant's launches do not have, in one line: "finish=host, host-pinned: not device,
/// graph, replay (finishes on the host; timed end to end)". Empty: they have all. Whether kernels read a clock is said
/// by Variant::reads_clock.
std::string ways_without(const Variant&);

}  // namespace reductio
