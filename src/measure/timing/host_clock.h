#pragma once
/// The host's steady clock.

namespace reductio {

/// Seconds of it.
double host_now();

/// The least difference of two readings of it, in seconds.
double host_clock_resolution_s();

}  // namespace reductio
