#pragma once
/// Figures of a GPU that belong to no variant: offsets between the SMs' clocks, cycles of a load and of an atomic
/// update, latency of a word from SM to SM.

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

/// Two readings by one thread of an SM: its cycle counter, and the GPU's one clock, right after a step of the latter.
struct SmClocks {
  unsigned sm = 0;
  std::uint64_t first_cycles = 0, first_ns = 0, last_cycles = 0, last_ns = 0;
};

/// sm_clock_rate, and sm_clock_offset: what this SM's counter shows when the lowest-numbered SM's shows zero. Readings
/// are taken at different times; the GPU's one clock corrects for that.
std::vector<Probe> clock_probes(std::span<const SmClocks>, int repeat);

/// Exchanges of one SM with another, which answers with its reading of the GPU's one clock.
struct Exchanges {
  unsigned sm = 0;
  std::int64_t count = 0;
  std::int64_t twice_offset_ns = 0;  ///< the sum of 2 * answer - asked - answered
  std::int64_t round_trip_ns = 0;    ///< the sum of answered - asked
};

/// globaltimer_offset, relative to the lowest-numbered SM, and exchange_round_trip. The asking SM has a count of zero
/// and none of the latter.
std::vector<Probe> exchange_probes(std::span<const Exchanges>, int repeat);

/// message_round_trip: a word to another SM and one back, of exchanges without clocks.
std::vector<Probe> message_probes(std::span<const Exchanges>, int repeat);

/// Every probe of the GPU that is open. Throws NoGpu in a build without CUDA.
std::vector<Probe> probe_gpu(Backend&);

/// probes.csv: quantity,sm,repeat,value,unit.
std::string probes_csv(std::span<const Probe>);

}  // namespace reductio
