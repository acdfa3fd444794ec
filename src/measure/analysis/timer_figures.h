#pragma once
/// What the timer and the caches do on this machine. Figures to read, never a reason to fail: they depend on the
/// machine and its load.

#include <functional>
#include <string>
#include <vector>

#include "measure/timing/instruments.h"

namespace reductio {

struct Figure {
  std::string name;     ///< as a key in JSON; its end says the unit: _s, _hz, or a ratio without one
  std::string what;     ///< in words
  double value = 0;
  std::string warning;  ///< empty where it is what a good measurement needs
};

/// All figures of this timer; none where the device measures no time. One that cannot be measured is left out, and
/// `notice` is told why. `theoretical_peak_bytes_per_s`: of the device's memory, 0 where unknown. Throws CallTimeout if
/// the device no longer answers.
std::vector<Figure> timer_figures(Backend&, const Instruments&, double theoretical_peak_bytes_per_s,
                                  const std::function<void(const std::string&)>& notice);

}  // namespace reductio
