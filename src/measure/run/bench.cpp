#include "measure/run/bench.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "core/bytes.h"
#include "core/child.h"

namespace reductio {
namespace {

/// What the process that opened the device says of it.
template <class Archive>
void cross(Archive& archive, DeviceInfo& d, Machine& m, Seen& seen) {
  archive(d.kind, d.name, d.sm_count, d.threads_per_sm, d.shared_bytes_per_block, d.l2_bytes, d.memory_bytes,
          d.max_grid, d.capability, d.cluster_blocks);
  archive(m.name, m.device, m.cpu.model, m.cpu.cores, m.cpu.memory_bytes, m.cpu.last_level_cache_bytes, m.os,
          m.hostname, seen);
  bool has_gpu = m.gpu.has_value();
  archive(has_gpu);
  if (!has_gpu) return;
  if (!m.gpu) m.gpu.emplace();
  GpuDescription& g = *m.gpu;
  archive(g.name, g.uuid, g.compute_capability, g.driver, g.runtime, g.sm_count, g.l2_bytes, g.memory_bytes,
          g.memory_clock_hz, g.sm_clock_hz, g.memory_bus_bits);
}

}  // namespace

Bench open_bench(DeviceKind device, const std::string& gpu, bool here) {
  Bench out;
  const char* const passes = std::getenv("REDUCTIO_PASSES");  // "reset": as it was before passes were processes
  if (here || (passes && std::string_view(passes) == "reset")) {
    out.backend = open_backend(device, gpu);
    out.info = out.backend->info();
    out.machine = describe_machine(*out.backend);
    out.instruments = make_instruments(*out.backend);
    return out;
  }
  run_apart(
      [&](const Child::Send& send) {
        Backend& backend = *open_backend(device, gpu).release();  // the process ends with it
        DeviceInfo info = backend.info();
        Machine machine = describe_machine(backend);
        Instruments instruments = make_instruments(backend);
        BytesOut bytes;
        cross(bytes, info, machine, instruments.seen);
        bool keeps_time = instruments.timer->keeps_time();
        std::array<double, std::size(all_timing_modes)> resolution_s{};
        for (const TimingMode mode : all_timing_modes)
          resolution_s[static_cast<std::size_t>(mode)] = instruments.timer->resolution_s(mode);
        bytes(keeps_time, resolution_s);
        send({bytes.bytes});
        keep_for_ever(std::move(instruments));
      },
      [&](const Child::Message& m) {
        BytesIn bytes(m.at(0));
        Seen seen;
        cross(bytes, out.info, out.machine, seen);
        bool keeps_time = false;
        std::array<double, std::size(all_timing_modes)> resolution_s{};
        bytes(keeps_time, resolution_s);
        out.instruments = distant_instruments(device, keeps_time, resolution_s);
        out.instruments.open = [=](Instruments& instruments) {
          Backend* const backend = open_backend(device, gpu).release();
          instruments = make_instruments(*backend, seen);
          return backend;
        };
      });
  return out;
}

}  // namespace reductio
