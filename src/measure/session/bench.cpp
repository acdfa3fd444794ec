#include "measure/session/bench.h"

#include <array>
#include <map>
#include <utility>

#include "core/bytes.h"
#include "core/child.h"

namespace reductio {
namespace {

/// What the process that opened the device reports.
struct Said {
  DeviceInfo info;
  Machine machine;
  std::vector<GpuUse> in_use;
  Seen seen;
  bool keeps_time = false;
  std::array<double, std::size(all_timing_modes)> resolution_s{};
};

template <class Archive>
void cross(Archive& archive, Said& said) {
  DeviceInfo& d = said.info;
  archive(d.kind, d.name, d.sm_count, d.threads_per_sm, d.shared_bytes_per_block, d.l2_bytes, d.memory_bytes,
          d.max_grid, d.capability, d.cluster_blocks);
  Machine& m = said.machine;
  archive(m.name, m.device, m.cpu.model, m.cpu.cores, m.cpu.memory_bytes, m.cpu.last_level_cache_bytes, m.os,
          m.hostname, said.seen, said.keeps_time, said.resolution_s);
  std::size_t gpus = said.in_use.size();
  archive(gpus);
  said.in_use.resize(gpus);
  for (GpuUse& gpu : said.in_use) archive(gpu.uuid, gpu.processes, gpu.utilization_percent, gpu.mig);
  bool has_gpu = m.gpu.has_value();
  archive(has_gpu);
  if (!has_gpu) return;
  if (!m.gpu) m.gpu.emplace();
  GpuDescription& g = *m.gpu;
  archive(g.name, g.uuid, g.compute_capability, g.driver, g.runtime, g.sm_count, g.l2_bytes, g.memory_bytes,
          g.memory_clock_hz, g.sm_clock_hz, g.memory_bus_bits);
}

/// Asked once of each device: it takes a context, and a while until the memory is idle.
Said survey(DeviceKind device, const std::string& gpu) {
  static std::map<std::pair<DeviceKind, std::string>, std::string> known;
  std::string& bytes = known[{device, gpu}];
  if (bytes.empty())
    run_apart(
        [&](const Child::Send& send) {
          Said said;
          if (device == DeviceKind::cuda) said.in_use = gpus_in_use();
          Backend& backend = *open_backend(device, gpu).release();  // the process ends with it
          said.info = backend.info();
          said.machine = describe_machine(backend);
          Instruments instruments = make_instruments(backend);
          said.seen = instruments.seen;
          said.keeps_time = instruments.timer->keeps_time();
          for (const TimingMode mode : all_timing_modes)
            said.resolution_s[static_cast<std::size_t>(mode)] = instruments.timer->resolution_s(mode);
          BytesOut out;
          cross(out, said);
          send({out.bytes});
          keep_for_ever(std::move(instruments));
        },
        [&](const Child::Message& m) { bytes = m.at(0); });
  Said said;
  BytesIn in(bytes);
  cross(in, said);
  return said;
}

}  // namespace

Bench open_bench(DeviceKind device, const std::string& gpu, bool here) {
  Bench out;
  if (here) {
    out.backend = open_backend(device, gpu);
    out.info = out.backend->info();
    out.machine = describe_machine(*out.backend);
    out.instruments = make_instruments(*out.backend);
    return out;
  }
  Said said = survey(device, gpu);
  out.info = std::move(said.info);
  out.machine = std::move(said.machine);
  out.in_use = std::move(said.in_use);
  out.instruments = distant_instruments(device, said.keeps_time, said.resolution_s);
  out.instruments.open = [device, gpu, seen = said.seen](Instruments& instruments) {
    Backend* const backend = open_backend(device, gpu).release();
    instruments = make_instruments(*backend, seen);
    return backend;
  };
  return out;
}

}  // namespace reductio
