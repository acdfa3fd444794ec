#pragma once
/// Figures of a GPU that belong to no variant: how far the SMs' clocks are apart, how many cycles a load and an atomic
/// update take, and how long a word is under way from SM to SM.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.h"

namespace reductio {

/// One record of probes.csv.
struct Probe {
  std::string quantity;
  std::optional<unsigned> sm;  ///< by its hardware number; none: of the whole GPU
  int repeat = 0;
  double value = 0;
  std::string unit;
};

/// What one thread of an SM read twice, of its SM's cycles and of the GPU's one clock. Each pair was read right after
/// the latter's step.
struct SmClocks {
  unsigned sm = 0;
  std::uint64_t first_cycles = 0, first_ns = 0, last_cycles = 0, last_ns = 0;
};

/// sm_clock_rate, and sm_clock_offset: what this SM's counter shows when that of the SM with the lowest number shows
/// zero. The readings were not taken at one instant; what lies between them by the GPU's one clock is taken out.
std::vector<Probe> clock_probes(std::span<const SmClocks>, int repeat);

/// Questions that one SM asked another, which answered with its reading of the GPU's one clock.
struct Exchanges {
  unsigned sm = 0;
  std::int64_t count = 0;
  std::int64_t twice_offset_ns = 0;  ///< the sum of 2 * answer - asked - answered
  std::int64_t round_trip_ns = 0;    ///< the sum of answered - asked
};

/// globaltimer_offset, from the SM with the lowest number, and exchange_round_trip, which the asking SM, with a count
/// of zero, has none of.
std::vector<Probe> exchange_probes(std::span<const Exchanges>, int repeat);

/// message_round_trip: a word to another SM and one back, of exchanges without clocks.
std::vector<Probe> message_probes(std::span<const Exchanges>, int repeat);

/// Every probe of the GPU that is open. Throws NoGpu in a build without CUDA.
std::vector<Probe> probe_gpu(Backend&);

/// probes.csv: quantity,sm,repeat,value,unit.
std::string probes_csv(std::span<const Probe>);

}  // namespace reductio
