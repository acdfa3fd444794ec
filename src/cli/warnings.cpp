#include "cli/warnings.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

namespace reductio::cli {
namespace {

#ifdef REDUCTIO_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

#ifdef NDEBUG
constexpr bool debug = false;
#else
constexpr bool debug = true;
#endif

/// The tool that is attached to this process, by the variables that it sets and the libraries that it injects.
std::optional<std::string> profiler() {
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NV_COMPUTE_PROFILER_PERFWORKS_DIR",
                               "NV_SANITIZER_INJECTION_PORT_BASE", "COMPUTE_PROFILE"})
    if (const char* value = std::getenv(variable); value && *value) return fmt::format("{} is set", variable);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    for (const char* library :
         {"libsanitizer-collection", "libcuda-injection", "libToolsInjection", "libTreeLauncher", "libnvperf_target"})
      if (line.find(library) != std::string::npos) return fmt::format("{} is loaded", library);
  return std::nullopt;
}

struct CpuTime {
  double busy = 0, all = 0;
};

CpuTime cpu_time() {
  std::ifstream stat("/proc/stat");
  std::string line, label;
  if (!std::getline(stat, line)) return {};
  std::istringstream fields(line);
  fields >> label;
  CpuTime out;
  double ticks = 0;
  for (int i = 0; i < 8 && fields >> ticks; ++i) {  // user nice system idle iowait irq softirq steal
    out.all += ticks;
    if (i != 3 && i != 4) out.busy += ticks;
  }
  return out;
}

/// The share of all cores' time that others take, watched for a moment in which this program does nothing.
double cpu_busy() {
  const CpuTime before = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  const CpuTime after = cpu_time();
  return after.all > before.all ? (after.busy - before.busy) / (after.all - before.all) : 0;
}

}  // namespace

std::vector<std::string> misleading(const Bench& bench) {
  const DeviceKind device = bench.info.kind;
  std::vector<std::string> out;
  if (device == DeviceKind::sim) return out;  // it reports no times
  if (debug) out.push_back("this is a debug build: its times mislead; configure with -DCMAKE_BUILD_TYPE=Release");
  if (sanitized) out.push_back("this is a sanitizer build: its times mislead; configure with -DREDUCTIO_SANITIZE=OFF");
  if (device == DeviceKind::cpu) {
    if (const double busy = cpu_busy(); busy > 0.2)
      out.push_back(fmt::format("the CPU is busy ({:.0f} % in use by others): times will be too long", 100 * busy));
    return out;
  }
  if (const auto tool = profiler())
    out.push_back("a profiler or checker is attached (" + *tool + "): times mislead; use --profile for one bare call");
  // An instance of a divided GPU has a UUID of its own, which the list of whole GPUs does not hold.
  bool listed = false, divided = false;
  for (const GpuUse& gpu : bench.in_use) {
    const bool this_one = bench.machine.gpu && gpu.uuid == bench.machine.gpu->uuid;
    listed = listed || this_one;
    divided = divided || (gpu.mig && this_one);
    if (this_one && gpu.processes > 0)
      out.push_back(fmt::format("the GPU is shared with {} other process{}: times may be too long", gpu.processes,
                                gpu.processes == 1 ? "" : "es"));
    if (this_one && gpu.utilization_percent > 5)
      out.push_back(
          fmt::format("the GPU is busy ({} % in use by others): times will be too long", gpu.utilization_percent));
  }
  for (const GpuUse& gpu : bench.in_use) divided = divided || (gpu.mig && !listed);
  if (divided)
    out.push_back("the GPU is divided (MIG): its times do not compare with those of a whole GPU");
  return out;
}

}  // namespace reductio::cli
