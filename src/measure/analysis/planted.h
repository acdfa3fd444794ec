#pragma once
/// Slowdowns of known size, planted by a spin behind each call: what comparing must find.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/variant.h"
#include "measure/plan/point.h"
#include "measure/timing/instruments.h"

namespace reductio {

/// `v` on this device, each call followed, inside what is timed, by a spin of so many seconds.
Variant with_spin(const Variant& v, DeviceKind, HarnessCalls&, double seconds);

/// The spin behind each call of a comparison into which a slowdown is planted, also of calls that are not slowed, so
/// that what a spin costs beyond its length is in all of them. The same in every process: a baseline must have it, too.
/// A whole number of steps of an H200's %globaltimer, 32 ns, by which a spin on a GPU ends.
inline constexpr double spin_behind_all_s = 2.048e-6;

/// The nearest whole number of steps; the same seconds where a clock has none, 0.
double whole_steps(double seconds, double step_s);

/// `share` of the time that a call of each point takes with that spin behind it, in seconds, by a pilot; on a GPU the
/// nearest whole number of steps of %globaltimer, by which spins end. Throws UsageError where a point cannot be timed,
/// or where that would be less than one step; what becomes of a device that is lost is the caller's: DeviceError, and
/// CallTimeout where a call still runs. `progress` is told each point before its pilot, and before its calls on each
/// allocation, with the share of all that is done.
std::vector<double> planted_seconds(Backend&, Instruments&, std::span<const Point>, double share,
                                    std::uint64_t order_seed,
                                    const std::function<void(const Point&, double share)>& progress);

}  // namespace reductio
