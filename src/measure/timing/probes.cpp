#include "measure/timing/probes.h"

#include <fmt/format.h>

#include <algorithm>

namespace reductio {
namespace {

/// Of readings that are not empty, the one of the SM with the lowest number.
template <class Reading>
const Reading& of_lowest_sm(std::span<const Reading> readings) {
  return *std::min_element(readings.begin(), readings.end(), [](auto& a, auto& b) { return a.sm < b.sm; });
}

/// b - a of counters that may lie either way round.
double difference(std::uint64_t a, std::uint64_t b) { return static_cast<double>(static_cast<std::int64_t>(b - a)); }

double mean_offset_ns(const Exchanges& e) {
  return e.count ? static_cast<double>(e.twice_offset_ns) / 2 / static_cast<double>(e.count) : 0;
}

/// Nothing of the SM that asks.
void add_round_trip(const char* quantity, const Exchanges& e, int repeat, std::vector<Probe>& out) {
  if (e.count)
    out.push_back({quantity, e.sm, repeat, static_cast<double>(e.round_trip_ns) / static_cast<double>(e.count), "ns"});
}

}  // namespace

std::vector<Probe> clock_probes(std::span<const SmClocks> readings, int repeat) {
  std::vector<Probe> out;
  if (readings.empty()) return out;
  const SmClocks& base = of_lowest_sm(readings);
  for (const SmClocks& r : readings) {
    const double rate = difference(r.first_cycles, r.last_cycles) / difference(r.first_ns, r.last_ns);
    out.push_back({"sm_clock_rate", r.sm, repeat, rate, "cycles/ns"});
    out.push_back({"sm_clock_offset", r.sm, repeat,
                   difference(base.first_cycles, r.first_cycles) - rate * difference(base.first_ns, r.first_ns),
                   "cycles"});
  }
  return out;
}

std::vector<Probe> exchange_probes(std::span<const Exchanges> exchanges, int repeat) {
  std::vector<Probe> out;
  if (exchanges.empty()) return out;
  const double base = mean_offset_ns(of_lowest_sm(exchanges));
  for (const Exchanges& e : exchanges) {
    out.push_back({"globaltimer_offset", e.sm, repeat, mean_offset_ns(e) - base, "ns"});
    add_round_trip("exchange_round_trip", e, repeat, out);
  }
  return out;
}

std::vector<Probe> message_probes(std::span<const Exchanges> exchanges, int repeat) {
  std::vector<Probe> out;
  for (const Exchanges& e : exchanges) add_round_trip("message_round_trip", e, repeat, out);
  return out;
}

std::string probes_csv(std::span<const Probe> probes) {
  std::string text = "quantity,sm,repeat,value,unit\n";
  for (const Probe& p : probes)
    text += fmt::format("{},{},{},{},{}\n", p.quantity, p.sm ? std::to_string(*p.sm) : "", p.repeat, p.value, p.unit);
  return text;
}

}  // namespace reductio
