#pragma once
/// Provenance: what the numbers were taken on, and by which program. Written as machine.json beside the results.
///
///   { "schema_version": 3, "machine": "nvidia-h200", "device": "cuda",
///     "gpu": { "name", "uuid", "sm_count", "l2_bytes", "memory_bytes", "memory_clock_hz", "memory_bus_bits",
///              "theoretical_peak_bytes_per_s", "sm_clock_hz", "compute_capability", "driver", "runtime" },
///     "cpu": { "model", "cores", "memory_bytes", "last_level_cache_bytes" }, "os", "hostname",
///     "build": { "version", "git_revision", "git_dirty", "build_type", "cxx_compiler", "cxx_flags", "cuda_compiler",
///                "cuda_flags", "cuda_architectures", "cccl", "binary" },
///     "runs": [ { "run_id", "experiment", "started_utc", "arguments", "seed", "order_seed", "machine_id", "binary",
///                 "git_revision", "git_dirty", "rules", "memory_idle_at_start", "timing": { "device": {
///                 "resolution_s", "launch_floor_s", "launch_floor_cache_state" }, ... }, "cache_probe",
///                 "gpu_state_at_start", "gpu_state_at_end", "ended_utc", "time_spent",
///                 "times_memory_stayed_busy", "host_cpu": { "samples", "moved", "on_busy_cpu",
///                 "mean_chain_s" }, "peak_memory_bytes",
///                 "sha256": { "comparison.csv", "comparison.samples.csv" },
///                 "resumed": [ { "started_utc", "arguments" } ] } ],
///     "tools": [ { "run_id", "tool", "started_utc", "arguments", "machine_id", "binary", "git_revision", "git_dirty",
///                  "sha256" } ] }
///
/// Everything outside `runs` and `tools` describes the latest machine that measured; each run carries what identifies
/// its machine and program. `tools` made tables that are no experiment's, as probe and compare do. `sha256` has for
/// each file, named without .gz, the hash of the run's lines (hash_of_run()); of a run that did not end there is none.
/// A key is null where the value is not known or does not apply: `gpu` without one. `seed` is the data's, `order_seed`
/// that of the order of sampling. Runs of earlier programs lack the latter: the data's decided the order, too.
///
/// `resumed`: the processes that continued a run, if any. `started_utc`, `arguments` and `gpu_state_at_start` are then
/// the first process's. `time_spent`, `times_memory_stayed_busy` and `host_cpu` are sums over all, and
/// `peak_memory_bytes` is the largest; each is null if a process recorded none, such as one that was killed. The rest
/// is the last process's.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "device/backend.h"
#include "measure/results/build.h"

namespace reductio {

struct GpuDescription {
  std::string name, uuid, compute_capability, driver, runtime;
  int sm_count = 0;
  std::size_t l2_bytes = 0, memory_bytes = 0;
  double memory_clock_hz = 0, sm_clock_hz = 0;
  int memory_bus_bits = 0;
  /// Two transfers a clock over the whole bus: the data sheet's bandwidth.
  double theoretical_peak_bytes_per_s() const { return 2 * memory_clock_hz * memory_bus_bits / 8; }
};

struct CpuDescription {
  std::string model;
  int cores = 0;
  std::size_t memory_bytes = 0;            ///< 0 where unknown
  std::size_t last_level_cache_bytes = 0;  ///< of the CPUs that this process may use, together; 0 where unknown
};

struct Machine {
  std::string name;  ///< the results folder's: "nvidia-h200", "cpu-...", "simulated-gpu"
  DeviceKind device = DeviceKind::cpu;
  std::optional<GpuDescription> gpu;
  CpuDescription cpu;
  std::string os, hostname;

  /// More than all cores can load from any cache. GPU: twice the 128 bytes a clock of an SM's L1. CPU: 1 TB/s a core,
  /// two 64-byte loads a clock at 8 GHz. Nothing where the clock is unknown.
  std::optional<double> load_limit_bytes_per_s() const;

  /// What must be the same for a run to be resumed: the GPU's UUID, else the CPU's model and cores.
  std::string id() const;
};

/// The name of the simulated device's machine, whose rows have no times.
inline constexpr const char* simulated_machine = "simulated-gpu";

/// "NVIDIA H200" -> "nvidia-h200".
std::string slug(std::string_view);

/// A hash of the running executable and of the plug-ins that it has loaded: a run is not resumed by other code.
std::string binary_hash();

/// The GPU in use, as the CUDA runtime sees it. Throws NoGpu in a build without CUDA.
GpuDescription describe_gpu();

/// The machine as seen from an open device.
Machine describe_machine(const Backend&);

/// null: unknown, or no CUDA.
nlohmann::ordered_json to_json(const BuildDescription&);
/// machine.json without its runs.
nlohmann::ordered_json to_json(const Machine&);

/// catalog.csv: of every variant what its descriptor says.
std::string catalog_csv();

/// "2026-11-21T15:04:05Z".
std::string utc_now();
/// "20261121T150405Z-1b3f5a7c": of one run alone.
std::string new_run_id();

}  // namespace reductio
